"""A reduced dimension that backward does not give back, or gives back in another place."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from autograder.compare import shape_words
from autograder.errors.fitting import beside, fits
from autograder.evidence import Evidence, Pair
from autograder.observation import Failure

Words = tuple[str, str]


def index_of_the_output(failure: Failure, ev: Evidence, pair: Pair, method: str) -> Words | None:
    """scatter or gather gets indices in the shape of the output, or with one dimension too many."""
    back, output = _with_its_dimension(ev, pair)
    if method != "backward" or not back:
        return None
    shapes = [o.shape for o in failure.operands]
    if output in shapes:
        return (
            f"The reduced dimension is not given back: {failure.operation} gets a tensor of shape "
            f"{shape_words(output)}, that of the output, beside one of {len(back)} dimensions.",
            "scatter and gather want the same number of dimensions everywhere: unsqueeze(dim) for the indices, "
            "and for the gradient that is scattered.",
        )
    long = next((s for s in shapes if len(s) > len(back)), None)
    if long is None:
        return None
    return (
        f"The reduced dimension is given back twice: {failure.operation} gets a tensor of shape "
        f"{shape_words(long)}, which has a dimension more than the input.",
        "unsqueeze(dim) once for each tensor, in forward or in backward; keepdim=True gives it back as well.",
    )


def shape_of_the_output(failure: Failure, ev: Evidence, pair: Pair, method: str) -> Words | None:
    """grad_output (or an output) meets the input without the dimension that forward reduced."""
    back, output = _with_its_dimension(ev, pair)
    if method != "backward" or not back:
        return None
    for i, operand in enumerate(failure.operands):
        others = beside(failure, i)
        if not others or not fits([back, *others]):
            continue
        target = shape_words(others[0])
        if operand.shape == output:
            if _twice_with_keepdim(ev):
                return (
                    "The reduced dimension is given back where keepdim=True has kept it, and not where it is gone.",
                    "grad_output has the shape of the output: unsqueeze(dim) is for keepdim=False.",
                )
            return (
                f"The reduced dimension is not given back: {shape_words(output)}, the shape of the output, does "
                f"not fit {target}.",
                "grad_output has the shape of the output, without dimension dim. unsqueeze(dim) puts it back "
                "with size 1, and so for an output that was saved.",
            )
        if operand.shape != back and sorted(operand.shape) == sorted(back):
            dim = _dim(ev, pair)
            shapes = (
                f"{shape_words(operand.shape)} does not fit {target}; {shape_words(back)} does."
            )
            return (
                f"dim = {dim} is counted in the output's shape, which is one shorter than x's, so the reduced dimension "
                f"comes back in the wrong place: {shapes}"
                if operand.shape in _counted_in(output, dim)
                else f"The reduced dimension is given back {_where(operand.shape, output)}: {shapes}",
                _NEGATIVE if dim < 0 else _ELSEWHERE,
            )
    return None


def given_back_twice(failure: Failure, ev: Evidence, pair: Pair, method: str) -> Words | None:
    """The reduced dimension is put back into a gradient in which keepdim=True has kept it."""
    args = pair.question.args
    names = ev.exercise.argument_names
    place = names.index("keepdim") if "keepdim" in names else len(args)
    output = next((o for o in pair.expected.outputs if isinstance(o, Tensor)), None)
    if method != "backward" or place >= len(args) or args[place] is not True or output is None:
        return None
    kept = tuple(output.shape)
    long = next((o.shape for o in failure.operands if len(o.shape) == len(kept) + 1), None)
    if long is None or math.prod(long) != math.prod(kept):
        return None
    return (
        f"With keepdim=True the reduced dimension is there already, and backward gives it back once more: {shape_words(kept)} "
        f"becomes {shape_words(long)}.",
        "grad_output has the shape of the output: unsqueeze(dim) is for keepdim=False alone.",
    )


def _twice_with_keepdim(ev: Evidence) -> bool:
    """Whether a case with keepdim=True stops because there is a dimension too many."""
    failed = [p.answer.failure for p in ev.plain if True in p.question.args[1:]]
    return any(f is not None and "number of sizes provided" in f.message for f in failed)


def _where(shape: tuple[int, ...], output: tuple[int, ...]) -> str:
    if shape == (*output, 1):
        return "at the end, not at dim"
    return "in front, not at dim" if shape == (1, *output) else "in the wrong place"


def _counted_in(output: tuple[int, ...], dim: int) -> list[tuple[int, ...]]:
    """The shapes that come of a negative dim which is counted in the output's own shape."""
    inserted = list(output)
    inserted.insert(dim, 1)
    place = dim + len(output)
    if dim >= 0 or place < -len(output) - 1:
        return []
    return [tuple(inserted), tuple(torch.empty(output, device="meta").unsqueeze(place).shape)]


_NEGATIVE = (
    "A negative dim counts from the end of x. In the output's shape, which is one shorter, the same number is "
    "another place (list.insert(-1, 1) inserts before the last entry): unsqueeze(dim) counts as it should, or "
    "count from the front, dim % x.dim()."
)


_ELSEWHERE = (
    "Put it back where it was: unsqueeze(dim), not at a place that is written out (-1, 0, 1)."
)


def _dim(ev: Evidence, pair: Pair) -> int:
    return int(pair.question.args[ev.exercise.argument_names.index("dim")])


def _with_its_dimension(ev: Evidence, pair: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The output's shape with the dimension dim at size 1, and as it is; () where nothing is reduced."""
    names, args = ev.exercise.argument_names, pair.question.args
    place = names.index("dim") if "dim" in names else len(args)
    if place >= len(args) or type(args[place]) is not int or not isinstance(args[0], Tensor):
        return (), ()
    output = next((o for o in pair.expected.outputs if isinstance(o, Tensor)), None)
    if output is None or output.dim() != args[0].dim() - 1:
        return (), ()
    return tuple(output.unsqueeze(args[place]).shape), tuple(output.shape)
