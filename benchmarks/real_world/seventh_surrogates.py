"""The seventh blind bank's surrogates, after its right ones; seventh_showing.py says how they were chosen and verified."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.real_world import seventh  # noqa: F401
from benchmarks.real_world.entry import normal, x
from benchmarks.real_world.fifth_surrogates import one
from benchmarks.real_world.second_showing import number
from benchmarks.real_world.seventh_showing import surrogate


def bump(x: Tensor, k: float) -> Tensor:
    """The slope of tanh(k x)."""
    return k * (1 - torch.tanh(k * x) ** 2)


LEVELS = "omnibias.binary.torch.ops.quantize:"
surrogate(LEVELS + "_Binarize01Fn", x(3.0), lambda x, k: k * torch.sigmoid(k * x) * torch.sigmoid(-k * x))  # fmt: skip
surrogate(LEVELS + "_TernarizeFn", x(3.0, 0.5), lambda x, k, d: (bump(x - d, k) + bump(x + d, k)) / 2)  # fmt: skip
surrogate(LEVELS + "_KBitQuantizeFn", x(2, -1.0, 1.0, 3.0), lambda x, _, lo, hi, k: sum(2 / 3 * bump(x - (2 / 3 * i - 1), k) for i in (1, 2, 3)))  # fmt: skip

surrogate("sionna.phy.channel.discrete_channel:_STEBinarizer", x(), one, how="published formula; the bits are in float32")  # fmt: skip

PARO = "gptqmodel.quantization.paroquant.optimization:"
surrogate(PARO + "_RoundSTE", x(), one)
surrogate(PARO + "_ClampSTE", x(-0.5, 0.5), one)
surrogate(PARO + "_AffineQuantDequantSTE", x(normal(3, 1, seed=2).abs() + 0.1, normal(3, 1, seed=3), 0, 7, 4), one)  # fmt: skip

AFFINE = "aimet_torch.quantization.affine.backends.torch_builtins:"
STEP, OFFSET = number(0.3, False), number(1.0, False)


def within(x: Tensor, scale: Tensor, offset: Tensor, lo: int, hi: int, *_: float) -> Tensor:
    whole = torch.round(x / scale) - offset
    return ((whole >= lo) & (whole <= hi)).to(x)


surrogate("aimet_torch.utils:_StraightThroughEstimator", x(), one, made=lambda f: lambda a: f.apply(torch.sign, a))  # fmt: skip
surrogate(AFFINE + "QuantizeFunc", x(STEP, OFFSET, -4, 2), lambda x, s, *rest: within(x, s, *rest) / s)  # fmt: skip
surrogate(AFFINE + "QuantDequantFunc", x(STEP, OFFSET, -4, 2, 0.0), within)

surrogate("pygda.nn.reverse_layer:GradReverse", x(0.7), lambda x, c: -c * one(x))
surrogate("scnym.model:GradReverse", x(0.3), lambda x, c: -c * one(x))
surrogate("torchaudio.models.wav2vec2.components:GradMultiply", x(0.1), lambda x, c: c * one(x))

BITS = "bitnet_dllm.bitlinear:"
surrogate(BITS + "STEQuantizeInput", x(8), lambda x, q: q / x.abs().amax(-1, keepdim=True) * one(x), made=lambda f: lambda a, q: f.apply(a, q)[0])  # fmt: skip
surrogate(BITS + "STEQuantizeWeight", x(), one, made=lambda f: lambda a: f.apply(a)[0])
