"""DualSwish, and the operators sinc_op and triton_softmax of lesson 12; which kernels a call launches, for triton_attention too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple
from autograder.contract.exercise import (
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
)
from autograder.exercises.common_cases import (
    cases_of,
    extreme,
    kept,
    put,
    some,
    special,
    told,
)
from autograder.exercises.sigmoid.activations import SWISH
from autograder.observation.compare import close
from autograder.running.function_classes import patched

DUAL_SWISH = replace(
    SWISH,
    **told("DualSwish"),
    also=("jvp", "vmap", "func"),
)


_points = cases_of(lambda s, *shape: s.away_from(*shape, gap=0.1))

SINC_OP = Exercise(
    **told("sinc_op"),
    reference=torch.sinc,
    forbidden=frozenset({"torch.sinc", "torch.special.sinc", "torch.Tensor.sinc", "aten.sinc"}),
    half=False,
    cases=(
        _points("a matrix", 3, 4),
        _points("a vector", 5),
        _points("a batch of matrices", 2, 3, 4),
        special(
            "x = 0",
            [0.0, 0.0, 1.5],

            advice="The curve is flat at 0. A quotient with x below it has no number there: give that place a value "
            "of its own, before the division.",
        ),
        special("whole numbers, where sinc is 0", [1.0, -2.0, 3.0], second=True),
        _points("a single number (0-d)", role="batch"),
        _points("an empty vector", 0, role="empty"),
        _points("an empty batch of matrices", 0, 3, 4, role="empty"),
    ),
    budget=kept(0, output=True),
    also=("vmap", "opcheck", "compiled"),
)  # fmt: skip


def _noting(owner: type, name: str, note: Solution) -> tuple[type, str, Solution]:
    """A method that tells what it is called with, and does what it did."""
    method = getattr(owner, name)

    def call(self: Any, *args: Any, **more: Any) -> Any:
        note(self, *args)
        return method(self, *args, **more)

    return owner, name, call


def _noted(seen: Data) -> list[tuple[type, str, Solution]]:
    """The methods of Triton's that tell of launches; none where it is not installed."""
    if find_spec("triton") is None:
        return []
    interpreter, builder = (
        resolve_name(f"triton.runtime.interpreter:{name}")
        for name in ("GridExecutor", "InterpreterBuilder")
    )

    def launch(kernel: Any, *_: Any) -> None:
        seen["kernels"].append(kernel.fn.__name__)

    def make_range(builder: Any, of: Any, start: int, stop: int) -> None:
        seen["widest"] = max(seen["widest"], stop - start)

    def begin(*_: Any) -> None:
        seen["programs"] += 1

    def store(builder: Any, to: Any, value: Any, mask: Any, *_: Any) -> None:
        seen["stored"] += int(mask.data.sum())

    return [
        _noting(resolve_name("triton.runtime.jit:JITFunction"), "run", launch),
        _noting(interpreter, "__call__", launch),
        _noting(builder, "create_make_range", make_range),
        _noting(builder, "set_grid_idx", begin),
        _noting(builder, "create_masked_store", store),
    ]


def launched(call: Callable[[], Any]) -> Data:
    """What the call gives, and the kernels that it launches, by name; of interpreted ones also how many programs ran,
    the largest range that one made, and how many numbers they stored."""
    seen: Data = {"kernels": [], "programs": 0, "widest": 0, "stored": 0}
    with patched(_noted(seen)):
        output = as_tuple(call())[0].detach().clone()
    return {**seen, "output": output}


def not_stored(data: Data) -> Cause | None:
    """Where the output is wrong: whether some of it is just what was in its memory."""
    numbers = data["output"].numel()
    if not data["kernels"] or data["stored"] >= numbers:
        return None
    facts = {"programs": data["programs"], "stored": data["stored"], "numbers": numbers}
    return Cause("triton/not-stored", {**facts, "none": not data["programs"]}, symptom=False)


def by_a_kernel(data: Data, right: Data) -> Cause | None:
    """Whether a kernel of Triton's did it at all."""
    return None if data["kernels"] else Cause("triton/no-kernel", rule="uses-builtin")


_rows = cases_of(lambda s, *shape: 2 * s.normal(*shape))


def row_softmax(x: Tensor) -> Tensor:
    """torch.softmax over the last dimension; a row of nothing but −inf gives zeros."""
    empty = (x == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(x.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


def _one_call(softmax: Callable[[Tensor], Tensor], s: Sampler) -> Data:
    x = s.normal(3, 5)
    return launched(lambda: softmax(x))


def _stored(data: Data, right: Data) -> Cause | None:
    return None if close(data["output"], right["output"]) else not_stored(data)


TRITON_SOFTMAX = Exercise(
    **told("triton_softmax"),
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
        special("rows with some −inf, as a mask leaves them", put(some(3, 5), -torch.inf, (0, 1), (1, slice(3, None)), (2, 0))),
        special(
            "a row of nothing but −inf",
            put(some(3, 4), -torch.inf, 1),

            advice="Its maximum is −inf, and −inf − (−inf) is nan. Take 0 for such a maximum, and let the sum of "
            "nothing divide nothing.",
        ),
        _rows("a vector", 5, role="batch"),
        _rows("an empty batch", 0, 4, role="empty"),
        _rows("rows of no element", 3, 0, role="empty"),
        extreme(
            "inputs up to ±1000 in float32",
            [[1000.0, 0.0, -1000.0], [-1000.0, -1200.0, -800.0], [2.0, 0.5, 1.0]],

        ),
    ),
    budget=kept(output=True),
    also=("opcheck",),
    scenarios=(
        Scenario("each row is stored", "forward-value", _one_call, _stored, needs=(), first=True, free=("output",)),
        Scenario("a kernel does it", "uses-builtin", _one_call, by_a_kernel, needs=("output_value",), free=("output",)),
    ),
)  # fmt: skip
