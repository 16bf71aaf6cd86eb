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
# **Lesson 06 · about 60 minutes** · 30 minutes of reading and running, 30 minutes for four exercises · before this one: 03_linear and 05_double_backward
#
# A network that does not fit into memory often fits if some of it is computed **twice**. Here you build the tools that do this: one that measures what a graph keeps, one that forgets and recomputes, one that rounds.
#
# After this lesson you can
#
# * measure the bytes that autograd keeps for backward, and say whose they are,
# * checkpoint any function, with its parameters, its dropout and its second derivatives in order,
# * cut a deep network into segments, and say why $\sqrt n$ of them,
# * change what is kept through saved-tensor hooks,
# * say when each of this is worth it.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os
import time
import weakref

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.autograd import Function, gradcheck
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from autograder import check, hint, progress
from widgets import memory_timeline, palette, quiz, saved_ledger, show, xray

torch.set_num_threads(1)  # small tensors: several threads would mostly wait for each other
SCALE = float(os.environ.get("BACKWARD_BY_HAND_SCALE", "1"))  # larger finales: 2, 5, …
SHORT = bool(os.environ.get("NBGRADER_EXECUTION"))  # shorter ones while grading

# %% [markdown]
# ## Why it matters
#
# When a network trains, its parameters are often the smaller part of the memory. The larger part are the **intermediates**: what forward computes and backward will need. They grow with the batch, with the length of the text, with the depth.

# %% [markdown]
# Two ways out are built into this lesson.
#
# * **Checkpointing**: throw the intermediates away, and compute them again when backward comes. Costs time: about one more forward.
# * **Compression**: keep them, in fewer bits. Costs accuracy.
#
# Both are ordinary tools of large models. And both are easy to get wrong in silence.

# %% [markdown]
# ## The mathematics
#
# A chain of $n$ layers, each of which keeps one tensor of $a$ bytes for backward.
#
# * Keep everything: $n\,a$ bytes, nothing is computed twice.
# * Cut the chain into $s$ segments. Keep the $s$ inputs of the segments only. Backward takes one segment at a time, runs it again, and for that moment holds the $n/s$ intermediates of this one segment:
#
# $$m(s) = \Bigl(s + \frac ns\Bigr)\,a .$$

# %% [markdown]
# Where is it smallest? $m'(s) = 0$ gives $s = \sqrt n$, and there
#
# $$m = 2\sqrt n\; a .$$
#
# A hundred layers, for the memory of twenty, and **one** additional forward: every layer is recomputed once, however many segments there are. This is the $\sqrt n$ law. At the end you will measure it.

# %% [markdown]
# ## A worked example, traced
#
# First a way to *see* what is kept. Whenever autograd saves a tensor, it can ask two functions of yours: **pack** gets the tensor and returns what is stored in its place; **unpack** gets that, when backward needs the tensor, and gives it back.


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
# `exp` keeps its output, `sin` keeps its input. These are two saves, of one and the same tensor: $e^x$.
#
# The hooks are asked for everything that is saved inside the block, by torch's own operations and by `ctx.save_for_backward`. What a Function puts on `ctx` as an attribute they do not see.

# %% [markdown]
# ### Kept alive, not copied
#
# Does the second save double the memory? No. A graph keeps **references**. The memory behind a tensor is its **storage**; several tensors may look into one. Here is where the bytes are:

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

# %% [markdown]
# Read the last line: the saved *row* has 50 numbers, 400 bytes. But it is a view of `x`, and keeps all 40 000 bytes of `x` alive. (Here that costs nothing, because we hold `x` anyway.)
#
# So an honest measurement counts **distinct storages**, each with all of its bytes.

# %% [markdown]
# ### A trap in every pack hook
#
# Both hooks above return `tensor.detach()`. Why not the tensor itself?
#
# The output $y$ of `exp` holds its node, and the node holds what pack returned. If that is $y$ itself, the two hold each other. Python's garbage collector cannot see through the node:

# %% nbgrader={"grade": false, "grade_id": "demo-pack-leak", "locked": true, "schema_version": 3, "solution": false, "task": false}
import gc


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

# %% [markdown]
# Not even `gc.collect()` helps. A backward would have freed it; a measurement runs none, so it would leak what it measures, each time.
#
# Second derivatives are safe with `detach()`: when the tensor comes back, torch puts its history on again.

# %% [markdown]
# ## Exercise 1 · saved_bytes
#
# Your measuring tool, for the rest of this lesson.
#
# **Contract.** `saved_bytes(f, *args)` calls `f(*args)` and returns, as an int, the bytes of **distinct storage** that autograd keeps for its backward.
#
# * A tensor that is saved twice counts once. A view counts the whole storage that it keeps alive.
# * Inputs and parameters count if they are saved, and so does what a branch saves that the result does not use: everything that torch hands to a pack hook while `f` runs.
# * Nothing outlasts the call: no hook, no tensor.
#
# `tensor.untyped_storage()` has `data_ptr()` and `nbytes()`.


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
# The hidden checks of saved_bytes run here when this notebook is graded.
# You can run them now: check(saved_bytes, hidden=True)
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
# Who keeps what? `saved_ledger` is another measuring tool, entry by entry. Look at the column *kept besides*: two entries, one memory.


# %% nbgrader={"grade": false, "grade_id": "see-kept-once", "locked": true, "schema_version": 3, "solution": false, "task": false}
def sine_of_exp(x):
    return torch.sin(torch.exp(x))


saved_ledger(sine_of_exp, torch.randn(1000))

# %% [markdown]
# Now a network. The parameters stay the same; the batch grows:

# %% nbgrader={"grade": false, "grade_id": "demo-batch-grows", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(0)
network = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(64, 64), nn.GELU())])
parameters = sum(p.numel() * p.element_size() for p in network.parameters())
batches = [16, 64, 256, 1024]
kept = [saved_bytes(network, torch.randn(batch, 64)) / 2**20 for batch in batches]
fig, axis = plt.subplots(figsize=(7, 3), constrained_layout=True)
axis.plot(batches, kept, "o-", color=palette["blue"], label="kept for backward")
axis.axhline(parameters / 2**20, ls="--", color=palette["vermillion"], label="all parameters")
axis.set(title="Eight layers of width 64", xlabel="batch size (samples)", ylabel="memory (MiB)")
axis.legend()
show(
    fig,
    alt="Memory over the batch size. What is kept for backward grows in a straight line to about "
    "four mebibytes at 1024 samples; the parameters need a small constant amount.",
)

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
# Only `x` is kept, and `gradcheck` is content. You find this very class in tutorials.
#
# Look closely at `backward`: grad mode is off there, as always, so the recomputation needs `torch.enable_grad()`. And `detach()` cuts the small new graph off from the large old one. Both are right. Now the four things that are not.

# %% [markdown]
# ### One: the parameters do not train

# %% nbgrader={"grade": false, "grade_id": "demo-naive-parameters", "locked": true, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(3, 2)
x = torch.randn(4, 3, requires_grad=True)
NaiveCheckpoint.apply(layer, x).sum().backward()
print("x.grad is there:      ", x.grad is not None)
print("layer.weight.grad is: ", layer.weight.grad)

# %% [markdown]
# `layer.weight` is no argument of the Function. `fn` **captures** it. `torch.autograd.grad(output, leaf, …)` computes the gradients of what you name, and of nothing else. No error; the layer just never learns.
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
# "O(1) memory", tutorials say. That is true until backward begins. Then `fn` runs again, with recording on, and **all** its intermediates are alive at once:

# %% nbgrader={"grade": false, "grade_id": "demo-alive-in-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
alive, most = 0, 0


def watched(t):
    """sin(t), which counts the tensors of this kind that are alive."""
    global alive, most
    result = torch.sin(t)
    alive, most = alive + 1, max(most, alive + 1)

    def gone():
        global alive
        alive -= 1

    weakref.finalize(result.untyped_storage(), gone)
    return result


def chain(t):
    for _ in range(32):
        t = watched(t)
    return t


# %% nbgrader={"grade": false, "grade_id": "demo-alive-counted", "locked": true, "schema_version": 3, "solution": false, "task": false}
x = torch.randn(10, requires_grad=True)
alive = most = 0
output = NaiveCheckpoint.apply(chain, x)
print("after forward:   alive", alive, "(the output)")
most = 0
output.sum().backward()
print("during backward: alive at most", most)

# %% [markdown]
# One checkpoint around everything saves nothing at the **peak**, the most that is alive at any moment. The gain comes from **segments**: while one is recomputed, the others are still forgotten.

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
# **Contract.** `Checkpoint.apply(fn, *args)` gives `fn(*args)`, one tensor. (`fn` is the first argument: `ctx.needs_input_grad[0]` and the first gradient belong to it.)
#
# * Kept for backward: the tensors among `args`, and one random state. Inside `fn` nothing. Backward runs `fn` again, once.
# * `args` may mix tensors with numbers, bools, strings. Those pass through and get `None`; so does a tensor that needs no gradient (whole numbers cannot have one).
# * With `.backward()`, parameters that `fn` captures get their gradients.
# * The recomputation draws the random numbers of forward. Forward moves the caller's random state as `fn` does, backward leaves it as it found it, also when `fn` raises.
# * A second derivative is right, or raises RuntimeError. `.backward(create_graph=True)` may raise it too, but never leaves out a parameter.
#
# This is the one place in the course where autograd *inside* backward is the point. `torch.utils.checkpoint` is what you rebuild, so it stays out.


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
# The hidden checks of Checkpoint run here when this notebook is graded.
# You can run them now: check(Checkpoint, hidden=True)
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
# One checkpoint around $n$ layers: the peak comes back in backward. One around every layer: $n$ inputs are kept. In between lies $\sqrt n$.
#
# A segment is a function of one tensor, so the tool is there. But a loop that makes functions has a trap, and it is a silent one in forward:

# %% nbgrader={"grade": false, "grade_id": "demo-late-binding", "locked": true, "schema_version": 3, "solution": false, "task": false}
parts = [lambda t: t + 1, lambda t: t * 10, lambda t: t**2]
segments = []
for part in parts:
    segments.append(lambda t: part(t))
    print("while the loop runs:", segments[-1](torch.tensor(3.0)).item())
print("once it is over:    ", [segment(torch.tensor(3.0)).item() for segment in segments])

# %% [markdown]
# A Python function looks its variables up when it is **called**. In forward that is inside the loop, and everything is right. The recomputation calls it in backward. Then the loop is over, and all segments are the last one.
#
# Bind the segment when the function is made: with a helper function that takes it and returns the function, or as a default argument, or with `functools.partial`.

# %% [markdown]
# ## Exercise 3 · checkpoint_sequential
#
# **Contract.** `checkpoint_sequential(layers, segments, x)` runs the layers one after another, cut into `segments` segments, each through **your** `Checkpoint`.
#
# * `layers` is a list of functions or modules, or an `nn.Sequential`; `segments` is between 1 and `len(layers)`; `x` requires grad.
# * Exactly that many segments, none of them empty. They need not be equally long.
# * **Every** segment is checkpointed, the last one too. (`torch.utils.checkpoint.checkpoint_sequential` leaves the last one out: it would be recomputed at once. But while its intermediates are alive, so are the inputs of all others.)


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
# The hidden checks of checkpoint_sequential run here when this notebook is graded.
# You can run them now: check(checkpoint_sequential, hidden=True)
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
# ## Hooks that change what is kept
#
# Pack may return whatever it likes: a smaller tensor, the name of a file, a copy in another memory (`torch.autograd.graph.save_on_cpu` does that for GPUs). Unpack has to make a tensor of it again.
#
# An obvious thought: bfloat16 has the range of float32 in half of the bytes, with 8 bits of precision. Gradients are noisy anyway.

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
# **Contract.** Inside `with save_in_bfloat16():` the **float32 intermediates** (views of them too) are kept as bfloat16, and backward gets them as float32.
#
# * Leaves and views of leaves are left as they are: the caller holds them.
# * Other dtypes are left as they are. A tensor that was bfloat16 all along comes back as bfloat16.
# * After the block, also after an error in it, nothing is different; a result that is dropped without backward frees its memory (see the trap above).
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
# The hidden checks of save_in_bfloat16 run here when this notebook is graded.
# You can run them now: check(save_in_bfloat16, hidden=True)
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
    print(
        f"{activation}: {saves} saves of {tensors} tensor(s); rounding keeps {half:.0%} of the bytes"
    )

# %% [markdown]
# Tanh and ReLU keep their *output*, which the next linear layer keeps as well. One tensor, two saves: rounding gains nothing. GELU and SiLU keep their *input*: rounding keeps half.

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


class Residual(nn.Module):
    """x + gelu(linear(x)) / 4, 64 wide."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return x + nn.functional.gelu(self.linear(x)) / 4


deep = nn.Sequential(*[Residual() for _ in range(DEPTH)])
head = nn.Linear(64, 10)
print(f"{count * repeat} digits: one layer's input has {UNIT / 2**20:.2f} MiB")

# %% [markdown]
# Hooks see what is saved, but not what a recomputation makes. For the **peak** we watch every operation: a dispatch mode notes each storage that is made, and a finalizer notes when it is freed.


# %% nbgrader={"grade": false, "grade_id": "finale-live-bytes", "locked": true, "schema_version": 3, "solution": false, "task": false}
class LiveBytes(TorchDispatchMode):
    """Bytes of the storages made inside the block that are alive, and the most there ever were."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self.seen = set()

    def free(self, key, size):
        self.live -= size
        self.seen.discard(key)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for value in tree_iter(result):
            if isinstance(value, torch.Tensor):
                storage = value.untyped_storage()
                key, size = storage._cdata, storage.nbytes()
                if size and key not in self.seen:
                    self.seen.add(key)
                    self.live += size
                    self.peak = max(self.peak, self.live)
                    weakref.finalize(storage, self.free, key, size)
        return result


# %% nbgrader={"grade": false, "grade_id": "finale-measure", "locked": true, "schema_version": 3, "solution": false, "task": false}
def step(run):
    """Forward and backward of a training step; run takes the deep layers through."""
    for parameter in (*deep.parameters(), *head.parameters()):
        parameter.grad = None
    hidden = run(pixels.clone().requires_grad_())
    loss = nn.functional.cross_entropy(head(hidden), labels)
    loss.backward()
    return loss.item()


def measure(runs, rounds=1 if SHORT else 7):
    """For each run: (peak in units of a, seconds of its fastest step, the loss)."""
    peaks, losses, seconds = [], [], [float("inf")] * len(runs)
    for run in runs:
        with LiveBytes() as memory:
            losses.append(step(run))
        peaks.append(memory.peak / UNIT)
    for _ in range(rounds):  # in turns, so that a busy moment of the machine hits all alike
        for i, run in enumerate(runs):
            start = time.perf_counter()
            step(run)
            seconds[i] = min(seconds[i], time.perf_counter() - start)
    return list(zip(peaks, seconds, losses))


# %% nbgrader={"grade": false, "grade_id": "finale-segments", "locked": true, "schema_version": 3, "solution": false, "task": false}
chosen = [1, 4, 8, 32] if SHORT else [1, 2, 3, 4, 6, 8, 11, 16, 23, 32]
runs = [lambda x, s=s: checkpoint_sequential(deep, s, x) for s in chosen]
plain, *mine = measure([deep, *runs])
print(f"no checkpoint  peak {plain[0]:5.1f} a   {plain[1] * 1e3:6.1f} ms   loss {plain[2]:.6f}")
for s, (peak, seconds, loss) in zip(chosen, mine):
    print(f"{s:2} segments    peak {peak:5.1f} a   {seconds * 1e3:6.1f} ms   loss {loss:.6f}")

# %% nbgrader={"grade": false, "grade_id": "finale-square-root-law", "locked": true, "schema_version": 3, "solution": false, "task": false}
s = torch.linspace(1, DEPTH, 200)
offset = sum(m[0] - (k + 2 * DEPTH / k) for m, k in zip(mine, chosen)) / len(mine)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.5), constrained_layout=True)
curve = f"s + 2n/s + {offset:.1f}"
axes[0].plot(s, s + 2 * DEPTH / s + offset, color=palette["black"], label=curve)
for axis, place, factor in zip(axes, (0, 1), (1, 1e3)):
    axis.plot(chosen, [m[place] * factor for m in mine], "o", color=palette["blue"], label="yours")
    axis.axhline(plain[place] * factor, ls="--", color=palette["vermillion"], label="no checkpoint")
    axis.set(xlabel="segments", xscale="log")
    axis.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axis.set_ylim(0, 1.2 * factor * max(m[place] for m in (*mine, plain)))
    axis.minorticks_off()
    axis.legend()
axes[0].set(title="Peak memory", ylabel="peak (inputs of a layer)")
axes[1].set(title="Time of a training step", ylabel="time (ms)")
show(
    fig,
    alt="Left: the peak over the number of segments is a valley with its floor near 8 segments, "
    "about a third of the peak without checkpoints, and the drawn curve s + 2n/s runs through "
    "the points. Right: the time of a step hardly depends on the number of segments and lies "
    "above the time without checkpoints.",
)

# %% [markdown]
# The points follow the curve. The additive constant holds what the simple count leaves out: the gradients on their way down, the output, a temporary or two.
#
# And the time hardly depends on the number of segments: every layer is recomputed once, whether in long segments or short ones.

# %% [markdown]
# ### Beside it: torch's own, and fewer bits
#
# The same step with `torch.utils.checkpoint.checkpoint`, with your `save_in_bfloat16`, and with both of yours together.

# %% nbgrader={"grade": false, "grade_id": "finale-beside-torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
from torch.utils.checkpoint import checkpoint


def torchs_own(x, segments=8):
    for part in range(segments):
        first, last = part * DEPTH // segments, (part + 1) * DEPTH // segments
        x = checkpoint(deep[first:last], x, use_reentrant=False)
    return x


def in_bfloat16(x, run=deep):
    with save_in_bfloat16():
        return run(x)


rows = {
    "no checkpoint": deep,
    "yours, 8 segments": lambda x: checkpoint_sequential(deep, 8, x),
    "torch's, 8 segments": torchs_own,
    "save_in_bfloat16": in_bfloat16,
    "both of yours": lambda x: in_bfloat16(x, lambda h: checkpoint_sequential(deep, 8, h)),
}


# %% nbgrader={"grade": false, "grade_id": "finale-table", "locked": true, "schema_version": 3, "solution": false, "task": false}
def all_gradients():
    return torch.cat([p.grad.flatten() for p in deep.parameters()])


step(deep)
exact = all_gradients()
print(f"{'':20} {'peak':>8} {'time':>10} {'gradient off by':>18}")
for (name, run), (peak, seconds, _) in zip(rows.items(), measure(list(rows.values()))):
    step(run)
    error = ((all_gradients() - exact).norm() / exact.norm()).item()
    print(f"{name:20} {peak:6.1f} a {seconds * 1e3:7.1f} ms {error:18.1e}")

# %% [markdown]
# Yours and torch's need the same memory, up to a temporary, and give the gradients of the plain run, here to the last bit: the recomputation does the same arithmetic again.
#
# Rounding keeps half, without recomputing, and its gradients are approximate. Together with checkpoints there is little left to round: only the segments' inputs.

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
        losses.append(step(run))
        optimiser.step()
    return torch.tensor(losses)


steps = 2 if SHORT else 30
histories = {name: train(rows[name], steps) for name in rows if name != "torch's, 8 segments"}
truth = histories["no checkpoint"]
for name, losses in histories.items():
    apart = (losses - truth).abs().max().item()
    print(f"{name:20} last loss {losses[-1]:.4f}   at most {apart:.1e} from no checkpoint")

# %% nbgrader={"grade": false, "grade_id": "finale-training-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
fig, axis = plt.subplots(figsize=(7, 3), constrained_layout=True)
styles = {
    "no checkpoint": ("vermillion", "-", 4),
    "yours, 8 segments": ("black", "--", 1.5),
    "save_in_bfloat16": ("blue", ":", 2),
}
for name, (colour, style, width) in styles.items():
    axis.plot(histories[name], style, color=palette[colour], lw=width, label=name)
axis.set(title="32 layers on the digits", xlabel="training step", ylabel="loss (cross-entropy)")
axis.legend()
show(
    fig,
    alt="Loss over the training steps. The curve of your checkpoints lies exactly on the one "
    "without checkpoints, and the one with bfloat16 follows so closely that it can hardly be told "
    "apart; all fall from above 2 to near 0.",
)

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
# Always write `use_reentrant=False`: without it torch only warns, and takes the old form. `nn` libraries have switches for it. Selective checkpointing (`create_selective_checkpoint_contexts`) keeps what is expensive to compute, such as matrix products, and recomputes the rest.

# %% [markdown]
# When is it worth it? If the memory is too small for the batch or the length that you want. If it is not, keep everything. One more forward, beside a forward and a backward of about twice its cost, makes a step longer by up to a third.

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
# | bfloat16, each tensor saved once | $n/2$ | $n/2$ | precision |
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
# ## Where to go next
#
# **07_attention** applies both ideas to the most famous case. The weights of attention are a tensor of $L \times L$ numbers; you will recompute them in backward from one number a row, and in the end never form them at all.
