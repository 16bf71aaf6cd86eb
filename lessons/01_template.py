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
# # Anatomy of a Function
#
# torch can differentiate almost everything you write with it. This lesson is about the moments when it cannot, or should not, and about the tool for those moments: `torch.autograd.Function`, where **you** write the backward pass.
#
# At the end you will have four Functions of your own and the instrument that tells whether a gradient is right. With them you will fit a model to the records of 442 patients, and reach the same losses as torch does with its own operations.

# %% [markdown]
# **Time:** about 60 minutes: 25 to read and run, 30 for the five exercises, 5 for the quiz.
#
# **You need:** Python, torch tensors, and the derivative of a function of one variable.
#
# **How the exercises work.** Put your code where a cell says `YOUR CODE HERE`, in place of the line `raise NotImplementedError()`. Run the cell, then the `check(…)` cell under it. You may try as often as you like. When you are stuck, `hint(Square)` in a cell of your own gives one hint at a time, and `explain("gradient-sign")` explains a word that a report uses. `progress()` shows where you are in the course.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import gc
import os
import time
import warnings
import weakref

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, explain, hint, progress
from widgets import default_operations, function_builder, gradient_flow, palette, quiz, show, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other

# %% [markdown]
# Some cells below make mistakes on purpose. This little helper prints the error and lets the notebook go on.


# %% nbgrader={"grade": false, "grade_id": "demo-attempt", "locked": true, "schema_version": 3, "solution": false, "task": false}
def attempt(action, *arguments):
    """Call action(*arguments) and print what it gives, or the error it raises."""
    try:
        print("no error:", action(*arguments))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")


# %% [markdown]
# ## Why write a backward pass yourself?
#
# Autograd records what you do with tensors and plays it backwards. There are three walls it cannot climb. Here they are, one after the other.

# %% nbgrader={"grade": false, "grade_id": "demo-walls", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-2, 2, 5, requires_grad=True)

print("1. The computation leaves torch, and the graph is cut:")
outside = torch.from_numpy(np.sinc(x.detach().numpy()))
attempt(outside.sum().backward)

print("\n2. The derivative is zero almost everywhere, so nothing can learn:")
torch.round(x).sum().backward()
print("gradient of round:", x.grad)

print("\n3. The formula is right, its automatic derivative is not a number:")
z = torch.tensor([-100.0], requires_grad=True)
sigmoid = 1 / (1 + torch.exp(-z))
sigmoid.backward()
print("value:", sigmoid.item(), "  gradient:", z.grad.item(), "  true gradient: about 4e-44")

# %% [markdown]
# A fourth reason is cost: a backward written by hand may keep fewer tensors alive between the two passes.
#
# So there are four occasions for a Function of your own:
#
# 1. the operation is **not made of torch operations** (NumPy, SciPy, C++, a GPU kernel);
# 2. you **want another gradient** than the true one (round, sign, gradient reversal);
# 3. the automatic gradient is **unstable**;
# 4. you want to **keep less memory**, or do less work.
#
# FlashAttention is an occasion of the first and fourth kind. Training networks whose weights are +1 and −1 is one of the second. You will build both in this course.

# %% [markdown]
# ## The mathematics: one link of a chain
#
# Take three quantities in a row: $x$ makes $y$, and $y$ makes the loss $L$. The chain rule says
#
# $$\frac{dL}{dx} \;=\; \underbrace{\frac{dL}{dy}}_{\text{upstream}} \cdot \underbrace{\frac{dy}{dx}}_{\text{local}} .$$
#
# Read it as a message passed backwards. The **upstream gradient** $dL/dy$ arrives from the right. You multiply it by your **local derivative** $dy/dx$, and hand the product to the left.
#
# Your operation need not know what the loss is. All it ever learns of it is that one message, called `grad_output`.

# %% [markdown]
# Here is the message on its way, through a graph with two branches. Walk it with the buttons or the slider, or press Play: five steps forward, four back.
#
# In the last step the chain rule is one line: $1 \times 2 \times 2 = 4$, the upstream gradient times the derivative $2x$ of the square at $x = 2$.

# %% nbgrader={"grade": false, "grade_id": "see-gradient-flow", "locked": true, "schema_version": 3, "solution": false, "task": false}
gradient_flow()

# %% [markdown]
# Now let $x$ and $y$ be tensors with $n$ and $m$ elements. Each output may depend on each input, so there are $m \times n$ local derivatives. Together they are the **Jacobian**, $J_{ij} = \partial y_i / \partial x_j$.
#
# The loss feels $x_j$ through every $y_i$, so the contributions add up:
#
# $$\frac{\partial L}{\partial x_j} = \sum_i \frac{\partial L}{\partial y_i}\, J_{ij}
# \qquad\text{or, with } v = \frac{\partial L}{\partial y}: \qquad v^{\mathsf T} J .$$
#
# This is the **vector–Jacobian product**. It is the one thing a backward has to compute.

# %% [markdown]
# What does a Jacobian look like? Here are two, computed by torch: one of an element-wise operation, one of a running sum.

# %% nbgrader={"grade": false, "grade_id": "demo-jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.2, 0.8, 1.4, 2.0, 2.6], dtype=torch.float64)
operations = {
    "sin(x): each output has its own input": torch.sin,
    "cumsum(x): outputs share inputs": lambda t: torch.cumsum(t, 0),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (title, operation) in zip(axes, operations.items()):
    J = torch.autograd.functional.jacobian(operation, x)
    ax.imshow(J, cmap="RdBu", vmin=-1.5, vmax=1.5)
    for i in range(5):
        for j in range(5):
            ax.text(j, i, f"{J[i, j] + 0.0:.2f}", ha="center", va="center")
    ax.set(title=title, xlabel="input j", ylabel="output i")
show(
    figure,
    alt="Two 5 by 5 Jacobians. That of sin has the cosines of x on its diagonal and zeros "
    "elsewhere. That of cumsum has ones on and below the diagonal, zeros above.",
)

# %% [markdown]
# On the left only the diagonal is alive. For an **element-wise** operation $v^{\mathsf T} J$ is therefore just an element-wise product, `grad_output * local`.
#
# On the right it is not. Still, nobody builds the matrix: look at its columns, and $v^{\mathsf T} J$ turns out to be a running sum from the other end.

# %% nbgrader={"grade": false, "grade_id": "demo-vjp", "locked": true, "schema_version": 3, "solution": false, "task": false}
v = torch.tensor([1.0, -2.0, 0.5, 3.0, 1.0], dtype=torch.float64)

J_sin = torch.autograd.functional.jacobian(torch.sin, x)
print("sin     v @ J           :", v @ J_sin)
print("        v * cos(x)      :", v * torch.cos(x))

J_cumsum = torch.autograd.functional.jacobian(lambda t: torch.cumsum(t, 0), x)
print("cumsum  v @ J           :", v @ J_cumsum)
print("        reversed cumsum :", v.flip(0).cumsum(0).flip(0))

# %% [markdown]
# That is the art: find a cheap formula for $v^{\mathsf T} J$. The matrix itself is out of the question. For one million inputs and outputs it would have $10^{12}$ entries, 8 terabytes in float64.
#
# Note what backward is *not*. It does not undo the operation. From `grad_output` it does not get $x$ back; it tells how the loss would change if $x$ did.

# %% [markdown]
# ## Anatomy
#
# A Function is a class with two required static methods:
#
# - `forward(ctx, …)` computes the output and notes what backward will need;
# - `backward(ctx, grad_output)` turns the upstream gradient into the gradient of the input.
#
# `ctx` is the notepad that travels from the first to the second.

# %% nbgrader={"grade": false, "grade_id": "demo-anatomy", "locked": true, "schema_version": 3, "solution": false, "task": false}
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.set(xlim=(0, 10), ylim=(0.2, 3.8))
ax.axis("off")
for i, j, text, colour in [
    (3.5, 3.2, "forward", "blue"),
    (3.5, 0.8, "backward", "vermillion"),
    (8.6, 2.0, "the rest of the network\nand the loss", "black"),
    (3.5, 2.0, "ctx", "green"),
]:
    frame = {"boxstyle": "round,pad=0.5", "fc": "white", "ec": palette[colour], "lw": 2}
    ax.text(i, j, text, bbox=frame, ha="center", va="center")
for start, end, words_at, text, colour in [
    ((0.5, 3.2), (2.7, 3.2), (1.6, 3.4), "x", "blue"),
    ((4.3, 3.2), (7.3, 2.5), (5.9, 3.1), "y", "blue"),
    ((7.3, 1.5), (4.4, 0.8), (5.7, 1.5), "grad_output", "vermillion"),
    ((2.6, 0.8), (0.5, 0.8), (1.6, 1.0), "gradient of x", "vermillion"),
    ((3.5, 2.9), (3.5, 2.3), (3.95, 2.6), "saves", "green"),
    ((3.5, 1.7), (3.5, 1.1), (3.95, 1.4), "reads", "green"),
]:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": palette[colour], "lw": 2})
    ax.text(*words_at, text, ha="center", va="center")
alt = """x goes into forward, which saves to ctx and gives y. grad_output comes back
into backward, which reads ctx and gives the gradient of x."""
show(figure, alt)

# %% [markdown]
# Here is a complete one, our worked example. Four lines of work, and each has a reason.
#
# $$y = \sin x \qquad\Rightarrow\qquad \frac{dy}{dx} = \cos x .$$


# %% nbgrader={"grade": false, "grade_id": "demo-sine", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Sine(Function):
    """y = sin(x), for a tensor x of any shape."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


# %% [markdown]
# | line | why |
# |---|---|
# | `ctx.save_for_backward(x)` | $\cos x$ needs $x$, and backward does not get $x$ as an argument |
# | `return torch.sin(x)` | forward may use anything: here, torch's own operation |
# | `(x,) = ctx.saved_tensors` | always a tuple, even for one tensor: note the comma |
# | `return grad_output * torch.cos(x)` | upstream × local, one gradient for the one input |
#
# A Function is called through `apply`, which torch provides: `Sine.apply(x)`. It never mentions `ctx`; torch makes one for each call. Pass the arguments by position, which works in every version (torch 2.13 also takes them by name).

# %% [markdown]
# Let us watch the two passes. `loss = (3 * y).sum()` is three times the sum, so the message that must arrive in backward is 3 everywhere.


# %% nbgrader={"grade": false, "grade_id": "demo-trace", "locked": true, "schema_version": 3, "solution": false, "task": false}
class TracedSine(Function):
    """Sine that reports what passes through it."""

    @staticmethod
    def forward(ctx, x):
        y = Sine.forward(ctx, x)
        print(f"forward   gets x           = {x.tolist()}\n          returns y        =", y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = Sine.backward(ctx, grad_output)
        print(
            f"backward  gets grad_output = {grad_output.tolist()}\n          returns         ",
            grad_x,
        )
        return grad_x


x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
loss = (3 * TracedSine.apply(x)).sum()
print("\n… here the rest of the forward pass and the loss are computed …\n")
loss.backward()
print("\nx.grad                    =", x.grad)
print("torch's own gradient      =", 3 * torch.cos(x.detach()))

# %% [markdown]
# What *is* `ctx`? Not a copy of anything, and not a context manager. It is **the node of the graph itself**: the object that you meet afterwards as `y.grad_fn`.

# %% nbgrader={"grade": false, "grade_id": "demo-node", "locked": true, "schema_version": 3, "solution": false, "task": false}
notepads = []


class CuriousSine(Sine):
    @staticmethod
    def forward(ctx, x):
        notepads.append(ctx)
        return Sine.forward(ctx, x)


y = CuriousSine.apply(x)
node = y.grad_fn
print("ctx is y.grad_fn:           ", notepads.pop() is node)
print("what was saved is x itself: ", node.saved_tensors[0] is x)
print("the node:                   ", node.name())
print("the next one on the way back:", node.next_functions[0][0].name())
print("a node of torch's own:      ", torch.sin(x).grad_fn.name())

# %% [markdown]
# Two things to notice. Saving is not copying: the saved tensor *is* `x`, merely kept alive. And torch's own operations are nodes in the same graph, written in C++. Yours takes its place among them as an equal.

# %% [markdown]
# **Torch believes you.** Nothing checks that backward belongs to forward. And the backward is attached by `apply` alone: call `forward` directly, and autograd differentiates the lines inside it as if there were no Function.


# %% nbgrader={"grade": false, "grade_id": "demo-apply", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Believed(Function):
    """y = 2x, with a backward that claims 100. Wrong on purpose."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 100 * grad_output


x = torch.tensor(3.0, requires_grad=True)
print("through apply:   ", torch.autograd.grad(Believed.apply(x), x))
print("around it:       ", torch.autograd.grad(Believed.forward(None, x), x))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Believed(x)
print("\nBelieved(x) gives no tensor, only a warning:", str(caught[0].message).split(". ")[-1])

# %% [markdown]
# See both at work, place by place. Pick a Function and slide `x`: the straight line has the slope that backward returned, so it touches the curve where backward is right.
#
# Compare `Sine` with `Believed`. Any Function of one number can stand here: once your own is written, try `function_builder(Square)` in a cell of your own.

# %% nbgrader={"grade": false, "grade_id": "see-function-builder", "locked": true, "schema_version": 3, "solution": false, "task": false}
function_builder(Sine, Believed, "Cube", "Exponential")

# %% [markdown]
# ## Exercise 1: Square
#
# Your first Function, and the smallest: $y = x^2$.
#
# **Contract.** `Square.apply(x)` gives the square of each element of `x`, for any shape. Keep no more for backward than `x` itself.
#
# **For every Function of this course:** it works in float64, float32 and bfloat16, for tensors of any size and layout (transposed, empty), on whole tensors (no Python loop over rows or elements), keeps the dtype it was given, writes to no tensor that is not its own, and can be differentiated a second time. For the last, save an *input* or the *output* itself, not something computed from them (a mask of booleans is fine). Lesson 02 shows why.
#
# **To do.** Fill in both methods. What is $dy/dx$? What does backward have to know to compute it? And where does `grad_output` come in?


# %% nbgrader={"grade": false, "grade_id": "square", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Square(Function):
    """y = x², element by element."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
        ### END SOLUTION


# %% [markdown]
# Try it before you have it checked. The loss is `(10 * y).sum()`, so what should `x.grad` be?
#
# Run the backward twice without the line that sets `x.grad` to `None`, and you will see that gradients **accumulate** in a leaf: they are added, not replaced.

# %% nbgrader={"grade": false, "grade_id": "try-square", "locked": false, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x.grad = None
(10 * Square.apply(x)).sum().backward()
x.grad

# %% nbgrader={"grade": true, "grade_id": "square-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Square)

# %% nbgrader={"grade": true, "grade_id": "square-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of Square run here when this notebook is graded.
# You can run them now: check(Square, hidden=True)
### BEGIN HIDDEN TESTS
check(Square, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Square
#
# **Derivation.** $y_i = x_i^2$ depends on $x_i$ alone, so the Jacobian is diagonal with $2x_i$ on it, and $v^{\mathsf T} J = 2 x \odot v$.
#
# **What is saved, and why.** `x`, because the local derivative is made of it. The output would not do: from $y = x^2$ the sign of $x$ cannot be recovered.
#
# **Cost.** Each pass touches every element once: O(n) time. Memory: no copy is made, `x` is merely kept alive until backward has run or the graph is dropped.
#
# **Common mistakes.** Returning `2 * x` and forgetting `grad_output`: right only while the loss is `y.sum()`. Writing `x = ctx.saved_tensors` without unpacking the tuple. Saving `2 * x` instead of `x`: the first derivative is right, but to a *second* derivative the saved tensor is a constant, so it comes out wrong. Storing `ctx.x = x`: the next section shows what that costs.

# %% [markdown]
# ### See it run
#
# `xray` runs your Function once and lets you walk through it: what forward got and saved, what arrived in backward, what backward returned, what reached the leaf. It shows *your* class, as it is now. After a check that found something wrong it shows the very run that went wrong, and opens on the step that does.

# %% nbgrader={"grade": false, "grade_id": "see-square", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Square)

# %% [markdown]
# ## What to remember, and how
#
# `ctx` offers two ways to remember something:
#
# - `ctx.save_for_backward(tensor, …)` for **tensors**: inputs, outputs, a mask;
# - attributes such as `ctx.exponent = 3` for **everything else**: numbers, shapes, strings.
#
# The rule for *what* is short: **save what backward reads, and nothing more.** A tensor that backward never reads is kept alive for nothing.

# %% [markdown]
# Three small facts about `save_for_backward`, shown below:
#
# - inside forward, `saved_tensors` is still an empty tuple; there you have the local variables anyway;
# - a second call *replaces* the first: name all tensors in one call;
# - a number in it is an error, reported after forward has finished (and only when an input requires a gradient).


# %% nbgrader={"grade": false, "grade_id": "demo-saving", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Saving(Function):
    """Multiplies by 1, and says what it has saved."""

    @staticmethod
    def forward(ctx, x, extra):
        ctx.save_for_backward(x)
        print("inside forward:   ", ctx.saved_tensors)
        ctx.save_for_backward(torch.cos(x), extra)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        print("inside backward:  ", ctx.saved_tensors)
        return grad_output, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
Saving.apply(x, None).sum().backward()
print()
attempt(Saving.apply, x, 3)

# %% [markdown]
# Why not put tensors into attributes too? It *works*: no error, right gradients, even right second derivatives. What you lose is the protection. Let us measure the loss with two Functions for $y = 1/x$ that differ in this point only.
#
# Its derivative is $-1/x^2 = -y^2$, so the *output* is all that backward needs. (When to save the output instead of the input is the subject of lesson 02.)


# %% nbgrader={"grade": false, "grade_id": "demo-reciprocal", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Reciprocal(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -grad_output * y * y


class RecklessReciprocal(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = 1 / x
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output * ctx.y * ctx.y


both = (Reciprocal, RecklessReciprocal)

# %% [markdown]
# **Probe 1: somebody changes the tensor in place.** After forward the output is edited. A saved tensor remembers its version, and backward refuses to use the edited one. The attribute has no such guard, and the gradient is silently wrong. (The true one is −1, −0.25.)


# %% nbgrader={"grade": false, "grade_id": "demo-probe-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
def edited_after_forward(function):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = function.apply(x)
    y.add_(10)
    y.sum().backward()
    return x.grad


for function in both:
    print(f"\n{function.__name__}")
    attempt(edited_after_forward, function)

# %% [markdown]
# **Probe 2: the output is thrown away.** An output in an attribute makes a reference cycle: the node holds the output, the output holds its node. Fifty results that nobody needs any more stay in memory until Python's garbage collector happens to come by. (Storing an *input* makes no cycle.)

# %% nbgrader={"grade": false, "grade_id": "demo-probe-cycle", "locked": true, "schema_version": 3, "solution": false, "task": false}
for function in both:
    gc.collect()
    gc.disable()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    outputs = [weakref.ref(function.apply(x)) for _ in range(50)]
    before = sum(output() is not None for output in outputs)
    gc.enable()
    gc.collect()
    after = sum(output() is not None for output in outputs)
    print(f"{function.__name__:20} alive: {before:2} of 50, after the garbage collector: {after}")

# %% [markdown]
# **Probe 3: after backward.** Saved tensors are released as soon as backward has used them, and a second backward is refused. The attribute stays as long as the graph does, and a second backward goes through unnoticed.

# %% nbgrader={"grade": false, "grade_id": "demo-probe-release", "locked": true, "schema_version": 3, "solution": false, "task": false}
for function in both:
    print(f"\n{function.__name__}")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = function.apply(x)
    y.sum().backward()
    print("attribute still there:", hasattr(y.grad_fn, "y"))
    attempt(y.backward, torch.ones(2))

# %% [markdown]
# **Probe 4: tools look for it.** Everything that measures or moves saved tensors (offloading to the CPU, compressing them, checkpointing) works through hooks on saved tensors. They never see an attribute.


# %% nbgrader={"grade": false, "grade_id": "demo-probe-hooks", "locked": true, "schema_version": 3, "solution": false, "task": false}
def tensors_seen_by_hooks(function):
    """How many saved tensors pass the hooks while function runs forward."""
    seen = []

    def pack(tensor):
        seen.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function.apply(torch.tensor([1.0, 2.0], requires_grad=True))
    return len(seen)


for function in both:
    print(f"{function.__name__:20} tensors the hooks have seen: {tensors_seen_by_hooks(function)}")

# %% [markdown]
# So: **tensors through `save_for_backward`, everything else as attributes.** That is also why only tensors are allowed there: version check, release, hooks are matters of tensors, and mean nothing for the number 3.
#
# One more manner: what you read from `saved_tensors` is often the caller's own tensor. Never write into it.

# %% [markdown]
# ## At a kink
#
# $\max(x, 0)$ has no derivative at 0: the slope is 0 on the left and 1 on the right. Every number between the two is a **subgradient**, a slope of a line that touches the curve there and stays below it.
#
# Somebody has to choose. This is what torch has chosen, here measured at the kink of each function.

# %% nbgrader={"grade": false, "grade_id": "demo-kinks", "locked": true, "schema_version": 3, "solution": false, "task": false}
at_the_kink = {
    "relu(x)": (torch.relu, 0.0),
    "clamp(x, min=0)": (lambda t: t.clamp(min=0), 0.0),
    "maximum(x, 0)": (lambda t: torch.maximum(t, torch.zeros(())), 0.0),
    "abs(x)": (torch.abs, 0.0),
    "clamp(x, 0, 6) at 6": (lambda t: t.clamp(0, 6), 6.0),
    "relu6(x) at 6": (torch.nn.functional.relu6, 6.0),
}
for name, (operation, point) in at_the_kink.items():
    x = torch.tensor(point, requires_grad=True)
    operation(x).backward()
    print(f"{name:20} gradient {x.grad.item()}")

# %% nbgrader={"grade": false, "grade_id": "demo-kinks-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
t = torch.linspace(-1, 1, 201)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for slope in (0.25, 0.5, 0.75):
    ax.plot(t, slope * t, color=palette["purple"], ls="--")
ax.plot([], [], color=palette["purple"], ls="--", label="subgradients ¼, ½, ¾")
ax.plot(t, t.clamp(min=0), color=palette["blue"], ls="-", lw=3, label="max(x, 0)")
ax.plot(0, 0, "o", color=palette["black"], label="the kink")
ax.set(title="Which slope at the kink?", xlabel="x", ylabel="y")
ax.legend()
show(
    figure,
    alt="The curve max(x, 0) with three dashed lines through its kink at 0, of slopes one quarter, "
    "one half and three quarters. Each stays on or below the curve.",
)

# %% [markdown]
# All of these are legitimate, and they differ, even between versions: at its bounds `clamp` says 1 in torch 2.13 and 0 in torch 2.15. If your Function stands in for one of torch's, say which convention it follows. A comparison such as `x > 0` against `x >= 0` is all there is between them, so write it with care.

# %% [markdown]
# ## Exercise 2: MyReLU
#
# $y = \max(x, 0)$, the most used activation there is. The gradient passes where $x$ is positive and stops elsewhere.
#
# **Contract.** `MyReLU.apply(x)` agrees with `torch.relu` for any shape, its gradient **0 at x = 0** included. For backward it keeps at most as many bytes as `x` has: `x`, the output or a mask of booleans. The choice is yours; whichever it is goes through `save_for_backward`, the mask too.
#
# A boolean takes one byte (not one bit), a float32 number takes four.
#
# **To do.** Fill in both methods. `torch.where(condition, a, b)` is a good friend here.


# %% nbgrader={"grade": false, "grade_id": "my-relu", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MyReLU(Function):
    """y = max(x, 0), element by element; the gradient at 0 is 0, as torch.relu has it."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, 0)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "my-relu-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(MyReLU)

# %% nbgrader={"grade": true, "grade_id": "my-relu-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of MyReLU run here when this notebook is graded.
# You can run them now: check(MyReLU, hidden=True)
### BEGIN HIDDEN TESTS
check(MyReLU, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: MyReLU
#
# **Derivation.** The Jacobian is diagonal with 1 where $x_i > 0$ and 0 elsewhere, so $v^{\mathsf T} J$ is $v$ with the entries of non-positive $x_i$ struck out.
#
# **What is saved, and why.** The output. $x > 0$ exactly where $y > 0$, so it tells as much as the input does. It is what `torch.relu` saves too: the next layer usually keeps $y$ alive anyway, while $x$ could otherwise be freed. A mask is right as well: a quarter of the bytes in float32, but bytes of its own.
#
# **Common mistakes.** `x >= 0`, or zeroing `grad_output[x < 0]`: both give 1 at the kink. Zeroing in place without a copy writes into a gradient that belongs to somebody else (two sections on). `grad_output * mask.float()` turns a bfloat16 gradient into float32. Multiplying by a mask gives NaN where the upstream gradient is infinite, because $\infty \cdot 0$ is NaN; `torch.where` gives 0, as torch does.

# %% [markdown]
# Both of your Functions in the graph you walked through at the beginning: are the numbers under the boxes the same?

# %% nbgrader={"grade": false, "grade_id": "see-your-flow", "locked": true, "schema_version": 3, "solution": false, "task": false}
gradient_flow(operations=default_operations(Square, MyReLU))

# %% [markdown]
# ## One gradient per argument
#
# A Function may take several arguments, and not all of them are tensors. The rule that covers every case: **backward returns one value for each argument of forward, `ctx` aside, in the same order.** For an argument that has no gradient the value is `None`.
#
# ```
# def forward(ctx, x, weight, exponent): …
# def backward(ctx, grad_output): …; return grad_x, grad_weight, None
# ```
#
# What if you get it wrong? Here is a two-argument Function, `forward(ctx, x, n)`, with five different endings of backward.


# %% nbgrader={"grade": false, "grade_id": "demo-arguments", "locked": true, "schema_version": 3, "solution": false, "task": false}
def scale_with(ending):
    """A Function for x · n whose backward ends with `return ending(grad_output)`."""

    class Scale(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, grad_output):
            return ending(grad_output)

    return Scale


endings = {
    "return 2 * g, None": lambda g: (2 * g, None),
    "return 2 * g": lambda g: 2 * g,
    "return None, 2 * g": lambda g: (None, 2 * g),
    "return [2 * g, None]": lambda g: [2 * g, None],
    "return 2 * g, None, None": lambda g: (2 * g, None, None),
}

# %% nbgrader={"grade": false, "grade_id": "demo-arguments-outcome", "locked": true, "schema_version": 3, "solution": false, "task": false}
for words, ending in endings.items():
    x = torch.tensor(1.0, requires_grad=True)
    try:
        scale_with(ending).apply(x, 2.0).backward()
        outcome = f"x.grad is {x.grad}"
    except RuntimeError as error:
        outcome = f"RuntimeError: {error}"
    print(f"{words:26} {outcome}")


class Forgetful(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        Sine.backward(ctx, grad_output)  # computed, and not returned


x = torch.tensor(1.0, requires_grad=True)
Forgetful.apply(x).backward()
print(f"{'(a forgotten return)':26} x.grad is {x.grad}")

# %% [markdown]
# Too few is an error, and so is a list. An extra `None` at the end is forgiven. The dangerous one is the last. In a Function with one argument **a forgotten `return` is no error**: the gradient is just missing.
#
# Each gradient must have the **shape of its input**. Torch rejects most wrong shapes, and quietly repairs some; lesson 03 is about that. Do not rely on the repair: your formula should give the right shape.

# %% [markdown]
# Not every tensor needs a gradient: think of data, or of frozen weights. `ctx.needs_input_grad` has one boolean for each argument of the call and tells which do. Where it says `False`, return `None` and save yourself the work; torch would throw the result away anyway.


# %% nbgrader={"grade": false, "grade_id": "demo-needs", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Product(Function):
    """y = a · b, for tensors of equal shape."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        print("needs_input_grad:", ctx.needs_input_grad)
        grad_a = grad_output * b if ctx.needs_input_grad[0] else None
        grad_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_a, grad_b


data = torch.tensor([1.0, 2.0])
weight = torch.tensor([3.0, 4.0], requires_grad=True)
Product.apply(data, weight).sum().backward()
print("gradient of weight:", weight.grad, "  gradient of data:", data.grad)

# %% [markdown]
# Now a trap. A parameter that backward answers with `None` is a constant, by your word. But what if someone passes a *tensor* there, one they want to train?


# %% nbgrader={"grade": false, "grade_id": "demo-constant", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Power(Function):
    """y = xⁿ with n a Python number, kept as an attribute."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.n * x ** (ctx.n - 1), None


x = torch.tensor(2.0, requires_grad=True)
n = torch.tensor(3.0, requires_grad=True)
Power.apply(x, n).backward()
print("gradient of x:", x.grad, "  gradient of n:", n.grad)
print("the true gradient of n, 2³ · log 2:", (2**3 * torch.log(torch.tensor(2.0))).item())

# %% [markdown]
# No error, and `n` will never be trained. Somebody will look for that bug for a day. A Function that takes numbers should **refuse a tensor** in their place, with a message that says so.

# %% [markdown]
# ## Exercise 3: WeightedSum
#
# $y = w_1 x_1 + w_2 x_2$ for two tensors of equal shape and two numbers: the way two branches of a network are blended.
#
# **Contract.** `WeightedSum.apply(x1, x2, w1, w2)`. The gradients of `w1` and `w2` are `None`, and a **tensor** given for either is refused with a `TypeError` whose message says what is wrong: name the argument, and what is wanted in its place. Python ints are numbers too. No tensor is kept for backward at all.
#
# `x1` or `x2` may be frozen: then backward returns `None` for it. Torch would not complain about a gradient that nobody wants, but the work is wasted, so asking `ctx.needs_input_grad` is an **obligation** in this course: it is checked here and in every Function with several tensors.
#
# **To do.** Fill in both methods. How many values does backward return?


# %% nbgrader={"grade": false, "grade_id": "weighted-sum", "locked": false, "schema_version": 3, "solution": true, "task": false}
class WeightedSum(Function):
    """y = w1 · x1 + w2 · x2 for tensors of equal shape and Python numbers w1 and w2."""

    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        ### BEGIN SOLUTION
        if isinstance(w1, torch.Tensor) or isinstance(w2, torch.Tensor):
            raise TypeError("w1 and w2 must be Python numbers: they get no gradient")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        grad_x1 = ctx.w1 * grad_output if ctx.needs_input_grad[0] else None
        grad_x2 = ctx.w2 * grad_output if ctx.needs_input_grad[1] else None
        return grad_x1, grad_x2, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "weighted-sum-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(WeightedSum)

# %% nbgrader={"grade": true, "grade_id": "weighted-sum-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of WeightedSum run here when this notebook is graded.
# You can run them now: check(WeightedSum, hidden=True)
### BEGIN HIDDEN TESTS
check(WeightedSum, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: WeightedSum
#
# **Derivation.** $\partial y_i / \partial x_{1,i} = w_1$ and $\partial y_i / \partial x_{2,i} = w_2$: constants. So the gradients are $w_1 v$ and $w_2 v$, and neither depends on a value of $x_1$ or $x_2$.
#
# **What is saved, and why.** No tensor. Two numbers as attributes are all that backward reads. Saving `x1` and `x2` is a habit, not a need: it keeps two tensors alive for nothing, and raises a false alarm when somebody edits one of them in place.
#
# **Common mistakes.** Returning two values instead of four. The two gradients in the wrong order, which no shape check can see. `torch.tensor(w1)` inside `save_for_backward`: a number does not become a tensor to be remembered. No check of the type, so that a trainable weight silently stays where it is.

# %% [markdown]
# ## The modern form: setup_context
#
# So far forward did two jobs: compute, and note. Torch lets you write them apart. `forward` then has no `ctx` and is plain mathematics; `setup_context` gets the inputs and the output and does the saving. `backward` stays as it is.


# %% nbgrader={"grade": false, "grade_id": "demo-modern", "locked": true, "schema_version": 3, "solution": false, "task": false}
class ModernSine(Function):
    """y = sin(x), in the form with setup_context."""

    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


x = torch.tensor([0.0, 1.0, 2.0])
print("torch.func.grad, modern form:", torch.func.grad(lambda t: ModernSine.apply(t).sum())(x))
print("\nand the form with ctx in forward:")
attempt(torch.func.grad(lambda t: Sine.apply(t).sum()), x)

# %% [markdown]
# This is the form that torch recommends, and the only one that `torch.func` accepts (for `vmap` it also wants `generate_vmap_rule = True` in the class). The older one is supported as well and has one advantage: it can save an intermediate result of forward, while `setup_context` sees nothing but inputs and output.
#
# **You may hand in any exercise of this course in either form.** The lessons use the older one, because it is what you will meet in most code.

# %% [markdown]
# ## Exercise 4: Clip
#
# $y = x$ between two bounds, and the nearer bound outside: `torch.clamp`. Inside, the gradient passes; outside, the output no longer depends on $x$.
#
# **Contract.** `Clip.apply(x, low, high)` with numbers `low` ≤ `high` has the values of `torch.clamp`. **At the bounds themselves the gradient passes** (torch 2.13 does the same, torch 2.15 does not: a contract should say). `low` and `high` get `None`. At most as many bytes as `x` has are kept for backward.
#
# **To do.** Fill in both methods, in the form you like better. If you choose `setup_context`, take `ctx` out of forward's arguments.


# %% nbgrader={"grade": false, "grade_id": "clip", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Clip(Function):
    """y = min(max(x, low), high), element by element; the bounds belong to the inside."""

    @staticmethod
    def forward(ctx, x, low, high):
        ### BEGIN SOLUTION
        inside = (x >= low) & (x <= high)
        ctx.save_for_backward(inside)
        return x.clamp(low, high)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0), None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "clip-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Clip)

# %% nbgrader={"grade": true, "grade_id": "clip-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of Clip run here when this notebook is graded.
# You can run them now: check(Clip, hidden=True)
### BEGIN HIDDEN TESTS
check(Clip, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Clip
#
# **Derivation.** $y_i = x_i$ inside, so the local derivative is 1; outside $y_i$ is a constant, so it is 0. The contract counts the bounds as inside: `low <= x <= high`.
#
# **What is saved, and why.** A mask of one byte an element. Here the output would *not* do as it did for ReLU: where $y$ equals a bound, $x$ may lie on it (gradient passes) or beyond it (gradient stops).
#
# **Common mistakes.** Strict comparisons, which stop the gradient at the bounds. Clipping `grad_output` instead of masking it: that is another operation altogether, and you will write it in lesson 04. Only one value returned: three arguments need three.

# %% [markdown]
# ## grad_output is not yours
#
# The tensor that arrives in backward may be shared: with another branch of the graph, or with the caller. Writing into it is tempting (`grad_output *= 2` saves a tensor, doesn't it?). Here is what happens.


# %% nbgrader={"grade": false, "grade_id": "demo-careless", "locked": true, "schema_version": 3, "solution": false, "task": false}
class CarelessDouble(Function):
    """y = 2x, with a backward that edits the upstream gradient in place."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        grad_output *= 2
        return grad_output


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
upstream = torch.ones(3)
CarelessDouble.apply(x).backward(upstream)
print("x.grad:                ", x.grad, "(right)")
print("the caller's own tensor:", upstream, "(was all ones)")

x64 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
print("gradcheck:             ", gradcheck(CarelessDouble.apply, x64))

# %% [markdown]
# In a plain chain the result is right, and `gradcheck`, the standard test, is content. Only the caller's tensor has changed.
#
# Now let the same value feed two branches, as in every residual network: $y = f(h) + h$ with $f(h) = 2h$. The gradient should be 3 everywhere.


# %% nbgrader={"grade": false, "grade_id": "demo-residual", "locked": true, "schema_version": 3, "solution": false, "task": false}
def residual(h):
    return CarelessDouble.apply(h) + h


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 1
residual(h).backward(torch.ones(3))
print("f(h) + h, with h computed from x:", x.grad, "  true: 3 everywhere")

print("\nand under the most ordinary loss, .sum():")
attempt(residual(x * 1).sum().backward)

# %% [markdown]
# Silently 4 instead of 3. The same tensor went to both branches, and the first one doubled it for the second.
#
# And `.sum()` sends a gradient whose elements all lie in *one* place in memory (its strides are 0), so editing it in place is refused. With a masked edit, `grad_output[x < 0] = 0`, even that protection is lost: one negative element sets the whole gradient to zero.
#
# **So: never write into `grad_output`.** Make a new tensor: `grad_output * 2`, `torch.where(…)`. In place on a tensor that *you have just made* is fine.

# %% [markdown]
# ## How do you know that it is right?
#
# Nudge one input a little in each direction, and look how far the output moves:
#
# $$\frac{\partial f}{\partial x_i} \;\approx\; \frac{f(x + \varepsilon e_i) - f(x - \varepsilon e_i)}{2\,\varepsilon}.$$
#
# This **central difference** needs no derivative at all. It is slow (two calls of $f$ for each element) but it is an independent witness, and that is what a test needs.

# %% nbgrader={"grade": false, "grade_id": "demo-secant", "locked": true, "schema_version": 3, "solution": false, "task": false}
point, step = 0.6, 0.6
t = np.linspace(-0.2, 1.5, 200)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(t, np.sin(t), color=palette["black"], ls="-", lw=3, label="sin(x)")
tangent = np.sin(point) + np.cos(point) * (t - point)
ax.plot(t, tangent, color=palette["green"], ls=":", label=f"tangent, slope {np.cos(point):.3f}")
for start, name, colour, dashes in [
    (point - step, "central", "blue", "--"),
    (point, "one-sided", "vermillion", "-."),
]:
    ends = np.array([start, point + step])
    slope = np.diff(np.sin(ends))[0] / np.diff(ends)[0]
    line = np.sin(start) + slope * (t - start)
    ax.plot(
        t, line, color=palette[colour], ls=dashes, label=f"{name} difference, slope {slope:.3f}"
    )
    ax.plot(ends, np.sin(ends), "o", color=palette[colour])
ax.set(title=f"Slopes of sin at {point} from two values, step {step}", xlabel="x", ylabel="y")
ax.set(ylim=(-0.3, 1.35))
ax.legend()
show(
    figure,
    alt="The curve of sin, its tangent at 0.6 and two lines through points of the curve. "
    "The line of the central difference is nearly parallel to the tangent, the one-sided is flatter.",
)

# %% [markdown]
# ## Exercise 5: numerical_gradient
#
# **Contract.** `numerical_gradient(f, x, eps=1e-6)` gives the central-difference gradient of `f` at the float64 tensor `x`: a float64 tensor of the shape of `x`, whatever that shape is. `f` takes a tensor like `x` and returns one number (a float, or a tensor without dimensions). `x` is left as it was.
#
# **To do.** Write the function. `np.ndindex(*x.shape)` runs through all indices of `x`, for any number of dimensions.


# %% nbgrader={"grade": false, "grade_id": "numerical-gradient", "locked": false, "schema_version": 3, "solution": true, "task": false}
def numerical_gradient(f, x, eps=1e-6):
    """Gradient of the scalar-valued f at x by central differences; has the shape of x."""
    ### BEGIN SOLUTION
    x = x.detach()
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        nudge = torch.zeros_like(x)
        nudge[index] = eps
        gradient[index] = (float(f(x + nudge)) - float(f(x - nudge))) / (2 * eps)
    return gradient
    ### END SOLUTION


# %% [markdown]
# Try it as the witness for your own Square: both lines should agree to about nine digits.

# %% nbgrader={"grade": false, "grade_id": "try-numerical-gradient", "locked": false, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([[0.5, -1.0], [2.0, 3.0]], dtype=torch.float64, requires_grad=True)
print("by nudging: ", numerical_gradient(lambda t: Square.apply(t).sum(), x))
Square.apply(x).sum().backward()
print("by backward:", x.grad)

# %% nbgrader={"grade": true, "grade_id": "numerical-gradient-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(numerical_gradient)

# %% nbgrader={"grade": true, "grade_id": "numerical-gradient-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of numerical_gradient run here when this notebook is graded.
# You can run them now: check(numerical_gradient, hidden=True)
### BEGIN HIDDEN TESTS
check(numerical_gradient, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: numerical_gradient
#
# **Derivation.** Taylor: $f(x \pm \varepsilon) = f \pm \varepsilon f' + \tfrac{1}{2}\varepsilon^2 f'' \pm \tfrac{1}{6}\varepsilon^3 f''' + \dots$ In the difference the even terms cancel, so the error of the quotient is about $\tfrac{1}{6}\varepsilon^2 f'''$. A one-sided difference keeps the term with $f''$ and is off by $\tfrac{1}{2}\varepsilon f''$.
#
# **Why it is written so.** Each nudge is added to a *new* tensor, so `x` is never touched, not even for a moment. Indexing by `np.ndindex` needs no reshaping and is right for every memory layout and for a tensor without dimensions. `x.detach()` and `float(…)` keep autograd out of it.
#
# **Common mistakes.** Adding `eps` in place and forgetting to take it back. Flattening with `reshape(-1)` and nudging the result: for a transposed `x` that is a copy, and nothing moves. Dividing by `eps` instead of `2 * eps`. Nudging all elements at once, which gives the sum of all derivatives.

# %% [markdown]
# ## The U-curve: how small should the step be?
#
# Smaller is not better. Two errors work against each other:
#
# - **truncation**: the curve is not a straight line; about $\tfrac{1}{6}\varepsilon^2 |f'''|$, small for a small step;
# - **rounding**: two nearly equal numbers are subtracted; about $|f|\,\varepsilon_{\text{machine}}/\varepsilon$, *large* for a small step.
#
# Measure it: the slope of $e^x$ at 1.2345, for steps from 0.1 down to $10^{-12}$, in float64 and in float32.


# %% nbgrader={"grade": false, "grade_id": "demo-u-curve", "locked": true, "schema_version": 3, "solution": false, "task": false}
def slope_errors(dtype, steps, at=1.2345):
    """Absolute error of the central difference of exp, for each step."""
    x = torch.tensor(at, dtype=dtype)
    truth = np.exp(float(x))
    errors = []
    for step in steps:
        rise = torch.exp(x + step) - torch.exp(x - step)
        errors.append(abs(float(rise / (2 * step)) - truth))
    return np.array(errors)


steps = np.logspace(-1, -12, 45)
errors64 = slope_errors(torch.float64, steps)
errors32 = slope_errors(torch.float32, steps)
for step in (1e-2, 1e-4, 1e-6, 1e-8, 1e-12):
    e64, e32 = (slope_errors(dtype, [step])[0] for dtype in (torch.float64, torch.float32))
    print(f"step {step:.0e}:   error in float64 {e64:.1e}   in float32 {e32:.1e}")

# %% nbgrader={"grade": false, "grade_id": "demo-u-curve-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
truncation = steps**2 * np.exp(1.2345) / 6
rounding = np.exp(1.2345) * torch.finfo(torch.float64).eps / steps
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.loglog(steps, errors32, "s-", ms=4, color=palette["vermillion"], label="float32")
ax.loglog(steps, errors64, "o-", ms=4, color=palette["blue"], label="float64")
ax.loglog(steps, truncation, ":", color=palette["black"], label="truncation, ε²·f‴/6")
ax.loglog(steps, rounding, "--", color=palette["black"], label="rounding in float64, f·ε_machine/ε")
ax.axvline(1e-6, color=palette["green"], ls="-.", label="the step of gradcheck, 1e-6")
ax.set(
    title="Error of a numerical slope of exp at 1.2345",
    xlabel="step ε (in units of x)",
    ylabel="absolute error of the slope",
    ylim=(1e-12, 1e5),
)
ax.legend(loc="upper right")
show(
    figure,
    alt="Error against step on logarithmic axes. Both curves are a U. In float64 the bottom lies "
    "below 1e-10, for steps around 1e-5. In float32 it lies near 1e-4, for steps around 1e-2, and "
    "at a step of 1e-6 the error is already a tenth of a unit or more.",
)

# %% [markdown]
# In float64 the bottom of the U is near $10^{-5}$ to $10^{-6}$, and about ten digits are right. In float32 at $10^{-6}$ the rounding error, relative to the value, is about $\varepsilon_{\text{machine}}/\varepsilon = 1.2 \cdot 10^{-7} / 10^{-6} = 0.12$: the witness itself is drunk. Below $10^{-7}$ it sees nothing at all, because $x + \varepsilon$ and $x - \varepsilon$ are the same float32 number.
#
# **That is why gradients are checked in float64.** With float32 a perfect backward would be called wrong.

# %% [markdown]
# ## gradcheck
#
# Torch has such a witness built in. `gradcheck(f, inputs)` builds the full Jacobian twice, by central differences and by your backward, and compares. `gradgradcheck` does the same with the second derivative. Inputs are float64 and require a gradient.


# %% nbgrader={"grade": false, "grade_id": "demo-gradcheck", "locked": true, "schema_version": 3, "solution": false, "task": false}
class WrongSine(Sine):
    """Sine with a sign error in backward."""

    @staticmethod
    def backward(ctx, grad_output):
        return -Sine.backward(ctx, grad_output)


x = torch.tensor([0.3, 1.0], dtype=torch.float64, requires_grad=True)
print("gradcheck(Sine):     ", gradcheck(Sine.apply, x))
print("gradgradcheck(Sine): ", gradgradcheck(Sine.apply, x))
print("\ngradcheck(WrongSine):")
attempt(lambda: gradcheck(WrongSine.apply, x))

# %% [markdown]
# Its defaults are well chosen: `eps=1e-6`, `atol=1e-5`, `rtol=1e-3`. Two conditions on what you feed it:
#
# - float64. With float32 it warns, and then usually fails;
# - no element within 1e-3 of a kink. There even `torch.relu` fails: the central difference across the kink is ½, which is nobody's convention.

# %% nbgrader={"grade": false, "grade_id": "demo-gradcheck-conditions", "locked": true, "schema_version": 3, "solution": false, "task": false}
at_kink = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
print("torch.relu at its kink: ", gradcheck(torch.relu, at_kink, raise_exception=False))

single = torch.tensor([0.3, 1.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("torch.exp in float32:   ", gradcheck(torch.exp, single, raise_exception=False))
print("the warning:", str(caught[0].message)[:100], "…")

# %% [markdown]
# **gradcheck compares your backward with your forward.** It cannot know what your forward was *meant* to be, and it sees no more than the inputs you chose. Here are three broken sines. Each passes.


# %% nbgrader={"grade": false, "grade_id": "demo-blind", "locked": true, "schema_version": 3, "solution": false, "task": false}
def broken_sine(forward=Sine.forward, backward=Sine.backward):
    """A Function like Sine with one of its methods replaced."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("BrokenSine", (Function,), methods)


def wrong_beyond_ten(ctx, grad_output):
    (x,) = ctx.saved_tensors
    return torch.where(x.abs() > 10, 0, grad_output * torch.cos(x))


broken = {
    "forward is sin(x) + 1": broken_sine(forward=lambda ctx, x: Sine.forward(ctx, x) + 1),
    "gradient is 0 where |x| > 10": broken_sine(backward=wrong_beyond_ten),
    "gradient is 0.09 % too large": broken_sine(
        backward=lambda ctx, grad_output: 1.0009 * Sine.backward(ctx, grad_output)
    ),
}
x = torch.tensor([0.3, 1.0], dtype=torch.float64, requires_grad=True)
for fault, function in broken.items():
    print(f"{fault:30} gradcheck: {gradcheck(function.apply, x)}")

# %% [markdown]
# Add to the list what you have seen: the edited `grad_output` passed too. So gradcheck is necessary, never sufficient. Choose realistic values, several shapes, and tighter tolerances (`rtol=1e-6, atol=1e-8` is no problem in float64); compare values with a reference; run `gradgradcheck`.
#
# `check(…)` in this course does all of that and some more, and says what the cause is.

# %% [markdown]
# ## When not to write one
#
# Composition first. If the operation is made of torch operations, autograd already has its gradient: the right one, to any order, on every device. A Function of your own replaces none of that; it adds a class to maintain. And it is no faster. Nothing is *fused* by being written inside one `forward`: every line is still an operation of its own, plus the Python around it.


# %% nbgrader={"grade": false, "grade_id": "demo-cost", "locked": true, "schema_version": 3, "solution": false, "task": false}
def seconds_per_step(operation, x, repeats=200):
    """The shortest of `repeats` forward and backward passes, in seconds."""
    shortest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        torch.autograd.grad(operation(x).sum(), x)
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


for elements in (10, 100_000):
    x = torch.linspace(-3, 3, elements, requires_grad=True)
    ours, theirs = seconds_per_step(Sine.apply, x), seconds_per_step(torch.sin, x)
    print(f"{elements:7} elements: Sine.apply takes {ours / theirs:.1f} × the time of torch.sin")

# %% [markdown]
# | you want | write |
# |---|---|
# | a formula made of torch operations | the formula |
# | something that torch has (`relu`, `gelu`, `logsumexp`, …) | torch's own |
# | no gradient through a part | `x.detach()` |
# | to clip or to look at a gradient on its way | `h.register_hook(lambda g: g.clamp(-1, 1))` |
# | real fusion | `torch.compile`, or a kernel in C++, CUDA or Triton |
# | a kernel that torch should treat as one of its own operations | `torch.library.custom_op` |
# | an operation autograd cannot see through, another gradient, a stable or a leaner backward | **a Function** |
#
# In this lesson we break the rule: torch has all four operations. That is for practice, and because it gives us something to compare with.

# %% [markdown]
# ## Finale: patients, and four Functions of yours
#
# Time for real work. scikit-learn brings along the records of 442 people with diabetes: ten measurements each (age, body mass index, blood pressure, six blood values, sex), and a number that says how far the disease had advanced one year later, from 25 to 346.
#
# We predict that number. Your four Functions do everything that is not a plain linear layer.

# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_diabetes

records = load_diabetes()
inputs = torch.tensor(records.data, dtype=torch.float64)
inputs = inputs / inputs.std(0)
target = torch.tensor(records.target, dtype=torch.float64)

order = torch.randperm(len(target), generator=torch.Generator().manual_seed(0))
train, held_out = order[:342], order[342:]
middle, spread = target[train].mean(), target[train].std()
ends = torch.tensor([0.05, 0.95], dtype=torch.float64)
lowest, highest = torch.quantile(target[train], ends).tolist()
print(f"{len(train)} people to learn from, {len(held_out)} held out")
print(f"nine in ten lie between {lowest:.0f} and {highest:.0f}, the mean is {middle:.0f}")

# %% [markdown]
# The prediction is a blend of a linear model and a small network. It is kept within the range of nine in ten of the people, so that no single record leads it astray:
#
# $$\hat y = \mathrm{Clip}\bigl(\mathrm{WeightedSum}(\text{linear}(x),\ \text{network}(x),\ 0.5,\ 0.5),\ \text{lowest},\ \text{highest}\bigr)$$
#
# with MyReLU inside the network, and the mean of $\mathrm{Square}(\hat y - y)$ as the loss.
#
# `fit` takes the four operations as arguments. So the very same code can be run with yours and with torch's.


# %% nbgrader={"grade": false, "grade_id": "finale-fit", "locked": true, "schema_version": 3, "solution": false, "task": false}
def fit(square, relu, weighted_sum, clip, steps):
    """Train from a fixed start; return both losses of each step and the held-out predictions."""
    torch.manual_seed(0)
    line, first, last = (
        torch.nn.Linear(a, b, dtype=torch.float64) for a, b in ((10, 1), (10, 16), (16, 1))
    )
    parameters = [*line.parameters(), *first.parameters(), *last.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=0.01, weight_decay=0.03)
    losses = []
    for _ in range(steps):
        blend = weighted_sum(line(inputs), last(relu(first(inputs))), 0.5, 0.5).squeeze(1)
        prediction = clip(middle + spread * blend, lowest, highest)
        errors = square((prediction - target) / spread)
        losses.append((errors[train].mean().item(), errors[held_out].mean().item()))
        optimiser.zero_grad()
        errors[train].mean().backward()
        optimiser.step()
    return np.array(losses), prediction[held_out].detach()


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
steps = 20 if os.environ.get("NBGRADER_EXECUTION") else round(200 * SCALE)  # few while grading
mine, prediction = fit(Square.apply, MyReLU.apply, WeightedSum.apply, Clip.apply, steps)
torchs, _ = fit(
    square=torch.square,
    relu=torch.relu,
    weighted_sum=lambda x1, x2, w1, w2: w1 * x1 + w2 * x2,
    clip=torch.clamp,
    steps=steps,
)
print(f"held-out loss, yours:   {mine[-1, 1]:.12f}")
print(f"held-out loss, torch's: {torchs[-1, 1]:.12f}")
print(f"greatest difference of any loss in {steps} steps: {np.abs(mine - torchs).max():.1e}")

# %% nbgrader={"grade": false, "grade_id": "finale-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for column, name, colour in [(0, "training", "blue"), (1, "held-out", "vermillion")]:
    left.plot(mine[:, column], color=palette[colour], lw=6, alpha=0.4, label=f"yours, {name}")
    left.plot(torchs[:, column], color=palette[colour], ls="--", label=f"torch's, {name}")
left.set(title="Your gradients train as torch's do", xlabel="step")
left.set(ylabel="mean squared error ÷ variance")
left.legend()
right.scatter(target[held_out], prediction, color=palette["blue"], alpha=0.7, label="one person")
right.plot([25, 346], [25, 346], color=palette["black"], ls=":", label="perfect")
right.set(
    title="100 people the model has never seen",
    xlabel="disease progression, measured (score)",
    ylabel="disease progression, predicted (score)",
)
right.legend()
show(
    figure,
    alt="Left: training and held-out loss fall over the steps, and the curves of your Functions and "
    "of torch's operations lie on each other. Right: predictions for the held-out people against "
    "the measured values, scattered around the diagonal.",
)

# %% [markdown]
# The curves lie on each other. Every step of that training passed through four backward methods that *you* wrote: hundreds of times, and a single wrong sign anywhere would have pulled the curves apart.

# %% [markdown]
# ## Quiz
#
# Seven questions to see what has stayed. Every answer is explained, right or wrong.

# %% nbgrader={"grade": false, "grade_id": "quiz-template", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("template")

# %% nbgrader={"grade": false, "grade_id": "quiz-template-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("template")

# %% [markdown]
# ## Summary
#
# | part | what it is |
# |---|---|
# | `Function` | a node of the graph whose backward you write |
# | `forward(ctx, …)` | computes the output, notes what backward needs |
# | `backward(ctx, grad_output)` | vector–Jacobian product: upstream × local; one value per argument, `None` where there is no gradient |
# | `apply` | the way to call it; nothing else attaches backward |
# | `ctx` | the backward node itself |
# | `save_for_backward` | tensors, one call; only what backward reads |
# | attributes of `ctx` | numbers, shapes, everything that is not a tensor |
# | `needs_input_grad` | which gradients are wanted at all |
# | `setup_context` | the modern form: compute and note, separately |
# | `gradcheck` | an independent witness, in float64, away from kinks: necessary, not sufficient |
#
# Three habits: never write into `grad_output`; save nothing you do not read; believe no gradient you have not checked.

# %% [markdown]
# ## Where to go next
#
# **Lesson 02, Save the output, not the input.** Some derivatives are made of the output: $\sigma' = \sigma (1 - \sigma)$. You will see when that saves memory, when it is impossible, and how a formula that is right on paper turns into NaN at −1000.
#
# Later: more than one tensor input and broadcasting (03), gradients that are deliberately not derivatives (04), gradients of gradients (05), memory (06), and attention (07).
