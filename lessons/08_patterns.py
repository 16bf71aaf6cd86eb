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
# # Derivatives of other shapes
#
# **Lesson 08 · about 90 minutes** · 40 minutes of reading and predicting, 50 minutes for five exercises · before this one: 01 to 03
#
# Element by element, a derivative is a number. Between a row and a row it is a matrix, the Jacobian, and nobody wants to build it.
#
# Today you look at its **shape** first: where it is zero, where a few sums describe it, where every entry counts. Then backward is a few lines, and the hard part is elsewhere: divisions by what may be 0, ties, indices, pairs.
#
# At the end your Functions learn an order: which of 92 patients is worse off, from training data whose scale somebody has ruined.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

from autograder import check, hint, progress
from widgets import (
    figures,
    jacobian_map,
    outcome,
    predict,
    quiz,
    saved_ledger,
    suspects,
    verdict,
    xray,
)

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(8)

# %% [markdown]
# ## Why it matters
#
# A product of probabilities, a length, a maximum, a row of a table, a rank: none of them works element by element, and each has a place where the textbook's derivative divides by 0. Take the product $y = \prod_k x_k$. Its slope in $x_i$ is the product of the others, so it is tempting to write $y / x_i$.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-zero-factor", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("zero-factor")

# %% nbgrader={"grade": false, "grade_id": "demo-zero-factor", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.0, 3.0, 4.0], requires_grad=True)
y = x.prod()
(right,) = torch.autograd.grad(y, x)
print("by division:", (y / x).tolist())
print("by torch:   ", right.tolist())
outcome("zero-factor")

# %% [markdown]
# The product is 0 there, and it is not flat: when the first factor grows, $y$ grows by $3 \cdot 4$ for each unit. A division cannot know that, because the 0 has already swallowed the 12.
#
# ## Exercise 1 · Prod
#
# So do not divide. The product of the others is what stands **before** an element times what stands **behind** it. `cumprod` knows all products so far at once.
#
# **Contract.** `Prod.apply(x, dim)` promises
#
# * **values** of `torch.prod(x, dim)`
# * **gradients**: each factor gets the product of the others
# * **second derivatives** right
# * **special points**: value, gradient and second derivative right in rows with one zero, two zeros or three; right at ±1000
# * **memory**: `x` and the output, not more
# * **shapes, strides, dtypes**: as for every Function, and a row may have no factor at all: the product of nothing is 1
# * **nothing else is touched** · **your own work**: as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device)
#
# Two lines in words: `left` is 1, x₁, x₁x₂, …; `right` is the same from the other end.


# %% nbgrader={"grade": false, "grade_id": "prod", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Prod(Function):
    """The product along dim; x of any shape with at least one dimension. Keeps x."""

    @staticmethod
    def forward(ctx, x, dim):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.prod(dim)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x = ctx.saved_tensors[0].movedim(ctx.dim, -1)
        ones = torch.ones_like(x[..., :1])
        left = torch.cat([ones, x[..., :-1]], -1).cumprod(-1)
        right = torch.cat([x[..., 1:], ones], -1).flip(-1).cumprod(-1).flip(-1)
        return (grad_output.unsqueeze(-1) * left * right).movedim(-1, ctx.dim), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "prod-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Prod)

# %% nbgrader={"grade": true, "grade_id": "prod-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Prod are checked here with other numbers.
# You can run it now: check(Prod, hidden=True)
### BEGIN HIDDEN TESTS
check(Prod, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Prod**
#
# *Derivation.* $\partial y / \partial x_i = \prod_{k \ne i} x_k = \prod_{k < i} x_k \cdot \prod_{k > i} x_k$. Both products are `cumprod`s, shifted by one place.
#
# *What is saved.* `x` alone. `cumprod` is differentiable, at zeros too, so the second derivative $\prod_{k \ne i, j} x_k$ comes for free.
#
# *Common mistakes.* $y / x$, which is 0/0; $y / (x + \varepsilon)$, which gives 0 where 12 is right; a mask for one zero, which has the right gradient and a wrong second derivative; forgetting to flip back.

# %% [markdown]
# ### One zero, treated apart
#
# Somebody is clever: divide where there is no zero, and where there is exactly one, give it the product of the rest. The gradient is right at every point. Is that enough?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-masked-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("masked-twice")


# %% nbgrader={"grade": false, "grade_id": "demo-masked-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
class MaskedProd(Function):
    """The product of a vector; a single zero is treated apart."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.prod()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        zero = x == 0
        filled = torch.where(zero, 1.0, x)
        others = filled.prod() / filled
        if zero.any():
            others = torch.where(zero & (zero.sum() == 1), filled.prod(), 0.0)
        return grad_output * others


def hessian(function, x):
    """Second derivatives of a function of a vector, row by row."""
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(x), x, create_graph=True)
    rows = [torch.autograd.grad(g, x, retain_graph=True)[0] for g in gradient]
    return torch.stack(rows).tolist()


# %% nbgrader={"grade": false, "grade_id": "demo-masked-twice-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.0, 3.0, 4.0])
print("masked:", hessian(MaskedProd.apply, x))
print("torch: ", hessian(torch.prod, x))
print("yours: ", hessian(lambda t: Prod.apply(t, 0), x))
outcome("masked-twice")

# %% [markdown]
# $y = x_1 x_2 x_3$ has $\partial^2 y / \partial x_1 \partial x_2 = x_3 = 4$. The mask has cut the gradient of $x_2$, which is $x_1 x_3$, down to a constant 0. Its value at this point is right, its slope is not.
#
# > **Rule.** A special case for a point makes the value right there. Only a formula that holds *around* the point makes the next derivative right as well.

# %% [markdown]
# ## The mathematics: three shapes
#
# Let $y = f(x)$ with $n$ inputs and $m$ outputs. The Jacobian has $m \cdot n$ entries $J_{ij} = \partial y_i / \partial x_j$, and backward is
#
# $$\frac{\partial L}{\partial x_j} = \sum_i g_i J_{ij}, \qquad\text{in short } J^{\mathsf T} g .$$
#
# Nobody stores $J$. What backward costs depends on its shape:
#
# | $J$ is | means | backward is | examples |
# |---|---|---|---|
# | **sparse** | most inputs never reach most outputs | a mask, or writing to places | elementwise functions, maximum, indexing |
# | **low-rank** | what reaches the outputs goes through a few numbers | a sum, then spreading it | mean, norm, normalisation |
# | **dense** | every pair has an entry of its own | a sum over all pairs | ranks, kernels, matrix products |
#
# The **rank** of a matrix counts its independent rows: the number of numbers that everything has to pass through.
#
# Here is one Jacobian of each kind, for four inputs and four outputs. Slide through the entries. In the sparse one, which picks elements of $x$, most are 0. In the one of low rank every output is the length of $x$, so all rows are the same. In the dense one, of soft ranks, you need all sixteen.

# %% nbgrader={"grade": false, "grade_id": "see-jacobians-of-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
jacobian_map()

# %% [markdown]
# The last two columns of the table count: how many entries are *not 0*, and the *rank*. With four numbers that says little. Here are the same two counts for two hundred numbers, and for four functions:
#
# - softshrink, which you will meet below: it pulls each number towards 0, and what is near 0 becomes 0;
# - the length of all two hundred, as every output;
# - softmax;
# - soft ranks, made of all differences.

# %% nbgrader={"grade": false, "grade_id": "demo-three-shapes", "locked": true, "schema_version": 3, "solution": false, "task": false}
n = 200
x = torch.randn(n, dtype=torch.float64)
for name, function in {
    "sparse: softshrink  ": lambda t: F.softshrink(t, 0.5),
    "low rank: the length": lambda t: t.norm().expand(n),
    "a mixture: softmax  ": lambda t: torch.softmax(t, 0),
    "dense: soft ranks   ": lambda t: torch.sigmoid(t[:, None] - t[None, :]).sum(1),
}.items():
    J = torch.autograd.functional.jacobian(function, x)
    print(
        f"{name} {(J != 0).double().mean():6.1%} of the entries are not 0, rank {torch.linalg.matrix_rank(J):3}"
    )

# %% [markdown]
# Softmax looks dense, and is cheap all the same. Its Jacobian is a sparse matrix minus one of rank 1: a diagonal minus an outer product, $\operatorname{diag}(y) - y y^{\mathsf T}$. The diagonal costs one multiplication an element, the outer product one sum. (The rank is 199 and not 200 in the last two: shares add up to 1, and ranks to a constant, whatever $x$ is.)
#
# ## A worked example: soft threshold
#
# The **soft threshold** pulls every number towards 0 by an amount $t$, and what is nearer to 0 than $t$ becomes 0. (Statisticians know it from the lasso, signal processing from taking noise away.)
#
# $$y_i = \operatorname{sign}(x_i)\,\max(|x_i| - t, 0).$$
#
# If $t$ is a tensor that is to learn, there are two inputs, and so two Jacobians. That for $x$ is diagonal: 1 where $|x_i| > t$, else 0, so backward is a **mask**. That for $t$ has a single column, because $t$ is one number and reaches every output: $-\operatorname{sign}(x_i)$ where $|x_i| > t$, so backward is a **sum**. One mask serves both.


# %% nbgrader={"grade": false, "grade_id": "demo-soft-threshold", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SoftThreshold(Function):
    """sign(x) · max(|x| − t, 0) for a tensor t ≥ 0 that broadcasts to x."""

    @staticmethod
    def forward(ctx, x, t):
        y = torch.sign(x) * (x.abs() - t).clamp(min=0)
        ctx.save_for_backward(y)
        ctx.shape = t.shape
        print("forward   y =", y.tolist())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        grad_x = torch.where(y != 0, grad_output, 0)
        grad_t = (-grad_output * torch.sign(y)).sum_to_size(ctx.shape)
        print("backward  g =", grad_output.tolist(), "→", grad_x.tolist(), "and", grad_t.tolist())
        return grad_x, grad_t


x = torch.tensor([-2.0, -0.3, 0.1, 1.5], requires_grad=True)
t = torch.tensor(0.5, requires_grad=True)
SoftThreshold.apply(x, t).backward(torch.tensor([1.0, 10.0, 100.0, 1000.0]))
print("same as F.softshrink:", torch.equal(SoftThreshold.apply(x, t), F.softshrink(x, 0.5)))

# %% [markdown]
# The output tells where the mask is (it is 0 elsewhere) and the sign, so it is all that the Function keeps. `F.softshrink` takes a number for $t$; with a gradient for $t$ the threshold can be learned: here are five peaks in noise.

# %% nbgrader={"grade": false, "grade_id": "demo-learned-threshold", "locked": true, "schema_version": 3, "solution": false, "task": false}
generator = torch.Generator().manual_seed(3)
peaks = torch.zeros(400)
peaks[torch.randperm(400, generator=generator)[:5]] = 4.0
noisy = peaks + 0.5 * torch.randn(400, generator=generator)


def shrink(x, t):
    """SoftThreshold without its prints."""
    return torch.sign(x) * (x.abs() - t).clamp(min=0)


t = torch.tensor(0.0, requires_grad=True)
for step in range(61):
    loss = ((shrink(noisy, t) - peaks) ** 2).mean()
    (gradient,) = torch.autograd.grad(loss, t)
    if step % 20 == 0:
        print(f"step {step:2}   t = {t.item():.2f}   mean squared error {loss.item():.4f}")
    t = (t - gradient).detach().requires_grad_()

# %% [markdown]
# ## A length, and where it breaks
#
# The norm $y = \sqrt{\sum_k x_k^2}$ sends a whole row through one number. Its slope is $x_i / y$: the row, brought to length 1. Two places are dangerous.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-long-row", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("long-row")

# %% nbgrader={"grade": false, "grade_id": "demo-long-row", "locked": true, "schema_version": 3, "solution": false, "task": false}
for values in ([3.0, 4.0], [3e30, 4e30], [0.0, 0.0]):
    x = torch.tensor(values, requires_grad=True)
    for name, norm in (
        ("torch", torch.linalg.vector_norm),
        ("formula", lambda v: v.square().sum().sqrt()),
    ):
        y = norm(x)
        (gradient,) = torch.autograd.grad(y, x)
        print(f"{name:8} of {values}: {y.item():.3g}   gradient {gradient.tolist()}")
outcome("long-row")

# %% [markdown]
# In float32, squares end at $1.8 \cdot 10^{19}$. And in a row of zeros $x / y$ is 0/0: any vector no longer than 1 would be a subgradient there, and torch takes 0. So shall we.
#
# ## Exercise 2 · Norm
#
# **Contract.** `Norm.apply(x, dim)` promises
#
# * **values** $\sqrt{\sum x^2}$ along `dim`
# * **gradients**: $x$ divided by its norm, times the upstream gradient of its row
# * **second derivatives** right, away from rows of zeros
# * **special points**: value 0 and gradient 0 in a row of zeros; no overflow at 1e30 in float32, forward and backward; a row of length 1e-30 is no row of zeros (float64). (∞ / ∞ is NaN, and so may a row with an infinite number be.)
# * **memory**: `x` and the output, not more
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# For the overflow: $\sqrt{\sum x_k^2} = m \sqrt{\sum (x_k / m)^2}$ for every $m > 0$. Which $m$ lets nothing be larger than 1?


# %% nbgrader={"grade": false, "grade_id": "norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Norm(Function):
    """The L2 norm along dim; x of any shape with at least one dimension. Keeps x and the output."""

    @staticmethod
    def forward(ctx, x, dim):
        ### BEGIN SOLUTION
        top = x.abs().amax(dim, keepdim=True)
        top = torch.where(top == 0, 1.0, top)
        out = (x / top).square().sum(dim).sqrt() * top.squeeze(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        x, out = ctx.saved_tensors
        safe = torch.where(out == 0, 1.0, out).unsqueeze(ctx.dim)
        return grad_output.unsqueeze(ctx.dim) * (x / safe), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "norm-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Norm)

# %% nbgrader={"grade": true, "grade_id": "norm-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Norm are checked here with other numbers.
# You can run it now: check(Norm, hidden=True)
### BEGIN HIDDEN TESTS
check(Norm, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Norm**
#
# *Derivation.* $\partial y / \partial x_i = 2 x_i / (2 \sqrt{\sum x^2}) = x_i / y$.
#
# *What is saved.* `x` and the output. `out` is an output, so the second derivative $(\delta_{ij} - u_i u_j) / y$ with $u = x / y$ is right. Saved as a scaled copy or as `x / out`, it would be a constant.
#
# *The zero row.* `torch.where` *before* the division. After it, nan · 0 would still be nan in the second backward.
#
# *Common mistakes.* $\varepsilon$ under the root, which makes the norm of 0 something else; the same 0/0 in forward, once the row is scaled by its own maximum; `x * out / out**2`, which overflows on the way back.

# %% [markdown]
# ## Who is the largest?
#
# In lesson 03, `Max` had an index, and of two that tie the index names one. `torch.amax` has no index: elements that tie **share**. A share of ½ is also what a central difference measures, for two.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-three-tie", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("three-tie")

# %% nbgrader={"grade": false, "grade_id": "demo-three-tie", "locked": true, "schema_version": 3, "solution": false, "task": false}
for values in ([2.0, 2.0, 1.0], [2.0, 2.0, 2.0]):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.amax(x, 0), x)
    shares = [round(share, 3) for share in gradient.tolist()]
    passes = gradcheck(lambda v: torch.amax(v, 0), x, raise_exception=False)
    print(f"{values}   shares {shares}   gradcheck passes: {passes}")
outcome("three-tie")

# %% [markdown]
# At a kink there is no derivative to check against, only a convention. Equal shares are a fair one: they do not depend on the order of the elements.
#
# ## Exercise 3 · Amax
#
# **Contract.** `Amax.apply(x, dim)` promises
#
# * **values** of `torch.amax(x, dim)`
# * **gradients**: to the largest element of each row
# * **second derivatives**: those of the lines in your backward, which do not change with `x`: zero
# * **special points**: elements that tie share the gradient equally; two that differ in the last digit do not tie; right at ±1000
# * **memory**: at most as many bytes as `x` and the output: these two, or a mask (of booleans it takes an eighth of `x`)
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "amax", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Amax(Function):
    """The largest element along dim; ties share the gradient. Keeps a mask of x's shape."""

    @staticmethod
    def forward(ctx, x, dim):
        ### BEGIN SOLUTION
        out = x.amax(dim)
        ctx.save_for_backward(x == out.unsqueeze(dim))
        ctx.dim = dim
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (mask,) = ctx.saved_tensors
        share = (grad_output / mask.sum(ctx.dim)).unsqueeze(ctx.dim)
        return torch.where(mask, share, 0), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "amax-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Amax)

# %% nbgrader={"grade": true, "grade_id": "amax-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Amax are checked here with other numbers.
# You can run it now: check(Amax, hidden=True)
### BEGIN HIDDEN TESTS
check(Amax, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Amax**
#
# *What is saved.* A mask, one byte an element. Saving `x` and the output is right too, and often free: both are kept by somebody else anyway.
#
# *Second derivatives.* The mask is constant around almost every point, so nothing is lost by saving it, unlike in `Swish`.
#
# *Common mistakes.* The index of `torch.max`, which gives everything to one; the mask without the count, which pays twice; a tolerance, which shares among those who are not equal; `1 - mask` of a bool, which torch refuses (`~mask` is meant).

# %% [markdown]
# ## Gather and scatter: each other's transpose
#
# `x[idx]` copies elements to new places. It is linear: a matrix $P$ with a single 1 in each row. So backward is $P^{\mathsf T} g$: each number goes **back to where it came from**, and what came from one place adds up there.


# %% nbgrader={"grade": false, "grade_id": "demo-gather-scatter", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Gather(Function):
    """x[idx] for a vector x; its backward is Scatter."""

    @staticmethod
    def forward(ctx, x, idx):
        ctx.save_for_backward(idx)
        ctx.size = len(x)
        return x[idx]

    @staticmethod
    def backward(ctx, grad_output):
        return Scatter.apply(grad_output, *ctx.saved_tensors, ctx.size), None


class Scatter(Function):
    """Zeros of some size, to which each y[k] is added at idx[k]; its backward is Gather."""

    @staticmethod
    def forward(ctx, y, idx, size):
        ctx.save_for_backward(idx)
        return y.new_zeros(size).index_add(0, idx, y)

    @staticmethod
    def backward(ctx, grad_output):
        return Gather.apply(grad_output, *ctx.saved_tensors), None, None


# %% nbgrader={"grade": false, "grade_id": "demo-transposes", "locked": true, "schema_version": 3, "solution": false, "task": false}
idx = torch.tensor([2, 0, 2, 1, 2])
x = torch.randn(3, dtype=torch.float64, requires_grad=True)
y = torch.randn(5, dtype=torch.float64, requires_grad=True)
P = F.one_hot(idx, 3).double()
print("P =", P.int().tolist())
print("Gather is P x: ", torch.equal(Gather.apply(x, idx), P @ x))
print("Scatter is Pᵀ y:", torch.allclose(Scatter.apply(y, idx, 3), P.T @ y))
print("⟨P x, y⟩ =", round((Gather.apply(x, idx) @ y).item(), 6), end="   ")
print("⟨x, Pᵀ y⟩ =", round((x @ Scatter.apply(y, idx, 3)).item(), 6))
print(gradgradcheck(Gather.apply, (x, idx)), gradgradcheck(Scatter.apply, (y, idx, 3)))

# %% [markdown]
# Each uses the other in backward, so every derivative of every order is there. The line with the two inner products is a test that works for any linear pair: **⟨Px, y⟩ = ⟨x, Pᵀy⟩** with random x and y.
#
# Adding up is the point. What does plain indexing do when an index repeats?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-written-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("written-twice")

# %% nbgrader={"grade": false, "grade_id": "demo-written-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
place, arrives = torch.tensor([0, 0, 1]), torch.tensor([1.0, 10.0, 100.0])
total = torch.zeros(2)
total[place] += arrives
print("total[place] += arrives:", total.tolist())
print("index_add:              ", torch.zeros(2).index_add(0, place, arrives).tolist())
outcome("written-twice")

# %% [markdown]
# `total[place] += …` reads, adds, and *then* writes: two writes to one place, one survives. No error.
#
# ## Exercise 4 · Embedding
#
# A table of words: each index picks a row. The most common word may stand in a batch a thousand times, and every time its row learns something. A padding index stands for "no word": its row is not to learn.
#
# **Contract.** `Embedding.apply(indices, weight, padding_idx=None)` promises
#
# * **values**: the rows `weight[indices]`, for indices of any shape (`index_add` wants them as one vector: flatten them, and the gradient's rows with them); `padding_idx`, counted from 0, changes nothing here
# * **gradients**: for `weight`, where rows that are used several times add up, and the row at `padding_idx` gets 0; None for the indices
# * **second derivatives**: zero in `weight`; in `grad_output` backward is differentiable
# * **special points**: one index again and again, nothing but padding, and a `padding_idx` of 0; right at ±1000
# * **memory**: the indices
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function
#
# An index has no slope: whole numbers cannot grow a little. So its place in what backward returns is None.


# %% nbgrader={"grade": false, "grade_id": "embedding", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Embedding(Function):
    """Rows of weight (rows, width) by index; indices of any shape. Keeps the indices."""

    @staticmethod
    def forward(ctx, indices, weight, padding_idx=None):
        ### BEGIN SOLUTION
        ctx.save_for_backward(indices)
        ctx.shape, ctx.padding_idx = weight.shape, padding_idx
        return weight[indices]
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        flat = ctx.saved_tensors[0].reshape(-1)
        rows = grad_output.reshape(flat.numel(), ctx.shape[1])
        if ctx.padding_idx is not None:
            rows = torch.where((flat != ctx.padding_idx).unsqueeze(1), rows, 0)
        return None, grad_output.new_zeros(ctx.shape).index_add(0, flat, rows), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "embedding-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Embedding)

# %% nbgrader={"grade": true, "grade_id": "embedding-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Embedding are checked here with other numbers.
# You can run it now: check(Embedding, hidden=True)
### BEGIN HIDDEN TESTS
check(Embedding, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Embedding**
#
# *Derivation.* $y_{kd} = W_{i_k d}$, so $\partial L / \partial W_{rd} = \sum_{k:\, i_k = r} g_{kd}$: `index_add`. As matrices: $Y = P W$ and $\partial L / \partial W = P^{\mathsf T} G$, with $P$ never built.
#
# *What is saved.* The indices. Of `weight` only the shape is needed, which is an attribute.
#
# *Common mistakes.* `grad[indices] = g` and `grad[indices] += g`, which keep one of several; `if padding_idx:`, which is false for 0; zeros in float32; returning something for the indices; `weight` kept for its shape.

# %% [markdown]
# ## All pairs: a rank with a slope
#
# The rank of $x_i$ is one more than the number of smaller ones: $1 + \sum_{j \ne i} [x_j < x_i]$. A staircase, and staircases have no slope (lesson 04). A smooth version has a true derivative: put a sigmoid in place of each step.
#
# $$r_i = 1 + \sum_{j \ne i} \sigma\!\left(\frac{x_i - x_j}{\tau}\right).$$

# %% nbgrader={"grade": false, "grade_id": "demo-soft-ranks", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.3, 2.0, -1.0, 0.5])
print("ranks           ", (x.argsort().argsort() + 1).tolist())
for temperature in (0.01, 0.1, 1.0):
    pairs = torch.sigmoid((x[:, None] - x[None, :]) / temperature)
    soft = 0.5 + pairs.sum(1)  # the pair of an element with itself is ½
    print(f"temperature {temperature:4}", [round(value, 2) for value in soft.tolist()])

# %% [markdown]
# Now its gradient, by indices. Let $d_{ij} = \sigma'\bigl((x_i - x_j)/\tau\bigr)/\tau$, which is the same for $ij$ and $ji$. In which ranks does $x_k$ stand? In its own, once for each partner, and in everybody else's, with a minus:
#
# $$\frac{\partial L}{\partial x_k} = g_k \sum_{j} d_{kj} \;-\; \sum_{i} g_i\, d_{ik} \;=\; \sum_{j} d_{kj}\,(g_k - g_j).$$
#
# The loop over pairs is implicit, in `x.unsqueeze(-1) - x.unsqueeze(-2)`. It takes $n^2$ numbers while it runs. What is **kept** is another question.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-kept-pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("kept-pairs")


# %% nbgrader={"grade": false, "grade_id": "see-kept-pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def by_formula(x):
    return 0.5 + torch.sigmoid((x[:, None] - x[None, :]) / 0.5).sum(1)


saved_ledger(by_formula, torch.randn(1000))

# %% nbgrader={"grade": false, "grade_id": "demo-kept-pairs", "locked": true, "schema_version": 3, "solution": false, "task": false}
kept = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.nbytes), lambda t: t):
    by_formula(torch.randn(1000, requires_grad=True))
print("kept by the formula:", sum(kept), "bytes; x itself has", 1000 * 4)
outcome("kept-pairs")

# %% [markdown]
# ## Exercise 5 · SoftRank
#
# **Contract.** `SoftRank.apply(x, temperature)` with a Python number `temperature` promises
#
# * **values** $1 + \sum_{j \ne i} \sigma((x_i - x_j)/\text{temperature})$ over the last dimension
# * **gradients** right: each number stands on both sides of the minus
# * **second derivatives** right
# * **special points**: ties, and rows of a single number, whose rank is 1; finite and right at ±1000. (∞ minus itself is NaN, and so may a row with an infinite number be.)
# * **memory**: `x`; no tensor of n × n is kept
# * **shapes, strides, dtypes**: as for every Function, and a row may have no number at all
# * **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "soft-rank", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SoftRank(Function):
    """Soft ranks over the last dimension of x (…, n); temperature a number above 0. Keeps x."""

    @staticmethod
    def forward(ctx, x, temperature):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        ctx.temperature = temperature
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / temperature)
        return 0.5 + s.sum(-1)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        s = torch.sigmoid((x.unsqueeze(-1) - x.unsqueeze(-2)) / ctx.temperature)
        d = s * (1 - s) / ctx.temperature
        g = grad_output
        return (d * (g.unsqueeze(-1) - g.unsqueeze(-2))).sum(-1), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "soft-rank-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(SoftRank)

# %% nbgrader={"grade": true, "grade_id": "soft-rank-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of SoftRank are checked here with other numbers.
# You can run it now: check(SoftRank, hidden=True)
### BEGIN HIDDEN TESTS
check(SoftRank, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · SoftRank**
#
# *Derivation.* In the text. The diagonal needs no care in backward: there $g_k - g_k = 0$.
#
# *What is saved.* `x`. The pairs are computed again: for 1000 numbers 4 kB are kept in place of 4 MB, for one more sigmoid.
#
# *Common mistakes.* Only the first sum, as if $x_k$ stood in its own rank alone; a plus between the sums; $1/\tau$ forgotten; the pair of an element with itself counted, which adds ½ to every rank; $e^z/(1+e^z)^2$ for the slope, which is ∞/∞.

# %% [markdown]
# ### See it run
#
# One call of your class. What is saved, and which gradient does each number of `x` get?

# %% nbgrader={"grade": false, "grade_id": "see-soft-rank", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(SoftRank)

# %% [markdown]
# ### The three shapes, by your own classes
#
# The same picture, of three classes of yours. For each output $y_i$ your backward was asked once, with the upstream gradient 1 there and 0 elsewhere: its answer is row $i$. The table beside it also nudges the input and looks what forward does; ✓ where the two agree.
#
# - `Embedding`: here `x` is a table of four rows with one number each, and the indices 2, 0, 2, 1 pick four of them. Look for the column with two 1s: that row is used twice, so two gradients add up in it. And for the column without any.
# - `Norm`: every output is the same length, so all rows are equal.
# - `SoftRank`: every entry is a number of its own. What do the entries of a row add up to, and why?

# %% nbgrader={"grade": false, "grade_id": "see-jacobians", "locked": true, "schema_version": 3, "solution": false, "task": false}
jacobian_map(
    {
        "sparse: Embedding": lambda x: Embedding.apply(torch.tensor([2, 0, 2, 1]), x.unsqueeze(1)),
        "low-rank: Norm": lambda x: Norm.apply(x, 0).expand(4),
        "dense: SoftRank": lambda x: SoftRank.apply(x, 0.5),
    }
)

# %% [markdown]
# (They add up to 0: if all numbers grow by the same amount, no rank changes.)
#
# And the two others, whose Jacobian is a single row. In `Prod` every factor counts. In `Amax` only the largest element does; choose *a tie* above the picture, and two of them share.

# %% nbgrader={"grade": false, "grade_id": "see-single-rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
jacobian_map({"Prod": lambda x: Prod.apply(x, 0), "Amax": lambda x: Amax.apply(x, 0)})

# %% [markdown]
# ## Finale: learn an order
#
# 442 people with diabetes, ten measurements each, and how far the disease had come a year later. A doctor wants to know **who is worse off**, an order. The usual measure of an order is Spearman's: the correlation of the ranks.
#
# And somebody has written the targets down on a scale of their own, $e^{3z}$. The order is still in it; the distances are not.

# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_diabetes

diabetes = load_diabetes()
order = torch.randperm(442, generator=torch.Generator().manual_seed(0))
features = 20 * torch.tensor(diabetes.data, dtype=torch.float32)[order]
progression = torch.tensor(diabetes.target, dtype=torch.float32)[order]
train_x, test_x, train_y, test_y = (
    features[:350],
    features[350:],
    progression[:350],
    progression[350:],
)
z = (train_y - train_y.mean()) / train_y.std()
scales = {"as measured": z, "e to the 3z": torch.exp(3 * z)}
print("training on", len(train_x), "patients, testing on", len(test_x))

# %% [markdown]
# The loss is 1 minus Spearman's correlation, with your `SoftRank` for the predictions, and your `Norm` twice: for the correlation, and to give the predictions a spread that fits the temperature.


# %% nbgrader={"grade": false, "grade_id": "finale-loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
def ranks(values):
    """Ranks from 0, of numbers that need no gradient."""
    return values.argsort(stable=True).argsort().to(values.dtype)


def correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (Norm.apply(a, 0) * Norm.apply(b, 0))


def rank_loss(prediction, target):
    centred = prediction - prediction.mean()
    spread = centred / Norm.apply(centred, 0) * len(centred) ** 0.5
    return 1 - correlation(SoftRank.apply(spread, 0.1), ranks(target))


def squared_error(prediction, target):
    return ((prediction - (target - target.mean()) / target.std()) ** 2).mean()


# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if os.environ.get("NBGRADER_EXECUTION") else round(100 * SCALE)  # few while grading


def train(loss, target):
    """Spearman's correlation on the test set after each of STEPS full-batch steps."""
    torch.manual_seed(0)
    model = torch.nn.Linear(10, 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    found = []
    for _ in range(STEPS):
        value = loss(model(train_x).squeeze(1), target)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        with torch.no_grad():
            found.append(correlation(ranks(model(test_x).squeeze(1)), ranks(test_y)).item())
    return found


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
results = {}
for scale, target in scales.items():
    for name, loss in (("squared error", squared_error), ("rank loss", rank_loss)):
        results[f"{name}, {scale}"] = train(loss, target)
        print(
            f"{name:13} on targets {scale}:  Spearman {results[f'{name}, {scale}'][-1]:.3f} on the test set"
        )
same = results["rank loss, as measured"] == results["rank loss, e to the 3z"]
print("the two runs with the rank loss are the same, step by step:", same)
figures.orders_learned(results)

# %% [markdown]
# On the ruined scale the squared error spends itself on the few largest targets. The rank loss does not even see the difference, since $e^{3z}$ has the ranks of $z$.
#
# The price: $n^2$ pairs a step. Sorting does it in $n \log n$, as the papers below show.

# %% [markdown]
# ## Find the bug
#
# Two answers to `Norm`. Both give the right values and the right first derivatives everywhere, zero rows and 1e30 included. One of them spoils a gradient penalty.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("patterns")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# Try A.apply(x, dim) and B.apply(x, dim) here: what does gradgradcheck say?

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("patterns")

# %% [markdown]
# ## Quiz
#
# Eight questions. Every answer is explained, right or wrong.

# %% nbgrader={"grade": false, "grade_id": "quiz-patterns", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("patterns")

# %% nbgrader={"grade": false, "grade_id": "quiz-patterns-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("patterns")

# %% [markdown]
# ## Summary
#
# | Function | its Jacobian | backward | keeps |
# |---|---|---|---|
# | SoftThreshold | diagonal; a column for $t$ | a mask; a sum | the output |
# | Prod | a row, all of it | products before and behind | $x$ |
# | Norm | a row, $x$ brought to length 1 | $x / y$, and 0 at 0 | $x$, the output |
# | Amax | a row, mostly 0 | equal shares | a mask |
# | Embedding | one 1 in each row | adding to places | the indices |
# | SoftRank | dense | all pairs, $g_k - g_j$ | $x$ |
#
# * Ask for the shape of the Jacobian first: sparse is a mask or an index, low rank a sum, dense a loop over pairs.
# * Do not divide by what may be 0. Multiply what is there, or put 1 in its place *before* the division.
# * A special case for a point makes the value right, not the next derivative.
# * Gather and scatter are transposes. What comes from one place adds up there.
# * Indices get None.
# * What backward computes again need not be kept, however large it is on the way.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Where to go next
#
# **Lesson 09** takes the same patterns into layers: dropout, batch and layer norm, convolution. **Lesson 05** goes on to derivatives of any order; today's Functions have them, too.

# %% [markdown]
# ## Sources
#
# - Andreas Griewank and Andrea Walther (2008): [*Evaluating derivatives*](https://doi.org/10.1137/1.9780898717761). Sparse Jacobians, and why the product with a vector is cheap.
# - David Donoho (1995): [*De-noising by soft-thresholding*](https://doi.org/10.1109/18.382009). Where the soft threshold comes from, and which threshold is best.
# - Tao Qin, Tie-Yan Liu and Hang Li (2010): [*A general approximation framework for direct optimization of information retrieval measures*](https://doi.org/10.1007/s10791-009-9124-x). Ranks by sums of sigmoids.
# - Mathieu Blondel and others (2020): [*Fast differentiable sorting and ranking*](https://arxiv.org/abs/2002.08871). Soft ranks in n log n, by projections.
# - PyTorch (torch 2.13): [*torch.Tensor.index_add_*](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html). Adding to places, repeated ones included.
# - PyTorch (torch 2.13): [*Extending PyTorch*](https://docs.pytorch.org/docs/stable/notes/extending.html). Arguments that are no tensors, and gradients that are None.
