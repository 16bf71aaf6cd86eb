"""What wrong backwards of attention are made of (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Misconception
from autograder.exercises.attention_formulas import causal_mask, scale_of, softmax_rows
from autograder.exercises.attention_positions import Tiling


@dataclass(frozen=True)
class Step:
    """What backward has at hand: all of (…, L, S) but q, k, v and g, the upstream gradient.

    tiles  True where backward computes anything at all; None: everywhere
    """

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    scores: Tensor
    weights: Tensor
    mask: Tensor | None
    scale: float
    tiles: Tensor | None = None

    @property
    def default(self) -> float:
        """The scale where none is given."""
        return scale_of(self.q, None)

    @property
    def by_weights(self) -> Tensor:
        """∂loss/∂weights, (…, L, S)."""
        return self.g @ self.v.transpose(-1, -2)

    @property
    def by_scores(self) -> Tensor:
        """The right ∂loss/∂scores, (…, L, S)."""
        w, t = self.weights, self.by_weights
        return w * (t - (w * t).sum(-1, keepdim=True))

    def gradients(
        self,
        by_scores: Tensor | None = None,
        weights: Tensor | None = None,
        scale: float | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The three gradients, with one ingredient replaced by a wrong one."""
        s = self._computed(self.by_scores if by_scores is None else by_scores)
        w = self._computed(self.weights if weights is None else weights)
        c = self.scale if scale is None else scale
        return s @ self.k * c, s.transpose(-1, -2) @ self.q * c, w.transpose(-1, -2) @ self.g

    def _computed(self, t: Tensor) -> Tensor:
        return t if self.tiles is None else torch.where(self.tiles, t, 0.0)

    def with_weights(self, weights: Tensor, own_sum: bool) -> tuple[Tensor, Tensor, Tensor]:
        """The three gradients when backward recomputes other weights than forward used.

        ``own_sum``: the sum of a row comes from those weights too, else from the right output.
        """
        t = self.by_weights
        total = dot(weights if own_sum else self.weights, t)
        return self.gradients(weights * (t - total), weights)


Mistake = Callable[[Step], tuple[Tensor | None, Tensor | None, Tensor | None]]


def step_of(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None, g: Tensor,
    tiles: Tensor | None = None,
) -> Step:  # fmt: skip
    """Everything between the inputs and the gradients, in float64."""
    c = scale_of(q, scale)
    scores = q @ k.transpose(-1, -2) * c
    return Step(q, k, v, g, scores, softmax_rows(scores, mask), mask, c, tiles)


def known(message: str, hint: str, mistake: Mistake, rule: str = "gradient-value") -> Misconception:
    """A wrong backward of attention on whole matrices."""

    def whole(
        q: Tensor, k: Tensor, v: Tensor, mask: Any = None, scale: Any = None, *, grad_output: Tensor
    ) -> tuple[Tensor | None, ...]:
        return mistake(step_of(q, k, v, mask, scale, grad_output))

    return Misconception(message, hint, whole, rule)


def known_in_tiles(
    message: str, hint: str, mistake: Mistake, rule: str = "gradient-value"
) -> tuple[Misconception, Misconception]:
    """The same with the arguments of FlashAttention, whether tiles of the future are skipped or not."""

    def tiled(skip: bool) -> Callable[..., tuple[Tensor | None, ...]]:
        def gradients(
            q: Tensor, k: Tensor, v: Tensor, causal: bool, block_size: int, *, grad_output: Tensor
        ) -> tuple[Tensor | None, ...]:
            mask = causal_mask(q, k) if causal else None
            tiles = Tiling(q.shape[-2], k.shape[-2], block_size, causal).not_skipped()
            return mistake(step_of(q, k, v, mask, None, grad_output, tiles if skip else None))

        return gradients

    return (
        Misconception(message, hint, tiled(False), rule),
        Misconception(message, hint, tiled(True), rule),
    )


def dot(a: Tensor, b: Tensor, dim: int = -1) -> Tensor:
    """Σ a · b along dim, which stays with size 1."""
    return (a * b).sum(dim, keepdim=True)


def masked(s: Step) -> Tensor:
    """The scores, −inf where the mask is False."""
    return s.scores if s.mask is None else s.scores.masked_fill(~s.mask, -torch.inf)


def logsumexp(scores: Tensor) -> Tensor:
    """One number a row, (…, L, 1)."""
    return torch.logsumexp(scores, -1, keepdim=True)
