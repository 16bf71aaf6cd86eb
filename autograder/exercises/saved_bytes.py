"""saved_bytes of lesson 06: the exercise, what it is tried on, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.exercise import Exercise, Sampler, Scenario
from autograder.exercises.measuring import hooks_cleared
from autograder.exercises.saved_bytes_counts import (
    LEFT_OUT_HINT,
    SLIPS,
    distinct_bytes,
    packed_by,
    words_of_left_out,
)
from autograder.exercises.second_order import Verdict

LESSON = "06_checkpointing"


# ---- what it is tried on: sizes in, (f, args) out --------------------------------------------


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


Trial = Callable[[int, int], tuple[Callable[..., Any], tuple[Any, ...]]]


def _x(n: int, m: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.ones(n, m, dtype=dtype, requires_grad=True)


def _detached_slice(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x = torch.ones(n, m, dtype=torch.float64)[:2].detach().requires_grad_(True)
    return (lambda x: torch.sin(x) * x), (x,)


def _masked(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    mask, rows = torch.ones(n, m, dtype=torch.bool), torch.zeros(3, dtype=torch.int64)
    return lambda x: torch.where(mask, x, 0.0)[rows], (_x(n, m, torch.float32),)


def _linear(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layer = torch.nn.Linear(m, 3)
    return lambda x: torch.tanh(layer(x)).sum(), (torch.ones(n, m),)


def _several(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return (lambda x, factor, y: (factor * x * y, torch.sin(y))), (_x(n, m), 2.5, _x(n, m))


def _inner_gradient(n: int, m: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def penalty(x: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad(torch.sin(x).exp().sum(), x, create_graph=True)
        return (slope**2).sum()

    return penalty, (_x(n, m),)


_ROWS = "torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1])"
TRIALS: dict[str, Trial] = {
    "torch.sin(x)": lambda n, m: (torch.sin, (_x(n, m),)),
    "x * x": lambda n, m: ((lambda x: x * x), (_x(n, m),)),
    "torch.sin(torch.exp(x))": lambda n, m: ((lambda x: torch.sin(torch.exp(x))), (_x(n, m),)),
    "x + 1": lambda n, m: ((lambda x: x + 1), (_x(n, m),)),
    "torch.sin(x[0])": lambda n, m: ((lambda x: torch.sin(x[0])), (_x(n, m),)),
    _ROWS: lambda n, m: (
        lambda x: torch.sin(x[0]) + torch.cos(x[0]) + torch.sin(x[1]),
        (_x(n, m),),
    ),
    "the sine of an expanded row": lambda n, m: (
        lambda x: torch.sin(x[0].clone().expand(n, m)),
        (_x(n, m),),
    ),
    "torch.sin(x) * x, where x is a detached slice": _detached_slice,
    "a mask and whole numbers": _masked,
    "a linear layer and tanh": _linear,
    "two tensors, a number, two outputs": _several,
    "a Function that saves three tensors": lambda n, m: (_KeepsThree.apply, (_x(n, m),)),
    "a function that takes a gradient inside": _inner_gradient,
}


def run_trial(trial: str) -> Callable[[Callable[..., Any], Sampler], dict[str, Any]]:
    """A run that asks the submission for the bytes of one trial."""

    def run(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        n, m = s.integer(4, 9), s.integer(10, 20)
        f, args = TRIALS[trial](n, m)
        data: dict[str, Any] = {"n": n, "m": m, "found": None, "kind": "", "error": ""}
        with hooks_cleared() as left:
            try:
                found = submission(f, *args)
                data["kind"] = type(found).__name__
                data["found"] = found if isinstance(found, int | float) else None
            except NotImplementedError:
                raise
            except (RuntimeError, TypeError) as error:
                if isinstance(error, TypeError) and "Output of saved tensor" not in str(error):
                    raise
                data["error"] = str(error)[:300]
        return {**data, "left": left[0]}

    return run


def judge_trial(trial: str) -> Callable[[dict[str, Any]], Verdict]:
    """A judge of that number."""

    def judge(data: dict[str, Any]) -> Verdict:
        if data["error"]:
            return (
                f"For {trial} it stops: {data['error'].splitlines()[0][:140]}",
                "The pack hook and the unpack hook must both return something: unpack gets what pack "
                "returned, and gives the tensor back.",
                {"original": data["error"]},
            )
        if data["left"]:
            return (
                "The hooks are still on when saved_bytes has returned.",
                "Use them in a with block: with torch.autograd.graph.saved_tensors_hooks(pack, unpack).",
                {},
            )
        if data["kind"] not in ("int", "float"):
            return (
                f"The result is no number of bytes but {data['kind']}.",
                "Return a Python int.",
                {},
            )
        f, args = TRIALS[trial](data["n"], data["m"])
        packed = packed_by(f, args)
        right = distinct_bytes(packed)
        if data["found"] == right:
            return None
        evidence = {
            "inputs": {"f": trial, "shape": f"({data['n']}, {data['m']})"},
            "actual": data["found"],
            "expected": right,
        }
        for count, message, hint in SLIPS:
            if data["found"] == count(packed):
                return message, hint, evidence
        if left_out := words_of_left_out(packed, data["found"]):
            return f"For {trial} {left_out}", LEFT_OUT_HINT, evidence
        return (
            f"For {trial} the result is {data['found']} bytes; {right} are kept.",
            "Call f(*args) inside the with block, note every tensor that the pack hook gets, and add "
            "up the bytes of distinct storages.",
            evidence,
        )

    return judge


# ---- nothing is left behind ------------------------------------------------------------------


def run_release(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Whether the tensors of f are freed once saved_bytes has returned."""
    references: list[StorageWeakRef] = []

    def f(x: Tensor) -> Tensor:
        y = torch.exp(x)
        references.append(StorageWeakRef(y.untyped_storage()))
        return y

    with hooks_cleared():
        submission(f, s.normal(8, 8).requires_grad_(True))
    return {"kept": sum(not r.expired() for r in references), "calls": len(references)}


def judge_release(data: dict[str, Any]) -> Verdict:
    """What was measured is let go."""
    if not data["kept"]:
        return None
    return (
        "After saved_bytes has returned, a tensor of f is still in memory.",
        "If the pack hook returns an output itself, the node that made it holds it and it holds the "
        "node: a cycle that Python cannot see. Return tensor.detach() from pack, and keep no tensor in "
        "a global list.",
        {"kept": data["kept"]},
    )


_FIRST = "the bytes of torch.sin(x)"
_NEEDS = (f"scenario {_FIRST}",)


def _trial(trial: str, visible: bool = False) -> Scenario:
    name = f"the bytes of {trial}"
    needs = () if name == _FIRST else _NEEDS
    return Scenario(name, "value", run_trial(trial), judge_trial(trial), visible, needs)


_VISIBLE = ("torch.sin(x)", "x * x", "torch.sin(torch.exp(x))", "x + 1", "torch.sin(x[0])", _ROWS)

SAVED_BYTES = Exercise(
    name="saved_bytes",
    lesson=LESSON,
    summary="the bytes of distinct storage that autograd keeps for backward of f(*args).",
    signature="(f, *args)",
    reference=lambda f, *args: distinct_bytes(packed_by(f, args)),
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
    second_order="not-judged",
    gradcheck=False,
    may_use_autograd=True,
    scenarios=(
        *(_trial(trial, trial in _VISIBLE) for trial in TRIALS),
        Scenario(
            "what was measured is let go",
            "saves-on-ctx",
            run_release,
            judge_release,
            visible=True,
            needs=_NEEDS,
        ),
    ),
)
