"""Canvas's and Moodle's own tables, filled in: ids, columns and order as they came, and nobody taken for another."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.scores import LessonScore, Student
from autograder.grading.words import Trouble
from autograder.grading.worksheets import fill_canvas, fill_moodle
from tests.grading.gradebooks import LESSON, grade_as

ADA = Student("ada", "Ada", "Lovelace", "ada@x.org", "101")
BEN = Student("bsmith", "Ben", "Smith, Jr.", "ben@x.org")
CARLA = Student("carla@x.org")
DAN = Student("voiddan")
SAME = [Student("kim1", "Kim", "Lee"), Student("kim2", "Kim", "Lee")]
CLASS = [ADA, BEN, CARLA, DAN, *SAME]
LESSONS = [LessonScore("02_sigmoid", 30, None), LessonScore("03_linear", 20, None)]
POINTS = {("ada", "02_sigmoid"): 30.0, ("bsmith", "02_sigmoid"): 12.5, ("carla@x.org", "02_sigmoid"): 0.0,
          ("voiddan", "02_sigmoid"): 7.25, ("kim1", "02_sigmoid"): 5.0, ("kim2", "02_sigmoid"): 6.0,
          ("ada", "03_linear"): 19.0}  # fmt: skip

# As lib/gradebook_exporter.rb writes it: notes are a custom column, the row before Points Possible says
# what is posted by hand, and what Canvas computes is read only.
CANVAS = '''\
Student,ID,SIS User ID,SIS Login ID,Integration ID,Section,Notes,02 Sigmoid (4711),"Essay, long (4712)",Quiz (4713),Assignments Current Score,Assignments Unposted Current Score,Current Score,Final Grade
,,,,,,,,Manual Posting,,,,,
"    Points Possible",,,,,,,30.00,10.00,5.00,(read only),(read only),(read only),(read only)
"Lovelace, Ada",101,S-1,al1,,"Section A, Monday","says ""hi""",,8.00,EX,80.00,80.00,75.00,B
"Smith, Jr., Ben",102,S-2,ben@x.org,,Section B,,3.00,,5.00,60.00,60.00,55.00,D
"=""=Carla""",103,S-3,CARLA@X.ORG,,Section B,,,,N/A,,,,
"Void, Dan",104,S-4,dv4,,Section B,,EX,,,,,,
"Lee, Kim",105,S-5,kl5,,Section B,,,,,,,,
"Nobody, Nora",106,S-6,nn6,,Section B,,1.00,,,,,,
"Student, Test",999,,abcdef0123456789,,Section A,,,,,,,,
'''


def table(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))


def changed(before: str, after: str, delimiter: str = ",") -> dict[tuple[str, str], str]:
    """The fields that differ, by name and column; all others are the same and in the same place."""
    old, new = table(before, delimiter), table(after, delimiter)
    assert [len(row) for row in old] == [len(row) for row in new]
    return {
        (rows[0][0], old[0][at]): rows[1][at]
        for rows in zip(old, new, strict=True) for at in range(len(rows[0])) if rows[0][at] != rows[1][at]
    }  # fmt: skip


def test_canvas_gets_its_own_table_back_with_points_in_it() -> None:
    done = fill_canvas(CANVAS.encode(), CLASS, LESSONS, POINTS)
    assert changed(CANVAS, done.text) == {
        ("Lovelace, Ada", "02 Sigmoid (4711)"): "30",
        ("Smith, Jr., Ben", "02 Sigmoid (4711)"): "12.5",
        ('="=Carla"', "02 Sigmoid (4711)"): "0",
    }
    assert done.remarks == [
        "Canvas has no column for 03_linear.",
        "In the LMS, but nobody of the gradebook by id, e-mail address or name: Lee, Kim, Nobody, Nora.",
        "In the gradebook, but in no row of the LMS: kim1, kim2.",
        "Not to be changed in the LMS, so left as it is: Void, Dan (02_sigmoid).",
    ]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(("delimiter", "end"), [(",", "\n"), (";", "\r\n")])
def test_canvas_in_other_settings(mark: str, delimiter: str, end: str) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(table(CANVAS))
    given = mark + out.getvalue()
    done = fill_canvas(given.encode(), CLASS, LESSONS, POINTS)
    assert len(changed(given, done.text, delimiter)) == 3
    assert done.text.startswith(mark + "Student")
    assert done.text.count("\r\n") == given.count("\r\n")


def test_canvas_with_first_and_last_names() -> None:
    rows = table(CANVAS)
    split = [["LastName", "FirstName", *rows[0][1:]]]
    split += [[*[*row[0].rsplit(", ", 1), "", ""][:2], *row[1:]] for row in rows[1:]]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(split)
    done = fill_canvas(out.getvalue().encode(), CLASS, LESSONS, POINTS)
    assert len(changed(out.getvalue(), done.text)) == 3


def test_canvas_other_points_are_said() -> None:
    done = fill_canvas(
        CANVAS.replace("30.00,10.00", "100.00,10.00").encode(), CLASS, LESSONS, POINTS
    )
    assert "02_sigmoid has 30 points here and 100 in Canvas" in done.remarks[0]


def test_two_columns_that_could_be_meant() -> None:
    both = CANVAS.replace('"Essay, long (4712)"', "Lesson 02 sigmoid (4712)").replace(
        "02 Sigmoid (4711)", "HW 02_sigmoid (4711)"
    )
    with pytest.raises(Trouble, match=r"HW 02_sigmoid \(4711\) and Lesson 02 sigmoid \(4712\)"):
        fill_canvas(both.encode(), CLASS, LESSONS, POINTS)


def test_a_read_only_column_is_no_lessons() -> None:
    with pytest.raises(Trouble, match="No column is a lesson's"):
        fill_canvas(
            CANVAS.replace("30.00,10.00", "(read only),10.00").encode(), CLASS, LESSONS, POINTS
        )


def test_a_student_in_two_rows_gets_nothing_in_either() -> None:
    twice = CANVAS + '"Lovelace, Ada",201,ada,al9,,Section B,,,,,,,,\n'
    done = fill_canvas(twice.encode(), CLASS, LESSONS, POINTS)
    assert len(changed(twice, done.text)) == 2
    assert "In several rows of the LMS, so nothing was written: ada." in done.remarks


@pytest.mark.parametrize(
    "data", [b"", b"a,b\n1,2\n", b"\xff\xfe", b"Student,ID,Section,x (1)\nAda,1,A,\n"]
)
def test_another_file_is_no_export_of_canvas(data: bytes) -> None:
    with pytest.raises(Trouble):
        fill_canvas(data, CLASS, LESSONS, POINTS)


MOODLE = '''\
\ufeffIdentifier,"Full name","ID number","Email address",Status,Grade,"Maximum Grade","Grade can be changed","Last modified (submission)","Online text","Last modified (grade)","Feedback comments"
"Participant 77","Ada Lovelace",,ada@x.org,"Submitted for grading",,30.00,Yes,"Monday, 2 March 2026, 9:00 AM",,-,
"Participant 78","Ben Smith, Jr.",bsmith,,"Submitted for grading - Late",4.00,30.00,Yes,-,"a, b",-,"Well ""done"""
"Participant 79","Carla Diaz",,carla@x.org,"No submission",,30.00,No,-,,-,
"Participant 80","Kim Lee",,,"Submitted for grading",,30.00,Yes,-,,-,
"Participant 81","Dan Void",voiddan,,"Submitted for grading",,30.00,Yes,-,,-,
'''


def test_moodle_gets_its_own_worksheet_back() -> None:
    done = fill_moodle(MOODLE.encode(), CLASS, LESSONS[:1], POINTS)
    assert changed(MOODLE, done.text) == {
        ("Participant 77", "Grade"): "30", ("Participant 78", "Grade"): "12.5",
        ("Participant 81", "Grade"): "7.25",
    }  # fmt: skip
    assert done.text.startswith("\ufeffIdentifier")
    assert done.remarks[0].endswith("name: Kim Lee.")
    assert done.remarks[-1].endswith("left as it is: Carla Diaz (02_sigmoid).")


def test_moodle_without_names_matches_nobody_by_its_own_numbers() -> None:
    blind = "Identifier,Status,Grade,Maximum Grade,Grade can be changed,Last modified (grade)\nParticipant 101,x,,30,Yes,-\n"
    assert fill_moodle(blind.encode(), CLASS, LESSONS[:1], POINTS).text == blind


def test_moodle_in_another_language_is_said() -> None:
    with pytest.raises(Trouble, match="English"):
        fill_moodle(MOODLE.replace("Grade", "Bewertung").encode(), CLASS, LESSONS[:1], POINTS)


def test_the_commands(
    small_course: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_as(small_course, "ada")
    grade_as(small_course, "eve", (2.0, 1.0))
    with Gradebook(small_course.db_url, small_course.course_id) as gradebook:
        gradebook.update_or_create_student("ada", lms_user_id="101")
    given = tmp_path / "2026-03-02T0900_Grades-Small.csv"
    given.write_text(
        CANVAS.replace("02 Sigmoid", "01 Doubling").replace("30.00,10.00", "5.00,10.00")
    )
    command = ["export", "--course", small_course.root, "--format"]
    assert main([*command, "canvas", "--into", str(given)]) == 0
    said = capsys.readouterr()
    filled = Path(small_course.root, "canvas.csv").read_text()
    assert changed(given.read_text(), filled) == {("Lovelace, Ada", "01 Doubling (4711)"): "5"}
    assert "In the gradebook, but in no row of the LMS: eve." in said.err
    given.write_text(MOODLE)
    assert main([*command, "moodle", "--into", str(given)]) == 1
    assert "--lesson" in capsys.readouterr().err
    assert main([*command, "moodle", "--into", str(given), "--lesson", LESSON]) == 0
    assert changed(MOODLE, Path(small_course.root, "moodle.csv").read_text()) == {}
    assert main([*command, "moodle", "--lesson", LESSON]) == 1
    assert "--into" in capsys.readouterr().err
    assert main([*command, "csv", "--into", str(given)]) == 1


def test_what_is_not_final_leaves_the_lmss_field(small_course: Any, tmp_path: Path) -> None:
    grade_as(small_course, "ada", (2.0, None), reasons=("Line 3 opens a file.",))
    given = tmp_path / "grades.csv"
    given.write_text(CANVAS.replace("02 Sigmoid", "01 Doubling"))
    command = ["export", "--course", small_course.root, "--format", "canvas", "--into", str(given)]
    assert main(command) == 1
    assert not Path(small_course.root, "canvas.csv").exists()
    assert main([*command, "--partial"]) == 0
    assert changed(given.read_text(), Path(small_course.root, "canvas.csv").read_text()) == {}
