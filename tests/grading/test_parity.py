"""The box and the judge say of every gallery answer what the notebook's own check says."""

from __future__ import annotations

import atexit
from functools import cache

import pytest

from autograder import evaluate
from autograder.grading.box import Box, Job, Limits, Lost, Run
from autograder.grading.definition import definition
from autograder.grading.judge import examination, judge, question
from autograder.repair import nothing_tried
from autograder.source import Source
from tests.grading.walls import needs_walls
from tests.mistakes.gallery import Answer, answers

SEED = 20_261_121
IMPORTS = "import torch\nfrom torch.autograd import Function"
GALLERY = answers()


@cache
def box() -> Box:
    """One box for all answers that this process looks at."""
    made = Box(prelude=(IMPORTS,))
    atexit.register(made.close)
    return made


@needs_walls
@pytest.mark.parametrize("answer", GALLERY, ids=lambda a: a.id)
def test_box_and_notebook_agree(answer: Answer) -> None:
    asked = examination(answer.exercise, SEED)
    with nothing_tried():  # edits are only tried where a learner waits for the report
        here = evaluate(answer.load(), exercise=answer.exercise, seed=asked.seed)
    steps = (
        Run("setup", IMPORTS),
        Run("answer", answer.source),
        question("check", asked, hidden=True),
    )
    outcome = box().run(Job(steps))
    given = outcome.answers.get(2) or outcome.lost.get(2)
    there = judge(asked.complete, given, definition(answer.exercise, answer.source) or Source())
    assert there.passed == here.passed, f"{there}\n{here}"
    assert [f.rule for f in there.findings] == [f.rule for f in here.findings]
    for boxed, mine in zip(there.findings, here.findings, strict=True):
        # What is finite and wrong is followed where the answer can run again, and not in the box.
        unknown = boxed.rule.endswith("-unstable") and boxed.message.startswith("In float32 ")
        assert unknown or boxed.message == mine.message


@needs_walls
def test_what_was_never_judged_says_why_in_hidden_feedback_too() -> None:
    """No rule's title fits: the process ended, or the loop did not."""
    asked = examination("Square", SEED)
    died = judge(asked.complete, Lost("died", "SIGSEGV"), Source())
    assert "SIGSEGV" in died.headline
    loop = "class Square(Function):\n    @staticmethod\n    def forward(ctx, x):\n        while True:\n            pass\n"
    limits = Limits(cell_seconds=1.0)
    with Box(limits, prelude=(IMPORTS,)) as short:
        steps = (Run("setup", IMPORTS), Run("loop", loop), question("check", asked, hidden=True))
        given = short.run(Job(steps)).answers[2]
    stopped = judge(asked.complete, given, Source())
    assert "did not come to its end in time" in stopped.headline
    assert "in forward" in stopped.headline
