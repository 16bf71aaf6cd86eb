"""Formulas that learners write in lessons 01 and 03 in the place of the right ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception
from autograder.exercises.special_slips import LINEAR_RELU_AT_ZERO

# ---- WeightedSum and Clip ------------------------------------------------------------------

_SUM = "The contract is w1 · x1 + w2 · x2."

WEIGHTED_VALUES: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(message, _SUM, value)
    for message, value in (
        ("Both tensors are weighted with w1.", lambda x1, x2, w1, w2: w1 * x1 + w1 * x2),
        ("Both tensors are weighted with w2.", lambda x1, x2, w1, w2: w2 * x1 + w2 * x2),
        ("x2 is weighted with 1 − w1; w2 plays no part.", lambda x1, x2, w1, w2: w1 * x1 + (1 - w1) * x2),
        ("The two products are multiplied; they should be added.", lambda x1, x2, w1, w2: w1 * x1 * w2 * x2),
        ("The weights are added to the tensors; they should multiply them.", lambda x1, x2, w1, w2: w1 + x1 + w2 + x2),
        ("The tensors are weighted with |w1| and |w2|: the signs are lost.", lambda x1, x2, w1, w2: abs(w1) * x1 + abs(w2) * x2),
    )
)  # fmt: skip

WEIGHTED_SLOPES: tuple[Misconception, ...] = (
    Misconception(
        "Both gradients use w2.", "x1 is weighted by w1, and so is its gradient.",
        lambda x1, x2, w1, w2, grad_output: (w2 * grad_output, None), rule="gradient-scale",
    ),
    Misconception(
        "Both gradients use w1 + w2.", "When x1 grows by 1 the output grows by w1 alone.",
        lambda x1, x2, w1, w2, grad_output: ((w1 + w2) * grad_output,) * 2,
    ),
    Misconception(
        "The gradient is divided by the weight; it should be multiplied by it.",
        "When x1 grows by 1, the output grows by w1.",
        lambda x1, x2, w1, w2, grad_output: (grad_output / w1, grad_output / w2), rule="gradient-scale",
    ),
    Misconception(
        "The weight is added to grad_output; it should multiply it.", "Upstream times local: w1 * grad_output.",
        lambda x1, x2, w1, w2, grad_output: (w1 + grad_output, w2 + grad_output), rule="upstream-nonlinear",
    ),
)  # fmt: skip

_ZERO = "0 is false in Python: `if low` and `low or …` take it for a missing bound. Every number is a bound here."
_CLAMP = "Values below low become low, values above high become high, and those between stay as they are."


def _single(bound: float) -> float:
    """The bound as float32 has it."""
    return float(torch.tensor(bound, dtype=torch.float32))


def _inside(x: Tensor, low: float, high: float) -> Tensor:
    return (x >= low) & (x <= high)


CLIP_VALUES: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(message, _ZERO if " is 0 " in message else _CLAMP, value)
    for message, value in (
        ("A bound that is 0 is taken for none: there x is not clamped.", lambda x, lo, hi: x.clamp(lo or -math.inf, hi or math.inf)),
        ("A lower bound that is 0 is taken for none: there x is not clamped from below.", lambda x, lo, hi: x.clamp(lo or -math.inf, hi)),
        ("An upper bound that is 0 is taken for none: there x is not clamped from above.", lambda x, lo, hi: x.clamp(lo, hi or math.inf)),
        ("The output is the mask, 1 between the bounds and 0 elsewhere.", lambda x, lo, hi: _inside(x, lo, hi).to(x.dtype)),
        ("x is clamped to −1 and 1, whatever low and high are.", lambda x, lo, hi: x.clamp(-1, 1)),
        ("x is clamped to 0 and 1, whatever low and high are.", lambda x, lo, hi: x.clamp(0, 1)),
        ("x is clamped to −high and high; low plays no part.", lambda x, lo, hi: x.clamp(-hi, hi)),
        ("x is clamped to low and −low; high plays no part.", lambda x, lo, hi: x.clamp(lo, -lo)),
        ("|x| is clamped: the sign of x is lost.", lambda x, lo, hi: x.abs().clamp(lo, hi)),
        ("low is subtracted from the clamped x.", lambda x, lo, hi: x.clamp(lo, hi) - lo),
        ("Everything outside becomes high; below low it should become low.", lambda x, lo, hi: torch.where(_inside(x, lo, hi), x, float(hi))),
        ("Everything outside becomes low; above high it should become high.", lambda x, lo, hi: torch.where(_inside(x, lo, hi), x, float(lo))),
        ("Everything outside becomes the middle of the bounds.", lambda x, lo, hi: torch.where(_inside(x, lo, hi), x, (lo + hi) / 2)),
        ("The bounds are crossed: what is below low becomes high, and what is above high becomes low.", lambda x, lo, hi: torch.where(x < lo, float(hi), torch.where(x > hi, float(lo), x))),
        ("The output is x itself: nothing is clamped.", lambda x, lo, hi: x),
        ("x is squeezed smoothly between the bounds with a sigmoid.", lambda x, lo, hi: lo + (hi - lo) * torch.sigmoid(x)),
        ("All of x is stretched or shrunk, from its smallest and largest number to the bounds.", lambda x, lo, hi: lo + (hi - lo) * (x - x.min()) / (x.max() - x.min())),
    )
)  # fmt: skip

CLIP_SLOPES: tuple[Misconception, ...] = (
    Misconception(
        "The bounds are rounded to float32 before backward compares x with them.",
        "torch.tensor(low) makes a float32 tensor, with 7 digits. A bound is a plain number: keep it as it is, ctx.low = low.",
        lambda x, low, high, grad_output: (grad_output * _inside(x, _single(low), _single(high)),),
    ),
    Misconception(
        "On a bound the gradient stops, and it should pass there.",
        "Both bounds are included: low <= x and x <= high, not <. The output does not tell "
        "whether x was on a bound or beyond it: compare x.",
        lambda x, low, high, grad_output: (grad_output * ((x > low) & (x < high)),),
    ),
    Misconception(
        "Where x equals low the gradient stops, and it should pass there.",
        "Both bounds are included: low <= x, not low < x.",
        lambda x, low, high, grad_output: (grad_output * ((x > low) & (x <= high)),),
    ),
    Misconception(
        "Where x equals high the gradient stops, and it should pass there.",
        "Both bounds are included: x <= high, not x < high.",
        lambda x, low, high, grad_output: (grad_output * ((x >= low) & (x < high)),),
    ),
    Misconception(
        "A bound that is 0 is taken for none by the mask of the gradient.", _ZERO,
        lambda x, low, high, grad_output: (grad_output * _inside(x, low or -math.inf, high or math.inf),),
    ),
    Misconception(
        "The gradient passes where |x| is at most the larger one of |low| and |high|.", "Both comparisons are needed: low ≤ x and x ≤ high.",
        lambda x, low, high, grad_output: (grad_output * (x.abs() <= max(abs(low), abs(high))),),
    ),
    Misconception(
        "The gradient passes where |x| ≤ high; low plays no part.", "Both comparisons are needed: low ≤ x and x ≤ high.",
        lambda x, low, high, grad_output: (grad_output * (x.abs() <= high),),
    ),
    Misconception(
        "The mask compares grad_output with the bounds; it should compare x with them.",
        "low and high are bounds for x. How large grad_output is plays no part.",
        lambda x, low, high, grad_output: (grad_output * _inside(grad_output, low, high),),
        rule="upstream-nonlinear",
    ),
    Misconception(
        "The two comparisons are added, not joined with &: inside the gradient is there twice, outside once.",
        "(x >= low) & (x <= high) is true where both hold.",
        lambda x, low, high, grad_output: (grad_output * ((x >= low).double() + (x <= high)),),
    ),
)  # fmt: skip

# ---- MyLinear and LinearReLU ---------------------------------------------------------------

_LINEAR = "The contract is x · weightᵀ + bias."

LINEAR_VALUES: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(message, _LINEAR, value)
    for message, value in (
        ("The bias is added twice.", lambda x, w, b=None: F.linear(x, w, b) + (0 if b is None else b)),
        ("The product is multiplied by the bias; the bias should be added.", lambda x, w, b=None: F.linear(x, w) * (1 if b is None else b)),
        ("The product is divided by the number of inputs.", lambda x, w, b=None: F.linear(x, w) / x.shape[-1] + (0 if b is None else b)),
        ("The product is divided by the root of the number of inputs.", lambda x, w, b=None: F.linear(x, w) / x.shape[-1] ** 0.5 + (0 if b is None else b)),
        ("The whole output is divided by the number of inputs.", lambda x, w, b=None: F.linear(x, w, b) / x.shape[-1]),
    )
)  # fmt: skip


def _flat(t: Tensor) -> Tensor:
    return t.reshape(-1, t.shape[-1])


def _last_row(x: Tensor, weight: Tensor, bias: Any = None, *, grad_output: Tensor) -> Any:
    return None, None, _flat(grad_output)[-1]


LINEAR_SLOPES: tuple[Misconception, ...] = (
    Misconception(
        "The gradient for bias is that of the last row alone.",
        "The bias is used in every row of the batch: sum over the rows.",
        _last_row,
    ),
)

_RELU = "The contract is relu(x · weightᵀ + bias), with the ReLU at the end."

LINEAR_RELU_VALUES: tuple[ForwardSlip, ...] = tuple(
    ForwardSlip(message, _RELU, value)
    for message, value in (
        ("The ReLU is applied to x, in front of the linear part.", lambda x, w, b: F.linear(x.relu(), w, b)),
        ("The ReLU is applied to x too, in front of the linear part.", lambda x, w, b: F.linear(x.relu(), w, b).relu()),
        ("The bias is subtracted.", lambda x, w, b: (F.linear(x, w) - b).relu()),
        ("A leaky ReLU stands where the ReLU belongs.", lambda x, w, b: F.leaky_relu(F.linear(x, w, b))),
        ("A leaky ReLU (0.1) stands where the ReLU belongs.", lambda x, w, b: F.leaky_relu(F.linear(x, w, b), 0.1)),
        ("A sigmoid stands where the ReLU belongs.", lambda x, w, b: F.linear(x, w, b).sigmoid()),
        ("A tanh stands where the ReLU belongs.", lambda x, w, b: F.linear(x, w, b).tanh()),
        ("A GELU stands where the ReLU belongs.", lambda x, w, b: F.gelu(F.linear(x, w, b))),
        ("The output is |x · weightᵀ + bias|: what is negative should become 0.", lambda x, w, b: F.linear(x, w, b).abs()),
        ("The output is min(x · weightᵀ + bias, 0): the wrong half is cut off.", lambda x, w, b: F.linear(x, w, b).clamp(max=0)),
        ("There is a ReLU before the bias is added, and one afterwards.", lambda x, w, b: (F.linear(x, w).relu() + b).relu()),
    )
)  # fmt: skip


def _parts(x: Tensor, weight: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return g @ weight, _flat(g).T @ _flat(x), _flat(g).sum(0)


_NAMES = ("x", "weight", "bias")


def _unmasked(*places: int) -> Misconception:
    """The gradients for some arguments are made from grad_output as it came."""

    def gradients(
        x: Tensor, weight: Tensor, bias: Tensor, *, grad_output: Tensor
    ) -> tuple[Any, ...]:
        right = _parts(x, weight, grad_output * (F.linear(x, weight, bias) > 0))
        wrong = _parts(x, weight, grad_output)
        return tuple(wrong[k] if k in places else right[k] for k in range(3))

    names = " and ".join(_NAMES[k] for k in places)
    subject = (
        f"The gradients for {names} are" if len(places) > 1 else f"The gradient for {names} is"
    )
    rest = " and ".join(name for k, name in enumerate(_NAMES) if k not in places)
    others = f"gradients for {rest} have" if len(places) == 1 else f"one for {rest} has"
    return Misconception(
        f"{subject} made from grad_output as it arrives, without the mask of the ReLU; the {others} it.",
        "Stop grad_output once, at the start, wherever the pre-activation is not positive, and go on with that.",
        gradients,
    )


def _with_gradient(
    message: str,
    hint: str,
    change: Callable[[Tensor, Tensor, Tensor], Tensor],
    rule: str = "gradient-value",
) -> Misconception:
    """``change`` takes grad_output, the pre-activation and x · weightᵀ, and gives what goes on."""

    def gradients(
        x: Tensor, weight: Tensor, bias: Tensor, *, grad_output: Tensor
    ) -> tuple[Any, ...]:
        product = F.linear(x, weight)
        return _parts(x, weight, change(grad_output, product + bias, product))

    return Misconception(message, hint, gradients, rule)  # fmt: skip


_OF_Z = "The mask asks for the sign of the pre-activation, x · weightᵀ + bias."

LINEAR_RELU_SLOPES: tuple[Misconception, ...] = (
    *(_unmasked(*places) for places in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))),
    _with_gradient(
        "grad_output is multiplied by the pre-activation, not by the mask.", _OF_Z, lambda g, z, p: g * z
    ),
    _with_gradient(
        "grad_output is multiplied by the sign of the pre-activation: −1 where it is negative, and 0 belongs "
        "there.", _OF_Z, lambda g, z, p: g * z.sign(),
    ),
    _with_gradient(
        "grad_output itself is put through the ReLU; the pre-activation plays no part.", _OF_Z,
        lambda g, z, p: g.clamp(min=0), "upstream-nonlinear",
    ),
    _with_gradient(
        "Beside the mask grad_output is put through a ReLU: what is negative of it is lost.", _OF_Z,
        lambda g, z, p: g.clamp(min=0) * (z > 0), "upstream-nonlinear",
    ),
    Misconception(
        "The ReLU is applied to the gradient for x, behind the linear part; it belongs before it.",
        "Backward goes the other way round: first the ReLU's mask stops grad_output, then comes the product.",
        lambda x, weight, bias, *, grad_output: ((grad_output @ weight).clamp(min=0), None, None),
        rule="upstream-nonlinear",
    ),
    *LINEAR_RELU_AT_ZERO,
)  # fmt: skip

# ---- Multiply ------------------------------------------------------------------------------

MULTIPLY_VALUES: tuple[ForwardSlip, ...] = (
    ForwardSlip("The output is a / b.", "The contract is the product.", lambda a, b: a / b),
    ForwardSlip("The output is a − b.", "The contract is the product.", lambda a, b: a - b),
    ForwardSlip("The output is b².", "Multiply a by b.", lambda a, b: (b * b).expand_as(a * b)),
    ForwardSlip("The output is a to the power of b.", "Multiply: *, not **.", lambda a, b: a**b),
)


def _summed(gradient: Tensor, like: Tensor) -> Tensor:
    return gradient.sum_to_size(like.shape)


MULTIPLY_SLOPES: tuple[Misconception, ...] = (
    Misconception(
        "Both factors get the same local derivative, a + b.", "The derivative of a · b by a is b, by b it is a.",
        lambda a, b, *, grad_output: (
            _summed(grad_output * (a + b), a), _summed(grad_output * (a + b), b)
        ),
    ),
    Misconception(
        "grad_output is divided by the other factor; it should be multiplied by it.",
        "When a grows by 1, a · b grows by b.",
        lambda a, b, *, grad_output: (_summed(grad_output / b, a), _summed(grad_output / a, b)),
    ),
)  # fmt: skip
