"""The second blind bank's surrogates, after its right ones; second_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
import math
from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.second import JUMP, THRESHOLD
from benchmarks.real_world.second_showing import D, number, surrogate


def one(x: Tensor, *_: Any) -> Tensor:
    return torch.ones_like(x)


def bell(x: Tensor, a: float) -> Tensor:
    s = torch.sigmoid(a * x)
    return a * s * (1 - s)


surrogate("kale.pipeline.domain_adapter:GradReverse", x(0.7), lambda x, a: -a * torch.ones_like(x))
surrogate("nerfstudio.model_components.losses:_GradientScaler", of(grad(3, 4), normal(3, 1, seed=1).abs()), lambda x, s: s * torch.ones_like(x))  # fmt: skip
BRAIN = "braincog.base.strategy.surrogate:"
surrogate(BRAIN + "sigmoid", x(2.0), bell)
surrogate(BRAIN + "atan", x(number(2.0, False)), lambda x, a: a / 2 / (1 + (math.pi / 2 * a * x) ** 2))  # fmt: skip
surrogate(BRAIN + "gate", x(2.0), lambda x, a: (x.abs() < 1 / a).to(x))
surrogate(BRAIN + "ei", x(), lambda x: (x.abs() < 0.5).to(x))
surrogate("diffsptk.modules.quantize:Round", x(scale=3.0), one)
surrogate("diffsptk.modules.quantize:Floor", x(scale=3.0), one)


def policy() -> Any:
    return importlib.import_module("esp_ppq.core").RoundingPolicy.ROUND_HALF_EVEN


def linear_quantiser() -> tuple[Any, ...]:
    return grad(3, 4), torch.tensor([0.25], dtype=D), torch.tensor([0.0], dtype=D), -4, 3, policy()


surrogate("esp_ppq.utils.round:PPQTensorRoundImpl", x(scale=3.0), one)
surrogate("esp_ppq.quantization.qfunction.linear:TensorwiseLinearQuantImpl", linear_quantiser, lambda x, s, o, low, high, _: ((torch.round(x / s) >= low) & (torch.round(x / s) <= high)).to(x))  # fmt: skip
surrogate("modelopt.torch.quantization.tensor_quant:IntCastSTEFunction", x(4, scale=6.0), lambda x, n: (x.abs() <= 7).to(x))  # fmt: skip
surrogate("modelopt.torch.quantization.tensor_quant:FakeTensorQuantFunction", x(number(1.2, False)), lambda x, a: (x.abs() <= a).to(x))  # fmt: skip
surrogate("pytorchcv.models.wrn1bit_cifar:Binarize", of(grad(2, 3, 2, 2)), one)
surrogate(JUMP + "RectangleFunction", x(), lambda x: (x.abs() < 0.5).to(x))


def threshold_slope(weight: Any, kernel: Any, passed: Any) -> Any:
    """Whether x gets ``passed`` of the upstream gradient, and the threshold -weight · kernel((x - t) / width) / width."""

    def shown(function: Any) -> bool:
        at, t = X.clone().requires_grad_(True), THRESHOLD.clone().requires_grad_(True)
        up = normal(3, 4, seed=1)
        out = function.apply(at, t, *shown.rest)
        given = torch.autograd.grad(out, (at, t), up.to(out.dtype), allow_unused=True)
        bump = kernel((X - THRESHOLD) / 0.5) / 0.5
        meant = passed(bump) * up, (-weight(THRESHOLD) * bump * up).sum(0)
        return all(
            torch.allclose(torch.zeros_like(b) if a is None else a, b)
            for a, b in zip(given, meant, strict=True)
        )

    return shown


def rectangle(z: Tensor) -> Tensor:
    return ((z > -0.5) & (z < 0.5)).to(z)


def gaussian(z: Tensor) -> Tensor:
    return torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def smooth_kernel(delta: Tensor, width: float) -> Tensor:
    return gaussian(delta / width)


def open_gate(_: Tensor) -> Tensor:
    return (X > THRESHOLD).to(X)


def closed(bump: Tensor) -> Tensor:
    return torch.zeros_like(bump)


def stepping(where: str, weight: Any, kernel: Any, passed: Any, *rest: Any) -> None:
    shown = threshold_slope(weight, kernel, passed)
    shown.rest = rest
    inputs = of(grad(3, 4), THRESHOLD.clone().requires_grad_(True), *rest)
    surrogate(
        where,
        inputs,
        None,
        shown=shown,
        how="published formula of the threshold's gradient; x's is the derivative or its formula",
    )


unit = torch.ones_like
stepping(JUMP + "JumpReLUFunction", lambda t: t, rectangle, open_gate, 0.5)
stepping(JUMP + "StepFunction", unit, rectangle, closed, 0.5)
stepping("overcomplete.sae.jump_sae:JumpReLU", lambda t: t, gaussian, open_gate, smooth_kernel, 0.5)
stepping("overcomplete.sae.jump_sae:HeavisidePseudoGradient", unit, gaussian, closed, smooth_kernel, 0.5)  # fmt: skip
stepping("sae_lens.saes.jumprelu_sae:Step", unit, rectangle, lambda bump: bump, 0.5, True)
stepping("sae_lens.saes.jumprelu_sae:JumpReLU", lambda t: t, rectangle, open_gate, 0.5, False)
