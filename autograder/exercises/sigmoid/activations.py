"""The activations of lesson 02: smooth functions, element by element."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F

from autograder.contract.exercise import Arguments, Exercise, Sampler
from autograder.exercises.common_cases import (
    EXTREME,
    ONE_TENSOR,
    cases_of,
    elementwise_cases,
    extreme,
    kept,
    normal,
    special,
    with_number,
)

_activation = partial(
    Exercise, signature="(x)", cases=elementwise_cases(), budget=kept(0), budget_words=ONE_TENSOR
)

MY_SIGMOID = _activation(
    name="MySigmoid",
    summary="σ(x) = 1 / (1 + e⁻ˣ), element by element.",
    reference=torch.sigmoid,
    hints=(
        "Look at the picture of slope over output: for the sigmoid every output has one slope. So "
        "which single tensor does backward need?",
        "Let forward compute y = torch.sigmoid(x) and save y. In backward write the slope σ′ with y "
        "alone, and multiply it by what arrives from above.",
        "grad_x = grad_output * y * (1 - y), with y from ctx.saved_tensors, which is a tuple.",
    ),
)


MY_TANH = _activation(
    name="MyTanh",
    summary="tanh(x), element by element.",
    reference=torch.tanh,
    hints=(
        "Find tanh among the pictures of slope over output. The curve there is a formula for the slope "
        "in terms of y: what kind of curve is it?",
        "tanh = sinh / cosh, with sinh′ = cosh and cosh′ = sinh. Use the quotient rule and write the "
        "result with y = tanh(x) alone.",
        "grad_x = grad_output * (1 - y**2), with the saved output y.",
    ),
)


MY_GELU = _activation(
    name="MyGELU",
    summary="The exact GELU x · Φ(x), with Φ(x) = (1 + erf(x/√2)) / 2, element by element.",
    reference=F.gelu,
    hints=(
        "In the picture of slope over output GELU folds back: one output, two slopes. So which tensor "
        "has to be saved? And x · Φ(x) is a product.",
        "Product rule: the slope is Φ(x) + x · Φ′(x), and Φ′ is the density of the normal distribution. "
        "Save x alone and compute both again; torch.erf and torch.exp do it.",
        "grad_x = grad_output * (0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-x**2 / "
        "2) / math.sqrt(2 * math.pi)).",
    ),
)


LOG_SIGMOID = _activation(
    name="LogSigmoid",
    summary="log σ(x), element by element, finite for every finite x; its gradient keeps its digits.",
    reference=F.logsigmoid,
    hints=(
        "Do not compute σ and then its logarithm: take the logarithm on paper. log σ(x) = −softplus(−x), "
        "and you know the slope of softplus.",
        "Forward: F.logsigmoid, or x.clamp(max=0) - torch.log1p(torch.exp(-x.abs())). The slope "
        "of log σ is a sigmoid again, of which argument? Try x = −1000, where log σ(x) = x.",
        "grad_x = grad_output * torch.sigmoid(-x), with the saved x.",
    ),
)


SCALED_SIGMOID = Exercise(
    name="ScaledSigmoid",
    summary="scale · σ(x), element by element; scale is a Python float, 0 included.",
    signature="(x, scale)",
    reference=lambda x, scale: scale * torch.sigmoid(x),
    cases=(
        with_number("a vector, scale above 0", 5, low=1.3, high=2.5),
        with_number("a matrix, scale below 0", 3, 4, low=-2.5, high=-0.5),
        with_number("a batch of matrices, scale below 1", 2, 3, 4, low=0.2, high=0.8),
        with_number(
            "scale = 0",
            2,
            3,
            number=0.0,
            role="special",
            second="mixed",  # a gradient of zeros that depends on nothing is right, too
            advice="0 is a scale like any other: the gradient is 0 there.",
        ),
        special("x = 0", [0.0, 0.0, 0.0], 1.7, second=True),
        with_number("a whole number as scale", 4, number=3, role="special"),
        with_number("a scale of 0.00001", 4, number=1e-5, role="special"),
        with_number("a single number (0-d)", low=0.5, high=2.5, role="batch"),
        with_number("an empty batch", 0, 3, low=0.5, high=2.5, role="empty"),
        extreme("inputs up to ±1000 in float32", EXTREME, 1.5),
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    hints=(
        "What does the output still know about x when scale is 0? Choose what to save so that backward "
        "never divides by scale. And how many values does backward return?",
        "Save x with save_for_backward and put the float on ctx (ctx.scale = scale). Backward computes "
        "σ(x) again; a σ(x) saved in forward would be an intermediate.",
        "With s = torch.sigmoid(x): return grad_output * ctx.scale * s * (1 - s), None.",
    ),
)


def _drawn(s: Sampler, x: tuple[int, ...], beta: tuple[int, ...]) -> Arguments:
    """x normal, beta between 0.4 and 1.8 in size, of either sign."""
    size = s.uniform(*beta, low=0.4, high=1.8)
    return normal(s, *x), torch.where(s.normal(*beta) > -0.5, size, -size)


_swish_case = cases_of(_drawn)


SWISH = Exercise(
    name="Swish",
    summary="x · σ(beta · x); beta is a tensor that broadcasts to the shape of x.",
    signature="(x, beta)",
    reference=lambda x, beta: x * torch.sigmoid(beta * x),
    cases=(
        _swish_case("one beta per channel", (3, 4), (4,)),
        _swish_case("a single beta (0-d)", (5,), ()),
        _swish_case("one beta a row", (3, 4), (3, 1)),
        _swish_case("a beta of the shape of x", (2, 3), (2, 3)),
        _swish_case("a beta of shape (1,)", (4, 2), (1,)),
        _swish_case("a batch of matrices, one beta a row", (2, 3, 4), (3, 1)),
        special(
            "beta = 0",
            lambda s: normal(s, 3, 2),
            [0.0, 0.0],
            second=True,
        ),
        special(
            "x = 0",
            [0.0, 0.0, 0.0],
            lambda s: s.uniform(3, low=0.5, high=1.5),
            second=True,
        ),
        _swish_case("x and beta 0-d", (), (), role="batch"),
        _swish_case("an empty batch", (0, 4), (4,), role="empty"),
        _swish_case("an empty vector, a single beta", (0,), (), role="empty"),
        extreme(
            "inputs up to ±1000 in float32",
            EXTREME,
            torch.linspace(0.5, 1.5, len(EXTREME)).double().tolist(),
        ),
    ),
    budget=kept(0, 1),
    budget_words="x and beta",
    hints=(
        "Swish cannot be undone, so the output is not enough: save the two inputs. There are two "
        "gradients to return, and beta's has the shape of beta, not of x.",
        "With s = σ(beta · x) you have s′ = s · (1 − s), times the inner derivative. Differentiate x · s "
        "once by x (a product!) and once by beta; what beta gets is summed with sum_to_size.",
        "With s = torch.sigmoid(beta * x): grad_x = grad_output * (s + beta * x * s * (1 - s)); "
        "grad_beta = (grad_output * x**2 * s * (1 - s)).sum_to_size(beta.shape). Compute each "
        "only if ctx.needs_input_grad says so.",
    ),
)
