"""The second blind bank's right Functions; second_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.second_showing import (
    D,
    cx,
    gradcheck_of,
    number,
    quotient,
    right,
    same_as,
    wrong,
)

right("kymatio.backend.torch_backend:ModulusStable", of(grad(3, 4, 2)), "right")
right("mambapy.pscan:PScan", of((0.5 * normal(2, 8, 3, 2)).requires_grad_(True), grad(2, 8, 3, 2, seed=1)), "raises")  # fmt: skip
right("tensorcircuit.backends.pytorch_ops:torchqr", of(grad(4, 3)), "right")
right("tensorcircuit.backends.pytorch_ops:torchqr", of(cx(4, 3)), "right")


def usv(function: Any) -> Any:
    """Of a singular value decomposition a matrix that no choice of phases changes."""

    def call(a: Tensor) -> Tensor:
        u, s, v = function.apply(a)
        return u @ torch.diag_embed(s.sqrt().to(u.dtype)) @ v

    return call


def ratios(function: Any) -> Any:
    """Of a matrix the eigenvalues, and the eigenvectors scaled so that the first component is 1."""

    def call(a: Tensor) -> tuple[Tensor, Tensor]:
        values, vectors = function.apply(a)
        return values, vectors / vectors[:1]

    return call


def moduli(function: Any) -> Any:
    """Of a matrix the moduli of the eigenvectors' components: forward gives them length one, and no phase changes them."""
    return lambda a: function.apply(a)[1].abs()


right("deepquantum.qmath:SVD", of(grad(4, 3)), "right", made=usv)
right("meent.on_torch.emsolver.primitives:Eig", of(cx(3, 3)), "right", made=ratios)
right("torcwa.torch_eig:Eig", of(cx(3, 3)), "right", made=ratios)
right("meent.on_torch.emsolver.primitives:RobustPinv", of(grad(3, 3)), "right")
right("fastai.layers:MishJitAutoFn", x(), "right")
right("fastai.layers:_SwishJitAutoFn", x(), "right")
right("nerfstudio.field_components.activations:_TruncExp", x(), "right")
right("modelopt.torch.quantization.nn.functional:ClipFunction", of(grad(3, 4), number(-0.5), number(0.6)), "right")  # fmt: skip
right("pythae.models.svae.svae_utils:ModifiedBesselFn", of(1.5, (X.abs() + 0.3).requires_grad_(True)), "right")  # fmt: skip
SCALE = of((normal(3, seed=1).abs() + 0.5).requires_grad_(True), torch.tensor(1.0), torch.tensor(3))
right("pythae.models.pvae.pvae_utils:_log_normalizer_closed_grad", SCALE, "missing", "a difference quotient over 0.02: outputs are float32", quotient(SCALE, 0.02, 1e-4))  # fmt: skip
right("pytorchcv.models.isqrtcovresnet:CovPool", of(grad(2, 3, 2, 2)), "right")
COMPRESSOR = of(normal(2, 6).sigmoid().requires_grad_(True), torch.full((2,), 0.5, dtype=D, requires_grad=True), torch.tensor([0.3, 0.4], dtype=D, requires_grad=True), torch.tensor([0.1, 0.2], dtype=D, requires_grad=True))  # fmt: skip


def compiled(function: Any) -> Any:
    """The same Function, called once: numba compiles for longer than all the rest takes."""
    args = COMPRESSOR()
    function.apply(*args)[0].sum().backward()
    return function


right("torchcomp.core:CompressorFunction", COMPRESSOR, "right", "gradcheck of the first output, backward and forward mode; the other is a mask", gradcheck_of(COMPRESSOR, lambda out: out[0], check_forward_ad=True), compiled)  # fmt: skip


def rotation(v: Tensor) -> Tensor:
    z = torch.zeros_like(v[..., 0])
    a, b, c = v.unbind(-1)
    return torch.matrix_exp(
        torch.stack([z, -c, b, c, z, -a, -b, a, z], -1).reshape(*v.shape[:-1], 3, 3)
    )


right("torchlie.functional.so3_impl:Exp", of(grad(2, 3)), "right")
right("torchlie.functional.so3_impl:Log", of(grad(2, 3)), "right", "gradcheck, on the matrix exponential of three numbers", made=lambda f: lambda v: f.apply(rotation(v)))  # fmt: skip
right("torchlie.functional.se3_impl:Exp", of(grad(2, 6)), "right")
right("torchlie.functional.so3_impl:QuaternionToRotation", of(grad(2, 4)), "right", "gradcheck, on four numbers that are normalised", made=lambda f: lambda q: f.apply(F.normalize(q, dim=-1)))  # fmt: skip

ROW, COL = torch.tensor([0, 0, 1, 1, 2, 2, 2]), torch.tensor([0, 1, 0, 1, 0, 1, 2])
VALUES = (normal(7, seed=4) + 3 * (ROW == COL)).requires_grad_(True)
CPU = torch.device("cpu")
PLACES = torch.tensor([0, 1, 2, 0, 1, 1, 2, 0, 2]), torch.tensor([0, 1, 2, 1, 0, 2, 1, 2, 0])


def symmetric(vectors: bool) -> Any:
    """Of six numbers, the diagonal and what is above it, two eigenvalues and the squares of the eigenvectors."""

    def made(function: Any) -> Any:
        def call(v: Tensor) -> Any:
            both = torch.cat([v[:3], v[3:].repeat_interleave(2)])
            values, found = function.apply(both, *PLACES, (3, 3), 2, "LA", vectors, CPU)
            return (values, found.square()) if vectors else values

        return call

    return made


right("torch_sla.sparse_tensor.autograd:SparseSparseMatmulFunction", of(grad(7), ROW, COL, (3, 3), grad(7, seed=1), COL, ROW, (3, 3)), "right")  # fmt: skip
right("torch_sla.sparse_tensor.autograd:EigshAdjoint", of(grad(6)), "missing", "gradcheck of the eigenvalues of a symmetric matrix", made=symmetric(False))  # fmt: skip


def fem_solve(function: Any) -> Any:
    def call(values: Tensor, b: Tensor) -> Tensor:
        matrix = torch.sparse_csr_tensor(
            torch.tensor([0, 2, 4, 7]), COL, values.contiguous(), (3, 3)
        )
        return function.apply(matrix, b, None, 1e-12, None, "direct", None, None)[0]

    return call


def fem_modes(function: Any) -> Any:
    def sparse(a: Tensor) -> Tensor:
        return torch.sparse_csr_tensor(
            torch.tensor([0, 3, 6, 9]),
            torch.arange(3).repeat(3),
            ((a + a.mT) / 2).contiguous().reshape(-1),
            (3, 3),
        )

    return lambda k, m: function.apply(sparse(k), sparse(m), 2, torch.arange(3))[0]


def spd(seed: int) -> Tensor:
    a = normal(3, 3, seed=seed)
    return (a @ a.mT + torch.eye(3, dtype=D)).requires_grad_(True)


right("torchfem.sparse:Solve", of(VALUES, grad(3, seed=1)), "raises", made=fem_solve)
right("torchfem.sparse:Eigensolve", of(spd(0), spd(1)), "raises", "gradcheck of the eigenvalues", made=fem_modes)  # fmt: skip


def odl(kind: str, **weighting: Any) -> Any:
    """An operator on three numbers, for a batch of four."""

    def inputs() -> tuple[Any, ...]:
        package = importlib.import_module("odl")
        space = package.rn(3, **weighting)
        if kind == "matrix":
            operator = package.MatrixOperator(
                normal(2, 3, seed=5).numpy(), domain=space, range=package.rn(2)
            )
        elif kind == "cube":
            operator = package.PowerOperator(space, 3)
        else:
            operator = package.functionals.L2NormSquared(space)
        return operator, grad(4, 3)

    return inputs


ODL = "odl.contrib.torch.operator:OperatorFunction"
right(ODL, odl("matrix"), "raises")
right(ODL, odl("cube"), "raises")


def log1pexp(a: Tensor) -> Any:
    """As the package's page on custom gradients has it, with what is needed computed again."""
    return torch.log(
        1 + torch.exp(a)
    ), lambda *args, upstream=None: upstream * (1 - 1 / (1 + torch.exp(args[0])))


right("keras.src.backend.torch.core:CustomGradientFunction", of(log1pexp, grad(3, 4)), "right")


def axial() -> tuple[Any, ...]:
    block = importlib.import_module("axial_attention.reversible").ReversibleBlock
    torch.manual_seed(0)
    blocks = nn.ModuleList(
        [block(nn.Linear(3, 3).double(), nn.Linear(3, 3).double()) for _ in range(2)]
    )
    return grad(2, 4, 3), blocks, {"f_args": {}, "g_args": {}}


right("axial_attention.reversible:_ReversibleFunction", axial, "missing")
right("torchdeq.utils.mem:DEQGradCkpt", of(grad(2, 3), grad(3, 3, seed=1), grad(3, seed=2)), "missing", made=lambda f: lambda x, w, b: f.apply(lambda t: torch.tanh(F.linear(t, w, b)), 1, x, *[p for p in (w, b) if p.requires_grad]))  # fmt: skip


def as_complex(t: Tensor) -> Tensor:
    return torch.view_as_complex(t.contiguous())


# Before its neighbours: it is imported with all of its package.
wrong("neuromancer.slim.linear:IdentityGradReLU", x(), "gradcheck: as documented it is not the derivative: a relu that passes on the gradient as it is")  # fmt: skip
PAIR = of(normal(3, 4, 2).float().requires_grad_(True), normal(3, 4, 2, seed=1).float().requires_grad_(True))  # fmt: skip
MATRICES = of(normal(3, 4, 2).float().requires_grad_(True), normal(4, 2, 2, seed=1).float().requires_grad_(True))  # fmt: skip
BUTTERFLY = "neuromancer.slim.butterfly.complex_utils:"
IN32 = "the same numbers as plain torch; written for float32"
right(BUTTERFLY + "ComplexMul", PAIR, "right", IN32, same_as(lambda a, b: torch.view_as_real(as_complex(a) * as_complex(b)), PAIR, 1e-5))  # fmt: skip
right(BUTTERFLY + "ComplexMatmulNp", MATRICES, "missing", IN32, same_as(lambda a, b: torch.view_as_real(as_complex(a) @ as_complex(b)), MATRICES, 1e-5))  # fmt: skip


def ring(heads: int, mask: Tensor | None, causal: bool, clamp: bool) -> Any:
    shapes = (1, 4, 2, 3), (1, 4, heads, 3), (1, 4, heads, 3)
    return of(
        *(normal(*s, seed=i).float().requires_grad_(True) for i, s in enumerate(shapes)),
        mask,
        causal,
        2,
        False,
        False,
        None,
        1,
        clamp,
        2.0,
    )


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Any, causal: bool, *rest: Any) -> Tensor:
    k, v = (t.repeat(1, 1, 2 // t.shape[2], 1) for t in (k, v))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * 3**-0.5
    if rest[-2]:
        scores = torch.tanh(scores / rest[-1]) * rest[-1]
    hidden = torch.ones(4, 4, dtype=torch.bool).triu(1) if causal else ~mask[:, None, None]
    return torch.einsum("bhij,bjhd->bihd", scores.masked_fill(hidden, -torch.inf).softmax(-1), v)


RING = "ring_attention_pytorch.ring_flash_attention:RingFlashAttentionFunction"
CAUSAL = ring(1, None, True, False)
MASKED = ring(2, torch.tensor([[True, True, False, True]]), False, True)
right(RING, CAUSAL, "missing", "the same numbers as plain attention, in float32 (in float64 it stops)", same_as(attention, CAUSAL, 1e-5))  # fmt: skip
right(RING, MASKED, "missing", "the same numbers as plain attention, in float32 (in float64 it stops)", same_as(attention, MASKED, 1e-5))  # fmt: skip


def points() -> Tensor:
    return normal(2, 6).requires_grad_(True)


FINE = {"eps": 1e-12}
right("pytorch_finufft.functional:FinufftType2", of(points(), cx(5, 4), FINE), "missing")


def circuit(rule: str) -> Any:
    """Of two angles the energy of a circuit of two qubits."""

    def made(_: Any) -> Any:
        for known in [n for n in sys.modules if n.split(".")[0] == "pyqtorch"]:
            del sys.modules[known]  # it was imported without what its package defines
        q = importlib.import_module("pyqtorch")
        wires = q.QuantumCircuit(2, [q.RX(0, "a"), q.CNOT(0, 1), q.RY(1, "b"), q.RX(0, "a")]).to(
            dtype=torch.complex128
        )
        energy = q.Observable([q.Z(0), q.Z(1)]).to(dtype=torch.complex128)
        start = q.zero_state(2, dtype=torch.complex128)
        if rule == "shift":
            function = importlib.import_module("pyqtorch.differentiation.gpsr").PSRExpectation
            return lambda a, b: function.apply(
                wires,
                start,
                energy,
                None,
                importlib.import_module("pyqtorch.api").analytical_expectation,
                ["a", "b"],
                a,
                b,
            )
        function = importlib.import_module("pyqtorch.differentiation.adjoint").AdjointExpectation
        return lambda a, b: function.apply(wires, start, energy, None, ["a", "b"], a, b)

    return made


ANGLES = of(torch.tensor([0.3], dtype=D, requires_grad=True), torch.tensor([1.1], dtype=D, requires_grad=True))  # fmt: skip
right("pyqtorch.differentiation.gpsr:PSRExpectation", ANGLES, "right", made=circuit("shift"))
THRESHOLD = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=D)
JUMP = "dictionary_learning.trainers.jumprelu:"
right(JUMP + "JumpReLUFunction", of(grad(3, 4), THRESHOLD, 0.5), "right", "gradcheck for x alone")
