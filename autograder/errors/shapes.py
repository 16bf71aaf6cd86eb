"""Errors about shapes: which of the tensors that met has lost, or never had, which dimension."""

from __future__ import annotations

import ast
import math
import re

from torch import Tensor

from autograder.compare import shape_words
from autograder.errors.fitting import beside, fits
from autograder.errors.matrices import batches_of_matrices, matrices_for_elements, transposed
from autograder.errors.reduced import (
    given_back_twice,
    index_of_the_output,
    shape_of_the_output,
)
from autograder.errors.summed_down import moved_up, summed_down_wrongly
from autograder.evidence import Evidence, Pair
from autograder.observation import Failure, Operand

Words = tuple[str, str]

_OUT_OF_RANGE = (
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (\d+)\)"
)
_MATRICES = (
    r"mat1 and mat2 shapes cannot|batch1|inconsistent tensor size|size mismatch|matrix|1D tensors"
)
_BROADCAST = (
    r"must match the (?:existing )?size|not broadcastable|not expandable|must be broadcastable"
)


def about_shapes(failure: Failure, ev: Evidence, pair: Pair, method: str) -> Words | None:
    """(headline, next step) for an error about shapes that its operands explain; else None."""
    if failure.kind not in ("RuntimeError", "IndexError") or failure.raised_by_learner:
        return None
    if ev.exercise.is_function:
        method = ev.exercise.name
    if failure.empty_dims:
        return (
            f"In line {failure.empty_dims[0]} a sum over an empty tuple of dimensions adds up everything, and "
            "what follows does not fit.",
            "With no dimension to sum there is nothing to do: sum only if the tuple has an entry.",
        )
    if re.search(_BROADCAST, failure.message):
        return (
            _lost_by_reduction(failure, method)
            or shape_of_the_output(failure, ev, pair, method)
            or _another_shape_than_given(failure, ev, pair, method)
            or _two_shapes(failure, method)
            or batches_of_matrices(failure, pair, method)
        )
    if "number of sizes provided" in failure.message:
        return given_back_twice(failure, ev, pair, method)
    if "is invalid for input of size" in failure.message:
        return summed_down_wrongly(failure, ev, pair)
    if failure.message == "tuple index out of range":
        return _shape_too_short(failure, method)
    if "Index tensor must have the same number of dimensions" in failure.message:
        return index_of_the_output(failure, ev, pair, method)
    if out := re.search(_OUT_OF_RANGE, failure.message):
        return moved_up(failure, int(out[3])) or _counted_from_the_front(
            failure, ev, int(out[2]) + 1, int(out[3])
        )
    if re.search(_MATRICES, failure.message):
        return matrices_for_elements(failure, ev, pair, method) or transposed(failure, method)
    return None


def _shape_too_short(failure: Failure, method: str) -> Words | None:
    """The shape of a tensor is asked for a dimension that a reduction without keepdim took away."""
    if not re.search(r"(shape|size\(\))\[", failure.source) or not failure.operands:
        return None
    last = failure.operands[0]
    where = f" of line {last.line}" if last.line else ""
    return (
        f"{method} asks a shape for a dimension that it has not got: the {last.reduced_by}{where} dropped one, "
        f"{shape_words(last.before)} became {shape_words(last.shape)}.",
        "Where the dimension is still counted on afterwards, keep it with size 1: keepdim=True. Where it is to "
        "go, the others move forward: dimension i is i - 1 then.",
    )


def _lost_by_reduction(failure: Failure, method: str) -> Words | None:
    """An operand that fits as soon as it has the dimension back that a reduction took away."""
    for i, operand in enumerate(failure.operands):
        others = beside(failure, i)
        if not operand.reduced_by or not others or not fits([_given_back(operand), *others]):
            continue
        other = next((s for s in others if not fits([operand.shape, s])), others[0])
        what = f"dimension{'s' * (len(operand.dims) > 1)} {' and '.join(map(str, operand.dims))}"
        shapes = f"{shape_words(operand.shape)} does not fit {shape_words(other)}"
        where = f" of line {operand.line}" if operand.line else ""
        if operand.reduced_by in ("squeeze", "select"):
            how = "squeeze" if operand.reduced_by == "squeeze" else "An index"
            return (
                f"{how}{where.replace(' of', ' in')} takes {what} away, which is needed: {shapes}.",
                "Leave the dimension with size 1 (x[:, :1] in place of x[:, 0]), or give it back: unsqueeze.",
            )
        if operand.function == failure.function:
            return (
                f"keepdim=True is missing in the {operand.reduced_by}{where}: it drops {what}, and {shapes}.",
                "keepdim=True keeps the reduced dimension with size 1, so that every row meets its own number. "
                "unsqueeze(dim) gives it back.",
            )
        return (
            f"What {operand.reduced_by}{where} gave has lost {what} and does not get it back in {method}: "
            f"{shapes}.",
            "Give the dimension back where the tensor is used: unsqueeze(dim). Or reduce with keepdim=True, "
            "where the tensor is no output.",
        )
    return None


def _given_back(operand: Operand) -> tuple[int, ...]:
    """The operand's shape with size 1 at every dimension that was dropped."""
    shape = list(operand.shape)
    for dim in sorted(operand.dims):
        shape.insert(min(dim, len(shape)), 1)
    return tuple(shape)


def _another_shape_than_given(
    failure: Failure, ev: Evidence, pair: Pair, method: str
) -> Words | None:
    """In forward: an operand as large as one argument alone, in another shape, where its own would fit."""
    tensors = {j: a for j, a in enumerate(pair.question.args) if isinstance(a, Tensor)}
    for i, operand in enumerate(failure.operands):
        others = beside(failure, i)
        count = math.prod(operand.shape)
        large = [(j, tuple(a.shape)) for j, a in tensors.items() if a.numel() == count > 1]
        if method != "forward" or operand.reduced_by or not others or len(large) != 1:
            continue
        ((j, own),) = large
        if own != operand.shape and fits([own, *others]):
            name = ev.argument(j)
            return (
                f"{name} has shape {shape_words(own)}, which fits {shape_words(others[0])} as it is; forward makes "
                f"{shape_words(operand.shape)} of it, which does not.",
                f"Let {name} broadcast as it is given: no view, reshape, unsqueeze or transpose of it.",
            )
    return None


def _two_shapes(failure: Failure, method: str) -> Words | None:
    """Nothing explains it: both shapes in full say more than two sizes."""
    if len(failure.operands) != 2:
        return None
    first, second = (o.shape for o in failure.operands)
    if fits([first, second]):
        return None
    turned = len(second) >= 2 and fits([first, (*second[:-2], second[-1], second[-2])])
    tail = ", unless one is transposed" if turned else ""
    return (
        f"{method} combines two tensors whose shapes do not fit{tail}: {shape_words(first)} and "
        f"{shape_words(second)}.",
        "Write the shape of every tensor beside the line, from the right: two sizes fit if they are equal or "
        "one of them is 1.",
    )


def _counted_from_the_front(failure: Failure, ev: Evidence, count: int, got: int) -> Words | None:
    """A dimension that is written out and does not exist in a tensor of fewer dimensions."""
    call = _call_with(failure, ev, got)
    if call is None or got < count:
        return None
    named = "dim" in ev.exercise.argument_names
    product = next((p for p in ("baddbmm", "bmm") if ev.source.mentions_anywhere(p)), None)
    if product is not None and count != 3:
        return (
            f"{product} and {call} are made for tensors of three dimensions, one of them the batch; here the tensor has "
            f"{count}.",
            "@ multiplies the last two dimensions, however many stand in front. Count from the end: transpose(-2, -1), "
            "where -1 is the last dimension.",
        )
    return (
        f"{call} counts dimensions from the front; here the tensor has {count} of them, and dimension {got} is "
        "not there.",
        "Count from the end: -1 is the last dimension, -2 the one before it, however many stand in front."
        + (" Or is it dim that is meant?" if named else ""),
    )


def _call_with(failure: Failure, ev: Evidence, number: int) -> str | None:
    """The call of the failing line in which this number is written out, with its last name only."""
    for node in ev.source.nodes:
        if not isinstance(node, ast.Call) or failure.line is None:
            continue
        first, last = ev.source.line_of(node)[0], (node.end_lineno or 0) + ev.source.offset
        values = [*node.args, *(k.value for k in node.keywords)]
        written = any(isinstance(v, ast.Constant) and v.value == number for v in values)
        if first <= failure.line <= last and written:
            arguments = ", ".join(ast.unparse(a) for a in (*node.args, *node.keywords))
            return f"{ast.unparse(node.func).split('.')[-1]}({arguments})"[:60]
    return None
