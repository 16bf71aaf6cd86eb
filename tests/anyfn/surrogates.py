"""Gradients that are meant to be no derivatives, as quantisers, spiking networks and adversaries use them."""

from __future__ import annotations

import torch
from torch.autograd import Function

from tests.anyfn.making import Bank, keep, normal

SURROGATE = Bank("surrogate")
add, entry = SURROGATE.add, SURROGATE.entry
V, M = normal(5, seed=5), normal(3, 4, seed=6)


def through(ctx, g):
    return g


def within(ctx, g):
    (x,) = ctx.saved_tensors
    return g * (x.abs() <= 1)


def heaviside(ctx, x):
    return keep(ctx, (x > 0).to(x.dtype), x)


add("sign straight through", lambda ctx, x: torch.sign(x), through, V)
add("sign, clipped", lambda ctx, x: keep(ctx, x.sign(), x), within, M)
add("sign with a triangle (bi-real)", lambda ctx, x: keep(ctx, x.sign(), x), lambda ctx, g: g * (2 - 2 * ctx.saved_tensors[0].abs()).clamp(min=0), M)  # fmt: skip
add("round", lambda ctx, x: torch.round(x), through, 3 * V)
add("floor", lambda ctx, x: torch.floor(x), through, 3 * V)
add("heaviside with a sigmoid's slope", heaviside, lambda ctx, g: g * 4 * (4 * ctx.saved_tensors[0]).sigmoid() * (1 - (4 * ctx.saved_tensors[0]).sigmoid()), M)  # fmt: skip
add(
    "spike with SuperSpike's slope",
    heaviside,
    lambda ctx, g: g / (10 * ctx.saved_tensors[0].abs() + 1) ** 2,
    M,
)
add(
    "spike with an arctangent",
    heaviside,
    lambda ctx, g: g / (1 + (torch.pi * ctx.saved_tensors[0]) ** 2),
    V,
)
add("spike over a threshold", lambda ctx, v, threshold: keep(ctx, (v > threshold).to(v.dtype), v, threshold=threshold), lambda ctx, g: (g * ((ctx.saved_tensors[0] - ctx.threshold).abs() < 0.5), None), (M, 0.4))  # fmt: skip
add("four bits on a grid", lambda ctx, x: (x * 7).round().clamp(-8, 7) / 7, through, V)
add("eight bits with a scale", lambda ctx, x, s: keep(ctx, ((x / s).round().clamp(-128, 127)) * s, x, s=s), lambda ctx, g: (g * ((ctx.saved_tensors[0] / ctx.s).abs() <= 127.5), None), (V, 0.02))  # fmt: skip


class Lsq(Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return (x / s).round().clamp(-8, 7) * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        q = x / s
        inside = (q >= -8) & (q <= 7)
        gs = torch.where(inside, q.round() - q, q.round().clamp(-8, 7)) * g
        return g * inside, gs.sum_to_size(s.shape)


entry("learned step size", Lsq, (M, torch.tensor(0.25)))


class Codebook(Function):
    @staticmethod
    def forward(ctx, x, codes):
        index = torch.cdist(x, codes).argmin(-1)
        ctx.save_for_backward(index)
        ctx.sizes = codes.shape
        return codes[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return g, g.new_zeros(ctx.sizes).index_add(0, index, g)


entry("vector quantiser", Codebook, (normal(6, 2), normal(4, 2, seed=1)))


class HardGumbel(Function):
    @staticmethod
    def forward(ctx, x):
        p = x.softmax(-1)
        ctx.save_for_backward(x)
        return torch.nn.functional.one_hot(p.argmax(-1), x.shape[-1]).to(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        p = x.softmax(-1)
        return p * (g - (g * p).sum(-1, keepdim=True))


entry("one-hot with the softmax's gradient", HardGumbel, M)
add(
    "gradient reversal",
    lambda ctx, x, a: keep(ctx, x.view_as(x), a=a),
    lambda ctx, g: (-ctx.a * g, None),
    (M, 0.7),
)
add("gradient reversal by one", lambda ctx, x: x * 1, lambda ctx, g: -g, V)
add(
    "gradient scaling",
    lambda ctx, x, a: keep(ctx, x.clone(), a=a),
    lambda ctx, g: (ctx.a * g, None),
    (M, 0.1),
)
add("a gradient stopped", lambda ctx, x: x.clone(), lambda ctx, g: torch.zeros_like(g), V)
add("a gradient clipped", lambda ctx, x: x.view_as(x), lambda ctx, g: g.clamp(-0.3, 0.3), V)
add("binary weights with their mean", lambda ctx, w: keep(ctx, w.sign() * w.abs().mean(), w), lambda ctx, g: g * ctx.saved_tensors[0].abs().mean(), normal(8))  # fmt: skip
add("a mask of the largest scores", lambda ctx, s, k: torch.zeros_like(s).scatter(-1, s.topk(k).indices, 1.0), lambda ctx, g, *_: (g, None), (normal(9), 4))  # fmt: skip
add("clamp straight through", lambda ctx, x: x.clamp(-0.5, 0.5), through, M)
add("ternary weights", lambda ctx, w: w.sign() * (w.abs() > 0.5), through, M)
add("a spike, compared", heaviside, lambda ctx, g: g * ctx.saved_tensors[0].sigmoid() * (1 - ctx.saved_tensors[0].sigmoid()), V, surrogate=torch.sigmoid)  # fmt: skip
add(
    "sign where the reference is torch's",
    lambda ctx, x: torch.sign(x),
    through,
    V,
    reference=torch.sign,
)


class Bernoulli(Function):
    @staticmethod
    def forward(ctx, p):
        return torch.bernoulli(p)

    @staticmethod
    def backward(ctx, g):
        return g


entry("a coin", Bernoulli, torch.tensor([0.1, 0.6, 0.9, 0.4, 0.7]))
add("rounding at random", lambda ctx, x: torch.floor(x + torch.rand_like(x)), through, 2 * M)


class Membrane(Function):
    """A leaky neuron: the potential is smooth, the spike is not."""

    @staticmethod
    def forward(ctx, v, x):
        v = 0.9 * v + x
        ctx.save_for_backward(v)
        return (v > 0.5).to(v.dtype), v

    @staticmethod
    def backward(ctx, g_spike, g_v):
        (v,) = ctx.saved_tensors
        g = g_v + g_spike / (1 + 25 * (v - 0.5) ** 2)
        return 0.9 * g, g


entry("a neuron with two outputs", Membrane, (normal(4), normal(4, seed=1)))

# ---- surrogates that are wrong all the same: in shape, state, layout or the upstream gradient ----

BROKEN = Bank("wrong")
BROKEN.add("sign that ignores its upstream gradient", lambda ctx, x: torch.sign(x), lambda ctx, g: torch.ones_like(g), V, "upstream-ignored upstream-nonlinear gradient-value")  # fmt: skip
BROKEN.add("sign that clamps its upstream gradient", lambda ctx, x: torch.sign(x), lambda ctx, g: g.clamp(-0.1, 0.1), V, "upstream-nonlinear gradient-value")  # fmt: skip
BROKEN.add("round that writes to its upstream gradient", lambda ctx, x: keep(ctx, x.round(), x), lambda ctx, g: g.mul_(ctx.saved_tensors[0] > 0), V, "mutates-upstream")  # fmt: skip
BROKEN.add("round that flattens with view", lambda ctx, x: x.round(), lambda ctx, g: g.view(-1).reshape(g.shape) * 1, M, "fails-noncontiguous fails-expanded-upstream")  # fmt: skip
BROKEN.add("spike whose slope has a minus", heaviside, lambda ctx, g: -g * ctx.saved_tensors[0].sigmoid() * (1 - ctx.saved_tensors[0].sigmoid()), V, "gradient-sign gradient-value", surrogate=torch.sigmoid)  # fmt: skip
BROKEN.add("spike with too few gradients", lambda ctx, x, t: keep(ctx, (x > t).to(x.dtype), x), lambda ctx, g: g, (V, 0.3), "gradient-count")  # fmt: skip


class Remembers(Function):
    seen = None

    @staticmethod
    def forward(ctx, x):
        Remembers.seen = x.detach()
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        return g * (Remembers.seen.abs() <= 1)


BROKEN.entry("sign that remembers another call", Remembers, M, "shared-state")
