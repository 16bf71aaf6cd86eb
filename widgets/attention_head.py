"""One head of attention run forward and backward: softmax attention, or one of a learner's own."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from widgets.runs import callable_and_name, parameters

BLOCK = 2  # queries and keys of a tile


@dataclass(frozen=True)
class Head:
    """One head run forward and backward. All have shape (queries, keys) but `name`.

    scores           q kᵀ / √d, before the mask
    allowed          True where the query may look at the key
    weights          softmax over the allowed keys; 0 in a row that allows none
    weight_gradient  ∂L/∂weights
    score_gradient   ∂L/∂scores; an additive mask of this shape would get the same
    """

    name: str
    scores: Tensor
    allowed: Tensor
    weights: Tensor
    weight_gradient: Tensor
    score_gradient: Tensor


def run_head(
    name: str, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, grad_output: Tensor | None = None
) -> Head:
    """Forward and backward of softmax(q kᵀ / √d + mask) v, in float64."""
    q, k, v = (one.detach().double().cpu() for one in (q, k, v))
    allowed = allowed.detach().cpu()
    scores = (q @ k.T / math.sqrt(q.shape[1])).requires_grad_()
    with torch.enable_grad():
        # −inf in a row that allows nothing gives NaN, so such a row is left open and zeroed after.
        open_rows = allowed | ~allowed.any(1, keepdim=True)
        weights = scores.masked_fill(~open_rows, -math.inf).softmax(1)
        weights = weights.masked_fill(~allowed, 0.0)
        output = weights @ v
    upstream = output.detach() if grad_output is None else grad_output.detach().double().cpu()
    of_weights, of_scores = torch.autograd.grad(output, (weights, scores), upstream)
    return Head(name, scores.detach(), allowed, weights.detach(), of_weights, of_scores)


class OwnAttention:
    """A learner's attention, called by the names of its arguments.

    Args:
        by: a Function class or a function of q, k, v and whatever it calls mask, scale, causal or
            block_size.
    """

    def __init__(self, by: Any) -> None:
        self.function, self.name = callable_and_name(by)
        self.more = parameters(self.function)[3:]

    @property
    def in_tiles(self) -> bool:
        return "block_size" in self.more

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, causal: bool) -> Tensor:
        """Its output. What it cannot be told of the mask it does not know."""
        known = {
            "mask": None if bool(allowed.all()) else allowed,
            "attn_mask": None if bool(allowed.all()) else allowed,
            "scale": 1 / math.sqrt(q.shape[-1]),
            "causal": causal,
            "is_causal": causal,
            "block_size": BLOCK,
        }
        output = self.function(q, k, v, *(known[name] for name in self.more if name in known))
        return output if isinstance(output, Tensor) else output[0]

    def head(self, right: Head) -> Head:
        """Its weights and gradients where softmax attention has those of `right`."""
        keys = right.scores.shape[1]
        one = torch.eye(keys, dtype=right.scores.dtype)
        scores = right.scores.clone().requires_grad_()
        with torch.enable_grad():
            weights = self(
                scores, one * math.sqrt(keys), one, right.allowed, is_causal(right.allowed)
            )
            (gradient,) = torch.autograd.grad(weights, scores, right.weight_gradient)
        return replace(right, weights=weights.detach(), score_gradient=gradient)


def is_causal(allowed: Tensor) -> bool:
    """Whether a mask is the causal one, and no mask at all."""
    return not bool(allowed.all()) and torch.equal(allowed, torch.ones_like(allowed).tril())


def two_digits(value: float) -> str:
    """ "0.25", "−1.00"."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
