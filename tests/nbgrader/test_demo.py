"""`make demo` on the real lessons: three learners, their scores, and what they read."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from autograder.__main__ import main
from autograder.grading import demo
from autograder.grading.words import Trouble
from tests.nbgrader.classroom import scores
from tests.nbgrader.test_feedback import page, what_it_loads_or_runs

pytestmark = pytest.mark.slow

# The exercise each lesson's wrong answer is for, and the rule it deserves.
WRONG = {"01_template": ("square", "gradient-scale"), "02_sigmoid": ("my-sigmoid", "gradient-sign")}


def points(folder: Path, lesson: str) -> dict[str, float]:
    """Points of the graded cells of a lesson, by grade_id."""
    notebook = nbformat.read(folder / "course" / lesson / f"{lesson}.ipynb", as_version=4)
    roles = (cell.metadata.get("nbgrader", {}) for cell in notebook.cells)
    return {role.grade_id: float(role.points) for role in roles if role.get("grade")}


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_scores_are_right(real_class: Path, lesson: str) -> None:
    worth = points(real_class, lesson)
    exercise = WRONG[lesson][0]
    lost = worth[f"{exercise}-check"] + worth[f"{exercise}-hidden"]
    given = scores(real_class)
    assert given["ada", lesson] == sum(worth.values())
    assert given["ben", lesson] == 0
    assert given["carla", lesson] == sum(worth.values()) - lost


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_everything_right_says_so(real_class: Path, lesson: str) -> None:
    reports = page(real_class, "ada", lesson).select(".autograder-report")
    assert len(reports) == len(points(real_class, lesson))
    assert all("bbh-passed" in report["class"] for report in reports)


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_nothing_done_is_no_error_dump(real_class: Path, lesson: str) -> None:
    soup = page(real_class, "ben", lesson)
    reports = soup.select(".autograder-report")
    assert len(reports) == len(points(real_class, lesson))
    assert all("bbh-not-started" in report["class"] for report in reports)


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_a_wrong_backward_is_named(real_class: Path, lesson: str) -> None:
    failed = page(real_class, "carla", lesson).select(".autograder-report.bbh-failed")
    rule = WRONG[lesson][1]
    assert len(failed) == 2
    assert all(rule in report.get_text() for report in failed)


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_hidden_checks_show_no_source_no_seed_and_no_values(real_class: Path, lesson: str) -> None:
    soup = page(real_class, "carla", lesson)
    text = soup.get_text()
    assert "HIDDEN TESTS" not in text
    assert "seed=" not in "".join(report.get_text() for report in soup.select(".autograder-report"))
    hidden = soup.select(".autograder-report.bbh-failed")[1]
    assert not re.search(r"-?\d+\.\d+", hidden.get_text())


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_hidden_checks_show_the_learners_own_line(real_class: Path, lesson: str) -> None:
    hidden = page(real_class, "carla", lesson).select(".autograder-report.bbh-failed")[1]
    rows = [row.get_text() for row in hidden.select("dt, dd")]
    assert "return" in rows[rows.index("Your line") + 1]


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_the_overview_says_points_and_cause_of_each_exercise(real_class: Path, lesson: str) -> None:
    def overview(learner: str) -> list[tuple[str, str, str]]:
        rows = page(real_class, learner, lesson).select("nav tbody tr")
        return [tuple(cell.get_text() for cell in row.find_all(["th", "td"])) for row in rows]  # type: ignore[misc]

    worth = points(real_class, lesson)
    assert len(overview("ada")) == len(worth)
    assert all(said == "✓ Passed" for _, _, said in overview("ada"))
    assert all("is not started yet" in said for _, _, said in overview("ben"))
    wrong = [
        (name, given) for name, given, said in overview("carla") if said.startswith("✗ Not yet: ")
    ]
    assert [name.split(", ")[1] for name, _ in wrong] == ["first check", "hidden check"]
    assert all(given.startswith("0.0 / ") for _, given in wrong)


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_nothing_is_said_twice(real_class: Path, lesson: str) -> None:
    soup = page(real_class, "carla", lesson)
    headline = soup.select_one(".bbh-failed .bbh-headline").get_text().split(": ", 1)[1]
    assert not [one for one in soup.select(".output_error") if headline in one.get_text()]


@pytest.mark.parametrize("lesson", demo.LESSONS)
@pytest.mark.parametrize("learner", demo.LEARNERS)
def test_pages_load_and_run_nothing(real_class: Path, learner: str, lesson: str) -> None:
    assert what_it_loads_or_runs(page(real_class, learner, lesson)) == []


@pytest.mark.parametrize("lesson", demo.LESSONS)
def test_every_formula_of_the_lesson_is_understood(real_class: Path, lesson: str) -> None:
    """None of them is shown as TeX: what the translator does not know, it writes out as it is."""
    for formula in page(real_class, "ben", lesson).find_all("math"):
        assert "\\" not in formula.get_text()
        assert "&" not in formula.get_text()


def test_demonstrations_are_not_run(real_class: Path) -> None:
    """Nor finales: what no exercise depends on costs no time when a class is graded."""
    assert not page(real_class, "ada", "02_sigmoid").select("img[src^='data:image/png']")


def test_the_table_reads_well() -> None:
    rows = [
        {"assignment": lesson, "student_id": who, "score": score, "max_score": "25.0"}
        for who, score in (("ada", "25.0"), ("ben", "0.0"))
        for lesson in ("01_template",)
    ]
    assert demo.table(rows).splitlines() == [
        "learner     01_template",
        "ada         25 / 25",
        "ben         0 / 25",
    ]


def test_a_folder_in_use_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.md").write_text("mine")
    assert main(["demo", "--folder", str(tmp_path)]) == 1
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_a_step_that_fails_says_what_the_command_said(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="no such module, sorry"):
        demo.run(tmp_path, "-c", "raise SystemExit('no such module, sorry')")
