"""saved_bytes of lesson 06: the bytes of distinct storage that autograd keeps for backward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.ending import ended_in
from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
)
from autograder.exercises.checkpointing.measuring import Stop, Watch, hooks_cleared
from autograder.observation.snapshot import storage_of


def distinct_bytes(f: Solution, *args: Any) -> int:
    """What is asked for: bytes of distinct storage that a pack hook is given during f(*args)."""
    found: dict[int, int] = {}
    # Alive until all is counted, so that no storage comes back under one key.
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        key, size = storage_of(tensor)
        found[key] = size
        kept.append(tensor.detach())
        return kept[-1]

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        f(*args)
    return sum(found.values())


# ---- what it is tried on: sizes in, a function and its arguments out ---------------------------


class _KeepsThree(Function):
    """Saves an input, the output and an intermediate of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.exp(x)
        ctx.save_for_backward(x, y, x > 0)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output * ctx.saved_tensors[1]


# The arguments: of n × m ones, whatever each letter says of them; numbers are passed as they are.
_ARGUMENTS: dict[str, Callable[[int, int], Tensor]] = {
    "x": lambda n, m: torch.ones(n, m, dtype=torch.float64, requires_grad=True),
    "float32": lambda n, m: torch.ones(n, m, requires_grad=True),
    "data": lambda n, m: torch.ones(n, m, dtype=torch.float64),
    "slice": lambda n, m: torch.ones(n, m, dtype=torch.float64)[:2].detach().requires_grad_(True),
}


def _masked(x: Tensor) -> Tensor:
    return torch.where(x.detach() > 0, x, 0.0)[torch.zeros(3, dtype=torch.int64)]


def _two_dtypes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Saves x, and x read as twice as many numbers of half the size."""
    return torch.sin(x), x[:, :1] * x.detach().view(torch.float32)


def _linear(x: Tensor) -> Tensor:
    scale, layer = torch.nn.Parameter(torch.ones(x.shape[1])), torch.nn.Linear(x.shape[1], 3)
    return torch.tanh(layer(x * scale)).sum()


def _unused_branch(x: Tensor) -> Tensor:
    branch = torch.exp(x)
    return torch.sin(x) + branch.detach()


def _inner_gradient(x: Tensor) -> Tensor:
    (slope,) = torch.autograd.grad(torch.sin(x).exp().sum(), x, create_graph=True)
    return (slope**2).sum()


# What f is called in a report: (f, its arguments). The first one takes a tuple, too.
TRIALS: dict[str, tuple[Solution, Arguments]] = {
    "torch.sin(x[0][0]).sum()": (lambda x: torch.sin(x[0][0]).sum(), ("x",)),
    "torch.sin(x)": (torch.sin, ("x",)),
    "x * x": (lambda x: x * x, ("x",)),
    "torch.sin(torch.exp(x))": (lambda x: torch.sin(torch.exp(x)), ("x",)),
    "x + 1": (lambda x: x + 1, ("x",)),
    "torch.sin(x[0])": (lambda x: torch.sin(x[0]), ("x",)),
    "torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1:])": (
        lambda x: torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1:]), ("x",),
    ),
    "the sine of an expanded row": (lambda x: torch.sin(x[0].clone().expand(x.shape)), ("x",)),
    "torch.sin(x) * x, where x is a detached slice": (lambda x: torch.sin(x) * x, ("slice",)),
    "torch.sin(x), and x read as float32": (_two_dtypes, ("x",)),
    "a mask and whole numbers": (_masked, ("float32",)),
    "a scale, a linear layer and tanh": (_linear, ("float32",)),
    "two tensors, a number, two outputs": (lambda x, c, y: (c * x * y, torch.sin(y)), ("x", 2.5, "x")),
    "a Function that saves three tensors": (_KeepsThree.apply, ("x",)),
    "a product with data that needs no gradient": (lambda x, d: torch.sin(x * d) * d, ("x", "data")),
    "a branch that the result does not use": (_unused_branch, ("x",)),
    "a function that takes a gradient inside": (_inner_gradient, ("x",)),
}  # fmt: skip


def _arguments(name: str, n: int, m: int) -> Arguments:
    return tuple(_ARGUMENTS[a](n, m) if isinstance(a, str) else a for a in TRIALS[name][1])


_ASKED_TWICE = range(30, 500, 30)  # elements of the tensors that are asked about twice


# ---- the number of bytes -------------------------------------------------------------------------


def run_numbers(submission: Solution, s: Sampler) -> Data:
    """The number for every trial, or how it stopped; whether .grad was filled; what later calls give."""
    n, m = s.integer(4, 9), s.integer(10, 20)
    trials: dict[str, Data] = {}
    filled = False
    for name, (f, _) in TRIALS.items():
        args = _arguments(name, n, m)
        seen = {"found": None, "kind": "", "stopped": ""}
        with hooks_cleared():
            try:
                found = submission(f, *args)
                seen = {"found": _number(found), "kind": type(found).__name__, "stopped": ""}
            except Exception as error:
                if not trials:
                    raise  # nothing is known yet: the error is what there is to say
                seen["stopped"] = ended_in(error)
        filled = filled or any(isinstance(a, Tensor) and a.grad is not None for a in args)
        trials[name] = seen
    found = {"trials": trials, "filled": filled, "let_go": _lets_go(submission)}
    return {**found, "again": _asked_again(submission)}


def _number(found: Any) -> Any:
    return found if isinstance(found, int | float) else None


def _lets_go(submission: Solution) -> bool:
    """Whether what was counted of an intermediate is gone when f itself has let go of it."""
    left: list[str] = []

    def f(x: Tensor) -> Tensor:
        watch = Watch()
        y = watch.over(torch.exp(x))
        z = torch.sin(y)
        del y
        left.append(watch.left)
        return z

    with hooks_cleared(), contextlib.suppress(RuntimeError, TypeError):
        return bool(_number(submission(f, torch.ones(4, requires_grad=True)))) and left == [""]
    return False


def _asked_again(submission: Solution) -> list[Arguments]:
    """Numbers for tensors that all live at once, and for the same ones when asked again.

    So many, that some lie where no earlier call has seen memory: whether one does is chance.
    """
    tensors = [torch.ones(k, requires_grad=True) for k in _ASKED_TWICE]
    with hooks_cleared(), contextlib.suppress(RuntimeError, TypeError):
        first, again = ([_number(submission(torch.sin, x)) for x in tensors] for _ in range(2))
        return list(zip(first, again, strict=True))
    return []


def judge_numbers(data: Data, right: Data) -> Cause | None:
    """Every number is that of the distinct storages, an int, and the same when asked again."""
    if data["filled"]:
        return Cause("experiment/backward-inside", rule="mutates-input", at=("backward",))
    if any(first != last for first, last in data["again"]):
        return Cause("experiment/remembers")
    if data["let_go"]:
        return Cause("experiment/let-go", symptom=False)
    for name, seen in data["trials"].items():
        if seen["stopped"]:
            return Cause(
                "experiment/stops", {"trial": name}, {"original": seen["stopped"]}, "raises"
            )
        meant = right["trials"][name]["found"]
        if seen["found"] != meant or seen["kind"] != "int":
            facts = {"trial": name, "found": seen["found"], "right": meant, "kind": seen["kind"]}
            facts["other"] = seen["kind"] != "int"
            shown = {"inputs": {"f": name}, "actual": str(seen["found"]), "expected": str(meant)}
            return Cause("experiment/number", facts, shown)
    return None


# ---- nothing outlasts the call -------------------------------------------------------------------


def run_left(submission: Solution, s: Sampler) -> Data:
    """How many tensors and hooks are left of a call, and of one that stops with an error."""
    data: Data = {}
    for when, stops in (("", False), (" after an error", True)):
        watch = Watch()

        def f(x: Tensor, watch: Watch = watch, stops: bool = stops) -> Tensor:
            y = watch.over(torch.exp(x))
            if stops:
                raise Stop
            return y

        with hooks_cleared() as left, contextlib.suppress(Stop):
            submission(f, s.normal(8, 8).requires_grad_(True))
        data |= {f"hooks{when}": left[0], f"tensors{when}": watch.left}
    return data


def judge_left(data: Data, right: Data) -> Cause | None:
    """No tensor and no hook outlasts the call."""
    for key, left in data.items():
        if left:
            what, *error = key.split(" ", 1)
            code = f"experiment/{what}-left{'-after-error' * len(error)}"
            rule = "shared-state" if what == "hooks" else "saves-on-ctx"
            return Cause(code, rule=rule, at=("__enter__", "enter_context"))
    return None


_NUMBERS = "the bytes of distinct storage are counted"

SAVED_BYTES = Exercise(
    name="saved_bytes",
    summary="the bytes of distinct storage that autograd keeps for backward of f(*args).",
    signature="(f, *args)",
    reference=distinct_bytes,
    cases=(),
    hints=(
        "autograd shows every tensor that it saves to a pack hook. What do you have to note there, so "
        "that a tensor that is saved twice, or through a view, counts once?",
        "A dict from the storage's address to its bytes: tensor.untyped_storage() has data_ptr() and "
        "nbytes(). Run f(*args) in a with block of torch.autograd.graph.saved_tensors_hooks(pack, "
        "unpack).",
        "def pack(t): storage = t.untyped_storage(); found[storage.data_ptr()] = storage.nbytes(); "
        "return t.detach(). unpack returns what it gets. Then sum(found.values()).",
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario(_NUMBERS, "value", run_numbers, judge_numbers),
        Scenario(
            "nothing outlasts the call", "saves-on-ctx", run_left, judge_left,
            needs=(f"scenario {_NUMBERS}",),
        ),
    ),
)  # fmt: skip
