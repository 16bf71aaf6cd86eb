"""Checkpoint of lesson 06: fn(*args) with nothing kept but the arguments; backward runs fn again."""

from __future__ import annotations

import contextlib
import warnings
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
    bytes_of,
)
from autograder.contract.functions import resolve
from autograder.exercises.checkpointing.measuring import (
    RANDOM_STATE_BYTES,
    called_from,
    judge_random,
    run_random,
)
from autograder.exercises.common_cases import cases_of, drawing, some, told
from autograder.observation.compare import both, close
from autograder.observation.observation import Named
from autograder.running.watching import Storages


def plain_call(fn: Any, *args: Any) -> Any:
    """fn(*args); fn may still be a name, as in a question."""
    return (resolve(fn) if isinstance(fn, Named) else fn)(*args)


def _allowed(args: Arguments, outputs: Arguments) -> int:
    """The tensor arguments and one random state."""
    return bytes_of(*(a for a in args if isinstance(a, Tensor))) + RANDOM_STATE_BYTES


# ---- fn gets the same arguments again --------------------------------------------------------------


def run_arguments(checkpoint: Solution, s: Sampler) -> Data:
    """The arguments of each call of fn, by their names; fn takes whatever comes, so that it runs on."""
    tensors = {f"args[{place}]": s.normal(3) for place in (0, 2, 4)}
    given: list[Any] = [*tensors.values()]
    calls: list[str] = []

    def named(value: Any) -> str:
        if not isinstance(value, Tensor):
            return repr(value)
        same = (name for name, each in tensors.items() if torch.equal(value.detach(), each))
        return next(same, "something else")

    def fn(*args: Any) -> Tensor:
        calls.append(", ".join(map(named, args)))
        return sum((torch.sin(a) for a in args if isinstance(a, Tensor)), torch.zeros(3).double())

    first, second, third = (t.clone().requires_grad_(True) for t in given)
    y = checkpoint(fn, first, 1.5, second, True, third, "mode")
    with contextlib.suppress(RuntimeError, TypeError, IndexError, ValueError):
        y.sum().backward()
    return {"calls": calls}


def judge_arguments(data: Data, right: Data) -> Cause | None:
    """fn gets the same arguments again, each at its place."""
    (meant,), (first, again) = right["calls"], [*data["calls"], "", ""][:2]
    if first != meant or again in ("", meant):
        return None
    evidence = {"actual": f"fn({again})", "expected": f"fn({meant})"}
    return Cause("experiment/other-arguments", {"came": again}, evidence)


# ---- what is kept, and how often fn runs -------------------------------------------------------------


def run_memory(checkpoint: Solution, s: Sampler) -> Data:
    """Calls of fn, and bytes alive between forward and backward, for a chain of six operations."""
    x = s.normal(64, 32).requires_grad_(True)
    calls: list[bool] = []

    def chain(h: Tensor) -> Tensor:
        calls.append(called_from("torch.utils.checkpoint"))
        for _ in range(6):
            h = torch.sin(h)
        return h

    with Storages() as storages:
        y = checkpoint(chain, x)
        kept = storages.alive(x, y)
    forward = len(calls)
    torch.autograd.grad(y.sum(), x)
    return {
        "forward": forward, "backward": len(calls) - forward, "kept": kept, "ready_made": any(calls),
    }  # fmt: skip


def judge_memory(data: Data, right: Data) -> Cause | None:
    """fn runs once in forward and once in backward, and nothing but its argument is kept."""
    if data["ready_made"]:
        return Cause("experiment/ready-made", rule="uses-builtin", at=("checkpoint",))
    if data["backward"] == 0:
        return Cause("experiment/graph-kept", {"kept": data["kept"]}, at=("enable_grad",))
    for where in ("forward", "backward"):
        if data[where] > 1:
            facts = {"where": where, "runs": data[where]}
            return Cause("experiment/runs-often", facts, rule="too-many-passes")
    if data["kept"] > 2 * RANDOM_STATE_BYTES:
        return Cause("experiment/kept-besides", {"kept": data["kept"]}, rule="saves-too-much")
    return None


# ---- gradients through .backward() -------------------------------------------------------------------

_CAPTURED = ("a weight that fn captures", "a module's weight")
_OF = (*_CAPTURED, "args[1]", "a frozen parameter")


def _step(apply: Solution, given: list[Tensor], create_graph: bool) -> list[Any]:
    """Gradients of a backward through three calls, two of which share a weight."""
    x, weight, inner, frozen, *upstream = (t.clone() for t in given)
    module = torch.nn.Linear(4, 4, bias=False, dtype=torch.float64)
    module.weight.data = inner
    leaves = (weight.requires_grad_(True), module.weight, x.requires_grad_(True), frozen)

    def fn(h: Tensor, factor: float, k: Tensor) -> Tensor:
        return torch.tanh((h * k) @ weight) * factor + frozen

    made = (
        apply(fn, torch.exp(0.3 * x), 0.7, x),  # one argument was made of the other
        apply(fn, x, -0.4, torch.cos(x)),
        apply(module, torch.sin(x)),
    )
    loss = sum((y * g).sum() for y, g in zip(made, upstream, strict=True))
    loss.backward(create_graph=create_graph)
    found = [None if t.grad is None else t.grad.detach().clone() for t in leaves]
    for t in leaves:
        t.grad = None  # a gradient with a graph holds its leaf, which holds the gradient
    return found


def run_training(checkpoint: Solution, s: Sampler) -> Data:
    """Gradients after loss.backward(): of a leaf argument and of captured parameters; None where it is refused."""
    given = [s.normal(3, 4), s.normal(4, 4), s.normal(4, 4), s.normal(4)]
    given += [s.normal(3, 4) for _ in range(3)]
    plain, with_graph = _step(checkpoint, given, False), None
    with warnings.catch_warnings(), contextlib.suppress(Exception):  # which error, others judge
        warnings.simplefilter("ignore")  # of a reference cycle, which the step breaks
        with_graph = _step(checkpoint, given, True)
    return {"plain": plain, "with_graph": with_graph}


def judge_training(data: Data, right: Data) -> Cause | None:
    """Every gradient arrives, each once; with create_graph=True as well, or it is refused."""
    meant = right["plain"]
    for how, found in (("", data["plain"]), ("create_graph=True", data["with_graph"] or meant)):
        for name, got, wanted in zip(_OF, found, meant, strict=True):
            if got is wanted is None or close(got, wanted):
                continue
            facts = {"how": how, "graph": bool(how), "name": name}
            if name in _CAPTURED and (got is None or not bool(got.any())):
                at = ("parameters", "grad", "backward")
                return Cause("experiment/left-out", facts, both(got, wanted), at=at)
            return Cause("experiment/gradient-wrong", facts, both(got, wanted), "gradient-value")
    return None


# ---- the exercise --------------------------------------------------------------------------------------


_case = cases_of(lambda s, fn, number, *given: (Named(fn, (number,)), *drawing(*given)(s)))


_RIGHT = ("output_value", "gradients_agree")
_MEMORY = "fn runs once more in backward, and nothing but its arguments is kept"
_TRAINING = "every gradient arrives, those of captured parameters too"
_AGAIN = (*_RIGHT, f"scenario {_MEMORY}")

CHECKPOINT = Exercise(
    **told("Checkpoint"),
    reference=plain_call,
    tensors_on_ctx=True,  # the state of the random generator is a tensor
    cases=(
        _case("a function of one tensor", "wave", 0.8, some(3, 4)),
        _case("a function of two matrices", "wave_product", 0.7, some(2, 3), some(3, 4)),
        _case(
            "numbers and a bool between the tensors", "scaled_difference", 0.4,
            some(2, 5), 1.7, some(2, 5), True,
        ),
        _case(
            "a tensor of whole numbers among the arguments", "picked_rows", 0.9,
            some(4, 3), lambda s: (s.distinct(5) > 0).long(),
        ),
        _case(
            "a tensor that fn does not use", "first_of_two", 0.5,
            some(3), some(2), role="special",
        ),
        _case("an empty batch", "wave", 0.6, some(0, 3), role="empty"),
        _case("a batch of matrices", "wave", 1.1, some(2, 3, 4), role="batch"),
        _case("a single number (0-d)", "wave", 0.9, some(), role="batch"),
    ),
    budget=_allowed,
    second_order="right-or-refused",
    may_use_autograd=True,
    scenarios=(
        Scenario(
            "fn gets the same arguments again", "gradient-value", run_arguments, judge_arguments,
            needs=(), first=True,
        ),
        Scenario(_MEMORY, "no-recompute", run_memory, judge_memory, needs=_RIGHT, cause=True),
        Scenario(
            _TRAINING, "parameters-without-gradient", run_training, judge_training,
            needs=_AGAIN, cause=True, free=("with_graph",),
        ),
        Scenario(
            "the recomputation draws the same random numbers, and the caller's state is left as it was",
            "random-state", run_random, judge_random, needs=_AGAIN,
        ),
    ),
)  # fmt: skip
