"""saved_bytes of lesson 06: the bytes of distinct storage that autograd keeps for backward."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
)
from autograder.contract.functions import SAVING
from autograder.exercises.checkpointing.measuring import Stop, Watch, hooks_cleared
from autograder.exercises.common_cases import cases_of, drawing, some, told
from autograder.observation.observation import Named
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


# ---- what one call leaves to the next ------------------------------------------------------------

_ASKED_TWICE = range(30, 500, 30)  # elements of the tensors that are asked about twice


def run_calls(submission: Solution, s: Sampler) -> Data:
    """What later calls give, and whether pack lets its tensors go."""
    return {"again": _asked_again(submission), "let_go": _lets_go(submission)}


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


def judge_calls(data: Data, right: Data) -> Cause | None:
    """Asked again it gives the same, and what it counts is alive."""
    if any(first != last for first, last in data["again"]):
        return Cause("experiment/remembers")
    return Cause("experiment/let-go", symptom=False) if data["let_go"] else None


# ---- nothing outlasts the call -------------------------------------------------------------------


def run_left(submission: Solution, s: Sampler) -> Data:
    """How many tensors and hooks are left of a call, and of one that stops with an error; whether that comes out."""
    found: Data = {}
    swallowed = False
    for when, stops in (("", False), (" after an error", True)):
        watch = Watch()

        def f(x: Tensor, watch: Watch = watch, stops: bool = stops) -> Tensor:
            y = watch.over(torch.exp(x))
            if stops:
                raise Stop
            return y

        with hooks_cleared() as left, contextlib.suppress(Stop):
            submission(f, s.normal(8, 8).requires_grad_(True))
            swallowed = stops
        found |= {f"hooks{when}": left[0], f"tensors{when}": watch.left}
    return {"left": found, "swallowed": swallowed}


def judge_left(data: Data, right: Data) -> Cause | None:
    """No tensor and no hook outlasts the call, and an error of f goes on to the caller."""
    if data["swallowed"]:
        return Cause("experiment/error-swallowed", rule="shared-state")
    for key, left in data["left"].items():
        if left:
            what, *error = key.split(" ", 1)
            code = f"experiment/{what}-left{'-after-error' * len(error)}"
            rule = "shared-state" if what == "hooks" else "saves-on-ctx"
            return Cause(code, rule=rule, at=("__enter__", "enter_context"))
    return None


_case = cases_of(lambda s, f, *given: (Named(f), *drawing(*given)(s)), wants=(1,))
_several = partial(
    _case, role="special"
)  # operations, or outputs, that not every way to count takes
_X = some(5, 12)

SAVED_BYTES = Exercise(
    **told("saved_bytes"),
    reference=distinct_bytes,
    noncontiguous=False,  # what is kept of a tensor depends on where its numbers lie
    cases=(
        *(_case(words, words, _X) for words in SAVING),
        _case("a product with data that needs no gradient", "product with data", _X, _X),
        _several(
            "two tensors, a number, two outputs", "product and sine", _X, 2.5, _X, wants=(1, 3)
        ),
        _several("a function that takes a gradient inside", "gradient inside", _X),
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario("each call counts anew", "value", run_calls, judge_calls, needs=(), first=True),
        Scenario(
            "nothing outlasts the call", "saves-on-ctx", run_left, judge_left, needs=("output_value",)
        ),
    ),
)  # fmt: skip
