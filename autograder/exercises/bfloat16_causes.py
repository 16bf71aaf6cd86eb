"""What unpack gives back in save_in_bfloat16, and what is kept, in words."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, shape_words


def chain_steps(x: Tensor, count: int) -> list[Tensor]:
    """What each sine of the chain saves: x, sin x, sin sin x, …"""
    steps = [x]
    while len(steps) < count:
        steps.append(torch.sin(steps[-1]))
    return steps


def what_came_back(data: dict[str, Any]) -> tuple[str, str] | None:
    """What is wrong with what unpack gives: its shape, its dtype, or whose values it has."""
    for each in data.get("saved", ()):
        if tuple(each["shape"]) != tuple(data["x"].shape):
            return (
                f"unpack gives back a tensor of shape {shape_words(tuple(each['shape']))}, where one of shape "
                f"{shape_words(tuple(data['x'].shape))} was saved.",
                "Rounding changes the dtype alone: tensor.to(torch.bfloat16) keeps the shape.",
            )
        if each["dtype"] != "float32":
            return (
                f"unpack gives back {each['dtype']}, where float32 was saved.",
                "What pack rounded becomes float32 again in unpack: tensor.to(torch.float32).",
            )
    return _exchanged(data)


def _exchanged(data: dict[str, Any]) -> tuple[str, str] | None:
    """Steps of the chain that get the rounded values of another one."""
    saved = data.get("saved", ())
    right = [_rounded(h, len(e["values"])) for h, e in _beside(data)]
    for i, each in enumerate(saved):
        found = torch.tensor(each["values"])
        others = [j for j, r in enumerate(right) if j not in (0, i) and _same(found, r)]
        if i and others and not _same(found, right[i]):
            return (
                f"Backward gets another tensor's values: in a chain of sines number {i + 1} gets back what was "
                f"kept for number {others[0] + 1}.",
                "An address (data_ptr) or an id is used again as soon as a tensor is gone, so neither tells "
                "tensors apart. Let pack return the rounded copy itself, without looking one up.",
            )
    return None


def is_rounded(data: dict[str, Any]) -> bool:
    """Whether what comes back has the precision of bfloat16."""
    pairs = [(torch.tensor(e["values"]), h, e) for h, e in _beside(data)][1:]
    return bool(pairs) and all(_same(f, _rounded(h, len(f))) for f, h, _ in pairs)


def kept_words(data: dict[str, Any]) -> str:
    """The dtypes of what is kept, in brackets; empty where there is none."""
    found = ", ".join(f"{size} bytes of {dtype}" for dtype, size in data.get("names", {}).items())
    return f" ({found})" if found else ""


def _beside(data: dict[str, Any]) -> list[tuple[Tensor, dict[str, Any]]]:
    saved = data.get("saved", ())
    return list(zip(chain_steps(data["x"], len(saved)), saved, strict=True)) if saved else []


def _rounded(h: Tensor, count: int) -> Tensor:
    return h.reshape(-1)[:count].to(torch.bfloat16).to(torch.float32)


def _same(found: Tensor, right: Tensor) -> bool:
    return close(found, right, torch.float32)
