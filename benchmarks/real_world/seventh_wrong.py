"""The seventh blind bank's wrong Functions, after all others; seventh_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from benchmarks.real_world import seventh_surrogates  # noqa: F401
from benchmarks.real_world.entry import grad, leaves, normal, of, x
from benchmarks.real_world.second_showing import D, no_gradgradcheck, overwrites, stops
from benchmarks.real_world.seventh import MATRIX, POINT, WAVE, WEIGHTS, equilibrium, solved
from benchmarks.real_world.seventh_showing import wrong
from benchmarks.real_world.sixth_showing import (  # fmt: skip
    depends_on_earlier_ones,
    stops_for_a_transposed_upstream,
)
from benchmarks.real_world.third_showing import second_pass_stops, upstream_overwritten

# ---- the gradient itself ----


def glass(function: Any) -> Any:
    """The index of a material between two wavelengths of a table, which is linear there."""
    table = torch.tensor([[0.4, 1.6, 0.1], [0.9, 1.2, 0.3]], dtype=D).numpy()
    between = [lambda w, i=i: table[0, i] + (w - 0.4) / 0.5 * (table[1, i] - table[0, i]) for i in (1, 2)]  # fmt: skip
    return lambda a: function.apply(a, table, *between)


wrong("solwa.materials:_MaterialFn", of(torch.tensor(0.6, dtype=D, requires_grad=True)), "gradcheck, where the index is linear in the wavelength: backward doubles", made=glass)  # fmt: skip


def moduli(function: Any) -> Any:
    """Eigenvalues, and the squared moduli of the eigenvectors, which have no phase."""

    def call(a: Tensor) -> tuple[Tensor, Tensor]:
        values, vectors = getattr(function, "apply", function)(a)
        return values, vectors.abs() ** 2

    return call


SYSTEM = of(torch.complex(normal(3, 3), normal(3, 3, seed=1)).requires_grad_(True))


def not_as_torch(function: Any) -> bool:
    """Whether gradcheck accepts torch's own, and not this one."""
    own = gradcheck(moduli(torch.linalg.eig), leaves(SYSTEM()), raise_exception=False)
    return own and not gradcheck(function, leaves(SYSTEM()), raise_exception=False)


wrong("solwa.torch_eig:Eig", SYSTEM, "gradcheck of eigenvalues and squared moduli of eigenvectors, which it accepts of torch's own: that they have length 1 is left out", not_as_torch, moduli)  # fmt: skip
wrong("diffroute.ops.in_place:_WriteSlice", of(grad(2, 5), grad(2, 2, seed=1)), "gradcheck: what is overwritten gets the gradient of what takes its place", made=lambda f: lambda a, b: f.apply(a.clone(), b, 1, 3))  # fmt: skip
PLAN = of((normal(3, 4) ** 2).requires_grad_(True), *WEIGHTS, 0.7, 3000, 1e-14, 10, False, 1.0)
wrong("torchgw._solver:_SinkhornApproximate", PLAN, "gradcheck: the potentials are held, as documented")  # fmt: skip
wrong("silva_networks.solvers:_NeumannEquilibriumFunction", POINT, "gradcheck: two terms of a series, as documented", made=equilibrium("_NeumannBackwardContext", terms=2))  # fmt: skip
wrong("cola.linalg.inverse.cg:cg", of(MATRIX, grad(4, seed=5)), "gradcheck: the right-hand side gets no gradient, and no word is said", made=solved)  # fmt: skip


class Decay(nn.Module):
    """A linear law."""

    def forward(self, t: Tensor, y: Tensor, args: Any) -> Tensor:
        return -0.5 * y


def flow(function: Any) -> Any:
    """What becomes of a start, at five times, of which the first is the start."""
    solver = importlib.import_module("torchdde.solver.euler").Euler()
    steps = importlib.import_module("torchdde.step_size_controller.constant").ConstantStepSizeController()  # fmt: skip

    def call(y: Tensor) -> Tensor:
        at = torch.linspace(0, 1, 5, dtype=y.dtype)
        return function.apply(Decay(), at[0], at[-1], at, y, None, solver, steps, at[1] - at[0], 100)  # fmt: skip

    return call


START = of(grad(2, 3))


def start_forgotten(function: Any) -> bool:
    """Whether the first output is the start, and has no gradient."""
    (start,) = leaves(START())
    out = function(start)[:, 0]
    return out.equal(start) and not torch.autograd.grad(out.sum(), start)[0].any()


wrong("torchdde.adjoint_ode:odeint_ACA", START, "own program: the output at the first time is the start, and adds nothing to its gradient", start_forgotten, flow)  # fmt: skip

# ---- backward stops ----
SIGNAL = of(WAVE, grad(2, 3, seed=1))
wrong("torchaudio.functional.filtering:DifferentiableFIR", SIGNAL, "backward stops for an upstream gradient that is transposed in memory: view, where reshape belongs", stops_for_a_transposed_upstream(SIGNAL))  # fmt: skip
VOXELS = of((normal(1, 3, 3) @ normal(1, 3, 3).mT + torch.eye(3, dtype=D)).reshape(1, 9, 1, 1, 1).requires_grad_(True))  # fmt: skip
wrong("torchvectorized.nn:LogmFunc", VOXELS, "backward stops: a matrix is sent to CUDA, wherever the others are", stops(VOXELS, (RuntimeError, AssertionError)))  # fmt: skip


def trained(function: Any) -> Any:
    """A layer whose weights are rounded to eight bits in each call, and trained."""

    def call(a: Tensor, weight: Tensor) -> Tensor:
        for part in ("_ops", "backends.default.ops", "backends.cpu.ops"):
            importlib.import_module(f"bitsandbytes.{part}")
        state = importlib.import_module("bitsandbytes.autograd._functions").MatmulLtState()
        return function.apply(a, weight, None, None, state)

    return call


TOKENS = of(grad(2, 3, 4), grad(5, 4, seed=1))
wrong("bitsandbytes.autograd._functions:MatMul8bitFp", TOKENS, "backward stops for inputs of three dimensions where the weights are trained: t(), though the upstream gradient was made a matrix", stops(TOKENS), trained)  # fmt: skip


def recomputed(function: Any) -> Any:
    return lambda a: function.apply(lambda t: torch.tanh(2 * t), 1, a)


wrong("audioldm.latent_diffusion.util:CheckpointFunction", x(), "backward stops in a second pass through a graph that was kept, for it deletes its inputs", second_pass_stops(x(), AttributeError), recomputed)  # fmt: skip

# ---- what is overwritten ----
ACTS = torch.randn(1, 3, 3, 4, generator=torch.Generator().manual_seed(0)).requires_grad_(True)
SPOKEN = of(ACTS, torch.tensor([[1, 2]], dtype=torch.int32), torch.tensor([3], dtype=torch.int32), torch.tensor([2], dtype=torch.int32), 0, "sum", 0.0, 0.0)  # fmt: skip
wrong("espnet2.asr.transducer.rnnt_multi_blank.rnnt_multi_blank:_RNNTNumba", SPOKEN, "own program: a pass through a graph that was kept multiplies the saved gradient for those that follow", depends_on_earlier_ones(SPOKEN, 1))  # fmt: skip
wrong("torchrec.distributed.embedding_lookup:CommOpGradientScaling", x(2), "backward overwrites the upstream gradient: `grad_output.mul_`", upstream_overwritten(x(2)))  # fmt: skip
wrong("torchaudio.functional.filtering:DifferentiableIIR", SIGNAL, "forward overwrites its input, where the package's compiled part is not there: `o0 -=`", overwrites(SIGNAL))  # fmt: skip
wrong("pygda.nn.node_centric_conv:SparsemaxFunction", x(1), "forward overwrites its input: `input -= max_val`", overwrites(x(1)))  # fmt: skip

# ---- the second derivative ----
SAMPLE = torch.tensor([-1.6, -1.1, -0.9, -0.2, 0.7, 1.0, 1.3, 2.0], dtype=D, requires_grad=True)


def folds(function: Any) -> Any:
    return lambda a: importlib.import_module("dcb._fold_search").fold_h_crit_z(a)


TWICE = "gradgradcheck: the first derivative is right, the second is given and is wrong: "
wrong("dcb._fold_search:_FoldAggregate", of(SAMPLE), TWICE + "where the folds are is handed in without a graph, a constant to autograd", no_gradgradcheck(of(SAMPLE)), folds, second="wrong")  # fmt: skip
