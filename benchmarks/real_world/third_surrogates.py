"""The third blind bank's surrogates, after its right ones; third_showing.py says how they were chosen and verified."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world import third  # noqa: F401
from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.second_showing import number
from benchmarks.real_world.third_showing import surrogate


def one(x: Tensor, *_: Any) -> Tensor:
    return torch.ones_like(x)


def within(x: Tensor, bound: Any = 1.0, *_: Any) -> Tensor:
    return (x.abs() <= bound).to(x)


def swish(x: Tensor, beta: float) -> Tensor:
    bx = beta * x
    return beta * (2 - bx * torch.tanh(bx / 2)) / (1 + torch.cosh(bx))


def pact(function: Any) -> bool:
    """Whether x gets the upstream gradient between 0 and the bound, and the bound what lies beyond it."""
    (at, bound, bits), up = CLIPPED(), normal(3, 4, seed=1)
    given = torch.autograd.grad(function.apply(at, bound, bits), (at, bound), up)
    meant = ((X >= 0) & (bound >= X)) * up, ((bound <= X) * up).sum()
    return all(torch.allclose(a.squeeze(), b) for a, b in zip(given, meant, strict=True))


CLIPPED = of(grad(3, 4), number(1.0), 2)
BITORCH = "bitorch.quantizations."
surrogate("bitorch.layers.pact:PactActFn", CLIPPED, None, shown=pact, how="published formula, for x and the bound")  # fmt: skip
surrogate("bitorch.layers.qactivation:GradientCancellation", x(1.0), within)
surrogate(BITORCH + "dorefa:InputDoReFaFunction", x(3), one)
surrogate(BITORCH + "dorefa:WeightDoReFaFunction", x(7), one)
surrogate(BITORCH + "swish_sign:SwishSignFunction", x(5.0), swish)
surrogate(BITORCH + "approx_sign:ApproxSignFunction", x(), lambda x: (2 - 2 * x.abs()) * within(x))

MICRONET = "micronet.compression.quantization."
surrogate(MICRONET + "wbwtab.quantize:BinaryActivation", x(), within)
surrogate(MICRONET + "wbwtab.quantize:BinaryWeight", of(grad(2, 3, 2, 2)), one)
surrogate(MICRONET + "wbwtab.quantize:Ternary", of(grad(2, 3, 2, 2)), one, made=lambda f: lambda w: f.apply(w)[0])  # fmt: skip
surrogate(MICRONET + "wqaq.dorefa.quantize:Round", x(scale=3.0), one)
surrogate(MICRONET + "wqaq.iao.quantize:Round", x(number(-2.0, False), number(2.0, False), 0, scale=3.0), lambda x, low, high, _: within(x, high))  # fmt: skip

surrogate("torchlogix.functional:GradFactor", x(0.5), lambda x, f: f * torch.ones_like(x))
QUARK = "quark.onnx.algorithm.finetuning.create_torch.base_qdq_quantizers:"
surrogate(QUARK + "RoundHalfToEven", x(scale=3.0), one)
STEPS = x(number(0.25, False), number(0.0, False), number(-4.0, False), number(3.0, False), torch.round)  # fmt: skip
surrogate(QUARK + "INTQuantDequantFunction", STEPS, one)
