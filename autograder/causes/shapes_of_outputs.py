"""Why the output of forward has another shape: what was done beside, or instead of, what is asked."""

from __future__ import annotations

import ast
from collections.abc import Callable

import torch
from torch import Tensor

from autograder.causes.other_calls import other_call
from autograder.causes.slips import known_slip
from autograder.causes.summed import explain
from autograder.causes.sums import Sum
from autograder.compare import close, shape_words
from autograder.evidence import Evidence, Pair
from autograder.source import Source

Words = tuple[str, str, str]  # headline, next step, the name of the call to point at (or "")


def why_the_shape(ev: Evidence) -> Words | None:
    """The cause of an output of the wrong shape, from all ordinary cases; None if none explains them."""
    if (slip := known_slip(ev, ev.plain)) is not None:
        return slip.message, slip.hint, slip.call
    if (words := other_call(ev, ev.plain)) is not None:
        return (*words, "")
    ran = [p for p in ev.plain if p.answer.outputs is not None]
    wrong = [p for p in ran if _got(p).shape != _right(p).shape]
    if not wrong:
        return None  # it is another output than the first
    for cause in (
        _unchanged,
        _summed_down,
        _size_one,
        _multiplied_as_matrices,
        _reduced,
        _exchanged,
        _repeated,
    ):
        if (found := cause(ev, wrong)) is not None:
            return found
    return None


def _got(pair: Pair) -> Tensor:
    first = next((o for o in pair.answer.outputs or () if isinstance(o, Tensor)), None)
    return torch.empty(0, 0) if first is None else first


def _right(pair: Pair) -> Tensor:
    first = next((o for o in pair.expected.outputs if isinstance(o, Tensor)), None)
    return torch.empty(0, 0) if first is None else first


def _shapes(pair: Pair) -> str:
    return f"{shape_words(_got(pair).shape)} instead of {shape_words(_right(pair).shape)}"


def _unchanged(ev: Evidence, wrong: list[Pair]) -> Words | None:
    """The first argument comes back as it is, where in other cases something was done to it."""
    ran = [p for p in ev.plain if p.answer.outputs is not None]
    if not all(map(_is_first_argument, wrong)) or all(map(_is_first_argument, ran)):
        return None
    name, pair = ev.argument(0), wrong[0]
    same_count = all(_got(p).numel() == _right(p).numel() for p in wrong)
    return (
        f"{name} is returned as it is, {_shapes(pair)}"
        + (
            ": the two have as many elements, and different shapes."
            if same_count
            else ": nothing is done to it there."
        ),
        "Ask whether the shapes are the same: the number of elements does not tell, and neither does a part of the "
        "shape.",
        "",
    )


def _is_first_argument(pair: Pair) -> bool:
    first = pair.question.args[0] if pair.question.args else None
    got = _got(pair)
    return isinstance(first, Tensor) and got.shape == first.shape and close(got, first)


def _size_one(ev: Evidence, wrong: list[Pair]) -> Words | None:
    """The numbers are right; dimensions of size 1 are too many or too few."""
    for pair in wrong:
        got, right = _got(pair), _right(pair)
        bare = [n for n in got.shape if n != 1] == [n for n in right.shape if n != 1]
        if not bare or not close(got.reshape(right.shape), right):
            return None
    shapes = _shapes(wrong[0])
    if all(_got(p).dim() > _right(p).dim() for p in wrong):
        reduces = "dim" in ev.exercise.argument_names
        what = "the reduced dimension is kept" if reduces else "a dimension of size 1 is left over"
        return (
            f"The numbers of the output are right, but {what}: {shapes}.",
            "keepdim=True keeps a reduced dimension with size 1. Where it is needed on the way, take it out "
            "at the end: squeeze(dim).",
            "",
        )
    if all(_got(p).dim() < _right(p).dim() for p in wrong):
        return (
            f"The numbers of the output are right, but a dimension of size 1 is lost: {shapes}.",
            "A reduction drops its dimension unless keepdim=True, an index such as x[:, 0] drops its own, and "
            "squeeze() without a dim drops every dimension of size 1.",
            "",
        )
    return (
        f"The numbers of the output are right, but a dimension of size 1 is in another place: {shapes}.",
        "Look where unsqueeze, squeeze and keepdim put it.",
        "",
    )


def _summed_down(ev: Evidence, wrong: list[Pair]) -> Words | None:
    words = summed_down(ev)
    return None if words is None else (*words, "sum")


def summed_down(ev: Evidence) -> tuple[str, str] | None:
    """A function that sums a tensor down to a shape: over which dimensions did it?"""
    sums = []
    for pair in ev.plain:
        args, right = pair.question.args, _right(pair)
        if not ev.exercise.is_function or len(args) != 2 or not isinstance(args[0], Tensor):
            return None
        if not isinstance(args[1], tuple | list) or tuple(args[1]) != tuple(right.shape):
            return None
        sums.append(Sum(args[0], tuple(right.shape), _got(pair)))
    return explain(sums, ev.argument(0), ev.argument(1))


_REDUCERS: dict[str, Callable[..., Tensor]] = {
    "largest element": torch.amax,
    "smallest element": torch.amin,
    "sum": torch.sum,
    "mean": torch.mean,
    "product": lambda t, dims: t.flatten().prod() if len(dims) == t.dim() else t.prod(dims[0]),
}
_PLACES: dict[str, Callable[[Tensor], tuple[int, ...]]] = {
    "all elements": lambda t: tuple(range(t.dim())),
    "dimension 0": lambda t: (0,),
    "the last dimension": lambda t: (t.dim() - 1,),
    "dimension 1": lambda t: (1,),
}


def _reduced(ev: Evidence, wrong: list[Pair]) -> Words | None:
    """The output is a reduction of what is asked for, or of an input that has the right shape."""
    sources = [
        (ev.argument(i), _argument(i))
        for i, value in enumerate(ev.plain[0].question.args)
        if isinstance(value, Tensor)
    ]
    sources.append(("what is asked for", _right))
    for words, source in sources:
        for name, reduce in _REDUCERS.items():
            for place, dims in _PLACES.items():
                if all(_is_reduction(p, source(p), reduce, dims) for p in wrong):
                    return _reduction_words(ev, wrong[0], name, words, place)
    return None


def _argument(i: int) -> Callable[[Pair], Tensor | None]:
    """What gives one argument of a pair, where it has the shape that is asked for."""

    def source(pair: Pair) -> Tensor | None:
        value = pair.question.args[i] if i < len(pair.question.args) else None
        fits = isinstance(value, Tensor) and value.shape == _right(pair).shape
        return value if fits else None

    return source


def _is_reduction(
    pair: Pair,
    source: Tensor | None,
    reduce: Callable[..., Tensor],
    dims: Callable[[Tensor], tuple[int, ...]],
) -> bool:
    if source is None or source.dim() == 0:
        return False
    try:
        made = reduce(source, dims(source))
    except (RuntimeError, IndexError):
        return False
    got = _got(pair)
    return made.numel() == got.numel() and close(got.reshape(made.shape), made)


def _reduction_words(ev: Evidence, pair: Pair, name: str, source: str, place: str) -> Words:
    asked = f"shape {shape_words(_right(pair).shape)} is asked for"
    if place == "all elements" and "dim" in ev.exercise.argument_names:
        return (
            f"Everything is reduced to a single number, whatever dim is: {asked}.",
            "Hand dim on: a reduction that is given no dim takes all elements.",
            "",
        )
    if source == "what is asked for":
        return (
            f"The output is the {name} of what is asked for, over {place}: {asked}.",
            "Return all the numbers. Whoever calls the Function adds them up for the loss.",
            "",
        )
    if "element" in name:
        return (
            f"The output is the {name} of {source}, over {place}; one number for each element of {source} is "
            "asked for.",
            "torch.max(x, 0) and x.max() reduce: 0 is the dimension there. To compare each element with a "
            "number there is clamp, and torch.where.",
            name.removesuffix(" element").replace("largest", "max").replace("smallest", "min"),
        )
    return (
        f"The output is the {name} of {source}, over {place}; one number for each element of {source} is asked "
        "for.",
        "Nothing is to be reduced: work element by element.",
        "",
    )


def _multiplied_as_matrices(ev: Evidence, wrong: list[Pair]) -> Words | None:
    """a @ b where the product of the elements is asked for."""
    for pair in wrong:
        both = [a for a in pair.question.args if isinstance(a, Tensor)]
        if len(both) != 2:
            return None
        try:
            product, made = both[0] * both[1], both[0] @ both[1]
        except RuntimeError:  # shapes that do not fit
            return None
        if not close(_right(pair), product) or not close(_got(pair), made):
            return None
    first, second = ev.argument(0), ev.argument(1)
    return (
        f"The output is the matrix product {first} @ {second}; the product of each element with its partner "
        f"is asked for, {first} * {second}.",
        "* works element by element and broadcasts; @, matmul, mm and dot add up products.",
        "",
    )


def _exchanged(ev: Evidence, wrong: list[Pair]) -> Words | None:
    """Right numbers, in the order of other dimensions."""
    if all(_got(p).dim() >= 2 and close(_got(p).mT, _right(p)) for p in wrong):
        return (
            f"The output is the transpose of the right one: {_shapes(wrong[0])}.",
            "Write the shapes of both factors beside the product. If a matrix product is transposed, so is "
            "the order of its factors.",
            "",
        )
    return None


def _repeated(ev: Evidence, wrong: list[Pair]) -> Words | None:
    """Broadcasting by accident: the right numbers, several times."""
    for pair in wrong:
        got, right = _got(pair), _right(pair)
        if got.numel() <= right.numel():
            return None
        fits = [right.unsqueeze(d) for d in range(right.dim() + 1)] + [right]
        if not any(_expands(t, got) for t in fits):
            return None
    return (
        f"The right numbers come out several times, by broadcasting: {_shapes(wrong[0])}.",
        "Two tensors such as (n,) and (n, 1) give (n, n): look for a dimension of size 1 that only one of "
        "two tensors has.",
        "",
    )


def _expands(small: Tensor, whole: Tensor) -> bool:
    try:
        return close(whole, small.expand_as(whole))
    except RuntimeError:
        return False


_GIVES_A_DIMENSION = ("reshape", "view", "flatten", "ravel", "unsqueeze", "atleast_1d", "expand", "stack", "cat")  # fmt: skip


def of_one_element(source: Source) -> tuple[str, str, dict[str, object]] | None:
    """(clause, next step, line) where ``torch.tensor([2.0])`` alone gives a dimension to a single number."""
    if any(isinstance(n, ast.Attribute) and n.attr in _GIVES_A_DIMENSION for n in source.nodes):
        return None
    for node in source.nodes:
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith(
            ("torch.tensor", "as_tensor")
        ):
            continue
        if node.args and isinstance(node.args[0], ast.List) and len(node.args[0].elts) == 1:
            line, text = source.line_of(node)
            return (
                f"{ast.unparse(node)[:40]} in line {line} has one dimension",
                "A Python number takes the place of a constant tensor: it has no dimensions, no dtype and no device of "
                "its own.",
                {"line": line, "source": text},
            )
    return None
