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
# # What torch cannot differentiate
#
# Some values come from outside: a library of special functions, a solver, an iteration that runs until nothing moves, a simulation, a kernel of your own in C++. Autograd sees none of it. It need not: a derivative belongs to the **function**, not to the way its value was found.
#
# At the end you train a layer that is as deep as you like, and keeps **one** tensor for backward.
#
# **Time:** about two hours: 40 minutes to read and predict, 80 for four exercises.
#
# **You need:** lessons 01 to 03; of lesson 05, that a tensor which NumPy computed is a constant to torch, without an error.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # torch's profiler says nothing of itself

import scipy.special
import torch
import torch.nn.functional as F
from torch.autograd import Function, gradcheck, gradgradcheck

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
_ = torch.manual_seed(11)

# %% [markdown]
# ## Values from SciPy
#
# Strike a drum, and its skin takes the shape of a **Bessel function**: $J_0(x)$ is the mean of $\cos(x \sin t)$ over a full turn of $t$. torch has its values, and before torch 2.15 no derivative. Before that: are the values right?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-digits", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("digits")

# %% nbgrader={"grade": false, "grade_id": "demo-digits", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, 4.9, 5.01, 8.0, 20.0], dtype=torch.float64)
turn = 2 * torch.pi * torch.arange(64, dtype=torch.float64) / 64
mean = torch.cos(x.unsqueeze(1) * torch.sin(turn)).mean(1)  # 64 points are enough for x ≤ 20
by_torch = torch.special.bessel_j0(x)
by_scipy = torch.as_tensor(scipy.special.j0(x.numpy()))
for row in zip(x.tolist(), (by_torch - mean).abs().tolist(), (by_scipy - mean).abs().tolist()):
    print("x = {:5}   torch is off by {:.0e}   SciPy by {:.0e}".format(*row))

outcome("digits")

# %% [markdown]
# So take the value from SciPy, and write the derivative yourself. It is known: $J_0' = -J_1$, the Bessel function of order 1.
#
# ## Exercise 1: BesselJ0
#
# A second derivative is promised too. But $J_1$ comes from SciPy as well, so it needs a Function of its own, with the slope
#
# $$J_1'(x) = J_0(x) - \frac{J_1(x)}{x} = \tfrac12 \bigl( J_0(x) - J_2(x) \bigr) .$$
#
# Both forms are the same, but for one point. SciPy has `j0`, `j1`, and `jv(order, x)` for every order.
#
# **Contract.** `BesselJ0.apply(x)` promises
#
# * **values** of `scipy.special.j0`
# * **gradients** right
# * **second derivatives** right
# * **special points**: right at x = 0, the second derivative too; right at ±1000 in float32
# * **memory**: one tensor as large as `x`
# * **shapes, strides, dtypes**: `x` of any shape, a single number (0-d) included; the output has `x`'s dtype (float32, float64) and is where `x` was, also on a GPU
# * **nothing else is touched** · **your own work**: as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device)


# %% nbgrader={"grade": false, "grade_id": "bessel-j0", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BesselJ1(Function):
    """J₁(x) by SciPy: what the backward of BesselJ0 calls. Keeps x."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        values = scipy.special.j1(x.detach().cpu().numpy())
        return torch.as_tensor(values, dtype=x.dtype, device=x.device)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        numbers = x.detach().cpu().numpy()
        slope = (scipy.special.j0(numbers) - scipy.special.jv(2, numbers)) / 2
        return grad_output * torch.as_tensor(slope, dtype=x.dtype, device=x.device)
        ### END SOLUTION


class BesselJ0(Function):
    """J₀(x) by SciPy, twice differentiable. Keeps x."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        values = scipy.special.j0(x.detach().cpu().numpy())
        return torch.as_tensor(values, dtype=x.dtype, device=x.device)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return -grad_output * BesselJ1.apply(x)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "bessel-j0-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(BesselJ0)

# %% nbgrader={"grade": true, "grade_id": "bessel-j0-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of BesselJ0 are checked here with other numbers.
# You can run it now: check(BesselJ0, hidden=True)
### BEGIN HIDDEN TESTS
check(BesselJ0, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: BesselJ0
#
# **Derivation.** Differentiate the mean of $\cos(x \sin t)$ under the mean: $-\sin t \sin(x \sin t)$, whose mean is $-J_1(x)$. For all orders $J_n' = (J_{n-1} - J_{n+1}) / 2$, and $J_{-1} = -J_1$ gives $J_0'$.
#
# **What is saved, and why.** $x$. The output would not do: $J_0$ takes the same value at many points.
#
# **Common mistakes.** $J_1$ by NumPy in the backward of $J_0$, without a Function: the second derivative is then missing, and in a sum silently wrong. $J_1(x) / x$, which is 0 / 0 at 0, where the slope of $J_1$ is ½. `torch.from_numpy`, which refuses the plain number that SciPy gives for a 0-d input. No `dtype=`, or no `.cpu()`.
#
# **Another way.** One Function `Bessel.apply(x, order)` whose backward calls itself with the orders below and above: right to any order. `BesselJ1` here is right once, so `BesselJ0` is right twice, and a third derivative would lack a term.

# %% [markdown]
# ### See it run
#
# The second backward: look for the box of your `BesselJ1`.

# %% nbgrader={"grade": false, "grade_id": "see-bessel", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(BesselJ0, order=2)

# %% [markdown]
# ### A second witness
#
# gradcheck compares with difference quotients. An equation is a sharper witness, where there is one: $J_0$ solves $x^2 y'' + x y' + x^2 y = 0$. Value, slope and curvature come from your class.

# %% nbgrader={"grade": false, "grade_id": "demo-bessel-equation", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.linspace(-15, 15, 61, dtype=torch.float64, requires_grad=True)
y = BesselJ0.apply(x)
(slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
(bend,) = torch.autograd.grad(slope.sum(), x)
left_over = x**2 * bend + x * slope + x**2 * y
print(f"what is left of x²y″ + xy′ + x²y: at most {left_over.abs().max().item():.0e}")
print("gradgradcheck:", gradgradcheck(BesselJ0.apply, x[::9].detach().requires_grad_()))

# %% [markdown]
# ## An equation in place of a formula
#
# For other functions there is no formula at all, only an equation: $y$ is *the number for which* $F(y, a) = 0$. Whoever solves it, and how, need not matter to you. When $a$ moves by $da$, $y$ has to move so that $F$ stays 0:
#
# $$\frac{\partial F}{\partial y}\, dy + \frac{\partial F}{\partial a}\, da = 0 \qquad\text{so}\qquad \frac{dy}{da} = - \Bigl( \frac{\partial F}{\partial y} \Bigr)^{-1} \frac{\partial F}{\partial a} .$$
#
# This is the **implicit function theorem**. It holds where $\partial F / \partial y$ can be inverted, for numbers and for vectors alike: the rest of this lesson is this one line.
#
# The first example is the Lambert function: $y\,e^y = a$. It solves equations whose unknown stands both inside and outside of an exponential: what grows at each moment by what it was a time $\tau$ ago grows like $e^{rt}$ with $r = e^{-r\tau}$, so $r = W(\tau) / \tau$. No finite combination of powers, exponentials and logarithms gives it. Differentiate both sides by $a$: $\;(e^y + y\,e^y)\, y' = 1$.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-at-zero", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("at-zero")

# %% nbgrader={"grade": false, "grade_id": "demo-at-zero", "locked": true, "schema_version": 3, "solution": false, "task": false}
a = torch.tensor([0.0, 1e-3, 1.0], dtype=torch.float64)
y = torch.as_tensor(scipy.special.lambertw(a.numpy()).real)
print("y / (a (1 + y))      ", (y / (a * (1 + y))).tolist())
print("1 / (eʸ (1 + y))     ", (1 / (torch.exp(y) * (1 + y))).tolist())

outcome("at-zero")

# %% [markdown]
# Two formulas that are equal on paper, and one of them has a hole. `lambertw` gives *complex* numbers, since the equation has complex solutions too; for $a \ge 0$ the real part is all there is.
#
# ## Exercise 2: LambertW
#
# **Contract.** `LambertW.apply(a)` promises, for $a \ge 0$,
#
# * **values**: the $y \ge 0$ with $y\,e^y = a$, by `scipy.special.lambertw`
# * **gradients** $1 / (e^y (1 + y))$
# * **second derivatives** right
# * **special points**: a = 0, where y is 0 and the slope 1; a from 0 to 1e30 in float32
# * **memory**: one tensor as large as `a`
# * **shapes, strides, dtypes**: any shape, a single number (0-d) included; dtype (float32, float64) and device of `a`
# * **nothing else is touched** · **your own work**: as for every Function
#
# Which tensor do you save, so that the second derivative comes out right without another Function?


# %% nbgrader={"grade": false, "grade_id": "lambert-w", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LambertW(Function):
    """The solution y ≥ 0 of y·eʸ = a, by SciPy, for a ≥ 0. Keeps the output."""

    @staticmethod
    def forward(ctx, a):
        ### BEGIN SOLUTION
        values = scipy.special.lambertw(a.detach().cpu().numpy()).real
        y = torch.as_tensor(values, dtype=a.dtype, device=a.device)
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return grad_output / (torch.exp(y) * (1 + y))
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lambert-w-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(LambertW)

# %% nbgrader={"grade": true, "grade_id": "lambert-w-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of LambertW are checked here with other numbers.
# You can run it now: check(LambertW, hidden=True)
### BEGIN HIDDEN TESTS
check(LambertW, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: LambertW
#
# **Derivation.** $F(y, a) = y\,e^y - a$: $\partial F / \partial y = e^y (1 + y)$ and $\partial F / \partial a = -1$.
#
# **What is saved, and why.** The output. The slope is a function of $y$ alone, and of a saved output torch knows how it depends on $a$: by this very Function. So the second derivative goes through backward again, and every order is right.
#
# **Common mistakes.** The product rule forgotten: $1 / e^y$. $y / (a (1 + y))$, NaN at 0. A copy of $y$ saved, or $e^y$, or $y$ solved for again by SciPy in backward: all of these are constants to a second derivative. No `.real`; no `dtype=`, so that float32 gives float64.
#
# **Another way.** Save `a`, and call `LambertW.apply(a)` in backward: right, and twice the work.

# %% [markdown]
# ### Your slopes on the curve

# %% nbgrader={"grade": false, "grade_id": "demo-tangents", "locked": true, "schema_version": 3, "solution": false, "task": false}
a = torch.linspace(0, 6, 61, dtype=torch.float64, requires_grad=True)
y = LambertW.apply(a)
(slopes,) = torch.autograd.grad(y.sum(), a)
figures.tangents(a.detach(), y.detach(), slopes)

# %% nbgrader={"grade": false, "grade_id": "see-lambert-w", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(LambertW)

# %% [markdown]
# ## A whole system at once
#
# $A x = b$ is an equation for a vector. Let $A$ and $b$ change a little: $dA\, x + A\, dx = db$, so
#
# $$dx = A^{-1} (db - dA\, x) .$$
#
# Now the gradient, with $g$ arriving at $x$. The loss changes by $g^\top dx = (A^{-\top} g)^\top (db - dA\, x)$. Give the bracket on the left a name, $u$, the solution of the **adjoint system** $A^\top u = g$:
#
# $$\frac{\partial L}{\partial b} = u, \qquad \frac{\partial L}{\partial A} = -u\, x^\top .$$
#
# No inverse is formed. A solver factorises $A = P L U$ into triangles and a permutation, which takes about $\frac23 n^3$ operations, and then solves with two triangles, $2 n^2$ for each column of $b$. The factors of $A$ are the factors of $A^\top$, read the other way round. So forward factorises **once**, and backward hardly costs anything.
#
# ## Exercise 3: Solve
#
# `torch.linalg.lu_factor(A)` gives the factors and the pivots, `torch.linalg.lu_solve(LU, pivots, b)` solves, and with `adjoint=True` it solves the transposed system.
#
# **Contract.** `Solve.apply(A, b)` promises
#
# * **values**: the solution of `A x = b`, for `A` (…, n, n) and `b` (…, n, k) with the same batch dimensions; a singular `A` is refused with a RuntimeError (`lu_factor` raises one)
# * **gradients**: two; `None` where none is needed
# * **second derivatives** right, or refused with a RuntimeError: are the factors outputs, inputs, or neither?
# * **special points**: an `A` with zeros on its diagonal, so that rows are exchanged; a single equation; numbers of the size of 1000
# * **memory**: the factors with their pivots, `x`, and `A`
# * **shapes, strides, dtypes**: any number of batch dimensions, an empty batch, no column at all; float32 and float64
# * **nothing else is touched**: as for every Function
# * **your own work**: `A` is factorised once, in forward; no inverse is formed


# %% nbgrader={"grade": false, "grade_id": "solve", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Solve(Function):
    """x with A x = b; A (…, n, n), b (…, n, k). Keeps the factors of A, and x."""

    @staticmethod
    def forward(ctx, A, b):
        ### BEGIN SOLUTION
        LU, pivots = torch.linalg.lu_factor(A)
        x = torch.linalg.lu_solve(LU, pivots, b)
        ctx.save_for_backward(LU, pivots, x)
        return x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError("Solve keeps the factors of A: it has no second derivative.")
        LU, pivots, x = ctx.saved_tensors
        u = torch.linalg.lu_solve(LU, pivots, grad_output, adjoint=True)
        grad_A = -u @ x.mT if ctx.needs_input_grad[0] else None
        return grad_A, u if ctx.needs_input_grad[1] else None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "solve-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(Solve)

# %% nbgrader={"grade": true, "grade_id": "solve-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Solve are checked here with other numbers.
# You can run it now: check(Solve, hidden=True)
### BEGIN HIDDEN TESTS
check(Solve, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: Solve
#
# **Derivation.** In the text. With several columns $b = (b_1, \dots, b_k)$, each has its own $u$ and $x$, and $A$ is used by all: $-\sum_j u_j x_j^\top = -U X^\top$, the matrix product.
#
# **What is saved, and why.** The factors, the pivots, and the solution, which is the output. $A$ and $b$ are not needed. The factors were made in forward: a second derivative would take them for constants, so it is refused.
#
# **Common mistakes.** Solving with $A$ once more, right for symmetric matrices only. `b` in the place of `x`. No minus. `torch.linalg.inv`: three times the work of the factors, and digits are lost. `torch.linalg.solve` in backward, which factorises again. `x.T` on a batch.
#
# **Another way.** Keep $A$ too, and where `torch.is_grad_enabled()` call `Solve.apply(A.mT, grad_output)`: then the second derivative is right, at the price of one more factorisation.

# %% nbgrader={"grade": false, "grade_id": "see-solve", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Solve)

# %% [markdown]
# ### Where the time goes
#
# Do not guess: `torch.profiler` notes every operation. A Function appears under its own name, with its backward beside it; the time of what it calls is listed by itself.

# %% nbgrader={"grade": false, "grade_id": "demo-profile", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.profiler import ProfilerActivity, profile

A = (torch.randn(600, 600) + 30 * torch.eye(600)).requires_grad_()
b = torch.randn(600, 4, requires_grad=True)
Solve.apply(A, b).sum().backward()  # the first call also loads the library
with profile(activities=[ProfilerActivity.CPU]) as seen:
    for _ in range(5):
        Solve.apply(A, b).sum().backward()

rows = sorted(seen.key_averages(), key=lambda row: -row.self_cpu_time_total)
total = sum(row.self_cpu_time_total for row in rows)
for row in rows[:6]:
    print(f"{row.self_cpu_time_total / total:6.1%}  {row.count} ×  {row.key}")

# %% [markdown]
# The factorisation leads, and in five calls it ran five times; `lu_solve` ran ten. If a factorisation shows up twice a call, or an inverse, you have found what to mend before anybody complains. For a timeline, `seen.export_chrome_trace("trace.json")` writes a file for a browser's viewer.
#
# ## Iterate to the end
#
# The equation $z = \tanh(W z + x)$ has $z$ on both sides. If $W$ is a **contraction** (it shortens every vector, here because its largest singular value is below 1), then iterating $z \leftarrow \tanh(W z + x)$ comes closer to the solution with each step, from wherever it began. Read it as a network: each step is a layer, all with the same weights, and the solution is the output of *infinitely many* of them.
#
# Autograd could go back through the loop, and would keep every step. What would it say about the start?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-where-it-began", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("where-it-began")


# %% nbgrader={"grade": false, "grade_id": "demo-where-it-began", "locked": true, "schema_version": 3, "solution": false, "task": false}
def loop(z, x, weight, steps):
    """steps times z ← tanh(weight z + x), for rows z and x; autograd may watch."""
    for _ in range(steps):
        z = torch.tanh(x + F.linear(z, weight))
    return z


def contraction(n):
    """A random matrix that halves vectors at least: its largest singular value is ½."""
    weight = torch.randn(n, n, dtype=torch.float64)
    return weight / torch.linalg.matrix_norm(weight, 2) / 2


z0, x = torch.randn(2, 3, 8, dtype=torch.float64).requires_grad_()
weight = contraction(8).requires_grad_()
for steps in (1, 5, 20, 60):
    gradients = torch.autograd.grad(loop(z0, x, weight, steps).sum(), (z0, x))
    sizes = [gradient.abs().max().item() for gradient in gradients]
    print(f"{steps:2} steps: gradient for z0 up to {sizes[0]:.0e}, for x up to {sizes[1]:.6f}")

outcome("where-it-began")

# %% [markdown]
# The start is forgotten, and the gradient for $x$ settles. So ask the equation, not the loop. With $D = 1 - z^2$, the slopes of tanh at the solution (elementwise):
#
# $$dz = D \odot (W\, dz + dW\, z + dx) .$$
#
# $dz$ is on both sides too. For the gradient let $v$ be what arrives at $z$ *over all ways round the loop*: $g$ directly, and what comes back through one more round,
#
# $$v = g + W^\top (D \odot v) \qquad\text{and then}\qquad \frac{\partial L}{\partial x} = D \odot v, \qquad \frac{\partial L}{\partial W} = (D \odot v)\, z^\top .$$
#
# That is a linear equation, $(I - W^\top D)\, v = g$, and you could solve it. But it is a fixed point again, of the same contraction: **iterate the adjoint**, and no matrix is ever factorised. All you need from forward is where it ended.
#
# ## Exercise 4: FixedPoint
#
# Rows are examples, as in a linear layer: $W z$ is `z @ weight.T` for `z` (…, n), and $W^\top v$ is `v @ weight`.
#
# **Contract.** `FixedPoint.apply(z0, x, weight, steps)` promises
#
# * **values**: exactly `steps` times `z ← tanh(weight z + x)`, from `z0` on; `z0` and `x` of one shape (…, n), `weight` (n, n) with its largest singular value below 1; `steps` is large enough
# * **gradients**: those of the *solution*, by iterating the adjoint as many times; zeros, or `None`, for `z0`, on which the solution does not depend; `None` for `steps`, and where none is needed
# * **second derivatives** right, or refused with a RuntimeError
# * **special points**: weight 0; a single number in a row; x of ±1000 in float32
# * **memory**: `z` and `weight`, however many steps. No intermediate
# * **shapes, strides, dtypes**: any number of batch dimensions, none included
# * **nothing else is touched** · **your own work**: as for every Function


# %% nbgrader={"grade": false, "grade_id": "fixed-point", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FixedPoint(Function):
    """z = tanh(weight z + x) for rows z0 and x (…, n), by iterating; keeps z and weight (n, n)."""

    @staticmethod
    def forward(ctx, z0, x, weight, steps):
        ### BEGIN SOLUTION
        z = z0
        for _ in range(steps):
            z = torch.tanh(z @ weight.T + x)
        ctx.save_for_backward(z, weight)
        ctx.steps = steps
        return z
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        z, weight = ctx.saved_tensors
        grad_z0 = torch.zeros_like(z) if ctx.needs_input_grad[0] else None
        grad_x = grad_weight = None
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            slope = 1 - z * z
            v = grad_output
            for _ in range(ctx.steps):
                v = grad_output + (v * slope) @ weight
            h = v * slope
            if ctx.needs_input_grad[1]:
                grad_x = h
            if ctx.needs_input_grad[2]:
                n = len(weight)
                grad_weight = h.reshape(-1, n).T @ z.reshape(-1, n)
        return grad_z0, grad_x, grad_weight, None
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "fixed-point-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(FixedPoint)

# %% nbgrader={"grade": true, "grade_id": "fixed-point-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of FixedPoint are checked here with other numbers.
# You can run it now: check(FixedPoint, hidden=True)
### BEGIN HIDDEN TESTS
check(FixedPoint, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: FixedPoint
#
# **Derivation.** In the text. $F(z, x, W) = z - \tanh(W z + x)$, and $\partial F / \partial z = I - D W$: its transpose is the matrix of the adjoint equation. Since $D \le 1$ and $W$ is a contraction, it can be inverted, and the sum $v = g + W^\top D g + (W^\top D)^2 g + \dots$ converges: iterating adds up its terms.
#
# **What is saved, and why.** $z$, from which $D = 1 - z^2$, and `weight`. Not $x$: it stands inside the tanh, whose slope $z$ tells. $z$ is the output, so torch knows how it depends on $x$ and $W$: as the adjoint is iterated with torch's operations, second derivatives are right as well.
#
# **Common mistakes.** One round only, which is the gradient through the last step. `weight.T` on the way back. The slope after `weight`, not before. $v$ in place of $D \odot v$ for $x$. A loop of its own with `torch.enable_grad()`, which keeps all steps after all.
#
# **Another way.** Solve $(I - W^\top D)\, v = g$ by `torch.linalg.solve`: one matrix for each example, so it pays for small n and slow contractions. Anderson's or Broyden's method takes fewer steps than plain iteration.

# %% [markdown]
# ### Both iterations at work
#
# How far are value and gradient from where they end, after each number of steps?


# %% nbgrader={"grade": false, "grade_id": "demo-two-iterations", "locked": true, "schema_version": 3, "solution": false, "task": false}
def after(steps):
    """Value and gradient for x of your FixedPoint after so many steps."""
    z = FixedPoint.apply(z0, x, weight, steps)
    return z.detach(), torch.autograd.grad(z.sum(), x)[0]


steps = range(1, 41, 3)
ends = after(200)
off = [[(one - end).abs().max().item() for one, end in zip(after(n), ends)] for n in steps]
figures.errors_over_steps(
    steps, {"z": [each[0] for each in off], "the gradient": [each[1] for each in off]}
)

# %% nbgrader={"grade": false, "grade_id": "see-kept-by-fixed-point", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(FixedPoint, z0, x, weight, 60)


# %% nbgrader={"grade": false, "grade_id": "see-kept-by-the-loop", "locked": true, "schema_version": 3, "solution": false, "task": false}
def loop_of_60(z0, x, weight):
    return loop(z0, x, weight, 60)


saved_ledger(loop_of_60, z0, x, weight)

# %% nbgrader={"grade": false, "grade_id": "see-fixed-point", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(FixedPoint)

# %% [markdown]
# ## When there is only a black box
#
# A simulation, a game, a program that counts. There is no equation to differentiate, and perhaps no derivative. What is left is to *try*, and to be right **on average**.
#
# **Simultaneous perturbation.** Move all inputs at once, by $\pm c$ with random signs $s$, and look at the difference. Two calls, however many inputs there are:
#
# $$\hat g = \frac{f(x + c s) - f(x - c s)}{2 c} \; s \qquad\text{has the mean}\qquad \nabla f + O(c^2),$$
#
# because $s_i s_j$ is 1 for $i = j$ and 0 on average else. As a Function it fits into any network. Is it right? Ask gradcheck.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-estimate", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("estimate")


# %% nbgrader={"grade": false, "grade_id": "demo-estimate", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Perturbed(Function):
    """f(x) for a black box f, a number of a vector; the gradient is estimated from two more calls."""

    @staticmethod
    def forward(ctx, x, f, c):
        ctx.save_for_backward(x)
        ctx.f, ctx.c = f, c
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        signs = torch.randint(0, 2, x.shape).to(x) * 2 - 1
        difference = ctx.f(x + ctx.c * signs) - ctx.f(x - ctx.c * signs)
        return grad_output * difference / (2 * ctx.c) * signs, None, None


def box(x):
    return torch.sin(x[0] * x[1]) + x[2] ** 2 * x[3]


x = torch.tensor([0.5, -1.0, 1.5, 2.0], dtype=torch.float64, requires_grad=True)
passes = gradcheck(lambda x: Perturbed.apply(x, box, 1e-3), x, raise_exception=False)
print("gradcheck:", passes)
outcome("estimate")

# %% [markdown]
# gradcheck cannot judge an estimator. (Nor does it prove a formula: a difference quotient in each direction, with a step of 1e-3, passes it.) An estimator makes another promise, about its **mean**, and that is what one tests:
#
# 1. draw many estimates, with fresh random numbers;
# 2. their mean should be the gradient, and the **standard error**, spread / √draws, says how near it must be;
# 3. 99 of 100 intervals of mean ± 2.6 standard errors hold the truth. Several elements outside, or one far outside: biased.


# %% nbgrader={"grade": false, "grade_id": "demo-verify", "locked": true, "schema_version": 3, "solution": false, "task": false}
def draws(f, n, c=1e-3):
    """n estimates of the gradient of f at x, (n, 4)."""
    value = Perturbed.apply(x, f, c)
    return torch.stack([torch.autograd.grad(value, x, retain_graph=True)[0] for _ in range(n)])


(truth,) = torch.autograd.grad(box(x), x)  # this box we can look into
for name, c in {"c = 0.001": 1e-3, "c = 1": 1.0}.items():
    estimates = draws(box, 3000, c)
    mean, error = estimates.mean(0), estimates.std(0) / len(estimates) ** 0.5
    print(f"{name:10} mean", [round(m, 3) for m in mean.tolist()])
    print(
        " " * 10,
        "off by",
        [f"{z:.1f}" for z in ((mean - truth) / error).tolist()],
        "standard errors",
    )
print("truth      ", [round(t, 3) for t in truth.tolist()])

# %% [markdown]
# With a large step the mean is somewhere else. That is **bias**, which no number of draws takes away.
#
# ### The score function
#
# Sometimes the randomness is in the model: $k$ is *drawn* with probability $p_\theta(k)$, and a cost $f(k)$ comes back. The draw has no derivative, its probability has:
#
# $$\nabla_\theta\, \mathbb E[f(k)] = \mathbb E\bigl[ f(k)\, \nabla_\theta \log p_\theta(k) \bigr] .$$
#
# This is REINFORCE. A **baseline** $m$ subtracted from $f$ changes no mean, since $\mathbb E[\nabla \log p] = 0$, but shrinks the spread. One must not put the draw's own cost into its baseline. Many programs do, by subtracting the mean of the batch. Can a test tell?

# %% nbgrader={"grade": false, "grade_id": "demo-score", "locked": true, "schema_version": 3, "solution": false, "task": false}
costs = torch.tensor([1.0, 3.0, 2.0, 7.0], dtype=torch.float64)
logits = torch.tensor([0.5, 0.0, -0.5, 0.2], dtype=torch.float64, requires_grad=True)
p = torch.softmax(logits, 0)
(truth,) = torch.autograd.grad((p * costs).sum(), logits)
k = torch.multinomial(p.detach(), 4 * 100_000, replacement=True).view(-1, 4)  # batches of 4
f = costs[k]
score = F.one_hot(k, 4) - p.detach()  # ∇ log p(k): of a softmax it is one-hot minus p
own_mean = f.mean(1, keepdim=True)
others = (f.sum(1, keepdim=True) - f) / 3
estimators = {"no baseline": f, "the others' mean": f - others, "the batch's mean": f - own_mean}
estimates = {name: (w.unsqueeze(2) * score).mean(1) for name, w in estimators.items()}
for name, each in estimates.items():
    error = each.std(0) / len(each) ** 0.5
    worst = ((each.mean(0) - truth) / error).abs().max()
    print(f"{name:17} spread {each.std(0).mean():.2f}   off by at most {worst:.1f} standard errors")

# %% nbgrader={"grade": false, "grade_id": "demo-intervals", "locked": true, "schema_version": 3, "solution": false, "task": false}
counts = [30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000]
intervals = {}
for name in ("the others' mean", "the batch's mean"):
    last = estimates[name][:, 3]
    means = [last[:n].mean().item() for n in counts]
    widths = [2.6 * last[:n].std().item() / n**0.5 for n in counts]
    intervals[name] = means, widths
figures.shrinking_intervals(counts, intervals, truth[3].item())

# %% [markdown]
# With batches of 4 the batch's mean makes every gradient smaller by a quarter: the factor is $1 - 1/n$. Nobody sees that in a training curve, and a learning rate hides it. The intervals show it after a hundred draws.
#
# ## Hooks: look, or change a gradient on its way
#
# A hook is a function that torch calls with a gradient when it passes. It returns another one, or nothing. For a change of the **gradient alone** it is often all you need: no Function, and it can be taken off again.

# %% nbgrader={"grade": false, "grade_id": "demo-hooks", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
h = x**2
seen = []
log = h.register_hook(lambda g: seen.append(g.norm().item()))  # returns None: nothing changes
clip = h.register_hook(lambda g: g.clamp(-1, 1))
gate = h.register_hook(lambda g: g * torch.tensor([1.0, 0.0, 1.0]))
(5 * h).sum().backward()
print("logged: ", seen, "  x.grad:", x.grad.tolist())
for handle in (log, clip, gate):
    handle.remove()
x.grad = None
(5 * x**2).sum().backward()
print("without hooks:", x.grad.tolist())
attempt(torch.ones(2).register_hook, print)

# %% [markdown]
# They ran in the order in which they were registered: 5 was logged, clipped to 1, then gated. A tensor that needs no gradient takes no hook. And a tensor that is used twice?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-hook-sum", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("hook-sum")


# %% nbgrader={"grade": false, "grade_id": "demo-hook-sum", "locked": true, "schema_version": 3, "solution": false, "task": false}
class ClipHere(Function):
    """Identity; the gradient of this one use is clipped to ±1."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1)


x = torch.tensor(1.0, requires_grad=True)
handle = x.register_hook(lambda g: g.clamp(-1, 1))
(0.8 * x + 0.8 * x).backward()
print("a hook on x:            ", x.grad.item())
handle.remove()
x.grad = None
(0.8 * ClipHere.apply(x) + 0.8 * ClipHere.apply(x)).backward()
print("a Function at each use: ", x.grad.item())
outcome("hook-sum")

# %% [markdown]
# **Modules** take hooks too: `register_full_backward_hook` sees the gradients for a module's inputs and outputs, in every step, until its handle is removed. Here all layers of a network report, without a line changed in it.

# %% nbgrader={"grade": false, "grade_id": "demo-module-hooks", "locked": true, "schema_version": 3, "solution": false, "task": false}
net = torch.nn.Sequential(
    *(torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Sigmoid()) for _ in range(5))
)
sizes = {}


def report(name):
    def hook(module, grad_input, grad_output):
        sizes[name] = grad_output[0].norm().item()

    return hook


handles = [block.register_full_backward_hook(report(name)) for name, block in net.named_children()]
net(torch.randn(16, 32, requires_grad=True)).pow(2).sum().backward()
for name, size in sizes.items():
    print(f"gradient at the output of block {name}: {size:.5f}")
for handle in handles:
    handle.remove()

# %% [markdown]
# The gradient shrinks from block to block on its way back (the last block reports first): five sigmoids in a row.
#
# | you want | take |
# |---|---|
# | to look, log, or stop at NaN | a hook, and its handle |
# | to clip or gate what arrives at a tensor, all uses together | a hook |
# | one use of a tensor treated, others not | a Function |
# | another *forward* as well, or something kept from it | a Function |
# | the change to belong to the model, wherever it is called | a Function in its `forward` |
#
# ## A kernel in C++
#
# Backward by hand is the same when forward is in another language. torch compiles a text of C++ for you and registers its functions as operators, if a compiler and `ninja` are there. The headers in `torch/csrc/stable` are small: this takes seconds, and the cell says so where it cannot be done. Nothing below depends on it.

# %% nbgrader={"grade": false, "grade_id": "kernel-source", "locked": true, "schema_version": 3, "solution": false, "task": false}
import shutil
import tempfile

KERNEL = r"""
#include <math.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
using torch::stable::Tensor;

Tensor bessel(Tensor x, int64_t order) {  // x: contiguous, float64, on the CPU
    Tensor y = torch::stable::empty_like(x);
    const double* from = x.const_data_ptr<double>();
    double* to = y.mutable_data_ptr<double>();
    for (int64_t i = 0; i < x.numel(); i++) to[i] = jn(order, from[i]);
    return y;
}

STABLE_TORCH_LIBRARY(backward_by_hand, m) { m.def("bessel(Tensor x, int order) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(backward_by_hand, CPU, m) { m.impl("bessel", TORCH_BOX(&bessel)); }
"""

# %% nbgrader={"grade": false, "grade_id": "kernel-build", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.utils import cpp_extension


def build():
    """Compile KERNEL and register its operator; what is missing is printed. True where it is there."""
    if hasattr(torch.ops.backward_by_hand, "bessel"):
        return True
    if not (shutil.which("c++") or shutil.which("cl")) or not cpp_extension.is_ninja_available():
        print("There is no C++ compiler here, or no ninja: this part is to be read only.")
        return False
    try:
        cpp_extension.load_inline(
            "backward_by_hand", KERNEL, no_implicit_headers=True, is_python_module=False,
            build_directory=tempfile.mkdtemp(),
        )  # fmt: skip
    except Exception as error:
        print("The compiler is there, but it failed:", str(error).strip().splitlines()[0])
    return hasattr(torch.ops.backward_by_hand, "bessel")


built = build()
print("torch.ops.backward_by_hand.bessel is", "there" if built else "not there")


# %% nbgrader={"grade": false, "grade_id": "kernel-function", "locked": true, "schema_version": 3, "solution": false, "task": false}
class BesselInC(Function):
    """J of an order, by the kernel; its slope is (J of the order below − J of the one above) / 2."""

    @staticmethod
    def forward(ctx, x, order):
        ctx.save_for_backward(x)
        ctx.order = order
        return torch.ops.backward_by_hand.bessel(x.contiguous(), order)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below, above = (BesselInC.apply(x, ctx.order + step) for step in (-1, 1))
        return grad_output * (below - above) / 2, None


# %% nbgrader={"grade": false, "grade_id": "kernel-check", "locked": true, "schema_version": 3, "solution": false, "task": false}
if built:
    x = torch.linspace(-20, 20, 9, dtype=torch.float64, requires_grad=True)
    y = BesselInC.apply(x, 0)
    print(
        "off from SciPy by",
        f"{(y.detach() - torch.as_tensor(scipy.special.j0(x.detach().numpy()))).abs().max():.0e}",
    )
    print(
        "gradcheck",
        gradcheck(BesselInC.apply, (x, 0)),
        "  gradgradcheck",
        gradgradcheck(BesselInC.apply, (x, 0)),
    )

# %% [markdown]
# The kernel knows nothing of strides, dtypes or devices: `contiguous()` is the caller's duty, and a float32 tensor is refused by an error. Lesson 12 makes an operator of such a kernel that `torch.compile` understands.
#
# ## Finale: a layer without depth
#
# A **deep-equilibrium** layer reads the digits of lesson 03. To make it need its depth, $z$ has three rooms of 16 numbers in a row. The pixels enter the first room, the scores are read in the last, and each room hears itself and its neighbours only: `weight` is 0 elsewhere. In one step nothing gets further than one room.
#
# In each training step the weight is scaled, so that it stays a contraction: its largest singular value is at most 0.9. The same network is trained twice: with your `FixedPoint`, and by autograd through the loop.


# %% nbgrader={"grade": false, "grade_id": "finale-layer", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Equilibrium(torch.nn.Module):
    """64 pixels → 10 scores by way of z = tanh(weight z + x); solve(z0, x, weight, steps) finds z (…, 48)."""

    def __init__(self, solve, steps=100):
        super().__init__()
        self.solve, self.steps = solve, steps
        self.inject, self.score = torch.nn.Linear(64, 16), torch.nn.Linear(16, 10)
        self.weight = torch.nn.Parameter(torch.randn(48, 48) / 5)
        room = torch.arange(48) // 16
        self.register_buffer("hears", (room.unsqueeze(0) - room.unsqueeze(1)).abs() <= 1)

    def forward(self, pixels):
        x = F.pad(self.inject(pixels), (0, 32))  # enters the first room
        weight = self.weight * self.hears
        weight = weight * (0.9 / torch.linalg.matrix_norm(weight, 2).clamp(min=0.9))
        z = self.solve(torch.zeros_like(x), x, weight, self.steps)
        return self.score(z[..., -16:])  # is read in the last


# %% nbgrader={"grade": false, "grade_id": "finale-data", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_digits

SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # 2 doubles the training
STEPS = 5 if os.environ.get("NBGRADER_EXECUTION") else round(200 * SCALE)  # few while grading

digits = load_digits()
order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
pixels = torch.tensor(digits.data / 16, dtype=torch.float64)[order]
labels = torch.tensor(digits.target)[order]
train_x, train_y, test_x, test_y = pixels[:1300], labels[:1300], pixels[1300:], labels[1300:]


# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
def train(solve):
    """Losses of STEPS steps on batches of 100, and the network, in float64; same start, same batches."""
    torch.manual_seed(0)
    model = Equilibrium(solve).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(STEPS):
        batch = torch.randint(len(train_x), (100,))
        loss = F.cross_entropy(model(train_x[batch]), train_y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64), model


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
(yours, model), (by_loop, _) = train(FixedPoint.apply), train(loop)
print(f"last loss, yours {yours[-1]:.6f}, through the loop {by_loop[-1]:.6f}")
print(f"at most {(yours - by_loop).abs().max():.0e} apart in {STEPS} steps")

with torch.no_grad():
    for steps in (2, 3, 4, 8, 100, 300):
        model.steps = steps
        right = (model(test_x).argmax(1) == test_y).double().mean()
        print(
            f"{steps:3} steps when it is used: {right:.1%} of {len(test_y)} new digits are read correctly"
        )

# %% [markdown]
# Two ways to the same gradient; they differ by what a hundred steps leave open. Two steps do not reach the last room, and the network guesses. With more steps than it was trained with nothing changes: the solution *is* the layer. Now the memory.


# %% nbgrader={"grade": false, "grade_id": "finale-memory", "locked": true, "schema_version": 3, "solution": false, "task": false}
def kept_bytes(solve, steps, n=48):
    """Bytes of distinct memory that autograd keeps for one call with 100 examples (as in lesson 06)."""
    storages = {}

    def pack(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    x = torch.randn(100, n, dtype=torch.float64, requires_grad=True)
    weight = contraction(n).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        z = solve(torch.zeros_like(x), x, weight, steps)
    assert z.requires_grad  # held until here, so that no memory is counted twice
    return sum(storages.values())


steps = [5, 10, 20, 40, 80]
solvers = {"autograd through the loop": loop, "your FixedPoint": FixedPoint.apply}
figures.kept_over_steps(
    steps, {name: [kept_bytes(solve, n) for n in steps] for name, solve in solvers.items()}
)

# %% [markdown]
# A line that rises, and one that does not. Lesson 06 paid for memory with √n checkpoints and a second forward; here the price is the adjoint iteration, and nothing grows.
#
# ### An honest word
#
# The gradient is that of the *solution*. If the steps are too few, or the weight is no contraction any more, forward and backward speak of different things, and nothing raises an error: watch the residual, `(z - torch.tanh(z @ weight.T + x)).abs().max()`. A model with ten layers is ten layers; an equilibrium is one layer, solved.

# %% [markdown]
# ## Find the bug
#
# Two answers to `LambertW`. Values and first derivatives of both are right everywhere. One of them fails whoever differentiates twice.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("outside_torch")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: at 0, in float32, twice …
a = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(A.apply(a).sum(), a, create_graph=True)
(slope + a**3).sum().backward()
slope, a.grad

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("outside_torch")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-outside_torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("outside_torch")

# %% nbgrader={"grade": false, "grade_id": "quiz-outside_torch-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("outside_torch")

# %% [markdown]
# ## Summary
#
# | the value is | backward | keep |
# |---|---|---|
# | computed by SciPy | a formula, by another Function where its slope comes from outside too | the input |
# | the solution of $F(y, a) = 0$ | $-(\partial F / \partial y)^{-1}\, \partial F / \partial a$, by $y$ | the output |
# | $A^{-1} b$ | $A^\top u = g$; $\;u$ and $-u x^\top$ | factors, $x$ |
# | a fixed point | $v = g + W^\top (D \odot v)$, iterated | $z$, $W$, however many steps |
# | a black box | an estimate, right on average | nothing, and a seed |
#
# * A derivative belongs to the function. How the value was found does not matter.
# * What is made outside of torch is a **constant** to a second derivative: another Function, the output itself, or a refusal.
# * gradcheck judges formulas. An **estimator** is judged by its mean and the standard error.
# * A hook changes a gradient where it passes; a Function changes a computation.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Andreas Griewank and Andrea Walther (2008): [*Evaluating derivatives*](https://doi.org/10.1137/1.9780898717761). Its chapter 15 is on implicit and iterative differentiation.
# - Mike Giles (2008): [*Collected matrix derivative results for forward and reverse mode algorithmic differentiation*](https://doi.org/10.1007/978-3-540-68942-3_4). The adjoints of inverse, solve and their relatives, derived in a few lines each.
# - Robert Corless and others (1996): [*On the Lambert W function*](https://doi.org/10.1007/BF02124750). Its branches, its derivative, and what it is good for.
# - Shaojie Bai, Zico Kolter and Vladlen Koltun (2019): [*Deep equilibrium models*](https://arxiv.org/abs/1909.01377). The layer of the finale, at the size of a language model.
# - James Spall (1992): [*Multivariate stochastic approximation using a simultaneous perturbation gradient approximation*](https://doi.org/10.1109/9.119632). Two calls, however many inputs.
# - Ronald Williams (1992): [*Simple statistical gradient-following algorithms for connectionist reinforcement learning*](https://doi.org/10.1007/BF00992696). The score function, called REINFORCE.
# - NIST (2024): [*Digital library of mathematical functions*](https://dlmf.nist.gov/10.6). Section 10.6 has the recurrences and derivatives of Bessel functions.
# - PyTorch (torch 2.13): [*Backward hooks execution*](https://docs.pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution). Which hook runs when.
# - PyTorch (torch 2.13): [*Custom C++ and CUDA operators*](https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html). From a text in a notebook to a package.

# %% [markdown]
# ## Where to go next
#
# Lesson 12 takes your Functions through `torch.func`, `torch.compile` and a GPU's own language. Or try: the largest eigenvalue of a symmetric matrix, whose gradient is $v v^\top$; the minimum of a function over $y$, with its equation $\partial f / \partial y = 0$; and `evaluate` beside each.
