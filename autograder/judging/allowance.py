"""Where more than one number is right: measured derivatives, a tolerance, what a coarser dtype rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Strictness
from autograder.contract.references import Expected
from autograder.observation.compare import TOLERANCE, coarse_dtype, real
from autograder.observation.observation import Answer


def allowing(expected: Expected, answer: Answer, strictness: Strictness) -> Expected:
    """The right answer with the numbers of an answer in place of those that they may stand for."""

    def nearest(given: Sequence[Any] | None, right: Sequence[Any], errors: Sequence[Any]) -> tuple[Any, ...]:  # fmt: skip
        given = given or ()
        return tuple(
            _nearest(given[i] if i < len(given) else None, each, errors[i] if i < len(errors) else None, strictness)
            for i, each in enumerate(right)
        )  # fmt: skip

    found = replace(expected, outputs=nearest(answer.outputs, expected.outputs, ()))
    if expected.gradients is not None:
        found.gradients = nearest(answer.gradients, expected.gradients, expected.errors)
    if expected.second is not None:
        found.second = nearest(answer.second, expected.second, expected.second_errors)
    return found


def _nearest(given: Any, right: Any, error: Tensor | None, strictness: Strictness) -> Any:
    if not isinstance(right, Tensor) or not (right.is_floating_point() or right.is_complex()):
        return right
    if given is None and error is not None:
        given = torch.zeros_like(right)
    if not isinstance(given, Tensor) or given.shape != right.shape or given.is_complex() != right.is_complex():  # fmt: skip
        return right
    size = right.abs().to(torch.float64)
    allowed = strictness.atol + strictness.rtol * size
    if error is not None:
        allowed = allowed + error
    if (coarse := coarse_dtype(given)) is not None and given.dtype == right.dtype:
        relative, absolute = TOLERANCE[coarse]
        largest = float(real(right).abs().nan_to_num(posinf=0.0).max()) if right.numel() else 0.0
        allowed = allowed + relative * size + absolute * largest
    exact = given.to(right.dtype)
    inside = (exact - right).abs() <= allowed
    if error is not None:  # nobody knows: a place that was not reached, or next to nan
        inside |= torch.isinf(error) & torch.isfinite(real(exact).reshape(*right.shape, -1)).all(-1)
    return torch.where(inside, exact, right)
