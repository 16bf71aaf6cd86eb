"""One change in the learner's functions that makes it right: tried in their code, run by run.

Where a run goes wrong, and right numbers are known, each change of the expression there, and of those that made what it
reads, is computed as it stands; those that give the right numbers are put into the code, the likeliest first, and of equally
likely ones the earliest. Where the numbers on the way do not tell (a size, an order, a condition, the step of a loop, what a
helper is given), any expression may be another. A statement may also be one too many. What is wrong has to come out right
in every case, and nowhere worse.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from autograder.explaining.causes.changes import (
    ORDERS,
    Change,
    apart,
    changes,
    listed,
    orders,
    put,
)
from autograder.explaining.causes.departures import Departure, departure
from autograder.explaining.causes.edits import Edit, of_statement, of_whole
from autograder.explaining.causes.other_code import OPERATIONS, OtherCode, can_be_tried
from autograder.explaining.causes.solving import solved_by
from autograder.explaining.likeness import Part
from autograder.judging.evidence import Evidence, Pair
from autograder.observation.compare import close, ratio
from autograder.observation.syntax import SAVING, Span, called, name_of, span_of_node
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.recoding import (  # fmt: skip
    Expression,
    expression_of,
    expressions,
    numbers_around,
    statements,
)
from autograder.running.value_flow import Tried, Value, ancestors, is_plain_number

_RUNS = 300  # with other code
_CALLS = 300_000  # of any function in all of them
_MOST = 1000  # changes of all of an expression that are computed, and of its parts
_PLACES = 10  # expressions that are changed, and numbers that may belong there
_PUT = 8  # of those with the right numbers
_LONGEST = 400  # characters of an expression
_LIKELY = 3  # of a change that is tried wherever it may be: how unlikely it is
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w=])")
_SURE = 3  # of a change: from this rank on a likelier one is looked for elsewhere
_POOR = 4  # above this rank it may be behind it as well
_FAR = 3  # how much less likely it is by a name that is not known there, or where right answers have the number
_NEAR = 4  # how much likelier it is in the lines where the run goes wrong
_ODD = 6  # and in a condition with whose opposite it is right, or in what this leads to
_OF_PRODUCTS = ("scale", "times", "divided", "sign")
_DEPTH = 3  # definitions that are made of one another
_DRAWS = ("rand", "bernoulli", "dropout", "multinomial", "normal", "exponential")


@dataclass(frozen=True)
class Repair:
    """What belongs in the place of an expression, or of a part of it, and where that stands. ``rank``: how unlikely that is."""

    edit: Edit
    at: Expression
    line: int
    rank: int

    @property
    def text(self) -> str:
        """The learner's line."""
        return linecache.getline(self.at.file, self.line).strip()

    @property
    def span(self) -> Span:
        """Where the expression stands."""
        return span_of_node(self.at.tree, self.at.file)

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
        with contained():
            known[key] = _Search(ev, pair, part).found() if can_be_tried(ev, pair, part) else None
    return known[key]


class _Search(OtherCode):
    """The search for what makes one part of one answer right. ``partial``: with what was found something else is wrong still."""

    partial = False

    def found(self) -> Repair | None:
        """The change at the step where the run goes wrong, or else anywhere: the one with which more is right."""
        if (statement := self._statement()) is not None:
            return statement
        step = None if self.part[0] == "error" else departure(self.ev, self.pair.question, self.part)  # fmt: skip
        told = self._likeliest(step)
        return told and ((self._where_made(told, step) if step is not None else None) or told)

    def _likeliest(self, step: Departure | None) -> Repair | None:
        told = (self._at(step) if step is not None else None) or self._at_the_end()
        self.partial = told is not None and bool(self.rest)
        # What makes a factor says more than which factor it is.
        better = self.partial or (told is not None and told.edit.code == "scale")
        unlike = told.edit.code in ("term", "no-term") if told else self.part[0] == "error"
        if not unlike and not self.harmful and (number := self._number(told)) is not None:
            return number
        # At a special point much helps by chance.
        by_chance = self.pair.question.role != "main" and step is not None and step.sure
        sure = told is not None and told.rank < _SURE
        if by_chance or self.harmful or (sure and not better):
            return told
        way = (
            [each for w in step.mended for each in (*_defining(*w), w)] if step is not None else []
        )
        return self._anywhere(self._with_definitions({v.line for v, _ in way}), told, better) or told  # fmt: skip

    def _at_the_end(self) -> Repair | None:
        """What is done to all of a gradient where it is returned, or which one is: it may be right for another argument."""
        kind, place = self.part
        got, right = (self.pair.raw(place), self.pair.right(place)) if kind == "gradient" else (None, None)  # fmt: skip
        factor = ratio(got, right) if isinstance(got, Tensor) and right is not None and got.shape == right.shape else None  # fmt: skip
        last = [f for f in self.functions if f.__name__ in ("backward", "vjp") and got is not None]
        for at in chain.from_iterable(() if self.harmful else map(expressions, last)):
            if not isinstance(at.holder, ast.Return):
                continue
            parts = [replace(at, tree=each, holder=at.tree, field="elts") for each in getattr(at.tree, "elts", ())]  # fmt: skip
            for part in (parts or [at])[place : place + 1]:
                whole = of_whole(ast.unparse(part.tree), {}, factor) if factor else ()
                named = isinstance(part.tree, ast.Name)
                others = ((c.edit, c.text) for c in (changes(part.tree, self.functions[at.function]) if named else ()) if c.rank < 2)  # fmt: skip
                for edit, text in (*whole, *others):
                    if self.left > 0 and self.mends(part, text):
                        return Repair(edit, part, part.tree.lineno, edit.rank)
        return None

    def _number(self, told: Repair | None) -> Repair | None:
        """A number in another line that makes the factor, the sign, or all that is wrong."""
        line, ratio, rank = (told.line, told.edit.facts.get("ratio"), told.rank) if told else (0, None, 0)  # fmt: skip
        every = chain(numbers_around(self.functions), *map(expressions, self.functions))
        for at in (each for each in every if each.tree.lineno != line):
            around = {n: v for n, v in at.function.__globals__.items() if is_plain_number(v)}
            names = around if at.node is None else self.functions[at.function]
            for change in _other_numbers(at, names, ratio, told is None):
                if self.left > OPERATIONS // 2 and self.mends(at, change.text):
                    return Repair(change.edit, at, change.line, rank)
            whole = f"({ast.unparse(at.tree)}) / {ratio!r}"
            if told and ratio and at.node is None and self.mends(at, whole):
                return Repair(told.edit, at, at.tree.lineno, rank)
        return None

    def _with_definitions(self, lines: set[int | None]) -> set[int | None]:
        """These lines, and those that give a value to what they read."""
        every = [at for function in self.functions for at in expressions(function)]
        here = (n for at in every if at.tree.lineno in lines for n in ast.walk(at.tree))
        read = {ast.unparse(n) for n in here if isinstance(n, ast.Name | ast.Attribute)}
        made = (
            at for at in every if at.is_target and read & set(map(ast.unparse, ast.walk(at.tree)))
        )
        return lines | {at.tree.lineno for at in made}

    def _where_made(self, told: Repair, step: Departure) -> Repair | None:
        """What is done to a name where it is read, done where it gets its value: in a statement before, if that may be wrong."""
        mine, other = (str(told.edit.facts.get(name, "")) for name in ("mine", "other"))
        if not mine.isidentifier() or not re.search(rf"\b{mine}\b", other) or self.harmful:
            return None
        # Where more than this use of it goes wrong, it is not.
        fine = {v.line for v in ancestors(step.value) if step.right.toward.have(v.numbers) and not self.partial}  # fmt: skip
        for at in expressions(told.at.function):
            target = getattr(at.holder, "targets", [None])[0] if at.field == "value" else None
            pairs = zip(
                *(getattr(each, "elts", [each]) for each in (target, at.tree)), strict=False
            )
            for name, value in pairs if target is not None else ():
                if name_of(name) == mine and value.lineno < told.line and value.lineno not in fine:
                    change = put(
                        at.tree, value, re.sub(rf"\b{mine}\b", f"({ast.unparse(value)})", other)
                    )
                    if self.mends(at, change.text) and not (self.partial and self.rest):
                        return Repair(change.edit, at, change.line, told.rank)
        return None

    def _statement(self) -> Repair | None:
        """The statement without which every case comes out right, or which has to add where it replaces, or the reverse."""
        every = [*chain.from_iterable(() if self.harmful else map(statements, self.functions))]
        added = [(at, other) for at in every for other in of_statement(at.tree)]
        for at, other in (*added, *((at, "pass") for at in every)):
            if self.left > OPERATIONS // 2 and self.mends(at, other):
                mine = ast.unparse(at.tree)
                facts: dict[str, Any] = apart(mine, other) | {"part": True}
                if other == "pass":
                    facts = {"mine": mine.splitlines()[0], "other": other, "without": True}
                return Repair(Edit("edit", facts), at, at.tree.lineno, 0)
        return None

    # ---- where the run goes wrong ------------------------------------------------------------------

    def _at(self, step: Departure) -> Repair | None:
        first = next((i for i, (v, _) in enumerate(step.mended) if v is step.value), 0)
        mended = (*step.mended[first:], *step.mended[:first])
        every = [each for way in mended for each in (*_defining(*way), way)]
        places = [*{(v, span, i.tobytes()): (v, i, span) for v, i in every for span in v.spans}.values()][:_PLACES]  # fmt: skip
        found = [each for place in places for each in self._fitting(step, *place)[:_PUT]]
        found.sort(key=lambda each: each[0].rank)
        return next((told for told, text in found if self.mends(told.at, text)), None)

    def _fitting(
        self, step: Departure, value: Value, instead: Array, span: Span
    ) -> list[tuple[Repair, str]]:
        """The changes of an expression that give the right numbers there."""
        at = expression_of(self.functions, span)
        few = len(np.unique(instead)) < 2
        if at is None or ast.unparse(at.tree) in at.under_own_names or not _can_be_repeated(at.tree) or (value.mask and few and not self.right_elsewhere):  # fmt: skip
            return []  # many comparisons are never true
        got, code = value.numbers, ast.unparse(at.tree)
        right = torch.from_numpy(np.asarray(instead))

        def others(names: Mapping[str, Any]) -> Iterator[tuple[Repair, str]]:
            small = np.abs(got).max() < 1e-12 * float(right.abs().max())
            factor = ratio(torch.from_numpy(got), right) if right.shape == got.shape else None
            whole = () if value.mask or small else of_whole(code, names, factor)
            for edit, text in islice(whole, _MOST):
                yield Repair(edit, at, span.line, edit.rank), text
            for each in islice(changes(at.tree, names), _MOST):
                yield Repair(each.edit, at, each.line, each.rank), each.text

        tried = Tried(value, span, self.given(self.pair), others)
        self.answered(self.pair.question, tried)
        found = [(told, text) for told, text, made in tried.found if _as_well(made.double(), right)]
        if value.mask and few:
            found = [each for each in found if each[0].edit.facts.get("other") in ORDERS]
        if self.pair.question.role in ("special", "extreme"):
            # There many names are one number.
            names = {*_NAMES.findall(code)}
            found = [each for each in found if each[0].edit.code != "function" and names.issuperset(_NAMES.findall(each[1]))]  # fmt: skip
        far, known = (
            {*self.given(self.pair)} - {*_NAMES.findall(ast.unparse(at.node or at.tree))},
            False,
        )
        if all(value is not v for v, _ in step.mended):  # a definition
            # Which of the factors lacks it, nobody can tell, unless right answers do; what they have is mostly right.
            known = step.right.toward.have(got)
            if known or not step.right.toward.have(np.asarray(instead)):
                found = [each for each in found if each[0].edit.code not in _OF_PRODUCTS]
        found = [(replace(told, rank=told.rank + _FAR * (known or not far.isdisjoint(_NAMES.findall(text)))), text) for told, text in found]  # fmt: skip
        return sorted(found, key=lambda each: each[0].rank)

    # ---- anywhere ----------------------------------------------------------------------------------

    def _anywhere(self, near: set[int | None], than: Repair | None, better: bool) -> Repair | None:
        """The first that mends of all that are likely enough, those in the lines where it goes wrong first.

        than  what is known already: one is looked for that says more (``better``), with which all is right, or else a
              likelier one where it gets what it reads
        """
        every = [*self._changes()]
        if than is not None and not better:
            every = [(at, c) for at, c in every if c.rank < than.rank and (at.function is not than.at.function or c.line < than.line or (c.line in near and at is not than.at and than.rank > _POOR))]  # fmt: skip
        odd = range(0)
        if self.right_elsewhere and (at := self.turned):
            odd = range(at.tree.lineno, 1 + (at.holder.end_lineno or 0))  # type: ignore[attr-defined]
        every.sort(key=lambda each: each[1].rank - _NEAR * (each[1].line in near) - _ODD * (each[1].line in odd))  # fmt: skip
        for at, change in every[: min(_RUNS, _CALLS // (1 + self.calls))]:
            if self.left <= 0:
                break
            if self.mends(at, change.text) and (than is None or not self.rest):
                # What is too much says more than what else might stand there.
                most = min(len(change.text), len(f"({ast.unparse(at.tree)})"))
                shorter = (c for other, c in every if other is at and len(c.text) < most)
                less = next((c for c in shorter if self.mends(at, c.text)), change)
                return Repair(less.edit, at, less.line, change.rank)
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
                same = at.under_own_names  # what only gets its own name again is no slip
                yield from ((at, c) for c in found if c.rank <= _LIKELY and c.mine not in same)


def _as_well(made: Tensor, right: Tensor) -> bool:
    """Whether these numbers do for those, once they are broadcast."""
    wider = made.dim() == right.dim() and all(a in (1, b) for a, b in zip(made.shape, right.shape, strict=True))  # fmt: skip
    return close(made.expand_as(right) if wider else made, right)


def _other_numbers(at: Expression, names: Mapping[str, Any], ratio: Any, whole: bool) -> Iterator[Change]:  # fmt: skip
    """What a number may be instead: made in another way, or so many times a number that it is made of."""
    targets = getattr(at.holder, "targets", ()) if at.field == "value" else ()
    made = [type(n) for each in targets if is_plain_number(n := names.get(ast.unparse(each)))]
    for c in changes(at.tree, names) if made else ():
        # What is done to all of it may be done to all that it is multiplied by; of a size roots are taken at most.
        likely = float in made or c.rank <= _LIKELY or c.other.endswith("0.5")
        if likely and (whole or c.mine not in c.other):
            yield c
    for node in ast.walk(at.tree) if ratio else ():
        if isinstance(node, ast.Constant) and is_plain_number(node.value):
            yield from (
                put(at.tree, node, f"{n:.12g}") for n in (node.value / ratio, node.value * ratio)
            )


def _defining(value: Value, numbers: Array, depth: int = _DEPTH) -> Iterator[tuple[Value, Array]]:
    """The definitions of what an expression reads, with what each would have to give; the earliest first."""
    for part in value.given if depth else ():
        if part.exchangeable and not part.read:
            for solved in islice(solved_by(value, numbers, part), 1):
                yield from _defining(part, solved, depth - 1)
                if part.line != value.line:
                    yield part, solved


def _can_be_repeated(tree: ast.expr) -> bool:
    """Whether an expression may be computed again without changing anything."""
    calls = [called(node) for node in ast.walk(tree)]
    odd = any(name.endswith("_") or name.startswith(_DRAWS) for name in calls)
    return not odd and len(ast.unparse(tree)) <= _LONGEST
