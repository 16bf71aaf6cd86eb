"""ste_explorer runs what it shows: values forward, and three gradients for the same step."""

import pytest
import torch

from autograder.exercises import find
from widgets.explorer import filled, pieces
from widgets.ste import PLACES, QMAX, QMIN, SCALE, STEPS, gradients, quantise, ste_explorer

SIGN, ROUND, QUANTISE = STEPS


def frame(view, name, x):
    sweep = next(s for s in view.exploration.sweeps if s.name == name)
    index = PLACES.tolist().index(x)
    return sweep, sweep.frames[index]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_the_three_gradients_are_zero_one_and_one_inside_the_window(step):
    own, identity, clipped = gradients(step, PLACES)
    assert not own.any()
    assert identity.eq(1).all()
    (low, high), x = step.bounds, PLACES
    assert clipped[(x > low) & (x < high)].eq(1).all()
    assert not clipped[(x < low) | (x > high)].any()


def test_the_bounds_of_sign_belong_to_it():
    at = [PLACES.tolist().index(x) for x in (-1.0, 1.0)]
    assert gradients(SIGN, PLACES)[2][at].tolist() == [1, 1]


def test_quantise_is_the_fake_quantisation_of_the_lesson_with_its_gradient():
    reference, x = find("FakeQuantize").reference, PLACES.clone().requires_grad_()
    wanted = reference(x, SCALE, 0, QMIN, QMAX)
    (gradient,) = torch.autograd.grad(wanted.sum(), x)
    assert torch.equal(quantise(PLACES), wanted)
    assert torch.equal(gradients(QUANTISE, PLACES)[2], gradient)
    assert quantise(PLACES).unique().numel() == 8


def test_a_frame_says_value_and_gradients():
    sweep, at = frame(ste_explorer(), "sign", 1.5)
    assert filled(sweep.status, at.words) == (
        "forward gives sign(x) = 1. Of an upstream gradient of 1, backward hands on 0 by "
        "autograd's own rule, 1 by the identity, 0 by the clipped surrogate."
    )
    cells = [[filled(cell, at.words) for cell in row][2:] for row in sweep.rows]
    assert cells == [["1", "0"], ["1.5", "1"], ["1", "0"]]


def test_jumps_are_not_drawn():
    sweep, _ = frame(ste_explorer(), "round", 0.0)
    steps = sweep.panels[0].curves[0].pieces
    assert [piece[0][1] for piece in steps] == [-3, -2, -1, 0, 1, 2, 3]
    assert all(len({y for _, y in piece}) == 1 for piece in steps)


def test_pieces_leave_out_what_is_not_finite():
    assert pieces([(0, 1), (1, float("nan")), (2, 3), (3, float("inf"))]) == (((0, 1),), ((2, 3),))


def test_what_stands_in_is_numbered_and_has_a_picture():
    import base64

    view = ste_explorer()
    made = view.stand_in()
    lines = made["text/plain"].splitlines()
    assert len(lines) == 16
    assert lines[1].startswith("  1. sign, x = −3: forward gives sign(x) = −1.")
    assert base64.b64decode(made["image/png"]).startswith(b"\x89PNG")
    assert made["text/html"].count("<li>") == 15


def test_only_places_there_are_can_be_set():
    view = ste_explorer()
    view.position, view.chosen = 10_000, 17
    assert (view.position, view.chosen) == (120, 2)


def test_the_clipped_gradient_is_that_of_the_lesson_everywhere():
    """FakeQuantize of lesson 04 on the same grid: also between 1.5 and 1.75, and at the ties."""
    [quantise] = [step for step in STEPS if step.name == "quantise"]
    exercise = find("FakeQuantize")
    x = torch.linspace(-3, 3, 2401, dtype=torch.float64, requires_grad=True)
    value = exercise.reference(x, SCALE, 0, QMIN, QMAX)
    (right,) = torch.autograd.grad(value.sum(), x)
    assert torch.equal(quantise.call(x.detach()), value.detach())
    assert torch.equal(gradients(quantise, x.detach())[2], right)
