"""The third blind bank's right Functions; third_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.second_showing import D, gradcheck_of, number, quotient, same_as
from benchmarks.real_world.third_showing import (
    but,
    of_symmetric,
    right,
    soft_dtw,
    spd,
    whole,
)

POSITIVE = of((X.abs() + 0.3).requires_grad_(True))
PAIR = of(grad(3, 4), grad(3, 4, seed=1))
ROOT = of((X.abs() + 0.5).requires_grad_(True), (normal(3, 4, seed=1).abs() + 0.2).requires_grad_(True))  # fmt: skip
CHEETAH = "cheetah.utils.autograd:"
BOTH = "gradcheck, backward and forward mode"
right(CHEETAH + "Log1PDiv", POSITIVE, "right", BOTH, gradcheck_of(POSITIVE, check_forward_ad=True))
right(CHEETAH + "Si1MDiv", POSITIVE, "right", BOTH, gradcheck_of(POSITIVE, check_forward_ad=True))
right(CHEETAH + "CosSqrtMCosDivDiff", PAIR, "right", BOTH, gradcheck_of(PAIR, check_forward_ad=True))  # fmt: skip
right(CHEETAH + "SqrtA2MinusBDivA", ROOT, "right", BOTH, gradcheck_of(ROOT, check_forward_ad=True))

right("deel.torchlip.utils.sqrt_eps:SqrtEpsGrad", of((X.abs() + 0.3).requires_grad_(True), 1e-6), "right", "gradcheck, away from 0: as documented less by a part of 10⁻⁶/√x")  # fmt: skip
right("kiui.nn:_TruncExp", x(), "right")
right("pywick.functions.activations_autofn:MishAutoFn", x(), "right")
right("pywick.functions.activations_jit:SwishJitAutoFn", x(), "right")
right("qmctorch.utils.algebra_utils:BatchDeterminant", of(grad(2, 3, 3)), "right")
right("supar.structs.fn:SparsemaxFunction", x(-1), "right")
TABULAR = "pytorch_tabular.models.common.layers.activations:"
right(TABULAR + "SparsemaxFunction", x(-1), "right")
right(TABULAR + "Entmoid15", x(), "raises")

ROTATION = "fairchem.core.models.uma.common.rotation:"
right(ROTATION + "Safeacos", of(X.tanh().requires_grad_(True)), "missing")
right(ROTATION + "Safeatan2", PAIR, "right")

LAYER = "biotorch.autograd.dfa."
right(LAYER + "linear:LinearGrad", of(grad(2, 3), grad(4, 3, seed=1), grad(4, seed=2)), "right")
right(LAYER + "conv:Conv2dGrad", of(grad(2, 2, 4, 4), grad(3, 2, 3, 3, seed=1), grad(3, seed=2), 1, 1, 1, 1), "right")  # fmt: skip

SYMMETRIC = "gradcheck, of the symmetric part of a matrix"
SPD = "spd_learn.functional."
right(SPD + "core:matrix_log", of(spd(2, 3, 3)), "missing", SYMMETRIC, made=of_symmetric)
right(SPD + "core:matrix_sqrt_inv", of(spd(2, 3, 3)), "missing", SYMMETRIC, made=of_symmetric)
right(SPD + "core:matrix_power", of(spd(2, 3, 3), 0.7), "missing", SYMMETRIC, made=of_symmetric)
right(SPD + "metrics.log_cholesky:cholesky_log", of(spd(2, 3, 3)), "missing", SYMMETRIC, made=of_symmetric)  # fmt: skip
right(SPD + "metrics.log_cholesky:cholesky_exp", of(grad(2, 3, 3)), "missing")
right("ot.backend:TorchBackend", of(spd(3, 3)), "missing", made=lambda b: b().MatrixSqrtFunction)


def with_gradients(backend: Any) -> Any:
    """A sum whose gradients are given, as the package gives those of a transport's cost."""

    def call(a: Tensor, b: Tensor) -> Tensor:
        at, along = a.detach(), b.detach()
        value = (at**2).sum() + torch.sin(along).sum()
        return backend().set_gradients(value, (a, b), (2 * at, torch.cos(along)))

    return call


right("ot.backend:TorchBackend", of(grad(2, 3), grad(4, seed=1)), "missing", "gradcheck of ValFunction, through set_gradients", made=with_gradients)  # fmt: skip


def mlstm(normalize: bool) -> Any:
    """The hidden states, without the normaliser that is returned beside them."""

    def made(generator: Any) -> Any:
        function = generator(torch.float32, True, normalize)
        return lambda *args: function.apply(*args)[0]

    return made


HEADS = of(grad(1, 2, 4, 3), grad(1, 2, 4, 3, seed=1), grad(1, 2, 4, 2, seed=2), grad(1, 2, 4, seed=3), grad(1, 2, 4, seed=4))  # fmt: skip
SIGING = "mlstm_kernels.torch.parallel.native_siging.fwbw:_mlstm_siging_parallel_fwbw_generator"
right(SIGING, HEADS, "right", made=mlstm(False))
right(SIGING, HEADS, "right", "gradcheck, normalised", made=mlstm(True))

STUDENT = normal(6, 4), normal(5, 4, seed=1)
DISTILLED = of(*(t.float().requires_grad_(True) for t in STUDENT))
LABELS = torch.tensor([0, 2, 4, 1, -100, 3])


def distilled(function: Any) -> Any:
    """Of a student's inputs and weight the loss for a teacher that is given, in chunks of two."""
    teacher = normal(6, 3, seed=2), normal(5, 3, seed=3)

    def call(a: Tensor, w: Tensor) -> Tensor:
        given = (t.to(a) for t in teacher)
        return function.apply(a, w, *given, LABELS, None, None, 0.5, 0.5, 0.5, -100, 1.0, False, 2)

    call(*DISTILLED()).backward()  # the first call imports for longer than all the rest takes
    return call


QUOTIENTS = "difference quotients over 0.02 for each argument in float64: the loss is float32"
LIGER = "liger_kernel.chunked_loss."
EACH = but(
    quotient(of(*STUDENT), 0.02, 1e-4),
    lambda f: quotient(of(*STUDENT[::-1]), 0.02, 1e-4)(lambda w, a: f(a, w)),
)
right(LIGER + "jsd_loss:LigerFusedLinearJSDFunction", DISTILLED, "missing", QUOTIENTS, EACH, distilled)  # fmt: skip
right(LIGER + "cosine_similarity_loss:LigerFusedLinearCosineSimilarityFunction", DISTILLED, "missing", QUOTIENTS, EACH, distilled)  # fmt: skip

SPOKEN = of(normal(2, 3, 3, 4).log_softmax(-1).requires_grad_(True))
WORDS = torch.tensor([[1, 2], [2, 3]], dtype=torch.int32)
FRAMES, LETTERS = torch.tensor([3, 3], dtype=torch.int32), torch.tensor([2, 2], dtype=torch.int32)


def transducer(emission: float) -> Any:
    """The loss of log probabilities; what is not contiguous is refused with a sentence, so it is made so."""

    def made(function: Any) -> Any:
        def call(acts: Tensor) -> Tensor:
            return function.apply(
                acts.contiguous(), WORDS, FRAMES, LETTERS, 0, "none", emission, 0.0
            )

        call(*SPOKEN()).sum().backward()  # numba compiles for longer than all the rest takes
        return call

    return made


RNNT = "warprnnt_numba.rnnt_loss.rnnt_pytorch:_RNNTNumba"
right(RNNT, SPOKEN, "missing", made=transducer(0.0))


def distances(lengths: list[list[int]]) -> Any:
    d = normal(2, 4, 5).abs().float().requires_grad_(True)
    return of(d, torch.tensor(lengths), 0.7, 0.0)


FULL = distances([[4, 5], [4, 5]])


def compiled(function: Any) -> Any:
    """The same Function, called once: numba compiles for longer than all the rest takes."""
    function.apply(*FULL()).sum().backward()
    return function


SOFT_DTW = "pysdtw.sdtw_cpu:SoftDTWcpu"
right(SOFT_DTW, FULL, "missing", "the same numbers as plain torch, in float32", same_as(soft_dtw, FULL, 1e-4), compiled)  # fmt: skip


def waves(_: Any) -> Any:
    """Of velocities and a source's amplitudes what is received, in a box of 7 by 8, scaled to about 1."""
    scalar = whole("deepwave").scalar

    def call(velocity: Tensor, amplitudes: Tensor) -> Tensor:
        received = scalar(
            1500 + 50 * velocity,
            5.0,
            0.001,
            source_amplitudes=amplitudes,
            source_locations=torch.tensor([[[2, 2]]]),
            receiver_locations=torch.tensor([[[4, 5], [3, 1]]]),
            pml_width=2,
            accuracy=2,
            max_vel=2000.0,
        )
        return 1e3 * received[-1]

    return call


right("deepwave.scalar:ScalarForwardFunc", of(normal(7, 8), grad(1, 1, 8)), "right", "gradcheck for the amplitudes", made=waves)  # fmt: skip
right("deepwave.scalar:ScalarForwardFunc", of(grad(7, 8), normal(1, 1, 8)), "", "gradcheck for the velocities", made=waves)  # fmt: skip


def matrix(_: Any) -> Any:
    """A matrix of 4 by 3 as an operator of sigpy, and that as a Function."""
    from_sigpy = whole("sigpy.pytorch").to_pytorch_function
    operators = importlib.import_module("sigpy").linop
    return from_sigpy(operators.MatMul((3, 1), normal(4, 3).numpy()))


INTDEQUANT = "quark.onnx.algorithm.finetuning.create_torch.base_qdq_quantizers:INTDeQuantFunction"
right(INTDEQUANT, of(grad(3, 4), number(0.25, False), number(0.0, False)), "right", "gradcheck, for a zero point of 0")  # fmt: skip
AT = torch.tensor([0.0, 0.5, 1.0], dtype=D, requires_grad=True)
