"""The line beside a sentence is the one that the sentence speaks of, not the last step after it."""

import textwrap

import pytest

from autograder.causes.line_of_words import line_spoken_of
from autograder.source import Source

CODE = textwrap.dedent(
    """
    def backward(ctx, g):
        p = torch.exp(scores)
        s = torch.sigmoid(x)
        delta = (g * out).mean(-1, keepdim=True)
        for keys in blocks:
            first[keys] += p
            second[keys] = p.transpose(-1, -2) @ g
        total = p.sum()
        return p * (g - delta)
    """
)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("The sum (delta) is a mean: Σ out · g is divided by the width of v.", "delta ="),
        ("The sum Σ g·p runs over the whole tensor, not over each row.", "total ="),
        ("exp is applied twice: what was saved is y already.", "p = torch.exp"),
        ("The mask is ignored: the weights are recomputed without it.", "p = torch.exp"),
        ("backward computes σ(x), without beta.", "s = torch.sigmoid"),
        ("Only the last tile arrives: it is assigned where it should be added.", "second[keys] ="),
    ],
)
def test_the_line_that_is_spoken_of(message, text):
    _, line = line_spoken_of(Source.parse(CODE), "backward", message)
    assert line.startswith(text)


def test_no_line_where_nothing_or_two_things_may_be_meant():
    twice = CODE.replace("total = p.sum()", "a = p.sum(); b = g.sum(0)\n    c = p.sum(1)")
    assert line_spoken_of(Source.parse(twice), "backward", "The sum runs over the rows.") is None
    assert line_spoken_of(Source.parse(CODE), "backward", "The sign is wrong.") is None
    assert line_spoken_of(Source.parse(CODE), "vjp", "exp is applied twice") is None
