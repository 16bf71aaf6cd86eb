"""What the writer leaves is what `nbgrader autograde` leaves: one class, entered by both."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.grading.course import open_course
from autograder.grading.gradebook import Writer
from autograder.grading.result import Mark, Result
from tests.build.mini_course import NAME
from tests.grading.gradebooks import contents, tree

pytestmark = [pytest.mark.slow]


def emptied_copy(course: Any, folder: Path) -> Any:
    """The class as it handed in, before anything was graded."""
    for part in ("build", "submitted", "gradebook.db", "nbgrader_config.py"):
        source = Path(course.root, part)
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / part)
    fresh = open_course(folder)
    with Gradebook(fresh.db_url, fresh.course_id) as gradebook:
        for student in gradebook.students:
            gradebook.remove_student(student.id)
    assert contents(fresh) == {}
    return fresh


def result_of(course: Any, student: str) -> Result:
    """The result that nbgrader came to."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        graded = gradebook.find_submission_notebook(NAME, NAME, student)
        marks = [
            Mark(grade.name, grade.auto_score, grade.max_score)
            for grade in sorted(graded.grades, key=lambda grade: grade.name)
        ]
        answered = [comment.name for comment in graded.comments if comment.auto_comment is None]
    path = Path(course.root, "autograded", student, NAME, f"{NAME}.ipynb")
    return Result(student, NAME, path.read_text(), tuple(marks), tuple(answered))


def test_gradebook_and_files_are_the_same(guarded_class: Path, tmp_path: Path) -> None:
    theirs = open_course(guarded_class)
    ours = emptied_copy(theirs, tmp_path)
    students = sorted(path.name for path in (guarded_class / "submitted").iterdir())
    with Writer(ours) as writer:
        for student in students:
            writer.write(result_of(theirs, student), tmp_path / "submitted" / student / NAME)
    expected = contents(theirs)
    assert len({key[1] for key in expected if key[0] == "grade"}) == len(students) > 10
    assert contents(ours) == expected
    assert tree(tmp_path / "autograded") == tree(guarded_class / "autograded")
