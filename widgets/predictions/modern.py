"""Lesson 12: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "old-form": Question(
        prompt="`torch.func.grad` of a Function whose forward takes ctx, as in lesson 01. What happens?",
        choices=(
            Choice("the right gradient", False, "torch.func does not take this form at all."),
            Choice("an error", True, "It asks for setup_context: forward may not see ctx."),
            Choice("0, silently", False, "Here torch.func says clearly what it misses."),
        ),
    ),
    "forward-mode": Question(
        prompt="An operator has a registered backward. x has the tangent 1 in forward mode. What tangent does the "
        "output of 2x have?",
        choices=(
            Choice("2", False, "Nobody told torch: a formula for backward is none for tangents."),
            Choice("an error", False, "It should be one; torch.func.grad gives one."),
            Choice(
                "none, and nothing is said",
                True,
                "The output comes out as if x did not move. Only torch.func's transforms complain.",
            ),
        ),
    ),
    "opcheck": Question(
        prompt="The registered backward is wrong by a factor of 3. What does opcheck say?",
        choices=(
            Choice("SUCCESS, four times", True, "It looks at the registration, not at numbers."),
            Choice("the autograd test fails", False, "That one asks where the formula is registered."),
            Choice("it raises an error", False, "It does so for a fake that lies, for example."),
        ),
    ),
    "keeps": Question(
        prompt="Rounding with the gradient 1, as a Function. Compiled, and exported: which gradient is left?",
        choices=(
            Choice("1 and 1", False, "export looks through forward, and finds aten.round."),
            Choice("1 and 0", True, "compile keeps the backward; export leaves forward's operations."),
            Choice("0 and 0", False, "compile traces backward too, and keeps it."),
        ),
    ),
    "sharded": Question(
        prompt="A sharded layer's Function saves its weight, 16384 bytes. How many of them are held between "
        "forward and backward?",
        choices=(
            Choice("16384", False, "That is what a copy of the weight costs."),
            Choice("0", True, "FSDP frees the memory below the saved tensor, and fills it again for backward."),
            Choice("backward stops with an error", False, "It would, if the memory did not come back."),
        ),
    ),
    "strides": Question(
        prompt="The sigmoid kernel reads `x_ptr + place`. opcheck is content. What comes out for `x[:, ::2]`?",
        choices=(
            Choice("the right values", False, "The kernel never heard of the strides."),
            Choice("an error", False, "The memory in between is there, so nothing stops it."),
            Choice("wrong values, silently", True, "It reads the columns in between as well."),
        ),
    ),
}  # fmt: skip

SUSPECTS = Suspects(
    exercise="sinc_op",
    wrong="the fake is contiguous, and NumPy keeps x's order",
    right="sine and cosine, no second call of the operator",
    others=("divides by x = 0", "says that the batch is in front", "the slope alone"),
)
