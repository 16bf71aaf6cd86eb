"""`xray(Name)` shows the run that the latest check found wrong, opened on the step that does."""

from collections import Counter

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.exercises import find
from autograder.reporting import walk_place as seen
from autograder.reporting.walk_place import place_of, place_of_finding, remember
from tests.conftest import of_today
from tests.mistakes.gallery import answers, of
from tests.widgets.functions import MySigmoid
from widgets.xray import xray
from widgets.xray_choice import _run, first_case, opening_of

EACH = 4  # answers a rule: the whole gallery takes a minute


def some_wrong_answers():
    """A few wrong answers for every rule, from as many exercises."""
    taken: Counter[tuple[str, ...]] = Counter()
    for answer in answers():
        if answer.right or find(answer.exercise).is_function or not place_of(answer.rules[0]):
            continue
        once = (answer.rules[0], answer.exercise)
        if taken[once] or taken[answer.rules[:1]] >= EACH:
            continue
        taken[once] += 1
        taken[answer.rules[:1]] += 1
        yield answer


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr("autograder.reporting.walk_place._latest", {})


@pytest.mark.parametrize("answer", of_today(list(some_wrong_answers())), ids=lambda a: a.id)
def test_where_the_report_names_a_step_xray_opens_on_it(answer, capsys):
    submission = answer.load()
    report = evaluate(submission, exercise=answer.exercise, hidden=False, seed=1)
    if report.passed:
        report = evaluate(submission, exercise=answer.exercise, seed=1)
    first = report.findings[0]
    experiments = [scenario.name for scenario in find(answer.exercise).scenarios]
    remember(report)
    view = xray(submission)
    opening = opening_of(view.walk, first.rule)
    if place_of_finding(first.rule, first.evidence, experiments):
        assert opening is not None
    assert view.step == (opening or 0)


def test_the_run_of_the_failed_check_is_the_one_that_is_shown():
    class MyReLU(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * (ctx.saved_tensors[0] >= 0)

    remember(evaluate(MyReLU, hidden=False, seed=3))
    view = xray(MyReLU)
    assert view.walk.title.startswith("One run of `MyReLU`: ")
    assert view.walk.steps[view.step].wrong
    step = view.walk.steps[view.step]
    assert step.text.startswith("MyReLU.backward returns")


def test_what_a_rule_is_about_is_opened_where_no_value_is_wrong(monkeypatch):
    class MySigmoid(Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.sigmoid(x)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            _, y = ctx.saved_tensors
            return grad_output * y * (1 - y)

    assert xray(MySigmoid).step == 0
    monkeypatch.setitem(seen._latest, "MySigmoid", seen.Failed("saves-too-much", 1, True))
    view = xray(MySigmoid)
    assert view.walk.steps[view.step].phase == "Saved for backward"


def test_a_wrong_second_derivative_is_shown_on_the_second_backward():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * x)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            x, square = ctx.saved_tensors
            return grad_output * (square + 2 * x * x)

    report = evaluate(Cube, seed=1)
    assert report.findings[0].rule == "double-backward-value"
    remember(report)
    view = xray(Cube)
    assert view.walk.title.startswith("Backward through the backward of `Cube`")
    assert view.walk.steps[view.step].phase == "Result"
    assert "Expected for `x`" in view.walk.steps[view.step].text
    assert xray(Cube, order=1).step == 0


def test_without_a_check_the_first_visible_run_that_goes_wrong_is_shown():
    class MySigmoid(Function):
        """Wrong for large inputs only."""

        @staticmethod
        def forward(ctx, x):
            y = 1 / (1 + torch.exp(-x))
            ctx.save_for_backward(x)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            e = torch.exp(-ctx.saved_tensors[0])
            return grad_output * e / (1 + e) ** 2

    view = xray(MySigmoid)
    assert "float32" in view.walk.title
    assert view.walk.steps[view.step].wrong


@pytest.mark.parametrize("name", ["DualSwish", "WeightedSum", "FixedPoint"])
def test_a_right_answer_with_several_tensors_shows_nothing_wrong(name):
    right = next(answer for answer in of(name) if answer.right)
    assert not any(step.wrong for step in xray(right.load()).walk.steps)


def test_only_what_the_shown_run_prints_is_printed(capsys):
    class MySigmoid(Function):
        @staticmethod
        def forward(ctx, x):
            print("forward of", x.dtype)
            y = torch.sigmoid(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            (y,) = ctx.saved_tensors
            return grad_output * y * (1 - y)

    xray(MySigmoid)
    assert capsys.readouterr().out == "forward of torch.float64\n"


def test_a_gradient_given_by_hand_is_used():
    x = first_case("MySigmoid").args[0]
    view = xray(MySigmoid, grad_output=torch.zeros_like(x))
    assert any("gets `grad_output` = [0, 0" in step.text for step in view.walk.steps)


def test_state_shared_by_two_calls_is_shown_with_another_call_in_between():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            Square.x = x
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * Square.x * grad_output

    remember(evaluate(Square, seed=1))
    view = xray(Square)
    assert view.walk.title == "One run of `Square`, with another call in between"
    assert view.walk.steps[view.step].text.startswith("Square.backward returns")
    calls = [step for step in view.walk.steps if step.text.startswith("Square.forward gets")]
    assert len(calls) == 2


def test_what_is_drawn_at_random_is_the_right_answer_to_itself():
    """Nothing in a right Dropout is called wrong; a missing factor is, beside the mask that was drawn."""
    right, wrong = (
        next(a for a in answers() if a.exercise == "Dropout" and a.what == what)
        for what in ("a mask of bytes, drawn by rand_like", "divides by 1 − p in forward alone")
    )
    assert "Expected" not in str(xray(right.load()))
    told = str(xray(wrong.load()))
    assert "Expected for x is" in told
    assert "Expected is" not in told


def test_xray_leaves_the_learners_random_numbers_as_they_are():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    dropout = next(a for a in answers() if a.exercise == "Dropout" and a.right)
    run = _run(
        dropout.load(), dropout.load().apply, find("Dropout"), first_case("Dropout"), 1, None
    )
    assert run.walk().steps[1].text == run.walk().steps[1].text
    assert torch.equal(torch.rand(2), expected)
