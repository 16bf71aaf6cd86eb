"""gradient_penalty made of the gradients in another way, recognised by its number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def of_gradient(penalty: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """A penalty that is made of the gradients in another way; they come as (N, features)."""

    def value(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        x = x.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(critic(x).sum(), x)
        return penalty(gradient.flatten(1))

    return value


_EUCLIDEAN = "‖g‖₂ = √Σ g²: torch.linalg.vector_norm(g.flatten(1), dim=1)."
MADE_OTHERWISE: tuple[tuple[str, str, Callable[[Tensor], Tensor]], ...] = (
    (
        "The length is the sum of the absolute values (the 1-norm), not the Euclidean one.",
        _EUCLIDEAN,
        lambda g: ((g.abs().sum(1) - 1) ** 2).mean(),
    ),
    (
        "The length is the largest absolute value (the ∞-norm), not the Euclidean one.",
        _EUCLIDEAN,
        lambda g: ((g.abs().amax(1) - 1) ** 2).mean(),
    ),
    (
        "One norm is taken over the whole batch, and a matrix norm at that: its largest singular value.",
        "For a matrix linalg.norm(g, 2) and matrix_norm are no lengths. " + _EUCLIDEAN,
        lambda g: (torch.linalg.matrix_norm(g, 2) - 1) ** 2,
    ),
    (
        "One norm is taken over the whole batch, and a matrix norm at that: its largest column sum.",
        "For a matrix linalg.norm(g, 1) and matrix_norm are no lengths. " + _EUCLIDEAN,
        lambda g: (torch.linalg.matrix_norm(g, 1) - 1) ** 2,
    ),
    (
        "The elements of the gradient are added up in the place of its length.",
        _EUCLIDEAN,
        lambda g: ((g.sum(1) - 1) ** 2).mean(),
    ),
    (
        "1 is added to the length, not subtracted.",
        "The target length is 1: (‖g‖ − 1)².",
        lambda g: ((g.norm(dim=1) + 1) ** 2).mean(),
    ),
    (
        "The length is squared before 1 is subtracted, and not after: ‖g‖² − 1.",
        "(‖g‖ − 1)²: subtract, then square.",
        lambda g: (g.norm(dim=1) ** 2 - 1).mean(),
    ),
    (
        "Each element of the gradient is compared with 1; no length is taken.",
        _EUCLIDEAN,
        lambda g: ((g - 1) ** 2).mean(),
    ),
    (
        "The absolute value of each element is compared with 1; no length is taken.",
        _EUCLIDEAN,
        lambda g: ((g.abs() - 1) ** 2).mean(),
    ),
    (
        "The gradients of the batch are averaged before the length is taken.",
        "Every sample has its own gradient and its own length; only the penalties are averaged.",
        lambda g: (g.mean(0).norm() - 1) ** 2,
    ),
    (
        "The gradients of the batch are added up before the length is taken.",
        "Every sample has its own gradient and its own length; only the penalties are averaged.",
        lambda g: (g.sum(0).norm() - 1) ** 2,
    ),
    (
        "This is the largest penalty of the batch; the mean is asked for.",
        "Every sample counts: .mean().",
        lambda g: ((g.norm(dim=1) - 1) ** 2).max(),
    ),
    (
        "Only the first sample of the batch is penalised.",
        "Row i of the gradient belongs to sample i: the norm over dim 1, then the mean over all of them.",
        lambda g: (g[0].norm() - 1) ** 2,
    ),
    (
        "The mean over the batch is the root of a mean of squares: a square root too many at the end.",
        "The mean of (‖g‖ − 1)², and nothing after it.",
        lambda g: ((g.norm(dim=1) - 1) ** 2).mean().sqrt(),
    ),
)


def of_critic(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The penalty of the score itself."""
    return ((critic(x).reshape(len(x), -1).norm(dim=1) - 1) ** 2).mean()
