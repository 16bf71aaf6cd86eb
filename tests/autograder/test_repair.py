"""Where a finding names no cause, edits of the learner's own code are tried; what mends all is told."""

import ast
import re
from pathlib import Path

import pytest
import torch

import autograder
from autograder import evaluate
from autograder.observation import Observation
from autograder.repair import nothing_tried, search
from autograder.repair.edits import COUNTED
from autograder.repair.general import ENDS, SYMPTOMS, is_general
from autograder.repair.kinds import edits
from autograder.repair.rebuilt import Original
from autograder.rules.registry import Rule, judge_all
from autograder.source import Source
from tests.mistakes.gallery import answers, load

UNBROADCAST = """
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, n in enumerate(shape):
        if {condition}:
            grad = grad.sum(i, keepdim=True)
    return grad
"""
REVERSAL = """
class GradientReversal(Function):
    @staticmethod
    def forward(ctx, x, alpha=None):
        ctx.alpha = alpha or 1.0
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None
"""
RELU = """
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask{cast})
        return torch.where(mask, x, 0)

    @staticmethod
    def backward(ctx, grad_output):
        mask, = ctx.saved_tensors
        return {gradient}
"""
TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y.half())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return slope(y) * grad_output


def slope(y):
    return {slope}
"""
CLIP = """
class ClipGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output.abs().max() <= ctx.limit:
            return grad_output, None
        return grad_output.clamp(-ctx.limit, ctx.limit), None
"""
SQUARE = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        flat = x.view(-1)
        return (flat * flat).reshape(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
"""
SAID = [
    ("unbroadcast", UNBROADCAST.format(condition="n == 1 and grad.shape[i] > 1"), "line 6", "!= 1` in place of"),
    ("GradientReversal", REVERSAL, "line 5", "with `1.0 if alpha is None else alpha` in place of `alpha or 1.0`"),
    ("Square", SQUARE, "line 6", "without `.view(-1)`"),
    ("ClipGradient", CLIP, "line 10", "without `if grad_output.abs().max() <= ctx.limit:`"),
]  # fmt: skip


def test_of_an_argument_that_is_always_given_none_is_not_asked():
    code = REVERSAL.replace("alpha=1.0", "alpha").replace("alpha=None", "alpha")
    report = evaluate(load(code, "GradientReversal"), exercise="GradientReversal", seed=1)
    assert "with `alpha` in place of `alpha or 1.0` every check" in report.headline


@pytest.mark.parametrize(("name", "code", "line", "words"), SAID, ids=[s[0] for s in SAID])
def test_the_edit_that_mends_everything_is_the_cause(name: str, code: str, line: str, words: str):
    report = evaluate(load(code, name), exercise=name, seed=1)
    assert not report.passed
    assert report.headline.startswith(f"{name}: The cause is in {line}: "), report.headline
    assert words in report.headline
    assert "every check passes (tried)." in report.headline
    # The sentence of the rule is still there, and the line is shown.
    assert report.findings[0].message in report.headline
    rows = dict(report.rows())
    assert rows["Your line"].startswith(line.removeprefix("line ") + ": ")
    assert line in rows["Next"] or report.findings[0].rule == "fails-special-point"
    with nothing_tried():
        plain = evaluate(load(code, name), exercise=name, seed=1)
    assert plain.headline == f"{name}: {plain.findings[0].message}"
    assert [f.rule for f in plain.findings] == [f.rule for f in report.findings]


def test_what_the_sentence_claims_is_true():
    """The code with the edit passes the complete check with other numbers too."""
    name, code, *_ = SAID[0]
    mended = code.replace("> 1:", "!= 1:")
    assert mended != code
    assert all(evaluate(load(mended, name), exercise=name, seed=s).passed for s in (1, 2, 3))


def test_functions_of_the_same_cell_are_edited_too():
    code = TANH.replace(".half()", "").format(slope="1 - y * y").replace("y * y", "y.detach() * y")
    report = evaluate(load(code, "MyTanh"), seed=1)
    found = _repaired(code, "MyTanh")
    assert not report.passed
    assert found is not None
    assert (found.line, found.words) == (16, "without `.detach()`")


def test_a_visible_check_promises_the_visible_checks_only():
    name, code = "MyReLU", RELU.format(cast="", gradient="0 * (grad_output * mask)")
    report = evaluate(load(code, name), hidden=False, seed=1)
    assert "the visible checks pass (tried)" in report.headline


def test_where_the_cause_is_named_nothing_is_given_away():
    code = RELU.format(cast="", gradient="-grad_output * mask")
    report = evaluate(load(code, "MyReLU"), seed=1)
    assert report.findings[0].rule == "gradient-sign"
    assert "tried" not in report.findings[0].evidence
    assert _repaired(code, "MyReLU") is not None  # it would have been found


def test_graded_reports_try_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    name, code, *_ = SAID[0]
    assert "tried" not in str(evaluate(load(code, name), exercise=name, seed=1).to_json())


EXCHANGED = """
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = (low, high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        high, low = ctx.bounds
        inside = (x >= low) & (x <= high)
        return torch.where(inside, grad_output, 0), None, None
"""


def test_two_edits_that_do_the_same_are_both_told():
    """Kept in one order and read in another: nobody can say which of the two is meant."""
    found = _repaired(EXCHANGED, "Clip")
    assert found is not None
    assert found.other is not None
    assert {found.line, found.other.line} == {6, 12}
    report = evaluate(load(EXCHANGED, "Clip"), seed=1)
    assert f"in line {found.line} or in line {found.other.line}: " in report.headline


FALSY = """
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = (low or -float("inf"), high or float("inf"))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        inside = (x >= low) & (x <= high)
        return torch.where(inside, grad_output, 0), None, None
"""
FLAT = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x.view(-1) * x.view(-1)).view(x.shape)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
"""


def test_a_slip_made_twice_is_mended_twice():
    found = _repaired(FALSY, "Clip")
    assert found is not None
    assert found.words.endswith("(and likewise once more there)")


def test_no_more_places_are_named_than_it_takes():
    """The third view is of a tensor that is contiguous."""
    found = _repaired(FLAT, "Square")
    assert found is not None
    assert "x.view(-1)" in found.words
    assert found.words.count("likewise") == 1
    assert "view(x.shape)" not in found.words


def test_two_faults_have_no_single_cause():
    code = REVERSAL.replace("-ctx.alpha * grad_output", "ctx.alpha * grad_output.detach()")
    assert _repaired(code, "GradientReversal") is None


def test_an_edit_that_never_ends_is_ended():
    code = UNBROADCAST.format(condition="n == 1 and grad.shape[i] > 1")
    original = Original.of(load(code, "unbroadcast"))
    assert original is not None
    loop = next(n for n in ast.walk(original.tree) if isinstance(n, ast.While))
    assert COUNTED in ast.unparse(loop)
    loop.test = ast.Constant(True)
    loop.body = [loop.body[0]]
    with pytest.raises(RuntimeError, match="did not end"):
        original.built()(torch.ones(2), (2,))


@pytest.mark.parametrize("exercise", sorted({a.exercise for a in answers()}))
def test_an_edit_is_undone_and_changes_something(exercise: str):
    answer = next(a for a in answers() if a.exercise == exercise and a.right)
    original = Original.of(answer.load())
    assert original is not None
    before = ast.dump(original.tree)
    made = edits(original.tree)
    assert len(made) > 3
    changed = 0
    for edit in made:
        with edit.done():
            changed += ast.dump(original.tree) != before
        assert ast.dump(original.tree) == before
    assert changed > 0.9 * len(made)
    assert [e.rank for e in made] == sorted(e.rank for e in made)


def test_the_submission_itself_stays_as_it_is():
    code = RELU.format(cast="", gradient="0 * (grad_output * mask)")
    submission = load(code, "MyReLU")
    before = dict(vars(submission))
    space = submission.forward.__globals__
    names = set(space)
    assert "tried" in evaluate(submission, seed=1).to_json()
    assert dict(vars(submission)) == before
    assert set(space) == names
    assert space["MyReLU"] is submission


def test_without_source_nothing_is_tried():
    space = {"torch": torch, "Function": torch.autograd.Function}
    exec(RELU.format(cast="", gradient="0 * (grad_output * mask)"), space)
    report = evaluate(space["MyReLU"], seed=1)
    assert not report.passed
    assert "tried" not in report.to_json()


@pytest.mark.parametrize("words", [*SYMPTOMS, *ENDS])
def test_the_sentences_that_name_a_symptom_are_still_said(words: str):
    """Who writes a sentence anew has to think of this list."""
    folder = Path(autograder.__file__).parent
    texts = [p.read_text() for p in folder.rglob("*.py") if p.name != "general.py"]
    said = [re.sub(r'"\s*\n\s*f?"', "", text) for text in texts]  # a string over several lines
    parts = [part for part in words.strip(").").split("(") if len(part.strip()) > 3] or [words]
    assert all(any(part.strip() in text for text in said) for part in parts)


def test_a_rule_that_stops_with_an_error_is_a_finding_not_a_traceback():
    def looks_too_closely(evidence):
        """The answer is looked at."""
        raise IndexError("list index out of range")

    verdicts = judge_all([Rule("gradient-value", looks_too_closely)], None)  # type: ignore[arg-type]
    found = verdicts.findings[0]
    assert found.rule == "gradient-value"
    assert found.evidence["original"] == "IndexError: list index out of range"
    assert "the grader" in found.message
    assert not is_general(found)
    assert not verdicts.held


def _repaired(code: str, name: str) -> search.Repair | None:
    from autograder.api import find, probe
    from autograder.verdict import Asked, verdict

    submission = load(code, name)
    asked = Asked.of(find(name), 1, True)
    scenarios = {s.name: s for s in asked.exercise.scenarios}
    observation: Observation = probe(submission, asked.questions, scenarios)
    report = verdict(asked, observation, Source.of(submission))
    assert not report.passed
    return search.repaired(submission, asked, observation, report.findings[0])
