"""A result of another shape than the right one, and what was summed, moved, repeated or left out.

One table for outputs and gradients: each entry says what was done to the right numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.explaining.causes.results import Reason, Result, Seen
from autograder.explaining.causes.sums import sum_of_gradient, summed_otherwise
from autograder.observation.compare import close

_Test = Callable[[Tensor, Tensor], bool]


def _same_but_ones(got: Tensor, right: Tensor) -> bool:
    """Whether they differ in dimensions of size 1 alone."""
    bare = [n for n in got.shape if n != 1] == [n for n in right.shape if n != 1]
    return bare and close(got.reshape(right.shape).to(right.dtype), right)


def _repeats(got: Tensor, right: Tensor) -> bool:
    """Whether broadcasting gave the right numbers several times."""
    fits = [right, *(right.unsqueeze(d) for d in range(right.dim() + 1))]
    return got.numel() > right.numel() and any(_expands(each, got) for each in fits)


def _expands(small: Tensor, whole: Tensor) -> bool:
    try:
        return close(small.expand(whole.shape).to(whole.dtype), whole)
    except RuntimeError:
        return False


# What was done to the right numbers, by code. The order is that of the tests: the first that fits all cases.
_DONE: tuple[tuple[str, _Test], ...] = (
    ("one-too-many", lambda g, r: g.dim() > r.dim() and _same_but_ones(g, r)),
    ("one-lost", lambda g, r: g.dim() < r.dim() and _same_but_ones(g, r)),
    ("one-moved", _same_but_ones),
    ("unsummed", lambda g, r: g.dim() >= r.dim() and close(g.sum_to_size(r.shape).to(r.dtype), r)),
    ("transposed", lambda g, r: g.dim() >= 2 and close(g.mT, r)),
    ("averaged", lambda g, r: g.numel() == 1 < r.numel() and close(g.to(r.dtype).reshape(()), r.mean())),
    ("not-expanded", lambda g, r: g.numel() < r.numel() and _expands(g, r)),
    ("flattened", lambda g, r: g.dim() == 1 and close(g.to(r.dtype), r.reshape(-1))),
    ("selected", lambda g, r: g.dim() == 1 and g.numel() < r.numel() and close(g.to(r.dtype), r[r != 0])),
    ("repeated", _repeats),
)  # fmt: skip
_RULES = {"unsummed": "gradient-unsummed", "transposed": "gradient-transposed"}


def done_to_the_shape(result: Result) -> Reason | None:
    """What was done to the right numbers, in all cases of another shape."""
    odd = [s for s in result.wrong if isinstance(s.got, Tensor) and not s.fits]
    for code, test in _DONE:
        if result.kind == "output" and code in ("unsummed", "selected"):
            continue
        if odd and result.all(lambda s, t=test: s not in odd or t(s.got, s.right)):  # type: ignore[misc]
            stretched = code == "unsummed" and _only_leading_are_summed(result)
            rule = _RULES.get(code, "") if result.kind == "gradient" else ""
            return Reason(f"shape/{code}", {"stretched": stretched}, rule=rule)
    return None


def _only_leading_are_summed(result: Result) -> bool:
    """Whether some gradient is summed over new dimensions in front, and none over a stretched one."""
    found = []
    for s in result.every:
        for i in s.pair.question.wants:
            made = sum_of_gradient(result.ev, Seen(s.pair, s.pair.raw(i), s.pair.right(i)), i)
            if made is not None and made.right:
                found.append(made)
    return any(s.summed for s in found) and all(s.summed == s.telling(s.leading) for s in found)


def moved(result: Result) -> Reason | None:
    """The right numbers, with the dimension dim in another place."""
    names = result.ev.exercise.argument_names
    if "dim" not in names or result.place != 0:
        return None
    dim = names.index("dim")
    for place in (-1, 0):
        if result.all(lambda s, p=place: close(s.got, s.right.movedim(s.pair.question.args[dim], p)), wrong_only=True):  # type: ignore[misc]  # fmt: skip
            rule = "gradient-transposed" if result.kind == "gradient" else ""
            return Reason("shape/moved", {"last": place == -1, "place": place}, rule=rule)
    return None


def of_another_argument(result: Result) -> Reason | None:
    """What came is the gradient of another argument, or has the shape of one."""
    if result.kind != "gradient":
        return None
    odd = [s for s in result.wrong if not s.fits]
    for j, value in enumerate(result.every[0].pair.question.args):
        if j == result.place or not isinstance(value, Tensor):
            continue
        other = {"other": result.ev.argument(j)}
        if result.all(lambda s, j=j: j in s.pair.question.wants and close(s.got, s.pair.right(j)), wrong_only=True):  # type: ignore[misc]  # fmt: skip
            return Reason("gradient/of-another", other, rule="gradient-swapped")
        if len(odd) > 1 and all(s.got.shape == s.pair.question.args[j].shape for s in odd):
            return Reason("shape/of-another", other)
    return None


# ---- outputs -------------------------------------------------------------------------------------

_REDUCERS: dict[str, Callable[[Tensor, tuple[int, ...]], Tensor]] = {
    "the largest element": torch.amax, "the smallest element": torch.amin, "the sum": torch.sum,
    "the mean": torch.mean,
    "the product": lambda t, dims: t.flatten().prod() if len(dims) == t.dim() else t.prod(dims[0]),
}  # fmt: skip
_PLACES: dict[str, Callable[[Tensor], tuple[int, ...]]] = {
    "all elements": lambda t: tuple(range(t.dim())), "dimension 0": lambda t: (0,),
    "the last dimension": lambda t: (t.dim() - 1,), "dimension 1": lambda t: (1,),
}  # fmt: skip


def reduced(result: Result) -> Reason | None:
    """A reduction of what is asked for, or of an argument that has its shape."""
    if result.kind != "output":
        return None
    args = range(len(result.every[0].pair.question.args))
    for j in (*args, None):
        of = "what is asked for" if j is None else result.ev.argument(j)
        for reducer, reduce in _REDUCERS.items():
            for over, dims in _PLACES.items():
                if result.all(lambda s, j=j, r=reduce, d=dims: _is_reduction(s, j, r, d), wrong_only=True):  # type: ignore[misc]  # fmt: skip
                    return Reason("shape/reduced", {"reducer": reducer, "of": of, "over": over, "asked_for": j is None})  # fmt: skip
    return None


def _is_reduction(
    seen: Seen, j: int | None, reduce: Callable[..., Tensor], dims: Callable[[Tensor], tuple[int, ...]]
) -> bool:  # fmt: skip
    of = seen.right if j is None else seen.pair.question.args[j]
    if not isinstance(of, Tensor) or seen.right is None or of.shape != seen.right.shape or not of.dim():  # fmt: skip
        return False
    made = reduce(of, dims(of))
    return made.numel() == seen.got.numel() and close(seen.got.reshape(made.shape), made)


SHAPES = (
    moved, done_to_the_shape, of_another_argument, summed_otherwise, reduced,
)  # fmt: skip
