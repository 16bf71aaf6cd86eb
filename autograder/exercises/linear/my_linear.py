"""MyLinear of lesson 03: contract, hints and experiments."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.exercises.common_cases import cases_of, float64, kept


def _drawn(s: Sampler, *x: int, out: int, bias: Any = True) -> tuple[Any, ...]:
    """x of the given shape; ``bias`` True: a tensor, False: left out, None: passed as None."""
    given = s.normal(*x), s.normal(out, x[-1])
    return (*given, s.normal(out)) if bias else (*given, None) if bias is None else given


layer = cases_of(_drawn)


def large_layer(s: Sampler) -> tuple[Tensor, Tensor, Tensor]:
    ends = float64([[-1000.0, 1000.0, 0.0], [1000.0, 500.0, -1000.0]])
    return ends + s.uniform(2, 3), s.normal(4, 3), s.normal(4)


MY_LINEAR = Exercise(
    name="MyLinear",
    lesson="03_linear",
    summary="x · weightᵀ + bias, as F.linear has it; x (…, in), weight (out, in), bias (out) or None.",
    signature="(x, weight, bias=None)",
    reference=lambda x, weight, bias=None: F.linear(x, weight, bias),
    cases=(
        layer("a batch of vectors", 4, 3, out=2),
        layer("without a bias", 2, 5, out=3, bias=False),
        layer("a batch of vectors, more outputs than inputs", 3, 2, out=4),
        layer(
            "bias=None passed as an argument",
            3,
            2,
            out=5,
            bias=None,
            role="special",
            advice="bias may be left out, or passed as None: ask `bias is None` in forward, and answer with "
            "None in its place.",
        ),
        layer("two batch dimensions", 2, 3, 4, out=5, role="batch"),
        layer("a single vector, no batch dimension", 4, out=3, role="batch"),
        layer("two batch dimensions and no bias", 3, 2, 4, out=2, bias=False, role="batch"),
        layer("three batch dimensions", 2, 1, 3, 2, out=4, role="batch"),
        layer("an empty batch", 0, 3, out=2, role="empty"),
        layer("an empty batch of matrices", 2, 0, 3, out=4, role="empty"),
        Case("inputs of ±1000", large_layer, role="extreme"),
    ),
    budget=kept(0, 1),
    budget_words="x and weight; no gradient needs the numbers of the bias",
    hints=(
        "Write the four shapes on paper: x (batch, in), weight (out, in), bias (out), grad_output "
        "(batch, out). Each gradient has the shape of its own input; there are not many products that fit.",
        "grad_x is a product of grad_output and weight, grad_weight one of grad_output and x, and "
        "grad_bias a sum of grad_output. For more (or no) batch dimensions flatten them first: "
        "g.reshape(-1, out). Is there a bias at all? apply(x, weight) gives needs_input_grad only two "
        "entries.",
        "g2 = grad_output.reshape(-1, weight.shape[0]), x2 = x.reshape(-1, weight.shape[1]): grad_x = grad_output @ weight, "
        "grad_weight = g2.T @ x2, grad_bias = g2.sum(0); each only where it is needed, else None.",
    ),
)
