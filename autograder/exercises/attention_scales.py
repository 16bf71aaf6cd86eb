"""Wrong factors of the scores that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from autograder.exercise import ForwardSlip
from autograder.exercises.attention_formulas import attention, scale_of


def _factor(
    message: str, hint: str, factor: Callable[[Tensor, Tensor, Tensor, float | None], float]
) -> ForwardSlip:
    """Another factor of the scores; ``factor`` takes q, k, v and scale."""
    return ForwardSlip(
        message,
        hint,
        lambda q, k, v, mask=None, scale=None: attention(q, k, v, mask, factor(q, k, v, scale)),
    )


_WIDTH = "E is the width of q and k: q.shape[-1]."
# Whether a scale is given or not.
SCALES = (
    _factor(
        "The scale is missing.",
        "Multiply q · kᵀ by scale, or by 1/√E where scale is None.",
        lambda q, k, v, scale: 1.0,
    ),
    _factor(
        "The scores are divided by E, not by √E.",
        "scale=None means 1/√E.",
        lambda q, k, v, scale: 1 / q.shape[-1] if scale is None else scale,
    ),
    _factor(
        "The scores are multiplied by √E, not divided by it.",
        "scale=None means 1/√E.",
        lambda q, k, v, scale: q.shape[-1] ** 0.5 if scale is None else scale,
    ),
    _factor(
        "The scale is multiplied in twice.",
        "Scale q or the scores, not both.",
        lambda q, k, v, scale: scale_of(q, scale) ** 2,
    ),
    _factor(
        "The scores are divided by √Ev, the width of v.",
        _WIDTH,
        lambda q, k, v, scale: v.shape[-1] ** -0.5 if scale is None else scale,
    ),
    _factor(
        "The scores are divided by √S, the number of keys.",
        _WIDTH,
        lambda q, k, v, scale: k.shape[-2] ** -0.5 if scale is None else scale,
    ),
    _factor(
        "The scores are divided by √L, the number of queries.",
        _WIDTH,
        lambda q, k, v, scale: q.shape[-2] ** -0.5 if scale is None else scale,
    ),
    *(
        _factor(
            f"The scores are divided by √({name}.shape[{dim}]), whatever that dimension is.",
            f"With a batch dimension in front every position from the front means another one. {_WIDTH}",
            lambda q, k, v, scale, dim=dim, first=name == "q": (  # type: ignore[misc]
                (q if first else k).shape[dim] ** -0.5 if scale is None else scale
            ),
        )
        for name in ("q", "k")
        for dim in (0, 1, 2)
    ),
    ForwardSlip(
        "The scale stands outside of the softmax: the weights or the output are multiplied by it.",
        "Multiply the scores, before the softmax.",
        lambda q, k, v, mask=None, scale=None: attention(q, k, v, mask, 1.0) * scale_of(q, scale),
    ),
)

# Where a scale may be given.
GIVEN_SCALES = (
    _factor(
        "The scale that is given is ignored.",
        "1/√E is only for scale=None.",
        lambda q, k, v, scale: scale_of(q, None),
    ),
    _factor(
        "The scores are divided by the scale that is given.",
        "scale is a factor: multiply.",
        lambda q, k, v, scale: scale_of(q, None) if scale is None else 1 / scale,
    ),
    _factor(
        "The scale that is given comes on top of 1/√E.",
        "1/√E is for scale=None only: the scale that is given takes its place.",
        lambda q, k, v, scale: scale_of(q, None) * (1 if scale is None else scale),
    ),
    _factor(
        "Without a scale that is given the scores are not scaled at all.",
        "scale=None means 1/√E, not 1.",
        lambda q, k, v, scale: 1.0 if scale is None else scale,
    ),
)
