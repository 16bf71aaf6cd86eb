"""What is remembered, when, and for whom."""

import json

import pytest
import torch

from autograder import exercises
from autograder.contract.promises import Line
from autograder.learner.progress import (
    default_devices,
    load,
    progress,
    record_check,
    record_hint,
    record_quiz,
    set_default_devices,
)
from autograder.learner.progress_file import ExerciseRecord, Progress
from autograder.reporting.report import Report

BOTH = ("values", "gradients")


def checked(exercise: str, *kept: str) -> Report:
    """A report on an exercise with two promises."""
    lines = [Line(key, "kept" if key in kept else "broken") for key in ("values", "gradients")]
    return Report(exercise, len(kept) == 2, promises=tuple(lines))


def test_a_new_learner_starts_empty_and_leaves_no_file(progress_home):
    assert load() == Progress()
    assert load().exercise("Square") == ExerciseRecord()
    assert not progress_home.exists()


def test_what_the_last_check_found_of_each_promise_is_remembered():
    record_check(checked("Square", "values"))
    assert load().exercise("Square") == ExerciseRecord(
        attempts=1, kept=("values",), promises=("values", "gradients")
    )
    record_check(checked("Square", "values", "gradients"))
    assert load().exercise("Square").passed
    assert load().exercise("Square").kept == ("values", "gradients")


def test_what_passed_once_stays_passed_and_attempts_are_counted():
    attempts = []
    for kept in ((), ("values",), ("values", "gradients"), ("values",)):
        record_check(checked("Square", *kept))
        attempts.append(load().exercise("Square").attempts)
    record = load().exercise("Square")
    assert (record.passed, attempts) == (True, [1, 2, 0, 1])
    assert record.kept == ("values",)


def test_a_check_that_found_nothing_out_leaves_what_is_known():
    record_check(checked("Square", "values"))
    record_check(Report("Square", False))
    assert load().exercise("Square").kept == ("values",)


def test_progress_of_an_earlier_course_is_still_there(progress_home):
    progress_home.mkdir(parents=True)
    old = {"visible": True, "hidden": False, "attempts": 2, "hints": 1}
    data = {
        "version": 1, "devices": ["cpu"], "quizzes": {},
        "exercises": {"Square": old, "Clip": {**old, "hidden": True}},
    }  # fmt: skip
    (progress_home / "progress.json").write_text(json.dumps(data))
    assert load().exercise("Square") == ExerciseRecord(earlier=True, attempts=2, hints=1)
    assert load().exercise("Clip").passed


def test_the_highest_hint_is_remembered():
    record_hint("Clip", 2)
    record_hint("Clip", 1)
    assert load().exercise("Clip").hints == 2


def test_the_last_answer_to_a_quiz_question_counts():
    questions = ("Why float64?", "How many?", "Which two?")
    record_quiz("template", "Why float64?", "It is faster", False, questions)
    record_quiz("template", "Why float64?", "Less rounding", True, questions)
    record_quiz("template", "How many?", "Two", False, questions)
    quiz = load().quiz("template")
    assert (quiz.questions, len(quiz.answers), quiz.correct) == (3, 2, 1)
    assert quiz.answers["Why float64?"].choice == "Less rounding"


def test_answers_to_questions_that_are_no_longer_asked_are_forgotten():
    record_quiz("template", "Old?", "Yes", True, ("Old?", "Kept?"))
    record_quiz("template", "Kept?", "Yes", True, ("Old?", "Kept?"))
    record_quiz("template", "New?", "Yes", True, ("New?", "Kept?"))
    quiz = load().quiz("template")
    assert (quiz.questions, set(quiz.answers)) == (2, {"New?", "Kept?"})


def test_records_of_different_kinds_do_not_overwrite_each_other():
    record_check(checked("Square", "values", "gradients"))
    record_hint("Square", 1)
    record_quiz("template", "Why?", "So", True, questions=("Why?",))
    set_default_devices(("cpu", "cuda"))
    record_check(checked("MySigmoid", "values", "gradients"))
    remembered = load()
    assert set(remembered.exercises) == {"Square", "MySigmoid"}
    assert remembered.exercise("Square") == ExerciseRecord(
        passed=True, hints=1, kept=BOTH, promises=BOTH
    )
    assert remembered.quiz("template").correct == 1
    assert remembered.devices == ("cpu", "cuda")


@pytest.mark.parametrize(("gpu", "expected"), [(True, ("cpu", "cuda")), (False, ("cpu",))])
def test_a_remembered_gpu_is_used_only_where_there_is_one(monkeypatch, gpu, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert default_devices() == ("cpu",)
    set_default_devices(("cpu", "cuda"))
    assert default_devices() == expected


def test_nothing_is_read_or_written_while_nbgrader_runs_a_notebook(monkeypatch, progress_home):
    record_check(checked("Square", "values", "gradients"))
    before = (progress_home / "progress.json").read_bytes()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    record_check(checked("Clip", "values", "gradients"))
    record_hint("Clip", 1)
    record_quiz("template", "Why?", "So", True, questions=("Why?",))
    set_default_devices(("cpu", "cuda"))
    progress(reset=True)
    assert load() == Progress()
    assert (progress_home / "progress.json").read_bytes() == before


def test_reset_keeps_a_backup_and_says_where(capsys, progress_home):
    record_check(checked("Square", "values", "gradients"))
    before = json.loads((progress_home / "progress.json").read_text())
    progress(reset=True)
    [backup] = progress_home.glob("progress-backup-*.json")
    assert str(backup) in capsys.readouterr().out
    assert json.loads(backup.read_text()) == before
    assert load() == Progress()


def test_two_resets_in_one_second_keep_two_backups(progress_home):
    for name in ("Square", "Clip"):
        record_check(checked(name, "values", "gradients"))
        progress(reset=True)
    kept = [json.loads(f.read_text())["exercises"] for f in progress_home.glob("progress-backup-*")]
    assert sorted(next(iter(exercises)) for exercises in kept) == ["Clip", "Square"]


def test_a_reset_with_nothing_to_forget_says_so(capsys):
    progress(reset=True)
    assert capsys.readouterr().out == "There was no progress to reset.\n"


def test_progress_prints_the_map_outside_a_notebook(capsys, monkeypatch):
    monkeypatch.setitem(vars(exercises), "LESSONS", {"01_template": ("Square",)})
    progress()
    shown = capsys.readouterr().out
    assert "01_template" in shown
    assert "Next: `Square` in 01_template." in shown
