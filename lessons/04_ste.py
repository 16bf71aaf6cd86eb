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
# **Lesson 04 · about 100 minutes** · 50 minutes of reading and running, 50 minutes for eight exercises · before this one: 01_template and 02_sigmoid
#
# So far backward returned the derivative of forward. Nothing in torch demands that.
#
# Today backward returns **another** gradient on purpose: because the true one is useless (a step has slope 0), or because training needs something else. With it you will train a network whose weights are all +1 or −1.
#
# After this lesson you can
#
# * say why `torch.sign` and `torch.round` stop all learning without an error,
# * write straight-through estimators, plain and clipped, and say why they learn,
# * quantise a network while it trains, and learn the step size as well,
# * give a random choice a gradient, and make a feature forget where it came from,
# * test such Functions, although gradcheck rejects them **by design**.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import figures, outcome, predict, quiz, ste_explorer, suspects, verdict, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
GRADING = bool(os.environ.get("NBGRADER_EXECUTION"))  # then everything trains for a few steps only

# %% [markdown]
# ## Why it matters
#
# A weight of one bit takes 1/32 of the memory of a float32. To *use* such a network, rounding its weights is enough.
#
# To *train* it, gradients must get through the rounding. Do they?

# %% nbgrader={"grade": false, "grade_id": "quiz-which-learn", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("which-learn")

# %% nbgrader={"grade": false, "grade_id": "demo-zero-gradient", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.5, -0.2, 0.0, 0.7, 2.6], requires_grad=True)
for function in (torch.sign, torch.round, torch.floor, torch.ceil):
    y = function(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    print(f"{function.__name__:6}", y.tolist(), "  gradient", gradient.tolist())
outcome("which-learn")

# %% [markdown]
# A staircase is flat between its jumps, so its slope is 0 almost everywhere. That is the honest answer, and nothing can learn from it. (And `sign` has three values: at 0 it is 0.)
#
# ## Exercise 1 · RoundSTE
#
# A warm-up of one minute. Keep the staircase in forward. In backward, pretend that forward had been $y = x$, whose slope is 1.
#
# **Contract.** `RoundSTE.apply(x)` promises
#
# * **values** of `torch.round(x)`
# * **gradients**: `grad_output` passes unchanged, everywhere
# * **second derivatives** are those of backward as written: zero in `x`, and differentiable in `grad_output` (no `.data`, no `detach`)
# * **special points**: halves go to the even neighbour (0.5 → 0, 1.5 → 2); right for very large inputs
# * **memory**: nothing is kept
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


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
# When this notebook is graded, the same promises of RoundSTE are checked here with other numbers.
# You can run it now: check(RoundSTE, hidden=True)
### BEGIN HIDDEN TESTS
check(RoundSTE, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · RoundSTE**
#
# *Derivation.* None: the gradient of the surrogate $s(x) = x$ is stated, not derived.
#
# *What is saved.* Nothing. A saved `x` would keep a tensor alive that nobody reads.
#
# *Common mistakes.* `torch.floor(x + 0.5)`, which rounds halves up; `x.int()`, which cuts off towards zero; rounding the gradient too.

# %% [markdown]
# ### See it
#
# Pick a step function and slide `x`. Forward gives the step. Three gradients stand side by side: autograd's own, yours, and one that stops outside a window.

# %% nbgrader={"grade": false, "grade_id": "see-ste-explorer", "locked": true, "schema_version": 3, "solution": false, "task": false}
ste_explorer()

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
#
# Plain: $s(x) = x$, and the gradient passes *straight through*. Clipped: $s(x) = \operatorname{clamp}(x, -1, 1)$, and it passes only where $|x| \le 1$.

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
# The first output is 0 where 1 is wanted: the gradient $2(0-1) = -2$ says "more". The second is 2: it says "less". Both arrive at `x`, as if nothing had been rounded.
#
# Nothing was saved. Backward needs neither $x$ nor $y$.

# %% nbgrader={"grade": false, "grade_id": "demo-descent", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, rounded in (("torch.round", torch.round), ("RoundSTE   ", RoundSTE.apply)):
    x, path = torch.tensor(0.3, requires_grad=True), []
    for _ in range(14):
        loss = (rounded(x) - 4.0) ** 2
        (gradient,) = torch.autograd.grad(loss, x)
        path.append(f"{rounded(x).item():.0f}")
        x = (x - 0.1 * gradient).detach().requires_grad_()
    print(name, "of x, step by step:", " ".join(path))

# %% [markdown]
# Descent towards round(x) = 4: torch's own `round` never moves, yours arrives.

# %% [markdown]
# ## Why a surrogate learns
#
# Look at the loss from afar. Each piece is flat, but the pieces form a valley. Average the loss over a window one step wide, and the valley has a slope: the difference between two neighbouring pieces,
#
# $$\bar L(x) = \int_{-1/2}^{1/2} L(\operatorname{round}(x+u))\,du, \qquad \bar L'(x) = L(k+1) - L(k) \quad\text{for } k < x < k+1 .$$
#
# The surrogate takes the slope of $L$ at the nearest piece instead, $L'(\operatorname{round}(x))$. These are two ways to measure one valley. They differ in size. But in a loss with one valley they point the same way, unless the bottom lies between the same two whole numbers as $x$. So the surrogate is **biased**: it is not the gradient of the loss you computed. Yet there it points downhill.

# %% [markdown]
# And why is a direction enough, where the output does not move? Because $x$ itself is not rounded. It is kept in full precision, behind the step, and it remembers every push. Pushes that agree add up until $x$ crosses a jump; pushes that contradict each other cancel. The number behind the step is a counter of votes, and the step is the decision.

# %% nbgrader={"grade": false, "grade_id": "demo-pushes", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-0.995, 5.995, 1399, requires_grad=True)
loss = (RoundSTE.apply(x) - 2.4) ** 2
(surrogate,) = torch.autograd.grad(loss.sum(), x)

window = torch.linspace(-0.5, 0.5, 101)
averaged = ((torch.round(x.detach()[:, None] + window) - 2.4) ** 2).mean(1)
below = torch.floor(x.detach())
slope = (below + 1 - 2.4) ** 2 - (below - 2.4) ** 2  # of the averaged loss
apart = x.detach()[slope.sign() != surrogate.sign()]
print(f"same direction at {(slope.sign() == surrogate.sign()).float().mean():.1%} of the places")
print(f"another direction only between {apart.min():.1f} and {apart.max():.1f}")
places = slice(50, None, 100)
figures.pushes(x.detach(), loss.detach(), averaged, x.detach()[places], -surrogate[places])

# %% [markdown]
# Wherever the bottom is not between the same two whole numbers, both agree. Close to it they need not, and that has a price.
#
# ### The price of the bias: it does not settle
#
# Here is descent on this loss with your `RoundSTE`. The wanted value, 2.4, lies between two steps.

# %% nbgrader={"grade": false, "grade_id": "quiz-round-settles", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("round-settles")

# %% nbgrader={"grade": false, "grade_id": "demo-does-not-settle", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, values, rounded = torch.tensor(0.0, requires_grad=True), [], []
for _ in range(150):
    loss = (RoundSTE.apply(x) - 2.4) ** 2
    (gradient,) = torch.autograd.grad(loss, x)
    values.append(x.item())
    rounded.append(RoundSTE.apply(x).item())
    x = (x - 0.04 * gradient).detach().requires_grad_()
print("mean of round(x) over the last 100 steps:", round(sum(rounded[-100:]) / 100, 2))
figures.descent(values[:90], rounded[:90], wanted=2.4)
outcome("round-settles")

# %% [markdown]
# It hovers at the jump at 2.5, and the *average* of the rounded values is near 2.4. The remedies are those of all noisy training: smaller steps towards the end, or averages.

# %% [markdown]
# ## gradcheck must fail, and gradgradcheck passes
#
# gradcheck compares backward with central differences of forward. gradgradcheck asks something else: is *backward as written* differentiated rightly?

# %% nbgrader={"grade": false, "grade_id": "quiz-surrogate-checked", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("surrogate-checked")

# %% nbgrader={"grade": false, "grade_id": "demo-gradcheck-by-design", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.3, 0.4, 2.2], dtype=torch.float64, requires_grad=True)
print("torch.round  gradcheck    ", gradcheck(torch.round, x))
print("RoundSTE     gradcheck    ", gradcheck(RoundSTE.apply, x, raise_exception=False))
print("RoundSTE     gradgradcheck", gradgradcheck(RoundSTE.apply, x, raise_exception=False))
outcome("surrogate-checked")

# %% [markdown]
# gradcheck accepts the useless gradient and rejects the useful one. A red test that everybody is used to is dangerous, so test a surrogate against **what you state**: a composition whose autograd gradient is the surrogate.


# %% nbgrader={"grade": false, "grade_id": "demo-stated-surrogate", "locked": true, "schema_version": 3, "solution": false, "task": false}
def stated(x):
    """round(x) in value; the derivatives of x."""
    return x + (torch.round(x) - x).detach()


upstream = torch.randn(3, dtype=torch.float64)
(mine,) = torch.autograd.grad(RoundSTE.apply(x), x, upstream)
(wanted,) = torch.autograd.grad(stated(x), x, upstream)
print("same value:   ", torch.equal(RoundSTE.apply(x), torch.round(x)))
print("same gradient:", torch.equal(mine, wanted))

# %% [markdown]
# The checks of this lesson do just that, for upstream gradients of both signs.
#
# So write down, for every gradient that is not a derivative: **what** it is, **why** you want it, and **how** you tested it.

# %% [markdown]
# ## Exercise 2 · SignSTE
#
# The same for one bit a number, and the start of binary networks.
#
# **Contract.** `SignSTE.apply(x)` promises
#
# * **values** of `torch.sign(x)`
# * **gradients**: `grad_output` passes unchanged
# * **second derivatives** of backward as written
# * **special points**: 0 at 0; right for very large inputs
# * **memory**: nothing is kept
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


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
# When this notebook is graded, the same promises of SignSTE are checked here with other numbers.
# You can run it now: check(SignSTE, hidden=True)
### BEGIN HIDDEN TESTS
check(SignSTE, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · SignSTE**
#
# *Derivation.* None: surrogate $s(x) = x$, slope 1.
#
# *What is saved.* Nothing.
#
# *Common mistakes.* Returning zeros (the true derivative); multiplying by the output, which turns the gradient round for negative $x$; `torch.where(x >= 0, 1.0, -1.0)`, which is +1 at 0 and float32 whatever `x` is.

# %% [markdown]
# ### Without a Function
#
# The line `x + (torch.sign(x) - x).detach()` does the same without a class. Almost: it computes the value by a detour, and where `x` is large the detour rounds.

# %% nbgrader={"grade": false, "grade_id": "demo-one-liner", "locked": true, "schema_version": 3, "solution": false, "task": false}
for dtype in (torch.float32, torch.bfloat16):
    x = torch.linspace(-1000, 1000, 1001).to(dtype)
    detour = x + (torch.sign(x) - x).detach()
    wrong = (detour != torch.sign(x)).sum().item()
    print(f"{dtype!s:15} {wrong:4d} of {x.numel()} values are not sign(x)")

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
for name, path in paths.items():
    turned = [step for step, w in enumerate(path) if step > 50 and w < -1e-9]
    told = f"changes its sign {turned[0] - 50} steps after the turn" if turned else "is stuck"
    print(f"{name:26} {told}, at {path[-1]:5.2f} in the end")
figures.latent_weights(paths, turn=50)

# %% [markdown]
# The clipped surrogate alone is stuck outside: there its slope is 0. So a clipped surrogate and latent weights kept within ±1 belong together. They say the same: a weight that is sure enough need not be surer.

# %% [markdown]
# ## Exercise 3 · Binarize
#
# **Contract.** `Binarize.apply(x)` promises
#
# * **values**: +1 where $x \ge 0$ and −1 elsewhere, in x's dtype: two values, not three
# * **gradients** pass where $|x| \le 1$, and are 0 elsewhere. Look at `x`, not at `grad_output`, to decide where
# * **second derivatives** of backward as written
# * **special points**: x = 0; the bounds ±1, where the gradient still passes; very large inputs
# * **memory**: at most one tensor as large as `x`. (A bool mask is enough: one byte an element.)
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


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
# When this notebook is graded, the same promises of Binarize are checked here with other numbers.
# You can run it now: check(Binarize, hidden=True)
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
# ## Fake quantisation
#
# Between one bit and 32 lie the integers. An 8-bit network stores integers $q$ and two numbers a tensor: the width of a step, `scale`, and the integer that stands for 0, `zero_point`:
#
# $$q = \operatorname{clamp}\Bigl(\operatorname{round}\frac{x}{\text{scale}} + \text{zero\_point},\; q_\min, q_\max\Bigr), \qquad \hat x = (q - \text{zero\_point})\cdot\text{scale}.$$
#
# **Fake** quantisation computes $\hat x$ in floating point during training, so that the network learns to live with the grid.

# %% [markdown]
# Two things happen to $x$: it is rounded, and it is clamped. The surrogate treats them differently. Rounding: straight through. Clamp: its true slope, 1 inside and 0 outside.
#
# And the factors? Forward divides by scale and multiplies by scale again: $\tfrac{1}{\text{scale}} \cdot \text{scale} = 1$.

# %% nbgrader={"grade": false, "grade_id": "quiz-beyond-the-end", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("beyond-the-end")

# %% nbgrader={"grade": false, "grade_id": "demo-torch-fake-quantize", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-3, 3, 1201, requires_grad=True)
y = torch.fake_quantize_per_tensor_affine(x, scale=0.5, zero_point=0, quant_min=-4, quant_max=3)
(gradient,) = torch.autograd.grad(y.sum(), x)
passing = x.detach()[gradient == 1]
print(f"levels from {y.min():.1f} to {y.max():.1f}")
print(f"gradient 1 from {passing.min():.2f} to {passing.max():.2f}")
figures.staircase(x, y, {"slope for x": gradient}, "3 bits: eight steps of 0.5")
outcome("beyond-the-end")

# %% [markdown]
# The slope is 1 up to *half a step beyond* the end values: those inputs still round to an end without being clamped. The mask looks at the **rounded** value. `ste_explorer` above shows the same grid, under "quantise".
#
# (torch's own operation rounds in float32, whatever it is given. At exact ties the two may differ, so they are compared away from ties.)

# %% [markdown]
# ## Exercise 4 · FakeQuantize
#
# **Contract.** `FakeQuantize.apply(x, scale, zero_point, qmin, qmax)` promises
#
# * **values** of $\hat x$ as above, computed in x's dtype. `scale` is a float above 0, the other three are ints
# * **gradients** pass where $\operatorname{round}(x/\text{scale}) + \text{zero\_point}$ lies in $[q_\min, q_\max]$; elsewhere they are 0. Five arguments, five answers
# * **second derivatives** of backward as written
# * **special points**: the gradient passes on both ends of the range; ties go to the even step; right for very large inputs
# * **memory**: at most one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched**: as for every Function
# * **your own work**: as for every Function, and `torch.fake_quantize_per_tensor_affine` is what you build: do not call it


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
# When this notebook is graded, the same promises of FakeQuantize are checked here with other numbers.
# You can run it now: check(FakeQuantize, hidden=True)
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
# ## A gradient for the scale
#
# Who chooses `scale`? Too large, and small values become 0. Too small, and large values are cut off.

# %% nbgrader={"grade": false, "grade_id": "demo-scale-matters", "locked": true, "schema_version": 3, "solution": false, "task": false}
sample = torch.randn(4000, generator=torch.Generator().manual_seed(0))
for scale in (0.25, 0.5, 1.0, 2.0, 4.0):
    rounded = FakeQuantize.apply(sample, scale, 0, -2, 1)
    error = ((rounded - sample) ** 2).mean().item()
    print(f"2 bits, scale {scale:4}: mean squared error {error:.3f}")

# %% [markdown]
# The number matters, so learn it. **Learned step size quantisation** (LSQ) gives `scale` a gradient by the same two rules: round straight through, clamp truly. Write $s$ for the scale. Inside the range $\hat x = s \cdot \operatorname{round}(x/s)$ is a product, and $s$ stands in both factors:
#
# $$\frac{\partial \hat x}{\partial s} = \operatorname{round}\frac{x}{s} + s\cdot\underbrace{1}_{\text{rounding}}\cdot\Bigl(-\frac{x}{s^2}\Bigr) = \operatorname{round}\frac{x}{s} - \frac{x}{s}.$$
#
# Outside, $\hat x = s\,q_\min$ or $\hat x = s\,q_\max$, so the slope is $q_\min$ or $q_\max$.


# %% nbgrader={"grade": false, "grade_id": "demo-scale-slope", "locked": true, "schema_version": 3, "solution": false, "task": false}
def stated_scale(x, scale, qmin, qmax):
    """The value and the slopes of LSQ, by autograd: clamp truly, round straight through."""
    steps = (x / scale).clamp(qmin, qmax)
    return scale * (steps + (torch.round(steps) - steps).detach())


x = torch.linspace(-3, 3, 1200, requires_grad=True)
scales = torch.full_like(x, 0.5, requires_grad=True)  # one for each x, to see each slope alone
y = stated_scale(x, scales, -4, 3)
slope_x, slope_scale = torch.autograd.grad(y.sum(), (x, scales))
print("slopes for scale from", slope_scale.min().item(), "to", slope_scale.max().item())
figures.staircase(
    x, y, {"slope for x": slope_x, "slope for scale": slope_scale}, "eight steps of a learned scale"
)

# %% [markdown]
# Read the last curve. Inside it is a saw between $-\tfrac12$ and $\tfrac12$: the rounding error, in steps. Outside it is $q_\min$ or $q_\max$: a value that was cut off asks for wider steps. The two pull against each other, and $s$ settles in between.
#
# LSQ lets $x$ pass where $q_\min < x/s < q_\max$, **before** rounding: half a step less at each end than `FakeQuantize`. Both masks are in use; a contract has to say which.

# %% [markdown]
# ### One scale, many elements
#
# All $n$ elements that share a scale push it, and their slopes are as large as $q_\max$. So its gradient is much larger, for its size, than that of a single weight. LSQ divides the sum by $\sqrt{n\,q_\max}$.
#
# Does that balance them? Compare relative gradients: $\left|\partial L/\partial s\right| / s$ over $\|\partial L/\partial x\| / \|x\|$.

# %% nbgrader={"grade": false, "grade_id": "demo-scale-balance", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("   n   bits   as it is   divided by √(n · qmax)")
for n, bits in ((100, 3), (10_000, 3), (100, 8), (10_000, 8)):
    qmin, qmax = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    x = torch.randn(200, n, generator=torch.Generator().manual_seed(0)).requires_grad_()
    scale = torch.full((200, 1), 2 * 0.8 / qmax**0.5, requires_grad=True)  # where LSQ starts
    upstream = torch.randn(200, n, generator=torch.Generator().manual_seed(1))
    y = stated_scale(x, scale, qmin, qmax)
    for_x, for_scale = torch.autograd.grad(y, (x, scale), upstream)
    sizes = for_x.norm(dim=1) / x.detach().norm(dim=1)
    ratio = ((for_scale / scale).abs().squeeze(1) / sizes).mean().item()
    print(f"{n:6} {bits:4} {ratio:10.1f} {ratio / (n * qmax) ** 0.5:15.2f}")

# %% [markdown]
# As it is, the ratio grows with $n$ and with the number of levels. Divided, it stays of one size.
#
# A matrix may have **one scale for each row** (for a layer: for each output channel), because rows differ in size. Then $n$ is the length of a row.

# %% [markdown]
# ## Exercise 5 · LearnedScale
#
# **Contract.** `LearnedScale.apply(x, scale, qmin, qmax)` promises, for a positive tensor `scale`, 0-d or with one element for each channel (dim 0 of `x`), and ints `qmin` and `qmax` > 0:
#
# * **values**: $\operatorname{round}(x/\text{scale})$, clamped to $[q_\min, q_\max]$, times scale
# * **gradients** for `x` pass where $q_\min < x/\text{scale} < q_\max$ (unrounded), and are 0 elsewhere. For `scale` each element of `grad_output` is multiplied by $\operatorname{round}(x/\text{scale}) - x/\text{scale}$ inside, by $q_\min$ at or below, by $q_\max$ at or above; then summed over the $n$ elements that share a scale, and divided by $\sqrt{n\,q_\max}$
# * **special points**: x on an end of the range is not inside; ties go to the even step; right for very large inputs
# * **memory**: at most `x` and `scale`
# * **shapes, strides, dtypes**: as for every Function. A sum over no elements is 0: an empty `x` gives a 0-d scale the gradient 0 (no channels: not asked)
# * **nothing else is touched**: as for every Function
# * **your own work**: as for every Function, and torch's own fake quantisation is not called
#
# Second derivatives are not asked for.


# %% nbgrader={"grade": false, "grade_id": "learned-scale", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LearnedScale(Function):
    """x in steps of a learned scale, 0-d or one a channel; both get a gradient. Keeps x and scale."""

    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, scale)
        ctx.qmin, ctx.qmax = qmin, qmax
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        return torch.round(x / step).clamp(qmin, qmax) * step
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, scale = ctx.saved_tensors
        step = scale.reshape(-1, *[1] * (x.dim() - 1)) if scale.dim() else scale
        exact = x / step
        inside = (exact > ctx.qmin) & (exact < ctx.qmax)
        grad_x = torch.where(inside, grad_output, 0) if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return grad_x, None, None, None
        slope = torch.where(inside, torch.round(exact) - exact, exact.clamp(ctx.qmin, ctx.qmax))
        total = (grad_output * slope).sum_to_size(step.shape).reshape(scale.shape)
        n = max(x.numel() // scale.numel(), 1)
        return grad_x, total / (n * ctx.qmax) ** 0.5, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "learned-scale-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LearnedScale)

# %% nbgrader={"grade": true, "grade_id": "learned-scale-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LearnedScale are checked here with other numbers.
# You can run it now: check(LearnedScale, hidden=True)
### BEGIN HIDDEN TESTS
check(LearnedScale, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · LearnedScale**
#
# *Derivation.* Inside, $\hat x = s\,r$ with $r = \operatorname{round}(x/s)$. The product rule gives $r + s\,\partial r/\partial s$. Straight through, $\partial r/\partial s$ is the derivative of $x/s$, which is $-x/s^2$: together $r - x/s$. Outside $r$ is a constant, $q_\min$ or $q_\max$, and only the first term is left. One line says both: `exact.clamp(qmin, qmax)` is $q_\min$ below and $q_\max$ above.
#
# *One a channel.* A scale of shape (C,) becomes (C, 1, …, 1), which broadcasts along dim 0; backward undoes the broadcast by a sum (lesson 03).
#
# *What is saved.* The two inputs. A mask and the slopes would be larger, and constants to a second derivative.
#
# *Common mistakes.* The mask of `FakeQuantize`; $\operatorname{round}(x/s)$ alone; 0 outside; $n$ as the size of all of `x` although each channel has a scale; the root forgotten; slopes and upstream gradients summed before they are multiplied; 0/0 for an empty batch.

# %% [markdown]
# ### Learn a scale
#
# A scale has to stay positive, so we train its logarithm. Whatever the start, the same scale comes out. Is it the best one?


# %% nbgrader={"grade": false, "grade_id": "demo-learn-scale", "locked": true, "schema_version": 3, "solution": false, "task": false}
def quantisation_error(x, scale, bits, dims=None):
    """Mean squared error of x on the grid of a scale, over all elements or over some dims."""
    rounded = LearnedScale.apply(x, scale, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return ((rounded - x) ** 2).mean(dims)


def learned(x, start, bits, steps=400):
    """The scale that descent arrives at."""
    log_scale = start.log().requires_grad_()
    optimiser = torch.optim.Adam([log_scale], lr=0.03)
    for _ in range(5 if GRADING else steps):
        optimiser.zero_grad()
        quantisation_error(x, log_scale.exp(), bits).backward()
        optimiser.step()
    return log_scale.exp().detach()


# %% nbgrader={"grade": false, "grade_id": "demo-best-scale", "locked": true, "schema_version": 3, "solution": false, "task": false}
for bits in (2, 4):
    for start in (0.3, 2.5):
        scale = learned(sample, torch.tensor(start), bits)
        error = quantisation_error(sample, scale, bits).item()
        print(f"{bits} bits, started at {start}: scale {scale.item():.3f}   error {error:.4f}")
    tried = torch.linspace(0.05, 3, 591)
    errors = torch.stack([quantisation_error(sample, scale, bits) for scale in tried])
    best = tried[errors.argmin()].item()
    print(f"{bits} bits, the best of all tried: {best:.3f}   error {errors.min().item():.4f}")

# %% [markdown]
# Close, and not equal: at 2 bits the learned scale is a little too wide. Its gradient is no derivative of the error, so where it is 0 the error need not be smallest. With more bits the difference fades.
#
# Now four rows of very different size, one scale for all against a scale for each row.

# %% nbgrader={"grade": false, "grade_id": "demo-per-channel", "locked": true, "schema_version": 3, "solution": false, "task": false}
sizes = torch.tensor([0.1, 0.5, 2.0, 10.0])
rows = torch.randn(4, 400, generator=torch.Generator().manual_seed(1)) * sizes[:, None]
for name, start in (("one scale", torch.tensor(1.0)), ("a scale a row", torch.ones(4))):
    scale = learned(rows, start, bits=4, steps=600)
    lost = quantisation_error(rows, scale, 4, dims=1) / (rows**2).mean(1)
    print(f"{name:14} lost of each row: " + "  ".join(f"{share:6.1%}" for share in lost.tolist()))

# %% [markdown]
# One scale serves the largest row, and the two smallest are lost. A scale a row costs four numbers.

# %% [markdown]
# ## A network of plus and minus ones
#
# Two moons of points, interleaved. The network has 64 + 64 hidden units and 4288 weights. We train it with one bit a weight, and then with 8, 4 and 2.
#
# The offsets of the units (biases) are drawn once and stay: nothing but the weights can learn.

# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import make_moons

SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if GRADING else round(300 * SCALE)
points, moon = make_moons(1000, noise=0.1, random_state=0)
points, moon = torch.tensor(points, dtype=torch.float32), torch.tensor(moon, dtype=torch.float32)
points = (points - points[:500].mean(0)) / points[:500].std(0)
train_x, train_y, test_x, test_y = points[:500], moon[:500], points[500:], moon[500:]
print("training on", len(train_x), "points, testing on", len(test_x), "other points")


# %% nbgrader={"grade": false, "grade_id": "finale-network", "locked": true, "schema_version": 3, "solution": false, "task": false}
def keep(w):
    return w


class MoonNet(torch.nn.Module):
    """2 → 64 → 64 → 1. Weight i is used as quantisers[i](weight). The biases are fixed numbers."""

    def __init__(self, seed, quantiser=keep):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def uniform(*shape, bound):
            return (2 * torch.rand(*shape, generator=generator) - 1) * bound

        self.quantisers = [quantiser] * 3
        latent = [uniform(64, 2, bound=0.5), uniform(64, 64, bound=0.5), uniform(1, 64, bound=0.5)]
        self.weights = torch.nn.ParameterList(latent)
        self.biases = [uniform(64, bound=2.0), uniform(64, bound=1.0), torch.zeros(1)]

    def forward(self, x):
        first, second, last = (q(w) for q, w in zip(self.quantisers, self.weights))
        h = F.relu(F.linear(x, first) + self.biases[0])
        h = F.relu(F.linear(h, second) / 8 + self.biases[1])  # 8 = √64 keeps the sums small
        return (F.linear(h, last) / 8 + self.biases[2]).squeeze(1)


# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
def accuracy(network):
    with torch.no_grad():
        return ((network(test_x) > 0) == (test_y > 0.5)).float().mean().item()


def train(network, parameters, steps, bound=None):
    """Test accuracy before every tenth step and at the end; latent weights stay within ±bound."""
    parameters, curve = list(parameters), []
    optimiser = torch.optim.Adam(parameters, lr=0.01)
    for step in range(steps):
        if step % 10 == 0:
            curve.append(accuracy(network))
        loss = F.binary_cross_entropy_with_logits(network(train_x), train_y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if bound is not None:
            with torch.no_grad():
                for w in parameters:
                    w.clamp_(-bound, bound)
    return [*curve, accuracy(network)]


# %% [markdown]
# First the naive way, with `torch.sign`. Then your `Binarize`. Three random starts each.

# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
binary, curves = {}, {}
for name, quantiser in (("torch.sign", torch.sign), ("Binarize", Binarize.apply)):
    binary[name] = [MoonNet(seed, quantiser) for seed in range(3)]
    curves[name] = [train(net, net.parameters(), STEPS, bound=1.0) for net in binary[name]]
    before = sum(curve[0] for curve in curves[name]) / 3
    after = [curve[-1] for curve in curves[name]]
    moved = sum(w.grad.abs().sum().item() for net in binary[name] for w in net.parameters())
    print(
        f"{name:11} before {before:6.1%}   after {sum(after) / 3:6.1%}   worst start {min(after):6.1%}"
        f"   last gradients {'all exactly 0' if moved == 0 else 'alive'}"
    )
weights = sum(w.numel() for w in binary["Binarize"][0].parameters())
print(f"{weights} weights, {weights // 8} bytes in one bit each, {4 * weights} in float32")
figures.accuracies(curves, every=10)

# %% [markdown]
# With `torch.sign` every gradient is exactly zero: each line stays where the random draw put it, around chance. With the same forward and another backward, one bit a weight is enough.

# %% nbgrader={"grade": false, "grade_id": "finale-boundaries", "locked": true, "schema_version": 3, "solution": false, "task": false}
across, up = torch.meshgrid(
    torch.linspace(-2.2, 2.2, 120), torch.linspace(-2.4, 2.4, 120), indexing="xy"
)


def sides(networks):
    """What each network says in the plane, called by its name and its test accuracy."""
    grid = torch.stack([across.flatten(), up.flatten()], 1)
    with torch.no_grad():
        return {
            f"{name}: {accuracy(network):.1%}": (network(grid) > 0).float().reshape(across.shape)
            for name, network in networks.items()
        }


shown = sides({name: networks[0] for name, networks in binary.items()})
figures.boundaries(shown, across, up, test_x, test_y)

# %% [markdown]
# ### Rounding afterwards, or training with it?
#
# Now 8, 4 and 2 bits, and a fair race. All start from the same networks, trained in float32. All use your `LearnedScale`. Four ways to get to $b$ bits:
#
# * **afterwards, one scale** for each weight matrix: the scale with the smallest squared error, found by trying many;
# * **afterwards, a scale a row**: the same, for each row;
# * **only the scales** of the rows are trained, for 100 steps; the weights stay as they were;
# * **weights and scales** are trained, for 100 steps.


# %% nbgrader={"grade": false, "grade_id": "finale-scales", "locked": true, "schema_version": 3, "solution": false, "task": false}
def best_scales(w, bits):
    """For each row of w the scale with the smallest squared error, of 116 tried; (rows,)."""
    top = w.abs().amax(1) / (2 ** (bits - 1) - 1)
    tried = torch.linspace(0.05, 1.2, 116)[:, None] * top
    errors = torch.stack([quantisation_error(w, scale, bits, dims=1) for scale in tried])
    return tried.gather(0, errors.argmin(0, keepdim=True)).squeeze(0)


def quantised(network, bits, by_row):
    """A copy that rounds its weights to b bits, and the logarithms of its scales."""
    copy, logs = MoonNet(0), []
    copy.load_state_dict(network.state_dict())
    copy.biases, copy.quantisers = network.biases, []
    for w in copy.weights:
        found = best_scales(w.detach() if by_row else w.detach().reshape(1, -1), bits)
        logs.append((found if by_row else found[0]).log().requires_grad_())
        copy.quantisers.append(
            lambda w, log=logs[-1]: LearnedScale.apply(
                w, log.exp(), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
            )
        )
    return copy, logs


# %% nbgrader={"grade": false, "grade_id": "quiz-two-bits", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("two-bits")

# %% nbgrader={"grade": false, "grade_id": "finale-bits", "locked": true, "schema_version": 3, "solution": false, "task": false}
floats = [MoonNet(seed) for seed in range(3)]
for network in floats:
    train(network, network.parameters(), STEPS)
print(
    f"float32: {sum(map(accuracy, floats)) / 3:.1%}   (means of three starts, the worst in brackets)"
)

results, more = {}, 5 if GRADING else 100
for bits in (8, 4, 2):
    for network in floats:
        one, _ = quantised(network, bits, by_row=False)
        row, _ = quantised(network, bits, by_row=True)
        scaled, logs = quantised(network, bits, by_row=True)
        train(scaled, logs, more)
        trained, logs = quantised(network, bits, by_row=True)
        train(trained, [*trained.weights, *logs], more)
        results.setdefault(bits, []).append((one, row, scaled, trained))

# %% nbgrader={"grade": false, "grade_id": "finale-table", "locked": true, "schema_version": 3, "solution": false, "task": false}
print(
    "bits   afterwards, one scale   afterwards, a scale a row   only the scales   weights and scales"
)
for bits, networks in results.items():
    cells = []
    for way in zip(*networks):
        right = [accuracy(network) for network in way]
        cells.append(f"{sum(right) / 3:.1%} ({min(right):.1%})")
    print(f"{bits:4} {cells[0]:>23} {cells[1]:>27} {cells[2]:>17} {cells[3]:>20}")
one, row, _, trained = results[2][0]
shown = sides({"one scale": one, "a scale a row": row, "trained": trained})
figures.boundaries(shown, across, up, test_x, test_y)
outcome("two-bits")

# %% [markdown]
# At 8 and 4 bits rounding afterwards costs next to nothing here: the problem is small. At 2 bits the four columns part. A scale a row wins much back, training the scales alone still more, and training everything brings the network back to where float32 was.
#
# The forward pass is the same in all four columns. What differs is who was allowed to learn, through a gradient that is no derivative.

# %% [markdown]
# ## A gradient for a random choice
#
# Suppose a network must *choose* one of $n$ options, with probabilities $\operatorname{softmax}(\text{logits})$. Sampling is a jump as well. Two ideas give it a gradient.
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
figures.temperatures({tau: torch.softmax(noisy / tau, -1) for tau in (5.0, 1.0, 0.1)})

# %% [markdown]
# With `hard`, forward returns the one-hot vector of the winner, a real choice, and backward uses the gradient of the soft $p$: only this half is a straight-through estimator.
#
# The vector–Jacobian product of softmax, for an upstream gradient $g$ and $z = (\text{logits} + G)/\tau$:
#
# $$\frac{\partial p_i}{\partial z_j} = p_i(\delta_{ij} - p_j) \;\Rightarrow\; \frac{\partial L}{\partial \text{logits}_j} = \frac{1}{\tau}\; p_j\Bigl(g_j - \sum_i g_i p_i\Bigr).$$

# %% [markdown]
# The online book of the four tutorials that this course replaces (C in `docs/coverage.md`) prints a version that returns `grad_output` unchanged, with the comment "gradient flows through the soft version". It does not:


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
# ## Exercise 6 · GumbelSoftmax
#
# **Contract.** `GumbelSoftmax.apply(logits, gumbels, tau, hard)` promises
#
# * **values** of $p = \operatorname{softmax}((\text{logits}+\text{gumbels})/\tau)$ over the last dimension; with `hard=True` its one-hot version, in the same dtype
# * **gradients** for the logits are those of the soft version either way. `gumbels` (noise of the logits' shape, passed in so that the function is deterministic) gets `None`, always
# * **second derivatives** are those of the soft version
# * **special points**: a tie has one winner; finite and right for logits of ±1000, and with $-\infty$ among them (a choice that is forbidden)
# * **memory**: `logits` and `gumbels`, nothing more: neither $p$ nor $(\text{logits}+\text{gumbels})/\tau$. Both are intermediates, and constants to a second derivative; compute them again
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


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
# When this notebook is graded, the same promises of GumbelSoftmax are checked here with other numbers.
# You can run it now: check(GumbelSoftmax, hidden=True)
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
#
# ### A choice that learns
#
# Somebody measured a curve. Which of four formulas made it? The model draws **one** formula in each step, and learns from how well that one fits. Nothing but four logits is trained.

# %% nbgrader={"grade": false, "grade_id": "demo-choice", "locked": true, "schema_version": 3, "solution": false, "task": false}
t = torch.linspace(-2, 2, 200)
formulas = {"t": t, "t²": t**2, "sin 3t": torch.sin(3 * t), "|t|": t.abs()}
table = torch.stack(list(formulas.values()), -1)
generator = torch.Generator().manual_seed(0)
measured = t.abs() + 0.1 * torch.randn(200, generator=generator)

logits, history = torch.zeros(4, requires_grad=True), []
optimiser = torch.optim.Adam([logits], lr=0.1)
for _ in range(5 if GRADING else 150):
    noise = -torch.log(-torch.log(torch.rand(4, generator=generator)))
    choice = GumbelSoftmax.apply(logits, noise, 1.0, True)  # one-hot: a single formula
    loss = ((table @ choice - measured) ** 2).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    history.append(torch.softmax(logits.detach(), -1))
for name, share in zip(formulas, history[-1].tolist()):
    print(f"{name:7} {share:6.1%}")
figures.choosing(list(formulas), torch.stack(history))

# %% [markdown]
# A step draws one formula, yet all four logits learn: the soft gradient says what the others would have changed.

# %% [markdown]
# ## The identity with another gradient
#
# Two more Functions do *nothing* in forward. All they are for is what happens on the way back.
#
# **Gradient reversal** makes two parts of a network play against each other. A classifier tries to tell from a feature whether a photo was taken by day or by night; the feature tries to make that impossible. One backward pass trains both, if the gradient changes its sign between them (domain-adversarial training).

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
# ## Exercise 7 · GradientReversal
#
# **Contract.** `GradientReversal.apply(x, alpha)` with a Python number `alpha` promises
#
# * **values**: `x` unchanged
# * **gradients**: $-\alpha\,g$
# * **second derivatives** of backward as written
# * **special points**: alpha = 0 (then nothing passes), and alpha below 0; right for inputs of ±1000
# * **memory**: no tensor is kept
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


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
# When this notebook is graded, the same promises of GradientReversal are checked here with other numbers.
# You can run it now: check(GradientReversal, hidden=True)
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
# Its relative that lets no gradient through needs no Function: it is `x.detach()`.

# %% [markdown]
# ### A feature that forgets
#
# Each photo has two numbers: the *shape* of the thing on it, and its *brightness*. By day both tell what it is. By night everything is dark, so brightness tells nothing. We have labels for the day only.


# %% nbgrader={"grade": false, "grade_id": "demo-day-and-night", "locked": true, "schema_version": 3, "solution": false, "task": false}
def photos(night, generator, n=500):
    """(n, 2) with shape and brightness, and the true label of each."""
    label = torch.randint(0, 2, (n,), generator=generator).float()
    sign = 2 * label - 1
    shape = sign + 0.6 * torch.randn(n, generator=generator)
    brightness = (-2.0 if night else sign) + 0.5 * torch.randn(n, generator=generator)
    return torch.stack([shape, brightness], 1), label


def head():
    """From one feature to one logit."""
    return torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))


def share_right(logits, label):
    return ((logits.squeeze(1) > 0) == (label > 0.5)).float().mean().item()


generator = torch.Generator().manual_seed(0)
day_x, day_y = photos(False, generator)
night_x, night_y = photos(True, generator)
both, is_night = torch.cat([day_x, night_x]), (torch.arange(1000) >= 500).float()

# %% [markdown]
# One feature $h = w_1\cdot\text{shape} + w_2\cdot\text{brightness} + b$ feeds two heads: one learns the label, by day alone; the other learns day or night, and its gradient comes back through your `GradientReversal`.


# %% nbgrader={"grade": false, "grade_id": "demo-forgetting", "locked": true, "schema_version": 3, "solution": false, "task": false}
def descend(loss_of, modules, steps=300):
    """Adam on the parameters of some modules."""
    optimiser = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=0.02)
    for _ in range(5 if GRADING else steps):
        optimiser.zero_grad()
        loss_of().backward()
        optimiser.step()


def adversarial(alpha, seed=0):
    """(feature, label head) trained with a reversal of strength alpha."""
    torch.manual_seed(seed)
    feature, label, domain = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1), head()

    def loss():
        h = feature(both)
        of_label = F.binary_cross_entropy_with_logits(label(h[:500]).squeeze(1), day_y)
        night = domain(GradientReversal.apply(h, alpha)).squeeze(1)
        return of_label + F.binary_cross_entropy_with_logits(night, is_night)

    descend(loss, (feature, label, domain))
    return feature, label


# %% [markdown]
# Afterwards the feature is frozen, and a **new** classifier tries to tell day from night by it. Chance is 50 %. That is the test of forgetting: the old classifier might just be bad.

# %% nbgrader={"grade": false, "grade_id": "demo-forgotten", "locked": true, "schema_version": 3, "solution": false, "task": false}
by_day, by_night = {}, {}
for alpha in (0.0, 1.0, 3.0):
    feature, label = adversarial(alpha)
    h, spy = feature(both).detach(), head()
    descend(lambda: F.binary_cross_entropy_with_logits(spy(h).squeeze(1), is_night), (spy,))
    by_day[alpha], by_night[alpha] = h[:500, 0], h[500:, 0]
    w = [round(v, 2) for v in feature.weight[0].tolist()]
    print(
        f"α = {alpha}   labels by day {share_right(label(h[:500]), day_y):6.1%}   by night "
        f"{share_right(label(h[500:]), night_y):6.1%}   day or night? {share_right(spy(h), is_night):6.1%}"
        f"   weights of shape and brightness {w}"
    )
figures.features(by_day, by_night)

# %% [markdown]
# Without reversal the feature uses brightness, and by night the labels are no better than chance. With reversal, brightness all but disappears from the feature. By day that costs a little. By night the labels come out right, and nobody labelled a single photo of the night.

# %% [markdown]
# ## Exercise 8 · ClipGradient
#
# Recurrent networks multiply gradients by the same matrix again and again; some explode. One cure clamps them *on the way back*, inside the network.
#
# **Contract.** `ClipGradient.apply(x, limit)` with a Python number `limit`, 0 or more, promises
#
# * **values**: `x` unchanged
# * **gradients**: $g$ clamped to $[-\text{limit}, \text{limit}]$, element by element
# * **second derivatives** of backward as written
# * **special points**: limit = 0; right for inputs of ±1000
# * **memory**: no tensor is kept
# * **nothing else is touched**: do not write into `grad_output`
# * **shapes, strides, dtypes** · **your own work**: as for every Function


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
# When this notebook is graded, the same promises of ClipGradient are checked here with other numbers.
# You can run it now: check(ClipGradient, hidden=True)
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
# A model is compiled, or exported. Does your gradient come along?

# %% nbgrader={"grade": false, "grade_id": "quiz-exported", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("exported")


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
outcome("exported")

# %% [markdown]
# For inference that is fine. But if you train an exported program, you get zeros. The line without a Function, `x + (torch.sign(x) - x).detach()`, keeps its gradient there: export sees ordinary operations.

# %% [markdown]
# ## Find the bug
#
# Two people wrote a `LearnedScale`. One of the two trains networks a little worse than it should, and never raises an error. Read both, say which, and why. Then let the check speak.

# %% nbgrader={"grade": false, "grade_id": "quiz-suspects", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("ste")

# %% nbgrader={"grade": false, "grade_id": "try-suspects", "locked": false, "schema_version": 3, "solution": false, "task": false}
# Try A.apply(x, scale, qmin, qmax) and B.apply(…) here: where do their gradients differ?

# %% nbgrader={"grade": false, "grade_id": "quiz-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("ste")

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
# | RoundSTE, SignSTE | round, sign | $g$ | nothing |
# | Binarize | ±1 | $g$ where $\lvert x\rvert \le 1$ | a mask |
# | FakeQuantize | the nearest of the levels | $g$ where nothing was clamped | a mask |
# | LearnedScale | the nearest of the levels | $g$ inside; for scale the rounding error, $q_\min$, $q_\max$ | its inputs |
# | GumbelSoftmax | a choice | that of the soft version | its inputs |
# | GradientReversal | $x$ | $-\alpha g$ | a number |
# | ClipGradient | $x$ | $g$ clamped | a number |
#
# * A step function has gradient zero, and torch says so without an error.
# * A surrogate gradient is biased: not the gradient of any loss you computed. Where the loss has one valley it points downhill in the averaged loss, and the latent number behind the step adds up its pushes.
# * The step size of a quantiser can be learned as well, one for each channel.
# * gradcheck fails **by design**, and accepts useless zeros. Test against the surrogate you state.
# * A gradient that is not a derivative belongs in the documentation: what, why, how tested.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Where to go next
#
# **05_double_backward** asks for gradients of gradients. There a saved mask is no longer always harmless, and a silent wrong number is the main danger.

# %% [markdown]
# ## Sources
#
# - Yoshua Bengio and others (2013): [*Estimating or Propagating Gradients Through Stochastic Neurons for Conditional Computation*](https://arxiv.org/abs/1308.3432). Where the name "straight-through" comes from.
# - Itay Hubara and others (2016): [*Binarized Neural Networks*](https://arxiv.org/abs/1602.02830). Signs as weights, and the gradient that passes where |x| ≤ 1.
# - Penghang Yin and others (2019): [*Understanding Straight-Through Estimator in Training Activation Quantized Neural Nets*](https://arxiv.org/abs/1903.05662). When a surrogate provably points downhill, and when it does not.
# - Benoit Jacob and others (2018): [*Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference*](https://arxiv.org/abs/1712.05877). Scale, zero point and fake quantisation.
# - Steven Esser and others (2020): [*Learned Step Size Quantization*](https://arxiv.org/abs/1902.08153). The gradient of `LearnedScale`, and the division by √(n · qmax).
# - Eric Jang, Shixiang Gu and Ben Poole (2017): [*Categorical Reparameterization with Gumbel-Softmax*](https://arxiv.org/abs/1611.01144). Soft and hard samples with a gradient.
# - Chris Maddison, Andriy Mnih and Yee Whye Teh (2017): [*The Concrete Distribution*](https://arxiv.org/abs/1611.00712). The same idea, found at the same time.
# - Yaroslav Ganin and others (2016): [*Domain-Adversarial Training of Neural Networks*](https://arxiv.org/abs/1505.07818). Gradient reversal, and why features should forget.
# - PyTorch (torch 2.13): [*torch.fake_quantize_per_tensor_affine*](https://docs.pytorch.org/docs/stable/generated/torch.fake_quantize_per_tensor_affine.html). The operation that `FakeQuantize` rebuilds.
# - PyTorch (torch 2.13): [*Extending PyTorch*](https://docs.pytorch.org/docs/stable/notes/extending.html). What a Function may do, and how to test it.
