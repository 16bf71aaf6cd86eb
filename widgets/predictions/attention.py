"""Lesson 07: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "softmax-sum": Question(
        prompt="What stands in `x.grad` after this?",
        code="x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)\n"
        "y = torch.softmax(x, dim=0)\ny.sum().backward()",
        choices=(
            Choice("1, 1, 1", False, "That would be the gradient of the sum by y, not by x."),
            Choice("y · (1 − y)", False, "That is the diagonal of the matrix, not its columns."),
            Choice("0, 0, 0", True, "The sum of y is 1, whatever x is. A constant has slope 0."),
        ),
    ),
    "empty-row": Question(
        prompt="The second row of weights is 0/0, NaN. The loss uses the first output alone. Which "
        "of the three values get a gradient that is NaN?",
        choices=(
            Choice("none", False, "Its upstream gradient is 0, but 0 · NaN is NaN."),
            Choice(
                "the third", False, "The first query may not see it, but the second row has it."
            ),
            Choice("all three", True, "Each value sums over all queries, and one term is 0 · NaN."),
        ),
    ),
    "float-mask": Question(
        prompt="Ones and zeros as floats are passed as `attn_mask`. What does torch do with them?",
        choices=(
            Choice("it masks as with bools", False, "Only a bool mask says where to look."),
            Choice("it raises an error", False, "Floats are a legal mask: they are added."),
            Choice("it masks nothing", True, "A float mask is *added* to the scores, silently."),
        ),
    ),
    "fused-twice": Question(
        prompt="A second derivative of `F.scaled_dot_product_attention` on this machine: what comes?",
        choices=(
            Choice("the right number", False, "Its fast kernel has a first derivative only."),
            Choice("a silent wrong number", False, "It could, and that would be worse."),
            Choice("a RuntimeError", True, "It says so out loud, as yours does."),
        ),
    ),
    "tile-traffic": Question(
        prompt="Blocks of 128 in place of 64, queries outside: how many numbers travel?",
        choices=(
            Choice("as many", False, "Each block of queries has all keys pass by, once a block."),
            Choice(
                "about half as many", True, "Half as many blocks, so the keys pass half as often."
            ),
            Choice(
                "a quarter",
                False,
                "There are a quarter as many tiles, each with blocks of twice the size.",
            ),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="LeanAttention",
    wrong="delta is the sum of the output",
    right="weights recomputed from the logsumexp",
    others=("the mask is forgotten in backward", "the scale twice in grad_q"),
    first=True,
)
