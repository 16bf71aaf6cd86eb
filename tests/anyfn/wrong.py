"""Wrong Functions: what people forget, transpose, overwrite and believe."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function

from tests.anyfn.making import Bank, keep, normal, positive
from tests.anyfn.right import Exp, Linear, softmax

WRONG = Bank("wrong")
add, entry = WRONG.add, WRONG.entry
V, M = normal(5, seed=3), normal(3, 4, seed=4)
VALUE = "gradient-value gradient-scale gradient-sign gradient-zero gradient-transposed gradient-swapped upstream-ignored upstream-nonlinear"

add("softmax without the sum", softmax, lambda ctx, g: g * ctx.saved_tensors[0] * (1 - ctx.saved_tensors[0]), M, VALUE)  # fmt: skip
add("softmax over the other dimension", softmax, lambda ctx, g: ctx.saved_tensors[0] * (g - (g * ctx.saved_tensors[0]).sum(0)), M, VALUE)  # fmt: skip
add(
    "square without its two",
    lambda ctx, x: keep(ctx, x * x, x),
    lambda ctx, g: g * ctx.saved_tensors[0],
    V,
    VALUE,
)
add(
    "a sign",
    lambda ctx, x: keep(ctx, x.cos(), x),
    lambda ctx, g: g * ctx.saved_tensors[0].sin(),
    V,
    VALUE,
)
add(
    "upstream ignored",
    lambda ctx, x: keep(ctx, x * x, x),
    lambda ctx, g: 2 * ctx.saved_tensors[0],
    V,
    VALUE,
)
add("upstream clamped", lambda ctx, x: keep(ctx, x * x, x), lambda ctx, g: 2 * ctx.saved_tensors[0] * g.clamp(-1, 1), V, VALUE)  # fmt: skip
add("zeros", lambda ctx, x: keep(ctx, x.tanh(), x), lambda ctx, g: torch.zeros_like(g), V, VALUE)
add(
    "None where a gradient belongs",
    lambda ctx, x: x.tanh(),
    lambda ctx, g: None,
    V,
    "gradient-missing",
)
add("leaky relu whose slope is forgotten", lambda ctx, x: keep(ctx, F.leaky_relu(x, 0.2), x > 0), lambda ctx, g: g * ctx.saved_tensors[0], M, VALUE)  # fmt: skip
add(
    "relu that forgets its mask",
    lambda ctx, x: keep(ctx, x.clamp(min=0), x),
    lambda ctx, g: g,
    M,
    VALUE,
)
add("relu that forgets its mask, all inputs negative", lambda ctx, x: keep(ctx, x.clamp(min=0), x), lambda ctx, g: g, -positive(6), VALUE)  # fmt: skip
add("relu with twice the gradient, all inputs positive", lambda ctx, x: x.clamp(min=0), lambda ctx, g: 2 * g, positive(6), VALUE)  # fmt: skip
add("a scale of one, squared in backward", lambda ctx, x, s: keep(ctx, x * s, s=s), lambda ctx, g: (2 * g * ctx.s, None), (V, 1.0), VALUE)  # fmt: skip
add("dropout in evaluation that scales", lambda ctx, x, training: x * (torch.rand_like(x) > 0.5) if training else x.clone(), lambda ctx, g: (2 * g, None), (V, False), VALUE)  # fmt: skip
add("dropout without its scale", lambda ctx, x: (setattr(ctx, "m", torch.rand_like(x) > 0.5), 2 * x * ctx.m)[1], lambda ctx, g: g * ctx.m, M, VALUE)  # fmt: skip
add("weights swapped", lambda ctx, a, b: keep(ctx, a @ b, a, b), lambda ctx, g: (ctx.saved_tensors[0].mT @ g, g @ ctx.saved_tensors[1].mT), (normal(3, 3), normal(3, 3, seed=1)), VALUE)  # fmt: skip
add("weight transposed", lambda ctx, x, w: keep(ctx, x @ w.T, x, w), lambda ctx, g: (g @ ctx.saved_tensors[1], ctx.saved_tensors[0].T @ g), (normal(4, 3), normal(3, 3, seed=1)), VALUE)  # fmt: skip
add(
    "a mean without its n",
    lambda ctx, x: (setattr(ctx, "s", x.shape), x.mean())[1],
    lambda ctx, g: g.expand(ctx.s),
    M,
    VALUE,
)
add(
    "a mean over the wrong n",
    lambda ctx, x: (setattr(ctx, "s", x.shape), x.mean(0))[1],
    lambda ctx, g: g.expand(ctx.s) / 4,
    M,
    VALUE,
)
add("product of the elements without one", lambda ctx, x: keep(ctx, x.prod(), x), lambda ctx, g: (g * ctx.saved_tensors[0].prod()).expand(5), V, VALUE)  # fmt: skip
add("writes to the upstream gradient", lambda ctx, x: keep(ctx, x.relu(), x), lambda ctx, g: g.mul_(ctx.saved_tensors[0] > 0), V, "mutates-upstream")  # fmt: skip
add(
    "writes to its input",
    lambda ctx, x: keep(ctx, x.mul_(2).detach().clone(), x),
    lambda ctx, g: 2 * g,
    V,
    "mutates-input raises",
)
add("writes to what it saved", lambda ctx, x: keep(ctx, x.sin(), x), lambda ctx, g: g * ctx.saved_tensors[0].data.cos_(), V, "mutates-saved")  # fmt: skip
add("too few gradients", lambda ctx, x, y: keep(ctx, x * y, x, y), lambda ctx, g: g * ctx.saved_tensors[1], (V, 2 * V), "gradient-count")  # fmt: skip
add("a gradient of another shape", lambda ctx, x: x.sum(), lambda ctx, g: g, M, "gradient-shape")
add("an array in backward", lambda ctx, x: keep(ctx, x.exp(), x), lambda ctx, g: g.numpy() * ctx.saved_tensors[0].exp().numpy(), V, "gradient-count gradient-value raises")  # fmt: skip
add("forward stops", lambda ctx, x: x.undefined, lambda ctx, g: g, V, "raises")
add("backward stops", lambda ctx, x: x.sin(), lambda ctx, g: g * ctx.saved_tensors[0], V, "raises")
add("a view in backward", lambda ctx, x: keep(ctx, x.sin(), x), lambda ctx, g: (g.view(-1) * ctx.saved_tensors[0].reshape(-1).cos()).reshape(g.shape), M, "fails-noncontiguous fails-expanded-upstream")  # fmt: skip
add("an intermediate in the second derivative", lambda ctx, x: keep(ctx, x * x.sigmoid(), x, x.sigmoid()), lambda ctx, g: g * ctx.saved_tensors[1] * (1 + ctx.saved_tensors[0] * (1 - ctx.saved_tensors[1])), V, "double-backward-value")  # fmt: skip


class Shared(Function):
    last = None

    @staticmethod
    def forward(ctx, x):
        Shared.last = x.detach()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * Shared.last


entry("shared between calls", Shared, V, "shared-state")
add("a threshold at the wrong place, with a reference", lambda ctx, x: keep(ctx, x.clamp(min=0), x), lambda ctx, g: g * (ctx.saved_tensors[0] >= 0), [(V,), (torch.tensor([0.0, 1.0]),)], "fails-special-point gradient-value", reference=torch.relu)  # fmt: skip
add("wrong values, with a reference", lambda ctx, x: keep(ctx, x.sigmoid() * 2, x), lambda ctx, g: 2 * g * ctx.saved_tensors[0].sigmoid() * (1 - ctx.saved_tensors[0].sigmoid()), V, "forward-value", reference=torch.sigmoid)  # fmt: skip
add("complex product without conj", lambda ctx, a, b: keep(ctx, a * b, a, b), lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]), (torch.complex(V, 2 * V), torch.complex(V + 1, -V)), VALUE)  # fmt: skip
add(
    "a thousandth too much",
    lambda ctx, x: keep(ctx, x.exp(), x),
    lambda ctx, g: 1.001 * g * ctx.saved_tensors[0].exp(),
    V,
    VALUE,
)
add("one in a thousand", lambda ctx, x: keep(ctx, x * x, x), lambda ctx, g: 2 * g * ctx.saved_tensors[0] * (torch.arange(len(g)) != 617), normal(1000), VALUE)  # fmt: skip


class WrongJvp(Exp):
    @staticmethod
    def jvp(ctx, t):
        return 2 * t * ctx.saved_tensors[0]


class WrongVmap(Exp):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return WrongVmap.apply(x.movedim(in_dims[0], 0)).flip(0), 0


entry("a wrong jvp", WrongJvp, V, "jvp")
entry("a wrong vmap", WrongVmap, V, "vmap")


class Unconnected(Linear):
    @staticmethod
    def forward(ctx, x, w, b=None):
        return Linear.forward(ctx, x, w, b)

    @staticmethod
    def backward(ctx, g):
        gx, gw, gb = Linear.backward(ctx, g)
        return gx, gw, gb * 0 if gb is not None else None


entry(
    "bias without a gradient",
    Unconnected,
    (normal(3, 4), normal(2, 4, seed=1), normal(2, seed=2)),
    VALUE,
)


class OneWithTheOther(Function):
    """Beside a, b's gradient costs a product that nobody needs; b alone is worse."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = None
        if ctx.needs_input_grad[0]:
            ga, gb = g @ b.mT, a.mT @ g
        return ga, gb


entry("a gradient that is made with another alone", OneWithTheOther, (M, normal(4, 2)), "raises")
