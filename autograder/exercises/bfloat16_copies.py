"""Which tensors save_in_bfloat16 rounds: what the caller holds is left alone, views of the rest are not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from autograder.compare import shape_words
from autograder.exercise import Sampler
from autograder.exercises.bfloat16_experiments import cleared, entered, judge_returns
from autograder.exercises.second_order import Verdict
from autograder.modes import Watching
from autograder.storages import Storages

# ---- leaves, and views of leaves -------------------------------------------------------------


def _run_leaves(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Bytes kept for a layer whose saved tensors all belong to the caller; and for an intermediate."""
    kept: dict[str, int] = {}
    weight = torch.nn.Parameter(s.normal(40, 30).float())
    data = s.normal(50, 30).float()
    other = s.normal(50, 30).float().requires_grad_(True)
    uses: dict[str, tuple[Tensor, Callable[[], Tensor]]] = {
        "a parameter": (weight, lambda: torch.sin(weight)),
        "an input that requires grad": (other, lambda: torch.sin(other)),
        "an input that requires no grad": (data, lambda: data * other),
        "a view of a parameter": (weight, lambda: torch.sin(weight.t())),
        "a row of an input": (other, lambda: torch.sin(other[3:])),
        "a view of a view of a parameter": (weight, lambda: torch.sin(weight.t()[2:])),
    }
    for name, (_, use) in uses.items():
        kept[name] = _kept_by(submission, use, other, weight, data)
    middle = _kept_by(submission, lambda: torch.sin(1.5 * other), other)
    sizes = {name: tensor.numel() for name, (tensor, _) in uses.items()}
    return {"kept": kept, "sizes": sizes, "middle": middle, "full": 4 * other.numel()}


def _kept_by(submission: Callable[..., Any], use: Callable[[], Tensor], *held: Tensor) -> int:
    """Bytes alive after a use inside the block, besides its result and what the caller holds."""
    with Storages() as storages:
        with entered(submission):
            y = use()
        return storages.alive(*held, y)


run_leaves = cleared(_run_leaves)


def judge_leaves(data: dict[str, Any]) -> Verdict:
    """What the caller holds anyway is not copied."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    for name, size in data["kept"].items():
        if size <= 64:
            continue
        if data["middle"] >= data["full"]:
            message = (
                f"It is the wrong way round: {name} is copied ({size} bytes), while an intermediate is "
                "kept as float32."
            )
        else:
            how = "rounded" if size <= 2 * data["sizes"][name] else "copied"
            message = (
                f"{name[0].upper()}{name[1:]} is {how}: {size} bytes are kept beside the original, which "
                "the caller holds anyway."
            )
        return (
            message,
            "Leave alone what is a leaf (tensor.is_leaf) and what is a view of one: tensor._is_view() "
            "says so, and tensor._base is what it looks at.",
            {"kept": size},
        )
    return None


# ---- views of intermediates ------------------------------------------------------------------


def _run_views(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Bytes kept for views of intermediates, whose float32 storage nobody else holds."""
    x = s.normal(40, 30).float().requires_grad_(True)
    uses: dict[str, Callable[[Tensor], Tensor]] = {
        "a transposed intermediate": lambda h: torch.sin(h.t()),
        "a reshaped intermediate": lambda h: torch.sin(h.reshape(30, 40)),
        "rows of an intermediate": lambda h: torch.sin(h[3:]),
        "a view of a view of an intermediate": lambda h: torch.sin(h.t()[2:]),
    }
    kept = {
        name: _kept_by(submission, lambda use=use: use(1.5 * x), x)  # type: ignore[misc]
        for name, use in uses.items()
    }
    return {"kept": kept, "elements": x.numel()}


run_views = cleared(_run_views)


def judge_views(data: dict[str, Any]) -> Verdict:
    """Views of intermediates are rounded too."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    half = 2 * data["elements"]
    for name, size in data["kept"].items():
        if size > half * 1.02:
            return (
                f"{name[0].upper()}{name[1:]} is kept as float32 ({size} bytes; {half} are enough): not "
                "every view is a view of a leaf.",
                "A view is left alone only where the tensor that it looks at is a leaf: ask "
                "tensor._base.is_leaf. That tensor._base is there says only that it is a view.",
                {"kept": size, "allowed": half},
            )
    return None


# ---- every shape -----------------------------------------------------------------------------


_SHAPES = ((5,), (2, 3, 4), ())


def _run_shapes(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Bytes kept for intermediates of few elements, and of other numbers of dimensions."""
    kept = []
    for shape in _SHAPES:
        x = s.normal(*shape).float().requires_grad_(True)
        kept.append(_kept_by(submission, lambda x=x: torch.sin(1.5 * x), x))  # type: ignore[misc]
    return {"kept": kept}


run_shapes = cleared(_run_shapes)


def judge_shapes(data: dict[str, Any]) -> Verdict:
    """Neither size nor shape decides."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    for shape, size in zip(_SHAPES, data["kept"], strict=True):
        half = 2 * math.prod(shape)
        if size > half:
            return (
                f"An intermediate of shape {shape_words(shape)} is kept as float32 ({size} bytes; {half} are "
                "enough), others are rounded.",
                "Every float32 intermediate is rounded, whatever its size and shape: ask for the dtype and "
                "for leaves alone.",
                {"kept": size, "allowed": half},
            )
    return None


# ---- addresses that are used again -----------------------------------------------------------


class _Copies(Watching):
    """Every bfloat16 tensor that an operation made while the mode was on."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Tensor] = []

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        self.made += [t for t in tensors if t.dtype == torch.bfloat16]


def _run_addresses(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The dtypes in which bfloat16 intermediates come back: one at a new address, one at an old one.

    At the old one a copy of a float32 intermediate lay, whose graph is gone. Whether the allocator gives
    an address again is chance: so the memory is held, and another tensor put there.
    """
    x = s.normal(8).float().requires_grad_(True)
    z = x.detach().to(torch.bfloat16).requires_grad_(True)
    back: dict[str, str | None] = {"new": None, "old": None}
    with entered(submission):
        with _Copies() as copies:
            torch.sin(1.5 * x)
        places: dict[str, Tensor | None] = {
            "new": z.new_empty(5000, 8),  # too large for a hole that another copy has left
            "old": copies.made[-1].detach() if copies.made else None,
        }
        for name, place in places.items():
            if place is not None:
                node: Any = torch.sin(place.copy_(z)).grad_fn
                back[name] = str(node._saved_self.dtype)
    return {"back": back}


run_addresses = cleared(_run_addresses)


def judge_addresses(data: dict[str, Any]) -> Verdict:
    """What pack noted of one tensor is not taken for another's."""
    if (wrong := judge_returns(data)) is not None:
        return wrong
    right = "torch.bfloat16"
    if data["back"]["new"] != right or data["back"]["old"] in (right, None):
        return None  # what always comes back wrong is asked elsewhere
    return (
        "A bfloat16 tensor comes back as float32 because it lies where a rounded copy lay before: what was "
        "rounded is remembered by its address, and addresses are used again.",
        "Let what was done go with the tensor: pack may return a pair, (True, small) or (False, tensor).",
        {"actual": data["back"]["old"], "expected": right},
    )
