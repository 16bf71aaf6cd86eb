"""gradient_flow computes every number by running the operations, also the learner's own."""

import pytest
import torch

from tests.widgets.functions import MySigmoid, Square, Stretched, Stub
from widgets.flow import Operation, default_operations, gradient_flow
from widgets.step_picture import last_values


def texts(view):
    return [step.text for step in view.walk.steps]


def written(view, kind):
    """What stands in each box at the end, as one string a tensor: rows by ";", numbers by ","."""
    return {
        key: ";".join(",".join(row) for row in cells.texts)
        for key, every in last_values(view.walk)[kind].items()
        for cells in every
    }


def test_the_graph_of_the_course_has_nine_steps_and_ends_in_four():
    view = gradient_flow()
    assert texts(view) == [
        "The inputs are `x` = 2, `y` = 3.",
        "Square of 2 is 4.",
        "ReLU of 3 is 3.",
        "Add of 4, 3 is 7.",
        "Loss of 7 is 7.",
        "The loss has the gradient 1 with respect to itself. Loss gets 1. To `Add` goes 1 × 1 = 1.",
        "Add gets 1. To `Square` goes 1 × 1 = 1; to `ReLU` goes 1 × 1 = 1.",
        "ReLU gets 1. To `y` goes 1 × 1 = 1.",
        "Square gets 1. To `x` goes 1 × 2 × 2 = 4.",
    ]
    values, gradients = written(view, "forward"), written(view, "backward")
    assert written(view, "local") == {"x": "4", "y": "1", "Square": "1", "ReLU": "1", "Add": "1"}
    assert values == {"x": "2", "y": "3", "Square": "4", "ReLU": "3", "Add": "7", "Loss": "7"}
    assert gradients == {"x": "4", "y": "1", "Square": "1", "ReLU": "1", "Add": "1", "Loss": "1"}


def test_the_learners_functions_take_their_places_and_their_mistakes_show():
    view = gradient_flow({"x": 0.0, "y": 3.0}, default_operations(square=MySigmoid))
    kinds = {part.key: part.kind for part in view.walk.parts}
    assert (kinds["Square"], kinds["ReLU"], kinds["x"]) == ("own", "torch", "leaf")
    assert written(view, "backward")["x"] == "0.5"  # doubled: it should be a quarter
    assert (
        gradient_flow(operations=default_operations(square=Square.apply)).walk.parts[2].kind
        == "own"
    )


def test_gradients_of_two_ways_are_added():
    view = gradient_flow(
        {"x": 3.0},
        (
            Operation("Square", Square, ("x",)),
            Operation("Times", torch.mul, ("Square", "x")),
        ),
    )
    x = torch.tensor(3.0, requires_grad=True)
    (x * x * x).backward()
    assert written(view, "backward")["x"] == f"{x.grad.item():g}"
    assert texts(view)[-1] == "Square gets 3. To `x` goes 3 × 6 = 18, added to 9: 27."


def test_an_input_used_twice_by_one_operation_is_added_too():
    view = gradient_flow({"x": 3.0}, [Operation("Times", torch.mul, ("x", "x"))])
    assert written(view, "backward")["x"] == "6"


def test_tensors_go_through_as_torch_has_them():
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3), torch.randn(3, 2)
    operations = (
        Operation("Product", torch.matmul, ("x", "weight")),
        Operation("Sigmoid", torch.sigmoid, ("Product",)),
        Operation("Loss", torch.sum, ("Sigmoid",)),
    )
    view = gradient_flow({"x": x, "weight": weight}, operations)
    weight.requires_grad_()
    torch.sigmoid(x @ weight).sum().backward()
    first = f"{weight.grad.flatten()[0].item():.3g}".replace("-", "−")
    assert written(view, "backward")["weight"].startswith(f"{first},")
    assert x.grad is None


def test_a_whole_number_gets_no_gradient():
    view = gradient_flow(
        {"x": torch.tensor(2.0), "n": 3}, [Operation("Power", torch.pow, ("x", "n"))]
    )
    assert "n" not in written(view, "backward")


def test_an_unwritten_function_is_the_last_step():
    view = gradient_flow(operations=default_operations(square=Stub))
    assert (
        texts(view)[-1]
        == "Square is not written yet (NotImplementedError). Run this cell again when it is."
    )
    assert view.step == len(texts(view)) - 1
    assert view.stand_in()["text/plain"]


def test_a_loss_that_is_no_number_still_flows():
    view = gradient_flow({"x": torch.ones(3)}, [Operation("Stretch", Stretched, ("x",))])
    assert written(view, "backward")["x"] == "8,8,8"


def test_an_input_that_is_moved_moves_all_that_comes_of_it():
    view = gradient_flow()
    assert [(move.label, move.value) for move in view.walk.moves] == [("x", 2), ("y", 3)]
    view.move = ["x", 0, -3.0]
    assert written(view, "forward")["Square"] == "9"
    assert texts(view)[-1] == "Square gets 1. To `x` goes 1 × 2 × −3 = −6."
    assert view.moves[0][-1] == -3
    view.move = ["y", 0, -1.0]
    assert written(view, "forward") == written(gradient_flow({"x": -3.0, "y": -1.0}), "forward")


@pytest.mark.parametrize(
    ("operations", "problem"),
    [
        ([Operation("A", torch.sin, ("z",))], "uses 'z'"),
        ([Operation("x", torch.sin, ("x",))], "Two boxes"),
        ([], "at least one"),
    ],
)
def test_graphs_that_cannot_be_are_refused(operations, problem):
    with pytest.raises(ValueError, match=problem):
        gradient_flow(None, operations)
