"""save_in_bfloat16 of lesson 06: inside the block, float32 intermediates are kept as bfloat16."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Exercise, Sampler, Scenario, sentences_beside
from autograder.exercises.checkpointing.measuring import (
    ROUNDED,
    SAME,
    Stop,
    Watch,
    hooks_are_on,
    hooks_cleared,
    saved_by,
    what_comes_back,
)
from autograder.observation.compare import close
from autograder.running.watching import Storages, Watching


def entered(submission: Callable[..., Any]) -> AbstractContextManager[Any]:
    """The context manager; TypeError where the submission gives none."""
    manager = submission()
    if not hasattr(manager, "__enter__"):
        raise TypeError(f"save_in_bfloat16() gives a {type(manager).__name__}")
    return manager


# ---- it is a context manager, and backward runs on what it keeps ---------------------------------


def run_block(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """What the call gives, whether hooks are on inside, and an output and gradients through the block."""
    with hooks_cleared():
        manager = submission()
        if not hasattr(manager, "__enter__"):
            return {"kind": type(manager).__name__}
        x = s.normal(5, 4).float()
        leaf = x.clone().requires_grad_(True)
        with manager:
            y = torch.sin(torch.sin(leaf))
            on = hooks_are_on()
        back = ""
        try:
            for again in (True, False):
                torch.autograd.grad(y.sum(), leaf, retain_graph=again)
        except RuntimeError:
            back = what_comes_back(y.grad_fn, torch.sin(x))
            if not back.startswith("its shape"):
                raise  # the error itself says more
    return {"kind": "", "hooks": on, "x": x, "y": y.detach().clone(), "back": back}


def judge_block(data: dict[str, Any]) -> Cause | None:
    """with save_in_bfloat16(): … works, it changes no value, and backward runs, twice if need be."""
    if data["kind"]:
        code = "generator" if data["kind"] == "generator" else "no-manager"
        return Cause(f"experiment/{code}", {"kind": data["kind"]})
    if not close(data["y"], torch.sin(torch.sin(data["x"])), torch.float32):
        return Cause("experiment/values-change")
    if data["back"]:
        facts = {"kind": "an intermediate", "found": data["back"]}
        return Cause("experiment/comes-back", facts, rule="raises")
    return None


# ---- what is kept of each kind of tensor, and what comes back ------------------------------------

_MAKERS: dict[str, dict[str, Callable[[Tensor], Tensor]]] = {
    "held": {  # all of x, a leaf: nothing is kept beside it
        "a parameter": lambda x: x,
        "a view of a parameter": lambda x: x.t(),
        "a row of a parameter": lambda x: x[3:],
        "a view of a view of a parameter": lambda x: x.t()[2:],
        "an input that requires no grad": lambda x: x.detach(),
    },
    "made": {  # of a new tensor: rounded, 2 bytes an element
        "an intermediate": lambda x: x * 1.5,
        "an intermediate of one number": lambda x: x.sum(),
        "an intermediate of one dimension": lambda x: x[0] * 1.5,
        "an intermediate of three dimensions": lambda x: x.reshape(2, -1, x.shape[1]) * 1.5,
        "a transposed intermediate": lambda x: (x * 1.5).t(),
        "a reshaped intermediate": lambda x: (x * 1.5).reshape(-1),
        "rows of an intermediate": lambda x: (x * 1.5)[3:],
        "a view of a view of an intermediate": lambda x: (x * 1.5).t()[2:],
        "every second column of an intermediate": lambda x: (x * 1.5)[:, ::2],
        "an expanded intermediate": lambda x: x.sum(1, keepdim=True).expand(x.shape),
    },
    "other": {  # of another dtype: left alone
        "float64": lambda x: x.to(torch.float64) * 1.0,
        "float16": lambda x: x.to(torch.float16) * 1.0,
        "bfloat16": lambda x: x.to(torch.bfloat16) * 1.0,
        "complex64": lambda x: x.to(torch.complex64) * 1.0,
    },
}
_INDEXED: dict[str, Callable[[Tensor], Tensor]] = {
    "bool": lambda x: torch.where(x > 0, x, 0.0),
    "int64": lambda x: x[torch.tensor([2, 0])],
}


def run_kinds(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Of each kind of tensor that is saved: the bytes kept besides, and what unpack gives back.

    What comes back is asked for once all is saved, from the first to the last, and then again.
    """
    x = s.normal(40, 30).float().requires_grad_(True)
    kinds = [(group, name, make) for group, made in _MAKERS.items() for name, make in made.items()]
    found: dict[str, dict[str, dict[str, Any]]] = {group: {} for group in _MAKERS}
    saved: list[tuple[dict[str, Any], Tensor, Any]] = []
    with hooks_cleared(), entered(submission):
        hooks = hooks_are_on()
        for group, name, make in kinds:
            with Storages() as storages:
                tensor = make(x)
                right = tensor.detach().clone()
                y = torch.sin(tensor) if tensor.requires_grad else x * tensor
                del tensor
            seen: dict[str, Any] = {"bytes": storages.alive(x, y, right), "elements": right.numel()}
            found[group][name] = seen
            saved.append((seen, right, y.grad_fn))
        for name, use in _INDEXED.items():
            found["other"][name] = {"bytes": 0, "elements": 0}
            y = use(x)
            saved.append((found["other"][name], saved_by(y.grad_fn).clone(), y.grad_fn))
        address = _at_an_old_address(x)
    for when in ("back", "back again"):
        for seen, right, node in saved:
            seen[when] = what_comes_back(node, right)
    return {**found, "address": address, "hooks": hooks}


class _Copies(Watching):
    """Every bfloat16 tensor that an operation made while the mode was on."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Tensor] = []

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        self.made += [t for t in tensors if t.dtype == torch.bfloat16]


def _at_an_old_address(x: Tensor) -> str:
    """What comes back of a bfloat16 tensor that lies where a rounded copy lay, whose graph is gone.

    Whether the allocator gives an address again is chance: so the memory is held, and the other tensor
    is put there.
    """
    z = x.detach().bfloat16().requires_grad_(True)
    with _Copies() as copies:
        torch.sin(1.5 * x)
    if not copies.made or copies.made[-1].shape != z.shape:
        return SAME
    placed = copies.made[-1].detach().copy_(z)
    return what_comes_back(torch.sin(placed).grad_fn, placed.detach().clone())


def judge_bytes(data: dict[str, Any]) -> Cause | None:
    """Float32 intermediates are kept in half of their bytes, what the caller holds is not copied."""
    made, held = data["made"], data["held"]
    plain = made["an intermediate"]
    if plain["back"] not in (ROUNDED, SAME):  # then what comes back says more
        return None
    for name, seen in held.items():
        if seen["bytes"] > 64:
            facts = {"kind": name, "bytes": seen["bytes"]}
            full = plain["bytes"] >= 4 * plain["elements"]
            return Cause(f"experiment/{'wrong-way-round' if full else 'copied'}", facts)
    for name, seen in made.items():
        whole = "view" in name or "rows" in name  # all of the memory that it looks into
        allowed = 2 * max(seen["elements"], plain["elements"] if whole else 0)
        if seen["bytes"] > allowed:
            code = "kept-whole" if seen["back"] == SAME else "kept-besides"
            facts = {"kind": name, "bytes": seen["bytes"], "allowed": allowed}
            return Cause(f"experiment/{code if data['hooks'] else 'no-hooks'}", facts)
    return None


def judge_back(data: dict[str, Any]) -> Cause | None:
    """Backward gets float32 intermediates rounded, everything else as it was, as often as it asks."""
    right = {"held": SAME, "made": ROUNDED, "other": SAME}
    if data["address"] != SAME and data["other"]["bfloat16"]["back"] == SAME:
        return Cause("experiment/told-by-address", rule="shared-state", symptom=False)
    for when in ("back", "back again"):
        for group, wanted in right.items():
            for name, seen in data[group].items():
                found = seen[when]
                if found == wanted or (name == "an intermediate of one number" and found == SAME):
                    continue
                facts = {"kind": name, "found": found, "when": when}
                evidence = {"actual": found, "expected": wanted}
                if when == "back again":
                    return Cause("experiment/second-time", facts, evidence)
                code = "other-dtype" if group == "other" else "comes-back"
                return Cause(f"experiment/{code}", facts, evidence)
    return None


# ---- nothing outlasts the block --------------------------------------------------------------------


def _settings() -> dict[str, Any]:
    return {
        "saved-tensor hooks": hooks_are_on(),
        "the default dtype": str(torch.get_default_dtype()),
        "grad mode": torch.is_grad_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
    }


def run_after(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """What is different after a block, and after one that an error ends; and what memory is left."""
    data: dict[str, Any] = {"swallowed": False}
    for when, stops in (("after the block", False), ("after an error in the block", True)):
        before, watch = _settings(), Watch()
        with hooks_cleared(), Storages() as storages:
            try:
                with entered(submission):
                    x = s.normal(8, 8).float().requires_grad_(True)
                    y = watch.over(torch.exp(torch.sin(x)))
                    if stops:
                        raise Stop
                data["swallowed"] = stops
            except Stop:
                pass
            del x, y
            changed = [name for name, value in _settings().items() if value != before[name]]
        data[when] = {"changed": changed, "left": watch.left, "bytes": storages.alive()}
    return data


def judge_after(data: dict[str, Any]) -> Cause | None:
    """After the block, also after an error in it, nothing is different."""
    if data["swallowed"]:
        return Cause("experiment/error-swallowed")
    for when in ("after the block", "after an error in the block"):
        seen = data[when]
        if seen["changed"]:
            at = ("__enter__", "enter_context")
            return Cause("experiment/still-on", {"when": when, "names": seen["changed"]}, at=at)
        if seen["bytes"]:
            facts = {"when": when, "bytes": seen["bytes"]}
            return Cause("experiment/memory-left", facts, rule="saves-on-ctx")
    return None


def run_release(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """What stays of a result that is dropped inside the block, for a dtype that is rounded and one that is not."""
    data: dict[str, Any] = {}
    with hooks_cleared(), entered(submission):
        for dtype in (torch.float32, torch.float64):
            watch = Watch()
            with Storages() as storages:
                x = s.normal(8, 8).to(dtype).requires_grad_(True)
                y = watch.over(torch.exp(x))
            del x, y
            name = str(dtype).removeprefix("torch.")
            data[name] = {"left": watch.left, "bytes": storages.alive()}
    return data


def judge_release(data: dict[str, Any]) -> Cause | None:
    """A result that is dropped without backward frees its memory."""
    for name, seen in data.items():
        if seen["bytes"]:
            codes = {"itself": "holds-itself", "memory": "memory-held"}
            code = codes.get(seen["left"], "copy-held")
            return Cause(f"experiment/{code}", {"dtype": name, "bytes": seen["bytes"]})
    return None


_FIRST = "it is a context manager, and backward runs"
_RUNS = (f"scenario {_FIRST}",)
_BYTES = "float32 intermediates, and nothing else, are kept in half of their bytes"

SAVE_IN_BFLOAT16 = Exercise(
    name="save_in_bfloat16",
    lesson="06_checkpointing",
    summary="inside the block, float32 intermediates are kept for backward as bfloat16.",
    signature="()",
    reference=contextlib.nullcontext,  # what a block is without it
    cases=(),
    hints=(
        "The same hooks that measured can change what is kept. Which tensors are worth rounding: all of "
        "them, or those that live only because the graph holds them?",
        "pack: float32, not a leaf, and not a view of a leaf (tensor._is_view() and tensor._base.is_leaf) "
        "becomes bfloat16; everything else stays. Return a pair, so that unpack knows which it was.",
        "pack returns (True, t.to(torch.bfloat16)) or (False, t.detach()); unpack((rounded, t)) returns "
        "t.to(torch.float32) if rounded else t. Return saved_tensors_hooks(pack, unpack).",
    ),
    is_function=True,
    second_order="not-judged",
    gradcheck=False,
    may_use_autograd=True,
    scenarios=(
        Scenario(_FIRST, "value", run_block, judge_block, needs=(), given=("x",)),
        Scenario(_BYTES, "saves-too-much", run_kinds, judge_bytes, needs=_RUNS, given=("elements",)),
        Scenario(
            "backward gets them as float32, and everything else as it was",
            "gradient-value", run_kinds, judge_back,
            needs=(*_RUNS, f"scenario {_BYTES}"), given=("elements",),
        ),
        Scenario("nothing outlasts the block", "shared-state", run_after, judge_after, needs=_RUNS),
        Scenario(
            "a result that is dropped frees its memory", "saves-on-ctx", run_release, judge_release, needs=_RUNS,
        ),
    ),
    sentences=sentences_beside(__file__),
)  # fmt: skip
