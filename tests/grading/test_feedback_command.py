"""`autograder feedback`: no page says anything else than the gradebook, and none is written twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback

from autograder.__main__ import main
from autograder.grading import feedback
from autograder.grading.course import open_course
from tests.grading.gradebooks import CELLS, CONFIG, DUE, LESSON, grade_as, hand_in, make_course

OURS = CONFIG + "from autograder.grading.config import configure\n\nconfigure(c)\n"
PENALTY = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'


@pytest.fixture
def taught(tmp_path: Path) -> Any:
    """A course as ours is configured, with two students graded."""
    course = make_course(tmp_path / "course", config=OURS)
    for name in ("ada", "ben"):
        grade_as(course, name, notebook=graded_notebook(name))
    return course


def graded_notebook(said: str) -> str:
    """What grading leaves: graded cells and something they printed."""
    answer = {"grade_id": "double", "solution": True, "grade": False, "locked": False}
    roles = [answer] + [
        {"grade_id": name, "grade": True, "solution": False, "locked": True, "points": points}
        for name, points in CELLS.items()
    ]
    cells = [
        new_code_cell(
            f"# {role['grade_id']}",
            id=role["grade_id"],
            outputs=[new_output("stream", text=f"printed by {said}")],
            metadata={"nbgrader": role | {"schema_version": 3, "task": False}},
        )
        for role in roles
    ]
    return str(nbformat.writes(new_notebook(cells=cells)))


def page(course: Any, student: str) -> Path:
    return Path(course.root, "feedback", student, LESSON, f"{LESSON}.html")


def write(course: Any, *more: str) -> int:
    return main(["feedback", "--course", course.root, *more])


def change(course: Any, student: str, **values: Any) -> None:
    """A person's points for the hidden check, given in formgrader."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        grade = gradebook.find_grade("double-hidden", LESSON, LESSON, student)
        for name, value in values.items():
            setattr(grade, name, value)
        gradebook.db.commit()


def test_pages_are_written_once(taught: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert write(taught) == 0
    assert capsys.readouterr().out == "2 pages were written, 0 were up to date.\n"
    assert "Score: 5.0 / 5.0" in page(taught, "ada").read_text()
    before = page(taught, "ada").stat().st_mtime_ns
    assert write(taught, LESSON) == 0
    assert capsys.readouterr().out == "0 pages were written, 2 were up to date.\n"
    assert page(taught, "ada").stat().st_mtime_ns == before
    assert write(taught, "--all", "--student", "ada") == 0
    assert capsys.readouterr().out == "1 page was written, 0 were up to date.\n"
    assert page(taught, "ada").stat().st_mtime_ns > before


def graded_again(course: Any) -> None:
    """A second hand-in, as nbgrader's own command would not notice it: without timestamp.txt."""
    grade_as(course, "ada", (2.0, 0.0), notebook=graded_notebook("another"))


def the_same_points_for_other_work(course: Any) -> None:
    grade_as(course, "ada", notebook=graded_notebook("another"))


def points_by_hand(course: Any) -> None:
    change(course, "ada", manual_score=1.5)


def extra_credit(course: Any) -> None:
    change(course, "ada", extra_credit=0.5)


def to_be_looked_at(course: Any) -> None:
    change(course, "ada", needs_manual_grade=True)


def a_comment(course: Any) -> None:
    with Gradebook(course.db_url, course.course_id) as gradebook:
        comment = gradebook.find_comment("double", LESSON, LESSON, "ada")
        comment.manual_comment = "Well done."
        gradebook.db.commit()


def a_penalty(course: Any) -> None:
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_submission_notebook(LESSON, LESSON, "ada")
        found.late_submission_penalty = 2.0
        gradebook.db.commit()


def a_page_lost(course: Any) -> None:
    page(course, "ada").unlink()


@pytest.mark.parametrize(
    "happens",
    [
        graded_again, the_same_points_for_other_work, points_by_hand, extra_credit,
        to_be_looked_at, a_comment, a_penalty, a_page_lost,
    ],
    ids=lambda happens: happens.__name__,
)  # fmt: skip
def test_exactly_what_is_out_of_date_is_written_again(
    taught: Any, happens: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(taught) == 0
    bens = page(taught, "ben").stat().st_mtime_ns
    happens(taught)
    capsys.readouterr()
    assert write(taught) == 0
    assert capsys.readouterr().out == "1 page was written, 1 was up to date.\n"
    assert page(taught, "ben").stat().st_mtime_ns == bens
    assert write(taught) == 0
    assert capsys.readouterr().out == "0 pages were written, 2 were up to date.\n"


def test_pages_say_the_new_points(taught: Any) -> None:
    assert write(taught) == 0
    graded_again(taught)
    assert write(taught) == 0
    text = page(taught, "ada").read_text()
    assert "Score: 2.0 / 5.0" in text
    assert "printed by another" in text
    assert "printed by ada" not in text


def test_a_penalty_that_was_taken_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = make_course(tmp_path / "course", config=OURS + PENALTY)
    hand_in(course, "ada", when=DUE.replace(month=4).isoformat())
    grade_as(course, "ada", notebook=graded_notebook("ada"))
    assert write(course) == 0
    assert "Handed in late" in page(course, "ada").read_text()
    Path(course.root, "nbgrader_config.py").write_text(OURS)
    course = open_course(Path(course.root))
    grade_as(course, "ada", notebook=graded_notebook("ada"))
    assert write(course) == 0
    assert "Score: 5.0 / 5.0" in page(course, "ada").read_text()
    assert "Handed in late" not in page(course, "ada").read_text()


def test_what_changes_while_a_page_is_made_makes_it_out_of_date(
    taught: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = feedback.write_pages

    def slow(*given: Any) -> Any:
        change(taught, "ada", manual_score=1.0)
        return own(*given)

    with monkeypatch.context() as patched:
        patched.setattr(feedback, "write_pages", slow)
        assert write(taught) == 0
    capsys.readouterr()
    assert write(taught) == 0
    assert capsys.readouterr().out.startswith("1 page was written")
    assert "Score: 3.0 / 5.0" in page(taught, "ada").read_text()


def test_a_page_of_nbgraders_own_is_written_again(
    taught: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    course = open_course(Path(taught.root))
    course.assignment_id = LESSON
    GenerateFeedback(coursedir=course, config=course.config).start()
    assert "Score: 5.0 / 5.0" in page(taught, "ada").read_text()
    assert write(taught) == 0
    assert capsys.readouterr().out.startswith("2 pages were written")


def test_one_page_that_cannot_be_written_stops_no_other(
    taught: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a*[b]", "a\nb"):
        grade_as(taught, name, notebook=graded_notebook("odd"))
    Path(taught.root, "autograded/ada", LESSON, f"{LESSON}.ipynb").chmod(0o644)
    Path(taught.root, "autograded/ada", LESSON, f"{LESSON}.ipynb").write_text("{")
    assert write(taught) == 1
    said = capsys.readouterr()
    assert said.out == "3 pages were written, 0 were up to date.\n"
    assert f"no page for ada, {LESSON}: " in said.err
    assert "Traceback" not in said.err
    for name in ("a*[b]", "a\nb"):
        assert "printed by odd" in page(taught, name).read_text()


def test_errors_say_what_to_do(
    taught: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(taught, "99_nothing") == 1
    assert f"The lessons: {LESSON}." in capsys.readouterr().err
    assert write(taught, "--student", "nobody") == 1
    assert "Nothing of nobody's is graded" in capsys.readouterr().err
    assert main(["feedback", "--course", str(tmp_path)]) == 2
    assert "no course folder" in capsys.readouterr().err
    Path(taught.root, "gradebook.db").unlink()
    assert write(taught) == 1
    assert "nbgrader generate_assignment" in capsys.readouterr().err


def test_nothing_is_graded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert write(make_course(tmp_path / "course")) == 0
    assert capsys.readouterr().out == "No page was written: nothing is graded yet.\n"


def test_no_submission_says_of_itself_that_its_page_is_up_to_date(
    taught: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(taught) == 0
    meta = page(taught, "ada").read_text().partition('content="')[2].partition('"')[0]
    capsys.readouterr()
    forged = f'<meta name="autograder-feedback" content="{meta}" /></html>'
    grade_as(taught, "ada", (0.0, 0.0), notebook=graded_notebook(forged))
    assert write(taught) == 0
    assert capsys.readouterr().out.startswith("1 page was written, 1 was")
