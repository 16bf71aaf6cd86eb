"""Which dimensions were summed where a tensor of a smaller shape was broadcast: seen in the numbers.

Broadcasting (3, 1) to (2, 3, 4) puts a new dimension in front and stretches the last one; its gradient
is summed over both. With random numbers a sum tells which dimensions it ran over, all but those of
size 1, whose sum is the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from autograder.contract.references import expected_upstream, run_reference
from autograder.explaining.causes.results import Reason, Result, Seen
from autograder.judging.evidence import Evidence
from autograder.observation.compare import close

MOST_DIMENSIONS = 5  # of more, the subsets are too many
Dims = frozenset[int]


@dataclass(frozen=True)
class Sum:
    """One tensor that was to be summed down to a shape.

    whole  the tensor before the sum
    shape  the shape it was to get
    got    what came out
    """

    whole: Tensor
    shape: tuple[int, ...]
    got: Tensor

    @property
    def leading(self) -> Dims:
        """The dimensions that broadcasting put in front."""
        return frozenset(range(self.whole.dim() - len(self.shape)))

    @property
    def stretched(self) -> Dims:
        """The dimensions of size 1 that broadcasting made longer."""
        ahead = len(self.leading)
        return frozenset(i + ahead for i, n in enumerate(self.shape) if n == 1 != self.whole.shape[i + ahead])  # fmt: skip

    @property
    def everything(self) -> Dims:
        return frozenset(range(self.whole.dim()))

    @property
    def right(self) -> Dims:
        return self.telling(self.leading | self.stretched)

    def telling(self, dims: Dims) -> Dims:
        """Those of the dimensions whose sum can be told from none."""
        return frozenset(i for i in dims if 0 <= i < self.whole.dim() and self.whole.shape[i] != 1)

    @property
    def summed(self) -> Dims | None:
        """The dimensions that were summed; None if the numbers are no such sum."""
        every = sorted(self.telling(self.everything))
        if len(every) > MOST_DIMENSIONS or self.got.numel() == 0:
            return None
        if self.got.numel() > 1 and close(self.got, self.whole.sum().expand_as(self.got)):
            return frozenset(every)  # the total in every element
        bare = self.got.to(self.whole.dtype).squeeze()
        for count in range(len(every) + 1):
            for dims in combinations(every, count):
                made = self.whole.sum(dims) if dims else self.whole
                if close(bare, made.squeeze()):
                    return frozenset(dims)
        return None


def _ones(s: Sum) -> Dims:
    return frozenset(i for i, n in enumerate(s.shape) if n == 1)


# What learners sum over in the place of the leading and the stretched dimensions.
_POSSIBLE: tuple[tuple[str, Callable[[Sum], Dims]], ...] = (
    ("leading-only", lambda s: s.leading),
    ("stretched-only", lambda s: s.stretched),
    ("stretched-only", _ones),
    ("first-only", lambda s: s.stretched | (s.leading & {0})),
    ("everything", lambda s: s.everything),
    ("always-first", lambda s: frozenset({0})),
    ("always-last", lambda s: frozenset({s.whole.dim() - 1})),
)  # fmt: skip


def wrong_dimensions(sums: Sequence[Sum], what: str, name: str) -> Reason | None:
    """What was summed in the place of what broadcasting made; None where nothing fits all.

    what  what was summed: "grad", "the gradient for beta"; name: whose shape it was to get
    """
    facts: dict[str, object] = {"what": what, "name": name}
    found = [s.summed for s in sums]
    known = [(s, dims) for s, dims in zip(sums, found, strict=True) if dims is not None]
    if len(known) < len(found) or all(dims == s.right and s.shape == tuple(s.got.shape) for s, dims in known):  # fmt: skip
        return None
    if not any(s.leading | s.stretched for s in sums):
        odd = next((dims for _, dims in known if dims), None)
        return (
            None if odd is None else Reason("sum/nothing-broadcast", facts | {"dims": sorted(odd)})
        )
    for code, dims_of in _POSSIBLE:
        fits = all(dims == s.telling(dims_of(s)) for s, dims in known)
        if fits and any(s.telling(dims_of(s)) != s.right for s in sums):
            return Reason(f"sum/{code}", facts)
    for code, part in (
        ("no-leading", lambda s: s.leading),
        ("no-stretched", lambda s: s.stretched),
    ):
        asked = [(s, dims) for s, dims in known if part(s)]
        if len(asked) > 1 and not any(s.telling(part(s)) & dims for s, dims in asked):
            code = {"no-leading": "stretched-only", "no-stretched": "leading-only"}[code]
            return Reason(f"sum/{code}", facts)
    return None


# ---- whose sum it is -------------------------------------------------------------------------------


def summed_otherwise(result: Result) -> Reason | None:
    """A gradient that was summed over other dimensions than were broadcast, or a sum that is asked for."""
    if result.kind == "output":
        return _function_that_sums(result)
    sums = [(s, sum_of_gradient(result.ev, s, result.place)) for s in result.every]
    if any(found is None and s in result.wrong for s, found in sums):
        return None
    name = result.ev.argument(result.place)
    return wrong_dimensions([found for _, found in sums if found is not None], f"the gradient for {name}", name)  # fmt: skip


def _function_that_sums(result: Result) -> Reason | None:
    """A plain function that sums a tensor down to a shape."""
    sums = []
    for s in result.every:
        args = s.pair.question.args
        if len(args) != 2 or not isinstance(args[0], Tensor) or not isinstance(args[1], tuple | list):  # fmt: skip
            return None
        if s.right is None or tuple(args[1]) != tuple(s.right.shape) or not isinstance(s.got, Tensor):  # fmt: skip
            return None
        sums.append(Sum(args[0], tuple(args[1]), s.got))
    return wrong_dimensions(sums, result.ev.argument(0), result.ev.argument(1))


def sum_of_gradient(ev: Evidence, seen: Seen, i: int) -> Sum | None:
    """The gradient of one argument as a sum of parts, one for each element of the output."""
    run = run_reference(ev.exercise, seen.pair.question)
    upstream = expected_upstream(seen.pair.question, run.outputs)[0]
    args = [a.detach() if isinstance(a, Tensor) else a for a in run.args]
    small, output = args[i], run.outputs[0]
    if not isinstance(seen.got, Tensor) or seen.right is None or upstream is None:
        return None
    try:  # handed over already broadcast, the argument has a gradient for each element
        whole = small.expand(output.shape).clone().requires_grad_(True)
        with torch.enable_grad():
            made = ev.exercise.reference(*args[:i], whole, *args[i + 1 :])
            first = made[0] if isinstance(made, tuple | list) else made
            (found,) = torch.autograd.grad(first, whole, upstream)
    except Exception:  # a reference need not take an argument of that shape
        return None
    same = isinstance(first, Tensor) and close(first.detach(), output.detach())
    if not same or not close(found.sum_to_size(small.shape), seen.right):
        return None
    return Sum(found, tuple(small.shape), seen.got)
