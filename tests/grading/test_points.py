"""Points by promises, where an instructor wants them: what is kept earns, what is forged or missing does not."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercises import find
from autograder.grading import demo
from autograder.grading.course import open_course
from autograder.grading.judge import examination, judge
from autograder.grading.marking import kept_share
from autograder.observation.observation import Answer, Observation
from autograder.observation.packing import to_bytes
from autograder.observation.source import Source
from autograder.running.probe import probe
from autograder.running.submission import kind_of
from tests.grading.batches import CONFIG as PLAIN
from tests.grading.batches import (
    LESSON,
    SQUARE,
    WRONG,
    add_lesson,
    hand_in,
    notebook,
)
from tests.grading.walls import needs_walls
from tests.mistakes.gallery import of

SEED = 5
CONFIG = (
    PLAIN
    + """
from autograder.grading.config import configure
configure(c)
"""
)
BY_PROMISE = "c.ExecuteInBox.points_by_promise = True\n"
GREEDY = SQUARE.replace("save_for_backward(x)", "save_for_backward(x, x * x)").replace(
    "(x,) =", "x, _ ="
)


def share(exercise: str, seen: Observation | bytes | None) -> float:
    asked = examination(exercise, SEED)
    given = to_bytes(seen) if isinstance(seen, Observation) else seen
    return kept_share(asked, given, judge(asked, given, Source()))


def first(exercise: str, rule: str) -> Observation:
    """What the first answer of the gallery gives that deserves a rule (or is "right")."""
    answer = next(a for a in of(exercise) if (a.rules[0] if a.rules else "right") == rule)
    value, asked = answer.load(), examination(exercise, SEED)
    seen = probe(value, list(asked.questions), {s.name: s for s in find(exercise).scenarios})
    seen.facts["kind"] = asdict(kind_of(value))
    return seen


@pytest.mark.parametrize(
    ("exercise", "rule", "least", "most"),
    [
        ("MySigmoid", "right", 1, 1),
        ("MySigmoid", "saves-too-much", 0.7, 0.99),
        ("MySigmoid", "double-backward-missing", 0.7, 0.99),
        ("MySigmoid", "gradient-sign", 0, 0),
        ("MySigmoid", "uses-autograd", 0, 0),
        ("hvp", "temporary-too-large", 0.7, 0.99),
        ("hvp", "uses-builtin", 0, 0),
        ("Softmax", "shared-state", 0.6, 0.8),
    ],
)
def test_what_is_kept_earns_where_values_and_gradients_are_right(
    exercise: str, rule: str, least: float, most: float
) -> None:
    assert least <= share(exercise, first(exercise, rule)) <= most


@pytest.mark.parametrize("given", [None, b"{}"])
def test_where_nothing_can_be_read_nothing_is_earned(given: bytes | None) -> None:
    assert share("MySigmoid", given) == 0


DAMAGES: dict[str, Callable[[Answer], Answer]] = {
    "no outputs": lambda one: replace(one, outputs=None),
    "empty outputs": lambda one: replace(one, outputs=()),
    "no gradients": lambda one: replace(one, gradients=None),
    "fewer gradients": lambda one: replace(one, gradients=()),
    "no second derivatives": lambda one: replace(one, second=None),
    "nothing measured": lambda one: replace(one, data={}),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("rule", ["saves-too-much", "gradient-sign"])
def test_what_is_left_out_earns_nothing_more(rule: str, damage: str) -> None:
    honest = first("MySigmoid", rule)
    damaged = {id: DAMAGES[damage](one) for id, one in honest.answers.items()}
    assert any(damaged[id] != honest.answers[id] for id in damaged)
    forged = Observation(damaged, honest.facts)
    assert share("MySigmoid", forged) <= share("MySigmoid", honest)
    if damage in ("no outputs", "no gradients"):
        assert share("MySigmoid", forged) == 0


def test_an_answer_that_is_not_there_earns_nothing() -> None:
    honest = first("MySigmoid", "saves-too-much")
    for id in list(honest.answers):
        left = {one: answer for one, answer in honest.answers.items() if one != id}
        assert share("MySigmoid", Observation(left, honest.facts)) == 0


@pytest.fixture
def graded(tmp_path: Path, walls: None) -> Path:
    """A course that gives points by promises, with three students, graded by `autograder grade`."""
    root = tmp_path / "ours"
    root.mkdir()
    (root / "nbgrader_config.py").write_text(CONFIG + BY_PROMISE)
    add_lesson(root, LESSON, notebook({"Square": "pass"}))
    for student, answer in (("greedy", GREEDY), ("right", SQUARE), ("wrong", WRONG)):
        hand_in(root, student, notebook({"Square": answer}))
    shutil.copytree(root, tmp_path / "theirs")
    assert main(["grade", "--course", str(root), "--jobs", "1"]) == 0
    return root


def points(root: Path) -> dict[str, dict[str, Any]]:
    """What the gradebook says, by student and cell."""
    course = open_course(root)
    with Gradebook(course.db_url, course.course_id) as gradebook:
        return {
            student: {
                grade.name: (grade.auto_score, grade.needs_manual_grade)
                for grade in gradebook.find_submission_notebook(LESSON, LESSON, student).grades
            }
            for student in ("greedy", "right", "wrong")
        }


@needs_walls
@pytest.mark.slow
def test_gradebook_nbgrader_feedback_and_exports_agree(graded: Path) -> None:
    ours, theirs = points(graded), graded.parent / "theirs"
    demo.run(theirs, "-m", "nbgrader", "autograde", LESSON)
    assert points(theirs) == ours
    assert ours["right"] == {"square-check": (2.0, False), "square-hidden": (3.0, False)}
    assert ours["wrong"] == {"square-check": (0.0, False), "square-hidden": (0.0, False)}
    (check, _), (hidden, _) = ours["greedy"]["square-check"], ours["greedy"]["square-hidden"]
    assert 1 < check < 2 < hidden < 3
    total = f"{check + hidden:g}"

    assert main(["export", "--course", str(graded)]) == 0
    with (graded / "grades.csv").open() as file:
        assert {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)} == {
            "greedy": float(total), "right": 5.0, "wrong": 0.0,
        }  # fmt: skip
    assert main(["export", "--course", str(graded), "--format", "gradescope"]) == 0
    data = json.loads((graded / "gradescope" / LESSON / "greedy/results.json").read_text())
    assert (data["score"], [test["score"] for test in data["tests"] if "score" in test]) == (
        float(total), [check, hidden],
    )  # fmt: skip
    assert main(["feedback", "--course", str(graded), "--jobs", "1"]) == 0
    page = (graded / "feedback/greedy" / LESSON / f"{LESSON}.html").read_text()
    assert f"{total} of 5" in page or f"{total} / 5" in page

    # without the setting, all or nothing
    (graded / "nbgrader_config.py").write_text(CONFIG)
    assert main(["grade", "--course", str(graded), "--all", "--jobs", "1"]) == 0
    assert points(graded)["greedy"] == {"square-check": (0.0, False), "square-hidden": (0.0, False)}
