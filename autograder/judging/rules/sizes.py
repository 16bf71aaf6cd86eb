"""Answers are computed for whatever size comes, and on whole tensors: not looked up, not in loops."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.contract.drawing import TIMES, rows_of
from autograder.contract.exercise import Sampler
from autograder.contract.references import reference_arguments
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.problems import at_fault, problem
from autograder.judging.rules.registry import NOT_ASKED, Undecided, Verdict, rule, to
from autograder.observation.source import Place, Source, at
from autograder.observation.syntax import called
from autograder.running.watching import counted


@rule("memorised", needs=("batch_dimensions", "empty_tensors"), of=to("grown"))
def works_for_every_size(ev: Evidence, pair: Pair) -> Verdict:
    """Sizes that no case has work as well."""
    if (found := problem(ev, pair)) is None:
        return None
    kinds = {"stops": "raises", "gradient": "gradient-value", "output": "forward-value"}
    return at_fault(ev, kinds[found.code.split("-")[0]], "grown", pair, found)


@rule("too-slow", needs=("works_for_every_size",), of=to("grown"))
def works_on_whole_tensors(ev: Evidence, pair: Pair) -> Verdict:
    """More rows take no more operations: no loop runs over rows or elements."""
    rows = rows_of(pair.question.more["args"])
    few, many = pair.answer.data["work"]
    for place, (name, what) in enumerate(_COUNTS):
        # One more for each row that was added; a branch or two more make no loop.
        if many[place] - few[place] >= (TIMES - 1) * rows > 1:
            if _reference_grows(ev, pair):
                return Undecided("the reference itself takes more operations for more rows")
            facts = {"few": few[place], "many": many[place], "what": what}
            return _loops(ev, pair, name, rows, facts)
    return None


def _loops(ev: Evidence, pair: Pair, name: str, rows: int, facts: dict[str, Any]) -> Finding:
    # What there is one of in each step along the first dimension.
    first = next((a for a in pair.question.args if isinstance(a, Tensor) and a.dim()), None)
    of = "elements" if first is not None and first.dim() == 1 else "rows"
    again = _repeated(pair, name, rows)
    return fault(
        "too-slow", "slow/rows", pair, evidence=at(again or _loop_line(ev, name)), **facts,
        method=name, of=of, rows=rows, times_rows=TIMES * rows, again=again and again[0],
    )  # fmt: skip


def _repeated(pair: Pair, name: str, rows: int) -> Place | None:
    """The line that runs once more (at least) for every row more, and its text; None where none does."""
    try:
        number, text, few, many = pair.answer.data["repeated"][name == "backward"]
        often = many - few >= (TIMES - 1) * rows
        return (int(number), str(text)[:200]) if often else None
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # from a box that counted no lines, or something that is no such count


_COUNTS = (
    ("forward", "torch operations"), ("forward", "lines of code"),
    ("backward", "torch operations"), ("backward", "lines of code"),
)  # fmt: skip


def _reference_grows(ev: Evidence, pair: Pair) -> bool:
    counts = []
    for args in (pair.question.more["args"], pair.question.args):
        ready = reference_arguments(pair.question, args)
        with torch.no_grad(), counted() as work:
            ev.exercise.reference(*ready)
        counts.append(work.operations)
    return counts[1] > counts[0]


def _loop_line(ev: Evidence, name: str) -> Place | None:
    """The first loop of the method, else of any other: a helper or setup_context may hold it."""
    loops = ast.For | ast.While | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
    found = (
        n for m in (name, *ev.source.methods) for n in ev.source.parts(m) if isinstance(n, loops)
    )
    first = next(found, None)
    return None if first is None else ev.source.line_of(first)


# ---- what is looked up ---------------------------------------------------------------------------
# Code that decides by particular sizes or values of its inputs, read as AST and never run. That alone is no
# mistake. It becomes evidence when the answers are right for just those sizes.


@rule("memorised", promise="values")
def looks_nothing_up(ev: Evidence) -> Verdict:
    """The answers are computed, not looked up."""
    found = lookups(ev.source)
    asked = [*ev.plain, *ev.pairs("grown")]
    if not found or not asked:
        return NOT_ASKED
    missing = next((p for p in asked if _asks_a_table_for_an_input(p, found)), None)
    if missing is not None:
        return fault("memorised", "memorised/table", missing, evidence=at(found[0].place))
    right = [p for p in asked if problem(ev, p) is None]
    wrong = [p for p in asked if p not in right]
    for lookup in found:
        known, other = _kept_apart(lookup, right, wrong)
        if known is not None and other is not None:
            return fault(
                "memorised", "memorised/known", other, evidence=at(lookup.place), of_sizes=lookup.of_sizes,
                known=known.where, other=other.where,
            )  # fmt: skip
    shown = next(
        (k for k in found if wrong and not right and _knows_the_visible(ev, k, wrong)), None
    )
    return NOT_ASKED if shown is None else fault("memorised", "memorised/shown", wrong[0], evidence=at(shown.place), line=shown.place[0])  # fmt: skip


def _knows_the_visible(ev: Evidence, lookup: Lookup, wrong: list[Pair]) -> bool:
    """Whether a lookup names sizes that the cases have as they are shown, and none that was asked now."""
    cases = [c.make(Sampler(0)) for c in ev.exercise.cases if c.role == "main"]
    visible = set().union(*map(_sizes, cases))
    return bool(lookup.sizes & visible) and not any(lookup.sizes & _sizes(p.question.args) for p in wrong)  # fmt: skip


def _asks_a_table_for_an_input(pair: Pair, found: list[Lookup]) -> bool:
    """Whether it stopped because a table has no entry for a value or a size of the input."""
    failure = pair.answer.failure
    if failure is None or failure.kind != "KeyError":
        return False
    tensors = [a.reshape(-1).tolist() for a in pair.question.args if isinstance(a, Tensor)]
    asked = {
        *(size for _, size in _sizes(pair.question.args)),
        *(v for values in tensors for v in (*values, tuple(values))),
    }
    return failure.message in map(repr, asked)


def _kept_apart(
    lookup: Lookup, right: list[Pair], wrong: list[Pair]
) -> tuple[Pair | None, Pair | None]:
    """A right and a wrong pair that the lookup tells apart: only right ones have what it names."""
    if not lookup.of_sizes or not lookup.sizes:
        # What it names is not written there: a right and a wrong case of one kind have to do.
        pairs = [(r, w) for r in right for w in wrong if _kinds(r) == _kinds(w)]
        return pairs[0] if pairs else (None, None)
    named = [p for p in right if lookup.sizes & _sizes(p.question.args)]
    others = [p for p in wrong if not lookup.sizes & _sizes(p.question.args)]
    if not named or len(others) < len(wrong):
        return None, None
    return named[0], (others[0] if others else None)


def _kinds(pair: Pair) -> list[Any]:
    return [(a.dim(), a.dtype) if isinstance(a, Tensor) else type(a) for a in pair.question.args]


def _sizes(args: Sequence[Any]) -> set[Size]:
    """Every shape, number of elements and size of a dimension in a case, as code may compare them."""
    shapes = {tuple(a.shape) for a in args if isinstance(a, Tensor)}
    sizes = {("size", n) for shape in shapes for n in shape}
    return {*(("shape", s) for s in shapes), *(("count", math.prod(s)) for s in shapes), *sizes}


Size = tuple[
    str, Any
]  # ("shape", (2, 3)), ("size", 3) of a dimension, ("count", 6) of the elements
ORDINARY = (0, 1, (), (1,))  # sizes that honest code treats apart: empty tensors, broadcasting


@dataclass(frozen=True)
class Lookup:
    """One place that compares sizes or values of inputs with constants, or looks them up in a table.

    sizes  what it compares sizes with; empty where that is not written there
    """

    place: Place
    of_sizes: bool
    sizes: frozenset[Size] = frozenset()


def lookups(source: Source) -> list[Lookup]:
    """Every lookup in the source of a submission, in the order of its lines."""
    found: dict[int, Lookup] = {}
    for place, of_sizes, sizes in filter(None, map(_lookup, source.nodes)):
        line, text = source.line_of(place)
        found.setdefault(line, Lookup((line, text), of_sizes, sizes))
    return [found[line] for line in sorted(found)]


def _lookup(node: ast.AST) -> tuple[ast.AST, bool, frozenset[Size]] | None:
    """(where it stands, whether it is of sizes, which); None where a node looks nothing up."""
    match node:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() as how, *_]):
            sides = [node.left, *node.comparators]
            if quantity := next(filter(None, map(_quantity, sides)), ""):
                one_of = isinstance(how, ast.In | ast.NotIn)
                named = frozenset().union(*(_named(side, quantity, one_of) for side in sides))
                return (node, True, named) if named else None
            values = any(called(side) in ("tolist", "item", "float") for side in sides)
            return (node, False, frozenset()) if values and any(map(_is_table, sides)) else None
        case ast.Call(args=args) if called(node) in ("equal", "allclose"):
            return (node, False, frozenset()) if any(map(_is_tensor_of_numbers, args)) else None
        case ast.Subscript(value=ast.Name() | ast.Attribute() | ast.Dict(), ctx=ast.Load()):
            return (node, True, frozenset()) if _quantity(node.slice) else None
        case ast.Dict() if _is_table(node):
            return node, False, frozenset()
        case ast.match_case(pattern=pattern):
            value = _literal(ast.unparse(pattern))
            kinds = ("shape",) if isinstance(value, tuple) else ("size", "count")
            named = frozenset((kind, value) for kind in kinds)
            return (pattern, True, named) if isinstance(value, tuple | int) else None
    return None


def _quantity(node: ast.AST) -> str:
    """Which size a piece of code is: "shape", "size" (of a dimension, or of several), "count"; "" for none."""
    match node:
        case ast.Subscript(value=inner):
            return "size" if _quantity(inner) else ""
        case ast.Attribute(attr="shape"):
            return "shape"
        case ast.Call(func=ast.Attribute(attr="size"), args=[]):
            return "shape"
        case ast.Call(args=parts) if called(node) in ("tuple", "list", "str"):
            return next(filter(None, map(_quantity, parts)), "")
        case ast.Tuple(elts=parts):
            return "size" if any(map(_quantity, parts)) else ""
    return {"size": "size", "len": "size", "numel": "count", "nelement": "count"}.get(called(node), "")  # fmt: skip


def _named(node: ast.AST, quantity: str, one_of: bool) -> frozenset[Size]:
    """The sizes that a side of a comparison names; with ``one_of`` each of its elements is one."""
    if isinstance(node, ast.Call) and called(node) in ("Size", "tuple", "list") and node.args:
        return _named(node.args[0], quantity, one_of)
    match _literal(node):
        case dict() | set() | frozenset() | list() | tuple() as several if one_of:
            values = [tuple(v) if isinstance(v, list) else v for v in several]
        case list() | tuple() as shape:
            values = [tuple(shape)]
        case value:
            values = [value]
    if quantity != "shape":  # of (x.shape[0], x.shape[1]) == (2, 3) each is a size
        values = [n for v in values for n in (v if isinstance(v, tuple) else (v,))]
    wanted = tuple if quantity == "shape" else int
    return frozenset((quantity, v) for v in values if isinstance(v, wanted) and v not in ORDINARY)


def _literal(node: ast.AST | str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _is_table(node: ast.AST) -> bool:
    """A literal with two numbers or more as keys or elements."""
    if isinstance(node, ast.Dict):
        numbers = [key for key in node.keys if key is not None and _is_number(key)]
        return len(numbers) > 1
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and (
        len(node.elts) > 1 and all(map(_is_number, node.elts))
    )


def _is_number(node: ast.AST) -> bool:
    value = _literal(node)
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(v, float) for v in value)
    return isinstance(value, float)


def _is_tensor_of_numbers(node: ast.AST) -> bool:
    """torch.tensor([0.0, 1.0]) and x.new_tensor(…) of a literal."""
    made = isinstance(node, ast.Call) and called(node) in ("tensor", "new_tensor", "as_tensor")
    return made and bool(node.args) and _literal(node.args[0]) is not None  # type: ignore[attr-defined]
