"""Hints that look like code can be typed as they stand."""

import re

import pytest

from autograder.exercises import all_exercises

# A name of code (an underscore or a torch function) next to an operator that Python does not know.
_TYPED_WRONG = re.compile(
    r"\w+_\w+[\w.()\[\]]* [·−×] |[·−×] ?[\w.]*\w_\w+|torch\.[\w.()]+ [·−×] |[·−×] ?torch\."
)


@pytest.mark.parametrize("name", all_exercises())
def test_operators_in_code_are_those_of_python(name):
    for hint in all_exercises()[name].hints:
        assert _TYPED_WRONG.search(hint) is None, hint


@pytest.mark.parametrize(
    "hint", ["return grad_output · y", "x = −ctx.alpha_of", "a · torch.exp(x)"]
)
def test_such_a_hint_would_be_found(hint):
    assert _TYPED_WRONG.search(hint)
