"""Which line made a wrong gradient: not the zeros that it began with, and the mask where a mask is at fault."""

import pytest

from autograder.causes.made_at import Seen
from autograder.source import Source

TILED = """
def forward(ctx, x, low):
    mask = x > low
    ctx.save_for_backward(x, mask)
def backward(ctx, g):
    x, mask = ctx.saved_tensors
    dq = torch.zeros_like(x) if ctx.needs_input_grad[0] else None
    dk = None
    for i in range(3):
        dq[i] += g[i]
        dk = g[i] * mask
    near = (x > 0) | (x <= 0)
    dv = g.new_zeros(3)
    rows = dv[:2]
    rows += 1
    return dq, dk, dv, torch.where(near, g, 0), g * mask
"""


@pytest.mark.parametrize(
    ("position", "seen", "text"),
    [
        (0, Seen(filled=True), "dq[i] += g[i]"),
        (1, Seen(filled=True), "dk = g[i] * mask"),
        (2, Seen(filled=True), "return dq, dk, dv"),
        (2, Seen(), "dv = g.new_zeros(3)"),
        (3, Seen(filled=True), "return dq, dk, dv"),
        (3, Seen(filled=True, masked=True), "near = (x > 0) | (x <= 0)"),
        (4, Seen(filled=True, masked=True), "mask = x > low"),
    ],
)
def test_the_line_that_made_a_returned_value(position, seen, text):
    found = Source.parse(TILED).returned_expression("backward", position, {}, seen)
    assert found[1].startswith(text)
