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
# # In the real stack
#
# **Lesson 12 · about two and a half hours** · 45 minutes of reading and predicting, 110 minutes for four exercises · before this one: 01 to 03; for the last exercise 07
#
# So far your Functions met one caller: `.backward()`. In a project they meet `torch.func`, forward mode, `torch.compile`, export, mixed precision, several machines. Each asks for something else, and some of them drop your gradient without a word.
#
# Today you write a Function that answers all of `torch.func`, an **operator** that the whole stack takes for one of torch's own, and two **kernels** in Triton: a softmax, and FlashAttention's forward. At the end your kernel is the attention of a small transformer, eager and compiled.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels run here without a GPU; before triton
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from autograder import check, hint, progress
from widgets import attempt, outcome, predict, quiz, suspects, verdict, xray

try:
    import triton
    import triton.language as tl
except ImportError:  # not Linux, or not installed: kernels can be defined, and not launched
    from widgets import no_triton as triton

    tl = triton.language
KERNELS_RUN = triton.__name__ == "triton"
torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
_ = torch.manual_seed(12)

# %% [markdown]
# ## torch.func asks for more doors
#
# `torch.func.grad(f)` is a function that gives the gradient of `f`, and such functions can be put into one another: `vmap(grad(f))` is a gradient for each example, `hessian(f)` is `jacfwd(jacrev(f))`. What does it say to a Function as you wrote it in lesson 02?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-old-form", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("old-form")


# %% nbgrader={"grade": false, "grade_id": "demo-old-form", "locked": true, "schema_version": 3, "solution": false, "task": false}
class OldSwish(Function):
    """x · σ(x), in the form of lesson 01: forward has ctx."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


x = torch.tensor([0.5, -1.0])
attempt(torch.func.grad(lambda x: OldSwish.apply(x).sum()), x)

outcome("old-form")

# %% [markdown]
# The newer form has up to five methods, and each is a door:
#
# | method | gets | who comes through it |
# |---|---|---|
# | `forward(x, …)` | the inputs, **no ctx** | everybody |
# | `setup_context(ctx, inputs, output)` | all of them; saves | everybody |
# | `backward(ctx, grad_output)` | gradients of outputs | `.backward()`, `grad`, `jacrev`, `vjp` |
# | `jvp(ctx, *tangents)` | **tangents of inputs**, one for each | forward mode, `jvp`, `jacfwd` |
# | `vmap(info, in_dims, …)`, or `generate_vmap_rule = True` | a whole batch | `vmap`, and with it both Jacobians |
#
# A *tangent* is a direction in which an input moves; `jvp` says how the output moves then. For $y = f(x, \beta)$ with tangents $\dot x$ and $\dot\beta$,
#
# $$\dot y = \frac{\partial f}{\partial x}\,\dot x + \frac{\partial f}{\partial \beta}\,\dot\beta .$$
#
# Backward multiplies by the transposed Jacobian, jvp by the Jacobian itself: no sums over broadcast dimensions, and **one tangent for each output**, not for each input. What jvp needs is saved by `ctx.save_for_forward`; it reads it from `ctx.saved_tensors`. An input that does not move has the tangent 0.
#
# ## Exercise 1: DualSwish
#
# Lesson 02's Swish, $y = x\,\sigma(\beta x)$, with every door open.
#
# **Contract.** `DualSwish.apply(x, beta)` promises
#
# * **values** of x · σ(beta · x); beta is a tensor that broadcasts to the shape of x
# * **gradients** for both in plain backward; the same slopes in forward mode (`jvp`), and under `torch.func.grad`, `jacrev`, `jacfwd`, `hessian` and `vmap(grad)`. (Not asked: a `jacfwd` of a `jacfwd`, which torch gets wrong for every Function)
# * **second derivatives** right
# * **special points**: beta = 0, x = 0, ±1000 in float32
# * **memory**: x and beta
# * **shapes, strides, dtypes** as for every Function; under `vmap` each example gives what it gives alone, wherever the batch dimension stands
# * **nothing else is touched** · **your own work**: as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device)


# %% nbgrader={"grade": false, "grade_id": "dual-swish", "locked": false, "schema_version": 3, "solution": true, "task": false}
class DualSwish(Function):
    """x · σ(beta · x); beta broadcasts to the shape of x. For backward, forward mode and torch.func."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, beta):
        ### BEGIN SOLUTION
        return x * torch.sigmoid(beta * x)
        ### END SOLUTION

    @staticmethod
    def setup_context(ctx, inputs, output):
        ### BEGIN SOLUTION
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
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

    @staticmethod
    def jvp(ctx, x_tangent, beta_tangent):
        ### BEGIN SOLUTION
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        return x_tangent * (s + beta * x * s * (1 - s)) + beta_tangent * x * x * s * (1 - s)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "dual-swish-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(DualSwish)

# %% nbgrader={"grade": true, "grade_id": "dual-swish-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of DualSwish are checked here with other numbers.
# You can run it now: check(DualSwish, hidden=True)
### BEGIN HIDDEN TESTS
check(DualSwish, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: DualSwish
#
# **Derivation.** With $s = \sigma(\beta x)$ and $s' = s(1-s)$: $\partial y/\partial x = s + \beta x s'$ and $\partial y/\partial\beta = x^2 s'$. Backward multiplies each by `grad_output` and sums what belongs to one element of beta; jvp multiplies each by its tangent and adds the two. Broadcasting does the rest: `beta_tangent * x * x` spreads the tangent just as forward spread beta.
#
# **What is saved, and why.** x and beta, for both directions. Not s: it would be a constant to a second derivative, and `hessian` takes one.
#
# **Common mistakes.** `ctx.save_for_forward` left out, so that jvp finds nothing. A tangent for each input, as backward has gradients. `sum_to_size` in jvp. In a vmap of one's own: taking the batch to be in front.
#
# **Another way.** `vmap(info, in_dims, x, beta)` by hand: move each batch dimension to the front, give what has none a dimension of size 1, line up the others, call `DualSwish.apply`, and return `(y, 0)`. It pays where forward is opaque to torch; here `generate_vmap_rule = True` is enough.

# %% [markdown]
# ### See it run
#
# One run of your class, with the context between forward and backward.

# %% nbgrader={"grade": false, "grade_id": "see-dual-swish", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(DualSwish)

# %% [markdown]
# ### What the doors are good for
#
# A gradient for each example, a Hessian, and Jacobians by rows or by columns. `jacrev` makes a backward for each output, `jacfwd` a jvp for each input: take the one of which there are fewer.

# %% nbgrader={"grade": false, "grade_id": "demo-doors", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.func import grad, hessian, jacfwd, jacrev, vmap


def energy(x, beta):
    return DualSwish.apply(x, beta).square().sum()


batch, beta = torch.randn(5, 3, dtype=torch.float64), torch.tensor(1.5, dtype=torch.float64)
each = vmap(grad(energy, argnums=1), in_dims=(0, None))(batch, beta)
print("the gradient for beta of each of five examples:", [f"{g:.3f}" for g in each])
print(
    "their sum and the gradient of the whole batch: ",
    f"{each.sum():.6f}, {grad(energy, 1)(batch, beta):.6f}",
)
by_rows, by_columns = (jac(DualSwish.apply)(batch[0], beta) for jac in (jacrev, jacfwd))
print("jacrev and jacfwd apart by", f"{(by_rows - by_columns).abs().max():.0e}")
print(
    "Hessian for x of one example, diagonal:",
    [f"{h:.3f}" for h in hessian(energy)(batch[0], beta).diagonal()],
)

# %% [markdown]
# ## Operators: tell torch what it cannot see
#
# A Function says how a gradient passes. To `torch.compile` and `torch.export` its forward is Python to look *through*. Where there is nothing to look through (NumPy, a C library, a kernel), you want the opposite: one opaque box with a name, like `aten::add`. That is an **operator**:
#
# | you register | it answers |
# |---|---|
# | the body, by `@torch.library.custom_op("lesson12::sinc", mutates_args=())` | what comes out? It may leave torch, and runs below autograd |
# | `register_fake` | which shape, strides and dtype come out, without numbers? |
# | `register_autograd(backward, setup_context=…)` | how does a gradient pass? |
# | `register_vmap` | how does one call do a whole batch? |
#
# Its schema is read off the type hints, so they are needed here. It may not give back its input, nor a view of it. Its backward gives one gradient for each argument: an extra `None`, which a Function is forgiven, is an error since torch 2.14. A cell that defines it may run again: the same name replaces the older operator, in everything that still calls it by that name.
#
# Backward you will register. What does *forward mode* give for an operator?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-forward-mode", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("forward-mode")

# %% nbgrader={"grade": false, "grade_id": "demo-forward-mode", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch.autograd.forward_ad as forward_ad


@torch.library.custom_op("lesson12::double", mutates_args=())
def double(x: Tensor) -> Tensor:
    return 2 * x


double.register_fake(torch.empty_like)
double.register_autograd(lambda ctx, grad_output: 2 * grad_output)

x = torch.tensor([1.0, 2.0])
with forward_ad.dual_level():
    y = double(forward_ad.make_dual(x, torch.ones(2)))
    print("tangent of the output:", forward_ad.unpack_dual(y).tangent)
attempt(torch.func.grad(lambda x: double(x).sum()), x)

outcome("forward-mode")

# %% [markdown]
# So the two tools divide the work (on torch 2.13 to 2.15). **A Function** for derivatives of what torch can see: all of `torch.func`, forward mode. **An operator** for what it cannot see: compile, export, checkpointing policies.
#
# ## Exercise 2: sinc_op
#
# $\operatorname{sinc}(x) = \sin(\pi x) / (\pi x)$, and 1 at $x = 0$, computed by `np.sinc`. Its slope is
#
# $$\operatorname{sinc}'(x) = \frac{\cos(\pi x) - \operatorname{sinc}(x)}{x}, \qquad \operatorname{sinc}'(0) = 0 .$$
#
# Two traps. At 0 the quotient is 0/0; and `torch.where(x == 0, 0, quotient)` hides it, but its *own* derivative is still NaN: replace x before you divide. And NumPy keeps the memory order of what it is given: the output of a transposed x has the strides of a transposed tensor, and a fake that promises something else is a lie.
#
# In reports, *forward* is the body of your operator, and *backward* what you gave to `register_autograd`.
#
# **Contract.** `sinc_op(x)` promises
#
# * **values** of `torch.sinc`, by NumPy
# * **gradients** by a registered formula
# * **second derivatives** right, wherever x is not 0
# * **special points**: x = 0, with the gradient 0; whole numbers
# * **memory**: x, and the output if you like
# * **shapes, strides, dtypes**: float64 and float32, any strides; the fake tells the truth for all of them, `torch.library.opcheck` finds nothing, `vmap` is one call for the whole batch, and compiled in one graph (`fullgraph=True`, aot_eager) it gives the same
# * **nothing else is touched**: the body must not write to x
# * **your own work**: not `torch.sinc`


# %% nbgrader={"grade": false, "grade_id": "sinc-op", "locked": false, "schema_version": 3, "solution": true, "task": false}
@torch.library.custom_op("lesson12::sinc", mutates_args=())
def sinc_op(x: Tensor) -> Tensor:
    """sin(πx) / (πx), 1 at 0, by NumPy."""
    ### BEGIN SOLUTION
    values = np.sinc(x.numpy(force=True))
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(torch.as_tensor(values))
    ### END SOLUTION


@sinc_op.register_fake
def sinc_fake(x):
    ### BEGIN SOLUTION
    return x.new_empty(x.shape)
    ### END SOLUTION


def sinc_setup(ctx, inputs, output):
    ### BEGIN SOLUTION
    (x,) = inputs
    ctx.save_for_backward(x)
    ### END SOLUTION


def sinc_backward(ctx, grad_output):
    ### BEGIN SOLUTION
    (x,) = ctx.saved_tensors
    safe = torch.where(x == 0, 1.0, x)
    slope = ((torch.pi * x).cos() - sinc_op(x)) / safe
    return grad_output * torch.where(x == 0, 0.0, slope)
    ### END SOLUTION


sinc_op.register_autograd(sinc_backward, setup_context=sinc_setup)


@sinc_op.register_vmap
def sinc_vmap(info, in_dims, x):
    ### BEGIN SOLUTION
    return sinc_op(x), in_dims[0]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "sinc-op-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(sinc_op)

# %% nbgrader={"grade": true, "grade_id": "sinc-op-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of sinc_op are checked here with other numbers.
# You can run it now: check(sinc_op, hidden=True)
### BEGIN HIDDEN TESTS
check(sinc_op, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: sinc_op
#
# **Derivation.** The quotient rule on $\sin(\pi x)/(\pi x)$ gives $\cos(\pi x)/x - \sin(\pi x)/(\pi x^2)$, which is $(\cos \pi x - \operatorname{sinc} x)/x$. sinc is even, so its slope at 0 is 0.
#
# **What is saved, and why.** x. Backward calls `sinc_op` again: so the second derivative passes through the registered formula. Saving the output is as good, since an output keeps its graph; saving $\cos \pi x$ from the body would make a constant of it.
#
# **Common mistakes.** `torch.where` after the division alone: the second derivative is NaN at 0. `torch.from_numpy(np.sinc(…))` as it is, with NumPy's strides, beside a contiguous fake, or `torch.empty_like` beside a contiguous body. A fake that calls `.numpy()`. No `register_vmap`: torch then calls the body once an example, with a warning.
#
# **Another way.** Let the body keep x's strides and the fake too: `torch.empty_like(x).copy_(…)` and `torch.empty_like(x)`. Both are honest.

# %% [markdown]
# ### What opcheck sees, and what it does not
#
# `torch.library.opcheck` runs your operator on fake tensors, through autograd's registration and through what `torch.compile` does. Here is an operator whose gradient is wrong by a factor of 3. What does it find?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-opcheck", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("opcheck")


# %% nbgrader={"grade": false, "grade_id": "demo-opcheck", "locked": true, "schema_version": 3, "solution": false, "task": false}
@torch.library.custom_op("lesson12::treble", mutates_args=())
def treble(x: Tensor) -> Tensor:
    return 3 * x


treble.register_fake(torch.empty_like)
treble.register_autograd(lambda ctx, grad_output: grad_output)  # should be 3 · grad_output

x = torch.randn(4, dtype=torch.float64, requires_grad=True)
print(torch.library.opcheck(treble, (x,)))
print("gradcheck:", torch.autograd.gradcheck(treble, x, raise_exception=False))

outcome("opcheck")

# %% [markdown]
# opcheck is about the *registration*. It does not look at whether a gradient is right, and it does not try other strides than those you hand it. gradcheck is about numbers, and knows nothing of fakes. You need both, on several layouts.
#
# ## What the stack keeps, and what it loses
#
# The same rounding twice: as a Function with a straight-through gradient (lesson 04), and as an operator with the same gradient. Both go through compile, export, and compile *around* `torch.func.grad`. The true derivative is 0; the gradient you wrote is 1.


# %% nbgrader={"grade": false, "grade_id": "demo-two-roundings", "locked": true, "schema_version": 3, "solution": false, "task": false}
class RoundFunction(Function):
    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


# %% nbgrader={"grade": false, "grade_id": "demo-rounding-operator", "locked": true, "schema_version": 3, "solution": false, "task": false}
@torch.library.custom_op("lesson12::round", mutates_args=())
def round_op(x: Tensor) -> Tensor:
    return x.round()


round_op.register_fake(torch.empty_like)
round_op.register_autograd(lambda ctx, grad_output: grad_output)


class Rounding(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


x = torch.tensor([0.3, 1.7], requires_grad=True)


def gradient(f):
    return torch.autograd.grad(f(x).sum(), x)[0].tolist()


def compiled(f):
    return torch.compile(f, backend="aot_eager", fullgraph=True)


# %% nbgrader={"grade": false, "grade_id": "quiz-predict-keeps", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("keeps")

# %% nbgrader={"grade": false, "grade_id": "demo-keeps", "locked": true, "schema_version": 3, "solution": false, "task": false}
for name, f in {"Function": RoundFunction.apply, "operator": round_op}.items():
    program = torch.export.export(Rounding(f), (x.detach(),))
    print(f"{name}: eager {gradient(f)}, compiled {gradient(compiled(lambda x, f=f: f(x)))}")
    print(
        "  exported",
        gradient(program.module()),
        "with the nodes",
        [str(n.target) for n in program.graph.nodes if n.op == "call_function"],
    )

of_sum = torch.func.grad(lambda x: RoundFunction.apply(x).sum())
print("torch.func.grad of the Function:", of_sum(x.detach()).tolist())
print(
    "the same, compiled:             ",
    torch.compile(of_sum, backend="aot_eager")(x.detach()).tolist(),
)

outcome("keeps")

# %% [markdown]
# Three things to remember. **compile keeps** the backward of a Function. **export looks through it**: `aten.round` is left, with its gradient 0, and nobody says so; an operator stays one node, and its gradient stays with it. And compile around `torch.func.grad` ignores a custom backward on torch 2.13 and 2.14, silently ([reported](https://github.com/pytorch/pytorch/issues/193279); torch 2.15 is right).
#
# That is why torch's documentation now says: for an opaque kernel prefer `register_autograd` to a Function around it. Two systems that both want to see through the same Python can disagree in silence; a box with a name gives them nothing to disagree about.
#
# ### ONNX, and a jvp
#
# ONNX takes the exported program: what export dropped is not there either, and it is for inference anyway. An operator needs a translation of its own there (`custom_translation_table`).

# %% nbgrader={"grade": false, "grade_id": "demo-onnx", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import onnxscript
except ImportError:
    print("ONNX: not tried on this machine, since onnxscript is not installed")
else:
    program = torch.onnx.export(Rounding(RoundFunction.apply), (x.detach(),), verbose=False)
    print("ONNX has the nodes", [node.op_type for node in program.model.graph])

b = torch.tensor(1.5)
attempt(compiled(lambda x: DualSwish.apply(x, b)), x)
whole = torch.compile(lambda x: DualSwish.apply(x, b), backend="aot_eager")
print(
    "without fullgraph torch breaks the graph there, and the gradient is right:",
    gradient(whole) == gradient(lambda x: DualSwish.apply(x, b)),
)

# %% [markdown]
# A Function with a `jvp` does not compile in one graph (torch 2.13 to 2.15). A compiled second derivative does not exist either: torch says so with an error.
#
# ### Mixed precision
#
# Under `torch.autocast` a product gives bfloat16, and backward runs outside of it. A Function that saved float32 and gets bfloat16, or the other way round, stops with an error about dtypes. `torch.amp.custom_fwd(device_type=…, cast_inputs=torch.float32)` casts what forward gets, and switches autocast off inside; `custom_bwd` does the same for backward.


# %% nbgrader={"grade": false, "grade_id": "demo-amp", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output @ b.mT, a.mT @ grad_output


class CastProduct(Product):
    forward = staticmethod(
        torch.amp.custom_fwd(Product.forward, device_type="cpu", cast_inputs=torch.float32)
    )
    backward = staticmethod(torch.amp.custom_bwd(Product.backward, device_type="cpu"))


# %% nbgrader={"grade": false, "grade_id": "demo-amp-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
def trained(function):
    weight = torch.randn(3, 2, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = torch.randn(4, 3, requires_grad=True) @ torch.eye(3)  # bfloat16
        y = function.apply(hidden, weight)
    y.sum().backward()
    print(
        f"{function.__name__}: hidden {hidden.dtype}, output {y.dtype}, gradient {weight.grad.dtype}"
    )


attempt(trained, Product)
trained(CastProduct)

# %% [markdown]
# `custom_fwd` belongs to the older form, with ctx in forward. In a class with `setup_context` it breaks backward ([reported](https://github.com/pytorch/pytorch/issues/132388)); cast by hand there. An operator has `register_autocast("cpu", torch.float32)`.
#
# ### Sharded training
#
# Under FSDP a parameter is whole only while its layer runs; between forward and backward its memory is given back. What does that mean for a Function that saved it? Here is one process that plays all of them.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-sharded", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("sharded")

# %% nbgrader={"grade": false, "grade_id": "demo-sharded", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


class Linear(torch.nn.Module):
    """x @ weight by a Function that saves the weight itself, or a copy of it."""

    def __init__(self, copy):
        super().__init__()
        self.weight, self.copy = torch.nn.Parameter(torch.randn(64, 64)), copy

    def forward(self, x):
        return Product.apply(x, self.weight.clone() if self.copy else self.weight)


def node_of(tensor):
    node = tensor.grad_fn
    while node.name() != "ProductBackward":
        node = node.next_functions[0][0]
    return node


# %% nbgrader={"grade": false, "grade_id": "demo-sharded-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
for copy in (False, True):
    layer = fully_shard(
        Linear(copy), reshard_after_forward=True, mesh=dist.init_device_mesh("cpu", (1,))
    )
    y = layer(torch.randn(2, 64, requires_grad=True))
    held = node_of(y).saved_tensors[1].untyped_storage().nbytes()
    print(
        f"saved {'a copy of the weight' if copy else 'the weight itself':21}: {held} bytes held between forward and backward"
    )
    y.sum().backward()
dist.destroy_process_group()

outcome("sharded")

# %% [markdown]
# The weight's own memory is freed and comes back, whole, before backward reads it. A copy (a transpose made contiguous, a cast, a product with a scale) is yours, stays whole on every device, and undoes what sharding saves. So under FSDP: **save parameters themselves, and compute from them again**.
#
# Tensors spread over devices (`DTensor`) pass through a Function, whose operations each know what to do. An operator is opaque: it stops with "does not have a sharding strategy registered", until you register one.
#
# Checkpointing has the same divide. A policy (lesson 06) names operators that are kept and not run again: yours can be named, `torch.ops.lesson12.sinc.default`; a Function cannot.

# %% nbgrader={"grade": false, "grade_id": "demo-policy", "locked": true, "schema_version": 3, "solution": false, "task": false}
from functools import partial

from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def policy(kept, context, operator, *arguments, **options):
    return CheckpointPolicy.MUST_SAVE if operator in kept else CheckpointPolicy.PREFER_RECOMPUTE


count = 0


@torch.library.custom_op("lesson12::costly", mutates_args=())
def costly(x: Tensor) -> Tensor:
    global count
    count += 1
    return x.sin()


costly.register_fake(torch.empty_like)
costly.register_autograd(
    lambda ctx, g: g * ctx.saved_tensors[0].cos(),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)

# %% nbgrader={"grade": false, "grade_id": "demo-policy-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
for kept in ([], [torch.ops.lesson12.costly.default]):
    count = 0
    contexts = partial(create_selective_checkpoint_contexts, partial(policy, kept))
    y = checkpoint(lambda x: costly(2 * x).exp(), x, use_reentrant=False, context_fn=contexts)
    y.sum().backward()
    print("the body runs", count, "×", f"where {len(kept)} operators are kept by name")

# %% [markdown]
# ### The page to keep
#
# | | Function | operator |
# |---|---|---|
# | `.backward()`, twice | yes | yes |
# | `torch.func`, forward mode | with `setup_context`, `vmap`, `jvp` | refused; forward mode gives **no tangent, silently** |
# | `vmap` alone | `vmap` or `generate_vmap_rule` | `register_vmap`; without it one call an example |
# | `torch.compile` | kept; not with a `jvp` in one graph | kept, one node |
# | compile around `torch.func.grad` | **ignored, silently** (2.13, 2.14) | refused |
# | `torch.export`, ONNX | forward's operations; **backward lost, silently** | one node; gradient kept by export |
# | mixed precision | `custom_fwd`, `custom_bwd` | `register_autocast` |
# | sharded | works; save parameters themselves | a sharding rule is needed |
# | checkpoint policies | cannot be named | by name |
#
# ## A kernel of your own
#
# An operator's body may be a kernel. **Triton** is Python for a GPU: you write what *one program* does with *one block* of numbers, and launch many programs. Without a GPU its interpreter runs the same code, program by program, in NumPy: slow, and good for learning. (This lesson sets `TRITON_INTERPRET=1`. On a machine with a GPU, start Jupyter with `TRITON_INTERPRET=0` to compile your kernels, and hand them tensors on the GPU; `check` asks on the CPU and needs the interpreter.)

# %% nbgrader={"grade": false, "grade_id": "triton-here", "locked": true, "schema_version": 3, "solution": false, "task": false}
if KERNELS_RUN:
    how = "in the interpreter" if os.environ["TRITON_INTERPRET"] == "1" else "compiled"
    print(f"triton {triton.__version__}: kernels run {how}")
else:
    print("triton is not here (it is for Linux: pip install 'backward-by-hand[triton]').")
    print("Exercises 3 and 4, and what uses them, will say so. Everything above works.")

# %% [markdown]
# A kernel gets **pointers** and knows nothing of shapes and strides. `tl.arange(0, BLOCK)` are the places of a block; its size is a power of 2 known in advance (`tl.constexpr`), so the last block goes beyond the end. A `mask` says which places are real. Here is a sigmoid:


# %% nbgrader={"grade": false, "grade_id": "demo-sigmoid-kernel", "locked": true, "schema_version": 3, "solution": false, "task": false}
@triton.jit
def sigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # which numbers are mine?
    inside = place < n
    x = tl.load(x_ptr + place, mask=inside, other=0.0)
    tl.store(y_ptr + place, 1 / (1 + tl.exp(-x)), mask=inside)


@torch.library.custom_op("lesson12::sigmoid", mutates_args=())
def sigmoid_op(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    sigmoid_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


sigmoid_op.register_fake(torch.empty_like)
if KERNELS_RUN:
    x = torch.randn(1000)
    print("a vector of 1000: off by", f"{(sigmoid_op(x) - torch.sigmoid(x)).abs().max():.0e}")
    print(set(torch.library.opcheck(sigmoid_op, (x,)).values()))

# %% [markdown]
# 1000 is no multiple of 128, and the mask takes care of it. opcheck is content. And for every second column of a matrix?

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-strides", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("strides")

# %% nbgrader={"grade": false, "grade_id": "demo-strides", "locked": true, "schema_version": 3, "solution": false, "task": false}
if KERNELS_RUN:
    x = torch.randn(3, 8)[:, ::2]
    print("x has the strides", x.stride(), "and is contiguous:", x.is_contiguous())
    print("largest error:", f"{(sigmoid_op(x) - torch.sigmoid(x)).abs().max():.2f}")

outcome("strides")

# %% [markdown]
# `x_ptr + place` is the `place`-th number *in memory*, and the columns in between are in memory too. Either hand the strides to the kernel (`x.stride(0)`, in elements), or work on `x.contiguous()`. The other classic is the value behind the end: what `other` gives is what your maximum and your sum will see. And a store without a mask writes into memory that is not yours: in the interpreter that can end the whole kernel of this notebook.
#
# ## Exercise 3: triton_softmax
#
# A softmax over the last dimension, a program for each row. Maximum, sum and quotient of a row are three steps in lesson 07, and three passes over memory; here the row is loaded once.
#
# **Contract.** `triton_softmax(x)` promises
#
# * **values** of `torch.softmax(x, -1)`, for rows of any length; a row of nothing but −inf gives 0 (torch gives NaN)
# * **gradients** by a registered formula
# * **second derivatives** right, or refused with a RuntimeError
# * **special points**: rows with −inf, rows of one element, ±1000 in float32
# * **memory**: the output
# * **shapes, strides, dtypes**: float64 and float32, one or more dimensions, any strides, empty tensors; the fake tells the truth, and opcheck finds nothing
# * **nothing else is touched**: no kernel writes to x
# * **your own work**: a kernel of Triton's does it


# %% nbgrader={"grade": false, "grade_id": "triton-softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def softmax_kernel(x_ptr, y_ptr, row_step, column_step, n, BLOCK: tl.constexpr):
    """One row of n elements. x lies row_step and column_step apart, y is contiguous."""
    ### BEGIN SOLUTION
    row, columns = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = columns < n
    x = tl.load(x_ptr + row * row_step + columns * column_step, mask=inside, other=-float("inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(e, axis=0)
    tl.store(y_ptr + row * n + columns, e / tl.where(total == 0.0, 1.0, total), mask=inside)
    ### END SOLUTION


@torch.library.custom_op("lesson12::softmax", mutates_args=())
def triton_softmax(x: Tensor) -> Tensor:
    """softmax over the last dimension; a row of nothing but −inf gives 0."""
    ### BEGIN SOLUTION
    n = x.shape[-1]
    rows = x.reshape(math.prod(x.shape[:-1]), n)
    y = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
    if y.numel():
        size = triton.next_power_of_2(n)
        softmax_kernel[(len(rows),)](rows, y, *rows.stride(), n, BLOCK=size)
    return y.reshape(x.shape)
    ### END SOLUTION


@triton_softmax.register_fake
def softmax_fake(x):
    ### BEGIN SOLUTION
    return x.new_empty(x.shape)
    ### END SOLUTION


def softmax_setup(ctx, inputs, output):
    ### BEGIN SOLUTION
    ctx.save_for_backward(output)
    ### END SOLUTION


def softmax_backward(ctx, grad_output):
    ### BEGIN SOLUTION
    (y,) = ctx.saved_tensors
    return y * (grad_output - (grad_output * y).sum(-1, keepdim=True))
    ### END SOLUTION


triton_softmax.register_autograd(softmax_backward, setup_context=softmax_setup)

# %% nbgrader={"grade": true, "grade_id": "triton-softmax-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(triton_softmax)

# %% nbgrader={"grade": true, "grade_id": "triton-softmax-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of triton_softmax are checked here with other numbers.
# You can run it now: check(triton_softmax, hidden=True)
### BEGIN HIDDEN TESTS
check(triton_softmax, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: triton_softmax
#
# **Derivation.** Lesson 07's: $\partial y_i/\partial x_j = y_i(\delta_{ij} - y_j)$, so backward is $y\,(g - \sum g y)$, row by row.
#
# **What is saved, and why.** The output alone. It is an output of the operator, so the second derivative passes through it and is right.
#
# **Common mistakes.** `other=0.0`: the places behind the end then count as numbers 0, and each adds $e^{-\max}$ to the sum. A last stride taken for 1. `x.reshape(-1, n)` where n is 0. A row of −inf, whose maximum is −inf: −inf − (−inf) is NaN.
#
# **Another way.** A block of fixed size and a loop over the row: two passes with a running maximum and sum. That is the only way where a row does not fit into fast memory, and it is the next exercise.

# %% [markdown]
# ## Exercise 4: triton_attention
#
# Lesson 07's FlashAttention, its forward as **one kernel**. A program takes one block of queries of one head and walks over blocks of keys. It carries a row's largest score so far ($m$), the sum of exponentials ($s$) and the output ($o$), both in units of $e^m$. With a new block of scores:
#
# $$m' = \max(m, \max_j S_j), \qquad r = e^{m - m'}, \qquad s' = s\,r + \sum_j e^{S_j - m'}, \qquad o' = o\,r + \sum_j e^{S_j - m'} v_j .$$
#
# At the end $o / s$ is the output and $m + \log s$ the logsumexp, which backward needs. Nothing of size L × S ever exists.
#
# Your operator gives both, `(out, lse)`; `triton_attention` hands on the first. Backward may be plain torch, block by block as in lesson 07, or with whole matrices: nobody measures it here. `tl.dot` wants blocks of at least 16 × 16, so E and Ev are padded as well. **Keep q's dtype** (`q.dtype`) in sums and products: an accumulator in float32 is what one uses for half precision on a GPU, and it halves the digits of float64, on which you are checked. `tl.dot(…, out_dtype=q.dtype, input_precision="ieee")` does the same for products.
#
# A helper for tiles of a contiguous matrix is given; you may use it.


# %% nbgrader={"grade": false, "grade_id": "load-tile", "locked": true, "schema_version": 3, "solution": false, "task": false}
@triton.jit
def load_tile(pointer, rows, columns, height, width):
    """The tile at these rows and columns of a contiguous matrix (height, width); 0 beyond its end."""
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(pointer + rows[:, None] * width + columns[None, :], mask=inside, other=0.0)


# %% [markdown]
# **Contract.** `triton_attention(q, k, v, causal)` with q (…, L, E), k (…, S, E) and v (…, S, Ev) promises
#
# * **values** of `F.scaled_dot_product_attention(q, k, v, is_causal=causal)`: the mask is aligned with the first key, whatever L and S are; without keys the output is 0
# * **gradients** for q, k and v; `None` where none is needed
# * **second derivatives** right, or refused with a RuntimeError
# * **special points**: scores up to 500 in size, in float32
# * **memory**: q, k, v, the output and one logsumexp a row
# * **shapes, strides, dtypes**: float64 and float32, any batch dimensions, any sizes (E and Ev from 1 on) and strides, empty tensors; the fakes tell the truth, and opcheck finds nothing
# * **nothing else is touched**: no kernel writes to q, k or v
# * **your own work**: one launch in forward, and no block of keys longer than 256


# %% nbgrader={"grade": false, "grade_id": "triton-attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, L, S, E, EV, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_EV: tl.constexpr,
):  # fmt: skip
    """BLOCK queries of one head against all keys; every matrix is contiguous."""
    ### BEGIN SOLUTION
    head = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e, ev = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_EV)
    q = load_tile(q_ptr + head * L * E, rows, e, L, E)
    top = tl.full([BLOCK], -float("inf"), q.dtype)
    total = tl.zeros([BLOCK], q.dtype)
    out = tl.zeros([BLOCK, BLOCK_EV], q.dtype)
    for start in range(0, S, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr + head * S * E, columns, e, S, E)
        v = load_tile(v_ptr + head * S * EV, columns, ev, S, EV)
        scores = tl.dot(q, tl.trans(k), out_dtype=q.dtype, input_precision="ieee") * scale
        seen = columns[None, :] < S
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        shrink, weights = tl.exp(top - new), tl.exp(scores - new[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        out = out * shrink[:, None] + tl.dot(weights, v, out_dtype=q.dtype, input_precision="ieee")
        top = new
    total = tl.where(total == 0.0, 1.0, total)
    places = out_ptr + head * L * EV + rows[:, None] * EV + ev[None, :]
    tl.store(places, out / total[:, None], mask=(rows[:, None] < L) & (ev[None, :] < EV))
    tl.store(lse_ptr + head * L + rows, top + tl.log(total), mask=rows < L)
    ### END SOLUTION


@torch.library.custom_op("lesson12::attention", mutates_args=())
def attention_op(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """(output (…, L, Ev), logsumexp (…, L))."""
    ### BEGIN SOLUTION
    (L, E), (S, EV) = q.shape[-2:], v.shape[-2:]
    out = torch.empty((*q.shape[:-1], EV), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=q.dtype, device=q.device)
    if lse.numel():
        grid = lse.numel() // L, triton.cdiv(L, 32)
        wide = {f"BLOCK_{n}": max(16, triton.next_power_of_2(w)) for n, w in (("E", E), ("EV", EV))}
        matrices = q.contiguous(), k.contiguous(), v.contiguous(), out, lse
        attention_kernel[grid](*matrices, L, S, E, EV, E**-0.5, CAUSAL=causal, BLOCK=32, **wide)
    return out, lse
    ### END SOLUTION


@attention_op.register_fake
def attention_fake(q, k, v, causal):
    ### BEGIN SOLUTION
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1])
    ### END SOLUTION


def attention_setup(ctx, inputs, output):
    ### BEGIN SOLUTION
    q, k, v, ctx.causal = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output)
    ### END SOLUTION


def attention_backward(ctx, grad_out, grad_lse):
    ### BEGIN SOLUTION
    if torch.is_grad_enabled():
        raise RuntimeError("triton_attention has first derivatives only.")
    q, k, v, out, lse = ctx.saved_tensors
    scale, delta = q.shape[-1] ** -0.5, (grad_out * out).sum(-1, keepdim=True)
    wanted = zip((q, k, v), ctx.needs_input_grad)
    grad_q, grad_k, grad_v = (torch.zeros_like(t) if need else None for t, need in wanted)
    row = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], 64):
        columns = slice(start, min(start + 64, k.shape[-2]))
        k_j, v_j = k[..., columns, :], v[..., columns, :]
        weights = (q @ k_j.mT * scale - lse.unsqueeze(-1)).exp()
        if ctx.causal:
            column = torch.arange(columns.start, columns.stop, device=q.device)
            weights = weights.masked_fill(column > row, 0.0)
        slopes = weights * (grad_out @ v_j.mT - delta) * scale
        if grad_q is not None:
            grad_q += slopes @ k_j
        if grad_k is not None:
            grad_k[..., columns, :] = slopes.mT @ q
        if grad_v is not None:
            grad_v[..., columns, :] = weights.mT @ grad_out
    return grad_q, grad_k, grad_v, None
    ### END SOLUTION


attention_op.register_autograd(attention_backward, setup_context=attention_setup)


def triton_attention(q, k, v, causal):
    """Attention as F.scaled_dot_product_attention(q, k, v, is_causal=causal)."""
    ### BEGIN SOLUTION
    return attention_op(q, k, v, causal)[0]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "triton-attention-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(triton_attention)

# %% nbgrader={"grade": true, "grade_id": "triton-attention-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of triton_attention are checked here with other numbers.
# You can run it now: check(triton_attention, hidden=True)
### BEGIN HIDDEN TESTS
check(triton_attention, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# ### Solution note: triton_attention
#
# **Derivation.** Forward: the three lines above, which keep $s e^m = \sum e^{S}$ and $o e^m = \sum e^{S} v$ true after every block. Backward: with $W = e^{S - \mathrm{lse}}$, $\delta = \sum G O$ a row: $dV = W^T G$, $dS = W (G V^T - \delta) / \sqrt E$, $dQ = dS\, K$, $dK = dS^T Q$, block by block.
#
# **What is saved, and why.** q, k, v, the output and one number a row. The weights are made again in backward. out and lse are outputs of the operator, but the formula treats lse as a constant: so second derivatives are refused, out loud.
#
# **Common mistakes.** The output not rescaled, or the sum; right as long as the largest score is in the first block, so a small test never sees it. No `columns < S`: keys behind the last one have the score 0, which is not small. The causal mask aligned with the last key. The logsumexp without its maximum.
#
# **Another way.** Hand all nine strides to the kernel and copy nothing. With causal, stop at the diagonal: keys behind the last query of a block are never seen. A backward in Triton takes two more kernels, one over keys and one over queries.

# %% [markdown]
# ## Finale: lesson 07's transformer on your kernel
#
# The character model of lesson 07, smaller: one block, two heads, 32 characters. Three trainings with the same start and batches: torch's attention, your kernel, and your kernel with the whole model compiled by `torch.compile` (aot_eager, one graph). Only an operator makes the third possible: the compiler never looks into the kernel.

# %% nbgrader={"grade": false, "grade_id": "finale-model", "locked": true, "schema_version": 3, "solution": false, "task": false}
from widgets.data import poems

text = poems()
alphabet = sorted(set(text))
codes = torch.tensor([alphabet.index(letter) for letter in text])
CONTEXT, WIDTH, HEADS = 32, 32, 2
DEVICE = "cuda" if KERNELS_RUN and os.environ["TRITON_INTERPRET"] != "1" else "cpu"
STEPS = 2 if os.environ.get("NBGRADER_EXECUTION") else 12  # few while grading


# %% nbgrader={"grade": false, "grade_id": "finale-transformer", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Transformer(torch.nn.Module):
    """Characters (batch, CONTEXT) → scores of the next one (batch, CONTEXT, alphabet)."""

    def __init__(self, attend):
        super().__init__()
        torch.manual_seed(0)  # the same start for every attention
        self.attend = attend
        self.letters, self.places = (torch.nn.Embedding(n, WIDTH) for n in (len(alphabet), CONTEXT))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.to_qkv, self.back = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.last = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 64), torch.nn.GELU(), torch.nn.Linear(64, len(alphabet))
        )

    def forward(self, characters):
        x = self.letters(characters) + self.places.weight
        qkv = self.to_qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.back(self.attend(*qkv).transpose(1, 2).flatten(2))
        return self.last(self.norms[1](x))


# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time


def learn(model):
    """Losses of STEPS steps, milliseconds of the fastest one, bytes kept for its backward."""
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses, times, kept = [], [], {}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    for _ in range(STEPS):
        starts = torch.randint(len(codes) - CONTEXT, (4,), generator=generator)
        lines = torch.stack([codes[s : s + CONTEXT + 1] for s in starts]).to(DEVICE)
        begun = time.perf_counter()
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            loss = F.cross_entropy(model(lines[:, :-1]).flatten(0, 1), lines[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        times.append(1000 * (time.perf_counter() - begun))
    return losses, min(times), sum(kept.values())


# %% nbgrader={"grade": false, "grade_id": "finale-run", "locked": true, "schema_version": 3, "solution": false, "task": false}
def torchs(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def yours(q, k, v):
    return triton_attention(q, k, v, True)


models = {"torch": Transformer(torchs).double().to(DEVICE)}
if KERNELS_RUN:
    models["your kernel"] = Transformer(yours).double().to(DEVICE)
    models["your kernel, compiled"] = compiled(Transformer(yours).double().to(DEVICE))
print(f"{'':22} {'losses':>16}  {'apart':>7}  {'ms a step':>9}  {'KiB kept':>8}   ({DEVICE})")
curves = {}
for name, model in models.items():
    losses, milliseconds, kept = learn(model)
    curves[name] = losses
    apart = max(abs(a - b) for a, b in zip(losses, curves["torch"]))
    print(
        f"{name:22} {losses[0]:7.4f} → {losses[-1]:6.4f}  {apart:7.0e}  {milliseconds:9.1f}  {kept / 1024:8.0f}"
    )

# %% [markdown]
# Step by step the same losses, up to rounding: your kernel is attention, also inside a compiled model. What is kept for backward is about the same in eager mode, where torch's own attention keeps a logsumexp as yours does; the compiler decides for itself what to keep and what to compute again.
#
# ### An honest word
#
# The time is the interpreter's: every program of your kernel is a loop in Python here. It says nothing about a GPU, and this lesson was **not** run on one. What carries over is the code, and what you had to say for the stack to take it in: a fake that tells the truth, a formula for the gradient, strides, masks, and a name.
#
# ## Find the bug
#
# Two people have handed in `sinc_op`. Both have the right values and gradients that look right, and opcheck is content with both when it is given a contiguous tensor. Read, decide, and only then have them judged.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("modern")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: at 0, at whole numbers, on a transposed tensor, under vmap …
x = torch.tensor([[0.0, 0.5], [1.0, -1.5]], dtype=torch.float64, requires_grad=True)
A(x), B(x), A(x.T).stride(), B(x.T).stride()

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("modern")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-modern", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("modern")

# %% nbgrader={"grade": false, "grade_id": "quiz-modern-answers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["solution-note"]
from widgets import quiz_answers

quiz_answers("modern")

# %% [markdown]
# ## Summary
#
# * Backward multiplies by the transposed Jacobian, **jvp by the Jacobian**: one tangent for each output, nothing is summed.
# * `setup_context`, `jvp` and a vmap rule open all of `torch.func`.
# * **An operator** is for what torch cannot see: a body, a fake that tells the truth about shape, strides and dtype, a formula, a batch rule.
# * opcheck looks at the registration, gradcheck at numbers, and neither at strides that you do not try.
# * Silent: export drops a Function's backward, compile around `torch.func.grad` ignores it (before torch 2.15), forward mode passes an operator without a tangent.
# * Under FSDP save parameters themselves, never a copy.
# * A kernel knows pointers: hand on strides, mask the last block, and give what lies behind the end a value that changes nothing.
# * Online softmax: when the maximum grows, rescale the sum **and** the output.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Atılım Güneş Baydin and others (2018): [*Automatic differentiation in machine learning: a survey*](https://arxiv.org/abs/1502.05767). Forward and reverse mode side by side, and when each is cheap.
# - Philippe Tillet, H. T. Kung and David Cox (2019): [*Triton: an intermediate language and compiler for tiled neural network computations*](https://doi.org/10.1145/3315508.3329973). Why a program is about a block and not about a thread.
# - Maxim Milakov and Natalia Gimelshein (2018): [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867). The rescaling of the sum.
# - Tri Dao and others (2022): [*FlashAttention*](https://arxiv.org/abs/2205.14135). The kernel that you rebuilt, with its memory traffic counted.
# - Yanli Zhao and others (2023): [*PyTorch FSDP: experiences on scaling fully sharded data parallel*](https://arxiv.org/abs/2304.11277). When parameters are whole, and when they are not.
# - PyTorch (torch 2.13): [*Extending torch.func with autograd.Function*](https://docs.pytorch.org/docs/stable/notes/extending.func.html). The five methods, and what each transform asks for.
# - PyTorch (torch 2.13): [*torch.library*](https://docs.pytorch.org/docs/stable/library.html). Operators, fakes, formulas, and opcheck.
#
# ## Where to go next
#
# Write a backward for `triton_attention` in Triton: one kernel over blocks of keys for `grad_k` and `grad_v`, one over blocks of queries for `grad_q`. Then let `evaluate` compare any operator of your own with a reference: `evaluate(my_op, reference=torch_version, inputs=(x,))`.
