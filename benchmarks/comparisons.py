"""What each solution is measured on, and beside what: torch's own operation, and the plain formula.

The formula is what one would write without a Function; autograd differentiates it. Where the formula
is torch's own operation it stands once, as the built-in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils import checkpoint as torch_checkpoint


class Maker:
    """Makes float32 inputs on one device, ``factor`` times as many rows where that is a GPU."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.factor = 16 if device == "cuda" else 1
        self._generator = torch.Generator().manual_seed(0)

    def normal(self, *shape: int) -> Tensor:
        """A leaf that requires grad."""
        values = torch.randn(shape, generator=self._generator)
        return values.to(self.device).requires_grad_()

    def many(self) -> Tensor:
        """1024 × 1024 numbers (on a GPU 16 times as many)."""
        return self.normal(1024 * self.factor, 1024)

    def network(self, blocks: int) -> torch.nn.Sequential:
        """Blocks of Linear 256 → 256 and GELU."""
        torch.manual_seed(0)
        layers = [
            torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(blocks)
        ]
        return torch.nn.Sequential(*layers).to(self.device)


@dataclass(frozen=True)
class Comparison:
    """inputs(maker) gives the arguments that ours, builtin and formula are all called with."""

    inputs: Callable[[Maker], tuple[Any, ...]]
    builtin: Callable[..., Any] | None = None
    formula: Callable[..., Any] | None = None
    builtin_words: str = "–"
    formula_words: str = "–"
    adapt: Callable[[Any], Callable[..., Any]] = lambda solution: solution
    same_builtin: bool = True  # whether the built-in gives the same numbers
    counts_kept: bool = True  # False where it brings its own hooks: the innermost ones are called


def _many(m: Maker) -> tuple[Any, ...]:
    return (m.many(),)


def _many_and(*more: Any) -> Callable[[Maker], tuple[Any, ...]]:
    return lambda m: (m.many(), *more)


def _layer(m: Maker) -> tuple[Any, ...]:
    return m.normal(256 * m.factor, 512), m.normal(512, 512), m.normal(512)


def heads(m: Maker, length: int = 512) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v of 8 heads (on a GPU 128), 64 numbers a row."""
    q, k, v = (m.normal(8 * m.factor, length, 64) for _ in range(3))
    return q, k, v


def _straight_through(x: Tensor, step: Tensor) -> Tensor:
    return x + (step - x).detach()


def _binarize(x: Tensor) -> Tensor:
    return _straight_through(x.clamp(-1, 1), torch.where(x >= 0, 1.0, -1.0))


def _fake_quantize(x: Tensor, scale: float, zero: int, low: int, high: int) -> Tensor:
    steps = x / scale
    q = _straight_through(steps, torch.round(steps)) + zero
    return (q.clamp(low, high) - zero) * scale


def _learned_scale(x: Tensor, scale: Tensor, low: int, high: int) -> Tensor:
    share = 1 / math.sqrt(x.numel() * high)
    slow = (
        scale * share + (scale * (1 - share)).detach()
    )  # scale, with a gradient as LSQ divides it
    steps = (x / slow).clamp(low, high)
    return _straight_through(steps, torch.round(steps)) * slow


def _gumbel(logits: Tensor, noise: Tensor, tau: float, hard: bool) -> Tensor:
    soft = torch.softmax((logits + noise) / tau, -1)
    chosen = torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)
    return _straight_through(soft, chosen)


def _hooked(x: Tensor, hook: Callable[[Tensor], Tensor]) -> Tensor:
    h = x.view_as(x)
    h.register_hook(hook)
    return h


def _softmax(x: Tensor, dim: int) -> Tensor:
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def _logsumexp(x: Tensor, dim: int) -> Tensor:
    top = x.amax(dim, keepdim=True)
    return top.squeeze(dim) + torch.exp(x - top).sum(dim).log()


def plain_attention(q: Tensor, k: Tensor, v: Tensor, *more: Any) -> Tensor:
    """softmax(q kᵀ / √E) v, no mask."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


def _torch_attention(q: Tensor, k: Tensor, v: Tensor, *more: Any) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def _hvp(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((slope * v).sum(), x)[0]


def _valley(x: Tensor) -> Tensor:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def _penalty(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((slope.square().sum(1).sqrt() - 1) ** 2).mean()


def _critic(m: Maker) -> torch.nn.Module:
    return torch.nn.Sequential(m.network(2), torch.nn.Linear(256, 1, device=m.device))


def _under(context: Callable[[], Any]) -> Callable[..., Any]:
    def run(network: torch.nn.Module, x: Tensor) -> Tensor:
        with context():
            return network(x)

    return run


_ATTENTION = {
    "builtin": _torch_attention,
    "builtin_words": "F.scaled_dot_product_attention",
    "formula": plain_attention,
    "formula_words": "softmax(q kᵀ/√E) v",
}
_SWISH = Comparison(
    lambda m: (m.many(), m.normal(1024)),
    formula=lambda x, beta: x * torch.sigmoid(beta * x),
    formula_words="x·sigmoid(βx)",
)


def _pair(
    builtin: Callable[..., Any], builtin_words: str, formula: Callable[..., Any] | None = None,
    formula_words: str = "–", inputs: Callable[[Maker], tuple[Any, ...]] = _many,
) -> Comparison:  # fmt: skip
    return Comparison(inputs, builtin, formula, builtin_words, formula_words)


def _alone(
    formula: Callable[..., Any], words: str, inputs: Callable[[Maker], tuple[Any, ...]] = _many
) -> Comparison:
    return Comparison(inputs, formula=formula, formula_words=words)


COMPARISONS: dict[str, Comparison] = {
    "Square": _pair(torch.square, "torch.square", lambda x: x * x, "x·x"),
    "MyReLU": _pair(torch.relu, "torch.relu", lambda x: torch.where(x > 0, x, 0.0), "where(x > 0, x, 0)"),
    "WeightedSum": _alone(
        lambda x1, x2, w1, w2: w1 * x1 + w2 * x2, "w₁x₁ + w₂x₂", lambda m: (m.many(), m.many(), 0.3, 0.7)),
    "Clip": _pair(
        torch.clamp, "torch.clamp",
        lambda x, low, high: torch.where(x < low, low, torch.where(x > high, high, x)), "two torch.where",
        _many_and(-1.0, 1.0)),
    "MySigmoid": _pair(torch.sigmoid, "torch.sigmoid", lambda x: 1 / (1 + torch.exp(-x)), "1/(1 + exp(−x))"),
    "MyTanh": _pair(
        torch.tanh, "torch.tanh",
        lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()), "(eˣ − e⁻ˣ)/(eˣ + e⁻ˣ)"),
    "ScaledSigmoid": _pair(
        lambda x, s: s * torch.sigmoid(x), "s·torch.sigmoid(x)",
        lambda x, s: s / (1 + torch.exp(-x)), "s/(1 + exp(−x))", _many_and(2.0)),
    "MyGELU": _pair(
        F.gelu, "F.gelu", lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))), "x·(1 + erf(x/√2))/2"),
    "Swish": _SWISH,
    "LogSigmoid": _pair(F.logsigmoid, "F.logsigmoid", lambda x: torch.log(torch.sigmoid(x)), "log(sigmoid(x))"),
    "MyLinear": _pair(F.linear, "F.linear", lambda x, w, b: x @ w.T + b, "x Wᵀ + b", _layer),
    "unbroadcast": _pair(
        lambda x, shape: x.sum_to_size(shape), "sum_to_size", inputs=_many_and((1024,))),
    "Multiply": _pair(torch.mul, "torch.mul", inputs=lambda m: (m.many(), m.normal(1024))),
    "Sum": _pair(torch.sum, "torch.sum", inputs=_many_and(1)),
    "Mean": _pair(torch.mean, "torch.mean", lambda x, dim: x.sum(dim) / x.shape[dim], "sum/n", _many_and(1)),
    "Max": _pair(
        torch.max, "torch.max",
        lambda x, dim: x.gather(dim, x.argmax(dim, keepdim=True)).squeeze(dim), "gather(argmax)", _many_and(1)),
    "LogSumExp": _pair(torch.logsumexp, "torch.logsumexp", _logsumexp, "m + log Σ exp(x − m)", _many_and(1)),
    "LinearReLU": _pair(
        lambda x, w, b: torch.relu(F.linear(x, w, b)), "relu(F.linear)",
        lambda x, w, b: (x @ w.T + b).clamp(min=0), "clamp(x Wᵀ + b)", _layer),
    "SignSTE": _alone(lambda x: _straight_through(x, torch.sign(x)), "x + (sign(x) − x).detach()"),
    "Binarize": _alone(_binarize, "detach trick on clamp(x)"),
    "RoundSTE": _alone(lambda x: _straight_through(x, torch.round(x)), "x + (round(x) − x).detach()"),
    "FakeQuantize": _pair(
        torch.fake_quantize_per_tensor_affine, "torch.fake_quantize_per_tensor_affine",
        _fake_quantize, "detach trick", _many_and(0.0371, 3, 0, 15)),
    "LearnedScale": _alone(
        _learned_scale, "detach trick",
        lambda m: (m.many(), torch.tensor(0.37, device=m.device, requires_grad=True), -8, 7)),
    "GumbelSoftmax": Comparison(
        lambda m: (m.many(), m.many().detach(), 0.7, True),
        lambda logits, noise, tau, hard: F.gumbel_softmax(logits, tau, hard), _gumbel,
        "F.gumbel_softmax, noise included", "detach trick", same_builtin=False),
    "GradientReversal": _pair(
        lambda x, a: _hooked(x, lambda g: -a * g), "a hook",
        lambda x, a: (1 + a) * x.detach() - a * x, "(1 + α)x.detach() − αx", _many_and(0.5)),
    "ClipGradient": _pair(
        lambda x, limit: _hooked(x, lambda g: g.clamp(-limit, limit)), "a hook", inputs=_many_and(0.5)),
    "Cube": _pair(lambda x: torch.pow(x, 3), "torch.pow", lambda x: x * x * x, "x·x·x"),
    "MyExp": _pair(torch.exp, "torch.exp"),
    "SwishTwice": _SWISH,
    "FirstOrderOnly": _pair(torch.erf, "torch.erf"),
    "hvp": _pair(
        lambda f, x, v: torch.autograd.functional.hvp(f, x, v)[1], "torch.autograd.functional.hvp",
        _hvp, "∇(∇f·v)",
        lambda m: (_valley, m.normal(65536 * m.factor), m.normal(65536 * m.factor).detach())),
    "gradient_penalty": _alone(
        _penalty, "√ of a sum of squares", lambda m: (_critic(m), m.normal(128 * m.factor, 256).detach())),
    "Checkpoint": _pair(
        lambda f, x: torch_checkpoint.checkpoint(f, x, use_reentrant=False), "torch.utils.checkpoint",
        lambda f, x: f(x), "no checkpoint",
        lambda m: (m.network(8), m.normal(256 * m.factor, 256))),
    "checkpoint_sequential": _pair(
        lambda layers, n, x: torch_checkpoint.checkpoint_sequential(layers, n, x, use_reentrant=False),
        "torch.utils.checkpoint", lambda layers, n, x: layers(x), "no checkpoint",
        lambda m: (m.network(16), 4, m.normal(256 * m.factor, 256))),
    "save_in_bfloat16": Comparison(
        lambda m: (m.network(8), m.normal(256 * m.factor, 256)),
        formula=lambda network, x: network(x), formula_words="kept in float32", adapt=_under,
        counts_kept=False),
    "Softmax": _pair(torch.softmax, "torch.softmax", _softmax, "exp(x − m)/Σ", _many_and(1)),
    "ScaledDotProductAttention": Comparison(heads, **_ATTENTION),
    "LeanAttention": Comparison(heads, **_ATTENTION),
    "FlashAttention": Comparison(lambda m: (*heads(m), False, 128), **_ATTENTION),
}  # fmt: skip

# Exercises that compute no operation: nothing to put beside them.
NOT_COMPARED = {
    "numerical_gradient": "an instrument: it differentiates without a backward",
    "saved_bytes": "an instrument: it counts bytes",
    "Double": "the repair exercise of the start page",
}
