"""Scores for other programs: exact, complete, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.__main__ import main
from autograder.grading.export import CANVAS, CSV, GRADESCOPE, export, harmless
from autograder.grading.words import Trouble
from autograder.learner.lesson import NoLesson
from tests.grading.gradebooks import (
    CONFIG,
    DUE,
    LESSON,
    add_hand_graded_notebook,
    grade_as,
    hand_in,
    make_course,
)

SIGN = {
    "passed": False,
    "seed": 123454321,
    "findings": [
        {
            "rule": "gradient-sign",
            "message": "The gradient for x has the wrong sign; 0.625 instead of -0.625.",
            "hint": "Look for a minus sign.",
            "evidence": {
                "line": 7, "source": "return -grad_output", "actual": "0.625", "expected": "-0.625",
                "inputs": {"x": "tensor([0.8414])"},
            },
        }
    ],
}  # fmt: skip


def corrected(course: Any, student: str, points: float, extra: float | None = None) -> None:
    """A person gives points for the complete check."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_grade("double-hidden", LESSON, LESSON, student)
        found.manual_score, found.extra_credit, found.needs_manual_grade = points, extra, False
        gradebook.find_comment("double", LESSON, LESSON, student).manual_comment = "See me."
        gradebook.db.commit()


def a_class(course: Any) -> None:
    """Ada has all points, Ben lost some and got one back, Carla's is a third; Dan did nothing."""
    grade_as(course, "ada")
    grade_as(course, "ben", (2.0, 0.0), reports=({"passed": True}, SIGN))
    corrected(course, "ben", 1.0, 0.25)
    grade_as(course, "carla", (2 / 3, 0.1))
    with Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.add_student("dan", first_name="Dan", last_name="Void", email="dan@x.org")


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def nbgraders_own(course: Any, path: Path) -> list[dict[str, str]]:
    with Gradebook(course.db_url, course.course_id) as gradebook:
        CsvExportPlugin(to=str(path)).export(gradebook)
    return rows(path)


def test_csv_is_what_nbgrader_exports(course: Any, tmp_path: Path) -> None:
    add_hand_graded_notebook(course)
    hand_in(course, "ada", "2026-02-28 10:00:00 UTC")
    a_class(course)
    done = export(course, CSV)
    ours = rows(done.path)
    theirs = nbgraders_own(course, tmp_path / "theirs.csv")
    assert ours == sorted(theirs, key=lambda row: row["student_id"])
    assert [float(row["score"]) for row in ours] == [5.0, 3.25, 2 / 3 + 0.1, 0.0]
    assert done.path == Path(course.root, "grades.csv")


def test_csv_with_a_late_penalty_is_what_nbgrader_exports(tmp_path: Path) -> None:
    late = CONFIG + 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
    course = make_course(tmp_path / "course", config=late)
    hand_in(course, "ada", f"{DUE + timedelta(days=1)} UTC")
    grade_as(course, "ada")
    ours = rows(export(course, CSV).path)
    assert ours == nbgraders_own(course, tmp_path / "theirs.csv")
    assert (ours[0]["raw_score"], ours[0]["score"]) == ("5.0", "0.0")


def test_names_with_commas_and_quotes_stay_in_their_column(small_course: Any) -> None:
    name = 'O"Neil, Pat\nJr;'
    grade_as(small_course, name)
    (row,) = rows(export(small_course, CSV).path)
    assert row["student_id"] == name
    assert row["score"] == "5.0"


FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =cmd|' C calc'!A0", "＝1+1", "\n=1",
]  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_no_name_is_a_formula_in_a_spreadsheet(small_course: Any, name: str) -> None:
    grade_as(small_course, name)
    for kind in (CSV, CANVAS):
        text = export(small_course, kind).path.read_bytes().decode()
        for row in csv.reader(io.StringIO(text, newline="")):
            for field in row:
                assert field.lstrip(" ")[:1] not in tuple("=+-@＝\t\r\n") or field == ""
        assert f"'{name}".replace("\r", "\n") in text


def test_harmless_texts_stay_as_they_are() -> None:
    for text in ("ada", "a=b", "1-2", "O'Neil", "", "    Points Possible"):
        assert harmless(text) == text


def test_canvas_has_the_columns_that_canvas_imports(small_course: Any) -> None:
    a_class(small_course)
    with Gradebook(small_course.db_url, small_course.course_id) as gradebook:
        gradebook.update_or_create_student("dan", lms_user_id="4711")
        gradebook.add_assignment("02_to_come")
    table = list(csv.reader(export(small_course, CANVAS).path.open()))
    assert table == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", LESSON],
        ["    Points Possible", "", "", "", "", "5"],
        ["ada", "", "ada", "ada", "", "5"],
        ["ben", "", "ben", "ben", "", "3.25"],
        ["carla", "", "carla", "carla", "", "0.7666666667"],
        ["Void, Dan", "4711", "dan", "dan", "", ""],
    ]


def test_gradescope_has_a_test_an_exercise_and_no_secrets(small_course: Any) -> None:
    a_class(small_course)
    done = export(small_course, GRADESCOPE)
    assert done.files == 3
    text = (done.path / LESSON / "ben" / "results.json").read_text()
    data = json.loads(text)
    assert data["score"] == 3.25
    assert data["output"] == "Comment: See me."
    visible, complete = data["tests"]
    assert (visible["name"], visible["score"], visible["max_score"], visible["visibility"]) == (
        "double (first check)", 2.0, 2.0, "visible",
    )  # fmt: skip
    assert (complete["name"], complete["score"], complete["max_score"], complete["visibility"]) == (
        "double (hidden check)", 1.25, 3.0, "after_published",
    )  # fmt: skip
    assert "A person gave these points" in complete["output"]
    assert "A gradient has the wrong sign." in complete["output"]
    assert "Your line 7: return -grad_output" in complete["output"]
    for secret in ("625", "8414", "123454321", str(data.get("seed"))):
        assert secret not in text


def test_gradescope_numbers_and_names_are_what_it_expects(small_course: Any) -> None:
    a_class(small_course)
    folder = export(small_course, GRADESCOPE).path
    for path in folder.glob("*/*/results.json"):
        data = json.loads(path.read_text())
        assert data["score"] >= 0
        assert data["visibility"] in ("visible", "hidden", "after_due_date", "after_published")
        assert data["output_format"] == "text"
        for test in data["tests"]:
            assert isinstance(test["score"], float)
            assert test["status"] in ("passed", "failed")
            assert isinstance(test["number"], str)


def test_gradescope_folders_stay_where_they_belong(small_course: Any, tmp_path: Path) -> None:
    for name in ("..x", "%2e%2e", "a b", "*"):
        grade_as(small_course, name)
    export(small_course, GRADESCOPE, output=tmp_path / "out")
    found = {path.parent.parent.name for path in (tmp_path / "out").rglob("results.json")}
    assert found == {LESSON}


@pytest.mark.parametrize("kind", [CSV, CANVAS, GRADESCOPE])
def test_what_is_not_final_is_not_exported(small_course: Any, kind: str, tmp_path: Path) -> None:
    a_class(small_course)
    grade_as(small_course, "eve", (2.0, None), reasons=("Line 3 opens a file.",))
    hand_in(small_course, "frank")
    grade_as(small_course, "gina")
    hand_in(small_course, "gina")
    Path(small_course.root, "submitted", "gina", LESSON, f"{LESSON}.ipynb").write_text("{ }")
    with pytest.raises(Trouble) as caught:
        export(small_course, kind, output=tmp_path / "out")
    said = str(caught.value)
    assert "eve, 01_doubling: waits for a person" in said
    assert "frank, 01_doubling: not graded yet" in said
    assert "gina, 01_doubling: changed since" in said
    assert "ada" not in said
    assert not (tmp_path / "out").exists()
    done = export(small_course, kind, output=tmp_path / "out", partial=True)
    assert [one.student for one in done.look.not_final] == ["eve", "frank", "gina"]
    if kind == CSV:
        assert {row["student_id"] for row in rows(done.path)} == {"ada", "ben", "carla", "dan"}
    elif kind == CANVAS:
        given = {row["SIS User ID"]: row[LESSON] for row in rows(done.path)}
        assert (given["ada"], given["eve"], given["gina"]) == ("5", "", "")
    else:
        assert sorted(p.name for p in (done.path / LESSON).iterdir()) == ["ada", "ben", "carla"]


def test_after_a_person_looked_it_is_final(small_course: Any) -> None:
    grade_as(small_course, "eve", (2.0, None), reasons=("Line 3 opens a file.",))
    corrected(small_course, "eve", 2.5)
    (row,) = rows(export(small_course, CSV).path)
    assert row["score"] == "4.5"


def test_a_lesson_nobody_knows(small_course: Any) -> None:
    with pytest.raises(NoLesson, match="02_other"):
        export(small_course, CSV, "02_other")


def test_the_command_says_what_it_did(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_as(small_course, "ada")
    hand_in(small_course, "ben")
    command = ["export", "--course", small_course.root, "--format", "canvas"]
    assert main(command) == 1
    assert "ben, 01_doubling: not graded yet" in capsys.readouterr().err
    assert main([*command, "--partial"]) == 0
    said = capsys.readouterr()
    assert said.out == f"Written: {small_course.root}/canvas.csv\n"
    assert "Left out, as they are not final: 1." in said.err


def test_a_misplaced_notebook_is_said_beside_the_scores(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_as(small_course, "ada")
    Path(small_course.root, "submitted", f"{LESSON}.ipynb").write_text("{}")
    assert main(["export", "--course", small_course.root]) == 0
    assert "as nobody looks for a notebook there: 1." in capsys.readouterr().err


def test_what_waits_and_is_gone_is_named_by_status_too(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_as(small_course, "eve", (2.0, None), reasons=("Line 3 opens a file.",))
    shutil.rmtree(Path(small_course.root, "submitted"))
    with pytest.raises(Trouble, match="eve, 01_doubling: waits for a person"):
        export(small_course, CSV)
    assert main(["status", "--course", small_course.root]) == 0
    assert "  eve, 01_doubling (double)\n      Line 3 opens a file.\n" in capsys.readouterr().out
