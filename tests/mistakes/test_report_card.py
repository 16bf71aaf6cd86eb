"""The report card counts every answer and every mutant once, and says what went wrong."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.mistakes import report_card
from tests.mistakes.gallery import Answer
from tests.mistakes.report_card import PARTS, Job, Row, jobs, judge, merged, table

RIGHT = Answer(exercise="Square", what="a right one", source="…", lesson="01_template")
WRONG = replace(RIGHT, what="a wrong one", rules=("gradient-sign",))


def report(*rules: str, undecided: tuple[str, ...] = ()) -> SimpleNamespace:
    findings = [SimpleNamespace(rule=rule) for rule in rules]
    return SimpleNamespace(passed=not findings, findings=findings, undecided=undecided)


def counted(answer: Answer, outcome: SimpleNamespace) -> Row:
    row = Row("Square")
    report_card._count(row, answer, 7, outcome)
    return row


def test_a_right_answer_that_is_rejected_is_noted():
    row = counted(RIGHT, report("gradient-sign"))
    assert (row.right, row.accepted, len(row.notes)) == (1, 0, 1)
    assert "seed 7" in row.notes[0]
    assert counted(RIGHT, report()).notes == []


def test_a_wrong_answer_that_is_accepted_or_misnamed_is_noted():
    accepted = counted(WRONG, report())
    assert (accepted.wrong, accepted.rejected, accepted.deserved, len(accepted.notes)) == (
        1,
        0,
        0,
        1,
    )
    misnamed = counted(WRONG, report("gradient-value", "gradient-sign"))
    assert (misnamed.rejected, misnamed.deserved, len(misnamed.notes)) == (1, 0, 1)
    named = counted(WRONG, report("gradient-sign"))
    assert (named.rejected, named.deserved, named.notes) == (1, 1, [])


def test_every_seed_and_every_mutant_is_in_one_job():
    work = [job for job in jobs("01_template", repeat=25, limit=8) if job.exercise == "Square"]
    seeds = [seed for job in work for seed in job.seeds]
    assert seeds == list(range(1, 26))
    assert sorted(job.part for job in work if job.mutants) == list(range(PARTS))
    rows = [judge(job) for job in work if job.mutants]
    assert sum(row.mutants for row in rows) == 8
    assert not any(job.mutants for job in jobs("01_template", repeat=1, limit=0))


@pytest.mark.parametrize("read", [True, False])
def test_an_accepted_mutant_counts_as_a_fault_once_its_exercise_is_read(monkeypatch, read):
    monkeypatch.setattr(report_card, "READ", ("Square",) if read else ())
    trial = SimpleNamespace(answer=RIGHT, reason=None, id="Square: a fault", accepted=lambda: True)
    row = Row("Square")
    report_card._try(row, trial)
    assert (row.survivors, row.unread) == ((1, 0) if read else (0, 1))


def test_the_table_has_a_row_an_exercise_and_their_sum():
    rows = merged(
        [Row("Square", wrong=2), Row("Clip", wrong=1), Row("Square", wrong=3, notes=["x"])]
    )
    assert [(r.exercise, r.wrong) for r in rows] == [("Square", 5), ("Clip", 1)]
    assert rows[0].notes == ["x"]
    last = table(rows).splitlines()[-1]
    assert last.startswith("| **all** | 6 |")


def test_judging_a_gallery_counts_its_answers():
    row = judge(Job("Square", "01_template", seeds=(1,)))
    assert row.wrong == row.rejected >= 8
    assert row.right == row.accepted >= 3
