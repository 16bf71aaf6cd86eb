"""Parameters given beside the module that reads them: one tensor, wherever copies of both are given.

``Solve.apply(model, x, *model.parameters())`` is how a Function gets gradients for what a module computes with.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.nn import Module

Given = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Tie:
    """A tensor among some arguments that is a module's parameter.

    place  where it is among them; owner: where the module is, or one that a function among them closes over
    """

    place: int
    owner: int | Module
    name: str


def ties_of(args: Sequence[Any]) -> tuple[Tie, ...]:
    """All of some arguments, as they were given."""
    places = {id(a): p for p, a in enumerate(args) if isinstance(a, Tensor)}
    owners: list[tuple[int | Module, Module]] = []
    for p, a in enumerate(args):
        owners += [(p, a)] if isinstance(a, Module) else [(m, m) for m in _closed_over(a)]
    return tuple(
        Tie(places[id(parameter)], owner, name)
        for owner, module in owners
        for name, parameter in module.named_parameters()
        if id(parameter) in places
    )


@contextlib.contextmanager
def tied(ties: Sequence[Tie]) -> Iterator[Given]:
    """In the block, what puts the tensors that are given into the modules that are given, or called."""
    outside = [_slot(t.owner, t.name) for t in ties if isinstance(t.owner, Module)]
    before = [slots[name] for slots, name in outside]

    def bind(args: Sequence[Any]) -> list[Any]:
        ready = [_apart(a) if isinstance(a, Module) else a for a in args]
        for t in ties:
            slots, name = _slot(ready[t.owner] if isinstance(t.owner, int) else t.owner, t.name)
            slots[name] = ready[t.place]
        return ready

    try:
        yield bind
    finally:
        for (slots, name), parameter in zip(outside, before, strict=True):
            slots[name] = parameter


def _slot(module: Module, name: str) -> tuple[dict[str, Any], str]:
    path, _, last = name.rpartition(".")
    return module.get_submodule(path)._parameters, last


def _apart(module: Module) -> Module:
    """The same module with the same parameters, of which others may be put into it."""
    new = copy.copy(module)
    new._parameters = dict(module._parameters)
    new._modules = {name: each and _apart(each) for name, each in module._modules.items()}
    return new


def _closed_over(value: Any) -> Iterator[Module]:
    """Modules that a function, or a method, reads beside its arguments."""
    found = [getattr(value, "__self__", None), *(getattr(value, "__defaults__", None) or ())]
    for cell in getattr(value, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # nothing in it yet
            found.append(cell.cell_contents)
    code, names = getattr(value, "__code__", None), getattr(value, "__globals__", {})
    found += [names[name] for name in getattr(code, "co_names", ()) if name in names]
    yield from (each for each in found if isinstance(each, Module))
