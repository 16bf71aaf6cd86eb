"""The sixth blind bank: its own form of an entry, ways of showing what is true, and what it runs beside.

None of its packages is in the other banks. It was chosen and judged by somebody who had no part in the checker and did not
look at it. What is true of each Function was verified without the checker: by gradcheck and gradgradcheck, each argument
alone, other strides of inputs and of upstream gradients, expanded and twofold upstream gradients, float32, two calls
interleaved, a second pass, what is overwritten; a surrogate by its published formula; by plain torch or own programs where
gradcheck cannot tell. All of it was written down before ``evaluate`` was run on any of them. No mistake is planted: each
wrong one is wrong as its package ships it.

sixth.py has the right ones, sixth_surrogates.py the surrogates, sixth_wrong.py the wrong ones, in this order.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world.entry import Bank, StandIns, leaves, normal
from benchmarks.real_world.second_showing import apply_of, right_in, surrogate_in, wrong_in

# What other parts of these packages need to be imported, and no Function here calls.
BESIDE = frozenset({
    "bitsandbytes", "cv2", "cvxpy", "diffcp", "galore_torch", "hjson", "matplotlib", "onnx", "peft", "plyfile", "psutil",
    "safetensors", "torchaudio", "transformers", "triton", "zeta",
})  # fmt: skip


class Within(StandIns):
    """The same for modules of a package that is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)


def stand_in() -> None:
    """Before the first is imported: stand-ins for what is not there, the last to be asked; qste compiles nothing."""
    os.environ.setdefault("QSTE_KERNELS", "torch")
    # It writes a file where somebody happens to be.
    sys.meta_path.insert(0, Within(frozenset({"odak.log"})))
    # A class is made of Optimizer2State.
    sys.meta_path.append(StandIns(BESIDE, __version__="2.1.0", Optimizer2State=torch.optim.Optimizer))  # fmt: skip


SIXTH = Bank()


right, surrogate, wrong = (partial(each, SIXTH) for each in (right_in, surrogate_in, wrong_in))


def pulled(function: Any, inputs: Any, *ups: Tensor) -> list[Tensor]:
    """The first argument's gradient for each of these upstream gradients, one after the other through one graph."""
    args = leaves(inputs())
    out = apply_of(function)(*args)
    first = next(a for a in args if isinstance(a, Tensor) and a.requires_grad)
    return [torch.autograd.grad(out, first, up.to(out), retain_graph=True)[0].clone() for up in ups]  # fmt: skip


def depends_on_earlier_ones(inputs: Any, *shape: int) -> Any:
    """Whether the same upstream gradient gives another gradient after one that was asked for in between."""

    def shown(function: Any) -> bool:
        up, other = normal(*shape, seed=5), normal(*shape, seed=6)
        first, _, again = pulled(function, inputs, up, other, up)
        return not torch.allclose(first, again, 1e-3, 1e-6)

    return shown


def second_pass_of_twice_stops(inputs: Any) -> Any:
    """Whether passes for an upstream gradient of 1 can be repeated, and one for 2 cannot."""

    def shown(function: Any) -> bool:
        one, two = torch.tensor(1.0), torch.tensor(2.0)
        pulled(function, inputs, one, one)
        try:
            pulled(function, inputs, two, two)
        except RuntimeError:
            return True
        return False

    return shown


def single_upstream_overwritten(inputs: Any) -> Any:
    """Whether the caller's upstream gradient, in float32, has other numbers afterwards."""

    def shown(function: Any) -> bool:
        out = apply_of(function)(*inputs())
        up = normal(*out.shape, seed=5).to(out.dtype)
        before = up.clone()
        out.backward(up)
        return out.dtype == torch.float32 and not up.equal(before)

    return shown


def stops_for_a_transposed_upstream(inputs: Any) -> Any:
    """Whether backward ends in an error for an upstream gradient that lies transposed in memory, and else does not."""

    def shown(function: Any) -> bool:
        args = leaves(inputs())
        up = normal(*apply_of(function)(*args).shape, seed=5)
        apply_of(function)(*args).backward(up)
        try:
            apply_of(function)(*args).backward(up.mT.contiguous().mT)
        except RuntimeError:
            return True
        return False

    return shown


def stops_under_vmap(inputs: Any, place: int) -> Any:
    """Whether torch.func.vmap over one argument ends in an error, although the Function says that it works."""

    def shown(function: Any) -> bool:
        args = [a.detach() for a in inputs()]
        args[place] = torch.stack([args[place]] * 3)
        dims = tuple(0 if i == place else None for i in range(len(args)))
        try:
            torch.func.vmap(apply_of(function), in_dims=dims)(*args)
        except RuntimeError:
            return bool(function.generate_vmap_rule)
        return False

    return shown


def mean_over_the_batch(weight: Tensor, example: Tensor) -> Any:
    """Whether the weight's gradient for two equal examples is that for one, and not twice it."""

    def shown(function: Any) -> bool:
        given = []
        for count in (1, 2):
            at = weight.detach().clone().requires_grad_(True)
            out = function.apply(at, example.detach().expand(count, -1, -1))
            given.append(torch.autograd.grad(out.sum(), at)[0])
        return torch.allclose(*given) and bool(given[0].abs().max() > 0.1)

    return shown
