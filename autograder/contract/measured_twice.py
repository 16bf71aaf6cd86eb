"""Second derivatives, measured: the slopes of what a submission's own backward gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import Draws, as_tuple, gradients_of, product
from autograder.contract.ending import in_time
from autograder.contract.measured import Measured, leaf, told_apart
from autograder.observation.compare import close, coarse_dtype
from autograder.observation.snapshot import dense

MOST_TWICE = 40  # elements that are moved for a second derivative, each with four calls of backward


def second(
    of: Measured, args: Sequence[Any], wants: Sequence[int], upstream: Sequence[Tensor | None],
    directions: Sequence[Tensor | None], mixed: bool,
) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:  # fmt: skip
    """(second derivatives, their errors) for the inputs, then (not if ``mixed``) for the upstream gradients.

    Measured on backward, which is right where this is asked: the slopes of each gradient, weighted.
    """
    in_time()
    draws = Draws()
    asked = dict(zip(wants, directions, strict=True))
    key = tuple(map(told_apart, (*args, *upstream)))
    first = dict(zip(wants, of.gradients(args, wants, upstream), strict=True))
    # Of some of the arguments they are known from a question about all.
    twice = of.twice.get(key)
    if twice is None or not twice.tells(asked, first):
        twice = of.twice[key] = _Twice(of, args, upstream, asked, first)
    places = [list(twice.directions).index(p) for p in wants]
    above = () if mixed else range(len(twice.directions), len(twice.leaves))
    weights = torch.zeros(len(twice.directions), dtype=torch.float64)
    weights[places] = 1.0
    draws.again()
    run = twice.total.run(twice.leaves)
    run.fill(twice.total.values(twice.leaves))
    draws.again()
    values = list(run.gradients([*places, *above], [weights]))
    in_time()
    for i, d in enumerate(directions if mixed else ()):
        if d is not None:
            values[i] = values[i] + 6 * (twice.leaves[places[i]] * d).conj()
    return tuple(values), tuple(run.errors[place] for place in (*places, *above))


class _Twice:
    """What backward gives for some arguments, each gradient weighted with its direction, as it follows what is moved.

    leaves  the arguments, then the upstream gradients
    """

    def __init__(
        self, of: Measured, args: Sequence[Any], upstream: Sequence[Tensor | None],
        directions: dict[int, Tensor | None], first: dict[int, Tensor],
    ):  # fmt: skip
        self.directions, self.first, wants = directions, first, list(directions)
        self.leaves = (*(args[i] for i in wants), *(g for g in upstream if g is not None))

        def weighted(*moved: Tensor) -> Tensor:
            now, rest = list(map(leaf, args)), iter(moved[len(wants) :])
            for i, value in zip(wants, moved, strict=False):
                now[i] = value if value.requires_grad else value.requires_grad_()
            made = as_tuple(of.call(*now))
            above = [None if g is None else next(rest) for g in upstream]
            found = gradients_of(made, above, [now[i] for i in wants], create_graph=True)
            none = torch.zeros((), dtype=torch.float64)
            return torch.stack([
                none if g is None or d is None else product(dense(g), d)
                for g, d in zip(found, directions.values(), strict=True)
            ])  # fmt: skip

        self.total = Measured(weighted, of.eps, MOST_TWICE)
        # A weighted sum has more digits than what backward computes.
        given = next(filter(None, map(coarse_dtype, first.values())), None)
        self.total.dtype = given or of.computes_in(args, wants)

    def tells(self, directions: dict[int, Tensor | None], first: dict[int, Tensor]) -> bool:
        """Whether this is of the same directions and of the same backward: another one runs, perhaps, for other numbers drawn."""
        same = all(self.directions.get(p, p) is d for p, d in directions.items())
        return same and all(close(self.first[p], g) for p, g in first.items())
