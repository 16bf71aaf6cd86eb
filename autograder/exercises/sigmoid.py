"""Lesson 02, save the output, not the input: six activations, element by element."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler
from autograder.exercises.elementwise import (
    ONE_TENSOR,
    bytes_of_x,
    elementwise_cases,
    extreme_values,
)
from autograder.exercises.gated import MY_GELU, SWISH
from autograder.exercises.sigmoid_slips import LOG_SIGMOID_VALUES, SCALED_SLOPES, SCALED_VALUES

LESSON = "02_sigmoid"

# ---- MySigmoid -----------------------------------------------------------------------------

MY_SIGMOID = Exercise(
    name="MySigmoid",
    lesson=LESSON,
    summary="σ(x) = 1 / (1 + e⁻ˣ), element by element.",
    signature="(x)",
    reference=torch.sigmoid,
    cases=elementwise_cases(),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    hints=(
        "Look at the picture of slope over output: for the sigmoid every output has one slope. So "
        "which single tensor does backward need?",
        "Let forward compute y = torch.sigmoid(x) and save y. In backward write the slope σ′ with y "
        "alone, and multiply it by what arrives from above.",
        "grad_x = grad_output * y * (1 - y), with y from ctx.saved_tensors, which is a tuple.",
    ),
    misconceptions=(
        Misconception(
            "The slope is taken to be x · (1 − x): the formula of the output, applied to the input.",
            "y · (1 − y) is meant with y = σ(x). Save y, or compute it from x first.",
            lambda x, *, grad_output: (grad_output * x * (1 - x),),
        ),
        Misconception(
            "The sigmoid is applied twice: what was saved is the output already.",
            "ctx.saved_tensors gives back what forward saved. If that is the output, use it as it is.",
            lambda x, *, grad_output: (_slope(torch.sigmoid(x)) * grad_output,),
        ),
        Misconception(
            "The gradient is grad_output · σ(x), the output itself and not its slope.",
            "Differentiate: the slope is largest at 0 and vanishes on both sides.",
            lambda x, *, grad_output: (grad_output * torch.sigmoid(x),),
        ),
        Misconception(
            "The gradient is that of 1 − y²: this is the slope of tanh.",
            "tanh and σ are siblings, not twins. Differentiate 1 / (1 + e⁻ˣ).",
            lambda x, *, grad_output: (grad_output * (1 - torch.sigmoid(x) ** 2),),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is σ(−x): it falls where it should rise.",
            "σ(x) = 1 / (1 + e⁻ˣ), with a minus in the exponent.",
            lambda x: torch.sigmoid(-x),
        ),
        ForwardSlip("The output is tanh(x), not σ(x).", "σ stays between 0 and 1.", torch.tanh),
    ),
)


def _slope(x: Tensor) -> Tensor:
    """σ′(x)."""
    return torch.sigmoid(x) * torch.sigmoid(-x)


# ---- MyTanh --------------------------------------------------------------------------------

MY_TANH = Exercise(
    name="MyTanh",
    lesson=LESSON,
    summary="tanh(x), element by element.",
    signature="(x)",
    reference=torch.tanh,
    cases=elementwise_cases(),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    hints=(
        "Find tanh among the pictures of slope over output. The curve there is a formula for the slope "
        "in terms of y: what kind of curve is it?",
        "tanh = sinh / cosh, with sinh′ = cosh and cosh′ = sinh. Use the quotient rule and write the "
        "result with y = tanh(x) alone.",
        "grad_x = grad_output * (1 - y**2), with the saved output y.",
    ),
    misconceptions=(
        Misconception(
            "The gradient is that of 1 − y: the square is missing.",
            "The slope of tanh is an even function: it is the same at x and −x.",
            lambda x, *, grad_output: (grad_output * (1 - torch.tanh(x)),),
        ),
        Misconception(
            "The slope is taken to be y · (1 − y), which is that of the sigmoid.",
            "At x = 0 tanh rises with slope 1, and y · (1 − y) is 0 there.",
            lambda x, *, grad_output: (grad_output * torch.tanh(x) * (1 - torch.tanh(x)),),
        ),
        Misconception(
            "The gradient is that of 1 − x²: the formula of the output, applied to the input.",
            "In 1 − y² the y is tanh(x). Save the output, or compute it from x first.",
            lambda x, *, grad_output: (grad_output * (1 - x**2),),
        ),
        Misconception(
            "tanh is applied twice: what was saved is the output already.",
            "ctx.saved_tensors gives back what forward saved. If that is the output, use it as it is.",
            lambda x, *, grad_output: (grad_output * (1 - torch.tanh(torch.tanh(x)) ** 2),),
        ),
        Misconception(
            "backward computes grad_output − y²: the brackets are missing.",
            "The whole slope is multiplied by grad_output: grad_output · (1 − y²).",
            lambda x, *, grad_output: (grad_output - torch.tanh(x) ** 2,),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is 2σ(x) − 1, which is tanh(x/2).",
            "tanh(x) = 2σ(2x) − 1: the 2 is needed inside as well.",
            lambda x: 2 * torch.sigmoid(x) - 1,
        ),
        ForwardSlip("The output is σ(x), not tanh(x).", "tanh(0) is 0.", torch.sigmoid),
    ),
)

# ---- ScaledSigmoid -------------------------------------------------------------------------


def _scaled_case(name: str, *shape: int, low: float = 0.5, high: float = 2.5, **more: Any) -> Case:
    """x normal of ``shape``, scale uniform between ``low`` and ``high``."""

    def make(s: Sampler) -> tuple[Any, ...]:
        return 1.5 * s.normal(*shape), float(s.uniform(low=low, high=high))

    return Case(name, make, **more)


SCALED_SIGMOID = Exercise(
    name="ScaledSigmoid",
    lesson=LESSON,
    summary="scale · σ(x), element by element; scale is a Python float, 0 included.",
    signature="(x, scale)",
    reference=lambda x, scale: scale * torch.sigmoid(x),
    cases=(
        _scaled_case("a vector, scale above 0", 5, low=1.3, visible=True),
        _scaled_case("a matrix, scale below 0", 3, 4, low=-2.5, high=-0.5, visible=True),
        _scaled_case("a batch of matrices, scale below 1", 2, 3, 4, low=0.2, high=0.8),
        Case(
            "scale = 0",
            lambda s: (1.5 * s.normal(2, 3), 0.0),
            role="special",
            visible=True,
            second="mixed",  # a gradient of zeros that depends on nothing is right, too
            advice="0 is a number like any other. Nothing may be divided by scale, and `if scale:` takes 0 "
            "for a missing number: ask `scale is None` where that is meant.",
        ),
        Case(
            "x = 0",
            lambda s: (torch.zeros(3, dtype=torch.float64), 1.7),
            role="special",
            second=True,
        ),
        Case("a whole number as scale", lambda s: (1.5 * s.normal(4), 3), role="special"),
        Case(
            "a scale of 0.00001",
            lambda s: (1.5 * s.normal(4), 1e-5),
            role="special",
            advice="An eps that keeps a divisor from 0 shows beside a small scale. Save x, and divide by nothing.",
        ),
        _scaled_case("a single number (0-d)", role="batch"),
        _scaled_case("an empty batch", 0, 3, role="empty"),
        Case(
            "inputs up to ±1000 in float32",
            lambda s: (extreme_values(), 1.5),
            role="extreme",
        ),
    ),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    hints=(
        "What does the output still know about x when scale is 0? Choose what to save so that backward "
        "never divides by scale. And how many values does backward return?",
        "Save x with save_for_backward and put the float on ctx (ctx.scale = scale). Backward computes "
        "σ(x) again; a σ(x) saved in forward would be an intermediate.",
        "With s = torch.sigmoid(x): return grad_output * ctx.scale * s * (1 - s), None.",
    ),
    misconceptions=(
        Misconception(
            "The slope is taken to be y · (1 − y), as it is for σ itself; but here y is scale · σ(x).",
            "That formula holds for σ itself. With y = scale · σ(x) the scale has to be taken care of.",
            lambda x, scale, *, grad_output, output: (grad_output * output * (1 - output), None),
        ),
        Misconception(
            "The gradient is grad_output · scale · y · (1 − y), with the scaled output y in place of σ(x).",
            "Compute σ(x) again from the saved input.",
            lambda x, scale, *, grad_output, output: (
                grad_output * scale * output * (1 - output),
                None,
            ),
        ),
        Misconception(
            "The gradient is grad_output · scale · σ(x), which is the output and not its slope.",
            "Differentiate σ as well.",
            lambda x, scale, *, grad_output, output: (grad_output * output, None),
        ),
        Misconception(
            "The gradient has the size of scale, but not its sign.",
            "A negative scale turns the curve round, and its slope with it.",
            lambda x, scale, *, grad_output: (grad_output * abs(scale) * _slope(x), None),
        ),
        *SCALED_SLOPES,
    ),
    forward_slips=(
        ForwardSlip(
            "The output is σ(scale · x): the scale belongs outside.",
            "ScaledSigmoid stretches the output, not the input.",
            lambda x, scale: torch.sigmoid(scale * x),
        ),
        ForwardSlip(
            "The output is σ(x), without the scale.",
            "Multiply by scale in forward.",
            lambda x, scale: torch.sigmoid(x),
        ),
        *SCALED_VALUES,
    ),
)

# ---- LogSigmoid ----------------------------------------------------------------------------

LOG_SIGMOID = Exercise(
    name="LogSigmoid",
    lesson=LESSON,
    summary="log σ(x), element by element, finite for every finite x.",
    signature="(x)",
    reference=F.logsigmoid,
    cases=elementwise_cases(),
    budget=bytes_of_x,
    budget_words=ONE_TENSOR,
    hints=(
        "Do not compute σ and then its logarithm: take the logarithm on paper. log σ(x) = −softplus(−x), "
        "and you know the slope of softplus.",
        "Forward: F.logsigmoid, or x.clamp(max=0) - torch.log1p(torch.exp(-x.abs())). The slope "
        "of log σ is a sigmoid again, of which argument? Try x = −1000, where log σ(x) = x.",
        "grad_x = grad_output * torch.sigmoid(-x), with the saved x.",
    ),
    misconceptions=(
        Misconception(
            "The gradient is grad_output · σ(x): that is the slope of softplus(x), and log σ(x) is −softplus(−x).",
            "For very negative x, log σ(x) is nearly x: there the slope must be 1, not 0.",
            lambda x, *, grad_output: (grad_output * torch.sigmoid(x),),
        ),
        Misconception(
            "The gradient is that of σ: the logarithm is not differentiated.",
            "(log σ)′ = σ′ / σ, and in that quotient something cancels.",
            lambda x, *, grad_output: (grad_output * _slope(x),),
        ),
        Misconception(
            "The gradient is that of x − σ(x), a formula found in print that is wrong.",
            "softplus has the slope σ(x); log σ(x) = −softplus(−x).",
            lambda x, *, grad_output: (grad_output * (x - torch.sigmoid(x)),),
        ),
        Misconception(
            "The gradient is that of 1 − y, as if the saved y were σ(x).",
            "Here y = log σ(x), so σ(x) = e^y.",
            lambda x, *, grad_output: (grad_output * (1 - F.logsigmoid(x)),),
        ),
        Misconception(
            "The gradient is grad_output / σ(x): the inner derivative is missing.",
            "(log σ)′ = σ′ / σ by the chain rule.",
            lambda x, *, grad_output: (grad_output / torch.sigmoid(x),),
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is softplus(x) = log(1 + eˣ), not log σ(x).",
            "log σ(x) = −log(1 + e⁻ˣ) is never positive.",
            F.softplus,
        ),
        ForwardSlip(
            "The output is −log σ(x): the sign is missing.",
            "The logarithm of a number between 0 and 1 is negative.",
            lambda x: -F.logsigmoid(x),
        ),
        ForwardSlip(
            "The output is log σ(−x).",
            "For very negative x, log σ(x) is nearly x.",
            lambda x: F.logsigmoid(-x),
        ),
        *LOG_SIGMOID_VALUES,
    ),
)

EXERCISES = (MY_SIGMOID, MY_TANH, SCALED_SIGMOID, MY_GELU, SWISH, LOG_SIGMOID)
