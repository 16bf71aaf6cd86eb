"""Two questions that the tests ask."""

from widgets.quiz_data import Choice, Question

HOW_MANY = Question(
    "How many values does `backward` return for `forward(ctx, x, scale)`?",
    (
        Choice("One", False, "A float needs `None` in its place."),
        Choice("Two", True, "One for each argument after `ctx`."),
        Choice("Three", False, "The node itself is no argument."),
    ),
)
WHAT_PRINTS = Question(
    "What does this print?",
    (
        Choice("`tensor([2.])`", True, "The derivative of x² is 2x."),
        Choice("`tensor([1.])`", False, "That is x² < 2x itself."),
    ),
    code="x = torch.ones(1, requires_grad=True)\nprint(torch.autograd.grad(x**2, x))",
)
QUESTIONS = (HOW_MANY, WHAT_PRINTS)
