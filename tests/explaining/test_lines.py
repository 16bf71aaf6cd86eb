"""The line that a report shows is the one in which the wrong value is made, however the code is arranged."""

import random
import re

import pytest
import torch

from autograder import evaluate
from autograder.contract.exercise import Case
from tests.explaining.tiny import CUBE, RELU, exercise, told
from tests.mistakes.dressings import dressed
from tests.mistakes.gallery import load, of
from tests.mistakes.mutants import mutants

SIGMOID = """
def slope(y):
    rest = {rest}
    return y * rest


class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        e = torch.exp(-x)
        y = {forward}
        ctx.save_for_backward({saved})
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        local = slope(y)
        gradient = {gradient}
        return gradient
"""
TANH = exercise(
    torch.tanh, "(x)",
    Case("a vector", lambda s: (s.normal(9),)), Case("a matrix", lambda s: (s.normal(3, 4),)),
    second_order="not-judged",
)  # fmt: skip
OPERATION = re.compile(r"step\d+ = .* ([-+*/]|\*\*) ")
RIGHT = {"rest": "1 - y", "forward": "1 / (1 + e)", "saved": "y", "gradient": "local * grad_output"}


@pytest.mark.parametrize(
    ("place", "wrong", "line"),
    [
        ("rest", "1 + y", 3),
        ("rest", "1 - y * y", 3),
        ("forward", "1 / (1 - e)", 11),
        ("forward", "e / (1 + e)", 11),
        ("gradient", "local * grad_output.abs()", 19),
        ("gradient", "local * grad_output * y", 19),
        ("gradient", "local + grad_output", 19),
    ],
)
def test_where_a_wrong_value_is_made(place, wrong, line):
    code = SIGMOID.format(**{**RIGHT, place: wrong})
    report = evaluate(load(code, "MySigmoid"), exercise="MySigmoid", seed=3)
    assert report.findings[0].evidence["line"] == line, str(report)


def test_what_is_written_into_a_tensor_of_ones_own():
    before = "made = g.clone()\nslope = 3 * x\nmade *= slope"
    assert told(CUBE, "x**3", "made", before).evidence["line"] == 10
    before = "mask = x > 0\nmade = g * mask\nmade[mask] = 2 * made[mask]"
    assert told(RELU, "x.clamp(min=0)", "made", before).evidence["line"] == 11


def test_a_right_number_that_is_used_wrongly_is_told_where_it_is_used():
    finding = told(TANH, "x.tanh()", "g * (1 - t)", "t = x.tanh()")
    assert finding.evidence["line"] == 10, finding
    of_changed("GradientReversal", "in place", "-ctx.alpha", "ctx.alpha")


def test_what_an_experiment_shows_is_told_where_a_change_mends_it():
    """In the learner's code alone: not in that of Python's own decorator."""
    name = "save_in_bfloat16"
    right = of_changed(name, "generator with contextmanager", "kept[0].float()", "kept[1].float()")
    assert evaluate(load(right, name), exercise=name, seed=3).passed


def of_changed(exercise, what, before, after):
    """The source of a right answer, of which the report shows the line of this change."""
    right = next(a for a in of(exercise) if a.right and what in a.what)
    wrong = right.source.replace(before, after)
    finding = evaluate(load(wrong, exercise), exercise=exercise, seed=3).findings[0]
    text = wrong.splitlines()[finding.evidence["line"] - 1]
    assert after in text, finding
    assert text not in right.source
    return right.source


@pytest.mark.parametrize("exercise", ["MySigmoid", "MyTanh"])
def test_a_changed_node_is_found_where_every_operation_has_a_line_of_its_own(exercise):
    """Of right answers in steps with one node changed that still computes something."""
    found = []
    for answer in of(exercise):
        clothes = dressed(answer.source, "in steps") if answer.right else None
        for mutant in mutants(clothes.source) if clothes is not None else ():
            lines = (clothes.source.splitlines(), mutant.source.splitlines())
            changed = [i for i, (a, b) in enumerate(zip(*lines, strict=False), 1) if a != b]
            if len(changed) == 1 and OPERATION.search(lines[1][changed[0] - 1]):
                found.append((mutant.source, changed[0]))
    shown = []
    for source, line in random.Random(exercise).sample(found, min(8, len(found))):
        report = evaluate(load(source, exercise), exercise=exercise, seed=1)
        if report.findings and report.findings[0].rule.startswith(("gradient-", "forward-value")):
            shown.append(report.findings[0].evidence.get("line") == line)
    assert len(shown) >= 3
    assert sum(shown) >= 2 / 3 * len(shown), shown
