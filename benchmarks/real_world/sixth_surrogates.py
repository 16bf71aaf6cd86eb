"""The sixth blind bank's surrogates, after its right ones; sixth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
import math
from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world import sixth  # noqa: F401
from benchmarks.real_world.entry import x
from benchmarks.real_world.fifth_surrogates import one
from benchmarks.real_world.second_showing import number
from benchmarks.real_world.sixth_showing import surrogate


def inside(x: Tensor) -> Tensor:
    return (x.abs() <= 1).to(x)


BINARY = "bnn.ste:"
surrogate(BINARY + "SignSTE", x(), inside)
surrogate(BINARY + "ApproxSignSTE", x(), lambda x: (2 - 2 * x.abs()).clamp(min=0))
surrogate(BINARY + "TanhSoftSTE", x(number(2.0, False), number(1.5, False)), lambda x, t, k: k * t * (1 - torch.tanh(t * x) ** 2))  # fmt: skip
surrogate(BINARY + "TernarySTE", x(), inside)

surrogate("bitnet_v3.core.straight_through:StraightThroughEstimator", x(torch.round), one)
surrogate("bitnet_v3.core.quantization:QuantizationFunction", x(8), one)

SPIKES = "matterhorn_pytorch.snn.functional:"
surrogate(SPIKES + "_heaviside_rectangular", x(1.5), lambda x, a: (x.abs() < a / 2).to(x) / a)
surrogate(SPIKES + "_heaviside_gaussian", x(1.5), lambda x, a: torch.exp(-(x**2) / (2 * a)) / math.sqrt(2 * math.pi * a))  # fmt: skip
surrogate(SPIKES + "_multi_firing_round", x(scale=2.0), lambda x: torch.sigmoid(x - 0.5), how="published formula: the slope of a softplus")  # fmt: skip

surrogate("funasr.models.data2vec.grad_multiply:GradMultiply", x(0.1), lambda x, c: c * one(x))
surrogate("neuromorphic_rt.core.neurons:SurrogateSpike", x(0.3, 25.0), lambda x, t, k: 1 / (1 + k * (x - t).abs()) ** 2, how="published formula; the spikes are in float32")  # fmt: skip


def arctangent(spiking: bool) -> Any:
    """The package's own arctangent, which says of itself what its slope is."""

    def made(function: Any) -> Any:
        kind = importlib.import_module("btorch.models.surrogate.atan").ATan
        module = kind(alpha=2.0, spiking=spiking)
        return lambda a: function.apply(a, module)

    return made


TORCH = "btorch.models.surrogate."
surrogate(TORCH + "base:_SurrogateAutograd", x(), lambda x: 1 / (1 + (2 * x) ** 2), made=arctangent(True))  # fmt: skip
surrogate(TORCH + "poisson_random:_PoissonRandomSpikeFn", x(1.0, 1.0, 0.1, 0.7, 0.5, True), lambda x, *_: 0.5 * torch.where(x >= 0, 0.7, 0.1), how="published formula; the spikes are drawn")  # fmt: skip

surrogate("odak.learn.wave.complex_gaussians:STEFunction", x(0.7), lambda x, t: (x / t).softmax(1), how="published formula; the choice is in float32")  # fmt: skip
surrogate("mqbench.fake_quantize.tqt:FakeQuantizeTqtAffine", x(number(0.25, False), 0, -4, 3, torch.tensor(2)), lambda x, s, z, lo, hi, _: ((torch.round(x / s) >= lo) & (torch.round(x / s) <= hi)).to(x))  # fmt: skip
