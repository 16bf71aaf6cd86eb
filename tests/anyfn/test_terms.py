"""What one can say beside inputs, what comes of it, and where it is called from."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch.autograd.function import once_differentiable

from autograder import assert_backward, evaluate
from autograder.__main__ import EXIT_FAILED, EXIT_INCOMPLETE, EXIT_PASSED, EXIT_USAGE, main
from autograder.learner.commands import targets
from tests.anyfn.making import keep, normal, op
from tests.anyfn.right import Exp, Linear, Swish

ROOT = Path(__file__).parents[2]
X = normal(4)
Off = op("Off", lambda ctx, x: keep(ctx, x.exp(), x), lambda ctx, g: g * (ctx.saved_tensors[0].exp() + 4e-4))  # fmt: skip
OnCtx = op("OnCtx", lambda ctx, x: (setattr(ctx, "x", x), x * x)[1], lambda ctx, g: 2 * g * ctx.x)


def errors(report):
    return [f.rule for f in report.findings if f.severity == "error"]


def test_advice_is_shown_and_passes_unless_all_counts():
    report = evaluate(OnCtx, inputs=(X,), seed=1)
    assert (report.passed, report.outcome, errors(report)) == (True, "passed", [])
    assert [f.severity for f in report.findings] == ["advice"]
    assert "Advice:" in str(report)
    strict = evaluate(OnCtx, inputs=(X,), seed=1, strict=True)
    assert errors(strict) == ["saves-on-ctx"]
    assert evaluate(OnCtx, inputs=(X,), seed=1, strict=True, ignore=["saves-on-ctx"]).passed


def test_a_buffer_may_be_written_to_and_an_input_may_not():
    def centred(ctx, x, running):
        running.mul_(0.9).add_(0.1 * x.mean(0))
        return x - x.mean(0)

    made = op("Centred", centred, lambda ctx, g: (g - g.mean(0), None))
    x, running = normal(4, 3), normal(3, seed=1)
    buffer = evaluate(made, inputs=(x.clone().requires_grad_(True), running), seed=1)
    assert (errors(buffer), [f.rule for f in buffer.remarks]) == ([], ["mutates-input"])
    assert errors(evaluate(made, inputs=(x, running), seed=1)) == ["mutates-input"]


def test_other_arguments_stay_as_they_were_given():
    """Only for a unit vector v is I - 2vv' its own inverse, and backward right."""

    def reflect(ctx, x, v):
        ctx.save_for_backward(v)
        return x / (v @ v) - 2 * v * (v @ x)

    made = op("Reflect", reflect, lambda ctx, g: (g - 2 * ctx.saved_tensors[0] * (g @ ctx.saved_tensors[0]), None))  # fmt: skip
    v = normal(3, seed=1)
    assert evaluate(made, inputs=(normal(3).requires_grad_(True), v / v.norm()), seed=1).passed


@pytest.mark.parametrize("step", [0.25, 1 / 16])
def test_a_quantiser_whose_steps_a_short_float_has_is_a_quantiser(step):
    quantise = op("Quantise", lambda ctx, x: torch.round(x / step) * step, lambda ctx, g: g)
    report = evaluate(quantise, inputs=(normal(3, 4),), seed=1)
    assert (report.passed, [f.rule for f in report.remarks]) == (True, ["surrogate"])


def test_what_is_so_in_every_layout_is_no_fault_of_one():
    spike = op("Spike", lambda ctx, x: (x > 0).float(), lambda ctx, g: g)
    report = evaluate(spike, inputs=(normal(3, 4),), seed=1)
    assert report.passed, str(report)


def test_a_second_derivative_is_asked_for_as_one_says():
    assert evaluate(Swish, inputs=(X,)).passed
    assert errors(evaluate(Swish, inputs=(X,), second_order=True)) == ["double-backward-missing"]
    assert evaluate(Swish, inputs=(X,), second_order=False).findings == []


@pytest.mark.parametrize("terms", [{"atol": 1e-3}, {"rtol": 1e-2}, {"nondet_tol": 1e-3}])
def test_tolerances_allow_more(terms):
    assert errors(evaluate(Off, inputs=(X,), seed=1, second_order=False))
    assert evaluate(Off, inputs=(X,), seed=1, second_order=False, **terms).passed


def test_the_step_and_the_dtypes_are_taken():
    assert evaluate(Exp, inputs=(X,), eps=1e-5).passed
    fixed = op("Fixed", lambda ctx, x: x * torch.ones(4, dtype=torch.float64), lambda ctx, g: g)
    assert errors(evaluate(fixed, inputs=(X,), strict=True)) == ["fails-device"]  # on meta
    found = evaluate(fixed, inputs=(X,), dtypes=(torch.float32,), ignore=["fails-device"])
    assert errors(found) == ["fails-float32"]


def test_who_requires_grad_is_differentiated():
    half = op(
        "Half", lambda ctx, a, b: keep(ctx, a * b, a, b), lambda ctx, g: (g * ctx.saved_tensors[1], None)
    )  # fmt: skip
    a, b = normal(3), normal(3, seed=1)
    assert errors(evaluate(half, inputs=(a, b))) == ["gradient-missing"]
    assert evaluate(half, inputs=(a.requires_grad_(), b)).passed


def test_no_time_is_no_pass():
    def slow(ctx, x):
        time.sleep(0.05)
        return x.clone()

    report = evaluate(op("Slow", slow, lambda ctx, g: g), inputs=(normal(30),), seconds=0.5)
    assert (report.outcome, report.passed) == ("incomplete", False)
    assert report.unasked
    assert "time ran out" in str(report)


def endless(*_):
    while True:
        with contextlib.suppress(Exception):  # whatever is caught there, the end comes
            sum(range(100))


@pytest.mark.parametrize("call", ["forward", "backward"])
def test_one_call_without_end_is_interrupted_and_said(call):
    double = {"forward": lambda ctx, x: 2 * x, "backward": lambda ctx, g: 2 * g} | {call: endless}
    before = signal.getsignal(signal.SIGALRM)
    report = evaluate(op("Endless", **double), inputs=(X,), seconds=0.5)
    assert report.outcome == "incomplete", str(report)
    assert report.undecided[0].startswith(f"{call} was interrupted after "), str(report)
    assert "test_terms.py" in report.undecided[0]
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]) == (
        before,
        0,
    )


def test_what_makes_no_sense_is_said():
    for terms in ({"ignore": ["gradient"]}, {"device": "cuda:77"}):
        with pytest.raises(ValueError, match=r"no rule|no device"):
            evaluate(Exp, inputs=(X,), **terms)


@pytest.mark.parametrize("term", ["eps", "atol", "rtol", "nondet_tol", "seconds"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1e-6"])
def test_a_number_that_makes_no_sense_is_named(term, value):
    with pytest.raises(ValueError, match=f"{term} has to be a number, 0 or more: it is"):
        evaluate(Exp, inputs=(X,), **{term: value})


def test_nothing_is_moved_by_no_step():
    with pytest.raises(ValueError, match="more than 0"):
        evaluate(Exp, inputs=(X,), eps=0.0)


def test_an_assertion_carries_the_report():
    assert_backward(Exp, (X,), reference=torch.exp)
    with pytest.raises(AssertionError, match="✗ Off: "):
        assert_backward(Off, (X,), reference=torch.exp)


@pytest.mark.parametrize("inputs", [(X, torch.ones(2)), (X, None), (X.int(), X), ({"a": X},)])
def test_whatever_it_is_given_there_is_a_report(inputs):
    for submission in (
        Exp,
        Linear,
        lambda x: x.exp(),
        lambda *a: None,
        lambda *a: 1 / 0,
        torch.nn.ReLU(),
    ):
        assert evaluate(submission, inputs=inputs, seconds=None).outcome in ("passed", "failed")


# ---- from a command and from pytest ------------------------------------------------------------

FILE = """
import torch

class Good(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.x

class Bad(Good):
    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.x

inputs = {"Good": (torch.arange(3.0),), "Bad": (torch.arange(4.0),)}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "other.py").write_text("import torch\n\ndef some():\n    return (torch.ones(2),)\n")
    path = tmp_path / "ops.py"
    path.write_text(FILE)
    return path


def test_every_function_with_inputs_is_checked_in_each_format(file, capsys):
    def printed(form):
        assert main(["check", str(file), "--format", form, "--seed", "1"]) == EXIT_FAILED
        return capsys.readouterr().out

    assert [json.loads(line)["outcome"] for line in printed("json").splitlines()] == [
        "passed",
        "failed",
    ]
    good, bad = printed("github").splitlines()
    assert good.startswith(f"::warning file={file},line=7,title=Good%3A saves-on-ctx::")
    assert bad.startswith(f"::error file={file},line=17,title=Bad%3A gradient-scale::")
    suite = ElementTree.fromstring(printed("junit").partition("\n")[2])
    assert [(c.get("name"), c.find("failure") is not None) for c in suite] == [
        ("Good", False),
        ("Bad", True),
    ]
    assert "✓ Good" in printed("text")


def test_inputs_from_another_file_and_the_exit_status(file, capsys):
    asked = ["check", str(file), "--function", "Good", "--inputs", "other.py:some"]
    assert main(asked) == EXIT_PASSED
    assert main([*asked, "--strict"]) == EXIT_FAILED
    assert main([*asked, "--strict", "--ignore", "saves-on-ctx"]) == EXIT_PASSED
    assert main([*asked, "--seconds", "0"]) == EXIT_INCOMPLETE
    assert main([*asked, "--atol", "-1"]) == EXIT_USAGE
    assert "atol has to be a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("beside", "checked"),
    [
        ("inputs = (torch.arange(3.0),)", ["Good", "Bad"]),
        ("inputs = {'Bad': (torch.arange(3.0),)}", ["Bad"]),
        ("inputs = {'Bad': (torch.arange(3.0),)}\nclass Own(Good): pass", ["Bad"]),
        ("inputs = (torch.arange(3.0),)\nclass Own(Good): pass", ["Own"]),
    ],
)
def test_functions_may_stand_in_another_file_than_their_inputs(file, beside, checked):
    other = file.with_name("checked.py")
    other.write_text(f"import torch\nfrom torch.autograd import Function\nfrom ops import Good, Bad\n{beside}\n")  # fmt: skip
    assert [target.name for target in targets(other)] == checked
    assert [target.name for target in targets(other, "Bad")] == ["Bad"]


def test_pytest_collects_them_where_it_is_asked_to(file):
    def pytest_says(*given):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
        done = subprocess.run(
            [*command, *given], cwd=file.parent, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
        return done.stdout

    file.with_name("test_ordinary.py").write_text("def test_nothing(): pass\n")
    assert "no tests ran" in pytest_says("ops.py")
    said = pytest_says("--backward", "ops.py", "test_ordinary.py")
    assert "1 failed, 2 passed" in said
    assert "✗ Bad: The gradient for x goes wrong in line" in said
    stopping = {"test_stops.py": "from .ops import Bad", "test_ends.py": "raise SystemExit(3)"}
    for name, stops in stopping.items():
        body = f"if __name__ == '<run_path>':\n    {stops}\ninputs = (1.0,)\ndef test_nothing(): pass\n"
        file.with_name(name).write_text(body)
    said = pytest_says("--backward", "ops.py", "test_ordinary.py", *stopping)
    assert "1 failed, 4 passed, 2 warnings" in said
    for name in stopping:
        assert f"{name} stops in line 2 with" in said
    said = pytest_says("--backward")
    assert "3 passed" in said
    assert "--backward checks nothing here" in said
    assert "other.py has no Function with inputs" in pytest_says("--backward", "other.py")


def test_torch_is_imported_only_then():
    code = "import sys, pytest_backward; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_custom_op_that_writes_unsaid_is_said_to_do_so_in_forward():
    @torch.library.custom_op("tests::clipped", mutates_args=())
    def clipped(x: torch.Tensor) -> torch.Tensor:
        x.clamp_(-1, 1)
        return x.clone()

    clipped.register_fake(torch.empty_like)
    clipped.register_autograd(lambda ctx, g: g)
    found = evaluate(clipped, inputs=(3 * normal(4),), seed=1).findings[0]
    assert (found.rule, found.cause) == ("mutates-input", "writes/input")


@pytest.mark.parametrize(
    ("returns", "cause"),
    [
        (lambda g: g, "returns/wrong"),
        (lambda g: [g, None], "returns/list"),
        (lambda g: None, "returns/nothing"),
        (lambda g: (g, g), "returns/for-value"),
    ],
)
def test_what_backward_of_a_custom_op_returns_is_counted(returns, cause):
    """Whether torch refuses it in its engine, or (since 2.14) before."""

    @torch.library.custom_op("tests::counted", mutates_args=())
    def counted(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    counted.register_fake(lambda x, factor: torch.empty_like(x))
    counted.register_autograd(lambda ctx, g: returns(g))
    found = evaluate(counted, reference=torch.mul, inputs=(normal(4), 1.0), seed=1).findings[0]
    assert found.cause == cause


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_large_tensor_is_judged_in_a_bounded_number_of_calls(factor):
    """Each costs some 10 ms for 10⁶ elements."""
    calls = []

    def forward(ctx, x):
        calls.append(1)
        return keep(ctx, x.exp(), x)

    def reference(x):
        calls.append(1)
        return torch.exp(x)

    made = op("Large", forward, lambda ctx, g: g * factor * ctx.saved_tensors[0].exp() ** factor)
    report = evaluate(made, inputs=(normal(200, 250),), reference=reference, seed=1, seconds=None)
    assert report.passed == (factor == 1.0)
    assert len(calls) <= 140, len(calls)


def test_what_is_measured_neither_ends_the_program_nor_needs_elements():
    ends = op("Ends", lambda ctx, x: sys.exit(3), lambda ctx, g: g)
    ends_later = op("EndsLater", lambda ctx, x: 2 * x, lambda ctx, g: sys.exit(3))
    for made in (ends, ends_later):
        assert evaluate(made, inputs=(X,), seed=1).findings[0].cause == "stops/exit"
    assert evaluate(Exp, inputs=(torch.zeros(0, 3),), seed=1).passed
    for nothing in (torch.zeros(3, device="meta"), torch.eye(3, dtype=torch.int64).to_sparse()):
        with pytest.raises(ValueError, match="floating-point tensor"):
            evaluate(Exp, inputs=(nothing,))


@pytest.mark.parametrize("factor", [1, 2])
def test_a_generator_draws_the_same_in_each_question(factor):
    def forward(ctx, x, generator):
        mask = torch.rand(x.shape, generator=generator).to(x.dtype)
        return keep(ctx, x * mask, mask)

    made = op("Drop", forward, lambda ctx, g: (factor * g * ctx.saved_tensors[0], None))
    report = evaluate(
        made, inputs=(X, torch.Generator().manual_seed(1)), seed=1, ignore=["fails-device"]
    )
    assert report.passed == (factor == 1), str(report)


def test_devices_may_be_several():
    assert evaluate(Exp, inputs=(X,), device=("cpu", "cpu"), seed=1).devices == ("cpu",)
    with pytest.raises(ValueError, match="cuda:77"):
        evaluate(Exp, inputs=(X,), device=["cpu", "cuda:77"])


# ---- what ends a program ---------------------------------------------------------------------------


class Ends(BaseException):
    """What no except clause names."""


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit, Ends])
@pytest.mark.parametrize("call", [1, 5, 9])
@pytest.mark.parametrize("where", ["forward", "backward"])
def test_whatever_a_function_raises_and_whenever_it_is_a_report(kind, call, where):
    calls = iter(range(1, 1000))

    def raises(now, value):
        if now == where and next(calls) >= call:
            raise kind
        return value

    made = op(
        "Raises",
        lambda ctx, x: keep(ctx, raises("forward", x * x), x),
        lambda ctx, g: raises("backward", 2 * g * ctx.saved_tensors[0]),
    )
    report = evaluate(made, inputs=(normal(3),), seed=1, seconds=None)
    assert report.outcome == "failed", str(report)
    assert report.findings[0].cause != "stopped/interrupted"


def test_a_person_can_interrupt_while_slopes_are_measured():
    calls = iter(range(1000))

    def forward(ctx, x):
        if next(calls) == 50:  # long after the first question
            signal.raise_signal(signal.SIGINT)
        return keep(ctx, x * x, x)

    made = op("Slow", forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    with pytest.raises(KeyboardInterrupt):
        evaluate(made, inputs=(normal(16),), seed=1, seconds=None)


def test_sets_may_have_lists_of_other_lengths():
    Total = op("Total", lambda ctx, x, more: x * 2 + sum(more), lambda ctx, g: (g * 2, None))
    sets = [(X.clone().requires_grad_(), [X, X]), (X.clone().requires_grad_(), [])]
    assert evaluate(Total, inputs=sets, seed=1).passed
    Wrong = op("Wrong", lambda ctx, x, more: x * (2 + len(more)), lambda ctx, g: (g * 2, None))
    assert errors(evaluate(Wrong, inputs=sets, seed=1)) == ["gradient-scale"]


def test_parameters_of_a_module_among_the_arguments_are_told_where_nothing_reaches_them():
    def backward(ctx, g):
        return g @ ctx.module.weight, None

    def forward(ctx, x, module):
        ctx.module = module
        return module(x)

    Projected, layer = op("Projected", forward, backward), torch.nn.Linear(4, 2)
    told = evaluate(Projected, inputs=(normal(3, 4), layer), seed=1)
    assert [(f.rule, f.severity) for f in told.findings] == [
        ("parameters-without-gradient", "advice")
    ]
    frozen = layer.requires_grad_(False)
    assert not evaluate(Projected, inputs=(normal(3, 4), frozen), seed=1).findings


def test_what_a_file_prints_is_no_part_of_what_machines_read(tmp_path, capsys):
    file = tmp_path / "noisy.py"
    file.write_text(
        "import torch\nprint('imported')\nclass Noisy(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        print('forward')\n        return x * 2\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
        "inputs = (torch.ones(3),)\n"
    )
    assert main(["check", str(file), "--format", "json"]) == EXIT_PASSED
    assert json.loads(capsys.readouterr().out)["passed"]


def test_a_reference_that_is_differentiable_once_has_no_second_derivative():
    def cube(name, wrapper):
        backward = wrapper(lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2)
        return op(name, lambda ctx, x: keep(ctx, x**3, x), backward)

    reference = cube("Reference", once_differentiable)
    for seed in range(3):
        report = evaluate(cube("Cube", lambda f: f), inputs=(normal(3),), reference=reference.apply, seed=seed)  # fmt: skip
        assert report.passed, str(report)


@pytest.mark.parametrize("slope", [1.0, 1.01])
def test_what_a_reference_rounds_is_no_mistake(slope):
    """In float32 1000 x has few digits, and sin(1000 x) fewer."""
    sine = op(
        "Sine", lambda ctx, x: keep(ctx, (1000 * x).sin(), x),
        lambda ctx, g: slope * g * 1000 * (1000 * ctx.saved_tensors[0]).cos(),
    )  # fmt: skip
    report = evaluate(sine, inputs=(normal(3),), reference=lambda x: (1000 * x).sin(), seed=1)
    assert report.passed == (slope == 1.0), str(report)


@pytest.mark.parametrize("kinks", [3000, 4999])
def test_a_few_of_many_elements_say_nothing_of_the_others(kinks):
    x = torch.ones(5000)
    x[:kinks] = 0.0
    size = op("Size", lambda ctx, x: keep(ctx, x.abs(), x), lambda ctx, g: g * ctx.saved_tensors[0].sign())  # fmt: skip
    report = evaluate(size, inputs=(x,), seed=1)
    assert report.outcome == ("incomplete" if kinks == 4999 else "passed"), str(report)
