"""triton_softmax of lesson 12, a softmax over rows in a kernel; and which kernels a call launches, for triton_attention too."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple
from autograder.contract.exercise import Case, Cause, Exercise, Sampler, Scenario
from autograder.exercises.common_cases import cases_of, fixed, kept
from autograder.observation.compare import close
from autograder.running.function_classes import patched


@dataclass
class Launches:
    """The kernels that were launched, by name; of interpreted ones also how many programs ran, the largest range that
    one made, and how many numbers they stored."""

    names: list[str] = field(default_factory=list)
    programs: int = 0
    widest: int = 0
    stored: int = 0


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
        execute, builder = interpreted.GridExecutor.__call__, interpreted.InterpreterBuilder
        ranges, begin, write = builder.create_make_range, builder.set_grid_idx, builder.create_masked_store  # fmt: skip

        def interpret(self: Any, *args: Any, **more: Any) -> Any:
            seen.names.append(self.fn.__name__)
            return execute(self, *args, **more)

        def create_make_range(self: Any, of: Any, start: int, stop: int) -> Any:
            seen.widest = max(seen.widest, stop - start)
            return ranges(self, of, start, stop)

        def set_grid_idx(self: Any, *place: int) -> Any:
            seen.programs += 1
            return begin(self, *place)

        def create_masked_store(self: Any, to: Any, value: Any, mask: Any, *more: Any) -> Any:
            seen.stored += int(mask.data.sum())
            return write(self, to, value, mask, *more)

        patches.append((interpreted.GridExecutor, "__call__", interpret))
        for method in (create_make_range, set_grid_idx, create_masked_store):
            patches.append((builder, method.__name__, method))
    with patched(patches):
        yield seen


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def launched(call: Callable[[], Any]) -> dict[str, Any]:
    """What the call launches and gives, as an experiment's data."""
    with launches() as seen:
        output: Tensor = as_tuple(call())[0].detach().clone()
    return {
        "kernels": seen.names, "widest": seen.widest, "programs": seen.programs,
        "stored": seen.stored, "output": output,
    }  # fmt: skip


def not_stored(data: dict[str, Any]) -> Cause | None:
    """Where the output is wrong: whether some of it is just what was in its memory."""
    numbers = data["output"].numel()
    if not data["kernels"] or data["stored"] >= numbers:
        return None
    facts = {"programs": data["programs"], "stored": data["stored"], "numbers": numbers}
    return Cause("triton/not-stored", {**facts, "none": not data["programs"]}, symptom=False)


def by_a_kernel(data: dict[str, Any]) -> Cause | None:
    """Whether a kernel of Triton's did it at all."""
    return None if data["kernels"] else Cause("triton/no-kernel", rule="uses-builtin")


_rows = cases_of(lambda s, *shape: (2 * s.normal(*shape),))


def row_softmax(x: Tensor) -> Tensor:
    """torch.softmax over the last dimension; a row of nothing but −inf gives zeros."""
    empty = (x == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(x.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


def _masked(s: Sampler) -> tuple[Tensor]:
    x = s.normal(3, 5)
    x[0, 1], x[1, 3:], x[2, 0] = -torch.inf, -torch.inf, -torch.inf
    return (x,)


def _nothing(s: Sampler) -> tuple[Tensor]:
    x = s.normal(3, 4)
    x[1] = -torch.inf
    return (x,)


def _one_call(softmax: Callable[[Tensor], Tensor], s: Sampler) -> dict[str, Any]:
    x = s.normal(3, 5)
    return {"x": x, **launched(lambda: softmax(x))}


def _stored(data: dict[str, Any]) -> Cause | None:
    return None if close(data["output"], row_softmax(data["x"])) else not_stored(data)


TRITON_SOFTMAX = Exercise(
    name="triton_softmax",
    summary="softmax over the last dimension, by a Triton kernel behind an operator of your own.",
    signature="(x)",
    reference=row_softmax,
    second_order="right-or-refused",
    half=False,
    any_size=False,
    cases=(
        _rows("rows of 5", 3, 5),
        _rows("rows of 8, a power of 2", 2, 8),
        _rows("a batch of matrices, rows of 7", 2, 3, 7),
        _rows("rows of 130", 2, 130),
        _rows("rows of a single element", 3, 1, role="special"),
        Case("rows with some −inf, as a mask leaves them", _masked, role="special"),
        Case(
            "a row of nothing but −inf",
            _nothing,
            role="special",
            advice="Its maximum is −inf, and −inf − (−inf) is nan. Take 0 for such a maximum, and let the sum of "
            "nothing divide nothing.",
        ),
        _rows("a vector", 5, role="batch"),
        _rows("an empty batch", 0, 4, role="empty"),
        _rows("rows of no element", 3, 0, role="empty"),
        Case(
            "inputs up to ±1000 in float32",
            fixed([[1000.0, 0.0, -1000.0], [-1000.0, -1200.0, -800.0], [2.0, 0.5, 1.0]]),
            role="extreme",
        ),
    ),
    budget=kept(output=True),
    budget_words="the output",
    also=("opcheck",),
    hints=(
        "One program takes one row. It loads a block that is at least as long as the row, so some of its elements lie "
        "behind the end. What do they have to be for the maximum? And for the sum?",
        "columns = tl.arange(0, BLOCK) with BLOCK = triton.next_power_of_2(n); load at row · stride(0) + columns · "
        "stride(1) with mask=columns < n and other=-inf; subtract tl.max, tl.exp, divide by tl.sum; store with "
        "the same mask. Backward needs the output alone: lesson 07 has the formula.",
        "top = tl.max(x, axis=0); top = tl.where(top == -inf, 0.0, top); e = tl.exp(x - top); total = tl.sum(e, axis=0); "
        "store e / tl.where(total == 0.0, 1.0, total). Backward: y * (g - (g * y).sum(-1, keepdim=True)). No "
        "launch where there is no element.",
    ),
    scenarios=(
        Scenario("each row is stored", "forward-value", _one_call, _stored, needs=(), first=True, given=("x",), free=("output",)),
        Scenario("a kernel does it", "uses-builtin", _one_call, by_a_kernel, needs=("output_value",), given=("x",), free=("output",)),
    ),
)  # fmt: skip
