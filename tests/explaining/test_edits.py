"""Where a finding is a symptom, single edits of the learner's own code are tried: what mends all is the cause."""

import ast
from dataclasses import replace

import pytest
import torch

from autograder import evaluate
from autograder.exercises import find
from autograder.explaining.edits import edit_trials, search, with_cause
from autograder.explaining.edits.edit_kinds import edits
from autograder.explaining.edits.rebuilt import Original
from autograder.explaining.edits.tree_edits import COUNTED
from autograder.judging.finding import Finding
from autograder.learner.progress import FAILED_BEFORE_MORE, record_check, record_hint, stage
from autograder.learner.progress_file import Progress
from autograder.observation.observation import Observation
from autograder.observation.source import Source
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, verdict
from autograder.reporting.wording import edit_tried, worded
from autograder.running.probe import probe
from tests.mistakes.gallery import answers, load

UNBROADCAST = """
def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and grad.shape[i] > 1:
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
TANH = """
class MyTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return slope(y) * grad_output


def slope(y):
    return 1 - y.detach() * y
"""
CLIP_GRADIENT = """
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
        return {forward}

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return {gradient}
"""
LINEAR = """
class MyLinear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.with_bias = bias is not None
        y = x @ weight.mT
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows = grad_output.reshape(-1, grad_output.shape[-1])
        grad_x = {x} if ctx.needs_input_grad[0] else None
        grad_weight = rows.mT @ x.reshape(-1, x.shape[-1]) if ctx.needs_input_grad[1] else None
        grad_bias = {bias} if ctx.with_bias and ctx.needs_input_grad[2] else None
        return grad_x, grad_weight, grad_bias
"""
CLIP = """
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = {kept}
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        {read} = ctx.bounds
        inside = (x >= low) & (x <= high)
        return torch.where(inside, grad_output, 0), None, None
"""
FALSY = CLIP.format(kept='(low or -float("inf"), high or float("inf"))', read="low, high")
EXCHANGED = CLIP.format(kept="(low, high)", read="high, low")
RIGHT = {"forward": "x * x", "gradient": "2 * x * grad_output"}
MENDED = [
    ("unbroadcast", UNBROADCAST, 6, "grad.shape[i] != 1`"),
    ("GradientReversal", REVERSAL, 5, "with `1.0 if alpha is None else alpha` in place of `alpha or 1.0`"),
    ("GradientReversal", REVERSAL.replace("alpha=None", "alpha"), 5, "with `alpha` in place of"),
    ("ClipGradient", CLIP_GRADIENT, 10, "without `if grad_output.abs().max() <= ctx.limit:`"),
    ("MyTanh", TANH, 16, "without `.detach()`"),
    ("Clip", FALSY, 6, "(and likewise once more there)"),
    ("MyLinear", LINEAR.format(bias="rows.mean(0)", x="grad_output @ weight"), 16, "`rows.sum(0)`"),
    ("MyLinear", LINEAR.format(bias="rows", x="grad_output @ weight"), 16, "rows.sum(0)"),
    ("MyLinear", LINEAR.format(bias="rows.sum(0)", x="grad_output @ weight.mT"), 14, "without `.mT`"),
    ("Square", SQUARE.format(**{**RIGHT, "gradient": "x * grad_output"}), 11, "2 * (x * grad_output)"),
    ("Square", SQUARE.format(**{**RIGHT, "gradient": "2 * x"}), 11, "2 * x * grad_output"),
]  # fmt: skip


def asked_of(name: str, code: str) -> tuple[Finding, Asked, Observation, object]:
    """The first finding, as a symptom."""
    submission, asked = load(code, name), Asked.of(find(name), 1, True)
    scenarios = {s.name: s for s in asked.exercise.scenarios}
    observation = probe(submission, asked.questions, scenarios)
    report = verdict(asked, observation, Source.of(submission))
    return replace(report.findings[0], symptom=True), asked, observation, submission


def placed(name: str, code: str) -> Finding:
    finding, asked, observation, submission = asked_of(name, code)
    return with_cause([finding], submission, asked, observation)[0]


@pytest.mark.parametrize(("name", "code", "line", "words"), MENDED, ids=[m[-1] for m in MENDED])
def test_the_edit_that_mends_everything_is_found(name: str, code: str, line: int, words: str):
    finding = placed(name, code)
    edit = finding.evidence["edit"]
    assert (edit["line"], edit["source"]) == (line, code.splitlines()[line - 1].strip())
    assert words in edit["words"]
    assert finding.cause.startswith("edit/")
    assert not finding.symptom
    assert (finding.facts["line"], finding.evidence["line"]) == (line, line)
    said = worded(finding).message
    assert f"`{edit['code']}`" in said
    assert edit["words"] not in said
    assert len(said.split()) <= 25
    assert words.lower() in edit_tried(finding).lower()


def test_what_names_a_cause_already_is_left_as_it_is():
    finding, asked, observation, submission = asked_of("unbroadcast", UNBROADCAST)
    named = replace(finding, symptom=False)
    assert with_cause([named], submission, asked, observation) == [named]
    with search.nothing_tried():
        assert with_cause([finding], submission, asked, observation) == [finding]


def test_two_places_that_do_the_same_are_both_told():
    """Kept in one order and read in another: nobody can say which of the two is meant."""
    finding = placed("Clip", EXCHANGED)
    assert {finding.facts["line"], finding.facts["other_line"]} == {6, 12}
    assert "line 6" in (said := worded(finding).message)
    assert "line 12" in said
    assert "and so it does" in edit_tried(finding)


def test_no_more_places_are_named_than_it_takes():
    """The third view is of a tensor that is contiguous."""
    code = SQUARE.format(**{**RIGHT, "forward": "(x.view(-1) * x.view(-1)).view(x.shape)"})
    words = placed("Square", code).evidence["edit"]["words"]
    assert words.count("likewise") == 1
    assert "view(x.shape)" not in words


def test_a_refusal_left_out_is_not_called_the_cause():
    refuses = "    @staticmethod\n    def forward(ctx, x):\n        if x.dim() == 1:\n            raise ValueError\n"
    code = SQUARE.format(**RIGHT).replace(
        "    @staticmethod\n    def forward(ctx, x):\n", refuses, 1
    )
    finding = placed("Square", code)
    assert not finding.cause.startswith("edit/") or finding.evidence["edit"]["line"] == 5


def test_two_faults_have_no_single_cause():
    code = REVERSAL.replace("-ctx.alpha * grad_output", "ctx.alpha * grad_output.detach()")
    assert "edit" not in placed("GradientReversal", code).evidence


def test_an_edit_that_never_ends_is_ended_by_a_count():
    original = Original.of(load(UNBROADCAST, "unbroadcast"))
    assert original is not None
    loop = next(n for n in ast.walk(original.tree) if isinstance(n, ast.While))
    assert COUNTED in ast.unparse(loop)
    loop.test = ast.copy_location(ast.Constant(True), loop.test)
    loop.body = [loop.body[0]]
    with pytest.raises(RuntimeError, match="did not end"):
        original.built()(torch.ones(2), (2,))


def test_what_is_tried_is_bounded_by_counts(monkeypatch: pytest.MonkeyPatch):
    """With fewer trials less is found, and the same each time."""
    monkeypatch.setattr(edit_trials, "MOST_COMPLETE", 0)
    monkeypatch.setattr(edit_trials.Trials, "spent", property(lambda self: self.tried <= 395))
    assert "edit" not in placed("Clip", FALSY).evidence


def test_whoever_interrupts_the_search_ends_it(monkeypatch: pytest.MonkeyPatch):
    finding, asked, observation, submission = asked_of("unbroadcast", UNBROADCAST)
    seen = Observation(observation.answers, {**observation.facts, "interrupted": True})
    monkeypatch.setattr(edit_trials, "probe", lambda *given: seen)
    with pytest.raises(KeyboardInterrupt):
        with_cause([finding], submission, asked, observation)


@pytest.mark.parametrize("exercise", sorted({a.exercise for a in answers()}))
def test_an_edit_is_undone_and_changes_something(exercise: str):
    answer = next(a for a in answers() if a.exercise == exercise and a.right)
    original = Original.of(answer.load())
    assert original is not None
    before = ast.dump(original.tree, include_attributes=True)
    made = edits(original.tree)
    assert len(made) > 3
    changed = 0
    for edit in made[:300]:
        with edit.done():
            changed += ast.dump(original.tree, include_attributes=True) != before
        assert ast.dump(original.tree, include_attributes=True) == before
    assert changed > 0.9 * len(made[:300])
    assert [e.rank for e in made] == sorted(e.rank for e in made)


def test_the_submission_itself_stays_as_it_is():
    finding, asked, observation, submission = asked_of("MyTanh", TANH)
    before, space = dict(vars(submission)), submission.forward.__globals__  # type: ignore[attr-defined]
    names = set(space)
    assert "edit" in with_cause([finding], submission, asked, observation)[0].evidence
    assert dict(vars(submission)) == before
    assert set(space) == names
    assert space["MyTanh"] is submission


def test_without_source_nothing_is_tried():
    space = {"torch": torch, "Function": torch.autograd.Function}
    exec(SQUARE.format(**{**RIGHT, "gradient": "x * grad_output"}), space)
    report = evaluate(space["Square"], seed=1)
    assert not report.passed
    assert "edit" not in report.findings[0].evidence


def test_the_edit_itself_is_told_in_the_second_stage_alone():
    finding = worded(placed("unbroadcast", UNBROADCAST))
    report = Asked.of(find("unbroadcast"), 1, True).report()
    report.findings = [finding]
    assert "in place of" not in str(report)
    report.stage = 2
    assert "Tried" in [row.label for row in report.rows()]
    report.graded = True
    assert "in place of" not in str(report)


def test_more_is_told_after_failing_checks_or_the_last_hint(monkeypatch, tmp_path):
    monkeypatch.setenv("BACKWARD_BY_HAND_HOME", str(tmp_path))
    seen = []
    for _ in range(FAILED_BEFORE_MORE):
        record_check(Report("Square", False))
        seen.append(stage("Square"))
    assert seen == [1, 1, 2]
    record_check(Report("Square", True))
    assert stage("Square") == 1
    record_hint("Clip", len(find("Clip").hints))
    assert stage("Clip") == 2
    assert stage("nobody's exercise") == 1


def test_a_progress_file_from_before_is_read():
    old = {"visible": True, "hidden": False, "attempts": 4, "hints": 1}
    data = {"version": 1, "devices": ["cpu"], "exercises": {"Square": old}, "quizzes": {}}
    assert Progress.from_json(data).exercise("Square").failed == 0
