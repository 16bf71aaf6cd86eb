"""The fourth blind bank: its own form of an entry, ways of showing what is true, and what it runs beside.

None of its packages is in the other banks. It was chosen and judged by somebody who had no part in the checker and did not
look at it. What is true of each Function was verified without the checker: by gradcheck and gradgradcheck, each argument
alone, other strides of inputs and of upstream gradients, expanded and zero upstream gradients, two calls interleaved, a second
pass, what is overwritten, forward mode where there is a jvp; a surrogate by its published formula; by plain torch or own
difference quotients where gradcheck cannot tell. All of it was written down before ``evaluate`` was run on any of them.

fourth.py has the right ones, fourth_surrogates.py the surrogates, fourth_wrong.py the wrong ones, in this order.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.real_world.entry import Bank, StandIns, leaves, normal
from benchmarks.real_world.second_showing import (
    apply_of,
    gradcheck_of,
    right_in,
    surrogate_in,
    wrong_in,
)

# What other parts of these packages need to be imported, and no Function here calls.
BESIDE = frozenset({
    "PIL", "accelerate", "cvxpy", "datasets", "h5py", "ismrmrd", "joblib", "json_repair", "lightning", "matplotlib", "modelscope",
    "nibabel", "pandas", "peft", "platformdirs", "pkg_resources", "ptwt", "pydicom", "pynvml", "pytorch_finufft", "pywt", "requests", "sklearn", "torchcde",
    "torchdiffeq", "transformers",
})  # fmt: skip


def stand_in() -> None:
    """Before the first is imported: stand-ins for what is not there, the last to be asked; geomstats calls NumPy by a former name."""
    if not hasattr(np, "trapz"):
        np.trapz = np.trapezoid  # type: ignore[attr-defined]
    sys.meta_path.append(StandIns(BESIDE))


FOURTH = Bank()


right, surrogate, wrong = (partial(each, FOURTH) for each in (right_in, surrogate_in, wrong_in))


def first_of(function: Any) -> Any:
    """The same, with the first output alone."""
    return lambda *args: apply_of(function)(*args)[0]


def twice_is_not_twice(inputs: Any, factor: float = 2.0) -> Any:
    """Whether the gradient for a multiple of an upstream gradient is not that multiple: backward is not linear."""

    def shown(function: Any) -> bool:
        given = []
        for scale in (1.0, factor):
            args = leaves(inputs())
            out = apply_of(function)(*args)
            first = next(a for a in args if isinstance(a, Tensor) and a.requires_grad)
            up = scale * normal(*out.shape, seed=5).to(out.dtype)
            given.append(torch.autograd.grad(out, first, up)[0])
        return not torch.allclose(given[1], factor * given[0], 1e-3, 1e-6)

    return shown


def penalty_differs(inputs: Any) -> Any:
    """Whether the gradient of a sum of squares is right, and a penalty on it has a gradient that difference quotients refuse."""

    def shown(function: Any) -> bool:
        def first(at: Tensor, rest: list[Any]) -> Tensor:
            at = at if at.requires_grad else at.detach().requires_grad_(True)
            loss = apply_of(function)(at, *rest).square().sum()
            return torch.autograd.grad(loss, at, create_graph=True)[0]

        at, *rest = leaves(inputs())
        along, h = normal(*at.shape, seed=7), 1e-5
        gradient = first(at, rest)
        if not gradient.requires_grad:
            return False
        (given,) = torch.autograd.grad((gradient * along).sum(), at)
        ahead, back = (first((at + s * along).detach(), rest) for s in (h, -h))
        return gradcheck_of(inputs)(function) and not torch.allclose(
            given.detach(), (ahead - back).detach() / (2 * h), 1e-3, 1e-5
        )

    return shown
