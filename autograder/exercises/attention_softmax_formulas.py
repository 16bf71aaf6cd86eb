"""Wrong softmaxes that learners really write, recognised by their numbers (lesson 07)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception


def _known(
    message: str,
    hint: str,
    formula: Callable[[Tensor, Tensor, int], Tensor],
    rule: str = "gradient-value",
) -> Misconception:
    """``formula`` takes the weights, grad_output and dim."""

    def gradients(x: Tensor, dim: int, *, grad_output: Tensor) -> tuple[Tensor, None]:
        return formula(torch.softmax(x, dim), grad_output, dim), None

    return Misconception(message, hint, gradients, rule)


def _input_for_output(message: str, formula: Callable[[Tensor, int], Tensor]) -> Misconception:
    """Something else stands in the place of the output y, a function of x and dim."""

    def gradients(x: Tensor, dim: int, *, grad_output: Tensor) -> tuple[Tensor, None]:
        y = formula(x, dim)
        return y * (grad_output - _total(grad_output * y, dim)), None

    return Misconception(message, f"y is the output. {_FORMULA}", gradients)


def _total(t: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    return t.sum(dim, keepdim=True)


def _others(t: Tensor, dim: int) -> tuple[int, ...]:
    """All dimensions but dim."""
    return tuple(d for d in range(t.dim()) if d != dim % t.dim())


def _shifted(x: Tensor, dim: int) -> Tensor:
    """e^(x − max), with the maximum of each row."""
    return (x - x.amax(dim, keepdim=True)).exp()


_FORMULA = "The product with the Jacobian is y · (g − Σ g·y), with one sum along dim."


def _twice(x: Tensor, dim: int, g: Tensor) -> Tensor:
    y = torch.softmax(torch.softmax(x, dim), dim)
    return y * (g - _total(g * y, dim))


BACKWARDS = (
    _known(
        "grad_output is passed on as it is.",
        f"A softmax is not the identity. {_FORMULA}",
        lambda y, g, dim: g,
    ),
    _known(
        "Only the diagonal of the Jacobian is there: y · (1 − y).",
        f"That is the derivative of each output by its own input. Each depends on the whole row. {_FORMULA}",
        lambda y, g, dim: g * y * (1 - y),
    ),
    _known(
        "The gradient is grad_output · y: the sum is missing.",
        _FORMULA,
        lambda y, g, dim: g * y,
    ),
    _known(
        "Σ g is subtracted; it should be Σ g·y.",
        _FORMULA,
        lambda y, g, dim: y * (g - _total(g, dim)),
    ),
    _known(
        "The plain mean of g is subtracted, not the mean weighted with y.",
        _FORMULA,
        lambda y, g, dim: y * (g - g.mean(dim, keepdim=True)),
    ),
    _known(
        "The factor y in front is missing.",
        _FORMULA,
        lambda y, g, dim: g - _total(g * y, dim),
    ),
    _known(
        "The factor y stands before the first term only: y·g − Σ g·y.",
        "Put brackets: y · (g − Σ g·y).",
        lambda y, g, dim: y * g - _total(g * y, dim),
    ),
    _known(
        "The sum is added, not subtracted.",
        _FORMULA,
        lambda y, g, dim: y * (g + _total(g * y, dim)),
    ),
    _known(
        "The sum Σ g·y runs over the whole tensor, not along dim.",
        "sum(dim, keepdim=True): one sum for each row.",
        lambda y, g, dim: y * (g - (g * y).sum()),
    ),
    _known(
        "The sum runs over the last dimension, whatever dim is.",
        "Keep dim on ctx and sum along it.",
        lambda y, g, dim: y * (g - _total(g * y, -1)),
    ),
    _known(
        "This is the gradient of log-softmax: g − y · Σ g.",
        _FORMULA,
        lambda y, g, dim: g - y * _total(g, dim),
    ),
    _known(
        "The factor y stands before the sum only: g − y · Σ g·y.",
        "Put brackets: y · (g − Σ g·y).",
        lambda y, g, dim: g - y * _total(g * y, dim),
    ),
    _known(
        "The first term is missing: −y · Σ g·y.",
        _FORMULA,
        lambda y, g, dim: -y * _total(g * y, dim),
    ),
    _known(
        "The sum is a mean: Σ g·y is divided by the size of dim.",
        "sum(dim, keepdim=True), not mean.",
        lambda y, g, dim: y * (g - (g * y).mean(dim, keepdim=True)),
    ),
    _known(
        "Σ y is subtracted, which is 1; it should be Σ g·y.",
        _FORMULA,
        lambda y, g, dim: y * (g - 1),
    ),
    *(
        _known(
            f"The sum runs over dimension {dim}, whatever dim is.",
            "Keep dim on ctx and sum along it.",
            lambda y, g, dim, fixed=dim: y * (g - _total(g * y, fixed)),  # type: ignore[misc]
        )
        for dim in (0, 1, -2)
    ),
    _known(
        "The sum runs over all dimensions but dim.",
        "sum(dim, keepdim=True): the dimension along which the weights add up to 1.",
        lambda y, g, dim: y * (g - _total(g * y, _others(y, dim))),
    ),
    _known(
        "The logarithm of y is used where y is needed.",
        _FORMULA,
        lambda y, g, dim: y.log() * (g - _total(g * y.log(), dim)),
    ),
    _input_for_output(
        "x is used where y is needed: x · (g − Σ g·x).",
        lambda x, dim: x,
    ),
    _input_for_output(
        "eˣ is used where y is needed: it is not divided by the sum.",
        lambda x, dim: x.exp(),
    ),
    _input_for_output(
        "e^(x − max) is used where y is needed: it is not divided by the sum.",
        lambda x, dim: (x - x.amax(dim, keepdim=True)).exp(),
    ),
    Misconception(
        "Backward applies softmax to the saved output once more.",
        "What comes back from ctx.saved_tensors is y already.",
        lambda x, dim, *, grad_output: (_twice(x, dim, grad_output), None),
    ),
)

FORWARD_SLIPS = (
    ForwardSlip(
        "The output is eˣ: it is not divided by the sum.",
        "The elements along dim must add up to 1.",
        lambda x, dim: x.exp(),
    ),
    ForwardSlip(
        "The output is e^(x − max): it is not divided by the sum.",
        "The elements along dim must add up to 1.",
        lambda x, dim: (x - x.amax(dim, keepdim=True)).exp(),
    ),
    ForwardSlip(
        "The output is normalised over the whole tensor, not along dim.",
        "sum(dim, keepdim=True).",
        lambda x, dim: torch.softmax(x.reshape(-1), 0).reshape(x.shape),
    ),
    ForwardSlip(
        "The output is normalised over the whole tensor, not along dim: the sum runs over everything.",
        "e.sum(dim, keepdim=True).",
        lambda x, dim: _shifted(x, dim) / _shifted(x, dim).sum(),
    ),
    ForwardSlip(
        "Each exponential is divided by the sum over all dimensions but dim.",
        "sum(dim, keepdim=True).",
        lambda x, dim: x.exp() / _total(x.exp(), _others(x, dim)),
    ),
    ForwardSlip(
        "Each exponential is divided by the sum over the last dimension, whatever dim is.",
        "sum(dim, keepdim=True).",
        lambda x, dim: _shifted(x, dim) / _total(_shifted(x, dim), -1),
    ),
    ForwardSlip(
        "Each exponential is divided by the sum over dimension 0, whatever dim is.",
        "sum(dim, keepdim=True).",
        lambda x, dim: _shifted(x, dim) / _total(_shifted(x, dim), 0),
    ),
    ForwardSlip(
        "The maximum is subtracted above the fraction line only: e^(x − max) / Σ eˣ.",
        "The same exponentials stand above and below: e = e^(x − max), then e / Σ e.",
        lambda x, dim: _shifted(x, dim) / _total(x.exp(), dim),
    ),
    ForwardSlip(
        "The maximum is subtracted below the fraction line only: eˣ / Σ e^(x − max).",
        "The same exponentials stand above and below: e = e^(x − max), then e / Σ e.",
        lambda x, dim: x.exp() / _total(_shifted(x, dim), dim),
    ),
    ForwardSlip(
        "The exponential of the sum stands below the fraction line: eˣ / e^(Σ x).",
        "The sum of the exponentials, not the exponential of the sum.",
        lambda x, dim: (x - _total(x, dim)).exp(),
    ),
    ForwardSlip(
        "The output is divided by the mean of the exponentials, not by their sum.",
        "The elements along dim must add up to 1.",
        lambda x, dim: x.exp() / x.exp().mean(dim, keepdim=True),
    ),
    ForwardSlip(
        "The softmax runs over dimension 1, whatever dim is.",
        "Use dim.",
        lambda x, dim: torch.softmax(x, 1),
    ),
    ForwardSlip(
        "The output is the sigmoid of x.",
        "softmax is eˣ / Σ eˣ, along dim.",
        lambda x, dim: torch.sigmoid(x),
    ),
    ForwardSlip(
        "The softmax is taken twice.",
        "Once: the elements along dim add up to 1 already.",
        lambda x, dim: torch.softmax(torch.softmax(x, dim), dim),
    ),
    ForwardSlip(
        "1 is added to the sum of the exponentials.",
        "eˣ / Σ eˣ, with nothing beside the sum.",
        lambda x, dim: x.exp() / (1 + _total(x.exp(), dim)),
    ),
    ForwardSlip(
        "1 is added to the sum of the exponentials.",
        "eˣ / Σ eˣ, with nothing beside the sum.",
        lambda x, dim: _shifted(x, dim) / (1 + _total(_shifted(x, dim), dim)),
    ),
    ForwardSlip(
        "The softmax runs over the last dimension, whatever dim is.",
        "Use dim.",
        lambda x, dim: torch.softmax(x, -1),
    ),
    ForwardSlip(
        "The softmax runs over dimension 0, whatever dim is.",
        "Use dim.",
        lambda x, dim: torch.softmax(x, 0),
    ),
    ForwardSlip(
        "The output is log-softmax.",
        "Take the exponential of it.",
        lambda x, dim: torch.log_softmax(x, dim),
    ),
    ForwardSlip(
        "The output is softmax of −x.",
        "The largest element has the largest share.",
        lambda x, dim: torch.softmax(-x, dim),
    ),
    ForwardSlip(
        "The output is x divided by its sum: the exponential is missing.",
        "softmax is eˣ / Σ eˣ.",
        lambda x, dim: x / _total(x, dim),
    ),
)
