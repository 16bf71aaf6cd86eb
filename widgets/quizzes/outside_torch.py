"""Lesson 11: values from outside, equations, fixed points, estimates and hooks."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="A backward computes its slope with `scipy.special.j1(x.detach().numpy())` and multiplies it by "
        "`grad_output`. What about the second derivative?",
        choices=(
            Choice(
                "It is right: j1 is exact.",
                False,
                "The value is. Nobody knows how it depends on x.",
            ),
            Choice(
                "In a sum with other terms it is wrong, and nothing is said.",
                True,
                "The slope is a constant to torch. Put it into a Function of its own, or refuse.",
            ),
            Choice(
                "It raises an error in any case.", False, "Only where nothing else depends on x."
            ),
        ),
    ),
    Question(
        prompt="y solves F(y, a) = 0. What is dy/da?",
        choices=(
            Choice(
                "−(∂F/∂a) / (∂F/∂y)", True, "Along the solution F stays 0: F_y dy + F_a da = 0."
            ),
            Choice(
                "∂F/∂a", False, "That is how F moves, not how far y has to go to make up for it."
            ),
            Choice(
                "that depends on how it was solved", False, "A derivative belongs to the function."
            ),
        ),
    ),
    Question(
        prompt="x = A⁻¹ b, and g arrives. Which system does backward solve?",
        choices=(
            Choice(
                "A u = g",
                False,
                "That goes forward once more. Only for a symmetric A is it the same.",
            ),
            Choice(
                "Aᵀ u = g", True, "With the same factors: LU of A is LU of Aᵀ, read the other way."
            ),
            Choice(
                "none: it multiplies by A",
                False,
                "x depends on b by A⁻¹, and so does the gradient.",
            ),
        ),
    ),
    Question(
        prompt="A fixed point is found after 500 steps. How many tensors as large as z does an implicit backward "
        "need from forward?",
        choices=(
            Choice("500", False, "That is autograd through the loop."),
            Choice("√500, with checkpoints", False, "Lesson 06. Here it is even less."),
            Choice("1", True, "The solution. The way to it does not matter."),
        ),
    ),
    Question(
        prompt="An estimated gradient, 10 000 draws: mean 0.52, standard error 0.004. The exact gradient is 0.50. "
        "What do you conclude?",
        choices=(
            Choice(
                "Close enough.", False, "It is five standard errors away: no luck explains that."
            ),
            Choice(
                "The estimator is biased.",
                True,
                "An interval of ±2.6 standard errors leaves 0.50 out.",
            ),
            Choice("More draws will settle it.", False, "They bring it closer to 0.52."),
        ),
    ),
    Question(
        prompt="You want to see the size of the gradient at one layer, and change nothing. What do you write?",
        choices=(
            Choice(
                "a hook that returns nothing",
                True,
                "It sees each gradient and can be removed again.",
            ),
            Choice(
                "a Function with an identity forward", False, "It works, but stays in the model."
            ),
            Choice("a backward that prints", False, "That rewrites the layer's own derivative."),
        ),
    ),
)
