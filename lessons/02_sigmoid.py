# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Save the output, not the input
#
# Backward needs numbers from forward. *Which* numbers you keep decides how much memory training costs, whether a second derivative is right, and whether the gradient survives large inputs.
#
# At the end five activations of yours, and a loss, train networks on 569 biopsies, to the same losses as torch's own. One of the five torch does not have.
#
# **Time:** about 90 minutes: 40 to read and predict, 50 for the six exercises. They get shorter as you go.
#
# **You need:** lesson 01.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import os

import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import (
    figures,
    function_builder,
    outcome,
    predict,
    quiz,
    saved_ledger,
    suspects,
    verdict,
    xray,
)

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(2)

# %% [markdown]
# ## Why it matters
#
# A network of a hundred layers holds a hundred layers' worth of numbers between forward and backward. Here are three ways to write the same sigmoid. The cell after the question, which is folded, defines `kept_bytes`: it counts what autograd keeps.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-kept-by-the-formula", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("kept-by-the-formula")


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "demo-kept-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
def kept_bytes(function, *inputs):
    """Bytes of the distinct tensors that autograd keeps for the backward of function(*inputs)."""
    kept = {}

    def put_aside(tensor):
        kept[tensor.data_ptr()] = tensor.nbytes
        return tensor.detach()  # the tensor itself would make a reference cycle with its node

    with torch.autograd.graph.saved_tensors_hooks(put_aside, lambda tensor: tensor):
        result = function(*inputs)
    del result
    return sum(kept.values())


# %% nbgrader={"grade": false, "grade_id": "demo-kept-by-three", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(1000, requires_grad=True)  # 4000 bytes in float32
print("torch.sigmoid(x)           ", kept_bytes(torch.sigmoid, x), "bytes")
print("1 / (1 + torch.exp(-x))    ", kept_bytes(lambda t: 1 / (1 + torch.exp(-t)), x), "bytes")
print("torch.tanh(x / 2) / 2 + 0.5", kept_bytes(lambda t: torch.tanh(t / 2) / 2 + 0.5, x), "bytes")

outcome("kept-by-the-formula")

# %% [markdown]
# ## The mathematics
#
# All functions of this lesson work **element by element**, so backward is $g_i \, f'(x_i)$: the upstream gradient times the local slope. (Only here! A matrix product or a softmax has a full Jacobian.)
#
# For the sigmoid $\sigma(x) = \dfrac{1}{1 + e^{-x}}$ the chain rule gives
#
# $$\sigma'(x) = \frac{e^{-x}}{(1 + e^{-x})^2}
# = \frac{1}{1 + e^{-x}} \cdot \frac{e^{-x}}{1 + e^{-x}}
# = \sigma(x)\,\bigl(1 - \sigma(x)\bigr).$$
#
# With $y = \sigma(x)$ that is $y\,(1 - y)$: **$x$ has disappeared**. If you have the output, you need nothing else.
#
# A picture says when this works. Let $x$ sweep over the line; draw the slope $f'(x)$ over the *output* $f(x)$.

# %% nbgrader={"grade": false, "grade_id": "demo-slope-over-output", "locked": true, "schema_version": 3, "solution": false, "task": false}
activations = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp}
activations |= {"relu": torch.relu, "Swish: x·σ(x)": F.silu, "GELU": F.gelu}
figures.slope_over_output(activations)

# %% [markdown]
# Put a vertical line anywhere. For sigmoid, tanh, exp and relu it meets **one** slope: the output tells all. For Swish and GELU the curve folds back: one output, **two** slopes.
#
# > **Rule.** Save the output if, and only if, the derivative is a function of the output.
#
# An injective function always passes the test, because $x$ could be recovered from $y$. ReLU passes although it is not injective: all inputs that share the output 0 share the slope 0 too.
#
# ## Exercise 1: MySigmoid
#
# The classic, and the one that pays: sigmoid gates sit in every LSTM and GRU cell.
#
# **Contract.** `MySigmoid.apply(x)` promises
#
# * **values** of $\sigma(x)$
# * **gradients** right
# * **second derivatives** right too (nothing to do for that, if you save the output or the input)
# * **special points**: finite and right in float32 at ±1000, value and gradient
# * **memory**: **one** tensor as large as `x`, not more
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# In all six exercises forward may call torch's own operation; backward is your own arithmetic.


# %% nbgrader={"grade": false, "grade_id": "my-sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MySigmoid(Function):
    """σ(x), element by element; x of any shape. Keeps one tensor of x's size for backward."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "my-sigmoid-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(MySigmoid)

# %% nbgrader={"grade": true, "grade_id": "my-sigmoid-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of MySigmoid are checked here with other numbers.
# You can run it now: check(MySigmoid, hidden=True)
### BEGIN HIDDEN TESTS
check(MySigmoid, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: MySigmoid
#
# **Derivation.** $\sigma' = \sigma(1-\sigma)$, so backward is $g\,y\,(1-y)$.
#
# **What is saved.** The output: one tensor, which the next layer usually keeps anyway.
# Saving $x$ and computing σ again is right as well and stays within the budget; saving both is not needed.
#
# **Second derivative.** $y$ is an output, so autograd knows how it depends on $x$: $g\,y(1-y)$ can be differentiated again.
#
# **Common mistakes.** Returning $y(1-y)$ without $g$. Saving $x$ and computing $x(1-x)$.
# Saving `torch.sigmoid(x)` and returning another `torch.sigmoid(x)`: the saved one is then an intermediate.
#
# **A limit worth knowing.** In float32 $y$ rounds to 1 from about $x = 17$ on, so $y(1-y)$ is 0 there, while the true slope at 17 is $4\cdot10^{-8}$.
# `torch.sigmoid` has the same limit.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Try it against torch

# %% [markdown]
# A comparison means something only with the **same** input.

# %% nbgrader={"grade": false, "grade_id": "try-my-sigmoid", "locked": false, "schema_version": 3, "solution": false, "task": false}
my_sigmoid = MySigmoid.apply  # the usual short name for a Function

x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
upstream = torch.randn(4, 3, dtype=torch.float64)
(mine,) = torch.autograd.grad(my_sigmoid(x), x, upstream)
(theirs,) = torch.autograd.grad(torch.sigmoid(x), x, upstream)
print("largest difference, forward: ", (my_sigmoid(x) - torch.sigmoid(x)).abs().max().item())
print("largest difference, backward:", (mine - theirs).abs().max().item())
print("gradcheck", gradcheck(my_sigmoid, x), "  gradgradcheck", gradgradcheck(my_sigmoid, x))

# %% [markdown]
# ### See it run
#
# Walk through one run of your class. In the step "Saved for backward", look at what is kept: an input, the output, or something in between?

# %% nbgrader={"grade": false, "grade_id": "see-my-sigmoid", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(MySigmoid)

# %% [markdown]
# ## Saving keeps alive, it does not copy
#
# What is saved is a reference to the same memory, so it costs only while nobody else holds that memory. To see it, take $y = \sqrt{x}$ with the slope $\frac{1}{2\sqrt x} = \frac{1}{2y}$, written twice: once with the output kept, once with the input.


# %% nbgrader={"grade": false, "grade_id": "demo-square-root-quiet", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SquareRoot(Function):
    """√x for x > 0, element by element; keeps its output."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (2 * y)


class SquareRootFromInput(Function):
    """The same; keeps its input and computes the root a second time."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (2 * torch.sqrt(x))


y = SquareRoot.apply(torch.tensor([1.0, 4.0], requires_grad=True))
(saved,) = y.grad_fn.saved_tensors
print("y and what is saved share their memory:", saved.data_ptr() == y.data_ptr())

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### How long is it kept alive?

# %% [markdown]
# Until backward has used it **or** the graph goes away, and longer with `retain_graph=True`. In the cell below we drop our own reference, and look whether the memory is still held before and after each of three events.

# %% nbgrader={"grade": false, "grade_id": "demo-alive-until", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.multiprocessing.reductions import StorageWeakRef  # a weak reference to a tensor's memory

for event in ("backward", "backward(retain_graph=True)", "the graph is dropped"):
    x = torch.rand(3) + 0.5
    x.requires_grad_()
    y = SquareRoot.apply(x)
    loss = y.sum()
    memory = StorageWeakRef(y.untyped_storage())
    del y
    before = not memory.expired()
    if event == "backward":
        loss.backward()
    elif event == "backward(retain_graph=True)":
        loss.backward(retain_graph=True)
    else:
        del loss
    print(f"held before: {before}   after {event}: {not memory.expired()}")

# %% [markdown]
# ## The wrong choice is a cost, not a bug
#
# Both square roots are right, twice differentiable too. Now put each between two linear layers. A linear layer keeps **its** input, which is our output.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-free-output", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("free-output")

# %% nbgrader={"grade": false, "grade_id": "demo-cost-in-a-network", "locked": true, "schema_version": 3, "solution": false, "task": false}
batch, wide = torch.rand(64, 10), torch.rand(100, 10, requires_grad=True)
narrow = torch.rand(10, 100, requires_grad=True)


def without_root(x):
    return F.linear(F.linear(x, wide), narrow)


def output_kept(x):
    return F.linear(SquareRoot.apply(F.linear(x, wide)), narrow)


def input_kept(x):
    return F.linear(SquareRootFromInput.apply(F.linear(x, wide)), narrow)


for network in (without_root, output_kept, input_kept):
    print(f"{network.__name__:13} {kept_bytes(network, batch)} bytes for the whole network")

outcome("free-output")

# %% [markdown]
# `saved_ledger` keeps the books, node by node. What it calls *extra* counts each byte once, where it is kept first, and none that an input or a parameter has anyway. So the root has 25 KiB both times. Look at the last line, the second linear layer: nothing extra where the root has kept its input for it, another 25 KiB where it has not.

# %% nbgrader={"grade": false, "grade_id": "see-output-kept", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger([output_kept, input_kept], batch)

# %% [markdown]
# The **bug** would be something else: to save one and use the formula of the other. Nothing raises then, and calling the tensor `y` does not make it $y$. Only a check of the numbers tells.
#
# ## Why your gradient is better than the formula's
#
# Now the deeper reason to write a backward: **stability**. Take the textbook formula in float32 and let autograd differentiate it.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-minus-100", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("minus-100")


# %% nbgrader={"grade": false, "grade_id": "demo-naive-nan", "locked": true, "schema_version": 3, "solution": false, "task": false}
def naive_sigmoid(x):
    return 1 / (1 + torch.exp(-x))


for value in (-20.0, -60.0, -100.0, -1000.0):
    x = torch.tensor(value, requires_grad=True)
    (naive,) = torch.autograd.grad(naive_sigmoid(x), x)
    (mine,) = torch.autograd.grad(MySigmoid.apply(x), x)
    print(f"x = {value:6.0f}   of the formula: {naive.item():10.3e}   yours: {mine.item():10.3e}")

outcome("minus-100")

# %% [markdown]
# Float32 ends in two places: above $3.4 \cdot 10^{38}$ everything is inf, below $1.4 \cdot 10^{-45}$ everything is 0. The formula's gradient falls off both ends. Autograd multiplies the slopes of its steps, those of $u = 1 + e^{-x}$ and $1/u$:
#
# * **At −60 it is lost.** The slope of $1/u$ is $-1/u^2$, about $8 \cdot 10^{-53}$: too small for float32, so it is 0. Your $y(1-y)$ squares nothing so small.
# * **At −100 it is poison.** Below about $-88.7$, $e^{-x}$ is more than float32 can hold. The *value* survives, because $1/\infty = 0$. But one slope is now $0$ and the other $\infty$. Yours is 0, and the true slope of $4 \cdot 10^{-44}$ nobody misses.
#
# One such NaN, in one element of one batch, is enough. Backward carries it into the weights of that unit and into *all* weights of the layers before; the optimiser writes it there; and after that every loss is NaN.

# %% nbgrader={"grade": false, "grade_id": "demo-naive-nan-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-120, 5, 500, requires_grad=True)
(naive,) = torch.autograd.grad(naive_sigmoid(x).sum(), x)
(mine,) = torch.autograd.grad(MySigmoid.apply(x).sum(), x)
figures.two_slopes_of_sigmoid(x.detach(), mine, naive)

# %% [markdown]
# ## Exercise 2: MyTanh
#
# The sigmoid's sibling: $\tanh x = 2\sigma(2x) - 1$, the activation inside every LSTM cell.
#
# **Contract.** `MyTanh.apply(x)` promises
#
# * **values** of $\tanh x$
# * **gradients** right
# * **second derivatives** right
# * **special points**: finite and right in float32 at ±1000
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Derive the slope yourself. Does the picture above allow you to keep the output?


# %% nbgrader={"grade": false, "grade_id": "my-tanh", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MyTanh(Function):
    """tanh(x), element by element; x of any shape. Keeps one tensor of x's size for backward."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "my-tanh-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(MyTanh)

# %% nbgrader={"grade": true, "grade_id": "my-tanh-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of MyTanh are checked here with other numbers.
# You can run it now: check(MyTanh, hidden=True)
### BEGIN HIDDEN TESTS
check(MyTanh, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: MyTanh
#
# **Derivation.** With $\sinh' = \cosh$ and $\cosh' = \sinh$ the quotient rule gives $\tanh' = \dfrac{\cosh^2 - \sinh^2}{\cosh^2} = 1 - \tanh^2$, so backward is $g\,(1-y^2)$.
#
# **What is saved.** The output. From the input one would compute $1/\cosh^2 x$, and $\cosh 1000$ overflows: right here ($1/\infty = 0$), but a second derivative through it is NaN.
#
# **Common mistakes.** $1 - y$ instead of $1 - y^2$; $1 - x^2$; the sigmoid's $y(1-y)$; writing tanh as $(e^x - e^{-x})/(e^x + e^{-x})$, which is inf/inf = NaN at 1000.

# %% [markdown]
# ## A third kind of tensor: the intermediate
#
# So far we saved inputs and outputs. Anything else that forward computes is an **intermediate**.
#
# Take $f(x) = x\,e^x$ with the slope $e^x + x e^x$. Why not keep $e^x$, when forward has it already?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-intermediate", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("intermediate")


# %% nbgrader={"grade": false, "grade_id": "demo-intermediate", "locked": true, "schema_version": 3, "solution": false, "task": false}
class TimesExp(Function):
    """x·eˣ. Keeps eˣ, which is neither its input nor its output."""

    @staticmethod
    def forward(ctx, x):
        exp_x = torch.exp(x)
        ctx.save_for_backward(x, exp_x)
        return x * exp_x

    @staticmethod
    def backward(ctx, grad_output):
        x, exp_x = ctx.saved_tensors
        return grad_output * (exp_x + x * exp_x)


x = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(TimesExp.apply(x).sum(), x, create_graph=True)
(curvature,) = torch.autograd.grad(slope.sum(), x)
print("first derivative     ", [round(v, 3) for v in slope.tolist()])
print("its true value       ", [round(v, 3) for v in ((1 + x) * x.exp()).tolist()])
print("second derivative    ", [round(v, 3) for v in curvature.tolist()])
print("its true value       ", [round(v, 3) for v in ((2 + x) * x.exp()).tolist()])
print("gradcheck passes:    ", gradcheck(TimesExp.apply, x))
print("gradgradcheck passes:", gradgradcheck(TimesExp.apply, x, raise_exception=False))

outcome("intermediate")

# %% [markdown]
# Why? Forward runs with autograd switched off. Look at what backward gets back for an input, an output and an intermediate.

# %% nbgrader={"grade": false, "grade_id": "demo-who-remembers", "locked": true, "schema_version": 3, "solution": false, "task": false}
y = TimesExp.apply(x)
saved_input, saved_intermediate = y.grad_fn.saved_tensors
root = SquareRoot.apply(x + 1)
(saved_output,) = root.grad_fn.saved_tensors
print("saved input:        requires_grad =", saved_input.requires_grad)
print("                    it is x itself:", saved_input is x)
print("saved output:       requires_grad =", saved_output.requires_grad)
print("                    made by", saved_output.grad_fn.name(), "=", root.grad_fn.name())
print("saved intermediate: requires_grad =", saved_intermediate.requires_grad)
print("                    made by", saved_intermediate.grad_fn)

# %% [markdown]
# The input and the output come back **with their history**. The intermediate comes back as a bare number: a constant. Differentiating $g\,(e + x e)$ with a constant $e$ gives just $e$. The true answer is $2e + x e$.
#
# With `order=2`, `xray` goes backward through the backward. In its last steps, look for a line from the saved $e^x$ back to $x$: there is none.

# %% nbgrader={"grade": false, "grade_id": "see-intermediate", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(TimesExp, x, order=2)

# %% [markdown]
# The cure: **save inputs and outputs, and compute the rest again in backward.** Here: keep $x$ alone, and write `exp_x = torch.exp(x)` in backward. With `create_graph=True` autograd watches that line. It keeps one tensor instead of two: time traded for memory, the subject of lesson 06.
#
# | what backward needs | how it gets there | a second derivative sees |
# |---|---|---|
# | an input | `save_for_backward` | the input, connected |
# | an output | `save_for_backward` | the output, connected |
# | an intermediate | compute it again | whatever it was made of |
# | an intermediate, saved | `save_for_backward` | a constant |
# | a number, a shape, a string | an attribute of `ctx` | a constant, which it is |
#
# ## Hyper-parameters, and the zero nobody tests
#
# Next we scale: $y = s\,\sigma(x)$ with a Python float $s$. "Save the output" seems to apply: $\sigma(x) = y / s$. But at $s = 0$ the output forgets $x$, and $y/s$ is $0/0$: the true gradient is 0, the recovered one NaN. That is not exotic: warm-up schedules and residual gates start there. So what *should* be kept? (Not $\sigma(x)$: you know what kind of tensor that would be.)
#
# A float goes on `ctx` as an attribute, and its place in backward's answer is `None`.
#
# ## Exercise 3: ScaledSigmoid
#
# **Contract.** `ScaledSigmoid.apply(x, scale)` with a Python float `scale` promises
#
# * **values** of `scale`$\,\cdot\,\sigma(x)$.
# * **gradients**: one answer for **each** argument
# * **second derivatives** right
# * **special points**: at `scale = 0.0` the gradient is 0, not NaN; finite and right in float32 at ±1000
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "scaled-sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false}
class ScaledSigmoid(Function):
    """scale·σ(x); x of any shape, scale a float (0 included). Keeps one tensor of x's size."""

    @staticmethod
    def forward(ctx, x, scale):
        ### BEGIN SOLUTION
        if isinstance(scale, torch.Tensor):
            raise TypeError("scale must be a Python number: a tensor would get no gradient")
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * torch.sigmoid(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * ctx.scale * s * (1 - s), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "scaled-sigmoid-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(ScaledSigmoid)

# %% nbgrader={"grade": true, "grade_id": "scaled-sigmoid-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of ScaledSigmoid are checked here with other numbers.
# You can run it now: check(ScaledSigmoid, hidden=True)
### BEGIN HIDDEN TESTS
check(ScaledSigmoid, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: ScaledSigmoid
#
# **Derivation.** $\partial y/\partial x = s\,\sigma(x)(1-\sigma(x))$; `scale` is no tensor, so its gradient is `None`.
#
# **What is saved.** The input. The output would do for every $s \ne 0$ ($y\,(1 - y/s)$), but divides by zero at $s = 0$.
# $\sigma(x)$ itself is an intermediate: gradcheck passes, gradgradcheck does not.
#
# **The TypeError** is a kindness, not part of the contract: a tensor `scale` that requires grad would silently get none.
#
# **Common mistakes.** Forgetting the `None` ("returned an incorrect number of gradients (expected 2, got 1)");
# forgetting `scale` in backward; $y(1-y)$ with the scaled $y$; `save_for_backward(x, scale)`, which torch refuses for a float.

# %% [markdown]
# ## When the output is not enough
#
# Back to the folding curves. $\text{Swish}(x) = x\,\sigma(x)$ falls to a minimum and rises again, so every value just above the minimum is taken **twice**. Bisection finds such a pair.


# %% nbgrader={"grade": false, "grade_id": "demo-two-inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def swish_at(x):
    return F.silu(torch.tensor(x, dtype=torch.float64)).item()


low, high = -6.0, -1.3  # left of the minimum Swish falls, so we can bisect for the same value
for _ in range(60):
    middle = (low + high) / 2
    low, high = (middle, high) if swish_at(middle) > swish_at(-0.5) else (low, middle)
pair = torch.tensor([-0.5, middle], dtype=torch.float64, requires_grad=True)
(slopes,) = torch.autograd.grad(F.silu(pair).sum(), pair)
for x, y, slope in zip(pair.tolist(), F.silu(pair).tolist(), slopes.tolist()):
    print(f"x = {x:9.5f}   output = {y:.6f}   slope = {slope:8.5f}")
figures.one_output_two_slopes(pair.tolist(), F.silu(pair).tolist(), slopes.tolist())

# %% [markdown]
# Same output −0.188770, once falling, once rising. **No** formula in $y$ alone can know which. So "Swish: implement it efficiently by saving the output", an exercise of an online book (C in `docs/coverage.md`), has no solution. `F.silu` keeps its input.
#
# ## Exercise 4: MyGELU
#
# The activation of BERT and of many transformers since: $x$ times the probability that a standard normal variable is below $x$,
#
# $$\text{GELU}(x) = x\,\Phi(x), \qquad \Phi(x) = \tfrac12\Bigl(1 + \operatorname{erf}\frac{x}{\sqrt 2}\Bigr), \qquad \Phi'(x) = \frac{1}{\sqrt{2\pi}}\,e^{-x^2/2}.$$
#
# Beware of a double: a well-known approximation with tanh goes by the same name, and differs by up to $5 \cdot 10^{-4}$. The default of `F.gelu` is the exact one, with erf.
#
# **Contract.** `MyGELU.apply(x)` promises
#
# * **values** of the exact GELU, `F.gelu(x)`
# * **gradients** right
# * **second derivatives** right
# * **special points**: finite and right in float32 at ±1000. (At ±∞ `F.gelu` itself gives NaN, and so may yours.)
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Use the product rule, and decide with the picture which tensor to keep.


# %% nbgrader={"grade": false, "grade_id": "my-gelu", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MyGELU(Function):
    """Exact GELU x·Φ(x), element by element; x of any shape. Keeps one tensor of x's size."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return F.gelu(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        below = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        density = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return grad_output * (below + x * density)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "my-gelu-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(MyGELU)

# %% nbgrader={"grade": true, "grade_id": "my-gelu-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of MyGELU are checked here with other numbers.
# You can run it now: check(MyGELU, hidden=True)
### BEGIN HIDDEN TESTS
check(MyGELU, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: MyGELU
#
# **Derivation.** Product rule: $(x\,\Phi)' = \Phi(x) + x\,\varphi(x)$ with the normal density $\varphi(x) = e^{-x^2/2}/\sqrt{2\pi}$.
#
# **What is saved.** The input: GELU has a minimum near $-0.75$, so its output does not determine the slope.
# Φ is computed again; saved, it would be an intermediate.
#
# **At ±1000.** $e^{-500\,000} = 0$ and $1000 \cdot 0 = 0$: finite without any special care.
#
# **Common mistakes.** Forgetting $x\,\varphi(x)$; forgetting $\sqrt{2\pi}$ or the $\tfrac12$ in the exponent; the tanh version in forward (off by up to $5\cdot10^{-4}$), or its slope in backward.

# %% [markdown]
# ### Three of yours, place by place
#
# Slide `x`, and compare *forward value* with `saved_tensors[0]`: which of the three keep the output? The straight line has the slope that your backward returned.

# %% nbgrader={"grade": false, "grade_id": "see-three-activations", "locked": true, "schema_version": 3, "solution": false, "task": false}
function_builder(MySigmoid, MyTanh, MyGELU)

# %% [markdown]
# ## Two gradients, and a sum
#
# The last activation learns its own shape: $\text{Swish}_\beta(x) = x\,\sigma(\beta x)$ with a tensor β.

# %% nbgrader={"grade": false, "grade_id": "demo-swish-family", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.swish_family([0.0, 0.5, 1.0, 10.0])

# %% [markdown]
# β may be one number (shape `()`) or one per channel: `x` of shape (batch, channels), β of shape (channels,). Then forward **broadcasts**: each β is used once for every row of the batch.
#
# Used many times in forward means **summed** in backward, because the contributions of all uses add up. `Tensor.sum_to_size(shape)` does exactly this sum: it is the reverse of `expand`.
#
# $$\frac{\partial L}{\partial \beta_c} = \sum_b g_{bc}\,\frac{\partial y_{bc}}{\partial \beta_c}.$$

# %% nbgrader={"grade": false, "grade_id": "demo-sum-to-size", "locked": true, "schema_version": 3, "solution": false, "task": false}
per_element = torch.arange(12.0).reshape(3, 4)  # a gradient of the shape of x
for shape in [(4,), (3, 1), (1, 4), ()]:
    print("β of shape", str(shape).ljust(7), "gets", per_element.sum_to_size(shape).tolist())

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### And if you forget the sum?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-forgotten-sum", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("forgotten-sum")


# %% nbgrader={"grade": false, "grade_id": "demo-torch-repairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
class AddBias(Function):
    """x + bias, without the sum that the gradient of bias needs."""

    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output


x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
bias = torch.zeros(4, dtype=torch.float64, requires_grad=True)
y = AddBias.apply(x, bias)
print("gradcheck passes:", gradcheck(AddBias.apply, (x, bias)))
print("backward itself returned", [tuple(g.shape) for g in y.grad_fn.apply(torch.ones_like(y))])
y.sum().backward()
print("bias.grad has the shape ", tuple(bias.grad.shape))

outcome("forgotten-sum")

# %% [markdown]
# Write the sum yourself: your backward is then right wherever it is called. The checks of this course look at what *your* backward returned.

# %% [markdown]
# ## Exercise 5: Swish
#
# **Contract.** `Swish.apply(x, beta)` promises
#
# * **values** of $x\,\sigma(\beta x)$. `beta` is a tensor of any shape that broadcasts to the shape of `x`: `()`, `(channels,)`, `(batch, 1)`, the shape of `x` itself …
# * **gradients** of both, each in exactly its input's shape; `None` for an input that needs none
# * **second derivatives** of both right
# * **special points**: β = 0 and x = 0; finite and right in float32 at ±1000
# * **memory**: `x` and `beta`, nothing more
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Write $s = \sigma(\beta x)$ and differentiate $x\,s$ once by $x$ and once by β. In one of the two, $x$ appears twice.


# %% nbgrader={"grade": false, "grade_id": "swish", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Swish(Function):
    """x·σ(beta·x); beta a tensor that broadcasts to x's shape. Keeps x and beta."""

    @staticmethod
    def forward(ctx, x, beta):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "swish-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Swish)

# %% nbgrader={"grade": true, "grade_id": "swish-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Swish are checked here with other numbers.
# You can run it now: check(Swish, hidden=True)
### BEGIN HIDDEN TESTS
check(Swish, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Swish
#
# **Derivation.** With $s = \sigma(\beta x)$: $\partial s/\partial x = \beta\,s(1-s)$ and $\partial s/\partial \beta = x\,s(1-s)$. Hence
# $$\frac{\partial y}{\partial x} = s + \beta x\,s(1-s), \qquad \frac{\partial y}{\partial \beta} = x^2\,s(1-s),$$
# and the second one is summed over the dimensions that β was broadcast along.
#
# **What is saved.** Only the inputs. $s$ is computed again: saved, it would be a constant to the second derivative.
# At $x = 0.5, 1, 2$ and $\beta = 1$ that second derivative in $x$ comes out as 0.235, 0.197, 0.105; the true one is 0.441, 0.302, 0.050.
# The output would not do, because Swish is not injective.
#
# **Common mistakes.** A factor $x$ missing in the gradient of β; β missing in the gradient of $x$; no sum, or `.sum()` over everything, which is right only for a β of shape `()`;
# returning the two gradients in the wrong order; saving $s$, which passes gradcheck and fails gradgradcheck.

# %% [markdown]
# ## In the log domain
#
# The loss of a binary classifier is $-\log \sigma(z)$. Written down just so, it breaks again: below about −88.7 `torch.sigmoid` gives exactly 0 in float32, and $\log 0 = -\infty$ with the gradient $0 \cdot \infty$, NaN. The true values are harmless: $\log\sigma(-1000) = -1000$, with slope 1. The way out is to take the logarithm **on paper**:
#
# $$\log\sigma(x) = -\log(1 + e^{-x}) = \min(x, 0) - \log\bigl(1 + e^{-|x|}\bigr).$$
#
# The exponent is never positive, so `exp` cannot overflow, and `torch.log1p` keeps the tiny terms. Now the slope, $1 - \sigma(x)$. It has a tiny term too.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-tiny-slope", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("tiny-slope")

# %% nbgrader={"grade": false, "grade_id": "demo-log-domain", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1000.0, -100.0, 0.0, 20.0, 1000.0])
rewritten = torch.clamp(x, max=0) - torch.log1p(torch.exp(-x.abs()))
print("log(sigmoid(x))", torch.log(torch.sigmoid(x)).tolist())
print("rewritten      ", rewritten.tolist())
print("F.logsigmoid   ", F.logsigmoid(x).tolist())

x = torch.tensor(20.0, requires_grad=True)
(slope,) = torch.autograd.grad(F.logsigmoid(x), x)
print(f"\nslope at 20 by torch: {slope.item():.3g}")
print(f"1 - torch.sigmoid(x): {(1 - torch.sigmoid(x)).item():.3g}")

outcome("tiny-slope")

# %% [markdown]
# Two numbers of nearly the same size were subtracted, and all digits went. $1 - \sigma(x)$ is $\sigma$ of something else: which argument makes it a small number from the start?
#
# ## Exercise 6: LogSigmoid
#
# **Contract.** `LogSigmoid.apply(x)` promises
#
# * **values** of $\log\sigma(x)$
# * **gradients** right
# * **second derivatives** right
# * **special points**: value **and** gradient finite and right in float32 at ±1000; at ±∞ too, where they are finite. Tiny numbers keep their digits: at $x = 20$ the value is $-2\cdot10^{-9}$ and the slope $2\cdot10^{-9}$, not 0
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Since $\log\sigma(x) = -\operatorname{softplus}(-x)$, the slope is one chain rule away. Write it without a division and without `exp` of a large number.


# %% nbgrader={"grade": false, "grade_id": "log-sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LogSigmoid(Function):
    """log σ(x), element by element; x of any shape. Keeps one tensor of x's size."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return F.logsigmoid(x)  # or the rewritten formula
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(-x)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "log-sigmoid-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LogSigmoid)

# %% nbgrader={"grade": true, "grade_id": "log-sigmoid-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LogSigmoid are checked here with other numbers.
# You can run it now: check(LogSigmoid, hidden=True)
### BEGIN HIDDEN TESTS
check(LogSigmoid, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: LogSigmoid
#
# **Derivation.** $-\operatorname{softplus}(-x)$ has the slope $\sigma(-x) = 1 - \sigma(x)$.
#
# **What is saved.** The input here. The output works too, since log σ is injective: $\sigma(-x) = 1 - e^{y}$.
# Write it `-torch.expm1(y)`: in float32 at $x = 20$ the plain `1 - torch.exp(y)` is 0, `-expm1(y)` is $2.06\cdot10^{-9}$, which is right.
# The same holds for the slope itself: $1 - \sigma(20)$ is 0 in float32, $\sigma(-20)$ is not.
#
# **Common mistakes.** `torch.log(torch.sigmoid(x))` in forward; `exp(-x) / (1 + exp(-x))` in backward (inf/inf at −1000);
# $1 - y$, as if $y$ were σ; σ(x) instead of σ(−x); the sign.

# %% [markdown]
# ## Finale: a network made of your activations
#
# 569 biopsies, 30 measurements each: benign or malignant? We train a small network with each of **your** activations and your `LogSigmoid` as the loss, then with torch's, from the same starting weights.

# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_breast_cancer

cancer = load_breast_cancer()
order = torch.randperm(len(cancer.target), generator=torch.Generator().manual_seed(0))
features = torch.tensor(cancer.data, dtype=torch.float32)[order]
labels = torch.tensor(cancer.target, dtype=torch.float32)[order]  # 1 = benign
mean, spread = features[:400].mean(0), features[:400].std(0)
features = (features - mean) / spread
train_x, train_y, test_x, test_y = features[:400], labels[:400], features[400:], labels[400:]
print("training on", len(train_x), "biopsies, testing on", len(test_x))

# %% [markdown]
# Functions have no parameters of their own. A learnable β lives in a module, and the module calls `apply`.


# %% nbgrader={"grade": false, "grade_id": "finale-network", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Activation(torch.nn.Module):
    """Applies function(x), or function(x, beta) with one learnable beta a channel."""

    def __init__(self, function, channels=None):
        super().__init__()
        self.function = function
        self.beta = torch.nn.Parameter(torch.ones(channels)) if channels else None

    def forward(self, x):
        return self.function(x) if self.beta is None else self.function(x, self.beta)


def make_network(function, learns_beta):
    """30 measurements → 16 hidden → one logit, the same starting weights every time."""
    torch.manual_seed(0)
    activation = Activation(function, 16 if learns_beta else None)
    return torch.nn.Sequential(torch.nn.Linear(30, 16), activation, torch.nn.Linear(16, 1))


# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if os.environ.get("NBGRADER_EXECUTION") else round(150 * SCALE)  # few while grading


def train(function, log_sigmoid, learns_beta=False):
    """Losses of STEPS full-batch steps, and the trained network."""
    network = make_network(function, learns_beta)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.03)
    losses = []
    for _ in range(STEPS):
        logit = network(train_x).squeeze(1)
        loss = -(train_y * log_sigmoid(logit) + (1 - train_y) * log_sigmoid(-logit)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses, network


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
pairs = {  # name: (yours, torch's)
    "sigmoid": (MySigmoid.apply, torch.sigmoid),
    "tanh": (MyTanh.apply, torch.tanh),
    "2·sigmoid": (lambda h: ScaledSigmoid.apply(h, 2.0), lambda h: 2.0 * torch.sigmoid(h)),
    "GELU": (MyGELU.apply, F.gelu),
    "Swish": (Swish.apply, lambda h, beta: h * torch.sigmoid(beta * h)),
}
results = {}
print("activation   last loss   largest difference at any step   right on the test set")
for name, (mine, theirs) in pairs.items():
    my_losses, my_network = train(mine, LogSigmoid.apply, learns_beta=name == "Swish")
    their_losses, _ = train(theirs, F.logsigmoid, learns_beta=name == "Swish")
    worst = max(abs(a - b) for a, b in zip(my_losses, their_losses))
    with torch.no_grad():
        chance = MySigmoid.apply(my_network(test_x).squeeze(1))
    right = ((chance > 0.5) == (test_y > 0.5)).float().mean().item()
    results[name] = (my_losses, their_losses, my_network)
    print(f"{name:11}  {my_losses[-1]:9.5f}   {worst:30.1e}   {right:21.1%}")

# %% [markdown]
# Differences in the last digits of float32, after every step of training. Your backwards **are** the real thing.

# %% nbgrader={"grade": false, "grade_id": "finale-losses-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.losses_of_activations({name: results[name][:2] for name in pairs})

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### And what did it keep?

# %% [markdown]
# One hidden layer of 400 × 16 numbers: your Function, torch's own operation, and the formula spelled out for autograd.

# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "finale-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
h, beta = torch.randn(400, 16, requires_grad=True), torch.ones(16, requires_grad=True)
rows = {
    "sigmoid": (MySigmoid.apply, torch.sigmoid, naive_sigmoid),
    "tanh": (MyTanh.apply, torch.tanh, lambda t: (t.exp() - (-t).exp()) / (t.exp() + (-t).exp())),
    "GELU": (MyGELU.apply, F.gelu, lambda t: t * 0.5 * (1 + torch.erf(t / math.sqrt(2)))),
    "Swish": (
        lambda t: Swish.apply(t, beta),
        None,  # torch has no Swish with a tensor β
        lambda t: t * torch.sigmoid(beta * t),
    ),
    "log σ": (LogSigmoid.apply, F.logsigmoid, lambda t: torch.log(torch.sigmoid(t))),
}
print("in units of one hidden layer:  yours   torch's   formula")
for name, three in rows.items():
    kept = [f"{kept_bytes(f, h) / h.nbytes:8.2f}" if f else "    none" for f in three]
    print(f"{name:29}", *kept)

# %% [markdown]
# `F.logsigmoid` on the CPU keeps a helper tensor beside its input; yours does without. The formula keeps as little, but you know what it does at −100.

# %% [markdown]
# ### A Swish of your own
#
# torch has no Swish with a tensor β. Yours is one, and it has learned 16 different shapes:

# %% nbgrader={"grade": false, "grade_id": "finale-learned-shapes", "locked": true, "schema_version": 3, "solution": false, "task": false}
learned = results["Swish"][2][1].beta.detach()
print("learned β:", [round(value, 2) for value in sorted(learned.tolist())])
figures.learned_swishes(learned)

# %% [markdown]
# ### An honest word
#
# Sigmoid, tanh, GELU and log σ exist in torch, in C++: use them. Write a Function when the operation is *not* there, when the composed formula keeps too much, or when its gradient is unstable.

# %% [markdown]
# ## Find the bug
#
# Two answers to `Swish`, written in different styles. Both train as they should, and `gradcheck` passes for both. One of them will spoil a gradient penalty.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("sigmoid")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried, for instance against your own Swish.
x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
beta = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
gradcheck(A.apply, (x, beta)), gradcheck(B.apply, (x, beta))

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("sigmoid")

# %% [markdown]
# ## Quiz
#
# Nine questions to see what has stayed. Every answer is explained, right or wrong.

# %% nbgrader={"grade": false, "grade_id": "quiz-sigmoid", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("sigmoid")

# %% nbgrader={"grade": false, "grade_id": "quiz-sigmoid-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("sigmoid")

# %% [markdown]
# ## Summary
#
# | function | slope | keep |
# |---|---|---|
# | σ, tanh, exp, √, relu | a function of the output | the output |
# | GELU, Swish | needs the input | the input |
# | s·σ(x) | of the output, but not at s = 0 | the input |
# | log σ | either way | the input, or the output |
#
# * Keep **what backward reads**, in one call of `save_for_backward`: the last call wins.
# * Input instead of output is a cost. The formula of one with the tensor of the other is a bug.
# * A saved **intermediate** is a constant to the second derivative: wrong, without an error. Compute it again.
# * A slope written for stability beats autograd of a formula: no 0·∞.
# * A broadcast parameter gets a **summed** gradient: `sum_to_size`.

# %% [markdown]
# ## Sources
#
# - David Goldberg (1991): [*What every computer scientist should know about floating-point arithmetic*](https://doi.org/10.1145/103162.103163). Why 1 − σ(20) has no digits left.
# - Martin Mächler (2012): [*Accurately computing log(1 − exp(−|a|))*](https://cran.r-project.org/web/packages/Rmpfr/vignettes/log1mexp-note.pdf). `log1p`, `expm1`, and where to change from one to the other.
# - Dan Hendrycks and Kevin Gimpel (2016): [*Gaussian error linear units*](https://arxiv.org/abs/1606.08415). GELU, and its approximation by tanh.
# - Prajit Ramachandran, Barret Zoph and Quoc Le (2017): [*Searching for activation functions*](https://arxiv.org/abs/1710.05941). Where Swish and its β come from.
# - PyTorch (torch 2.13): [*Autograd mechanics*](https://docs.pytorch.org/docs/stable/notes/autograd.html). Saved tensors, and how long they live.
# - PyTorch (torch 2.13): [*Double backward with custom functions*](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html). Saving inputs, outputs and intermediates, in torch's own words.

# %% [markdown]
# ## Where to go next
#
# **Lesson 03, One gradient per input,** leaves the element-wise world: matrix products, reductions and broadcasting, where each input has a gradient of its own shape and `sum_to_size` becomes a function you write yourself.
