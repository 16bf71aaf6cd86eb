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
    ONE_TENSOR,
    cases_of,
    extreme,
    kept,
    put,
    some,
    special,
)
from autograder.exercises.sigmoid.activations import SWISH
from autograder.observation.compare import close
from autograder.running.function_classes import patched

DUAL_SWISH = replace(
    SWISH,
    name="DualSwish",
    summary="x · σ(beta · x), right under torch.func, vmap and forward mode as well.",
    also=("jvp", "vmap", "func"),
    hints=(
        "torch.func calls three methods of their own: forward without ctx, setup_context with the inputs and the "
        "output, and jvp. What backward needs is saved for backward; where does jvp get its x and beta from?",
        "setup_context calls ctx.save_for_backward(x, beta) and ctx.save_for_forward(x, beta). jvp(ctx, x_t, beta_t) "
        "gets the tangents and gives the output's: the same two slopes as in backward, and no sum. "
        "generate_vmap_rule = True writes vmap for you.",
        "With s = torch.sigmoid(beta * x): backward gives g * (s + beta * x * s * (1 - s)) and "
        "(g * x**2 * s * (1 - s)).sum_to_size(beta.shape); jvp gives x_t * (s + beta * x * s * (1 - s)) + "
        "beta_t * x**2 * s * (1 - s). A tangent can be None: then that term is left out.",
    ),
)


_points = cases_of(lambda s, *shape: s.away_from(*shape, gap=0.1))

SINC_OP = Exercise(
    name="sinc_op",
    summary="sin(πx) / (πx), 1 at x = 0: NumPy's sinc behind torch.library.custom_op.",
    signature="(x)",
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
    budget_words=f"{ONE_TENSOR}, and the output",
    also=("vmap", "opcheck", "compiled"),
    hints=(
        "Four things are registered. The body may leave torch; the fake may not look at numbers; backward is plain "
        "torch; and since each element stands for itself, a batch is no more than a larger tensor.",
        "Body: x.numpy(force=True), np.sinc, back to x's dtype and device, contiguous. Fake: an empty tensor with "
        "exactly that shape and those strides. sinc′ = (cos πx − sinc x) / x, and 0 at 0: "
        "replace x by 1 where it is 0, before you divide.",
        "safe = torch.where(x == 0, 1.0, x); slope = torch.where(x == 0, 0.0, ((torch.pi * x).cos() - sinc_op(x)) / safe). "
        "Body ends with torch.empty(x.shape, …).copy_(torch.from_numpy(…)) and the fake with "
        "x.new_empty(x.shape). vmap returns sinc_op(x), in_dims[0].",
    ),
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
        Scenario("each row is stored", "forward-value", _one_call, _stored, needs=(), first=True, free=("output",)),
        Scenario("a kernel does it", "uses-builtin", _one_call, by_a_kernel, needs=("output_value",), free=("output",)),
    ),
)  # fmt: skip
