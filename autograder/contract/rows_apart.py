"""Whether a gradient mixes rows of the outputs that do not depend on each other."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple
from autograder.contract.led_by_steps import upstreams
from autograder.contract.measured import Measured
from autograder.contract.real_numbers import is_differentiable
from autograder.contract.steps import TINY
from autograder.observation.compare import close


class Rows:
    """The rows of the outputs around some arguments, and what backward makes of them."""

    def __init__(
        self, measured: Measured, own: Measured, args: Sequence[Any], outputs: Sequence[Any]
    ):
        self.measured, self.own, self.args, self.outputs = measured, own, args, outputs

    def mixed(self, position: int) -> bool:
        """Whether what some rows of the outputs add to a gradient goes to other rows, or is another one without those."""
        with contextlib.suppress(Exception):  # another size, each refuses it in its own way
            return any(not self._as_alone(position, *some) for some in self._some_rows())
        return False

    def _some_rows(self) -> Iterator[tuple[list[int], Tensor, list[Any]]]:
        """The arguments that hold the rows of the outputs; some of those, where no output notices; all arguments with these alone."""
        (count,) = {o.shape[0] for o in self.outputs if is_differentiable(o)}
        first = torch.arange(count) < count // 2
        rows = [
            p for p, a in enumerate(self.args) if isinstance(a, Tensor) and a.shape[:1] == (count,)
        ]

        def with_rows(places: list[int], change: Callable[[Tensor], Tensor]) -> list[Any]:
            made = list(self.args)
            for p in places:
                made[p] = change(made[p].detach()).requires_grad_(made[p].requires_grad)
            return made

        def others(some: Tensor, a: Tensor) -> Tensor:
            return torch.cat(
                [a[some], (1.5 * a[~some]).flip(0) if is_differentiable(a) else a[~some]]
            )

        for places in (rows, *[[p] for p in rows] * (len(rows) > 1)) if count > 1 else ():
            for some in (first, ~first):
                few = with_rows(places, operator.itemgetter(some))
                changed = with_rows(places, functools.partial(others, some))
                with contextlib.suppress(Exception):
                    outputs = zip(
                        *map(as_tuple, map(self.measured.values, (few, changed))),
                        self.outputs,
                        strict=True,
                    )
                    if all(close(m, o[some]) and close(c[: len(m)], m) for m, c, o in outputs):
                        yield places, some, few

    def _as_alone(self, position: int, places: list[int], some: Tensor, few: list[Any]) -> bool:
        for place in (k for k, o in enumerate(self.outputs) if is_differentiable(o)):
            for grads in upstreams(self.outputs, place):
                above = [g.clone().index_fill_(0, (~some).nonzero()[:, 0], 0) for g in grads]
                (beside,) = self.own.gradients(self.args, [position], above)
                if position in places:
                    if not _is_nothing(beside[~some], beside):
                        return False
                    beside = beside[some]
                (alone,) = self.own.gradients(few, [position], [g[some] for g in grads])
                # A learned scale's is divided by the root of how many numbers there are
                # (Esser and others, Learned Step Size Quantization, 2020).
                shares = 1.0, float(some.double().mean()) ** 0.5
                if not any(close(beside, share * alone) for share in shares):
                    return False
        return True


def _is_nothing(numbers: Tensor, beside: Tensor) -> bool:
    """Whether numbers are what rounding leaves of 0."""
    return float(numbers.abs().max()) <= TINY * float(beside.abs().max())
