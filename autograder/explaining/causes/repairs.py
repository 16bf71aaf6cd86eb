"""One change anywhere in the learner's functions that makes it right: tried in their code, run by run.

Where the numbers on the way do not tell (a size, an order, a condition, the step of a loop, what a helper is given), the
code may: one of its expressions is changed, and what is wrong has to come out right in every case.
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from autograder.explaining.causes.changes import Edit
from autograder.explaining.causes.slips import Slip, listed, orders, slips
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.rules.problems import size_of
from autograder.observation.syntax import SAVING
from autograder.running.containment import contained
from autograder.running.recoding import Noted, Recoded, calls_kernels

_RUNS = 300  # with other code
_CALLS = 300_000  # of any function in all of them
_OPERATIONS = 15_000  # in all of them
_LARGEST = 10_000  # elements of a question
_CASES = 4  # of each kind in which it has to come out right
_FIELDS = ("value", "test", "iter", "target")
Part = tuple[str, Any]


@dataclass(frozen=True)
class Repair:
    """What belongs in the place of a part of an expression, and where that stands."""

    edit: Edit
    line: int
    text: str
    code: str


@dataclass(frozen=True)
class _Expression:
    """An expression of a function, in a field of the statement that it is part of."""

    function: FunctionType
    node: ast.FunctionDef
    holder: ast.AST
    field: str

    @property
    def tree(self) -> ast.expr:
        found: ast.expr = getattr(self.holder, self.field)
        return found

    def slips(self, names: Mapping[str, Any]) -> Iterator[Slip]:
        """What may be meant by it."""
        tree = ast.parse("".join(linecache.getlines(self.function.__code__.co_filename)))
        lists = Counter(map(listed, ast.walk(tree)))
        agreed = {each for each in lists if lists[each] > 1}
        if isinstance(
            self.holder, ast.Return
        ):  # the order of what is returned has a cause of its own
            agreed.add(listed(self.tree))
        if self.field == "target":
            return orders(self.tree, agreed)
        return slips(self.tree, names, agreed, asks=self.field == "test")

    def _put(self, tree: ast.expr) -> None:
        setattr(self.holder, self.field, tree)
        if self.field == "target" and isinstance(self.holder, ast.Assign):
            self.holder.targets[-1] = tree

    def other(self, text: str) -> CodeType | None:
        """The function's code with another expression there; None where it is none."""
        mine, code = self.tree, self.function.__code__
        try:
            tree = ast.parse(text, mode="eval").body
            for node in ast.walk(tree):
                ast.copy_location(node, mine)
                if self.field == "target" and isinstance(node, ast.Name | ast.Tuple):
                    node.ctx = ast.Store()
            self._put(tree)
            whole = compile(ast.Module([self.node], []), code.co_filename, "exec", dont_inherit=True)  # fmt: skip
        except (SyntaxError, ValueError):
            return None
        finally:
            self._put(mine)
        made = next(c for c in whole.co_consts if isinstance(c, CodeType))
        return made if made.co_freevars == code.co_freevars else None


_found: WeakKeyDictionary[Evidence, dict[tuple[str, Part], Repair | None]] = WeakKeyDictionary()


def repair(ev: Evidence, pair: Pair, part: Part) -> Repair | None:
    """The likeliest change with which a part of an answer is right, in this case and all others; None for none."""
    known = _found.setdefault(ev, {})
    key = pair.question.id, part
    if key not in known:
        # A learner's cell may run otherwise than it stands there. Somebody's library may write beyond its memory then.
        can = ev.answered and ev.flow and not ev.exercise.strictness.as_given
        can = can and pair.references is not None and size_of(pair) <= _LARGEST
        wrong = can and part in wrong_parts(pair, right_parts(pair))
        known[key] = _repair(ev, pair, part) if wrong else None
    return known[key]


def _repair(ev: Evidence, pair: Pair, part: Part) -> Repair | None:
    assert ev.answered is not None
    assert ev.flow is not None
    left = _OPERATIONS

    def right(case: Pair, at: _Expression, code: CodeType) -> bool:
        nonlocal left
        assert ev.answered is not None
        other = Recoded(at.function, code)
        answer = ev.answered(case.question, other)
        left -= other.count
        parts = right_parts(case)
        still = wrong_parts(Pair(case.question, answer, case.references), parts)
        return answer.failure is None and part not in still and still <= wrong_parts(case, parts)

    with contained():
        noted = Noted(ev.flow(pair.question).operations.files)
        ev.answered(pair.question, noted)
        if any(map(calls_kernels, noted.found)):
            return None
        runs = min(_RUNS, _CALLS // (1 + noted.calls))
        for at, edit, text, line in islice(
            _changes(noted.found, backward=part[0] != "output"), runs
        ):
            if left <= 0:
                break
            code = at.other(text)
            if code is None or not right(pair, at, code):
                continue
            if all(right(case, at, code) for case in _others(ev, pair, part)):
                text = linecache.getline(code.co_filename, line).strip()
                return Repair(edit, line, text, ast.unparse(at.tree))
    return None


def _others(ev: Evidence, pair: Pair, part: Part) -> Iterator[Pair]:
    """The other cases: those that are wrong, and those that are not to become wrong."""
    alike = {"variant": pair.question.variant, "device": "cpu", "where_finite": None}
    same = list(ev.pairs(pair.question.kind, **alike))
    plain = [p for p in ev.plain if p not in same]
    for group in (same, plain, list(ev.pairs("needs", device="cpu"))):
        judged = [p for p in group if p is not pair and p.references is not None]
        wrong = [p for p in judged if part in wrong_parts(p, right_parts(p))]
        yield from wrong[:_CASES]
        yield from [p for p in judged if p not in wrong][: 2 * _CASES]


def _changes(known: Mapping[FunctionType, Mapping[str, Any]], backward: bool) -> Iterator[tuple[_Expression, Edit, str, int]]:  # fmt: skip
    """Every change of every expression of these functions, the likeliest first; helpers before what calls them."""
    functions = [*known.items()]
    ends = [i for i, function in enumerate(known) if function.__name__ in SAVING]
    start = ends[-1] + 1 if ends and backward else 0
    every = [
        (slip, at)
        for function, names in (*functions[start:], *functions[:start])
        for at in _expressions(function)
        for slip in at.slips(names)
    ]
    for (_, edit, text, line), at in sorted(every, key=lambda each: each[0][0]):
        yield at, edit, text, line


def _expressions(function: FunctionType) -> Iterator[_Expression]:
    """Those that the statements of a function compute."""
    node = _definition(function.__code__)
    for part in ast.walk(node) if node is not None else ():
        for field in _FIELDS if isinstance(part, ast.stmt | ast.comprehension) else ():
            if node is not None and isinstance(getattr(part, field, None), ast.expr):
                yield _Expression(function, node, part, field)


def _definition(code: CodeType) -> ast.FunctionDef | None:
    """Where a function is defined, without what decorates it."""
    for node in ast.walk(ast.parse("".join(linecache.getlines(code.co_filename)))):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                node.decorator_list = []
                for each in ast.walk(node):  # of a = b = c the last
                    if isinstance(each, ast.Assign):
                        each.target = each.targets[-1]  # type: ignore[attr-defined]
                return node
    return None
