"""save_in_bfloat16 of lesson 06: inside the block, float32 intermediates are kept as bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Data, Exercise, Sampler, Scenario, Solution
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
from autograder.exercises.common_cases import told
from autograder.observation.compare import both, close
from autograder.running.watching import Storages, Watching


def entered(submission: Solution) -> AbstractContextManager[Any]:
    """The context manager; TypeError where the submission gives none."""
    manager = submission()
    if not hasattr(manager, "__enter__"):
        raise TypeError(f"save_in_bfloat16() gives a {type(manager).__name__}")
    return manager


# ---- it is a context manager, and changes no value -----------------------------------------------


def run_block(submission: Solution, s: Sampler) -> Data:
    """What the call gives, and what is computed inside the block."""
    x = s.normal(5, 4).float()
    with hooks_cleared():
        manager = submission()
        if not hasattr(manager, "__enter__"):
            return {"kind": type(manager).__name__}
        with manager:
            y = torch.sin(torch.sin(x.clone().requires_grad_(True)))
    return {"kind": "", "y": y.detach().clone()}


def judge_block(data: Data, right: Data) -> Cause | None:
    """with save_in_bfloat16(): … works, and it changes no value."""
    if data["kind"]:
        generator = data["kind"] == "generator"
        return Cause("experiment/no-manager", {"kind": data["kind"], "generator": generator})
    y, meant = data["y"], right["y"]
    same = close(y, meant, torch.float32)
    return None if same else Cause("experiment/values-change", evidence=both(y, meant))


# ---- what is kept of each kind of tensor, and what comes back ------------------------------------

_HELD, _HALF = 0, 2  # bytes an element that may be kept beside x
_A_NUMBER = 64  # bytes: more than a number takes, and less than any of these tensors

# What is saved: the bytes an element, where that is judged, and how it is made of x, a leaf.
_KINDS: dict[str, tuple[int | None, Callable[[Tensor], Tensor]]] = {
    "a parameter": (_HELD, lambda x: x),
    "a view of a parameter": (_HELD, lambda x: x.t()),
    "a row of a parameter": (_HELD, lambda x: x[3:]),
    "a view of a view of a parameter": (_HELD, lambda x: x.t()[2:]),
    "an input that requires no grad": (_HELD, lambda x: x.detach()),
    "an intermediate": (_HALF, lambda x: x * 1.5),
    "an intermediate of one number": (_HALF, lambda x: x.sum()),
    "an intermediate of one dimension": (_HALF, lambda x: x[0] * 1.5),
    "an intermediate of three dimensions": (_HALF, lambda x: x.reshape(2, -1, 30) * 1.5),
    "a transposed intermediate": (_HALF, lambda x: (x * 1.5).t()),
    "a reshaped intermediate": (_HALF, lambda x: (x * 1.5).reshape(-1)),
    "rows of an intermediate": (_HALF, lambda x: (x * 1.5)[3:]),
    "a view of a view of an intermediate": (_HALF, lambda x: (x * 1.5).t()[2:]),
    "every second column of an intermediate": (_HALF, lambda x: (x * 1.5)[:, ::2]),
    "an expanded intermediate": (_HALF, lambda x: x.sum(1, keepdim=True).expand(x.shape)),
    "float64": (None, lambda x: x.to(torch.float64) * 1.0),
    "float16": (None, lambda x: x.to(torch.float16) * 1.0),
    "bfloat16": (None, lambda x: x.to(torch.bfloat16) * 1.0),
    "complex64": (None, lambda x: x.to(torch.complex64) * 1.0),
}
_INDEXED: dict[str, Callable[[Tensor], Tensor]] = {
    "bool": lambda x: torch.where(x > 0, x, 0.0),
    "int64": lambda x: x[torch.tensor([2, 0])],
}


def run_kinds(submission: Solution, s: Sampler) -> Data:
    """Of each kind of tensor that is saved: the bytes kept besides, and what unpack gives back.

    What comes back is asked for once all is saved, from the first to the last, and then again.
    """
    x = s.normal(40, 30).float().requires_grad_(True)
    found: dict[str, Data] = {}
    saved: list[tuple[Data, Tensor, Any]] = []
    with hooks_cleared(), entered(submission):
        for name, (_, make) in _KINDS.items():
            with Storages() as storages:
                tensor = make(x)
                right = tensor.detach().clone()
                y = torch.sin(tensor) if tensor.requires_grad else x * tensor
                del tensor
            found[name] = {"bytes": storages.alive(x, y, right), "elements": right.numel()}
            saved.append((found[name], right, y.grad_fn))
        for name, use in _INDEXED.items():
            found[name] = {"bytes": 0, "elements": 0}
            y = use(x)
            saved.append((found[name], saved_by(y.grad_fn).clone(), y.grad_fn))
        hooks, address = hooks_are_on(), _at_an_old_address(x)
    for when in ("back", "back again"):
        for seen, right, node in saved:
            seen[when] = what_comes_back(node, right)
    return {"kinds": found, "address": address, "hooks": hooks}


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


def judge_bytes(data: Data, right: Data) -> Cause | None:
    """Float32 intermediates are kept in half of their bytes, what the caller holds is not copied."""
    plain = data["kinds"]["an intermediate"]
    if plain["back"] not in (ROUNDED, SAME):  # then what comes back says more
        return None
    for name, (allowed, _) in _KINDS.items():
        seen = data["kinds"][name]
        whole = "view" in name or "rows" in name  # all of the memory that it looks into
        sizes = (right["kinds"][kind]["elements"] for kind in (name, "an intermediate"))
        elements = max(sizes) if whole else next(sizes)
        if allowed is not None and seen["bytes"] > (most := allowed * elements or _A_NUMBER):
            facts = {"kind": name, "bytes": seen["bytes"], "allowed": most, "copied": not allowed}
            return Cause(
                "experiment/kept-besides",
                {**facts, "whole": seen["back"] == SAME, "off": not data["hooks"]},
            )
    return None


def judge_back(data: Data, right: Data) -> Cause | None:
    """Backward gets float32 intermediates rounded, everything else as it was, as often as it asks."""
    kinds = data["kinds"]
    if data["address"] != SAME and kinds["bfloat16"]["back"] == SAME:
        return Cause("experiment/told-by-address", rule="shared-state", symptom=False)
    for when in ("back", "back again"):
        for name, seen in kinds.items():
            meant = ROUNDED if _KINDS.get(name, [0])[0] == _HALF else SAME
            if seen[when] != meant and (
                name != "an intermediate of one number" or seen[when] != SAME
            ):
                facts = {"kind": name, "found": seen[when], "again": when != "back"}
                evidence = {"actual": seen[when], "expected": meant}
                return Cause("experiment/comes-back", facts, evidence)
    return None


# ---- nothing outlasts the block --------------------------------------------------------------------


def _settings() -> Data:
    return {
        "saved-tensor hooks": hooks_are_on(),
        "the default dtype": str(torch.get_default_dtype()),
        "grad mode": torch.is_grad_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
    }


def run_after(submission: Solution, s: Sampler) -> Data:
    """What is different after a block, and after one that an error ends."""
    data: Data = {"swallowed": False}
    for when, stops in (("after the block", False), ("after an error in the block", True)):
        before = _settings()
        with hooks_cleared():
            try:
                with entered(submission):
                    torch.exp(s.normal(8, 8).float().requires_grad_(True))
                    if stops:
                        raise Stop
                data["swallowed"] = stops
            except Stop:
                pass
            data[when] = [name for name, value in _settings().items() if value != before[name]]
    return data


def judge_after(data: Data, right: Data) -> Cause | None:
    """After the block, also after an error in it, nothing is different."""
    if data["swallowed"]:
        return Cause("experiment/error-swallowed")
    when, names = next(((when, names) for when, names in data.items() if names), ("", ()))
    at = ("__enter__", "enter_context")
    return Cause("experiment/still-on", {"when": when, "names": names}, at=at) if names else None


def run_release(submission: Solution, s: Sampler) -> Data:
    """What stays of a result that is dropped inside the block, for a dtype that is rounded and one that is not."""
    data: Data = {}
    with hooks_cleared(), entered(submission):
        for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
            watch = Watch()
            with Storages() as storages:
                x = s.normal(8, 8).to(dtype).requires_grad_(True)
                y = watch.over(torch.exp(x))
            del x, y
            data[name] = {"left": watch.left, "bytes": storages.alive()}
    return data


def judge_release(data: Data, right: Data) -> Cause | None:
    """A result that is dropped without backward frees its memory."""
    for name, seen in data.items():
        if seen["bytes"]:
            facts = {"dtype": name, "bytes": seen["bytes"], "itself": seen["left"] == "itself"}
            return Cause("experiment/memory-held", facts)
    return None


_FIRST = "it is a context manager, and changes no value"
_RUNS = (f"scenario {_FIRST}",)
_BYTES = "float32 intermediates, and nothing else, are kept in half of their bytes"

SAVE_IN_BFLOAT16 = Exercise(
    **told("save_in_bfloat16"),
    reference=nullcontext,  # what a block is without it
    cases=(),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        Scenario(_FIRST, "value", run_block, judge_block, needs=()),
        Scenario(_BYTES, "saves-too-much", run_kinds, judge_bytes, needs=_RUNS),
        Scenario(
            "backward gets them as float32, and everything else as it was",
            "gradient-value", run_kinds, judge_back,
            needs=(*_RUNS, f"scenario {_BYTES}"),
        ),
        Scenario("nothing outlasts the block", "shared-state", run_after, judge_after, needs=_RUNS),
        Scenario(
            "a result that is dropped frees its memory", "saves-on-ctx", run_release, judge_release, needs=_RUNS,
        ),
    ),
)  # fmt: skip
