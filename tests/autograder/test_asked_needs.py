"""Which condition about needs_input_grad leaves an argument without its gradient."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

TWO = """
class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        left, right = lambda: (g * b).sum_to_size(a.shape), lambda: (g * a).sum_to_size(b.shape)
        needs, ga, gb = ctx.needs_input_grad, None, None
{body}
"""
EXCHANGED = "The questions for a and b are exchanged: a gets a gradient when b needs one"
BODIES = {
    """
        if needs[0]: ga = left()
        elif needs[1]: gb = right()
        return ga, gb
""": "elif gives b a gradient only when a needs none (line ",
    """
        if needs[0]: return left(), None
        return None, right()
""": "b gets a gradient only when a needs none: else backward has returned before (line ",
    """
        if needs[1]: ga = left()
        if needs[0]: gb = right()
        return ga, gb
""": EXCHANGED,
    """
        nb, na = needs
        grads = [None] * 2
        if na: grads[0] = left()
        if nb: grads[1] = right()
        return tuple(grads)
""": EXCHANGED,
    """
        return left() if needs[1] else None, right() if needs[1] else None
""": "a gets a gradient when b needs one, not when a itself does (line ",
    """
        if not all(needs): return None, None
        return left(), right()
""": "a gets a gradient only if b needs one too: else backward returns before it comes to that (line ",
    """
        if all(needs[:2]): ga, gb = left(), right()
        return ga, gb
""": "a gets a gradient only if b needs one too: line ",
}


@pytest.mark.parametrize(("body", "said"), BODIES.items())
def test_the_condition_is_named(body, said):
    found = evaluate(load(TWO.format(body=body), "Multiply"), exercise="Multiply", seed=1)
    first = found.findings[0]
    assert first.rule == "gradient-missing"
    assert first.message.startswith(said)
    assert "line" in first.evidence
    assert "needs_input_grad" in first.hint


def test_nothing_is_said_of_what_cannot_be_followed():
    body = """
        for i, (need, make) in enumerate(zip(needs[::-1], (left, right))):
            if need and i: gb = make()
            elif need: ga = make()
        return ga, gb
"""
    found = evaluate(load(TWO.format(body=body), "Multiply"), exercise="Multiply", seed=1)
    assert found.findings[0].message == "When only a needs a gradient, it gets none."
