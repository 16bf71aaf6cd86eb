"""Answers are computed for whatever size comes, and on whole tensors: not looked up, not in loops."""

from __future__ import annotations

import ast
from typing import Any

import torch
from torch import Tensor

from autograder.causes.lookups import Lookup, lookups
from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import reference_arguments
from autograder.more_rows import TIMES, rows_of
from autograder.rules.problems import problem
from autograder.rules.registry import NOT_ASKED, Rule, Undecided, Verdict, rule
from autograder.work import counted

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")


@rule("memorised")
def looks_nothing_up(ev: Evidence) -> Verdict:
    """The answers are computed, not looked up."""
    found = lookups(ev.source)
    asked = [*ev.plain, *ev.pairs("grown")]
    if not found or not asked:
        return NOT_ASKED
    missing = next((p for p in asked if _asks_a_table_for_an_input(p, found)), None)
    if missing is not None:
        return Finding(
            "memorised",
            "The answers stand in a table, and this input is not in it.",
            "Compute the output from the input, whatever it is: every check draws new inputs.",
            _evidence(missing, found[0]),
        )
    right = [p for p in asked if problem(ev, p) is None]
    wrong = [p for p in asked if p not in right]
    for lookup in found:
        known, other = _kept_apart(lookup, right, wrong)
        if known is None or other is None:
            continue
        what = "sizes" if lookup.of_sizes else "inputs"
        return Finding(
            "memorised",
            f"Right for the {what} that the code knows ({known.where}), wrong for others "
            f"({other.where}).",
            "Write one computation that serves every input; then the branch for particular ones can go.",
            _evidence(other, lookup),
        )
    return NOT_ASKED


def _evidence(pair: Pair, lookup: Lookup) -> dict[str, object]:
    return {"case": pair.where, "line": lookup.line, "source": lookup.text}


def _asks_a_table_for_an_input(pair: Pair, found: list[Lookup]) -> bool:
    """Whether it stopped because a table has no entry for a value or a size of the input."""
    failure = pair.answer.failure
    if failure is None or failure.kind != "KeyError":
        return False
    tensors = [a.reshape(-1).tolist() for a in pair.question.args if isinstance(a, Tensor)]
    asked = {*_sizes(pair), *(v for values in tensors for v in (*values, tuple(values)))}
    return failure.message in map(repr, asked)


def _kept_apart(
    lookup: Lookup, right: list[Pair], wrong: list[Pair]
) -> tuple[Pair | None, Pair | None]:
    """A right and a wrong pair that the lookup tells apart: only right ones have what it names."""
    if not lookup.of_sizes or not lookup.sizes:
        # What it names is not written there: a right and a wrong case of one kind have to do.
        pairs = [(r, w) for r in right for w in wrong if _kinds(r) == _kinds(w)]
        return pairs[0] if pairs else (None, None)
    named = [p for p in right if lookup.sizes & _sizes(p)]
    others = [p for p in wrong if not lookup.sizes & _sizes(p)]
    if not named or len(others) < len(wrong):
        return None, None
    return named[0], (others[0] if others else None)


def _kinds(pair: Pair) -> list[Any]:
    return [(a.dim(), a.dtype) if isinstance(a, Tensor) else type(a) for a in pair.question.args]


def _sizes(pair: Pair) -> set[Any]:
    """Every shape, number of elements and size of a dimension in a case, as code may compare them."""
    tensors = [a for a in pair.question.args if isinstance(a, Tensor)]
    shapes = {tuple(t.shape) for t in tensors}
    return {*shapes, *(t.numel() for t in tensors), *(n for shape in shapes for n in shape)}


@rule("memorised", needs=(*_RIGHT, "batch_dimensions", "empty_tensors"))
def works_for_every_size(ev: Evidence) -> Verdict:
    """Sizes that no case has work as well."""
    asked = list(ev.pairs("grown"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        wrong = problem(ev, pair)
        if wrong is None:
            continue
        words, evidence = wrong
        name = "raises" if pair.answer.failure is not None else "gradient-value"
        if name == "gradient-value" and not _outputs_right(pair):
            name = "forward-value"
        return Finding(
            name,
            f"Right in the sizes of the cases, but not {pair.where}: {words}.",
            "Look for a number in the code that is the size of one particular input; take it from the "
            "input's shape.",
            {"case": pair.where, **evidence},
        )
    return None


def _outputs_right(pair: Pair) -> bool:
    outputs = pair.answer.outputs or ()
    return all(
        close(got, right)
        for got, right in zip(outputs, pair.expected.outputs, strict=False)
        if isinstance(right, Tensor)
    )


@rule("too-slow", needs=(*_RIGHT, "works_for_every_size"))
def works_on_whole_tensors(ev: Evidence) -> Verdict:
    """More rows take no more operations: no loop runs over rows or elements."""
    asked = list(ev.pairs("grown"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        rows = rows_of(pair.question.more["args"])
        few, many = pair.answer.data["work"]
        for place, (name, what) in enumerate(_COUNTS):
            # One more for each row that was added; a branch or two more make no loop.
            if many[place] - few[place] >= (TIMES - 1) * rows > 1:
                if _reference_grows(ev, pair):
                    return Undecided("the reference itself takes more operations for more rows")
                counts = f"{few[place]} {what} for {rows}, {many[place]} for {TIMES * rows}"
                return _loops(ev, pair, name, rows, counts)
    return None


def _loops(ev: Evidence, pair: Pair, name: str, rows: int, counts: str) -> Finding:
    of = _rows_or_elements(pair)
    again = _repeated(pair, name, rows)
    message = (
        f"{name} does more, the more {of} there are: {counts}. One pass over whole tensors takes the same number for "
        "both."
    )
    line = _loop_line(ev, name)
    if again is not None:
        message = (
            f"{name} goes through the {of} in Python: line {again[0]} runs again for each of them."
        )
        line = {"line": again[0], "source": again[1]}
    return Finding(
        "too-slow",
        message,
        "Put an operation on the whole tensor in the place of the loop (or comprehension): broadcasting, @, sum, cumsum, "
        "gather, torch.where, or the torch function for what math computes of one number.",
        {"case": pair.where, **line},
    )


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


RULES: tuple[Rule, ...] = (looks_nothing_up, works_for_every_size, works_on_whole_tensors)
