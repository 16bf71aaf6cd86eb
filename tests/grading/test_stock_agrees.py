"""Stock `nbgrader autograde`, without any of our plug-ins, gives honest work the same scores.

Answers of the gallery, right and wrong ones, are put into whole notebooks, so that one run of a lesson
judges many. Each day another lesson, and when all had their turn the other answers; all: AUTOGRADER_ALL_LESSONS=1.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.exercises import LESSONS
from autograder.grading import demo
from autograder.grading.one_submission import How, Submission, close_boxes, grade
from autograder.learner.lesson import read_files, read_lesson
from tests.conftest import DAY
from tests.grading.honest import FOR_A_PERSON
from tests.grading.walls import needs_walls
from tests.mistakes.gallery import filled_in
from tests.nbgrader.classroom import STOCK_CONFIG, shared_folder

EVERY = bool(os.environ.get("AUTOGRADER_ALL_LESSONS"))
ALL = tuple(LESSONS)
LESSONS = ALL if EVERY else (ALL[int(DAY) % len(ALL)],)
ALL_STUDENTS = {"first": 0, "second": 1}  # and which answers of the gallery they hand in
THIS_ROUND = int(DAY) // len(ALL) % len(ALL_STUDENTS)
STUDENTS = {s: turn for s, turn in ALL_STUDENTS.items() if EVERY or turn == THIS_ROUND}
SEED = 4711


@pytest.fixture(scope="session")
def graded_by_stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in which stock nbgrader has graded the rotated notebooks."""

    def make(folder: Path) -> None:
        demo.prepare(demo.REPOSITORY, folder, LESSONS)
        (folder / "nbgrader_config.py").write_text(STOCK_CONFIG + "\nc.Execute.timeout = 300\n")
        for lesson in LESSONS:
            for student, turn in STUDENTS.items():
                demo.submit(
                    folder, lesson, student,
                    lambda released, _, lesson=lesson, turn=turn: filled_in(released, lesson, turn),
                )  # fmt: skip
            demo.run(folder, "-m", "nbgrader", "autograde", lesson)

    return shared_folder(tmp_path_factory, "stock-agrees", make)


@needs_walls
@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_stock_nbgrader_gives_the_same_points(graded_by_stock: Path, lesson: str) -> None:
    folder = graded_by_stock
    source, released = (
        folder / part / lesson / f"{lesson}.ipynb" for part in ("build/source", "course")
    )
    files = read_files(lesson, source, released)
    graded = read_lesson(files).graded
    for student in STUDENTS:
        data = (folder / "submitted" / student / lesson / f"{lesson}.ipynb").read_bytes()
        ours = {
            m.grade_id: m.points for m in grade(Submission(student, data), files, How(SEED)).marks
        }
        with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "stock") as gradebook:
            theirs = {
                name: gradebook.find_grade(name, lesson, lesson, student).auto_score
                for name in graded
            }
        waiting = {one for one, points in ours.items() if points is None}
        assert {graded[one].exercise for one in waiting} <= FOR_A_PERSON
        judged = {one: points for one, points in ours.items() if one not in waiting}
        assert judged == {one: theirs[one] for one in judged}
        assert judged
        if not waiting:
            assert 0.0 in judged.values()
            assert len(set(judged.values()) - {0.0}) > 0
    close_boxes()
