"""A result of another shape than the right one, and what was summed, moved, repeated or left out.

One table for outputs and gradients: each entry says what was done to the right numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from autograder.explaining.causes.results import Reason, Result, Seen
from autograder.explaining.causes.sums import summed_otherwise
from autograder.observation.compare import close

_Test = Callable[[Tensor, Tensor], bool]


def _same_but_ones(got: Tensor, right: Tensor) -> bool:
    """Whether they differ in dimensions of size 1 alone."""
    bare = [n for n in got.shape if n != 1] == [n for n in right.shape if n != 1]
    return bare and close(got.reshape(right.shape).to(right.dtype), right)


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
)  # fmt: skip
_RULES = {"unsummed": "gradient-unsummed", "transposed": "gradient-transposed"}


def done_to_the_shape(result: Result) -> Reason | None:
    """What was done to the right numbers, in all cases of another shape."""
    odd = [s for s in result.wrong if isinstance(s.got, Tensor) and not s.fits]
    for code, test in _DONE:
        if result.kind == "output" and code in ("unsummed", "selected"):
            continue
        if odd and result.all(lambda s, t=test: s not in odd or t(s.got, s.right)):  # type: ignore[misc]
            rule = _RULES.get(code, "") if result.kind == "gradient" else ""
            line = None if code == "unsummed" else _shaped_at(result, odd[0])
            return Reason(f"shape/{code}", line=line, rule=rule)
    return None


def _shaped_at(result: Result, seen: Seen) -> tuple[int, str] | None:
    """The line in which what came got its shape."""
    run = result.ev.flow(seen.pair.question) if result.ev.flow is not None else None
    end = run.tensors.get((result.kind, result.place)) if run is not None else None
    if run is None or end is None:
        return None
    made = found = run.operations.shaped(end, len(run.operations.all) + 1)
    while made is not None:  # what keeps the shape
        found, alike = made, [t for t in made.tensors if t.shape == end.shape]
        made = run.operations.shaped(alike[0], made.order) if alike else None
    return None if found is None or not found.line else (found.line, result.ev.source.text_of(found.line))  # fmt: skip


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


SHAPES = moved, done_to_the_shape, of_another_argument, summed_otherwise
