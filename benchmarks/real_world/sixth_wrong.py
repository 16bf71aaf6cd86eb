"""The sixth blind bank's wrong Functions, after all others; sixth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.real_world import sixth_surrogates  # noqa: F401
from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.fifth import Exchange
from benchmarks.real_world.fourth_showing import twice_is_not_twice
from benchmarks.real_world.second_showing import D, no_gradgradcheck, number, overwrites, stops
from benchmarks.real_world.sixth import COLUMN, DATA, ROW
from benchmarks.real_world.sixth_showing import (
    depends_on_earlier_ones,
    mean_over_the_batch,
    second_pass_of_twice_stops,
    single_upstream_overwritten,
    stops_for_a_transposed_upstream,
    stops_under_vmap,
    wrong,
)
from benchmarks.real_world.sixth_surrogates import TORCH, arctangent
from benchmarks.real_world.third_showing import sideways, upstream_overwritten

TWICE = "gradgradcheck: the first derivative is right, the second is given and is wrong: "

# ---- the gradient itself ----
HINGES = of(grad(2, 2), grad(2, 2, 2, seed=1), grad(2, 2, 2, seed=2))
wrong("echoAI.Activation.Torch.apl:apl_function", HINGES, "gradcheck, for the input, the slopes and the hinges: a hinge counts where max(0, b - x) is not 0, backward looks at x ≥ 0")  # fmt: skip
wrong(TORCH + "base:_SurrogateAutograd", x(), "gradcheck: with spiking=False forward is 1/2 + atan(2x)/π, whose slope is 2/π/(1 + (2x)²); backward leaves 2/π out", made=arctangent(False))  # fmt: skip
wrong("qste.nn:_SmoothFn", x("gelu", "none"), "gradcheck: the derivative is kept in eight bits, as documented")  # fmt: skip
wrong("colossalai.shardformer.modeling.deepseek:AddAuxiliaryLoss", x(grad(1, seed=2)), "gradcheck: the output does not depend on the loss, whose gradient is 1 whatever comes from above, as documented")  # fmt: skip
WEIGHT, EXAMPLE = grad(3, 4), normal(1, 5, 4, seed=1)
wrong("bitmat.utils.bitmat:BitMat", of(WEIGHT, grad(2, 5, 4, seed=1)), "own program: the weight's gradient is the mean over a batch, where the sum belongs; and the input gets None, where the documentation says straight through", mean_over_the_batch(WEIGHT, EXAMPLE))  # fmt: skip

# ---- the upstream gradient ----
ROUND = x(torch.round)
THROUGH = "bitnet_v3.core.straight_through:"
wrong(THROUGH + "ClippedStraightThroughEstimator", ROUND, "own program: the upstream gradient is clipped: backward is not linear, as documented", twice_is_not_twice(ROUND))  # fmt: skip
wrong(THROUGH + "EnhancedSTEWithMomentum", ROUND, "own program: the gradient depends on those that were asked for before, of whatever call: backward keeps their mean, as documented", depends_on_earlier_ones(ROUND, 3, 4))  # fmt: skip

# ---- backward stops ----
TRAINS = of((X > 0.5).to(D).requires_grad_(True), (normal(3, 4, seed=1) > 0.5).to(D).requires_grad_(True))  # fmt: skip
wrong("matterhorn_pytorch.tnn.functional:t_rl_inh", TRAINS, "backward stops: bp_gaussian is called without its second argument", stops(TRAINS))  # fmt: skip
CURVE = of(0.7 * torch.arange(5, dtype=D), grad(5), (2.8 * normal(4, seed=2).sigmoid()).requires_grad_(True))  # fmt: skip
wrong("torchinterp1d.interp1d:Interp1d", CURVE, "backward stops: it wants the graph that forward made of its own output, which torch gives another one", stops(CURVE))  # fmt: skip


AFFINE = of(grad(2, 3, 4), grad(5, 4, seed=1), grad(5, seed=2))
wrong("deepspeed.runtime.zero.linear:LinearFunctionForZeroStage3", AFFINE, "forward stops under torch.func.vmap over the bias: `output += bias`, though generate_vmap_rule is True (first taken for right, on gradcheck)", stops_under_vmap(AFFINE, 2))  # fmt: skip
NODES = of(grad(3, 2, 2))
wrong("sevenn.nn._ghost_exchange:LAMMPSMLIAPGhostExchangeOp", NODES, "backward stops for an upstream gradient that is transposed in memory: view, where reshape belongs", stops_for_a_transposed_upstream(NODES), lambda f: lambda a: f.apply(a, Exchange()))  # fmt: skip
LAYER = of(grad(2, 3, 4), grad(4, 5, seed=1), grad(5, seed=2), False)
wrong("colossalai.shardformer.layer._operation:MatmulWithGradAccum", LAYER, "backward stops for an input that is transposed in memory: view, where reshape belongs", sideways(LAYER))  # fmt: skip


def tiled_loss(function: Any) -> Any:
    """A loss over classes, in two tiles."""
    classes = torch.tensor([[0, 1, 2, 1], [2, 0, 1, 0]])
    return lambda a: function.apply(lambda _, t, y: F.cross_entropy(t, y), None, a, classes, None, 2, [], "mean")  # fmt: skip


TOKENS = of(grad(2, 4, 3))
TILES = "deepspeed.runtime.sequence_parallel.ulysses_sp:"
wrong(TILES + "TiledFusedLogitsLoss", TOKENS, "a second pass through a graph that was kept stops, where the upstream gradient is not 1: backward multiplies the saved gradient in place", second_pass_of_twice_stops(TOKENS), tiled_loss)  # fmt: skip

# ---- what is overwritten ----


def tiled_mean(function: Any) -> Any:
    """The mean of two tiles' losses."""
    loss = lambda hidden, weight: torch.tanh(hidden * weight).mean()  # noqa: E731
    return lambda a: function.apply(loss, 4, 2, ["hidden"], ["weight"], "hidden", [], 0, "mean", a, normal(3, seed=3).to(a))  # fmt: skip


wrong(TILES + "SequenceTiledCompute", TOKENS, "backward overwrites the upstream gradient: `incoming_grad /= shards`", upstream_overwritten(TOKENS), tiled_mean)  # fmt: skip
wrong("colossalai.moe._operation:EPGradScalerIn", x(2), "backward overwrites the upstream gradient: `grad.mul_`", upstream_overwritten(x(2)))  # fmt: skip


class Surface:
    """Where what is learned of signs would go."""

    rows, columns = 3, 4

    def consume_evidence(self, _: Tensor) -> None:
        """It is not looked at."""


def signs(function: Any) -> Any:
    """A matrix of signs, times a scale for each row."""
    packed = importlib.import_module("qste.kernels").pack_bits(normal(3, 4, seed=3) > 0)
    return lambda a: function.apply(packed, a, Surface())


SCALES = of(torch.tensor([1.5, 2.0, 0.5], requires_grad=True))
wrong("qste.functional:QSTEWeightFn", SCALES, "backward overwrites the upstream gradient in float32, in which it is made to compute: `grad_weight.mul_`", single_upstream_overwritten(SCALES), signs)  # fmt: skip
BOUND = x(number(2.0, False))
wrong("mqbench.fake_quantize.nnie:NNIEQuantizeFunc", BOUND, "forward overwrites its input, in float64: `x.double()` is x itself there", overwrites(BOUND))  # fmt: skip

# ---- the second derivative ----
SOLVED = of(DATA, ROW, COLUMN, (3, 3), grad(3))
wrong("tensormesh.sparse.solve.scipy_solve:SparseSolveScipy", SOLVED, TWICE + "the adjoint solution went through SciPy: a constant to autograd", no_gradgradcheck(SOLVED), second="wrong")  # fmt: skip
TRUNK = of(grad(1, 3, 4), grad(5, 4, seed=1), grad(5, seed=2))
wrong("torchphysics.models.deeponet.layers:linear", TRUNK, TWICE + "the first copy of the input is saved, an intermediate", no_gradgradcheck(TRUNK), second="wrong")  # fmt: skip


def interpolated(function: Any) -> Any:
    """Values between sixteen points of a circle."""

    def call(places: Tensor, values: Tensor) -> Tensor:
        width, step = (places.new_tensor([v]) for v in (0.9, torch.pi / 8))
        return function.apply(places, values, width, 4.0, 1, step, torch.tensor([16]))

    return call


CIRCLE = of(grad(1, 5), grad(1, 1, 16, seed=1))
wrong("torchesnufft.utils.spreadinterp:InterpFunction", CIRCLE, TWICE + "the kernel's values are saved, intermediates", no_gradgradcheck(CIRCLE), made=interpolated, second="wrong")  # fmt: skip


def controlled(_: Any) -> Any:
    """The best way through three steps, as the package's own solver finds it."""
    mpc = importlib.import_module("mpc.mpc")

    def call(start: Tensor, root: Tensor, linear: Tensor, law: Tensor, drift: Tensor) -> Any:
        cost = root @ root.mT + 0.5 * torch.eye(3).to(root)
        solve = mpc.MPC(2, 1, 3, lqr_iter=3, verbose=-1, exit_unconverged=False, n_batch=1, grad_method=mpc.GradMethods.ANALYTIC)  # fmt: skip
        return solve(start, mpc.QuadCost(cost, linear), mpc.LinDx(law, drift))[:2]

    return call


WAY = of(grad(1, 2), grad(3, 1, 3, 3, seed=1), grad(3, 1, 3, seed=2), grad(2, 1, 2, 3, seed=3), grad(2, 1, 2, seed=4))  # fmt: skip
wrong("mpc.mpc:LQRStep", WAY, TWICE + "the adjoint solution is read by .data: a constant to autograd", no_gradgradcheck(WAY), made=controlled, second="wrong")  # fmt: skip
