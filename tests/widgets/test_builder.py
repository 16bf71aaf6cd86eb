"""function_builder runs the Function at each x; a wrong gradient is told and seen in the tangent."""

import math

import pytest
import torch
from torch.autograd import Function

from tests.widgets.functions import MySigmoid, Stub
from widgets.builder import PLACES, function_builder, run_at
from widgets.builder_functions import FUNCTIONS
from widgets.explorer import filled

X_IS_ONE = 50


def at(view, position=X_IS_ONE, chosen=0):
    sweep = view.exploration.sweeps[chosen]
    return sweep, sweep.frames[position]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_courses_functions_have_right_first_and_second_derivatives(name):
    x = torch.tensor([-1.7, -0.3, 0.4, 2.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(FUNCTIONS[name].apply, x)
    assert torch.autograd.gradgradcheck(FUNCTIONS[name].apply, x)


def test_the_default_offers_them_all_and_none_is_called_wrong():
    view = function_builder()
    assert [s.name for s in view.exploration.sweeps] == list(FUNCTIONS)
    assert "✗" not in str(view)
    assert not any("✗" in frame.words[3] for s in view.exploration.sweeps for frame in s.frames)


def test_a_frame_has_value_saved_gradient_and_tangent():
    sweep, frame = at(function_builder("Square"), PLACES.tolist().index(1.5))
    assert sweep.said(PLACES.tolist().index(1.5)) == (
        "Square, x = 1.5: forward gives 2.25. For an upstream gradient of 1, backward returns 3. "
        "✓ That is the slope of the curve."
    )
    assert [filled(row[1], frame.words) for row in sweep.rows] == ["2.25", "1.5", "3", "3"]
    [(_, x0, y0, x1, y1)] = frame.lines
    assert (y1 - y0) / (x1 - x0) == pytest.approx(3)
    assert "def backward(ctx, grad_output):" in sweep.code


def test_a_doubled_gradient_is_told_and_its_tangent_cuts_the_curve():
    sweep, frame = at(function_builder(MySigmoid))
    assert "✗ The curve rises by 0.1966 for each unit of x" in sweep.said(X_IS_ONE)
    [(_, x0, y0, x1, y1)] = frame.lines
    assert (y1 - y0) / (x1 - x0) == pytest.approx(2 * 0.19661, abs=1e-3)


def test_there_is_no_right_slope_at_a_kink():
    assert run_at(torch.relu, 0.0).slope is None
    assert not run_at(torch.relu, 0.0).wrong
    assert run_at(torch.relu, 1.0).slope == pytest.approx(1)


def test_a_gradient_of_zero_where_the_curve_rises_is_wrong():
    run = run_at(lambda x: x.detach() * 2 + 0 * x, 1.0)
    assert (run.gradient, run.wrong) == (0.0, True)
    cut = run_at(lambda x: (x * 2).detach(), 1.0)
    assert (cut.gradient, cut.wrong) == (None, True)


def test_an_unwritten_function_shows_that_and_does_not_fail():
    view = function_builder(Stub, "Cube")
    assert "Stub, x = 1" in view.exploration.sweeps[0].said(X_IS_ONE)
    assert (
        "x = 1: it is not written yet (NotImplementedError). Run this cell again when it is."
        in str(view)
    )
    assert view.stand_in()["image/png"]


def test_more_than_one_number_is_explained():
    view = function_builder(lambda x: x.expand(3))
    assert "a curve needs one number" in view.exploration.sweeps[0].said(X_IS_ONE)


def test_what_is_not_finite_is_left_out_of_the_curve():
    view = function_builder(torch.log)
    [curve] = view.exploration.sweeps[0].panels[0].curves
    assert all(x > 0 and math.isfinite(y) for piece in curve.pieces for x, y in piece)
    assert "not its derivative" not in str(view)
    assert "nan" in str(view)


def test_names_that_are_none_are_refused():
    with pytest.raises(ValueError, match="There are Square, Cube"):
        function_builder("Cubed")


def test_the_code_of_a_class_in_a_notebook_is_found():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell(
        "from torch.autograd import Function\n"
        "class Mine(Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return 2 * x\n\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad_output):\n"
        "        return 2 * grad_output\n\n"
        "unrelated = 1\n"
    )
    code = function_builder(shell.user_ns["Mine"]).exploration.sweeps[0].code
    assert code.startswith("class Mine(Function):")
    assert code.endswith("return 2 * grad_output")


def test_code_that_python_does_not_have_is_left_out():
    assert function_builder(torch.sigmoid).exploration.sweeps[0].code == ""


def test_every_curve_and_mark_is_inside_of_its_diagram():
    class Hundred(Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 100

    for sweep in function_builder(Hundred, "Exponential", "Cube").exploration.sweeps:
        for index, panel in enumerate(sweep.panels):
            marks = [mark[2:] for frame in sweep.frames for mark in frame.marks if mark[0] == index]
            points = [point for curve in panel.curves for piece in curve.pieces for point in piece]
            for x, y in (*marks, *points):
                assert panel.x[0] <= x <= panel.x[1]
                assert panel.y[0] <= y <= panel.y[1]
