"""Checks a notebook of the course in a terminal, read and run as grading reads and runs it.

For people who work without a browser or with a screen reader: the same reports, and the same verdict.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from nbformat import NotebookNode

import autograder
from autograder.exercises import find
from autograder.explaining import explanation
from autograder.judging.finding import fault
from autograder.judging.rules import judge
from autograder.learner.checking import evaluate
from autograder.learner.file_check import importable
from autograder.learner.lesson import Lesson, LessonFiles, read_files, read_lesson
from autograder.learner.one_check import OneCheck
from autograder.learner.slice import Slice, asked_of
from autograder.learner.submitted_notebook import UnreadableNotebook, read_notebook, restore
from autograder.learner.which_lesson import Lessons
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked
from autograder.reporting.wording import worded
from autograder.running.containment import contained
from autograder.running.program import Stop, new_space, run

_REPOSITORY = Path(autograder.__file__).resolve().parents[1]
_SOURCES = ("lessons/{0}.py", "build/source/{0}/{0}.ipynb", "source/{0}/{0}.ipynb")


@dataclass
class NotebookReports:
    """The reports of one notebook, in its order, and the cells that stopped with an error."""

    reports: list[Report] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return bool(self.reports) and all(r.passed for r in self.reports)


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
    found = NotebookReports()
    for name, space in exercises_in(path, found.troubles, only):
        own = seed(name) if callable(seed) else seed
        found.reports.append(_report(name, space, hidden, own))
    if not found.reports:
        what = f"no exercise {only}" if only else "no exercises: no cell calls check(…)"
        raise NotANotebook(f"{path} has {what}.")
    return found


def named_in(path: Path, name: str) -> str:
    """The exercise ``name`` of a notebook, or its only one. Raises NotANotebook, which names them all."""
    with importable(path.parent):
        _, lesson = _opened(path)
    names = list(dict.fromkeys(cell.exercise for cell in lesson.graded.values() if cell.exercise))
    if name in names or (not name and len(names) == 1):
        return name or names[0]
    what = f"{path} has no exercise {name}" if name else "Which exercise? Say --function"
    raise NotANotebook(f"{what}: {', '.join(names) or 'no cell calls check(…)'}.")


def exercises_in(
    path: Path, troubles: list[str], only: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run what grading runs for each exercise of a notebook (or for one), and give what it defines.

    What is the lesson's is read from the lesson, where its source can be found. Cells that stop are
    added to ``troubles``. Raises NotANotebook.
    """
    seen: set[str] = set()
    with importable(path.parent):
        notebook, lesson = _opened(path)
        restore(notebook, lesson)
        for one in asked_of(notebook, lesson):
            if one.exercise in seen or only not in ("", one.exercise):
                continue
            seen.add(one.exercise)
            troubles += [f"{d[0]} of {path.name}: {d[3]}: {d[4]}" for d in one.slice.doubts]
            space, stops = _run(one.slice)
            troubles += [f"{stop.cell} of {path.name}: {stop}" for stop in stops]
            if one.slice.stopped:
                troubles.append(f"{one.exercise} in {path.name}: {one.slice.stopped}")
            yield one.exercise, space


def _opened(path: Path) -> tuple[NotebookNode, Lesson]:
    """A notebook, and the lesson that it is of. Raises NotANotebook."""
    try:
        data = path.read_bytes()
        notebook = read_notebook(data)
    except OSError as error:
        raise NotANotebook(f"There is no file {path} ({error.strerror}).") from error
    except UnreadableNotebook as error:
        raise NotANotebook(f"{path}: {error}") from error
    lesson = read_lesson(_files_of_lesson(path, data))
    return notebook, lesson if lesson.graded else replace(lesson, graded=lesson.checks)


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


def _report(name: str, space: dict[str, Any], hidden: bool, seed: int | None) -> Report:
    if name in space:
        return evaluate(space[name], exercise=find(name), hidden=hidden, seed=seed)
    finding = worded(fault("raises", "lost/not-there", name=name))
    return Report(name, False, [finding], hidden=hidden)


def _files_of_lesson(path: Path, data: bytes) -> LessonFiles:
    """The lesson that a notebook is of: by its name, else by its cells; else what it says itself."""
    roots = [*path.resolve().parents, _REPOSITORY]
    name = path.stem
    if not any(root.joinpath(p.format(name)).is_file() for root in roots for p in _SOURCES):
        lessons = sorted((_REPOSITORY / "lessons").glob("[0-9]*.py"))
        name = Lessons({one.stem: one.read_bytes() for one in lessons}).of(data)
    for root in roots if name else ():
        for place in _SOURCES:
            source = root / place.format(name)
            if source.suffix == ".py" and source.is_file():
                return LessonFiles(name, _as_notebook(source))
            if source.is_file():
                return read_files(name, source)
    return read_files(path.stem, path)


def _as_notebook(lesson: Path) -> str:
    """A lesson as it is written, in cells; each has its grade_id for an id, as in its notebooks."""
    import jupytext
    import nbformat

    notebook = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="py:percent")
    for cell in notebook.cells:
        if name := cell.metadata.get("nbgrader", {}).get("grade_id"):
            cell.id = name
    return str(nbformat.writes(notebook))


# ---- why a report says what it says: which question, rule and cause spoke ------------------------


def why(path: Path, exercise: str, seed: int = 0) -> str:
    """What was asked, which rule found what, which cause explained it, and the report.

    Raises NotANotebook where the notebook has no such exercise, ValueError for a name that is none.
    """
    from jinja2 import Template  # torch brings it

    asked = Asked.of(find(exercise), seed, hidden=True)
    troubles: list[str] = []
    space = next((space for _, space in exercises_in(path, troubles, exercise)), None)
    if space is None or exercise not in space:
        lack = f"{path}: no cell defines {exercise}, or it stopped before."
        said = f"{path} has no check of {exercise}." if space is None else lack
        raise NotANotebook("\n".join([said, *troubles]))
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
        report = one.verdict() if first else ""
        return page.render(facts, verdicts=verdicts, told=told, report=report)
