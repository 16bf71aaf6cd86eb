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
# # Trade compute for memory
#
# **Time:** about two hours: an hour to read, predict and run, an hour for four exercises, most of it for the second.
#
# **You need:** lessons 03 and 05.
#
# A network that does not fit into memory often fits if some of it is computed **twice**. Here you build the tools that do this: one that measures what a graph keeps, one that forgets and recomputes, one that rounds.
#
# After this lesson you can
#
# * measure the bytes that autograd keeps for backward, and say whose they are,
# * checkpoint any function, with its parameters, its dropout and its second derivatives in order,
# * cut a deep network into segments, say why $\sqrt n$ of them, and go below that,
# * change what is kept, and where, through saved-tensor hooks,
# * say when each of these is worth it, from numbers measured on your own machine.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import gc
import math
import os
import tempfile
import time
import weakref
from collections import Counter

import torch
from torch import nn
from torch.autograd import Function, gradcheck
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from autograder import check, hint, progress
from widgets import figures, memory_timeline, outcome, predict, quiz
from widgets import saved_ledger, suspects, verdict, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # larger finales: 2, 5, …
SHORT = bool(os.environ.get("NBGRADER_EXECUTION"))  # shorter ones while grading

# %% [markdown]
# ## Why it matters
#
# When a network trains, its parameters are often the smaller part of the memory. The larger part is the **intermediates**: what forward computes and backward will need. They grow with the batch, with the length of the text, with the depth.
#
# There are three ways out.
#
# * **Checkpointing**: throw intermediates away, and compute them again when backward comes. It costs time.
# * **Compression**: keep them in fewer bits. It costs accuracy.
# * **Offloading**: keep them in another, slower memory. It costs time again.
#
# All three are ordinary tools of large models. And all three are easy to get wrong in silence.

# %% [markdown]
# ## What is kept
#
# First a way to see it. Whenever autograd saves a tensor, it can ask a function of yours, **pack**: it gets the tensor, and what it returns is stored in its place.
#
# The memory behind a tensor is its **storage**; several tensors may look into one. Below, `exp` keeps its output and `sin` keeps its input, and both are the tensor $e^x$.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-two-saves", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("two-saves")

# %% nbgrader={"grade": false, "grade_id": "demo-references", "locked": true, "schema_version": 3, "solution": false, "task": false}
found = []


def note(tensor):
    storage = tensor.untyped_storage()
    found.append((tuple(tensor.shape), storage.data_ptr(), storage.nbytes()))
    return tensor.detach()


x = torch.randn(100, 50, dtype=torch.float64, requires_grad=True)
with saved_tensors_hooks(note, lambda kept: kept):
    z = torch.sin(torch.exp(x))
    row = torch.sin(x[0])
print("x itself lies at", x.data_ptr())
for shape, address, size in found:
    print(f"saved: shape {shape!s:10} in the storage at {address}, {size} bytes")
outcome("two-saves")

# %% [markdown]
# A graph keeps **references**, not copies. And look at the last line: the saved *row* has 50 numbers, 400 bytes. But it is a view of `x`, and keeps all 40 000 bytes of `x` alive. (Here that costs nothing, because we hold `x` anyway.)
#
# So an honest measurement counts **distinct storages**, each with all of its bytes.

# %% [markdown]
# ## Exercise 1 · saved_bytes
#
# Your measuring tool, for the rest of this lesson.
#
# **Contract.** `saved_bytes(f, *args)` calls `f(*args)` and promises
#
# * **values**: the bytes, as an int, of **distinct storage** that autograd keeps for the backward of `f`. A tensor that is saved twice counts once. A view counts the whole storage that it keeps alive. Inputs and parameters count if they are saved, and so does what a branch saves that the result does not use: everything that torch hands to a pack hook while `f` runs. (Not judged: memory that `f` lets go of again, whose address the next tensor may get)
# * **special points**: `f` may take numbers beside tensors, give several outputs, and take a gradient inside
# * **memory**: no tensor outlasts the call
# * **nothing else is touched**: no hook outlasts the call, also when `f` raises (its error goes on to the caller), and no `.grad` is left behind
#
# `tensor.untyped_storage()` has `data_ptr()` and `nbytes()`. Let pack return `tensor.detach()`, never the tensor itself: you will see why.


# %% nbgrader={"grade": false, "grade_id": "saved-bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def saved_bytes(f, *args):
    """Bytes of distinct storage that autograd keeps for backward of f(*args); an int."""
    ### BEGIN SOLUTION
    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda kept: kept):
        f(*args)
    return sum(found.values())
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "saved-bytes-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(saved_bytes)

# %% nbgrader={"grade": true, "grade_id": "saved-bytes-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of saved_bytes are checked here with other numbers.
# You can run it now: check(saved_bytes, hidden=True)
### BEGIN HIDDEN TESTS
check(saved_bytes, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · saved_bytes**
#
# *Derivation.* The pack hook sees every save. A dict from the address of the storage to its bytes counts each storage once, whatever views of it are saved.
#
# *What is kept.* Nothing, once `f` has returned: `pack` returns `tensor.detach()`, so no output holds its own node.
#
# *Common mistakes.* Adding up in `pack` without asking whether the storage is known. `tensor.numel() * tensor.element_size()`: a row of a matrix looks small, an expanded tensor looks large. Running `f` outside the `with` block, or under `no_grad`. Returning the tensor itself from `pack`: a leak.

# %% [markdown]
# ### A trap in every pack hook
#
# Why `tensor.detach()` and not the tensor itself? Try both: compute $y = e^x$ with such a hook, let go of $y$, and ask whether its memory is free.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-pack-leak", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("pack-leak")


# %% nbgrader={"grade": false, "grade_id": "demo-pack-leak", "locked": true, "schema_version": 3, "solution": false, "task": false}
def forgotten(pack):
    """Whether the output of exp is freed once nobody holds it; no backward is run."""
    with saved_tensors_hooks(pack, lambda kept: kept):
        y = torch.exp(torch.ones(5, requires_grad=True))
    watch = weakref.ref(y.untyped_storage())
    del y
    gc.collect()
    return watch() is None


print("pack returns tensor.detach():  freed", forgotten(lambda tensor: tensor.detach()))
print("pack returns the tensor:       freed", forgotten(lambda tensor: tensor))
outcome("pack-leak")

# %% [markdown]
# The output $y$ of `exp` holds its node, and the node holds what pack returned. If that is $y$ itself, the two hold each other, and Python's garbage collector cannot see through the node. A backward would have freed it; a measurement runs none, so it would leak what it measures, each time.
#
# Second derivatives are safe with `detach()`: when the tensor comes back, torch puts its history on again.

# %% [markdown]
# ### Look at it
#
# What do these keep, for one `x` of 1000 float32 numbers, 4000 bytes?

# %% nbgrader={"grade": false, "grade_id": "demo-saved-bytes-table", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(1000, requires_grad=True)
for name, f in {
    "x + 1": lambda x: x + 1,
    "x * x": lambda x: x * x,
    "sin(x)": torch.sin,
    "sin(exp(x))": lambda x: torch.sin(torch.exp(x)),
    "relu(exp(x))": lambda x: torch.relu(torch.exp(x)),
    "dropout(x)": lambda x: nn.functional.dropout(x, 0.5),
    "x[x > 0]": lambda x: x[x > 0],
    "x.sort().values": lambda x: x.sort().values,
}.items():
    print(f"{name:16} {saved_bytes(f, x):6} bytes")

# %% [markdown]
# `x + 1` keeps nothing: its slope is 1 everywhere. `sin(exp(x))` keeps the output of `exp`, once. `relu(exp(x))` keeps two tensors: `exp` its output, `relu` its own.
#
# Indexing with a mask keeps the mask: a bool has 1 byte. Sorting keeps the order, in int64: 8 bytes a number, twice as much as the values.

# %% [markdown]
# Who keeps what? `saved_ledger` is another measuring tool, entry by entry. Look at the column *extra*: two entries, one memory.


# %% nbgrader={"grade": false, "grade_id": "see-kept-once", "locked": true, "schema_version": 3, "solution": false, "task": false}
def sine_of_exp(x):
    return torch.sin(torch.exp(x))


saved_ledger(sine_of_exp, torch.randn(1000))

# %% [markdown]
# Now a network. The parameters stay the same; the batch grows:

# %% nbgrader={"grade": false, "grade_id": "demo-batch-grows", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(0)
network = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(64, 64), nn.GELU())])
parameters = sum(p.nbytes for p in network.parameters()) / 2**20
batches = [16, 64, 256, 1024]
kept = [saved_bytes(network, torch.randn(batch, 64)) / 2**20 for batch in batches]
figures.kept_over_batch(batches, kept, parameters)

# %% [markdown]
# ## Checkpointing, the naive way
#
# The idea in one sentence: keep the *arguments* of a function, and let backward run the function again.
#
# As a Function this looks easy. Forward already runs without recording, so nothing inside is kept:


# %% nbgrader={"grade": false, "grade_id": "demo-naive-checkpoint", "locked": true, "schema_version": 3, "solution": false, "task": false}
class NaiveCheckpoint(Function):
    """fn(x), computed again in backward. Four things are wrong with it."""

    @staticmethod
    def forward(ctx, fn, x):
        ctx.fn = fn
        ctx.save_for_backward(x)
        return fn(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            output = ctx.fn(leaf)
        (grad_x,) = torch.autograd.grad(output, leaf, grad_output)
        return None, grad_x


# %% nbgrader={"grade": false, "grade_id": "demo-naive-saves", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(256, 64, requires_grad=True)
print("plain:       ", saved_bytes(network, x), "bytes")
print("checkpointed:", saved_bytes(lambda x: NaiveCheckpoint.apply(network, x), x), "bytes")
print("x itself:    ", x.numel() * x.element_size(), "bytes")

z = torch.randn(5, dtype=torch.float64, requires_grad=True)
print("gradcheck:   ", gradcheck(lambda t: NaiveCheckpoint.apply(torch.exp, t), z))

# %% [markdown]
# Only `x` is kept, and `gradcheck` is content. Tutorials print this very class (D in `docs/coverage.md` is one).
#
# Look closely at `backward`: grad mode is off there, as always, so the recomputation needs `torch.enable_grad()`. And `detach()` cuts the small new graph off from the large old one. Both are right. Now the four things that are not.

# %% [markdown]
# ### One: captured parameters
#
# `fn` may be a layer. Its weight is no argument of the Function: `fn` **captures** it.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-captured", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("captured")

# %% nbgrader={"grade": false, "grade_id": "demo-naive-parameters", "locked": true, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(3, 2)
x = torch.randn(4, 3, requires_grad=True)
NaiveCheckpoint.apply(layer, x).sum().backward()
print("x.grad is there:      ", x.grad is not None)
print("layer.weight.grad is: ", layer.weight.grad)
outcome("captured")

# %% [markdown]
# `torch.autograd.grad(output, leaf, …)` computes the gradients of what you name, and of nothing else. No error; the layer just never learns.
#
# `torch.autograd.backward(output, grad_output)` is the other tool: it adds to `.grad` of **every** leaf it reaches, captured parameters included.

# %% [markdown]
# There is a limit that stays. If no tensor *argument* requires grad, as with a batch of data at the first layer, torch sees nothing to differentiate:

# %% nbgrader={"grade": false, "grade_id": "demo-no-argument-requires-grad", "locked": true, "schema_version": 3, "solution": false, "task": false}
data = torch.randn(4, 3)
output = NaiveCheckpoint.apply(layer, data)
print("parameters require grad:", layer.weight.requires_grad, "  output:", output.requires_grad)
try:
    output.sum().backward()
except RuntimeError as error:
    print("RuntimeError:", error)

# %% [markdown]
# A Function decides by its arguments. The usual remedies: do not checkpoint the very first layer, or call `data.requires_grad_()`.

# %% [markdown]
# ### Two: dropout drops other elements
#
# A function with randomness inside is *another* function the second time:

# %% nbgrader={"grade": false, "grade_id": "demo-naive-dropout", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.ones(12, requires_grad=True)
torch.manual_seed(1)
output = NaiveCheckpoint.apply(lambda t: nn.functional.dropout(t, 0.5), x)
output.sum().backward()
print("forward kept elements ", output.detach().nonzero().flatten().tolist())
print("gradient for elements ", x.grad.nonzero().flatten().tolist())

# %% [markdown]
# The gradient belongs to a network that was never run. The remedy: put the random generator into the state it had before forward, recompute, and put it back.
#
# `torch.random.fork_rng` is made for the last part: at the end of its block the state is as before.

# %% nbgrader={"grade": false, "grade_id": "demo-random-state", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(1)
before = torch.get_rng_state()
print("drawn in forward:    ", torch.rand(3).tolist())
print("drawn later:         ", torch.rand(3).tolist())

now = torch.get_rng_state()
with torch.random.fork_rng(devices=[]):  # devices: the GPUs whose state to keep, too
    torch.set_rng_state(before)
    print("drawn once more:     ", torch.rand(3).tolist())
print("the state is untouched:", torch.equal(torch.get_rng_state(), now))
print("one state is", before.numel(), "bytes")

# %% [markdown]
# ### Three: the memory is small only *between* forward and backward
#
# "O(1) memory", tutorials say. Let us look at the **peak**, the most that is alive at any moment. Hooks cannot see it, for they do not see what a recomputation makes. So we watch every operation: a dispatch mode, `LiveBytes`, notes each storage that is made, and a finalizer notes when it is freed. (Its code is folded; unfold it if you are curious.)


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "demo-live-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
class LiveBytes(TorchDispatchMode):
    """Bytes of the storages made inside the block that are alive, the peak, and what was run."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self.seen, self.operations = set(), Counter()

    def free(self, key, size):
        self.live -= size
        self.seen.discard(key)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        self.operations[operation] += 1
        for value in tree_iter(result):
            storage = value.untyped_storage() if isinstance(value, torch.Tensor) else None
            if storage is not None and storage.nbytes() and storage._cdata not in self.seen:
                self.seen.add(storage._cdata)
                self.live += storage.nbytes()
                self.peak = max(self.peak, self.live)
                weakref.finalize(storage, self.free, storage._cdata, storage.nbytes())
        return result


# %% nbgrader={"grade": false, "grade_id": "quiz-predict-alive-in-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("alive-in-backward")


# %% nbgrader={"grade": false, "grade_id": "demo-alive-counted", "locked": true, "schema_version": 3, "solution": false, "task": false}
def chain(t, count=32):
    for _ in range(count):
        t = torch.sin(t)
    return t


x = torch.randn(1000, requires_grad=True)
for name, run in (("plain", chain), ("checkpointed", lambda t: NaiveCheckpoint.apply(chain, t))):
    with LiveBytes() as memory:
        output = run(x)
        between = memory.live
        output.sum().backward()
    print(f"{name:12} alive between forward and backward: {between / x.nbytes:3.0f} × x", end=" ")
    print(f"  at most: {memory.peak / x.nbytes:3.0f} × x")
outcome("alive-in-backward")

# %% [markdown]
# One checkpoint around everything saves nothing at the peak: in backward `fn` runs again, with recording on, and **all** its intermediates are alive at once. The gain comes from **segments**: while one is recomputed, the others are still forgotten.

# %% [markdown]
# ### Four: the second derivative
#
# You know this one from lesson 05. To torch, what comes out of this backward does not depend on `x`: it was computed from a detached copy.

# %% nbgrader={"grade": false, "grade_id": "demo-naive-second", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
y = NaiveCheckpoint.apply(lambda t: t**3, x) + x**3
(first,) = torch.autograd.grad(y, x, create_graph=True)
(second,) = torch.autograd.grad(first, x)
print("y = 2x³ at 2: first derivative", first.item(), "  second", second.item(), "(true: 24)")

# %% [markdown]
# Silently half of the truth. A checkpoint that is recomputed by your own backward should **refuse**, as `FirstOrderOnly` did.

# %% [markdown]
# ## Exercise 2 · Checkpoint
#
# **Contract.** `Checkpoint.apply(fn, *args)` promises
#
# * **values** of `fn(*args)`, one tensor. `args` may mix tensors with numbers, bools, strings
# * **gradients**: right; `None` for what is no tensor, and for a tensor that needs none (whole numbers cannot have one). With `.backward()`, parameters that `fn` captures get theirs (nothing is asked of their `.grad` after `torch.autograd.grad`). (`fn` is the first argument: `ctx.needs_input_grad[0]` and the first gradient belong to it.)
# * **second derivatives** right, or a RuntimeError. `.backward(create_graph=True)` may raise it too, but never leaves out a parameter
# * **special points**: an argument that `fn` does not use is no obstacle; if it requires grad, its gradient is zeros, or `None`
# * **memory**: kept are the tensors among `args`, and one random state (which may be an attribute of `ctx`). Inside `fn` nothing: backward runs `fn` again
# * **shapes, strides, dtypes**: as for every Function (lesson 01: what is kept goes through `ctx.save_for_backward`; a gradient that nobody needs is `None`, and not computed; where an input is infinite, what is finite in torch's answer is right in yours; new tensors are made on its device)
# * **nothing else is touched**: the recomputation draws the random numbers of forward. Forward moves the caller's random state as `fn` does, backward leaves it as it found it, also when `fn` raises
# * **your own work**: `fn` runs once in forward and once in backward. `torch.utils.checkpoint` is what you rebuild, so it stays out
#
# This is the one place in the course where autograd *inside* backward is the point.


# %% nbgrader={"grade": false, "grade_id": "checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Checkpoint(Function):
    """fn(*args), computed again in backward. Keeps the tensor arguments and one random state."""

    @staticmethod
    def forward(ctx, fn, *args):
        ### BEGIN SOLUTION
        ctx.fn, ctx.random_state = fn, torch.get_rng_state()
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.args = [None if i in ctx.places else arg for i, arg in enumerate(args)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return fn(*args)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        if torch.is_grad_enabled():
            raise RuntimeError("Checkpoint can be differentiated once only.")
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(ctx.needs_input_grad[place + 1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random_state)
            output = ctx.fn(*args)
        torch.autograd.backward(output, grad_output)
        return None, *(arg.grad if isinstance(arg, torch.Tensor) else None for arg in args)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "checkpoint-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(Checkpoint)

# %% nbgrader={"grade": true, "grade_id": "checkpoint-hidden", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of Checkpoint are checked here with other numbers.
# You can run it now: check(Checkpoint, hidden=True)
### BEGIN HIDDEN TESTS
check(Checkpoint, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · Checkpoint**
#
# *Derivation.* Let $y = f(x, \theta)$, $\theta$ captured. Backward has to deliver $g\,\partial f/\partial x$ as its return value, and to add $g\,\partial f/\partial\theta$ to $\theta$'s `.grad`. A fresh graph of $f$ at the leaf $x$ gives both, with one `torch.autograd.backward`.
#
# *What is saved.* The tensor arguments, through `save_for_backward`, so that torch notices if somebody edits them in place. The random state **before** `fn` runs. On `ctx`: the function and the arguments that are no tensors.
#
# *Common mistakes.* `torch.autograd.grad` for the arguments only: parameters without gradient. `x` not detached: the inner backward runs on into the caller's graph. No `needs_input_grad`: whole numbers cannot require grad. Setting the random state and not putting it back: the next dropout repeats itself. `once_differentiable` alone: silent in sums.
#
# *On a GPU* dropout draws from the GPU's own generator. `torch.cuda.get_rng_state(device)` and `fork_rng(devices=[device])` do there what the CPU lines do here.

# %% [markdown]
# ### Look at it
#
# The three silent failures of the naive form, with yours:

# %% nbgrader={"grade": false, "grade_id": "demo-checkpoint-mended", "locked": true, "schema_version": 3, "solution": false, "task": false}
layer = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.5))


def gradients(apply):
    """Gradients of x and of the weight, from the same random state."""
    torch.manual_seed(3)
    layer.zero_grad()
    x = torch.linspace(-1, 1, 24).reshape(4, 6).requires_grad_()
    (apply(layer, x) ** 2).sum().backward()
    return x.grad, layer[0].weight.grad


names = ("x", "weight")
for name, plain, mine in zip(names, gradients(lambda f, x: f(x)), gradients(Checkpoint.apply)):
    print(f"gradient of {name:7} largest difference from plain: {(plain - mine).abs().max():.1e}")

x = torch.tensor(2.0, requires_grad=True)
try:
    torch.autograd.grad(Checkpoint.apply(torch.sin, x) + x**3, x, create_graph=True)
except RuntimeError as error:
    print("create_graph=True: RuntimeError:", error)

# %% [markdown]
# ### See it run
#
# Between the step in which your backward *gets* a gradient and the one in which it *returns* some, look for the **inner backward**: it walks the graph of the recomputation.

# %% nbgrader={"grade": false, "grade_id": "see-checkpoint", "locked": true, "schema_version": 3, "solution": false, "task": false}
xray(Checkpoint)

# %% [markdown]
# And what is kept until then? The layer above, plain:

# %% nbgrader={"grade": false, "grade_id": "see-kept-plain", "locked": true, "schema_version": 3, "solution": false, "task": false}
saved_ledger(layer, torch.randn(4, 6))

# %% [markdown]
# The same through your `Checkpoint`. Look at what is *made in between*: only the random state may be. (For a layer as small as this one that is no gain. But it stays as large as it is, whatever the layer makes inside.)


# %% nbgrader={"grade": false, "grade_id": "see-kept-by-checkpoint", "locked": true, "schema_version": 3, "solution": false, "task": false}
def checkpointed(x):
    return Checkpoint.apply(layer, x)


saved_ledger(checkpointed, torch.randn(4, 6))

# %% [markdown]
# ## From one checkpoint to segments
#
# A chain of $n$ layers, each of which keeps one tensor of $a$ bytes for backward. Cut it into $s$ segments, and keep the inputs of the segments only. Backward takes one segment at a time, runs it again, and for that moment holds the $n/s$ intermediates of this one segment:
#
# $$m(s) = \Bigl(s + \frac ns\Bigr)\,a .$$
#
# Where is it smallest? $m'(s) = 0$ gives $s = \sqrt n$, and there $m = 2\sqrt n\; a$: a hundred layers, for the memory of twenty. And every layer is recomputed **once**, however many segments there are. At the end you will measure this law.

# %% [markdown]
# A segment is a function of one tensor, so the tool is there. But a loop that makes functions has a trap, and forward does not show it:

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-late-binding", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("late-binding")

# %% nbgrader={"grade": false, "grade_id": "demo-late-binding", "locked": true, "schema_version": 3, "solution": false, "task": false}
parts = [lambda t: t + 1, lambda t: t * 10, lambda t: t**2]
segments = []
for part in parts:
    segments.append(lambda t: part(t))
    print("while the loop runs:", segments[-1](torch.tensor(3.0)).item())
print("once it is over:    ", [segment(torch.tensor(3.0)).item() for segment in segments])
outcome("late-binding")

# %% [markdown]
# A Python function looks its variables up when it is **called**. In forward that is inside the loop, and everything is right. The recomputation calls it in backward. Then the loop is over, and all segments are the last one.
#
# Bind the segment when the function is made: with a helper function that takes it and returns the function, or as a default argument, or with `functools.partial`.

# %% [markdown]
# ## Exercise 3 · checkpoint_sequential
#
# **Contract.** `checkpoint_sequential(layers, segments, x)` promises
#
# * **values** of the layers, run one after another. `layers` is a list of functions or modules, or an `nn.Sequential`; `x` requires grad
# * **gradients** of `x` and of the layers' parameters
# * **memory**: `segments` segments, between 1 and `len(layers)`: exactly that many, none of them empty. They need not be equally long. **Every** one is checkpointed, the last one too. (`torch.utils.checkpoint.checkpoint_sequential` leaves the last one out: it would be recomputed at once. But while its intermediates are alive, so are the inputs of all others.)
# * **shapes, strides, dtypes**: transposed and empty inputs too
# * **nothing else is touched**: the caller's layers are left as they were
# * **your own work**: each segment goes through **your** `Checkpoint`


# %% nbgrader={"grade": false, "grade_id": "checkpoint-sequential", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint_sequential(layers, segments, x):
    """layers one after another on x, in as many checkpointed segments as asked for."""

    ### BEGIN SOLUTION
    def run(part):
        def segment(h):
            for layer in part:
                h = layer(h)
            return h

        return segment

    cuts = [i * len(layers) // segments for i in range(segments + 1)]
    for i in range(segments):
        x = Checkpoint.apply(run(layers[cuts[i] : cuts[i + 1]]), x)
    return x
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "checkpoint-sequential-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(checkpoint_sequential)

# %% nbgrader={"grade": true, "grade_id": "checkpoint-sequential-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of checkpoint_sequential are checked here with other numbers.
# You can run it now: check(checkpoint_sequential, hidden=True)
### BEGIN HIDDEN TESTS
check(checkpoint_sequential, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · checkpoint_sequential**
#
# *Derivation.* The cuts $\lfloor i\,n/s \rfloor$ for $i = 0 \dots s$ begin at 0, end at $n$, and differ by at least 1 as long as $s \le n$: exactly $s$ segments, none empty.
#
# *What is saved.* The input of each segment. It is the output of the one before, so nothing is computed for it.
#
# *Common mistakes.* `n // s` layers a segment and the rest forgotten, or run without a checkpoint. Rounding up: 5 layers in 4 segments of 2 are only 3 segments. A function that looks up the loop variable in backward. Starting every segment from the first `x`.

# %% nbgrader={"grade": false, "grade_id": "demo-segments-kept", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(0)
layers = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(16)])
x = torch.randn(512, 64, requires_grad=True)
size = x.numel() * x.element_size()
print(f"no checkpoint: {saved_bytes(layers, x) / size:5.1f} × x, parameters included")
for segments in (1, 2, 4, 8, 16):
    kept = saved_bytes(checkpoint_sequential, layers, segments, x)
    print(f"{segments:2} segments:   {kept / size:5.1f} × x between forward and backward")

# %% [markdown]
# This is only half of the story: what is kept *between* forward and backward. The peak comes later, and hooks cannot see it.
#
# `memory_timeline` counts the bytes alive after every single operation, here through **your** `checkpoint_sequential`. Slide the number of segments: where is the peak ● lowest, and how does the second half change?

# %% nbgrader={"grade": false, "grade_id": "see-memory-timeline", "locked": true, "schema_version": 3, "solution": false, "task": false}
memory_timeline(layers, x, by=checkpoint_sequential)

# %% [markdown]
# ## Less than $\sqrt n$: halves of halves
#
# A checkpoint may contain checkpoints. Cut the chain into two halves, checkpoint both, and do the same inside each half, until one layer is left. Then at any moment two inputs a level are kept, for $\log_2 n$ levels.
#
# Nothing is free: each level runs its layers once more.

# %% nbgrader={"grade": false, "grade_id": "quiz-predict-halves", "locked": true, "schema_version": 3, "solution": false, "task": false}
predict("halves")


# %% nbgrader={"grade": false, "grade_id": "demo-halves", "locked": true, "schema_version": 3, "solution": false, "task": false}
def in_halves(layers):
    """A function of x: both halves checkpointed, and each of them again in halves."""
    if len(layers) == 1:
        return layers[0]
    half = len(layers) // 2
    first, second = in_halves(layers[:half]), in_halves(layers[half:])
    return lambda x: Checkpoint.apply(second, Checkpoint.apply(first, x))


x = torch.randn(20_000, requires_grad=True)
for n in (16, 64, 256):
    sines = [torch.sin] * n
    root = math.isqrt(n)
    for name, run in {
        "all kept": lambda x: chain(x, n),
        "√n segments": lambda x: checkpoint_sequential(sines, root, x),
        "in halves": in_halves(sines),
    }.items():
        with LiveBytes() as memory:
            run(x).sum().backward()
        runs = memory.operations[torch.ops.aten.sin.default] / n
        print(f"{n:3} layers, {name:12} peak {memory.peak / x.nbytes:6.1f} × x", end="")
        print(f"   each layer runs {runs:.0f} times")
outcome("halves")

# %% [markdown]
# From one group to the next there are four times as many layers. The first line grows four times, and the second doubles: $2\sqrt n$. The third grows by four inputs, two for each of two more levels: $2\log_2 n$, and a constant. So halves need depth before they pay. And each layer runs $1 + \log_2 n$ times.
#
# With a better plan than halves one recomputes much less for the same memory; Griewank and Walther (2000) have the best one. What all of them share is this exchange.

# %% [markdown]
# ## Hooks that change what is kept
#
# Pack may return whatever it likes: a smaller tensor, the name of a file, a copy in another memory. A second hook, **unpack**, gets that when backward needs the tensor, and has to make a tensor of it again. Here both speak:


# %% nbgrader={"grade": false, "grade_id": "demo-traced-hooks", "locked": true, "schema_version": 3, "solution": false, "task": false}
def pack(tensor):
    print(f"  pack    {tensor.tolist()}   leaf: {tensor.is_leaf}")
    return tensor.detach()


def unpack(kept):
    print(f"  unpack  {kept.tolist()}")
    return kept


x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
print("forward: y = exp(x), z = sin(y)")
with saved_tensors_hooks(pack, unpack):
    z = torch.sin(torch.exp(x))
print("backward")
z.sum().backward()
print("x.grad =", x.grad.tolist())

# %% [markdown]
# The hooks are asked for everything that is saved inside the block, by torch's own operations and by `ctx.save_for_backward`. What a Function puts on `ctx` as an attribute they do not see.
#
# Now an obvious thought: bfloat16 has the range of float32 in half of the bytes, with 8 bits of precision. Gradients are noisy anyway.

# %% [markdown]
# But **which** tensors? A parameter or an input is there anyway: the caller holds it. A bfloat16 copy of it would be *additional* memory. What can be told about a tensor in pack?

# %% nbgrader={"grade": false, "grade_id": "demo-whose-tensor", "locked": true, "schema_version": 3, "solution": false, "task": false}
weight, data = torch.randn(3, 3, requires_grad=True), torch.randn(2, 3)


def describe(t):
    base = t._base  # what a view looks at; None for a tensor that is no view
    view = "" if base is None else f"   a view, of a leaf: {base.is_leaf}"
    print(f"  shape {tuple(t.shape)!s:8} {t.dtype!s:14} leaf: {t.is_leaf!s:5}{view}")
    return t.detach()


with saved_tensors_hooks(describe, lambda kept: kept):
    print("h = sin(data @ weight)")
    h = torch.sin(data @ weight)
    print("h @ weight.t()")
    h = h @ weight.t()
    print("where(h > 0, h, 0)")
    h = torch.where(h > 0, h, 0.0)

# %% [markdown]
# * `is_leaf` is true for parameters, for data, and for everything that no recorded operation made (masks too).
# * `weight.t()` is no leaf, but a **view** of one: same memory, nothing to gain. `_base` tells.
# * Intermediates are the rest.

# %% [markdown]
# ## Exercise 4 · save_in_bfloat16
#
# **Contract.** `with save_in_bfloat16():` promises
#
# * **values** of what is computed inside are as ever, and backward gets back what it needs: float32 for a float32 tensor, bfloat16 for one that was bfloat16 all along
# * **gradients** are those of the rounded intermediates; other dtypes are left as they are
# * **memory**: the **float32 intermediates** (views of them too, even if an expanded one grows) are kept as bfloat16. Leaves and views of leaves are left as they are: the caller holds them. A result that is dropped without backward frees its memory (see the trap above)
# * **nothing else is touched**: after the block, also after an error in it, nothing is different
#
# How can unpack know which tensors pack has rounded? Pack may return a pair.


# %% nbgrader={"grade": false, "grade_id": "save-in-bfloat16", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_in_bfloat16():
    """A context manager: float32 intermediates saved inside are kept as bfloat16."""

    ### BEGIN SOLUTION
    def pack(tensor):
        origin = tensor if tensor._base is None else tensor._base
        if tensor.dtype != torch.float32 or origin.is_leaf:
            return False, tensor.detach()
        return True, tensor.to(torch.bfloat16)

    def unpack(kept):
        rounded, tensor = kept
        return tensor.to(torch.float32) if rounded else tensor

    return saved_tensors_hooks(pack, unpack)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "save-in-bfloat16-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(save_in_bfloat16)

# %% nbgrader={"grade": true, "grade_id": "save-in-bfloat16-hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# When this notebook is graded, the same promises of save_in_bfloat16 are checked here with other numbers.
# You can run it now: check(save_in_bfloat16, hidden=True)
### BEGIN HIDDEN TESTS
check(save_in_bfloat16, hidden=True)
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# **Solution note · save_in_bfloat16**
#
# *Derivation.* `saved_tensors_hooks` is a context manager already, so the function returns one. Hooks run with grad mode off: the conversion leaves no graph.
#
# *What is kept.* Two bytes in place of four for each intermediate. In backward the float32 tensor lives for the moment in which its node needs it.
#
# *Common mistakes.* Rounding parameters: an additional copy of each. Asking `is_leaf` only: `F.linear` and `@` save transposed views of weights. `unpack` that turns every bfloat16 tensor into float32: one that was bfloat16 all along comes back with the wrong dtype. Returning `tensor` itself where nothing is changed: the leak from the beginning.

# %% [markdown]
# ### Look at it
#
# Half of the bytes, and how wrong is the gradient?


# %% nbgrader={"grade": false, "grade_id": "demo-bfloat16-error", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gelu_chain(x, depth):
    for layer in layers[:depth]:
        x = layer(x)
    return x


x = torch.randn(512, 64, requires_grad=True)
for depth in (1, 4, 16):
    (exact,) = torch.autograd.grad(gelu_chain(x, depth).sum(), x)
    with save_in_bfloat16():
        output = gelu_chain(x, depth)
    (rounded,) = torch.autograd.grad(output.sum(), x)
    error = (rounded - exact).norm() / exact.norm()
    print(f"{depth:2} layers: the gradient is off by {error:.2%} of its length")

# %% [markdown]
# One honest limit. If a tensor is saved **twice**, pack is asked twice, and makes two copies. Two halves are a whole:


# %% nbgrader={"grade": false, "grade_id": "demo-saved-twice", "locked": true, "schema_version": 3, "solution": false, "task": false}
def saves_of(activation):
    """How many saves, and of how many tensors, between two linear layers; the input left out."""
    addresses, x = [], torch.randn(512, 64)

    def note(tensor):
        if tensor.shape == x.shape and tensor.data_ptr() != x.data_ptr():
            addresses.append(tensor.data_ptr())
        return tensor.detach()

    with saved_tensors_hooks(note, lambda kept: kept):
        _ = nn.Sequential(nn.Linear(64, 64), activation, nn.Linear(64, 64))(x)
    return len(addresses), len(set(addresses))


for activation in (nn.Tanh(), nn.ReLU(), nn.GELU(), nn.SiLU()):
    saves, tensors = saves_of(activation)
    half = saves * 2 / (tensors * 4)
    print(f"{activation}: {saves} saves of {tensors} tensor(s);", end=" ")
    print(f"rounding keeps {half:.0%} of the bytes")

# %% [markdown]
# Tanh and ReLU keep their *output*, which the next linear layer keeps as well. One tensor, two saves: rounding gains nothing. GELU and SiLU keep their *input*: rounding keeps half.

# %% [markdown]
# ### Elsewhere: offloading
#
# The third way keeps every bit, in a slower memory. `torch.autograd.graph.save_on_cpu` is a pair of hooks that sends what is saved from the GPU to the computer's own memory, and fetches it in backward. Without a GPU it changes nothing. But every computer has a next slower memory, the disk:


# %% nbgrader={"grade": false, "grade_id": "demo-offload", "locked": true, "schema_version": 3, "solution": false, "task": false}
class SaveOnDisk(saved_tensors_hooks):
    """Inside the block, intermediates are kept in files of a folder, until this object is gone."""

    def __init__(self):
        self.folder, self.count = tempfile.TemporaryDirectory(), 0
        super().__init__(self.to_file, self.from_file)

    def to_file(self, tensor):
        if (tensor if tensor._base is None else tensor._base).is_leaf:
            return tensor.detach()
        self.count += 1
        path = os.path.join(self.folder.name, f"{self.count}.pt")
        torch.save(tensor.clone(), path)  # of a view, not all that it looks into
        return path

    def from_file(self, kept):
        return torch.load(kept) if isinstance(kept, str) else kept


# %% nbgrader={"grade": false, "grade_id": "demo-offload-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(512, 64, requires_grad=True)
for name, hooks in (("in memory", save_on_cpu()), ("on disk", SaveOnDisk())):
    with LiveBytes() as memory:
        with hooks:
            output = layers(x)
        print(f"{name:10} between forward and backward: {memory.live / x.nbytes:5.1f} × x")

# %% [markdown]
# ## Finale: the square-root law, measured
#
# A deep network on real data: 32 residual layers on the handwritten digits, all 1797 at once. Each layer keeps two tensors of the size of its input, for its linear map and for GELU. So with $s$ segments we expect
#
# $$m(s) \approx \Bigl(s + \frac{2n}{s}\Bigr)\,a, \qquad \text{smallest at } s = \sqrt{2n} = 8 .$$
#
# $a$ is the size of one layer's input.

# %% nbgrader={"grade": false, "grade_id": "finale-digits", "locked": true, "schema_version": 3, "solution": false, "task": false}
from sklearn.datasets import load_digits

DEPTH, digits = 32, load_digits()
torch.manual_seed(0)
repeat = 1 if SHORT else max(1, int(SCALE))
count = 200 if SHORT else len(digits.target)
pixels = torch.tensor(digits.data[:count], dtype=torch.float32).repeat(repeat, 1) / 16
labels = torch.tensor(digits.target[:count]).repeat(repeat)
UNIT = pixels.nbytes  # a: the bytes of one layer's input


class Residual(nn.Linear):
    """x + gelu(linear(x)) / 4, 64 wide."""

    def forward(self, x):
        return x + nn.functional.gelu(super().forward(x)) / 4


deep = nn.Sequential(*[Residual(64, 64) for _ in range(DEPTH)])
head = nn.Linear(64, 10)
print(f"{count * repeat} digits: one layer's input has {UNIT / 2**20:.2f} MiB")


# %% nbgrader={"grade": false, "grade_id": "finale-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
def step(run):
    """A training step in which run takes the deep layers through: (its seconds, its forward's, loss)."""
    for parameter in (*deep.parameters(), *head.parameters()):
        parameter.grad = None
    start = time.process_time()  # of this process alone, however busy the machine is
    loss = nn.functional.cross_entropy(head(run(pixels.clone().requires_grad_())), labels)
    forward = time.process_time() - start
    loss.backward()
    return time.process_time() - start, forward, loss.item()


# %% nbgrader={"grade": false, "grade_id": "finale-measure", "locked": true, "schema_version": 3, "solution": false, "task": false}
def measure(runs, rounds=1 if SHORT else 7):
    """For each run: (peak in units of a, seconds of its fastest step, its forward's, layers run, loss)."""
    seen, fastest = [], []
    for run in runs:
        with LiveBytes() as memory:
            fastest.append(step(run))
        layers_run = memory.operations[torch.ops.aten.addmm.default] - 1  # without the head
        seen.append((memory.peak / UNIT, layers_run))
    for _ in range(rounds):  # in turns, so that a busy moment of the machine hits all alike
        fastest = [min(before, step(run)) for before, run in zip(fastest, runs)]
    return [
        (peak, seconds, forward, ran, loss)
        for (peak, ran), (seconds, forward, loss) in zip(seen, fastest)
    ]


# %% nbgrader={"grade": false, "grade_id": "finale-segments", "locked": true, "schema_version": 3, "solution": false, "task": false}
chosen = [1, 4, 8, 32] if SHORT else [1, 2, 3, 4, 6, 8, 11, 16, 23, 32]
runs = [lambda x, s=s: checkpoint_sequential(deep, s, x) for s in chosen]
plain, *mine = measure([deep, *runs])
names = ["no checkpoint", *(f"{s} segments" for s in chosen)]
for name, (peak, seconds, _, ran, loss) in zip(names, [plain, *mine]):
    print(f"{name:14} peak {peak:5.1f} a  {seconds * 1e3:6.1f} ms", end="")
    print(f"  layers run {ran:3}  loss {loss:.6f}")
fastest, slowest = (choose(row[1] for row in mine) / plain[1] for choose in (min, max))
print(f"forward alone takes {plain[2] / plain[1]:.0%} of a plain step")
print(f"a step with segments takes {fastest:.2f} to {slowest:.2f} times as long as a plain one")

# %% nbgrader={"grade": false, "grade_id": "finale-square-root-law", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.square_root_law(chosen, mine, plain, DEPTH)

# %% [markdown]
# The points follow the curve. The additive constant holds what the simple count leaves out: the gradients on their way down, the output, a temporary or two.
#
# In arithmetic the price is one more forward, the same for every number of segments: each layer runs twice, as the column says. A backward does about twice the arithmetic of a forward, so on paper that is a third of a step. In time it is what the last two lines say of your machine. (Asking for memory takes time as well, so the two need not agree.)

# %% [markdown]
# ### Beside it: torch's own, selective, in bfloat16, on disk
#
# The same step in other ways. One of them is new: **selective** checkpointing keeps what is expensive to compute, such as matrix products, and recomputes the cheap rest. A policy decides for each operation. (What it keeps lies outside of the graph, and passes hooks by. torch 2.14 warns of that where there are any; `respect_saved_tensors_hooks=True` sends it through them.)

# %% nbgrader={"grade": false, "grade_id": "finale-beside-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
from functools import partial

from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def keep_products(context, operation, *args, **kwargs):
    product = operation is torch.ops.aten.addmm.default
    return CheckpointPolicy.MUST_SAVE if product else CheckpointPolicy.PREFER_RECOMPUTE


def torchs_own(x, segments=8, **options):
    for part in range(segments):
        first, last = part * DEPTH // segments, (part + 1) * DEPTH // segments
        x = checkpoint(deep[first:last], x, use_reentrant=False, **options)
    return x


def inside(hooks, x, run=deep):
    with hooks():
        return run(x)


# %% nbgrader={"grade": false, "grade_id": "finale-rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
selective = partial(create_selective_checkpoint_contexts, keep_products)
eight = partial(checkpoint_sequential, deep, 8)
rows = {
    "no checkpoint": deep,
    "yours, 8 segments": eight,
    "yours, in halves": in_halves(list(deep)),
    "torch's, 8 segments": torchs_own,
    "torch's, selective": partial(torchs_own, context_fn=selective),
    "save_on_cpu": partial(inside, save_on_cpu),
    "on disk": partial(inside, SaveOnDisk),
    "save_in_bfloat16": partial(inside, save_in_bfloat16),
    "both of yours": partial(inside, save_in_bfloat16, run=eight),
}


# %% nbgrader={"grade": false, "grade_id": "finale-table", "locked": true, "schema_version": 3, "solution": false, "task": false}
def all_gradients():
    return torch.cat([p.grad.flatten() for p in deep.parameters()])


step(deep)
exact = all_gradients()
print(f"{'':20} {'peak':>8} {'time':>10} {'layers run':>11} {'gradient off by':>16}")
measured = measure(list(rows.values()), rounds=1 if SHORT else 3)
for (name, run), (peak, seconds, _, ran, _) in zip(rows.items(), measured):
    step(run)
    error = ((all_gradients() - exact).norm() / exact.norm()).item()
    print(f"{name:20} {peak:6.1f} a {seconds * 1e3:7.1f} ms {ran:11} {error:16.1e}")

# %% [markdown]
# * Yours and torch's with 8 segments need the same memory, up to a temporary, and give the gradients of the plain run: the recomputation does the same arithmetic again.
# * In halves the peak is lower still, and layers run many times.
# * Selective: no product is computed twice, and the peak lies in between.
# * On disk the peak is the lowest of all, and nothing is computed twice. Look at the time. (`save_on_cpu` is the same for a GPU. Here it has nowhere else to go.)
# * Rounding keeps half, and its gradients are approximate. Together with checkpoints there is little left to round: only the segments' inputs.

# %% [markdown]
# ### Does it train?
#
# The approximate gradients as well? A few steps from the same weights:

# %% nbgrader={"grade": false, "grade_id": "finale-training", "locked": true, "schema_version": 3, "solution": false, "task": false}
import copy

weights = copy.deepcopy((deep.state_dict(), head.state_dict()))


def train(run, steps):
    """Losses of some steps of Adam from the same weights."""
    deep.load_state_dict(weights[0]), head.load_state_dict(weights[1])
    optimiser = torch.optim.Adam([*deep.parameters(), *head.parameters()], lr=3e-3)
    losses = []
    for _ in range(steps):
        losses.append(step(run)[-1])
        optimiser.step()
    return torch.tensor(losses)


steps = 2 if SHORT else 30
compared = ("no checkpoint", "yours, 8 segments", "save_in_bfloat16", "both of yours")
histories = {name: train(rows[name], steps) for name in compared}
truth = histories["no checkpoint"]
for name, losses in histories.items():
    apart = (losses - truth).abs().max().item()
    print(f"{name:20} last loss {losses[-1]:.4f}   at most {apart:.1e} from no checkpoint")

# %% nbgrader={"grade": false, "grade_id": "finale-training-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
figures.trainings(histories)

# %% [markdown]
# ### An honest word
#
# For your own work use `torch.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)`. It does what yours does, and
#
# * works when no argument requires grad, and with `torch.autograd.grad`,
# * takes keyword arguments and results of any structure,
# * restores the GPU's random state and autocast settings too,
# * stops the recomputation as soon as all that backward needs is there.
#
# Always write `use_reentrant=False`: without it torch only warns, and takes the old form. Since torch 2.14 `@checkpoint(use_reentrant=False)` above a function checkpoints each of its calls. `nn` libraries have switches for it.

# %% [markdown]
# When is it worth it? When the memory is too small for the batch or the length that you want. If it is not, keep everything. What it costs, your own table says.

# %% [markdown]
# ## Find the bug
#
# Two people have handed in `Checkpoint`. Both train a network without dropout to the same losses as a plain run, and both refuse a second derivative. One of them is wrong in silence as soon as `fn` draws a random number. Read, decide, and only then have them judged.

# %% nbgrader={"grade": false, "grade_id": "quiz-bug", "locked": true, "schema_version": 3, "solution": false, "task": false}
A, B = suspects("checkpointing")

# %% nbgrader={"grade": false, "grade_id": "try-bug", "locked": false, "schema_version": 3, "solution": false, "task": false}
# A and B are here to be tried: the gradient should be 2 where dropout kept, 0 where it dropped.
x = torch.ones(8, requires_grad=True)
y = A.apply(lambda t: nn.functional.dropout(t, 0.5), x)
y.sum().backward()
y, x.grad

# %% nbgrader={"grade": false, "grade_id": "quiz-bug-verdict", "locked": true, "schema_version": 3, "solution": false, "task": false}
verdict("checkpointing")

# %% [markdown]
# ## Quiz

# %% nbgrader={"grade": false, "grade_id": "quiz-checkpointing", "locked": true, "schema_version": 3, "solution": false, "task": false}
quiz("checkpointing")

# %% [markdown]
# ## Summary
#
# | | kept between forward and backward | peak | costs |
# |---|---|---|---|
# | everything kept | $n$ | $n$ | nothing |
# | one checkpoint | 1 | $n$, in backward | one more forward |
# | $s$ segments | $s$ | $s + n/s$, smallest at $\sqrt n$ | one more forward |
# | halves of halves | 2 | about $2\log_2 n$ | $\log_2 n$ more forwards |
# | selective | the products | in between | the cheap part of a forward |
# | offloaded | 0 here, $n$ there | a few | the way there and back |
# | bfloat16, where each tensor is saved once | $n/2$ | $n/2$ | precision |
#
# * A graph keeps references. Count distinct storages, with all of their bytes.
# * `torch.autograd.grad` gives what you name; `torch.autograd.backward` reaches captured parameters too.
# * Recompute under `enable_grad`, on detached copies, with forward's random state; put the caller's back.
# * A function made in a loop looks its variables up late: in a recomputation, too late.
# * A pack hook returns `tensor.detach()`, never an output itself.
# * Leaves and their views belong to the caller: rounding them costs memory.

# %% nbgrader={"grade": false, "grade_id": "see-progress", "locked": true, "schema_version": 3, "solution": false, "task": false}
progress()

# %% [markdown]
# ## Sources
#
# - Andreas Griewank and Andrea Walther (2000): [*Algorithm 799: revolve*](https://doi.org/10.1145/347837.347846). The best plan of what to keep and when to recompute it, with a proof.
# - Tianqi Chen and others (2016): [*Training deep nets with sublinear memory cost*](https://arxiv.org/abs/1604.06174). The √n law and the recursion, for neural networks.
# - Jianfei Chen and others (2021): [*ActNN: reducing training memory footprint via 2-bit activation compressed training*](https://arxiv.org/abs/2104.14129). How far rounding what is saved can go.
# - Vijay Korthikanti and others (2022): [*Reducing activation recomputation in large transformer models*](https://arxiv.org/abs/2205.05198). Selective checkpointing, where it matters most.
# - PyTorch (torch 2.13): [*torch.utils.checkpoint*](https://docs.pytorch.org/docs/stable/checkpoint.html). Both forms, the random state, selective policies.
# - PyTorch (torch 2.13): [*Hooks for saved tensors*](https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html). Pack, unpack, and files on disk.

# %% [markdown]
# ## Where to go next
#
# **07_attention** applies both ideas to the most famous case. The weights of attention are a tensor of $L \times L$ numbers; you will recompute them in backward from one number a row, and in the end never form them at all.
