"""What a lesson's contract promises is what is checked, in the words of the report."""

from __future__ import annotations

import re

import pytest

from autograder.contract.plan import make_plan
from autograder.contract.promises import PROMISES
from autograder.contract.references import References
from autograder.exercises import all_exercises
from autograder.judging.evidence import Evidence
from autograder.judging.rules import in_order
from autograder.observation.observation import Observation
from autograder.observation.source import Source
from autograder.reporting.verdict import rules_asked
from tests.build.real_course import REPOSITORY

TITLES = {promise.title: promise.key for promise in PROMISES}


def promised(lesson: str) -> dict[str, set[str]]:
    """The promises that each contract of a lesson names in bold, by exercise."""
    found: dict[str, set[str]] = {}
    contract: set[str] | None = None
    for cell in lesson.split("\n# %% "):
        if "**Contract.**" in cell:
            bullets = " ".join(re.findall(r"^# \* .*", cell, re.MULTILINE))
            contract = {TITLES[b] for b in re.findall(r"\*\*(.+?)\*\*", bullets) if b in TITLES}
        elif contract is not None and '"solution": true' in cell.split("\n")[0]:
            names = re.findall(r"^(?:class|def) (\w+)", cell, re.MULTILINE)
            found |= {name: contract for name in names if name in all_exercises()}
            contract = None
    return found


def checked(name: str, hidden: bool = False, seed: int = 0) -> tuple[set[str], set[str]]:
    """The promises and the rules that are asked of an exercise."""
    exercise = all_exercises()[name]
    asked = rules_asked(exercise, make_plan(exercise, seed, hidden), References(exercise))
    rules = in_order(Evidence(exercise, {}, Observation({}, {}), Source(), References(exercise)))
    return {rule.promise for rule in rules if rule.key in asked}, set(asked)


def lessons() -> str:
    return "\n".join(path.read_text() for path in sorted((REPOSITORY / "lessons").glob("[0-9]*.py")))


STATED = promised(lessons())


def test_every_exercise_has_a_contract():
    assert set(STATED) == set(all_exercises())


@pytest.mark.parametrize("name", sorted(all_exercises()))
def test_a_contract_promises_what_is_checked_and_nothing_else(name):
    assert STATED[name] == checked(name)[0]


@pytest.mark.parametrize("name", sorted(all_exercises()))
def test_no_rule_is_asked_by_one_of_the_two_checks_alone(name):
    visible, hidden = (checked(name, hidden=which)[1] for which in (False, True))
    if visible != hidden:  # the dtype of one question is drawn
        visible, hidden = (
            set().union(*(checked(name, which, seed)[1] for seed in range(8)))
            for which in (False, True)
        )
    assert visible == hidden


def test_a_promise_that_is_left_out_of_a_lesson_is_noticed():
    planted = lessons().replace("* **memory**: nothing is kept for backward but `x`", "* Frugal.")
    assert promised(planted)["Square"] != checked("Square")[0]
