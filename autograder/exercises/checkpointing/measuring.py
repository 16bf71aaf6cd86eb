"""What experiments measure: hooks left behind, who called, what is let go, random states."""

from __future__ import annotations

import contextlib
import gc
import traceback
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.contract.exercise import Cause, Data, Sampler, Solution
from autograder.running.containment import put_saving_hooks, saving_hooks

RANDOM_STATE_BYTES = 5056  # of the CPU generator, as torch.get_rng_state() gives it


@contextlib.contextmanager
def hooks_cleared() -> Iterator[list[int]]:
    """Removes saved-tensor hooks that a block leaves on; the yielded list gets their number."""
    left: list[int] = []
    before = saving_hooks()
    try:
        yield left
    finally:
        left.append(put_saving_hooks(before))


def hooks_are_on() -> bool:
    """Whether saved-tensor hooks are on where this is asked."""
    return saving_hooks() is not None


def called_from(module: str) -> bool:
    """Whether a function of ``module`` is among the callers."""
    callers = traceback.walk_stack(None)
    return any(frame.f_globals.get("__name__") == module for frame, _ in callers)


class Watch:
    """Whether tensors and their memory are still there; nothing is held."""

    def __init__(self) -> None:
        self._seen: list[tuple[StorageWeakRef, weakref.ref[Tensor]]] = []

    def over(self, tensor: Tensor) -> Tensor:
        """The same tensor, watched from now on."""
        self._seen.append((StorageWeakRef(tensor.untyped_storage()), weakref.ref(tensor)))
        return tensor

    @property
    def left(self) -> str:
        """What is left that Python's collector does not free: "itself", or the "memory" alone; "" for nothing."""
        if not all(memory.expired() for memory, _ in self._seen):
            gc.collect(1)  # it is young: to look at everything there is takes 0.1 s and more
        alive = [tensor() for memory, tensor in self._seen if not memory.expired()]
        return "" if not alive else "itself" if any(t is not None for t in alive) else "memory"


class Stop(Exception):
    """Ends a call, or a block, in the middle."""


# ---- what a node gives back of the tensor that it saved ------------------------------------------

ROUNDED, SAME = "it is rounded", "as it was"


def saved_by(node: Any) -> Any:
    """The tensor that a node has saved, as unpack gives it."""
    for name in ("_saved_self", "_saved_other", "_saved_condition", "_saved_indices"):
        saved = getattr(node, name, None)
        if saved is not None:
            return saved[0] if isinstance(saved, tuple | list) else saved
    return None


def what_comes_back(node: Any, right: Tensor) -> str:
    """ "as it was", "it is rounded", or in what it differs from that."""
    try:
        back = saved_by(node)
    except Exception as error:
        return f"unpack stops with {type(error).__name__}"
    if not isinstance(back, Tensor):
        return f"it is a {type(back).__name__}"
    if back.shape != right.shape:
        return f"its shape is {tuple(back.shape)}"
    if back.dtype != right.dtype:
        return f"its dtype is {str(back.dtype).removeprefix('torch.')}"
    if torch.equal(back, right):
        return SAME
    if right.dtype.is_floating_point and torch.equal(back, right.bfloat16().to(right.dtype)):
        return ROUNDED
    return "its values are others"


def run_random(checkpoint: Solution, s: Sampler) -> Data:
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


_LEFT = {"forward": "after", "backward": "found", "an error in backward": "found"}


def judge_random(data: Data, right: Data) -> Cause | None:
    """The recomputation draws forward's numbers; the caller's random state is not disturbed."""
    first, *again = data["drew"]
    others = [state for state in again if state != "before"]
    if first != "before" or others:
        at = ("initial_seed", "manual_seed", "set_rng_state", "get_rng_state")
        return Cause("experiment/draws-others", {"forward": first != "before"}, at=at)
    for when, state in _LEFT.items():
        if data["left"][when] != state:
            facts = {"when": when, "forward": state == "after", "error": " " in when}
            calls = ("fork_rng", "set_rng_state", "manual_seed")
            return Cause("experiment/state-left", facts, at=calls)
    return None
