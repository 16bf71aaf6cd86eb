"""attention_map: the weights of one head, its mask, and the gradients of both, query by query.

Autograd computes everything: the weights forward, and backward the gradients at the output, at the
weights and at the scores. The softmax couples a row, so the gradient at a score also depends on
the other keys' gradients; the mask makes weight and gradient of a score zero together.

A learner's own attention shows the same without being opened: with keys √n·1 its queries are the
scores, and with values 1 its output is the weights. So its gradient at the queries is that at the scores.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.friendly_error import refusal
from widgets.attention_head import Head, OwnAttention, run_head, two_digits
from widgets.attention_tiles import sweep_of_tiles
from widgets.explorer import Exploration, Explorer, Frame, Grid, Sweep, short
from widgets.wording import number, stopped

MOST = 12  # queries and keys that fit on a screen


def attention_map(
    q: Tensor | None = None,
    k: Tensor | None = None,
    v: Tensor | None = None,
    mask: Tensor | None = None,
    grad_output: Tensor | None = None,
    tokens: Sequence[str] | None = None,
    by: Any = None,
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
        by: an attention of your own, such as `LeanAttention` or `FlashAttention`: a Function class or
            a function of q, k, v and whatever it calls mask, scale, causal or block_size. Weights and
            gradients are then its own. With a block_size the tiles can be walked through, too. What it
            raises is shown.

    Raises:
        ValueError: for shapes that do not fit together or are too large, or for a mask that is not
            boolean.
    """
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
    right = [run_head(name, q, k, v, allowed, grad_output) for name, allowed in masks.items()]
    if by is None:
        sweeps = [_sweep(head, rows, columns) for head in right]
        title = "Attention weights and their gradients, one head"
        return Explorer(Exploration(title, "Mask", "Query", tuple(sweeps)))
    own = OwnAttention(by)
    sweeps = []
    for head in right:
        try:
            mine = own.head(head)
        except Exception as error:
            sweeps.append(_stopped(head, own.name, error, len(rows)))
        else:
            sweeps.append(_sweep(mine, rows, columns, head))
            if own.in_tiles:
                sweeps.append(sweep_of_tiles(own, head, q, k, v, (rows, columns)))
    title = f"Attention weights and their gradients, one head, by your `{own.name}`"
    return Explorer(Exploration(title, "Mask", "Place", tuple(sweeps)))


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


def _stopped(head: Head, name: str, error: Exception, queries: int) -> Sweep:
    """Where the learner's attention stops: why, at every place of the slider."""
    words = f"{name} {stopped(error, name)}".replace("{", "(")
    error.__traceback__ = None
    return Sweep(head.name, tuple(Frame(f"query {i}", ()) for i in range(queries)), words)


def _sweep(
    head: Head, rows: tuple[str, ...], columns: tuple[str, ...], right: Head | None = None
) -> Sweep:
    def grid(title: str, values: Tensor, closed: str) -> Grid:
        texts = tuple(
            tuple(
                two_digits(value) if ok else closed for value, ok in zip(line, allowed, strict=True)
            )
            for line, allowed in zip(values.tolist(), head.allowed.tolist(), strict=True)
        )
        numbers = tuple(tuple(map(short, line)) for line in values.tolist())
        return Grid(title, "key", "query", columns, rows, numbers, texts)

    cells = len(columns)
    return Sweep(
        name=head.name,
        frames=tuple(_frame(head, i, rows[i], columns, right) for i in range(len(rows))),
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


def _frame(head: Head, i: int, query: str, columns: tuple[str, ...], right: Head | None) -> Frame:
    parts = (head.scores, head.weights, head.weight_gradient, head.score_gradient)
    numbers = [number(short(value) + 0.0) for part in parts for value in part[i].tolist()]
    allowed = ["✓ yes" if ok else "✕ no" for ok in head.allowed[i].tolist()]
    told = _told(head, i, columns) + (_wrong(head, right, i, columns) if right else "")
    return Frame(f"query {query}", (told, *allowed, *numbers), row=i)


def _wrong(head: Head, right: Head, i: int, columns: tuple[str, ...]) -> str:
    """ " ✗ The weight of key 2 is 0.5 here, and 0.25 in softmax attention." for the first that differs."""
    for what, mine, wanted in (
        ("weight of", head.weights[i], right.weights[i]),
        ("gradient at the score of", head.score_gradient[i], right.score_gradient[i]),
    ):
        close = torch.isclose(mine, wanted, rtol=1e-6, atol=1e-9)
        if not close.all():
            j = int((~close).nonzero()[0])
            got, want = (number(short(one[j].item())) for one in (mine, wanted))
            return f" ✗ The {what} key {columns[j]} is {got} here, and {want} in softmax attention."
    return ""


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
