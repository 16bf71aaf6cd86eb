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
# # Layers you know, from inside
#
# Dropout, batch norm, layer norm, convolution: you have used them a hundred times. Each has a backward with a thought of its own. Dropout must remember what it threw away. Normalisation has a gradient that cannot point in two directions. And a convolution goes backward as a convolution.
#
# At the end a small convolutional network made of *your* layers reads handwriting, with the losses of `torch.nn` beside yours in one plot.
#
# **Time:** about two hours: 40 minutes to read and predict, 80 for four exercises. Folded sections are asides.
#
# **You need:** lessons 01 to 03; of lesson 05, that what forward computes is a constant for a second derivative.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck

from autograder import check, hint, progress
from widgets import (
    attempt,
    figures,
    outcome,
    predict,
    quiz,
    saved_ledger,
    suspects,
    verdict,
    xray,
)

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(9)

# %% [markdown]
# ## Dropout: remember what you threw away
#
# In training, dropout sets each element to 0 with probability $p$ and divides what is left by $1 - p$, so that on average the output is $x$:
#
# $$y = \frac{m \odot x}{1 - p}, \qquad m_i = 1 \text{ with probability } 1 - p, \text{ else } 0 .$$
#
# For a given mask $m$ this is a product, and the gradient is the same product: $g \odot m / (1 - p)$. The mask is the only thing that backward needs, and the one thing that it cannot compute. What if it draws another one?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-redraw", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("redraw")


# %% nbgrader={"grade": false, "grade_id": "demo-redraw", "locked": true, "schema_version": 3, "solution": false, "task": false}
class DrawsAgain(Function):
    """Dropout with p = ½ whose backward draws a mask of its own."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x * (torch.rand_like(x) >= 0.5)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * (torch.rand_like(grad_output) >= 0.5)


x = torch.ones(100_000, requires_grad=True)
y = DrawsAgain.apply(x)
y.sum().backward()
print(f"elements with a gradient:                     {(x.grad != 0).float().mean():.1%}")
print(f"mean of the gradient (right on average):      {x.grad.mean():.3f}")
print(
    f"dropped in y or in the gradient, not in both: {((y == 0) != (x.grad == 0)).float().mean():.1%}"
)

outcome("redraw")

# %% [markdown]
# No error, and gradients of the right size. A network still learns with them, and ends worse than it should: nobody looks for such a bug.
#
# ## Exercise 1: Dropout
#
# Random numbers come from torch's generator: then `torch.manual_seed` repeats a run, and `torch.utils.checkpoint` and your own `Checkpoint` can draw them again. How you draw the mask is your affair. The check reads off your output what you dropped, and asks for the gradient that belongs to it.
#
# **Contract.** `Dropout.apply(x, p, training)` promises
#
# * **values**: each element is 0 with probability `p`, whatever happens to the others, and `x / (1 - p)` else; with `training=False` it is `x`
# * **gradients**: the same elements, the same factor; `None` for `p` and `training`
# * **second derivatives** right
# * **special points**: p = 0, p = 1 and ±1000. (An infinite number times 0 is NaN, in `F.dropout` too, and so may yours be.)
# * **memory**: a byte an element (a bool mask), or the state of the generator (5056 bytes, kept like a mask); nothing when not training
# * **shapes, strides, dtypes** as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device)
# * **nothing else is touched**: backward knows forward's mask; the seed is the caller's
# * **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "dropout", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Dropout(Function):
    """Inverted dropout: x · mask / (1 − p), the mask drawn in forward; x itself when not training."""

    @staticmethod
    def forward(ctx, x, p, training):
        ### BEGIN SOLUTION
        ctx.scale = 1 / (1 - p) if training and p < 1 else 1.0
        if not training:
            return x.clone()
        kept = torch.rand_like(x) >= p
        ctx.save_for_backward(kept)
        return x * kept * ctx.scale
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        grad_x = grad_output * ctx.scale
        for kept in ctx.saved_tensors:  # one mask, or none
            grad_x = grad_x * kept
        return grad_x, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "dropout-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Dropout)

# %% nbgrader={"grade": true, "grade_id": "dropout-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Dropout are checked here with other numbers.
# You can run it now: check(Dropout, hidden=True)
### BEGIN HIDDEN TESTS
check(Dropout, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Dropout
#
# **Derivation.** For the mask that was drawn, $y_i = x_i m_i / (1 - p)$: each output has one input, with the factor $m_i / (1 - p)$, and so has the gradient. In $x$ it is linear: the second derivative is 0, and with respect to `grad_output` it is the mask again.
#
# **What is saved, and why.** The mask, as bool. `torch.rand_like(x) >= p` is never False at $p = 0$, since `rand` is never below 0, and always False at $p = 1$, since `rand` is never 1. So the two special points need no branch, only a scale that does not divide by 0.
#
# **Common mistakes.** A new mask in backward. `rand < p` for what is kept. The scale in forward alone. The mask as `float`, eight times the memory in float64. Reading the mask off the output, `y != 0`: after a ReLU half of `x` is 0 anyway, and what was kept there loses its gradient. `torch.manual_seed` in forward, which makes every call the same.
#
# **Another way.** Keep `torch.get_rng_state()` instead, 5056 bytes however large `x` is, and draw again in backward inside `torch.random.fork_rng`. That is what fused kernels do, attention's dropout among them: a mask of L × L bytes would cost more than all else.

# %% [markdown]
# ### See it run
#
# Look at the zeros of the output, and at those of the gradient.

# %% nbgrader={"grade": false, "grade_id": "see-dropout", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Dropout)

# %% [markdown]
# ### Right on average
#
# A single output is far from $x$; the mean of many is close to it. How close it should be can be said: the mean of $n$ draws spreads by $|x| \sqrt{p / (1 - p) / n}$. An estimator is tested against *that*, and not against a tolerance one likes.

# %% nbgrader={"grade": false, "grade_id": "demo-average", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, p, n = torch.tensor([1.0, -2.0, 0.5]), 0.3, 20_000
mean = Dropout.apply(x.expand(n, 3), p, True).mean(0)
spread = x.abs() * (p / (1 - p) / n) ** 0.5
for value, found, off in zip(x.tolist(), mean.tolist(), spread.tolist()):
    print(
        f"x {value:5}   mean of {n} draws {found:8.4f}   off by {abs(found - value) / off:.1f} spreads"
    )

# %% [markdown]
# ### gradcheck and randomness
#
# gradcheck calls a function again and again and compares. What does it say of `F.dropout`, which is certainly right?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-gradcheck", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("gradcheck")


# %% nbgrader={"grade": false, "grade_id": "demo-gradcheck", "locked": true, "schema_version": 3, "solution": false, "task": false}
def with_a_seed(x):
    torch.manual_seed(0)  # the same mask in every call, for this test only
    return F.dropout(x, 0.5)


x = torch.randn(6, dtype=torch.float64, requires_grad=True)
print("F.dropout as it is:        ", gradcheck(F.dropout, x, raise_exception=False))
print("with a seed in every call: ", gradcheck(with_a_seed, x))

outcome("gradcheck")

# %% [markdown]
# gradcheck needs a function: the same input, the same output. For a random one, fix the seed *around* it, never in the Function itself.
#
# ## Normalisation: a gradient on a leash
#
# Batch norm takes a column of $n$ numbers (one channel, over the batch), subtracts its mean, divides by its spread, and lets a weight and a bias take both back in a form that can be learned:
#
# $$\hat x_i = \frac{x_i - m}{s}, \qquad m = \frac1n \sum_j x_j, \qquad s = \sqrt{\frac1n \sum_j (x_j - m)^2 + \varepsilon}, \qquad y_i = w \hat x_i + b .$$
#
# The variance is the *biased* one, divided by $n$. Before you differentiate: what reaches $x$ if every output simply gets the gradient 1?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-sum", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("sum")

# %% nbgrader={"grade": false, "grade_id": "demo-sum", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = (3 * torch.randn(5, 2, dtype=torch.float64) + 7).requires_grad_()
F.batch_norm(x, None, None, training=True).sum().backward()
print("gradient of the sum of all outputs, largest entry:", f"{x.grad.abs().max():.1e}")

outcome("sum")

# %% [markdown]
# ### Three ways from x to the output
#
# $x_j$ touches its own $\hat x_j$, and **every** $\hat x_i$ of its column by way of $m$ and $s$. Each of the two is a small derivative:
#
# $$\frac{\partial m}{\partial x_j} = \frac1n, \qquad \frac{\partial s}{\partial x_j} = \frac{x_j - m}{n s} = \frac{\hat x_j}{n}, \qquad\text{so}\qquad \frac{\partial \hat x_i}{\partial x_j} = \frac1s \Bigl( \delta_{ij} - \frac1n - \frac{\hat x_i \hat x_j}{n} \Bigr).$$
#
# With $h = g w$, the gradient that arrives at $\hat x$, summing over $i$ gives
#
# $$\frac{\partial L}{\partial x} = \frac1s \bigl( h - \operatorname{mean}(h) - \hat x \cdot \operatorname{mean}(h \hat x) \bigr).$$
#
# Read it as geometry. The first subtraction takes away the part of $h$ along $(1, 1, \dots, 1)$: shifting a column changes nothing. The second takes away the part along $\hat x$: stretching a column changes nothing either. What is left is a **projection**, divided by $s$.
#
# ### The picture
#
# For $n = 3$ it can be drawn. Columns with mean 0 form a plane, and those of spread 1 in it a circle: every $\hat x$ lies on it. A gradient can only move $\hat x$ *along* the circle. Here are four columns, the gradients $h$ that arrive (grey), and what batch norm lets through (blue).

# %% nbgrader={"grade": false, "grade_id": "demo-circle", "locked": true, "schema_version": 3, "solution": false, "task": false}
columns = torch.tensor(
    [[2.0, 0.3, -1.0, 1.0], [0.0, 2.0, 0.5, -2.0], [-1.0, -1.0, 2.0, 0.2]], dtype=torch.float64
)
arriving = torch.tensor(
    [[0.9, 0.4, -0.6, 1.0], [1.1, 0.9, 1.0, -0.2], [0.1, 0.9, 0.9, 1.2]], dtype=torch.float64
)


def let_through(layer, x, h):
    """x̂ and what of the gradient h reaches x, times the spread; columns (3, k), no weight, hardly any ε."""
    x = x.clone().requires_grad_()
    y = layer(x)
    (gradient,) = torch.autograd.grad(y, x, h)
    return y.detach(), gradient * x.detach().std(0, unbiased=False)


def torchs_layer(x):
    return F.batch_norm(x, None, None, training=True, eps=1e-12)


normed, passed = let_through(torchs_layer, columns, arriving)
figures.on_a_circle(normed, arriving, passed)

# %% [markdown]
# Two consequences to remember. A bias in the layer *before* batch norm gets the gradient 0, always, so it never learns. And if the weights that make a column were twice as large, nothing after batch norm would change: only their direction learns, not their size.
#
# ## Exercise 2: BatchNorm
#
# Forward computes $\hat x$ and $s$, and backward needs both. Keeping them is cheap and what torch does. But then they are constants for a second derivative, which would be wrong **silently**. Keep $x$ and compute them again, or refuse: `if torch.is_grad_enabled(): raise RuntimeError(…)` as the first line of backward.
#
# **Contract.** `BatchNorm.apply(x, weight, bias, eps)` promises
#
# * **values**: each column of `x` (N, C) normalised over the batch with the biased variance, times `weight` (C) plus `bias` (C); `eps` is a float, below the root
# * **gradients**: three, and `None` for `eps`; `None` where none is needed
# * **second derivatives** right, or refused with a RuntimeError
# * **special points**: a column of equal numbers, where only `eps` stands below the root; columns far from 0 in float32
# * **memory**: `x` or $\hat x$, two numbers a channel, and `weight`
# * **shapes, strides, dtypes** as for every Function
# * **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "batch-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BatchNorm(Function):
    """Each column of x (N, C) to mean 0 and spread 1 over the batch, times weight, plus bias."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        ### BEGIN SOLUTION
        centred = x - x.mean(0)
        scale = torch.rsqrt((centred * centred).mean(0) + eps)  # 1 / s
        normed = centred * scale
        ctx.save_for_backward(normed, scale, weight)
        return normed * weight + bias
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError(
                "BatchNorm keeps what forward computed: it has no second derivative."
            )
        normed, scale, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            h = grad_output * weight
            grad_x = scale * (h - h.mean(0) - normed * (h * normed).mean(0))
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * normed).sum(0)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "batch-norm-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(BatchNorm)

# %% nbgrader={"grade": true, "grade_id": "batch-norm-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of BatchNorm are checked here with other numbers.
# You can run it now: check(BatchNorm, hidden=True)
### BEGIN HIDDEN TESTS
check(BatchNorm, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: BatchNorm
#
# **Derivation.** In the text: $\partial \hat x_i / \partial x_j = (\delta_{ij} - 1/n - \hat x_i \hat x_j / n) / s$. The matrix is symmetric, so the product with $h$ from the left is the one from the right. With $\varepsilon > 0$ it holds as it stands, since $s$ contains $\varepsilon$; it is then not quite a projection, for $\sum \hat x_i^2 = n (s^2 - \varepsilon) / s^2$.
#
# **What is saved, and why.** $\hat x$ (as large as x), $1/s$ a channel, and the weight. The refusal is one line; once_differentiable alone would stay silent in a loss that adds another term.
#
# **Common mistakes.** Mean and spread as constants, which leaves `h · scale`, of the right shape and size. One of the two subtractions left out. `x.var(0)`, which divides by n − 1. `E[x²] − E[x]²`, which loses all digits far from 0. `weight` forgotten in $h$.
#
# **Another way.** Papers go by way of dvar and dmean, and need twice the lines. It is the same gradient: write $-\frac12 (\sum h (x - m)) s^{-3} \cdot 2 (x - m) / n$ and find $-\hat x \operatorname{mean}(h \hat x) / s$ in it.

# %% [markdown]
# ### Your own layer on the circle
#
# The same picture by your class. The mean of each gradient, and its part along $\hat x$, should be 0 to the last digit.

# %% nbgrader={"grade": false, "grade_id": "demo-circle-yours", "locked": true, "schema_version": 3, "solution": false, "task": false}
ones, zeros = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
normed, passed = let_through(lambda x: BatchNorm.apply(x, ones, zeros, 0.0), columns, arriving)
print("mean of the gradient: ", passed.mean(0).abs().max().item())
print("its part along x̂:     ", (passed * normed).mean(0).abs().max().item())
figures.on_a_circle(normed, arriving, passed)

# %% [markdown]
# ### What is kept
#
# Yours beside torch's. `native_batch_norm` keeps x, the weight, and two numbers a channel.

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-batch-norm", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, weight, bias = torch.randn(64, 16), torch.ones(16), torch.zeros(16)
saved_ledger(BatchNorm, x, weight, bias, 1e-5)


# %% nbgrader={"grade": false, "grade_id": "see-kept-by-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
def torchs_batch_norm(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


saved_ledger(torchs_batch_norm, x, weight, bias)

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### When not training

# %% [markdown]
# At test time there may be one example and no batch. So a batch-norm *module* keeps running averages of mean and variance while it trains, and uses them as constants afterwards: a plain multiplication by a number a channel, whose backward is that number. (torch's running variance is the unbiased one; the one that normalises is biased.) In training mode a batch of one says nothing about a spread, and torch refuses it.

# %% nbgrader={"grade": false, "grade_id": "demo-batch-of-one", "locked": true, "schema_version": 3, "solution": false, "task": false}
attempt(torchs_batch_norm, torch.randn(1, 3), torch.ones(3), torch.zeros(3))

# %% [markdown]
# ## Layer norm: the same along the other dimension
#
# Layer norm normalises each *row*: mean and spread belong to an example, whatever else is in the batch. So it is the same in training and testing, and for a batch of one. Weight and bias still belong to the last dimension, so their gradients sum over all others, as the bias of a linear layer does.
#
# ## Exercise 3: LayerNorm
#
# **Contract.** `LayerNorm.apply(x, weight, bias, eps)` promises
#
# * **values** of `F.layer_norm` over the last dimension D; `weight` (D), `bias` (D), `eps` a float
# * **gradients**: three, each of exactly its input's shape, and `None` for `eps`; `None` where none is needed
# * **second derivatives** right: this time they are not refused. What may be saved, then?
# * **special points**: a row of equal numbers; rows far from 0 in float32
# * **memory**: `x`, two numbers a row, and `weight`
# * **shapes, strides, dtypes**: `x` (…, D) with any number of batch dimensions, none included
# * **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "layer-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LayerNorm(Function):
    """Each row of x (…, D) to mean 0 and spread 1, times weight (D), plus bias (D). Keeps x and weight."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        centred = x - x.mean(-1, keepdim=True)
        scale = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + eps)
        return centred * scale * weight + bias
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, weight = ctx.saved_tensors
        centred = x - x.mean(-1, keepdim=True)
        scale = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + ctx.eps)
        normed = centred * scale
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            h = grad_output * weight
            along = (h * normed).mean(-1, keepdim=True)
            grad_x = scale * (h - h.mean(-1, keepdim=True) - normed * along)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * normed).reshape(-1, len(weight)).sum(0)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.reshape(-1, len(weight)).sum(0)
        return grad_x, grad_weight, grad_bias, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "layer-norm-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LayerNorm)

# %% nbgrader={"grade": true, "grade_id": "layer-norm-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LayerNorm are checked here with other numbers.
# You can run it now: check(LayerNorm, hidden=True)
### BEGIN HIDDEN TESTS
check(LayerNorm, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: LayerNorm
#
# **Derivation.** That of batch norm, with rows for columns. `weight` meets $\hat x$ elementwise before the row is summed, so $h = g w$ stands inside both means.
#
# **What is saved, and why.** $x$ and `weight`, and all else is computed again: then autograd sees how it depends on $x$ when it goes through backward a second time. That costs a few elementwise operations; torch keeps mean and 1/s a row and has a second backward written by hand.
#
# **Common mistakes.** `.sum(0)` for the gradient of `weight` where `x` has three dimensions. `view` in place of `reshape`. $\hat x$ saved: the first derivative is right, the second is not.
#
# **Another way.** Saving mean and 1/s for the first derivative, and computing them again only `if torch.is_grad_enabled()`: fast in the one case, right in both.

# %% [markdown]
# ### See it run
#
# What is saved, and what comes back for each of the three? If the check found your *second* derivative wrong, the walk opens on the backward through your backward: look for the box that no line leads into. (`xray(LayerNorm, order=2)` shows that walk for a right answer too. It has thirty steps and a long picture: everything is computed again.)

# %% nbgrader={"grade": false, "grade_id": "see-layer-norm", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(LayerNorm)

# %% [markdown]
# ## Convolution: backward is a convolution
#
# `F.conv1d` slides a window over the positions of `x`, with a stride $r$ after padding with $q$ zeros on both sides (one channel in, one out, for the moment):
#
# $$y_t = \sum_k x_{t r + k - q} \, w_k + b .$$
#
# (Mathematicians call this a correlation; a convolution has the kernel turned round.) Ask the two questions of lesson 03.
#
# * **$w_k$** touches every output $t$, with the factor $x_{tr + k - q}$: $\;\partial L/\partial w_k = \sum_t g_t \, x_{tr + k - q}$. That is `x` weighed by $g$: windows again.
# * **$x_i$** touches every $y_t$ whose window it lies in, with the factor $w_k$ at its place $k = i + q - t r$ in it: $\;\partial L/\partial x_i = \sum_t g_t \, w_{i + q - t r}$. Each $g_t$ lays down a copy of the kernel where its window was, and copies that overlap add up.
#
# As a matrix, every row of a convolution is the kernel, shifted by the stride. The gradient multiplies by the **transpose**, which is why `F.conv_transpose1d` is called so.

# %% nbgrader={"grade": false, "grade_id": "demo-matrix", "locked": true, "schema_version": 3, "solution": false, "task": false}
kernel = torch.tensor([[[1.0, 2.0, 3.0]]])


def matrix_of(stride, length=8):
    """The Jacobian of F.conv1d by that kernel: a row for each output."""

    def convolve(x):
        return F.conv1d(x.view(1, 1, -1), kernel, stride=stride).flatten()

    return torch.autograd.functional.jacobian(convolve, torch.zeros(length))


figures.matrices({"stride 1": matrix_of(1), "stride 2": matrix_of(2)})

# %% [markdown]
# Look at the last column on the right: with stride 2 something is left over.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-left-over", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("left-over")

# %% nbgrader={"grade": false, "grade_id": "demo-left-over", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(1, 1, 8, requires_grad=True)
y = F.conv1d(x, kernel, stride=2)
y.sum().backward()
print("gradient of x:                  ", x.grad.flatten().tolist())
back = F.conv_transpose1d(torch.ones_like(y), kernel, stride=2)
print("F.conv_transpose1d of the ones: ", back.flatten().tolist())

outcome("left-over")

# %% [markdown]
# Inputs of length 7 and 8 have the same three windows here, so the transposed convolution cannot know how long `x` was. You tell it, by `output_padding`: the number of elements behind the last window, $(L + 2q - K) \bmod r$.
#
# ### Windows turn it into a linear layer
#
# `x.unfold(2, K, stride)` is a *view* that holds every window, of shape (N, C, T, K), without copying an element. On it, convolution with channels is lesson 03's product over $c$ and $k$, and an `einsum` says so.

# %% nbgrader={"grade": false, "grade_id": "demo-unfold", "locked": true, "schema_version": 3, "solution": false, "task": false}
x, weight = torch.randn(2, 3, 9), torch.randn(4, 3, 5)
windows = x.unfold(2, 5, 2)
print("windows", tuple(windows.shape), "of the same memory:", windows.data_ptr() == x.data_ptr())
by_hand = torch.einsum("nctk,ock->not", windows, weight)
print("off by", f"{(by_hand - F.conv1d(x, weight, stride=2)).abs().max():.0e}")

# %% [markdown]
# ## Exercise 4: Conv1d
#
# Forward may call `F.conv1d`. Backward may use windows and sums, or torch's own convolutions *forwards* (`F.conv1d`, `F.conv_transpose1d`, `F.fold`), and no kernel made for the derivative: `torch.nn.grad` is out.
#
# **Contract.** `Conv1d.apply(x, weight, bias, stride, padding)` promises
#
# * **values** of `F.conv1d`: `x` (N, C, L), `weight` (O, C, K), `bias` (O); `stride` and `padding` are ints
# * **gradients**: three, each of exactly its input's shape, and `None` for the ints; `None` where none is needed
# * **second derivatives** right
# * **special points**: a single window; a kernel longer than `x`, thanks to padding; inputs of ±1000. (Nothing is promised for an infinite weight.)
# * **memory**: `x` and `weight`. No copy of the windows
# * **shapes, strides, dtypes** as for every Function; an empty batch too
# * **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "conv1d", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Conv1d(Function):
    """Windows of x (N, C, L) weighed by weight (O, C, K), plus bias (O). Keeps x and weight."""

    @staticmethod
    def forward(ctx, x, weight, bias, stride, padding):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.padding = stride, padding
        return F.conv1d(x, weight, bias, stride, padding)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, weight = ctx.saved_tensors
        stride, padding, size = ctx.stride, ctx.padding, weight.shape[2]
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            behind = (x.shape[2] + 2 * padding - size) % stride  # elements that no window reached
            grad_x = F.conv_transpose1d(grad_output, weight, None, stride, padding, behind)
        if ctx.needs_input_grad[1]:
            windows = F.pad(x, (padding, padding)).unfold(2, size, stride)
            grad_weight = torch.einsum("not,nctk->ock", grad_output, windows)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum((0, 2))
        return grad_x, grad_weight, grad_bias, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "conv1d-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Conv1d)

# %% nbgrader={"grade": true, "grade_id": "conv1d-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Conv1d are checked here with other numbers.
# You can run it now: check(Conv1d, hidden=True)
### BEGIN HIDDEN TESTS
check(Conv1d, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Conv1d
#
# **Derivation.** From $y_{not} = \sum_{c,k} x_{n,c,tr+k-q} w_{ock} + b_o$. $w_{ock}$ touches all $n$ and $t$: $\sum_{n,t} g_{not} \, x_{n,c,tr+k-q}$, the `einsum`. $b_o$ is added at all $n$ and $t$. $x_{nci}$ touches the outputs of all filters $o$ at the positions $t$ with $0 \le i + q - tr < K$: a transposed convolution.
#
# **What is saved, and why.** `x` and `weight`. The windows are a view of the padded `x`, made again in backward; as a tensor of their own they would be K times as large.
#
# **Common mistakes.** No `output_padding`, which fails only where windows do not come out even. The kernel turned round a second time. `sum(0)` for the bias, which leaves the positions. The windows of the unpadded `x`.
#
# **Another way.** The gradient of `weight` is a convolution as well: `F.conv1d(x.transpose(0, 1), grad_output.transpose(0, 1), padding=padding, dilation=stride)`, cut to K and transposed back: the batch takes the part of the channels, and the stride comes back as a dilation.

# %% [markdown]
# ### The matrix of your backward
#
# One output at a time gets the gradient 1, and your backward answers with a row of the matrix. It should be the picture above.


# %% nbgrader={"grade": false, "grade_id": "demo-matrix-yours", "locked": true, "schema_version": 3, "solution": false, "task": false}
def matrix_by_backward(stride, length=8):
    """The Jacobian row by row, from the gradient for x of each output."""
    x = torch.zeros(1, 1, length, requires_grad=True)
    y = Conv1d.apply(x, kernel, torch.zeros(1), stride, 0).flatten()
    return torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0].flatten() for one in y])


figures.matrices(
    {f"stride {stride}, by your backward": matrix_by_backward(stride) for stride in (1, 2)}
)

# %% [markdown]
# ## Finale: a convolutional network of your own layers
#
# The digits of lesson 03, read column by column: 8 positions with 8 channels each, the pixels of a column. Two convolutions, batch norm, dropout, layer norm, and a linear layer for the scores. Your modules take over the parameters of torch's, and call your Functions.
#
# To compare two random networks, both have to drop the same elements. So the one of torch multiplies by the mask that *your* dropout draws for a tensor of ones: only the gradients differ. (`rand_like` fills memory in order, and so a transposed tensor gets its random numbers in other places. That is what `contiguous()` is for.)


# %% nbgrader={"grade": false, "grade_id": "finale-layers", "locked": true, "schema_version": 3, "solution": false, "task": false}
class YourConv1d(torch.nn.Conv1d):
    def forward(self, x):
        return Conv1d.apply(x, self.weight, self.bias, self.stride[0], self.padding[0])


class YourLayerNorm(torch.nn.LayerNorm):
    def forward(self, x):
        return LayerNorm.apply(x, self.weight, self.bias, self.eps)


class YourBatchNorm(torch.nn.BatchNorm1d):
    """Every position of every example is a row of the batch; running averages for testing as in torch."""

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        rows = x.transpose(1, 2).reshape(-1, x.shape[1])
        with torch.no_grad():
            self.running_mean.lerp_(rows.mean(0), self.momentum)
            self.running_var.lerp_(rows.var(0), self.momentum)
        y = BatchNorm.apply(rows, self.weight, self.bias, self.eps)
        return y.view(x.shape[0], x.shape[2], x.shape[1]).transpose(1, 2).contiguous()


class YourDropout(torch.nn.Dropout):
    def forward(self, x):
        return Dropout.apply(x, self.p, self.training)


class SameMask(torch.nn.Dropout):
    """torch's multiplication by the mask that your Dropout draws: both networks drop the same."""

    def forward(self, x):
        return x * Dropout.apply(torch.ones_like(x), self.p, self.training)


# %% nbgrader={"grade": false, "grade_id": "finale-networks", "locked": true, "schema_version": 3, "solution": false, "task": false}
def network(conv, batch_norm, dropout, layer_norm):
    """8 channels, 8 positions → 10 scores."""
    return torch.nn.Sequential(
        conv(8, 16, 3, padding=1), batch_norm(16), torch.nn.ReLU(), dropout(0.2),
        conv(16, 32, 3, stride=2, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
        layer_norm(128), torch.nn.Linear(128, 10),
    )  # fmt: skip


YOURS = YourConv1d, YourBatchNorm, YourDropout, YourLayerNorm
TORCHS = torch.nn.Conv1d, torch.nn.BatchNorm1d, SameMask, torch.nn.LayerNorm

# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_digits

SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if os.environ.get("NBGRADER_EXECUTION") else round(200 * SCALE)  # few while grading

digits = load_digits()
order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
pixels = torch.tensor(digits.images / 16, dtype=torch.float64)[order]
labels = torch.tensor(digits.target)[order]
train_x, train_y, test_x, test_y = pixels[:1300], labels[:1300], pixels[1300:], labels[1300:]


def train(layers, dtype):
    """Losses of STEPS steps on batches of 100, and the trained network; same start, batches and masks."""
    torch.manual_seed(0)
    model = network(*layers).to(dtype)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        batch = torch.randint(len(train_x), (100,))
        loss = F.cross_entropy(model(train_x[batch].to(dtype)), train_y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64), model.eval()


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
results = {}
for name, dtype in {"float32": torch.float32, "float64": torch.float64}.items():
    (yours, model), (torchs, _) = train(YOURS, dtype), train(TORCHS, dtype)
    results[name] = yours, torchs
    worst = (yours - torchs).abs().max().item()
    print(
        f"{name}: last loss, yours {yours[-1]:.6f}, torch.nn {torchs[-1]:.6f}; at most {worst:.0e} apart"
    )

with torch.no_grad():
    answer = model(test_x).argmax(1)
print(
    f"{(answer == test_y).double().mean():.1%} of {len(test_y)} digits it has never seen are read correctly"
)
print("float64 losses equal to 1e-5 at every step:", worst < 1e-5)
figures.losses_and_their_gaps(results)

# %% [markdown]
# The curves lie on each other. What is left is rounding, and in float64 it shrinks with the dtype; a wrong gradient would not. (On some machines the gap in float32 jumps, late in the training: rounding has carried a number across the kink of ReLU.) Try it: leave out one of the two subtractions in your `BatchNorm`, run its cell and these again, and look at the right half of the picture.
#
# ### An honest word
#
# `torch.nn` has all four, and its kernels are faster than yours: one pass over memory for what takes you five. What you have is the knowledge of what they keep, where they are silent, and how to write the next one.

# %% [markdown]
# ## Find the bug
#
# Two answers to `Dropout`. Both drop the right share, with the right factor, and both have gradients that look right on random numbers. One of them goes wrong behind a ReLU.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("layers")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: with zeros in x, with p = 0 and p = 1, not training …
x = torch.tensor([0.0, 0.0, 1.0, 2.0, 0.0, 3.0], requires_grad=True)
y = A.apply(x, 0.5, True)
y.sum().backward()
y, x.grad

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("layers")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-layers", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("layers")

# %% nbgrader={"grade": false, "grade_id": "quiz-layers-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("layers")

# %% [markdown]
# ## Summary
#
# | forward | backward | keep |
# |---|---|---|
# | $x m / (1 - p)$ | $g m / (1 - p)$, with the same $m$ | $m$ as bool, or the generator's state |
# | $w \hat x + b$ over the batch | $\frac1s (h - \operatorname{mean}(h) - \hat x \operatorname{mean}(h \hat x))$, $\sum g \hat x$, $\sum g$ | $\hat x$, $1/s$, $w$, and refuse twice |
# | the same along a row | the same along a row | $x$, $w$, and compute again |
# | windows times a kernel | the transposed convolution; windows times $g$; $\sum g$ | $x$, $w$; no windows |
#
# * A random Function draws **once**, from torch's generator, and remembers.
# * What a function does not notice (a shift, a stretch) its gradient cannot contain: **normalisation projects**.
# * Saved intermediates are constants to a second derivative. Compute again, or refuse.
# * The transpose of a convolution lays copies of the kernel down; `output_padding` says how long the input was.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Nitish Srivastava and others (2014): [*Dropout: a simple way to prevent neural networks from overfitting*](https://jmlr.org/papers/v15/srivastava14a.html). Why dropping helps; it scales at test time, where today's dropout scales in training.
# - Sergey Ioffe and Christian Szegedy (2015): [*Batch normalization*](https://arxiv.org/abs/1502.03167). The backward by way of variance and mean, on its page 4.
# - Jimmy Lei Ba, Jamie Ryan Kiros and Geoffrey Hinton (2016): [*Layer normalization*](https://arxiv.org/abs/1607.06450). What each of the normalisations does not notice, as a table.
# - Vincent Dumoulin and Francesco Visin (2016): [*A guide to convolution arithmetic for deep learning*](https://arxiv.org/abs/1603.07285). Stride, padding and transposes, in pictures.
# - PyTorch (torch 2.13): [*ConvTranspose1d*](https://docs.pytorch.org/docs/stable/generated/torch.nn.ConvTranspose1d.html). What `output_padding` means, and what it does not.
# - PyTorch (torch 2.13): [*Reproducibility*](https://docs.pytorch.org/docs/stable/notes/randomness.html). Seeds and generators, and what they do not promise.

# %% [markdown]
# ## Where to go next
#
# Take a layer of a network that you use and write its backward: RMS norm is layer norm without the mean, a depthwise convolution has one filter a channel. Then let `evaluate` compare it with torch's.
