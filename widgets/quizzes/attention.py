"""Lesson 07: attention."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="y = softmax(x) along a row, and g is the upstream gradient. What is the gradient of x?",
        choices=(
            Choice(
                "`g * y * (1 - y)`",
                False,
                "That is the diagonal of the Jacobian. Each output depends on every input of its row.",
            ),
            Choice(
                "`y * (g - (g * y).sum(-1, keepdim=True))`",
                True,
                "The product with diag(y) − y yᵀ, without ever forming it.",
            ),
            Choice(
                "`y * (g - g.sum(-1, keepdim=True))`",
                False,
                "The sum is weighted with y. Only then do the gradients of a row add up to 0.",
            ),
            Choice(
                "`g * y`",
                False,
                "That leaves out the division by the sum, which depends on all inputs.",
            ),
        ),
    ),
    Question(
        prompt="One row of a mask is False everywhere. The scores there are −∞, the softmax gives NaN. "
        "What helps?",
        choices=(
            Choice(
                "Multiply the weights by the mask.",
                False,
                "0 · NaN is NaN. The row has to be replaced, with `masked_fill` or `torch.where`.",
            ),
            Choice(
                "Nothing needs to help: the row is padding, nobody reads it.",
                False,
                "The gradient of the values is a sum over all queries, and 0 · NaN is NaN: one such row ruins it.",
            ),
            Choice(
                "Use −1e9 in place of −∞.",
                False,
                "No NaN, but the empty row then attends to everything evenly, and sends gradients there.",
            ),
            Choice(
                "Replace the row of weights by zeros.",
                True,
                "Output 0 and gradient 0, as `F.scaled_dot_product_attention` gives.",
            ),
        ),
    ),
    Question(
        prompt="What does `F.scaled_dot_product_attention` do with a mask of ones and zeros in float32?",
        choices=(
            Choice(
                "It attends where the mask is 1.",
                False,
                "That is what a bool mask means. Convert it: `mask.bool()`.",
            ),
            Choice(
                "It raises an error: masks must be bool.",
                False,
                "Float masks are allowed. They mean something else.",
            ),
            Choice(
                "It adds the mask to the scores, so that nothing is masked.",
                True,
                "Float masks are added: 0 leaves a score as it is, −∞ forbids. Ones merely raise some scores.",
            ),
        ),
    ),
    Question(
        prompt="LeanAttention keeps no weights. What does it need to get them back in backward?",
        choices=(
            Choice(
                "q, k and one logsumexp a row",
                True,
                "P = exp(scores − logsumexp): one product and one `exp`, no second normalisation.",
            ),
            Choice(
                "The output and v, which can be solved for the weights",
                False,
                "With more keys than widths there are many weights that give the same output.",
            ),
            Choice(
                "Nothing but q: the keys are not needed",
                False,
                "The scores are q · kᵀ.",
            ),
            Choice(
                "The weights in bfloat16",
                False,
                "Half the memory, still L×S, and the gradient of other weights.",
            ),
        ),
    ),
    Question(
        prompt="In the online softmax a tile brings a score larger than all before. What happens to what "
        "was gathered?",
        choices=(
            Choice(
                "It is thrown away: the new maximum dominates.",
                False,
                "It keeps its share, if the new maximum is not very much larger.",
            ),
            Choice(
                "The sum is multiplied by exp(old − new); the output stays.",
                False,
                "Both are in units of e^(maximum). The output needs the same factor.",
            ),
            Choice(
                "Sum and output are both multiplied by exp(old − new).",
                True,
                "The factor is at most 1, so nothing overflows. At the end, output / sum.",
            ),
            Choice(
                "Every tile is normalised by itself, and the results are averaged.",
                False,
                "The softmax runs over all keys. An average would give each tile the same share.",
            ),
        ),
    ),
)
