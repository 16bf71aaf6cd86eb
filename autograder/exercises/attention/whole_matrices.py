"""Softmax, ScaledDotProductAttention and LeanAttention of lesson 07."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Exercise, Sampler, bytes_of
from autograder.exercises.attention.flash_attention import (
    ATTENTION_OPERATIONS,
    attention,
    budget,
    far_apart,
    heads,
    large_scores,
    queries_of,
)
from autograder.exercises.common_cases import (
    along,
    along_a_dim,
    cases_of,
    extreme,
    kept,
    put,
    some,
    special,
    told,
)

SOFTMAX = Exercise(
    **told("Softmax"),
    reference=lambda x, dim: torch.softmax(x, dim),
    cases=(
        *along_a_dim(
            along,
            along("a batch of matrices, dim=-1", 2, 4, 3, dim=-1),
            special(
                "rows with some −inf, as a mask leaves them",
                put(some(3, 4), -torch.inf, (0, 1), (1, 2), (1, 3)),
                1,
            ),
        ),
        extreme(
            "inputs up to ±1000 in float32",
            [[1000.0, 0.0, -1000.0], [-1000.0, -1200.0, -800.0], [2.0, 0.5, 1.0]],
            1,
        ),
    ),
    budget=kept(output=True),
)


def some_mask(s: Sampler, *shape: int) -> Tensor:
    """A bool mask with at least one True and one False in every row (the last dimension)."""
    mask = s.uniform(*shape) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _drawn(
    s: Sampler, sizes: tuple[int, int, int, int], *, batch: tuple[int, ...] = (),
    mask: tuple[int, ...] | None = None, scale: tuple[float, ...] = (),
) -> Arguments:  # fmt: skip
    """sizes (L, S, E, Ev); mask is its shape; with a scale and no mask the mask is passed as None."""
    tensors = heads(s, batch, *sizes)
    rest = () if mask is None else (some_mask(s, *mask),)
    return (*tensors, *(rest or ((None,) if scale else ())), *scale)


_whole = cases_of(_drawn)


def _drawn_closed(
    s: Sampler,
    sizes: tuple[int, int, int, int],
    mask: tuple[int, ...],
    *closed: Any,
    batch: tuple[int, ...] = (),
) -> Arguments:
    """``closed`` rows of the mask have nothing to attend to."""
    made = put(lambda s: some_mask(s, *mask), False, *closed)(s)
    return *heads(s, batch, *sizes), made


def _nothing_at_all(s: Sampler) -> Arguments:
    """A mask of one column: each query attends to all keys or to none."""
    mask = torch.tensor([[True], [False], [True]])
    return *heads(s, (2,), 3, 4, 2, 5), mask


def _far_below(s: Sampler) -> Arguments:
    """One query may look at one key only, and that score is about -10¹⁰."""
    q, k, v = heads(s, (), 3, 4, 4, 1)
    mask = some_mask(s, 3, 4)
    mask[:, 2] = False
    mask[1] = torch.tensor([False, False, True, False])
    q[1], k[2] = far_apart()
    return q, k, v, mask


_EMPTY_ROW = (
    "A query that may look at no key gives 0, with gradient 0. The softmax of a row of -inf is nan, in "
    "forward and where backward recomputes it: set the weights of such a row to 0 there (or its logsumexp to a "
    "finite number, before exp)."
)


_closed = cases_of(_drawn_closed, role="special", advice=_EMPTY_ROW)

_CASES = (
    _whole("one head without a mask", (4, 5, 3, 2)),
    _whole("a batch with a mask", (3, 5, 4, 2), batch=(2,), mask=(2, 3, 5)),
    _whole("scale given", (3, 4, 2, 5), batch=(2,), scale=(0.7,)),
    _whole("one mask for all heads of a batch", (4, 3, 5, 2), batch=(2, 3), mask=(4, 3)),
    _whole("a mask for each head, and a scale", (3, 8, 2, 5), batch=(2, 3), mask=(3, 3, 8), scale=(0.6,)),
    _whole(
        "a mask of keys, a scale, and values of width 1", (3, 4, 2, 1), batch=(2,), mask=(2, 1, 4), scale=(1.3,)
    ),
    _closed("rows with nothing to attend to", (4, 5, 3, 2), (4, 5), 1, 3),
    _closed(
        "a row with nothing to attend to in one batch entry only", (3, 4, 2, 5), (2, 3, 4), (1, 2), batch=(2,)
    ),
    special(
        "a mask of one column, False in a row", _nothing_at_all, advice=_EMPTY_ROW
    ),
    _whole(
        "scale=0.0, a scale like any other", (3, 4, 2, 5), scale=(0.0,), role="special",
        advice="0.0 is a scale like any other. `if scale` and `scale or ...` take it for a missing one: ask "
        "`scale is None`.",
    ),
    special(
        "an allowed score far below the masked ones", _far_below,
        advice="Beside it a large negative number, put in place of a masked score or added to it, is a "
        "large score, and the masked keys get the weight. Put -torch.inf there.",
    ),
    _whole(
        "three batch dimensions and a mask of one", (3, 4, 2, 5), batch=(2, 1, 3), mask=(4,), role="batch",
    ),
    _whole("two batch dimensions", (3, 4, 5, 2), batch=(2, 3), role="batch"),
    # No matrix of scores fits into what may be kept without the weights.
    _whole("a narrow head", (7, 8, 2, 2)),
    _whole("no keys at all (S = 0)", (3, 0, 2, 4), role="empty"),
    _whole("no queries (L = 0)", (0, 3, 2, 4), role="empty"),
    _whole("several heads without keys (S = 0)", (3, 0, 2, 4), batch=(2, 3), role="empty"),
    _whole("an empty batch", (3, 4, 2, 5), batch=(0,), role="empty"),
    extreme(
        "scores up to ±1000 in float32",
        lambda s: (*large_scores(s), None, 1.0),

    ),
)  # fmt: skip


def _with_weights(args: Arguments, outputs: Arguments) -> int:
    q, k, v, *_ = args
    weights = queries_of(q) * q.element_size() * k.shape[-2]
    return bytes_of(q, k, v) + weights + _of_mask(args)


def _of_mask(args: Arguments) -> int:
    """The mask, and a bool a query: is its row empty?"""
    masked = len(args) > 3 and args[3] is not None
    return args[3].numel() + queries_of(args[0]) if masked else 0


SCALED_DOT_PRODUCT_ATTENTION = Exercise(
    **told("ScaledDotProductAttention"),
    reference=attention,
    forbidden=ATTENTION_OPERATIONS,
    second_order="right-or-refused",
    cases=_CASES,
    budget=_with_weights,
)


LEAN_ATTENTION = replace(
    SCALED_DOT_PRODUCT_ATTENTION,
    **told("LeanAttention"),
    budget=lambda args, outputs: budget(args, outputs) + _of_mask(args),
)  # fmt: skip
