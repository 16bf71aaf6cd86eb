"""Every wrong answer is rejected with the rule it deserves, every right answer is accepted.

The whole suite takes a part of them each day; whoever names this file, all of them.
"""

import random
import re
from collections import Counter

import pytest

from autograder import evaluate
from autograder.exercises import all_exercises
from autograder.explaining.pages import TITLES
from tests.conftest import DAY, of_today
from tests.mistakes.gallery import Answer, answers

GALLERY = answers()
MEASURED = re.compile(r"\d\.\d\d|\d+ bytes|seed=\d")
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


@pytest.mark.parametrize("answer", of_today([a for a in GALLERY if a.right]), ids=lambda a: a.id)
def test_a_right_answer_is_accepted(answer: Answer):
    report = evaluate(answer.load(), exercise=answer.exercise, seed=1)
    assert report.passed, str(report)


@pytest.mark.parametrize(
    "answer", of_today([a for a in GALLERY if not a.right]), ids=lambda a: a.id
)
def test_a_wrong_answer_gets_the_rule_it_deserves(answer: Answer):
    report = evaluate(answer.load(), exercise=answer.exercise, seed=1)
    assert not any(finding.evidence.get("defect") for finding in report.findings), str(report)
    assert not report.passed
    assert report.findings[0].rule in answer.rules, str(report)
    # What a student gets to read of a hidden check: the rule and advice, never a measured value.
    report.graded = True
    evidence = report.findings[0].evidence
    own_line = str(evidence.get("source", ""))  # is shown, and may hold numbers of the learner's
    for shown in (str(report), report._repr_html_(), report.to_json()):
        measured = MEASURED.findall(STYLE.sub("", shown))
        assert [number for number in measured if number not in own_line] == [], shown
        for value in (evidence.get("actual"), evidence.get("expected")):
            assert value is None or len(str(value)) < 6 or str(value) not in shown


def test_the_gallery_covers_every_exercise():
    wrong = Counter(a.exercise for a in GALLERY if not a.right)
    right = Counter(a.exercise for a in GALLERY if a.right)
    exercises = all_exercises()
    assert exercises
    assert {n: wrong[n] for n in exercises if wrong[n] < 8} == {}
    assert {n: right[n] for n in exercises if right[n] < 3} == {}


def test_the_gallery_names_only_real_exercises_and_rules():
    assert {a.exercise for a in GALLERY} <= set(all_exercises())
    assert {rule for a in GALLERY for rule in a.rules} <= set(TITLES)


@pytest.mark.parametrize("answer", random.Random(DAY).sample(GALLERY, 30), ids=lambda a: a.id)
def test_the_learners_check_and_the_hidden_one_agree(answer: Answer):
    passed = [
        evaluate(answer.load(), exercise=answer.exercise, hidden=hidden, seed=2).passed
        for hidden in (False, True)
    ]
    assert passed == [answer.right] * 2
