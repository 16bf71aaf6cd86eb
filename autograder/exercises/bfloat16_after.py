"""Experiments on save_in_bfloat16: other dtypes, and what is left when the block is over."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.bfloat16_experiments import (
    chain,
    cleared,
    entered,
    judge_returns,
    plain,
    sines,
)
from autograder.exercises.holding import left_of
from autograder.exercises.measuring import hooks_cleared
from autograder.exercises.second_order import Verdict
from autograder.storages import Storages

# ---- other dtypes ------------------------------------------------------------------------------


def _dtypes(inside: AbstractContextManager[Any], data: dict[str, Any]) -> dict[str, Tensor]:
    """Gradients through intermediates of several dtypes."""
    found: dict[str, Tensor] = {}
    with inside:
        for name, dtype in (
            ("float64", torch.float64),
            ("float16", torch.float16),
            ("bfloat16", torch.bfloat16),
            ("complex64", torch.complex64),
        ):
            x = data["x"].to(dtype).requires_grad_(True)
            y = torch.sin(torch.sin(x * 1.0))
            real = y.real if dtype.is_complex else y
            (gradient,) = torch.autograd.grad(real.sum(), x)
            found[name] = gradient.real.clone() if dtype.is_complex else gradient.clone()
        x = data["x"].float().requires_grad_(True)
        picked = torch.where(x * 1.0 > 0, x, 2 * x)[torch.tensor([2, 0, 300 % len(x)])]
        (gradient,) = torch.autograd.grad(picked.sum(), x)
        found["bool and int64"] = gradient.clone()
    return found


def _run_dtypes(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    data = {"x": s.away_from(7, 40)}  # so many that rounding shows in some, whatever the seed
    found = _dtypes(entered(submission), data)
    # On this machine's own arithmetic, so that equality to the last bit can be asked for.
    back: dict[str, str] = {}
    with entered(submission):
        for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.complex64):
            node: Any = torch.sin(data["x"].to(dtype).requires_grad_(True) * 1.0).grad_fn
            back[plain(dtype)] = plain(node._saved_self.dtype)
    return {**data, "found": found, "plain": _dtypes(contextlib.nullcontext(), data), "back": back}


run_dtypes = cleared(_run_dtypes)


_UNPACK_MUST_KNOW = (
    "unpack cannot tell from the dtype whether a bfloat16 tensor was rounded by you or was bfloat16 all along: let pack "
    "say so."
)


def judge_dtypes(data: dict[str, Any]) -> Verdict:
    """Other dtypes come back as they were, to the last bit."""
    if (wrong := judge_returns(data)) is not None:
        if "used as indices" in data["error"]:
            return (
                "Whole numbers come back from unpack with another dtype: backward cannot use them as indices.",
                "unpack changes what pack rounded, and nothing else: let pack say which it was, in a pair.",
                wrong[2],
            )
        return (f"With other dtypes than float32 {wrong[0]}", wrong[1], wrong[2])
    for name, right in data["plain"].items():
        got = data["found"].get(name)
        if isinstance(got, Tensor) and got.dtype == right.dtype and torch.equal(got, right):
            continue
        return (
            _words_of_dtype(name, data["back"].get(name, name), got, right),
            _next_of_dtype(name, data["back"].get(name, name)),
            {"actual": show(got), "expected": show(right)},
        )
    return None


def _next_of_dtype(name: str, back: str) -> str:
    """What to do; where unpack gives the right dtype back, it knows which one that is."""
    only = "Round only float32: ask tensor.dtype == torch.float32 in pack."
    if back == name:
        return only
    return _UNPACK_MUST_KNOW if name == "bfloat16" else f"{only} {_UNPACK_MUST_KNOW}"


def _words_of_dtype(name: str, back: str, got: Any, right: Tensor) -> str:
    """What happens to tensors of another dtype than float32."""
    coarse = isinstance(got, Tensor) and not close(got.double(), right.double(), torch.float32)
    exact = name in ("float64", "complex64")
    if coarse and exact and back != name:
        return f"Tensors of dtype {name} are rounded, too, and come back from unpack as {back}."
    if coarse and exact:
        return f"Tensors of dtype {name} are rounded, too; only float32 should be."
    if back != name:
        rounded = ", as if it had been rounded" if (name, back) == ("bfloat16", "float32") else ""
        return f"A tensor that was {name} all along comes back from unpack as {back}{rounded}."
    return f"Tensors of dtype {name} do not come back as they were saved."


# ---- nothing outlasts the block --------------------------------------------------------------


class _Stop(Exception):
    """Leaves a block in the middle."""


def _run_after(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    x = s.normal(20, 20).float()
    outcome: dict[str, Any] = {"x": x}
    with hooks_cleared() as left, entered(submission):
        chain(x.clone().requires_grad_(True))
    outcome["after_block"] = left[0]
    try:
        with entered(submission):
            raise _Stop
    except _Stop:
        outcome["swallowed"] = False
    else:
        outcome["swallowed"] = True
    leaf = x.clone().requires_grad_(True)
    (found,) = torch.autograd.grad(chain(leaf).sum(), leaf)
    return {**outcome, "found": found.clone()}


run_after = cleared(_run_after)


def judge_after(data: dict[str, Any]) -> Verdict:
    """After the block, also after an error in it, everything is as before."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    if data["swallowed"]:
        return (
            "An error raised inside the block disappears.",
            "Let errors through: no except around the yield, and __exit__ returns None.",
            {},
        )
    if data["left"] or not close(data["found"], sines(data["x"], False), torch.float32):
        when = (
            "."
            if data["after_block"]
            else " when an error ends it; without an error they are off. The error skips what takes them off, as "
            "it skips all that stands after a bare yield (no try … finally, no with around it)."
        )
        return (
            f"The hooks are still on after the block{when}",
            "Let a with statement of torch.autograd.graph.saved_tensors_hooks take them off again. (What "
            "stands after a yield does not run when an error comes; what stands in finally does.)",
            {},
        )
    return None


def _run_release(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    kept, left, alive = [], [], []
    with entered(submission):
        for dtype in (torch.float32, torch.float64):
            x = s.normal(8, 8).to(dtype).requires_grad_(True)
            with Storages() as storages:
                y = torch.exp(x)
            reference, itself = StorageWeakRef(y.untyped_storage()), weakref.ref(y)
            del x, y
            kept.append(not reference.expired())
            left.append(left_of(itself) if kept[-1] else "")
            alive.append(storages.alive())
    return {"kept": kept, "after": left, "alive": alive}


def _judge_copies(data: dict[str, Any]) -> Verdict:
    """Nor does a copy of it stay."""
    if not any(data["alive"]):
        return None
    return (
        f"When a result is dropped without backward, a copy of it stays ({max(data['alive'])} bytes) as long as "
        "the block lasts: a list or a dict holds it.",
        "Let pack return the copy itself: then it lives as long as the graph, and no longer.",
        {"kept": max(data["alive"])},
    )


run_release = cleared(_run_release)


def judge_release(data: dict[str, Any]) -> Verdict:
    """A result that is dropped frees its memory."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    if not any(data["kept"]):
        return _judge_copies(data)
    which, left = (
        ("float32", data["after"][0]) if data["kept"][0] else ("float64", data["after"][1])
    )
    message = f"When a {which} result is dropped without backward, its memory is never freed"
    if left == "itself":
        return (
            f"pack returns a {which} result as it is, not detached, so the result and its node hold each "
            f"other. {message}.",
            "Return tensor.detach() where you change nothing: same memory, but no node. Python cannot see "
            "the cycle, for it runs through the graph.",
            {},
        )
    if left == "copy":
        return (
            f"{message}: something that outlives the graph holds a copy that shares it.",
            "Keep nothing but what pack returns: no list, no dict, no global.",
            {},
        )
    return (
        f"{message}.",
        "If pack returns an output itself, the node that made it holds it and it holds the node: a "
        "cycle that Python cannot see. Return tensor.detach() where you change nothing.",
        {},
    )
