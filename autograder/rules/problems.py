"""What is wrong with one answer beyond the ordinary cases, in words."""

from __future__ import annotations

import ast
import json
import math
import re

import torch
from torch import Tensor

from autograder.compare import both, close, digits_apart, first_difference, shape_words, show
from autograder.evidence import Evidence, Pair

_INVALID = re.compile(
    r"invalid gradient at index (\d+) - got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]"
)


def problem(
    ev: Evidence, pair: Pair, dtype: torch.dtype = torch.float64
) -> tuple[str, dict[str, object]] | None:
    """(what is wrong in words, evidence) for one pair, or None."""
    failure = pair.answer.failure
    if failure is not None:
        at: dict[str, object] = {}
        if failure.own_frame:
            at = {"line": failure.line, "source": failure.source}
        if (refused := _INVALID.search(failure.message)) is not None:
            shape, wanted = (tuple(json.loads(f"[{sizes}]")) for sizes in refused.group(2, 3))
            flat = math.prod(shape) == math.prod(wanted) and len(shape) < len(wanted)
            words = f"the gradient for {ev.argument(int(refused[1]))} has shape {shape} instead of {wanted}"
            return words + (": it is still flattened" if flat else ""), {}
        first = failure.message.splitlines()[0][:160].rstrip(".") if failure.message else ""
        return f"it stops with {failure.kind}: {first}", at
    outputs = pair.answer.outputs or ()
    want = pair.question.args[pair.question.wants[0]].dtype if pair.question.wants else dtype
    for output, right in zip(outputs, pair.expected.outputs, strict=False):
        if not isinstance(right, Tensor):
            continue
        if not isinstance(output, Tensor) or output.shape != right.shape:
            return _wrong_shape(ev, pair, output, right), {"expected": str(tuple(right.shape))}
        if right.is_floating_point() and output.dtype != want:
            return f"the output is {_plain(output.dtype)} instead of {_plain(want)}", {}
        if not close(output, right, dtype):
            odd = output[torch.isfinite(right) & ~torch.isfinite(output)]
            if len(odd):
                return f"the output is {show(odd[0])}", dict(both(output, right, dtype))
            return _wrong_output(ev, pair, output, right, dtype), dict(both(output, right, dtype))
    for position in pair.question.wants:
        wrong = _gradient_problem(ev, pair, position, dtype)
        if wrong:
            return wrong
    return None


def fails_at_first(ev: Evidence, pair: Pair) -> bool:
    """Whether the first derivative, or the output, fails in this special case or batch already.

    The rules of these cases tell it.
    """
    role = pair.question.role
    if role not in ("batch", "special"):
        return False
    firsts = ev.pairs("run", role=role, variant="")
    return any(p.where == pair.where and problem(ev, p) is not None for p in firsts)


def _wrong_shape(ev: Evidence, pair: Pair, output: object, right: Tensor) -> str:
    if not isinstance(output, Tensor):
        return "the output has the wrong shape"
    shapes = (
        f"the output has shape {shape_words(output.shape)} instead of {shape_words(right.shape)}"
    )
    first = pair.question.args[0] if pair.question.args else None
    as_it_is = isinstance(first, Tensor) and first.shape == output.shape
    summed = ev.exercise.is_function and as_it_is and output.numel() == 0
    return (
        f"{shapes}: {ev.argument(0)} comes back as it is, nothing is summed" if summed else shapes
    )


def _wrong_output(
    ev: Evidence, pair: Pair, output: Tensor, right: Tensor, dtype: torch.dtype
) -> str:
    """With the place, where each element of one input gives one of the output."""
    difference = first_difference(output, right, dtype)
    wants = [i for i, a in enumerate(pair.question.args) if isinstance(a, Tensor)]
    alone = len(wants) == 1 and pair.question.args[wants[0]].shape == right.shape
    if difference is None or pair.question.role != "special":
        return "the output is wrong"
    index, mine, good = difference
    yours, asked = digits_apart(mine, good)
    if not alone:
        written = _written(ev, mine) if not math.isfinite(good) else ""
        return f"the output is {yours} there, where {asked} is right{written}"
    place = _place(ev, pair, ev.argument(wants[0]), pair.question.args[wants[0]], index)
    return f"the output is {yours}{place}, where {asked} is right"


def _written(ev: Evidence, value: float) -> str:
    """A clause where a large number of the source comes out, in place of an infinity."""
    for node in ev.source.nodes:
        typed = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(typed, int | float) or abs(value) < 1e3:
            continue
        if math.isclose(typed, abs(value), rel_tol=1e-3):
            return (
                f": the number {typed:g} of line {ev.source.line_of(node)[0]} stands in its place"
            )
    return ""


def _gradient_problem(
    ev: Evidence, pair: Pair, position: int, dtype: torch.dtype
) -> tuple[str, dict[str, object]] | None:
    got, right, name = pair.raw(position), pair.right(position), ev.argument(position)
    if right is None:
        return None
    if got is None and not bool(right.any()):
        if not _should_be_zeros(ev, pair, position):
            return None
        return f"backward returns None for {name}, where a gradient of zeros is asked for", {}
    if not isinstance(got, Tensor):
        return f"{name} gets no gradient", {}
    if got.shape != right.shape:
        return (
            f"the gradient for {name} has shape {tuple(got.shape)} instead of {tuple(right.shape)}"
            + _why_this_shape(got, right),
            {},
        )
    want = pair.question.args[position].dtype
    if got.dtype != want:
        return f"the gradient for {name} is {_plain(got.dtype)} instead of {_plain(want)}", {}
    if not close(got, right, dtype):
        evidence: dict[str, object] = {
            **both(got, right, dtype),
            "argument": name,
        }
        difference = first_difference(got, right, dtype)
        value = pair.question.args[position]
        if difference is not None and value.shape == got.shape:
            index, mine, good = difference
            evidence["index"] = index
            place, (yours, asked) = _place(ev, pair, name, value, index), digits_apart(mine, good)
            return (
                f"the gradient for {name} is {yours}{place}, where {asked} is right",
                evidence,
            )
        return f"the gradient for {name} is wrong", evidence
    return None


def _why_this_shape(got: Tensor, right: Tensor) -> str:
    """A clause about a gradient whose numbers are right and whose shape is not; or nothing."""
    new = got.dim() - right.dim()
    longer = new > 0 and got.shape[new:] == right.shape and got.numel() > 0
    if longer and close(got.sum_to_size(right.shape).to(right.dtype), right):
        dims = "dimension" if new == 1 else f"{new} dimensions"
        return f": it is not summed over the {dims} in front"
    flat = new < 0 and 0 < got.numel() == right.numel()
    if flat and close(got.reshape(right.shape).to(right.dtype), right):
        return ": the numbers are right, and still flattened"
    return ""


def _should_be_zeros(ev: Evidence, pair: Pair, position: int) -> bool:
    """Whether None, which leaves the argument without a gradient, stands where other cases give one."""
    constant = ev.exercise.is_function or position in ev.exercise.constants
    if pair.question.role != "special" or constant or pair.expected.gradients is None:
        return False
    asked = [p for p in ev.plain if position in p.question.wants]
    depends = pair.expected.gradients[pair.question.wants.index(position)] is not None
    return depends and any(isinstance(p.raw(position), Tensor) for p in asked)


def _place(ev: Evidence, pair: Pair, name: str, value: Tensor, index: tuple[int, ...]) -> str:
    """Where in an argument: its value there if each element stands for itself, else the position."""
    if not index:
        return ""
    alone = len(pair.question.wants) == 1 and all(
        isinstance(o, Tensor) and o.shape == value.shape for o in pair.expected.outputs
    )
    number = float(value[index])
    if alone or not math.isfinite(number):
        return f" at {name} = {show(number)}"
    return f" at {name}[{', '.join(map(str, index))}]"


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
