"""Lesson 04: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "which-learn": Question(
        prompt="`sign`, `round`, `floor` and `ceil`: through which of them does a gradient get, away from the jumps?",
        choices=(
            Choice(
                "`round`, `floor` and `ceil`: they follow x",
                False,
                "From afar they do. Backward asks for the slope at one point, and each step is flat.",
            ),
            Choice("none", True, "All four are flat between their jumps: slope 0, and no error."),
            Choice(
                "none: `backward` raises an error",
                False,
                "torch has a derivative for all four. It is 0, so nobody is told.",
            ),
        ),
    ),
    "round-settles": Question(
        prompt="Descent on `(round(x) - 2.4)²` with your `RoundSTE`, from x = 0. Where does x end up?",
        choices=(
            Choice("at 2.4", False, "There `round(x)` is 2, and its gradient still says: more."),
            Choice("it stops at 2", False, "At 2 the gradient is 2 (2 − 2.4) = −0.8, not 0."),
            Choice(
                "it swings around 2.5 for ever",
                True,
                "Below 2.5 it is pushed up, above 2.5 down. No value of `round(x)` has gradient 0.",
            ),
        ),
    ),
    "surrogate-checked": Question(
        prompt="What do `gradcheck` and `gradgradcheck` say to your `RoundSTE`?",
        choices=(
            Choice("both pass", False, "gradcheck wants the true derivative, 0. It gets 1."),
            Choice(
                "gradcheck fails, gradgradcheck passes",
                True,
                "The first compares backward with forward, which it contradicts on purpose. The "
                "second looks at backward alone.",
            ),
            Choice("both fail", False, "Backward is g ↦ g, and torch differentiates that rightly."),
        ),
    ),
    "beyond-the-end": Question(
        prompt="Steps of 0.5 from −2 to 1.5. Does a gradient pass at x = 1.7, beyond the last step?",
        choices=(
            Choice("no, 1.7 > 1.5", False, "1.7 rounds to 1.5 all the same; nothing is cut off."),
            Choice(
                "yes, 1.7 / 0.5 = 3.4 rounds to 3, the last step",
                True,
                "The mask looks at the rounded value. Half a step beyond an end still belongs to it.",
            ),
            Choice("half of it", False, "A mask lets all of a gradient through, or none of it."),
        ),
    ),
    "two-bits": Question(
        prompt="A network has 99.8 % of the test points right. Its weights are rounded to 2 bits, with one step "
        "size a matrix. How many are right then?",
        choices=(
            Choice("about 98 %", False, "8 and 4 bits cost next to nothing. Four levels do."),
            Choice(
                "about 75 %", True, "Four levels serve a whole matrix, whose rows differ in size."
            ),
            Choice("50 %, chance", False, "Not that bad: the largest weights keep their signs."),
        ),
    ),
    "exported": Question(
        prompt="A model with your `SignSTE` goes through `torch.compile` and through `torch.export`. Which one "
        "keeps your gradient?",
        choices=(
            Choice("both", False, "torch.export traces through forward, and finds a plain sign."),
            Choice("torch.compile alone", True, "Export keeps what forward does, and its zeros."),
            Choice("torch.export alone", False, "It is the other way round."),
            Choice("neither", False, "torch.compile traces backward as you wrote it."),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="LearnedScale",
    wrong="n counts every element though each channel has a scale",
    right="rows flattened, a sum for each, normalised first",
    others=(
        "the mask of FakeQuantize, of the rounded value",
        "the rounding error the other way round",
        "the ends are inside",
    ),
    first=True,
)
