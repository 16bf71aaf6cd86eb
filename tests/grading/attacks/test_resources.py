"""No submission takes more than its share, and what ends its process costs that cell only."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import box as box_module
from autograder.grading import marking
from autograder.grading.box import Box, Said
from tests.conftest import of_today
from tests.grading.attacks.boxes import run_relaxed, throw_away
from tests.grading.attacks.confinement import cell
from tests.grading.attacks.crashes import CRASHES, Crash
from tests.grading.attacks.grading import (
    HOW,
    assert_neighbour_unharmed,
    graded,
    run_in_the_box,
    said_in_the_box,
    the_box,
    undisturbed,
)
from tests.grading.attacks.lesson import EACH, FULL, RIGHT, Cell, handed_in, needing
from tests.grading.attacks.naive import naive_score
from tests.grading.attacks.resources import (
    CELL,
    CHATTER,
    EXCESSES,
    FORWARD,
    LONG,
    Excess,
    in_forward,
)
from tests.grading.walls import needs_walls

pytestmark = needs_walls


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch):
    """What does not end is ended sooner; and cells are not read, so that all points are to be seen."""
    monkeypatch.setattr(box_module, "_GRACE", 1.0)
    monkeypatch.setattr(marking, "concerns_in", lambda *given: [])


def named(case: Excess | Crash) -> str:
    return case.name


def notebook(case: Excess | Crash) -> Cell:
    """Right answers, and the case in a cell of its own or in the forward of Square."""
    if case.where == FORWARD:
        return handed_in(RIGHT | {"Square": in_forward(case.body)})
    body = cell(case.body) if isinstance(case, Excess) else case.body
    return handed_in(RIGHT, before=[body])


def processes_in(box: Box) -> int:
    """How many processes there are in a box."""
    assert box._process is not None
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except (FileNotFoundError, ProcessLookupError):
                continue
    inside = {box._process.pid}
    while more := {child for child, parent in parents.items() if parent in inside} - inside:
        inside |= more
    return len(inside)


@pytest.mark.parametrize("excess", of_today(EXCESSES, 3), ids=named)
def test_nobody_takes_more_than_there_is(excess: Excess):
    undisturbed()
    quiet = processes_in(the_box())
    source = cell(excess.body)
    if excess.where == FORWARD:
        source = cell("import torch\nx = torch.ones(3)\n" + excess.body + "\nreturn True")
    shown = (run_relaxed(source).said(1) or Said()).text
    assert "REACHED" in shown, shown
    if excess.where == CELL:
        assert "REACHED" not in said_in_the_box(source)
    # The rest of the notebook has its points; in a cell of its own it is not even run.
    assert graded(notebook(excess)).score == (FULL if excess.where == CELL else EACH)
    assert_neighbour_unharmed()
    assert processes_in(the_box()) == quiet


@pytest.mark.parametrize(("name", "source", "size"), CHATTER, ids=[case[0] for case in CHATTER])
def test_what_is_said_is_cut(name: str, source: str, size: int):
    if size < 100_000_000:  # the largest is tried in the box only
        assert len(run_relaxed(source).answers[1]) >= size
    result = graded(handed_in(RIGHT | {"Square": needing(source, RIGHT["Square"])}))
    assert result.score == FULL
    assert not result.reasons
    assert len(result.notebook) < len(undisturbed().notebook) + 4 * HOW.limits.text
    assert len(said_in_the_box(source)) < HOW.limits.text + 100
    assert_neighbour_unharmed()


@pytest.mark.parametrize("crash", of_today(CRASHES, 3), ids=named)
def test_a_crash_costs_its_own_exercise_only(crash: Crash, tmp_path: Path):
    """One process for everything loses everything; here the others are asked again without it.

    In a cell of its own it is not even run.
    """
    undisturbed()
    quiet = processes_in(the_box())
    assert throw_away(lambda: naive_score(notebook(crash), tmp_path)) == 0.0
    if crash.where == CELL:
        assert graded(notebook(crash)).score == FULL
        content = handed_in(
            RIGHT | {"Square": needing("import torch\n" + crash.body, RIGHT["Square"])}
        )
        said = run_in_the_box("import torch\n" + crash.body).said(0)
        assert said is None or said.error  # it crashed, or its time was over
    else:
        content = notebook(crash)
    assert graded(content).score == EACH
    assert_neighbour_unharmed()
    assert processes_in(the_box()) == quiet


def test_what_is_naive_is_not_what_crashes(tmp_path: Path):
    assert throw_away(lambda: naive_score(handed_in(RIGHT), tmp_path)) == FULL


def test_all_answers_together_have_an_end(monkeypatch: pytest.MonkeyPatch):
    """No answer takes too long by itself."""
    slow = {name: needing("import time\ntime.sleep(1)", answer) for name, answer in RIGHT.items()}
    assert graded(handed_in(slow)).score == FULL
    monkeypatch.setattr(the_box(), "limits", replace(HOW.limits, seconds=0.5))
    assert graded(handed_in(slow)).score < FULL
    monkeypatch.undo()
    assert_neighbour_unharmed()


def test_answers_that_are_too_many(monkeypatch: pytest.MonkeyPatch):
    """A forward that gives many numbers, for each of its questions."""
    large = RIGHT["Square"].replace("return x * x", "return torch.ones(2**16, dtype=x.dtype)")
    content = handed_in(RIGHT | {"Square": large})
    undisturbed()
    for limit, told in ((HOW.limits.answers, False), (2**22, True)):
        monkeypatch.setattr(the_box(), "limits", replace(HOW.limits, answers=limit))
        result = graded(content)
        words = json.dumps([mark.report for mark in result.marks])
        assert ("more than can be taken" in words) == told
        assert result.score == EACH
    monkeypatch.undo()
    assert_neighbour_unharmed()


def test_what_never_ends_is_longer_than_there_is_time():
    # Interrupted in time; what does not hear that is ended a moment later, on a busy machine too.
    assert HOW.limits.cell_seconds + box_module._GRACE < LONG - 1.0
    assert os.cpu_count()
