"""Errors about shapes: which tensors met, where each got its shape, and which reduction took a dimension from one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.explaining.example_answers import RightNumbers
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.compare import shape_words
from autograder.observation.observation import Failure
from autograder.observation.source import Place
from autograder.running.operations import Operation, Operations, placed

Told = tuple[str, dict[str, Any]]
_BROADCAST = (
    "must match the (?:existing )?size|not broadcastable|not expandable|must be broadcastable"
)
_SHORTEN = frozenset({
    "sum", "mean", "amax", "amin", "max", "min", "logsumexp", "prod", "argmax", "argmin", "norm", "var",
    "std", "all", "any", "nansum", "median", "count_nonzero", "squeeze", "select",
})  # fmt: skip


def met(ev: Evidence, finding: Finding, failure: Failure) -> Told | None:
    """What the tensors of the operation that failed tell; None where they tell nothing."""
    product = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", failure.words)
    if product is not None:
        a, b, c, d = map(int, product.groups())
        turn = " or ".join(["the first"] * (a == c) + ["the second"] * (b == d))
        return "stops/transposed", {"first": f"{a}×{b}", "second": f"{c}×{d}", "same": (a, b) == (c, d), "turn": turn}  # fmt: skip
    if not re.search(_BROADCAST, failure.words) or finding.pair is None or ev.flow is None:
        return None
    run = ev.flow(finding.pair.question).operations
    if run.error is None or run.error[:200] != failure.message[:200]:
        return None
    tensors = run.all[-1].tensors
    if len(tensors) != 2 or _fits([t.shape for t in tensors]):
        return None
    made = [run.shaped(t, len(run.all)) for t in tensors]
    for tensor, other, source in zip(tensors, reversed(tensors), made, strict=True):
        reduction = _reduction(run, source)
        back = [torch.Size((*tensor.shape[:d], 1, *tensor.shape[d:])) for d in range(tensor.dim() + 1)]  # fmt: skip
        if reduction is not None and reduction.line and any(_fits([b, other.shape]) for b in back):
            keeps = reduction.name not in ("squeeze", "select")
            here = reduction.function == failure.function or not keeps
            return f"stops/{'lost-dimension' if here else 'lost-elsewhere'}", {
                "by": reduction.name, "at_line": reduction.line, "keepdim": keeps,
                "shape": shape_words(tensor.shape), "other": shape_words(other.shape),
                "place": _place(ev, reduction if here else source if source and source.function == failure.function else None),
            }  # fmt: skip
    shapes = [_in_words(t, source, failure) for t, source in zip(tensors, made, strict=True)]
    known = RightNumbers(ev, finding.pair.question, ("output", 0)).every
    odd = [s for t, s in zip(tensors, made, strict=True) if s and s.line and (at := placed(t)) and not known.have(at.values)]  # fmt: skip
    first = min(odd, key=lambda s: s.order, default=None)
    return "stops/two-shapes", {"first": shapes[0], "second": shapes[1], "place": _place(ev, first)}


def _fits(shapes: Sequence[torch.Size]) -> bool:
    """Whether these shapes broadcast."""
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def _reduction(run: Operations, made: Operation | None) -> Operation | None:
    """The reduction that a shape comes from, through whatever keeps it."""
    if made is None:
        return None
    if made.name in _SHORTEN and made.made[0].dim() < made.tensors[0].dim():
        return made
    alike = (run.shaped(t, made.order) for t in made.tensors if t.shape == made.made[0].shape)
    return next(filter(None, (_reduction(run, source) for source in alike)), None)


def _place(ev: Evidence, made: Operation | None) -> Place | None:
    return (made.line, ev.source.text_of(made.line)) if made is not None and made.line else None


def _in_words(tensor: Tensor, made: Operation | None, failure: Failure) -> str:
    """A shape, and the line in which the tensor got it where that is another one."""
    elsewhere = made is not None and made.line and made.line != failure.line
    return shape_words(tensor.shape) + (f" of line {made.line}" if made and elsewhere else "")
