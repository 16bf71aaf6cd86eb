"""What the right code gives with one edit is a mistake that nobody had to write down."""

import pytest

from autograder.exercises import find
from autograder.explaining.edits.right_answers import one_edit_away
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.judging.rules import judge
from autograder.observation.source import Source
from autograder.reporting.verdict import Asked
from autograder.reporting.wording import worded
from autograder.running.probe import probe
from tests.mistakes.gallery import load

SOFTMAX = """
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.softmax(x, dim) if x.is_meta else (x - x.logsumexp(dim, keepdim=True)).exp()
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inner = {inner}
        return y * (grad_output - inner), None
"""
TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        e, f = x.exp(), (-x).exp()
        y = (e - f) / (e + f)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        local = {local}
        return torch.mul(local, grad_output)
"""
TOLD = [
    ("Softmax", SOFTMAX.format(inner="0 * y"), "gradient", "without `- (grad_output * y)"),
    ("Softmax", SOFTMAX.format(inner="torch.einsum('...,...->...', grad_output, y)"), "gradient", ".sum("),
    ("MyTanh", TANH.format(local="torch.sub(1, y)"), "gradient", "`"),
]  # fmt: skip


def found(name: str, code: str) -> tuple[Evidence, Finding]:
    submission, asked = load(code, name), Asked.of(find(name), 1, True)
    seen = probe(submission, asked.questions, {s.name: s for s in asked.exercise.scenarios})
    ev = Evidence(
        asked.exercise, list(asked.questions), seen, Source.of(submission), asked.references
    )
    return ev, judge(ev).findings[0]


@pytest.mark.parametrize(("name", "code", "kind", "words"), TOLD, ids=range(len(TOLD)))
def test_the_edit_of_the_right_code_with_these_numbers_is_told(name, code, kind, words):
    told = one_edit_away(*found(name, code))
    assert told is not None
    assert told.cause == f"edit/right-{kind}"
    assert told.facts["argument"] == "x"
    assert words in told.facts["words"]
    assert told.symptom  # where in the learner's own code is still looked for
    assert len(worded(told).message.split()) <= 25


def test_numbers_that_no_edit_gives_are_not_explained():
    assert one_edit_away(*found("MyTanh", TANH.format(local="torch.cos(3 * y) - 0.217"))) is None


def test_zeros_come_from_too_many_mistakes():
    assert one_edit_away(*found("MyTanh", TANH.format(local="0 * y"))) is None
