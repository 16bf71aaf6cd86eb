"""The wrong formulas that an exercise knows, recognised by the numbers of a gradient."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.exercise import Misconception
from autograder.expected import expected_upstream, reference_arguments

_SAID = 3  # sentences that may stand side by side


def either(causes: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """(message, hint) of causes that the numbers do not tell apart: all are said."""
    messages, hints = zip(*dict(causes[::-1]).items(), strict=True)
    return " Or: ".join(messages[::-1][:_SAID]), " Or: ".join(dict.fromkeys(hints[::-1][:_SAID]))


def misconception(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """The wrong formula whose gradient for argument i this is in all pairs.

    One that gives the gradients for the other arguments too is preferred; where several give the
    same numbers, all are said.
    """
    if all(not isinstance(p.raw(i), Tensor) or p.raw(i).isnan().all() for p in every):
        return None  # many formulas give NaN
    fits = [k for k in ev.exercise.misconceptions if all(_gives(k, p, i) for p in every)]
    if not fits:
        return None
    whole = [k for k in fits if all(_allows(k, p) for p in every)]
    same = [k for k in whole or fits if k.rule == (whole or fits)[0].rule]
    message, hint = either([_said(ev, k) for k in same])
    if not whole:
        message += _only_some(ev, same[0], i, every)
    return Finding(same[0].rule, message, hint)


def misconception_at(ev: Evidence, case: object) -> tuple[str, str] | None:
    """(message, hint) of the wrong formula that is right in all plain cases and fits every special one."""
    special = [p for p in ev.pairs("run", role="special", variant="") if p.answer.failure is None]
    here = next((p for p in special if p.where == case), None)
    if here is None or here.answer.gradients is None:
        return None
    i = next((i for i in here.question.wants if not _right(here, i)), None)
    if i is None:
        return None
    every = [p for p in (*special, *ev.plain) if i in p.question.wants]
    fits = [k for k in ev.exercise.misconceptions if all(_gives(k, p, i) for p in every)]
    return either([_said(ev, k) for k in fits]) if fits else None


def _said(ev: Evidence, known: Misconception) -> tuple[str, str]:
    node = ev.source.methods.get("backward") if known.divided is not None else None
    for part in ast.walk(node) if node is not None else ():
        called = isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1]
        by = isinstance(part, ast.BinOp | ast.AugAssign) and isinstance(part.op, ast.Div)
        if known.divided is not None and (by or called in ("div", "divide", "true_divide", "mean")):
            line = ev.source.line_of(part)[0]
            return known.divided[0].format(line=line), known.divided[1]
    return known.message, known.hint


def _only_some(ev: Evidence, known: Misconception, i: int, every: list[Pair]) -> str:
    """A sentence about arguments that the formula spoils too, and whose gradients are right; or nothing."""
    hit: list[int] = [i]
    right: list[int] = []
    for j in sorted({j for p in every for j in p.question.wants} - {i}):
        asked = [p for p in every if j in p.question.wants]
        as_known = all(_gives(known, p, j) for p in asked)
        is_right = all(_right(p, j) for p in asked)
        if as_known != is_right:  # both: the formula leaves this gradient as it is
            (hit if as_known else right).append(j)
    if not right:
        return ""
    found = "gradients" if len(right) > 1 else "gradient"
    verb = "are" if len(right) > 1 else "is"
    return (
        f" This holds for {_names(ev, hit)} only: the {found} for {_names(ev, right)} {verb} right."
    )


def _names(ev: Evidence, positions: Sequence[int]) -> str:
    *first, last = (ev.argument(j) for j in sorted(positions))
    return f"{', '.join(first)} and {last}" if first else last


def _right(pair: Pair, j: int) -> bool:
    got, right = pair.raw(j), pair.right(j)
    return isinstance(got, Tensor) and right is not None and close(got, right)


def _gives(known: Misconception, pair: Pair, i: int) -> bool:
    """Whether the formula gives the learner's gradient for argument i."""
    values = _values(known.gradients, pair)
    if values is None or i >= len(values):
        return False
    return _same(pair.raw(i), values[i])


def _same(got: Any, value: Tensor | None) -> bool:
    """Whether they agree, NaN where the wrong formula gives NaN included."""
    if not isinstance(got, Tensor) or not isinstance(value, Tensor) or got.shape != value.shape:
        return False
    both = got.isnan() & value.isnan()
    return close(got.masked_fill(both, 0), value.masked_fill(both, 0))


def _allows(known: Misconception, pair: Pair) -> bool:
    """Whether it gives every gradient of the learner's that it says something about."""
    values = _values(known.gradients, pair) or ()
    return all(
        value is None or j not in pair.question.wants or _same(pair.raw(j), value)
        for j, value in enumerate(values)
    )


def _values(formula: Callable[..., Any], pair: Pair) -> Sequence[Tensor | None] | None:
    """The gradients that the formula gives, one an argument; None where it does not fit the case."""
    args = [a.detach() if isinstance(a, Tensor) else a for a in reference_arguments(pair.question)]
    grads = [g for g in expected_upstream(pair.question, pair.expected.outputs) if g is not None]
    try:
        if "output" in inspect.signature(formula).parameters:
            found = formula(*args, grad_output=grads[0], output=pair.expected.outputs[0])
        else:
            found = formula(*args, grad_output=grads[0])
    except Exception:  # a known mistake need not make sense for every case
        return None
    return found if isinstance(found, tuple | list) else (found,)
