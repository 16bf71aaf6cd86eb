"""`autograder status`: who is graded, who is not, who needs a person, and why."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.class_overview import (
    CHANGED,
    GRADED,
    UNGRADED,
    WAITS,
    Overview,
    Standing,
    in_words,
    overview,
    standings,
)
from autograder.grading.database import open_gradebook
from autograder.grading.marking import Result
from autograder.grading.records import Record, Records, Seeds
from autograder.grading.scores import CellScore, Score
from tests.grading.gradebooks import CONFIG, DUE, LESSON, grade_as, hand_in, make_course


def standing(course: Any, *lessons: str) -> dict[str, Standing]:
    gradebook = open_gradebook(course)
    with gradebook.engine.connect() as connection:
        found = {one.student: one for one in standings(course, connection, lessons)}
    gradebook.close()
    return found


def look(course: Any, *lessons: str) -> Overview:
    gradebook = open_gradebook(course)
    with gradebook.engine.connect() as connection:
        found = overview(course, connection, lessons)
    gradebook.close()
    return found


def lines_for_scripts(course: Any, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["status", "--json", "--course", course.root, "--db", course.db_url]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


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
    assert again.reasons == (
        "Points given by hand are kept: 3 of 3 in double-hidden. For what is handed in now the "
        "grader would give 0. A person decides.",
    )


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
    assert main(["status", "--course", str(tmp_path)]) == 2
    assert "no course folder" in capsys.readouterr().err
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    assert main(["status", "--course", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "There is no gradebook yet. Run `nbgrader generate_assignment LESSON" in said


def add_students(course: Any, *names: str) -> None:
    with Gradebook(course.db_url, course.course_id) as gradebook:
        for name in names:
            gradebook.add_student(name)


def test_who_handed_nothing_in_is_named(course: Any, capsys: pytest.CaptureFixture[str]) -> None:
    add_students(course, "ada", "dan", "eve")
    grade_as(course, "ada")
    hand_in(course, "ben")
    found = look(course)
    assert found.without == {LESSON: ("dan", "eve")}
    assert f"In the gradebook, and handed nothing in:\n  {LESSON}: 2 (dan, eve)" in in_words(found)
    nothing = [
        one for one in lines_for_scripts(course, capsys) if one["state"] == "nothing handed in"
    ]
    assert [(one["student"], one["lesson"], one["score"]) for one in nothing] == [
        ("dan", LESSON, None), ("eve", LESSON, None),
    ]  # fmt: skip
    add_students(course, *(f"more-{n:02}" for n in range(30)))
    said = in_words(look(course))
    assert f"  {LESSON}: 32 (dan, eve, more-00" in said
    assert "… and 12 more)" in said


def test_what_is_no_longer_handed_in_is_shown(
    course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_as(course, "ada")
    grade_as(course, "ben")
    grade_as(course, "dan", (2.0, None), reasons=("Line 3 opens a file.",))
    for student in ("ben", "dan"):
        shutil.rmtree(Path(course.root, "submitted", student))
    found = look(course)
    assert [(one.student, one.state) for one in found.gone] == [("ben", GRADED), ("dan", WAITS)]
    said = in_words(found)
    assert (
        f"  dan, {LESSON} (double)\n      Line 3 opens a file.\n      It is in the gradebook;"
        in said
    )
    assert f"Graded, and no longer in the folder of submissions:\n  {LESSON}: 1 (ben)" in said
    (row,) = [line.split() for line in said.splitlines() if line.startswith(f"{LESSON}  ")]
    assert row[1:] == ["1", "1", "1", "0", "0"]
    there = {
        one["student"]: (one["state"], one["gone"]) for one in lines_for_scripts(course, capsys)
    }
    assert there == {
        "ada": ("graded", False), "ben": ("graded", True), "dan": ("waits for a person", True),
    }  # fmt: skip
    shutil.rmtree(Path(course.root, "submitted"))  # what was the last hand-in of all
    assert "dan, 01_doubling" in in_words(look(course))


def test_many_cells_are_counted_not_named(small_course: Any) -> None:
    cells = tuple(CellScore(f"cell-{n}", LESSON, 1.0, 2.0, True, 0.0, True) for n in range(12))
    (why,) = Score("ada", LESSON, None, 0.0, cells).why_waiting()
    assert "12 of 24 in 12 cells." in why


def test_lateness_is_said_and_what_it_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    penalty = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
    for name, config, cost in (
        ("a", CONFIG, "nothing is"),
        ("b", CONFIG + penalty, "5 points are"),
    ):
        course = make_course(tmp_path / name, config=config)
        hand_in(course, "ada", f"{DUE + timedelta(days=1, hours=2)} UTC")
        hand_in(course, "ben", f"{DUE} UTC")
        grade_as(course, "ada")
        grade_as(course, "ben")
        said = in_words(look(course))
        assert f"Handed in late:\n  ada, {LESSON}: late by 1 day 2 hours; {cost} taken off" in said
        assert "ben, " not in said
        late = {one["student"]: one["seconds_late"] for one in lines_for_scripts(course, capsys)}
        assert late == {"ada": 26 * 3600.0, "ben": 0.0}


def test_another_timestamp_is_a_change(course: Any) -> None:
    hand_in(course, "ada", "2026-02-28 10:00:00 UTC")
    grade_as(course, "ada")
    assert standing(course)["ada"].state == GRADED
    hand_in(course, "ada", "2026-02-28 11:00:00 UTC")
    assert standing(course)["ada"].state == CHANGED
    grade_as(course, "ada")
    assert standing(course)["ada"].state == GRADED
    # What says nothing changes nothing: the gradebook keeps what it has.
    for said in ("", "yesterday"):
        hand_in(course, "ada", said)
        assert standing(course)["ada"].state == GRADED


def standing_of(number: int, lesson: str = LESSON, why: str = "", **more: Any) -> Standing:
    cells = (CellScore("x", lesson, 0.0, 1.0, True),) if why else ()
    result = Result(f"s{number:04}", lesson, "", (), reasons=(why,) if why else (), **more)
    score = Score(result.student, lesson, None, 0.0, cells)
    return Standing(result.student, lesson, score, Record(result, ""))


def test_a_class_of_thousands_is_read_on_one_screen() -> None:
    """Who waits is grouped by the reason, who never handed anything in is named once."""
    lessons = [f"{number:02}_lesson" for number in range(13)]
    found = [
        standing_of(n, lesson, f"cell {n}, line 1: `import pandas` – pandas is not allowed.")
        for n in range(3000)
        for lesson in lessons
    ]
    found += [standing_of(3000, lessons[0], "cell 2, line 1: `gc` – reads memory.")]
    never = tuple(f"z{number:04}" for number in range(500))
    without = {lesson: (*never, "late") if lesson == lessons[3] else never for lesson in lessons}
    said = in_words(Overview(tuple(found), (), without, ()))
    assert "  39000: pandas is not allowed. (s0000, s0001, s0002 … and 2997 more)" in said
    assert "  1: reads memory. (s3000)" in said
    assert said.count("z0001") == 1
    assert "  no lesson at all: 500 (z0000, " in said
    assert f"  {lessons[3]}: 1 (late)" in said
    assert len(said.splitlines()) < 40


def test_the_courses_own_solution_is_named() -> None:
    found = (standing_of(1, copied=True), standing_of(2))
    said = in_words(Overview(found, (), {}, ()))
    assert f"(solutions/), word for word:\n  {LESSON}: 1 (s0001)" in said
