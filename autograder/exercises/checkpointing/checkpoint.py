"""Checkpoint of lesson 06: fn(*args) with nothing kept but the arguments; backward runs fn again."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Cause, Exercise, Sampler, Scenario

from autograder.contract.exercise import bytes_of, sentences_beside  # isort: skip
from autograder.contract.functions import resolve
from autograder.exercises.checkpointing.measuring import RANDOM_STATE_BYTES, called_from
from autograder.exercises.second_losses import SENTENCES, second_losses
from autograder.observation.compare import both, close, ratio
from autograder.observation.observation import Named
from autograder.running.watching import Storages


def plain_call(fn: Any, *args: Any) -> Any:
    """fn(*args); fn may still be a name, as in a question."""
    return (resolve(fn) if isinstance(fn, Named) else fn)(*args)


def _allowed(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    """The tensor arguments and one random state."""
    return bytes_of(*(a for a in args if isinstance(a, Tensor))) + RANDOM_STATE_BYTES


# ---- fn gets the same arguments again --------------------------------------------------------------

_NAMES = ["args[0]", "1.5", "args[2]", "True", "args[4]", "'mode'"]


def run_arguments(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The arguments of each call of fn, by their place among those that were passed; -1 for none of them.

    fn takes whatever comes, so that it runs on.
    """
    first, second, third = (s.normal(3) for _ in range(3))
    given: list[Any] = [first, 1.5, second, True, third, "mode"]
    calls: list[list[int]] = []

    def same(value: Any, each: Any) -> bool:
        if isinstance(each, Tensor):
            return isinstance(value, Tensor) and torch.equal(value.detach(), each)
        return type(value) is type(each) and value == each

    def fn(*args: Any) -> Tensor:
        calls.append([next((i for i, g in enumerate(given) if same(a, g)), -1) for a in args])
        return sum((torch.sin(a) for a in args if isinstance(a, Tensor)), torch.zeros_like(first))

    leaves = [t.clone().requires_grad_(True) if isinstance(t, Tensor) else t for t in given]
    y = checkpoint(fn, *leaves)
    with contextlib.suppress(RuntimeError, TypeError, IndexError, ValueError):
        y.sum().backward()
    return {"calls": calls}


def judge_arguments(data: dict[str, Any]) -> Cause | None:
    """fn gets the same arguments again, each at its place."""
    right = list(range(len(_NAMES)))
    if len(data["calls"]) < 2 or data["calls"][0] != right or data["calls"][1] == right:
        return None
    came = ", ".join(_NAMES[i] if i >= 0 else "something else" for i in data["calls"][1])
    evidence = {"actual": f"fn({came})", "expected": f"fn({', '.join(_NAMES)})"}
    return Cause("experiment/other-arguments", {"came": came}, evidence)


# ---- what is kept, and how often fn runs -------------------------------------------------------------


def run_memory(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
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


def judge_memory(data: dict[str, Any]) -> Cause | None:
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

_OF = ("args[1]", "a weight that fn captures", "a module's weight", "a frozen parameter")


def _step(apply: Callable[..., Any], given: list[Tensor], create_graph: bool) -> list[Any]:
    """Gradients of a backward through three calls, two of which share a weight."""
    x, weight, inner, frozen, *upstream = (t.clone() for t in given)
    module = torch.nn.Linear(4, 4, bias=False, dtype=torch.float64)
    module.weight.data = inner
    leaves = (x.requires_grad_(True), weight.requires_grad_(True), module.weight, frozen)

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


def run_training(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Gradients after loss.backward(): of a leaf argument and of captured parameters; None where it is refused."""
    given = [s.normal(3, 4), s.normal(4, 4), s.normal(4, 4), s.normal(4)]
    given += [s.normal(3, 4) for _ in range(3)]
    plain, with_graph = _step(checkpoint, given, False), None
    with warnings.catch_warnings(), contextlib.suppress(Exception):  # which error, others judge
        warnings.simplefilter("ignore")  # of a reference cycle, which the step breaks
        with_graph = _step(checkpoint, given, True)
    return {"given": given, "plain": plain, "with_graph": with_graph}


def judge_training(data: dict[str, Any]) -> Cause | None:
    """Every gradient arrives, each once; with create_graph=True as well, or it is refused."""
    right = _step(plain_call, data["given"], False)
    for how, found in (("", data["plain"]), ("create_graph=True", data["with_graph"] or right)):
        pairs = list(zip(found, right, _OF, strict=True))
        facts = {"how": how, "graph": bool(how)}
        for got, wanted, name in pairs[1:3]:
            if got is None or not bool(got.any()):
                at, rule = ("parameters", "grad", "backward"), "parameters-without-gradient"
                facts |= {"name": name}
                return Cause("experiment/left-out", facts, both(got, wanted), rule, at)
        for got, wanted, name in pairs:
            if not (got is wanted is None or close(got, wanted)):
                facts |= {"name": name, "ratio": ratio(got, wanted)}
                return Cause(
                    "experiment/gradient-wrong", facts, both(got, wanted), "gradient-value"
                )
    return None


# ---- random numbers ------------------------------------------------------------------------------------


def run_random(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """From which random states fn draws, and which ones forward and backward leave, by their names.

    "before": as forward found it · "after": as fn alone leaves that · "found": as backward found it ·
    "seed": as torch.manual_seed left it, some draws earlier
    """
    x, known = s.normal(6, 5).requires_grad_(True), dict[str, Tensor]()
    drew: list[str] = []
    fails = [False]

    def state() -> str:
        now = torch.get_rng_state()
        return next((name for name, noted in known.items() if torch.equal(noted, now)), "other")

    def note(name: str) -> None:
        known[name] = torch.get_rng_state()

    def fn(h: Tensor) -> Tensor:
        drew.append(state())
        noise = torch.rand(h.shape, dtype=h.dtype)
        if fails[0]:
            raise ArithmeticError
        return h * noise

    torch.manual_seed(s.integer(0, 10_000))
    note("seed")
    torch.rand(5)
    note("before")
    torch.rand(x.shape, dtype=x.dtype)
    note("after")
    torch.set_rng_state(known["before"])
    y = checkpoint(fn, x)
    left = {"forward": state()}
    for when in ("backward", "an error in backward"):
        torch.rand(7)
        note("found")
        fails[0] = when != "backward"
        with contextlib.suppress(ArithmeticError):
            torch.autograd.grad(y.sum(), x, retain_graph=True)
        left[when] = state()
    return {"drew": drew, "left": left}


# What each state must be: (when, the state it must be, words for the code, calls that may be at fault).
_LEFT = (
    ("forward", "after", "forward", ("fork_rng", "set_rng_state")),
    ("backward", "found", "backward", ("set_rng_state", "manual_seed")),
    ("an error in backward", "found", "error", ("set_rng_state", "manual_seed")),
)
_NOTED = {"after": ("get_rng_state",), "seed": ("initial_seed", "manual_seed")}


def judge_random(data: dict[str, Any]) -> Cause | None:
    """The recomputation draws forward's numbers; the caller's random state is not disturbed."""
    first, *again = data["drew"]
    if first != "before":
        return Cause("experiment/forward-draws-others", at=("manual_seed", "set_rng_state"))
    if others := [state for state in again if state != "before"]:
        at = _NOTED.get(others[0], ("set_rng_state", "manual_seed"))
        return Cause(f"experiment/recompute-draws-{others[0]}", at=at)
    for when, state, words, at in _LEFT:
        if data["left"][when] != state:
            return Cause(f"experiment/{words}-leaves", at=at)
    return None


# ---- the exercise --------------------------------------------------------------------------------------


def _of_two_tensors(apply: Callable[..., Any]) -> Callable[[Tensor, Tensor], Tensor]:
    """A checkpointed function of x and k, with a number between them."""
    return lambda x, k: apply(lambda h, factor, k: factor * torch.sin(h) * k**2, x, 1.5, k)


def _case(
    name: str, fn: str, number: float, make: Callable[[Sampler], tuple[Any, ...]], **more: Any
) -> Case:
    return Case(name, lambda s: (Named(fn, (number,)), *make(s)), **more)


_RIGHT = ("output_value", "gradients_agree")
_MEMORY = "fn runs once more in backward, and nothing but its arguments is kept"
_TRAINING = "every gradient arrives, those of captured parameters too"
_AGAIN = (*_RIGHT, f"scenario {_MEMORY}")

CHECKPOINT = Exercise(
    name="Checkpoint",
    lesson="06_checkpointing",
    summary="fn(*args), with nothing kept but the arguments: backward runs fn again.",
    signature="(fn, *args)",
    reference=plain_call,
    tensors_on_ctx=True,  # the state of the random generator is a tensor
    cases=(
        _case("a function of one tensor", "wave", 0.8, lambda s: (s.away_from(3, 4),)),
        _case("a function of two matrices", "wave_product", 0.7, lambda s: (s.normal(2, 3), s.normal(3, 4))),
        _case(
            "numbers and a bool between the tensors", "scaled_difference", 0.4,
            lambda s: (s.away_from(2, 5), 1.7, s.away_from(2, 5), True),
        ),
        _case(
            "a tensor of whole numbers among the arguments", "picked_rows", 0.9,
            lambda s: (s.away_from(4, 3), (s.distinct(5) > 0).long()),
        ),
        _case(
            "a tensor that fn does not use", "first_of_two", 0.5,
            lambda s: (s.away_from(3), s.away_from(2)), role="special",
        ),
        _case("an empty batch", "wave", 0.6, lambda s: (s.normal(0, 3),), role="empty"),
        _case("a batch of matrices", "wave", 1.1, lambda s: (s.away_from(2, 3, 4),), role="batch"),
        _case("a single number (0-d)", "wave", 0.9, lambda s: (s.away_from(),), role="batch"),
    ),
    budget=_allowed,
    budget_words="the tensor arguments and one random state",
    second_order="right-or-refused",
    may_use_autograd=True,
    hints=(
        "forward already runs without a graph, so nothing inside fn is kept. What does backward need "
        "to build that graph when its time comes, and how does it differentiate it?",
        "backward: the saved tensors, each .detach()ed and made to require grad where "
        "ctx.needs_input_grad says so; fn again under torch.enable_grad(); then torch.autograd.backward"
        "(output, grad_output), which reaches the parameters too. Which random state must hold while fn "
        "runs again?",
        "In forward ctx.state = torch.get_rng_state(). In backward refuse create_graph, then: with "
        "torch.enable_grad(), torch.random.fork_rng(devices=[]): torch.set_rng_state(ctx.state); "
        "output = ctx.fn(*args). Return None for fn, leaf.grad for each tensor, None for the rest.",
    ),
    scenarios=(
        Scenario(
            "fn gets the same arguments again", "gradient-value", run_arguments, judge_arguments,
            needs=(), first=True,
        ),
        Scenario(_MEMORY, "no-recompute", run_memory, judge_memory, needs=_RIGHT, cause=True),
        Scenario(
            _TRAINING, "parameters-without-gradient", run_training, judge_training,
            needs=_AGAIN, cause=True, given=("given",), free=("with_graph",),
        ),
        Scenario(
            "the recomputation draws the same random numbers, and the caller's state is left as it was",
            "random-state", run_random, judge_random, needs=_AGAIN,
        ),
        second_losses(
            _of_two_tensors(plain_call), lambda s: (s.normal(2, 3), s.normal(3)),
            through=_of_two_tensors, needs=(*_AGAIN, f"scenario {_TRAINING}"),
        ),
    ),
    sentences=SENTENCES + sentences_beside(__file__),
)  # fmt: skip
