"""Lesson 01: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "round": Question(
        prompt="What stands in `x.grad` after this?",
        code="x = torch.linspace(-2, 2, 5, requires_grad=True)\ntorch.round(x).sum().backward()",
        choices=(
            Choice("1", False, "One may wish for it: lesson 04 gives `round` such a gradient."),
            Choice("0", True, "`round` is flat between its steps. Nothing in front of it learns."),
            Choice("an error", False, "torch knows the derivative of `round`; it is of no use."),
        ),
    ),
    "believed": Question(
        prompt="Somebody's Function computes 2x, and its backward multiplies by 100. What does "
        "torch do with that?",
        choices=(
            Choice("an error", False, "Nothing compares backward with forward."),
            Choice("it passes on 2", False, "With `apply` autograd does not look inside forward."),
            Choice("it passes on 100", True, "torch believes you. You will need a witness."),
        ),
    ),
    "edited": Question(
        prompt="Two Functions keep their output: one by `save_for_backward`, one as `ctx.y`. Then "
        "somebody adds 10 to the output in place. What does backward of the second one do?",
        choices=(
            Choice("an error", False, "That is the first one: a saved tensor knows its version."),
            Choice("the right gradient", False, "`ctx.y` is the output itself, and that changed."),
            Choice("silently wrong", True, "Nobody watches an attribute."),
        ),
    ),
    "forgotten-return": Question(
        prompt="A backward for one input computes its gradient, and forgets to return it. Then?",
        choices=(
            Choice("an error", False, "Returning nothing is returning `None`: no gradient."),
            Choice("`x.grad` is `None`", True, "For torch that input just has no gradient."),
            Choice("`x.grad` is 0", False, "A missing gradient stays missing: there is no zero."),
        ),
    ),
    "residual": Question(
        prompt="f(h) = 2h, and its backward says `grad_output *= 2; return grad_output`. The "
        "gradient of f(h) + h should be 3. What is it?",
        choices=(
            Choice("3", False, "Right in a chain. Here the other branch gets the same tensor."),
            Choice("4", True, "The doubled tensor also goes to the other branch: 2 + 2."),
            Choice("an error", False, "That comes only where `grad_output` has strides of 0."),
        ),
    ),
    "small-step": Question(
        prompt="The slope of eˣ by a central difference in float64: which step gives most digits?",
        choices=(
            Choice("0.01", False, "The curve bends too much within such a step."),
            Choice("0.000001", True, "Near it, bending and rounding are both small."),
            Choice("0.000000000001", False, "Two nearly equal numbers are subtracted."),
        ),
    ),
    "near-a-kink": Question(
        prompt="How near to its kink at 0 does `gradcheck` call `torch.relu` wrong?",
        choices=(
            Choice("nearer than 0.001", False, "That is its relative tolerance, not its step."),
            Choice(
                "nearer than 0.000001", True, "Only a step of 1e-6 that crosses 0 sees both sides."
            ),
            Choice("never: it is right", False, "Its gradient is; the numerical slope is not."),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="MyReLU",
    wrong="writes to grad_output under another name",
    right="a copy of grad_output, edited",
    others=("lets the gradient pass at 0", "the mask the wrong way round"),
)
