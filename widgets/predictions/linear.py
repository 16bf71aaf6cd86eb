"""Lesson 03: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "symmetric": Question(
        prompt="y = A v, and backward computes A g where Aᵀ g is right. A is 3 × 3 and *symmetric*. "
        "Who notices?",
        choices=(
            Choice("torch, by an error", False, "Only where the shape of A is not square."),
            Choice("`gradcheck`", False, "For a random A it would. Here A and Aᵀ are the same."),
            Choice("nobody", True, "A square shape silences torch, a symmetric value gradcheck."),
        ),
    ),
    "too-large": Question(
        prompt="x has the shape (2, 3), and backward returns ones of shape (5, 2, 3). What is in `x.grad`?",
        choices=(
            Choice("nothing: an error", False, "Only where x cannot be expanded to that shape."),
            Choice(
                "1 everywhere", False, "The shape fits after the first dimension is summed away."
            ),
            Choice("5 everywhere", True, "Accepted, and summed. It may well have been a bug."),
        ),
    ),
    "one-entry": Question(
        prompt="A gradient of shape (3, 4) was made by `g.expand(3, 4)`. Somebody writes "
        "`grad[0, 0] = 5`. What changes?",
        choices=(
            Choice("that entry", False, "It has no memory of its own: it is the first entry of g."),
            Choice("the whole column", True, "Its three entries are one place in memory."),
            Choice("nothing: an error", False, "Whole-tensor edits are refused, this one is not."),
        ),
    ),
    "ties": Question(
        prompt="x = [2, 2, 1], and `x.max(dim=0)` is differentiated. What is the gradient?",
        choices=(
            Choice("[1, 1, 0]", False, "Then the largest would count twice."),
            Choice("[½, ½, 0]", False, "That is what `x.amax(dim=0)` does, which has no indices."),
            Choice("[1, 0, 0]", True, "The index names one of them, and that one gets it all."),
        ),
    ),
    "infinite-row": Question(
        prompt="One row of x is −∞ everywhere. The loss uses `torch.logsumexp` of the *other* rows "
        "only. What is the gradient in that row?",
        choices=(
            Choice("0", False, "It should be. But its softmax is NaN, and 0 · NaN is NaN."),
            Choice("NaN", True, "The upstream gradient 0 meets −∞ − (−∞) and is lost."),
            Choice("−∞", False, "A probability is never infinite; here it is not even a number."),
        ),
    ),
    "sixteen-masks": Question(
        prompt="Sixteen layers in a row. Does `LinearReLU`, with its mask of one byte, keep less "
        "than `F.linear` and `torch.relu`?",
        choices=(
            Choice("a quarter of it", False, "So it is for one layer alone."),
            Choice("the same", False, "So it is for four layers."),
            Choice(
                "more", True, "The output is kept anyway, by the next layer. The mask is extra."
            ),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="Max",
    wrong="what reaches the maximum gets the gradient, however many there are",
    right="argmax and gather, a comparison with arange as the mask",
    others=("zeros in float32", "one_hot always appends the classes at the end"),
)
