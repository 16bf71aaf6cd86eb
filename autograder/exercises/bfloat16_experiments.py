"""Experiments on save_in_bfloat16: what runs in the learner's process, and how it is judged."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.measuring import hooks_cleared
from autograder.exercises.recomputing import explained
from autograder.exercises.second_order import Verdict
from autograder.storages import Storages

_CHAIN = 6


def entered(submission: Callable[..., Any]) -> AbstractContextManager[Any]:
    """The context manager; TypeError where the submission gives none."""
    manager = submission()
    if not hasattr(manager, "__enter__"):
        raise TypeError(f"save_in_bfloat16() gives a {type(manager).__name__}")
    return manager


def cleared(run: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The run, with hooks that it leaves on removed and counted."""

    def safe(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        with hooks_cleared() as left:
            data = explained(run)(submission, s)
        return {**data, "left": left[0]}

    return safe


# ---- it is a context manager -----------------------------------------------------------------


def run_manager(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """What the call gives, and whether hooks are on inside the block."""
    with hooks_cleared() as left:
        manager = submission()
        kind = type(manager).__name__
        if not hasattr(manager, "__enter__"):
            return {"kind": kind, "usable": False, "generator": inspect.isgenerator(manager)}
        x = s.normal(4, 3).float().requires_grad_(True)
        with manager:
            y = torch.sin(torch.sin(x))
    return {
        "kind": kind, "usable": True, "generator": False, "left": left[0], "y": y.detach().clone(),
        "x": x.detach().clone(),
    }  # fmt: skip


def judge_manager(data: dict[str, Any]) -> Verdict:
    """with save_in_bfloat16(): … works."""
    if data["usable"]:
        if not close(data["y"], torch.sin(torch.sin(data["x"])), torch.float32):
            return ("Inside the block values change.", "Only what is saved may change.", {})
        return None
    if data["generator"]:
        return (
            "save_in_bfloat16() gives a generator, not a context manager.",
            "Put @contextlib.contextmanager above it.",
            {},
        )
    return (
        f"save_in_bfloat16() gives {data['kind']}, which cannot stand in a with statement.",
        "Return torch.autograd.graph.saved_tensors_hooks(pack, unpack), or write a generator with "
        "@contextlib.contextmanager.",
        {},
    )


# ---- the chain: half the bytes, nearly the same gradient -------------------------------------


def _chain(x: Tensor) -> Tensor:
    """Six operations that each save their input once."""
    for _ in range(_CHAIN):
        x = torch.sin(x)
    return x


def _sines(x: Tensor, rounded: bool) -> Tensor:
    """The gradient of Σ chain(x); with ``rounded``, from intermediates rounded to bfloat16."""
    slope, h = torch.ones_like(x), x
    for step in range(_CHAIN):
        kept = h.to(torch.bfloat16).to(h.dtype) if rounded and step else h
        slope = slope * torch.cos(kept)
        h = torch.sin(h)
    return slope


def _run_chain(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    x = s.normal(50, 40).float()
    leaf = x.clone().requires_grad_(True)
    with Storages() as storages:
        with entered(submission):
            y = _chain(leaf)
        kept = storages.alive(leaf, y)
    (found,) = torch.autograd.grad(y.sum(), leaf)
    full = (_CHAIN - 1) * x.numel() * 4
    return {"x": x, "found": found.clone(), "kept": kept, "full": full}


run_chain = cleared(_run_chain)


def judge_returns(data: dict[str, Any]) -> Verdict:
    """backward runs on what unpack gives back."""
    if "error" in data:
        return (
            f"backward stops: {data['error'].splitlines()[0][:160]}",
            "unpack gets what pack returned and gives back a tensor as it was saved: float32 again "
            "where pack rounded, untouched where it did not.",
            {"original": data["error"]},
        )
    return None


def judge_half(data: dict[str, Any]) -> Verdict:
    """Half of the intermediates' bytes."""
    kept, half = data["kept"], data["full"] // 2
    if kept <= half * 1.02 and kept >= half * 0.98:
        return None
    words = f"{kept} bytes of intermediates stay alive; {half} are asked for"
    if kept >= data["full"] * 0.98 and kept <= data["full"] * 1.02:
        return (
            f"{words}: they are kept as float32.",
            "Intermediates are the tensors that are not leaves: tensor.is_leaf is False for them. "
            "Return tensor.to(torch.bfloat16) from pack.",
            {"kept": kept, "allowed": half},
        )
    if kept > half:
        return (
            f"{words}: more than bfloat16 copies are kept.",
            "Keep only what pack returns; the float32 tensor must be free to go.",
            {"kept": kept, "allowed": half},
        )
    return (
        f"{words}: something is missing that backward should see.",
        "Keep every element, as bfloat16.",
        {"kept": kept, "allowed": half},
    )


def judge_chain(data: dict[str, Any]) -> Verdict:
    """The gradient is that of intermediates rounded to bfloat16."""
    found, right = data["found"], _sines(data["x"], True)
    if close(found, right, torch.float32):
        return None
    if close(found, _sines(data["x"], False), torch.float32):
        return (
            "The gradient is that of unrounded intermediates: they are kept as float32.",
            "Return tensor.to(torch.bfloat16) from pack where the tensor is no leaf.",
            {},
        )
    return (
        "The gradient is not the one of the rounded intermediates.",
        "unpack gives back the values that pack kept, as float32.",
        {"actual": show(found), "expected": show(right)},
    )


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
    return {**data, "found": found, "plain": _dtypes(contextlib.nullcontext(), data)}


run_dtypes = cleared(_run_dtypes)


def judge_dtypes(data: dict[str, Any]) -> Verdict:
    """Other dtypes come back as they were, to the last bit."""
    if (wrong := judge_returns(data)) is not None:
        return (f"With other dtypes than float32 {wrong[0]}", wrong[1], wrong[2])
    for name, right in data["plain"].items():
        got = data["found"].get(name)
        if isinstance(got, Tensor) and got.dtype == right.dtype and torch.equal(got, right):
            continue
        return (
            f"Tensors of dtype {name} do not come back as they were saved.",
            "Round float32 alone: ask tensor.dtype == torch.float32 in pack. unpack cannot tell from "
            "the dtype whether a bfloat16 tensor was rounded by you or was bfloat16 all along: let pack "
            "say so.",
            {"actual": show(got), "expected": show(right)},
        )
    return None


# ---- nothing outlasts the block --------------------------------------------------------------


class _Stop(Exception):
    """Leaves a block in the middle."""


def _run_after(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    x = s.normal(20, 20).float()
    outcome: dict[str, Any] = {"x": x}
    with hooks_cleared() as left, entered(submission):
        _chain(x.clone().requires_grad_(True))
    outcome["after_block"] = left[0]
    try:
        with entered(submission):
            raise _Stop
    except _Stop:
        outcome["swallowed"] = False
    else:
        outcome["swallowed"] = True
    leaf = x.clone().requires_grad_(True)
    (found,) = torch.autograd.grad(_chain(leaf).sum(), leaf)
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
    if data["left"] or not close(data["found"], _sines(data["x"], False), torch.float32):
        when = (
            "." if data["after_block"] else " when an error ends it; without an error they are off."
        )
        return (
            f"The hooks are still on after the block{when}",
            "Let a with statement of torch.autograd.graph.saved_tensors_hooks take them off again. (What "
            "stands after a yield does not run when an error comes; what stands in finally does.)",
            {},
        )
    return None


def _run_release(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    references = []
    with entered(submission):
        for dtype in (torch.float32, torch.float64):
            x = s.normal(8, 8).to(dtype).requires_grad_(True)
            y = torch.exp(x)
            references.append(StorageWeakRef(y.untyped_storage()))
            del x, y
    return {"kept": [not r.expired() for r in references]}


run_release = cleared(_run_release)


def judge_release(data: dict[str, Any]) -> Verdict:
    """A result that is dropped frees its memory."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    if not any(data["kept"]):
        return None
    which = "float32" if data["kept"][0] else "float64"
    return (
        f"When a {which} result is dropped without backward, its memory is never freed.",
        "If pack returns an output itself, the node that made it holds it and it holds the node: a "
        "cycle that Python cannot see. Return tensor.detach() where you change nothing.",
        {},
    )
