"""BesselJ0, LambertW and Solve of lesson 11: SciPy and LAPACK compute them; that A is factorised once."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.differentiation import as_tuple
from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Refusal,
    Sampler,
    Scenario,
    Solution,
    bytes_of,
)
from autograder.exercises.common_cases import (
    cases_of,
    drawing,
    elementwise_cases,
    extreme,
    kept,
    of_every_shape,
    some,
    special,
    told,
)
from autograder.running.watching import Watching


class _Bessel(Function):
    """J of an integer order, with derivatives of every order: Jₙ′ = (Jₙ₋₁ − Jₙ₊₁) / 2 (DLMF 10.6.1)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: int) -> Tensor:
        import scipy.special  # only where this exercise is checked

        ctx.save_for_backward(x)
        ctx.order = order
        return torch.as_tensor(scipy.special.jv(order, x.detach().numpy()), dtype=x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        below, above = (_Bessel.apply(x, ctx.order + step) for step in (-1, 1))
        return grad_output * (below - above) / 2, None


BESSEL_J0 = Exercise(
    **told("BesselJ0"),
    reference=lambda x: _Bessel.apply(x, 0),
    cases=(
        *elementwise_cases(),
        special(
            "a vector of numbers up to ±30",
            lambda s: s.uniform(6, low=-30.0, high=30.0),
            role="main",
        ),
        # Where the value that torch has is off most, from the seventh digit on.
        special("numbers a little above 5", lambda s: s.uniform(6, low=5.001, high=5.1), wants=()),
    ),
    budget=kept(0),
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
)


class _LambertW(Function):
    """The solution y ≥ 0 of y·eʸ = a; y is kept, and the slope a function of it, so all orders are right."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        import scipy.special  # only where this exercise is checked

        y = torch.as_tensor(scipy.special.lambertw(a.detach().numpy()).real, dtype=a.dtype)
        y = torch.where(a >= 0, y, torch.nan)  # below 0 nothing is promised
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))


LAMBERT_W = Exercise(
    **told("LambertW"),
    reference=_LambertW.apply,
    cases=of_every_shape(
        lambda s, *shape: s.uniform(*shape, low=0.05, high=50.0),
        special(
            "a = 0",
            [0.0, 0.0, 1.0],
            second=True,
            advice="At a = 0 the solution is y = 0, and the slope 1. A formula that divides by a or by y gives 0 / 0 there.",
        ),
        extreme("a from 0 to 1e30 in float32", [0.0, 1e-30, 1e-6, 0.5, 2.75, 1000.0, 1e10, 1e30]),
    ),
    budget=kept(0),
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
)


_PIVOT = 4  # bytes of a row's number in the factors
_INVERSES = ("linalg_inv_ex", "linalg_pinv", "linalg_tensorinv", "cholesky_inverse")
_OF_MATRICES = (
    "linalg_",
    "cholesky",
    "geqrf",
    "orgqr",
    "ormqr",
    "triangular",
    "matrix_exp",
)  # how their names begin
_SOLVE = ("linalg_lu_solve", "linalg_solve_triangular", "triangular_solve", "cholesky_solve")
_CHEAP = (
    "linalg_check_errors",
    "linalg_vector_norm",
    "linalg_cross",
    "linalg_diagonal",
    "linalg_norm",
)
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv")
_LARGE = 96  # equations of one right-hand side: what is done for a whole matrix takes ten times the work of all else
_WHOLE = float(_LARGE**3)
_A_QUARTER = 0.25  # of n³: a solution takes n², an elimination n³ / 3 at least


def _drawn(s: Sampler, *shape: int, k: int, scale: float = 1.0) -> Arguments:
    """A (…, n, n), well conditioned and far from symmetric, and b (…, n, k)."""
    batch, n = shape[:-1], shape[-1]
    noise = s.normal(*batch, n, n)
    size = noise.shape[-1]
    matrix = 0.6 * noise / size**0.5 + torch.eye(size, dtype=torch.float64).roll(1, 0) * 2
    return scale * matrix, s.away_from(*batch, n, k, scale=scale)


_system = cases_of(_drawn)


# ---- factorised once ------------------------------------------------------------------------------


class _Work(Watching):
    """The multiplications, as shares of n³, and whether a matrix was inverted, or a solution found for all of its columns."""

    def __init__(self) -> None:
        super().__init__()
        self.told: Data = {"work": 0.0, "inverted": False}

    def run(self, func: Any, args: Arguments, kwargs: Data) -> Any:
        made = super().run(func, args, kwargs)
        name = func.__name__.partition(".")[0].lstrip("_")
        sizes = [a.numel() for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        given, gives = sorted(sizes)[-2:], max([t.numel() for t in as_tuple(made) if isinstance(t, Tensor)], default=0)  # fmt: skip
        if name in _SOLVE or name in _PRODUCTS:  # √(mk · kn · mn)
            work = math.sqrt(math.prod(given) * gives)
            self.told["inverted"] |= name in _SOLVE and work > _A_QUARTER * _WHOLE
        elif name.startswith(_OF_MATRICES) and name not in _CHEAP:
            work = max(given, default=0) ** 1.5
            self.told["inverted"] |= name in _INVERSES
        else:
            work = gives
        self.told["work"] += work / _WHOLE
        return made


def run_factorisations(solve: Solution, s: Sampler) -> Data:
    """What forward and backward do for a large matrix."""
    A, b = (t.requires_grad_(True) for t in _drawn(s, _LARGE, k=1))
    with _Work() as forward:
        x = solve(A, b)
    with _Work() as backward:
        torch.autograd.grad(x, (A, b), torch.ones_like(x))
    return {"forward": forward.told, "backward": backward.told}


def judge_factorisations(data: Data, right: Data) -> Cause | None:
    """One factorisation, in forward; no inverse anywhere, nor the work of one."""
    if data["forward"]["inverted"] or data["backward"]["inverted"]:
        return Cause("solve/inverse", at=("inv", "inv_ex", "inverse", "pinv", "eye"))
    if data["backward"]["work"] > _A_QUARTER:
        at = ("solve", "lu_factor", "solve_ex", "lu_factor_ex", "qr", "lu", "lstsq")
        return Cause("solve/factorised-again", at=at)
    if (times := round(data["forward"]["work"])) > 1:
        return Cause("solve/factorised-twice", {"times": times})
    return None


SOLVE = Exercise(
    **told("Solve"),
    reference=lambda A, b: torch.linalg.solve(A, b) + 0 * A.sum(),  # nothing is promised for an infinite A
    cases=(
        _system("three equations, two right-hand sides", 3, k=2),
        _system("four equations, one right-hand side", 4, k=1),
        _system("a batch of systems", 2, 3, k=2),
        special(
            "A without a number on its diagonal",
            [[0.0, 2.0], [-1.0, 0.0]], lambda s: s.away_from(2, 2),

            advice="Rows have to be exchanged first: the pivots belong to the factors, and torch.linalg.lu_solve wants both.",
        ),
        _system("a single equation", 1, k=3, role="special"),
        _system("two batch dimensions", 2, 1, 3, k=1, role="batch"),
        _system("an empty batch", 0, 3, k=2, role="empty"),
        _system("no right-hand side", 3, k=0, role="empty"),
        _system("numbers of the size of 1000", 3, k=2, scale=1000.0, role="extreme"),
    ),
    budget=lambda args, outputs: (
        bytes_of(args[0], args[0], *outputs[:1])
        + _PIVOT * args[0].numel() // max(1, args[0].shape[-1])
    ),
    second_order="right-or-refused",
    half=False,  # torch factorises no bfloat16
    refusals=(
        Refusal(
            "a singular A",
            drawing([[1.0, 2.0], [2.0, 4.0]], some(2, 1)),
            errors=("RuntimeError",),
            argument="A",
        ),
    ),
    scenarios=(
        Scenario(
            "A is factorised once", "too-slow", run_factorisations, judge_factorisations,
            needs=("output_value", "gradients_agree"),
        ),
    ),
)  # fmt: skip
