"""One change in the learner's functions that makes it right: tried in their code, run by run.

Where a run goes wrong, and right numbers are known, each change of the expression there is computed as it stands; those
that give the right numbers are put into the code. Where the numbers on the way do not tell (a size, an order, a condition,
the step of a loop, what a helper is given), any expression may be another. What is wrong has to come out right in every case.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from autograder.explaining.causes.changes import (
    ORDERS,
    Change,
    Edit,
    changes,
    listed,
    of_whole,
    orders,
)
from autograder.explaining.causes.departures import Departure, departure
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.rules.problems import size_of
from autograder.observation.compare import close, ratio
from autograder.observation.syntax import SAVING, Span, called, span_of_node
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.recoding import (  # fmt: skip
    Expression,
    Noted,
    Recoded,
    calls_kernels,
    expression_of,
    expressions,
)
from autograder.running.value_flow import Tried, Value

_RUNS = 300  # with other code
_CALLS = 300_000  # of any function in all of them
_OPERATIONS = 15_000  # in all of them
_LARGEST = 10_000  # elements of a question
_CASES = 4  # of each kind in which it has to come out right
_MOST = 1000  # changes of all of an expression that are computed, and of its parts
_PLACES = 10  # expressions that are changed, and numbers that may belong there
_NEW = 12  # others whose numbers no right answer has
_PUT = 8  # of those with the right numbers
_LONGEST = 400  # characters of an expression
_LIKELY = 3  # of a change that is tried wherever it may be: how unlikely it is
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w=])")
_DRAWS = ("rand", "bernoulli", "dropout", "multinomial", "normal", "exponential")
Part = tuple[str, Any]


@dataclass(frozen=True)
class Repair:
    """What belongs in the place of an expression, or of a part of it, and where that stands."""

    edit: Edit
    at: Expression
    line: int

    @property
    def text(self) -> str:
        """The learner's line."""
        return linecache.getline(self.at.function.__code__.co_filename, self.line).strip()

    @property
    def span(self) -> Span:
        """Where the expression stands."""
        return span_of_node(self.at.tree, self.at.function.__code__.co_filename)

    @property
    def code(self) -> str:
        """The expression."""
        return ast.unparse(self.at.tree)


_found: WeakKeyDictionary[Evidence, dict[tuple[str, Part], Repair | None]] = WeakKeyDictionary()


def repair(ev: Evidence, pair: Pair, part: Part) -> Repair | None:
    """The likeliest change with which a part of an answer is right, in this case and all others; None for none."""
    known = _found.setdefault(ev, {})
    key = pair.question.id, part
    if key not in known:
        can = ev.answered and ev.flow and pair.references is not None and size_of(pair) <= _LARGEST
        wrong = can and part in wrong_parts(pair, right_parts(pair))
        with contained():
            known[key] = _Search(ev, pair, part).found() if wrong else None
    return known[key]


class _Search:
    """The search for what makes one part of one answer right."""

    def __init__(self, ev: Evidence, pair: Pair, part: Part) -> None:
        assert ev.answered is not None
        assert ev.flow is not None
        self.ev, self.pair, self.part, self.left = ev, pair, part, _OPERATIONS
        self.answered = ev.answered
        noted = Noted(ev.flow(pair.question).operations.files)
        self.answered(pair.question, noted)
        self.functions, self.calls = noted.found, noted.calls
        self.wrong, self.fine = self._cases()
        self.rest = set[Part]()  # what is wrong beside it, with what was tried last

    def found(self) -> Repair | None:
        """The change at the step where the run goes wrong, or else anywhere: the one with which more is right."""
        step = None if self.part[0] == "error" else departure(self.ev, self.pair.question, self.part)  # fmt: skip
        told = self._at(step) if step is not None else None
        # At a special point much helps by chance.
        by_chance = self.pair.question.role != "main" and step is not None and step.sure
        # Nobody's library runs with other code anywhere: it may write beyond its memory then.
        harmful = self.ev.exercise.strictness.as_given or any(map(calls_kernels, self.functions))
        if (told is not None and not self.rest) or by_chance or harmful:
            return told
        other = self._anywhere()
        return other if other is not None and (told is None or not self.rest) else told

    def _cases(self) -> tuple[list[Pair], list[Pair]]:
        """The other cases: those in which it is wrong, and those that are not to become wrong."""
        ev, alike = self.ev, {"device": "cpu", "where_finite": None}
        asked = self.pair.question
        same = list(ev.pairs(asked.kind, variant=asked.variant, role=asked.role, **alike))
        special = list(ev.pairs("run", "function", role="special", variant="", **alike))
        # What is made for another gradient is not there where only some are needed.
        groups = same, ev.plain, special, list(ev.pairs("needs", device="cpu"))
        wrong, fine = dict[str, Pair](), dict[str, Pair]()
        for group in groups:
            judged = [p for p in group if p is not self.pair and p.references is not None]
            bad = [p for p in judged if self.part in wrong_parts(p, right_parts(p))]
            good = [p for p in judged if p not in bad]
            wrong |= {p.question.id: p for p in bad[:_CASES]}
            fine |= {p.question.id: p for p in good[: 2 * _CASES]}
        return [*wrong.values()], [*fine.values()]

    def _mends(self, at: Expression, text: str) -> bool:
        """Whether every case comes out right, and nothing else wrong, with another expression there."""
        code = at.other(text)
        return code is not None and all(self._right(p, at, code) for p in (self.pair, *self.wrong, *self.fine))  # fmt: skip

    def _right(self, case: Pair, at: Expression, code: CodeType) -> bool:
        other = Recoded(at.function, code, self._given(case))
        answer = self.answered(case.question, other)
        self.left -= other.count
        parts = right_parts(case)
        still = wrong_parts(Pair(case.question, answer, case.references), parts)
        if case is self.pair:
            self.rest = still
        more = still - (wrong_parts(case, parts) - {self.part})
        if self.part[0] == "output":  # whatever backward makes of it
            return bool(answer.outputs) and not any(part[0] == "output" for part in more)
        return answer.failure is None and not more

    def _given(self, case: Pair) -> dict[str, Any]:
        """The numbers among the arguments, by the contract's names."""
        kinds = Tensor | int | float
        return {self.ev.argument(i): a for i, a in enumerate(case.question.args) if isinstance(a, kinds)}  # fmt: skip

    # ---- where the run goes wrong ------------------------------------------------------------------

    def _at(self, step: Departure) -> Repair | None:
        # Of what runs several times one wrong value does not mend all: then any right number will do.
        known = {span for value, _ in step.mended for span in value.spans}
        first = next((i for i, (v, _) in enumerate(step.mended) if v is step.value), 0)
        mended = (*step.mended[first:], *step.mended[:first])
        places: list[tuple[Value, Array | None, Span]] = [(v, i, span) for v, i in mended for span in v.spans]  # fmt: skip
        new = [(v, None, v.spans[0]) for v in step.new if v.spans[0] not in known]
        for value, instead, span in (*places[:_PLACES], *new[:_NEW]):
            at = expression_of(self.functions, span)
            if at is not None and _can_be_repeated(at.tree):
                for told, text in self._fitting(step, value, instead, at, span)[:_PUT]:
                    if self._mends(at, text):
                        return told
        return None

    def _fitting(
        self, step: Departure, value: Value, instead: Array | None, at: Expression, span: Span
    ) -> list[tuple[Repair, str]]:
        """The changes of an expression that give the right numbers there. Where nobody knows them: any on the way of right answers."""
        few = instead is not None and len(np.unique(instead)) < 2
        if value.mask and (instead is None or (few and not self.fine)):
            return []  # many comparisons are never true
        got, code = value.numbers, ast.unparse(at.tree)
        right = None if instead is None else torch.from_numpy(instead)

        def others(names: Mapping[str, Any]) -> Iterator[tuple[Repair, str]]:
            small = right is not None and np.abs(got).max() < 1e-12 * float(right.abs().max())
            alike = right is not None and right.shape == got.shape
            factor = ratio(torch.from_numpy(got), right) if alike else None
            whole = () if value.mask or small else of_whole(code, names, factor)
            yield from ((Repair(edit, at, span.line), text) for edit, text in islice(whole, _MOST))
            one = [Repair(Edit("edit", {"mine": code, "other": name}), at, span.line) for name in names]  # fmt: skip
            yield from zip(one, names, strict=True)
            parts = islice(changes(at.tree, names), _MOST)
            yield from ((Repair(each.edit, at, each.line), each.text) for each in parts)

        def fits(made: Tensor) -> bool:
            if right is not None:
                return close(made.double(), right)
            telling = made.is_floating_point() and made.shape == got.shape and len(made.unique()) > min(1, got.size - 1)  # fmt: skip
            return telling and step.right.toward.have(made.double().numpy())

        tried = Tried(value, span, self._given(self.pair), others)
        self.answered(self.pair.question, tried)
        there = [each for each in tried.found if fits(each[2])]
        if right is None:  # of those that give the same, the first
            there = [
                *{each[2].double().numpy().tobytes(): each for each in reversed(there)}.values()
            ][::-1]
        found = [(told, text) for told, text, _ in there]
        if value.mask and few:
            found = [each for each in found if each[0].edit.facts.get("other") in ORDERS]
        if self.pair.question.role in ("special", "extreme"):
            # There many names are one number.
            names = {*_NAMES.findall(code)}
            found = [each for each in found if each[0].edit.code != "function" and names.issuperset(_NAMES.findall(each[1]))]  # fmt: skip
        # Another part comes before a function that is one too many, and before two factors at once.
        found.sort(key=lambda each: each[0].edit.code == "function" or "·" in each[0].edit.facts.get("factor", ""))  # fmt: skip
        return found

    # ---- anywhere ----------------------------------------------------------------------------------

    def _anywhere(self) -> Repair | None:
        every = sorted(self._changes(), key=lambda each: each[1].rank)
        for at, change in every[: min(_RUNS, _CALLS // (1 + self.calls))]:
            if self.left <= 0:
                break
            if self._mends(at, change.text):
                return Repair(change.edit, at, change.line)
        return None

    def _changes(self) -> Iterator[tuple[Expression, Change]]:
        """Every likely change of every expression of the functions; helpers before what calls them."""
        functions = [*self.functions.items()]
        ends = [i for i, (function, _) in enumerate(functions) if function.__name__ in SAVING]
        start = ends[-1] + 1 if ends and self.part[0] != "output" else 0
        for function, names in (*functions[start:], *functions[:start]):
            tree = ast.parse("".join(linecache.getlines(function.__code__.co_filename)))
            lists = Counter(map(listed, ast.walk(tree)))
            agreed = {each for each in lists if lists[each] > 1}
            for at in expressions(function):
                # The order of what is returned has a cause of its own.
                own = {listed(at.tree)} if isinstance(at.holder, ast.Return) else set()
                asks = at.field == "test"
                found = orders(at.tree, agreed) if at.is_target else changes(at.tree, names, agreed | own, asks)  # fmt: skip
                yield from ((at, change) for change in found if change.rank <= _LIKELY)


def _can_be_repeated(tree: ast.expr) -> bool:
    """Whether an expression may be computed again without changing anything."""
    calls = [called(node) for node in ast.walk(tree)]
    odd = any(name.endswith("_") or name.startswith(_DRAWS) for name in calls)
    return not odd and len(ast.unparse(tree)) <= _LONGEST
