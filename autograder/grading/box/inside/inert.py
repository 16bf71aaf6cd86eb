"""What a notebook imports from the course and does not need while it is graded: it does nothing.

`check`, `hint`, the widgets and an instructor's own exercises stay outside the box; their names are
here, so that a set-up cell that imports them runs.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.machinery import PathFinder
from typing import Any


class Inert:
    """Takes any call, attribute or item and gives itself: nothing happens."""

    def __call__(self, *args: Any, **kwargs: Any) -> Inert:
        return self

    def __getattr__(self, name: str) -> Inert:
        if name.startswith("_"):  # IPython and copy ask for what a plain object does not have
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> str:
        return "black"  # what lessons look up by name are the palette's colours

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __repr__(self) -> str:
        return ""


class InertModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below the given names that is not there: an inert one."""

    def __init__(self, names: Sequence[str]):
        self._names = tuple(names)

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self._names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        make_inert(module.__dict__)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run."""


def make_inert(namespace: dict[str, Any]) -> None:
    """Let a module give an inert object for every name it does not have."""

    def give(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full = f"{namespace['__name__']}.{name}"
        if PathFinder.find_spec(full, namespace.get("__path__", [])):
            return importlib.import_module(full)
        return Inert()

    namespace["__getattr__"] = give


def install(names: Sequence[str]) -> None:
    """Let modules of these top-level names be imported, whether they are there or not."""
    sys.meta_path.append(InertModules(names))
