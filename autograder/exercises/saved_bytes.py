"""saved_bytes of lesson 06: the exercise, what it is tried on, and how it is judged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
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
from autograder.exercises.saved_bytes_trials import ROWS, TRIALS
from autograder.exercises.second_order import Verdict

LESSON = "06_checkpointing"


def run_trial(trial: str) -> Callable[[Callable[..., Any], Sampler], dict[str, Any]]:
    """A run that asks the submission for the bytes of one trial, and again of another like it."""

    def run(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        n, m = s.integer(4, 9), s.integer(10, 20)
        f, args = TRIALS[trial](n, m)
        data: dict[str, Any] = {"n": n, "m": m, "found": None, "kind": "", "error": ""}
        data["again"] = None
        with hooks_cleared() as left:
            try:
                found = submission(f, *args)
                data["kind"] = type(found).__name__
                data["found"] = found if isinstance(found, int | float) else None
                other, others = TRIALS[trial](
                    n, m
                )  # args are still there: what is kept of them counts
                again = submission(other, *others)
                data["again"] = again if isinstance(again, int | float) else None
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
            return _judge_repeated(data)
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


def _judge_repeated(data: dict[str, Any]) -> Verdict:
    """A number that is right, from a function that may be called more than once."""
    if data["again"] != data["found"]:
        return (
            f"The first call is right, a second one gives {data['again']} bytes where {data['found']} are "
            "kept: what the first one noted is still there.",
            "Begin each call with a dict of its own. A default argument (seen={}) is made once, with the "
            "function, and a global once for all.",
            {"actual": data["again"], "expected": data["found"]},
        )
    if data["kind"] == "float":
        return (
            "The result is a float; a number of bytes is an int.",
            "nbytes() gives ints, and sum() of ints is one.",
            {"actual": str(float(data["found"])), "expected": str(int(data["found"]))},
        )
    return None


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


class _Stop(Exception):
    """Ends f in the middle."""


def run_stopped(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """How many hooks are still on after an f that stops with an error."""

    def f(x: Tensor) -> Tensor:
        raise _Stop(torch.sin(x))

    with hooks_cleared() as left, contextlib.suppress(_Stop):
        submission(f, s.normal(4, 4).requires_grad_(True))
    return {"left": left[0]}


def judge_stopped(data: dict[str, Any]) -> Verdict:
    """An error ends the measurement, too."""
    if not data["left"]:
        return None
    return (
        "When f stops with an error the hooks stay on, and see all that is saved from then on.",
        "A with block takes them off whatever happens inside it. Who calls __enter__ and __exit__ by hand "
        "needs try and finally.",
        {"left": data["left"]},
    )


_FIRST = "the bytes of torch.sin(x)"
_NEEDS = (f"scenario {_FIRST}",)


def _trial(trial: str, visible: bool = False) -> Scenario:
    name = f"the bytes of {trial}"
    needs = () if name == _FIRST else _NEEDS
    return Scenario(name, "value", run_trial(trial), judge_trial(trial), visible, needs)


_VISIBLE = ("torch.sin(x)", "x * x", "torch.sin(torch.exp(x))", "x + 1", "torch.sin(x[0])", ROWS)

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
        Scenario(
            "an error in f takes the hooks off as well",
            "shared-state",
            run_stopped,
            judge_stopped,
            needs=_NEEDS,
        ),
    ),
)
