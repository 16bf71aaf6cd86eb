"""xray: one forward and backward of a Function of the learner's own, step by step.

`xray(MySigmoid)` takes its inputs from the exercise of that name, `xray(MySigmoid, x)` those given;
`with xray():` watches whatever runs in the block. The run is recorded by autograder.trace, which
changes nothing about it.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import torch
from IPython.core.getipython import get_ipython
from torch import Tensor

from autograder import containment
from autograder.exercises import find
from autograder.expected import expect
from autograder.materials import fresh_arguments, fresh_upstream
from autograder.observation import Question
from autograder.plan import make_plan
from autograder.trace import Trace, record, snapshot
from widgets.runs import callable_and_name, copies, counting, parameters
from widgets.steps import StepThrough
from widgets.wording import SAID
from widgets.xray_graph import tensors_named
from widgets.xray_steps import Expected, argument_names, safe_walk_of

SEED = 0  # of the inputs of an exercise: the same each time, so that two runs can be compared


def xray(fn: Any = None, *inputs: Any, grad_output: Any = None) -> Any:
    """Show one forward and backward of a Function, step by step.

    Args:
        fn: a Function class, its apply, or a function that uses some. Without it, a context manager
            that watches the block: `with xray(): …`.
        inputs: the arguments; they are copied, so your tensors keep their gradients. Where no
            tensor requires a gradient, all floating-point ones do. Without any, those of the first
            visible check of the exercise with fn's name.
        grad_output: the upstream gradient, or a tuple with one for each output; 1, 2, 3, … by default.

    Raises:
        ValueError: without inputs, for a name that is no exercise. What fn raises is shown as the
            last step.
    """
    if fn is None:
        return XRayBlock()
    function, name = callable_and_name(fn)
    if not inputs:
        return _of_exercise(fn, function, name)
    arguments = copies(inputs)
    return _run(fn, function, name, arguments, grad_output, None)


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
        said = "" if error is None else _first_line(type(error).__name__, str(error))
        walk = safe_walk_of(self._trace, "What ran in the block", tensors_named(known), error=said)
        self.view = StepThrough(walk)
        if get_ipython() is not None:
            self.view._ipython_display_()

    def __repr__(self) -> str:
        return "Write `with xray(): …`." if self.view is None else str(self.view)


def _of_exercise(fn: Any, function: Callable[..., Any], name: str) -> StepThrough:
    exercise = find(name)
    question = first_case(name)
    arguments = fresh_arguments(question)
    expected = None
    if not exercise.is_function:
        right = expect(exercise, question)
        gradients = dict(zip(question.wants, right.gradients or (), strict=False))
        expected = Expected(
            [snapshot(v) for v in right.outputs], {i: snapshot(g) for i, g in gradients.items()}
        )

    def upstream(outputs: Sequence[Any]) -> list[Tensor | None]:
        return fresh_upstream(question, outputs)

    return _run(fn, function, name, arguments, upstream, expected)


def first_case(name: str) -> Question:
    """The first visible run of an exercise, from a fixed seed. ValueError where there is none."""
    for question in make_plan(find(name), SEED, hidden=False):
        if question.args and question.kind in ("run", "function"):
            return question
    raise ValueError(f"{name} has no first case; give inputs: xray({name}, x).")


def _run(
    fn: Any,
    function: Callable[..., Any],
    name: str,
    arguments: list[Any],
    upstream: Any,
    expected: Expected | None,
) -> StepThrough:
    """Forward and backward under the tracer; what goes wrong becomes the last step."""
    names = argument_names(fn) if isinstance(fn, type) else parameters(function)
    known = {
        names[i] if i < len(names) else f"input {i}": value
        for i, value in enumerate(arguments)
        if isinstance(value, Tensor)
    }
    said = ""
    # A notebook that an error stops shows nothing; the error is what this is to show.
    with warnings.catch_warnings(), torch.enable_grad(), record(engine=True) as trace:
        warnings.simplefilter("ignore")
        try:
            output = function(*arguments)
            _backward(output, upstream)
        except Exception as error:
            said = _error_words(error, fn, trace)
            error.__traceback__ = None  # it would keep the learner's tensors alive
    walk = safe_walk_of(trace, f"One run of `{name}`", known, expected, said)
    return StepThrough(walk)


def _backward(output: Any, upstream: Any) -> None:
    outputs = tuple(output) if isinstance(output, tuple | list) else (output,)
    if callable(upstream):
        gradients = upstream(outputs)
    elif upstream is None:
        gradients = [counting(value) for value in outputs]
    else:
        gradients = list(upstream) if isinstance(upstream, tuple | list) else [upstream]
    pairs = [
        (value, gradient)
        for value, gradient in zip(outputs, gradients, strict=False)
        if isinstance(value, Tensor) and value.requires_grad and gradient is not None
    ]
    if not pairs:
        raise RuntimeError("no output requires a gradient, so no backward can run")
    torch.autograd.backward([value for value, _ in pairs], [gradient for _, gradient in pairs])


def _error_words(error: Exception, fn: Any, trace: Trace) -> str:
    """One sentence: where it stopped, with what, and at which line of the learner's."""
    files = containment.files_of(fn)
    failure = containment.failure_from(error, "call", files)
    if isinstance(error, NotImplementedError) and failure.own_frame and not failure.message:
        return f"`{failure.function}` is not written yet: it raises NotImplementedError."
    words = _first_line(failure.kind, failure.message)
    if failure.own_frame and failure.line:
        source = failure.source.replace("`", "'")
        words += f" It happened in {failure.function}, line {failure.line}: `{source}`"
    return words


def _first_line(kind: str, message: str) -> str:
    first = message.splitlines()[0][:SAID].replace("`", "'") if message.strip() else ""
    return f"{kind}: {first}" if first else f"{kind}."
