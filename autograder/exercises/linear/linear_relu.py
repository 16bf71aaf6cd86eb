"""LinearReLU of lesson 03: contract, hints and experiments."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler, bytes_of
from autograder.exercises.common_cases import cases_of
from autograder.exercises.linear.my_linear import large_layer, layer

_GAP = 0.1  # how far a pre-activation stays from the kink, in every main case


def _off_the_kink(s: Sampler, *x: int, out: int) -> tuple[Tensor, Tensor, Tensor]:
    """x, weight and bias with no pre-activation within ``_GAP`` of 0, and both signs among them."""
    for _ in range(2000):
        given = s.normal(*x), s.normal(out, x[-1]), s.normal(out)
        before = F.linear(*given)
        if bool((before.abs() > _GAP).all()) and bool((before > 0).any() and (before < 0).any()):
            return given
    raise AssertionError("no draw keeps off the kink: the case is too large")


_rectified = cases_of(_off_the_kink)


def _at_the_kink(s: Sampler) -> tuple[Tensor, Tensor, Tensor]:
    """Rows whose pre-activation is exactly 0 in every unit, and one ordinary row."""
    x = torch.stack([torch.zeros(3, dtype=torch.float64), s.normal(3)])
    return x, s.normal(4, 3), torch.zeros(4, dtype=torch.float64)


LINEAR_RELU = Exercise(
    name="LinearReLU",
    lesson="03_linear",
    summary="relu(x · weightᵀ + bias), keeping a bool mask; the gradient at a pre-activation of 0 is 0.",
    signature="(x, weight, bias)",
    reference=lambda x, weight, bias: torch.relu(F.linear(x, weight, bias)),
    cases=(
        _rectified("a batch of vectors", 4, 3, out=2),
        _rectified("a batch of longer vectors", 2, 4, out=3),
        _rectified("a batch of vectors, more outputs than inputs", 3, 2, out=4),
        Case(
            "pre-activations of exactly 0",
            _at_the_kink,
            role="special",
            advice="At a pre-activation of 0 the contract asks for the gradient 0: the mask is z > 0, not "
            "z >= 0.",
        ),
        _rectified("two batch dimensions", 2, 3, 4, out=2, role="batch"),
        _rectified("a single vector, no batch dimension", 4, out=3, role="batch"),
        layer("an empty batch", 0, 3, out=2, role="empty"),
        Case("inputs of ±1000", large_layer, role="extreme"),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]) + outputs[0].numel(),
    budget_words="x, weight and one byte an output element",
    hints=(
        "Two links of a chain in one Function. Backward goes through them in reverse: first the ReLU, "
        "then the linear layer. What does the ReLU's backward need to know of each element?",
        "In forward compute the pre-activation z, and save x, weight and the mask z > 0 (a bool tensor: "
        "one byte an element). In backward stop grad_output where the mask is False; the rest is "
        "MyLinear's backward with the masked gradient.",
        "g = torch.where(mask, grad_output, 0.0) (it keeps the dtype and stops an infinity); grad_x = g @ "
        "weight, grad_weight = g2.T @ x2, grad_bias = g2.sum(0) with g2, x2 flattened to two dimensions.",
    ),
)
