"""The fourth blind bank's right Functions; fourth_showing.py says how they were chosen and verified."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.real_world.entry import X, grad, normal, of, x
from benchmarks.real_world.fourth_showing import first_of, right
from benchmarks.real_world.second_showing import (
    D,
    cx,
    gradcheck_of,
    number,
    quotient,
)
from benchmarks.real_world.third_showing import spd

INSIDE = (0.8 * X.sigmoid() + 0.1).requires_grad_(True)
BETA = "torch_betainc.betainc:Betainc"
ABOVE = (X.abs() + 1.2).requires_grad_(True)
right(BETA, of(ABOVE, (normal(3, 4, seed=1).abs() + 1.2).requires_grad_(True), INSIDE, 1e-14, 3, 500), "right")  # fmt: skip
right(BETA, of(number(1.5), grad(4).abs().add(1.3).detach().requires_grad_(True), INSIDE, 1e-14, 3, 500), "right", "gradcheck, broadcast: torch itself sums a gradient of the larger shape")  # fmt: skip


def einsum(function: Any) -> Any:
    """A matrix product in the logarithmic semiring; two rows at a time."""
    equation = importlib.import_module("torch_semiring_einsum.equation").compile_equation(
        "ij,jk->ik"
    )
    return lambda *args: function.apply(equation, 2, True, True, float("nan"), *args)


EINSUM = "torch_semiring_einsum.log_differentiable:LogEinsumFunction"
right(EINSUM, of(grad(3, 4), grad(4, 2, seed=1)), "raises", made=einsum)

SPD = of(spd(2, 3, 3))
TORCHSPD = "torchspd.torchspd:"
right(TORCHSPD + "sqrtm", SPD, "raises", "gradcheck: the Function takes the symmetric part itself")
right(TORCHSPD + "logm", SPD, "raises")
right(TORCHSPD + "powm", of(spd(2, 3, 3), -0.7), "raises")
right("geomstats._backend.pytorch.linalg:_Logm", of((torch.eye(3, dtype=D) + 0.1 * normal(3, 3)).requires_grad_(True)), "missing", "gradcheck: SciPy's logarithm of a block matrix")  # fmt: skip


def with_weight(function: Any) -> Any:
    """A linear layer whose weight is given by a call."""
    weight = normal(5, 3, seed=4)
    return lambda a, b: function.apply(a, lambda: weight.to(a), b)


LINEAR = of(grad(2, 4, 3), grad(5, seed=1))
HQQ = "hqq.core.quantize:"
right(HQQ + "HQQMatmulNoCacheDeq", LINEAR, "right", "gradcheck: the bias's gradient is summed over one of two dimensions, torch sums the other", made=with_weight)  # fmt: skip
right(HQQ + "HQQMatmulCachedDeq", of(grad(4, 3)), "right", made=lambda f: lambda a: f.apply(a, type("Layer", (), {"dequantize": lambda _: normal(5, 3, seed=4).to(a)})(), None))  # fmt: skip
right("df.utils:angle_re_im", of(grad(3, 4), grad(3, 4, seed=1)), "right")
right("df.utils:angle", of(cx(3, 4)), "right", "gradcheck of a complex argument, a real angle")

MATRIX = torch.complex(normal(4, 3), normal(4, 3, seed=1))


def operator(function: Any) -> Any:
    return lambda a: function.apply(lambda v: MATRIX.to(v) @ v, lambda v: MATRIX.to(v).mH @ v, a)


MRPRO = "mrpro.operators."
GRID = of(grad(1, 2, 3, 3), (0.7 * normal(1, 3, 3, 2, seed=1).tanh()).requires_grad_(True), (1, 2, 4, 4), "bilinear", "zeros", True)  # fmt: skip
right(MRPRO + "GridSamplingOp:AdjointGridSample", GRID, "right", "gradcheck for the image and the grid", made=first_of)  # fmt: skip


def solution(function: Any) -> Any:
    """Of a right side and the logarithm of a damping: a linear system, solved by conjugate gradients."""
    near = importlib.import_module("mrpro.operators.EinsumOp").EinsumOp
    same = importlib.import_module("mrpro.operators.IdentityOp").IdentityOp
    given = normal(3, 3) @ normal(3, 3).mT

    def call(b: Tensor, damping: Tensor) -> Tensor:
        made = lambda b, d: near(given.to(b), "i j, j -> i") + d.exp() * same()  # noqa: E731
        return function.apply(made, lambda b, _: (b,), b, damping)[0]

    return call


right(MRPRO + "ConjugateGradientOp:ConjugateGradientFunction", of(grad(3), number(0.3)), "raises", "gradcheck for the right side and the operator's parameter", made=solution)  # fmt: skip
right(MRPRO + "LinearOperator:_AutogradWrapper", of(cx(3)), "right", "gradcheck, backward and forward mode, complex", gradcheck_of(of(cx(3)), check_forward_ad=True), operator)  # fmt: skip


def momentum(function: Any) -> Any:
    """Three residual layers with momentum, run backwards exactly; of x, the speed and a third argument."""
    layers = [nn.Linear(4, 4).double() for _ in range(3)]
    for i, layer in enumerate(layers):
        layer.weight.data, layer.bias.data = normal(4, 4, seed=i), normal(4, seed=i)
    each = [type("Layer", (nn.Module,), {"forward": lambda _, a, y, f=layer: torch.tanh(f(a) * y)})() for layer in layers]  # fmt: skip
    return lambda a, v, y: function.apply(a, v, 0.9, each, None, True, 1, y)


def plain_momentum(a: Tensor, v: Tensor, y: Tensor) -> Tensor:
    """The same layers in plain torch."""
    for i in range(3):
        v = 0.9 * v + 0.1 * torch.tanh(F.linear(a, normal(4, 4, seed=i), normal(4, seed=i)) * y)
        a = a + v
    return a


POLES = of(grad(2, 6), (0.3 * normal(2, 6, 2, seed=1)).requires_grad_(True), grad(2, 2, seed=2))
right("philtorch._torchlpc:AllPole", POLES, "right", "gradcheck, backward and forward mode", gradcheck_of(POLES, check_forward_ad=True))  # fmt: skip


def philtorch_op(name: str) -> Any:
    """An operator of the package's own, with autograd registered by torch.library."""

    def made(_: Any) -> Any:
        importlib.import_module("philtorch._C")
        importlib.import_module("philtorch._ops")
        return getattr(torch.ops.philtorch, name)

    return made


SCAN = of(grad(2, 6), (0.5 * normal(2, 6, seed=1)).requires_grad_(True), grad(2, seed=2))
right("philtorch._torchlpc:_C", SCAN, "right", "gradcheck of torch.ops.philtorch.scan", made=philtorch_op("scan"))  # fmt: skip
right("philtorch._torchlpc:_C", of((0.5 * normal(2, 2)).requires_grad_(True), grad(2, 2, seed=1), grad(2, 5, 2, seed=2)), "right", "gradcheck of torch.ops.philtorch.lti_recurN", made=philtorch_op("lti_recurN"))  # fmt: skip


def warped(function: Any, end: float = 0.0) -> Any:
    """Of costs the soft alignment's, with weights for each step and for the end."""

    def call(costs: Tensor) -> Tensor:
        b, n, m = costs.shape
        steps = torch.tensor([[1, 0], [0, 1], [1, 1]])
        weights = torch.tensor([1.0, 1.0, 2.0], dtype=D).expand(b, n, m, -1)
        ends, one = torch.tensor([[[n - 1, m - 1]]] * b), torch.ones(b, 1, dtype=D)
        rows, columns = torch.full((b,), n), torch.full((b,), m)
        starts, count = torch.zeros(b, 1, 2, dtype=torch.long), torch.ones(b, dtype=torch.long)
        return function.apply(costs, 1, torch.tensor(0.7), steps, weights, rows, columns, starts, ends, count, count, one, end * one, False)  # fmt: skip

    return call


def powers(backend: Any) -> Any:
    """A cube and a sine with the gradients that are given by hand."""
    f = lambda a, b: (a**3 + b.sin(), a * b)  # noqa: E731
    g = lambda xs, ys, dys: (3 * xs[0] ** 2 * dys[0] + xs[1] * dys[1], xs[1].cos() * dys[0] + xs[0] * dys[1])  # noqa: E731  # fmt: skip
    importlib.import_module("phiml.backend._backend").set_global_precision(64)
    return backend().custom_gradient(f, g)


right("phiml.backend.torch._torch_backend:TorchBackend", of(grad(3, 4), grad(3, 4, seed=1)), "right", "gradcheck of custom_gradient's Function, two outputs", made=powers)  # fmt: skip
right("pytorchvideo.layers.swish:SwishFunction", x(), "right", "gradcheck; it reads what it saved by a deprecated name")  # fmt: skip
right("torchgdm.tools.special:Jn", of((2.5 + X.abs()).requires_grad_(True)), "right", "gradcheck: a Bessel function, the order an integer", made=lambda f: lambda z: f(2, z).real)  # fmt: skip
BESSEL = of((1.0 + X.abs()).requires_grad_(True))
right("torchgdm.tools.special:Kn", BESSEL, "", "difference quotients over 0.02, for it computes in float32: a Bessel function, the order an integer", quotient(BESSEL, 0.02, 1e-3), made=lambda f: lambda z: f(1, z).real)  # fmt: skip


def normal_equations(function: Any) -> Any:
    """Of a right side and a matrix the solution of damped normal equations."""

    def call(b: Tensor, a: Tensor) -> Tensor:
        return function(lambda v: a.mT @ (a @ v) + v, b, max_iter=30, rtol=1e-14, parameters=[a]).solution  # fmt: skip

    return call


right("torchsolve._cg:conjugate_gradient", of(grad(3), grad(4, 3, seed=1)), "raises", made=normal_equations)  # fmt: skip
right("swift.sequence_parallel.utils:ChunkedCrossEntropyLoss", of(grad(5, 4), torch.tensor([0, 3, -100, 1, 2]), 2), "missing")  # fmt: skip


def by_the_adjoint(gather: Any) -> Any:
    """Of a state the solution of y' = tanh(W y) at eleven times, by the adjoint equation."""
    field = nn.Linear(2, 2).double()
    field.weight.data, field.bias.data = normal(2, 2), normal(2, seed=1)
    rate = type("Field", (nn.Module,), {"__init__": lambda s: (nn.Module.__init__(s), setattr(s, "layer", field))[0], "forward": lambda s, _, y: torch.tanh(s.layer(y))})()  # fmt: skip
    times = torch.linspace(0, 0.5, 11, dtype=D)

    def call(y: Tensor) -> Tensor:
        rate.to(y.dtype)
        weights = torch.cat([p.flatten() for p in rate.parameters()]).detach()
        made = gather(rate, weights, "rk4", 1e-9, 1e-9, None, "rk4", 1e-9, 1e-9, None, "standard")
        return made.apply(weights, y, times.to(y))[1]

    return call


right("torchdyn.numerics.sensitivity:_gather_odefunc_adjoint", of(grad(3, 2)), "raises", "gradcheck of the state at eleven times", made=by_the_adjoint)  # fmt: skip


def stochastic(function: Any) -> Any:
    """A stochastic equation with diagonal noise, solved there and back by reversible Heun steps."""
    sdeint = importlib.import_module("torchsde._core.adjoint").sdeint_adjoint
    brownian = importlib.import_module("torchsde._brownian").BrownianInterval

    class Equation(nn.Module):
        noise_type, sde_type = "diagonal", "stratonovich"

        def f(self, _: Tensor, y: Tensor) -> Tensor:
            return torch.sin(y)

        def g(self, _: Tensor, y: Tensor) -> Tensor:
            return 0.3 * torch.cos(y)

    def call(y: Tensor) -> Tensor:
        bm = brownian(0.0, 0.5, size=(2, 3), dtype=D, entropy=7)
        return sdeint(Equation(), y, torch.tensor([0.0, 0.25, 0.5], dtype=D), bm=bm, dt=0.125, method="reversible_heun", adjoint_method="adjoint_reversible_heun", adjoint_params=())  # fmt: skip

    return call


right("torchsde._core.adjoint:_SdeintAdjointMethod", of(grad(2, 3)), "", "gradcheck, with noise that is given by a seed", made=stochastic)  # fmt: skip
NOISE = normal(3, 5, 7, seed=2)
right("pytopk.noised_topk:_NoisedTopK", of(grad(3, 5), NOISE, 2, 0.5, -1, -1), "right")
right("torchray.attribution.excitation_backprop:EltwiseSumFunction", of(grad(3, 4), grad(4, seed=1), grad(3, 1, seed=2)), "right", "gradcheck, broadcast: no sum, for torch itself sums a gradient of the larger shape")  # fmt: skip


def experts(function: Any) -> Any:
    weight = normal(2, 4, 3)
    return lambda a, b: function.apply(weight.to(a), a, b, 0.5)


AXOLOTL = "axolotl.integrations.kernels.libs.sonicmoe."
right(AXOLOTL + "lora:MoELoRAMaterialize", of(grad(4, 3), grad(4, 4, seed=1)), "right", made=experts)  # fmt: skip
ROWS = torch.tensor([2, 0, 1, 0, 2, 1])
right(AXOLOTL + "nvfp4_lora:_GatherRows", of(grad(3, 4), ROWS), "", "gradcheck, each row as often as the others; sums in float32")  # fmt: skip


def programme(make: Any) -> Any:
    """A quadratic programme with one inequality that binds and one that does not."""
    return lambda p, h: make(verbose=-1)(torch.eye(2).to(p), p, torch.eye(2).to(p), h, *(torch.empty(0).to(p),) * 2)  # fmt: skip


right("qpth.qp:QPFunction", of(torch.tensor([[-1.0, 0.5]], dtype=D, requires_grad=True), torch.tensor([[0.4, 2.0]], dtype=D, requires_grad=True)), "right", "gradcheck for the linear term and the bounds", made=programme)  # fmt: skip

SMOOTH = normal(4, 8, seed=3)
right("nnmnkwii.autograd._impl.mlpg:UnitVarianceMLPG", of(grad(2, 4, 6), SMOOTH), "right", "gradcheck in a batch")  # fmt: skip
