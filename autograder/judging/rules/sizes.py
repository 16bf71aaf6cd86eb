"""Answers are computed for whatever size comes, and on whole tensors: not looked up, not in loops."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
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
from autograder.observation.lookups import Lookup, Size, lookups
from autograder.running.watching import counted


@rule("memorised", promise="values")
def looks_nothing_up(ev: Evidence) -> Verdict:
    """The answers are computed, not looked up."""
    found = lookups(ev.source)
    asked = [*ev.plain, *ev.pairs("grown")]
    if not found or not asked:
        return NOT_ASKED
    missing = next((p for p in asked if _asks_a_table_for_an_input(p, found)), None)
    if missing is not None:
        return fault("memorised", "memorised/table", missing, evidence=_line(found[0]))
    right = [p for p in asked if problem(ev, p) is None]
    wrong = [p for p in asked if p not in right]
    for lookup in found:
        known, other = _kept_apart(lookup, right, wrong)
        if known is not None and other is not None:
            return fault(
                "memorised", "memorised/known", other, evidence=_line(lookup), of_sizes=lookup.of_sizes,
                known=known.where, other=other.where,
            )  # fmt: skip
    shown = next(
        (k for k in found if wrong and not right and _knows_the_visible(ev, k, wrong)), None
    )
    return NOT_ASKED if shown is None else fault("memorised", "memorised/shown", wrong[0], evidence=_line(shown), line=shown.line)  # fmt: skip


def _knows_the_visible(ev: Evidence, lookup: Lookup, wrong: list[Pair]) -> bool:
    """Whether a lookup names sizes that the cases have as they are shown, and none that was asked now."""
    cases = [c.make(Sampler(0)) for c in ev.exercise.cases if c.role == "main"]
    visible = set().union(*map(_sizes, cases))
    return bool(lookup.sizes & visible) and not any(lookup.sizes & _sizes(p.question.args) for p in wrong)  # fmt: skip


def _line(lookup: Lookup) -> dict[str, object]:
    return {"line": lookup.line, "source": lookup.text}


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
    facts |= {"method": name, "of": _rows_or_elements(pair), "rows": rows, "times_rows": TIMES * rows}  # fmt: skip
    again = _repeated(pair, name, rows)
    line = _loop_line(ev, name) if again is None else {"line": again[0], "source": again[1]}
    facts["again"] = again and again[0]
    return fault("too-slow", "slow/rows", pair, evidence=line, **facts)


def _rows_or_elements(pair: Pair) -> str:
    """What there is one of in each step along the first dimension."""
    tensors = [a for a in pair.question.args if isinstance(a, Tensor) and a.dim()]
    return "elements" if tensors and tensors[0].dim() == 1 else "rows"


def _repeated(pair: Pair, name: str, rows: int) -> tuple[int, str] | None:
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


def _loop_line(ev: Evidence, name: str) -> dict[str, object]:
    """The first loop of the method, else of any other: a helper or setup_context may hold it."""
    methods = ev.source.methods
    ordered = [methods[m] for m in (name, *methods) if m in methods]
    loops = ast.For | ast.While | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
    for method in ordered:
        for node in ast.walk(method):
            if isinstance(node, loops):
                line, text = ev.source.line_of(node)
                return {"line": line, "source": text}
    return {}
