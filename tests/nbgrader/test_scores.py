"""nbgrader autograde and export: everybody gets what they deserve, with our plug-ins."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from autograder.grading import demo
from autograder.grading.words import Trouble
from tests.build.mini_course import NAME
from tests.nbgrader.classes import HOSTILE
from tests.nbgrader.classroom import scores
from tests.nbgrader.submissions import LEARNERS

pytestmark = pytest.mark.slow


def test_everybody_gets_what_they_deserve(guarded_class: Path) -> None:
    deserved = {name: learner.deserves for name, learner in (LEARNERS | HOSTILE).items()}
    assert {who: score for (who, _), score in scores(guarded_class).items()} == deserved


def test_stock_nbgrader_gives_other_scores(stock_class: Path) -> None:
    """Why the plug-ins are there; each of these is a learner of the test above."""
    given = {who: score for (who, _), score in scores(stock_class).items()}
    assert given == {
        "right": 5,
        "deleted": 2,  # right, but a graded cell was deleted by accident
        "stripped": 0,  # right, but an editor dropped the metadata
        "warned": 0,  # right, with a warning
        "skipped": 5,  # nothing done, but a tag
        "shadowed": 5,  # nothing done, but a file beside it that Python imports instead
        "mallory": 0,
    }


def test_stock_nbgrader_stops_at_a_copied_cell(stock_class: Path, tmp_path: Path) -> None:
    course = shutil.copytree(stock_class, tmp_path / "course")
    demo.submit(course, NAME, "copied", LEARNERS["copied"].hands_in)
    with pytest.raises(Trouble):
        demo.run(course, "-m", "nbgrader", "autograde", NAME, "--student", "copied")


def test_what_lies_beside_a_notebook_stays_where_it_was_handed_in(guarded_class: Path) -> None:
    kept = guarded_class / "autograded/shadowed" / NAME
    assert [path.name for path in kept.iterdir()] == [f"{NAME}.ipynb"]
    for name in ("page.html", "data.csv"):
        assert (guarded_class / "submitted/shadowed" / NAME / name).exists()


def test_points_and_roles_come_from_the_lesson(guarded_class: Path) -> None:
    for name in ("edited", "unlocked", "stripped", "copied"):
        path = guarded_class / "autograded" / name / NAME / f"{NAME}.ipynb"
        found = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
        role = found["double-hidden"].metadata.nbgrader
        assert (role.points, role.grade, role.solution, role.locked) == (3, True, False, True)
        assert found["double"].metadata.nbgrader.solution


def test_a_submission_can_be_graded_again(guarded_class: Path, tmp_path: Path) -> None:
    course = shutil.copytree(guarded_class, tmp_path / "course")
    command = ("-m", "nbgrader", "autograde", NAME, "--student", "wrong", "--force")
    demo.run(course, *command)
    demo.scores(course)
    assert scores(course) == scores(guarded_class)
