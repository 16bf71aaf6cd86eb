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
# # One gradient per input
#
# A linear layer has three inputs: data, a weight matrix and a bias. So its backward returns three gradients, of three different shapes. Getting each of them right, shape and value, is what this lesson is about.
#
# At the end your Functions make a classifier of handwritten digits, loss function included, that trains to the same losses as `torch.nn`, step by step.
#
# **Time:** about two hours: 40 minutes to read and predict, 80 for eight exercises (two of them are twins). Folded sections are asides.
#
# **You need:** lessons 01 and 02, matrix products, and broadcasting as NumPy and torch have it.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import (
    Operation,
    attempt,
    figures,
    gradient_flow,
    outcome,
    predict,
    quiz,
    saved_ledger,
    suspects,
    verdict,
    xray,
)

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(3)

# %% [markdown]
# ## The mathematics: write the indices
#
# In a linear layer every output of a row depends on every input of that row, and on a whole row of weights. The Jacobian is not diagonal any more, and nobody could build it: for a layer 512 → 512 and a batch of 128, that of the weights alone takes 64 GiB in float32. To find $v^{\mathsf T} J$ without it, you need one tool: indices.
#
# Take $y = A v$ with a matrix $A$ of shape $(m, n)$ and a vector $v$ of $n$ numbers, so $y_i = \sum_j A_{ij} v_j$. Let $g_i = \partial L / \partial y_i$ arrive from above. Two questions give every gradient of this kind:
#
# * **Which outputs does this element touch?** $v_j$ touches all of them: a sum over $i$. $A_{ij}$ touches $y_i$ alone: no sum.
# * **With which factor?** The one it was multiplied by.
#
# $$\frac{\partial L}{\partial v_j} = \sum_i g_i A_{ij} = (A^{\mathsf T} g)_j,
# \qquad
# \frac{\partial L}{\partial A_{ij}} = g_i v_j .$$
#
# And the result has the **shape of the input it belongs to**: $A^{\mathsf T} g$ has $n$ numbers as $v$ has, and $g_i v_j$ fills a matrix of the shape of $A$.


# %% nbgrader={"grade": false, "grade_id": "demo-mat-vec", "locked": true, "schema_version": 3, "solution": false, "task": false}
class MatVec(Function):
    """y = A v for a matrix A (m, n) and a vector v (n)."""

    @staticmethod
    def forward(ctx, A, v):
        ctx.save_for_backward(A, v)
        return A @ v

    @staticmethod
    def backward(ctx, grad_output):
        A, v = ctx.saved_tensors
        grad_A = torch.outer(grad_output, v)
        grad_v = A.T @ grad_output
        print("g", tuple(grad_output.shape), "→ grad_A", tuple(grad_A.shape), end=" ")
        print("and grad_v", tuple(grad_v.shape))
        return grad_A, grad_v


A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
v = torch.tensor([1.0, 0.0, -1.0], requires_grad=True)
y = MatVec.apply(A, v)
y.backward(torch.tensor([1.0, 10.0]))
print("grad_A =", A.grad.tolist())
print("grad_v =", v.grad.tolist())

# %% [markdown]
# The rows of `grad_A` are $1 \cdot v$ and $10 \cdot v$. `grad_v` mixes the rows of $A$: $1 \cdot (1, 2, 3) + 10 \cdot (4, 5, 6)$.
#
# ### Square shapes hide a transpose
#
# Now somebody forgets the transpose and writes $A g$.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-symmetric", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("symmetric")


# %% nbgrader={"grade": false, "grade_id": "demo-square", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Untransposed(Function):
    """y = A v, with A in place of its transpose in backward."""

    @staticmethod
    def forward(ctx, A, v):
        ctx.save_for_backward(A, v)
        return A @ v

    @staticmethod
    def backward(ctx, grad_output):
        A, v = ctx.saved_tensors
        return torch.outer(grad_output, v), A @ grad_output


oblong = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
square = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
symmetric = (square + square.T).detach().requires_grad_()
v = torch.randn(3, dtype=torch.float64, requires_grad=True)
print("2 × 3:              ", end="")
attempt(lambda: Untransposed.apply(oblong, v).sum().backward())
print(
    "3 × 3, random:      gradcheck says",
    gradcheck(Untransposed.apply, (square, v), raise_exception=False),
)
print("3 × 3, symmetric:   gradcheck says", gradcheck(Untransposed.apply, (symmetric, v)))

outcome("symmetric")

# %% [markdown]
# So test with sizes that are all different, and with random numbers. The checks of this course do.
#
# > **Habit.** Write the shapes beside each product before you run it. With all sizes different there is often only one product that fits.
#
# ## The layer
#
# `F.linear` computes $y = x W^{\mathsf T} + b$, with $x$ of shape (batch, in), $W$ (out, in) and $b$ (out):
#
# $$y_{ro} = \sum_i x_{ri} W_{oi} + b_o .$$
#
# Ask the two questions three times. Which $y_{ro}$ does $x_{ri}$ touch? Which does $W_{oi}$? And $b_o$? The last one is used in **every row** of the batch.
#
# ### Any number of batch dimensions
#
# `F.linear` works on the last dimension of `x`; all others are "rows". Weight and bias served all of them, so their gradients **sum over all of them**. The easy way is to flatten the rows first, by `x.reshape(-1, x.shape[-1])`.
#
# ### An optional argument
#
# The bias may be left out. Then `ctx.needs_input_grad` has two entries, one for each argument that was **really passed**, and `ctx.needs_input_grad[2]` is an `IndexError`. Note in forward whether there is a bias. A third `None` for a bias that was not passed is fine: torch forgives extra `None`s at the end.
#
# ## Exercise 1: MyLinear
#
# **Contract.** `MyLinear.apply(x, weight, bias=None)` promises
#
# * **values** of `F.linear`: `weight` (out, in); `bias` (out), or `None`, or left out
# * **gradients**: three, each of **exactly** its input's shape, `None` where none is needed
# * **second derivatives** right
# * **special points**: right for zeros and for inputs of ±1000
# * **memory**: `x` and `weight`. Does backward read the bias?
# * **shapes, strides, dtypes**: `x` (…, in) with any number of batch dimensions, none included; the rest as for every Function
# * **nothing else is touched** · **your own work**: as for every Function
#
# Forward may call `F.linear`. In backward, three lines of mathematics are yours.


# %% nbgrader={"grade": false, "grade_id": "my-linear", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MyLinear(Function):
    """x · weightᵀ + bias; x (…, in), weight (out, in), bias (out) or None. Keeps x and weight."""

    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        rows = grad_output.reshape(-1, weight.shape[0])
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = rows.T @ x.reshape(-1, weight.shape[1])
        if ctx.has_bias and ctx.needs_input_grad[2]:
            grad_bias = rows.sum(0)
        return grad_x, grad_weight, grad_bias
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "my-linear-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(MyLinear)

# %% nbgrader={"grade": true, "grade_id": "my-linear-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of MyLinear are checked here with other numbers.
# You can run it now: check(MyLinear, hidden=True)
### BEGIN HIDDEN TESTS
check(MyLinear, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: MyLinear
#
# **Derivation.** From $y_{ro} = \sum_i x_{ri} W_{oi} + b_o$: $x_{ri}$ touches all outputs of its row, $\partial L/\partial x_{ri} = \sum_o g_{ro} W_{oi}$, which is $gW$. $W_{oi}$ touches output $o$ of every row, $\partial L/\partial W_{oi} = \sum_r g_{ro} x_{ri}$, which is $g^{\mathsf T} x$. $b_o$ is added in every row: $\sum_r g_{ro}$.
#
# **What is saved, and why.** $x$ (for the gradient of $W$) and $W$ (for that of $x$). No gradient contains $b$, so it is not saved; tutorials that save it keep a tensor for nothing and, worse, raise a false alarm (next section).
#
# **Common mistakes.** `weight.T` in backward, which fails only when `weight` is not square. `x.T @ g`, the transpose of the right gradient. `grad_output.sum(0)`, which leaves a dimension too many when `x` has three. `g.mean(0)`, as if the loss's mean belonged here. `needs_input_grad[2]` without a bias. `view` in place of `reshape`: the gradient that arrives need not be contiguous.
#
# **Another way.** `torch.einsum("...o,...i->oi", grad_output, x)` says the same with the indices of the derivation, for any number of batch dimensions.

# %% [markdown]
# ### See it run
#
# Where backward returns, look at the column *shape*: each gradient has the shape of its input.

# %% nbgrader={"grade": false, "grade_id": "see-my-linear", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(MyLinear)

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### What needs_input_grad saves

# %% [markdown]
# The matrix products are where the time of training goes: one in forward, one for `x`, one for `weight`. torch can count their multiplications and additions. Where the input is data and nobody asks for its gradient, backward costs as much as forward, and not twice that. A Function that computes it anyway wastes a third of the layer's work.

# %% nbgrader={"grade": false, "grade_id": "demo-flops", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.utils.flop_counter import FlopCounterMode

weight = torch.randn(50, 40, requires_grad=True)
for needs in (True, False):
    x = torch.randn(30, 40, requires_grad=needs)
    with FlopCounterMode(display=False) as forward:
        y = F.linear(x, weight)
    with FlopCounterMode(display=False) as backward:
        y.sum().backward()
    flops = forward.get_total_flops(), backward.get_total_flops()
    print(f"x needs a gradient: {needs!s:5}   forward {flops[0]}, backward {flops[1]} operations")

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Save what backward reads, and nothing else

# %% [markdown]
# What if one saves the bias as well? It is a parameter, so it costs no memory. But whatever is saved is **watched**: if somebody edits the bias between forward and backward, there is now an error, for a tensor that no gradient depends on.


# %% nbgrader={"grade": false, "grade_id": "demo-needless-save", "locked": true, "schema_version": 3, "solution": false, "task": false}
class AddBias(Function):
    """x + bias; keeps the bias if ``needlessly`` is True."""

    @staticmethod
    def forward(ctx, x, bias, needlessly):
        if needlessly:
            ctx.save_for_backward(bias)
        return x + bias

    @staticmethod
    def backward(ctx, grad_output):
        ctx.saved_tensors  # reading is what torch checks
        return grad_output, grad_output.sum(0), None


def gradient_after_an_update(needlessly):
    x, bias = torch.zeros(5, 2), torch.zeros(2, requires_grad=True)
    y = AddBias.apply(x, bias, needlessly)
    with torch.no_grad():
        bias += 1.0  # between forward and backward
    y.sum().backward()
    return bias.grad.tolist()


for needlessly in (False, True):
    print("bias saved:" if needlessly else "not saved: ", end=" ")
    attempt(gradient_after_an_update, needlessly)

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### A word on autocast

# %% [markdown]
# `torch.autocast` is a `with` block in which torch runs matrix products in a shorter dtype, bfloat16 or float16: faster, with fewer digits. You call a Function's forward inside that block. Its backward runs later, when `.backward()` is called, and the block is over by then.
#
# So `MatVec` gets into trouble. Its forward was given float32 and saved float32, but its product, and with it the gradient that comes back, is bfloat16. In backward a float32 matrix meets a bfloat16 vector, and `@` refuses to mix them.
#
# Two decorators settle it: `custom_fwd` notes whether autocast was on, and `custom_bwd` switches it on again for backward. Put both on a Function that multiplies matrices and may be used under autocast. (They want the form with `ctx` in forward, not `setup_context`.)


# %% nbgrader={"grade": false, "grade_id": "demo-autocast", "locked": true, "schema_version": 3, "solution": false, "task": false}
class AutocastMatVec(MatVec):
    """MatVec with one autocast mode for both directions."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, A, v):
        return MatVec.forward(ctx, A, v)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        return MatVec.backward(ctx, grad_output)


def train_under_autocast(cls):
    A, v = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = cls.apply(A, v)
    print(f"{cls.__name__}: the output is {y.dtype}")
    y.sum().backward()
    return f"A.grad is {A.grad.dtype}"


attempt(train_under_autocast, MatVec)
attempt(train_under_autocast, AutocastMatVec)

# %% [markdown]
# ## Broadcasting: used many times, summed once
#
# The bias is **stretched** to the size of a large tensor: each of its numbers is used several times. And what is used several times collects a gradient from each use:

# %% nbgrader={"grade": false, "grade_id": "demo-broadcast-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
grad = torch.tensor([[1.0, 2.0, 0.0, -1.0], [3.0, -1.0, 2.0, 1.0], [0.0, 1.0, 1.0, 2.0]])
figures.sums_of_a_gradient(
    {
        "upstream gradient,\nshape (3, 4)": grad,
        "for b of shape (4,):\ncolumn sums": grad.sum_to_size(1, 4),
        "for b of shape (3, 1):\nrow sums": grad.sum_to_size(3, 1),
    }
)

# %% [markdown]
# > **Broadcasting repeats. Its backward sums over what was repeated.** New dimensions in front are summed away; a dimension of size 1 that was stretched is summed and stays, with size 1.
#
# ### What torch repairs behind your back
#
# In lesson 02 you saw torch do a forgotten sum for you. How far does that go? `returns` takes an `x` of shape (2, 3) and hands back whatever we like.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-too-large", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("too-large")


# %% nbgrader={"grade": false, "grade_id": "demo-repair", "locked": true, "schema_version": 3, "solution": false, "task": false}
def returns(gradient):
    """A Function for y = x whose backward gives back the same fixed tensor, always."""

    class Returns(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad_output):
            return gradient

    return Returns


def leaf_gradient(gradient):
    x = torch.zeros(2, 3, requires_grad=True)
    returns(gradient).apply(x).sum().backward()
    return f"x.grad {tuple(x.grad.shape)}, {x.grad.dtype}, its first entry is {x.grad[0, 0]}"


for shape in [(2, 3), (3, 2), (1, 3), (), (5, 2, 3)]:
    print(f"\n{shape!s:10}", end=" ")
    attempt(leaf_gradient, torch.ones(shape))
print("\nfloat64   ", end=" ")
attempt(leaf_gradient, torch.ones(2, 3, dtype=torch.float64))
print("\nelsewhere ", end=" ")
attempt(leaf_gradient, torch.ones(2, 3, device="meta"))

outcome("too-large")

# %% [markdown]
# Read it line by line. torch accepts every gradient whose shape `x` could be broadcast to, as (5, 2, 3), and sums it down; it refuses the shapes that no broadcasting of `x` gives, as (3, 2) or (1, 3). A wrong dtype it converts. A wrong device it refuses.
#
# Why then write the sum yourself? The repair is done by the engine that walks the graph. Who calls your backward by hand, from another Function's backward for instance, gets what you returned, unrepaired. And torch cannot know what you meant: a shape that is too large may just as well be a bug. So the checks look at what **your** backward returns (`gradient-unsummed`).

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Which dtype arrives?

# %% [markdown]
# The engine converts on the way in as well: `grad_output` has the dtype of your **output**, whatever was sent. Where forward gives bfloat16, digits of a float32 gradient are lost before backward sees it. Since torch 2.14 forward may ask for another dtype, `ctx.set_output_grad_dtype(torch.float32)`, or for what is sent, as it is (`None`); one for each output. Before, there is no such method, and both lines below say bfloat16.


# %% nbgrader={"grade": false, "grade_id": "demo-gradient-dtype", "locked": true, "schema_version": 3, "solution": false, "task": false}
class ToBfloat16(Function):
    """x in bfloat16; backward asks for its gradient in the dtype `wanted`, and prints what arrives."""

    @staticmethod
    def forward(ctx, x, wanted):
        if hasattr(ctx, "set_output_grad_dtype"):  # since torch 2.14
            ctx.set_output_grad_dtype(wanted)
        return x.bfloat16()

    @staticmethod
    def backward(ctx, grad_output):
        print(f"sent: torch.float32 1.001, arrived: {grad_output.dtype} {grad_output.item():.3f}")
        return grad_output.float(), None


x = torch.tensor(1.0, requires_grad=True)
for wanted in (torch.bfloat16, torch.float32):
    ToBfloat16.apply(x, wanted).backward(torch.tensor(1.001))

# %% [markdown]
# ## Exercise 2: unbroadcast
#
# The reverse of broadcasting, as a plain function you will use in a minute.
#
# **Contract.** `unbroadcast(grad, shape)` promises
#
# * **values**: `grad` summed down to `shape`, a sequence of ints (tuple, list or `torch.Size`) that broadcasts to `grad.shape`. New leading dimensions are summed away, stretched dimensions are summed and keep their size 1. Nothing to sum? Then `grad` itself may be returned
# * **gradients** flow through it: ordinary torch operations
# * **special points**: dimensions of size 1 that were never stretched stay
# * **shapes, strides, dtypes**: an empty batch is fine too, a sum over nothing is 0; and so is a transposed `grad`
# * **nothing else is touched**: `grad` is left as it was
#
# torch has this built in, as `grad.sum_to_size(shape)`. It is a good idea to write it once with `sum` alone.


# %% nbgrader={"grade": false, "grade_id": "unbroadcast", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unbroadcast(grad, shape):
    """grad summed down to shape, which broadcasts to grad.shape: the reverse of broadcasting."""
    ### BEGIN SOLUTION
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, size in enumerate(shape):
        if size == 1 and grad.shape[i] != 1:
            grad = grad.sum(i, keepdim=True)
    return grad
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "unbroadcast-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(unbroadcast)

# %% nbgrader={"grade": true, "grade_id": "unbroadcast-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of unbroadcast are checked here with other numbers.
# You can run it now: check(unbroadcast, hidden=True)
### BEGIN HIDDEN TESTS
check(unbroadcast, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: unbroadcast
#
# **Derivation.** Let $b$ be stretched to $\hat b$ with $\hat b_{rc} = b_c$. Then $\partial L/\partial b_c = \sum_r \partial L/\partial \hat b_{rc}$: the sum runs over exactly those indices of $\hat b$ that $b$ does not have. Broadcasting aligns shapes at the **end**, so extra dimensions are always in front.
#
# **Common mistakes.** Forgetting `keepdim=True`: (3, 1) becomes (3,), and the next size-1 dimension is looked for in the wrong place. Testing `grad.shape[i] > 1`: a dimension of size 1 stretched to size **0** (an empty batch) must be summed as well. `grad.sum(())` or `grad.sum([])` with an empty list of dimensions sums *everything*. Concatenating `shape` with a tuple fails for a list.
#
# **Why differentiable matters.** Your backward is differentiated again for second derivatives, and `unbroadcast` is part of it.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Try it

# %% [markdown]
# The reverse of `expand`, asked of autograd itself. And a bias per channel of a batch of images, shape (images, channels, height, width):

# %% nbgrader={"grade": false, "grade_id": "try-unbroadcast", "locked": false, "schema_version": 3, "solution": false, "task": false}
for shape, large in [((4,), (3, 4)), ((3, 1), (3, 4)), ((2, 1, 1), (5, 2, 3, 3)), ((), (2, 2))]:
    small = torch.randn(shape, requires_grad=True)
    upstream = torch.randn(large)
    (truth,) = torch.autograd.grad(small.expand(large), small, upstream)
    close = torch.allclose(unbroadcast(upstream, shape), truth, atol=1e-6)
    print(f"{large!s:14} down to {shape!s:10} agrees with autograd: {close}")

# %% [markdown]
# ## Exercise 3: Multiply
#
# **Contract.** `Multiply.apply(a, b)` promises
#
# * **values** of $a \cdot b$ for any two shapes that broadcast. **Either** may be the one that is stretched, or both: (3, 1) times (1, 4) is (3, 4)
# * **gradients** of exactly the shapes of `a` and `b`; `None` for a factor that needs none
# * **second derivatives** right
# * **special points**: zeros among the factors, and inputs of ±1000
# * **memory**: `a` and `b`, nothing else
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Use your `unbroadcast`.


# %% nbgrader={"grade": false, "grade_id": "multiply", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Multiply(Function):
    """a · b for any two shapes that broadcast. Keeps a and b."""

    @staticmethod
    def forward(ctx, a, b):
        ### BEGIN SOLUTION
        ctx.save_for_backward(a, b)
        return a * b
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = unbroadcast(grad_output * b, a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = unbroadcast(grad_output * a, b.shape)
        return grad_a, grad_b
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "multiply-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Multiply)

# %% nbgrader={"grade": true, "grade_id": "multiply-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Multiply are checked here with other numbers.
# You can run it now: check(Multiply, hidden=True)
### BEGIN HIDDEN TESTS
check(Multiply, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Multiply
#
# **Derivation.** Two steps, each with its own backward: stretch both factors to one shape, then multiply element by element. Backward in reverse order: $g \cdot b$ and $g \cdot a$ (product rule), then sum over what was stretched.
#
# **What is saved, and why.** Each gradient needs the *other* factor. If only one factor needs a gradient, saving only the other one is enough: `ctx.needs_input_grad` can be read in forward too.
#
# **Common mistakes.** No sum (torch repairs it, your formula does not say it). `sum(0)` whatever the shape. The total `.sum()` for every element. Summing before multiplying: $\sum g \cdot \sum a$ is not $\sum g a$. Saving the expanded factors as new tensors.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### The same idea once more: batched matrix products

# %% [markdown]
# `A @ B` broadcasts too, over the batch dimensions. Multiply first, then sum down:


# %% nbgrader={"grade": false, "grade_id": "demo-matmul", "locked": true, "schema_version": 3, "solution": false, "task": false}
class MatMul(Function):
    """A @ B for matrices with batch dimensions that broadcast."""

    @staticmethod
    def forward(ctx, A, B):
        ctx.save_for_backward(A, B)
        return A @ B

    @staticmethod
    def backward(ctx, grad_output):
        A, B = ctx.saved_tensors
        grad_A = (grad_output @ B.mT).sum_to_size(A.shape)  # .mT transposes the last two
        grad_B = (A.mT @ grad_output).sum_to_size(B.shape)
        return grad_A, grad_B


A = torch.randn(2, 1, 3, 2, dtype=torch.float64, requires_grad=True)
B = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
y = MatMul.apply(A, B)
print("A", tuple(A.shape), " B", tuple(B.shape), " A @ B", tuple(y.shape))
print("gradcheck", gradcheck(MatMul.apply, (A, B)))
print("backward itself:", [tuple(g.shape) for g in y.grad_fn.apply(torch.ones_like(y))])

# %% [markdown]
# ## Reductions: the mirror image
#
# A sum uses every element once, with the factor 1. So its backward hands the same number to each of them: **it stretches**. Broadcasting and summing are each other's backward.
#
# `expand` stretches without a copy: the new dimension has stride 0, all its "copies" are one memory cell.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-one-entry", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("one-entry")


# %% nbgrader={"grade": false, "grade_id": "demo-stride-zero", "locked": true, "schema_version": 3, "solution": false, "task": false}
class ColumnSums(Function):
    """The sums over dimension 0 of a matrix."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum(0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.expand(ctx.shape)


x = torch.zeros(3, 4, requires_grad=True)
(grad,) = torch.autograd.grad(ColumnSums.apply(x), x, torch.arange(4.0))
print("shape", tuple(grad.shape), " strides", grad.stride(), end=" ")
print(" memory:", grad.untyped_storage().nbytes(), "bytes for 12 floats")
attempt(lambda: grad.add_(1.0))
grad[0, 0] = 5.0  # one entry, we think
print(grad)

outcome("one-entry")

# %% [markdown]
# Gradients often arrive in this form: from `y.sum(0)` with stride 0 along the rows, from `y.sum()` with stride 0 in every dimension. That is one more reason not to write into `grad_output`. And it is why `grad_output.view(-1)` may fail, where `reshape(-1)` makes a copy if it has to.
#
# ### Which dimension is missing?
#
# `x.sum(1)` of a (3, 4) matrix has the shape (3,). To stretch that back you must say *where* the dimension was: `unsqueeze(1)` gives (3, 1), and `expand` does the rest. With `keepdim=True` it is there already. Forget the `unsqueeze`, and shapes will usually tell. Unless they are square: then `expand` stretches along the wrong dimension, without a word.
#
# ## Exercise 4: Sum
#
# **Contract.** `Sum.apply(x, dim, keepdim=False)` promises
#
# * **values** of `torch.sum` over **one** dimension; `dim` an int, negative ones count from the end; `x` has at least one dimension
# * **gradients** right. How many values does backward return?
# * **second derivatives** right
# * **special points**: right for inputs of ±1000
# * **memory**: no tensor is kept at all: what backward needs to know is a shape and two plain values
# * **shapes, strides, dtypes**: as for every Function, and a dimension that is summed over may be empty: a sum over nothing is 0
# * **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "sum", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Sum(Function):
    """torch.sum over one dimension; x with at least one dimension. Keeps no tensor."""

    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ### BEGIN SOLUTION
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.sum(dim, keepdim=keepdim)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        grad = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return grad.expand(ctx.shape), None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "sum-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Sum)

# %% nbgrader={"grade": true, "grade_id": "sum-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Sum are checked here with other numbers.
# You can run it now: check(Sum, hidden=True)
### BEGIN HIDDEN TESTS
check(Sum, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Sum
#
# **Derivation.** $y_r = \sum_c x_{rc}$, so $\partial L/\partial x_{rc} = g_r$ for every $c$.
#
# **What is saved, and why.** Only `x.shape`, as an attribute. Saving `x` for its shape would keep a whole tensor alive. `torch.sum` keeps none either.
#
# **Common mistakes.** `unsqueeze` although `keepdim` was True. No `unsqueeze` at all. Multiplying by `x`. `torch.ones(ctx.shape) * g`: float32 on the CPU whatever `x` is, and a full tensor where `expand` needs none. Negative dims need no care here: `unsqueeze(-2)` puts the dimension where `sum(-2)` took it from.

# %% [markdown]
# ## Exercise 5: Mean
#
# The twin: a mean is a sum divided by a number.
#
# **Contract.** `Mean.apply(x, dim, keepdim=False)` promises
#
# * **values** of `torch.mean` over one dimension (the mean of no numbers is not judged)
# * **gradients** right
# * **second derivatives** right
# * **special points**: right for inputs of ±1000
# * **memory**: no tensor is kept
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Which number exactly? For the shape (2, 3, 4) with `dim=1` there are four candidates.


# %% nbgrader={"grade": false, "grade_id": "mean", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Mean(Function):
    """torch.mean over one dimension; x with at least one dimension. Keeps no tensor."""

    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ### BEGIN SOLUTION
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        grad = grad_output if ctx.keepdim else grad_output.unsqueeze(ctx.dim)
        return grad.expand(ctx.shape) / ctx.shape[ctx.dim], None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "mean-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Mean)

# %% nbgrader={"grade": true, "grade_id": "mean-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Mean are checked here with other numbers.
# You can run it now: check(Mean, hidden=True)
### BEGIN HIDDEN TESTS
check(Mean, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Mean
#
# **Derivation.** $y_r = \frac1n \sum_c x_{rc}$ with $n$ the size of the dimension that is reduced, so each element gets $g_r / n$.
#
# **What is saved, and why.** As for `Sum`: a shape and two values.
#
# **Common mistakes.** No division in backward. Dividing by `x.shape[0]`, by the last size or by `numel()`: each is right for *some* shape and `dim`, which is why the checks use several. Dividing first and expanding then, `(grad / n).expand(...)`, is right and does less work.

# %% [markdown]
# ## Several outputs
#
# `torch.max(x, dim)` returns two tensors: values, and the indices where they were found. A Function may do the same: return a tuple. Then backward receives **one upstream gradient per output**.


# %% nbgrader={"grade": false, "grade_id": "demo-two-outputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SineCosine(Function):
    """(sin x, cos x) in one Function; prints which upstream gradients arrive."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x), torch.cos(x)

    @staticmethod
    def backward(ctx, grad_sine, grad_cosine):
        print("backward got", grad_sine, "and", grad_cosine)
        (x,) = ctx.saved_tensors
        return grad_sine * torch.cos(x) - grad_cosine * torch.sin(x)


x = torch.tensor(0.0, requires_grad=True)
sine, cosine = SineCosine.apply(x)
(2 * sine + 3 * cosine).backward()
sine, cosine = SineCosine.apply(x)
sine.backward()  # nobody uses the cosine

# %% [markdown]
# An output that nobody used gets a gradient of zeros. (After `ctx.set_materialize_grads(False)` in forward it is `None`.) Integers, such as the indices of a maximum, have no gradient; backward still has a parameter for them, and receives zeros. `ctx.mark_non_differentiable(indices)` in forward says to whoever reads the code that nothing is expected there.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Outputs without a gradient

# %% [markdown]
# With integers the mark is a courtesy. With *floats* it matters. Below, a Function returns `relu(x)` and, as a second output, the mask of ones and zeros as floats. Its backward ignores `grad_mask`, the gradient that arrives for the mask.
#
# Unmarked, the mask says `requires_grad = True`: somebody may put it into a loss, `backward` runs, and nothing of that loss reaches `x`, **without a word**. Marked, it says `False`, and a loss made of the mask alone raises an error.
#
# One more limit: torch looks for tensors among a Function's arguments and results, not *inside* a list or a dict. What is hidden there has no gradient.


# %% nbgrader={"grade": false, "grade_id": "demo-mark", "locked": true, "schema_version": 3, "solution": false, "task": false}
def relu_and_mask(mark):
    """A Function for (relu(x), mask), which marks the mask as non-differentiable or does not."""

    class ReLUAndMask(Function):
        @staticmethod
        def forward(ctx, x):
            mask = (x > 0).to(x.dtype)
            ctx.save_for_backward(mask)
            if mark:
                ctx.mark_non_differentiable(mask)
            return x * mask, mask

        @staticmethod
        def backward(ctx, grad_output, grad_mask):
            return grad_output * ctx.saved_tensors[0]

    return ReLUAndMask


for mark in (False, True):
    _, mask = relu_and_mask(mark).apply(torch.tensor([-1.0, 2.0], requires_grad=True))
    print(f"marked: {mark!s:5}  mask.requires_grad = {mask.requires_grad}")

# %% [markdown]
# ### Ties
#
# When two elements share the maximum, who gets the gradient?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-ties", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("ties")

# %% nbgrader={"grade": false, "grade_id": "demo-ties", "locked": true, "schema_version": 3, "solution": false, "task": false}
for words, function in (
    ("x.max(dim=0), with indices", lambda t: t.max(0).values),
    ("x.amax(dim=0), without", lambda t: t.amax(0)),
):
    x = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    function(x).backward()
    print(f"{words:28} {x.grad.tolist()}")

outcome("ties")

# %% [markdown]
# Both conventions are fair: at a tie there is no derivative, only a choice. With indices the choice has been made in forward.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Writing into an input

# %% [markdown]
# There is one more mark. A Function may write its result over its input, to save memory, if it says so with `ctx.mark_dirty(x)` and returns that very tensor. torch then knows that the old numbers are gone. The cell below does it four times:
#
# - over an intermediate `h`: allowed, and the gradient is right;
# - over an `h` that `sin` had saved for its own backward: an error, because the saved numbers have changed;
# - over a leaf that requires a gradient, marked: an error, because such a leaf may not be overwritten;
# - over such a leaf, without the mark: no error. The parameter has changed, and nobody was told.
#
# No exercise of this course writes into its inputs.


# %% nbgrader={"grade": false, "grade_id": "demo-dirty", "locked": true, "schema_version": 3, "solution": false, "task": false}
class TripleInPlace(Function):
    """y = 3x, written over x."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


x = torch.tensor([1.0, 2.0], requires_grad=True)
h = 1 * x
print("the output is the input:", TripleInPlace.apply(h) is h)
h.sum().backward()
print("gradient:               ", x.grad)
h = 1 * x
waves = torch.sin(h)  # has saved h for its own backward
TripleInPlace.apply(h)
attempt(waves.sum().backward)
attempt(TripleInPlace.apply, x)


class SecretTriple(TripleInPlace):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(3)  # not marked


x = torch.tensor([1.0, 2.0], requires_grad=True)
SecretTriple.apply(x)
print("not marked, no error: x was [1, 2] and is", x.tolist())

# %% [markdown]
# ## Exercise 6: Max
#
# **Contract.** `Max.apply(x, dim)` promises
#
# * **values**: `(values, indices)` as `torch.max(x, dim)` gives them; `x` has at least one dimension
# * **gradients**: for the chosen element only. The indices have none; mark them to say so, though as integers they would do without
# * **second derivatives** right
# * **special points**: at ties too the gradient goes to the one element that was chosen; right for inputs of ±1000 and with $-\infty$ among them
# * **memory**: at most as many bytes as the indices
# * **shapes, strides, dtypes**: a `torch.zeros(shape)` is float32, whatever `x` is. `grad_values.new_zeros(shape)` is not
# * **nothing else is touched** · **your own work**: as for every Function
#
# `zeros.scatter(dim, index, src)` gives a copy of `zeros` in which `src` stands at the places `index`; both have the reduced dimension, with size 1.


# %% nbgrader={"grade": false, "grade_id": "max", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Max(Function):
    """(values, indices) of the largest element along dim, as torch.max. Keeps the indices."""

    @staticmethod
    def forward(ctx, x, dim):
        ### BEGIN SOLUTION
        values, indices = torch.max(x, dim)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dim = x.shape, dim
        return values, indices
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        ### BEGIN SOLUTION
        (indices,) = ctx.saved_tensors
        places, values = indices.unsqueeze(ctx.dim), grad_values.unsqueeze(ctx.dim)
        return grad_values.new_zeros(ctx.shape).scatter(ctx.dim, places, values), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "max-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Max)

# %% nbgrader={"grade": true, "grade_id": "max-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Max are checked here with other numbers.
# You can run it now: check(Max, hidden=True)
### BEGIN HIDDEN TESTS
check(Max, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Max
#
# **Derivation.** Near a point without ties the maximum *is* one of the elements: slope 1 there, 0 elsewhere. The Jacobian has a single 1 in each row, and $v^{\mathsf T} J$ puts each upstream number in its place.
#
# **What is saved, and why.** The indices, which are an output. A mask `x == values` is as large as `x` and treats ties differently (each winner gets everything).
#
# **Common mistakes.** `torch.zeros(shape)`: "Expected self.dtype to be equal to src.dtype". A backward with one upstream parameter: "takes 2 positional arguments but 3 were given". Dropping the result of `scatter`, which is not in place. `F.one_hot(indices)`, which appends its classes at the end: right for the last dimension only, unless they are moved back.
#
# **Second derivative.** The maximum is piecewise linear, so it is zero in `x`. In `grad_values` backward is linear, and `scatter` is differentiable.

# %% [markdown]
# ### See it run
#
# Two outputs, so two upstream gradients. Look at the second one that backward gets, and at the places where it puts the first.

# %% nbgrader={"grade": false, "grade_id": "see-max", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Max)

# %% [markdown]
# ## A soft maximum, and its stability
#
# The loss of every classifier contains $\operatorname{lse}(x) = \log \sum_j e^{x_j}$, the **soft maximum**. Its derivative is well known under another name:
#
# $$\frac{\partial}{\partial x_j} \log \sum_k e^{x_k} = \frac{e^{x_j}}{\sum_k e^{x_k}} = \operatorname{softmax}(x)_j .$$
#
# A hard maximum gives the whole gradient to one element. The soft one shares it out.

# %% nbgrader={"grade": false, "grade_id": "demo-soft-maximum", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.soft_maximum()

# %% [markdown]
# Written as it stands, the formula overflows from $x_j = 88.8$ on. The cure is to shift by the maximum $m$ before exponentiating, which changes nothing on paper:
#
# $$\log \sum_j e^{x_j} = m + \log \sum_j e^{x_j - m}, \qquad m = \max_j x_j .$$
#
# ### A row of −∞
#
# Masks set forbidden entries to $-\infty$, so that $e^{-\infty} = 0$. What if a whole row is forbidden? The sum is 0, its logarithm $-\infty$. And the shift computes $-\infty - (-\infty)$, which is NaN. `torch.logsumexp` knows that trap in forward. And in backward?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-infinite-row", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("infinite-row")

# %% nbgrader={"grade": false, "grade_id": "demo-infinite-row", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.full((2, 3), -torch.inf)
x[0] = torch.tensor([0.5, -torch.inf, 1.0])
x.requires_grad_()
y = torch.logsumexp(x, 1)
y[0].backward(retain_graph=True)
print("value:                  ", y.tolist())
print("gradient, ordinary loss:", x.grad.tolist())
x.grad = None
y.sum().backward()
print("gradient, both rows:    ", x.grad.tolist())

outcome("infinite-row")

# %% [markdown]
# A NaN for a row that cannot learn anything. **Your** version will do better than torch's: a row that is $-\infty$ everywhere gets the gradient 0.
#
# ## Exercise 7: LogSumExp
#
# **Contract.** `LogSumExp.apply(x, dim)` promises
#
# * **values** of `torch.logsumexp` over one dimension, which `x` has
# * **gradients** right. A NaN that arrives from upstream is somebody's mistake: it stays a NaN in every row of numbers
# * **second derivatives** right
# * **special points**: finite and right in float32 at ±1000, value and gradient. A row of $-\infty$ gives the value $-\infty$, the gradient **0** and the second derivatives 0. (Rows with $+\infty$ are not judged.)
# * **memory**: `x` and the output, nothing else. (The softmax itself would be an intermediate. Lesson 02!)
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# Replace the infinity *before* you subtract, not the NaN after it: putting a 0 over a finished NaN leaves $0 \cdot \mathrm{NaN}$ to the second derivative.
#
# Forward may call `torch.logsumexp`, or be your own shift. In backward: how do you get the softmax from `x` and the output?


# %% nbgrader={"grade": false, "grade_id": "log-sum-exp", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LogSumExp(Function):
    """log Σ exp(x) along dim; −inf with gradient 0 for a row of −inf. Keeps x and the output."""

    @staticmethod
    def forward(ctx, x, dim):
        ### BEGIN SOLUTION
        top = x.amax(dim, keepdim=True)
        top = torch.where(top == -torch.inf, 0.0, top)  # −inf − (−inf) would be NaN
        out = top.squeeze(dim) + torch.exp(x - top).sum(dim).log()
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, out = ctx.saved_tensors
        safe = torch.where(out == -torch.inf, 0.0, out)
        share = torch.exp(x - safe.unsqueeze(ctx.dim))  # the softmax; 0 in a row of −inf
        return grad_output.unsqueeze(ctx.dim) * share, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "log-sum-exp-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LogSumExp)

# %% nbgrader={"grade": true, "grade_id": "log-sum-exp-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LogSumExp are checked here with other numbers.
# You can run it now: check(LogSumExp, hidden=True)
### BEGIN HIDDEN TESTS
check(LogSumExp, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: LogSumExp
#
# **Derivation.** $\partial\,\mathrm{out}/\partial x_j = e^{x_j}/\sum_k e^{x_k} = e^{x_j - \mathrm{out}}$, because $\sum_k e^{x_k} = e^{\mathrm{out}}$. The exponent is never positive, so nothing overflows.
#
# **What is saved, and why.** $x$ and the output: an input and an output, both known to autograd, so the second derivative $\operatorname{diag}(p) - p p^{\mathsf T}$ comes out right by itself. Saving $p$ would cost no more, pass gradcheck and lose the second derivative. Saving $x$ alone and calling `torch.softmax` again is right too.
#
# **The row of −inf.** There `out` is $-\infty$; with 0 in its place the exponent is $-\infty - 0$ and the share $e^{-\infty} = 0$.
#
# **Common mistakes.** Subtracting the maximum and not the output: shares that do not add up to 1. `x.softmax(-1)` whatever `dim` is. No `unsqueeze`. `nan_to_num` as a broom at the end sweeps away real NaNs as well. `torch.where(out == -torch.inf, 0, share)` around a share that is NaN gives the right gradient and a NaN for the second derivative, because the backward of `exp` multiplies by that NaN.
#
# **A limit worth knowing.** In float32 an output near 1000 is known to about $3 \cdot 10^{-5}$, so the shares $e^{x - \mathrm{out}}$ carry a relative error of that size. `torch.softmax`, which subtracts the maximum and divides, does not.

# %% [markdown]
# ## Two steps in one Function
#
# A layer is nearly always followed by an activation. Put both into one Function, and backward can choose what to keep. ReLU needs to know one thing about each element: was it positive? That is a **bool**, and a bool takes **one byte, not one bit**: a quarter of a float32 number.
#
# ### Two traps of masks
#
# The first is the dtype. `mask.float()` is float32; times a bfloat16 gradient it gives float32, and the matrix product after it stops. The second is infinity. A gradient that overflowed to `inf` should stop at a closed ReLU; multiplied by 0 it becomes NaN. The exercise below promises the first; where gradients can overflow, `torch.where` keeps you from the second.

# %% nbgrader={"grade": false, "grade_id": "demo-mask-dtype", "locked": true, "schema_version": 3, "solution": false, "task": false}
mask = torch.tensor([False, True, True])
g, weight = torch.ones(2, 3, dtype=torch.bfloat16), torch.ones(3, 4, dtype=torch.bfloat16)
print("g * mask:        ", (g * mask).dtype)
print("g * mask.float():", (g * mask.float()).dtype, end=", and then: ")
attempt(lambda: (g * mask.float()) @ weight)

g = torch.tensor([torch.inf, 2.0, 3.0])
print("\ng * mask:              ", (g * mask).tolist())
print("torch.where(mask, g, 0):", torch.where(mask, g, 0.0).tolist())

# %% [markdown]
# ## Exercise 8: LinearReLU
#
# **Contract.** `LinearReLU.apply(x, weight, bias)` promises
#
# * **values** of `relu(F.linear(x, weight, bias))`; the bias is required
# * **gradients** of all three, `None` for inputs that need none
# * **second derivatives** right
# * **special points**: gradient 0 where the pre-activation is exactly 0, as `torch.relu` has it; right for inputs of ±1000
# * **memory**: `x`, `weight` and a **bool mask**, by `save_for_backward`: one byte an output element instead of the pre-activation's four or eight
# * **shapes, strides, dtypes**: any number of batch dimensions as in `MyLinear`; bfloat16 as well
# * **nothing else is touched** · **your own work**: as for every Function
#
# Backward goes through the two steps in reverse.


# %% nbgrader={"grade": false, "grade_id": "linear-relu", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LinearReLU(Function):
    """relu(x · weightᵀ + bias); x (…, in). Keeps x, weight and one bool an output element."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ### BEGIN SOLUTION
        out = F.linear(x, weight, bias).clamp(min=0)
        ctx.save_for_backward(x, weight, out > 0)
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, weight, open_ = ctx.saved_tensors
        grad = torch.where(open_, grad_output, 0.0)
        rows = grad.reshape(-1, weight.shape[0])
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = rows.T @ x.reshape(-1, weight.shape[1])
        if ctx.needs_input_grad[2]:
            grad_bias = rows.sum(0)
        return grad_x, grad_weight, grad_bias
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "linear-relu-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LinearReLU)

# %% nbgrader={"grade": true, "grade_id": "linear-relu-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LinearReLU are checked here with other numbers.
# You can run it now: check(LinearReLU, hidden=True)
### BEGIN HIDDEN TESTS
check(LinearReLU, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: LinearReLU
#
# **Derivation.** With $z = xW^{\mathsf T} + b$ and $y = \max(z, 0)$: first $\tilde g = g \cdot [z > 0]$, then the three gradients of the linear layer with $\tilde g$ in place of $g$.
#
# **What is saved, and why.** The mask is an intermediate, and here that does no harm: it is piecewise constant, its derivative is 0, so the second derivative is right. Whether it *saves* memory is another question (next section).
#
# **Common mistakes.** `mask.float()`, which stops in bfloat16. The mask forgotten for one of the three gradients. `z >= 0`. Writing `grad_output[~mask] = 0`, into a tensor that belongs to torch. Keeping the pre-activation, or the output, which is what torch does and costs four times as much in float32.

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Is it faster?

# %% [markdown]
# You will read that such a Function is *fused*. Here are the operations that really run in forward.

# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "demo-nothing-fused", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.utils._python_dispatch import TorchDispatchMode


class ListOperations(TorchDispatchMode):
    """Notes the name of every operation that torch runs in the block."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function).removeprefix("aten.").removesuffix(".default"))
        return function(*args, **(kwargs or {}))


x, weight, bias = torch.randn(8, 3), torch.randn(4, 3, requires_grad=True), torch.randn(4)
with ListOperations() as yours:
    LinearReLU.apply(x, weight, bias)
with ListOperations() as torchs:
    torch.relu(F.linear(x, weight, bias))
print("yours: ", ", ".join(yours.names))
print("torch's:", ", ".join(torchs.names))

# %% [markdown]
# (`t` and `detach` are views: they compute nothing.) **Nothing is fused.** A Function in Python runs the operations you call, one after the other. Fusing needs a kernel of its own (C++, CUDA, Triton) or `torch.compile`.

# %% [markdown]
# ### Does it save memory?
#
# Look at the column *extra*. One layer alone: your mask against the output that `torch.relu` keeps.

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-linear-relu", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, weight, bias = torch.randn(32, 64), torch.randn(64, 64), torch.zeros(64)
saved_ledger(LinearReLU, x, weight, bias)


# %% nbgrader={"grade": false, "grade_id": "see-kept-by-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
def torchs_layer(x, weight, bias):
    return torch.relu(F.linear(x, weight, bias))


saved_ledger(torchs_layer, x, weight, bias)

# %% [markdown]
# A quarter, for one layer. Now sixteen of them.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-sixteen-masks", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("sixteen-masks")


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "demo-mask-memory", "locked": true, "schema_version": 3, "solution": false, "task": false}
def kept_bytes(function, *inputs, free=()):
    """Bytes of the distinct tensors kept for backward; those in ``free`` exist anyway."""
    kept, known = {}, {tensor.data_ptr() for tensor in free}

    def put_aside(tensor):
        if tensor.data_ptr() not in known:
            kept[tensor.data_ptr()] = tensor.nbytes
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(put_aside, lambda tensor: tensor):
        result = function(*inputs)
    del result
    return sum(kept.values())


def stack(layer, depth, width=64, batch=32):
    """Kibibytes kept for backward by ``depth`` layers, without the data and the parameters."""
    x, weights = torch.randn(batch, width), []
    for _ in range(depth):
        weights.append((torch.randn(width, width) / 8, torch.zeros(width)))
    parameters = [p.requires_grad_() for pair in weights for p in pair]

    def run():
        h = x
        for weight, bias in weights:
            h = layer(h, weight, bias)
        return h

    return kept_bytes(run, free=[x, *parameters]) / 1024


depths = [1, 2, 4, 8, 12, 16]
with_mask = [stack(LinearReLU.apply, n) for n in depths]
with_output = [stack(torchs_layer, n) for n in depths]
figures.kept_by_stacks(depths, with_mask, with_output)

outcome("sixteen-masks")

# %% [markdown]
# The mask wins where **nothing else keeps the output**: in the last layer, or before an operation that does not save its input. So *measure* memory, for the whole network.

# %% [markdown]
# ## Finale: read handwriting with your own gradients
#
# 1797 handwritten digits come with scikit-learn. In our classifier **every** operation with a gradient is yours: a gain per pixel (`Multiply`, with broadcasting), a hidden layer (`LinearReLU`), an output layer (`MyLinear`), and the cross-entropy loss
#
# $$\frac1n \sum_r \Bigl( \log \sum_c e^{z_{rc}} - z_{r, \text{label}(r)} \Bigr)$$
#
# from `LogSumExp`, `Multiply`, `Sum` and `Mean`. `Max` reads the answer.

# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_digits

digits = load_digits()
order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
pixels = torch.tensor(digits.data / 16, dtype=torch.float64)[order]  # from 0 (paper) to 1 (ink)
labels = torch.tensor(digits.target, dtype=torch.int64)[order]
train_x, train_y, test_x, test_y = pixels[:1300], labels[:1300], pixels[1300:], labels[1300:]

examples = [train_x[train_y == digit][0].reshape(8, 8) for digit in range(10)]
alt = "One handwritten example of each digit from 0 to 9, eight by eight pixels."
figures.digits(examples, "0123456789", "What it learns to read", alt)


# %% nbgrader={"grade": false, "grade_id": "finale-networks", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Classifier(torch.nn.Module):
    """The parameters of both networks: 64 pixels → 32 hidden units → 10 scores."""

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(64))
        self.hidden, self.scores = torch.nn.Linear(64, 32), torch.nn.Linear(32, 10)


class TorchsClassifier(Classifier):
    def forward(self, x):
        return self.scores(torch.relu(self.hidden(x * self.gain)))


class YourClassifier(Classifier):
    def forward(self, x):
        x = Multiply.apply(x, self.gain)
        x = LinearReLU.apply(x, self.hidden.weight, self.hidden.bias)
        return MyLinear.apply(x, self.scores.weight, self.scores.bias)


def your_loss(scores, target):
    """Mean over the rows of logsumexp(scores) minus the score of the right class."""
    hits = F.one_hot(target, scores.shape[1]).to(scores.dtype)
    chosen = Sum.apply(Multiply.apply(scores, hits), 1)
    return Mean.apply(LogSumExp.apply(scores, 1) - chosen, 0)


# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### The network in small

# %% [markdown]
# Two numbers in, two hidden units, two scores, and the loss of label 1. One hidden unit is closed. On the way back, look at its row of `W1`: what does it learn from this example?

# %% nbgrader={"grade": false, "grade_id": "see-network-flow", "locked": true, "schema_version": 3, "solution": false, "task": false}
layers = (
    Operation("LinearReLU", LinearReLU, ("x", "W1", "b1")),
    Operation("MyLinear", MyLinear, ("LinearReLU", "W2", "b2")),
    Operation("Loss", lambda scores: your_loss(scores, torch.tensor([1])), ("MyLinear",)),
)
example = {
    "x": torch.tensor([[1.0, 2.0]]),
    "W1": torch.tensor([[1.0, -1.0], [0.5, 1.0]]),
    "b1": torch.zeros(2),
    "W2": torch.tensor([[1.0, 1.0], [2.0, -1.0]]),
    "b2": torch.zeros(2),
}
gradient_flow(example, layers)

# %% [markdown]
# Nothing: its gradient is 0.

# %% [markdown]
# ### The training
#
# With `torch.nn` beside it, from the same weights, on the same batches.

# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if os.environ.get("NBGRADER_EXECUTION") else round(400 * SCALE)  # few while grading


def train(network_class, loss_function, dtype):
    """Losses of STEPS steps on batches of 100, and the trained network; same start, same batches."""
    torch.manual_seed(0)
    network = network_class().to(dtype)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        batch = torch.randint(len(train_x), (100,))
        loss = loss_function(network(train_x[batch].to(dtype)), train_y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64), network


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
results = {}
for dtype in (torch.float32, torch.float64):
    yours, your_network = train(YourClassifier, your_loss, dtype)
    torchs, torchs_network = train(TorchsClassifier, torch.nn.CrossEntropyLoss(), dtype)
    results[dtype] = yours, torchs, your_network
    worst = (yours - torchs).abs().max().item()
    pairs = zip(your_network.parameters(), torchs_network.parameters())
    apart = max((a - b).abs().max().item() for a, b in pairs)
    print(f"{dtype}: last loss, yours {yours[-1]:.6f}, torch.nn {torchs[-1]:.6f}")
    print(f"               largest difference of the losses at any step {worst:.1e}")
    print(f"               largest difference of any weight at the end  {apart:.1e}")

# %% [markdown]
# The same losses, and even the same weights. What is left is rounding: in float64 it is smaller by about the factor that the numbers are more precise. **A bug would not shrink with the dtype.**

# %% nbgrader={"grade": false, "grade_id": "finale-losses-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
names = {"float32": torch.float32, "float64": torch.float64}
figures.losses_and_their_gaps({name: results[dtype][:2] for name, dtype in names.items()})

# %% [markdown]
# Now let it read. `Max` gives the highest score and the digit it belongs to.

# %% nbgrader={"grade": false, "grade_id": "finale-reading", "locked": true, "schema_version": 3, "solution": false, "task": false}
network = results[torch.float64][2]
with torch.no_grad():
    scores = network(test_x)
    best, answer = Max.apply(scores, 1)
    certainty = torch.exp(best - LogSumExp.apply(scores, 1))  # the probability of the answer
right_ones = (answer == test_y).double().mean().item()
print(f"{right_ones:.1%} of {len(test_y)} digits it has never seen are read correctly")

hardest = certainty.argsort()[:8]
told = [f"{test_y[i]} read\nas {answer[i]} ({certainty[i]:.0%})" for i in hardest]
alt = "The eight test digits with the least certain answers: " + "; ".join(told)
figures.digits(test_x[hardest].reshape(-1, 8, 8), told, "The eight it is least certain of", alt)

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### What the gain has learned

# %% [markdown]
# One number a pixel, whose gradient your `unbroadcast` summed:

# %% nbgrader={"grade": false, "grade_id": "finale-gain", "locked": true, "schema_version": 3, "solution": false, "task": false}
gain, ink = network.gain.detach().reshape(8, 8), train_x.mean(0).reshape(8, 8)
print("pixels that are never inked keep the gain 1 exactly:", bool((gain[ink == 0] == 1).all()))
figures.ink_and_gain(ink, gain)

# %% [markdown]
# Where there never is ink, the gradient of the gain is a sum of zeros: it stays at exactly 1.

# %% [markdown]
# ### An honest word
#
# `F.linear`, `torch.sum`, `torch.logsumexp` are there, with backwards like yours, in C++. Use them.

# %% [markdown]
# ## Find the bug
#
# Two answers to `Max`. Both give the right values, and on random numbers the right gradients. One of them is wrong on pictures, where many pixels are equally black.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("linear")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: on random numbers, along dimension 0, on whole numbers …
x = torch.tensor([[1.0, 3.0], [2.0, 0.5]], requires_grad=True)
A.apply(x, 1)[0].sum().backward()
x.grad

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("linear")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-linear", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("linear")

# %% nbgrader={"grade": false, "grade_id": "quiz-linear-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("linear")

# %% [markdown]
# ## Summary
#
# | forward | backward | keep |
# |---|---|---|
# | $xW^{\mathsf T} + b$ | $gW$, $g^{\mathsf T}x$, $\sum_r g_r$ | $x$, $W$; not $b$ |
# | $a \cdot b$ with broadcasting | $g b$ and $g a$, each summed to its shape | $a$, $b$ |
# | sum, mean over `dim` | stretch, divide by the size of `dim` | a shape |
# | max over `dim` | scatter to the chosen element | the indices |
# | log Σ exp | $g \cdot e^{x - \text{out}}$ | $x$, the output |
# | relu of a linear layer | mask, then the layer's three | $x$, $W$, a mask |
#
# * **Write the indices.** Which outputs does this element touch, and with which factor?
# * What is used several times gets a **sum**. torch repairs a missing one silently; gradcheck does not see it.
# * Test with sizes that are **all different** and values that are random.
# * A bool is a byte. A Python Function fuses nothing. Measure.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Mike Giles (2008): [*Collected matrix derivative results for forward and reverse mode algorithmic differentiation*](https://doi.org/10.1007/978-3-540-68942-3_4). Products, inverses and factorisations, all by the indices.
# - Pierre Blanchard, Desmond Higham and Nicholas Higham (2021): [*Accurately computing the log-sum-exp and softmax functions*](https://doi.org/10.1093/imanum/draa038). What the shift costs in digits, and when it is needed.
# - Paulius Micikevicius and others (2018): [*Mixed precision training*](https://arxiv.org/abs/1710.03740). What autocast is for.
# - PyTorch (torch 2.13): [*Broadcasting semantics*](https://docs.pytorch.org/docs/stable/notes/broadcasting.html). The rules that your `unbroadcast` reverses.
# - PyTorch (torch 2.13): [*Extending PyTorch*](https://docs.pytorch.org/docs/stable/notes/extending.html). `mark_dirty`, `mark_non_differentiable` and `set_materialize_grads`, with a linear layer as the example.
# - PyTorch (torch 2.13): [*Automatic mixed precision*](https://docs.pytorch.org/docs/stable/amp.html). `custom_fwd` and `custom_bwd`.

# %% [markdown]
# ## Where to go next
#
# **Lesson 04, Gradients that are not derivatives.** What if the true gradient is zero almost everywhere, as for rounding or a sign? Then one puts another gradient in its place, on purpose, and trains networks whose weights are one bit each.
