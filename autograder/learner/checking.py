"""check, evaluate and hint: what notebooks call."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import torch
from torch.autograd import Function

from autograder.contract.any_function import Terms, sensible
from autograder.contract.exercise import Exercise
from autograder.contract.friendly_error import in_lines, refusal
from autograder.exercises import find, is_exercise
from autograder.explaining.pages import known
from autograder.learner.other_functions import report_on
from autograder.reporting.display import Paragraph, is_rich, show
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, OneCheck
from autograder.reporting.walk_place import remember
from autograder.running.containment import contained


class CheckFailed(AssertionError):
    """A check that found something. Its message is the report's headline; no traceback is shown.

    The report itself stands above it. Where JupyterLab would show it once more as an error, the report's
    style sheet hides that; elsewhere it is one quiet line.
    """

    def __init__(self, report: Report):
        self.report = report
        super().__init__(report.headline)

    def _render_traceback_(self) -> list[str]:
        # IPython shows these lines in place of a traceback; nbgrader validate shows only them.
        if not is_rich():  # the exception has to carry the whole report
            return [str(self.report)]
        if os.environ.get("NBGRADER_EXECUTION"):
            return in_lines(f"{self.report.mark} {self.report.headline}")
        return ["The report above says what to do next."]


def evaluate(
    submission: Any,
    exercise: str | Exercise | None = None,
    hidden: bool = True,
    device: str | Sequence[str] | None = None,
    seed: int | None = None,
    *,
    inputs: Any = None,
    reference: Callable[..., Any] | None = None,
    surrogate: Callable[..., Any] | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    eps: float | None = None,
    nondet_tol: float = 0.0,
    dtypes: Sequence[torch.dtype] | None = None,
    second_order: bool | None = None,
    ignore: Sequence[str] = (),
    seconds: float | None = 10.0,
    strict: bool = False,
) -> Report:
    """Check a submission and return the report; never raises for what the submission does.

    It says all that was found. check says which expression made it right, when tried, from the third failing check on.

    submission  a Function class, or a callable that applies one; function exercises take the function
    exercise    the exercise's name; default: the submission's own name
    hidden      the same promises with other numbers and sizes, as when graded
    device      None: the CPU; "cuda": there too; several: on each
    seed        None: random inputs, drawn once in a process: who checks again sees what the edit
                changed. The same seed gives the same verdict

    For a Function that is not from the course, and only there:
    inputs        its arguments as a tuple, or a list of such tuples. Tensors that require grad are
                  differentiated, as by gradcheck; where none does, all that could
    reference     a torch function with the right values and gradients; without one the values of forward
                  are believed, and its slopes measured
    surrogate     a torch function whose gradient is meant, where it is no derivative
    atol, rtol    what a number may be off by, beyond what is always allowed (1e-6 of it, and what was measured)
    eps           the step of central differences; None: the most exact one, measured
    nondet_tol    what two calls with the same arguments may differ by
    dtypes        which of torch.float32 and torch.bfloat16 are asked beside float64; None: float32 where there
                  is a reference
    second_order  True: must be there; None: must be right where it is there; False: not asked
    ignore        names of rules that are not judged
    seconds       no new question is asked after that: the report is incomplete then, never passed
    strict        advice counts as an error
    Raises ValueError for a name that is no exercise or no rule, listing the closest ones; for a device that
    is not there; for a number below 0; what a reference raises.
    """
    sensible(atol=atol, rtol=rtol, eps=eps, nondet_tol=nondet_tol, seconds=seconds)
    others = [device] if isinstance(device, str) else list(device or ())
    devices = ("cpu", *(_there(name) for name in others if name != "cpu"))
    named = exercise if isinstance(exercise, str) else ""
    if inputs is not None:
        terms = Terms(
            reference, surrogate, atol, rtol, eps, nondet_tol, dtypes, second_order, frozenset(map(known, [ignore] if isinstance(ignore, str) else ignore)), strict
        )  # fmt: skip
        return report_on(submission, inputs, terms, named, devices, seed, seconds)
    if reference is not None or surrogate is not None:
        raise ValueError("evaluate with a reference also needs inputs: inputs=(x, …).")
    asked = (
        exercise if isinstance(exercise, Exercise)
        else find(named or _name_of(submission if exercise is None else exercise))
    )  # fmt: skip
    seed = _own_seed() if seed is None else seed
    graded = bool(os.environ.get("NBGRADER_EXECUTION"))
    with contained(capture=False), torch.enable_grad():
        questions = _asked(asked, seed, hidden, devices)
        return OneCheck(questions, submission, submission, graded=graded).verdict()


def assert_backward(fn: Any, inputs: Any, reference: Any = None, **terms: Any) -> None:
    """Raise AssertionError with the whole report, unless ``evaluate(fn, inputs=…, …)`` passes."""
    report = evaluate(fn, inputs=inputs, reference=reference, **terms)
    if not report.passed:
        raise AssertionError(str(report))


def check(
    submission: Any, hidden: bool = False, exercise: str | None = None, seed: int | None = None
) -> None:
    """Check a submission and show the report. Raises CheckFailed if it falls short; returns None.

    hidden=True asks the same promises with other numbers and sizes. What belongs in the place of a wrong expression
    is told from the third failing check on, or after the last hint. ValueError for a name that is no exercise.
    """
    from autograder.learner.progress import default_devices

    devices = default_devices()
    device = next((d for d in devices if d != "cpu"), None)
    report = evaluate(submission, exercise=exercise, hidden=hidden, device=device, seed=seed)
    report = in_stages(report)
    remember(report)
    show(report)
    if not report.passed:
        raise CheckFailed(report)


_TRIES = 3  # failing checks, from which on a report says what it tried


def in_stages(report: Report) -> Report:
    """Remember a learner's check, and give what they are told of it.

    Cause and line at once; which expression made it right when tried, from the third failing check of the exercise
    on or after its last hint. Who keeps no progress, as nbgrader, stays at the first stage.
    """
    from autograder.learner.progress import load, record_check

    record_check(report)
    known = load().exercise(report.exercise)
    ready = known.attempts >= _TRIES or known.hints >= len(find(report.exercise).hints)
    return report if ready else report.without_edits()


def _there(device: str) -> str:
    """A device that this machine has; ValueError for any other."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"this machine has no device {device!r}: {str(error).splitlines()[0]}"
        ) from error
    return device


_next_hint: dict[str, int] = {}


def hint(submission: Any) -> None:
    """Show the next hint for an exercise (a class, a function or a name), from gentle to formula."""
    from autograder.learner.progress import load, record_hint

    asked = find(submission if isinstance(submission, str) else _name_of(submission))
    seen = max(_next_hint.get(asked.name, 0), load().exercise(asked.name).hints)
    level = min(seen, len(asked.hints) - 1)
    _next_hint[asked.name] = level + 1
    record_hint(asked.name, level + 1)
    told = f"Hint {level + 1} of {len(asked.hints)} for {asked.name}: {asked.hints[level]}"
    if level == len(asked.hints) - 1 and asked.lesson:
        told += f"\nThat was the last hint. The worked answer stands in solutions/{asked.lesson}."
    show(Paragraph(told))


# ---- helpers -------------------------------------------------------------------------------


@cache
def _own_seed() -> int:
    """The seed of this process."""
    return secrets.randbelow(2**31)


# Who edits checks again: the questions and what the reference answers are the same ones, and a third of the work.
_asked = lru_cache(maxsize=2)(Asked.of)


def _name_of(submission: Any) -> str:
    """The name that finds the exercise: the class's, the function's, or that of apply's class.

    A function that is no exercise by its own name may stand in a variable that is.
    """
    owner = getattr(submission, "__self__", None)
    if isinstance(owner, type):
        return owner.__name__
    name = getattr(submission, "__name__", None)
    if isinstance(submission, Function):
        return type(submission).__name__
    if isinstance(submission, str) and submission.isidentifier():
        raise refusal(
            f"check needs {submission} itself, without quotation marks: check({submission})."
        )
    if isinstance(name, str) and is_exercise(name):
        return name
    for variables in (getattr(submission, "__globals__", {}), vars(sys.modules["__main__"])):
        for variable, value in list(variables.items()):
            if value is submission and is_exercise(variable):
                return variable
    if callable(submission) and not str(name).isidentifier():
        raise refusal(
            "This function has no name of its own. Say which exercise it solves: "
            'check(f, exercise="…").'
        )
    if not isinstance(name, str):
        raise refusal(
            f"This needs your class, for example check(Square); it was given {type(submission).__name__}."
        )
    return name
