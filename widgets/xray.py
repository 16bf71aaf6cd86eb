"""xray: one forward and backward of a Function of the learner's own, step by step.

`xray(MySigmoid)` takes its inputs from the exercise of that name, `xray(MySigmoid, x)` those given;
`with xray():` watches whatever runs in the block; `order=2` goes backward through the backward. The
run is recorded by widgets.trace, which changes nothing about it.
"""

import sys
from dataclasses import replace
from types import TracebackType
from typing import Any

from autograder.contract.friendly_error import refusal, running_shell
from widgets.runs import callable_and_name, copies
from widgets.steps import StepThrough
from widgets.trace import record
from widgets.xray_choice import walk_of_exercise
from widgets.xray_graph import tensors_named
from widgets.xray_run import Run, first_line
from widgets.xray_second import ENDS
from widgets.xray_steps import Story, safe_walk_of


def xray(fn: Any = None, *inputs: Any, grad_output: Any = None, order: int | None = None) -> Any:
    """Show one forward and backward of a Function, step by step.

    Args:
        fn: a Function class, its apply, or a function that uses some. Without it, a context manager
            that watches the block: `with xray(): …`.
        inputs: the arguments; they are copied, so your tensors keep their gradients. Where no
            tensor requires a gradient, all floating-point ones do. Without any, fn's name is that of
            an exercise: then those of its latest check, if that found something, else those of its
            check; it is the first run that goes wrong, and opens on the step that does.
        grad_output: the upstream gradient, or a tuple with one for each output; 1, 2, 3, … by default.
        order: 2 for a second backward through the recorded first one; with inputs of your own it
            opens where that one ends too early. 1 by default, or 2 where the latest check of the
            exercise found a wrong second derivative.

    Raises:
        ValueError: without inputs, for a name that is no exercise; for another order. What fn raises
            is shown as the last step.
    """
    if order not in (None, 1, 2):
        raise refusal(
            f"order is 1 or 2, not {order!r}: the derivatives that xray can walk through."
        )
    if fn is None:
        return XRayBlock()
    function, name = callable_and_name(fn)
    if not inputs:
        return StepThrough(walk_of_exercise(fn, function, name, order, grad_output))
    title = f"One run of `{name}`" if order != 2 else f"Backward through the backward of `{name}`"
    walk = Run(fn, function, title, copies(inputs), grad_output).walk(order or 1)
    ends = [i for i, step in enumerate(walk.steps) if step.phase == ENDS]
    return StepThrough(replace(walk, opens=ends[0]) if ends else walk)


class XRayBlock:
    """`with xray() as x:` records what runs in the block and shows it at its end."""

    def __init__(self) -> None:
        self.view: StepThrough | None = None

    def __enter__(self) -> "XRayBlock":
        self._recording = record(engine=True)
        self._trace = self._recording.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # What went wrong in the block is shown as the last step and goes on to whoever waits for it.
        self._recording.__exit__(None, None, None)
        # Not this frame: it would refer to itself and keep all it knows alive.
        caller = sys._getframe(1)
        known = {**caller.f_globals, **caller.f_locals}
        said = "" if error is None else first_line(type(error).__name__, str(error))
        story = Story("What ran in the block", tensors_named(known), error=said)
        self.view = StepThrough(safe_walk_of(self._trace, story))
        if running_shell() is not None:
            self.view._ipython_display_()

    def __repr__(self) -> str:
        return "Write `with xray(): …`." if self.view is None else str(self.view)
