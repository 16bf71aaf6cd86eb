"""The fourth blind bank's surrogates, after its right ones; fourth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
import math
from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world import fourth  # noqa: F401
from benchmarks.real_world.entry import grad, leaves, normal, of, x
from benchmarks.real_world.fourth_showing import surrogate
from benchmarks.real_world.second_showing import number


def one(x: Tensor, *_: Any) -> Tensor:
    return torch.ones_like(x)


def within(x: Tensor, *_: Any) -> Tensor:
    return (x.abs() <= 1).to(x)


def steep(x: Tensor, c: float, *_: Any) -> Tensor:
    return c * torch.sigmoid(c * x) * (1 - torch.sigmoid(c * x))


def arctangent(x: Tensor, alpha: float) -> Tensor:
    return alpha / 2 / (1 + (math.pi / 2 * alpha * x) ** 2)


surrogate("spikingtorch.layers:Step", x(5.0), steep)
surrogate("snntorch_ternary.surrogate:ATan", x(2.0), arctangent)
surrogate("bnn.ops:SignActivation", x(), within)

ELASTIC = "elasticai.creator."
surrogate(ELASTIC + "nn.binary.binary_quantization_function:Binarize", x(), within)


def fixed_point(function: Any) -> Any:
    """To multiples of 1/8, of six bits, by an object that says so."""
    module = importlib.import_module("elasticai.creator.arithmetic")
    config = module.FxpArithmetic(module.FxpParams(total_bits=6, frac_bits=3, signed=True))
    return lambda a: function.apply(a, config)


surrogate(ELASTIC + "nn.fixed_point.fxp_round_cut:RoundToFixedPoint", x(), one, made=fixed_point)
GRADS = "elasticai.creator_plugins.quantized_grads.fixed_point."
surrogate(GRADS + "quantize_to_fixed_point:Round", x(scale=3.0), one)
BOUNDS = tuple(number(v, False) for v in (8.0, -2.0, 1.5))
surrogate(GRADS + "autograd:QuantizeForwStochasticAutograd", x(*BOUNDS), one, how="published formula; forward rounds at random")  # fmt: skip

PYCHOP = "pychop.tch."


def chopped(function: Any) -> Any:
    """To five bits of exponent and four of significand."""
    chop = importlib.import_module("pychop.tch.layers").ChopSTE(exp_bits=5, sig_bits=4, rmode=1)
    return lambda a: function.apply(a, chop)


surrogate(PYCHOP + "layers:FakeQuantizeSTE", x(), one, made=chopped)


def blocks(function: Any) -> Any:
    """To a microscaling format, by NumPy."""
    spec = importlib.import_module("pychop.tch.mx_formats").create_mx_spec(exp_bits=4, sig_bits=3)
    return lambda a: function.apply(a, spec, 4, None, None)


surrogate(PYCHOP + "mx_formats:MXQuantizeSTE", x(), one, made=blocks)
surrogate("qsparse.quantize:LineQuantization", x(4, (-1.0, 1.0), -1, False, True), one)
surrogate("qsparse.quantize:ScalerQuantization", x(8, 0.1, -1, False, True, False), one, how="published formula, passed through as it is, on request")  # fmt: skip
NEURAL = "neuralcompression.functional._lower_bound:_LowerBound"
surrogate(NEURAL, x(number(0.2, False), 1), one, how="published formula: the identity, below the bound too")  # fmt: skip


def replaced(function: Any) -> bool:
    """Whether the first argument's values come out, and the upstream gradient reaches the second, summed over what was broadcast."""
    a, b = leaves(STANDS())
    out, up = function.apply(a, b), normal(3, 4, seed=5)
    (given,) = torch.autograd.grad(out, b, up)
    return out.equal(a) and torch.allclose(given, up.sum(0))


STANDS = of(normal(3, 4).sign(), grad(4, seed=1))
surrogate("homura.modules.functional.grad_approximation:_CustomSTE", STANDS, None, shown=replaced, how="published formula: the second argument's gradient for the first's values")  # fmt: skip


def rounded(wrapper: Any) -> Any:
    """A rounding whose backward is the identity, as the package's attacks wrap it."""
    return wrapper._create_func(torch.round, None, None)


def soft_rounded(wrapper: Any) -> Any:
    """A rounding whose gradient is that of a function that is given in its place."""
    soft = lambda t: t - torch.sin(2 * math.pi * t) / (2 * math.pi)  # noqa: E731
    return wrapper._create_func(torch.round, None, soft)


surrogate("advertorch.bpda:BPDAWrapper", x(scale=3.0), one, made=rounded)
surrogate("advertorch.bpda:BPDAWrapper", x(scale=3.0), lambda t: 1 - torch.cos(2 * math.pi * t), made=soft_rounded)  # fmt: skip
