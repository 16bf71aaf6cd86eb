"""Thirty planted bugs for benchmarks/compared.py: those of tests/anyfn, custom ops, and some that are hard to see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tests.anyfn.making import keep, normal, op
from tests.anyfn.wrong import WRONG

CHOSEN = (
    "softmax without the sum", "square without its two", "a sign", "upstream ignored", "upstream clamped",
    "None where a gradient belongs", "relu that forgets its mask", "weights swapped", "weight transposed",
    "a mean over the wrong n", "product of the elements without one", "writes to the upstream gradient",
    "writes to its input", "writes to what it saved", "too few gradients", "a gradient of another shape",
    "a view in backward", "an intermediate in the second derivative", "shared between calls",
    "a threshold at the wrong place, with a reference", "wrong values, with a reference",
    "complex product without conj", "one in a thousand", "a wrong jvp", "bias without a gradient",
)  # fmt: skip


@dataclass(frozen=True)
class Bug:
    """A bug, and what a tool is given to find it: sets of arguments, and a reference where there is one."""

    name: str
    submission: Any
    sets: list[tuple[Any, ...]]
    terms: dict[str, Any] = field(default_factory=dict)

    @property
    def is_custom_op(self) -> bool:
        return isinstance(self.submission, torch.library.CustomOpDef)


@torch.library.custom_op("planted::halved", mutates_args=())
def halved(x: Tensor) -> Tensor:
    return x / 2


halved.register_fake(lambda x: x.new_empty(x.shape[:-1]))  # the wrong shape
halved.register_autograd(lambda ctx, g: g / 2)


@torch.library.custom_op("planted::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    """A kernel that reads memory as if it were contiguous."""
    return torch.as_strided(2 * x.clone(memory_format=torch.preserve_format), x.shape, x.clone(memory_format=torch.contiguous_format).stride())  # fmt: skip


doubled.register_fake(torch.empty_like)
doubled.register_autograd(lambda ctx, g: 2 * g)


@torch.library.custom_op("planted::clipped", mutates_args=())
def clipped(x: Tensor) -> Tensor:
    x.clamp_(-1, 1)  # not among mutates_args
    return x.clone()


clipped.register_fake(torch.empty_like)
clipped.register_autograd(
    lambda ctx, g: g * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward((output.abs() < 1).to(output)),
)

RARE = op("Rare", lambda ctx, x: keep(ctx, x * x, x), lambda ctx, g: 2 * g * ctx.saved_tensors[0].clamp(-10, 10))  # fmt: skip
EMPTY = op("Empty", lambda ctx, x: keep(ctx, x.sum(0), x), lambda ctx, g: g.expand(ctx.saved_tensors[0].shape) * ctx.saved_tensors[0].max() / ctx.saved_tensors[0].max())  # fmt: skip


def bugs() -> list[Bug]:
    """All thirty, in the order of the page."""
    known = {entry.name: entry for entry in WRONG}
    made = []
    for name in CHOSEN:
        entry = known[name]
        sets = entry.inputs if isinstance(entry.inputs, list) else [tuple(entry.inputs)]
        made.append(Bug(name, entry.submission, sets, entry.terms))
    x = normal(3, 4)
    return [
        *made,
        Bug("custom_op: register_fake gives another shape", halved, [(x,)]),
        Bug("custom_op: a kernel that ignores strides", doubled, [(x,)]),
        Bug("custom_op: writes to an argument unsaid", clipped, [(x,)]),
        Bug("wrong beyond 10, where no input is", RARE, [(x,)]),
        Bug("stops for empty tensors, which nobody gives", EMPTY, [(x,)]),
    ]
