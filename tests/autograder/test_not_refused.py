"""What should be refused and is not: the condition that lets it through is named."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import load

WEIGHTED = """
class WeightedSum(Function):
    @staticmethod
    def forward(ctx, x1, x2, w1, w2):
        {check}
            raise TypeError("w1 and w2 have to be numbers")
        ctx.w1, ctx.w2 = w1, w2
        return w1 * x1 + w2 * x2
    @staticmethod
    def backward(ctx, g):
        needed = ctx.needs_input_grad
        return ctx.w1 * g if needed[0] else None, ctx.w2 * g if needed[1] else None, None, None
"""


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            "if torch.is_tensor(w1) and torch.is_tensor(w2):",
            "A tensor as w1 is accepted: line 5 refuses only when what it asks holds for w1 and w2 at once.",
        ),
        (
            "if isinstance(w2, torch.Tensor):",
            "A tensor as w1 is accepted: the check in line 5 asks about w2 alone.",
        ),
        (
            "if isinstance(w1, str) or torch.is_tensor(w2):",
            "A tensor as w1 is accepted: the condition of line 5, `isinstance(w1, str) or torch.is_tensor(w2)`, is not "
            "true for it.",
        ),
        ("for w in ():", "A tensor as w1 is accepted; the contract asks for TypeError."),
    ],
)
def test_the_condition_is_named(check, said):
    made = load(WEIGHTED.format(check=check), "WeightedSum")
    assert evaluate(made, exercise="WeightedSum", hidden=True, seed=1).findings[0].message == said
