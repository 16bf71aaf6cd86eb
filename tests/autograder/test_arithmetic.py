"""The first operation that made a nan, an infinity or lost a number is named, with its numbers and line."""

import math

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.arithmetic import follow
from autograder.exercise import Case, Exercise
from autograder.probe import probe
from autograder.source import Source
from autograder.verdict import Asked, verdict
from tests.autograder.examples import HINTS, SIGMOID, Sigmoid, sigmoid_with

ROWS = Exercise(
    name="ExampleLogSumExp",
    lesson="",
    summary="log Σ exp over the last dimension.",
    signature="(x)",
    reference=lambda x: torch.logsumexp(x, -1),
    cases=(
        Case("a matrix", lambda s: (s.normal(2, 3),), visible=True),
        Case(
            "rows far apart",
            lambda s: (torch.tensor([[900.0, 901.0, 902.0], [-900.0, -901.0, -902.0]]).double(),),
            role="extreme",
        ),
    ),
    hints=HINTS,
)


def rows_with(forward):
    """A logsumexp with this forward; its backward is right."""

    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * torch.softmax(x, -1)

    def keeps(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    methods = {
        "forward": staticmethod(keeps),
        "backward": staticmethod(backward),
        "formula": forward,
    }
    return type("Rows", (Function,), methods)


def found(submission, exercise):
    report = evaluate(submission, exercise=exercise, seed=1)
    assert not report.passed
    return report.findings[0]


def overflow(x):
    return torch.log(torch.exp(x).sum(-1))


def global_maximum(x):
    top = x.max()
    return top + torch.log(torch.exp(x - top).sum(-1))


def with_eps(x):
    return torch.log(torch.exp(x - x.max()).sum(-1) + 1e-20) + x.max()


NOT_ITS_OWN = "is not the row's own maximum: exp(-900 − 902) is 0"


@pytest.mark.parametrize(
    ("forward", "words", "hint"),
    [
        (overflow, ["exp(900) is inf in line ", ": the output is inf, where"], "largest number of the row"),
        (global_maximum, [NOT_ITS_OWN, "so are all 3 numbers in that row", "log(0) is −inf"], "not of the whole"),
        (with_eps, [NOT_ITS_OWN, "0 + 1e-20 is 1e-20: the output is 855.9"], "not of the whole"),
    ],
)  # fmt: skip
def test_forward(forward, words, hint):
    finding = found(rows_with(forward), ROWS)
    assert finding.rule == "forward-unstable"
    assert all(each in finding.message for each in words), finding.message
    assert hint in finding.hint, finding.hint


LOG = Exercise(
    name="ExampleLog",
    lesson="",
    summary="log σ(x).",
    signature="(x)",
    reference=torch.nn.functional.logsigmoid,
    cases=(
        Case("a vector", lambda s: (s.uniform(5),), visible=True),
        Case("±1000", lambda s: (torch.tensor([-1000.0, 3.0]).double(),), role="extreme"),
    ),
    hints=HINTS,
)


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (lambda x: torch.log(torch.sigmoid(x)), "sigmoid(-1000) is 0 in line 108, and log(0) is −inf: "),
        (lambda x: torch.log(torch.sigmoid(x) + 1e-9), "sigmoid(-1000) is 0 in line 109, and 0 + 1e-09 is 1e-09: "),
        (lambda x: torch.log(torch.sigmoid(x).clamp(1e-9)), "sigmoid(-1000) is 0 in line 110, and clamp makes 1e-09 of 0: "),
        (lambda x: torch.log(torch.sigmoid(x.clamp(-50, 50))), "clamp makes -50 of -1000 in line 111: "),
        (lambda x: -torch.log(1 + torch.exp(-x)), "exp(1000) is inf in line 112: "),
    ],
)  # fmt: skip
def test_forward_of_one_number(forward, words):
    class Log(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * torch.sigmoid(-ctx.saved_tensors[0])

    finding = found(Log, LOG)
    assert finding.rule == "forward-unstable"
    assert finding.message.startswith(words), finding.message
    assert not any(number in finding.hint for number in ("1000", "1e-09", "50"))


def quotient(ctx, grad_output):
    (y,) = ctx.saved_tensors
    return grad_output * (y * y) * (1 - y) / y


def keeps_input(ctx, x):
    ctx.save_for_backward(x)
    return torch.sigmoid(x)


def of_input(ctx, grad_output):
    (x,) = ctx.saved_tensors
    t = torch.exp(-x)
    return grad_output * t / (1 + t) ** 2


@pytest.mark.parametrize(
    ("submission", "words"),
    [
        (sigmoid_with(quotient), "sigmoid(-1000) is 0"),
        (sigmoid_with(of_input, keeps_input), "exp(1000) is inf"),
    ],
)
def test_backward(submission, words):
    finding = found(submission, SIGMOID)
    assert finding.rule == "gradient-unstable"
    assert words in finding.message, finding.message
    assert " is nan" in finding.message, finding.message


def test_a_second_derivative_names_the_line_that_is_differentiated():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            y = x**3
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            (y,) = ctx.saved_tensors
            return 3 * grad_output * y.abs().pow(2 / 3)

    finding = found(Cube, "Cube")
    assert finding.rule == "double-backward-value"
    line = Cube.backward.__code__.co_firstlineno + 3
    assert f"0 ** (-0.3333) is inf in the derivative of line {line}" in finding.message
    assert finding.evidence["line"] == line


def test_a_detour_that_rounds():
    class Sign(Function):
        @staticmethod
        def forward(ctx, x):
            return x + (torch.sign(x) - x)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output

    finding = found(Sign, "SignSTE")
    assert finding.rule == "forward-unstable"
    assert "-1 − (-4e+07) is 4e+07: the output is 0" in finding.message


def test_an_overflow_that_only_a_second_derivative_meets():
    class Sigmoid(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output / (2 + 2 * torch.cosh(x))

    finding = found(Sigmoid, "MySigmoid")
    assert finding.rule == "double-backward-value"
    line = Sigmoid.backward.__code__.co_firstlineno + 3
    assert finding.message.startswith(f"cosh(-1000) is inf in line {line}, ")
    assert "in the derivative of line" in finding.message
    assert " is nan: " in finding.message
    assert "(case: inputs up to ±1000)" in finding.message
    assert finding.hint.startswith("cosh overflows")


def test_where_nothing_can_run_again_what_is_not_finite_is_explained_all_the_same():
    submission = rows_with(global_maximum)
    asked = Asked.of(ROWS, 1, True)
    observation = probe(submission, asked.questions, {})
    report = verdict(asked, observation, Source.of(submission))
    assert "exp(-900 − 902) is 0" in report.headline
    finite = rows_with(with_eps)
    report = verdict(asked, probe(finite, asked.questions, {}), Source.of(finite))
    assert report.findings[0].rule == "forward-unstable"
    assert "In float32 the output is" in report.headline  # without a guess at why


@pytest.mark.parametrize(
    "forged",
    [
        "nonsense",
        [{"of": "outputs", "place": 0, "index": 0, "steps": [{"op": 3}]}],
        [{"of": "outputs", "place": 0, "index": 0, "steps": [{}]}],
        [{"of": "outputs"}],
    ],
)
def test_what_is_no_such_record_is_passed_over(forged):
    submission = rows_with(overflow)
    asked = Asked.of(ROWS, 1, True)
    observation = probe(submission, asked.questions, {})
    for answer in observation.answers.values():
        if "arithmetic" in answer.data:
            answer.data["arithmetic"] = forged
    report = verdict(asked, observation, Source.of(submission))
    assert report.findings[0].rule == "forward-unstable"


def test_a_right_answer_is_not_run_again(monkeypatch):
    calls = []
    monkeypatch.setattr("autograder.probe.follow", lambda *a: calls.append(a) or [])
    assert evaluate(Sigmoid, exercise=SIGMOID, seed=1).passed
    assert evaluate(rows_with(lambda x: torch.logsumexp(x, -1)), exercise=ROWS, seed=1).passed
    assert not calls


def steps_to(compute, *tensors):
    """The steps of the first element of what ``compute`` gives."""

    def run(answer):
        answer.outputs = (compute(*tensors),)

    told = follow(run, frozenset({__file__}))
    return [(s["op"], s["operands"], s["result"]) for s in told[0]["steps"]] if told else []


def test_a_number_is_followed_through_views_writes_and_matrix_products():
    x = torch.tensor([[1.0, 800.0], [2.0, 3.0]])

    def writes(x):
        made = torch.zeros(2, 2)
        made[0] = x.t()[1].exp()
        return made.reshape(-1)[:1] * 2

    assert steps_to(writes, x) == [("exp", [800.0], math.inf)]
    zero_times_infinity = steps_to(
        lambda x: torch.tensor([[0.0, 1.0]]) @ torch.log(x), torch.tensor([[0.0], [1.0]])
    )
    assert zero_times_infinity == [
        ("log", [0.0], -math.inf), ("mm", [0.0, -math.inf], pytest.approx(math.nan, nan_ok=True)),
    ]  # fmt: skip


def test_infinities_that_were_given_are_nobodys_fault():
    x = torch.tensor([-torch.inf, 1.0])
    assert steps_to(lambda x: x - 1, x) == []
    assert steps_to(lambda x: x.masked_fill(x > 0, -torch.inf)[1:], x) == []
