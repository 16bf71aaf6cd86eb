"""Which run of an exercise xray shows, and on which step it opens.

Of the runs that the latest check asked for, if that found something, else of all that it asks: the
first that goes wrong, or the first of all. All inputs come from the exercise, so the right values are
known.
"""

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import draws_of
from autograder.contract.exercise import Exercise
from autograder.contract.friendly_error import refusal
from autograder.contract.plan import make_plan
from autograder.contract.references import References
from autograder.exercises import find
from autograder.observation.observation import Question
from autograder.reporting.walk_place import SAVED, Failed, failed
from autograder.running.submission import fresh_arguments, fresh_upstream
from widgets.steps import Walk
from widgets.trace import snapshot
from widgets.xray_expected import Expected
from widgets.xray_moves import Moved, fresh, output_names
from widgets.xray_run import Run

MOST_LOOKED_AT = 1000  # elements
SEED = 0  # of the inputs of an exercise: the same each time, so that two runs can be compared
WARNED = {
    "mutates-input": ("wrote into its input",),
    "mutates-upstream": ("wrote into its `grad_output`",),
    "mutates-saved": ("which it saved", "no detached copy"),
    "ignores-needs-input-grad": ("wants no gradient",),
}


def walk_of_exercise(
    fn: Any, function: Callable[..., Any], name: str, order: int | None, grad_output: Any
) -> Walk:
    """The walk of the first run that goes wrong, opened where it does; of the first run else.

    Raises ValueError for a name that is no exercise, or one without a run to show.
    """
    exercise, found = find(name), failed(name)
    second = found is not None and found.rule.startswith("double-backward")
    if order is None:
        order = 2 if second and not exercise.is_function else 1
    questions = runs_of(exercise, found, order)
    if not questions:
        raise refusal(f"{name} has no case to show; give inputs: xray({name}, x).")
    if grad_output is not None:  # it fits the first of them
        questions, second = questions[:1], False
    fallback: tuple[Walk, str] | None = None
    for question, live in _ways(questions, second):
        run = _run(fn, function, exercise, question, order, grad_output)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            walk = replace(run, live_upstream=live).walk(order)
        opening = opening_of(walk, found.rule if found else "")
        if opening is not None:
            print(printed.getvalue(), end="")
            return replace(walk, opens=opening)
        fallback = fallback or (walk, printed.getvalue())
    assert fallback is not None
    print(fallback[1], end="")
    return fallback[0]


def runs_of(exercise: Exercise, found: Failed | None, order: int) -> list[Question]:
    """The questions that can be walked through, in the order in which they are tried."""
    seed, hidden = (SEED, False) if found is None else (found.seed, found.hidden)
    kinds = {"function"} if exercise.is_function else {"run", "needs"}
    if found is not None and found.rule == "shared-state":
        kinds.add("interleave")
    complete = make_plan(exercise, seed, hidden)
    plan = [q for q in complete if q.args and q.device == "cpu"]
    if order == 2:
        asked = [q for q in plan if q.kind == "second"]
        asked = asked or [_twice(q) for q in plan if q.kind in kinds and q.role == "main"]
        return _alone(asked)
    # A walk shows what each argument gets: of one tensor as two arguments there is but the sum. What is not
    # finite, and so not judged, would look wrong beside the right answer.
    special = found is not None and found.rule == "fails-special-point"
    hard = {"later", "same"} if special else {"later", "same", "where_finite"}
    usable = [q for q in plan if q.kind in kinds and q.wants and not any(map(q.more.get, hard))]
    return sorted(usable, key=lambda q: (q.kind != "run", found is None and _is_large(q)))


def _is_large(question: Question) -> bool:
    """Whether its picture would show but a corner of a tensor: a case made to be counted, not looked at."""
    return any(isinstance(a, Tensor) and a.numel() > MOST_LOOKED_AT for a in question.args)


def _alone(asked: Sequence[Question]) -> list[Question]:
    """One question a case, without another function beside; a case may be asked in a sum only."""
    alone = [q for q in asked if not q.more.get("mixed")]
    cases = {q.case for q in alone}
    more = [q for q in asked if q.more.get("mixed") and q.case not in cases]
    return alone + [replace(q, more={**q.more, "mixed": False}) for q in more]


def _ways(questions: Sequence[Question], every: bool) -> Iterator[tuple[Question, bool]]:
    """The questions, each with whether grad_output has a history.

    Args:
        every: all ways in which a second derivative can go wrong. One may be refused where
            grad_output has a history and wrong where it has none, or wrong only in a sum with
            another function of the inputs.
    """
    yield from ((question, True) for question in questions)
    if every:
        yield from ((question, False) for question in questions)
        sums = (replace(q, more={**q.more, "mixed": True}) for q in questions)
        yield from ((question, False) for question in sums)


def _twice(question: Question) -> Question:
    """A run as a question for second derivatives, all gradients weighted equally."""
    weights = tuple(torch.ones_like(question.args[place]) for place in question.wants)
    return replace(question, kind="second", directions=weights)


def opening_of(walk: Walk, rule: str) -> int | None:
    """The index of the step that shows what is wrong; None where no step does.

    Args:
        rule: what the latest check found, or "".
    """
    for index, step in enumerate(walk.steps):
        if step.wrong:
            return index
        if any(sign in words for sign in WARNED.get(rule, ()) for words in step.warnings):
            return index
    if rule.startswith("saves-"):
        kept = [i for i, step in enumerate(walk.steps) if step.phase == SAVED]
        warned = [i for i in kept if walk.steps[i].warnings]
        return next(iter(warned or kept), None)
    return None


def first_case(name: str) -> Question:
    """The first visible run of an exercise, from a fixed seed. ValueError where there is none."""
    for question in runs_of(find(name), None, 1):
        return question
    raise refusal(f"{name} has no first case; give inputs: xray({name}, x).")


def _run(
    fn: Any,
    function: Callable[..., Any],
    exercise: Exercise,
    question: Question,
    order: int,
    grad_output: Any,
) -> Run:
    def upstream(outputs: Sequence[Any]) -> list[Tensor | None]:
        return fresh_upstream(question, outputs)

    given, interleaved = grad_output is None, question.kind == "interleave"
    return Run(
        fn,
        function,
        _title(exercise, question, order),
        fresh_arguments(question),
        upstream if given else grad_output,
        partial(_expected, exercise, question) if given and not exercise.is_function else None,
        keep=None,
        directions=question.directions,
        second_order=exercise.second_order,
        mixed=bool(question.more.get("mixed")),
        between=fresh_arguments(question, question.more["args"]) if interleaved else (),
        draws=draws_of(question.case),  # those of the check, so that both show one run
    )


def _title(exercise: Exercise, question: Question, order: int) -> str:
    what = "Backward through the backward" if order == 2 else "One run"
    if question.more.get("mixed"):
        return f"{what} of `{exercise.name}`, in a sum with the cubes of its inputs"
    if question.kind == "interleave":
        return f"{what} of `{exercise.name}`, with another call in between"
    first = question.role == "main" and not question.variant and question.kind != "needs"
    if first:
        return f"{what} of `{exercise.name}`"
    wanted = [exercise.argument(i) for i in question.wants]
    only = f"only {wanted[0]} wants a gradient" if question.kind == "needs" and wanted else ""
    where = ", ".join(filter(None, (question.case, question.variant, only)))
    return f"{what} of `{exercise.name}`: {where}"


def _expected(
    exercise: Exercise, question: Question, moved: Moved, given: Sequence[Any]
) -> Expected:
    """The right values for numbers that were moved, in the dtypes that the contract asks for.

    given  the outputs of the run, which tell what was drawn
    """
    names = [exercise.argument(i) for i in range(len(question.args))]
    outputs = output_names(len(question.upstream))
    question = replace(
        question,
        args=tuple(fresh(question.args, names, moved)),
        upstream=tuple(fresh(question.upstream, outputs, moved)),
    )
    references = References(exercise)
    right = references.expect(references.as_drawn(question, given))
    floating = [v.dtype for v in question.args if isinstance(v, Tensor) and v.is_floating_point()]
    dtype = floating[0] if floating else torch.get_default_dtype()

    def shot(value: Any, to: torch.dtype = dtype) -> Any:
        """Unrounded, as the check compares it: of a dtype with few digits two neighbours are right."""
        if not isinstance(value, Tensor):
            return value
        dtype = to if value.is_floating_point() else value.dtype
        return replace(snapshot(value, None), dtype=str(dtype).removeprefix("torch."))

    # In a sum, the gradient that comes out is not the one that backward returns.
    known = () if question.more.get("mixed") else right.gradients or ()
    gradients = zip(question.wants, known, strict=False)
    return Expected(
        [shot(value) for value in right.outputs],
        {i: shot(g, question.args[i].dtype) for i, g in gradients},
        [shot(value) for value in right.second or ()],
        exercise.constants,
    )
