"""xray tells what happened, in order, names what is wrong, and changes nothing."""

import gc
import json
import weakref

import pytest
import torch
from torch.autograd import Function

from autograder.exercises.sigmoid.activations import MY_SIGMOID
from tests.widgets.functions import Masked, MySigmoid, Scaled, Square, Stretched, Stub
from widgets.steps import drawn
from widgets.xray import xray
from widgets.xray_choice import SEED, first_case


def texts(view):
    return [step.text for step in view.walk.steps]


def phases(view):
    return [step.phase for step in view.walk.steps]


def test_one_run_from_input_to_leaf():
    view = xray(Square, torch.tensor([1.0, 2.0, 3.0]))
    assert texts(view) == [
        "Square.forward gets `x` = [1, 2, 3].",
        "Square.forward returns [1, 4, 9].",
        "Square saves the input x.",
        "Backward starts at the output with the upstream gradient [1, 2, 3].",
        "Square.backward gets `grad_output` = [1, 2, 3].",
        "Square.backward returns [2, 8, 18] for `x`.",
        "The leaf `x` receives [2, 8, 18]. `x.grad` is now [2, 8, 18].",
    ]
    assert view.step == 0


def test_the_learners_own_tensors_are_left_alone():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.grad = torch.tensor([5.0, 5.0])
    xray(Square, x)
    assert x.grad.tolist() == [5, 5]
    assert x.grad_fn is None


@pytest.mark.parametrize("fn", [Square.apply, lambda x: Square.apply(x)])
def test_apply_and_functions_that_use_it_are_taken_too(fn):
    view = xray(fn, torch.tensor(3.0), grad_output=torch.tensor(10.0))
    assert "Square.backward returns 60 for `x`." in texts(view)


def test_an_exercise_brings_its_own_inputs_and_opens_on_what_is_wrong():
    view = xray(MySigmoid)
    question = first_case("MySigmoid")
    y = MY_SIGMOID.reference(question.args[0])
    right = (question.upstream[0] * y * (1 - y))[0].item()
    step = view.walk.steps[view.step]
    assert step.wrong
    assert step.text.startswith("MySigmoid.backward returns [")
    assert f"{2 * right:.4g}".replace("-", "−") in step.text
    assert f"Expected for `x` is [{right:.4g}".replace("-", "−") in step.text
    assert sum(step.wrong for step in view.walk.steps) == 1
    assert texts(view) == texts(xray(MySigmoid))
    assert SEED == 0


def test_a_right_solution_shows_nothing_wrong():
    class MySigmoid(Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.sigmoid(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            (y,) = ctx.saved_tensors
            return grad_output * y * (1 - y)

    view = xray(MySigmoid)
    assert not any(step.wrong or step.warnings for step in view.walk.steps)


def test_a_wrong_forward_is_the_first_wrong_step():
    class MySigmoid(Square):
        pass

    view = xray(MySigmoid)
    assert view.walk.steps[view.step].text.startswith("MySigmoid.forward returns")


def test_a_name_that_is_no_exercise_needs_inputs():
    with pytest.raises(ValueError, match="no exercise called 'Stretched'"):
        xray(Stretched)
    with pytest.raises(TypeError, match="not int"):
        xray(3)


def test_what_is_kept_is_named_sized_and_judged():
    view = xray(Scaled, torch.tensor([1.0, 2.0]), 3.0)
    step = view.walk.steps[phases(view).index("Saved for backward")]
    [table] = step.tables
    assert [row[:2] + row[4:] for row in table.rows] == [
        ("saved[0]", "the input x", "8 bytes", "shared with the input x"),
        ("saved[1]", "an intermediate", "8 bytes", "its own"),
        ("saved[2]", "the output", "8 bytes", "shared with the output"),
        ("ctx.half", "an intermediate", "8 bytes", "its own"),
        ("ctx.scale", "no tensor: 3.0", "–", "–"),
    ]
    assert len(step.warnings) == 2
    assert "constant to a second derivative" in step.warnings[0]
    assert step.warnings[1].startswith("`ctx.half` holds a tensor.")


def test_a_mask_is_no_danger_to_a_second_derivative():
    view = xray(Masked, torch.tensor([1.0, -2.0]))
    [warning] = view.walk.steps[phases(view).index("Saved for backward")].warnings
    assert warning.startswith("`saved[1]` is an intermediate")


def test_an_output_on_ctx_is_called_a_cycle():
    class Holder(Square):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.y = x * x
            return ctx.y

    view = xray(Holder, torch.ones(2))
    assert any("reference cycle" in words for s in view.walk.steps for words in s.warnings)


def test_a_view_that_keeps_much_alive_is_called_so():
    class Viewer(Square):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x[:1])
            return x * x

    view = xray(Viewer, torch.ones(100))
    step = view.walk.steps[phases(view).index("Saved for backward")]
    assert step.text == "Viewer saves a view of the input x."
    assert "keeps alive the 400 bytes" in step.warnings[0]


def test_what_torch_repairs_is_a_step_of_its_own():
    view = xray(Stretched, torch.ones(3), grad_output=torch.ones(4, 3))
    at = phases(view).index("Torch repairs")
    assert view.walk.steps[at].text == (
        "`x`: torch sums it from shape (4, 3) to (3). On it goes as [8, 8, 8]."
    )


def test_repaired_gradients_belong_to_the_right_argument():
    class Second(Function):
        @staticmethod
        def forward(ctx, power, x):
            return x.expand(4, 3) ** power

        @staticmethod
        def backward(ctx, g):
            return None, g.double()

    view = xray(Second, 1, torch.ones(3), grad_output=torch.ones(4, 3))
    [step] = [s for s in view.walk.steps if s.phase == "Torch repairs"]
    assert step.text.startswith("`x`: torch sums it from shape (4, 3) to (3) and casts it from")


def test_dangers_of_backward():
    class Careless(Function):
        @staticmethod
        def forward(ctx, a, b):
            a.mul_(2)
            return a + b

        @staticmethod
        def backward(ctx, g):
            g.mul_(3)
            return g, None

    a, b = torch.ones(2), torch.ones(2, requires_grad=True)
    view = xray(Careless, a, b)
    said = " ".join(words for step in view.walk.steps for words in step.warnings)
    assert "wrote into its input `a`" in said
    assert "wrote into its `grad_output`" in said
    assert "`b` wants a gradient and gets `None`" in said
    assert "`a` wants no gradient" in said


def test_an_unwritten_exercise_ends_in_a_step_that_says_so():
    view = xray(Stub, torch.ones(2))
    assert phases(view) == ["Forward", "Error"]
    assert texts(view)[-1] == "`forward` is not written yet: it raises NotImplementedError."
    assert view.step == 1


def test_an_error_names_the_learners_line():
    class Broken(Square):
        @staticmethod
        def backward(ctx, grad_output):
            return grad_output @ torch.ones(7, 7)

    view = xray(Broken, torch.ones(2))
    assert phases(view)[-2:] == ["Backward", "Error"]
    assert "`return grad_output @ torch.ones(7, 7)`" in texts(view)[-1]
    assert view.step == len(texts(view)) - 1


@pytest.mark.parametrize("returned", [(1, 2, 3), torch.ones(7)])
def test_what_torch_refuses_is_the_last_step(returned):
    class Refused(Square):
        @staticmethod
        def backward(ctx, grad_output):
            return returned

    view = xray(Refused, torch.ones(2))
    assert phases(view)[-1] == "Error"
    assert texts(view)[-1].startswith(("RuntimeError", "TypeError"))


def test_accumulation_tells_what_was_there():
    x = torch.ones(2, requires_grad=True)
    with xray() as seen:
        Square.apply(x).sum().backward()
        (3 * x).sum().backward()
    last = texts(seen.view)[-1]
    assert last == (
        "The leaf `x` receives [3, 3]. `x.grad` is now [5, 5]: it was [2, 2], and gradients are added."
    )


def test_the_block_lets_errors_through_and_shows_them():
    with pytest.raises(NotImplementedError), xray() as seen:
        Stub.apply(torch.ones(2))
    assert phases(seen.view)[-1] == "Error"


def test_leaves_are_called_by_their_variables():
    x, layer = torch.ones(1, 2), torch.nn.Linear(2, 2)
    with xray() as seen:
        Square.apply(layer(x)).sum().backward()
    labels = {part.label for part in seen.view.walk.parts}
    assert {"Square", "layer.weight", "layer.bias", "output"} <= labels


def test_second_order_shows_both_passes():
    x = torch.tensor([3.0], requires_grad=True)
    with xray() as seen:
        (first,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        torch.autograd.grad(first.sum(), x)
    assert texts(seen.view)[-1] == "`torch.autograd.grad` returns [2]."
    assert any("create_graph=True" in text for text in texts(seen.view))
    assert "`torch.autograd.grad` returns [6]." in texts(seen.view)


def test_several_outputs_and_integers():
    class Split(Function):
        @staticmethod
        def forward(ctx, x, n):
            index = torch.arange(x.numel())
            ctx.mark_non_differentiable(index)
            return x[:n].clone(), x[n:].clone(), index

        @staticmethod
        def backward(ctx, g, h, _):
            return torch.cat([g, h]), None

    view = xray(Split, torch.ones(3), 1)
    assert "Split.forward returns 3 outputs: [1], [1, 1], [0, 1, 2]." in texts(view)
    assert "The leaf `x` receives [1, 1, 2]. `x.grad` is now [1, 1, 2]." in texts(view)


def test_a_function_outside_the_graph_is_said_to_be_so():
    view = xray(torch.sin, torch.ones(2))
    assert "No Function of your own ran." in texts(view)
    view = xray(lambda x: x.detach(), torch.ones(2))
    assert phases(view)[-1] == "Error"


def test_a_large_graph_shows_only_own_functions_and_leaves():
    x = torch.ones(2, requires_grad=True)
    y = Square.apply(x)
    for _ in range(60):
        y = y + 1
    with xray() as seen:
        Square.apply(y).sum().backward()
    assert {part.kind for part in seen.view.walk.parts} <= {"own", "leaf", "end"}
    assert len(seen.view.walk.steps) < 20


def test_torch_func_is_seen_in_part_and_says_so():
    with xray() as seen:
        torch.func.grad(lambda x: Scaled.apply(x, 2.0).sum())(torch.ones(2))
    assert "under torch.func" in texts(seen.view)[-1]


def test_nothing_is_kept_alive():
    gc.disable()
    try:
        kept = []

        class Watched(Square):
            @staticmethod
            def forward(ctx, x):
                kept.append(weakref.ref(x))
                return Square.forward(ctx, x)

        view = xray(Watched, torch.ones(3))
        assert [reference() for reference in kept] == [None]
        assert len(view.walk.steps) > 3
    finally:
        gc.enable()


@pytest.mark.parametrize("make", [lambda: xray(MySigmoid), lambda: xray(Stub, torch.ones(1))])
def test_steps_and_graph_are_plain_data(make):
    view = make()
    state = {name: view.get_state()[name] for name in ("graphs", "steps", "title", "step", "moves")}
    assert json.loads(json.dumps(state)) == state
    keys = {box["key"] for box in drawn(view.walk)["boxes"]}
    for step in view.walk.steps:
        assert {step.box, *step.forward, *step.backward, *step.local, *step.kept} - {""} <= keys
        assert step.line is None or step.line in view.walk.edges


def test_a_step_that_does_not_exist_is_not_gone_to():
    view = xray(Square, torch.ones(2))
    view.step = 999
    assert view.step == len(view.walk.steps) - 1


def test_the_stand_in_is_numbered_text_html_and_a_picture():
    view = xray(MySigmoid)
    made = view.stand_in()
    assert made["text/plain"].startswith(
        "One run of MySigmoid\n  1. Forward. MySigmoid.forward gets x = "
    )
    assert made["text/html"].count("<li>") == len(view.walk.steps)
    assert 'alt="One run of MySigmoid. The numbered steps' in made["text/html"]
    assert made["image/png"].startswith("iVBORw0KGgo")
    assert made == xray(MySigmoid).stand_in()


def test_no_error_while_the_grader_runs_a_notebook(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert xray(MySigmoid).stand_in()["text/plain"]


def test_the_block_keeps_nothing_alive_either():
    def run():
        x = torch.ones(3, requires_grad=True)
        with xray() as seen:
            Square.apply(x).sum().backward()
        return seen, weakref.ref(x)

    gc.disable()
    try:
        seen, reference = run()
        assert reference() is None
        assert len(seen.view.walk.steps) > 3
    finally:
        gc.enable()


def test_a_run_that_cannot_be_told_is_a_step_and_never_an_error(monkeypatch):
    monkeypatch.setattr("widgets.xray_steps.graph_of", lambda *_: 1 / 0)
    assert phases(xray(Square, torch.ones(2))) == ["Not shown"]
    with pytest.raises(NotImplementedError), xray() as seen:
        Stub.apply(torch.ones(2))
    assert phases(seen.view) == ["Not shown", "Error"]
    assert seen.view.stand_in()["image/png"]


def test_a_backward_inside_a_backward_is_told_as_one():
    class Recomputed(Function):
        @staticmethod
        def forward(ctx, fn, x):
            ctx.fn = fn
            ctx.save_for_backward(x)
            return fn(x)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            leaf = x.detach().requires_grad_()
            with torch.enable_grad():
                output = ctx.fn(leaf)
            torch.autograd.backward(output, grad_output)
            return None, leaf.grad

    view = xray(Recomputed, torch.sin, torch.zeros(1))
    told = list(zip(phases(view), texts(view), strict=True))
    start = "Inside Recomputed.backward another backward starts, with the upstream gradient [1]."
    place = told.index(("Inner backward", start))
    assert told[place - 1][1].startswith("Recomputed.backward gets")
    assert told[place + 1][1].startswith("Sin, torch's own, gets [1]")
    assert told[-2] == ("Backward", "Recomputed.backward returns None for `fn`, [1] for `x`.")
    assert {part.label for part in view.walk.parts} >= {"output", "inner output"}


def test_a_backward_inside_that_runs_into_the_inputs_is_a_danger():
    class Attached(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                torch.autograd.backward(torch.sin(x), grad_output)
            return torch.zeros_like(x)

    view = xray(Attached, torch.zeros(1))
    warned = [step for step in view.walk.steps if step.warnings]
    assert [(step.phase, step.warnings) for step in warned] == [
        ("Leaf", ("`x` is an input itself and no detached copy: its gradient comes twice.",))
    ]


def test_functions_among_the_inputs_have_a_name_and_no_address():
    class Applied(Function):
        @staticmethod
        def forward(ctx, fn, other, x):
            return fn(x)

        @staticmethod
        def backward(ctx, grad_output):
            return None, None, grad_output

    view = xray(Applied, lambda x: x * 1, object(), torch.ones(1))
    assert (
        texts(view)[0]
        == "Applied.forward gets `fn` = <lambda>, `other` = <object object>, `x` = [1]."
    )


def test_a_random_state_on_ctx_is_no_danger():
    class Random(Square):
        @staticmethod
        def forward(ctx, x):
            ctx.state = torch.get_rng_state()
            return Square.forward(ctx, x)

    assert not any(step.warnings for step in xray(Random, torch.ones(2)).walk.steps)
