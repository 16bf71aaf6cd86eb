"""Lesson 10: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "raw": Question(
        prompt="x is (3, 4), w is (4). The backward of x · w returns `grad_output * x` for w, of shape (3, 4). "
        "What happens in `y.sum().backward()`?",
        choices=(
            Choice("an error about the shape", False, "Only where w cannot be expanded to it."),
            Choice("w.grad has shape (3, 4)", False, "A gradient always gets its tensor's shape."),
            Choice(
                "w.grad has shape (4), and nothing is said",
                True,
                "torch adds up what was broadcast.",
            ),
        ),
    ),
    "square": Question(
        prompt="Case02 as admitted sums over the last dimension. x has 4 rows and 4 channels now, weight 4 "
        "entries. What comes?",
        choices=(
            Choice(
                "the same error as for 3 rows", False, "The shape fits: four sums, four places."
            ),
            Choice(
                "a wrong gradient, and no error", True, "Sums of rows stand where channels belong."
            ),
            Choice(
                "the right gradient", False, "It has one number a row, and needs one a channel."
            ),
        ),
    ),
    "anomaly": Question(
        prompt="`h = torch.exp(x)`, then Case04 writes to h, then backward fails. Which line does anomaly mode show?",
        choices=(
            Choice(
                "the one in Case04 that writes", False, "Nobody records who wrote; versions count."
            ),
            Choice("the one that calls exp", True, "That node's backward failed: it had saved h."),
            Choice("the one that calls backward", False, "That is in the ordinary traceback."),
        ),
    ),
    "expanded": Question(
        prompt="Case07 as admitted, max(x, 0)², at x = 1, −1, 2. The loss is `y.sum()`. What gradient comes?",
        choices=(
            Choice("2, 0, 4", False, "That would be right."),
            Choice("0, 0, 0", True, "A sum sends one number, expanded; it is set to 0 for all."),
            Choice("an error", False, "torch warns once that this is deprecated, and goes on."),
        ),
    ),
    "rounded": Question(
        prompt="Case08 makes its weights in float32. x is float64. What does gradcheck say?",
        choices=(
            Choice(
                "it fails: seven digits are too few", False, "It compares backward with forward."
            ),
            Choice("it passes", True, "Both use the same rounded weights, so they agree."),
            Choice("it refuses float32", False, "x is float64, and so is the output."),
        ),
    ),
    "hook": Question(
        prompt="Case10 with alpha = ½, three times with the same x; each time `y.sum()` is differentiated anew. "
        "Which gradients come?",
        choices=(
            Choice("½, ½, ½", False, "That would be right."),
            Choice("½, ¼, ⅛", True, "Each call adds a hook, and all of them see each gradient."),
            Choice("½, 1, 1½", False, "Gradients are not added up here: each is asked for anew."),
        ),
    ),
    "found": Question(
        prompt="How many of the twelve does plain gradcheck find, without a complaint about the repaired one?",
        choices=(
            Choice("two: those that stop", False, "It also compares numbers: four more are wrong."),
            Choice("six", True, "It asks one call, in one dtype, about one derivative."),
            Choice("ten", False, "It asks one call, in one dtype, about one derivative: six."),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="Case07",
    wrong="copies only what is not contiguous",
    right="masked_fill makes a new tensor",
    others=("no mask at all", "the 2 is missing", "masks by the sign of the upstream gradient"),
)
