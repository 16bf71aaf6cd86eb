"""Checks a notebook of the course in a terminal, read and run as grading reads and runs it.

For people who work without a browser or with a screen reader: the same reports, and the same verdict.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
import torch

import autograder
from autograder.exercises import find
from autograder.explaining import explanation
from autograder.judging.finding import fault
from autograder.judging.rules import judge
from autograder.learner.checking import evaluate
from autograder.learner.lesson import LessonFiles, read_files, read_lesson
from autograder.learner.slice import Slice, asked_of
from autograder.learner.submitted_notebook import (
    Lessons,
    UnreadableNotebook,
    read_notebook,
    restore,
)
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, OneCheck, verdict
from autograder.reporting.wording import worded
from autograder.running.containment import contained
from autograder.running.program import Stop, importable, new_space, run

_REPOSITORY = Path(autograder.__file__).resolve().parents[1]
_SOURCES = ("lessons/{0}.py", "build/source/{0}/{0}.ipynb", "source/{0}/{0}.ipynb")


@dataclass
class NotebookReports:
    """The reports of one notebook, in its order, and the cells that stopped with an error."""

    reports: list[Report] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


class NotANotebook(ValueError):
    """A file that is missing, is no notebook, or has no exercises."""


def check_notebook(
    path: Path,
    hidden: bool = False,
    seed: int | Callable[[str], int] | None = None,
    only: str = "",
) -> NotebookReports:
    """Run what grading runs of a notebook, and check every exercise (or one) in it.

    seed  of all exercises, or by the name of each
    A notebook that grades nothing, as the start page, is asked what its own checks ask.
    Raises NotANotebook.
    """
    found, slices = NotebookReports(), _slices(path)
    for name in [_one_of(slices, path, only)] if only else slices:
        own = seed(name) if callable(seed) else seed
        space = _made_by(path, name, slices[name], found.troubles)
        if name in space:
            report = evaluate(space[name], exercise=find(name), hidden=hidden, seed=own)
        else:
            lost = worded(fault("raises", "lost/not-there", name=name))
            report = Report(name, False, [lost], hidden=hidden)
        found.reports.append(report)
    return found


def named_in(path: Path, name: str) -> str:
    """The exercise ``name`` of a notebook, or its only one. Raises NotANotebook, which names them all."""
    return _one_of(_slices(path), path, name)


def _one_of(slices: Mapping[str, Slice], path: Path, name: str) -> str:
    if name in slices or (not name and len(slices) == 1):
        return name or next(iter(slices))
    what = f"{path} has no exercise {name}." if name else "Which exercise?"
    raise NotANotebook(f"{what} Say one of {', '.join(slices)}.")


def _made_by(path: Path, name: str, slice: Slice, troubles: list[str]) -> dict[str, Any]:
    """Run what an exercise of a notebook needs, and give what that defines.

    Cells that stop are added to ``troubles``.
    """
    with importable(path.parent):
        space, stops = _run(slice)
    troubles += [f"{cell} of {path.name}: {what}: {why}" for cell, _, _, what, why in slice.doubts]
    troubles += [f"{stop.cell} of {path.name}: {stop}" for stop in stops]
    troubles += [f"{name} in {path.name}: {slice.stopped}"] if slice.stopped else []
    return space


def _slices(path: Path) -> dict[str, Slice]:
    """What grading runs for each exercise of a notebook, in its order.

    What is the lesson's is read from the lesson, where its source can be found. Raises NotANotebook, also where
    there are no exercises.
    """
    try:
        data = path.read_bytes()
        notebook = read_notebook(data)
        with importable(path.parent):
            lesson = read_lesson(_files_of_lesson(path, data))
            lesson = lesson if lesson.graded else replace(lesson, graded=lesson.checks)
            restore(notebook, lesson)
            asked = asked_of(notebook, lesson)
    except OSError as error:
        raise NotANotebook(f"There is no notebook {path} ({error.strerror}).") from error
    except (UnreadableNotebook, nbformat.ValidationError) as error:
        raise NotANotebook(f"{path}: {error}") from error
    if not asked:
        raise NotANotebook(
            f"{path} has no exercises: it is of no lesson that is known here, or that calls no check(…)."
        )
    slices: dict[str, Slice] = {}
    for one in asked:
        slices.setdefault(one.exercise, one.slice)
    return slices


def _run(slice: Slice) -> tuple[dict[str, Any], list[Stop]]:
    """What a slice defines, and how those of its cells stopped that did not come to their end."""
    main, space = sys.modules["__main__"], new_space()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            stops = run(slice.pieces, space)
    finally:
        sys.modules["__main__"] = main
    if any(stop.kind == "KeyboardInterrupt" for stop in stops):
        raise KeyboardInterrupt
    return space, stops


def _files_of_lesson(path: Path, data: bytes) -> LessonFiles:
    """The lesson that a notebook is of: by its name, else by its cells; else what it says itself."""
    if (found := _sources_of(path.stem, path)) is None:
        lessons = sorted((_REPOSITORY / "lessons").glob("[0-9]*.py"))
        name = Lessons({one.stem: one.read_bytes() for one in lessons}).of(data)
        found = _sources_of(name, path) if name else None
    return found or read_files(path.stem, path)


def _sources_of(name: str, path: Path) -> LessonFiles | None:
    """The lesson of this name, where its source is above the notebook, or in the repository."""
    for root in (*path.resolve().parents, _REPOSITORY):
        for source in (root / place.format(name) for place in _SOURCES):
            if source.is_file():
                is_py = source.suffix == ".py"
                return (
                    LessonFiles(name, _as_notebook(source)) if is_py else read_files(name, source)
                )
    return None


def _as_notebook(lesson: Path) -> str:
    """A lesson as it is written, in cells; each has its grade_id for an id, as in its notebooks."""
    import jupytext

    notebook = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="py:percent")
    for cell in notebook.cells:
        if name := cell.metadata.get("nbgrader", {}).get("grade_id"):
            cell.id = name
    return str(nbformat.writes(notebook))


# ---- why a report says what it says: which question, rule and cause spoke ------------------------


def why(path: Path, exercise: str, seed: int = 0) -> str:
    """What was asked, which rule found what, which cause explained it, and the report. Raises NotANotebook."""
    from jinja2 import Template  # torch brings it

    slices, troubles = _slices(path), list[str]()
    exercise = _one_of(slices, path, exercise)
    asked = Asked.of(find(exercise), seed, hidden=True)
    space = _made_by(path, exercise, slices[exercise], troubles)
    if exercise not in space:
        lack = f"{path}: no cell defines {exercise}, or it stopped before."
        raise NotANotebook("\n".join([lack, *troubles]))
    one = OneCheck(asked, space[exercise], space[exercise])
    page = Template(Path(__file__).with_name("why.txt.j2").read_text("utf-8"), trim_blocks=True)
    facts = {"troubles": troubles, "asked": asked, "refused": one.refused}
    if one.refused:
        return page.render(facts)
    with contained(capture=False), torch.enable_grad():
        evidence = one.evidence()
        verdicts = judge(evidence)
        first = verdicts.findings[:1]
        told = [pair for f in first for pair in explanation.explanations(f, evidence)]
        report = verdict(asked, evidence, judged=verdicts)
        return page.render(facts, verdicts=verdicts, told=told, report=report)
