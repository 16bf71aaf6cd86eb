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
# **Lesson 02 · about 60 minutes** · 30 minutes of reading and running, 30 minutes for six exercises · before this one: 01_template
#
# Backward needs numbers from forward. *Which* numbers you keep decides how much memory training costs,
# whether a second derivative is right, and whether the gradient survives large inputs.
#
# After this lesson you can
#
# * tell in one look whether a function's slope can be computed from its **output**,
# * say what a saved tensor really costs (it keeps alive, it does not copy),
# * see why saving an *intermediate* gives a right first and a wrong second derivative,
# * write σ, tanh, GELU, Swish and log σ so that ±1000 in float32 is no problem,
# * sum a gradient back to the shape of a broadcast parameter.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import os

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import function_builder, palette, quiz, saved_ledger, show, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(2)

# %% [markdown]
# ## Why it matters
#
# A network of a hundred layers holds a hundred activations' worth of numbers between forward and backward.
# For activations like the sigmoid there is a choice of what to hold: the **input** $x$ or the **output** $y$.
#
# Both give the same gradient. One of them is often already in memory, because the next layer keeps it anyway.

# %% [markdown]
# Here is how much autograd keeps for three ways to write the same sigmoid.
#
# `torch.autograd.graph.saved_tensors_hooks` calls our function once for each tensor that is put aside for backward.


# %% nbgrader={"grade": false, "grade_id": "demo-kept-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
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


x = torch.randn(1000, requires_grad=True)  # 4000 bytes in float32
print("torch.sigmoid(x)           ", kept_bytes(torch.sigmoid, x), "bytes")
print("1 / (1 + torch.exp(-x))    ", kept_bytes(lambda t: 1 / (1 + torch.exp(-t)), x), "bytes")
print("torch.tanh(x / 2) / 2 + 0.5", kept_bytes(lambda t: torch.tanh(t / 2) / 2 + 0.5, x), "bytes")

# %% [markdown]
# The textbook formula keeps two tensors: the result of `exp` and the result of the division. The detour over tanh keeps one, and so does `torch.sigmoid`.
#
# Which one? That is the question of this lesson. By its end your own sigmoid keeps one as well, and so do five other functions.

# %% [markdown]
# ## The mathematics
#
# Backward of a Function receives the **upstream gradient** $g = \partial L / \partial y$ and returns the vector–Jacobian product
#
# $$\frac{\partial L}{\partial x_j} = \sum_i g_i \, \frac{\partial y_i}{\partial x_j}.$$

# %% [markdown]
# All functions of this lesson work **element by element**: $y_i$ depends on $x_i$ alone.
#
# So the Jacobian is diagonal, the sum has one term, and the product becomes elementwise:
#
# $$\frac{\partial L}{\partial x_i} = g_i \; f'(x_i).$$
#
# (Only here! A matrix product or a softmax has a full Jacobian, and "upstream times local slope" is not enough.)

# %% nbgrader={"grade": false, "grade_id": "demo-diagonal-jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.0, 0.0, 2.0])
print(torch.autograd.functional.jacobian(torch.sigmoid, x))

# %% [markdown]
# For the sigmoid $\sigma(x) = \dfrac{1}{1 + e^{-x}}$ the chain rule gives
#
# $$\sigma'(x) = \frac{e^{-x}}{(1 + e^{-x})^2}
# = \frac{1}{1 + e^{-x}} \cdot \frac{e^{-x}}{1 + e^{-x}}
# = \sigma(x)\,\bigl(1 - \sigma(x)\bigr).$$

# %% [markdown]
# With $y = \sigma(x)$ that is $y\,(1 - y)$: **$x$ has disappeared**. Whoever has the output needs nothing else.
#
# A picture says when this works. Let $x$ sweep over the line; draw the slope $f'(x)$ over the *output* $f(x)$.

# %% nbgrader={"grade": false, "grade_id": "demo-slope-over-output", "locked": true, "schema_version": 3, "solution": false, "task": false}
functions = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp}
functions |= {"relu": torch.relu, "Swish: x·σ(x)": F.silu, "GELU": F.gelu}
fig, axes = plt.subplots(2, 3, figsize=(9, 5), constrained_layout=True)
for axis, (name, function) in zip(axes.flat, functions.items()):
    x = torch.linspace(-6, 2, 400, dtype=torch.float64, requires_grad=True)
    y = function(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    axis.plot(y.detach(), slope, ".", color=palette["blue"], markersize=3)
    axis.set(title=name, xlabel="output y", ylabel="slope f′(x)")
show(
    fig,
    alt="Six panels of slope over output. For sigmoid, tanh, exp and relu every output has one "
    "slope; for Swish and GELU the curve folds back, so that one output has two slopes.",
)

# %% [markdown]
# Put a vertical line anywhere. For sigmoid, tanh, exp and relu it meets **one** slope: the output tells all.
#
# For Swish and GELU the curve folds back: one output, **two** slopes. Their output is not enough.
#
# > **Rule.** Save the output if, and only if, the derivative is a function of the output.

# %% [markdown]
# An injective function always passes the test, because $x$ could be recovered from $y$.
#
# ReLU passes although it is not injective: all the inputs that share the output 0 share the slope 0 too.
# (That is why `torch.relu` keeps its result.)

# %% [markdown]
# ## A worked example: the square root
#
# $y = \sqrt{x}$ has the slope $\dfrac{1}{2\sqrt{x}} = \dfrac{1}{2y}$. It passes the test: save $y$.


# %% nbgrader={"grade": false, "grade_id": "demo-square-root", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SquareRoot(Function):
    """√x for x > 0, element by element."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(x)
        ctx.save_for_backward(y)
        print("forward   got x =", x.tolist(), "  saves y =", y.tolist())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_x = grad_output / (2 * y)
        print("backward  got g =", grad_output.tolist(), "  finds y =", y.tolist())
        print("          returns g / 2y =", grad_x.tolist())
        return grad_x


x = torch.tensor([1.0, 4.0, 16.0], requires_grad=True)
loss = (torch.tensor([1.0, 2.0, 3.0]) * SquareRoot.apply(x)).sum()
loss.backward()

# %% [markdown]
# Read the trace from the top. Forward saw $x$ and let it go. Backward computed from $y$ and $g$ alone.
#
# From here on we use the same class without the prints.


# %% nbgrader={"grade": false, "grade_id": "demo-square-root-quiet", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SquareRoot(Function):
    """√x for x > 0, element by element."""

    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (2 * y)


x = torch.rand(5, dtype=torch.float64) + 0.5
x.requires_grad_()
print("gradcheck    ", gradcheck(SquareRoot.apply, x))
print("gradgradcheck", gradgradcheck(SquareRoot.apply, x))

# %% [markdown]
# ## Saving keeps alive, it does not copy
#
# How much memory did `ctx.save_for_backward(y)` take? While somebody else holds $y$: none.
# What is saved is a reference to the same memory.

# %% nbgrader={"grade": false, "grade_id": "demo-same-memory", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, 4.0], requires_grad=True)
y = SquareRoot.apply(x)
(saved,) = y.grad_fn.saved_tensors
print("address of y:            ", hex(y.data_ptr()))
print("address of what is saved:", hex(saved.data_ptr()))
print("same memory?             ", saved.data_ptr() == y.data_ptr())

# %% [markdown]
# What saving does is prolong a life. We drop our own reference and look whether the memory is still held:
# once before, and once after each of three events.

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
# So a saved tensor lives until backward has used it **or** the graph goes away, and longer with `retain_graph=True`.
#
# Time and memory of an elementwise Function are both proportional to the number of elements; what can be saved is the *number of extra tensors* that live until backward.

# %% [markdown]
# ## The wrong choice is a cost, not a bug
#
# Saving the input works too, if the formula is the one for the input.


# %% nbgrader={"grade": false, "grade_id": "demo-from-input", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SquareRootFromInput(Function):
    """√x for x > 0; keeps the input and computes the root a second time."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (2 * torch.sqrt(x))


x = torch.rand(5, dtype=torch.float64) + 0.5
x.requires_grad_()
print("gradcheck    ", gradcheck(SquareRootFromInput.apply, x))
print("gradgradcheck", gradgradcheck(SquareRootFromInput.apply, x))

# %% [markdown]
# Right, twice. But it costs: a root is computed again, and $x$ must be kept.
#
# Between two linear layers the second cost shows. A linear layer keeps **its** input, which is our output:
# saving $y$ is then free, saving $x$ is not.

# %% nbgrader={"grade": false, "grade_id": "demo-cost-in-a-network", "locked": true, "schema_version": 3, "solution": false, "task": false}
batch, wide = torch.rand(64, 10), torch.rand(100, 10, requires_grad=True)
narrow = torch.rand(10, 100, requires_grad=True)


def network(root):
    return F.linear(root(F.linear(batch, wide)), narrow)


from_output = kept_bytes(network, SquareRoot.apply)
from_input = kept_bytes(network, SquareRootFromInput.apply)
print("root keeps its output:", from_output, "bytes for the whole network")
print("root keeps its input: ", from_input, "bytes")
print("difference:           ", from_input - from_output, "bytes = 64 × 100 floats")

# %% [markdown]
# The **bug** is something else: saving one and using the formula of the other.
#
# Nothing raises. Only a check of the numbers tells.


# %% nbgrader={"grade": false, "grade_id": "demo-mixed-up", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SquareRootMixedUp(Function):
    """Saves the input, but divides by it as if it were the output."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(x)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors  # calling it y does not make it y
        return grad_output / (2 * y)


print("gradcheck passes:", gradcheck(SquareRootMixedUp.apply, x, raise_exception=False))

# %% [markdown]
# ## Exercise 1: MySigmoid
#
# The classic, and the one that pays: sigmoid gates sit in every LSTM and GRU cell.
#
# **Contract.** `MySigmoid.apply(x)` gives $\sigma(x)$ for a floating-point `x` of any shape.
#
# * Forward may call `torch.sigmoid`; backward is your own arithmetic.
# * Keep **one** tensor as large as `x` for backward, not more.
# * Finite in float32 at ±1000, value and gradient.
# * Second derivatives are right too (nothing to do for that, if you save the output or the input).
#
# As every Function of this course it works for float64, float32 and bfloat16, for transposed and empty tensors, and writes to nothing that is not its own. In all six exercises forward may call torch's own operation; backward is yours.
#
# Fill in both bodies. Stuck? `hint(MySigmoid)` in a cell of your own gives one hint at a time.


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
# The hidden checks of MySigmoid run here when this notebook is graded.
# You can run them now: check(MySigmoid, hidden=True)
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

# %% [markdown]
# ### Try it against torch
#
# A comparison means something only with the **same** input. In double precision gradcheck compares with central differences.

# %% nbgrader={"grade": false, "grade_id": "try-my-sigmoid", "locked": false, "schema_version": 3, "solution": false, "task": false}
my_sigmoid = MySigmoid.apply  # the usual short name for a Function

x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
upstream = torch.randn(4, 3, dtype=torch.float64)
(mine,) = torch.autograd.grad(my_sigmoid(x), x, upstream)
(theirs,) = torch.autograd.grad(torch.sigmoid(x), x, upstream)
print("largest difference, forward: ", (my_sigmoid(x) - torch.sigmoid(x)).abs().max().item())
print("largest difference, backward:", (mine - theirs).abs().max().item())
print("gradcheck", gradcheck(my_sigmoid, x), "  gradgradcheck", gradgradcheck(my_sigmoid, x))
print("bytes kept:", kept_bytes(my_sigmoid, x), "=", x.numel(), "elements × 8")

# %% [markdown]
# ### See it run
#
# Walk through one run of your class. In the step "Saved for backward", look at what is kept: an input, the output, or something in between?

# %% nbgrader={"grade": false, "grade_id": "see-my-sigmoid", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(MySigmoid)

# %% [markdown]
# `saved_ledger` keeps the books over all nodes, torch's own too. Look at the column *kept besides*: bytes that nobody else has anyway. First for your class, then for the textbook formula.

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-my-sigmoid", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(MySigmoid, torch.randn(1000))


# %% nbgrader={"grade": false, "grade_id": "see-kept-by-the-formula", "locked": true, "schema_version": 3, "solution": false, "task": false}
def textbook(x):
    return 1 / (1 + torch.exp(-x))


saved_ledger(textbook, torch.randn(1000))

# %% [markdown]
# 8008 bytes here, and 8000 for the same formula at the beginning of the lesson? The other 8 are the number 1 of `1 / …`, which torch keeps as a tensor of its own. It calls no hook for it, and `kept_bytes` counts what hooks see; the ledger asks each node what it holds.

# %% [markdown]
# ## Why your gradient is better than the formula's
#
# Now the deeper reason to write a backward: **stability**. Take the textbook formula in float32 and let autograd differentiate it.


# %% nbgrader={"grade": false, "grade_id": "demo-naive-nan", "locked": true, "schema_version": 3, "solution": false, "task": false}
def naive_sigmoid(x):
    return 1 / (1 + torch.exp(-x))


for value in (-20.0, -60.0, -100.0, -1000.0):
    x = torch.tensor(value, requires_grad=True)
    (naive,) = torch.autograd.grad(naive_sigmoid(x), x)
    (mine,) = torch.autograd.grad(MySigmoid.apply(x), x)
    print(f"x = {value:6.0f}   of the formula: {naive.item():10.3e}   yours: {mine.item():10.3e}")

# %% [markdown]
# Float32 ends in two places: above $3.4 \cdot 10^{38}$ everything is inf, below $1.4 \cdot 10^{-45}$ everything is 0. The formula's gradient falls off both ends. Autograd multiplies the slopes of its steps, those of $u = 1 + e^{-x}$ and $1/u$:
#
# * **At −60 it is lost.** The slope of $1/u$ is $-1/u^2 = -(8.8 \cdot 10^{-27})^2 \approx -8 \cdot 10^{-53}$, too small for float32, so it is 0. Your $y(1-y)$ squares nothing so small and is right.
# * **At −100 it is poison.** Below $x = -88.7$, $e^{-x}$ is more than float32 can hold. The *value* survives, because $1/\infty = 0$. But one slope is now $0$ and the other $\infty$, and $0 \cdot \infty$ is **NaN**. Yours is $0 \cdot (1 - 0) = 0$; the true slope is $4 \cdot 10^{-44}$, and nobody misses it.
#
# One such NaN in one element of one batch reaches all weights of the layers before it at the next optimiser step, and from there the loss.

# %% nbgrader={"grade": false, "grade_id": "demo-naive-nan-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-120, 5, 500, requires_grad=True)
(naive,) = torch.autograd.grad(naive_sigmoid(x).sum(), x)
(mine,) = torch.autograd.grad(MySigmoid.apply(x).sum(), x)
fig, axis = plt.subplots(figsize=(7, 3), constrained_layout=True)
axis.semilogy(x.detach(), mine, color=palette["blue"], label="your backward")
axis.semilogy(x.detach(), naive, "--", color=palette["vermillion"], label="the formula")
first_good = x.detach()[~naive.isnan()].min().item()
axis.axvspan(-120, first_good, color=palette["orange"], alpha=0.4, label="the formula: NaN")
axis.set(title="Slope of the sigmoid in float32", xlabel="x", ylabel="slope (log scale)")
axis.legend(loc="lower right")
show(
    fig,
    alt="Slope of the sigmoid on a log scale from x = -120 to 5. Your backward falls in a straight "
    "line to the end of float32; the gradient of the formula drops to 0 much earlier and is NaN "
    f"everywhere below about {first_good:.0f}.",
)

# %% [markdown]
# Half precision is tighter. $e^{12} \approx 163\,000$ is already more than the largest float16 (65 504):

# %% nbgrader={"grade": false, "grade_id": "demo-half-precision", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor(-12.0, dtype=torch.float16)
print("formula in float16:", naive_sigmoid(x).item())
print("torch.sigmoid:     ", torch.sigmoid(x).item())

# %% [markdown]
# ## Exercise 2: MyTanh
#
# The sigmoid's sibling: $\tanh x = 2\sigma(2x) - 1$, the activation inside every LSTM cell.
#
# **Contract.** `MyTanh.apply(x)` gives $\tanh x$, any shape. One tensor as large as `x` is kept; finite at ±1000; second derivatives right.
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
# The hidden checks of MyTanh run here when this notebook is graded.
# You can run them now: check(MyTanh, hidden=True)
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
print("gradcheck passes:    ", gradcheck(TimesExp.apply, x))
print("gradgradcheck passes:", gradgradcheck(TimesExp.apply, x, raise_exception=False))

# %% [markdown]
# First derivative right, second derivative wrong, and **no error**. Here are the numbers.

# %% nbgrader={"grade": false, "grade_id": "demo-intermediate-numbers", "locked": true, "schema_version": 3, "solution": false, "task": false}
(slope,) = torch.autograd.grad(TimesExp.apply(x).sum(), x, create_graph=True)
(curvature,) = torch.autograd.grad(slope.sum(), x)
print("x                    ", x.tolist())
print("first derivative     ", [round(v, 3) for v in slope.tolist()])
print("its true value       ", [round(v, 3) for v in ((1 + x) * x.exp()).tolist()])
print("second derivative    ", [round(v, 3) for v in curvature.tolist()])
print("its true value       ", [round(v, 3) for v in ((2 + x) * x.exp()).tolist()])

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
# The input and the output come back **with their history**. The intermediate comes back as a bare number: a constant.
#
# Differentiating $g\,(e + x e)$ with a constant $e$ gives just $e$. The true answer is $2e + x e$.

# %% [markdown]
# See it: with `order=2`, `xray` goes backward through the backward. Look for the box that no line leads into.

# %% nbgrader={"grade": false, "grade_id": "see-intermediate", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(TimesExp, x, order=2)

# %% nbgrader={"grade": false, "grade_id": "demo-intermediate-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-3, 1, 200, dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(TimesExp.apply(x).sum(), x, create_graph=True)
(curvature,) = torch.autograd.grad(slope.sum(), x)
x, slope = x.detach(), slope.detach()
fig, axes = plt.subplots(1, 2, figsize=(8, 3), constrained_layout=True)
for axis, mine, truth, title in (
    (axes[0], slope, (1 + x) * x.exp(), "first derivative"),
    (axes[1], curvature, (2 + x) * x.exp(), "second derivative"),
):
    axis.plot(x, truth, color=palette["blue"], label="true")
    axis.plot(x, mine, "--", color=palette["vermillion"], label="eˣ saved as an intermediate")
    axis.set(title=title + " of x·eˣ", xlabel="x", ylabel=title)
    axis.legend()
show(
    fig,
    alt="Left: both curves of the first derivative of x times exp(x) coincide. Right: the second "
    "derivative with a saved intermediate lies on exp(x), away from the true (2 + x) exp(x).",
)

# %% [markdown]
# The cure: **save inputs and outputs, and compute the rest again in backward.**


# %% nbgrader={"grade": false, "grade_id": "demo-recompute", "locked": true, "schema_version": 3, "solution": false, "task": false}
class TimesExpAgain(Function):
    """x·eˣ. Keeps x alone and computes eˣ again."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        exp_x = torch.exp(x)  # with create_graph=True autograd watches this line
        return grad_output * (exp_x + x * exp_x)


x = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
print("gradcheck    ", gradcheck(TimesExpAgain.apply, x))
print("gradgradcheck", gradgradcheck(TimesExpAgain.apply, x))

# %% [markdown]
# The books of both. Look for *made in between*: that is an intermediate, and only the first class has one.

# %% nbgrader={"grade": false, "grade_id": "see-kept-intermediate", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(TimesExp, x)

# %% nbgrader={"grade": false, "grade_id": "see-kept-again", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(TimesExpAgain, x)

# %% [markdown]
# So the cured class keeps one tensor, its input, where the other kept two: time traded for memory. Lesson 05 is about second derivatives (and how to refuse them), lesson 06 about this trade.
#
# | what backward needs | how it gets there | a second derivative sees |
# |---|---|---|
# | an input | `save_for_backward` | the input, connected |
# | an output | `save_for_backward` | the output, connected |
# | an intermediate | compute it again | whatever it was made of |
# | an intermediate, saved | `save_for_backward` | a constant |
# | a number, a shape, a string | an attribute of `ctx` | a constant, which it is |
#
# Who needs second derivatives? Gradient penalties, Hessian–vector products, meta-learning, physics-informed networks. "Nobody will" is a bet.

# %% [markdown]
# ## Hyper-parameters, and the zero nobody tests
#
# Next we scale: $y = s\,\sigma(x)$ with a Python float $s$. The slope is $s\,\sigma(x)(1 - \sigma(x))$.
#
# "Save the output" seems to apply: $\sigma(x) = y / s$. What happens at $s = 0$?

# %% nbgrader={"grade": false, "grade_id": "demo-scale-zero", "locked": true, "schema_version": 3, "solution": false, "task": false}
scale = 0.0
y = scale * torch.sigmoid(torch.tensor([-1.0, 0.0, 2.0]))
print("output:            ", y)
print("σ recovered as y/s:", y / scale)

# %% [markdown]
# The true gradient is 0, the recovered one is NaN. And $s = 0$ is not exotic: warm-up schedules and residual gates start there.
#
# With $s = 0$ the output forgets $x$: the map is not injective any more. So what *should* be kept?
#
# (Not $\sigma(x)$: you know now what kind of tensor that would be.)

# %% [markdown]
# A float is not a tensor: it goes on `ctx` as an attribute, and its place in backward's answer is `None`.
#
# The next trap is silent. Somebody passes a **tensor** that wants a gradient:


# %% nbgrader={"grade": false, "grade_id": "demo-tensor-hyper-parameter", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Times(Function):
    """x·factor, where factor is meant to be a Python float."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


x = torch.ones(4, requires_grad=True)
factor = torch.tensor(3.0, requires_grad=True)
Times.apply(x, factor).sum().backward()
print("gradient of factor:", factor.grad, "  (true value: 4.0)")

# %% [markdown]
# No error: the parameter just never learns. Either give it a gradient (you will, in `Swish`), or refuse it:
# `if isinstance(factor, torch.Tensor): raise TypeError(...)`, as `WeightedSum` did in lesson 01.

# %% [markdown]
# ## Exercise 3: ScaledSigmoid
#
# **Contract.** `ScaledSigmoid.apply(x, scale)` gives `scale`$\,\cdot\,\sigma(x)$; `scale` is a Python float. (Refusing a tensor is good manners, as it was in `WeightedSum`. Here it is up to you: no check asks for it.)
#
# * Right at `scale = 0.0`: the gradient is 0, not NaN.
# * Keep one tensor as large as `x`. Second derivatives right.
# * Backward returns one answer for **each** argument.


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
# The hidden checks of ScaledSigmoid run here when this notebook is graded.
# You can run them now: check(ScaledSigmoid, hidden=True)
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
# Back to the folding curves. $\text{Swish}(x) = x\,\sigma(x)$ falls to a minimum and rises again: every value just above the minimum is taken **twice**.
#
# Let us find a pair: two inputs with the same output. Bisection does it.

# %% nbgrader={"grade": false, "grade_id": "demo-two-inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
swish, target = F.silu, F.silu(torch.tensor(-0.5, dtype=torch.float64))
low, high = -6.0, -1.3  # left of the minimum Swish falls, so we can bisect for the same value
for _ in range(60):
    middle = (low + high) / 2
    if swish(torch.tensor(middle, dtype=torch.float64)) > target:
        low = middle
    else:
        high = middle
pair = torch.tensor([-0.5, middle], dtype=torch.float64, requires_grad=True)
values = swish(pair)
(slopes,) = torch.autograd.grad(values.sum(), pair)
for x, y, slope in zip(pair.tolist(), values.tolist(), slopes.tolist()):
    print(f"x = {x:9.5f}   output = {y:.6f}   slope = {slope:8.5f}")

# %% nbgrader={"grade": false, "grade_id": "demo-two-inputs-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-5, 1, 300, dtype=torch.float64)
fig, axis = plt.subplots(figsize=(7, 3.2), constrained_layout=True)
axis.plot(x, swish(x), color=palette["blue"], label="x·σ(x)")
axis.axhline(target, color=palette["black"], linestyle=":", label="one output …")
for here, value, slope in zip(pair.tolist(), values.tolist(), slopes.tolist()):
    near = torch.linspace(here - 0.7, here + 0.7, 2, dtype=torch.float64)
    axis.plot(near, value + slope * (near - here), color=palette["vermillion"], linewidth=2)
    axis.plot(here, value, "o", color=palette["vermillion"])
    axis.annotate(f"slope {slope:+.3f}", (here, value), (here - 1, value + 0.14), ha="center")
axis.set(title="… two slopes: Swish cannot be undone", xlabel="x", ylabel="output")
axis.set_ylim(-0.35, 0.3)
axis.legend(loc="upper left")
show(
    fig,
    alt="Swish from -5 to 1. A dotted line at -0.189 meets the curve at x = -2.51, where it falls "
    "with slope -0.099, and at x = -0.5, where it rises with slope 0.260.",
)

# %% [markdown]
# Same output −0.188770, once falling, once rising. **No** formula in $y$ alone can know which.
#
# So "Swish: implement it efficiently by saving the output", an exercise one meets in print, has no solution. `F.silu` keeps its input.

# %% nbgrader={"grade": false, "grade_id": "demo-what-silu-keeps", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(3, requires_grad=True)
print("F.silu keeps its input:       ", F.silu(x).grad_fn._saved_self is x)
y = torch.sigmoid(x)
print("torch.sigmoid keeps its result:", y.grad_fn._saved_result.data_ptr() == y.data_ptr())

# %% [markdown]
# ## Exercise 4: MyGELU
#
# The activation of BERT and of many transformers since: $x$ times the probability that a standard normal variable is below $x$,
#
# $$\text{GELU}(x) = x\,\Phi(x), \qquad \Phi(x) = \tfrac12\Bigl(1 + \operatorname{erf}\frac{x}{\sqrt 2}\Bigr), \qquad \Phi'(x) = \frac{1}{\sqrt{2\pi}}\,e^{-x^2/2}.$$

# %% [markdown]
# Beware of a double. A well-known approximation with tanh goes by the same name; the default of `F.gelu` is the exact one, with erf.

# %% nbgrader={"grade": false, "grade_id": "demo-two-gelus", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-6, 6, 2001, dtype=torch.float64)
difference = F.gelu(x, approximate="tanh") - F.gelu(x)
worst = difference.abs().argmax()
print(f"largest difference {difference.abs().max():.1e} at x = {x[worst]:.2f}")
print("close enough for allclose?", torch.allclose(F.gelu(x, approximate="tanh"), F.gelu(x)))
fig, axis = plt.subplots(figsize=(7, 2.6), constrained_layout=True)
axis.plot(x, 1e4 * difference, color=palette["blue"])
axis.set(title="tanh-GELU minus exact GELU", xlabel="x", ylabel="difference (units of 10⁻⁴)")
show(
    fig,
    alt="The difference between the tanh approximation and the exact GELU, which vanishes at 0 and "
    "far out and reaches almost 5 ten-thousandths in between.",
)

# %% [markdown]
# **Contract.** `MyGELU.apply(x)` is the exact GELU; the reference is `F.gelu(x)`.
#
# Keep one tensor as large as `x`. Finite at ±1000. Second derivatives right.
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
# The hidden checks of MyGELU run here when this notebook is graded.
# You can run them now: check(MyGELU, hidden=True)
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
# Slide `x`, and look at the rows *forward value* and `saved_tensors[0]`: which of the three keep the output, and which keeps the `x` of the slider? The straight line has the slope that your backward returned.

# %% nbgrader={"grade": false, "grade_id": "see-three-activations", "locked": true, "schema_version": 3, "solution": false, "task": false}
function_builder(MySigmoid, MyTanh, MyGELU)

# %% [markdown]
# ## Two gradients, and a sum
#
# The last activation learns its own shape: $\text{Swish}_\beta(x) = x\,\sigma(\beta x)$ with a tensor β.

# %% nbgrader={"grade": false, "grade_id": "demo-swish-family", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-4, 4, 200)
fig, axis = plt.subplots(figsize=(7, 3), constrained_layout=True)
styles = {
    0.0: ("vermillion", ":"),
    0.5: ("purple", "-."),
    1.0: ("blue", "-"),
    10.0: ("green", "--"),
}
for value, (colour, style) in styles.items():
    axis.plot(x, x * torch.sigmoid(value * x), style, color=palette[colour], label=f"β = {value:g}")
axis.set(title="One parameter, many activations: x·σ(βx)", xlabel="x", ylabel="output")
axis.legend()
show(
    fig,
    alt="Swish for four values of beta: a straight line x/2 for 0, smooth curves with a dip for 0.5 "
    "and 1, and almost relu for 10.",
)

# %% [markdown]
# β may be one number (shape `()`) or one per channel: `x` of shape (batch, channels), β of shape (channels,). Then forward **broadcasts**: each β is used once for every row of the batch.
#
# Used many times in forward means **summed** in backward, because the contributions of all uses add up:
#
# $$\frac{\partial L}{\partial \beta_c} = \sum_b g_{bc}\,\frac{\partial y_{bc}}{\partial \beta_c}.$$

# %% nbgrader={"grade": false, "grade_id": "demo-sum-to-size", "locked": true, "schema_version": 3, "solution": false, "task": false}
per_element = torch.arange(12.0).reshape(3, 4)  # a gradient of the shape of x
for shape in [(4,), (3, 1), (1, 4), ()]:
    print("β of shape", str(shape).ljust(7), "gets", per_element.sum_to_size(shape).tolist())

# %% [markdown]
# `Tensor.sum_to_size(shape)` does exactly this sum: it is the reverse of `expand`.
#
# Now the uncomfortable part: torch does the sum for you if you forget it.


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

# %% [markdown]
# The engine saw (3, 4) for a bias of shape (4,) and summed it down. gradcheck never noticed.
#
# Write the sum yourself: it is what the formula means, and your backward is right wherever it is called. The checks of this course look at what *your* backward returned.

# %% [markdown]
# Two more things about Functions with several tensors. First, you have met it in lesson 01: **one** call of `save_for_backward` for all of them, because the last call wins. This is what it looks like when it happens to you.


# %% nbgrader={"grade": false, "grade_id": "demo-last-save-wins", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SavesTwice(Function):
    """x·w with two calls of save_for_backward."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x)
        ctx.save_for_backward(w)  # replaces the line above
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, grad_output * x


y = SavesTwice.apply(x, bias)
print("tensors saved:", len(y.grad_fn.saved_tensors))
try:
    y.sum().backward()
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# Second, `ctx.needs_input_grad` has one `True` or `False` for each argument. When β is frozen, nobody wants its gradient: skip the work and return `None` there.
#
# ```python
# grad_x = grad_beta = None
# if ctx.needs_input_grad[0]:
#     grad_x = ...
# if ctx.needs_input_grad[1]:
#     grad_beta = ...
# return grad_x, grad_beta
# ```

# %% [markdown]
# ## Exercise 5: Swish
#
# **Contract.** `Swish.apply(x, beta)` gives $x\,\sigma(\beta x)$.
#
# * `beta` is a tensor of any shape that broadcasts to the shape of `x`: `()`, `(channels,)`, `(batch, 1)`, the shape of `x` itself …
# * Both gradients, each in exactly its input's shape; `None` for an input that needs none.
# * Keep `x` and `beta`, nothing more. Both second derivatives right.
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
# The hidden checks of Swish run here when this notebook is graded.
# You can run them now: check(Swish, hidden=True)
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
# The loss of a binary classifier is $-\log \sigma(z)$. Written down just so, it breaks again:

# %% nbgrader={"grade": false, "grade_id": "demo-log-of-sigmoid", "locked": true, "schema_version": 3, "solution": false, "task": false}
for value in (-10.0, -80.0, -100.0, -1000.0):
    x = torch.tensor(value, requires_grad=True)
    y = torch.log(torch.sigmoid(x))
    (slope,) = torch.autograd.grad(y, x)
    print(f"x = {value:6.0f}   log(sigmoid(x)) = {y.item():8.1f}   gradient = {slope.item():4.1f}")

# %% [markdown]
# You know why: below −88.7 `torch.sigmoid` gives exactly 0 in float32, because $e^{-x}$ has overflowed and $1/\infty = 0$. Then $\log 0 = -\infty$: not an overflow but a pole. The gradient there is $0 \cdot \infty$, NaN.
#
# The true values are harmless: $\log\sigma(-1000) = -1000$, with slope 1. The trouble is only the detour over a number that float32 has lost.

# %% [markdown]
# The way out is to take the logarithm **on paper**:
#
# $$\log\sigma(x) = -\log(1 + e^{-x}) = \min(x, 0) - \log\bigl(1 + e^{-|x|}\bigr).$$
#
# The exponent is never positive, so `exp` cannot overflow, and `torch.log1p` keeps the tiny terms.

# %% nbgrader={"grade": false, "grade_id": "demo-log-domain", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1000.0, -100.0, 0.0, 20.0, 1000.0])
rewritten = torch.clamp(x, max=0) - torch.log1p(torch.exp(-x.abs()))
print("log(sigmoid(x))", torch.log(torch.sigmoid(x)).tolist())
print("rewritten      ", rewritten.tolist())
print("F.logsigmoid   ", F.logsigmoid(x).tolist())

# %% [markdown]
# Now its slope. Start with the sister function, $\operatorname{softplus}(x) = \log(1 + e^x)$:
#
# $$\frac{d}{dx}\log(1 + e^x) = \frac{e^x}{1 + e^x} = \sigma(x).$$
#
# You may find $x - \sigma(x)$ in print. Ask autograd:

# %% nbgrader={"grade": false, "grade_id": "demo-softplus-slope", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(torch.log(1 + torch.exp(x)), x)
print("autograd:", round(slope.item(), 6))
print("σ(x):    ", round(torch.sigmoid(x).item(), 6))
print("x − σ(x):", round((x - torch.sigmoid(x)).item(), 6))

# %% [markdown]
# ## Exercise 6: LogSigmoid
#
# **Contract.** `LogSigmoid.apply(x)` gives $\log\sigma(x)$.
#
# * Value **and** gradient finite at ±1000 in float32, and second derivatives right.
# * Keep one tensor as large as `x`.
#
# Since $\log\sigma(x) = -\operatorname{softplus}(-x)$, the slope is one chain rule away. Write it so that it contains no division and no `exp` of a large number.


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
# The hidden checks of LogSigmoid run here when this notebook is graded.
# You can run them now: check(LogSigmoid, hidden=True)
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
#
# **Common mistakes.** `torch.log(torch.sigmoid(x))` in forward; `exp(-x) / (1 + exp(-x))` in backward (inf/inf at −1000);
# $1 - y$, as if $y$ were σ; σ(x) instead of σ(−x); the sign.

# %% [markdown]
# ## Finale: a network made of your activations
#
# 569 biopsies, 30 measurements each: benign or malignant? The data come with scikit-learn.
#
# We train the same small network again and again, once with each of **your** activations and your `LogSigmoid` as the loss, once with torch's, from the same starting weights, and compare the losses step by step.

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
fig, axis = plt.subplots(figsize=(7.5, 3.6), constrained_layout=True)
colours = ["blue", "black", "green", "vermillion", "purple"]
for (name, (my_losses, their_losses, _)), colour in zip(results.items(), colours):
    axis.semilogy(their_losses, color=palette[colour], label=f"{name}, torch")
    every = max(1, STEPS // 15)
    steps = range(0, STEPS, every)
    axis.semilogy(steps, my_losses[::every], "o", color=palette[colour], markersize=5, mfc="none")
axis.set(title="Lines: torch's activations. Circles: yours.", xlabel="training step", ylabel="loss")
axis.legend(ncol=2)
show(
    fig,
    alt="Training losses over the steps for five activations. The circles of the learner's own "
    "Functions lie on the lines of torch's activations.",
)

# %% [markdown]
# ### And what did it keep?
#
# The same activations on one hidden layer of 400 × 16 numbers: bytes kept for backward by your Function, by torch's own operation, and by the formula spelled out for autograd.

# %% nbgrader={"grade": false, "grade_id": "finale-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
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
kept = {}
print("in units of one hidden layer:  yours   torch's   formula")
for name, three in rows.items():
    kept[name] = [kept_bytes(f, h) / h.nbytes if f else 0.0 for f in three]
    print(f"{name:29}", *(f"{value:8.2f}" for value in kept[name]))

# %% nbgrader={"grade": false, "grade_id": "finale-bytes-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
fig, axis = plt.subplots(figsize=(7.5, 3.2), constrained_layout=True)
series = [("yours", "blue", ""), ("torch's own", "orange", "//"), ("formula", "vermillion", "..")]
for offset, (label, colour, hatch) in enumerate(series):
    heights = [three[offset] for three in kept.values()]
    places = [i + 0.27 * (offset - 1) for i in range(len(kept))]
    axis.bar(places, heights, 0.25, color=palette[colour], hatch=hatch, label=label, ec="white")
axis.set_xticks(range(len(kept)), kept.keys())
axis.set(title="Kept for backward", ylabel="tensors of the layer's size", xlabel="activation")
axis.legend()
show(
    fig,
    alt="Bars of memory kept for backward by yours, torch's own and the formula, in tensors of the "
    "layer's size: " + "; ".join(f"{k} {a:.0f}, {b:.0f}, {c:.0f}" for k, (a, b, c) in kept.items()),
)

# %% [markdown]
# Two bars deserve a word. `F.logsigmoid` on the CPU keeps a helper tensor beside its input; yours does without.
# The formula `log(sigmoid(x))` keeps as little as yours, but you know what it does at −100.
#
# And torch's own bar for Swish with a tensor β is missing (0 in the table), because torch has no such operation. Yours is one, and it has learned 16 different shapes:

# %% nbgrader={"grade": false, "grade_id": "finale-learned-shapes", "locked": true, "schema_version": 3, "solution": false, "task": false}
learned = results["Swish"][2][1].beta.detach()
x = torch.linspace(-4, 0.5, 200)
fig, axis = plt.subplots(figsize=(7, 3), constrained_layout=True)
for value in learned:
    axis.plot(x, x * torch.sigmoid(value * x), color=palette["blue"], alpha=0.5)
axis.plot(x, F.silu(x), "--", color=palette["vermillion"], label="where all began: β = 1")
axis.set(title="Sixteen activations, learned", xlabel="x", ylabel="x·σ(βx)")
axis.legend()
print("learned β:", [round(value, 2) for value in sorted(learned.tolist())])
show(fig, alt="Sixteen learned Swish curves around the dashed starting curve with beta = 1.")

# %% [markdown]
# ### An honest word
#
# `torch.sigmoid`, `torch.tanh`, `F.gelu`, `F.silu` and `F.logsigmoid` exist, each with a backward like yours in C++. In your own work, use them.
#
# Write a Function when the operation is *not* there, when the composed formula keeps too much, or when its gradient is unstable. Today you have seen a case of each.

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
# * A saved tensor is kept alive, not copied: until backward, or until the graph is gone.
# * Input instead of output is a cost. The formula of one with the tensor of the other is a bug.
# * A saved **intermediate** is a constant to the second derivative: wrong, without an error. Compute it again.
# * A slope written for stability beats autograd of a formula: no 0·∞.
# * A broadcast parameter gets a **summed** gradient: `sum_to_size`.

# %% [markdown]
# ## Where to go next
#
# **03_linear** leaves the elementwise world: matrix products, reductions and broadcasting, where each input has a gradient of its own shape and `sum_to_size` becomes a function you write yourself.
#
# `progress()` in a cell of your own shows where you are.
