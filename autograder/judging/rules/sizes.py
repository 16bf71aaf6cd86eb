"""Answers are computed for whatever size comes, and on whole tensors: not looked up, not in loops."""

from __future__ import annotations

import ast
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
from autograder.observation.syntax import called, name_of
from autograder.running.watching import counted


@rule("memorised", needs=("batch_dimensions", "empty_tensors"), of=to("grown", "large"))
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
    return any(map(lookup.names, cases)) and not any(lookup.names(p.question.args) for p in wrong)


def _asks_a_table_for_an_input(pair: Pair, found: list[Lookup]) -> bool:
    """Whether it stopped because a table has no entry for a value or a size of the input."""
    failure = pair.answer.failure
    if failure is None or failure.kind != "KeyError":
        return False
    tensors = [a.reshape(-1).tolist() for a in pair.question.args if isinstance(a, Tensor)]
    asked = {v for values in tensors for v in (*values, tuple(values))} | _sizes(pair.question.args)
    return failure.message in map(repr, asked)


def _kept_apart(
    lookup: Lookup, right: list[Pair], wrong: list[Pair]
) -> tuple[Pair | None, Pair | None]:
    """A right and a wrong pair that the lookup tells apart: only right ones have what it names."""
    if not lookup.of_sizes or not lookup.sizes:
        # What it names is not written there: a right and a wrong case of one kind have to do.
        pairs = [(r, w) for r in right for w in wrong if _kinds(r) == _kinds(w)]
        return pairs[0] if pairs else (None, None)
    named = [p for p in right if lookup.names(p.question.args)]
    others = [p for p in wrong if not lookup.names(p.question.args)]
    if not named or len(others) < len(wrong):
        return None, None
    return named[0], (others[0] if others else None)


def _kinds(pair: Pair) -> list[Any]:
    return [(a.dim(), a.dtype) if isinstance(a, Tensor) else type(a) for a in pair.question.args]


def _sizes(args: Sequence[Any]) -> set[Size]:
    """Every shape, number of elements and size of a dimension in a case, as code may compare them."""
    shapes = {tuple(a.shape) for a in args if isinstance(a, Tensor)}
    return shapes | _counts(args) | {n for shape in shapes for n in shape}


def _counts(args: Sequence[Any]) -> set[Size]:
    return {a.numel() for a in args if isinstance(a, Tensor)}


Size = int | tuple[int, ...]  # of a dimension or of all elements; a shape
ORDINARY = (0, 1, (), (1,))  # sizes that honest code treats apart: empty tensors, broadcasting
_OF_ELEMENTS = {"numel", "nelement"}
_ASKS = {"shape", "size", "len", *_OF_ELEMENTS}


@dataclass(frozen=True)
class Lookup:
    """One place that compares sizes or values of inputs with constants, or looks them up in a table.

    sizes   what it compares sizes with; empty where that is not written there
    counts  it asks for numbers of elements alone
    """

    place: Place
    of_sizes: bool
    sizes: frozenset[Size] = frozenset()
    counts: bool = False

    def names(self, args: Sequence[Any]) -> bool:
        """Whether a case has one of its sizes."""
        return bool(self.sizes & (_counts(args) if self.counts else _sizes(args)))


def lookups(source: Source) -> list[Lookup]:
    """Every lookup in the source of a submission, in the order of its lines."""
    found: dict[int, Lookup] = {}
    # kernel[(len(rows),)](…) launches so many programs, and looks nothing up.
    launched = {id(n.func) for n in source.nodes if isinstance(n, ast.Call) and isinstance(getattr(n.func, "slice", None), ast.Tuple)}  # fmt: skip
    for node in source.nodes:
        if not isinstance(node, _DECIDING):
            continue
        sizes = _compared(node)
        at_size = id(node) not in launched and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and name_of(node.value) not in _ASKS and any(map(_asks_a_size, _indices(node)))  # fmt: skip
        table = isinstance(node, ast.Dict) and _is_table(node)
        if sizes or at_size or table or _compares_numbers(node):
            place = source.line_of(node.pattern if isinstance(node, ast.match_case) else node)
            asked = {name_of(part) for part in ast.walk(node)} & _ASKS
            made = Lookup(
                place,
                bool(sizes or at_size),
                frozenset(sizes),
                bool(asked) and asked <= _OF_ELEMENTS,
            )
            found.setdefault(place[0], made)
    return [found[line] for line in sorted(found)]


def _indices(node: ast.Subscript) -> list[ast.expr]:
    """What one entry each is taken at: what is cut to a size (x[:, :n]) is not looked up by it."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [part for part in parts if not isinstance(part, ast.Slice)]


def _asks_a_size(node: ast.AST) -> bool:
    return any(name_of(part) in _ASKS for part in ast.walk(node))


def _compared(node: ast.AST) -> set[Size]:
    """The sizes that a comparison with a size names, or a case of a match."""
    if isinstance(node, ast.match_case):
        named = [_literal(ast.unparse(node.pattern))]
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], _SAMENESS) and _asks_a_size(node):  # fmt: skip
        sides = [side for side in (node.left, *node.comparators) if not _asks_a_size(side)]
        named = [value for side in sides for value in _literals(side)]
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            named = [each for value in named if isinstance(value, _SEVERAL) for each in value]
    else:
        return set()
    plain = (tuple(v) if isinstance(v, list) else v for v in named)
    return {v for v in plain if isinstance(v, int | tuple) and v not in ORDINARY}


_DECIDING = (ast.Compare, ast.match_case, ast.Subscript, ast.Dict, ast.Call)
_SAMENESS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_SEVERAL = (dict, set, list, tuple)


def _compares_numbers(node: ast.AST) -> bool:
    """Whether the values of a tensor are compared with numbers that are written there, or looked up among them."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        read = any(called(side) in ("tolist", "item", "float") for side in sides)
        return read and any(map(_is_table, sides))
    if not isinstance(node, ast.Call) or called(node) not in ("equal", "allclose"):
        return False
    made = (a for a in node.args if called(a) in ("tensor", "new_tensor", "as_tensor"))
    return any(map(_literals, made))


def _literals(node: ast.AST) -> list[Any]:
    """The values that are written in a piece of code, each as a whole."""
    value = _literal(node)
    inner = ast.iter_child_nodes(node) if value is None else ()
    return [each for child in inner for each in _literals(child)] if value is None else [value]


def _literal(node: ast.AST | str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _is_table(node: ast.AST) -> bool:
    """A literal with two numbers with a point, or more, as keys or elements."""
    entries = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
    values = [_literal(each) for each in entries if each is not None]
    rows = [v if isinstance(v, tuple) else (v,) for v in values]
    return len(rows) > 1 and all(row and all(isinstance(n, float) for n in row) for row in rows)
