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
# # The clinic
#
# **Lesson 10 · about two and a half hours, in as many visits as you like** · 30 minutes of reading and predicting, ten minutes for each of twelve repairs · before this one: 01 to 03; of 05, that a second derivative sees only what backward computes
#
# Twelve Functions that somebody else wrote are brought in. Each has one fault. Four of them stop with an error message, and the message does not name the fault. Eight run through, and are wrong.
#
# You repair them. On the way you collect instruments: a way to make the problem small, the gradient before torch has touched it, gradcheck with its options, and a few short functions of your own. At the end a table shows which instrument sees which fault, and which faults each of them is blind to.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import inspect
import warnings

import torch
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import (
    attempt,
    figures,
    outcome,
    patients,
    predict,
    quiz,
    suspects,
    verdict,
    xray,
)

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(10)

# %% [markdown]
# ## Exercise 1 · Case01, two of three
#
# $y = a + t\,(b - a)$: part of the way from $a$ to $b$.
#
# **Symptom.** `loss.backward()` stops: `function Case01Backward returned an incorrect number of gradients (expected 3, got 2)`.
#
# **Instrument.** Read the last line of the message. It names your class with `Backward` behind it, and it counts.
#
# In this lesson you repair and do not rewrite: change as few lines as you can. Run the check first, and see whether it says more than torch.
#
# **Contract.** `Case01.apply(a, b, t)` promises
#
# * **values** of a + t · (b − a); `a` and `b` of one shape, `t` a float
# * **gradients** of `a` and `b`, each only where it is needed; `None` for `t`
# * **second derivatives** right
# * **special points**: t = 1
# * **memory**: no tensor is kept
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device)


# %% nbgrader={"grade": false, "grade_id": "case01", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case01(Function):
    """a + t · (b − a), t a float."""

    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = (1 - ctx.t) * grad_output if ctx.needs_input_grad[0] else None
        grad_b = ctx.t * grad_output if ctx.needs_input_grad[1] else None
        ### BEGIN SOLUTION
        return grad_a, grad_b, None
        ### END SOLUTION
        ### BEGIN START
        # return grad_a, grad_b
        ### END START


# %% nbgrader={"grade": true, "grade_id": "case01-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case01)

# %% nbgrader={"grade": true, "grade_id": "case01-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case01 are checked here with other numbers.
# You can run it now: check(Case01, hidden=True)
### BEGIN HIDDEN TESTS
check(Case01, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case01**
#
# *Cause.* Three arguments, ctx aside, and two gradients. A number has none, and its place is held by `None`.
#
# *Found by* the message alone. It names the Function, what was expected and what came. Few messages are that good.
#
# *Common mistakes.* `None` in the wrong place, which torch notices only where a gradient meets a number. A `None` for ctx as well: ctx is no argument.

# %% [markdown]
# ## The workflow, on one page
#
# Most faults are found in minutes by the same seven steps, taken in order, once the message has been read. Each makes the place smaller in which the fault can hide. Print this page, if you like: it is the file `widgets/figures/workflow.svg`, and every browser prints that.

# %% nbgrader={"grade": false, "grade_id": "demo-workflow", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.workflow()

# %% [markdown]
# Steps 1 to 3 change the *question*: a small one in float64, with one input that needs a gradient, has few answers.
#
# Step 4 looks at what backward **returns**. That is not what arrives in `.grad`: torch sums, casts and adds up on the way. The node of the graph is your ctx, and `apply` on it runs your backward by hand.
#
# Here is the product $y = x \cdot w$ of a matrix and a row, whose author forgot a sum. What reaches `w.grad`?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-raw", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("raw")


# %% nbgrader={"grade": false, "grade_id": "demo-raw", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Unsummed(Function):
    """x (N, C) times w (C); backward forgets that w was used N times."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, grad_output * x


x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)
y = Unsummed.apply(x, w)
raw = y.grad_fn.apply(torch.ones(3, 4))
print("backward returned for w:", tuple(raw[1].shape))
y.sum().backward()
print("w.grad:                 ", tuple(w.grad.shape))
outcome("raw")

# %% [markdown]
# The engine has added the rows up. Here that is what was meant, and gradcheck passes. Another time it hides a shape that is wrong.
#
# Steps 5 and 6 cut the code in half. **Forward**: compute the same by other means, and compare tensor after tensor, from the first line on. **Backward**: let autograd differentiate the *code of forward*, and compare with what backward returns. You need no formula for that, just a ctx that does nothing:


# %% nbgrader={"grade": false, "grade_id": "demo-twin", "locked": true, "schema_version": 3, "solution": false, "task": false}
class PlainCtx:
    """Stands in for ctx: so forward runs as ordinary torch code, and autograd records it."""

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


def twin(function, *args):
    """The largest difference between backward and autograd through forward, for each tensor."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    y = function.apply(*args)
    g = torch.randn_like(y)
    mine = torch.autograd.grad(y, tensors, g, allow_unused=True)
    recorded = function.forward(PlainCtx(), *args)
    right = torch.autograd.grad(recorded, tensors, g)
    return [None if m is None else f"{(m - r).abs().max():.1e}" for m, r in zip(mine, right)]


x = torch.linspace(-6, 6, 8, dtype=torch.float64, requires_grad=True)
print("as admitted:", twin(patients()["Case05"].admitted, x))
print("repaired:   ", twin(patients()["Case05"].repaired, x))

# %% [markdown]
# `patients()` has all twelve Functions twice: as they were brought in, and repaired by somebody. The demonstrations below use them, so you may repair yours at any time.
#
# Where `twin` finds a difference, the fault is in backward, or in what forward saved for it. Where it finds none, backward belongs to forward, and forward itself may be wrong.
#
# Step 7 asks twice: call it twice before you go back, go back twice, differentiate twice. Then the fault becomes a test, so that it never comes back.
#
# ## Ward 1: torch says something
#
# A message is where a fault was *noticed*. Where it was *made* is another matter.

# %% [markdown]
# ## Exercise 2 · Case02, right for a batch of four
#
# $y_{…c} = x_{…c}\,w_c$: each channel times its weight.
#
# **Symptom.** It ran for weeks. Then the last batch of an epoch was smaller than the others, and torch stopped: `Function Case02Backward returned an invalid gradient at index 1 - got [3] but expected shape compatible with [4]`.
#
# **Instrument.** Step 1: a batch of 3 rows with 4 channels. In the unit test there had been 4 and 4.
#
# **Contract.** `Case02.apply(x, weight)` promises
#
# * **values** of `x * weight`; `x` (…, C) with any number of dimensions in front, `weight` (C)
# * **gradients** of exactly these shapes, each only where it is needed
# * **second derivatives** right
# * **special points**: where one of the two is infinite, its own gradient is finite and right
# * **memory**: `x` and `weight`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case02", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case02(Function):
    """x (…, C) times weight (C)."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * weight
        if ctx.needs_input_grad[1]:
            ### BEGIN SOLUTION
            grad_weight = (grad_output * x).sum_to_size(weight.shape)
            ### END SOLUTION
            ### BEGIN START
            # grad_weight = (grad_output * x).sum(-1)
            ### END START
        return grad_x, grad_weight


# %% nbgrader={"grade": true, "grade_id": "case02-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case02)

# %% nbgrader={"grade": true, "grade_id": "case02-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case02 are checked here with other numbers.
# You can run it now: check(Case02, hidden=True)
### BEGIN HIDDEN TESTS
check(Case02, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case02**
#
# *Cause.* `sum(-1)` adds up the channels, and `weight` has one entry a channel. The sum belongs over all dimensions but the last.
#
# *Found by* sizes that differ. With as many rows as channels the shape fits, no message comes, and the numbers are wrong. Choose a different size for every dimension.
#
# *Another way.* `torch.einsum("...c,...c->c", grad_output, x)` says the same in indices.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-square", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("square")

# %% nbgrader={"grade": false, "grade_id": "demo-square", "locked": true, "schema_version": 3, "solution": false, "task": false}
w = torch.randn(4, dtype=torch.float64, requires_grad=True)


def gradient_of_w(rows):
    x = torch.randn(rows, 4, dtype=torch.float64)
    found = torch.autograd.grad(patients()["Case02"].admitted.apply(x, w).sum(), w)[0]
    right = torch.autograd.grad((x * w).sum(), w)[0]
    return f"off by {(found - right).abs().max():.2f}"


for rows in (3, 4):
    print(f"{rows} rows:", end=" ")
    attempt(gradient_of_w, rows)
outcome("square")

# %% [markdown]
# ## Exercise 3 · Case03, a stranger's size
#
# $y = x / (1 + x^2)$.
#
# **Symptom.** Two branches of a network use it, and backward stops: `The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0`. No tensor of size 4 goes through that branch.
#
# **Instrument.** Each branch alone is right, and gradcheck passes. Step 7: call it for both branches, then go back.
#
# **Contract.** `Case03.apply(x)` promises
#
# * **values** of x / (1 + x²)
# * **gradients** right, however many calls come between forward and backward
# * **second derivatives** right
# * **special points**: x = 0 and ±1000
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case03", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case03(Function):
    """x / (1 + x²)."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        ### END SOLUTION
        ### BEGIN START
        # Case03.x = x
        ### END START
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        ### END SOLUTION
        ### BEGIN START
        # x = Case03.x
        ### END START
        return grad_output * (1 - x * x) / (1 + x * x) ** 2


# %% nbgrader={"grade": true, "grade_id": "case03-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case03)

# %% nbgrader={"grade": true, "grade_id": "case03-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case03 are checked here with other numbers.
# You can run it now: check(Case03, hidden=True)
### BEGIN HIDDEN TESTS
check(Case03, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case03**
#
# *Cause.* `Case03.x` is one place for all calls: the second forward writes over what the first one's backward will read.
#
# *Found by* two calls of *different* sizes. With equal sizes there is no message, and the first branch gets the slope at the second one's numbers.
#
# *Common mistakes.* A list or a dictionary on the class: then the order of the calls decides. `ctx.x = x` ends this fault; but torch neither sees nor guards what lies there (lesson 01), so use `save_for_backward`.

# %% [markdown]
# ## Exercise 4 · Case04, blame somebody else
#
# The logarithm of softmax along the last dimension.
#
# **Symptom.** Behind `torch.exp` backward stops: `one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2, 3]], which is output 0 of Exp, is at version 1; expected version 0 instead`. So is `exp` broken?
#
# **Instrument.** Anomaly mode, as the message suggests; and then a print of `x` before and after the call.
#
# **Contract.** `Case04.apply(x)` promises
#
# * **values** of `torch.log_softmax(x, -1)`
# * **gradients** right
# * **second derivatives** right
# * **special points**: ±1000 in float32, where a plain exponential overflows
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case04", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case04(Function):
    """The logarithm of softmax along the last dimension."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        x = x - x.amax(-1, keepdim=True)  # no exponential overflows
        ### END SOLUTION
        ### BEGIN START
        # x -= x.amax(-1, keepdim=True)  # no exponential overflows
        ### END START
        y = x - x.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(-1, keepdim=True)


# %% nbgrader={"grade": true, "grade_id": "case04-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case04)

# %% nbgrader={"grade": true, "grade_id": "case04-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case04 are checked here with other numbers.
# You can run it now: check(Case04, hidden=True)
### BEGIN HIDDEN TESTS
check(Case04, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case04**
#
# *Cause.* `x -= …` writes into the caller's tensor. `exp` had saved that very tensor, its output.
#
# *Found by* the version in the message: 1 instead of 0 means one write since it was saved. Who wrote? The code between there and here, this Function.
#
# *Why it stayed hidden.* Softmax does not change when a row is shifted, so the output is right. On a leaf nothing is said at all: the caller's data quietly change.

# %% [markdown]
# Anomaly mode remembers, for each node, where forward made it. When a backward fails or gives NaN, it shows that line. Which line will it show here: the one that is wrong?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-anomaly", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("anomaly")

# %% nbgrader={"grade": false, "grade_id": "demo-anomaly", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(2, 3, requires_grad=True)


def two_steps(x):
    h = torch.exp(x)
    y = patients()["Case04"].admitted.apply(h)
    y.sum().backward()


with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with torch.autograd.set_detect_anomaly(True):
        attempt(two_steps, x)
print(str(told[-1].message).split("Traceback")[0])
print([line for line in str(told[-1].message).splitlines() if " = torch.exp" in line])
outcome("anomaly")

# %% [markdown]
# Anomaly mode costs time, so switch it on for the one step that fails. It also stops at the first NaN that a backward returns, and names its node. It is blind to numbers that are finite and wrong.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### More messages, and what they mean

# %% [markdown]
# Each line below makes one mistake and prints what torch says. Read them once, so that you know them again.


# %% nbgrader={"grade": false, "grade_id": "demo-messages", "locked": true, "schema_version": 3, "solution": false, "task": false}
def broken(backward=lambda ctx, g: g, forward=lambda ctx, x: x * 1):
    """Applies a Function that is made of these two, and goes back through it."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    y = type("Broken", (Function,), methods).apply(torch.ones(2, 3, requires_grad=True))
    y.sum(0).mul(2).sum().backward()


def saves_a_number(ctx, x):
    ctx.save_for_backward(x, 3.0)
    return x * 3


def saves_in_two_calls(ctx, x):
    ctx.save_for_backward(x)
    ctx.save_for_backward(x * 2)
    return x * 2


def unpacks_two(ctx, g):
    _, _ = ctx.saved_tensors
    return g * 2


# %% nbgrader={"grade": false, "grade_id": "demo-messages-shown", "locked": true, "schema_version": 3, "solution": false, "task": false}
def unchanged(ctx, g):
    return g


MISTAKES = {
    "a number among the saved tensors": (unchanged, saves_a_number),
    "two calls of save_for_backward: the last one counts": (unpacks_two, saves_in_two_calls),
    "an attribute that forward never set": (lambda ctx, g: g * ctx.scale,),
    "a gradient that is a number": (lambda ctx, g: 1.0,),
    "a gradient for an argument that is not there": (lambda ctx, g: (g, g),),
    "a reduction that backward does not undo": (unchanged, lambda ctx, x: x.sum(0)),
    "a view of a gradient in other strides": (lambda ctx, g: g.view(-1), lambda ctx, x: x.t()),
    "a matrix of the wrong dtype": (lambda ctx, g: torch.eye(2).double() @ g,),
}
for mistake, made_of in MISTAKES.items():
    print(f"\n{mistake}:")
    attempt(broken, *made_of)

# %% [markdown]
# ## Ward 2: nothing is said, and the numbers are wrong
#
# Here gradcheck begins. It needs float64, a few elements, and inputs that reach every branch of the code. A clamp that nothing reaches is not tested.

# %% [markdown]
# ## Exercise 5 · Case05, never saturated
#
# A hard sigmoid: $y = x/6 + \tfrac12$, cut off below 0 and above 1.
#
# **Symptom.** Neurons that are far out should be at rest. They drift on, and the loss knows nothing of it.
#
# **Instrument.** gradcheck at $x = -6 \dots 6$. At $x = -1 \dots 1$ it passes.
#
# **Contract.** `Case05.apply(x)` promises
#
# * **values** of x/6 + 1/2, at least 0 and at most 1
# * **gradients**: a sixth between the bounds, 0 beyond them
# * **second derivatives**: zero
# * **special points**: the gradient is 0 at x = ±3 as well, as in `F.hardsigmoid`; ±1000
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case05", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case05(Function):
    """x/6 + 1/2, clamped to [0, 1]."""

    @staticmethod
    def forward(ctx, x):
        y = (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        ### BEGIN SOLUTION
        inside = (y > 0) & (y < 1)
        ### END SOLUTION
        ### BEGIN START
        # inside = (y >= 0) & (y <= 1)
        ### END START
        return grad_output * inside / 6


# %% nbgrader={"grade": true, "grade_id": "case05-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case05)

# %% nbgrader={"grade": true, "grade_id": "case05-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case05 are checked here with other numbers.
# You can run it now: check(Case05, hidden=True)
### BEGIN HIDDEN TESTS
check(Case05, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case05**
#
# *Cause.* The mask asks a tensor that has been clamped whether it lies between the clamp's bounds. It always does.
#
# *Found by* inputs on both sides of both bounds. What no input reaches, no check has seen.
#
# *Another way.* Ask `x`, before the clamp: `x.abs() < 3`.

# %% [markdown]
# ## Exercise 6 · Case06, who never learns
#
# A bump: $y = e^{-s\,(x - c)^2}$ with a float $s$ and a tensor of centres $c$.
#
# **Symptom.** The centres stay where they were initialised. Everything else learns around them, so the loss falls all the same.
#
# **Instrument.** Step 3, one input at a time: `x` alone needs a gradient, then `centre` alone. Print `ctx.needs_input_grad`.
#
# **Contract.** `Case06.apply(x, scale, centre)` promises
#
# * **values** of exp(−scale · (x − centre)²); `scale` is a float, `centre` has the shape of `x`
# * **gradients** of `x` and `centre`, each only where it is needed; `None` for `scale`
# * **second derivatives** right
# * **special points**: x = centre
# * **memory**: `x`, `centre` and the output
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case06", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case06(Function):
    """exp(−scale · (x − centre)²), scale a float."""

    @staticmethod
    def forward(ctx, x, scale, centre):
        ctx.save_for_backward(x, centre)
        ctx.scale = scale
        return torch.exp(-scale * (x - centre) ** 2)

    @staticmethod
    def backward(ctx, grad_output):
        x, centre = ctx.saved_tensors
        away = x - centre
        slope = -2 * ctx.scale * away * torch.exp(-ctx.scale * away**2)
        grad_x = grad_output * slope if ctx.needs_input_grad[0] else None
        ### BEGIN SOLUTION
        grad_centre = -grad_output * slope if ctx.needs_input_grad[2] else None
        ### END SOLUTION
        ### BEGIN START
        # grad_centre = -grad_output * slope if ctx.needs_input_grad[1] else None
        ### END START
        return grad_x, None, grad_centre


# %% nbgrader={"grade": true, "grade_id": "case06-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case06)

# %% nbgrader={"grade": true, "grade_id": "case06-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case06 are checked here with other numbers.
# You can run it now: check(Case06, hidden=True)
### BEGIN HIDDEN TESTS
check(Case06, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case06**
#
# *Cause.* `ctx.needs_input_grad` has one entry for each argument of forward, numbers too: `(True, False, True)`. The fault reads the entry of `scale`, which is never True.
#
# *Found by* freezing. `None` from backward means "no gradient", and torch takes your word for it.
#
# *Look out for.* When an optional argument at the end is left out of `apply`, it has no entry at all.

# %% [markdown]
# ## Exercise 7 · Case07, zero for a sum
#
# $y = \max(x, 0)^2$.
#
# **Symptom.** In a network it works, and with `y.mean()` as the loss. With `y.sum()` all gradients are 0.
#
# **Instrument.** Step 4: make the upstream gradient yourself, and print it before and after the backward.
#
# **Contract.** `Case07.apply(x)` promises
#
# * **values** of max(x, 0)²
# * **gradients** right, for an upstream gradient that is expanded as well
# * **second derivatives** right
# * **special points**: ±1000
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case07", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case07(Function):
    """max(x, 0)²."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        ### BEGIN SOLUTION
        slope = 2 * x.clamp(min=0)
        return slope * grad_output
        ### END SOLUTION
        ### BEGIN START
        # grad_output[x < 0] = 0
        # return 2 * x.clamp(min=0) * grad_output
        ### END START


# %% nbgrader={"grade": true, "grade_id": "case07-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case07)

# %% nbgrader={"grade": true, "grade_id": "case07-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case07 are checked here with other numbers.
# You can run it now: check(Case07, hidden=True)
### BEGIN HIDDEN TESTS
check(Case07, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case07**
#
# *Cause.* `grad_output[x < 0] = 0` writes into a tensor that belongs to torch. `y.sum()` sends one number, expanded: every element is the same place in memory, and a 0 in one is a 0 in all.
#
# *Found by* an upstream gradient of one's own: it is another one afterwards. gradcheck of `y` passes, because it makes a fresh gradient for each output; gradcheck of `y.sum()` fails.
#
# *The other half of the damage.* In `h + f(h)` both branches get the same gradient tensor, and the second one gets it edited.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-expanded", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("expanded")

# %% nbgrader={"grade": false, "grade_id": "demo-expanded", "locked": true, "schema_version": 3, "solution": false, "task": false}
warnings.filterwarnings("ignore", message="Use of .* on expanded tensors")  # torch warns, once
x = torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
squared = patients()["Case07"].admitted.apply
for name, loss in (("y.sum()", lambda y: y.sum()), ("(y * y).sum()", lambda y: (y * y).sum())):
    (found,) = torch.autograd.grad(loss(squared(x)), x)
    (right,) = torch.autograd.grad(loss(x.clamp(min=0) ** 2), x)
    print(f"{name:14} found {found.tolist()}   right {right.tolist()}")
upstream = torch.ones(1).expand(3)
print("strides of what a sum sends back:", upstream.stride())
outcome("expanded")

# %% [markdown]
# ## Exercise 8 · Case08, seven digits
#
# A discounted sum: $y = \sum_k d^k x_k$ along the last dimension.
#
# **Symptom.** A solver in float64 stops making progress at seven digits. In bfloat16 the layer behind it complains about a dtype.
#
# **Instrument.** Not gradcheck: forward and backward agree with each other. Print the dtype of every tensor that forward *makes*, or put bfloat16 in and look what comes out.
#
# **Contract.** `Case08.apply(x, decay)` promises
#
# * **values** with all the digits of `x`'s dtype; `decay` is a float
# * **gradients** right; `None` for `decay`
# * **second derivatives** right
# * **special points**: decay = 1
# * **memory**: the weights
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case08", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case08(Function):
    """x₀ + decay·x₁ + decay²·x₂ + … along the last dimension."""

    @staticmethod
    def forward(ctx, x, decay):
        powers = [decay**k for k in range(x.shape[-1])]
        ### BEGIN SOLUTION
        weights = x.new_tensor(powers)
        ### END SOLUTION
        ### BEGIN START
        # weights = torch.tensor(powers)
        ### END START
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights, None


# %% nbgrader={"grade": true, "grade_id": "case08-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case08)

# %% nbgrader={"grade": true, "grade_id": "case08-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case08 are checked here with other numbers.
# You can run it now: check(Case08, hidden=True)
### BEGIN HIDDEN TESTS
check(Case08, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case08**
#
# *Cause.* `torch.tensor([0.9, …])` has the default dtype, float32, whatever `x` has. float64 then takes it up, with seven right digits.
#
# *Found by* another dtype. Mixing dtypes is silent upwards: float32 times float64 is float64, and bfloat16 times float32 is float32.
#
# *Habits that help.* `x.new_tensor(…)`, `torch.zeros_like(x)`, `….to(x)`.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-rounded", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("rounded")

# %% nbgrader={"grade": false, "grade_id": "demo-rounded", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
discounted = patients()["Case08"].admitted.apply
print("gradcheck:", gradcheck(lambda t: discounted(t, 0.9), x))
exact = (x * 0.9 ** torch.arange(6, dtype=torch.float64)).sum(-1)
print(f"off by {(discounted(x, 0.9) - exact).abs().max():.0e}; float64 has digits to 1e-16")
print("bfloat16 in, out comes", discounted(x.bfloat16(), 0.9).dtype)
outcome("rounded")

# %% [markdown]
# ## Exercise 9 · Case09, it was right when I saved it
#
# A gated linear unit: the first half of the last dimension times the sigmoid of the second half. The author saves memory by working in place, on a copy.
#
# **Symptom.** The gates hardly learn: their gradient is right in sign, and too small.
#
# **Instrument.** Print what forward hands to `save_for_backward`, and what backward unpacks.
#
# **Contract.** `Case09.apply(x)` promises
#
# * **values** of `F.glu(x, -1)`
# * **gradients** right
# * **second derivatives** right, or refused with a RuntimeError
# * **special points**: ±1000
# * **memory**: `x`, and half as much
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case09", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case09(Function):
    """The first half of the last dimension times the sigmoid of the second."""

    @staticmethod
    def forward(ctx, x):
        value, gate = x.clone().chunk(2, -1)
        gate.sigmoid_()
        ctx.save_for_backward(value, gate)
        ### BEGIN SOLUTION
        return value * gate
        ### END SOLUTION
        ### BEGIN START
        # return value.mul_(gate)
        ### END START

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            raise RuntimeError("Case09 keeps what forward computed: it has no second derivative.")
        value, gate = ctx.saved_tensors
        grad_gate = grad_output * value * gate * (1 - gate)
        return torch.cat([grad_output * gate, grad_gate], -1)


# %% nbgrader={"grade": true, "grade_id": "case09-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case09)

# %% nbgrader={"grade": true, "grade_id": "case09-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case09 are checked here with other numbers.
# You can run it now: check(Case09, hidden=True)
### BEGIN HIDDEN TESTS
check(Case09, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case09**
#
# *Cause.* `value` is a view, and `mul_` writes the output over it *after* it was handed over. torch records the version when forward has ended, so its guard sees nothing.
#
# *Found by* printing both. `save_for_backward` keeps a reference, never a copy.
#
# *Another way.* Save `x` and compute both halves again: that is right for second derivatives as well.

# %% [markdown]
# Walk through yours. The saved tensors stand beside what forward made: before the repair one of them is the output.

# %% nbgrader={"grade": false, "grade_id": "see-case09", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Case09)

# %% [markdown]
# ## gradcheck's options
#
# gradcheck compares a slope from differences with the one from your backward. Its defaults are strict. These options matter, and each can be set wrongly:

# %% nbgrader={"grade": false, "grade_id": "demo-signature", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, option in inspect.signature(gradcheck).parameters.items():
    if option.kind is option.KEYWORD_ONLY or option.default is not option.empty:
        print(f"{name:28} {option.default}")

# %% [markdown]
# | option | what for | the trap |
# |---|---|---|
# | `eps`, `atol`, `rtol` | the step, and what may differ | a wide tolerance passes small faults; a smaller step makes rounding worse (lesson 01) |
# | `fast_mode` | one random direction in place of all: fast for large inputs | a fault in one of many elements drowns |
# | `nondet_tol` | lets two backwards differ by that much, as atomic additions on a GPU do | hides state that creeps from call to call |
# | `check_batched_grad` | backward under `vmap`, as `jacobian(vectorize=True)` runs it | off by default |
# | `masked` | sparse inputs: only the entries that are stored are moved | without it the zeros are moved too, and a masked function fails |
# | `check_undefined_grad` | backward with no gradient for an output; on by default | switched off to silence an error that is real |
#
# Five functions, each with a fault or a property that one option decides:


# %% nbgrader={"grade": false, "grade_id": "demo-options-functions", "locked": true, "schema_version": 3, "solution": false, "task": false}
def sine(slope):
    """sin(x); its backward has the slope that is made of the right one and of g."""

    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx, g):
            return g * slope(torch.cos(ctx.saved_tensors[0]), g)

    return Sine.apply


first = torch.zeros(100, dtype=torch.float64)
first[0] = 1
a_little = sine(lambda right, g: 1.005 * right)
in_one_place = sine(lambda right, g: right * (1 + 0.05 * first))
restless = sine(lambda right, g: right * (1 + 1e-9 * torch.randn_like(right)))
branching = sine(lambda right, g: right if g.any() else 0 * right)

# %% nbgrader={"grade": false, "grade_id": "demo-options", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-1, 1, 100, dtype=torch.float64, requires_grad=True)
stored = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
ones = torch.ones(2, 1, dtype=torch.float64)


def times_ones(s):
    return torch.sparse.mm(s, ones)


warnings.filterwarnings("ignore", message="Sparse invariant checks")
TRIED = {
    "half a per cent off everywhere": (a_little, x, {}, {"atol": 1e-2}),
    "5 % off in one of 100 elements": (in_one_place, x, {}, {"fast_mode": True}),
    "differs by 1e-9 from call to call": (restless, x, {}, {"nondet_tol": 1e-7}),
    "asks whether the gradient is 0": (branching, x, {}, {"check_batched_grad": True}),
    "a sparse matrix times a vector": (times_ones, stored, {}, {"masked": True}),
}
for name, (function, inputs, *options) in TRIED.items():
    for chosen in options:
        passed = gradcheck(function, inputs, raise_exception=False, **chosen)
        words = ", ".join(f"{key}={value}" for key, value in chosen.items()) or "defaults"
        print(f"{name:34} {words:24} {'passes' if passed else 'fails'}")

# %% [markdown]
# The first two pairs pass with an option what the defaults refuse: a fault got through. The third pair is the reason for `nondet_tol`. The fourth finds more than the defaults do. And in the last one the function is right, for its sparse input.
#
# ## Ward 3: one call is right
#
# These pass a check of a single call, or seem to.

# %% [markdown]
# ## Exercise 10 · Case10, weaker from step to step
#
# `x` unchanged, and its gradient times `alpha` on the way back.
#
# **Symptom.** The first step is right. After a hundred, the gradient of the parameter in front is 0.
#
# **Instrument.** The same call three times, with the same numbers. Then the gradient of `x.sum()`, in which the Function has no part.
#
# **Contract.** `Case10.apply(x, alpha)` promises
#
# * **values** of `x`
# * **gradients**: alpha · grad_output for this call, and `None` for `alpha`; no other gradient of `x` changes
# * **second derivatives** right
# * **special points**: alpha = 0; ±1000
# * **memory**: no tensor is kept
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case10", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case10(Function):
    """x, whose gradient is multiplied by alpha on its way back."""

    @staticmethod
    def forward(ctx, x, alpha):
        ### BEGIN SOLUTION
        ctx.alpha = alpha
        ### END SOLUTION
        ### BEGIN START
        # if x.requires_grad:
        #     x.register_hook(lambda gradient: alpha * gradient)
        ### END START
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return ctx.alpha * grad_output, None
        ### END SOLUTION
        ### BEGIN START
        # return grad_output, None
        ### END START


# %% nbgrader={"grade": true, "grade_id": "case10-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case10)

# %% nbgrader={"grade": true, "grade_id": "case10-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case10 are checked here with other numbers.
# You can run it now: check(Case10, hidden=True)
### BEGIN HIDDEN TESTS
check(Case10, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case10**
#
# *Cause.* `register_hook` puts a hook on the caller's tensor, and it stays there. Each call adds one, and each hook sees *every* gradient of that tensor.
#
# *Found by* repeating one call. gradcheck is no help: this gradient is no derivative, so it fails before the repair and after it.
#
# *When a hook is right.* On a tensor that you made, for one backward, with `handle.remove()` afterwards.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-hook", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("hook")

# %% nbgrader={"grade": false, "grade_id": "demo-hook", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.ones(2, requires_grad=True)
weaker = patients()["Case10"].admitted.apply
for step in (1, 2, 3):
    (found,) = torch.autograd.grad(weaker(x, 0.5).sum(), x)
    print(f"step {step}: {found.tolist()}")
print("without the Function:", torch.autograd.grad(x.sum(), x)[0].tolist())
outcome("hook")

# %% [markdown]
# ## Exercise 11 · Case11, right on average
#
# Stochastic depth: each row of `x` is dropped with probability `p`, the others are divided by $1 - p$.
#
# **Symptom.** It trains, and ends a little worse than the paper says.
#
# **Instrument.** Compare *places*, not means: which rows are 0 in the output, and which in the gradient? gradcheck must fail for every random function; with the seed set before each call it can tell.
#
# **Contract.** `Case11.apply(x, p)` with `p` below 1 promises
#
# * **values**: each row is 0 with probability `p`, whatever happens to the others, and `x / (1 - p)` else
# * **gradients**: the same rows, the same factor; `None` for `p`
# * **second derivatives** right
# * **special points**: p = 0
# * **memory**: a byte a row, or the state of the generator (5056 bytes, kept like a mask)
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case11", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case11(Function):
    """Each row of x is dropped with probability p, the others are divided by 1 − p."""

    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        rows = torch.rand(*x.shape[:-1], 1, device=x.device) >= p
        ### BEGIN SOLUTION
        ctx.save_for_backward(rows)
        return x * rows / (1 - p)
        ### END SOLUTION
        ### BEGIN START
        # return x * rows / (1 - p)
        ### END START

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (rows,) = ctx.saved_tensors
        ### END SOLUTION
        ### BEGIN START
        # rows = torch.rand(*grad_output.shape[:-1], 1, device=grad_output.device) >= ctx.p
        ### END START
        return grad_output * rows / (1 - ctx.p), None


# %% nbgrader={"grade": true, "grade_id": "case11-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case11)

# %% nbgrader={"grade": true, "grade_id": "case11-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case11 are checked here with other numbers.
# You can run it now: check(Case11, hidden=True)
### BEGIN HIDDEN TESTS
check(Case11, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case11**
#
# *Cause.* Backward draws rows of its own. On average the gradient is right; for the rows that were drawn it is not.
#
# *Found by* places. A mean cannot see it.
#
# *Common mistake.* `torch.manual_seed` in forward and backward: then the rows agree, and are the same in every call.

# %% [markdown]
# ## Exercise 12 · Case12, silent in a sum
#
# $y = \sqrt{1 + x^2}$.
#
# **Symptom.** A gradient penalty has no effect on this layer. No error comes, as the penalty has other terms. Alone it stops: `element 0 of tensors does not require grad and does not have a grad_fn`.
#
# **Instrument.** `gradgradcheck`, or `create_graph=True` and a look at `requires_grad` of the gradient.
#
# **Contract.** `Case12.apply(x)` promises
#
# * **values** of √(1 + x²)
# * **gradients** right
# * **second derivatives** right
# * **special points**: x = 0, ±1000
# * **memory**: `x` and the output
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "case12", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["repair"]
class Case12(Function):
    """√(1 + x²)."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(1 + x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, y = ctx.saved_tensors
        return grad_output * x / y
        ### END SOLUTION
        ### BEGIN START
        # with torch.no_grad():  # backward is not trained
        #     x, y = ctx.saved_tensors
        #     slope = x / y
        # return grad_output * slope
        ### END START


# %% nbgrader={"grade": true, "grade_id": "case12-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Case12)

# %% nbgrader={"grade": true, "grade_id": "case12-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Case12 are checked here with other numbers.
# You can run it now: check(Case12, hidden=True)
### BEGIN HIDDEN TESTS
check(Case12, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Case12**
#
# *Cause.* What is computed under `no_grad` is a constant to whoever differentiates again. Backward needs no `no_grad`: torch records it only where `create_graph=True` asks.
#
# *Found by* gradgradcheck. gradcheck passes.
#
# *Relatives.* `.detach()`, `.data`, NumPy in backward, and saved intermediates (lesson 05).

# %% [markdown]
# ## What each instrument sees
#
# An instrument is a function that raises an error when it finds something. Here are eleven, most of them of a line or two.


# %% nbgrader={"grade": false, "grade_id": "demo-instruments", "locked": true, "schema_version": 3, "solution": false, "task": false}
def goes_back_once(f, *args):
    y = f(*args)
    y.backward(torch.randn_like(y))


def same_three_times(f, *args):
    found = []
    for _ in range(3):
        y = f(*args)
        found.append(torch.autograd.grad(y, args[0], torch.ones_like(y))[0])
    assert all(torch.equal(found[0], other) for other in found[1:])


def keeps_bfloat16(f, *args):
    small = [a.bfloat16() if isinstance(a, torch.Tensor) else a for a in args]
    assert f(*small).dtype == torch.bfloat16


# %% nbgrader={"grade": false, "grade_id": "demo-instruments-made-of", "locked": true, "schema_version": 3, "solution": false, "task": false}
def beside_itself(f, x, *rest):
    """f(h) + h, where that fits: both branches get the same upstream gradient."""
    h = 1.0 * x
    y = f(h, *rest)
    return y + h if y.shape == h.shape else y


def with_a_seed(f, *args):
    torch.manual_seed(0)
    return f(*args)


# %% nbgrader={"grade": false, "grade_id": "demo-instruments-named", "locked": true, "schema_version": 3, "solution": false, "task": false}
def anomaly_mode(f, *args):
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        goes_back_once(f, *args)


def checked(made_of=lambda f, *args: f(*args), check=gradcheck, **options):
    """gradcheck, or gradgradcheck, of something that is made of f."""
    return lambda f, *args: check(lambda *a: made_of(f, *a), args, **options)


INSTRUMENTS = {
    "one backward": goes_back_once,
    "anomaly mode": anomaly_mode,
    "gradcheck": checked(),
    "gradcheck, fast_mode": checked(fast_mode=True),
    "gradcheck of y.sum()": checked(lambda f, *a: f(*a).sum()),
    "gradcheck of f(h) + h": checked(beside_itself),
    "gradcheck of f(x) · f(2x)": checked(lambda f, x, *rest: f(x, *rest) * f(2 * x, *rest)),
    "gradcheck with a seed": checked(with_a_seed),
    "the same call three times": same_three_times,
    "gradgradcheck": checked(check=gradgradcheck),
    "bfloat16 in and out": keeps_bfloat16,
}  # fmt: skip

# %% [markdown]
# Each instrument is put to the twelve as admitted, *and* to the same Functions repaired. That decides whether a complaint is worth anything. Before you look: how many of the twelve does plain gradcheck find?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-instruments", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("found")


# %% nbgrader={"grade": false, "grade_id": "demo-inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


INPUTS = {
    "Case01": (normal(4), normal(4), 0.3),
    "Case02": (normal(3, 4), normal(4)),
    "Case03": (normal(4),),
    "Case04": (normal(2, 3),),
    "Case05": (torch.linspace(-6, 6, 8, dtype=torch.float64),),
    "Case06": (normal(4), 0.5, normal(4)),
    "Case07": (torch.tensor([-1.5, -0.5, 0.5, 2.0], dtype=torch.float64),),
    "Case08": (normal(2, 3), 0.9),
    "Case09": (normal(2, 4),),
    "Case10": (normal(4), 0.5),
    "Case11": (normal(30, 2), 0.4),
    "Case12": (normal(4),),
}


# %% nbgrader={"grade": false, "grade_id": "demo-complains", "locked": true, "schema_version": 3, "solution": false, "task": false}
def complains(instrument, function, args):
    """Whether the instrument finds something, on fresh copies of these arguments."""
    fresh = [a.clone().requires_grad_() if isinstance(a, torch.Tensor) else a for a in args]
    torch.manual_seed(1)
    try:
        instrument(function.apply, *fresh)
    except Exception:
        return True
    return False


# %% nbgrader={"grade": false, "grade_id": "demo-table", "locked": true, "schema_version": 3, "solution": false, "task": false}
print(f"{'':28}" + "".join(f"{name[-2:]:>4}" for name in INPUTS))
for words, instrument in INSTRUMENTS.items():
    marks = []
    for name, args in INPUTS.items():
        found = complains(instrument, patients()[name].admitted, args)
        wolf = found and complains(instrument, patients()[name].repaired, args)
        marks.append("?" if wolf else "x" if found else "·")
    print(f"{words:28}" + "".join(f"{mark:>4}" for mark in marks) + f"   {marks.count('x'):2}")
print("\nx found    · blind    ? complains about the repaired one, too")
outcome("found")

# %% [markdown]
# Read it by columns. **03** needs two calls, **07** an upstream gradient that is expanded or shared, **08** another dtype, **10** a repetition, **11** a seed, **12** a second derivative. Six of the twelve are seen by gradcheck as most people call it.
#
# Read it by rows. Each of gradcheck's four variations sees one more, for one line of code. Fast mode sees one less, Case04. Anomaly mode sees what has stopped anyway. And `?` warns you: an instrument that also complains about what is right has told you nothing.
#
# | instrument | cannot see |
# |---|---|
# | the message | where the fault was made; anything that runs through |
# | anomaly mode | finite numbers that are wrong |
# | gradcheck | branches that no input reaches, other dtypes, a second call, an expanded or shared upstream gradient, second derivatives |
# | gradgradcheck | gradients that are wrong in first order and linear |
# | a seed around it | dependence on the seed itself |
# | a test in bfloat16 | anything in the seventh digit |
# | the loss curve | nearly everything |
#
# `check`, which you have used all along, asks these questions and some more. On a Function of your own, `evaluate(MyOp, inputs=…)` does the same.

# %% [markdown]
# ## A bug that was shipped
#
# This one is real, in a public package for wavelet transforms that many people install (pytorch_wavelets 1.3.0, its smooth magnitude). We retell it without its code.
#
# The Function takes two tensors $x$ and $y$ and computes $\sqrt{x^2 + y^2 + b^2} - b$, the length of a complex number, made smooth at 0. Its gradients are $x / r$ and $y / r$, times what arrives. Forward computes both quotients where $x$ requires a gradient. Backward computes both gradients behind one condition, `ctx.needs_input_grad[0]`, and returns both behind it.
#
# **Symptom.** As long as $x$ needs a gradient, everything is right: gradcheck passes with both. When $x$ is data and only $y$ is learned, backward stops: it returns a gradient for $y$ that it has not computed.
#
# **Instrument.** Step 3, one input at a time. The tests of the package, like most tests, let all inputs need a gradient. So did ours: when this course's own checker was tried on public packages, the entry for this Function said *right*, on gradcheck's word. Freezing one input after the other found it in a tenth of a second.
#
# **Cause.** One condition for two arguments. Whatever you write with `needs_input_grad` has one `if` for each argument; what they share stands *before* the first.

# %% [markdown]
# ## Find the bug
#
# Two people repaired `Case07`. Both pass gradcheck. One of them still writes where it must not, though not always.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("debugging")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: with an upstream gradient of your own, contiguous or not …
x = torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
upstream = torch.ones(3)
A.apply(x).backward(upstream)
upstream, x.grad

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("debugging")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-debugging", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("debugging")

# %% nbgrader={"grade": false, "grade_id": "quiz-debugging-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("debugging")

# %% [markdown]
# ## Summary
#
# | case | symptom | instrument | cause |
# |---|---|---|---|
# | 01 | expected 3, got 2 | the message | no `None` for a number |
# | 02 | invalid gradient, for some batches | sizes that all differ | a sum over the wrong dimension |
# | 03 | a size from another branch | two calls, then backward | state on the class |
# | 04 | a variable was modified; `exp` is named | the version, a print of `x` | an input edited in place |
# | 05 | never saturates | gradcheck on both sides of the bounds | a mask of what was clamped |
# | 06 | a parameter does not move | one input at a time | `needs_input_grad` read at the wrong place |
# | 07 | zeros for `y.sum()` | an upstream gradient of your own | `grad_output` edited in place |
# | 08 | seven digits; a dtype that is too wide | another dtype | a tensor of the default dtype |
# | 09 | gradients too small | what is saved, what is unpacked | a view written to after it was saved |
# | 10 | weaker with each step | the same call three times | a hook that stays |
# | 11 | a little worse | places, a seed around it | drawn again in backward |
# | 12 | a penalty without effect | gradgradcheck | `no_grad` in backward |
#
# * Small, float64, one input at a time, all sizes different: **do these four before you think**.
# * A message says where a fault was noticed. Ask who touched that tensor last.
# * Know what your instrument is blind to, and try it on something right as well.
# * Every fault that you find becomes a test.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Andreas Zeller (2009): [*Why programs fail*](https://www.whyprogramsfail.com/). The systematic way: reproduce, make it small, bisect.
# - Nicholas Higham (2002): [*Accuracy and stability of numerical algorithms*](https://doi.org/10.1137/1.9780898718027). What seven digits are worth when terms cancel.
# - Gao Huang and others (2016): [*Deep networks with stochastic depth*](https://arxiv.org/abs/1603.09382). Where the rows of Case11 are dropped, and why that helps.
# - Yann Dauphin and others (2017): [*Language modeling with gated convolutional networks*](https://arxiv.org/abs/1612.08083). The gated linear unit of Case09.
# - PyTorch (torch 2.13): [*Gradcheck mechanics*](https://docs.pytorch.org/docs/stable/notes/gradcheck.html). What is compared, and what fast mode projects.
# - PyTorch (torch 2.13): [*Automatic differentiation package*](https://docs.pytorch.org/docs/stable/autograd.html). Anomaly mode, hooks, and the checks of in-place operations.

# %% [markdown]
# ## Where to go next
#
# Take a Function from a package that you use, and put the eleven instruments to it. Change nothing: for each that complains, try it on the same computation in plain torch first. What is left is a bug report.
