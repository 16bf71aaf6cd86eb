"""Start page: how the course works."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        "Your check fails. Where do you look first?",
        (
            Choice(
                "At the last line of the report",
                False,
                "The last lines say what works already and how to repeat the check. The cause "
                "stands at the top.",
            ),
            Choice(
                "At the first line of the report",
                True,
                "It names the root cause. The lines under it show the measurements, and what only "
                "follows from the cause is left out.",
            ),
            Choice(
                "In the solutions",
                False,
                "They are there when you want them. But the report and three hints an exercise "
                "come first: finding it yourself is what stays.",
            ),
        ),
    ),
    Question(
        "`check(Double)` passes. What do you know?",
        (
            Choice(
                "Every promise of the contract was kept, for the inputs that were tried.",
                True,
                "The report has a line for each promise. `check(Double, hidden=True)`, which is "
                "graded, asks for the same promises with other numbers; you may run it too.",
            ),
            Choice(
                "Nothing: the checks use random numbers.",
                False,
                "The inputs are random so that nobody can learn them by heart. What is checked is "
                "the same every time.",
            ),
            Choice(
                "The Function is right for every input.",
                False,
                "No set of tests shows that. What a check can show is that a promise is broken.",
            ),
        ),
    ),
)
