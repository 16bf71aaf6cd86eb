"""How the Functions of the bank are written down: a forward and a backward, as short as they allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd import Function


@dataclass(frozen=True)
class Entry:
    """One Function with inputs, and what is to be said of it: right, wrong or surrogate.

    rules  of a wrong one: the rules that name it fairly
    terms  further arguments of evaluate: reference, surrogate, …
    """

    name: str
    submission: Any
    inputs: Any
    verdict: str
    rules: tuple[str, ...] = ()
    terms: dict[str, Any] = field(default_factory=dict)


class Bank(list[Entry]):
    """Entries under one verdict."""

    def __init__(self, verdict: str):
        super().__init__()
        self.verdict = verdict

    def add(
        self, name: str, forward: Callable[..., Any], backward: Callable[..., Any], inputs: Any,
        rules: str = "", **terms: Any,
    ) -> None:  # fmt: skip
        self.entry(name, op(name, forward, backward), inputs, rules, **terms)

    def entry(self, name: str, submission: Any, inputs: Any, rules: str = "", **terms: Any) -> None:
        given = inputs if isinstance(inputs, tuple | list) else (inputs,)
        self.append(Entry(name, submission, given, self.verdict, tuple(rules.split()), terms))


def op(name: str, forward: Callable[..., Any], backward: Callable[..., Any], **more: Any) -> Any:
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    return type(name, (Function,), body)


def keep(ctx: Any, result: Any, *saved: Any, **values: Any) -> Any:
    """Save tensors, put plain values on ctx, and hand on what forward returns."""
    ctx.save_for_backward(*saved)
    for name, value in values.items():
        setattr(ctx, name, value)
    return result


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def positive(*shape: int, seed: int = 0) -> torch.Tensor:
    return normal(*shape, seed=seed).abs() + 0.3
