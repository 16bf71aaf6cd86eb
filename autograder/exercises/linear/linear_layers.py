"""MyLinear and LinearReLU of lesson 03."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.contract.exercise import Arguments, Exercise, Sampler, bytes_of
from autograder.exercises.common_cases import cases_of, extreme, float64, kept, special


def _drawn(s: Sampler, *x: int, out: int, bias: Any = True) -> Arguments:
    """x of the given shape; ``bias`` True: a tensor, False: left out, None: passed as None."""
    given = s.normal(*x), s.normal(out, x[-1])
    return (*given, s.normal(out)) if bias else (*given, None) if bias is None else given


layer = cases_of(_drawn)


def large_layer(s: Sampler) -> Arguments:
    ends = float64([[-1000.0, 1000.0, 0.0], [1000.0, 500.0, -1000.0]])
    return ends + s.uniform(2, 3), s.normal(4, 3), s.normal(4)


MY_LINEAR = Exercise(
    name="MyLinear",
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
        extreme("inputs of ±1000", large_layer),
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


_GAP = 0.1  # how far a pre-activation stays from the kink, in every main case


def _off_the_kink(s: Sampler, *x: int, out: int) -> Arguments:
    """x, weight and bias with no pre-activation within ``_GAP`` of 0, and both signs among them."""
    for _ in range(2000):
        given = s.normal(*x), s.normal(out, x[-1]), s.normal(out)
        before = F.linear(*given)
        if bool((before.abs() > _GAP).all()) and bool((before > 0).any() and (before < 0).any()):
            return given
    raise AssertionError("no draw keeps off the kink: the case is too large")


_rectified = cases_of(_off_the_kink)


def _at_the_kink(s: Sampler) -> Arguments:
    """Rows whose pre-activation is exactly 0 in every unit, and one ordinary row."""
    x = torch.stack([torch.zeros(3, dtype=torch.float64), s.normal(3)])
    return x, s.normal(4, 3), torch.zeros(4, dtype=torch.float64)


LINEAR_RELU = Exercise(
    name="LinearReLU",
    summary="relu(x · weightᵀ + bias), keeping a bool mask; the gradient at a pre-activation of 0 is 0.",
    signature="(x, weight, bias)",
    reference=lambda x, weight, bias: torch.relu(F.linear(x, weight, bias)),
    cases=(
        _rectified("a batch of vectors", 4, 3, out=2),
        _rectified("a batch of longer vectors", 2, 4, out=3),
        _rectified("a batch of vectors, more outputs than inputs", 3, 2, out=4),
        special(
            "pre-activations of exactly 0",
            _at_the_kink,
            advice="At a pre-activation of 0 the contract asks for the gradient 0: the mask is z > 0, not "
            "z >= 0.",
        ),
        _rectified("two batch dimensions", 2, 3, 4, out=2, role="batch"),
        _rectified("a single vector, no batch dimension", 4, out=3, role="batch"),
        layer("an empty batch", 0, 3, out=2, role="empty"),
        extreme("inputs of ±1000", large_layer),
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
