"""Answers are computed for whatever size comes, and on whole tensors: not looked up, not in loops."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from itertools import product
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
from autograder.observation.source import Place, Source
from autograder.running.watching import counted


@rule("memorised", needs=("batch_dimensions", "empty_tensors"), of=to("grown", "large", variant=""))
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
        "too-slow", "slow/rows", pair, seen_at=again or _loop_line(ev, name), **facts,
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
# Code that names particular sizes, read as AST and never run. That alone is no mistake. It becomes evidence when
# the answers are right for just those sizes.


@rule("memorised", promise="values")
def looks_nothing_up(ev: Evidence) -> Verdict:
    """The answers are computed, not looked up."""
    asked = [*ev.plain, *ev.pairs("grown")]
    for pair in asked:
        failure = pair.answer.failure
        if (
            failure is not None
            and failure.kind == "KeyError"
            and failure.message in _of_input(pair)
        ):
            return fault("memorised", "memorised/table", pair, seen_at=failure.place)
    found = list(_named_sizes(ev.source))
    wrong = [p for p in asked if problem(ev, p) is not None] if found else []
    if not wrong:
        return NOT_ASKED
    right = [p for p in asked if p not in wrong]
    cases = [c.make(Sampler(0)) for c in ev.exercise.cases if c.role == "main"]
    groups = [p.question.args for p in right], [p.question.args for p in wrong], cases
    sizes = [[_sizes(args) for args in some] for some in groups]
    for (place, named), view in product(found, range(3)):
        known, others, shown = ([bool(s[view] & named) for s in some if s[view]] for some in sizes)
        if known and all(known) and not any(others):
            return fault("memorised", "memorised/known", wrong[0], seen_at=place, known=right[0].where, other=wrong[0].where)  # fmt: skip
        if not right and any(shown) and not any(others):
            return fault("memorised", "memorised/shown", wrong[0], seen_at=place, line=place[0])  # fmt: skip
    return NOT_ASKED


Size = int | tuple[int, ...]  # of a dimension or of all elements; a shape
ORDINARY = (0, 1, (), (1,))  # sizes that honest code treats apart: empty tensors, broadcasting


def _of_input(pair: Pair) -> set[str]:
    """The values and sizes of the inputs, as a KeyError names them."""
    tensors = [a.reshape(-1).tolist() for a in pair.question.args if isinstance(a, Tensor)]
    values = {v for numbers in tensors for v in (*numbers, tuple(numbers))}
    return set(map(repr, values.union(*_sizes(pair.question.args))))


def _sizes(args: Sequence[Any]) -> tuple[set[Size], set[Size], set[Size]]:
    """The shapes, numbers of elements and sizes of dimensions in a case: code compares one of them."""
    shapes: list[tuple[int, ...]] = [tuple(a.shape) for a in args if isinstance(a, Tensor)]
    views = shapes, map(math.prod, shapes), (size for shape in shapes for size in shape)
    shape, count, size = ({*view}.difference(ORDINARY) for view in views)
    return shape, count, size


def _named_sizes(source: Source) -> Iterator[tuple[Place, set[Size]]]:
    """Places where something is compared with whole numbers, or looked up by them, and these numbers."""
    for node in source.nodes:
        asked: list[Any] = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], _SAMENESS):
            asked = [node.left, *node.comparators]
        written = [part for each in asked if each is not None for part in ast.walk(each)]
        if named := {size for part in written for size in _size(part)}.difference(ORDINARY):
            yield source.line_of(node), named


_SAMENESS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def _size(node: ast.AST) -> list[Size]:
    """A whole number, or a tuple of them, that is written in the code."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    values = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, int)]
    if not values or len(values) < len(parts):
        return []
    return [tuple(values) if isinstance(node, ast.Tuple) else values[0]]
