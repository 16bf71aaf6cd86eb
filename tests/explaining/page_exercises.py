"""The little exercises that the rules' pages use: none of them is from the course, so no page spoils one.

A page's marked code block names one of these, or an exercise of the course.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Cause, Exercise, Refusal, Sampler, Scenario, bytes_of
from autograder.exercises import find
from autograder.exercises.checkpointing.checkpoint import judge_memory, run_memory
from autograder.exercises.common_cases import elementwise_cases, kept

_HINTS = ("gentle", "firmer", "formula")


def _a_tensor_as_exponent() -> Refusal:
    return Refusal("a tensor as exponent", lambda s: (s.normal(3), torch.tensor(2.0)))


SINE = Exercise(
    name="Sine", lesson="", summary="sin(x).", signature="(x)", reference=torch.sin,
    cases=elementwise_cases(), hints=_HINTS, budget=kept(0),
)  # fmt: skip

COSINE = replace(SINE, name="Cosine", summary="cos(x).", reference=torch.cos)

WAVE = replace(
    SINE, name="Wave", summary="x · sin(x).", reference=lambda x: x * torch.sin(x), budget=None
)

LOG_COSH = replace(
    SINE, name="LogCosh", summary="log(cosh(x)).",
    reference=lambda x: torch.logaddexp(x, -x) - math.log(2),
)  # fmt: skip

ABSOLUTE = Exercise(
    name="Absolute", lesson="", summary="|x|, with gradient 0 at 0.", signature="(x)",
    reference=torch.abs, hints=_HINTS,
    cases=(
        Case("a vector", lambda s: (s.away_from(5),)),
        Case("a matrix", lambda s: (s.away_from(3, 4),)),
        Case("x = 0", lambda s: (torch.zeros(2).double(),), role="special"),
    ),
)  # fmt: skip

POWER = Exercise(
    name="Power", lesson="", summary="x to a number.", signature="(x, exponent)",
    reference=lambda x, exponent: x**exponent, hints=_HINTS, refusals=(_a_tensor_as_exponent(),),
    cases=(
        Case("a square", lambda s: (s.normal(4), 2)),
        Case("a fractional power", lambda s: (s.uniform(2, 3, low=0.5, high=2.0), 1.5)),
    ),
)  # fmt: skip

SIN_COS = Exercise(
    name="SinCos", lesson="", summary="sin(x) and cos(x), two tensors.", signature="(x)",
    reference=lambda x: (torch.sin(x), torch.cos(x)), hints=_HINTS,
    cases=(Case("a vector", lambda s: (s.normal(4),)),),
)  # fmt: skip

SQUARED_LENGTH = Exercise(
    name="SquaredLength", lesson="", summary="The sum of x² over the last dimension.",
    signature="(x)", reference=lambda x: (x * x).sum(-1), hints=_HINTS,
    budget=lambda args, outputs: bytes_of(args[0]),
    cases=(
        Case("a matrix", lambda s: (s.normal(3, 4),)),
        Case("a larger matrix", lambda s: (s.normal(4, 5),)),
        Case("a batch of matrices", lambda s: (s.normal(2, 3, 4),), role="batch"),
    ),
)  # fmt: skip

CENTRE = Exercise(
    name="Centre", lesson="", summary="x minus the mean of its last dimension.", signature="(x)",
    reference=lambda x: x - x.mean(-1, keepdim=True), hints=_HINTS,
    budget=lambda args, outputs: 0,
    cases=(
        Case("a matrix", lambda s: (s.normal(3, 4),)),
        Case("a batch of matrices", lambda s: (s.normal(2, 3, 4),), role="batch"),
        Case("a vector", lambda s: (s.normal(4),), role="batch"),
    ),
)  # fmt: skip

MAT_MUL = Exercise(
    name="MatMul", lesson="", summary="a @ b.", signature="(a, b)", reference=torch.matmul,
    hints=_HINTS, cases=(Case("(2, 3) @ (3, 5)", lambda s: (s.normal(2, 3), s.normal(3, 5))),),
)  # fmt: skip

ADD_ROW = Exercise(
    name="AddRow", lesson="", summary="x + row.", signature="(x, row)", reference=torch.add,
    hints=_HINTS, cases=(Case("(3, 4) + (4,)", lambda s: (s.normal(3, 4), s.normal(4))),),
)  # fmt: skip

HYPOTENUSE = Exercise(
    name="Hypotenuse", lesson="", summary="√(a² + b²).", signature="(a, b)", reference=torch.hypot,
    hints=_HINTS, forbidden=frozenset({"torch.hypot"}),
    cases=(
        Case("two vectors", lambda s: (s.away_from(4), s.away_from(4))),
        Case("two matrices", lambda s: (s.away_from(2, 3), s.away_from(2, 3))),
    ),
)  # fmt: skip


def _relative_error(actual: Tensor, expected: Tensor) -> Tensor:
    return (actual - expected).abs().max() / expected.abs().max()


RELATIVE_ERROR = Exercise(
    name="relative_error", lesson="", summary="The largest difference over the largest value.",
    signature="(actual, expected)", reference=_relative_error, hints=_HINTS, is_function=True,
    cases=(
        Case("vectors", lambda s: (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0]))),
        Case("matrices", lambda s: (s.normal(2, 3), s.normal(2, 3))),
    ),
)  # fmt: skip


def _run_dropout(dropout: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """What forward keeps, what backward passes, and whether backward leaves the random state alone."""
    x, g = s.uniform(4, 5, low=0.5, high=1.5).requires_grad_(True), s.uniform(4, 5, low=0.5)
    y = dropout(x)
    torch.rand(3)  # the state is no longer the one that forward left
    before = torch.get_rng_state()
    (gradient,) = torch.autograd.grad(y, x, g)
    untouched = torch.equal(torch.get_rng_state(), before)
    return {"kept": y.detach() != 0, "passed": gradient != 0, "untouched": untouched}


def _judge_dropout(data: dict[str, Any], right: dict[str, Any]) -> Cause | None:
    if not torch.equal(data["kept"], data["passed"]):
        return Cause("dropout/another-mask")
    return None if data["untouched"] else Cause("dropout/random-state")


_OF_DROPOUT = """
## dropout/another-mask
backward draws a different mask from forward: the gradient belongs to another function.
> Keep torch.get_rng_state() in forward, and set it again in backward.

## dropout/random-state
backward changes the caller's random state.
> torch.random.fork_rng puts it back at the end of a with block.
"""


THRIFTY_DROPOUT = Exercise(
    name="ThriftyDropout", lesson="", summary="Dropout that keeps no mask.", signature="(x)",
    reference=lambda x: x, cases=(), hints=_HINTS,
    scenarios=(Scenario("the mask of backward is that of forward", "random-state", _run_dropout, _judge_dropout),),
    sentences=_OF_DROPOUT,
)  # fmt: skip

RERUN = Exercise(
    name="Rerun", lesson="", summary="fn(x), computed again in backward.", signature="(fn, x)",
    reference=lambda fn, x: fn(x), hints=_HINTS, may_use_autograd=True, second_order="not-judged",
    cases=(), scenarios=(Scenario("fn runs again in backward", "no-recompute", run_memory, judge_memory),),
    sentences=find("Checkpoint").sentences,
)  # fmt: skip

_OWN = {
    e.name: e
    for e in (
        SINE, COSINE, WAVE, LOG_COSH, ABSOLUTE, POWER, SIN_COS, SQUARED_LENGTH, CENTRE, MAT_MUL,
        ADD_ROW, HYPOTENUSE, RELATIVE_ERROR, THRIFTY_DROPOUT, RERUN,
    )
}  # fmt: skip


def exercise_called(name: str) -> Exercise:
    """The exercise that a page's block names; ValueError for an unknown one."""
    return _OWN.get(name) or find(name)
