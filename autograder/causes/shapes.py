"""A gradient of another shape than its argument's, and what was summed, moved or left out."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.causes.misconceptions import misconception
from autograder.causes.summed import before_the_sum, explain
from autograder.causes.sums import Sum
from autograder.compare import close, shape_words
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream, run_reference


def shape(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    odd = [
        p
        for p in wrong
        if isinstance(p.raw(i), Tensor) and p.raw(i).shape != p.question.args[i].shape
    ]
    if not odd:
        return None
    name, pair = ev.argument(i), odd[0]
    got, right = pair.raw(i), pair.right(i)
    if right is None:
        return None
    shapes = f"{shape_words(got.shape)} instead of {shape_words(right.shape)}"
    if all(_reshapes_to(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-shape",
            f"The numbers of the gradient for {name} are right, but their shape is {shapes}.",
            "A dimension of size 1 is left over or lost: look at keepdim, unsqueeze and squeeze.",
        )
    if all(_sums_to(p.raw(i), p.right(i)) for p in odd):
        if got.dim() == right.dim() and _leading_are_summed(ev, every):
            return Finding(
                "gradient-unsummed",
                f"The gradient for {name} is not summed where a dimension of size 1 was stretched, only where new "
                f"dimensions came in front: backward returns {shapes}.",
                f"Broadcasting does two things. Where {name} has a 1 and the other shape has more, sum there too, "
                "with keepdim=True. (torch would repair this silently; your formula should say it.)",
                {"repaired_by_torch": True},
            )
        return Finding(
            "gradient-unsummed",
            f"The gradient for {name} is not summed down to its shape: backward returns {shapes}.",
            f"{name} was broadcast in forward, so every use adds to its gradient: sum over the broadcast "
            "dimensions. (torch would repair this silently; your formula should say it.)",
            {"repaired_by_torch": True},
        )
    if (moved := _moved(ev, i, wrong, shapes)) is not None:
        return moved
    if all(p.raw(i).dim() >= 2 and close(p.raw(i).transpose(-1, -2), p.right(i)) for p in odd):
        return transposed_finding(name, shapes)
    other = _equals_other_argument(ev, i, odd)
    if other is not None:
        return other
    if all(_is_mean(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-shape",
            f"The gradient for {name} is averaged to a single number: {shapes}.",
            f"Each element of {name} has a gradient of its own: take the mean out.",
        )
    if all(_expands_to(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-shape",
            f"The numbers of the gradient for {name} are right, but they are not expanded to its shape: {shapes}.",
            f"Stretch it to the shape of {name}: expand (note x.shape in forward; sizes are plain numbers).",
        )
    if (known := misconception(ev, i, wrong, every)) is not None:
        known.rule = "gradient-shape"
        return known
    if (words := _of_another_shape(ev, i, odd) or summed_words(ev, i, wrong, every)) is not None:
        return Finding("gradient-shape", *words)
    if all(_is_flat(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-shape",
            f"The numbers of the gradient for {name} are right, but it is flattened: {shapes}.",
            f"Give it back the shape of {name}: .reshape({name}.shape). What works element by element needs no "
            "flattening.",
        )
    if all(_is_selected(p.raw(i), p.right(i)) for p in odd):
        return Finding(
            "gradient-shape",
            f"The gradient for {name} holds the picked elements only, {shapes}: indexing with a mask leaves the "
            "others out.",
            "Where the mask is False the gradient is 0, and the place stays: torch.where, or a product with the "
            "mask.",
        )
    if got.dim() == 0 and ev.source.mentions("backward", "sum"):
        return Finding(
            "gradient-shape",
            f"The gradient for {name} is summed up to a single number; it should have the shape "
            f"{shape_words(right.shape)}.",
            "With no dimension named, and with an empty tuple of dimensions too, sum adds up everything. "
            "Where there is no dimension to sum, do not sum.",
        )
    return Finding(
        "gradient-shape",
        f"The gradient for {name} has shape {shapes}.",
        f"A gradient has exactly the shape of the argument it belongs to: {name} has "
        f"{shape_words(right.shape)}.",
    )


def _leading_are_summed(ev: Evidence, every: list[Pair]) -> bool:
    """Whether some gradient is summed over new dimensions in front, and none over a stretched one."""
    wants = {i for p in every for i in p.question.wants}
    found = [sum_of_gradient(ev, p, i) for p in every for i in wants if i in p.question.wants]
    sums = [s for s in found if s is not None and s.telling(s.leading | s.stretched)]
    dims = [s.summed for s in sums]
    return any(dims) and all(
        d is not None and d == s.telling(s.leading) for s, d in zip(sums, dims, strict=True)
    )


def summed_otherwise(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A gradient of the right shape that was summed over other dimensions than were broadcast."""
    words = summed_words(ev, i, wrong, every)
    return None if words is None else Finding("gradient-value", *words)


def summed_words(
    ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]
) -> tuple[str, str] | None:
    """(headline, next step) where the gradient was summed over other dimensions than were broadcast."""
    sums = []
    for pair in every:
        if (found := sum_of_gradient(ev, pair, i)) is not None:
            sums.append(found)
        elif pair in wrong:
            return None
    name = ev.argument(i)
    return explain(sums, f"The gradient for {name}", name)


def sum_of_gradient(ev: Evidence, pair: Pair, i: int) -> Sum | None:
    """The gradient of one argument as a sum of parts, one for each element of the output."""
    got, right = pair.raw(i), pair.right(i)
    run = run_reference(ev.exercise, pair.question)
    grads = expected_upstream(pair.question, run.outputs)
    args = [a.detach() if isinstance(a, Tensor) else a for a in run.args]
    whole = before_the_sum(ev.exercise.reference, args, i, run.outputs, grads)
    if not isinstance(got, Tensor) or right is None or whole is None:
        return None
    fits = close(whole.sum_to_size(args[i].shape), right)
    return Sum(whole, tuple(args[i].shape), got) if fits else None


def _of_another_shape(ev: Evidence, i: int, odd: list[Pair]) -> tuple[str, str] | None:
    """Every gradient has the shape of one other argument."""
    name = ev.argument(i)
    for j, value in enumerate(odd[0].question.args):
        if i == j or not isinstance(value, Tensor):
            continue
        others = [p.question.args[j] for p in odd]
        if len(odd) > 1 and all(
            p.raw(i).shape == o.shape for p, o in zip(odd, others, strict=True)
        ):
            other = ev.argument(j)
            return (
                f"The gradient for {name} comes out in the shape of {other}, not in that of {name}.",
                f"Look at the shape that it is summed or reshaped to: the gradient for {name} belongs to "
                f"{name}, also where it is a product with {other}.",
            )
    return None


def _moved(ev: Evidence, i: int, wrong: list[Pair], shapes: str) -> Finding | None:
    """The right gradient, with the dimension dim in another place."""
    names = ev.exercise.argument_names
    if i != 0 or "dim" not in names:
        return None
    for place, words in ((-1, "last"), (0, "first")):
        if all(_is_moved(p, names.index("dim"), place) for p in wrong):
            return Finding(
                "gradient-transposed",
                f"The numbers of the gradient for {ev.argument(i)} are right, but dimension dim always stands "
                f"{words}: {shapes}.",
                f"Put it back in its place: movedim({place}, dim). one_hot puts its new dimension last, stack "
                "puts it first unless it is told where.",
            )
    return None


def _is_moved(pair: Pair, position: int, place: int) -> bool:
    got, right = pair.raw(0), pair.right(0)
    dim = pair.question.args[position]
    return right is not None and close(got, right.movedim(dim, place))


def _is_mean(got: Any, right: Tensor | None) -> bool:
    if not isinstance(got, Tensor) or right is None or right.numel() < 2 or got.numel() != 1:
        return False
    return close(got.to(right.dtype).reshape(()), right.mean())


def _is_selected(got: Any, right: Tensor | None) -> bool:
    """Whether these are the elements of the right gradient that are not 0, one after the other."""
    if not isinstance(got, Tensor) or right is None or got.dim() != 1:
        return False
    return got.numel() < right.numel() and close(got.to(right.dtype), right[right != 0])


def _is_flat(got: Any, right: Tensor | None) -> bool:
    """Whether these are all elements of the right gradient, one after the other."""
    if not isinstance(got, Tensor) or right is None or got.dim() != 1:
        return False
    return close(got.to(right.dtype), right.reshape(-1))


def _expands_to(got: Any, right: Tensor | None) -> bool:
    if not isinstance(got, Tensor) or right is None or got.numel() >= right.numel():
        return False
    try:
        return close(got.expand(right.shape).to(right.dtype), right)
    except RuntimeError:
        return False


def _reshapes_to(got: Any, right: Tensor | None) -> bool:
    """Whether they differ in dimensions of size 1 alone."""
    if not isinstance(got, Tensor) or right is None:
        return False
    bare = [s for s in got.shape if s != 1] == [s for s in right.shape if s != 1]
    return bare and close(got.reshape(right.shape), right)


def _sums_to(got: Any, right: Tensor | None) -> bool:
    if not isinstance(got, Tensor) or right is None or got.dim() < right.dim():
        return False
    try:
        return close(got.sum_to_size(right.shape).to(right.dtype), right)
    except RuntimeError:
        return False


def _equals_other_argument(ev: Evidence, i: int, pairs: list[Pair]) -> Finding | None:
    for j in pairs[0].question.wants:
        if j != i and all(j in p.question.wants and close(p.raw(i), p.right(j)) for p in pairs):
            return Finding(
                "gradient-swapped",
                f"What backward returns for {ev.argument(i)} is the gradient for {ev.argument(j)}.",
                "Return the gradients in the order of forward's arguments.",
            )
    return None


def transposed_finding(name: str, shapes: str) -> Finding:
    tail = f" ({shapes})" if shapes else ""
    return Finding(
        "gradient-transposed",
        f"The gradient for {name} is the transpose of the right one{tail}.",
        f"Write the shapes of both factors beside the product; the result must have the shape of {name}.",
    )
