"""The fourth blind bank's wrong Functions, after all others; fourth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.real_world import fourth_surrogates  # noqa: F401
from benchmarks.real_world.entry import grad, leaves, normal, of, x
from benchmarks.real_world.fourth import (
    GRID,
    LINEAR,
    NOISE,
    POLES,
    SMOOTH,
    momentum,
    plain_momentum,
    warped,
    with_weight,
)
from benchmarks.real_world.fourth_showing import (
    penalty_differs,
    twice_is_not_twice,
    wrong,
)
from benchmarks.real_world.fourth_surrogates import BOUNDS, ELASTIC, GRADS, NEURAL
from benchmarks.real_world.second_showing import (
    D,
    cx,
    gradcheck_of,
    number,
    overwrites,
    same_as,
    stops,
)
from benchmarks.real_world.third_showing import but, second_pass_stops

COSTS = of(normal(2, 3, 4).abs().requires_grad_(True))
wrong("ddtw.backend.backend_torch:_backend_torch", COSTS, "gradcheck, which it passes without the option: a penalty of the end is added to the cost, and backward leaves it out", made=lambda f: warped(f, 1.0))  # fmt: skip
wrong(NEURAL, x(number(0.2, False), 0), "gradcheck: the gradient that is called disconnected is x itself, `return x`, whatever comes from upstream")  # fmt: skip
TIMES = tuple((3 + normal(3, 2, seed=i)).requires_grad_(True) for i in range(3))
wrong("exact_snn.attention:ExactAttentionCombineFn", of(*TIMES, 15.0, 4.0, False, 1.0, 0.5, 40.0, "gaussian"), "gradcheck: the attention is summed over the queries before it meets each query's gradient (that of the values)")  # fmt: skip


def clipped_in_place(inputs: Any) -> Any:
    """Whether the caller's upstream gradient, of the output's type, has other numbers afterwards."""

    def shown(function: Any) -> bool:
        out = function.apply(*inputs())
        up = 3 * normal(*out.shape, seed=5).to(out.dtype)
        out.backward(up)
        return not up.equal(3 * normal(*out.shape, seed=5).to(out.dtype))

    return shown


SATURATED = x(3, 0.2, -1, False, False, False)
wrong("qsparse.quantize:ScalerQuantization", SATURATED, "own program: the upstream gradient, not x, is clipped at the quantiser's bounds, and in place", but(clipped_in_place(SATURATED), twice_is_not_twice(SATURATED)))  # fmt: skip
DECIMAL = x(4, 2, -1, False, False, False)
wrong("qsparse.quantize:DecimalQuantization", DECIMAL, "own program: the upstream gradient, not x, is clipped at the quantiser's bounds, and in place", but(clipped_in_place(DECIMAL), twice_is_not_twice(DECIMAL)))  # fmt: skip
wrong("homura.modules.functional.discretizations:_STE", x(), "own program: the upstream gradient is clipped to -1 to 1, where x was meant: backward is not linear", twice_is_not_twice(x(), 4.0))  # fmt: skip
wrong("bnn.ops:SignActivationStochastic", x(), "forward overwrites its input, which it also saved: `add_`, without mark_dirty", overwrites(x()))  # fmt: skip
SMALL = of(torch.tensor([0.001, -0.002, 0.7, 1.3], dtype=D, requires_grad=True), 3, 3)
wrong(ELASTIC + "nn.float.round_to_float:RoundToFloat", SMALL, "forward overwrites what is close to 0 in its input", overwrites(SMALL))  # fmt: skip


class Tile:
    """What the tiles are given to."""

    weight = normal(3, 3, seed=1)


def tiled(function: Any) -> Any:
    layer = lambda tile, a: torch.tanh(a @ tile.weight.to(a))  # noqa: E731
    return lambda a: function.apply(layer, Tile(), a, 2, [])


TILES = of(grad(2, 4, 3))
wrong("axolotl.monkeypatch.tiled_mlp.base:TiledMLP", TILES, "gradcheck, which it passes for a batch of one: tiles of the second dimension are taken for stretches of memory", made=tiled)  # fmt: skip
wrong("axolotl.monkeypatch.tiled_mlp.base:DeepSpeedTiledMLPMoE", TILES, "gradcheck, which it passes for a batch of one: tiles of the second dimension are taken for stretches of memory", made=tiled)  # fmt: skip
UNEVEN = of(grad(3, 4), torch.tensor([2, 0, 1, 0, 2, 2]))
wrong("axolotl.integrations.kernels.libs.sonicmoe.nvfp4_lora:_GatherRows", UNEVEN, "gradcheck: as documented, rows that are not taken equally often get each other's gradient, without a word")  # fmt: skip


def estimator(function: Any) -> Any:
    """A residual block and the logarithm of its determinant, by two terms of a power series."""
    net = lambda t: 0.5 * torch.tanh(t @ normal(3, 3).to(t))  # noqa: E731

    def call(a: Tensor) -> tuple[Tensor, Tensor]:
        module = importlib.import_module("normflows.flows.residual")
        return function.apply(module.basic_logdet_estimator, net, a, 2, normal(2, 3, seed=3).to(a), lambda _: 1.0, True)  # fmt: skip

    return call


wrong("normflows.flows.residual:MemoryEfficientLogDetEstimator", of(grad(2, 3)), "gradcheck: the first sample's upstream gradient of the logarithm is taken for all samples'", made=estimator)  # fmt: skip


def first_time(gather: Any) -> Any:
    """The same by the adjoint equation, of the times too."""
    field = nn.Linear(2, 2).double()
    field.weight.data, field.bias.data = normal(2, 2), normal(2, seed=1)
    rate = type("Field", (nn.Module,), {"__init__": lambda s: (nn.Module.__init__(s), setattr(s, "layer", field))[0], "forward": lambda s, _, y: torch.tanh(s.layer(y))})()  # fmt: skip

    def call(y: Tensor, t: Tensor) -> Tensor:
        rate.to(y.dtype)
        weights = torch.cat([p.flatten() for p in rate.parameters()]).detach()
        made = gather(rate, weights, "rk4", 1e-9, 1e-9, None, "rk4", 1e-9, 1e-9, None, "standard")
        return made.apply(weights, y, t)[1]

    return call


SPAN = of(grad(3, 2), torch.tensor([0.0, 1.0], dtype=D, requires_grad=True))
ADJOINT = "torchdyn.numerics.sensitivity:_gather_odefunc_adjoint"


def other_sign(call: Any) -> bool:
    """Whether the last time's gradient is a difference quotient's, and the first one's its negative."""
    y, t = leaves(SPAN())
    along, step = normal(3, 2, seed=5), 1e-4 * torch.eye(2, dtype=D)
    ahead = lambda at: (call(y, at)[-1] * along).sum()  # noqa: E731
    (given,) = torch.autograd.grad(ahead(t), t)
    first, last = ((ahead(t.detach() + h) - ahead(t.detach() - h)).item() / 2e-4 for h in step)
    return abs(given[1] - last) < 0.02 * abs(last) and abs(given[0] + first) < 0.02 * abs(first)


wrong(ADJOINT, SPAN, "own difference quotients: the first time's gradient has the wrong sign", other_sign, first_time)  # fmt: skip
THREE = of(grad(3, 2), torch.tensor([0.0, 0.4, 1.0], dtype=D, requires_grad=True))
wrong(ADJOINT, THREE, "backward stops for three times, which forward takes: of their gradients the first and the last are given", stops(THREE), first_time)  # fmt: skip


def ladder(decorate: Any) -> Any:
    """A square with the gradient that is given by hand, as the package decorates it."""
    return decorate(lambda t: 2 * t)(lambda t: t**2)


wrong("geomstats._backend.pytorch.autodiff:custom_gradient", of(grad(3, 3)), "backward stops for a matrix: `n,n...->n...` takes the upstream gradient for a vector", stops(of(grad(3, 3))), ladder)  # fmt: skip
wrong("df.utils:angle_re_im", of(torch.tensor([1e-6, 0.3], dtype=D, requires_grad=True), torch.tensor([-1e-6, 0.2], dtype=D, requires_grad=True)), "own program: closer to the origin than 10⁻⁵ the square of the distance is taken for 10⁻¹⁰, on purpose", lambda f: abs(torch.autograd.grad(f.apply(*(a := [torch.tensor(v, dtype=D, requires_grad=True) for v in (1e-6, -1e-6)])), a)[0].item() - 5e5) > 1e5)  # fmt: skip
wrong("advertorch.bpda:BPDAWrapper", of(grad(3, 4), grad(4, seed=1)), "gradcheck: as documented it is not the derivative: of a product, each of two gets the upstream gradient as it is", made=lambda w: w._create_func(torch.mul, None, None))  # fmt: skip
wrong("magic_clamp.autograd:ClampWithConditionalSTEFunction", x(-0.5, 0.6, True), "own program: as documented it is not linear: beyond a bound the sign of the upstream gradient decides", twice_is_not_twice(x(-0.5, 0.6, True), -1.0))  # fmt: skip
wrong("torchray.attribution.deconvnet:DeConvNetReLU", x(), "gradcheck: as documented it is not the derivative but the positive part of the upstream gradient")  # fmt: skip
wrong("revlib.core:_ReplaceGrad", of(*(grad(2, 3, seed=i) for i in range(4))), "gradcheck: as documented it is not the derivative: saved values are given for two gradients")  # fmt: skip
BOTH = x(*BOUNDS, *BOUNDS)
wrong(GRADS + "autograd:QuantizeForwHTEBackwHTEAutograd", BOTH, "own program: as documented backward rounds and clips the upstream gradient, so it is not linear", twice_is_not_twice(BOTH, 7.3))  # fmt: skip

MOMENTUM = of(grad(2, 4), grad(2, 4, seed=1), grad(2, 4, seed=2))
wrong("momentumnet.momentum_net:MomentumTransformMemory", MOMENTUM, "own programs: it is as plain torch, and a second pass through a graph that was kept stops: backward runs the layers back in the numbers that were saved, in place", but(same_as(plain_momentum, MOMENTUM, 1e-3), second_pass_stops(MOMENTUM, RuntimeError)), momentum)  # fmt: skip
TWICE = (
    "own difference quotients: the first derivative is right, the second is given and is wrong: "
)
wrong("ddtw.backend.backend_torch:_backend_torch", COSTS, TWICE + "a penalty's gradient leaves out what the alignment itself depends on", penalty_differs(COSTS), warped, "wrong")  # fmt: skip


# ---- mistakes that are planted: the package's own Function, with another backward ----
def changed(change: Any) -> Any:
    """The same Function, with its gradients changed."""

    def made(function: Any) -> Any:
        def backward(ctx: Any, *upstream: Tensor) -> Any:
            return change(ctx, function.backward(ctx, *upstream))

        return type(function.__name__, (function,), {"backward": staticmethod(backward)})

    return made


def overwrites_the_grid(ctx: Any, gradients: Any) -> Any:
    ctx.saved_tensors[0].add_(0.01)
    return gradients


def other_after_backward(function: Any) -> bool:
    """Whether the grid has other numbers after backward."""
    args = leaves(GRID())
    before = args[1].detach().clone()
    function.apply(*args)[0].sum().backward()
    return not args[1].equal(before)


def other_tangent(function: Any) -> Any:
    def jvp(ctx: Any, x: Tensor, a: Tensor, z: Tensor) -> Tensor:
        return function.jvp(ctx, x, None if a is None else -a, z)

    return type(function.__name__, (function,), {"jvp": staticmethod(jvp)})


PLANTED = "planted: "
wrong("df.utils:angle", of(cx(3, 4)), PLANTED + "gradcheck: the gradient of a complex argument lacks its conjugate", made=changed(lambda _, g: g.conj()))  # fmt: skip
wrong("hqq.core.quantize:HQQMatmulNoCacheDeq", LINEAR, PLANTED + "gradcheck: None for the bias", made=lambda f: with_weight(changed(lambda _, g: (*g[:2], None))(f)))  # fmt: skip
wrong("nnmnkwii.autograd._impl.mlpg:UnitVarianceMLPG", of(grad(2, 4, 6), SMOOTH), PLANTED + "gradcheck: the first sample's gradient for the whole batch", made=changed(lambda _, g: (g[0][:1].expand_as(g[0]), None)))  # fmt: skip
wrong("pytopk.noised_topk:_NoisedTopK", of(grad(3, 5), NOISE, 2, 0.5, -1, -1), PLANTED + "gradcheck: a scale too many, of the noise", made=changed(lambda _, g: (0.5 * g[0], *g[1:])))  # fmt: skip
wrong("philtorch._torchlpc:AllPole", POLES, PLANTED + "gradcheck in forward mode: a sign of the tangent; backward is right", but(gradcheck_of(POLES), lambda f: not gradcheck_of(POLES, check_forward_ad=True)(f)), other_tangent)  # fmt: skip
wrong("mrpro.operators.GridSamplingOp:AdjointGridSample", GRID, PLANTED + "own program: backward overwrites the grid that was saved", other_after_backward, changed(overwrites_the_grid))  # fmt: skip
