"""Which dimensions were summed where a tensor of a smaller shape was broadcast: seen in the numbers.

Broadcasting (3, 1) to (2, 3, 4) puts a new dimension in front and stretches the last one; its gradient
is summed over both. With random numbers a sum tells which dimensions it ran over, all but those of
size 1, whose sum is the tensor itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from autograder.contract.references import expected_upstream, run_reference
from autograder.explaining.causes.results import Reason, Result, Seen
from autograder.judging.evidence import Evidence, Pair
from autograder.observation.compare import close, shape_words

MOST_DIMENSIONS = 5  # of more, the subsets are too many
Dims = frozenset[int]


@dataclass(frozen=True)
class Sum:
    """One tensor that was to be summed down to a shape.

    whole  the tensor before the sum
    shape  the shape it was to get
    got    what came out
    pair   in which case
    """

    whole: Tensor
    shape: tuple[int, ...]
    got: Tensor
    pair: Pair | None = None

    @property
    def everything(self) -> Dims:
        return frozenset(range(self.whole.dim()))

    @property
    def right(self) -> Dims:
        """The dimensions that broadcasting put in front, and those of size 1 that it made longer."""
        ahead = self.whole.dim() - len(self.shape)
        stretched = (i + ahead for i, n in enumerate(self.shape) if n == 1)
        return frozenset((*range(ahead), *stretched))

    def telling(self, dims: Dims) -> Dims:
        """Those of the dimensions whose sum can be told from none."""
        return frozenset(i for i in dims if 0 <= i < self.whole.dim() and self.whole.shape[i] != 1)

    @property
    def summed(self) -> Dims | None:
        """The dimensions that were summed; None if the numbers are no such sum."""
        every = sorted(self.telling(self.everything))
        if len(every) > MOST_DIMENSIONS or not bool(self.got.any()):
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


def wrong_dimensions(sums: Sequence[Sum], what: str, name: str) -> Reason | None:
    """What was summed in the place of what broadcasting made; None where nothing is such a sum, or all are right.

    what  what was summed: "grad", "the gradient for beta"; name: whose shape it was to get
    """
    found = [s.summed for s in sums]
    for s, dims in zip(sums, found, strict=True):
        if dims is not None and None not in found and dims != s.telling(s.right):
            shape = shape_words(torch.Size(s.shape))
            facts = {"what": what, "name": name, "over": _in_words(dims, s), "broadcast": _in_words(s.right, s), "shape": shape}  # fmt: skip
            return Reason("sum/other", facts, pair=s.pair)
    return None


def _in_words(dims: Dims, of: Sum) -> str:
    if not dims:
        return "no dimension"
    every = len(dims) > 1 and dims >= of.telling(of.everything)
    return (
        "everything"
        if every
        else f"dimension{'s' * (len(dims) > 1)} {' and '.join(map(str, sorted(dims)))}"
    )


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
        sums.append(Sum(args[0], tuple(args[1]), s.got, s.pair))
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
    return Sum(found, tuple(small.shape), seen.got, seen.pair)
