"""check again and again in one kernel: the same numbers, and nothing of the check before."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

RIGHT = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
"""
WRONG = RIGHT.replace("2 * x", "3 * x")


def test_who_checks_again_sees_what_the_edit_changed():
    first, again = (evaluate(load(WRONG, "Square")) for _ in range(2))
    assert first.seed == again.seed
    assert first.findings[0].evidence == again.findings[0].evidence
    assert evaluate(load(RIGHT, "Square")).passed


@pytest.mark.parametrize("spoils", ["x.zero_(); ", "grad_output.fill_(7.0); ", "x.data.zero_(); "])
def test_what_writes_into_its_arguments_spoils_no_later_check(spoils):
    method = "forward(ctx, x)" if spoils.startswith("x") else "backward(ctx, grad_output)"
    spoiling = RIGHT.replace(f"{method}:", f"{method}:\n        {spoils}")
    assert spoiling != RIGHT
    for hidden in (False, True):
        assert not evaluate(load(spoiling, "Square"), hidden=hidden).passed
        assert evaluate(load(RIGHT, "Square"), hidden=hidden).passed


def test_another_seed_asks_with_other_numbers():
    one, other = (evaluate(load(WRONG, "Square"), seed=seed) for seed in (1, 2))
    assert one.findings[0].evidence != other.findings[0].evidence
