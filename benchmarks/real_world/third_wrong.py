"""The third blind bank's wrong Functions, after all others; third_showing.py says how they were chosen and verified."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.real_world import third_surrogates  # noqa: F401
from benchmarks.real_world.entry import X, grad, leaves, normal, of, x
from benchmarks.real_world.second_showing import (
    D,
    no_gradgradcheck,
    number,
    overwrites,
    same_as,
    stops,
)
from benchmarks.real_world.third import (
    AT,
    CHEETAH,
    HEADS,
    INTDEQUANT,
    LAYER,
    LIGER,
    RNNT,
    ROTATION,
    SOFT_DTW,
    SPD,
    SPOKEN,
    TABULAR,
    compiled,
    distances,
    matrix,
    transducer,
)
from benchmarks.real_world.third_showing import (
    but,
    of_symmetric,
    other_second,
    second_pass_stops,
    selected,
    sideways,
    soft_dtw,
    spd,
    upstream_overwritten,
    wrong,
)

wrong("onmt.modules.sparse_activations:SparsemaxFunction", x(1), "forward overwrites its input", overwrites(x(1)))  # fmt: skip
wrong("onmt.modules.sparse_losses:SparsemaxLossFunction", x(torch.tensor([0, 2, 1])), "gradcheck: the upstream gradient is left out")  # fmt: skip
wrong("supar.structs.fn:SampledLogsumexp", x(-1), "backward stops, always: the tuple of saved tensors is taken for the one in it", stops(x(-1), AttributeError))  # fmt: skip
wrong("iunets.cayley:cayley", of(grad(3, 3)), "gradcheck, of a skew-symmetric matrix, which the package takes it of: the gradient of (I + A)⁻¹(I - A) is -2 (I + A)⁻ᵀ G (I + A)⁻ᵀ", made=lambda f: lambda a: f.apply(a - a.mT))  # fmt: skip
wrong("iunets.expm:expm", of((0.1 * normal(3, 3)).requires_grad_(True)), "gradcheck, which torch.matrix_exp passes: `V = U + b[0]*I` where `V = V + b[0]*I` belongs, wherever fewer than 13 terms do (in float32 always)")  # fmt: skip


def recomputed(function: Any) -> Any:
    """A layer that is computed again in backward, as the package's checkpoint calls it."""
    layer = lambda w, b: lambda t: torch.tanh(F.linear(t, w, b))  # noqa: E731
    return lambda x, w, b: function.apply(layer(w, b), 1, x, w, b)


BLOCK = of(grad(2, 3), grad(3, 3, seed=1), grad(3, seed=2))
FROZEN = of(*BLOCK()[:2], normal(3, seed=2))
wrong("torchcfm.models.unet.nn:CheckpointFunction", BLOCK, "backward stops in a second pass through a graph that was kept, for it deletes its inputs, and where a parameter needs no gradient", but(second_pass_stops(BLOCK, AttributeError), stops(FROZEN)), recomputed)  # fmt: skip
ALONE = of(grad(2, 3), grad(1, 3, seed=1), grad(1, seed=2))
wrong(LAYER + "linear:LinearGrad", ALONE, "backward stops for a layer with one output: the bias's gradient is squeezed to a number", stops(ALONE))  # fmt: skip
BATCHES = of(grad(2, 5, 3), grad(4, 3, seed=1), grad(4, seed=2))
wrong(LAYER + "linear:LinearGrad", BATCHES, "backward stops for inputs of three dimensions, which forward takes: `mm` where `matmul` belongs", stops(BATCHES))  # fmt: skip
wrong("biotorch.autograd.fa.linear:LinearGrad", of(grad(2, 3), grad(4, 3, seed=1), normal(4, 3, seed=3), grad(4, seed=2), None), "gradcheck: as documented it is not the derivative: feedback alignment has another weight in backward")  # fmt: skip

ADAM = "torchopt.accelerated_op.adam_op:AdamOp."
VARIANCE = (normal(3, 4, seed=1).abs() + 0.1).requires_grad_(True)
wrong(ADAM + "UpdatesOp", of(grad(3, 4), VARIANCE, (0.9, 0.999, 1e-8, 1e-3, 3)), "gradcheck, which it passes for eps_root = 0: eps_root is added to 1 - b2ᵗ, not to ν / (1 - b2ᵗ)")  # fmt: skip
STILL = X.masked_fill(X.max() == X, 0).requires_grad_(True)
wrong(ADAM + "UpdatesOp", of(STILL, VARIANCE, (0.9, 0.999, 1e-8, 0.0, 3)), "gradcheck: a mean of 0 gets the gradient 0, for it was divided by; the slope is 1 / ((1 - b1ᵗ) (√ν̂ + eps))")  # fmt: skip


def no_forward_mode(function: Any) -> bool:
    """Whether there is a jvp, and forward mode ends in an error of torch's own."""
    a, b, rate = MOMENT()
    with torch.autograd.forward_ad.dual_level():
        try:
            dual = torch.autograd.forward_ad.make_dual(a.detach(), torch.ones_like(a))
            out = function.apply(dual, b.detach(), rate)
            tangent = torch.autograd.forward_ad.unpack_dual(out).tangent
        except RuntimeError:
            return "jvp" in vars(function)
    return tangent is None


MOMENT = of(grad(3, 4), grad(3, 4, seed=1), 0.9)
wrong(ADAM + "MuOp", MOMENT, "forward mode ends in an internal error of torch: jvp is there and gives nothing (gradcheck accepts backward)", no_forward_mode)  # fmt: skip
wrong("mlstm_kernels.torch.parallel.native.fwbw:_mlstm_parallel_fwbw_float32", HEADS, "gradcheck of the hidden states: the normaliser max(|qᵀn|, e⁻ᵐ) is taken for a constant", made=lambda f: lambda *args: f.apply(*args)[0])  # fmt: skip


class Layer:
    """What the tiles are given to."""

    weight = normal(3, 3, seed=1)


def tiled(function: Any) -> Any:
    def layer(module: Layer, a: Tensor) -> Tensor:
        return torch.tanh(a @ module.weight.to(a))

    return lambda a: function.apply(layer, Layer(), a, 2, None)


TILES = of(grad(2, 5, 3))
wrong("liger_kernel.ops.tiled_mlp:LigerTiledMLPFunction", TILES, "backward stops at a transposed x, which forward takes: the contiguous copy that is saved needs no gradient", sideways(TILES), tiled)  # fmt: skip
SHORT = distances([[4, 5], [3, 2]])


def only_forward(function: Any) -> bool:
    """Whether the costs are those of plain torch, and the gradients are not."""
    args = leaves(SHORT())
    cost = function.apply(*args).double()
    plain = soft_dtw(args[0].double(), *args[1:])
    near = torch.allclose(cost, plain, 1e-4, 1e-4)
    return near and not same_as(soft_dtw, SHORT, 1e-2)(function)


wrong(SOFT_DTW, SHORT, "own comparison with plain torch: for a pair shorter than the longest the gradient has a factor e^(-d/γ) too many, of the distance behind its end; the costs are right", only_forward, compiled)  # fmt: skip
wrong("warprnnt_numba.rnnt_loss.rnnt_numpy:LogSoftmaxGradModification", x(0.3), "gradcheck: as documented it is not the derivative: an identity that clamps the upstream gradient")  # fmt: skip
wrong(RNNT, SPOKEN, "gradcheck: as documented it is not the derivative: FastEmit scales gradients, and the cost stays", made=transducer(0.3))  # fmt: skip
FAR = of(torch.tensor([16.0, 17.5, 3.0], dtype=D, requires_grad=True))
wrong("kiui.nn:_TruncExp", FAR, "as documented it is not the derivative: beyond 15 the slope is that at the bound")  # fmt: skip
NEAR = of(torch.tensor([1e-4, 1e-4, 0.5], dtype=D, requires_grad=True), torch.tensor([1e-4, -2e-4, 0.1], dtype=D, requires_grad=True))  # fmt: skip
wrong(ROTATION + "Safeatan2", NEAR, "gradcheck: closer to the origin than 3·10⁻⁴ the square of the distance is taken for 10⁻⁷, on purpose")  # fmt: skip
wrong(INTDEQUANT, of(grad(3, 4), number(0.25, False), number(3.0, False)), "gradcheck: the zero point is subtracted from the upstream gradient")  # fmt: skip
wrong("bitorch.quantizations.progressive_sign:ProgressiveSignFunctionTrain", x(0.5), "gradcheck: as documented it is not the derivative: hardtanh(x / (1 - t)), which steps nowhere, passes the gradient on as it is")  # fmt: skip

LRP = "gradcheck: as documented it is not the derivative but a share of relevance: "
LXT = "lxt.functional:"
wrong(LXT + "linear_epsilon_fn", of(grad(2, 3), normal(4, 3, seed=1), normal(4, seed=2)), LRP + "x Wᵀ (r / y)")  # fmt: skip
wrong(LXT + "rms_norm_identity_fn", of(grad(3, 4), normal(4, seed=1), 1e-6), LRP + "all of it")
INPLACE = of(grad(3, 4), grad(3, 4, seed=1), True)
wrong(LXT + "add2_tensors_fn", INPLACE, "the upstream gradient is overwritten in place, on request", upstream_overwritten(INPLACE))  # fmt: skip

TWICE = "gradgradcheck: the first derivative is right, the second is given and is wrong: "
ZERO = of(AT)
wrong(CHEETAH + "Log1PDiv", ZERO, TWICE + "nan at 0, the singularity that it is there to remove: 0 / 0 in a branch of `where`", no_gradgradcheck(ZERO), second="wrong")  # fmt: skip
NORM = of(grad(2, 4, 2, 2), grad(4, seed=1), grad(4, seed=2), 1e-6)
wrong("spandrel.architectures.NAFNet.__arch.arch_util:LayerNormFunction", NORM, TWICE + "normalised numbers and variance are saved, intermediates", no_gradgradcheck(NORM), second="wrong")  # fmt: skip
KERNELS = of(grad(1, 2, 2, 2), grad(1, 2, 2, 2, seed=1), 3, 1, grad(2, 2, seed=2), grad(2, 36, seed=3))  # fmt: skip
wrong("spandrel.architectures.KBNet.__arch.kb_utils:KBAFunction", KERNELS, TWICE + "the attention is kept in another shape, made in forward", no_gradgradcheck(KERNELS), second="wrong")  # fmt: skip
SPARSE = x(-1)
wrong(TABULAR + "Entmax15Function", SPARSE, TWICE + "nan where the output is 0, for its root is differentiated", no_gradgradcheck(SPARSE), second="wrong")  # fmt: skip
POWER = of(spd(2, 3, 3), number(0.7))
wrong(SPD + "core:matrix_power", POWER, TWICE + "eigenvalues and eigenvectors are saved, intermediates, and multiplied with an exponent that has a graph", no_gradgradcheck(POWER), of_symmetric, "wrong")  # fmt: skip
TWO = of(spd(2, 3, 3), spd(2, 3, 3, seed=1))
wrong(SPD + "metrics.bures_wasserstein:_BuresWassersteinDistanceFunction", TWO, TWICE + "roots are saved, intermediates", no_gradgradcheck(TWO), of_symmetric, "wrong")  # fmt: skip
CHUNKS = of(normal(6, 4).float().requires_grad_(True), normal(5, 4, seed=1).float().requires_grad_(True), torch.tensor([0, 2, 4, 1, 1, 3]), normal(5, seed=2).float().requires_grad_(True), 0.7, 2)  # fmt: skip
wrong(LIGER + "fused_linear_ppo:_ChunkedSelectiveLogProbFunction", CHUNKS, "own comparison with plain torch, in float32: the first derivative is right, the second is given and is wrong: the normaliser is saved, an intermediate", other_second(selected, CHUNKS, 1e-4), second="wrong")  # fmt: skip


def penalty_lost(function: Any) -> bool:
    """Whether the gradient of a sum of squares is right, and its own gradient is nothing, without an error."""
    at, matrix = grad(3, 1), normal(4, 3)
    (first,) = torch.autograd.grad(function.apply(at).square().sum(), at, create_graph=True)
    first.sum().backward()
    return torch.allclose(first, 2 * matrix.T @ matrix @ at) and at.grad is None


COLUMN = of(grad(3, 1))
wrong("sigpy.pytorch:to_pytorch_function", COLUMN, "own program: the first derivative is right, a penalty on it has no gradient, and no error: backward gives a new leaf that requires grad", penalty_lost, matrix, "wrong")  # fmt: skip
