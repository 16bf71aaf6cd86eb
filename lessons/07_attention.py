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
# # The challenge: attention
#
# **Time:** two to three hours: an hour to read, predict and run, the rest for four exercises, from ten minutes for the first to an hour for the last. Two evenings are fine: your progress is kept.
#
# **You need:** lessons 03, 05 and 06.
#
# Everything so far comes together: products of matrices, saved outputs, recomputation, refusing a second derivative. You build the operation at the heart of every language model three times. Each time it needs less memory, and in the end your own transformer trains on it.
#
# After this lesson you can
#
# * multiply with the Jacobian of a softmax that is never formed,
# * write the backward of attention, masks and empty rows included,
# * replace a large saved tensor by a small one and a recomputation,
# * compute attention in tiles, forward and backward, as FlashAttention does,
# * count what travels between slow and fast memory, and say why tiles win.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import os
import time

import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from autograder import check, hint, progress
from widgets import attention_map, figures, outcome, predict, quiz
from widgets import saved_ledger, suspects, verdict, xray
from widgets.data import poems

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # larger finales: 2, 5, …
SHORT = bool(os.environ.get("NBGRADER_EXECUTION"))  # shorter ones while grading

# %% [markdown]
# ## Why it matters
#
# Attention lets each of $L$ **tokens** (words, pieces of words, letters) look at each of $S$ others. So somewhere there is a matrix of $L \times S$ numbers, and not just one: a model has many layers, and each has several **heads**, attentions side by side. Autograd keeps every one of these matrices until backward.

# %% nbgrader={"grade": false, "grade_id": "demo-how-much", "locked": true, "schema_version": 3, "solution": false, "task": false}
for length in (1_000, 4_000, 32_000, 128_000):
    gigabytes = length**2 * 4 / 1e9
    print(f"L = S = {length:7}:  one matrix of one head in float32 {gigabytes:9.3f} GB")

# %% [markdown]
# A model with 32 heads in 32 layers keeps a thousand of those. Long texts became possible when people stopped keeping them: with a hand-written backward, the one that you are about to write.
#
# This is the best reason there is for a custom Function: autograd's derivative is right, but it **saves too much**.
#
# The smallest piece comes first: the softmax.

# %% [markdown]
# ## The Jacobian that nobody forms
#
# A softmax turns a row $x$ of scores into positive numbers $y$ that add up to 1. Every output depends on every input:
#
# $$\frac{\partial y_i}{\partial x_j} = y_i\,(\delta_{ij} - y_j), \qquad J = \operatorname{diag}(y) - y\,y^\top .$$
#
# ($\delta_{ij}$ is 1 where $i = j$, else 0.) Backward needs the product with $g$, not the matrix:
#
# $$(J^\top g)_j = \sum_i g_i\, y_i (\delta_{ij} - y_j) = y_j\Bigl(g_j - \sum_i g_i y_i\Bigr).$$
#
# One multiplication, one sum a row, one subtraction. It contains $y$ only, not $x$: save the **output**.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-softmax-sum", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("softmax-sum")

# %% nbgrader={"grade": false, "grade_id": "demo-jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
y = torch.softmax(x, dim=0)
measured = torch.autograd.functional.jacobian(lambda t: torch.softmax(t, dim=0), x)
print("measured\n", measured)
print("diag(y) − y yᵀ\n", (torch.diag(y) - torch.outer(y, y)).detach())
y.sum().backward()
print("after y.sum().backward():", [round(g, 12) + 0.0 for g in x.grad.tolist()])
outcome("softmax-sum")

# %% [markdown]
# ## Exercise 1 · Softmax
#
# **Contract.** `Softmax.apply(x, dim)` promises
#
# * **values** of the softmax of `x` along `dim`; `x` has at least one dimension
# * **gradients** right
# * **second derivatives** right
# * **special points**: finite and right in float32 at ±1000 and with $-\infty$ among the scores, value and gradient. (Subtract something first. What may you subtract without changing the result?)
# * **memory**: one tensor as large as the output. Output or input, either is fine
# * **shapes, strides, dtypes** · **nothing else is touched** · **your own work**: as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device). Forward may call `torch.softmax`, or build it from `exp` and `sum`


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Softmax(Function):
    """softmax of x along dim."""

    @staticmethod
    def forward(ctx, x, dim):
        ### BEGIN SOLUTION
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        total = (grad_output * y).sum(ctx.dim, keepdim=True)
        return y * (grad_output - total), None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "softmax-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Softmax)

# %% nbgrader={"grade": true, "grade_id": "softmax-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Softmax are checked here with other numbers.
# You can run it now: check(Softmax, hidden=True)
### BEGIN HIDDEN TESTS
check(Softmax, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Softmax**
#
# *Derivation.* The product with $J = \operatorname{diag}(y) - y y^\top$ above. $J$ is symmetric, so there is no transpose to forget.
#
# *What is saved.* The output, exactly the tensor that is returned. Then torch knows where it came from, and second derivatives are right as in `MyExp`.
#
# *Stability.* $e^{x-m} / \sum e^{x-m}$ is the same for every $m$; with the maximum no exponent is positive, and the sum is at least 1. The gradient needs nothing more: $y$ lies between 0 and 1.
#
# *Common mistakes.* The diagonal only, $y(1-y)g$: that is the sigmoid's slope, and the rest of this matrix is not 0. $\sum g$ in place of $\sum g y$. A sum over the last dimension whatever `dim` is. `keepdim` forgotten. Saving a clone of $y$, which breaks the second derivative.
#
# *An aside.* With $g$ all ones the gradient is 0 everywhere: a row always adds up to 1. A test that uses `y.sum().backward()` therefore accepts anything that returns zeros.

# %% nbgrader={"grade": false, "grade_id": "demo-softmax-works", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
print("gradcheck     ", gradcheck(Softmax.apply, (x, 1)))
print("gradgradcheck ", gradgradcheck(Softmax.apply, (x, 1)))
huge = torch.tensor([1000.0, 999.0, -1000.0], requires_grad=True)
print("softmax of 1000, 999, −1000:", [round(p, 4) for p in Softmax.apply(huge, 0).tolist()])

# %% [markdown]
# ### See it run
#
# In the step *Saved for backward*: is the output all that you keep?

# %% nbgrader={"grade": false, "grade_id": "see-softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Softmax)

# %% [markdown]
# ## The mathematics of attention
#
# Queries $Q$ (L×E), keys $K$ (S×E), values $V$ (S×Ev); one row a token. With a number $c$, usually $1/\sqrt E$:
#
# $$Z = c\,Q K^\top, \qquad P = \operatorname{softmax}(Z), \qquad O = P\,V .$$
#
# The softmax runs over each row: row $i$ of $P$ says how much query $i$ takes of each key, and adds up to 1. The **scores** are $Z$, the **weights** $P$.

# %% [markdown]
# Backward goes through the three links in reverse. $G$ is `grad_output`, of $O$'s shape. You know the two products from lesson 03:
#
# $$\bar V = P^\top G, \qquad \bar P = G V^\top, \qquad \bar Q = c\,\bar Z K, \qquad \bar K = c\,\bar Z^\top Q .$$
#
# (A bar means: the gradient of the loss with respect to this.) The step from $\bar P$ to $\bar Z$ is the softmax that you have just written.

# %% [markdown]
# ## A worked example, traced
#
# Two queries, three keys. Autograd computes it, and we look at every link.

# %% nbgrader={"grade": false, "grade_id": "demo-traced-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
q = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64, requires_grad=True)
k = torch.tensor([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], dtype=torch.float64, requires_grad=True)
v = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64, requires_grad=True)

scores = q @ k.T / math.sqrt(2)
weights = torch.softmax(scores, dim=-1)
out = weights @ v
for name, tensor in (("scores", scores), ("weights", weights), ("out", out)):
    tensor.retain_grad()
    rows = [[round(x, 3) for x in row] for row in tensor.tolist()]
    print(f"{name:8} {tuple(tensor.shape)}", rows)

# %% [markdown]
# The first query points along the first axis, so it likes the third key best and takes mostly the value 4. Now backward, with $G$ all ones:

# %% nbgrader={"grade": false, "grade_id": "demo-traced-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
out.backward(torch.ones_like(out))
G = out.grad
print("weights.grad = G Vᵀ       ", torch.equal(weights.grad, G @ v.T))
print("v.grad       = Pᵀ G       ", torch.equal(v.grad, weights.T @ G))
print("q.grad       = c · Z̄ K    ", torch.allclose(q.grad, scores.grad @ k / math.sqrt(2)))
print("k.grad       = c · Z̄ᵀ Q   ", torch.allclose(k.grad, scores.grad.T @ q / math.sqrt(2)))
print("scores.grad  =", [[round(x, 4) for x in row] for row in scores.grad.tolist()])
print("its rows add up to", [round(x, 12) + 0.0 for x in scores.grad.sum(dim=1).tolist()])

# %% [markdown]
# The last line is what you have seen above: raising all scores of a row by the same number changes nothing, so the gradient in that direction is 0.

# %% [markdown]
# ## Masks, and rows with nothing to attend to
#
# A **mask** says who may look at whom. In a language model token $i$ sees the tokens $0 \dots i$ only: a *causal* mask. Where a mask forbids, the score becomes $-\infty$ before the softmax, and the weight $e^{-\infty} = 0$.
#
# Here is one head over six letters. Slide the query, and switch from no mask to the causal one: what is the gradient at a masked score, and what do the gradients of a row add up to?

# %% nbgrader={"grade": false, "grade_id": "see-attention-map", "locked": true, "schema_version": 3, "solution": false, "task": false}
attention_map(tokens=list("tokens"))

# %% [markdown]
# What if a row forbids everything? Padding does that. Below, the second query may look at nothing, and the loss uses the output of the **first** query alone.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-empty-row", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("empty-row")

# %% nbgrader={"grade": false, "grade_id": "demo-empty-row", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = (torch.randn(n, 4, requires_grad=True) for n in (2, 3, 3))
mask = torch.tensor([[True, True, False], [False, False, False]])
weights = torch.softmax((q @ k.T / 2).masked_fill(~mask, -torch.inf), dim=-1)
out = weights @ v
print("weights:", [[round(p, 3) for p in row] for row in weights.tolist()])
(by_v,) = torch.autograd.grad(out[0].sum(), v)
print("gradient of the values, all of them:", by_v[:, 0].tolist())
outcome("empty-row")

# %% [markdown]
# The gradient of the values is $P^\top G$, a sum over **all** queries. The empty row has the upstream gradient 0 and the weight $0/0$, and $0 \cdot \mathrm{NaN}$ is NaN. So a row of padding ruins every value, and with the next step every parameter behind it.
#
# `F.scaled_dot_product_attention` gives 0 for such a row, and so will you: an empty row has no weights, takes nothing, and has gradient 0.

# %% nbgrader={"grade": false, "grade_id": "demo-torch-gives-zero", "locked": true, "schema_version": 3, "solution": false, "task": false}
out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
grads = torch.autograd.grad(out.sum(), (q, k, v))
print("output of the empty row:", out[1].tolist())
print("all gradients finite:   ", all(bool(g.isfinite().all()) for g in grads))

# %% [markdown]
# A trap beside it. Somebody passes the causal mask to torch as **floats**: ones where a query may look, zeros where it may not.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-float-mask", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("float-mask")

# %% nbgrader={"grade": false, "grade_id": "demo-float-mask", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = (torch.randn(1, 4, 3, dtype=torch.float64) for _ in range(3))
causal = torch.ones(4, 4, dtype=torch.bool).tril()
changed = v.clone()
changed[0, 3] += 100  # the last token, which the first may not see
for name, mask in (("bool", causal), ("float", causal.double())):
    before, after = (F.scaled_dot_product_attention(q, k, t, attn_mask=mask) for t in (v, changed))
    moved = (after - before)[0, 0].abs().max().item()
    print(f"{name:5} mask: the last token changes, and the first output moves by {moved:.1f}")
outcome("float-mask")

# %% [markdown]
# ## Exercise 2 · ScaledDotProductAttention
#
# **Contract.** `ScaledDotProductAttention.apply(q, k, v, mask, scale)` promises
#
# * **values** of $\operatorname{softmax}(\text{scale}\; q\,k^\top)\,v$. `mask`: None, or bool, broadcastable to (…, L, S), True = attend. `scale`: a float, or None for $1/\sqrt E$
# * **gradients** of `q`, `k` and `v`, computed only where `ctx.needs_input_grad` asks for them
# * **second derivatives**: **right or refused**. The weights are an intermediate, so a backward that uses saved weights must refuse, as in lesson 05: `if torch.is_grad_enabled(): raise RuntimeError(…)`
# * **special points**: a row with nothing to attend to gives 0, with gradient 0. 0.0 is a scale like any other. Finite and right for scores of ±1000 in float32
# * **memory**: `q`, `k`, `v`, the weights, and the mask if you need it
# * **shapes, strides, dtypes**: `q` (…, L, E), `k` (…, S, E), `v` (…, S, Ev) share any batch dimensions. S = 0 gives 0, L = 0 an empty output
# * **nothing else is touched**: as for every Function
# * **your own work**: as for every Function, and `F.scaled_dot_product_attention` may not be called. `torch.softmax` may
#
# `mask` and `scale` have defaults. Backward may always return five values: torch tolerates extra `None`s at the end.


# %% nbgrader={"grade": false, "grade_id": "scaled-dot-product-attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class ScaledDotProductAttention(Function):
    """softmax(scale · q kᵀ) v; q (…, L, E), k (…, S, E), v (…, S, Ev), mask True = attend."""

    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        ### BEGIN SOLUTION
        ctx.scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        scores = q @ k.transpose(-1, -2) * ctx.scale
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
            weights = weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError("ScaledDotProductAttention has no second derivative")
        q, k, v, weights = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            grad_weights = grad_output @ v.transpose(-1, -2)
            total = (grad_weights * weights).sum(dim=-1, keepdim=True)
            grad_scores = weights * (grad_weights - total) * ctx.scale
            grad_q = grad_scores @ k if need_q else None
            grad_k = grad_scores.transpose(-1, -2) @ q if need_k else None
        return grad_q, grad_k, grad_v, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "scaled-dot-product-attention-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(ScaledDotProductAttention)

# %% nbgrader={"grade": true, "grade_id": "scaled-dot-product-attention-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of ScaledDotProductAttention are checked here with other numbers.
# You can run it now: check(ScaledDotProductAttention, hidden=True)
### BEGIN HIDDEN TESTS
check(ScaledDotProductAttention, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · ScaledDotProductAttention**
#
# *Derivation.* The five formulas above; `transpose(-1, -2)` leaves the batch dimensions alone, where `.T` would turn all of them round.
#
# *What is saved.* `q`, `k`, `v` and the weights. Masked weights are 0, so $\bar Z = P \circ (\dots)$ is 0 there by itself: backward needs no mask.
#
# *Empty rows.* The softmax gives a row of NaN; `masked_fill` puts zeros in its place. (Multiplying by 0 would not: $0 \cdot \mathrm{NaN}$ is NaN.) With zeros in the weights all gradients are 0.
#
# *Common mistakes.* `scale or 1/√E`, which takes 0.0 for None. Dividing by √Ev. A mask the wrong way round: `masked_fill` fills where it is True. The scale forgotten, or applied twice, in backward. −1e9 for −∞: right almost always, but an empty row then attends to everything evenly.
# No guard: `gradcheck` passes, the second derivative is silently wrong.
#
# *Another way* is to save q, k, v and the mask only and compute the weights again in backward with torch operations. Then second derivatives are right, and no guard is needed.

# %% [markdown]
# ### Torch refuses as well
#
# Is refusing good enough? What does torch do when it is asked for a second derivative of its own fused attention?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-fused-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("fused-twice")

# %% nbgrader={"grade": false, "grade_id": "demo-torch-refuses", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = (torch.randn(1, 2, 4, 3, requires_grad=True) for _ in range(3))
for name, attention in (
    ("torch", F.scaled_dot_product_attention),
    ("yours", ScaledDotProductAttention.apply),
):
    try:
        out = attention(q, k, v)
        (first,) = torch.autograd.grad((out**2).sum(), q, create_graph=True)
        torch.autograd.grad(first.sum(), q)
        print(f"{name}: a second derivative")
    except RuntimeError as error:
        print(f"{name}: RuntimeError: {error}")
outcome("fused-twice")

# %% [markdown]
# Fast **kernels** (a kernel is one compiled program for a whole operation) are first order only, and say so. (When somebody needs the second derivative, `torch.nn.attention.sdpa_kernel(SDPBackend.MATH)` picks the slow version, made of differentiable operations.)

# %% [markdown]
# ## What is kept
#
# Hooks on saved tensors show what autograd holds between forward and backward. Four heads of width 32, no mask:


# %% nbgrader={"grade": false, "grade_id": "demo-kept-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
def kept_bytes(function, *args):
    """Bytes of distinct storage that autograd keeps for the backward of function(*args)."""
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        out = function(*args)
    return sum(storages.values()) if out.requires_grad else 0


def plain_attention(q, k, v):
    """Attention in torch's operations, differentiated by autograd."""
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1) @ v


# %% nbgrader={"grade": false, "grade_id": "demo-kept-bytes-measured", "locked": true, "schema_version": 3, "solution": false, "task": false}
def heads(length, count=4, width=32, dtype=torch.float32):
    """q, k, v for `count` heads, each (1, count, length, width), that require grad."""
    shape = (1, count, length, width)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]


print("kept for backward, KiB        L = 64    L = 256   L = 1024")
for name, attention in (
    ("torch operations, autograd", plain_attention),
    ("your ScaledDotProductAttention", ScaledDotProductAttention.apply),
    ("F.scaled_dot_product_attention", F.scaled_dot_product_attention),
):
    sizes = [kept_bytes(attention, *heads(length)) / 1024 for length in (64, 256, 1024)]
    print(f"{name:30}", *[f"{size:9.0f}" for size in sizes])

# %% [markdown]
# Yours keeps what autograd keeps. As soon as the weights outweigh q, k and v, both grow with $L^2$. Torch's grows with $L$ only. How?

# %% [markdown]
# Before the answer a closer look, entry by entry, for six queries and keys of width 4. First torch's operations: which entries have the shape (6, 6)?

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
small = [torch.randn(6, 4, requires_grad=True) for _ in range(3)]
saved_ledger(plain_attention, *small)

# %% [markdown]
# Then yours:

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(ScaledDotProductAttention, *small)

# %% [markdown]
# ## The idea: one number a row
#
# The weights are a function of $q$ and $k$, which are kept anyway. Compute them **again**, as lesson 06 did. With one help: the logsumexp of each row,
#
# $$\ell_i = \log \sum_j e^{Z_{ij}}, \qquad P_{ij} = e^{Z_{ij} - \ell_i} .$$
#
# No maximum, no sum, no division in backward. One product and one `exp`.

# %% [markdown]
# One more thing needs a whole row: $\sum_j P_{ij} \bar P_{ij}$. But look what it is. Since $\bar P = G V^\top$,
#
# $$\sum_j P_{ij} \sum_e G_{ie} V_{je} = \sum_e G_{ie} \sum_j P_{ij} V_{je} = \sum_e G_{ie}\, O_{ie} .$$
#
# The sum over $S$ keys is a sum over the width of the **output**. Call it $\delta_i$. In numbers:

# %% nbgrader={"grade": false, "grade_id": "demo-delta", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = (torch.randn(n, 4, dtype=torch.float64) for n in (3, 5, 5))
G = torch.randn(3, 4, dtype=torch.float64)
weights = torch.softmax(q @ k.T / 2, dim=-1)
print("Σ over the keys of P · (G Vᵀ): ", (weights * (G @ v.T)).sum(dim=1).tolist())
print("Σ over the width of G · O:     ", (G * (weights @ v)).sum(dim=1).tolist())

# %% [markdown]
# So with $O$ and $\ell$ at hand backward knows all there is to know about a row before it looks at the first key. Remember that: it is what makes tiles possible.

# %% [markdown]
# ## Exercise 3 · LeanAttention
#
# **Contract.** `LeanAttention.apply(q, k, v, mask, scale)`, the same attention with the same arguments, promises
#
# * **values** as before
# * **gradients** as before: in backward compute the weights again, and only the gradients that `ctx.needs_input_grad` asks for
# * **second derivatives**: right or refused. The logsumexp is an intermediate
# * **special points**: empty rows, `scale` and large scores as before
# * **memory**: only `q`, `k`, `v`, the output, **one logsumexp a row**, and the mask. No floating-point tensor of L×S elements stays alive between forward and backward
# * **shapes, strides, dtypes** · **nothing else is touched**: as before
# * **your own work**: as before; on whole tensors, without a Python loop over rows

# %% [markdown]
# A row with nothing to attend to has only scores of $-\infty$, and so has its logsumexp. Then $Z - \ell = -\infty + \infty$ is NaN. Which number would you rather have in $\ell$ there, so that the weights come out 0?
#
# `save_for_backward` takes `None` too, so an absent mask needs no special treatment.


# %% nbgrader={"grade": false, "grade_id": "lean-attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LeanAttention(Function):
    """Attention as above; keeps q, k, v, the mask, the output and one logsumexp a row."""

    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        ### BEGIN SOLUTION
        ctx.scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        scores = (q * ctx.scale) @ k.transpose(-1, -2)
        if mask is not None:
            scores.masked_fill_(~mask, -torch.inf)
        total = torch.logsumexp(scores, dim=-1, keepdim=True)
        total = total.masked_fill(total == -torch.inf, 0.0)
        out = scores.sub_(total).exp_() @ v
        ctx.save_for_backward(q, k, v, mask, out, total)
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError("LeanAttention has no second derivative")
        q, k, v, mask, out, total = ctx.saved_tensors
        need_q, need_k, need_v = ctx.needs_input_grad[:3]
        weights = (q * ctx.scale) @ k.transpose(-1, -2)
        if mask is not None:
            weights.masked_fill_(~mask, -torch.inf)
        weights.sub_(total).exp_()
        grad_q = grad_k = grad_v = None
        if need_v:
            grad_v = weights.transpose(-1, -2) @ grad_output
        if need_q or need_k:
            delta = (grad_output * out).sum(dim=-1, keepdim=True)
            grad_scores = (grad_output @ v.transpose(-1, -2)).sub_(delta).mul_(weights)
            grad_q = grad_scores @ k * ctx.scale if need_q else None
            grad_k = grad_scores.transpose(-1, -2) @ q * ctx.scale if need_k else None
        return grad_q, grad_k, grad_v, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lean-attention-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LeanAttention)

# %% nbgrader={"grade": true, "grade_id": "lean-attention-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LeanAttention are checked here with other numbers.
# You can run it now: check(LeanAttention, hidden=True)
### BEGIN HIDDEN TESTS
check(LeanAttention, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · LeanAttention**
#
# *Derivation.* As before, with $P_{ij} = e^{Z_{ij}-\ell_i}$ and $\delta_i = \sum_e G_{ie} O_{ie}$.
#
# *What is saved.* L·(E + Ev + 1) + S·(E + Ev) numbers a head: nothing grows with L·S but the mask, one byte an element, which the caller holds anyway.
#
# *Empty rows.* $\ell = 0$ there: the scores are $-\infty$, so $e^{-\infty - 0} = 0$. The same with no keys at all: `logsumexp` over nothing is $-\infty$.
#
# *Common mistakes.* The mask forgotten in the recomputed scores: gradients flow to masked keys. The scale forgotten there. `exp(scores − maximum)` without the sum. Saving maximum and sum apart: right, but two numbers a row where one will do.
# $\delta$ from the output alone, or from `grad_output` alone. No guard.
#
# *In place.* `sub_`, `exp_`, `mul_` write into tensors that this method has just made, and nobody else has seen. That is allowed, and saves one matrix of $L \times S$ numbers at the peak for each.
#
# *The price.* One product $QK^\top$ and one `exp` more. That is about a sixth more arithmetic (seven products of this size in place of six), and often no time at all: writing and reading a large matrix is slow too.

# %% nbgrader={"grade": false, "grade_id": "demo-lean-kept", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("kept for backward, KiB        L = 64    L = 256   L = 1024")
for name, attention in (
    ("your ScaledDotProductAttention", ScaledDotProductAttention.apply),
    ("your LeanAttention", LeanAttention.apply),
    ("F.scaled_dot_product_attention", F.scaled_dot_product_attention),
):
    sizes = [kept_bytes(attention, *heads(length)) / 1024 for length in (64, 256, 1024)]
    print(f"{name:30}", *[f"{size:9.0f}" for size in sizes])

# %% [markdown]
# If you kept exactly what the contract lists, your line and torch's are the same, byte for byte: torch keeps the same five things.

# %% [markdown]
# Entry by entry again. Look for the shape (6, 6): there should be none, and one of (6, 1) in its place (or of (6)). The output counts as *extra* here; in a network the next operation holds it anyway.

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-lean", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(LeanAttention, *small)

# %% [markdown]
# And the picture from above once more, with your class in it: the weights and the gradients of the scores are taken from what *your* Function computes, right or wrong. Slide the query: is anything else than before?

# %% nbgrader={"grade": false, "grade_id": "see-lean-attention-map", "locked": true, "schema_version": 3, "solution": false, "task": false}
attention_map(tokens=list("tokens"), by=LeanAttention)

# %% [markdown] jp-MarkdownHeadingCollapsed=true
# ### Under autocast

# %% [markdown]
# With `torch.autocast` products run in bfloat16. In forward, that is. Backward runs **outside** the `with` block, and there a Function written in float32 may meet its own bfloat16 tensors:

# %% nbgrader={"grade": false, "grade_id": "demo-autocast", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = heads(8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = LeanAttention.apply(q, k, v)
print("q is", q.dtype, "· the output is", out.dtype)
try:
    torch.autograd.grad(out.sum(), q)
    print("backward runs")
except RuntimeError as error:
    print("RuntimeError:", error)

# %% [markdown]
# Two decorators settle it. `custom_fwd(cast_inputs=…)` switches autocast off in forward and casts the inputs to one dtype. `custom_bwd` runs backward in the same state as forward. A softmax is worth float32:

# %% nbgrader={"grade": false, "grade_id": "demo-autocast-safe", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.amp import custom_bwd, custom_fwd


class AutocastLeanAttention(LeanAttention):
    """LeanAttention that computes in float32 under autocast."""

    forward = staticmethod(
        custom_fwd(LeanAttention.forward, device_type="cpu", cast_inputs=torch.float32)
    )
    backward = staticmethod(custom_bwd(LeanAttention.backward, device_type="cpu"))


with torch.autocast("cpu", dtype=torch.bfloat16):
    out = AutocastLeanAttention.apply(q, k, v)
(by_q,) = torch.autograd.grad(out.sum(), q)
(right,) = torch.autograd.grad(LeanAttention.apply(q, k, v).sum(), q)
print("output", out.dtype, "· off from float32 by", (by_q - right).abs().max().item())

# %% [markdown]
# ## At no moment
#
# Lean keeps no matrix. But for a moment, in forward and in backward, it still **makes** several. Count every byte alive while it runs, with a mode that sees the result of each operation:


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "demo-peak", "locked": true, "schema_version": 3, "solution": false, "task": false}
class LiveBytes(TorchDispatchMode):
    """While it is on: `peak`, the most bytes alive at once in tensors made meanwhile."""

    def __init__(self):
        super().__init__()
        self.alive, self.peak = {}, 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        self.alive = {key: pair for key, pair in self.alive.items() if not pair[0].expired()}
        for tensor in tree_iter(result):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self.alive:
                    self.alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return result


# %% nbgrader={"grade": false, "grade_id": "demo-peak-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
def peak_bytes(attention, q, k, v):
    """The most bytes alive at once during forward and backward, the inputs not counted."""
    if q.is_cuda:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch.autograd.grad(attention(q, k, v), (q, k, v), torch.ones_like(v))
        return torch.cuda.max_memory_allocated() - before
    with LiveBytes() as live:
        torch.autograd.grad(attention(q, k, v), (q, k, v), torch.ones_like(v))
    return live.peak


# %% nbgrader={"grade": false, "grade_id": "demo-peak-measured", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("peak, MiB                      L = 64    L = 256   L = 1024")
for name, attention in (
    ("your ScaledDotProductAttention", ScaledDotProductAttention.apply),
    ("your LeanAttention", LeanAttention.apply),
):
    sizes = [peak_bytes(attention, *heads(length)) / 2**20 for length in (64, 256, 1024)]
    print(f"{name:30}", *[f"{size:9.2f}" for size in sizes])

# %% [markdown]
# Your second line may be lower or not: it depends on how many tensors you make on the way. But several whole matrices are alive at once, and all grow with $L^2$. Lean helps when many layers wait for their backward. For one layer with a very long text it does not.
#
# The last step: never make a whole matrix. Work in **tiles**: a block of queries against a block of keys.

# %% [markdown]
# ## The online softmax
#
# A product is easily done in tiles. The softmax is the obstacle: it divides by the sum of a *whole* row, and subtracts the maximum of a whole row. But both can be kept **while walking along it**.
#
# Take a row in pieces. Keep the largest score so far, $m$, and the sum so far, $s$, in units of $e^m$. When a piece brings a larger score $m'$, what was gathered is in the wrong unit. Multiply it by $e^{m - m'}$.

# %% nbgrader={"grade": false, "grade_id": "demo-online-softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
row = torch.tensor([1.0, 3.0, 0.5, 1000.0, 999.0, 2.0], dtype=torch.float64)
top, total = torch.tensor(-torch.inf, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
for start in range(0, 6, 2):
    piece = row[start : start + 2]
    new = torch.maximum(top, piece.max())
    total = total * (top - new).exp() + (piece - new).exp().sum()
    print(f"scores {piece.tolist()!s:16} maximum {top:6.0f} → {new:5.0f}   sum {total:.4f}")
    top = new
print("logsumexp in pieces:", (top + total.log()).item())
print("torch.logsumexp:    ", torch.logsumexp(row, dim=0).item())

# %% [markdown]
# The first step multiplies 0 by $e^{-\infty} = 0$: no special case. And no exponent is ever positive.
#
# The output goes the same way. It is a sum of values weighted by $e^{Z}$, in the same unit, so it is rescaled with the same factor:
#
# $$s \leftarrow s\,e^{m-m'} + \sum_j e^{Z_j - m'}, \qquad o \leftarrow o\,e^{m-m'} + \sum_j e^{Z_j - m'} v_j .$$
#
# At the end of the row: $O = o/s$, and $\ell = m + \log s$.

# %% [markdown]
# Backward is easier. With $\ell$ and $\delta$ known, each tile of weights is $e^{Z - \ell}$, right at once, and adds its share:
#
# $$\bar V_j \mathrel{+}= P_{ij}^\top G_i, \quad \bar Z_{ij} = P_{ij} \circ (G_i V_j^\top - \delta_i), \quad \bar Q_i \mathrel{+}= c\,\bar Z_{ij} K_j, \quad \bar K_j \mathrel{+}= c\,\bar Z_{ij}^\top Q_i .$$
#
# Here $i$ and $j$ number blocks, not rows, and $\circ$ multiplies element by element.

# %% nbgrader={"grade": false, "grade_id": "demo-tiles-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.tiles(L=12, S=9, size=4)

# %% [markdown]
# **Causal** means that query $i$ sees keys $0 \dots i$, both counted from the start, also where $L \ne S$. That is torch's convention (top-left). A tile needs the mask of its own rows and columns only, and tiles in the future can be left out: half the work saved.

# %% nbgrader={"grade": false, "grade_id": "demo-top-left", "locked": true, "schema_version": 3, "solution": false, "task": false}
wide = torch.eye(4).unsqueeze(0)  # values that show where a query looks
flat = torch.zeros(1, 4, 3)
print("2 queries, 4 keys, causal: the weights are")
print(F.scaled_dot_product_attention(flat[:, :2], flat, wide, is_causal=True)[0])

# %% [markdown]
# ## What tiles are for: traffic
#
# A processor multiplies much faster than it reads. Beside its arithmetic it has a little **fast memory**; everything else lies in **slow memory**. On a GPU that is the difference between the chip itself and the gigabytes around it.
#
# Whole matrices go to slow memory and come back. The scores are written, then read by the softmax; the weights are written, then read by the product. A tile fits the fast memory: it is made there, used there, and forgotten there.
#
# So what travels? That depends on the order. Let us walk through three orders, and count every number that goes in or out.


# %% nbgrader={"grade": false, "grade_id": "demo-traffic-orders", "locked": true, "schema_version": 3, "solution": false, "task": false}
def whole_matrix(L, E, size):
    """Three steps, each of which reads what it needs and writes what it makes."""
    yield from (L * E, L * E, L * L)  # q and k come in, the scores go out
    yield from (L * L, L * L)  # the softmax: scores in, weights out
    yield from (L * L, L * E, L * E)  # weights and v come in, the output goes out


def queries_outside(L, E, size):
    """A block of queries stays; all keys and values pass by."""
    for _ in range(0, L, size):
        yield size * E  # a block of q comes in
        for _ in range(0, L, size):
            yield 2 * size * E  # a block of k and one of v, for one tile
        yield size * E  # the block of the output is finished, and goes out


def keys_outside(L, E, size):
    """A block of keys and values stays; all queries pass by, with their unfinished outputs."""
    for _ in range(0, L, size):
        yield 2 * size * E  # a block of k and one of v come in
        for _ in range(0, L, size):
            yield size * E  # a block of q
            yield 2 * size * (E + 2)  # output, maximum and sum so far: in, and out again


# %% [markdown]
# With blocks of $B$ queries and $B$ keys, and $L = S$, $E = E_v$, one can also count on paper:
#
# | order | numbers that travel in forward |
# |---|---|
# | whole matrix | $4L^2 + 4LE$ |
# | tiles, queries outside | $2L^2E/B + 2LE$ |
# | tiles, keys outside | $(3E + 4)\,L^2/B + 2LE$ |

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-tile-traffic", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("tile-traffic")

# %% nbgrader={"grade": false, "grade_id": "demo-traffic-counted", "locked": true, "schema_version": 3, "solution": false, "task": false}
L, E = 1024, 32
print(f"L = {L}, E = {E}; in thousands      block   counted   on paper")
for size in (32, 64, 128):
    for name, order, paper in (
        ("whole matrix", whole_matrix, 4 * L * L + 4 * L * E),
        ("queries outside", queries_outside, 2 * L * L * E // size + 2 * L * E),
        ("keys outside", keys_outside, (3 * E + 4) * L * L // size + 2 * L * E),
    ):
        counted = sum(order(L, E, size))
        print(f"{name:30} {size:6} {counted / 1000:10.0f} {paper / 1000:10.0f}")
outcome("tile-traffic")

# %% [markdown]
# Two things to take from the table.
#
# * **Larger tiles, less traffic**, in proportion to $1/B$. The size of the fast memory says where it ends. Small tiles save memory and little traffic; that is why $B$ is chosen as large as fits.
# * **Queries outside** is better in forward: an unfinished output never leaves. The first FlashAttention (2022) had keys outside, the second (2023) turned the loops round.
#
# In backward three sums grow: $\bar Q$ over the keys, $\bar K$ and $\bar V$ over the queries. With keys outside, two of the three stay. For the check either order is right.

# %% [markdown]
# ## Exercise 4 · FlashAttention
#
# **Contract.** `FlashAttention.apply(q, k, v, causal, block_size)` promises
#
# * **values** of the same attention with scale $1/\sqrt E$; `causal` a bool, aligned top-left; `block_size` a positive int, which need not divide L or S, may be larger than both, and changes nothing about the result
# * **gradients** of `q`, `k` and `v`, computed only where `ctx.needs_input_grad` asks for them
# * **second derivatives**: every attempt at one raises `RuntimeError`
# * **special points**: finite and right for scores of ±500 in float32, and for a row whose only score is $-10^{10}$
# * **memory**: tiles of queries **and** of keys, in forward and in backward. With $B$ for `block_size`, no tensor on the way has, for one entry of the batch, more elements than the larger of $B^2$ and $\max(L, S) \cdot \max(E, E_v)$: a tile, or as much as q, k, v or the output. Full rows of scores for a block of queries are too large, and so is a whole causal mask. (Measured where `block_size` is larger than $2\max(E, E_v)$ and well below L and S.) Kept are `q`, `k`, `v`, the output and one logsumexp a row
# * **shapes, strides, dtypes**: batch dimensions as before. S = 0 (no keys) gives 0, with gradient 0; L = 0 (no queries) gives an empty output
# * **nothing else is touched**: as before
# * **your own work**: as before, but for the loops over blocks, which are the method

# %% [markdown]
# Two helpers are given. `blocks` cuts a length into slices, `tile_scores` computes the scores of one tile, masked where causal.
#
# Write forward first, then run the check: it says how far you are.


# %% nbgrader={"grade": false, "grade_id": "demo-tile-helpers", "locked": true, "schema_version": 3, "solution": false, "task": false}
def blocks(length, block_size):
    """Slices of at most block_size that cover range(length), in order."""
    starts = range(0, length, block_size)
    return [slice(start, min(start + block_size, length)) for start in starts]


def tile_scores(q, k, rows, keys, causal):
    """The scores of one tile: q[..., rows, :] against k[..., keys, :], −inf in the future."""
    scores = q[..., rows, :] @ k[..., keys, :].transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        query = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(1)
        key = torch.arange(keys.start, keys.stop, device=q.device)
        scores = scores.masked_fill(key > query, -torch.inf)
    return scores


print("blocks(10, 4):", blocks(10, 4))
print(tile_scores(torch.zeros(6, 2), torch.zeros(6, 2), slice(2, 4), slice(2, 4), True))


# %% nbgrader={"grade": false, "grade_id": "flash-attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FlashAttention(Function):
    """Attention in tiles of block_size × block_size; keeps q, k, v, out, one logsumexp a row."""

    @staticmethod
    def forward(ctx, q, k, v, causal, block_size):
        ### BEGIN SOLUTION
        out = q.new_zeros(*q.shape[:-1], v.shape[-1])
        logsumexp = q.new_zeros(*q.shape[:-1], 1)
        for rows in blocks(q.shape[-2], block_size):
            top = torch.full_like(logsumexp[..., rows, :], -torch.inf)
            total, gathered = torch.zeros_like(top), torch.zeros_like(out[..., rows, :])
            for columns in blocks(k.shape[-2], block_size):
                if causal and columns.start >= rows.stop:
                    break  # all of it lies in the future
                scores = tile_scores(q, k, rows, columns, causal)
                new = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
                shrink, e = (top - new).exp(), (scores - new).exp()
                total = total * shrink + e.sum(dim=-1, keepdim=True)
                gathered = gathered * shrink + e @ v[..., columns, :]
                top = new
            out[..., rows, :] = gathered / total.masked_fill(total == 0, 1.0)
            logsumexp[..., rows, :] = top + total.log()
        ctx.save_for_backward(q, k, v, out, logsumexp)
        ctx.causal, ctx.block_size = causal, block_size
        return out
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError("FlashAttention has a first derivative only")
        q, k, v, out, logsumexp = ctx.saved_tensors
        delta = (grad_output * out).sum(dim=-1, keepdim=True)
        grad_q, grad_k, grad_v = (
            torch.zeros_like(tensor) if needed else None
            for tensor, needed in zip((q, k, v), ctx.needs_input_grad[:3])
        )
        for rows in blocks(q.shape[-2], ctx.block_size):
            upstream = grad_output[..., rows, :]
            for columns in blocks(k.shape[-2], ctx.block_size):
                if ctx.causal and columns.start >= rows.stop:
                    break
                scores = tile_scores(q, k, rows, columns, ctx.causal)
                weights = (scores - logsumexp[..., rows, :]).exp()
                if grad_v is not None:
                    grad_v[..., columns, :] += weights.transpose(-1, -2) @ upstream
                grad_weights = upstream @ v[..., columns, :].transpose(-1, -2)
                grad_scores = weights * (grad_weights - delta[..., rows, :])
                grad_scores = grad_scores / math.sqrt(q.shape[-1])
                if grad_q is not None:
                    grad_q[..., rows, :] += grad_scores @ k[..., columns, :]
                if grad_k is not None:
                    grad_k[..., columns, :] += grad_scores.transpose(-1, -2) @ q[..., rows, :]
        return grad_q, grad_k, grad_v, None, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "flash-attention-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(FlashAttention)

# %% nbgrader={"grade": true, "grade_id": "flash-attention-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of FlashAttention are checked here with other numbers.
# You can run it now: check(FlashAttention, hidden=True)
### BEGIN HIDDEN TESTS
check(FlashAttention, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · FlashAttention**
#
# *Derivation.* Forward: the online softmax, one block of queries at a time. Backward: LeanAttention's formulas restricted to a tile; a sum over all keys (or queries) becomes a sum over tiles, hence `+=`.
#
# *What is saved.* The same five tensors as in LeanAttention. No mask: causality is two numbers a tile.
#
# *Writing in place* to `out` and to the gradients is fine: they were made here, and nobody else has seen them yet.
#
# *No keys.* Then no tile runs: `total` is 0 and `gathered` is 0, so only the division needs care.
#
# *Causal.* The first tile of a row always holds key 0, which every query may see, so `new` is finite from the first tile on. With an arbitrary mask it would not be: $-\infty - (-\infty)$ again.
#
# *Common mistakes.* The sum is rescaled and the output is not, or the other way round. Every tile normalised by itself. `=` in place of `+=` in backward. A causal mask from positions inside the tile. $\delta$ summed over one tile. The running maximum saved in place of the logsumexp. A `torch.ones(L, S).tril()` at the beginning.

# %% nbgrader={"grade": false, "grade_id": "demo-flash-equals", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = heads(200, dtype=torch.float64)
upstream = torch.randn_like(v)
right = F.scaled_dot_product_attention(q, k, v, is_causal=True)
right_grads = torch.autograd.grad(right, (q, k, v), upstream)
for size in (200, 64, 7):
    out = FlashAttention.apply(q, k, v, True, size)
    grads = torch.autograd.grad(out, (q, k, v), upstream)
    off = max((a - b).abs().max().item() for a, b in zip((out, *grads), (right, *right_grads)))
    print(f"block_size {size:3}: largest difference from torch, gradients included: {off:.1e}")

# %% [markdown]
# ### See it run
#
# A last look at one run of yours: what is kept, and what comes back for `q`, `k` and `v`?

# %% nbgrader={"grade": false, "grade_id": "see-flash-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(FlashAttention)

# %% [markdown]
# Tile by tile, on six letters: pick *tile by tile*, walk through the tiles of one block of queries, and watch the running maximum $m$, the sum $s$ and the output $o$ of your class. Where are the weights of a row right: after its first tile, or after its last one?

# %% nbgrader={"grade": false, "grade_id": "see-flash-attention-map", "locked": true, "schema_version": 3, "solution": false, "task": false}
attention_map(tokens=list("tokens"), by=FlashAttention)

# %% [markdown]
# ### The traffic of yours, measured
#
# The table above counted a plan. Now your three Functions themselves, on the same $L$ and $E$. The rule: a tensor that is larger than one tile of 128 × 128 lies in slow memory. Whenever an operation reads or writes it, or a part of it, those numbers travel.


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "demo-traffic-mode", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Traffic(TorchDispatchMode):
    """While it is on: `moved`, how many numbers go to and from tensors larger than `fast` numbers."""

    def __init__(self, fast):
        super().__init__()
        self.fast, self.moved = fast, 0

    def is_slow(self, value):
        if not isinstance(value, torch.Tensor):
            return False
        return value.untyped_storage().nbytes() > self.fast * value.element_size()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if not operation.is_view:  # a view moves nothing
            touched = filter(self.is_slow, tree_iter((args, kwargs, result)))
            self.moved += sum(tensor.numel() for tensor in touched)
        return result


# %% nbgrader={"grade": false, "grade_id": "demo-traffic-measured", "locked": true, "schema_version": 3, "solution": false, "task": false}
q, k, v = heads(L, count=1, width=E)
print("numbers that travel, in thousands    forward   backward")
for name, attention in {
    "your ScaledDotProductAttention": ScaledDotProductAttention.apply,
    "your LeanAttention": LeanAttention.apply,
    "your FlashAttention, tiles of 64": lambda q, k, v: FlashAttention.apply(q, k, v, False, 64),
    "your FlashAttention, tiles of 128": lambda q, k, v: FlashAttention.apply(q, k, v, False, 128),
}.items():
    with Traffic(fast=128 * 128) as forward:
        out = attention(q, k, v)
    with Traffic(fast=128 * 128) as backward:
        torch.autograd.grad(out, (q, k, v), torch.ones_like(out))
    print(f"{name:34} {forward.moved / 1000:9.0f} {backward.moved / 1000:10.0f}")

# %% [markdown]
# Look at the columns in this order: Lean beside the first one, tiles of 64 beside Lean, 128 beside 64. Lean saves memory, not traffic: it makes its whole matrices once more. Tiles save both, larger tiles more.
#
# Your numbers are above those on paper, because each line of Python is an operation of its own and reads its block again. A real kernel reads it once for all of them.

# %% [markdown]
# ## Finale, part one: a transformer on your attention
#
# A small language model: it reads characters and predicts the next one. The text is four poems by Lewis Carroll, about 6000 characters. Two blocks, four heads, everything from torch except the attention, which is passed in.

# %% nbgrader={"grade": false, "grade_id": "finale-text", "locked": true, "schema_version": 3, "solution": false, "task": false}
text = poems()
alphabet = sorted(set(text))
codes = torch.tensor([alphabet.index(letter) for letter in text])
CONTEXT = 48
print(len(text), "characters,", len(alphabet), "different ones. It begins:\n")
print(text[:160])


def batch_of_lines(generator, count=12):
    """Random stretches of the text and, shifted by one, the characters to predict: (count, CONTEXT)."""
    starts = torch.randint(len(codes) - CONTEXT, (count,), generator=generator)
    stretches = torch.stack([codes[start : start + CONTEXT + 1] for start in starts])
    return stretches[:, :-1], stretches[:, 1:]


# %% nbgrader={"grade": false, "grade_id": "finale-block", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Block(torch.nn.Module):
    """One layer: attention among the characters, then a small network for each of them."""

    def __init__(self, width, head_count):
        super().__init__()
        self.head_count = head_count
        self.before_attention, self.before_network = (torch.nn.LayerNorm(width) for _ in range(2))
        self.to_qkv = torch.nn.Linear(width, 3 * width)
        self.from_heads = torch.nn.Linear(width, width)
        self.network = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def heads_of(self, x):
        """q, k and v, each (batch, head, character, width of a head)."""
        batch, length, _ = x.shape
        qkv = self.to_qkv(self.before_attention(x))
        return qkv.reshape(batch, length, 3, self.head_count, -1).permute(2, 0, 3, 1, 4)

    def forward(self, x, attend):
        x = x + self.from_heads(attend(*self.heads_of(x)).transpose(1, 2).flatten(2))
        return x + self.network(self.before_network(x))


# %% nbgrader={"grade": false, "grade_id": "finale-transformer", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Transformer(torch.nn.Module):
    """Characters (batch, length) → scores of the next one (batch, length, alphabet)."""

    def __init__(self, attend, width=48, head_count=4, block_count=2):
        super().__init__()
        torch.manual_seed(0)  # the same start for every attention
        self.attend = attend
        self.letters = torch.nn.Embedding(len(alphabet), width)
        self.places = torch.nn.Embedding(CONTEXT, width)
        self.blocks = torch.nn.ModuleList(Block(width, head_count) for _ in range(block_count))
        self.last = torch.nn.Sequential(
            torch.nn.LayerNorm(width), torch.nn.Linear(width, len(alphabet))
        )
        self.double()

    def forward(self, characters):
        x = self.letters(characters) + self.places(torch.arange(characters.shape[1]))
        for block in self.blocks:
            x = block(x, self.attend)
        return self.last(x)


# %% [markdown]
# Four attentions, one training. Same start, same batches, float64. Only the attention differs.


# %% nbgrader={"grade": false, "grade_id": "finale-four-attentions", "locked": true, "schema_version": 3, "solution": false, "task": false}
def causal_mask(q):
    return torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).tril()


attentions = {
    "torch": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "ScaledDotProductAttention": lambda q, k, v: ScaledDotProductAttention.apply(
        q, k, v, causal_mask(q)
    ),
    "LeanAttention": lambda q, k, v: LeanAttention.apply(q, k, v, causal_mask(q)),
    "FlashAttention": lambda q, k, v: FlashAttention.apply(q, k, v, True, 24),
}

# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
STEPS = 3 if SHORT else int(80 * SCALE)


def learn(model, steps, seed):
    """Train in place; the loss at every step (nats a character)."""
    losses, generator = [], torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        characters, following = batch_of_lines(generator)
        loss = F.cross_entropy(model(characters).flatten(0, 1), following.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


models = {name: Transformer(attend) for name, attend in attentions.items()}
curves = {name: learn(model, STEPS, seed=1) for name, model in models.items()}
truth = curves["torch"]
for name, losses in curves.items():
    off = (losses - truth).abs().max().item()
    print(f"{name:26} loss {losses[0]:.4f} → {losses[-1]:.4f}   largest difference {off:.1e}")

# %% nbgrader={"grade": false, "grade_id": "finale-training-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.four_attentions(curves)

# %% [markdown]
# Step by step the same losses, up to rounding. Your attention is attention.
#
# So let the model with your FlashAttention train on alone, and then write. Nothing is compared any more: float32 will do, in half of the time.

# %% nbgrader={"grade": false, "grade_id": "finale-learning-on", "locked": true, "schema_version": 3, "solution": false, "task": false}
mine = models["FlashAttention"].float()
later = learn(mine, 3 if SHORT else int(500 * SCALE), seed=2)
print(f"loss {later[0]:.3f} → {later[-20:].mean():.3f} after {len(later)} more steps")


# %% nbgrader={"grade": false, "grade_id": "finale-writing", "locked": true, "schema_version": 3, "solution": false, "task": false}
@torch.no_grad()
def write(model, start, count, generator):
    """Continue the start by `count` characters, each drawn from what the model expects."""
    characters = [alphabet.index(letter) for letter in start]
    for _ in range(count):
        scores = model(torch.tensor([characters[-CONTEXT:]]))[0, -1]
        chances = torch.softmax(scores / 0.7, dim=-1)
        characters.append(int(torch.multinomial(chances, 1, generator=generator)))
    return "".join(alphabet[code] for code in characters)


print(write(mine, "The ", 20 if SHORT else 260, torch.Generator().manual_seed(0)))

# %% [markdown]
# It has learnt what verse looks like from afar: lines, spaces, quotation marks, the endings of words. Many of its words are its own. With `BACKWARD_BY_HAND_SCALE=5` in the environment before Jupyter starts it trains five times longer, and invents fewer.

# %% nbgrader={"grade": false, "grade_id": "finale-where-it-looks", "locked": true, "schema_version": 3, "solution": false, "task": false}
line = '"The time has come," the Walrus'
codes_of_line = torch.tensor([[alphabet.index(letter) for letter in line]])
with torch.no_grad():
    x = mine.letters(codes_of_line) + mine.places(torch.arange(len(line)))
    q, k, _ = mine.blocks[0].heads_of(x)
    scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(
        ~causal_mask(q), -torch.inf
    )
    weights = Softmax.apply(scores, -1)[0]
figures.where_heads_look(weights, line)

# %% [markdown]
# Nobody told the heads what to look for. Each row is one character, and the bright places of the row are the characters it takes from. Is there a head that looks at the character just before?

# %% [markdown]
# ## Finale, part two: time and memory over length
#
# One head of width 32, causal, float32, forward and backward. Memory is the peak of everything made on the way. On the CPU always, on one core; on a GPU where there is one.


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "finale-measure", "locked": true, "schema_version": 3, "solution": false, "task": false}
def seconds(attention, q, k, v, repeats=5):
    """The shortest of a few runs of forward and backward."""
    times = []
    for _ in range(repeats):
        if q.is_cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        torch.autograd.grad(attention(q, k, v), (q, k, v), torch.ones_like(v))
        if q.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


LENGTHS = [128, 256] if SHORT else [128, 256, 512, 1024, 2048]
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
raced = attentions | {"FlashAttention": lambda q, k, v: FlashAttention.apply(q, k, v, True, 128)}
found = {}
for device in DEVICES:
    for name, attention in raced.items():
        for length in LENGTHS:
            qkv = [t.detach().to(device).requires_grad_(True) for t in heads(length, count=1)]
            measured = seconds(attention, *qkv), peak_bytes(attention, *qkv)
            found.setdefault((device, name), []).append(measured)

# %% nbgrader={"grade": false, "grade_id": "finale-time-and-memory", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.time_and_memory(LENGTHS, found)

# %% nbgrader={"grade": false, "grade_id": "finale-growth", "locked": true, "schema_version": 3, "solution": false, "task": false}
for (device, name), measured in found.items():
    (_, shorter), (_, longer) = measured[-2:]
    print(f"{name:26} {device}   L = {LENGTHS[-1]}: {longer / 2**20:6.1f} MiB,", end=" ")
    print(f"{longer / shorter:.1f} times that at L = {LENGTHS[-2]}")

# %% [markdown]
# Twice the length: about four times the memory for whole matrices, at most twice for tiles. (On the CPU the count sees the results of operations, not what torch's fused kernel uses inside.)
#
# Time is another matter. All of them compute of the order of $L^2$ products, and yours pays for a Python loop at every tile. At small lengths a tile of 128 is the whole matrix, and nothing is gained.

# %% [markdown]
# ## L = 4096
#
# Four heads of width 32, a causal text of 4096 tokens. What would the whole matrices need? Take the peak measured above, which grows with the number of heads and with $L^2$. Then run yours.

# %% nbgrader={"grade": false, "grade_id": "finale-long", "locked": true, "schema_version": 3, "solution": false, "task": false}
length, count = (512, 2) if SHORT else (4096, 4)
naive_peak = found["cpu", "ScaledDotProductAttention"][-1][1]
expected = naive_peak * count * (length / LENGTHS[-1]) ** 2
print(f"ScaledDotProductAttention would need about {expected / 1e9:.1f} GB")
qkv = heads(length, count)
start = time.perf_counter()
peak = peak_bytes(raced["FlashAttention"], *qkv)
print(f"your FlashAttention needed {peak / 1e9:.2f} GB and", end=" ")
print(f"{time.perf_counter() - start:.1f} seconds, forward and backward")
out = raced["FlashAttention"](*qkv)
right = F.scaled_dot_product_attention(*qkv, is_causal=True)
print(f"largest difference from torch: {(out - right).abs().max().item():.1e}")

# %% [markdown]
# Your own backward, on a length at which the textbook formula begins to fill a laptop: and it does so once for every layer.

# %% [markdown]
# ### An honest word
#
# Use `F.scaled_dot_product_attention`. It picks the best kernel for your device, and its tiles live in the fast memory of a GPU, inside **one** kernel. That is what FlashAttention means there, and where its speed comes from.
#
# Yours has the same mathematics and the same memory, but every line of its loop is a kernel of its own: a Python Function fuses nothing. What you own now is the derivation. When the next operation has no kernel yet, you know what one has to compute, and what it may forget.

# %% [markdown]
# ## Find the bug
#
# Two people have handed in `LeanAttention`. Both give the right output, and both give gradients that look reasonable: no error, no NaN. One model would learn a little worse than it should, and nobody would know why. Read, decide, and only then have them judged.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("attention")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: with ones as upstream gradient, with others, with gradcheck …
q, k, v = (torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
(
    torch.autograd.grad(A.apply(q, k, v, None, None).sum(), q),
    torch.autograd.grad(B.apply(q, k, v, None, None).sum(), q),
)

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("attention")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("attention")

# %% [markdown]
# ## Summary
#
# | | kept in addition to q, k, v and the output | largest scores or weights on the way | second derivative |
# |---|---|---|---|
# | plain torch operations | L×S | L×S | right |
# | ScaledDotProductAttention | L×S | L×S | refused |
# | LeanAttention | one number a row | L×S | refused |
# | FlashAttention | one number a row | a tile | refused |
#
# * Softmax: $y\,(g - \sum g y)$. The Jacobian is never formed, the output is enough.
# * A row with nothing to attend to: 0 and gradient 0, by replacing its NaN, not by multiplying it.
# * bool masks say where to attend; float masks are added.
# * One logsumexp a row turns scores back into weights; $\delta = \sum G\,O$ replaces a sum over the keys.
# * Online softmax: when the maximum grows, rescale the sum **and** the output.
# * A tile is made, used and forgotten in fast memory. What travels falls with $1/B$.
# * Saved weights and logsumexps are intermediates: refuse second derivatives, out loud.

# %% [markdown]
# ## Knowledge check: the whole course
#
# Ten questions, one or two from every lesson. If you can explain the wrong choices too, you have arrived.

# %% nbgrader={"grade": false, "grade_id": "quiz-knowledge-check", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("knowledge_check")

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Ashish Vaswani and others (2017): [*Attention is all you need*](https://arxiv.org/abs/1706.03762). Where queries, keys, values and the factor 1/√E come from.
# - Maxim Milakov and Natalia Gimelshein (2018): [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867). The sum that is rescaled when the maximum grows.
# - Markus Rabe and Charles Staats (2021): [*Self-attention does not need O(n²) memory*](https://arxiv.org/abs/2112.05682). Attention in pieces, with checkpoints for its backward.
# - Tri Dao and others (2022): [*FlashAttention: fast and memory-efficient exact attention with IO-awareness*](https://arxiv.org/abs/2205.14135). The backward from one number a row, and the proof about traffic.
# - Tri Dao (2023): [*FlashAttention-2: faster attention with better parallelism and work partitioning*](https://arxiv.org/abs/2307.08691). Queries outside, and what else a GPU wants.
# - PyTorch (torch 2.13): [*scaled_dot_product_attention*](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html). Masks, scales, kernels, in torch's own words.

# %% [markdown]
# ## Where to go next
#
# You have finished the core of the course. Take the habits with you: derive, write, `gradcheck`, `gradgradcheck`, measure what is kept, and say clearly what you do not support.
#
# **Lesson 08, Derivatives of other shapes,** and **lesson 09, Layers you know, from inside,** go on with more operations: products and norms, ties, embeddings and ranks; dropout, normalisation, convolution.
#
# Or take an operation of your own. `evaluate` from the autograder takes any Function, not only the course's: give it a reference and inputs, and read the report.
