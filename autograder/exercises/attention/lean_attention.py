"""LeanAttention: the same attention, which keeps one number a row and computes its weights again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from autograder.contract.exercise import Cause, Sampler, Scenario, bytes_of, sentences_beside
from autograder.exercises.attention.heads import bytes_of_logsumexp, row_bytes
from autograder.exercises.attention.scaled_dot_product_attention import SCALED_DOT_PRODUCT_ATTENTION
from autograder.observation.observation import Answer
from autograder.running.structure import look_inside

_L, _S = 7, 8


def _kept(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """One forward of one head; gives every tensor that is kept for backward."""
    args: list[Any] = [s.normal(n, 2).requires_grad_(True) for n in (_L, _S, _S)]
    mask = s.uniform(_L, _S) < 0.8
    mask[:, 0] = True
    args.append(mask)
    answer = Answer()
    look_inside(answer, args, (), lambda: (submission(*args),), lambda outputs: None)
    return {"kept": [[k.holder, k.dtype, list(k.shape)] for k in answer.kept]}


def _no_matrix(data: dict[str, Any]) -> Cause | None:
    """The budget alone has room for a small matrix of weights where E and Ev are large."""
    for holder, dtype, shape in data["kept"]:
        if "float" in dtype and math.prod(shape) >= _L * _S:
            place = "outside of ctx" if holder == "hidden" else holder
            return Cause(
                "lean/matrix-kept", {"place": place, "shape": tuple(shape), "rows": _L, "keys": _S}
            )
    return None


def _budget(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    return bytes_of(*args[:3], outputs[0]) + bytes_of_logsumexp(args[0]) + row_bytes(args)[1]


LEAN_ATTENTION = replace(
    SCALED_DOT_PRODUCT_ATTENTION,
    name="LeanAttention",
    summary="the same attention, keeping no L×S float tensor: the weights are computed again.",
    budget=_budget,
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
        Scenario(
            "no L×S float tensor is kept for backward", "saves-too-much", _kept, _no_matrix,
            needs=("output_value", "gradients_agree", "keeps_within_budget"), free=("kept",),
        ),
    ),
    sentences=sentences_beside(__file__),
)  # fmt: skip
