"""What the bank of the real world is made of: a Function of a public package, and what is true of it.

The truth of each entry, and how it is verified, was written before ``evaluate`` was run on it. ``verified`` does it
again: gradcheck accepts a right one; a surrogate's gradient is the published formula times the upstream gradient, and
gradcheck refuses it; of a wrong one gradcheck or a sentence's own little program shows the mistake.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import Tensor

Inputs = Callable[[], tuple[Any, ...]]
Shown = Callable[[Any], bool]
Made = Callable[[Any], Any]


@dataclass(frozen=True)
class Entry:
    """One Function.

    where    module:Class, or module:name.name
    inputs   makes its arguments; tensors that require grad are differentiated, all floating ones where none does
    truth    "right", "surrogate" or "wrong"
    how      what the truth is known from
    slope    of a surrogate: the published gradient of the first tensor for an upstream gradient of ones
    shown    a program of its own, True where what is said is so; None: gradcheck accepts it, or refuses a wrong one
    made     makes what is judged of what is imported: where some arguments are given, or are no tensors
    terms    of evaluate
    second   what is true of the second derivative: "right"; "wrong", which is given without a word; "missing", the
             first has no graph; "raises", which nobody takes for right; "" where that was not asked. No count asks it
    """

    where: str
    inputs: Inputs
    truth: str
    how: str
    slope: Callable[..., Tensor] | None = None
    shown: Shown | None = None
    made: Made | None = None
    terms: dict[str, Any] = field(default_factory=dict)
    second: str = ""

    @property
    def package(self) -> str:
        return self.where.partition(".")[0]

    @property
    def name(self) -> str:
        return self.where.rpartition(":")[2]

    def load(self, folder: Path) -> Any:
        """The Function itself, from its file in ``folder``."""
        module, _, path = self.where.partition(":")
        found = _module(module, folder)
        for name in path.split("."):
            found = getattr(found, name)
        return self.made(found) if self.made is not None else found


class Bank(list[Entry]):
    """Entries in the order in which they are written down, each by what is true of it."""

    def right(
        self, where: str, inputs: Inputs, how: str = "gradcheck",
        shown: Shown | None = None, made: Made | None = None, **terms: Any,
    ) -> None:  # fmt: skip
        self.append(Entry(where, inputs, "right", how, shown=shown, made=made, terms=terms))

    def surrogate(
        self, where: str, inputs: Inputs, slope: Callable[..., Tensor],
        how: str = "published formula", made: Made | None = None, **terms: Any,
    ) -> None:  # fmt: skip
        self.append(Entry(where, inputs, "surrogate", how, slope, made=made, terms=terms))

    def wrong(
        self, where: str, inputs: Inputs, how: str,
        shown: Shown | None = None, made: Made | None = None, **terms: Any,
    ) -> None:  # fmt: skip
        self.append(Entry(where, inputs, "wrong", how, shown=shown, made=made, terms=terms))


ENTRIES = Bank()
right, surrogate, wrong = ENTRIES.right, ENTRIES.surrogate, ENTRIES.wrong


def normal(*shape: int, seed: int = 0, grad: bool = False) -> Tensor:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_(grad)


def wanted(args: tuple[Any, ...]) -> list[int]:
    """Positions that are differentiated."""
    floats = [
        i
        for i, a in enumerate(args)
        if isinstance(a, Tensor) and (a.is_floating_point() or a.is_complex())
    ]
    return [i for i in floats if args[i].requires_grad] or floats


def leaves(args: tuple[Any, ...]) -> list[Any]:
    """Copies of the arguments; those that are differentiated require grad."""
    chosen = wanted(args)
    return [
        a.detach().clone().requires_grad_(i in chosen) if isinstance(a, Tensor) else a
        for i, a in enumerate(args)
    ]


def verified(entry: Entry, function: Any) -> bool:
    """Whether what the entry says is true, without any help of the checker."""
    apply = getattr(function, "apply", function)

    def gradcheck() -> bool:
        torch.manual_seed(0)
        try:
            return torch.autograd.gradcheck(apply, leaves(entry.inputs()), raise_exception=False)
        except RuntimeError:  # torch refuses a gradient of another shape in any case
            return False

    if entry.shown is not None:
        return entry.shown(function)
    if entry.truth != "surrogate":
        return gradcheck() == (entry.truth == "right")
    args = leaves(entry.inputs())
    assert entry.slope is not None
    made = apply(*args)
    out = made[0] if isinstance(made, tuple) else made
    upstream = normal(*out.shape, seed=1).to(out.dtype)
    first = args[wanted(entry.inputs())[0]]
    (given,) = torch.autograd.grad(out, first, upstream)
    meant = entry.slope(*[a.detach() if isinstance(a, Tensor) else a for a in args]) * upstream
    return torch.allclose(given, meant.to(given.dtype), rtol=1e-5, atol=1e-7)


# What other parts of these packages read files, show progress or fetch weights with: no Function calls it.
BESIDE = frozenset({"ray", "torchvision"})


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a module that does nothing, with some attributes, for each of those that are beside the point."""

    def __init__(self, names: frozenset[str], **attributes: Any) -> None:
        self.names, self.attributes = names, attributes

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return MagicMock(__path__=[], __name__=spec.name, **self.attributes)

    def exec_module(self, module: Any) -> None:
        """Nothing is in it."""


def _module(name: str, folder: Path) -> types.ModuleType:
    """A module by import; the packages above it are not run, so what they need has not to be here."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        sys.meta_path.insert(0, StandIns(BESIDE))  # first: whatever is installed
    parts = name.split(".")[:-1]
    made = []
    for full in (".".join(parts[: i + 1]) for i in range(len(parts))):
        place = folder.joinpath(*full.split("."))
        if full not in sys.modules and place.is_dir():
            package = types.ModuleType(full)
            package.__path__ = [str(place)]
            package.__spec__ = importlib.machinery.ModuleSpec(full, None, is_package=True)
            package.__spec__.submodule_search_locations = [str(place)]
            sys.modules[full] = package
            made.append(full)
    try:
        return importlib.import_module(name)
    except (ImportError, AttributeError):
        if not made:
            raise
    for known in [n for n in sys.modules if n.split(".")[0] == parts[0]]:
        del sys.modules[known]  # it needs what its package defines: then as everybody imports it
    return importlib.import_module(name)


# ---- inputs of the blind banks ----
X = normal(3, 4)


def grad(*shape: int, seed: int = 0) -> Tensor:
    return normal(*shape, seed=seed, grad=True)


def x(*rest: Any, scale: float = 1.0) -> Any:
    """Inputs: a tensor that is differentiated, and more arguments."""
    return of((scale * X).requires_grad_(True), *rest)


def of(*args: Any) -> Any:
    """Inputs that are made anew each time."""
    return lambda: tuple(
        a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a
        for a in args
    )
