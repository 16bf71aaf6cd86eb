"""`autograder status`: who is graded, who is not, who needs a person, and why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.course import open_gradebook
from autograder.grading.records import Records, Seeds
from autograder.grading.standing import CHANGED, GRADED, UNGRADED, WAITS, Standing, standings
from tests.grading.gradebooks import LESSON, grade_as, hand_in


def standing(course: Any, *lessons: str) -> dict[str, Standing]:
    gradebook = open_gradebook(course)
    with gradebook.engine.connect() as connection:
        found = {one.student: one for one in standings(course, connection, lessons)}
    gradebook.close()
    return found


def test_each_state(course: Any) -> None:
    grade_as(course, "ada")
    hand_in(course, "ben")
    grade_as(course, "carla")
    Path(course.root, "submitted/carla", LESSON, f"{LESSON}.ipynb").write_text("{ }")
    grade_as(course, "dan", (2.0, None), reasons=("Line 3 opens a file.",))
    grade_as(course, "eve", (None, None), notebook="", reasons=("It is empty.",))
    found = standing(course)
    states = {name: one.state for name, one in found.items()}
    assert states == {"ada": GRADED, "ben": UNGRADED, "carla": CHANGED, "dan": WAITS, "eve": WAITS}
    assert found["dan"].reasons == ("Line 3 opens a file.",)
    assert found["ada"].reasons == ()
    assert found["ada"].score is not None
    assert (found["ada"].score.points, found["ada"].score.max_points) == (5.0, 5.0)


def test_a_person_who_looked_ends_the_waiting(small_course: Any) -> None:
    grade_as(small_course, "dan", (2.0, None), reasons=("Line 3 opens a file.",))
    with Gradebook(small_course.db_url, small_course.course_id) as gradebook:
        found = gradebook.find_grade("double-hidden", LESSON, LESSON, "dan")
        found.manual_score, found.needs_manual_grade = 3.0, False
        gradebook.db.commit()
    assert standing(small_course)["dan"].state == GRADED
    grade_as(small_course, "dan", (2.0, 0.0))
    again = standing(small_course)["dan"]
    assert again.state == WAITS
    assert "looked at again" in again.reasons[0]


@pytest.mark.parametrize("lost", ["record", "autograded", "seeds", "lesson"])
def test_what_is_lost_or_changed_is_to_be_graded_again(small_course: Any, lost: str) -> None:
    grade_as(small_course, "ada")
    root = Path(small_course.root)
    assert standing(small_course)["ada"].state == GRADED
    if lost == "record":
        Records(root).path("ada", LESSON).write_text("{")
        shutil.rmtree(root / "autograded")
    elif lost == "autograded":
        shutil.rmtree(root / "autograded")
    elif lost == "seeds":
        Seeds(root).path.unlink()
    else:
        path = root / "build/source" / LESSON / f"{LESSON}.ipynb"
        path.write_text(path.read_text().replace("check(double)", "check(double )"))
    assert standing(small_course)["ada"].state in (CHANGED, UNGRADED)


def test_looking_changes_nothing(small_course: Any) -> None:
    hand_in(small_course, "ada")
    before = sorted(Path(small_course.root).rglob("*"))
    standing(small_course)
    assert sorted(Path(small_course.root).rglob("*")) == before


def test_what_nbgrader_graded_itself_counts(small_course: Any) -> None:
    hand_in(small_course, "ada", "2026-02-28 10:00:00 UTC")
    grade_as(small_course, "ada")
    shutil.rmtree(Path(small_course.root, "grading"))
    assert standing(small_course)["ada"].state == GRADED
    hand_in(small_course, "ada", "2026-02-28 11:00:00 UTC")
    assert standing(small_course)["ada"].state == UNGRADED


def test_in_words_and_for_scripts(small_course: Any, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["status", "--course", small_course.root]
    assert main(command) == 0
    assert capsys.readouterr().out == "Nothing was handed in.\n"
    grade_as(small_course, "ada")
    grade_as(small_course, "d\x1b[2Jan", (2.0, None), reasons=("Line 3 opens a file.",))
    hand_in(small_course, "ben")
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "Line 3 opens a file." in said
    assert "ben, 01_doubling: not graded yet" in said
    assert main([*command, "--json", LESSON]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["state"] for line in lines] == ["graded", "not graded yet", "waits for a person"]
    assert lines[0]["score"] == 5.0


def test_a_course_without_gradebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--course", str(tmp_path)]) == 1
    assert "make gradebook" in capsys.readouterr().err
