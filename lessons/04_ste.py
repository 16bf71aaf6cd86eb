# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gradients that are not derivatives
#
# **Lesson 04 · about 60 minutes** · 30 minutes of reading and running, 30 minutes for seven exercises · before this one: 01_template and 02_sigmoid
#
# So far backward returned the derivative of forward. Nothing in torch demands that.
#
# Today backward returns **another** gradient on purpose, because the true one is useless (a step has slope 0) or because training needs something else.
#
# After this lesson you can
#
# * say why `torch.sign` and `torch.round` stop all learning without an error,
# * write straight-through estimators, plain and clipped, and fake quantisation,
# * give a random choice a gradient (Gumbel-softmax),
# * reverse and clip gradients on their way back,
# * test such Functions, although gradcheck rejects them **by design**,
# * train a network whose weights are all +1 or −1.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import palette, quiz, show, ste_explorer, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other

# %% [markdown]
# ## Why it matters
#
# A weight of one bit takes 1/32 of the memory of a float32. An 8-bit integer takes a quarter, and integer arithmetic is cheap on phones.
#
# To *use* such a network, rounding is enough. To *train* one, gradients must get through the rounding. Do they?

# %% [markdown]
# Try it. Pick a step function and slide `x`: forward gives the step, and three gradients stand side by side.
#
# The first is autograd's own. The other two are what this lesson is about: they pretend that forward had been something smoother, the *surrogate*.

# %% nbgrader={"grade": false, "grade_id": "see-ste-explorer", "locked": true, "schema_version": 3, "solution": false, "task": false}
ste_explorer()

# %% nbgrader={"grade": false, "grade_id": "demo-zero-gradient", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.5, -0.2, 0.0, 0.7, 2.6], requires_grad=True)
for function in (torch.sign, torch.round, torch.floor, torch.ceil):
    y = function(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    print(f"{function.__name__:6}", y.tolist(), "  gradient", gradient.tolist())

# %% [markdown]
# No error, no warning: these operations *are* differentiable to torch. Their gradient is zero.
#
# That is the honest answer. A staircase is flat between its jumps, so its slope is 0 almost everywhere. (And note the third value of `sign`: at 0 it is 0, so `sign` has three values, not two.)

# %% nbgrader={"grade": false, "grade_id": "demo-steps-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-2.5, 2.5, 1001)
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.2))
for axis, step, name in (
    (axes[0], torch.sign(x), "sign(x)"),
    (axes[1], torch.round(x), "round(x)"),
):
    for piece in step.unique():  # one flat piece at a time, so that jumps are not drawn
        here = step == piece
        axis.plot(x[here], step[here], color=palette.blue, lw=2.5, label=name)
    stand_in = x if name == "round(x)" else x.clamp(-1, 1)
    words = "x" if name == "round(x)" else "clamp(x, −1, 1)"
    axis.plot(x, stand_in, "--", color=palette.vermillion, label=f"stand-in {words}")
    axis.set(title=name, xlabel="x", ylabel="value")
    handles, labels = axis.get_legend_handles_labels()
    unique = dict(zip(labels, handles))
    axis.legend(unique.values(), unique.keys(), loc="upper left")
show(
    fig,
    alt="Two step functions with smooth stand-ins. sign jumps from -1 to 1 at 0, and the clamped "
    "line from (-1, -1) to (1, 1) follows it. round is a staircase along the diagonal y = x.",
)

# %% [markdown]
# ## The mathematics
#
# Let $y = f(x)$ be a step function and $L(y)$ a loss. The chain rule says
#
# $$\frac{\partial L}{\partial x} = \frac{\partial L}{\partial y}\cdot f'(x) = \frac{\partial L}{\partial y}\cdot 0 .$$
#
# A **straight-through estimator** keeps $f$ in forward and puts the slope of another function $s$, the **surrogate**, into backward:
#
# $$\text{forward: } y = f(x), \qquad \text{backward: } \frac{\partial L}{\partial y}\cdot s'(x).$$

# %% [markdown]
# Plain: $s(x) = x$, so the gradient passes *straight through*. Clipped: $s(x) = \operatorname{clamp}(x, -1, 1)$, so it passes only where $|x| \le 1$.
#
# The result is **not** the gradient of the loss that was computed: it is biased. Why does it work nevertheless? The surrogate rises where the step rises, so its direction is usually a downhill direction of a smoothed loss; and the real-valued $x$ behind the step collects many small pushes until it crosses the jump.

# %% [markdown]
# ## A worked example: rounding down
#
# `floor` with the identity as surrogate, traced.


# %% nbgrader={"grade": false, "grade_id": "demo-floor", "locked": true, "schema_version": 3, "solution": false, "task": false}
class FloorSTE(Function):
    """floor(x) in forward; backward pretends that forward was y = x."""

    @staticmethod
    def forward(ctx, x):
        y = torch.floor(x)
        print("forward   x =", x.tolist(), "  returns floor(x) =", y.tolist())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        print("backward  got", grad_output.tolist(), "  hands the same on")
        return grad_output


x = torch.tensor([0.3, 2.9], requires_grad=True)
loss = ((FloorSTE.apply(x) - 1.0) ** 2).sum()
loss.backward()
print("x.grad    ", x.grad.tolist())

# %% [markdown]
# Read the trace. The first output is 0 where 1 is wanted: the gradient $2(0-1) = -2$ says "more". The second is 2: it says "less". Both arrive at `x`, as if nothing had been rounded.
#
# Nothing was saved. Backward needs neither $x$ nor $y$.


# %% nbgrader={"grade": false, "grade_id": "demo-floor-descent", "locked": true, "schema_version": 3, "solution": false, "task": false}
class FloorQuiet(FloorSTE):
    """FloorSTE without the prints."""

    @staticmethod
    def forward(ctx, x):
        return torch.floor(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


for name, floor in (("torch.floor", torch.floor), ("FloorQuiet ", FloorQuiet.apply)):
    x, path = torch.tensor(0.3, requires_grad=True), []
    for _ in range(14):
        loss = (floor(x) - 4.0) ** 2
        (gradient,) = torch.autograd.grad(loss, x)
        path.append(f"{floor(x).item():.0f}")
        x = (x - 0.1 * gradient).detach().requires_grad_()
    print(name, "of x, step by step:", " ".join(path))

# %% [markdown]
# Gradient descent towards $\lfloor x \rfloor = 4$: torch's own `floor` never moves, the straight-through version arrives.

# %% [markdown]
# ## gradcheck must fail, and gradgradcheck passes
#
# gradcheck compares backward with central differences of forward. Those are 0 here. So it accepts the useless gradient and rejects the useful one:

# %% nbgrader={"grade": false, "grade_id": "demo-gradcheck-by-design", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.3, 0.4, 2.2], dtype=torch.float64, requires_grad=True)
print("torch.floor  gradcheck    ", gradcheck(torch.floor, x))
print("FloorQuiet   gradcheck    ", gradcheck(FloorQuiet.apply, x, raise_exception=False))
print("FloorQuiet   gradgradcheck", gradgradcheck(FloorQuiet.apply, x, raise_exception=False))

# %% [markdown]
# gradgradcheck asks something else: is *backward as written* differentiated rightly? Backward is $g \mapsto g$, which torch differentiates without trouble: 1 in $g$, and 0 in $x$.
#
# A red gradcheck that everybody is used to is dangerous. Test a surrogate against **what you state**: a composition whose autograd gradient is the surrogate.


# %% nbgrader={"grade": false, "grade_id": "demo-stated-surrogate", "locked": true, "schema_version": 3, "solution": false, "task": false}
def stated(x):
    """floor(x) in value; the derivatives of x."""
    return x + (torch.floor(x) - x).detach()


upstream = torch.randn(3, dtype=torch.float64)
(mine,) = torch.autograd.grad(FloorQuiet.apply(x), x, upstream)
(wanted,) = torch.autograd.grad(stated(x), x, upstream)
print("same value:   ", torch.equal(FloorQuiet.apply(x), torch.floor(x)))
print("same gradient:", torch.equal(mine, wanted))

# %% [markdown]
# The checks of this lesson do just that: same value as the step function, same gradient as the stated surrogate, for upstream gradients of both signs.
#
# So write down, for every gradient that is not a derivative: **what** it is, **why** you want it, and **how** you tested it.

# %% [markdown]
# ## Exercise 1 · SignSTE
#
# The smallest of all, and the start of binary networks.
#
# **Contract.** `SignSTE.apply(x)` gives `torch.sign(x)` (0 at 0). The gradient passes unchanged.
#
# * Keep nothing for backward.
# * Second derivatives are those of backward as written: zero in `x`, and differentiable in `grad_output` (no `.data`, no `detach`).


# %% nbgrader={"grade": false, "grade_id": "sign-ste", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SignSTE(Function):
    """sign(x), element by element; the gradient passes straight through. Keeps nothing."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        return torch.sign(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return grad_output
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "sign-ste-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(SignSTE)

# %% nbgrader={"grade": true, "grade_id": "sign-ste-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of SignSTE run here when this notebook is graded.
# You can run them now: check(SignSTE, hidden=True)
### BEGIN HIDDEN TESTS
check(SignSTE, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · SignSTE**
#
# *Derivation.* None: the gradient of the surrogate $s(x) = x$ is stated, not derived.
#
# *What is saved.* Nothing. A saved `x` would keep a tensor alive that nobody reads.
#
# *Common mistakes.* Returning zeros (the true derivative); multiplying by the output, which turns the gradient round for negative $x$; `torch.where(x >= 0, 1.0, -1.0)`, which is +1 at 0 and float32 whatever `x` is.

# %% [markdown]
# ### Without a Function
#
# The line `x + (torch.sign(x) - x).detach()` does the same without a class. Is it the same? Almost: it computes the value by a detour, and where `x` is large the detour rounds.

# %% nbgrader={"grade": false, "grade_id": "demo-one-liner", "locked": true, "schema_version": 3, "solution": false, "task": false}
for dtype in (torch.float32, torch.bfloat16):
    x = torch.linspace(-1000, 1000, 1001).to(dtype)
    detour = x + (torch.sign(x) - x).detach()
    wrong = (detour != torch.sign(x)).sum().item()
    print(f"{dtype!s:15} {wrong:4d} of {x.numel()} values are not sign(x)")

# %% [markdown]
# And it works only where autograd is watching. Inside `forward` of a Function it does nothing, because grad mode is off there: what counts is `backward`.


# %% nbgrader={"grade": false, "grade_id": "demo-trick-inside-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
class TrickInForward(Function):
    """The detach trick inside forward, with a backward that says zero."""

    @staticmethod
    def forward(ctx, x):
        print("grad mode inside forward:", torch.is_grad_enabled())
        return x + (torch.sign(x) - x).detach()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


x = torch.tensor([-1.0, 2.0], requires_grad=True)
TrickInForward.apply(x).sum().backward()
print("x.grad", x.grad.tolist())

# %% [markdown]
# ## Where should it stop?
#
# In a binary network the real-valued $w$ behind the sign is called the **latent** weight. With the plain estimator it can drift far away, and then it takes ages to come back and flip.
#
# Look at one latent weight that is pushed up for 50 steps and down for 60, in three ways.


# %% nbgrader={"grade": false, "grade_id": "demo-latent-path", "locked": true, "schema_version": 3, "solution": false, "task": false}
def latent_path(slope, bound=float("inf")):
    """A latent weight, 0.05 at first, under a gradient of −1 for 50 steps, then +1 for 60."""
    path = [0.05]
    for step in range(110):
        upstream = -1.0 if step < 50 else 1.0
        w = path[-1] - 0.1 * upstream * slope(path[-1])
        path.append(max(-bound, min(bound, w)))
    return path


def identity_slope(w):
    return 1.0


def clipped_slope(w):
    return 1.0 if abs(w) <= 1 else 0.0


paths = {
    "plain": latent_path(identity_slope),
    "plain, and kept within ±1": latent_path(identity_slope, bound=1.0),
    "clipped, and not kept": latent_path(clipped_slope),
}

# %% nbgrader={"grade": false, "grade_id": "demo-drift", "locked": true, "schema_version": 3, "solution": false, "task": false}
fig, axis = plt.subplots(figsize=(7.5, 3.2))
looks = (("blue", "-"), ("vermillion", "--"), ("green", "-."))
for (name, path), (colour, dashes) in zip(paths.items(), looks):
    axis.plot(path, dashes, color=palette[colour], label=name)
    turned = [step for step, w in enumerate(path) if step > 50 and w < -1e-9]
    told = f"changes its sign {turned[0] - 50} steps after the turn" if turned else "is stuck"
    print(f"{name:26} {told}, at {path[-1]:5.2f} in the end")
axis.axhline(0, color=palette.black, lw=0.8)
axis.axvline(50, color=palette.black, lw=0.8, ls=":", label="the gradient turns")
axis.set(title="One latent weight, pushed up and then down", xlabel="training step", ylabel="w")
axis.legend()
show(
    fig,
    alt="The plain latent weight climbs to 5 and needs 51 steps to come back and change its sign; "
    "the one kept within plus or minus 1 needs 11. The clipped one that is not kept stops at 1.05 "
    "and stays there, also after the turn.",
)

# %% [markdown]
# The third line is a warning. The **clipped** estimator stops a push on a value beyond ±1, in *both* directions: one step too far, and a weight that nobody brings back is stuck for good.
#
# So binary networks clamp the latent weights to ±1 after each step. Then the two estimators are the same for them.
#
# The clipped one is made for *activations*, which nobody clamps: where $|x| > 1$ the identity is a bad stand-in for a step, and the clipped one says 0.

# %% [markdown]
# ## Exercise 2 · Binarize
#
# **Contract.** `Binarize.apply(x)` gives +1 where $x \ge 0$ and −1 elsewhere, in x's dtype: two values, not three. The gradient passes where $|x| \le 1$, bounds included, and is 0 elsewhere.
#
# * Keep at most one tensor as large as `x`. (A bool mask is enough: one byte an element.)
# * Look at `x`, not at `grad_output`, to decide where it passes.


# %% nbgrader={"grade": false, "grade_id": "binarize", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Binarize(Function):
    """+1 where x ≥ 0, else −1; the gradient passes where |x| ≤ 1. Keeps x or a mask."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x.abs() <= 1)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "binarize-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Binarize)

# %% nbgrader={"grade": true, "grade_id": "binarize-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of Binarize run here when this notebook is graded.
# You can run them now: check(Binarize, hidden=True)
### BEGIN HIDDEN TESTS
check(Binarize, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Binarize**
#
# *Derivation.* The surrogate is $\operatorname{clamp}(x, -1, 1)$ with the slope 1 inside and 0 outside. It is `Clip` of lesson 01.
#
# *What is saved.* The mask. It is an intermediate, and that is harmless for once: its derivative is zero almost everywhere, so a second derivative loses nothing. Saving `x` is right as well, and eight times as large in float64.
#
# *Common mistakes.* `torch.sign`, which is 0 at 0; `<` for `<=`; a mask of the output, which is ±1 and always passes; `mask.float()`, which makes float32 of a bfloat16 gradient; clamping `grad_output`. And `grad_output * inside` is right until a gradient overflows: $\infty \cdot 0$ is NaN, where `torch.where` gives 0.

# %% [markdown]
# ### See it run
#
# Compare what backward gets with what it returns: where did it put a 0, and which `x` stands there?

# %% nbgrader={"grade": false, "grade_id": "see-binarize", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Binarize)

# %% [markdown]
# ## The price of the bias: it does not settle
#
# What happens when the wanted value lies between two steps? Minimise $(\operatorname{round}(x) - 2.4)^2$ with the identity as surrogate. Neither 2 nor 3 gives a zero gradient, so $x$ is pushed to and fro for ever.
#
# You will see it with your own `RoundSTE`.

# %% [markdown]
# ## Exercise 3 · RoundSTE
#
# **Contract.** `RoundSTE.apply(x)` gives `torch.round(x)` (halves go to the even neighbour: 0.5 → 0, 1.5 → 2). The gradient passes unchanged, everywhere. Keep nothing.


# %% nbgrader={"grade": false, "grade_id": "round-ste", "locked": false, "schema_version": 3, "solution": true, "task": false}
class RoundSTE(Function):
    """round(x), element by element; the gradient passes straight through. Keeps nothing."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        return torch.round(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return grad_output
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "round-ste-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(RoundSTE)

# %% nbgrader={"grade": true, "grade_id": "round-ste-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of RoundSTE run here when this notebook is graded.
# You can run them now: check(RoundSTE, hidden=True)
### BEGIN HIDDEN TESTS
check(RoundSTE, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · RoundSTE**
#
# *Derivation.* Surrogate $s(x) = x$, slope 1. Unlike sign, rounding follows $x$ without end: there is no range to clip to.
#
# *What is saved.* Nothing.
#
# *Common mistakes.* `torch.floor(x + 0.5)`, which rounds halves up; `x.int()`, which cuts off towards zero; rounding the gradient too.

# %% nbgrader={"grade": false, "grade_id": "demo-does-not-settle", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, values, rounded = torch.tensor(0.0, requires_grad=True), [], []
for _ in range(150):
    loss = (RoundSTE.apply(x) - 2.4) ** 2
    (gradient,) = torch.autograd.grad(loss, x)
    values.append(x.item())
    rounded.append(RoundSTE.apply(x).item())
    x = (x - 0.04 * gradient).detach().requires_grad_()
fig, axis = plt.subplots(figsize=(7, 3))
axis.plot(values, color=palette.blue, label="x")
axis.step(range(150), rounded, "--", where="post", color=palette.vermillion, label="round(x)")
axis.axhline(2.4, color=palette.black, lw=0.8, label="wanted: 2.4")
axis.set(
    title="Straight-through descent on (round(x) − 2.4)²",
    xlabel="step",
    ylabel="value",
    xlim=(0, 90),
)
axis.legend(loc="lower right")
print("mean of round(x) over the last 100 steps:", round(sum(rounded[-100:]) / 100, 2))
show(
    fig,
    alt="x climbs from 0 and then swings around 2.5, so that round(x) jumps between 2 and 3; "
    "neither value equals the wanted 2.4.",
)

# %% [markdown]
# It hovers at the jump at 2.5, and the *average* of the rounded values is near 2.4. The remedies are those of all noisy training: a smaller step towards the end, or averages.

# %% [markdown]
# ## Fake quantisation
#
# An 8-bit network stores integers $q$ and two numbers a tensor: the width of a step, `scale`, and the integer that stands for 0, `zero_point`:
#
# $$q = \operatorname{clamp}\Bigl(\operatorname{round}\frac{x}{\text{scale}} + \text{zero\_point},\; q_\min, q_\max\Bigr), \qquad \hat x = (q - \text{zero\_point})\cdot\text{scale}.$$
#
# **Fake** quantisation computes $\hat x$ in floating point during training, so that the network learns to live with the grid (quantisation-aware training).

# %% [markdown]
# Two things happen to $x$: it is rounded, and it is clamped. The surrogate treats them differently. Rounding: straight through. Clamp: its true slope, 1 inside and 0 outside.
#
# And the factors? Forward divides by scale and multiplies by scale again: $\tfrac{1}{\text{scale}} \cdot \text{scale} = 1$.

# %% nbgrader={"grade": false, "grade_id": "demo-torch-fake-quantize", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-3, 3, 601, requires_grad=True)
y = torch.fake_quantize_per_tensor_affine(x, scale=0.5, zero_point=0, quant_min=-4, quant_max=3)
(gradient,) = torch.autograd.grad(y.sum(), x)
fig, axes = plt.subplots(2, 1, figsize=(7, 4.2), sharex=True)
axes[0].plot(x.detach(), y.detach(), color=palette.blue)
axes[0].set(title="3 bits: eight steps of 0.5 from −2 to 1.5", ylabel="value")
axes[1].plot(x.detach(), gradient, color=palette.vermillion)
axes[1].set(title="its surrogate slope", xlabel="x", ylabel="slope")
show(
    fig,
    alt="Above: a staircase from -2 to 1.5 in steps of 0.5, flat outside. Below: the "
    "surrogate slope, 1 between -2.25 and 1.75 and 0 outside.",
)

# %% [markdown]
# The slope is 1 from −2.25 to 1.75, *half a step beyond* the end values −2 and 1.5: those inputs still round to an end without being clamped. The mask looks at the **rounded** value.
#
# (torch's own operation computes the rounding in float32, whatever it is given. At exact ties the two may differ, so they are compared away from ties.)

# %% [markdown]
# ## Exercise 4 · FakeQuantize
#
# **Contract.** `FakeQuantize.apply(x, scale, zero_point, qmin, qmax)` gives $\hat x$ as above, computed in x's dtype. `scale` is a float above 0, the other three are ints.
#
# * The gradient passes where $\operatorname{round}(x/\text{scale}) + \text{zero\_point}$ lies in $[q_\min, q_\max]$, ends included; elsewhere it is 0.
# * Keep at most one tensor as large as `x`. Five arguments, five answers.
# * `torch.fake_quantize_per_tensor_affine` is what you build: do not call it.


# %% nbgrader={"grade": false, "grade_id": "fake-quantize", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FakeQuantize(Function):
    """x on the grid (q − zero_point)·scale, qmin ≤ q ≤ qmax; gradient inside. Keeps x or a mask."""

    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        ### BEGIN SOLUTION
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return (q.clamp(qmin, qmax) - zero_point) * scale
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "fake-quantize-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(FakeQuantize)

# %% nbgrader={"grade": true, "grade_id": "fake-quantize-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of FakeQuantize run here when this notebook is graded.
# You can run them now: check(FakeQuantize, hidden=True)
### BEGIN HIDDEN TESTS
check(FakeQuantize, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · FakeQuantize**
#
# *Derivation.* Chain rule with three links: divide ($1/\text{scale}$), round (stand-in slope 1), clamp (1 inside, 0 outside), multiply (scale). The factors cancel and the mask remains.
#
# *What is saved.* The mask, one byte an element. `x` would do and is larger.
#
# *Common mistakes.* The mask after the clamp, which is always true; the mask before rounding, which misses half a step at both ends; the mask without the zero point; a factor of scale left over; one answer where five are wanted.

# %% nbgrader={"grade": false, "grade_id": "demo-fake-quantize-against-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = (0.3 * (torch.arange(-9, 10) + 0.2)).requires_grad_()  # 0.2 of a step off the grid: no ties
upstream = torch.randn(x.shape)
mine = FakeQuantize.apply(x, 0.3, 2, 0, 7)
theirs = torch.fake_quantize_per_tensor_affine(x, 0.3, 2, 0, 7)
(my_gradient,) = torch.autograd.grad(mine, x, upstream)
(their_gradient,) = torch.autograd.grad(theirs, x, upstream)
print("largest difference, forward: ", (mine - theirs).abs().max().item())
print("largest difference, backward:", (my_gradient - their_gradient).abs().max().item())
print("different values in 3 bits:  ", mine.unique().numel())

# %% [markdown]
# ## A gradient for a random choice
#
# A network shall *choose* one of $n$ options, with probabilities $\operatorname{softmax}(\text{logits})$. Sampling is a jump as well. Two ideas give it a gradient.
#
# First, the **Gumbel-max trick**: add independent noise $G_i = -\log(-\log U_i)$ to the logits. The winner $\arg\max_i(\text{logit}_i + G_i)$ has exactly the softmax probabilities.

# %% nbgrader={"grade": false, "grade_id": "demo-gumbel-max", "locked": true, "schema_version": 3, "solution": false, "task": false}
logits = torch.tensor([1.0, 0.0, -1.0, 0.5])
generator = torch.Generator().manual_seed(0)
uniform = torch.rand(100_000, 4, generator=generator, dtype=torch.float64)
winners = (logits + -torch.log(-torch.log(uniform))).argmax(-1)
print("softmax:          ", [round(p, 3) for p in torch.softmax(logits, -1).tolist()])
print("share of winners: ", [round(p, 3) for p in (winners.bincount() / len(winners)).tolist()])

# %% [markdown]
# Now all randomness sits in $G$, which does not depend on the logits. (Add the noise in float32 or better. The usual guard against $\log 0$, a `+ 1e-10`, is exactly 0 in float16.)
#
# Second, **relax** the argmax: $p = \operatorname{softmax}\bigl((\text{logits} + G)/\tau\bigr)$. A small temperature τ makes $p$ almost one-hot, a large one makes it flat, and $p$ has a true derivative.

# %% nbgrader={"grade": false, "grade_id": "demo-temperature", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("1e-10 in float16:", torch.tensor(1e-10, dtype=torch.float16).item())
noisy = torch.tensor([1.3, 0.9, -0.4, 0.2])
fig, axis = plt.subplots(figsize=(7, 2.8))
for place, (tau, colour, hatch) in enumerate(
    ((5.0, "sky", ""), (1.0, "blue", "//"), (0.1, "green", ".."))
):
    bars = torch.softmax(noisy / tau, -1)
    axis.bar(
        [i + 0.27 * (place - 1) for i in range(4)],
        bars,
        0.25,
        color=palette[colour],
        hatch=hatch,
        ec="white",
        label=f"τ = {tau:g}",
    )
axis.set(title="softmax((logits + G) / τ)", xlabel="option", ylabel="probability")
axis.set_xticks(range(4))
axis.legend()
show(
    fig,
    alt="Bars for four options at three temperatures: almost equal at tau 5, graded at 1, "
    "and nearly all on the first option at 0.1.",
)

# %% [markdown]
# With `hard`, forward returns the one-hot vector of the winner, a real choice, and backward uses the gradient of the soft $p$: only this half is a straight-through estimator.
#
# The vector–Jacobian product of softmax, for an upstream gradient $g$ and $z = (\text{logits} + G)/\tau$:
#
# $$\frac{\partial p_i}{\partial z_j} = p_i(\delta_{ij} - p_j) \;\Rightarrow\; \frac{\partial L}{\partial \text{logits}_j} = \frac{1}{\tau}\; p_j\Bigl(g_j - \sum_i g_i p_i\Bigr).$$

# %% [markdown]
# A version one meets in print returns `grad_output` unchanged, with the comment "gradient flows through the soft version". It does not:


# %% nbgrader={"grade": false, "grade_id": "demo-printed-gumbel", "locked": true, "schema_version": 3, "solution": false, "task": false}
class PrintedGumbel(Function):
    """As found in print: hard choice forward, the identity backward."""

    @staticmethod
    def forward(ctx, logits, gumbels, tau):
        soft = torch.softmax((logits + gumbels) / tau, -1)
        return F.one_hot(soft.argmax(-1), soft.shape[-1]).to(soft)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None


logits = torch.tensor([1.0, 0.0, -1.0, 0.5], requires_grad=True)
torch.manual_seed(3)
theirs = F.gumbel_softmax(logits, tau=1.5, hard=True)
torch.manual_seed(3)  # the same noise, drawn as torch draws it
gumbels = -torch.empty_like(logits).exponential_().log()
upstream = torch.tensor([0.5, -0.6, -0.5, 0.7])
for name, y in (("torch", theirs), ("printed", PrintedGumbel.apply(logits, gumbels, 1.5))):
    (gradient,) = torch.autograd.grad(y, logits, upstream)
    print(f"{name:8}", [round(v, 4) for v in gradient.tolist()])

# %% [markdown]
# ## Exercise 5 · GumbelSoftmax
#
# **Contract.** `GumbelSoftmax.apply(logits, gumbels, tau, hard)`: $p = \operatorname{softmax}((\text{logits}+\text{gumbels})/\tau)$ over the last dimension; with `hard=True` its one-hot version, in the same dtype.
#
# * The gradient for the logits is that of the soft version either way. `gumbels` (noise of the logits' shape, passed in so that the function is deterministic) gets `None`, always.
# * Second derivatives are those of the soft version. So keep `logits` and `gumbels`, nothing more: neither $p$ nor $(\text{logits}+\text{gumbels})/\tau$. Both are intermediates, and constants to a second derivative; compute them again.


# %% nbgrader={"grade": false, "grade_id": "gumbel-softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GumbelSoftmax(Function):
    """softmax((logits + gumbels)/tau), one-hot if hard; soft gradient. Keeps both tensors."""

    @staticmethod
    def forward(ctx, logits, gumbels, tau, hard):
        ### BEGIN SOLUTION
        ctx.save_for_backward(logits, gumbels)
        ctx.tau = tau
        soft = torch.softmax((logits + gumbels) / tau, -1)
        if not hard:
            return soft
        return torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        logits, gumbels = ctx.saved_tensors
        soft = torch.softmax((logits + gumbels) / ctx.tau, -1)
        mean = (grad_output * soft).sum(-1, keepdim=True)
        return soft * (grad_output - mean) / ctx.tau, None, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gumbel-softmax-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(GumbelSoftmax)

# %% nbgrader={"grade": true, "grade_id": "gumbel-softmax-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of GumbelSoftmax run here when this notebook is graded.
# You can run them now: check(GumbelSoftmax, hidden=True)
### BEGIN HIDDEN TESTS
check(GumbelSoftmax, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · GumbelSoftmax**
#
# *Derivation.* $\sum_i g_i\,p_i(\delta_{ij} - p_j) = p_j g_j - p_j \sum_i g_i p_i$, and the inner derivative of $(\cdot)/\tau$ is $1/\tau$.
#
# *What is saved.* The two inputs. For `hard=False` the output would do (it *is* $p$); for `hard=True` the output knows only the winner, and $p$ itself would be an intermediate: right first, missing second derivative.
#
# *Common mistakes.* The identity; $1/\tau$ forgotten; only the diagonal $p(1-p)$; the sum over the whole tensor; the formula fed with the one-hot output, which gives 0; noise drawn inside forward.

# %% nbgrader={"grade": false, "grade_id": "demo-gumbel-checks", "locked": true, "schema_version": 3, "solution": false, "task": false}
mine = GumbelSoftmax.apply(logits, gumbels, 1.5, True)
(gradient,) = torch.autograd.grad(mine, logits, upstream)
print("yours   ", [round(v, 4) for v in gradient.tolist()])

double = torch.tensor([[1.0, 0.0, -1.0], [0.3, 0.9, 0.1]], dtype=torch.float64, requires_grad=True)
noise = torch.tensor([[0.2, 1.1, -0.4], [0.5, -0.3, 0.8]], dtype=torch.float64)
for hard in (False, True):
    inputs = (double, noise, 0.7, hard)
    first = gradcheck(GumbelSoftmax.apply, inputs, raise_exception=False)
    second = gradgradcheck(GumbelSoftmax.apply, inputs, raise_exception=False)
    print(f"hard={hard!s:5}  gradcheck {first!s:5}  gradgradcheck {second}")

# %% [markdown]
# Soft: a true derivative, and both checks pass. Hard: gradcheck fails by design.

# %% [markdown]
# ## The identity with another gradient
#
# Two more Functions do *nothing* in forward. All they are for is what happens on the way back.
#
# **Gradient reversal** makes two parts of a network play against each other. A classifier shall tell from features whether a photo was taken by day or by night; the features shall make that impossible. One backward pass trains both, if the gradient changes its sign between them (domain-adversarial training).

# %% [markdown]
# A forward that returns its input gives a **view** of it. That costs nothing, and it has one consequence: nobody may write into the output.


# %% nbgrader={"grade": false, "grade_id": "demo-view-in-place", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Same(Function):
    """x, and its gradient, unchanged."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


x = torch.ones(3, requires_grad=True)
y = Same.apply(x * 2)
print("the output is a view:", y._is_view())
try:
    y.add_(1)
except RuntimeError as error:
    print("RuntimeError:", str(error)[:79], "…")

# %% [markdown]
# If your users write in place, return `x.clone()`: it costs a copy and lifts the ban.

# %% [markdown]
# ## Exercise 6 · GradientReversal
#
# **Contract.** `GradientReversal.apply(x, alpha)` gives `x` unchanged; the gradient is $-\alpha\,g$. `alpha` is a Python number, 0 included (then nothing passes). Keep no tensor.


# %% nbgrader={"grade": false, "grade_id": "gradient-reversal", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GradientReversal(Function):
    """x in forward, −alpha·grad_output in backward; alpha a number. Keeps no tensor."""

    @staticmethod
    def forward(ctx, x, alpha):
        ### BEGIN SOLUTION
        ctx.alpha = alpha
        return x.view_as(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return -ctx.alpha * grad_output, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gradient-reversal-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(GradientReversal)

# %% nbgrader={"grade": true, "grade_id": "gradient-reversal-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of GradientReversal run here when this notebook is graded.
# You can run them now: check(GradientReversal, hidden=True)
### BEGIN HIDDEN TESTS
check(GradientReversal, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · GradientReversal**
#
# *What is saved.* A number, as an attribute of ctx.
#
# *Returning x.* `return x` and `return x.view_as(x)` both give a view. `x.clone()` is right too.
#
# *Common mistakes.* The `None` for alpha; alpha forgotten; `grad_output.mul_(-alpha)`, which writes into a tensor that other branches may need; `alpha or 1.0`, which makes 1 of 0.

# %% nbgrader={"grade": false, "grade_id": "demo-reversal", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(4, dtype=torch.float64, requires_grad=True)
for alpha in (0.5, 1.0, -1.0):
    passes = gradcheck(GradientReversal.apply, (x, alpha), raise_exception=False)
    print(f"alpha = {alpha:4}   gradcheck passes: {passes}")

# %% [markdown]
# Only $\alpha = -1$ is the true derivative of the identity.
#
# Its relative with a gradient of nothing at all needs no Function: it is `x.detach()`.

# %% [markdown]
# ## Exercise 7 · ClipGradient
#
# Recurrent networks multiply gradients by the same matrix again and again; some explode. One cure clamps them *on the way back*, inside the network.
#
# **Contract.** `ClipGradient.apply(x, limit)` gives `x` unchanged; the gradient is $g$ clamped to $[-\text{limit}, \text{limit}]$, element by element. `limit` is a Python number, 0 or more. Keep no tensor, and do not write into `grad_output`.


# %% nbgrader={"grade": false, "grade_id": "clip-gradient", "locked": false, "schema_version": 3, "solution": true, "task": false}
class ClipGradient(Function):
    """x in forward, grad_output clamped to ±limit in backward; limit a number. Keeps no tensor."""

    @staticmethod
    def forward(ctx, x, limit):
        ### BEGIN SOLUTION
        ctx.limit = limit
        return x.view_as(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return grad_output.clamp(-ctx.limit, ctx.limit), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "clip-gradient-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(ClipGradient)

# %% nbgrader={"grade": true, "grade_id": "clip-gradient-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of ClipGradient run here when this notebook is graded.
# You can run them now: check(ClipGradient, hidden=True)
### BEGIN HIDDEN TESTS
check(ClipGradient, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · ClipGradient**
#
# *Not a vector–Jacobian product at all.* Every backward before this one was linear in $g$: twice the upstream gradient, twice the result. This one is not, so there is no function of which it is the derivative.
#
# *What is saved.* A number.
#
# *Common mistakes.* Clamping `x` in forward; `clamp_`, which writes into torch's tensor; one bound only; `limit or 1.0`; clipping by the norm, which is another thing (`torch.nn.utils.clip_grad_norm_`).

# %% [markdown]
# Does gradcheck see that this is no derivative? It depends on the limit:

# %% nbgrader={"grade": false, "grade_id": "demo-clip-gradcheck", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(4, dtype=torch.float64, requires_grad=True)
for limit in (0.5, 2.0):
    passes = gradcheck(ClipGradient.apply, (x, limit), raise_exception=False)
    print(f"limit = {limit}   gradcheck passes: {passes}")

upstream = torch.tensor([-3.0, -0.1, 0.1, 3.0], dtype=torch.float64)
(gradient,) = torch.autograd.grad(ClipGradient.apply(x, 2.0), x, upstream)
print("upstream", upstream.tolist(), " gradient", gradient.tolist())

# %% [markdown]
# gradcheck tries upstream gradients of 0 and 1 only. A limit of 2 never bites, so it passes: **gradcheck cannot see what a backward does to large or negative upstream gradients.** That is why the checks of this course use random ones, of both signs.

# %% [markdown]
# For this job you do not need a Function. A hook on the tensor does the same:


# %% nbgrader={"grade": false, "grade_id": "demo-hook", "locked": true, "schema_version": 3, "solution": false, "task": false}
def loss_of(h):
    return (10 * h**2).sum()


w = torch.tensor([0.01, 0.3, -2.0], requires_grad=True)
(by_function,) = torch.autograd.grad(loss_of(ClipGradient.apply(w * 1.0, 1.0)), w)
h = w * 1.0
handle = h.register_hook(lambda gradient: gradient.clamp(-1.0, 1.0))
(by_hook,) = torch.autograd.grad(loss_of(h), w)
handle.remove()
print("Function:", by_function.tolist())
print("hook:    ", by_hook.tolist())

# %% [markdown]
# A hook wants a tensor that requires grad, and belongs to that one tensor. A Function belongs to the computation: choose it when the rule is part of the model.

# %% [markdown]
# ## What survives
#
# `torch.compile` keeps a hand-made gradient. `torch.export` traces *through* forward and drops it:


# %% nbgrader={"grade": false, "grade_id": "demo-compile-export", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Signs(torch.nn.Module):
    """The learner's SignSTE as a module."""

    def forward(self, x):
        return SignSTE.apply(x)


x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
compiled = torch.compile(Signs(), backend="aot_eager", fullgraph=True)  # needs no C++ compiler
exported = torch.export.export(Signs(), (x,)).module()
for name, model in (("eager", Signs()), ("torch.compile", compiled), ("torch.export", exported)):
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    print(f"{name:14} {gradient.tolist()}")

# %% [markdown]
# For inference that is fine. Whoever trains an exported program gets zeros.

# %% [markdown]
# ## Finale: a network of plus and minus ones
#
# Two moons of points, interleaved. The network has 64 + 64 hidden units and **4288 weights, each +1 or −1**.
#
# The offsets of the units (biases) are drawn once and stay: nothing but the binary weights can learn.

# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import make_moons

SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if os.environ.get("NBGRADER_EXECUTION") else round(300 * SCALE)  # few while grading
points, moon = make_moons(1000, noise=0.1, random_state=0)
points, moon = torch.tensor(points, dtype=torch.float32), torch.tensor(moon, dtype=torch.float32)
points = (points - points[:500].mean(0)) / points[:500].std(0)
train_x, train_y, test_x, test_y = points[:500], moon[:500], points[500:], moon[500:]
print("training on", len(train_x), "points, testing on", len(test_x), "other points")


# %% nbgrader={"grade": false, "grade_id": "finale-network", "locked": true, "schema_version": 3, "solution": false, "task": false}
class MoonNet(torch.nn.Module):
    """2 → 64 → 64 → 1; every weight w is used as quantise(w). The biases are fixed numbers."""

    def __init__(self, quantise, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def uniform(*shape, bound):
            return (2 * torch.rand(*shape, generator=generator) - 1) * bound

        self.quantise = quantise
        latent = [uniform(64, 2, bound=0.5), uniform(64, 64, bound=0.5), uniform(1, 64, bound=0.5)]
        self.weights = torch.nn.ParameterList(latent)
        self.biases = [uniform(64, bound=2.0), uniform(64, bound=1.0), torch.zeros(1)]

    def forward(self, x):
        first, second, last = (self.quantise(w) for w in self.weights)
        h = F.relu(F.linear(x, first) + self.biases[0])
        h = F.relu(F.linear(h, second) / 8 + self.biases[1])  # 8 = √64 keeps the sums small
        return (F.linear(h, last) / 8 + self.biases[2]).squeeze(1)


# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
def accuracy(network):
    with torch.no_grad():
        return ((network(test_x) > 0) == (test_y > 0.5)).float().mean().item()


def train(quantise, seed, rate=0.01, bound=None):
    """(network, test accuracy after every step); latent weights stay within ±bound."""
    network, curve = MoonNet(quantise, seed), []
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    for _ in range(STEPS):
        curve.append(accuracy(network))
        loss = F.binary_cross_entropy_with_logits(network(train_x), train_y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if bound is not None:
            with torch.no_grad():
                for w in network.parameters():
                    w.clamp_(-bound, bound)
    return network, [*curve, accuracy(network)]


# %% [markdown]
# First the naive way, with `torch.sign`. Then your `Binarize`. Five random starts each.

# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
runs = {}
for name, quantise in (("torch.sign", torch.sign), ("Binarize", Binarize.apply)):
    runs[name] = [train(quantise, seed, bound=1.0) for seed in range(5)]
    first = [curve[0] for _, curve in runs[name]]
    last = [curve[-1] for _, curve in runs[name]]
    moved = sum(w.grad.abs().sum().item() for net, _ in runs[name] for w in net.parameters())
    print(
        f"{name:11} before: {sum(first) / 5:6.1%}   after: {sum(last) / 5:6.1%}   worst start after: "
        f"{min(last):6.1%}   last gradients: {'all exactly 0' if moved == 0 else 'alive'}"
    )

# %% nbgrader={"grade": false, "grade_id": "finale-curves-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
fig, axis = plt.subplots(figsize=(7.5, 3.4))
for name, colour, style in (("Binarize", "blue", "-"), ("torch.sign", "vermillion", "--")):
    for number, (_, curve) in enumerate(runs[name]):
        label = name if number == 0 else None
        axis.plot([100 * a for a in curve], style, color=palette[colour], lw=1.5, label=label)
axis.axhline(95, color=palette.black, lw=0.8, ls=":", label="95 %")
axis.set(
    title="Two moons with binary weights, five starts each",
    xlabel="training step",
    ylabel="test accuracy (%)",
    ylim=(20, 102),
)
axis.legend(loc="center right")
show(
    fig,
    alt="Test accuracy over the training steps. With torch.sign five flat dashed lines near "
    "chance; with Binarize five curves that rise above 95 percent.",
)

# %% [markdown]
# With `torch.sign` every gradient is exactly zero: each line stays where the random draw put it, around chance. With the same forward and another backward, one bit a weight is enough.

# %% nbgrader={"grade": false, "grade_id": "finale-boundaries", "locked": true, "schema_version": 3, "solution": false, "task": false}
across, up = torch.meshgrid(
    torch.linspace(-2.2, 2.2, 120), torch.linspace(-2.4, 2.4, 120), indexing="xy"
)
grid = torch.stack([across.flatten(), up.flatten()], 1)


def draw(axis, network, title):
    """The half-planes a network decides for, and the test points with their true moon."""
    with torch.no_grad():
        side = (network(grid) > 0).float().reshape(across.shape)
    axis.contourf(
        across, up, side, levels=[-0.5, 0.5, 1.5], colors=[palette.orange, palette.sky], alpha=0.35
    )
    axis.contour(across, up, side, levels=[0.5], colors=[palette.black], linewidths=1)
    for value, marker, colour in ((0, "o", palette.vermillion), (1, "^", palette.blue)):
        here = test_x[test_y == value]
        axis.plot(here[:, 0], here[:, 1], marker, color=colour, markersize=3, label=f"moon {value}")
    axis.set(
        title=f"{title}: {accuracy(network):.1%}", xlabel="first coordinate (standard deviations)"
    )


# %% nbgrader={"grade": false, "grade_id": "finale-boundaries-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
draw(axes[0], runs["torch.sign"][0][0], "torch.sign")
draw(axes[1], runs["Binarize"][0][0], "Binarize")
axes[0].set_ylabel("second coordinate (standard deviations)")
axes[0].legend(loc="lower left")
show(
    fig,
    alt="Decision boundaries over the test points. With torch.sign the boundary ignores the "
    "moons; with Binarize a bent line separates them, made of straight pieces.",
)

# %% [markdown]
# ### 8, 4 and 2 bits
#
# Between one bit and 32 lies your `FakeQuantize`. We compare two ways to a network of $b$ bits:
#
# * **rounded afterwards**: train in float32, then round each weight matrix to $2^b$ levels between its own extremes;
# * **trained for it**: `FakeQuantize` with $2^b$ levels from −2 to almost 2 from the first step on.


# %% nbgrader={"grade": false, "grade_id": "finale-bits", "locked": true, "schema_version": 3, "solution": false, "task": false}
def quantiser(bits, reach):
    """FakeQuantize with 2^bits levels from −reach; reach a number, or None for w's own extreme."""

    def quantise(w):
        bound = w.detach().abs().max().item() if reach is None else reach
        return FakeQuantize.apply(w, 2 * bound / 2**bits, 2 ** (bits - 1), 0, 2**bits - 1)

    return quantise


def keep(w):
    return w


bits_of, table, trained = (8, 4, 2), {}, {}
floats = [train(keep, seed, rate=0.02)[0] for seed in range(3)]
print(f"float32: {sum(map(accuracy, floats)) / 3:.1%}    mean of three starts")
for bits in bits_of:
    for network in floats:
        network.quantise = quantiser(bits, None)
    after = sum(map(accuracy, floats)) / 3
    trained[bits] = [train(quantiser(bits, 2.0), seed, rate=0.02)[0] for seed in range(3)]
    table[bits] = (after, sum(map(accuracy, trained[bits])) / 3)
    print(f"{bits} bits:  rounded afterwards {after:6.1%}   trained for it {table[bits][1]:6.1%}")

# %% nbgrader={"grade": false, "grade_id": "finale-bits-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True)
for axis, bits in zip(axes, bits_of):
    draw(axis, trained[bits][0], f"{bits} bits")
axes[0].set_ylabel("second coordinate (standard deviations)")
axes[0].legend(loc="lower left")
show(
    fig,
    alt="Decision boundaries of three networks trained with fake quantisation: at 8 and 4 bits "
    "a curve follows the moons; at 2 bits it is coarser.",
)

# %% [markdown]
# At 8 and 4 bits rounding afterwards costs next to nothing on a problem as small as this. At 2 bits it ruins the network, and letting the network feel the grid while it learns wins much of it back.
#
# Why do four levels do worse than the two of `Binarize`? One suspect is the grid: the levels are −2, −1, 0 and 1, and all weights are drawn between ±0.5, so at the start every one of them rounds to 0. The range was our guess; real tools choose or learn it for each matrix. Try another one.

# %% [markdown]
# ## Quiz
#
# Eight questions. Every answer is explained, right or wrong.

# %% nbgrader={"grade": false, "grade_id": "quiz-ste", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("ste")

# %% nbgrader={"grade": false, "grade_id": "quiz-ste-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("ste")

# %% [markdown]
# ## Summary
#
# | Function | forward | backward | keeps |
# |---|---|---|---|
# | SignSTE, RoundSTE | sign, round | $g$ | nothing |
# | Binarize | ±1 | $g$ where $\lvert x\rvert \le 1$ | a mask |
# | FakeQuantize | the nearest of the levels | $g$ where nothing was clamped | a mask |
# | GumbelSoftmax | a choice | that of the soft version | its inputs |
# | GradientReversal | $x$ | $-\alpha g$ | a number |
# | ClipGradient | $x$ | $g$ clamped | a number |
#
# * A step function has gradient zero, and torch says so without an error.
# * A surrogate gradient is biased: not the gradient of any loss you computed. It works because it points uphill where the step goes up.
# * gradcheck fails **by design**, and accepts useless zeros. Test against the surrogate you state.
# * gradgradcheck passes: it looks at backward as written.
# * A gradient that is no derivative belongs into the documentation: what, why, how tested.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Where to go next
#
# **05_double_backward** asks for gradients of gradients. There a saved mask is no longer always harmless, and a silent wrong number is the main danger.
