"""attention_map: the weights of one head, its mask, and the gradients of both, query by query.

Autograd computes everything: the weights forward, and backward the gradients at the output, at the
weights and at the scores. The softmax couples a row, so the gradient at a score also depends on
the other keys' gradients; the mask makes weight and gradient of a score zero together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.contract.friendly_error import refusal
from widgets.explorer import Exploration, Explorer, Frame, Grid, Sweep, short
from widgets.wording import number

MOST = 12  # queries and keys that fit on a screen


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


def attention_map(
    q: Tensor | None = None,
    k: Tensor | None = None,
    v: Tensor | None = None,
    mask: Tensor | None = None,
    grad_output: Tensor | None = None,
    tokens: Sequence[str] | None = None,
) -> Explorer:
    """Slide the query: attention weights, mask and their gradients for one head.

    Args:
        q, k, v: (queries, d), (keys, d), (keys, d_v), at most 12 queries and keys; by default six
            random ones.
        mask: boolean (queries, keys), True where a query may look, as in torch's
            scaled_dot_product_attention. Without one, none and the causal one can be picked.
        grad_output: the upstream gradient, (queries, d_v); by default that of half the sum of the
            squared output, which is the output itself.
        tokens: names of the keys, and of the queries where they are as many; by default "0", "1", …

    Raises:
        ValueError: for shapes that do not fit together or are too large, or for a mask that is not
            boolean.
    """
    return Explorer(exploration_of_attention(q, k, v, mask, grad_output, tokens))


def exploration_of_attention(
    q: Tensor | None = None,
    k: Tensor | None = None,
    v: Tensor | None = None,
    mask: Tensor | None = None,
    grad_output: Tensor | None = None,
    tokens: Sequence[str] | None = None,
) -> Exploration:
    """One sweep for each mask; its frames are queries."""
    if q is None and k is None and v is None:
        generator = torch.Generator().manual_seed(7)
        q, k, v = (torch.randn(6, 4, generator=generator) for _ in range(3))
    if q is None or k is None or v is None:
        raise refusal("attention_map needs q, k and v, or none of them.")
    _refuse_what_does_not_fit(q, k, v, mask, grad_output)
    queries, keys = len(q), len(k)
    every = torch.ones(queries, keys, dtype=torch.bool)
    masks = {"no mask": every, "causal mask": every.tril()} if mask is None else {"your mask": mask}
    columns = tuple(map(str, tokens if tokens is not None else range(keys)))
    if len(columns) != keys:
        raise refusal(f"There are {len(columns)} tokens for {keys} keys.")
    rows = columns if queries == keys else tuple(map(str, range(queries)))
    heads = [run_head(name, q, k, v, allowed, grad_output) for name, allowed in masks.items()]
    title = "Attention weights and their gradients, one head"
    return Exploration(title, "Mask", "Query", tuple(_sweep(head, rows, columns) for head in heads))


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


def _refuse_what_does_not_fit(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, grad_output: Tensor | None
) -> None:
    if any(one.dim() != 2 for one in (q, k, v)):
        raise refusal("q, k and v of one head have two dimensions: (tokens, features).")
    if q.shape[1] != k.shape[1] or len(k) != len(v):
        shapes = ", ".join(str(tuple(one.shape)) for one in (q, k, v))
        raise refusal(f"q, k and v of shapes {shapes} do not fit together.")
    if not 1 <= len(q) <= MOST or not 1 <= len(k) <= MOST:
        raise refusal(f"There is room for 1 to {MOST} queries and keys: pass a part of them.")
    if mask is not None and (mask.dtype != torch.bool or mask.shape != (len(q), len(k))):
        wanted = f"({len(q)}, {len(k)})"
        raise refusal(f"The mask is boolean and of shape {wanted}, True where a query may look.")
    if grad_output is not None and grad_output.shape != (len(q), v.shape[1]):
        raise refusal(f"grad_output has the output's shape ({len(q)}, {v.shape[1]}).")


def _sweep(head: Head, rows: tuple[str, ...], columns: tuple[str, ...]) -> Sweep:
    def grid(title: str, values: Tensor, closed: str) -> Grid:
        texts = tuple(
            tuple(
                _two_digits(value) if ok else closed
                for value, ok in zip(line, allowed, strict=True)
            )
            for line, allowed in zip(values.tolist(), head.allowed.tolist(), strict=True)
        )
        numbers = tuple(tuple(map(short, line)) for line in values.tolist())
        return Grid(title, "key", "query", columns, rows, numbers, texts)

    cells = len(columns)
    return Sweep(
        name=head.name,
        frames=tuple(_frame(head, i, rows[i], columns) for i in range(len(rows))),
        status="{0}",
        head=(
            "key",
            "allowed",
            "score",
            "weight",
            "gradient at the weight",
            "gradient at the score",
        ),
        rows=tuple(
            (columns[j], *(f"{{{1 + part * cells + j}}}" for part in range(5)))
            for j in range(cells)
        ),
        grids=(
            grid("Weights (✕ masked)", head.weights, "✕"),
            grid("Gradient at the scores (✕ masked)", head.score_gradient, "✕"),
        ),
    )


def _two_digits(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _frame(head: Head, i: int, query: str, columns: tuple[str, ...]) -> Frame:
    parts = (head.scores, head.weights, head.weight_gradient, head.score_gradient)
    numbers = [number(short(value) + 0.0) for part in parts for value in part[i].tolist()]
    allowed = ["✓ yes" if ok else "✕ no" for ok in head.allowed[i].tolist()]
    return Frame(f"query {query}", (_told(head, i, columns), *allowed, *numbers), row=i)


def _told(head: Head, i: int, columns: tuple[str, ...]) -> str:
    closed = int((~head.allowed[i]).sum())
    if closed == len(columns):
        return "every key is masked: all weights and all gradients of the row are 0."
    most, weight = columns[int(head.weights[i].argmax())], head.weights[i].max().item()
    pushed = int(head.score_gradient[i].abs().argmax())
    gradient = head.score_gradient[i, pushed].item()
    total = head.score_gradient[i].sum().abs() / head.score_gradient[i].abs().sum().clamp(min=1e-9)
    # The softmax's gradient is orthogonal to the vector of ones; what is left is rounding.
    ends = (
        "the gradients at the scores add up to 0"
        if total < 1e-9
        else "the gradients do not add up to 0"
    )
    masked = f"{closed} masked, with weight and score gradient 0; " if closed else ""
    return (
        f"it looks most at key {most}, with weight {number(short(weight))}; {masked}"
        f"the largest gradient at a score is {number(short(gradient))}, at key {columns[pushed]}; {ends}."
    )
