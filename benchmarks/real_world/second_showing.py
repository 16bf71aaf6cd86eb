"""The second blind bank: its own form of an entry, its inputs, ways of showing what is true, and what it runs beside.

None of its packages is in the other banks. It was chosen and judged by somebody who had no part in the checker. What is
true of each Function was verified without the checker: by gradcheck and gradgradcheck at several inputs, each argument
alone, other strides, two calls interleaved, a second pass, and what is overwritten; a surrogate by its published formula;
by own difference quotients or plain torch where gradcheck cannot tell. All of it was written down before ``evaluate`` was
run on any of them.

second.py has the right ones, second_surrogates.py the surrogates, second_wrong.py the wrong ones, in this order.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck

from benchmarks.real_world.entry import Bank, Entry, StandIns, leaves, normal

# What other parts of these packages need to be imported, and no Function here calls.
BESIDE = frozenset({
    "accelerate", "cv2", "datasets", "fasthtml", "huggingface_hub", "lightning", "mmcv", "nerfacc", "nnsight",
    "omegaconf", "onnx", "peft", "prettytable", "pulp", "pulser", "pyamg", "pycocotools", "pytorch_lightning",
    "pyvista", "regex", "safetensors", "shapely", "skimage", "soundfile", "soxr", "tensorboard", "tensorly", "timm",
    "torchaudio", "torchmetrics", "transformer_lens", "transformers", "tyro", "viser", "wandb",
})  # fmt: skip


def stand_in() -> None:
    """Before the first is imported: stand-ins for what is not there, the last to be asked; keras runs on torch."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    # Classes are made of two of them.
    classes = {"HookedRootModule": nn.Module, "HookPoint": nn.Identity}
    sys.meta_path.append(StandIns(BESIDE, __version__="2.1.0", **classes))


SECOND = Bank()
D = torch.float64


def right_in(
    bank: Bank,
    where: str,
    inputs: Any,
    second: str,
    how: str = "gradcheck",
    shown: Any = None,
    made: Any = None,
) -> None:
    bank.append(Entry(where, inputs, "right", how, shown=shown, made=made, second=second))


def surrogate_in(
    bank: Bank,
    where: str,
    inputs: Any,
    slope: Any,
    made: Any = None,
    shown: Any = None,
    how: str = "published formula",
) -> None:
    bank.append(Entry(where, inputs, "surrogate", how, slope, shown, made))


def wrong_in(
    bank: Bank,
    where: str,
    inputs: Any,
    how: str,
    shown: Any = None,
    made: Any = None,
    second: str = "",
) -> None:
    bank.append(Entry(where, inputs, "wrong", how, shown=shown, made=made, second=second))


right, surrogate, wrong = (partial(each, SECOND) for each in (right_in, surrogate_in, wrong_in))


def number(value: float, needs: bool = True) -> Tensor:
    return torch.tensor(value, dtype=D, requires_grad=needs)


def cx(*shape: int) -> Tensor:
    return torch.complex(normal(*shape), normal(*shape, seed=1)).requires_grad_(True)


def apply_of(function: Any) -> Any:
    return getattr(function, "apply", function)


def same_as(plain: Any, inputs: Any, tolerance: float) -> Any:
    """Whether outputs and gradients are those of a plain torch function in float64: for what computes in float32."""

    def shown(function: Any) -> bool:
        ours = leaves(inputs())
        theirs = [
            a.detach().double().requires_grad_(a.requires_grad)
            if isinstance(a, Tensor) and a.is_floating_point()
            else a
            for a in ours
        ]
        out, meant = apply_of(function)(*ours), plain(*theirs)
        up = normal(*meant.shape, seed=5)
        chosen = [i for i, a in enumerate(ours) if isinstance(a, Tensor) and a.requires_grad]
        got = torch.autograd.grad(out, [ours[i] for i in chosen], up.to(out.dtype))
        want = torch.autograd.grad(meant, [theirs[i] for i in chosen], up)
        return all(
            torch.allclose(a.double(), b, tolerance, tolerance)
            for a, b in zip((out, *got), (meant, *want), strict=True)
        )

    return shown


def quotient(inputs: Any, h: float, tolerance: float) -> Any:
    """Whether the gradient of the sum is a five-point difference quotient's: for outputs in float32, element by element."""

    def shown(function: Any) -> bool:
        (at, *rest) = leaves(inputs())
        call = lambda a: apply_of(function)(a, *rest).double().sum()  # noqa: E731
        (given,) = torch.autograd.grad(call(at), at)
        slopes = []
        for i in range(at.numel()):
            step = torch.zeros_like(at).flatten()
            step[i] = h
            step, a = step.view_as(at), at.detach()
            slopes.append(
                (8 * (call(a + step) - call(a - step)) - (call(a + 2 * step) - call(a - 2 * step)))
                / (12 * h)
            )
        return torch.allclose(given.flatten(), torch.stack(slopes), tolerance, tolerance)

    return shown


def gradcheck_of(inputs: Any, pick: Any = lambda out: out, **more: Any) -> Any:
    """Whether gradcheck accepts what is picked of the outputs."""
    return lambda f: bool(
        gradcheck(lambda *a: pick(apply_of(f)(*a)), leaves(inputs()), raise_exception=False, **more)
    )


def no_gradgradcheck(inputs: Any) -> Any:
    """Whether the first derivative is right, and the second is given and wrong."""

    def shown(function: Any) -> bool:
        apply = apply_of(function)
        args = leaves(inputs())
        outs = apply(*args)
        outs = [o for o in (outs if isinstance(outs, tuple) else (outs,)) if o.requires_grad]
        chosen = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        firsts = torch.autograd.grad(
            outs, chosen, [torch.ones_like(o) for o in outs], create_graph=True
        )
        given = any(f.requires_grad for f in firsts)
        return (
            given
            and gradcheck(apply, leaves(inputs()), raise_exception=False)
            and not gradgradcheck(apply, leaves(inputs()), raise_exception=False)
        )

    return shown


def stops(inputs: Any, kinds: Any = RuntimeError) -> Any:
    """Whether forward works and backward ends in an error that is not meant."""

    def shown(function: Any) -> bool:
        out = apply_of(function)(*inputs())
        try:
            out.backward(torch.ones_like(out))
        except kinds:
            return True
        return False

    return shown


def overwrites(inputs: Any) -> Any:
    """Whether the first argument has other numbers after the call."""

    def shown(function: Any) -> bool:
        given = leaves(inputs())
        before = given[0].detach().clone()
        apply_of(function)(*given)
        return not given[0].equal(before)

    return shown


def gradient(function: Any, args: Any) -> Tensor:
    args = leaves(args)
    first = next(a for a in args if isinstance(a, Tensor) and a.requires_grad)
    return torch.autograd.grad(apply_of(function)(*args).sum(), first)[0]
