"""The seventh blind bank's right Functions; seventh_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.real_world.entry import grad, normal, of, x
from benchmarks.real_world.second_showing import D, gradcheck_of, quotient, same_as
from benchmarks.real_world.seventh_showing import right
from benchmarks.real_world.sixth import Net

WAVE = grad(2, 2, 6)
WEIGHTS = torch.tensor([0.2, 0.3, 0.5], dtype=D), torch.tensor([0.1, 0.4, 0.3, 0.2], dtype=D)
PLAN = of((normal(3, 4) ** 2).requires_grad_(True), *WEIGHTS, 0.7, 3000, 1e-14, 10)
right("torchgw._solver:_SinkhornImplicit", PLAN, "right", "gradcheck for the costs, at convergence")

MASK = (normal(3, 4, seed=3) > -0.5).to(D)
right("hivemind.moe.server.layers.dropout:DeterministicDropoutFunction", x(0.7, MASK), "right")
right("dmg.core.calc.dropout:DropMask", x(MASK, True), "right", "gradcheck: a mask that is given")


class Direct:
    """A solver of a matrix of its own, of the package's form."""

    def solve(self, b: Tensor, backward: bool = False) -> Tensor:
        matrix = normal(4, 4, seed=2) + 4 * torch.eye(4, dtype=D)
        return torch.linalg.solve(((matrix + matrix.mT) / 2).to(b), b)


right("largesteps.solvers:DifferentiableSolve", of(grad(4, 2)), "right", "gradcheck, with a solver of a symmetric matrix", made=lambda f: lambda b: f.apply(Direct(), b))  # fmt: skip


class Product:
    """A component of another process: elementwise products, and what it knows of its derivatives."""

    def apply(self, inputs: Any) -> Any:
        return {"out": inputs["a"] * inputs["b"] ** 2}

    def vector_jacobian_product(self, inputs: Any, vjp_inputs: Any, cotangent_vector: Any, **_: Any) -> Any:  # fmt: skip
        a, b, up = inputs["a"], inputs["b"], cotangent_vector["out"]
        return {name: {"a": up * b**2, "b": 2 * up * a * b}[name] for name in vjp_inputs}

    def jacobian_vector_product(self, inputs: Any, tangent_vector: Any, **_: Any) -> Any:
        a, b, t = inputs["a"], inputs["b"], tangent_vector
        return {"out": t.get("a", 0) * b**2 + 2 * a * b * t.get("b", 0)}


def component(function: Any) -> Any:
    return lambda a, b: function.apply(Product(), ["a", "b"], ["out"], {"out"}, {}, [], a, b)[0]


right("tesseract_torch.function:_TesseractFunction", of(grad(3), grad(3, seed=1)), "missing", "gradcheck: NumPy is called, with derivatives that are right", made=component)  # fmt: skip

right("torch_dxdt.whittaker:WhittakerFunction", of(grad(2, 6), 1.5, 2), "right", "gradcheck: a linear system of its own matrix")  # fmt: skip


def reversible(function: Any) -> Any:
    """Two reversible blocks."""
    kind = importlib.import_module("sinkhorn_transformer.reversible").ReversibleBlock
    blocks = nn.ModuleList([kind(Net(2 * i), Net(2 * i + 1)) for i in range(2)])
    return lambda a: function.apply(a, blocks, [{} for _ in range(2)])


right("sinkhorn_transformer.reversible:_ReversibleFunction", of(grad(2, 3, 4)), "missing", "gradcheck of the input; layers are run back without a graph", made=reversible)  # fmt: skip


class Types(nn.Module):
    """A layer of features of two types, of which each goes its own way."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def forward(self, a: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        return {k: torch.tanh(v @ normal(v.shape[-1], v.shape[-1], seed=self.seed).to(v)) for k, v in a.items()}  # fmt: skip


def of_types(function: Any) -> Any:
    kind = importlib.import_module("se3_transformer_pytorch.reversible").ReversibleBlock
    blocks = nn.ModuleList([kind(Types(2 * i), Types(2 * i + 1)) for i in range(2)])
    return lambda a: function.apply(a, blocks, {"input_keys": ("0", "1"), "split_dims": (4, 2)})


right("se3_transformer_pytorch.reversible:_ReversibleFunction", of(grad(2, 3, 6)), "missing", "gradcheck of the input; layers are run back without a graph, on dictionaries", made=of_types)  # fmt: skip
right("solo.utils.misc:GatherLayer", x(), "right", "gradcheck: of one process, what it gathers is its own")  # fmt: skip

MATRIX, SIDE = grad(4, 4, seed=2), normal(4, seed=5)


def solved(function: Any) -> Any:
    """A positive definite system, whose matrix or whose right-hand side is differentiated."""
    importlib.import_module("cola.annotations")
    ops = importlib.import_module("cola.ops")

    def call(a: Tensor, b: Tensor) -> Tensor:
        return function(ops.Dense(a @ a.mT + torch.eye(4).to(a)), b, tol=1e-13)[0]

    return call


right("cola.linalg.inverse.cg:cg", of(MATRIX, SIDE), "right", "gradcheck for the matrix", made=solved)  # fmt: skip
right("cplxmodule.nn.relevance.complex.vd:ExpiFunction", x(), "right", "gradcheck: SciPy computes it")  # fmt: skip


def equilibrium(name: str, **more: Any) -> Any:
    """The fixed point of z = tanh(w z + u), found by running it."""

    def made(function: Any) -> Any:
        solvers = importlib.import_module("silva_networks.solvers")
        kind = getattr(solvers, name)

        def call(w: Tensor, u: Tensor) -> Tensor:
            step = lambda z: torch.tanh(z @ w + u)  # noqa: E731
            with torch.no_grad():
                z = torch.zeros_like(u)
                for _ in range(400):
                    z = step(z)
            trained = [a for a in (w, u) if a.requires_grad]  # no others are given it there
            return function.apply(z, *trained, kind(f=step, alpha=1.0, info={}, **more))

        return call

    return made


POINT = of((0.2 * normal(3, 3)).requires_grad_(True), grad(2, 3, seed=1))
IMPLICIT = {"max_iter": 100, "tol": 1e-12, "stop_mode": "absolute", "relative_eps": 1e-8, "solver": "gmres", "history": 5, "ridge": 1e-8, "beta": 1.0}  # fmt: skip
right("silva_networks.solvers:_ImplicitEquilibriumFunction", POINT, "missing", "gradcheck for both, at the fixed point; GMRES may differ in the last digits", gradcheck_of(POINT, nondet_tol=1e-9), equilibrium("_ImplicitBackwardContext", **IMPLICIT))  # fmt: skip

TAKEN = torch.tensor([0, 2, 2, 1, 0, 2, 2, 0, 1, 2])
right("torchrec.modules.sorted_index_select:_SortedIndexSelect", of(grad(6, 4), TAKEN), "right")  # fmt: skip
right("aimet_torch.quantization.affine.backends.torch_builtins:DequantizeFunc", of(grad(3, 4), grad(3, 1, seed=1), grad(3, 1, seed=2)), "right", "gradcheck for all three")  # fmt: skip
right("areal.experimental.models.archon.moe.router:RouterGatingLinearFunction", of(grad(3, 4), grad(5, 4, seed=1), D), "right")  # fmt: skip


def bridged(function: Any) -> Any:
    """A sum of squares, with its gradient computed beforehand."""

    def call(a: Tensor) -> Tensor:
        at = a.detach()
        return function.apply(a, 2 * at, (at**2).sum().item())

    return call


right("dagua.layout.engine:_GradBridge", x(), "missing", "own difference quotient: a gradient that is given; the value is in float32", quotient(x(), 0.1, 1e-3), bridged)  # fmt: skip
ROWS = of(grad(5, 4), grad(3, 4, seed=1), grad(3, seed=2), torch.tensor([0, 2, -100, 1, 1]), 2, -100, 4)  # fmt: skip


def linear_loss(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, _: int, ignored: int, count: int) -> Tensor:  # fmt: skip
    logits = hidden @ weight.mT + bias
    return nn.functional.cross_entropy(logits, targets, ignore_index=ignored, reduction="sum") / count  # fmt: skip


right("trainstream.losses:_ChunkedLinearCE", ROWS, "raises", "plain torch in float64: it computes in float32; a second derivative stops for what is overwritten", same_as(linear_loss, ROWS, 1e-4))  # fmt: skip
right("fairseq.modules.scalar_bias:ScalarBias", x(1, 0.3), "right")
right("nnsvs.diffsinger.fs2:Swish", x(), "right", "gradcheck; it reads what it saved by a deprecated name")  # fmt: skip


def eight_bits(function: Any) -> Any:
    """A layer of weights in eight bits, as the package makes them; the input and the bias are differentiated."""

    def call(a: Tensor, b: Tensor) -> Tensor:
        kind = importlib.import_module("bitsandbytes.autograd._functions").MatmulLtState
        state = kind()
        state.CB, state.SCB, state.has_fp16_weights = torch.arange(-10, 10, dtype=torch.int8).view(5, 4), torch.linspace(1, 3, 5), False  # fmt: skip
        return function.apply(a, state.CB, None, b, state)

    return call


right("bitsandbytes.autograd._functions:MatMul8bitFp", of(grad(3, 4), grad(5, seed=1)), "right", "gradcheck for the input and the bias: the weights are as they are", made=eight_bits)  # fmt: skip


def walsh(function: Any) -> Any:
    """The package's own transform of sixteen numbers, in plain torch."""
    transform = importlib.import_module("gptqmodel.quantization.rotation.hadamard_utils")._TorchHadamardTransform  # fmt: skip
    return lambda a: function.apply(a, 1 / math.sqrt(8), transform.hadamard_transform)


right("gptqmodel.quantization.rotation.hadamard_utils:_HadamardAutograd", of(grad(2, 8)), "right", made=walsh)  # fmt: skip
right("pytorch_optimizer.loss.bi_tempered:ComputeNormalization", x(1.5, 80), "right", "gradcheck: a normaliser found by iteration")  # fmt: skip


def symmetric(function: Any) -> Any:
    """Of the symmetric part of a matrix, in the package's form of a volume of one voxel."""
    return lambda a: function.apply(((a + a.mT) / 2).reshape(1, 9, 1, 1, 1))


TENSOR = of(grad(3, 3))


def eigenvalues(a: Tensor) -> Tensor:
    return torch.linalg.eigvalsh((a + a.mT) / 2)[None]


right("torchvectorized.nn:EigValsFunc", TENSOR, "missing", "plain torch in float64: it gives float32", same_as(eigenvalues, TENSOR, 1e-4), symmetric)  # fmt: skip


def sampled(function: Any) -> Any:
    """Some frequencies of a picture, as NumPy computes them."""
    kind = importlib.import_module("mrinufft.operators.interfaces.nudft_numpy").MRInumpy
    nufft = kind((normal(5, 2, seed=3) / 6).numpy(), (4, 3))
    nufft.squeeze_dims = False
    nufft._grad_wrt_data, nufft._grad_wrt_traj, nufft._grad_wrt_field_map = True, False, False
    return lambda a: function.apply(a, None, None, nufft)


PICTURE = torch.complex(normal(1, 1, 4, 3), normal(1, 1, 4, 3, seed=1)).requires_grad_(True)
right(
    "mrinufft.operators.autodiff:_NUFFT_OP",
    of(PICTURE),
    "missing",
    "gradcheck; NumPy computes it",
    made=sampled,
)
SPECTRUM = torch.complex(normal(1, 1, 5), normal(1, 1, 5, seed=1)).requires_grad_(True)
right(
    "mrinufft.operators.autodiff:_NUFFT_ADJOP",
    of(SPECTRUM),
    "missing",
    "gradcheck; NumPy computes it",
    made=sampled,
)


class Radians:
    """Frequencies of a picture at places in radians, with an operator of its own of the package's form."""

    backend, shape, dtype = "own", (4, 3), np.dtype("float64")
    _grad_wrt_data, _grad_wrt_traj, _grad_wrt_field_map = False, True, False

    def __init__(self, places: Tensor) -> None:
        self.places = places.detach()

    def op(self, picture: Tensor) -> Tensor:
        steps = (torch.linspace(-s / 2, s / 2 - 1, s, dtype=D) for s in self.shape)
        at = torch.cartesian_prod(*steps)
        return picture.detach().flatten(2) @ torch.exp(-1j * (at @ self.places.double().mT))


def placed(function: Any) -> Any:
    """The same picture, whose places are differentiated."""
    return lambda places: function.apply(PICTURE.detach(), places, None, Radians(places))


right("mrinufft.operators.autodiff:_NUFFT_OP", of(grad(5, 2, seed=3)), "missing", "gradcheck for the places, in radians, with an operator of its own", made=placed)  # fmt: skip
