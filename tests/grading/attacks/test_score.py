"""No submission gets points that its values are not worth; each trick works where its wall is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autograder.grading import marking
from autograder.judging.finding import Finding
from autograder.observation.observation import Observation
from autograder.observation.packing import Unreadable, from_bytes
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked
from tests.conftest import of_today
from tests.grading.attacks.grading import assert_neighbour_unharmed, graded, undisturbed
from tests.grading.attacks.lesson import FULL, RIGHT, handed_in, needing
from tests.grading.attacks.naive import naive_score
from tests.grading.attacks.score import (
    ATTACKS,
    COMPARED,
    HOARDER_POINTS,
    IN_PROCESS,
    READ_FIRST,
    ScoreAttack,
    hoarder,
)
from tests.grading.walls import needs_walls

pytestmark = needs_walls


def named(attack: ScoreAttack) -> str:
    return attack.name


def believing(asked: Asked, given: Any, *more: Any) -> Report:
    """A judge that compares nothing: what comes without a failure is right."""
    report = asked.report(graded=True)
    try:
        seen = from_bytes(given, expect=Observation)
        report.passed = all(answer.failure is None for answer in seen.answers.values())
    except (Unreadable, TypeError):
        pass
    report.findings = [] if report.passed else [Finding("raises", "Nothing came.")]
    return report


def gained_without(wall: str, attack: ScoreAttack, folder: Path, monkeypatch: Any) -> float:
    """The points an attack gets where its wall is gone."""
    if wall == IN_PROCESS:
        return naive_score(attack.notebook(), folder, attack.files)
    with monkeypatch.context() as patched:
        patched.setattr(marking, "concerns_in", lambda *given: [])
        if wall == COMPARED:
            patched.setattr(marking, "judge", believing)
        return graded(attack.notebook()).score


@pytest.mark.parametrize("attack", of_today(ATTACKS, 5), ids=named)
def test_nothing_is_gained(attack: ScoreAttack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert gained_without(attack.wall, attack, tmp_path, monkeypatch) > attack.worth
    result = graded(attack.notebook())
    assert result.score <= attack.worth
    assert [(m.grade_id, m.max_points) for m in result.marks] == [
        (m.grade_id, m.max_points) for m in undisturbed().marks
    ]
    assert all(mark.points in (None, 0.0, mark.max_points) for mark in result.marks)
    if attack.wall == READ_FIRST:  # values alone would not have told it
        assert result.reasons
        assert {m.points for m in result.marks if m.exercise == "MySigmoid"} == {None}
    assert_neighbour_unharmed()


@pytest.mark.parametrize(
    "attack", of_today([a for a in ATTACKS if a.wall != READ_FIRST], 5), ids=named
)
def test_values_are_judged_even_if_nobody_reads_the_cells(
    attack: ScoreAttack, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(marking, "concerns_in", lambda *given: [])
    result = graded(attack.notebook())
    assert result.score <= attack.worth
    assert not result.reasons


def test_the_naive_judge_is_a_judge(tmp_path: Path):
    """It tells right from wrong where nobody attacks it."""
    (tmp_path / "right").mkdir()
    (tmp_path / "wrong").mkdir()
    assert naive_score(handed_in(RIGHT), tmp_path / "right") == FULL
    assert naive_score(handed_in(), tmp_path / "wrong") == 0.0


def test_what_the_hoarding_answer_is_worth():
    assert graded(handed_in(hoarder())).score == HOARDER_POINTS


def test_an_answer_that_waits_does_not_touch_the_others(monkeypatch: pytest.MonkeyPatch):
    """It runs behind all of them, though it stands above them."""
    patch = "import autograder.running.watching as w\nw.Storages.left = lambda *given: []"
    made = handed_in(hoarder() | {"Square": needing(patch, RIGHT["Square"])})

    def points(exercise: str) -> set[float | None]:
        return {mark.points for mark in graded(made).marks if mark.exercise == exercise}

    assert points("Square") == {None}
    assert points("MySigmoid") == {0.0}
    monkeypatch.setattr(marking, "concerns_in", lambda *given: [])
    assert 0.0 not in points("MySigmoid")


TABLES = {
    "by backward": "def table():\n    at = torch.linspace(-9, 9, 9001, dtype=torch.float64, requires_grad=True)\n"
    "    torch.sigmoid(at).sum().backward()\n    return at.grad\n\nTABLE = table()\n",
    "by grad": "at = torch.linspace(-9, 9, 9001, dtype=torch.float64, requires_grad=True)\n"
    "(TABLE,) = torch.autograd.grad(torch.sigmoid(at).sum(), at)\n",
}


@pytest.mark.parametrize("way", TABLES)
def test_a_table_of_slopes_that_torch_made_is_not_ones_own_work(way: str):
    answer = RIGHT["MySigmoid"].replace("return grad", "TABLE\n        return grad")
    made = graded(handed_in({"MySigmoid": TABLES[way] + answer}))
    found = {mark.rule for mark in made.marks if mark.exercise == "MySigmoid"}
    assert (found, made.reasons) == ({"uses-autograd"}, ())
    unused = graded(handed_in({"MySigmoid": TABLES[way] + RIGHT["MySigmoid"]}))
    assert {mark.points for mark in unused.marks if mark.exercise == "MySigmoid"} == {2.0, 3.0}


# It writes to a log, and imports a package that everybody may import.
_PLANTED = """\
import logging

logging.basicConfig(filename="sklearn.py", format="%(message)s", force=True)
logging.warning("import autograder.running.watching as w\\nw.Storages.left = lambda *given: []")
import sklearn
"""


def test_a_file_of_ones_own_is_no_package(monkeypatch: pytest.MonkeyPatch):
    """Such a file could change what is seen of the structure, and nobody would have read it."""
    monkeypatch.setattr(marking, "concerns_in", lambda *given: [])

    def worth(planted: str) -> float:
        answer = needing(planted, hoarder()["MySigmoid"])
        return graded(handed_in({"MySigmoid": answer})).score

    assert worth(_PLANTED) == HOARDER_POINTS
    assert worth("import sys\nsys.path.insert(0, '')\n" + _PLANTED) > HOARDER_POINTS


def test_there_are_attacks_on_each_wall():
    assert {attack.wall for attack in ATTACKS} == {IN_PROCESS, READ_FIRST, COMPARED}
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
