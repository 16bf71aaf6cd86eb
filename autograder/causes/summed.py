"""Which dimensions were summed where a tensor of a smaller shape was broadcast: seen in the numbers.

Broadcasting (3, 1) to (2, 3, 4) puts a new dimension in front and stretches the last one; its gradient
is summed over both. With random numbers a sum tells which dimensions it ran over, all but those of
size 1, whose sum is the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.causes.sums import Sum, folded
from autograder.compare import close, shape_words


def explain(sums: Sequence[Sum], what: str, name: str) -> tuple[str, str] | None:
    """(headline, next step) for sums of which at least one is wrong; None where nothing fits all.

    what  what was summed: "grad", "the gradient for beta"
    name  whose shape it was to get: "shape", "beta"
    """
    if (words := folded(sums, what, name)) is not None:
        return words
    found = [s.summed for s in sums]
    if any(dims is None for dims in found) or not any(
        s.shape != tuple(s.got.shape) or dims != s.telling(s.leading | s.stretched)
        for s, dims in zip(sums, found, strict=True)
    ):
        return None
    if not any(s.leading | s.stretched for s in sums):
        odd = next((dims for dims in found if dims), None)
        if odd is None:
            return None
        return (
            f"{what} is summed over {_words(odd, sums)}, although nothing was broadcast.",
            f"Each element of {name} has a gradient of its own: take the sum out.",
        )
    for dims_of, message, hint in _POSSIBLE:
        if all(
            dims == s.telling(dims_of(s)) for s, dims in zip(sums, found, strict=True)
        ) and _seen(sums, dims_of):
            return message.format(what=what, name=name), hint.format(what=what, name=name)
    right = [s.telling(s.leading | s.stretched) for s in sums]
    if found == right:
        return _only_the_shape(sums, what)
    return _missing(sums, found, what, name) or _one_case(sums, found, what, name)


def _seen(sums: Sequence[Sum], dims_of: Callable[[Sum], frozenset[int]]) -> bool:
    """Whether this possibility is anywhere another than the right sum."""
    return any(s.telling(dims_of(s)) != s.telling(s.leading | s.stretched) for s in sums)


def _without_offset(s: Sum) -> frozenset[int]:
    return s.leading | {i for i, n in enumerate(s.shape) if n == 1}


def _at_the_end(s: Sum) -> frozenset[int]:
    beyond = range(len(s.shape), s.whole.dim())
    return frozenset(beyond) | {i for i, n in enumerate(s.shape) if n == 1}


def _from_the_left(s: Sum) -> frozenset[int]:
    beyond = range(len(s.shape), s.whole.dim())
    return frozenset(beyond) | {i for i, n in enumerate(s.shape) if s.whole.shape[i] != n}


_LINED_UP = (
    "Shapes are lined up from the right: dimension i of {name} is dimension i + (number of new leading "
    "dimensions) of what is summed. Sum the leading ones first, and the numbers agree."
)

_POSSIBLE: tuple[tuple[Callable[[Sum], frozenset[int]], str, str], ...] = (
    (
        lambda s: s.leading,
        "{what} is summed over the new leading dimensions only; one that was stretched (a 1 in {name}) is "
        "not summed.",
        "Broadcasting does two things. Where {name} has a 1 and the other shape has more, sum there too, "
        "with keepdim=True.",
    ),
    (
        lambda s: s.stretched,
        "{what} is summed over the stretched dimensions only; the new leading ones are not summed.",
        "Broadcasting does two things. As long as there are more dimensions than {name} has, sum over the "
        "first.",
    ),
    (
        lambda s: frozenset(i for i, n in enumerate(s.shape) if n == 1),
        "The new leading dimensions are not summed: {what} is summed over dimension i wherever place i of {name} "
        "is a 1, and over no other.",
        "As long as there are more dimensions than {name} has, sum over the first. Then the places agree.",
    ),
    (
        lambda s: s.stretched | (s.leading & {0}),
        "{what} is summed over the first of several new leading dimensions only.",
        "There may be any number of dimensions in front. Sum over the first as long as there are too many (a loop), or "
        "over all of them in one sum.",
    ),
    (
        lambda s: frozenset(range(s.whole.dim())),
        "{what} is summed over everything, not over the dimensions that were broadcast.",
        "Sum only over the dimensions that broadcasting made (new ones in front) or stretched (a 1 in "
        "{name}). Where there is none, do not sum: sum() without a dim, or with an empty tuple of them, "
        "adds up everything.",
    ),
    (
        _without_offset,
        "A 1 at place i of {name} is taken for dimension i of what is summed, although that has more "
        "dimensions in front.",
        _LINED_UP,
    ),
    (
        _at_the_end,
        "The dimensions that are too many are summed away at the end; broadcasting puts new ones in front.",
        _LINED_UP,
    ),
    (
        _from_the_left,
        "The two shapes are lined up from the left, where broadcasting lines them up from the right.",
        _LINED_UP,
    ),
    (
        lambda s: frozenset({0}),
        "{what} is summed over dimension 0 in every case, whatever was broadcast.",
        "Sum over the dimensions that {name} lacks in front, and over those where it has a 1 that was "
        "stretched; over no other.",
    ),
    (
        lambda s: frozenset({s.whole.dim() - 1}),
        "{what} is summed over the last dimension in every case, whatever was broadcast.",
        "Sum over the dimensions that {name} lacks in front, and over those where it has a 1 that was "
        "stretched; over no other.",
    ),
    (
        lambda s: s.leading if s.leading else frozenset(range(s.whole.dim())),
        "Where no dimension is to be summed, {what} is summed over everything.",
        "With an empty tuple of dimensions sum adds up everything. Where there is none, do not sum.",
    ),
    (
        lambda s: (s.leading or frozenset(range(s.whole.dim()))) | s.stretched,
        "Where there is no new leading dimension, {what} is summed over everything.",
        "With an empty tuple of dimensions sum adds up everything. Where there is none, do not sum.",
    ),
    (
        lambda s: (s.leading | s.stretched) or frozenset(range(s.whole.dim())),
        "Where nothing was broadcast, {what} is summed over everything.",
        "With an empty tuple of dimensions sum adds up everything. Where there is none, do not sum.",
    ),
)


def _only_the_shape(sums: Sequence[Sum], what: str) -> tuple[str, str] | None:
    odd = [s for s in sums if tuple(s.got.shape) != s.shape]
    shapes = f"{shape_words(odd[0].got.shape)} instead of {shape_words(odd[0].shape)}"
    if all(s.got.dim() < len(s.shape) for s in odd):
        return (
            "The right dimensions are summed, but a stretched one is dropped, where keepdim=True keeps it with "
            f"size 1: {shapes}.",
            "keepdim=True keeps a summed dimension with size 1 (only the new leading ones are to go).",
        )
    if all(s.got.dim() > len(s.shape) for s in odd):
        return (
            f"The right dimensions are summed, but a leading one stays with size 1: {shapes}.",
            "keepdim=True is for dimensions that the smaller shape has with size 1; the new leading ones are "
            "to go.",
        )
    return None


def _missing(
    sums: Sequence[Sum], found: Sequence[frozenset[int] | None], what: str, name: str
) -> tuple[str, str] | None:
    """One of the two parts is never summed; the other part goes wrong in some other way."""
    parts: tuple[tuple[Callable[[Sum], frozenset[int]], str, str], ...] = (
        (
            lambda s: s.leading,
            "The new leading dimensions are not summed",
            "As long as there are more dimensions than {name} has, sum over the first. Then the places of "
            "the others agree.",
        ),
        (
            lambda s: s.stretched,
            "The stretched dimensions (a 1 in {name}) are not summed",
            "Where {name} has a 1 and the other shape has more, sum there, with keepdim=True.",
        ),
    )
    for part, message, hint in parts:
        asked = [
            (s, dims) for s, dims in zip(sums, found, strict=True) if dims is not None and part(s)
        ]
        if len(asked) > 1 and not any(s.telling(part(s)) & dims for s, dims in asked):
            s, _ = asked[0]
            shapes = f"{shape_words(s.got.shape)} comes out, not {shape_words(s.shape)}"
            return f"{message.format(name=name)}: {shapes}.", hint.format(name=name)
    return None


def _one_case(
    sums: Sequence[Sum], found: Sequence[frozenset[int] | None], what: str, name: str
) -> tuple[str, str] | None:
    for s, dims in zip(sums, found, strict=True):
        wanted = s.telling(s.leading | s.stretched)
        if dims is None or dims == wanted:
            continue
        return (
            f"{what} is summed over {_words(dims)}, where {shape_words(s.whole.shape)} goes down to "
            f"{shape_words(s.shape)}: {_words(wanted)} would be right.",
            f"Sum over the dimensions that {name} lacks in front, and over those where it has a 1 that was "
            "stretched; over no other.",
        )
    return None


def _words(dims: frozenset[int], sums: Sequence[Sum] = ()) -> str:
    if not dims:
        return "no dimension"
    if sums and all(s.got.numel() == 1 for s in sums):
        return "everything"
    plural = "s" if len(dims) > 1 else ""
    return f"dimension{plural} {' and '.join(map(str, sorted(dims)))}"


def before_the_sum(
    reference: Callable[..., Any],
    args: Sequence[Any],
    i: int,
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
) -> Tensor | None:
    """The gradient of one argument with a part for each element of the output, before any sum.

    The argument is handed over already broadcast to the shape of the output. None where that means
    another computation.
    """
    small, output, grad = args[i], outputs[0], upstream[0]
    if not isinstance(small, Tensor) or not isinstance(output, Tensor) or grad is None:
        return None
    try:
        whole = small.detach().expand(output.shape).clone().requires_grad_(True)
        with torch.enable_grad():
            made = reference(*args[:i], whole, *args[i + 1 :])
            first = made[0] if isinstance(made, tuple | list) else made
            (found,) = torch.autograd.grad(first, whole, grad)
    except Exception:  # a reference need not take an argument of that shape
        return None
    return found if isinstance(first, Tensor) and close(first.detach(), output.detach()) else None
