"""The second blind bank's wrong Functions, after all others; second_showing.py says how they were chosen and verified."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.real_world import second_surrogates  # noqa: F401
from benchmarks.real_world.entry import grad, normal, of, x
from benchmarks.real_world.second import (
    ANGLES,
    COL,
    FINE,
    ODL,
    ROW,
    VALUES,
    circuit,
    moduli,
    odl,
    points,
    ratios,
    spd,
    symmetric,
    usv,
)
from benchmarks.real_world.second_showing import (
    D,
    cx,
    gradcheck_of,
    gradient,
    no_gradgradcheck,
    number,
    overwrites,
    stops,
    wrong,
)

wrong("torchrdit.utils:EigComplex", of(cx(3, 3)), "gradcheck of eigenvectors scaled to a first component of 1 (no choice of length or phase changes that): differences of eigenvalues are taken with `.adjoint()`, which conjugates one of them", made=ratios)  # fmt: skip
wrong("torcwa.torch_eig:Eig", of(cx(3, 3)), "gradcheck of the components' moduli, which torch.linalg.eig passes: forward gives eigenvectors of length one, backward leaves that out", made=moduli)  # fmt: skip
wrong("deepquantum.qmath:SVD", of(cx(4, 3)), "gradcheck of U √S Vᴴ of a complex matrix (no choice of phases changes that), which torch.linalg.svd passes: the term for the common phase, with l, is wrong", made=usv)  # fmt: skip


def sideways(function: Any) -> bool:
    """Whether backward stops at a transposed argument that forward takes."""
    at = normal(2, 3, 3).mT.requires_grad_(True)
    return stops(lambda: (at,))(function)


wrong("pytorchcv.models.isqrtcovresnet:Triuvec", of(grad(2, 3, 3)), "backward's view stops at a transposed x, which forward takes", sideways)  # fmt: skip


class Convolution:
    """What the block calls: its numbers are arguments."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.numbers = weight, bias

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(F.conv2d(x, *self.numbers))

    __call__ = forward

    def parameters(self) -> Any:
        return iter(self.numbers)


def reversible(function: Any) -> Any:
    return lambda x, a, b, c, d: function.apply(x, Convolution(a, b), Convolution(c, d), a, b, c, d)


BLOCK = of(grad(2, 4, 3, 3), grad(2, 2, 1, 1, seed=1), grad(2, seed=2), grad(2, 2, 1, 1, seed=3), grad(2, seed=4))  # fmt: skip
FROZEN = of(*BLOCK()[:4], normal(2, seed=4))
wrong("pytorchcv.models.revnet:ReversibleBlockFunction", BLOCK, "backward stops where one of the block's parameters needs no gradient (gradcheck accepts it where all do)", lambda f: gradcheck_of(BLOCK)(f) and stops(FROZEN)(f), reversible)  # fmt: skip
BOUNDS = of(grad(3, 4), torch.tensor([[-0.5], [-0.4], [-0.3]], dtype=D), number(0.6, False))
wrong("modelopt.torch.quantization.nn.functional:ClipFunction", BOUNDS, "backward stops for bounds that forward broadcasts, as its docstring promises, though no bound needs a gradient", stops(BOUNDS, ValueError))  # fmt: skip
wrong("neural_compressor.torch.algorithms.weight_only.modules:FakeAffineTensorQuantFunction", x(4, -1, "asym"), "forward overwrites its input", overwrites(x(4, -1, "asym")))  # fmt: skip
SEVERAL = of(VALUES, ROW, COL, (3, 3), grad(3, 2, seed=1), "lu", 1e-12, 1000)
wrong("torch_sla.sparse_tensor.autograd:SparseSolveFunction", SEVERAL, "backward stops for a matrix of right sides, which forward takes: the values' gradient is not summed over them", stops(SEVERAL))  # fmt: skip
wrong("torch_sla.sparse_tensor.autograd:EigshAdjoint", of(grad(6)), "gradcheck: eigenvectors are returned, and their part of the gradient is left out without a word", made=symmetric(True))  # fmt: skip
MAGIC = of(torch.tensor([0.0, 1.0, 2.0, 0.0, 4.0, 0.0], dtype=D, requires_grad=True), number(0.0, False))  # fmt: skip


def neighbours(function: Any) -> bool:
    """Whether a number that its neighbours are interpolated from has a slope of 2, 1.5, 2.5 in the sum, and is given 1."""
    (at, magic), h, slopes = MAGIC(), 1e-4, []
    for i in (1, 2, 4):
        step = h * F.one_hot(torch.tensor(i), 6).double()
        slopes.append(
            (
                function.apply(at.detach() + step, magic)
                - function.apply(at.detach() - step, magic)
            ).sum()
            / (2 * h)
        )
    given = gradient(function, MAGIC())[[1, 2, 4]]
    return torch.allclose(torch.stack(slopes), torch.tensor([2.0, 1.5, 2.5], dtype=D)) and bool(
        (given == 1).all()
    )


wrong("diffsptk.modules.magic_intpl:MagicNumberInterpolationImpl", MAGIC, "own difference quotient: what is interpolated gives its neighbours no gradient", neighbours)  # fmt: skip
BAND = of(normal(2, 4, 4).square().requires_grad_(True), 0.7, 2, 1)


def dtw(function: Any) -> Any:
    function.apply(*BAND()).sum().backward()  # numba compiles for longer than all the rest takes
    return function


wrong("tslearn.metrics.soft_dtw_loss_pytorch:_SoftDTWLossPyTorch", BAND, "forward writes inf into its input, outside the band", overwrites(BAND), dtw)  # fmt: skip
wrong(ODL, odl("matrix", weighting=2.0), "gradcheck: twice the gradient, for the weight of the space is multiplied in where the operator's adjoint has none")  # fmt: skip
WEIGHTED = odl("norm", weighting=[1.0, 2.0, 3.0])


def riesz(function: Any) -> bool:
    """Whether 2x is given as the gradient of the sum of w x², in a space with a weight for each number."""
    operator, at = WEIGHTED()
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=D)
    out = function.apply(operator, at)
    (given,) = torch.autograd.grad(out.sum(), at)
    fine = torch.allclose(out.double(), (weights * at.detach() ** 2).sum(-1), 1e-6)
    return fine and torch.allclose(given, 2 * at.detach(), 1e-6)


wrong(ODL, WEIGHTED, "forward is Σ w x², and 2x is given where 2 w x belongs: weights that are an array are left out", riesz)  # fmt: skip


def passes_differ(function: Any) -> bool:
    """Whether a second pass through the same graph gives another gradient than the first, which is right."""
    args = ANGLES()
    out = function(*args)
    first, second = (
        torch.autograd.grad(out, args[0], retain_graph=True)[0].clone() for _ in range(2)
    )
    h = 1e-5
    with torch.no_grad():
        slope = (function(args[0] + h, args[1]) - function(args[0] - h, args[1])) / (2 * h)
    return torch.allclose(first, slope.to(first), 1e-6) and not torch.allclose(first, second)


wrong("pyqtorch.differentiation.adjoint:AdjointExpectation", ANGLES, "a second pass through the graph gives another gradient: backward moves the states that lie on ctx", passes_differ, circuit("adjoint"))  # fmt: skip
FAR = of(torch.tensor([16.0, -17.0, 3.0], dtype=D, requires_grad=True))
wrong("nerfstudio.field_components.activations:_TruncExp", FAR, "as documented it is not the derivative: beyond 15 and -15 the slope is that at the bound")  # fmt: skip

TWICE = "gradgradcheck: the first derivative is right, the second is given and is wrong: "
PRODUCT = of(spd(2).detach().unsqueeze(0).requires_grad_(True), 4)
wrong("pytorchcv.models.isqrtcovresnet:NewtonSchulzSqrt", PRODUCT, TWICE + "iterates are saved, intermediates", no_gradgradcheck(PRODUCT), second="wrong")  # fmt: skip
SOLVE = of(VALUES, ROW, COL, (3, 3), grad(3, seed=1), "lu", 1e-12, 1000)
wrong("torch_sla.linear_solve:SparseLinearSolveScipySuperLU", SOLVE, TWICE + "the adjoint solution went through numpy, a constant to autograd", no_gradgradcheck(SOLVE), second="wrong")  # fmt: skip
TYPE1 = of(points(), torch.complex(normal(6, seed=1), normal(6, seed=2)).requires_grad_(True), (5, 4), FINE)  # fmt: skip
wrong("pytorch_finufft.functional:FinufftType1", TYPE1, TWICE + "what is transformed back is a constant to autograd, what it is multiplied with is none", no_gradgradcheck(TYPE1), second="wrong")  # fmt: skip
LOGITS = of(grad(3, 4), grad(3, 4, seed=1))
wrong("mmdet.models.utils.misc:SigmoidGeometricMean", LOGITS, TWICE + "both sigmoids are saved, intermediates", no_gradgradcheck(LOGITS), second="wrong")  # fmt: skip
