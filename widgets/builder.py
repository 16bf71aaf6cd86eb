"""function_builder: a function of one number, its curve, tangent, saved values, gradient and code.

The Function is run at every place of the slider before anything is shown: forward, then backward
with the upstream gradient 1. The tangent has the slope that backward returned, so a wrong backward
is seen: its tangent cuts the curve.
"""

import ast
import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.friendly_error import refusal
from widgets.builder_functions import FUNCTIONS
from widgets.explorer import (
    Curve,
    Exploration,
    Explorer,
    Frame,
    Panel,
    Sweep,
    pieces,
    short,
    spanned,
)
from widgets.runs import callable_and_name
from widgets.wording import number, shape, stopped

PLACES = torch.arange(-40, 41, dtype=torch.float64) / 10
START = 50  # x = 1
NUDGE = 1e-3  # far above what float32 rounds off, far below what bends a curve
AGREES = 0.01  # relative; the slope from nudging is good to about four digits


@dataclass(frozen=True)
class Run:
    """One run at x: the value, what was saved, the gradient, the slope by nudging (None at a kink)."""

    x: float
    value: float
    saved: tuple[str, ...]
    gradient: float | None
    slope: float | None

    @property
    def wrong(self) -> bool:
        """Whether backward's gradient is not the slope of forward."""
        if self.slope is None:
            return False
        got = 0.0 if self.gradient is None else self.gradient
        return not abs(got - self.slope) <= AGREES * max(1.0, abs(self.slope))


def function_builder(*functions: Any) -> Explorer:
    """Slide x under a function of one number: curve, tangent, forward, what is saved, backward.

    Args:
        functions: Function classes, functions of a tensor, or names of the course's own ("Square",
            "Cube", "ReLU", "Sigmoid", "Tanh", "Exponential", "Sine", "Softplus"). All of these by default.

    What a function raises is shown in its place.

    Raises:
        ValueError: for a name that is none of the course's.
        TypeError: for something that cannot be called.
    """
    sweeps = tuple(_sweep(_known(one)) for one in functions or FUNCTIONS)
    title = "A function and its gradient, place by place"
    return Explorer(Exploration(title, "Function", "x", sweeps))


def run_at(function: Any, x: float) -> Run:
    """Run forward and backward at x, in float64, and the forward twice more beside it."""
    leaf = torch.tensor([x], dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        result = function(leaf)
    value = _one_number(result)
    node = result.grad_fn
    saved = tuple(_told(kept) for kept in getattr(node, "saved_tensors", ()) or ())
    gradient = None
    if result.requires_grad:
        ones = torch.ones_like(result)
        (found,) = torch.autograd.grad(result, leaf, ones, allow_unused=True)
        gradient = None if found is None else found.item()
    return Run(x, value, saved, gradient, _slope(function, x, value))


def _known(function: Any) -> Any:
    if not isinstance(function, str):
        return function
    if function not in FUNCTIONS:
        raise refusal(f"No function is called {function!r}. There are {', '.join(FUNCTIONS)}.")
    return FUNCTIONS[function]


def _slope(function: Any, x: float, value: float) -> float | None:
    """The slope of forward by nudging x both ways; None where the two sides differ."""
    with torch.no_grad():
        below, above = (
            _one_number(function(torch.tensor([x + d], dtype=torch.float64)))
            for d in (-NUDGE, NUDGE)
        )
    left, right = (value - below) / NUDGE, (above - value) / NUDGE
    middle = (left + right) / 2
    return middle if abs(left - right) <= 0.05 * max(1.0, abs(middle)) else None


def _one_number(result: Any) -> float:
    if not isinstance(result, Tensor) or result.numel() != 1:
        got = (
            f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else type(result).__name__
        )
        raise ValueError(f"for one number it gives {got}, and a curve needs one number")
    return float(result.detach().item())


def _told(kept: Any) -> str:
    if not isinstance(kept, Tensor):
        return "None"
    if kept.numel() == 1:
        return number(kept.item())
    return f"a tensor of shape {shape(kept)}"  # type: ignore[arg-type]


def _sweep(given: Any) -> Sweep:
    function, name = callable_and_name(given)
    code = _code(given)
    try:
        runs = [run_at(function, x) for x in PLACES.tolist()]
    except Exception as error:
        return _stopped(name, error, code)
    saves = max(len(run.saved) for run in runs)
    slots = 4  # {0} to {3} stand before the saved values
    rows = [
        ("forward value", "{0}"),
        *((f"`saved_tensors[{i}]`", f"{{{slots + i}}}") for i in range(saves)),
        ("gradient that backward returns", "{1}"),
        ("slope of the curve, by nudging x", "{2}"),
    ]
    return Sweep(
        name=name,
        frames=tuple(_frame(run, saves) for run in runs),
        status="forward gives {0}. For an upstream gradient of 1, backward returns {1}. {3}",
        head=("what", "here"),
        rows=tuple(rows),
        panels=_panels(runs),
        code=code,
        start=START,
    )


def _panels(runs: Sequence[Run]) -> tuple[Panel, ...]:
    values = [(run.x, run.value) for run in runs]
    gradients = [(run.x, float("nan") if run.gradient is None else run.gradient) for run in runs]
    slopes = [(run.x, float("nan") if run.slope is None else run.slope) for run in runs]
    ends = (runs[0].x, runs[-1].x)
    return (
        Panel(
            "Forward, and the tangent that backward claims",
            "x",
            "value",
            ends,
            spanned([y for _, y in values]),
            (Curve("forward", pieces(values)),),
        ),
        Panel(
            "Backward",
            "x",
            "gradient",
            ends,
            spanned([y for _, y in gradients] + [y for _, y in slopes]),
            (
                Curve("slope of the curve", pieces(slopes), 2),
                Curve("what backward returns", pieces(gradients), 1),
            ),
        ),
    )


def _frame(run: Run, saves: int) -> Frame:
    marks, lines = [(0, 0, run.x, short(run.value))], []
    gradient = "None" if run.gradient is None else number(short(run.gradient))
    slope = "a kink: none" if run.slope is None else number(short(round(run.slope, 5)) + 0.0)
    if run.gradient is not None:
        marks.append((1, 1, run.x, short(run.gradient)))
        start, end = run.x - 1.5, run.x + 1.5
        line = (0, start, run.value - 1.5 * run.gradient, end, run.value + 1.5 * run.gradient)
        if all(abs(v) < 1e6 for v in line):
            lines.append(tuple(map(short, line)))
    if run.slope is not None:
        marks.append((1, 2, run.x, short(run.slope)))
    saved = [*run.saved, *["nothing"] * (saves - len(run.saved))]
    return Frame(
        place=f"x = {number(run.x)}",
        words=(number(short(run.value)), gradient, slope, _verdict(run, slope), *saved),
        marks=tuple(marks),
        lines=tuple(lines),  # type: ignore[arg-type]
    )


def _verdict(run: Run, slope: str) -> str:
    if run.slope is None:
        return "The curve has a kink, a jump or no value here, so no slope is the right one."
    if run.wrong:
        return f"✗ The curve rises by {slope} for each unit of x, so this is not its derivative."
    return "✓ That is the slope of the curve."


def _stopped(name: str, error: Exception, code: str) -> Sweep:
    unwritten = isinstance(error, NotImplementedError) and not str(error)
    words = f"{'' if unwritten else '✗ '}it {stopped(error)}"
    error.__traceback__ = None
    frames = tuple(Frame(f"x = {number(x)}", ()) for x in PLACES.tolist())
    return Sweep(name, frames, status=words.replace("{", "("), code=code, start=START)


def _code(given: Any) -> str:
    """The source of a class or function; "" where Python does not have it."""
    owner = getattr(given, "__self__", given)
    try:
        if isinstance(owner, type) and issubclass(owner, Function):
            return _class_code(owner)
        return textwrap.dedent(inspect.getsource(given)).strip()
    except (OSError, TypeError, SyntaxError):
        return ""


def _class_code(owner: type[Function]) -> str:
    """Found through its forward: inspect finds no class of a notebook before Python 3.13."""
    lines, start = inspect.findsource(owner.forward)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.ClassDef) and node.name == owner.__name__:
            end = node.end_lineno or node.lineno
            if node.lineno <= start + 1 <= end:
                return textwrap.dedent("".join(lines[node.lineno - 1 : end])).strip()
    return ""
