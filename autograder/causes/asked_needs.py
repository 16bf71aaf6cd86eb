"""Which condition about needs_input_grad keeps a gradient from being computed.

backward is followed on paper once for every set of arguments that may need a gradient; the outcome
counts where it agrees with what was measured.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import product
from typing import Any

from torch import Tensor

from autograder.causes.on_paper import Run, UnclearError
from autograder.evidence import Evidence, Pair
from autograder.source import Source

_ONE_EACH = (
    "Ask for each gradient on its own, one if beside the other: `if ctx.needs_input_grad[i]:` before "
    "gradient i, counted over forward's arguments, and nothing else."
)


@dataclass(frozen=True)
class Asked:
    """Why an argument gets no gradient, and the line of the condition that decides it."""

    message: str
    hint: str
    line: dict[str, object]


def wrongly_asked(ev: Evidence, i: int, pair: Pair) -> Asked | None:
    """The condition that keeps argument i of this pair without a gradient; None where none is found."""
    node = ev.source.methods.get("backward")
    count = len(pair.question.args)
    if node is None or pair.answer.raw is None:
        return None
    free = [j for j, a in enumerate(pair.question.args) if isinstance(a, Tensor)]
    try:
        given = {needs: Run(needs).of(node) for needs in _patterns(count, free)}
        missing = _needs(pair)
        if not _as_measured(ev, pair, given) or _has(given[missing], i):
            return None
        run = Run(missing)
        run.of(node)
        decided = [
            test
            for test, truth in run.tests
            if _has(Run(missing, {id(test): not truth}).of(node), i)
        ]
    except (UnclearError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        return None
    if not decided:
        return None
    alone = _Table({needs: _has(got, i) for needs, got in given.items()}, i)
    others = {j: _Table({n: _has(g, j) for n, g in given.items()}, j) for j in free if j != i}
    return _words(ev, i, decided[0], run.returns_early, alone, others)


def _patterns(count: int, free: list[int]) -> list[tuple[bool, ...]]:
    """Every way in which the tensors among the arguments can need gradients, one at least."""
    return [
        tuple(j in chosen for j in range(count))
        for bits in product((False, True), repeat=len(free))
        if (chosen := {j for j, bit in zip(free, bits, strict=True) if bit})
    ]


def _needs(pair: Pair) -> tuple[bool, ...]:
    return tuple(j in pair.question.wants for j in range(len(pair.question.args)))


def _has(returned: list[Any], i: int) -> bool:
    return i < len(returned) and returned[i] is not None


def _as_measured(ev: Evidence, pair: Pair, given: dict[tuple[bool, ...], list[Any]]) -> bool:
    """Whether every run of backward returned None exactly where it does on paper."""
    count = len(pair.question.args)
    for seen in ev.pairs("run", "needs", role="main", variant=""):
        if seen.answer.raw is None or len(seen.question.args) != count:
            continue
        paper = given[_needs(seen)]
        if any(_has(paper, j) != (seen.raw(j) is not None) for j in seen.question.wants):
            return False
    return True


# ---- what it means ---------------------------------------------------------------------------


@dataclass
class _Table:
    """For which needs the gradient of argument i is computed."""

    computed: dict[tuple[bool, ...], bool]
    i: int

    def only_if(self, k: int) -> bool:
        """Whether argument k has to need a gradient as well."""
        return self._all(lambda needs: needs[k])

    def only_without(self, k: int) -> bool:
        """Whether argument k must not need a gradient."""
        return self._all(lambda needs: not needs[k])

    def is_need_of(self, k: int) -> bool:
        """Whether k's need decides it, whatever i needs."""
        return all(done == needs[k] for needs, done in self.computed.items())

    def _all(self, holds: Any) -> bool:
        done = [needs for needs, computed in self.computed.items() if computed]
        return bool(done) and all(map(holds, done))


def _words(
    ev: Evidence, i: int, test: ast.If | ast.IfExp, early: bool, alone: _Table, others: dict[int, _Table]
) -> Asked | None:  # fmt: skip
    name, source = ev.argument(i), ev.source
    line, text = source.line_of(test.test)
    asked = ast.unparse(test.test)
    at = f" (line {line})"
    for k, other in others.items():
        of_k = ev.argument(k)
        if alone.only_without(k):
            word, (line, text) = _other_branch(source, test)
            return Asked(
                f"{word} gives {name} a gradient only when {of_k} needs none (line {line})."
                if word
                else f"{name} gets a gradient only when {of_k} needs none: else backward has returned before{at}.",
                "Both may need a gradient at once. " + _ONE_EACH,
                {"line": line, "source": text},
            )
        if alone.is_need_of(k):
            both = other.is_need_of(i)
            return Asked(
                f"The questions for {name} and {of_k} are exchanged: {name} gets a gradient when {of_k} needs one{at}, "
                f"and {of_k} when {name} does."
                if both
                else f"{name} gets a gradient when {of_k} needs one, not when {name} itself does{at}.",
                f"ctx.needs_input_grad has one entry for each argument of forward, in order: the one for {name} is "
                f"ctx.needs_input_grad[{i}].",
                {"line": line, "source": text},
            )
    needed = [ev.argument(k) for k in others if alone.only_if(k)]
    if needed:
        why = f"line {line} asks {asked}" if len(asked) <= 60 else f"so line {line} asks"
        if early:
            why = f"else backward returns before it comes to that{at}"
        return Asked(
            f"{name} gets a gradient only if {' and '.join(needed)} {'need' if len(needed) > 1 else 'needs'} one too: {why}.",
            _ONE_EACH,
            {"line": line, "source": text},
        )
    if not any(alone.computed.values()) and len(asked) <= 60:
        return Asked(
            f"{name} never gets a gradient: {asked} in line {line} is never {'False' if early else 'True'}.",
            f"ctx.needs_input_grad has one entry for each argument of forward, in order, and False for what is no "
            f"tensor: the one for {name} is ctx.needs_input_grad[{i}].",
            {"line": line, "source": text},
        )
    return None


def _other_branch(source: Source, test: ast.If | ast.IfExp) -> tuple[str, tuple[int, str]]:
    """("elif", its line), else ("else" or, where none is written, "", the line of the condition)."""
    if isinstance(test, ast.If) and len(test.orelse) == 1 and isinstance(test.orelse[0], ast.If):
        line, text = source.line_of(test.orelse[0])
        if text.startswith("elif"):
            return "elif", (line, text)
    return "else" if test.orelse else "", source.line_of(test.test)
