"""saved_bytes of lesson 06: the exercise, what it is tried on, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograder.exercise import Exercise, Sampler, Scenario
from autograder.exercises import saved_bytes_left as left
from autograder.exercises.measuring import hooks_cleared
from autograder.exercises.saved_bytes_calls import (
    nothing_stays,
    watching,
    without_memory,
    words_of_call,
    words_of_memory,
)
from autograder.exercises.saved_bytes_counts import (
    INTERMEDIATE,
    LEFT_OUT_HINT,
    distinct_bytes,
    packed_by,
    result_bytes,
    words_of_left_out,
    words_of_nothing,
    words_of_slips,
    words_of_unit,
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
        data |= {"again": None, "outlasts": [], "same": None, "emptied": None}
        seen, watched = watching(f, args)
        with hooks_cleared() as left:
            try:
                found = submission(watched, *args)
                data["kind"] = type(found).__name__
                data["found"] = found if isinstance(found, int | float) else None
                other, others = TRIALS[trial](
                    n, m
                )  # args are still there: what is kept of them counts
                again = submission(other, *others)
                data["again"] = again if isinstance(again, int | float) else None
                data |= without_memory(submission, f, args)
            except NotImplementedError:
                raise
            except (RuntimeError, TypeError) as error:
                known = "Output of saved tensor" in str(error) or seen["one_tuple"]
                if isinstance(error, TypeError) and not known:
                    raise
                data["error"] = str(error)[:300]
                data["freed"] = nothing_stays(submission)
        if data["found"] == 0 and not data["error"]:
            data["intermediate"] = _intermediate_counts(submission)
        return {**data, "left": left[0], "seen": seen}

    return run


def _intermediate_counts(submission: Callable[..., Any]) -> int | float:
    """What is counted of the result of exp, which is no leaf and has INTERMEDIATE bytes."""
    with hooks_cleared():
        found = submission(torch.exp, torch.ones(INTERMEDIATE // 4, requires_grad=True))
    return found if isinstance(found, int | float) else 0


def judge_trial(trial: str) -> Callable[[dict[str, Any]], Verdict]:
    """A judge of that number."""

    def judge(data: dict[str, Any]) -> Verdict:
        if data["error"] and data["seen"]["one_tuple"]:
            return (
                "f gets all its arguments as one tuple: it is called as f(args), where f(*args) is meant.",
                "The star takes them apart again: f(*args).",
                {"original": data["error"]},
            )
        if data["error"] and data.get("freed"):
            return (
                "pack hands back nothing of the tensor that it gets, so what f makes does not stay alive: its memory "
                f"may be used again, and two storages then count as one. For {trial} it stops, because unpack has no "
                "tensor.",
                "Let pack return tensor.detach(): it keeps the storage, so that its address is its own until all is "
                "counted, and unpack gives it back.",
                {"original": data["error"]},
            )
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
            return words_of_memory(data, right) or _judge_repeated(data)
        if (remembered := words_of_memory(data, right)) is not None:
            return remembered
        unit = words_of_unit(data["found"], right)
        evidence = {
            "inputs": {"f": trial, "shape": f"({data['n']}, {data['m']})"},
            "actual": data["found"],
            "expected": right,
        }
        if unit:
            return unit, "Return the sum of nbytes() as it is, an int.", evidence
        if said := words_of_call(data["seen"], trial, data["found"], right):
            return *said, evidence
        if said := words_of_slips(packed, result_bytes(f, args), data["found"]):
            return *said, evidence
        if not data["found"] and (said := words_of_nothing(packed, data.get("intermediate", 0))):
            return *said, evidence
        if not data["found"]:
            return (
                f"For {trial} nothing is counted, where {right} bytes are kept.",
                "f ran inside hooks, with its arguments as they were passed. Look at what becomes of it: a leaf "
                "counts like any other tensor, a weak reference is empty once the result of f is gone, and "
                "bytes // 1024 is 0 for a small tensor.",
                evidence,
            )
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
    if data["again"] != data["found"] and data["again"] != 2 * data["found"]:
        return (
            f"The first call is right, a second one gives {data['again']} bytes where {data['found']} are kept: "
            "the number depends on more than f and its arguments.",
            "Addresses tell storages apart only while these are alive: let pack return tensor.detach(), which "
            "keeps the storage, not a copy of it. And begin each call with a dict of its own.",
            {"actual": data["again"], "expected": data["found"]},
        )
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
        _trial("torch.sin(x)", True),
        Scenario(
            "no .grad is left behind",
            "mutates-input",
            left.run_tidy,
            left.judge_tidy,
            visible=True,
            needs=_NEEDS,
        ),
        *(_trial(trial, trial in _VISIBLE) for trial in TRIALS if trial != "torch.sin(x)"),
        Scenario(
            "what was measured is let go",
            "saves-on-ctx",
            left.run_release,
            left.judge_release,
            visible=True,
            needs=_NEEDS,
        ),
        Scenario(
            "an error in f takes the hooks off as well",
            "shared-state",
            left.run_stopped,
            left.judge_stopped,
            needs=_NEEDS,
        ),
    ),
)
