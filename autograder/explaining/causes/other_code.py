"""Runs of a learner's functions with other code: what comes out right then, in which cases."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

from torch import Tensor

from autograder.explaining.likeness import Part, right_parts, same, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.judging.rules import in_order
from autograder.judging.rules.problems import size_of
from autograder.judging.rules.registry import verdict_of
from autograder.running.containment import contained
from autograder.running.recoding import Expression, Noted, calls_kernels, conditions

OPERATIONS = 15_000  # in all of them
_LARGEST = 10_000  # elements of a question
_CASES = 4  # of each kind in which it is tried first: the others follow
RULE = "rule"  # of a part whose name is a rule's key: all that this rule looks at


def wrong_way(ev: Evidence, pair: Pair, part: Part) -> Expression | None:
    """The condition with whose opposite a part of an answer is right, in every case in which it is wrong; the innermost."""
    with contained():
        return OtherCode(ev, pair, part).turned if can_be_tried(ev, pair, part) else None


def can_be_tried(ev: Evidence, pair: Pair, part: Part) -> bool:
    """Whether there is something wrong, small enough to be tried again and again."""
    can = ev.answered and _is_known(pair) and size_of(pair) <= _LARGEST
    return bool(can) and part in wrong_in(ev, pair, part) and bool(ev.flow(pair.question))


def _is_known(pair: Pair) -> bool:
    return pair.references is not None or pair.question.kind in ("scenario", "refusal")


def wrong_in(ev: Evidence, pair: Pair, part: Part) -> set[Part]:
    """The parts of an answer that are not right; whether a rule holds where the ``part`` is one."""
    wrong = set[Part]()
    if pair.references is not None:
        wrong = wrong_parts(pair, right_parts(pair))
    elif pair.question.kind == "scenario" and pair.answer.failure is not None:
        return {("error", "")}
    return wrong | {part} if part[0] == RULE and _breaks(ev, pair, part[1]) else wrong


def _breaks(ev: Evidence, pair: Pair, key: str) -> bool:
    """Whether a rule does not hold for one answer alone, or that of its experiment."""
    answers, keys = {pair.question.id: pair.answer}, (key, f"scenario {pair.question.case}")
    alone = replace(ev, observation=replace(ev.observation, answers=answers))
    return any(isinstance(verdict_of(r, alone), Finding) for r in in_order(ev) if r.key in keys)


class OtherCode:
    """A question whose functions run with other code: is a part of the answer right with it, in every case in which it was wrong?

    left  how many operations may still run
    rest  what is wrong beside that part, with what was tried last
    """

    def __init__(self, ev: Evidence, pair: Pair, part: Part) -> None:
        assert ev.answered is not None
        self.ev, self.pair, self.part, self.left = ev, pair, part, OPERATIONS
        self.answered = ev.answered
        self.files = ev.flow(pair.question).operations.files
        noted = Noted(self.files)
        self.answered(pair.question, noted)
        self.functions, self.calls = noted.found, noted.calls
        self.cases = self._cases()
        self.rest = set[Part]()

    @cached_property
    def turned(self) -> Expression | None:
        """The innermost condition with whose opposite all that is wrong comes out right."""
        wrong, found = [self.pair, *(p for p, meant in self.cases if meant)][: 1 + _CASES], None
        for at in chain.from_iterable(() if self.harmful else map(conditions, self.functions)):
            codes = map(at.other, (f"not ({ast.unparse(at.tree)})", "True", "False"))
            if self.left > 0 and any(all(self.right(p, at, code, True) for p in wrong) for code in codes if code):  # fmt: skip
                found = at
        return found

    def _cases(self) -> list[tuple[Pair, bool]]:
        """The other cases, first a few of each kind and role, and whether it has to come out right there: elsewhere something else may be wrong."""
        asked, found = self.pair.question, defaultdict[Any, list[Pair]](list)
        here = wrong_in(self.ev, self.pair, self.part)
        # What is made for another gradient is not there where only some are needed.
        for pair in self.ev.pairs(asked.kind, "run", "function", "needs", device="cpu", where_finite=None):  # fmt: skip
            like = pair.question
            alike = like.variant in ("", asked.variant) or like.role == "extreme"
            if pair is not self.pair and _is_known(pair) and alike:
                there = wrong_in(self.ev, pair, self.part)
                wrong = self.part in there
                # Where more is wrong than here, it may be for another reason.
                meant = wrong and (like.role == "main" or (like.role in ("special", asked.role) and there <= here))  # fmt: skip
                found[not meant, wrong, like.kind, like.role].append(pair)
        parts = (slice(_CASES), slice(_CASES, None))
        return [(p, not key[0]) for part in parts for key in sorted(found) for p in found[key][part]]  # fmt: skip

    @cached_property
    def right_elsewhere(self) -> bool:
        """Whether the part was asked for in another case, and right there."""
        error = self.part[0] == "error"
        asked = (p for p, _ in self.cases if error or self.part in right_parts(p))
        return any(self.part not in wrong_in(self.ev, p, self.part) for p in asked)

    @cached_property
    def harmful(self) -> bool:
        """Whether other code may write beyond its memory: nobody's library runs with any."""
        return self.ev.exercise.strictness.as_given or any(map(calls_kernels, self.functions))

    def mends(self, at: Expression, text: str) -> bool:
        """Whether every case comes out right, and nothing else wrong, with another expression there."""
        code = at.other(text)
        return code is not None and all(self.right(p, at, code, meant) for p, meant in ((self.pair, True), *self.cases))  # fmt: skip

    def right(self, case: Pair, at: Expression, code: Any, meant: bool) -> bool:
        # Whose statement is left out has to find its names elsewhere.
        names = self.given(case) if isinstance(at.tree, ast.expr) else {}
        other = at.run(code, names)
        answer = self.answered(case.question, other)
        self.left -= other.count
        still = wrong_in(self.ev, Pair(case.question, answer, case.references), self.part)
        if case is self.pair:
            self.rest = still
        before = wrong_in(self.ev, case, self.part)
        more = still - (before - {self.part} if meant else before)
        if self.part[0] == "output":  # whatever backward makes of it
            ended = answer.outputs or not (meant or case.answer.outputs)
            return bool(ended) and not any(part[0] == "output" for part in more)
        # Whatever is drawn is allowed: what draws otherwise is another function.
        alike = not self.ev.exercise.drawn or same(answer.outputs, case.answer.outputs)
        ended = answer.failure is None or not meant or case.question.kind == "refusal"
        return not more and alike and ended

    def given(self, case: Pair) -> dict[str, Any]:
        """The numbers among the arguments, by the contract's names."""
        kinds = Tensor | int | float
        return {self.ev.argument(i): a for i, a in enumerate(case.question.args) if isinstance(a, kinds)}  # fmt: skip
