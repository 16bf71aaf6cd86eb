"""saved_bytes: how the function that is measured is called."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.exercises.measuring import hooks_are_on, hooks_cleared
from autograder.exercises.outlasting import emptied, outlasting


def watching(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[dict[str, Any], Any]:
    """What is noted of calls of f, and f with that.

    calls      how often it is called
    hooks      whether saved-tensor hooks are on, in every call
    recorded   whether grad mode is on, in every call
    lost       whether an argument that requires grad comes without; gained: the other way round
    one_tuple  whether all arguments come as one tuple
    """
    seen: dict[str, Any] = {
        "calls": 0, "hooks": True, "recorded": True, "lost": False, "gained": False,
        "one_tuple": False,
    }  # fmt: skip
    needed = [isinstance(a, Tensor) and a.requires_grad for a in args]

    def watched(*given: Any) -> Any:
        seen["calls"] += 1
        seen["hooks"] &= hooks_are_on()
        seen["recorded"] &= torch.is_grad_enabled()
        seen["one_tuple"] |= len(given) == 1 and isinstance(given[0], tuple | list)
        for need, each in zip(needed, given, strict=False):
            has = isinstance(each, Tensor) and each.requires_grad
            seen["lost"] |= need and not has
            seen["gained"] |= has and not need
        return f(*given)

    return seen, watched


def nothing_stays(submission: Callable[..., Any]) -> bool:
    """Whether an intermediate result that is saved is gone as soon as f has let go of it."""
    gone: list[bool] = []

    def f(x: Tensor) -> Tensor:
        y = torch.exp(x)
        storage = StorageWeakRef(y.untyped_storage())
        z = torch.sin(y)
        del y
        gone.append(storage.expired())
        return z

    with hooks_cleared(), contextlib.suppress(RuntimeError, TypeError):
        submission(f, torch.ones(4, requires_grad=True))
    return bool(gone) and all(gone)


def without_memory(
    submission: Callable[..., Any], f: Callable[..., Any], args: tuple[Any, ...]
) -> dict[str, Any]:
    """What is counted for tensors that were measured before; and after what outlasts a call was emptied.

    Nothing is asked where nothing outlasts a call, and a right number keeps nothing.
    """
    containers = outlasting(submission)
    if not containers:
        return {}
    same = submission(f, *args)
    with emptied(containers):
        fresh = submission(f, *args)
    numbers = [n if isinstance(n, int | float) else None for n in (same, fresh)]
    return {"outlasts": list(containers), "same": numbers[0], "emptied": numbers[1]}


def words_of_memory(data: dict[str, Any], right: int) -> tuple[str, str, dict[str, Any]] | None:
    """What is wrong where the number is right only if what outlasts a call is emptied."""
    if not data["outlasts"] or data["emptied"] != right or data["same"] == right:
        return None
    what = " and ".join(data["outlasts"][:2])
    rest, still = ("outlasts", "there") if len(data["outlasts"]) == 1 else ("outlast", "in them")
    return (
        f"{what[0].upper()}{what[1:]} {rest} the call, and what an earlier call noted is still {still}: for the same "
        f"tensors a later call counts {data['same']} bytes, where {right} are kept.",
        "Begin each call with a dict of its own, made inside the function. A default argument (seen={}) is made once, "
        "with the function, and a global once for all.",
        {"actual": data["same"], "expected": right},
    )


def words_of_call(
    seen: dict[str, Any], trial: str, found: int | float, right: int
) -> tuple[str, str] | None:
    """What is wrong with how f is called: (message, hint)."""
    counted = f"For {trial} {found} bytes are counted, where {right} are kept."
    if not seen["calls"]:
        return (
            f"f is never called, so nothing is saved. {counted}",
            "Call f(*args) inside the with block of the hooks.",
        )
    if not seen["hooks"]:
        return (
            f"No saved-tensor hooks are on while f runs. {counted}",
            "with torch.autograd.graph.saved_tensors_hooks(pack, unpack): f(*args). Hooks that are only made, or "
            "whose block is over, see nothing.",
        )
    if not seen["recorded"]:
        return (
            f"f runs with grad mode off, where nothing is saved. {counted}",
            "Call f(*args) without torch.no_grad() or inference_mode.",
        )
    if seen["lost"]:
        return (
            f"An argument that requires grad comes to f without: it was detached or copied. {counted}",
            "f(*args) takes the arguments as they were passed.",
        )
    if seen["gained"]:
        return (
            f"An argument that requires no grad was made to require it, so more is kept. {counted}",
            "f(*args) takes the arguments as they were passed: what it keeps depends on which of them require "
            "grad.",
        )
    if seen["calls"] > 1:
        return (
            f"f is called {'twice' if seen['calls'] == 2 else str(seen['calls']) + ' times'}. {counted}",
            "One call is measured, inside the with block.",
        )
    return None
