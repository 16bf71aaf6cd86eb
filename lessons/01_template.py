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
# At the end you will have four Functions of your own, and an instrument that tells whether a gradient is right. With them you will fit a model to the records of 442 patients, and reach the same losses as torch does with its own operations.
#
# **Time:** about 100 minutes: half of it to read and predict, half for the five exercises. Two evenings are fine: your progress is kept.
#
# **You need:** Python, torch tensors, and the derivative of a function of one variable.
#
# **How it works.** Write where a cell says `YOUR CODE HERE`, in place of the line `raise NotImplementedError()`. Run the cell, then the `check(…)` under it, as often as you like. Stuck? `hint(Square)` gives one hint at a time, and `explain("gradient-sign")` explains a word of a report.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import gc
import os
import time
import warnings
import weakref

import numpy as np
import torch
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, explain, hint, progress
from widgets import (
    attempt,
    default_operations,
    figures,
    function_builder,
    gradient_flow,
    outcome,
    predict,
    quiz,
    suspects,
    verdict,
    xray,
)

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other

# %% [markdown]
# ## Why write a backward pass yourself?
#
# Autograd records what you do with tensors and plays it backwards. There are three walls it cannot climb. Before you see them, guess at the second:

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-round", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("round")

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

outcome("round")

# %% [markdown]
# So you write a Function of your own where
#
# 1. the operation is **not made of torch operations** (NumPy, SciPy, C++, a GPU kernel);
# 2. you **want another gradient** than the true one (round, sign, gradient reversal);
# 3. the automatic gradient is **unstable**;
# 4. you want to **keep less memory** between the two passes, or do less work.
#
# FlashAttention is a case of 1 and 4. Training networks whose weights are +1 and −1 is a case of 2. You will build both.
#
# ## Anatomy
#
# A Function is a class with two static methods. `forward(ctx, …)` computes the output and notes what backward will need. `backward(ctx, grad_output)` turns the gradient that arrives into the gradient of the input. `ctx` is the notepad that travels from the first to the second. Here is a complete one, for $y = \sin x$ and $dy/dx = \cos x$:


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
# | `return grad_output * torch.cos(x)` | what arrives × the local derivative, one gradient for the one input |
#
# You call it by `Sine.apply(x)`, which torch provides, and without `ctx`: torch makes one for each call. Pass arguments by position (torch 2.13 and later take them by name, too).
#
# ## Exercise 1: Square
#
# Your first Function, and the smallest: $y = x^2$.
#
# **Contract.** A contract is a list of promises, and the report of the check has a line for each. `Square.apply(x)` promises
#
# * **values**: the square of each element of `x`
# * **gradients**: the slope times `grad_output`, whatever that is
# * **second derivatives** right: save an *input* or the *output* itself, not something computed from them (a mask of booleans is fine). Lesson 02 shows why.
# * **special points**: right at 0 and for inputs of ±1000
# * **memory**: nothing is kept for backward but `x`
# * **shapes, strides, dtypes**: tensors of any size, transposed and expanded ones and empty batches too; float64, float32 and bfloat16, and the dtype stays as it is
# * **nothing else is touched**: no input, no `grad_output`, no saved tensor is written to, and two calls know nothing of each other
# * **your own work**: backward is arithmetic of yours, without autograd in it. It works on whole tensors, as forward does: no Python loop goes over rows or elements
#
# The last three are the same for every Function of this course. So is what follows:
#
# * every tensor that forward keeps, a mask too, goes through `ctx.save_for_backward`. Forward may return an input itself, and backward an expanded tensor
# * two tensor arguments may be one and the same. A dimension that a Function works along is never empty, unless the contract says what comes out
# * *right* means up to rounding, counted from the largest number of the tensor (or from 1, if that is larger): 13 digits in float64, so write constants in full; 4 in float32; 1 in bfloat16. Whole numbers are exact
# * special points are asked in float64, and ±1000 or more in float32, where a small number beside large ones keeps digits of its own if torch's does; bfloat16 is asked with ordinary numbers
# * where an input is infinite, what is finite in torch's answer, value or gradient, is right in yours
# * new tensors are made on the device of the input, as `torch.zeros_like(x)` or `device=x.device` makes them: on a GPU others stop
# * second derivatives are asked where the function is smooth; at a kink or an infinity only if the contract says so
#
# `check(Square, hidden=True)`, which runs when you are graded, asks the same with other numbers.
#
# **To do.** Fill in both methods. What is $dy/dx$? What must backward know to compute it? And where does `grad_output` come in?


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
# Then write the line with `backward()` a second time under itself, and run the cell again: gradients **accumulate** in a leaf. They are added, not replaced.

# %% nbgrader={"grade": false, "grade_id": "try-square", "locked": false, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(10 * Square.apply(x)).sum().backward()
x.grad

# %% nbgrader={"grade": true, "grade_id": "square-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Square)

# %% nbgrader={"grade": true, "grade_id": "square-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Square are checked here with other numbers.
# You can run it now: check(Square, hidden=True)
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
# `xray` runs your Function once, and you walk through it: what forward got and saved, what arrived in backward, what reached the leaf. It shows *your* class, as it is now. After a check that found something wrong it shows the very run that went wrong, at the step that does.

# %% nbgrader={"grade": false, "grade_id": "see-square", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Square)

# %% [markdown]
# ## The mathematics: one link of a chain
#
# You have written your first backward. Now for what it means. Take three quantities in a row: $x$ makes $y$, and $y$ makes the loss $L$. The chain rule says
#
# $$\frac{dL}{dx} \;=\; \underbrace{\frac{dL}{dy}}_{\text{upstream}} \cdot \underbrace{\frac{dy}{dx}}_{\text{local}} .$$
#
# Read it as a message passed backwards. The **upstream gradient** $dL/dy$ arrives from the right. You multiply it by your **local derivative**, and hand the product to the left. Your operation need not know what the loss is: all it ever learns of it is that one message, called `grad_output`.

# %% nbgrader={"grade": false, "grade_id": "demo-anatomy", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.anatomy()

# %% [markdown]
# Here is the message on its way through a graph with two branches. Walk it with the buttons or the slider, or press Play: five steps forward, four back.
#
# In the last step the chain rule is one line: $1 \times 2 \times 2 = 4$, the upstream gradient times the derivative $2x$ of the square at $x = 2$.

# %% nbgrader={"grade": false, "grade_id": "see-gradient-flow", "locked": true, "schema_version": 3, "solution": false, "task": false}
gradient_flow()

# %% [markdown]
# Now let $x$ and $y$ be tensors with $n$ and $m$ elements. Each output may depend on each input, so there are $m \times n$ local derivatives: the **Jacobian**, $J_{ij} = \partial y_i / \partial x_j$. The loss feels $x_j$ through every $y_i$, so the contributions add up:
#
# $$\frac{\partial L}{\partial x_j} = \sum_i \frac{\partial L}{\partial y_i}\, J_{ij}
# \qquad\text{or, with } v = \frac{\partial L}{\partial y}: \qquad v^{\mathsf T} J .$$
#
# This **vector–Jacobian product** is the one thing a backward has to compute. Here are two Jacobians, of an element-wise operation and of a running sum:

# %% nbgrader={"grade": false, "grade_id": "demo-jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.2, 0.8, 1.4, 2.0, 2.6], dtype=torch.float64)
J_sin = torch.autograd.functional.jacobian(torch.sin, x)
J_cumsum = torch.autograd.functional.jacobian(lambda t: torch.cumsum(t, 0), x)
figures.jacobians(
    {
        "sin(x): each output has its own input": J_sin,
        "cumsum(x): outputs share inputs": J_cumsum,
    }
)

# %% [markdown]
# On the left only the diagonal is alive. For an **element-wise** operation $v^{\mathsf T} J$ is therefore just an element-wise product, `grad_output * local`.
#
# On the right it is not. Still, nobody builds the matrix: look at its columns, and $v^{\mathsf T} J$ turns out to be a running sum from the other end.

# %% nbgrader={"grade": false, "grade_id": "demo-vjp", "locked": true, "schema_version": 3, "solution": false, "task": false}
v = torch.tensor([1.0, -2.0, 0.5, 3.0, 1.0], dtype=torch.float64)

print("sin     v @ J           :", v @ J_sin)
print("        v * cos(x)      :", v * torch.cos(x))
print("cumsum  v @ J           :", v @ J_cumsum)
print("        reversed cumsum :", v.flip(0).cumsum(0).flip(0))

# %% [markdown]
# That is the art: find a cheap formula for $v^{\mathsf T} J$. The matrix itself is out of the question. For one million inputs and outputs it would have $10^{12}$ entries, 8 terabytes in float64.
#
# Note what backward is *not*. It does not undo the operation. From `grad_output` it does not get $x$ back; it tells how the loss would change if $x$ did.
#
# ## Who is ctx, and who checks you?
#
# What *is* `ctx`? Not a copy of anything, and not a context manager. It is **the node of the graph itself**: the object that you meet afterwards as `y.grad_fn`.

# %% nbgrader={"grade": false, "grade_id": "demo-node", "locked": true, "schema_version": 3, "solution": false, "task": false}
notepads = []


class CuriousSine(Sine):
    @staticmethod
    def forward(ctx, x):
        notepads.append(ctx)
        return Sine.forward(ctx, x)


x = torch.tensor([0.3, 1.0], requires_grad=True)
y = CuriousSine.apply(x)
node = y.grad_fn
print("ctx is y.grad_fn:           ", notepads.pop() is node)
print("what was saved is x itself: ", node.saved_tensors[0] is x)
print("the node:                   ", node.name())
print("the next one on the way back:", node.next_functions[0][0].name())
print("a node of torch's own:      ", torch.sin(x).grad_fn.name())

# %% [markdown]
# Saving is not copying: the saved tensor *is* `x`, merely kept alive. And torch's own operations are nodes in the same graph, written in C++. Yours takes its place among them as an equal.
#
# Does anybody check that your backward belongs to your forward?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-believed", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("believed")


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
print("Believed(x) gives no tensor, only a warning:", str(caught[0].message).split(". ")[-1])

outcome("believed")

# %% [markdown]
# The backward is attached by `apply` alone: call `forward` directly, and autograd differentiates the lines inside it as if there were no Function.
#
# See it place by place. Pick a Function and slide `x`: the straight line has the slope that backward returned, so it touches the curve where backward is right. Compare `Sine`, `Believed` and your `Square`.

# %% nbgrader={"grade": false, "grade_id": "see-function-builder", "locked": true, "schema_version": 3, "solution": false, "task": false}
function_builder(Sine, Believed, "Cube", "Exponential")

# %% [markdown]
# ## What to remember, and how
#
# `ctx` offers two ways to remember something:
#
# - `ctx.save_for_backward(tensor, …)` for **tensors**: inputs, outputs, a mask;
# - attributes such as `ctx.exponent = 3` for **everything else**: numbers, shapes, strings.
#
# The rule for *what* is short: **save what backward reads, and nothing more.**
#
# Three small facts about `save_for_backward`: inside forward, `saved_tensors` is still an empty tuple. A second call *replaces* the first. And a number in it is an error, reported after forward has finished (and only when an input requires a gradient).


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
# Why not put tensors into attributes too? It *works*: right gradients, even right second derivatives. What you lose is protection. Here are two Functions for $y = 1/x$ that differ in this point only. The derivative is $-1/x^2 = -y^2$, so the *output* is all that backward needs.


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

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-edited", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("edited")


# %% nbgrader={"grade": false, "grade_id": "demo-probe-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
def edited_after_forward(function):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = function.apply(x)
    y.add_(10)
    y.sum().backward()
    return x.grad


print("true gradient: -1 and -0.25")
for function in both:
    print(f"\n{function.__name__}")
    attempt(edited_after_forward, function)

outcome("edited")

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Three more things an attribute loses

# %% [markdown]
# - **Memory.** An output in an attribute makes a reference cycle: the node holds the output, the output its node. Fifty results that nobody needs stay until Python's garbage collector comes by. (An *input* makes no cycle.)
# - **Release.** Saved tensors are freed once backward has used them, and a second backward is refused. The attribute stays, and a second backward goes through unnoticed.
# - **Tools.** Offloading, compressing and checkpointing work through hooks on saved tensors. They never see an attribute.
#
# The cell below measures all three.

# %% nbgrader={"grade": false, "grade_id": "demo-probes", "locked": true, "schema_version": 3, "solution": false, "task": false}
for function in both:
    print(f"\n{function.__name__}")
    gc.collect()
    gc.disable()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    outputs = [weakref.ref(function.apply(x)) for _ in range(50)]
    alive = sum(output() is not None for output in outputs)
    gc.enable()
    print(f"results still alive: {alive} of 50")

    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = function.apply(x)
    print("tensors that hooks have seen:", len(seen))

    y.sum().backward()
    print("a second backward: ", end="")
    attempt(y.backward, torch.ones(2))

# %% [markdown]
# ### The rule
#
# **Tensors through `save_for_backward`, everything else as attributes.** That is also why only tensors are allowed there: version, release and hooks are matters of tensors, and mean nothing for the number 3.
#
# One more courtesy: what you read from `saved_tensors` is often the caller's own tensor. Never write into it.
#
# ## At a kink
#
# $\max(x, 0)$ has no derivative at 0: the slope is 0 on the left and 1 on the right. Every number between the two is a **subgradient**, a slope of a line that touches the curve there and stays below it. Somebody has to choose.

# %% nbgrader={"grade": false, "grade_id": "demo-kinks", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.kink()

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

# %% [markdown]
# All of these are legitimate, and they differ, even between versions: at its bounds `clamp` says 1 in torch 2.13, and 0 since torch 2.14. If your Function stands in for one of torch's, say which convention it follows. In code it is a single sign: `x > 0` gives 0 at the kink, `x >= 0` gives 1.

# %% [markdown]
# ## Exercise 2: MyReLU
#
# $y = \max(x, 0)$, the most used activation there is. The gradient passes where $x$ is positive and stops elsewhere.
#
# **Contract.** `MyReLU.apply(x)` promises
#
# * **values** of `torch.relu`
# * **gradients** right
# * **second derivatives** right: 0 in `x`
# * **special points**: the gradient is **0 at x = 0**; right for inputs of ±1000, and at $-\infty$
# * **memory**: at most as many bytes as `x` has: `x`, the output or a mask of booleans. The choice is yours; whichever it is goes through `save_for_backward`
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
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
# When this notebook is graded, the same promises of MyReLU are checked here with other numbers.
# You can run it now: check(MyReLU, hidden=True)
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
# Both of your Functions in the graph you walked through before: are the numbers under the boxes the same?

# %% nbgrader={"grade": false, "grade_id": "see-your-flow", "locked": true, "schema_version": 3, "solution": false, "task": false}
gradient_flow(operations=default_operations(Square, MyReLU))

# %% [markdown]
# ## One gradient per argument
#
# A Function may take several arguments, and not all of them are tensors. One rule covers every case: **backward returns one value for each argument of forward, `ctx` aside, in the same order.** For an argument that has no gradient the value is `None`.
#
# ```
# def forward(ctx, x, weight, exponent): …
# def backward(ctx, grad_output): …; return grad_x, grad_weight, None
# ```
#
# What if you get it wrong? Below is a Function `forward(ctx, x, n)` with five endings of backward, and a sixth whose backward forgets its `return`.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-forgotten-return", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("forgotten-return")


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


class Forgetful(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        Sine.backward(ctx, grad_output)  # computed, and not returned


endings = {
    "return 2 * g, None": lambda g: (2 * g, None),
    "return 2 * g": lambda g: 2 * g,
    "return None, 2 * g": lambda g: (None, 2 * g),
    "return [2 * g, None]": lambda g: [2 * g, None],
    "return 2 * g, None, None": lambda g: (2 * g, None, None),
}


# %% nbgrader={"grade": false, "grade_id": "demo-arguments-outcome", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gradient_of(function, *constants):
    x = torch.tensor(1.0, requires_grad=True)
    function.apply(x, *constants).backward()
    return f"x.grad is {x.grad}"


for words, ending in endings.items():
    print(f"\n{words}")
    attempt(gradient_of, scale_with(ending), 2.0)
print("\n(a forgotten return)")
attempt(gradient_of, Forgetful)

outcome("forgotten-return")

# %% [markdown]
# Too few is an error, and so is a list. An extra `None` at the end is forgiven. The dangerous one is the last.
#
# Each gradient must have the **shape of its input**. torch rejects most wrong shapes, and quietly repairs some; lesson 03 is about that.
#
# Not every tensor needs a gradient: think of data, or of frozen weights. `ctx.needs_input_grad` has one boolean for each argument of the call. Where it says `False`, return `None` and save yourself the work. (A gradient that happens to be 0 is a tensor of zeros: `None` says that there is none.)


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
# **Contract.** `WeightedSum.apply(x1, x2, w1, w2)` promises
#
# * **values** of $w_1 x_1 + w_2 x_2$. Python ints are numbers too. A **tensor** given for `w1` or `w2` is refused with a `TypeError` that says, in words of yours, what is wanted (no other exercise asks for that)
# * **gradients** of `x1` and `x2`; `None` for `w1` and `w2`, and for an input that needs none
# * **second derivatives** right
# * **special points**: weights of 0, 1 and −1, inputs of 0 and of ±1000
# * **memory**: no tensor is kept for backward at all
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# `x1` or `x2` may be frozen: then backward returns `None` for it. Torch would not complain about a gradient that nobody wants, but the work is wasted, so asking `ctx.needs_input_grad` **before** you compute is an **obligation** in this course: it belongs to the gradients of every Function with several tensors. (What they share may be computed first.)
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
# When this notebook is graded, the same promises of WeightedSum are checked here with other numbers.
# You can run it now: check(WeightedSum, hidden=True)
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
# So far forward did two jobs: compute, and note. torch lets you write them apart. `forward` then has no `ctx` and is plain mathematics; `setup_context` gets the inputs and the output and does the saving. `backward` stays as it is.


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
# torch recommends this form, and `torch.func` accepts no other (for `vmap` it also wants `generate_vmap_rule = True` in the class). The older one can do one thing more: save an intermediate result of forward.
#
# **You may hand in any exercise in either form.** The lessons use the older one, because it is what you will meet in most code.

# %% [markdown]
# ## Exercise 4: Clip
#
# $y = x$ between two bounds, and the nearer bound outside: `torch.clamp`. Inside, the gradient passes; outside, the output no longer depends on $x$.
#
# **Contract.** `Clip.apply(x, low, high)` with numbers `low` ≤ `high` promises
#
# * **values** of `torch.clamp`
# * **gradients** of `x`; `low` and `high` get `None`
# * **second derivatives** right
# * **special points**: **at the bounds themselves the gradient passes** (torch 2.13 does the same, torch since 2.14 does not: a contract should say); bounds may be 0, equal or infinite
# * **memory**: at most as many bytes as `x` has
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
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
# When this notebook is graded, the same promises of Clip are checked here with other numbers.
# You can run it now: check(Clip, hidden=True)
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
# The tensor that arrives in backward may be shared: with another branch of the graph, or with the caller. Writing into it is tempting: `grad_output *= 2` saves a tensor, doesn't it?


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

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-residual", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("residual")


# %% nbgrader={"grade": false, "grade_id": "demo-residual", "locked": true, "schema_version": 3, "solution": false, "task": false}
def residual(h):
    return CarelessDouble.apply(h) + h


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 1
residual(h).backward(torch.ones(3))
print("f(h) + h, with h computed from x:", x.grad, "  true: 3 everywhere")

print("\nand under the most ordinary loss, .sum():")
attempt(residual(x * 1).sum().backward)

outcome("residual")

# %% [markdown]
# `.sum()` sends a gradient whose elements all lie in *one* place in memory (its strides are 0), so editing it in place is refused. With a masked edit, `grad_output[x < 0] = 0`, even that protection is lost: one negative element sets the whole gradient to zero.
#
# **So never write into `grad_output`.** Make a new tensor: `grad_output * 2`, `torch.where(…)`. In place on a tensor that *you have just made* is fine.

# %% [markdown]
# ## How do you know that it is right?
#
# Nudge one input a little in each direction, and look how far the output moves:
#
# $$\frac{\partial f}{\partial x_i} \;\approx\; \frac{f(x + \varepsilon e_i) - f(x - \varepsilon e_i)}{2\,\varepsilon}.$$
#
# This **central difference** needs no derivative at all. It is slow (two calls of $f$ for each element) but it is an independent witness, and that is what a test needs.

# %% nbgrader={"grade": false, "grade_id": "demo-secant", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.secants(point=0.6, step=0.6)

# %% [markdown]
# ## Exercise 5: numerical_gradient
#
# **Contract.** `numerical_gradient(f, x, eps=1e-6)` promises
#
# * **values**: the gradient of `f` at the float64 tensor `x` by the central difference above, with the step `eps`: a float64 tensor of the shape of `x`. `f` takes a tensor like `x` and returns one number (a float, or a tensor without dimensions)
# * **shapes, strides, dtypes**: whatever the shape of `x` is, empty and transposed tensors too
# * **nothing else is touched**: afterwards `x` is as it was, to the last bit
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
# When this notebook is graded, the same promises of numerical_gradient are checked here with other numbers.
# You can run it now: check(numerical_gradient, hidden=True)
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
# Two errors work against each other:
#
# - **truncation**: the curve is not a straight line; about $\tfrac{1}{6}\varepsilon^2 |f'''|$, small for a small step;
# - **rounding**: two nearly equal numbers are subtracted; about $|f|\,\varepsilon_{\text{machine}}/\varepsilon$, *large* for a small step.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-small-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("small-step")


# %% nbgrader={"grade": false, "grade_id": "demo-u-curve", "locked": true, "schema_version": 3, "solution": false, "task": false}
def slope_errors(dtype, steps, at=1.2345):
    """Absolute error of the central difference of exp, for each step."""
    x = torch.tensor(at, dtype=dtype)
    rises = [float((torch.exp(x + step) - torch.exp(x - step)) / (2 * step)) for step in steps]
    return np.abs(np.array(rises) - np.exp(float(x)))


steps = np.logspace(-1, -12, 45)
errors64, errors32 = slope_errors(torch.float64, steps), slope_errors(torch.float32, steps)
figures.u_curve(steps, errors64, errors32, at=1.2345)

outcome("small-step")

# %% [markdown]
# In float64 about ten digits are right at the bottom of the U. In float32 at $10^{-6}$ the rounding error, relative to the value, is about $\varepsilon_{\text{machine}}/\varepsilon = 1.2 \cdot 10^{-7} / 10^{-6} = 0.12$: the witness itself is drunk. Below $6 \cdot 10^{-8}$ it sees nothing at all, because $x + \varepsilon$ and $x - \varepsilon$ are the same float32 number.
#
# **That is why gradients are checked in float64.** With float32 a perfect backward would be called wrong.
#
# ## gradcheck
#
# torch has such a witness built in. `gradcheck(f, inputs)` builds the full Jacobian twice, by central differences and by your backward, and compares. `gradgradcheck` does the same with the second derivative. Inputs are float64 and require a gradient.


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
# Its defaults are well chosen: `eps=1e-6`, `atol=1e-5`, `rtol=1e-3`. It asks two things of its inputs: float64 (with float32 it warns, and then usually fails), and no element too near to a kink. How near is too near?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-near-a-kink", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("near-a-kink")

# %% nbgrader={"grade": false, "grade_id": "demo-gradcheck-conditions", "locked": true, "schema_version": 3, "solution": false, "task": false}
for distance in (1e-3, 2e-6, 5e-7, 0.0):
    near = torch.tensor([distance, 1.0], dtype=torch.float64, requires_grad=True)
    passed = gradcheck(torch.relu, near, raise_exception=False)
    print(f"torch.relu, {distance:6.0e} from its kink: {passed}")

single = torch.tensor([0.3, 1.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("\ntorch.exp in float32:", gradcheck(torch.exp, single, raise_exception=False))
print("the warning:", str(caught[0].message)[:100], "…")

outcome("near-a-kink")

# %% [markdown]
# At the kink itself the central difference is ½, which is not what torch has chosen. So it is the step that matters: stay more than `eps` away.
#
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
# Add to the list what you have seen: the edited `grad_output` passed too. gradcheck is necessary, never sufficient. Choose realistic values, several shapes, and tighter tolerances (`rtol=1e-6, atol=1e-8` is no problem in float64); compare values with a reference; run `gradgradcheck`. `check(…)` does all of that and more, and says what the cause is.
#
# ## When not to write one
#
# Composition first. If the operation is made of torch operations, autograd already has its gradient: the right one, to any order, on every device. A Function of your own adds a class to maintain, and it is no faster. Nothing is *fused* by standing inside one `forward`: every line is still an operation of its own, plus the Python around it.


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
# Time for real work. scikit-learn brings along the records of 442 people with diabetes: ten measurements each (age, body mass index, blood pressure, six blood values, sex), and a number that says how far the disease had advanced one year later, from 25 to 346. We predict that number.

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
figures.fits(mine, torchs, target[held_out], prediction)

# %% [markdown]
# The curves lie on each other. Every step passed through four backward methods that *you* wrote: a single wrong sign anywhere would have pulled them apart.

# %% [markdown]
# ## Find the bug
#
# Two people have handed in `MyReLU`. Both get the right gradients in a plain chain, and `gradcheck` is content with both. One of them will ruin somebody's week. Read, decide, and only then have them judged.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("template")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: in a chain, in a sum of two branches, with gradcheck …
x = torch.tensor([-1.0, 2.0], requires_grad=True)
A.apply(x * 1).backward(torch.ones(2))
x.grad

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("template")

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
# ## Sources
#
# - Atılım Güneş Baydin and others (2018): [*Automatic differentiation in machine learning: a survey*](https://arxiv.org/abs/1502.05767). What forward and reverse mode are, and where the ideas come from.
# - Andreas Griewank and Andrea Walther (2008): [*Evaluating Derivatives*](https://doi.org/10.1137/1.9780898717761). The book of the field; chapter 3 has the vector–Jacobian product.
# - Adam Paszke and others (2019): [*PyTorch: an imperative style, high-performance deep learning library*](https://arxiv.org/abs/1912.01703). How the graph is recorded while your code runs.
# - Bradley Efron and others (2004): [*Least angle regression*](https://doi.org/10.1214/009053604000000067). Where the records of the 442 patients come from.
# - PyTorch (torch 2.13): [*Extending PyTorch*](https://docs.pytorch.org/docs/stable/notes/extending.html). Functions, `setup_context` and `torch.func` in torch's own words.
# - PyTorch (torch 2.13): [*Gradcheck mechanics*](https://docs.pytorch.org/docs/stable/notes/gradcheck.html). How the two Jacobians are built and compared.

# %% [markdown]
# ## Where to go next
#
# **Lesson 02, Save the output, not the input.** Some derivatives are made of the output: $\sigma' = \sigma (1 - \sigma)$. You will see when that saves memory, when it is impossible, and how a formula that is right on paper turns into NaN at −1000.
