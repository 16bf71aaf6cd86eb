"""check, evaluate and hint: what notebooks call."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.autograd import Function

from autograder.anywhere import VALUES, exercise_for
from autograder.containment import contained
from autograder.exercise import Exercise
from autograder.exercises import all_exercises, find
from autograder.plan import make_plan
from autograder.probe import follow_one, probe
from autograder.refusal import in_lines, refusal
from autograder.repair import with_cause
from autograder.report import Report
from autograder.seen import remember
from autograder.source import Source
from autograder.submission import kind_of
from autograder.verdict import Asked, rules_asked, verdict, wrong_kind


class CheckFailed(AssertionError):
    """A check that found something. Its message is the report's headline; no traceback is shown."""

    def __init__(self, report: Report):
        self.report = report
        super().__init__(report.headline)

    def _render_traceback_(self) -> list[str]:
        # IPython shows these lines in place of a traceback; nbgrader validate shows only them.
        if _plain_output():
            return [str(self.report)]
        return in_lines(f"{self.report.mark} {self.report.headline}")


def evaluate(
    submission: Any,
    exercise: str | Exercise | None = None,
    hidden: bool = True,
    device: str | None = None,
    seed: int | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    inputs: Any = None,
) -> Report:
    """Check a submission and return the report; never raises for what the submission does.

    submission  a Function class, or a callable that applies one; function exercises take the function
    exercise    the exercise's name; default: the submission's own name
    hidden      everything the grader runs; False: the visible checks
    device      None: the CPU; "cuda": there too
    seed        None: fresh random inputs; the same seed gives the same verdict
    reference   for a Function that is not from the course: a torch function with the right values
                and gradients; without it, central differences of the Function's own forward
    inputs      for such a Function: its arguments as a tuple, or a list of such tuples
    Raises ValueError for a name that is no exercise, listing the closest ones.
    """
    if inputs is not None:
        asked = exercise_for(
            submission, reference, inputs, exercise if isinstance(exercise, str) else ""
        )
    elif reference is not None:
        raise ValueError("evaluate with a reference also needs inputs: inputs=(x, …).")
    else:
        asked = (
            exercise if isinstance(exercise, Exercise) else find(exercise or _name_of(submission))
        )
    seed = secrets.randbelow(2**31) if seed is None else seed
    devices = ("cpu",) if device in (None, "cpu") else ("cpu", str(device))
    graded = bool(os.environ.get("NBGRADER_EXECUTION"))
    refused = wrong_kind(kind_of(submission), asked)
    if refused is not None:
        report = Asked(asked, (), hidden, seed, devices).report(graded)
        report.findings = [refused]
        return report
    with contained(capture=False), torch.enable_grad():
        complete = Asked.of(asked, seed, hidden, devices)
        scenarios = {s.name: s for s in asked.scenarios}
        observation = probe(submission, complete.questions, scenarios)
        later = () if hidden else _later(asked)
        source = Source.of(submission)
        source = source.known_as(asked.name) if asked.is_function else source
        report = verdict(
            complete, observation, source, graded, more=len(later), later=later,
            believed=VALUES if inputs is not None and reference is None else frozenset(),
            follow=lambda question, wrong: follow_one(submission, question, scenarios, wrong),
        )  # fmt: skip
        if not graded and not report.interrupted:
            with contextlib.suppress(KeyboardInterrupt):  # who does not want to wait has the report
                report.findings = with_cause(report.findings, submission, complete, observation)
        return report


def check(
    submission: Any, hidden: bool = False, exercise: str | None = None, seed: int | None = None
) -> None:
    """Check a submission and show the report. Raises CheckFailed if it falls short; returns None.

    hidden=True runs everything the grader runs. ValueError for a name that is no exercise.
    """
    from autograder.progress import default_devices, record_check

    devices = default_devices()
    device = next((d for d in devices if d != "cpu"), None)
    report = evaluate(submission, exercise=exercise, hidden=hidden, device=device, seed=seed)
    record_check(report.exercise, report.passed, hidden)
    remember(report)
    _show(report)
    if not report.passed:
        raise CheckFailed(report)


_next_hint: dict[str, int] = {}


def hint(submission: Any) -> None:
    """Show the next hint for an exercise (a class, a function or a name), from gentle to formula."""
    from autograder.progress import load, record_hint

    asked = find(submission if isinstance(submission, str) else _name_of(submission))
    seen = max(_next_hint.get(asked.name, 0), load().exercise(asked.name).hints)
    level = min(seen, len(asked.hints) - 1)
    _next_hint[asked.name] = level + 1
    record_hint(asked.name, level + 1)
    print(f"Hint {level + 1} of {len(asked.hints)} for {asked.name}: {asked.hints[level]}")
    if level == len(asked.hints) - 1 and asked.lesson:
        print(f"That was the last hint. The worked answer stands in solutions/{asked.lesson}.")


# ---- helpers -------------------------------------------------------------------------------


def _name_of(submission: Any) -> str:
    """The name that finds the exercise: the class's, the function's, or that of apply's class."""
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
    if not isinstance(name, str):
        raise refusal(
            f"check needs your class, for example check(Square); it was given {type(submission).__name__}."
        )
    return name


@cache
def _later_in_course(name: str) -> tuple[str, ...]:
    return _rules_only_hidden(find(name))


def _later(exercise: Exercise) -> tuple[str, ...]:
    """Names of the rules that only the complete check asks, one each; remembered for the course's
    exercises, which do not change while it runs."""
    if all_exercises().get(exercise.name) is exercise:
        return _later_in_course(exercise.name)
    return _rules_only_hidden(exercise)


def _rules_only_hidden(exercise: Exercise) -> tuple[str, ...]:
    visible = rules_asked(exercise, make_plan(exercise, 0, hidden=False))
    complete = rules_asked(exercise, make_plan(exercise, 0, hidden=True))
    return tuple(name for key, name in complete.items() if key not in visible)


def _shell() -> Any:
    try:
        from IPython import get_ipython

        return get_ipython()
    except ImportError:
        return None


def _plain_output() -> bool:
    """Whether there is no rich display, so that the exception has to carry the whole report."""
    return _shell() is None


def _show(report: Report) -> None:
    if _plain_output():
        print(report)
        return
    from IPython.display import display

    display({"text/plain": str(report), "text/html": report._repr_html_()}, raw=True)
