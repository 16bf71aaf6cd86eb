"""Lesson 07: attention on whole matrices, ``ScaledDotProductAttention`` and ``LeanAttention``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, Sampler, Scenario, bytes_of
from autograder.exercises import attention_experiments as experiments
from autograder.exercises.attention_empty_rows import EMPTY_ROWS
from autograder.exercises.attention_formulas import (
    ATTENTION_OPERATIONS,
    LESSON,
    attention,
)
from autograder.exercises.attention_mistakes import backward_mistakes
from autograder.exercises.attention_slips import FORWARD_SLIPS


def heads(s: Sampler, batch: tuple[int, ...], queries: int, keys: int, e: int, ev: int) -> Any:
    """q (…, L, E), k (…, S, E) and v (…, S, Ev) with values of at most 1.2 in size.

    Small scores suit bfloat16: where one key has nearly all the weight the gradients of the scores
    almost cancel, and eight bits do not say by how much.
    """
    sizes = (queries, e), (keys, e), (keys, ev)
    return tuple(s.uniform(*batch, *size, low=-1.2, high=1.2) for size in sizes)


def some_mask(s: Sampler, *shape: int) -> Tensor:
    """A bool mask with at least one True and one False in every row (the last dimension)."""
    mask = s.uniform(*shape) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _whole(
    name: str, sizes: tuple[int, int, int, int], *, batch: tuple[int, ...] = (),
    mask: tuple[int, ...] | None = None, scale: tuple[float, ...] = (), **more: Any,
) -> Case:  # fmt: skip
    """sizes (L, S, E, Ev); mask is its shape; with a scale and no mask the mask is passed as None."""

    def make(s: Sampler) -> tuple[Any, ...]:
        tensors = heads(s, batch, *sizes)
        rest = () if mask is None else (some_mask(s, *mask),)
        return (*tensors, *(rest or ((None,) if scale else ())), *scale)

    return Case(name, make, **more)


def _nothing_to_attend_to(s: Sampler) -> tuple[Any, ...]:
    mask = some_mask(s, 4, 5)
    mask[1] = mask[3] = False
    return *heads(s, (), 4, 5, 3, 2), mask


def _nothing_in_one_entry(s: Sampler) -> tuple[Any, ...]:
    mask = some_mask(s, 2, 3, 4)
    mask[1, 2] = False
    return *heads(s, (2,), 3, 4, 2, 5), mask


def _nothing_at_all(s: Sampler) -> tuple[Any, ...]:
    """A mask of one column: each query attends to all keys or to none."""
    mask = torch.tensor([[True], [False], [True]])
    return *heads(s, (2,), 3, 4, 2, 5), mask


def _far_below(s: Sampler) -> tuple[Any, ...]:
    """One query may look at one key only, and that score is about -10¹⁰."""
    q, k, v = heads(s, (), 3, 4, 4, 1)
    mask = some_mask(s, 3, 4)
    mask[:, 2] = False
    mask[1] = torch.tensor([False, False, True, False])
    q[1], k[2] = far_apart()
    return q, k, v, mask


def far_apart() -> tuple[Tensor, Tensor]:
    """A query and a key with a score of about -10¹⁰, for which every right answer gives the same.

    Powers of two, E = 4: √E is 2, so the score is the same to the last digit wherever and however the
    scale comes in. Take values of width 1: the gradient of the score is 0 then, and not a last digit
    times 10⁵, however the two sums that cancel are added up.
    """
    key = torch.tensor([2.0**17, 0.0, 0.0, 0.0])
    return -key, key


def large_scores(s: Sampler) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v with E = 4 whose scores reach ±1024 and are exact in float32.

    Where they are large they lie far apart: a logsumexp of 1000 is known to 3e-5 only in float32, and
    a right answer that subtracts it would be off by as much wherever two keys share the weight.
    """
    q = [[32.0, 0.0, 0.0, 0.0], [0.0, -32.0, 0.0, 0.0], [0.0, 0.0, 32.0, 0.0]]
    k = [
        [16.0, 28.0, 1 / 32, 0.0],
        [32.0, 32.0, 1 / 16, 0.0],
        [-32.0, 24.0, -1 / 16, 0.0],
        [0.0, 40.0, 0.0, 0.0],
    ]
    return torch.tensor(q).double(), torch.tensor(k).double(), s.normal(4, 2)


def _row_bytes(args: tuple[Any, ...]) -> tuple[int, int]:
    """(bytes of one number a query, bytes of the mask and of a bool a query: is its row empty?)."""
    q = args[0]
    rows = q.numel() // max(q.shape[-1], 1)
    masked = len(args) > 3 and args[3] is not None
    return rows * q.element_size(), args[3].numel() + rows if masked else 0


def _with_weights(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    row, mask = _row_bytes(args)
    return bytes_of(*args[:3]) + row * args[1].shape[-2] + mask


def _with_logsumexp(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    _, mask = _row_bytes(args)
    return bytes_of(*args[:3], outputs[0]) + bytes_of_logsumexp(args[0]) + mask


def bytes_of_logsumexp(q: Tensor) -> int:
    """One number a query. Torch's own attention keeps it in float32 for a half-precision q, and so may others."""
    return q.numel() // max(q.shape[-1], 1) * max(q.element_size(), 4)


_EMPTY_ROW = (
    "A query that may look at no key gives 0, with gradient 0. The softmax of a row of -inf is nan, in "
    "forward and where backward recomputes it: set the weights of such a row to 0 there (or its logsumexp to a "
    "finite number, before exp)."
)

_CASES = (
    _whole("one head without a mask", (4, 5, 3, 2), visible=True),
    _whole("a batch with a mask", (3, 5, 4, 2), batch=(2,), mask=(2, 3, 5), visible=True),
    _whole("scale given", (3, 4, 2, 5), batch=(2,), scale=(0.7,), visible=True),
    _whole("one mask for all heads of a batch", (4, 3, 5, 2), batch=(2, 3), mask=(4, 3)),
    _whole("a mask for each head, and a scale", (3, 8, 2, 5), batch=(2, 3), mask=(3, 3, 8), scale=(0.6,)),
    _whole(
        "a mask of keys, a scale, and values of width 1", (3, 4, 2, 1), batch=(2,), mask=(2, 1, 4), scale=(1.3,)
    ),
    Case(
        "rows with nothing to attend to", _nothing_to_attend_to, role="special", visible=True,
        advice=_EMPTY_ROW,
    ),
    Case(
        "a row with nothing to attend to in one batch entry only", _nothing_in_one_entry, role="special",
        advice=_EMPTY_ROW,
    ),
    Case(
        "a mask of one column, False in a row", _nothing_at_all, role="special", advice=_EMPTY_ROW
    ),
    _whole(
        "scale=0.0, a scale like any other", (3, 4, 2, 5), scale=(0.0,), role="special",
        advice="0.0 is a scale like any other. `if scale` and `scale or ...` take it for a missing one: ask "
        "`scale is None`.",
    ),
    Case(
        "an allowed score far below the masked ones", _far_below, role="special",
        advice="Beside it a large negative number, put in place of a masked score or added to it, is a "
        "large score, and the masked keys get the weight. Put -torch.inf there.",
    ),
    _whole(
        "three batch dimensions and a mask of one", (3, 4, 2, 5), batch=(2, 1, 3), mask=(4,), role="batch",
    ),
    _whole("two batch dimensions", (3, 4, 5, 2), batch=(2, 3), role="batch", visible=True),
    _whole("no keys at all (S = 0)", (3, 0, 2, 4), role="empty"),
    _whole("no queries (L = 0)", (0, 3, 2, 4), role="empty"),
    _whole("several heads without keys (S = 0)", (3, 0, 2, 4), batch=(2, 3), role="empty"),
    _whole("several heads without queries (L = 0)", (0, 3, 2, 4), batch=(2, 3), role="empty"),
    _whole("an empty batch", (3, 4, 2, 5), batch=(0,), role="empty"),
    Case(
        "scores up to ±1000 in float32",
        lambda s: (*large_scores(s), None, 1.0),
        role="extreme",
        visible=True,
    ),
)  # fmt: skip

_ATTEMPTS = Scenario(
    "second derivatives are right or refused in every loss",
    "double-backward-value",
    experiments.run_attempts(),
    experiments.judge_attempts(attention, may_be_right=True),
    visible=True,
    needs=("output_value", "gradients_agree", "second_derivatives"),
)

SCALED_DOT_PRODUCT_ATTENTION = Exercise(
    name="ScaledDotProductAttention",
    lesson=LESSON,
    summary="softmax(scale · q · kᵀ) · v with a bool mask; rows with nothing to attend to give 0.",
    signature="(q, k, v, mask=None, scale=None)",
    reference=attention,
    forbidden=ATTENTION_OPERATIONS,
    second_order="right-or-refused",
    cases=_CASES,
    budget=_with_weights,
    budget_words="q, k, v, the weights and the mask",
    hints=(
        "Three links: scores = scale · q · kᵀ, weights = softmax(scores), out = weights · v. Go through "
        "them in reverse. Two of them are matrix products, and you have done the third one already. "
        "What does a row of −inf do to a softmax?",
        "For C = A @ B: grad_A = grad_C @ B.mT and grad_B = A.mT @ grad_C; .mT transposes the last two "
        "dimensions only. Save q, k, v and the weights: they have their zeros, so backward needs no "
        "mask. Rows without any True: replace the whole row of weights by 0.",
        "grad_v = weights.transpose(-1, -2) @ g; t = g @ v.transpose(-1, -2); grad_scores = "
        "weights * (t - (t * weights).sum(-1, keepdim=True)) * scale; grad_q = grad_scores @ k; "
        "grad_k = grad_scores.transpose(-1, -2) @ q. The weights are an intermediate: refuse a "
        'second derivative with `if torch.is_grad_enabled(): raise RuntimeError("…")`. One value '
        "an argument: count them by len(ctx.needs_input_grad).",
    ),
    misconceptions=backward_mistakes(),
    forward_slips=(*FORWARD_SLIPS, *EMPTY_ROWS),
    scenarios=(_ATTEMPTS,),
)

LEAN_ATTENTION = replace(
    SCALED_DOT_PRODUCT_ATTENTION,
    name="LeanAttention",
    summary="the same attention, keeping no L×S float tensor: the weights are computed again.",
    budget=_with_logsumexp,
    budget_words="q, k, v, the output, one logsumexp a row and the mask",
    hints=(
        "The weights are a function of q and k, which are kept anyway. Which single number of each row "
        "turns its scores back into its weights, without computing maximum and sum again?",
        "weights = exp(scores - logsumexp), one logsumexp a row. And the sum in the softmax's "
        "backward, Σ weights · (g · vᵀ), is Σ out · g over the width of v: it needs no L×S "
        "tensor. For a row with nothing to attend to the logsumexp is −inf: put 0 in its place, "
        "and the weights come out 0 because the scores are −inf.",
        "Backward: scores as in forward, masked; weights = (scores - lse).exp(); grad_v = "
        "weights.transpose(-1, -2) @ g; delta = (g * out).sum(-1, keepdim=True); grad_scores = "
        "weights * (g @ v.transpose(-1, -2) - delta) * scale. The logsumexp is an intermediate: "
        "refuse second derivatives.",
    ),
    scenarios=(
        _ATTEMPTS,
        Scenario(
            "no L×S float tensor is kept for backward",
            "saves-too-much",
            experiments.run_kept,
            experiments.judge_kept,
            needs=("output_value", "gradients_agree", "keeps_within_budget"),
        ),
    ),
)
