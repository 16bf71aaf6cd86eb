"""The fifth blind bank's surrogates, after its right ones; fifth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from benchmarks.real_world import fifth  # noqa: F401
from benchmarks.real_world.entry import x
from benchmarks.real_world.fifth_showing import surrogate
from benchmarks.real_world.second_showing import D, number


def one(x: Tensor, *_: object) -> Tensor:
    return torch.ones_like(x)


def steep(x: Tensor, c: float | Tensor) -> Tensor:
    return c * torch.sigmoid(c * x) * (1 - torch.sigmoid(c * x))


def arctangent(x: Tensor, alpha: float | Tensor) -> Tensor:
    return alpha / 2 / (1 + (math.pi / 2 * alpha * x) ** 2)


# first, for it needs what its package defines
surrogate("spaic.Learning.STCA_Learner:ActFun", x(0.2, number(0.7, False)), lambda x, t, a: ((x - t).abs() < a).to(x))  # fmt: skip
SPAIC = "spaic.Learning.surrogate:"
surrogate(SPAIC + "sigmoid", x(3.0), steep)
surrogate(SPAIC + "atan", x(number(2.0, False)), arctangent)
surrogate(SPAIC + "quadratic_gate", x(0.8), lambda x, a: (a - a * a * x.abs()).clamp(min=0))
surrogate("snetx.snn.algorithm:arc_tan", x(3.0), arctangent)
GSMC = "gsmc_torch.surrogate:"
surrogate(GSMC + "ATanSurrogate", x(2.0, 0.3), lambda x, a, cap: arctangent(x, a).clamp(max=cap))


def flux(x: Tensor, theta: float, cap: float = math.inf) -> Tensor:
    """What the time of a spike depends on x by, of those that fire."""
    return (theta / (x * (x - theta)).abs().clamp(min=1e-2)).clamp(max=cap) * (x >= theta)


surrogate(GSMC + "ExactSpike", x(0.5), lambda x, t: flux(x, t, 1.0), how="published formula, capped")  # fmt: skip
surrogate("qualia_plugin_snn.learningmodel.pytorch.layers.CustomNode:SpikeFunctionSigmoid", x(number(3.0, False)), steep)  # fmt: skip


def in_range(x: Tensor, scale: float) -> Tensor:
    return ((x >= -128 / scale) & (x <= 127 / scale)).to(x)


surrogate("hnn.grad:FakeQuantize", x(100.0), in_range)
surrogate("hnn.grad:FakeQuantizeFloor", x(100.0), in_range)
surrogate("hnn.grad:DifferentiableFloor", x(scale=3.0), one)
surrogate("hnn.snn.surrogate.rectangle:Rectangle", x(0.3), lambda x, t: ((x - t).abs() < 0.5).to(x), how="published formula; the spikes are in float32")  # fmt: skip
surrogate("robustness.tools.custom_modules:FakeReLU", x(), one, how="published formula: the identity behind a relu, for pictures of what excites a layer")  # fmt: skip
surrogate("s3prl.upstream.wavlm.modules:GradMultiply", x(0.1), lambda x, c: c * one(x))
surrogate("deeprobust.graph.targeted_attack.ugba:GradWhere", x(0.3, "cpu"), one, how="published formula; the steps are in float32")  # fmt: skip
EPS, ALPHA = torch.tensor([0.1], dtype=D), torch.tensor([1.2], dtype=D)
surrogate("nemo.quant.pact:PACT_QuantFunc", x(EPS, ALPHA), lambda x, _, a: ((x >= 0) & (x < a)).to(x))  # fmt: skip
surrogate("da.da_helpers:RevGrad", x(0.3), lambda x, c: -c * one(x))
HEBB = "astrohebbian.model:"
surrogate(HEBB + "SurrogateHeaviside", x(5.0), steep)
surrogate(HEBB + "ExactSpike", x(1.0, 0.5), lambda x, _, t: flux(x, t))
CORE = "sc_neurocore."
surrogate(CORE + "qat.lsq:_LSQQuantize", x(number(0.4, False), -2, 1, 0.5), lambda x, s, lo, hi, _: ((x / s >= lo) & (x / s <= hi)).to(x))  # fmt: skip
surrogate(CORE + "qat.torch_qat:_STEQuantize", x(3, True), one)
surrogate(CORE + "training.surrogate:_FastSigmoidLegacy", x(5.0), lambda x, c: c / (1 + c * x.abs()) ** 2)  # fmt: skip
surrogate(CORE + "training.surrogate:_SuperSpikeLegacy", x(10.0), lambda x, b: 1 / (1 + b * x.abs()) ** 2)  # fmt: skip
surrogate("zeta.nn.quant.ste:STEFunc", x(), one)
