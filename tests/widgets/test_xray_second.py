"""xray through the backward of a backward: both passes, what comes back, and where it ends."""

import pytest
import torch
from torch.autograd import Function

from tests.widgets.functions import Square
from widgets.steps import CUT
from widgets.xray import xray
from widgets.xray_choice import runs_of


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


class SwishTwice(Function):
    """As released: right in the first derivative, wrong in the second."""

    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, beta, s = ctx.saved_tensors
        by_x = grad_output * (s + beta * x * s * (1 - s))
        return by_x, (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


def steps_of(view, phase):
    return [step for step in view.walk.steps if step.phase == phase]


def boxes(view, kind):
    return {part.label for part in view.walk.parts if part.kind == kind}


def test_both_passes_are_walked_and_the_result_is_by_inputs_and_upstream():
    view = xray(Square, torch.tensor([3.0]), order=2)
    phases = [step.phase for step in view.walk.steps]
    assert phases.index("Recorded") < phases.index("Second backward")
    assert view.walk.steps[-1].text == (
        "Derivatives of the gradients: [2] by `x`, [6] by `grad_output`."
    )
    assert boxes(view, "end") == {"output", "gradient of x"}
    assert not boxes(view, CUT)


def test_a_saved_output_leads_to_the_same_backward_again():
    view = xray(Exp, torch.tensor([0.0]), order=2)
    again = [s.text for s in steps_of(view, "Second backward") if "Exp.backward" in s.text]
    assert again == [
        "Exp.backward is called again and gets `grad_output` = [1].",
        "Exp.backward returns [1] for `x`.",
    ]
    [table] = steps_of(view, "Recorded")[0].tables
    assert table.rows == (("saved[0]", "the output", "as this output", "calls Exp.backward again"),)


def test_an_intermediate_is_where_the_walk_back_ends():
    view = xray(SwishTwice, order=2)
    opened = view.walk.steps[view.step]
    assert (opened.phase, opened.wrong) == ("Result", True)
    assert "Expected for `x` is [" in opened.text
    why = view.walk.steps[view.step + 1]
    assert why.phase == "Where it ends"
    assert why.text.startswith("Here the walk back ends: `saved[2]` has no history")
    assert boxes(view, CUT) == {"✕ saved[2]"}
    [table] = steps_of(view, "Recorded")[0].tables
    assert [row[3] for row in table.rows] == ["goes on to x", "goes on to beta", "stops here ✕"]
    lines_of_it = [edge for edge in view.walk.edges if edge[0] == why.box]
    assert len(lines_of_it) >= 2


def test_the_repaired_class_has_nothing_wrong_and_no_cut():
    class Repaired(SwishTwice):
        @staticmethod
        def forward(ctx, x, beta):
            ctx.save_for_backward(x, beta)
            return x * torch.sigmoid(beta * x)

        @staticmethod
        def backward(ctx, grad_output):
            x, beta = ctx.saved_tensors
            s = torch.sigmoid(beta * x)
            by_x = grad_output * (s + beta * x * s * (1 - s))
            return by_x, (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)

    Repaired.__name__ = "SwishTwice"
    view = xray(Repaired, order=2)
    assert not any(step.wrong for step in view.walk.steps)
    assert not boxes(view, CUT)
    assert not steps_of(view, "Where it ends")


def test_a_gradient_that_depends_on_nothing_seen_is_wrong_by_the_input():
    view = xray(Cube, order=2)
    assert view.walk.steps[view.step].text.startswith("Derivatives of the gradients: None by `x`")


def test_what_a_contract_allows_to_refuse_is_not_called_wrong():
    class FirstOrderOnly(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.erf(x)

        @staticmethod
        def backward(ctx, grad_output):
            if torch.is_grad_enabled():
                raise RuntimeError("first order only")
            return grad_output * 2 / torch.pi**0.5 * torch.exp(-(ctx.saved_tensors[0] ** 2))

    view = xray(FirstOrderOnly, order=2)
    last = view.walk.steps[-1]
    assert (last.phase, last.wrong) == ("Refused", False)
    assert "first order only" in last.text

    class Unguarded(FirstOrderOnly):
        @staticmethod
        def backward(ctx, grad_output):
            with torch.enable_grad():
                (x,) = ctx.saved_tensors
                return grad_output * 2 / torch.pi**0.5 * torch.exp(-x * x)

    Unguarded.__name__ = "FirstOrderOnly"
    last = xray(Unguarded, order=2).walk.steps[-1]
    assert (last.phase, last.wrong) == ("Result", False)  # right is allowed as well


def test_any_function_and_several_outputs_can_be_differentiated_twice():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x, x**3

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return 2 * x * g + 3 * x * x * h

    view = xray(lambda x: Both.apply(x), torch.tensor([2.0]), order=2)
    assert view.walk.steps[-1].text == (
        "Derivatives of the gradients: [14] by `x`, [4] by `grad_output 1`, [12] by `grad_output 2`."
    )


def test_the_learners_tensors_and_the_order_are_respected():
    x = torch.tensor([1.0], requires_grad=True)
    xray(Exp, x, order=2)
    assert x.grad is None
    with pytest.raises(ValueError, match="order is 1 or 2, not 3"):
        xray(Exp, x, order=3)


def test_every_exercise_has_runs_for_both_orders():
    from autograder.exercises import all_exercises

    for exercise in all_exercises().values():
        if not exercise.is_function:
            assert runs_of(exercise, None, 1)
            assert runs_of(exercise, None, 2)
