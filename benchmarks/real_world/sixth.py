"""The sixth blind bank's right Functions; sixth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import scipy.sparse
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.second_showing import D, number, same_as
from benchmarks.real_world.sixth_showing import right

right("pymde.average_distortion:_Norm", of(grad(4, 3)), "right")
PAIRS = torch.tensor([[0, 1], [0, 2], [1, 3], [2, 3], [3, 0]])
ENDS = [PAIRS[:, i : i + 1].expand(-1, 2).contiguous() for i in range(2)]
right("pymde.average_distortion:_AverageDistortion", of(grad(4, 2)), "missing", "gradcheck; the derivative by the distances is taken in forward", made=lambda f: lambda a: f.apply(a, lambda d: d**2 + d, *ENDS))  # fmt: skip

SCALE = number(0.7, False)
CORES = grad(2, 2, 3), grad(2, 4, seed=1), grad(2, 3, seed=2), grad(2, 2, 3, seed=3), grad(2, 4, seed=4), grad(2, 3, seed=5)  # fmt: skip
right(
    "lycoris.functional.loha:HadaWeightTucker",
    of(*CORES, SCALE),
    "right",
    "gradcheck for all six factors",
)

SPARSE = scipy.sparse.csr_array(normal(3, 5).numpy())
right("cvxpylayers.torch.cvxpylayer:_ScipySparseMatmul", of(grad(5, 2)), "raises", "gradcheck; SciPy multiplies, once_differentiable", made=lambda f: lambda a: f.apply(SPARSE.astype(a.detach().numpy().dtype), a))  # fmt: skip
right("efficientnet_pytorch.utils:SwishImplementation", x(), "right", "gradcheck; it reads what it saved by a deprecated name")  # fmt: skip


class Net(nn.Module):
    """A layer, which may see another tensor too, or give a loss beside its output."""

    def __init__(self, seed: int, loss: bool = False) -> None:
        super().__init__()
        self.seed, self.loss = seed, loss

    def forward(self, a: Tensor, *others: Tensor, **_: Any) -> Any:
        layer: Callable[[Tensor], Tensor] = lambda t: torch.tanh(t @ normal(2, 2, seed=self.seed).to(t))  # noqa: E731  # fmt: skip
        out = layer(a) + sum(layer(o).mean(1, keepdim=True) for o in others)
        return (out, out.square().mean()) if self.loss else out


def folded(kind: str) -> Any:
    """Two reversible blocks of a sequence of two and an alignment of three, which go through in one tensor."""

    def made(function: Any) -> Any:
        block = getattr(importlib.import_module("alphafold2_pytorch.reversible"), kind)
        blocks = nn.ModuleList([block(*[Net(4 * i + j) for j in range(4)]) for i in range(2)])
        return lambda a: function.apply(a, 2, blocks, {})

    return made


AGAIN = "gradcheck of the input; layers are run back without a graph"
FOLD = "alphafold2_pytorch.reversible:ReversibleFunction"
right(FOLD, of(grad(2, 5, 4)), "missing", AGAIN, made=folded("ReversibleSelfAttnBlock"))
right(FOLD, of(grad(2, 5, 4)), "missing", AGAIN + "; each half sees the other", made=folded("ReversibleCrossAttnBlock"))  # fmt: skip


def with_losses(function: Any) -> Any:
    """Two reversible blocks, each with two losses beside its output."""
    block = importlib.import_module("routing_transformer.reversible").ReversibleBlock
    blocks = nn.ModuleList([block(Net(2 * i, True), Net(2 * i + 1, True)) for i in range(2)])
    return lambda a: function.apply(a, blocks, [{"f_args": {}, "g_args": {}} for _ in range(2)])


right("routing_transformer.reversible:_ReversibleFunction", of(grad(2, 3, 4)), "missing", AGAIN + ", with three outputs", made=with_losses)  # fmt: skip

right("qste.nn:_MaskedFn", x(0.0, 1.0), "missing", "gradcheck: a clamp that keeps one bit of each number")  # fmt: skip


def seeded(function: Any) -> Any:
    """The same draw each time."""

    def call(a: Tensor) -> Tensor:
        torch.manual_seed(3)
        return function.apply(a, 0.4)

    return call


right("qste.nn:_DropoutFn", x(), "missing", "gradcheck, with a seed; it keeps one bit of each number", made=seeded)  # fmt: skip
right("src.model.mhc:SinkhornKnoppFunction", of(grad(2, 3, 3), 5), "missing", "gradcheck; backward runs the iterations once more")  # fmt: skip
right("src.model.attention.sparse.sparsek_attn:SparseKOperator", of(grad(1, 2, 3, 5), 2), "missing", "gradcheck: a projection onto what sums to k")  # fmt: skip

ROW, COLUMN = torch.tensor([0, 0, 1, 2, 2]), torch.tensor([0, 1, 1, 0, 2])
DATA = torch.tensor([2.0, 0.3, 1.5, -0.4, 1.2], dtype=D, requires_grad=True)
right("tensormesh.sparse.mm.torch_mm:SparseMMTorch", of(DATA, ROW, COLUMN, (3, 4), grad(4, 2)), "right", "gradcheck for the entries and the other factor")  # fmt: skip


def of_hermitian(function: Any) -> Any:
    """Eigenvalues and what does not depend on the eigenvectors' phases, of the Hermitian part."""

    def call(a: Tensor) -> tuple[Tensor, Tensor]:
        values, vectors = function.apply((a + a.mH) / 2)
        return values, vectors.abs() ** 2

    return call


COMPLEX = torch.complex(normal(2, 3, 3), normal(2, 3, 3, seed=1)).requires_grad_(True)
right("torchspin._linalg:_EighDegenerateSafe", of(COMPLEX), "right", "gradcheck of eigenvalues and squared moduli of eigenvectors", made=of_hermitian)  # fmt: skip


def tomography(function: Any) -> Any:
    """The adjoint of a projector of four angles."""
    beam = importlib.import_module("torchtomo.parallel").ParallelBeam
    return lambda a: function.apply(a, beam(img_size=6, n_angles=4).to(a.dtype))


right("torchtomo.base:_DiscreteAdjoint", of(grad(1, 1, 4, 6)), "missing", "gradcheck: a linear operator, whose gradient is the projection", made=tomography)  # fmt: skip
right("colossalai.kernel.jit.bias_gelu:GeLUFunction", of(grad(3, 4), grad(4, seed=1)), "right", "gradcheck; the bias's gradient comes back in the input's shape, which torch sums")  # fmt: skip

ROWS = of(grad(4, 5), torch.tensor([0, 2, -100, 4]), -100, 2)


def cross_entropy(logits: Tensor, target: Tensor, ignored: int, _: int) -> Tensor:
    return F.cross_entropy(logits, target, ignore_index=ignored, reduction="none")


right("deepspeed.runtime.chunked_cross_entropy:_ChunkedCrossEntropy", ROWS, "raises", "plain torch in float64: it computes in float32", same_as(cross_entropy, ROWS, 1e-4))  # fmt: skip

LRP = "autolrp.forward.ops:"
right(LRP + "Softmax", x(0), "right")
right(LRP + "Sub", of(grad(2, 1, 4), grad(3, 4, seed=1)), "missing", "gradcheck of factors that are broadcast, each in its own way")  # fmt: skip
right("torchphysics.models.activation_fn:relu_n", x(3), "right")


def fault(function: Any) -> Any:
    """The displacement of the surface by a rectangular fault, as the package's own source calls it."""
    source = importlib.import_module("torchdeform.sources.okada").OkadaSourceSimple
    model = source(analytic_grad=True)
    return lambda *a: function.apply(model, *a)


PLACES = ((1.0, 2.0, -1.5), (0.5, -1.0, 2.0))
NUMBERS = (0.1, -0.2, 0.7, 0.4, 2.0, 1.5, 1.0, 0.3, 0.2, 0.1)
FAULT = [torch.tensor([p], dtype=D, requires_grad=True) for p in PLACES] + [torch.tensor([v], dtype=D, requires_grad=True) for v in NUMBERS]  # fmt: skip
right("torchdeform.sources.okada:_OkadaSimpleAnalyticFn", of(*FAULT), "missing", "gradcheck for all twelve arguments and three outputs", made=fault)  # fmt: skip

SCAN = of((0.8 * normal(2, 5, 3, 2)).requires_grad_(True), grad(2, 5, 3, 2, seed=1))
right("bitnet.bit_mamba:PScan", SCAN, "raises", "gradcheck, of a length that is no power of two; the scan is in place, so torch refuses a second derivative")  # fmt: skip

ECHO = "echoAI.Activation.Torch."
right(ECHO + "maxout:Maxout", of(grad(2, 8, 3, 3)), "right", "gradcheck; it reads what it saved by a deprecated name")  # fmt: skip
right(ECHO + "brelu:BReLU", of(X.clone().requires_grad_(True)), "missing")
