"""Lesson 11: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "digits": Question(
        prompt="`torch.special.bessel_j0(x)` with x in float64. A float64 has 16 digits. How many of them are "
        "right at x = 5.01?",
        choices=(
            Choice("15 or 16", False, "So one would think. SciPy's are."),
            Choice("about 6", True, "In torch 2.13 a formula of few digits takes over beyond 5."),
            Choice("none: it raises an error", False, "It gives a number, and says nothing."),
        ),
    ),
    "at-zero": Question(
        prompt="y·eʸ = a, so eʸ = a / y, and the slope 1 / (eʸ (1 + y)) can be written y / (a (1 + y)). What does "
        "that give at a = 0?",
        choices=(
            Choice("1, which is right", False, "It would be the limit. A computer divides 0 by 0."),
            Choice("0", False, "The numerator is 0. The denominator is, too."),
            Choice("NaN", True, "0 / 0. The form with eʸ has no such place."),
        ),
    ),
    "where-it-began": Question(
        prompt="z ← tanh(W z + x), 60 times, with autograd through the loop. No step stretches a distance by more "
        "than a half. How large is the gradient for z0, where it began?",
        choices=(
            Choice(
                "as large as the one for x",
                False,
                "x enters in every step, z0 in the first one only.",
            ),
            Choice("0, exactly", False, "Of the solution it is. Sixty steps leave a trace."),
            Choice("below 1e-18", True, "At most (½)⁶⁰ of what arrives: the start is forgotten."),
        ),
    ),
    "estimate": Question(
        prompt="`gradcheck` of a gradient that is estimated at random, and right on average. What does it say?",
        choices=(
            Choice(
                "True: it is right on average",
                False,
                "gradcheck looks at one draw, not at the average.",
            ),
            Choice("it fails", True, "Two draws differ, and neither is the derivative."),
            Choice(
                "True or False, by luck",
                False,
                "Every element would have to be right to five digits.",
            ),
        ),
    ),
    "hook-sum": Question(
        prompt="x is used twice. From each use comes the gradient 0.8. A hook on x clips to ±1. What is `x.grad`?",
        choices=(
            Choice("1.6", False, "That would be so if each use were clipped by itself."),
            Choice("1.0", True, "A hook sees the sum of all uses, 1.6, and clips that."),
            Choice(
                "an error: two gradients for one hook",
                False,
                "They are added up before the hook runs.",
            ),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="LambertW",
    wrong="a copy of y is kept",
    right="a is kept, and the Function called again in backward",
    others=("eʸ is kept by forward", "y / (a (1 + y)), 0 / 0 at 0", "the product rule forgotten"),
    first=True,
)
