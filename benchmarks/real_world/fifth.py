"""The fifth blind bank's right Functions; fifth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.fifth_showing import right
from benchmarks.real_world.fourth_showing import first_of
from benchmarks.real_world.second_showing import D, number, same_as

ZETA = "zeta.nn."
PSCAN = of((0.8 * normal(2, 5, 3, 2)).requires_grad_(True), grad(2, 5, 3, 2, seed=1))
right(ZETA + "modules.p_scan:PScan", PSCAN, "raises", "gradcheck, of a length that is no power of two; the scan is in place, so torch refuses a second derivative")  # fmt: skip
BLOCKS = ZETA + "modules.blockdiag_butterfly:"
right(BLOCKS + "BlockdiagMultiply", of(grad(3, 6), grad(2, 4, 3, seed=1)), "raises", "gradcheck; products are written into out=, so torch refuses a second derivative")  # fmt: skip
right(BLOCKS + "BlockdiagButterflyMultiply", of(grad(3, 6), grad(2, 4, 3, seed=1), grad(4, 3, 2, seed=2)), "raises", "gradcheck for all three; products are written into out=")  # fmt: skip


class Packed:
    """A weight that is unpacked by a call."""

    def get_original_weight(self) -> Tensor:
        return normal(5, 3, seed=4)


right(ZETA + "quant.qlora:LinearNF4", of(grad(4, 3)), "right", made=lambda f: lambda a: f.apply(a, Packed()))  # fmt: skip

INSIDE = of((0.8 * X.tanh()).requires_grad_(True))
ABOVE = of((X.abs() + 1.3).requires_grad_(True))
CLAMPED = "gradcheck; a clamped copy is saved, so the gradient follows the upstream gradient alone"
right("graphzoo.utils.math_utils:Artanh", INSIDE, "missing", CLAMPED)
right("graphzoo.utils.math_utils:Arsinh", x(), "right")
right("torch_hyperbolic.utils:Arcosh", ABOVE, "missing", CLAMPED)
right("torch_hyperbolic.utils:Arsinh", x(), "right")
POSITIVE = of((X.abs() + 0.3).requires_grad_(True))
right("complextorch.nn.relevance._expi:ExpiFunction", POSITIVE, "right", "gradcheck: an exponential integral from SciPy")  # fmt: skip
right("complextorch.nn.modules.activation.complex_relu:_PhaseHalfPlaneMask", x(), "right")
right("diffsort.functional:NormalCDF", x(0.7), "right", "gradcheck; its forward and backward lack @staticmethod, which torch does not need")  # fmt: skip

BOUNDED = tuple(grad(2, 3, 4, seed=i) for i in range(5))
LIRPA = "auto_LiRPA.operators.clampmult:ClampedMultiplication"
right(LIRPA, of(*BOUNDED, False), "right", "gradcheck, five tensors and two outputs")
right(LIRPA, of(*BOUNDED[:3], None, BOUNDED[4], False), "right", "gradcheck without one of both biases")  # fmt: skip
PATCHES = tuple(grad(2, 2, 2, 2, 2, seed=i) for i in range(5))
right(LIRPA, of(*PATCHES, True), "right", "gradcheck, in patches")

right("hnn.snn.recorder:Recorder", x(), "right")
right("sc_neurocore.qat.pact:_PACTClip", x(number(0.8)), "right", "gradcheck: between zero and a bound that is learned")  # fmt: skip


def layer(seed: int) -> nn.Module:
    made = nn.Linear(2, 2).double()
    made.weight.data, made.bias.data = normal(2, 2, seed=seed), normal(2, seed=seed + 9)
    return nn.Sequential(made, nn.Tanh())


def reversible(where: str) -> Any:
    """Two reversible blocks, whose numbers backward computes once more."""

    def made(function: Any) -> Any:
        block = importlib.import_module(where).ReversibleBlock
        blocks = nn.ModuleList([block(layer(i), layer(i + 3)) for i in range(2)])
        given = [{"f_args": {}, "g_args": {}}] * 2
        return lambda a: function.apply(a, blocks, given)

    return made


HALVES = of(grad(2, 3, 4))
AGAIN = "gradcheck of the input; layers are run back without a graph"
for package in ("h_transformer_1d", "performer_pytorch"):
    right(f"{package}.reversible:_ReversibleFunction", HALVES, "missing", AGAIN, made=reversible(f"{package}.reversible"))  # fmt: skip


def kept(function: Any) -> Any:
    """The same of another package, which keeps what it needs for a second pass."""
    block = importlib.import_module("revtorch.revtorch").ReversibleBlock
    blocks = nn.ModuleList([block(layer(i), layer(i + 3), split_along_dim=-1) for i in range(2)])
    return lambda a: function.apply(a, blocks, False)


right("revtorch.revtorch:_ReversibleModuleFunction", HALVES, "raises", "gradcheck of the input; it asserts that there is no second derivative", made=kept)  # fmt: skip


def backward_euler(residual: Any, span: tuple[float, float], y: Tensor, h: float) -> Any:
    """Solves F(t, y, y′) = 0 step by step, by Newton's method."""
    steps = round((span[1] - span[0]) / h)
    ys, ts = [y], [span[0] + k * h for k in range(steps + 1)]
    for t in ts[1:]:
        z = y.clone()
        for _ in range(12):
            offs = [lambda s, b=b, y=y, t=t: residual(t, s, (s - y[b]) / h) for b in range(len(z))]
            slope = torch.stack([torch.func.jacrev(off)(a) for off, a in zip(offs, z, strict=True)])
            value = torch.stack([off(a) for off, a in zip(offs, z, strict=True)])
            z = z - torch.linalg.solve(slope, value.unsqueeze(-1)).squeeze(-1)
        y = z
        ys.append(y)
    return type("Solution", (), {"ys": torch.stack(ys), "ts": torch.tensor(ts, dtype=D)})()


def implicit(pick: Any, residual: Any) -> Any:
    """Three steps of an implicit equation with one parameter; what is picked of the states."""

    def made(function: Any) -> Any:
        def call(y: Tensor, k: Tensor) -> Tensor:
            law = lambda t, y, yp: residual(k, y, yp)  # noqa: E731
            return pick(function.apply(y, (0.0, 0.3), 0.1, law, backward_euler, k))

        return call

    return made


DAE = "torchdae.adjoint_sensitivity:DAEAdjointFunction"
ONE = of(grad(1, 2), number(0.7))
right(DAE, of(grad(1, 2)), "right", "gradcheck of all states but the first, of one example, without parameters", made=lambda f: lambda y: f.apply(y, (0.0, 0.3), 0.1, lambda t, z, zp: zp + 0.7 * z**3, backward_euler)[1:])  # fmt: skip


def fixed_point(function: Any) -> Any:
    """The equation X = relu(A X + B U), solved to thirteen digits."""
    function.set_parameters(mitr=500, grad_mitr=500, tol=1e-13, grad_tol=1e-13, kappa=0.99)
    return lambda a, b, u: function.apply(a, b, torch.zeros(3, 2).to(a), u)


right("torchidl.implicit_function:ImplicitFunction", of((0.2 * normal(3, 3)).requires_grad_(True), grad(3, 4, seed=1), grad(4, 2, seed=2)), "right", made=fixed_point)  # fmt: skip
right("torchgpipe.dependency:Fork", of(grad(3, 4)), "right", "gradcheck of the first output", made=first_of)  # fmt: skip
right("torchgpipe.dependency:Join", of(grad(3, 4), torch.zeros(1, dtype=D)), "right", "gradcheck; the second argument only says what comes first")  # fmt: skip


class Rate(nn.Module):
    def forward(self, _: Tensor, y: Tensor) -> Tensor:
        return 1.3 * torch.sin(y)


def back_in_time(_: Any) -> Any:
    """An equation solved to ten digits, and back in time by its adjoint."""
    part = lambda name: importlib.import_module(f"torchode.{name}")  # noqa: E731
    term = part("terms").ODETerm(Rate())
    control = part("step_size_controllers").IntegralController(atol=1e-10, rtol=1e-10, term=term)
    solver = part("adjoints").BacksolveAdjoint(term, part("single_step_methods").Dopri5(term=term), control)  # fmt: skip

    def call(y: Tensor) -> Tensor:
        t = torch.linspace(0, 0.5, 3).to(y).expand(len(y), -1)
        problem = part("problems").InitialValueProblem(y, t_start=t[:, 0], t_end=t[:, -1], t_eval=t)
        return solver.solve(problem, dt0=torch.full((len(y),), 0.05).to(y)).ys

    return call


right("torchode.adjoints:BacksolveFunction", of(grad(2, 3)), "missing", "gradcheck of the state at three times", made=back_in_time)  # fmt: skip

NEMO = "physicsnemo."
WIGNER = NEMO + "experimental.nn.symmetry.wigner:"
right(WIGNER + "_SafeAcos", INSIDE, "missing", "gradcheck away from ±1; a clamped copy is saved")
right(WIGNER + "_SafeAtan2", of(grad(3, 4), grad(3, 4, seed=1)), "right", "gradcheck away from the origin")  # fmt: skip
FIELDS = normal(2, 3, 2, 2, seed=1), normal(2, 2, seed=2).abs()
LOSS = NEMO + "metrics.climate.graphcast_loss:CustomCellAreaWeightedLossAutogradFunction"
right(
    LOSS,
    of(grad(2, 3, 2, 2), *FIELDS),
    "raises",
    "gradcheck of the prediction; once_differentiable",
)


def attention(q: Tensor, k: Tensor) -> Tensor:
    return torch.einsum("ncq,nck->nqk", q, k / k.shape[1] ** 0.5).softmax(2)


HEADS = of(grad(2, 3, 4), grad(2, 3, 5, seed=1))
right(NEMO + "nn.module.attention_layers:AttentionOp", HEADS, "", "plain torch in float64: it computes in float32", same_as(attention, HEADS, 1e-4))  # fmt: skip
POINTS = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0.2]], dtype=D)  # fmt: skip
CELLS = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
FREE = torch.tensor([[True, True, False, True, True]])
right(NEMO + "nn.functional.geometry.deform._sobolev_torch_impl:_SobolevDisplacement", of((POINTS + 0.05 * normal(5, 3))[None].requires_grad_(True), CELLS, grad(1, 5, 3, seed=3), FREE, 0.7, 60, 1e-12), "raises", "gradcheck for the points and the displacements; once_differentiable")  # fmt: skip

LABELS = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]], dtype=D)


def seeded(function: Any) -> Any:
    """The same draws of negatives each time."""

    def call(scores: Tensor) -> Tensor:
        torch.manual_seed(5)
        return function.apply(scores, LABELS, 2)

    return call


right("catalyst.contrib.losses.recsys:WARP", of(grad(3, 4)), "right", "gradcheck, with a seed; it reads what it saved by a deprecated name", made=seeded)  # fmt: skip


class Exchange:
    """Rows that go round in a circle, and back."""

    @staticmethod
    def forward_exchange(a: Tensor, out: Tensor, _: int) -> None:
        out.copy_(a[[2, 0, 1]])

    @staticmethod
    def reverse_exchange(a: Tensor, out: Tensor, _: int) -> None:
        out.copy_(a[[1, 2, 0]])


right("mace.tools.utils:LAMMPS_MP", of(grad(3, 4)), "right", made=lambda f: lambda a: f.apply(a, Exchange()))  # fmt: skip
right("x_transformers.belief_state_wrapper:DetachMultiple", of(grad(3, 4), grad(2, seed=1)), "right", "gradcheck of both outputs; forward and backward are class methods")  # fmt: skip


class Scored:
    """A layer that scores nothing."""

    grad_mode = need_weight_grad = False

    def _score_weight_for_device(self, _: Any) -> Tensor:
        return normal(5, 3, seed=4)


right("auto_round.auto_scheme.delta_loss:_ScoreLinear", of(grad(4, 3)), "right", made=lambda f: lambda a: f.apply(a, Scored(), normal(5, seed=2).to(a)))  # fmt: skip
