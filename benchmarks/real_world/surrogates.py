"""Surrogates of public packages: spikes, quantisers, reversed and scaled gradients, straight through."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world.entry import normal, surrogate

SNN = "snntorch.surrogate:"
JELLY = "spikingjelly.activation_based.surrogate:"
QUANTISE = "spikingjelly.activation_based.quantize:"
BREVITAS = "brevitas.ops.autograd_ste_ops:"
NORSE = "norse.torch.functional.threshold:"
X = normal(3, 4)


def x(*rest: Any) -> Any:
    """Inputs: a tensor that is differentiated, and more arguments."""
    return lambda: (X.clone().requires_grad_(True), *rest)


def one(x: Tensor, *_: Any) -> Tensor:
    return torch.ones_like(x)


def sech2(x: Tensor, k: Any) -> Tensor:
    return 1 - torch.tanh(k * x) ** 2


def bell(x: Tensor, a: float) -> Tensor:
    s = torch.sigmoid(a * x)
    return a * s * (1 - s)


surrogate(SNN + "StraightThroughEstimator", x(), one)
surrogate(SNN + "Triangular", x(1.0), lambda x, t: torch.where(x >= 0, -t, t) * torch.ones_like(x))
surrogate(SNN + "FastSigmoid", x(5.0), lambda x, k: 1 / (1 + k * x.abs()) ** 2)
surrogate(SNN + "ATan", x(2.0), lambda x, a: a / 2 / (1 + (math.pi / 2 * a * x) ** 2))
surrogate(SNN + "Heaviside", x(), lambda x: (x > 0).to(x))
surrogate(SNN + "Sigmoid", x(5.0), bell)
surrogate(SNN + "SpikeRateEscape", x(1.0, 5.0), lambda x, b, k: k * torch.exp(-b * (x - 1).abs()))
surrogate(SNN + "SparseFastSigmoid", x(5.0, 0.2), lambda x, k, b: (x > b) / (1 + k * x.abs()) ** 2)
surrogate(SNN + "CustomSurrogate", x(lambda x, g, out: g * torch.exp(-x.abs())), lambda x, f: torch.exp(-x.abs()))  # fmt: skip
surrogate("snntorch.functional.quant:StateQuant", x(torch.tensor([-1.0, -0.3, 0.2, 0.9], dtype=torch.float64)), one)  # fmt: skip

surrogate(JELLY + "piecewise_quadratic", x(1.0), lambda x, a: (a - a * a * x.abs()).clamp(min=0))
surrogate(JELLY + "piecewise_exp", x(1.5), lambda x, a: a / 2 * torch.exp(-a * x.abs()))
surrogate(JELLY + "sigmoid", x(4.0), bell)
surrogate(JELLY + "soft_sign", x(2.0), lambda x, a: 1 / (2 * a * (1 / a + x.abs()) ** 2))
surrogate(JELLY + "super_spike", x(1.5), lambda x, a: a / (1 + x.abs()) ** 2)
surrogate(JELLY + "atan", x(2.0), lambda x, a: a / 2 / (1 + (math.pi / 2 * a * x) ** 2))
surrogate(JELLY + "nonzero_sign_log_abs", x(1.0), lambda x, a: 1 / (1 / a + x.abs()))
surrogate(JELLY + "erf", x(2.0), lambda x, a: a / math.sqrt(math.pi) * torch.exp(-((a * x) ** 2)))
surrogate(JELLY + "piecewise_leaky_relu", x(1.0, 0.01), lambda x, w, c: torch.where(x.abs() < w, 1 / (2 * w), c))  # fmt: skip
surrogate(JELLY + "s2nn", x(4.0, 1.0), lambda x, a, b: torch.where(x < 0, bell(x, a), b / (x.abs() + 1)))  # fmt: skip
surrogate(JELLY + "q_pseudo_spike", x(2.0), lambda x, a: (1 + 2 / (a - 1) * x.abs()) ** -a)
surrogate(JELLY + "leaky_k_relu", x(0.1, 1.0), lambda x, leak, k: torch.where(x >= 0, k, leak) * torch.ones_like(x))  # fmt: skip
surrogate(JELLY + "log_tailed_relu", x(0.1), lambda x, a: torch.where(x > 1, 1 / x, torch.where(x > 0, 1.0, a)))  # fmt: skip
surrogate(JELLY + "rect", x(1.0), lambda x, a: a * (x.abs() < 0.5 / a))
surrogate(JELLY + "fake_numerical_gradient", x(3.0), lambda x, a: torch.clamp_max(1 / x.abs(), a))
surrogate(QUANTISE + "RoundATGF", x(), one)
surrogate(QUANTISE + "CeilATGF", x(), one)
surrogate(QUANTISE + "FloorATGF", x(), one)
surrogate(QUANTISE + "StepQuantizeATGF", x(0.25), one)
surrogate(QUANTISE + "KBitQuantizeATGF", x(3), one)
surrogate(QUANTISE + "MultiLevelSpikeCountATGF", x(4, -0.5, 4.5), lambda x, n, a, b: ((x >= a) & (x <= b)).to(x))  # fmt: skip

surrogate(NORSE + "HeaviErfc", x(torch.tensor(2.0)), lambda x, k: 2 * torch.exp(-((k * x) ** 2)) / math.sqrt(math.pi))  # fmt: skip
surrogate(NORSE + "HeaviTanh", x(torch.tensor(2.0)), sech2)
surrogate(NORSE + "HeaviTent", x(torch.tensor(2.0)), lambda x, a: torch.relu(1 - x.abs()) * a)
surrogate(NORSE + "HeaviCirc", x(torch.tensor(0.5)), lambda x, a: a * (1 / (a**2 + x**2).sqrt() - x**2 / (a**2 + x**2) ** 1.5))  # fmt: skip
surrogate("norse.torch.functional.superspike:SuperSpike", x(10.0), lambda x, a: 1 / (1 + a * x.abs()) ** 2)  # fmt: skip

for ste in ("RoundToZeroSteFn", "DPURoundSteFn", "CeilSteFn", "FloorSteFn", "BinarySignSteFn", "TernarySignSteFn", "RoundSteFn"):  # fmt: skip
    surrogate(BREVITAS + ste, x(), one)
surrogate(BREVITAS + "ScalarClampSteFn", x(-0.5, 0.5), one)
surrogate(BREVITAS + "ScalarClampMinSteFn", x(-0.3), one)
surrogate(BREVITAS + "TensorClampSteFn", x(torch.full((3, 4), -0.5), torch.full((3, 4), 0.5)), one)

SPACE = SimpleNamespace(_scaler=None, zero_point=0.0, scale=0.25, qmin=-4, qmax=4)
surrogate("nni.compression.base.apply_method:ClampRound", x(SPACE), one)
surrogate("nni.compression.base.apply_method:_StraightThrough", x((normal(3, 4, seed=2) > 0).double()), one)  # fmt: skip
surrogate("torchao.quantization.quant_primitives:_Round", x(), one)
surrogate("torchao.prototype.quantization.module_swap.quantizers:RoundStraightThrough", x(), one)
surrogate("sinabs.activation.quantize:Quantize", x(), one)
surrogate("rockpool.nn.modules.torch.lif_torch:ThresholdSubtract", x(1.0, 0.5), lambda x, t, w: (x >= t - w).to(x))  # fmt: skip
surrogate("transformers.models.ibert.quant_modules:floor_ste", x(), one)
surrogate("transformers.models.ibert.quant_modules:round_ste", x(), one)
surrogate("pyro.distributions.relaxed_straight_through:QuantizeCategorical", x(), one)
surrogate("pyro.distributions.relaxed_straight_through:QuantizeBernoulli", x(), one)

surrogate("pytorch_revgrad.functional:RevGrad", x(torch.tensor(0.7)), lambda x, a: -a * torch.ones_like(x))  # fmt: skip
surrogate("pytorch_adapt.layers.gradient_reversal:_GradientReversal", x(0.7), lambda x, a: -a * torch.ones_like(x))  # fmt: skip
surrogate("dalib.modules.grl:GradientReverseFunction", x(0.7), lambda x, a: -a * torch.ones_like(x))
surrogate("geomloss._legacy.kernel_samples:DoubleGrad", x(), lambda x: 2 * torch.ones_like(x))
surrogate("torchdiffeq._impl.misc:_StitchGradient", lambda: (X.clone().requires_grad_(True), X + 1e-9), one)  # fmt: skip
surrogate("compressai.layers.layers:QReLU", lambda: ((40 * X).requires_grad_(True), 4, 2.0), lambda x, n, b: torch.where((x < 0) | (x > 15), torch.exp(-(0.9943258522851727**b) * (2 * x / 15 - 1).abs() ** b), 1.0))  # fmt: skip
surrogate("pyro.contrib.oed.eig:_EwmaLogFn", lambda: (X.abs().requires_grad_(True), X.abs() + 0.3), lambda x, e: 1 / e, surrogate=lambda x, e: x / e)  # fmt: skip
