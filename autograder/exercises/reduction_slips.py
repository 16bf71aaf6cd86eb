"""Formulas that learners write for Sum, Mean, Max and LogSumExp in the place of the right ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.exercise import ForwardSlip, Misconception
from autograder.exercises.special_slips import LOG_SUM_EXP_AT_INFINITY, MAX_IN_TIES

# ---- Sum and Mean --------------------------------------------------------------------------


def _wide(x: Tensor, dim: int, keepdim: bool, g: Tensor) -> Tensor:
    return (g if keepdim else g.unsqueeze(dim)).expand_as(x)


def _others(x: Tensor, dim: int) -> int:
    """The number of outputs."""
    return x.numel() // max(x.shape[dim], 1)


def _divided(
    message: str, by: Callable[[Tensor, int], float], rule: str = "gradient-scale"
) -> Misconception:
    return Misconception(
        message,
        "When one element grows by 1, the mean grows by 1 / x.shape[dim]: divide by that, once.",
        lambda x, dim, keepdim=False, *, grad_output: (_wide(x, dim, keepdim, grad_output) / by(x, dim),),
        rule,
    )  # fmt: skip


MEAN_SLOPES: tuple[Misconception, ...] = (
    _divided("grad_output is divided by the number of outputs, not by the size of dim.", _others),
    _divided("grad_output is divided by the size of dim twice: once is right.", lambda x, dim: x.shape[dim] ** 2),
    _divided(
        "grad_output is multiplied by the size of dim where it should be divided.", lambda x, dim: 1 / x.shape[dim]
    ),
    _divided("grad_output is divided by the size of dim less 1.", lambda x, dim: x.shape[dim] - 1),
    _divided("grad_output is divided by the size of dim plus 1.", lambda x, dim: x.shape[dim] + 1),
    _divided("grad_output is divided by the root of the size of dim.", lambda x, dim: x.shape[dim] ** 0.5),
    _divided("grad_output is divided by the number of dimensions, not by the size of dim.", lambda x, dim: x.dim()),
    _divided("grad_output is divided by the sum of all sizes, not by the size of dim.", lambda x, dim: sum(x.shape)),
    _divided("grad_output is divided by the number dim itself, not by the size of that dimension.", lambda x, dim: dim),
    _divided("grad_output is divided by the size of dimension 1, whatever dim is.", lambda x, dim: x.shape[1]),
    Misconception(
        "The division is a whole one: // rounds every gradient down to a whole number.",
        "/ divides, // divides and rounds down.",
        lambda x, dim, keepdim=False, *, grad_output: (_wide(x, dim, keepdim, grad_output) // x.shape[dim],),
        rule="upstream-nonlinear",
    ),
)  # fmt: skip

_DIVIDE = "Divide by the size of the one dimension that is reduced, x.shape[dim]."
_Reduced = tuple[str, Callable[..., Any]]


def _values(hint: str, *known: _Reduced) -> tuple[ForwardSlip, ...]:
    return tuple(ForwardSlip(message, hint, value) for message, value in known)


MEAN_VALUES: tuple[ForwardSlip, ...] = _values(
    _DIVIDE,
    ("The sum is divided by the size of dim less 1.", lambda x, d, k=False: x.sum(d, k) / (x.shape[d] - 1)),
    ("The sum is divided by the size of the last dimension, whatever dim is.", lambda x, d, k=False: x.sum(d, k) / x.shape[-1]),
    ("The sum is divided by the root of the size of dim.", lambda x, d, k=False: x.sum(d, k) / x.shape[d] ** 0.5),
    ("The sum is divided by the number of dimensions.", lambda x, d, k=False: x.sum(d, k) / x.dim()),
    ("The sum is divided by the number of outputs.", lambda x, d, k=False: x.sum(d, k) / _others(x, d)),
    ("The mean is divided by the size of dim once more.", lambda x, d, k=False: x.mean(d, k) / x.shape[d]),
    ("The output is the median.", lambda x, d, k=False: x.median(d, k)[0]),
    ("The output is the largest element.", lambda x, d, k=False: x.amax(d, k)),
    ("The output is the root of the mean of the squares.", lambda x, d, k=False: (x * x).mean(d, k).sqrt()),
    ("The division is a whole one: // rounds the mean down to a whole number.", lambda x, d, k=False: x.sum(d, k) // x.shape[d]),
)  # fmt: skip

SUM_VALUES: tuple[ForwardSlip, ...] = _values(
    "The elements along dim are added, all of them and as they are.",
    ("The output is the product, not the sum.", lambda x, d, k=False: x.prod(d, keepdim=k)),
    ("The output is the largest element, not the sum.", lambda x, d, k=False: x.amax(d, k)),
    ("The output is the sum of the squares.", lambda x, d, k=False: (x * x).sum(d, k)),
    ("The output is the norm, the root of the sum of the squares.", lambda x, d, k=False: x.norm(dim=d, keepdim=k)),
    ("The output is the first element along dim alone.", lambda x, d, k=False: x.narrow(d, 0, 1) if k else x.select(d, 0)),
    ("The output is the last element along dim alone.", lambda x, d, k=False: x.narrow(d, -1, 1) if k else x.select(d, -1)),
    ("The first element along dim is left out of the sum.", lambda x, d, k=False: x.narrow(d, 1, x.shape[d] - 1).sum(d, k)),
    ("The last element along dim is left out of the sum.", lambda x, d, k=False: x.narrow(d, 0, x.shape[d] - 1).sum(d, k)),
    ("Only what is positive is added.", lambda x, d, k=False: x.relu().sum(d, k)),
)  # fmt: skip

# ---- Max -----------------------------------------------------------------------------------


def _without_ties(x: Tensor, dim: int) -> Tensor:
    """x. Raises where the largest element stands several times: there a place says nothing."""
    if bool(((x == x.amax(dim, True)).sum(dim) > 1).any()):
        raise ValueError("ties")
    return x


def _second_largest(x: Tensor, dim: int) -> Any:
    return _without_ties(x, dim).kthvalue(x.shape[dim] - 1, dim)


MAX_VALUES: tuple[ForwardSlip, ...] = _values(
    "torch.max(x, dim) gives both: the largest values, and where along dim they stand, counted from 0.",
    ("The output is the largest in size, max |x|: the sign is lost.", lambda x, d: x.abs().max(d)),
    ("The output is the second largest element.", _second_largest),
    ("The output is the median.", lambda x, d: _without_ties(x, d).median(d)),
    ("The output is logsumexp, the soft maximum.", lambda x, d: (x.logsumexp(d), x.argmax(d))),
    ("The values are right; the indices are those of the smallest elements.", lambda x, d: (x.amax(d), x.argmin(d))),
    ("The values are right; the indices count from 1, not from 0.", lambda x, d: (x.amax(d), x.argmax(d) + 1)),
    ("The values are right; the indices are all 0.", lambda x, d: (x.amax(d), 0 * x.argmax(d))),
    ("The values are right; the indices count from the end.", lambda x, d: (x.amax(d), x.shape[d] - 1 - x.argmax(d))),
    ("The values are right; every index is that of the largest element of the whole tensor, flattened.", lambda x, d: (x.amax(d), x.argmax().expand_as(x.argmax(d)))),
    ("The values are right; the indices are those of the largest |x|.", lambda x, d: (x.amax(d), x.abs().argmax(d))),
)  # fmt: skip


def _at_the_last(x: Tensor, dim: int, *, grad_output: Tensor) -> Any:
    gradient = torch.zeros_like(x)
    gradient.select(dim, -1).copy_(grad_output)
    return (gradient,)


def _of_the_whole(x: Tensor, dim: int, g: Tensor) -> Tensor:
    largest = torch.zeros_like(x)
    largest.view(-1)[x.argmax()] = 1.0
    return largest * g.unsqueeze(dim)


def _as_flat_places(x: Tensor, dim: int, g: Tensor) -> Tensor:
    flat = torch.zeros_like(x).reshape(-1)
    for place, value in zip(x.argmax(dim).reshape(-1).tolist(), g.reshape(-1), strict=True):
        flat[place] = value
    return flat.reshape(x.shape)


MAX_SLOPES: tuple[Misconception, ...] = (
    Misconception(
        "Only the largest element of the whole tensor gets a gradient; there is one along dim for each output.",
        "argmax() without a dim gives one place in the flattened tensor. Use the indices that forward found along dim.",
        lambda x, dim, *, grad_output: (_of_the_whole(x, dim, grad_output),),
    ),
    Misconception(
        "The indices are taken for places in the flattened tensor; they count along dim.",
        "scatter(dim, …) takes them as they are, once they have the reduced dimension back.",
        lambda x, dim, *, grad_output: (_as_flat_places(x, dim, grad_output),),
    ),
    Misconception(
        "The gradient always goes to the last element along dim.",
        "It belongs to the element that forward chose: scatter to the saved indices.",
        _at_the_last,
    ),
    *MAX_IN_TIES,
)

# ---- LogSumExp -----------------------------------------------------------------------------


def _less(x: Tensor, dim: int) -> Tensor:
    return (x - x.amax(dim, True)).exp().sum(dim).log()


LOG_SUM_EXP_VALUES: tuple[ForwardSlip, ...] = _values(
    "log Σ eˣ = m + log Σ e^(x − m), with the same m in both places, for every m.",
    ("The maximum is subtracted at the end; it should be added again.", lambda x, d: _less(x, d) - x.amax(d)),
    ("The minimum is added at the end, but the maximum was subtracted.", lambda x, d: _less(x, d) + x.amin(d)),
    ("The maximum is added inside of the exponent, and again at the end.", lambda x, d: (x + x.amax(d, True)).exp().sum(d).log() + x.amax(d)),
    ("The logarithm is missing: the output is m + Σ e^(x − m).", lambda x, d: _less(x, d).exp() + x.amax(d)),
    ("The mean is subtracted inside, and the maximum added at the end.", lambda x, d: (x - x.mean(d, True)).exp().sum(d).log() + x.amax(d)),
    ("The output is the maximum alone: the sum of exponentials is missing.", lambda x, d: x.amax(d)),
    ("The output is the logarithm of Σ x: the exponential is missing.", lambda x, d: x.sum(d).log()),
    ("log1p stands where log belongs: 1 is added to the sum.", lambda x, d: torch.log1p(x.exp().sum(d))),
    ("expm1 stands where exp belongs: 1 is subtracted from every term.", lambda x, d: torch.expm1(x).sum(d).log()),
    ("The output is the sum of the softmax, which is always 1.", lambda x, d: x.softmax(d).sum(d)),
    ("The output is log Σ e⁻ˣ: the sign of x is turned round.", lambda x, d: (-x).logsumexp(d)),
    ("The output is the sum of softplus(x), one logarithm for each element.", lambda x, d: F.softplus(x).sum(d)),
)  # fmt: skip


def _shares(message: str, share: Callable[[Tensor, int], Tensor]) -> Misconception:
    return Misconception(
        message,
        "The share of an element is eˣ / Σ eˣ, with the sum over dim: the shares of a row add up to 1.",
        lambda x, dim, *, grad_output: (grad_output.unsqueeze(dim) * share(x, dim),),
    )


LOG_SUM_EXP_SLOPES: tuple[Misconception, ...] = (
    _shares("The sum runs over the whole tensor, not over dim.", lambda x, d: x.exp() / x.exp().sum()),
    _shares("The largest element gets everything: that is the backward of max.", lambda x, d: (x == x.amax(d, True)).to(x.dtype)),
    _shares("The gradient is grad_output / Σ eˣ: the factor eˣ is missing.", lambda x, d: (1 / x.exp().sum(d, True)).expand_as(x)),
    _shares("The share is s · (1 − s): that is the diagonal of the softmax's own backward.", lambda x, d: x.softmax(d) * (1 - x.softmax(d))),
    _shares("The share is 1 − s, as in the backward of log_softmax; here it is s, the softmax itself.", lambda x, d: 1 - x.softmax(d)),
    _shares("The share is σ(x), as if each element stood alone.", lambda x, d: torch.sigmoid(x)),
    _shares("The share is x / Σ x: the exponential is missing.", lambda x, d: x / x.sum(d, True)),
    _shares("eˣ is divided by the output, log Σ eˣ; it should be divided by Σ eˣ.", lambda x, d: x.exp() / x.logsumexp(d, True)),
    _shares("The share is that of 2 · x.", lambda x, d: (2 * x).softmax(d)),
    _shares("exp is applied twice: the share is the softmax of eˣ.", lambda x, d: x.exp().softmax(d)),
    *LOG_SUM_EXP_AT_INFINITY,
)  # fmt: skip
