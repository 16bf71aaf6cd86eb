"""The box and the judge say of a gallery answer, word by word, what the notebook's own check says.

Each day other answers; that the verdicts agree is looked at for all of them by `make report-card`.
"""

from __future__ import annotations

import atexit
import random
from functools import cache

import pytest

from autograder import evaluate
from autograder.grading.box import Box, Limits, Lost
from autograder.grading.judge import examination, judge, question
from autograder.observation.source import Source
from autograder.reporting.verdict import OneCheck
from autograder.running.program import Piece
from tests.grading.one_verdict import TODAY, definition
from tests.grading.walls import needs_walls
from tests.mistakes.gallery import Answer, answers

SEED = 20_261_121
IMPORTS = "import torch\nfrom torch.autograd import Function"
A_DAY = 20
GALLERY = random.Random(TODAY).sample(answers(), A_DAY)


@cache
def box() -> Box:
    """One box for all answers that this process looks at."""
    made = Box()
    atexit.register(made.close)
    return made


@needs_walls
@pytest.mark.parametrize("answer", GALLERY, ids=lambda a: a.id)
def test_box_and_notebook_agree(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    # In a notebook the answer can be run again and followed step by step; what came out of a box cannot.
    monkeypatch.setattr(
        OneCheck, "evidence", lambda self: self.asked.evidence(self.observation, self.source)
    )
    asked = examination(answer.exercise, SEED)
    here = evaluate(answer.load(), exercise=answer.exercise, seed=asked.seed)
    pieces = (Piece("setup", IMPORTS), Piece("answer", answer.source))
    outcome = box().run([question(asked, pieces)])
    given = outcome.answers.get(0) or outcome.lost.get(0)
    there = judge(asked, given, definition(answer.exercise, answer.source) or Source())
    assert there.passed == here.passed, f"{there}\n{here}"
    assert [f.rule for f in there.findings] == [f.rule for f in here.findings]
    assert [f.message for f in there.findings] == [f.message for f in here.findings]


@needs_walls
def test_what_was_never_judged_says_why_in_hidden_feedback_too() -> None:
    """No rule's title fits: the process ended, or the loop did not."""
    asked = examination("Square", SEED)
    died = judge(asked, Lost("died", "SIGSEGV"), Source())
    assert "SIGSEGV" in died.headline
    loop = "class Square(Function):\n    @staticmethod\n    def forward(ctx, x):\n        while True:\n            pass\n"
    limits = Limits(cell_seconds=1.0)
    with Box(limits) as short:
        pieces = (Piece("setup", IMPORTS), Piece("loop", loop))
        given = short.run([question(asked, pieces)]).answers[0]
    stopped = judge(asked, given, Source())
    assert stopped.findings[0].cause == "stopped/in-time"
    assert "forward" in stopped.headline
