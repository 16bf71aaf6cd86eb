"""Lesson 02: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "kept-by-the-formula": Question(
        prompt="x has 1000 numbers, 4000 bytes. How much does autograd keep for `1 / (1 + torch.exp(-x))`?",
        choices=(
            Choice("4000 bytes", False, "That is what `torch.sigmoid` keeps: one tensor."),
            Choice("8000 bytes", True, "Two tensors: what `exp` gave, and what the division gave."),
            Choice("12000 bytes", False, "`x` itself is not among them: no step's slope needs it."),
        ),
    ),
    "free-output": Question(
        prompt="A root between two linear layers keeps its output, 25600 bytes. How much more does "
        "the whole network keep because of that?",
        choices=(
            Choice(
                "25600 bytes", False, "The next layer keeps the very same tensor, as its input."
            ),
            Choice("0 bytes", True, "Saving copies nothing, and the next layer keeps it anyway."),
            Choice("51200 bytes", False, "Nothing is copied, and nothing is kept twice."),
        ),
    ),
    "minus-100": Question(
        prompt="At x = −100 in float32, what is the gradient of the formula by autograd?",
        choices=(
            Choice("about 4e-44", False, "That is the truth, and only float64 gets near it."),
            Choice("0", False, "It was 0 at −60. Here one slope is 0 and the other is infinite."),
            Choice("NaN", True, "exp(100) is inf in float32, and 0 · inf is not a number."),
        ),
    ),
    "intermediate": Question(
        prompt="A Function for x·eˣ saves x and eˣ. Which derivatives are right?",
        choices=(
            Choice("the first and the second", False, "eˣ comes back as a bare number."),
            Choice("the first; the second raises", False, "Nothing raises: that is the trouble."),
            Choice("the first; the second is wrong", True, "A saved intermediate is a constant."),
        ),
    ),
    "forgotten-sum": Question(
        prompt="x + bias, shapes (3, 4) and (4,). For bias, backward returns a gradient of shape "
        "(3, 4) instead of (4,). What happens?",
        choices=(
            Choice("torch raises an error", False, "Only where the shape cannot be summed down."),
            Choice("`gradcheck` fails", False, "It sees what torch made of it, which is right."),
            Choice("nobody notices", True, "torch sums it down to (4,) before anyone looks."),
        ),
    ),
    "tiny-slope": Question(
        prompt="log σ(x) has the slope 1 − σ(x), at x = 20 about 2e-9. What is `1 - torch.sigmoid(x)` "
        "there in float32?",
        choices=(
            Choice("2.06e-09", False, "`torch.sigmoid(-x)` is: it never comes near to 1."),
            Choice("0", True, "σ(20) has been rounded to 1 already, and 1 − 1 is 0."),
            Choice("NaN", False, "Nothing overflows here. Digits get lost, silently."),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="Swish",
    wrong="σ computed under no_grad, a constant for the second derivative",
    right="in terms of the recomputed output, y' = βy + s(1 - βy)",
    others=("the mean where the sum belongs", "beta missing in the gradient of x"),
    first=True,
)
