"""The fifth blind bank: its own form of an entry, ways of showing what is true, and what it runs beside.

None of its packages is in the other banks. It was chosen and judged by somebody who had no part in the checker and did not
look at it. What is true of each Function was verified without the checker: by gradcheck and gradgradcheck, a penalty on the
gradient beside difference quotients, a second pass, what is overwritten, dtypes and missing gradients; a surrogate by its
published formula; by plain torch or own programs where gradcheck cannot tell. All of it was written down before ``evaluate``
was run on any of them. No mistake is planted: each wrong one is wrong as its package ships it.

fifth.py has the right ones, fifth_surrogates.py the surrogates, fifth_wrong.py the wrong ones, in this order.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.real_world.entry import Bank, StandIns, leaves, normal
from benchmarks.real_world.second_showing import apply_of, right_in, surrogate_in, wrong_in

# What other parts of these packages need to be imported, and no Function here calls.
BESIDE = frozenset({
    "accelerate", "apex", "cpuinfo", "cupy", "datasets", "e3nn", "einx", "jaxtyping", "loguru",
    "numba", "nvtx", "pandas", "PIL", "pydantic", "qualia_core", "s3fs", "spikingjelly", "tensordict", "threadpoolctl",
    "timm", "torch_einops_utils", "torch_geometric", "torch_scatter", "torchtyping", "transformer_engine", "transformers", "warp",
})  # fmt: skip


class AnyType:
    """A type of tensors that says nothing of their shapes."""

    def __class_getitem__(cls, _: Any) -> type:
        return cls


def stand_in() -> None:
    """Before the first is imported: stand-ins for what is not there, the last to be asked."""
    sys.meta_path.append(
        StandIns(BESIDE, __version__="2.1.0", BaseNode=nn.Module, TensorType=AnyType)
    )


FIFTH = Bank()


right, surrogate, wrong = (partial(each, FIFTH) for each in (right_in, surrogate_in, wrong_in))


def two_is_not_one_and_one(inputs: Any) -> Any:
    """Whether the gradient for a sum of two upstream gradients is not the sum of both gradients."""

    def shown(function: Any) -> bool:
        args = leaves(inputs())
        out = apply_of(function)(*args)
        first = next(a for a in args if isinstance(a, Tensor) and a.requires_grad)
        one, other = (0.01 * normal(*out.shape, seed=s) for s in (5, 6))
        one.view(-1)[0] = 1.0
        pull = lambda up: torch.autograd.grad(out, first, up, retain_graph=True)[0]  # noqa: E731
        return not torch.allclose(pull(one + other), pull(one) + pull(other), 1e-3, 1e-6)

    return shown


def not_a_number(inputs: Any) -> Any:
    """Whether a finite upstream gradient becomes nan."""

    def shown(function: Any) -> bool:
        args = leaves(inputs())
        out = apply_of(function)(*args)
        (given,) = torch.autograd.grad(out, args[0], torch.ones_like(out))
        return bool(out.isfinite().all() and given.isnan().any())

    return shown


def falls_where_it_should_rise(inputs: Any, position: int, h: float) -> Any:
    """Whether the gradient of the sum has the other sign than what forward does over a distance much longer than its steps."""

    def shown(function: Any) -> bool:
        args = leaves(inputs())
        (given,) = torch.autograd.grad(apply_of(function)(*args).sum(), args[position])

        def ahead(step: float) -> float:
            moved = [a.detach() if isinstance(a, Tensor) else a for a in args]
            moved[position] = moved[position] + step
            return apply_of(function)(*moved).sum().item()

        slope = (ahead(h) - ahead(-h)) / (2 * h)
        return abs(slope) > 0.5 and given.item() * slope < 0

    return shown
