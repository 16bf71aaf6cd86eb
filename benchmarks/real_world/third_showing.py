"""The third blind bank: its own form of an entry, its inputs, ways of showing what is true, and what it runs beside.

None of its packages is in the other banks. It was chosen and judged by somebody who had no part in the checker and did not
look at it. What is true of each Function was verified without the checker: by gradcheck and gradgradcheck, each argument
alone and each without the others, other strides of inputs and of upstream gradients, expanded and zero and twofold upstream
gradients, float32, two calls interleaved, a second pass, what is overwritten, forward mode where there is a jvp; a surrogate
by its published formula; by plain torch or own difference quotients where gradcheck cannot tell. All of it was written down
before ``evaluate`` was run on any of them.

third.py has the right ones, third_surrogates.py the surrogates, third_wrong.py the wrong ones, in this order.
"""

from __future__ import annotations

import importlib
import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.real_world.entry import Bank, StandIns, leaves, normal
from benchmarks.real_world.second_showing import (
    D,
    apply_of,
    gradcheck_of,
    right_in,
    surrogate_in,
    wrong_in,
)

# What other parts of supar and of spd_learn need to be imported, and no Function here calls.
BESIDE = frozenset({"dill", "nltk", "omegaconf", "pyriemann", "stanza", "transformers"})


def stand_in() -> None:
    """Before the first is imported: stand-ins for what is not there, the last to be asked."""
    sys.meta_path.append(StandIns(BESIDE))


THIRD = Bank()


right, surrogate, wrong = (partial(each, THIRD) for each in (right_in, surrogate_in, wrong_in))


def whole(name: str) -> Any:
    """A module, imported as everybody imports it: with what the packages above it define."""
    package = name.partition(".")[0]
    for known in [n for n in sys.modules if n.split(".")[0] == package]:
        del sys.modules[known]
    return importlib.import_module(name)


def spd(*shape: int, seed: int = 0) -> Tensor:
    """Symmetric matrices with positive eigenvalues, far from each other."""
    a = normal(*shape, seed=seed)
    return (a @ a.mT + 0.5 * torch.eye(shape[-1], dtype=D)).requires_grad_(True)


def of_symmetric(function: Any) -> Any:
    """The same of the symmetric part of each matrix: the Function is written for symmetric ones."""

    def call(*args: Any) -> Any:
        return function.apply(
            *((a + a.mT) / 2 if isinstance(a, Tensor) and a.dim() > 1 else a for a in args)
        )

    return call


def soft_dtw(distances: Tensor, lengths: Tensor, gamma: float, _: float) -> Tensor:
    """Soft dynamic time warping without a band, in plain torch."""
    costs = []
    for d, (n, m) in zip(distances, lengths.tolist(), strict=True):
        far = d.new_tensor(torch.inf)
        best = {(i, j): far for i in range(n + 1) for j in range(m + 1)}
        best[0, 0] = d.new_zeros(())
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                ways = torch.stack([best[i - 1, j - 1], best[i - 1, j], best[i, j - 1]])
                best[i, j] = d[i - 1, j - 1] - gamma * torch.logsumexp(-ways / gamma, 0)
        costs.append(best[n, m])
    return torch.stack(costs)


def selected(hidden: Tensor, weight: Tensor, targets: Tensor, bias: Tensor, t: float, _: int) -> Tensor:  # fmt: skip
    """The logarithm of each target's probability, in plain torch."""
    return (F.linear(hidden, weight, bias) / t).log_softmax(-1).gather(1, targets[:, None])[:, 0]


def other_second(plain: Any, inputs: Any, tolerance: float) -> Any:
    """Whether first derivatives are a plain torch function's in float64 and second ones are given and are not: for float32."""

    def derivatives(call: Any, args: list[Any]) -> tuple[list[Tensor], list[Tensor]]:
        chosen = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        out = call(*args)
        up = normal(*out.shape, seed=5).to(out.dtype)
        first = torch.autograd.grad(out, chosen, up, create_graph=True)
        along = sum((g * normal(*g.shape, seed=6).to(g.dtype)).sum() for g in first)
        return list(first), list(torch.autograd.grad(along, chosen))

    def close(some: list[Tensor], others: list[Tensor]) -> bool:
        return all(
            torch.allclose(a.double(), b, tolerance, tolerance)
            for a, b in zip(some, others, strict=True)
        )

    def shown(function: Any) -> bool:
        ours = leaves(inputs())
        theirs = [
            a.detach().double().requires_grad_(a.requires_grad)
            if isinstance(a, Tensor) and a.is_floating_point()
            else a
            for a in ours
        ]
        first, second = derivatives(apply_of(function), ours)
        meant, meant_second = derivatives(plain, theirs)
        return close(first, meant) and not close(second, meant_second)

    return shown


def but(*shows: Any) -> Any:
    """Whether all of these are so."""
    return lambda function: all(shown(function) for shown in shows)


def sideways(inputs: Any, kinds: Any = RuntimeError) -> Any:
    """Whether gradcheck accepts it, and backward stops where the first argument is the same, transposed in memory."""

    def shown(function: Any) -> bool:
        first, *rest = inputs()
        at = first.detach().mT.contiguous().mT.requires_grad_(True)
        out = apply_of(function)(at, *rest)
        try:
            out.backward(torch.ones_like(out))
        except kinds:
            return gradcheck_of(inputs)(function)
        return False

    return shown


def second_pass_stops(inputs: Any, kinds: Any) -> Any:
    """Whether a second pass through a graph that was kept ends in an error."""

    def shown(function: Any) -> bool:
        args = leaves(inputs())
        out = apply_of(function)(*args)
        out.backward(torch.ones_like(out), retain_graph=True)
        try:
            out.backward(torch.ones_like(out))
        except kinds:
            return True
        return False

    return shown


def upstream_overwritten(inputs: Any) -> Any:
    """Whether the caller's upstream gradient has other numbers afterwards."""

    def shown(function: Any) -> bool:
        out = apply_of(function)(*inputs())
        up = normal(*out.shape, seed=5)
        out.backward(up)
        return not up.equal(normal(*out.shape, seed=5))

    return shown
