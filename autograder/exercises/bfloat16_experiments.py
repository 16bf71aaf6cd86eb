"""Experiments on save_in_bfloat16: what runs in the learner's process, and how it is judged."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.bfloat16_causes import is_rounded, kept_words, what_came_back
from autograder.exercises.measuring import hooks_are_on, hooks_cleared
from autograder.exercises.recomputing import explained
from autograder.exercises.second_order import Verdict
from autograder.storages import Storages
from autograder.trace import storage_of

_CHAIN = 6
_SHOWN = 3  # elements by which a tensor is recognised


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


def chain(x: Tensor) -> Tensor:
    """Six operations that each save their input once."""
    for _ in range(_CHAIN):
        x = torch.sin(x)
    return x


def sines(x: Tensor, rounded: bool) -> Tensor:
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
            y = chain(leaf)
            inside = {"hooks": hooks_are_on(), "autocast": torch.is_autocast_enabled("cpu")}
        kept = storages.alive(leaf, y)
        dtypes: dict[str, int] = {}
        for made in storages.left({storage_of(t)[0] for t in (leaf, y)}):
            dtypes[plain(made.dtype)] = dtypes.get(plain(made.dtype), 0) + made.size
    full = (_CHAIN - 1) * x.numel() * 4
    data = {"x": x, "kept": kept, "full": full, "names": dtypes, "inside": inside}
    try:
        (found,) = torch.autograd.grad(y.sum(), leaf, retain_graph=True)
    except (RuntimeError, IndexError) as error:
        return {**data, "saved": _what_comes_back(y), "error": str(error)[:300]}
    return {**data, "saved": _what_comes_back(y), "found": found.clone()}


def plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _what_comes_back(y: Tensor) -> list[dict[str, Any]]:
    """What unpack gives for each step of a chain, from the first: dtype, shape, the first elements.

    Asked after backward: an unpack that gives each tensor once must have it there.
    """
    node: Any = y.grad_fn
    back: list[dict[str, Any]] = []
    try:
        for _ in range(_CHAIN):
            saved = node._saved_self
            values = saved.reshape(-1)[:_SHOWN].to(torch.float32).tolist()
            back.append({"dtype": plain(saved.dtype), "shape": list(saved.shape), "values": values})
            node = node.next_functions[0][0]
    except (RuntimeError, TypeError, IndexError, AttributeError):
        return []
    return back[::-1]


run_chain = cleared(_run_chain)


def judge_returns(data: dict[str, Any]) -> Verdict:
    """backward runs on what unpack gives back."""
    if "error" in data and (said := what_came_back(data)):
        return *said, {"original": data["error"]}
    if "error" in data:
        return (
            f"backward stops: {data['error'].splitlines()[0][:160]}",
            "unpack gets what pack returned and gives back a tensor as it was saved: float32 again "
            "where pack rounded, untouched where it did not.",
            {"original": data["error"]},
        )
    return None


_HOOKS = (
    "torch.autograd.graph.saved_tensors_hooks(pack, unpack) changes what is kept, and nothing else: return it, "
    "or enter it in your own context manager."
)


def judge_half(data: dict[str, Any]) -> Verdict:
    """Half of the intermediates' bytes."""
    kept, half = data["kept"], data["full"] // 2
    if kept <= half * 1.02 and kept >= half * 0.98:
        return None
    words = f"{kept} bytes of intermediates stay alive; {half} are asked for"
    if data["inside"]["autocast"] and not data["inside"]["hooks"]:
        return (
            "autocast changes in which dtype forward computes, not what is kept: no saved-tensor hook is on "
            f"inside the block. {words}.",
            _HOOKS,
            {"kept": kept, "allowed": half},
        )
    if not data["inside"]["hooks"] and kept > half:
        return (
            f"No saved-tensor hook is on inside the block: what is kept stays as it is. {words}.",
            _HOOKS,
            {"kept": kept, "allowed": half},
        )
    if kept >= data["full"] * 0.98 and kept <= data["full"] * 1.02:
        if is_rounded(data):
            return (
                f"The intermediates are rounded, but kept as float32 all the same: {words}.",
                "pack returns the bfloat16 tensor itself; unpack makes float32 of it, when backward asks.",
                {"kept": kept, "allowed": half},
            )
        return (
            f"{words}: they are kept as float32.",
            "Intermediates are the tensors that are not leaves: tensor.is_leaf is False for them. "
            "Return tensor.to(torch.bfloat16) from pack.",
            {"kept": kept, "allowed": half},
        )
    if kept > half:
        return (
            f"{words}: more than bfloat16 copies are kept{kept_words(data)}.",
            "Keep only what pack returns; the float32 tensor must be free to go.",
            {"kept": kept, "allowed": half},
        )
    if said := what_came_back(data):
        return *said, {"kept": kept, "allowed": half}
    if "bfloat16" not in data["names"] and data["names"]:
        return (
            f"{words}: they are kept as {' and '.join(data['names'])}, not as bfloat16.",
            "Return tensor.to(torch.bfloat16) from pack: 2 bytes an element.",
            {"kept": kept, "allowed": half},
        )
    if not is_rounded(data) and data["saved"]:
        return (
            f"Backward gets other values than were saved, and {kept} bytes of copies are kept where {half} are "
            "asked for: as where copies are looked up by an address or an id, which is used again.",
            "Let pack return the rounded copy itself, without looking one up.",
            {"kept": kept, "allowed": half},
        )
    return (
        f"{words}: something is missing that backward should see.",
        "Keep every element, as bfloat16.",
        {"kept": kept, "allowed": half},
    )


def judge_chain(data: dict[str, Any]) -> Verdict:
    """The gradient is that of intermediates rounded to bfloat16."""
    found, right = data["found"], sines(data["x"], True)
    if said := what_came_back(data):
        return *said, {"actual": show(found), "expected": show(right)}
    if "float16" in data["names"]:
        return (
            "The intermediates are kept as float16; bfloat16 is asked for. float16 ends at 65504: a larger "
            "number comes back as inf.",
            "tensor.to(torch.bfloat16), or tensor.bfloat16(): it has the range of float32.",
            {"actual": show(found), "expected": show(right)},
        )
    if close(found, right, torch.float32):
        return None
    if close(found, sines(data["x"], False), torch.float32):
        return (
            "The gradient is that of unrounded intermediates: they are kept as float32.",
            "Return tensor.to(torch.bfloat16) from pack where the tensor is no leaf.",
            {},
        )
    return (
        "The gradient is not the one of intermediates rounded to bfloat16: unpack gives back other values"
        f"{kept_words(data)}.",
        "pack keeps tensor.to(torch.bfloat16), unpack gives its values back with .to(torch.float32), and "
        "nothing else happens to them.",
        {"actual": show(found), "expected": show(right)},
    )
