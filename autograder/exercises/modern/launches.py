"""What experiments see of Triton: which kernels a call launches, and how wide the widest range in one of them is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from autograder.contract.exercise import Cause, sentences_beside
from autograder.running.function_classes import patched


@dataclass
class Launches:
    """The kernels that were launched, by name, and the largest range that one made (interpreted kernels alone)."""

    names: list[str] = field(default_factory=list)
    widest: int = 0


@contextmanager
def launches() -> Iterator[Launches]:
    """Notes every launch of a Triton kernel in the block; none where triton is not installed."""
    seen = Launches()
    compiled, interpreted = _module("triton.runtime.jit"), _module("triton.runtime.interpreter")
    patches: list[tuple[Any, str, Any]] = []
    if compiled is not None:
        run = compiled.JITFunction.run

        def launch(self: Any, *args: Any, **more: Any) -> Any:
            seen.names.append(self.fn.__name__)
            return run(self, *args, **more)

        patches.append((compiled.JITFunction, "run", launch))
    if interpreted is not None:
        execute, ranges = interpreted.GridExecutor.__call__, interpreted.InterpreterBuilder.create_make_range  # fmt: skip

        def interpret(self: Any, *args: Any, **more: Any) -> Any:
            seen.names.append(self.fn.__name__)
            return execute(self, *args, **more)

        def make_range(self: Any, of: Any, start: int, stop: int) -> Any:
            seen.widest = max(seen.widest, stop - start)
            return ranges(self, of, start, stop)

        patches.append((interpreted.GridExecutor, "__call__", interpret))
        patches.append((interpreted.InterpreterBuilder, "create_make_range", make_range))
    with patched(patches):
        yield seen


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def launched(call: Callable[[], Any]) -> dict[str, Any]:
    """What the call launches, as an experiment's data."""
    with launches() as seen:
        call()
    return {"kernels": seen.names, "widest": seen.widest}


def by_a_kernel(data: dict[str, Any]) -> Cause | None:
    """Whether a kernel of Triton's did it at all."""
    return None if data["kernels"] else Cause("triton/no-kernel", rule="uses-builtin")


SENTENCES = sentences_beside(__file__)
