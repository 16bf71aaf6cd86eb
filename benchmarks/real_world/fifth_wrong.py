"""The fifth blind bank's wrong Functions, after all others; fifth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.real_world import fifth_surrogates  # noqa: F401
from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.fifth import DAE, FIELDS, LOSS, ONE, implicit
from benchmarks.real_world.fifth_showing import (
    falls_where_it_should_rise,
    not_a_number,
    two_is_not_one_and_one,
    wrong,
)
from benchmarks.real_world.fifth_surrogates import ALPHA, EPS
from benchmarks.real_world.fourth_showing import first_of, twice_is_not_twice
from benchmarks.real_world.second_showing import (
    D,
    gradcheck_of,
    no_gradgradcheck,
    number,
    overwrites,
    stops,
)
from benchmarks.real_world.third_showing import but, second_pass_stops

TWICE = "gradgradcheck: the first derivative is right, the second is given and is wrong: "

# ---- the gradient itself ----
ABOVE = of((X.abs() + 0.3).requires_grad_(True))
wrong("zeta.nn.modules.pulsar:LogGammaActivation", ABOVE, "gradcheck: the derivative of log Γ(x+1) is ψ(x+1), backward takes ψ(x+2)")  # fmt: skip
WIDE = torch.tensor([[0, 1, 2, 2, 0], [1, 0, 3, 0, 2]])
SPMM = "graphzoo.layers.att_layers:SpecialSpmmFunction"
wrong(SPMM, of(WIDE, grad(5), (3, 4), grad(4, 2, seed=1)), "gradcheck, which it passes for a square matrix: the place of an entry is its row times the number of rows, not of columns")  # fmt: skip
wrong(DAE, ONE, "gradcheck: the gradient that reaches the first of the states, which is y0 itself, is left out", made=implicit(lambda out: out, lambda k, y, yp: yp + k * y**3))  # fmt: skip
PAIR = of(grad(2, 2), number(0.7))
wrong(DAE, PAIR, "gradcheck, which it passes for a batch of one: the Jacobians of all examples are taken with the first one's state and speed", made=implicit(lambda out: out[1:], lambda k, y, yp: (1 + y**2) * yp + k * y))  # fmt: skip
wrong(LOSS, of(grad(2, 3, 2, 2), FIELDS[0].clone().requires_grad_(True), FIELDS[1]), "gradcheck: None for the second argument, on which the loss depends as on the first")  # fmt: skip
RULES = torch.tensor([0.5, 0.1, 20.0, 20.0, 30.0], dtype=D)


def traces(rule: int, *needs: int) -> Any:
    """Spikes, rewards, weights, and what is remembered of both sides."""
    scales = (1, 1, 1, 0.1, 1, 1, 1, 0.1, 0.1)
    made = [s * normal(3, seed=i + 1).abs() for i, s in enumerate(scales)]
    made[3] += 0.3
    return of(*(m.requires_grad_(i in needs) for i, m in enumerate(made)), RULES, rule, 0.1)


LEARNING = "sc_neurocore._native.learning_bridge:_BiologicalAutogradFactory"
EXACT = "gradcheck of the weights, though it says of itself that it is mathematically exact: "
wrong(LEARNING, traces(1, 0, 1, 3), EXACT + "the traces after the step stand where those before it were used", made=first_of)  # fmt: skip
wrong(LEARNING, traces(0, 0, 3), EXACT + "the normalisation by the sum of what was added is left out", made=first_of)  # fmt: skip
LOW = of(torch.tensor([-2.0, -3.0, 0.3], dtype=D), EPS, ALPHA.clone().requires_grad_(True))
CLIP = "own program: below -α the output is -α, so it falls as α grows; backward says that it rises"
wrong("nemo.quant.pact:PACT_QuantFunc_Signed", LOW, CLIP, falls_where_it_should_rise(LOW, 2, 0.5))
BOTH = of(torch.tensor([-2.0, -3.0, 0.3], dtype=D), EPS, ALPHA.clone().requires_grad_(True), torch.tensor([0.8], dtype=D))  # fmt: skip
wrong("nemo.quant.pact:PACT_QuantFunc_Asymm", BOTH, CLIP, falls_where_it_should_rise(BOTH, 2, 0.5))

# ---- the upstream gradient ----
CLIFFORD = "torchquantum.util.quantization.clifford_quantization:QuantizeFunction"
wrong(CLIFFORD, of(torch.tensor([1.3], dtype=D, requires_grad=True)), "own program: of one element the gradient is nan: its standard deviation is", not_a_number(of(torch.tensor([1.3], dtype=D, requires_grad=True))))  # fmt: skip
MANY = of(normal(20, seed=3).requires_grad_(True))
wrong(CLIFFORD, MANY, "own program: the upstream gradient is clipped at three of its standard deviations: backward is not linear", two_is_not_one_and_one(MANY))  # fmt: skip
THETA = of(X, number(0.5))
wrong("gsmc_torch.surrogate:ExactSpike", THETA, "own program: of the threshold the product with the upstream gradient is capped, not the factor: backward is not linear", twice_is_not_twice(THETA, -3.0))  # fmt: skip

# ---- backward stops ----
EACH = x(1.0, torch.full((3, 4), 0.5, dtype=D, requires_grad=True))
wrong("astrohebbian.model:ExactSpike", EACH, "backward stops for a threshold of the input's shape: torch takes a sum over no dimension for one over all", stops(EACH))  # fmt: skip
FROZEN = of(grad(1, 2), number(0.7, False))
wrong(DAE, FROZEN, "backward stops where a parameter is not differentiated: it asks for that one's gradient in any case", stops(FROZEN), implicit(lambda out: out[1:], lambda k, y, yp: yp + k * y**3))  # fmt: skip
DELTA = x(EPS, ALPHA.clone().requires_grad_(True), 0.0)
wrong("nemo.quant.pact:PACT_QuantFunc", DELTA, "backward stops where the fourth argument, delta, is given: three gradients come back", stops(DELTA))  # fmt: skip
LARGE = of((normal(6, 6).abs() + 0.1).requires_grad_(True))


def dominant(function: Any) -> Any:
    return lambda a: function.apply(a, 5)[0]


wrong("DominantSparseEigenAD.eig:DominantEig", LARGE, "backward stops: SciPy's gmres has no argument tol since 1.14", stops(LARGE, TypeError), dominant)  # fmt: skip


def differential(method: str) -> Any:
    """A state a while later, as the package's own function solves it."""
    net = nn.Linear(3, 3).double()
    net.weight.data, net.bias.data = normal(3, 3), normal(3, seed=1)
    field = type("Field", (nn.Module,), {"__init__": lambda s: (nn.Module.__init__(s), setattr(s, "net", net))[0], "forward": lambda s, _, y: torch.tanh(s.net(y))})()  # fmt: skip

    def made(_: Any) -> Any:
        solve = importlib.import_module("TorchDiffEqPack.odesolver_mem.adjoint").odesolve_adjoint
        options = {"method": method, "h": 0.1, "t0": 0.0, "t1": 0.5, "rtol": 1e-6, "atol": 1e-6}
        more = {"print_neval": False, "neval_max": 10_000, "t_eval": None}

        def call(y: Tensor) -> Tensor:
            field.to(y.dtype)
            return solve(field, y, options={**options, **more})

        return call

    return made


STATE = of(grad(2, 3))
ODE = "TorchDiffEqPack.odesolver_mem.adjoint:Checkpointing_Adjoint"
wrong(ODE, STATE, "backward stops for a method of fixed steps, which the documentation names: it lists the error, which is None there", stops(STATE, TypeError), differential("euler"))  # fmt: skip

# ---- a second pass through a graph that was kept ----
wrong(ODE, STATE, "a second pass through a graph that was kept stops: backward deletes what forward kept", second_pass_stops(STATE, AttributeError), differential("rk12"))  # fmt: skip


def recomputed(function: Any) -> Any:
    """A layer that backward computes once more."""
    return lambda a, w: function.apply(lambda t: torch.tanh(t * w), 1, a, w)


LAYER = of(grad(3, 4), grad(4, seed=1))
wrong("iopaint.model.anytext.ldm.modules.diffusionmodules.util:CheckpointFunction", LAYER, "a second pass through a graph that was kept stops: backward deletes what forward kept", second_pass_stops(LAYER, AttributeError), recomputed)  # fmt: skip

# ---- what is overwritten ----
wrong("pytorch_widedeep.models.tabular.tabnet.sparsemax:SparsemaxFunction", x(), "forward overwrites its input: `input -= max_val`, without mark_dirty", overwrites(x()))  # fmt: skip

# ---- the second derivative ----
wrong("pytorch_widedeep.models.tabular.tabnet.sparsemax:Entmax15Function", x(), TWICE + "nan where the output is 0", no_gradgradcheck(x()), second="wrong")  # fmt: skip
NORM = of(grad(2, 3, 2, 2), grad(3, seed=1), grad(3, seed=2), 1e-6)
wrong("spandrel_extra_arches.architectures.M3SNet.__arch.arch_utils:LayerNormFunction", NORM, TWICE + "normalised numbers and variance are saved, intermediates", no_gradgradcheck(NORM), second="wrong")  # fmt: skip
SQUARE = of(torch.tensor([[0, 1, 2, 2, 0], [1, 0, 2, 0, 2]]), grad(5), (3, 3), grad(3, 2, seed=1))
wrong(SPMM, SQUARE, TWICE + "the sparse matrix is saved, an intermediate, so the second factor's gradient is taken not to depend on the entries", no_gradgradcheck(SQUARE), second="wrong")  # fmt: skip
TIMES = of((2 + 3 * normal(2, 3).sigmoid()).requires_grad_(True), (1.5 + normal(2, 3, seed=1).sigmoid()).requires_grad_(True))  # fmt: skip
EVENTS = "exact_event_adjoint."
SPEED = "the potential's speed at the spike is saved, an intermediate"
for where in ("core:ExactAdjointFunction", "extended:ExactSaltationMultiSpikeFunction"):
    wrong(EVENTS + where, TIMES, TWICE + SPEED, but(gradcheck_of(TIMES), no_gradgradcheck(TIMES)), second="wrong")  # fmt: skip
