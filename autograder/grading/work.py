"""The unit of work: one submission in, one Result out. Runs in any process, on any machine.

A worker keeps one box for as long as it lives, so that only its first submission waits for it.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import torch
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbformat.v4.nbjson import JSONWriter

from autograder.exercise import Exercise
from autograder.exercises import registered_exercises
from autograder.grading.box import Box, Job, Limits, Outcome, Walls
from autograder.grading.judge import examination
from autograder.grading.lesson import Lesson, LessonFiles, grade_id_of, read_lesson
from autograder.grading.marking import Marked, mark
from autograder.grading.out_of_time import let_wait
from autograder.grading.restoring import UnreadableNotebook, overwrite, read_notebook, restore
from autograder.grading.result import Mark, Result
from autograder.grading.said import said_as_markdown
from autograder.grading.submission import sanitise

NOTE = "autograder-note"  # the id of the cell that says why a notebook waits


@dataclass(frozen=True)
class How:
    """How submissions are graded: the same for a whole batch.

    seed     the lesson's secret seed
    device   "cpu", or "cuda": then everything is asked on both
    prelude  set-up cells of all lessons of the batch, whose imports are made once
    tests    graded cells that are no `check(…)` run too, in the submission's own process, which
             could forge what they find; without it, they wait for a person
    allowed  imports that the instructor allows the class, beside those of policy/lists.py
    """

    seed: int
    device: str = "cpu"
    limits: Limits = field(default_factory=Limits)
    walls: Walls = field(default_factory=Walls)
    prelude: tuple[str, ...] = ()
    tests: bool = False
    allowed: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        return ("cpu",) if self.device == "cpu" else ("cpu", self.device)


@dataclass(frozen=True)
class Submission:
    """What one student handed in for a lesson.

    data     the notebook file; None where there is none to be read
    trouble  why it cannot be read; "" where it just is not there
    """

    student: str
    data: bytes | None
    trouble: str = ""


def content_hash(submission: Submission, lesson: LessonFiles, how: How) -> str:
    """What a result depends on. The grader's own version is recorded beside it, not in it."""
    parts = (
        lesson.digest,
        str(how.seed),
        how.device,
        str(submission.data is None) + submission.trouble,
    )
    digest = hashlib.sha256("\0".join(parts).encode())
    digest.update(submission.data or b"")
    return digest.hexdigest()


_known: OrderedDict[str, LessonFiles] = OrderedDict()  # lessons sent to this process, by digest
_MOST_KNOWN = 64


def grade_sent(submission: Submission, lesson: LessonFiles | str, how: How) -> Result | None:
    """Grade one submission on a worker; as :func:`grade`.

    lesson  its digest; None comes back where this worker has not got the lesson yet: then it is to
            be sent whole. A lesson has far more bytes than what is handed in for it.
    """
    if isinstance(lesson, LessonFiles):
        _known[lesson.digest] = lesson
        if len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
        return grade(submission, lesson, how)
    files = _known.get(lesson)
    return None if files is None else grade(submission, files, how)


def grade(submission: Submission, files: LessonFiles, how: How) -> Result:
    """Grade one submission. Raises CannotStart or NoLesson, never for what a submission holds."""
    began = time.perf_counter()
    torch.set_num_threads(1)  # sums of many numbers depend on it, and equal work scores equally
    lesson = read_lesson(files)
    _notice_exercises()
    content = content_hash(submission, files, how)
    try:
        if submission.data is None:
            missing = f"There is no {lesson.name}.ipynb in what was handed in."
            raise UnreadableNotebook(submission.trouble or missing)
        notebook = read_notebook(submission.data)
    except UnreadableNotebook as error:
        return Result(
            submission.student, lesson.name, "", tuple(_ungraded(lesson)),
            reasons=(str(error),), content=content, seed=how.seed,
        )  # fmt: skip
    restore(notebook, lesson.roles, lesson.notebook.cells)
    overwrite(notebook, lesson)
    answered = tuple(
        name
        for cell in notebook.cells
        if (name := grade_id_of(cell))
        and lesson.roles[name].get("solution")
        and cell.source.strip() != lesson.released.get(name, "").strip()
    )
    read = time.perf_counter() - began
    if not how.prelude:
        how = replace(how, prelude=lesson.prelude)
    marked = mark_in_box(notebook, lesson, how)
    began = time.perf_counter()
    if marked.reasons:
        notebook.cells.insert(0, note_for_person(marked.reasons))
    sanitise(notebook, lesson.texts | {c.source for c in notebook.cells[:1] if marked.reasons})
    text = JSONWriter().writes(notebook)
    return Result(
        submission.student, lesson.name, text, tuple(marked.marks), answered,
        tuple(marked.reasons), content, how.seed,
        {"read": read, **marked.seconds, "write": time.perf_counter() - began},
    )  # fmt: skip


def _ungraded(lesson: Lesson) -> list[Mark]:
    return [Mark(g.grade_id, None, g.points, g.exercise, g.hidden) for g in lesson.graded.values()]


def not_graded(submission: Submission, files: LessonFiles, how: How, reason: str) -> Result:
    """The result for a submission the grader itself failed on: a person has to look."""
    marks = tuple(_ungraded(read_lesson(files)))
    content = content_hash(submission, files, how)
    return Result(
        submission.student, files.name, "", marks, reasons=(reason,), content=content, seed=how.seed
    )


def note_for_person(reasons: Sequence[str]) -> NotebookNode:
    """A cell for the top of a notebook that waits for a person."""
    return _note("A person looks at this notebook before it gets points.", reasons)


def note_of_acceptance(lines: Sequence[str]) -> NotebookNode:
    """The cell that takes its place where a person has looked."""
    return _note("A person looked at this notebook: its points are what the checks found.", lines)


def _note(beginning: str, reasons: Sequence[str]) -> NotebookNode:
    words = "\n".join(f"- {said_as_markdown(reason)}" for reason in reasons)
    return new_markdown_cell(f"**{beginning}**\n\n{words}", id=NOTE)


# ---- the worker's box ----------------------------------------------------------------------

_boxes: dict[str, Box] = {}
_one_at_a_time = Lock()
_exercises: dict[str, Exercise] = {}  # an instructor's own, when it was last looked


def _notice_exercises() -> None:
    """What was made for exercises that have another definition now is made anew."""
    now = registered_exercises()
    with _one_at_a_time:
        if now.keys() != _exercises.keys() or any(now[n] is not _exercises[n] for n in now):
            _exercises.clear()
            _exercises.update(now)
            examination.cache_clear()
            close_boxes()


def mark_in_box(notebook: NotebookNode, lesson: Lesson, how: How) -> Marked:
    """Mark a restored notebook with this process's box. Raises CannotStart."""
    marked = mark(
        notebook, lesson, lambda job: _run(job, how), how.seed, how.devices, how.tests, how.allowed
    )
    let_wait(marked, notebook, how.limits)
    return marked


def _run(job: Job, how: How) -> Outcome:
    with _one_at_a_time:
        key = f"{how.device} {how.limits} {how.walls} {how.prelude}"
        if key not in _boxes:
            close_boxes()
            _boxes[key] = Box(how.limits, how.walls, how.prelude, how.device)
        return _boxes[key].run(job)


def close_boxes() -> None:
    """End this process's boxes; the next job builds a new one."""
    for box in _boxes.values():
        box.close()
    _boxes.clear()
