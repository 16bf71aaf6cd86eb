"""The submission's backward as its own reference, where a gradient is meant to be no derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import Draws
from autograder.contract.measured import Measured, Run
from autograder.contract.real_numbers import is_differentiable


class OwnGradient(Measured):
    """The submission's backward as its own reference: the same in every layout, call and combination.

    values   what the outputs are compared with
    linear   of a backward that is not linear in grad_output, the linear one that it should be
    excused  by position the outputs of which a wrong gradient may be no derivative: of all others it is
    """

    def __init__(
        self, own: Measured, excused: Mapping[int, frozenset[int]],
        values: Callable[..., Any] | None = None, linear: bool = True,
    ):  # fmt: skip
        vars(self).update(vars(own))
        self.right, self.linear, self.excused = values, linear, excused

    def run(self, args: tuple[Any, ...]) -> Run:
        return _OwnRun(self, args)

    def linearised(
        self, args: Sequence[Any], wants: Sequence[int], upstream: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """The gradients as a linear function of the upstream gradients has them."""
        if not self.linear:
            return self.gradients(args, wants, upstream)
        generator = torch.Generator().manual_seed(1)
        base = [None if g is None else torch.randn(g.shape, generator=generator, dtype=torch.float64).to(g.dtype) for g in upstream]  # fmt: skip
        shifted = [None if g is None or b is None else 3 * g + b for g, b in zip(upstream, base, strict=True)]  # fmt: skip
        draws = Draws()
        far = self.gradients(args, wants, shifted)
        draws.again()
        near = self.gradients(args, wants, base)
        return tuple((f - n) / 3 for f, n in zip(far, near, strict=True))


class _OwnRun(Run):
    measured: OwnGradient

    def forward(self) -> list[Tensor]:
        with torch.no_grad():
            right = self.measured.right
            made = self.fill(right(*self.args) if right else self.measured.values(self.args))
        return [o for o in made if isinstance(o, Tensor) and not is_differentiable(o)]

    def gradients(self, wanted: Sequence[int], grads: Sequence[Any]) -> Sequence[Tensor]:
        made = []
        for p in wanted:
            excused = self.measured.excused.get(p, range(len(grads)))
            given = [g if g is None or i in excused else 0 * g for i, g in enumerate(grads)]
            exact = [None if i in excused else g for i, g in enumerate(grads)]
            found = torch.zeros_like(self.args[p])
            if any(g is not None for g in exact):
                (found,) = super().gradients([p], exact)
            if excused:
                self.draws.again()
                found = found + self.measured.linearised(self.args, [p], given)[0]
            made.append(found)
        return made
