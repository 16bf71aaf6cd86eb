"""FirstOrderOnly: a value that SciPy computes, and a second derivative that is right or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograder.contract.exercise import Cause, Exercise, Sampler, Scenario, sentences_beside
from autograder.exercises.common_cases import ONE_TENSOR, elementwise_cases, kept
from autograder.running.watching import Watching

_ERF = ("erf", "erf_", "erfc", "special_erf", "erfinv")


def _operations(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The names of torch's operations in forward."""
    with Watching() as seen:
        submission(s.normal(3))
    return {"names": sorted({str(each).split(".")[1] for each in seen.operations})}


def _from_scipy(data: dict[str, Any]) -> Cause | None:
    used = [name for name in data["names"] if name in _ERF]
    return Cause("erf/of-torch", {"name": used[0]}, at=(used[0],)) if used else None


FIRST_ORDER_ONLY = Exercise(
    name="FirstOrderOnly",
    lesson="05_double_backward",
    summary="erf(x) computed by SciPy; a second derivative is right or raises RuntimeError.",
    signature="(x)",
    reference=torch.erf,
    cases=elementwise_cases(),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    second_order="right-or-refused",
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
    hints=(
        "Two jobs. The way out of torch and back for the value; and one line in backward that notices "
        "that somebody wants to differentiate backward itself. What is different at that moment?",
        "Out and back: x.detach().cpu().numpy(), then torch.as_tensor(…, dtype=x.dtype, "
        "device=x.device). With create_graph=True grad mode is on while backward runs; else it is off.",
        "The first line of backward: if torch.is_grad_enabled(): raise RuntimeError('first order "
        "only'). Then grad_output * 2 / math.sqrt(math.pi) * torch.exp(-x**2).",
    ),
    scenarios=(
        Scenario(
            "the value comes from SciPy", "uses-builtin", _operations, _from_scipy,
            needs=("output_value",), free=("names",),
        ),
    ),
    sentences=sentences_beside(__file__),
)  # fmt: skip
