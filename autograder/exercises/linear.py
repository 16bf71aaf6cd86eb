"""Lesson 03, one gradient per input: linear layers, broadcasting and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, bytes_of
from autograder.exercises.broadcasting import LESSON, MULTIPLY, UNBROADCAST
from autograder.exercises.linear_slips import (
    LINEAR_RELU_SLOPES,
    LINEAR_RELU_VALUES,
    LINEAR_SLOPES,
    LINEAR_VALUES,
)
from autograder.exercises.maxima import LOG_SUM_EXP, MAX
from autograder.exercises.reductions import MEAN, SUM

# ---- MyLinear --------------------------------------------------------------------------------


def _layer(name: str, *x: int, out: int, bias: Any = True, **more: Any) -> Case:
    """x of the given shape; ``bias`` True: a tensor, False: left out, None: passed as None."""

    def make(s: Sampler) -> tuple[Any, ...]:
        given = s.normal(*x), s.normal(out, x[-1])
        return (*given, s.normal(out)) if bias else (*given, None) if bias is None else given

    return Case(name, make, **more)


def _large_layer(s: Sampler) -> tuple[Tensor, Tensor, Tensor]:
    ends = torch.tensor([[-1000.0, 1000.0, 0.0], [1000.0, 500.0, -1000.0]], dtype=torch.float64)
    return ends + s.uniform(2, 3), s.normal(4, 3), s.normal(4)


_Gradients = tuple[Tensor | None, ...]


def _flat(tensor: Tensor) -> Tensor:
    """(…, n) as (rows, n)."""
    return tensor.reshape(-1, tensor.shape[-1])


def _linear_gradients(x: Tensor, weight: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The right gradients of F.linear(x, weight, bias) for x, weight and bias."""
    return g @ weight, _flat(g).T @ _flat(x), _flat(g).sum(0)


def _every_total(x: Tensor, weight: Tensor, bias: Any = None, *, grad_output: Tensor) -> _Gradients:
    return None, None, grad_output.sum().expand(weight.shape[0])


def _first_row(x: Tensor, weight: Tensor, bias: Any = None, *, grad_output: Tensor) -> _Gradients:
    return None, None, grad_output[0]


def _rows_summed(x: Tensor, weight: Tensor, bias: Any = None, *, grad_output: Tensor) -> _Gradients:
    return None, torch.outer(_flat(grad_output).sum(0), _flat(x).sum(0)), None


def _ones_for_x(x: Tensor, weight: Tensor, bias: Any = None, *, grad_output: Tensor) -> _Gradients:
    return weight.sum(0).expand_as(x), _flat(x).sum(0).expand_as(weight), torch.ones_like(weight[:, 0])  # fmt: skip


MY_LINEAR = Exercise(
    name="MyLinear",
    lesson=LESSON,
    summary="x · weightᵀ + bias, as F.linear has it; x (…, in), weight (out, in), bias (out) or None.",
    signature="(x, weight, bias=None)",
    reference=lambda x, weight, bias=None: F.linear(x, weight, bias),
    cases=(
        _layer("a batch of 4 vectors", 4, 3, out=2, visible=True),
        _layer("without a bias", 2, 5, out=3, bias=False, visible=True),
        _layer("a batch of 3 vectors", 3, 2, out=4),
        _layer(
            "bias=None passed as an argument",
            3,
            2,
            out=5,
            bias=None,
            role="special",
            advice="bias may be left out, or passed as None: ask `bias is None` in forward, and answer with "
            "None in its place.",
        ),
        _layer("two batch dimensions", 2, 3, 4, out=5, role="batch", visible=True),
        _layer("a single vector, no batch dimension", 4, out=3, role="batch"),
        _layer("two batch dimensions and no bias", 3, 2, 4, out=2, bias=False, role="batch"),
        _layer("three batch dimensions", 2, 1, 3, 2, out=4, role="batch"),
        _layer("an empty batch", 0, 3, out=2, role="empty"),
        _layer("an empty batch of matrices", 2, 0, 3, out=4, role="empty"),
        Case("inputs of ±1000", _large_layer, role="extreme"),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]),
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
    misconceptions=(
        Misconception(
            "The gradient for bias is the total of grad_output in every element.",
            "Each output unit has its own bias: sum over the batch only.",
            _every_total,
        ),
        Misconception(
            "The gradient for bias is that of the first row alone.",
            "The bias is used in every row of the batch: sum over the rows.",
            _first_row,
        ),
        Misconception(
            "The gradient for weight is the outer product of two sums; it should be a sum of outer "
            "products.",
            "Each row of the batch gives one outer product of grad_output and x; then they are summed. A "
            "matrix product does both at once.",
            _rows_summed,
        ),
        Misconception(
            "The gradient is right for a grad_output of ones only.",
            "Multiply by the grad_output that arrives.",
            _ones_for_x,
        ),
        *LINEAR_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The bias is not added.",
            "Add bias where it is not None.",
            lambda x, weight, bias=None: F.linear(x, weight),
        ),
        ForwardSlip(
            "The bias is subtracted.",
            "The contract is x · weightᵀ + bias.",
            lambda x, weight, bias=None: F.linear(x, weight) - (0 if bias is None else bias),
        ),
        ForwardSlip(
            "A ReLU is applied to the output.",
            "MyLinear is the linear part alone. LinearReLU comes at the end of the lesson.",
            lambda x, weight, bias=None: F.linear(x, weight, bias).relu(),
        ),
        *LINEAR_VALUES,
    ),
)

# ---- LinearReLU ------------------------------------------------------------------------------

_GAP = 0.1  # how far a pre-activation stays from the kink, in every main case


def _off_the_kink(s: Sampler, x: tuple[int, ...], out: int) -> tuple[Tensor, Tensor, Tensor]:
    """x, weight and bias with no pre-activation within ``_GAP`` of 0, and both signs among them."""
    for _ in range(2000):
        given = s.normal(*x), s.normal(out, x[-1]), s.normal(out)
        before = F.linear(*given)
        if bool((before.abs() > _GAP).all()) and bool((before > 0).any() and (before < 0).any()):
            return given
    raise AssertionError("no draw keeps off the kink: the case is too large")


def _rectified(name: str, *x: int, out: int, **more: Any) -> Case:
    return Case(name, lambda s: _off_the_kink(s, x, out), **more)


def _at_the_kink(s: Sampler) -> tuple[Tensor, Tensor, Tensor]:
    """Rows whose pre-activation is exactly 0 in every unit, and one ordinary row."""
    x = torch.stack([torch.zeros(3, dtype=torch.float64), s.normal(3)])
    return x, s.normal(4, 3), torch.zeros(4, dtype=torch.float64)


def _rectified_misconception(
    message: str, hint: str, formula: Callable[[Tensor, Tensor, Tensor, Tensor], _Gradients]
) -> Misconception:
    """``formula`` takes x, weight, grad_output and the pre-activation."""

    def gradients(x: Tensor, weight: Tensor, bias: Tensor, *, grad_output: Tensor) -> _Gradients:
        return formula(x, weight, grad_output, F.linear(x, weight, bias))

    return Misconception(message, hint, gradients)


LINEAR_RELU = Exercise(
    name="LinearReLU",
    lesson=LESSON,
    summary="relu(x · weightᵀ + bias), keeping a bool mask; the gradient at a pre-activation of 0 is 0.",
    signature="(x, weight, bias)",
    reference=lambda x, weight, bias: torch.relu(F.linear(x, weight, bias)),
    cases=(
        _rectified("a batch of 4 vectors", 4, 3, out=2, visible=True),
        _rectified("a batch of 2 vectors", 2, 4, out=3, visible=True),
        _rectified("a batch of 3 vectors", 3, 2, out=4),
        Case(
            "pre-activations of exactly 0",
            _at_the_kink,
            role="special",
            advice="At a pre-activation of 0 the contract asks for the gradient 0: the mask is z > 0, not "
            "z >= 0.",
        ),
        _rectified("two batch dimensions", 2, 3, 4, out=2, role="batch", visible=True),
        _rectified("a single vector, no batch dimension", 4, out=3, role="batch"),
        _layer("an empty batch", 0, 3, out=2, role="empty"),
        Case("inputs of ±1000", _large_layer, role="extreme"),
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
    misconceptions=(
        _rectified_misconception(
            "The gradient passes everywhere, as if there were no ReLU: its mask is missing in backward, or is "
            "True everywhere.",
            "Where the pre-activation is not positive the output is 0, whatever happens: stop grad_output "
            "there first. (relu(z) >= 0 is true everywhere.)",
            lambda x, weight, g, z: _linear_gradients(x, weight, g),
        ),
        _rectified_misconception(
            "The mask is the wrong way round: the gradient passes where the output is 0.",
            "Keep grad_output where the pre-activation is positive.",
            lambda x, weight, g, z: _linear_gradients(x, weight, g * (z < 0)),
        ),
        _rectified_misconception(
            "The mask is that of x · weightᵀ: it is made before the bias is added.",
            "The ReLU sees the whole sum: the mask is (x · weightᵀ + bias) > 0.",
            lambda x, weight, g, z: _linear_gradients(x, weight, g * (F.linear(x, weight) > 0)),
        ),
        _rectified_misconception(
            "grad_output is multiplied by the output, not by the mask.",
            "Where the pre-activation is positive the slope of the ReLU is 1.",
            lambda x, weight, g, z: _linear_gradients(x, weight, g * z.relu()),
        ),
        _rectified_misconception(
            "The gradient passes where x is positive; it should pass where the pre-activation is.",
            "The ReLU sits behind the linear layer: its mask has the shape of the output.",
            lambda x, weight, g, z: ((g @ weight) * (x > 0), None, None),
        ),
        *LINEAR_RELU_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The ReLU is missing: the output has negative elements.",
            "Apply clamp(min=0) or relu after the linear part.",
            lambda x, weight, bias: F.linear(x, weight, bias),
        ),
        ForwardSlip(
            "The bias is added behind the ReLU.",
            "The bias belongs inside: relu(x · weightᵀ + bias).",
            lambda x, weight, bias: F.linear(x, weight).relu() + bias,
        ),
        ForwardSlip(
            "The bias is not added.",
            "The contract is relu(x · weightᵀ + bias).",
            lambda x, weight, bias: F.linear(x, weight).relu(),
        ),
        ForwardSlip(
            "The output is the mask, 1 where the pre-activation is positive.",
            "Where the pre-activation is positive, it is the output.",
            lambda x, weight, bias: (F.linear(x, weight, bias) > 0).to(x.dtype),
        ),
        *LINEAR_RELU_VALUES,
    ),
)

EXERCISES = (MY_LINEAR, UNBROADCAST, MULTIPLY, SUM, MEAN, MAX, LOG_SUM_EXP, LINEAR_RELU)
