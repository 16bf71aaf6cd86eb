"""The unit of work: one submission in, one Result out. Runs in any process, on any machine.

A worker keeps one box for as long as it lives, so that only its first submission waits for it.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import torch
from nbformat.v4.nbjson import JSONWriter

from autograder.contract.exercise import Exercise
from autograder.exercises import registered_exercises
from autograder.grading.box import Box, Limits, Walls
from autograder.grading.judge import examination
from autograder.grading.lesson_building import solution_in
from autograder.grading.marking import How, Mark, Result, mark, note_for_person, part_of, plan
from autograder.grading.processes import TooMuch, bounded
from autograder.grading.sanitising import sanitise
from autograder.learner.lesson import Lesson, LessonFiles, grade_id_of, read_lesson
from autograder.learner.submitted_notebook import UnreadableNotebook, read_notebook, restore


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


def grade(submission: Submission, files: LessonFiles, how: How) -> Result:
    """Grade one submission. Raises CannotStart or NoLesson, never for what a submission holds.

    What is done with it outside of the box is bounded: what reaches a bound waits for a person.
    """
    torch.set_num_threads(1)  # sums of many numbers depend on it, and equal work scores equally
    lesson = read_lesson(files)
    _notice_exercises()
    try:
        return _grade(submission, files, lesson, how)
    except UnreadableNotebook as error:
        reason = str(error)
    except TooMuch as error:
        reason = f"Reading, judging or showing this notebook takes {error}: look at what is in it."
    return not_graded(submission, files, how, reason)


def _grade(submission: Submission, files: LessonFiles, lesson: Lesson, how: How) -> Result:
    times = [time.perf_counter()]
    if submission.data is None:
        missing = f"There is no {lesson.name}.ipynb in what was handed in."
        raise UnreadableNotebook(submission.trouble or missing)
    with bounded():
        notebook = read_notebook(submission.data)
        restore(notebook, lesson)
        answers = {
            name: cell.source
            for cell in notebook.cells
            if (name := grade_id_of(cell)) and lesson.roles[name].get("solution")
        }
        answered = tuple(
            name
            for name, text in answers.items()
            if text.strip() != lesson.released.get(name, "").strip()
        )
        copied = bool(answers) and all(
            text.split() == solution_in(lesson.cells[name].source).split()
            for name, text in answers.items()
        )
        planned = plan(notebook, lesson, how)
        steps = planned.steps(how)
    times.append(time.perf_counter())
    with _one_at_a_time:
        outcome = _box(how.limits, how.walls, how.device).run(steps)
    times.append(time.perf_counter())
    with bounded():
        marks, reasons = mark(notebook, lesson, planned, outcome, how)
        times.append(time.perf_counter())
        note = note_for_person(reasons, part_of(one.waits for one in marks))
        if reasons:
            notebook.cells.insert(0, note)
        sanitise(notebook, lesson.texts | {note.source})
        text = JSONWriter().writes(notebook)
    times.append(time.perf_counter())
    phases = zip(("read", "box", "judge", "write"), pairwise(times), strict=True)
    return Result(
        submission.student, lesson.name, text, tuple(marks), answered,
        tuple(reasons), content_hash(submission, files, how), how.seed,
        {phase: end - begin for phase, (begin, end) in phases}, copied,
    )  # fmt: skip


def not_graded(submission: Submission, files: LessonFiles, how: How, reason: str) -> Result:
    """The result for a submission that cannot be graded: a person has to look."""
    graded = read_lesson(files).graded.values()
    marks = tuple(Mark(g.grade_id, None, g.points, g.exercise, g.hidden) for g in graded)
    content = content_hash(submission, files, how)
    return Result(
        submission.student, files.name, "", marks, reasons=(reason,), content=content, seed=how.seed
    )


# ---- the worker's box ----------------------------------------------------------------------

_one_at_a_time = Lock()
_exercises: dict[str, Exercise] = {}  # an instructor's own, when it was last looked


@lru_cache(1)
def _box(limits: Limits, walls: Walls, device: str) -> Box:
    return Box(limits, walls, device)


def close_boxes() -> None:
    """End this process's box; the next job builds a new one."""
    _box.cache_clear()  # nobody else holds it


def _notice_exercises() -> None:
    """What was made for exercises that have another definition now is made anew."""
    now = registered_exercises()
    with _one_at_a_time:
        if now.keys() != _exercises.keys() or any(now[n] is not _exercises[n] for n in now):
            _exercises.clear()
            _exercises.update(now)
            examination.cache_clear()
            close_boxes()
