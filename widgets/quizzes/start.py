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
                "The visible checks pass; `check(Double, hidden=True)` runs everything.",
                True,
                "The visible checks are quick and few. The hidden ones try other shapes, memory, "
                "second derivatives and more; they are what is graded, and you may run them too.",
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
                "No set of tests shows that. And the report says how many checks have not run yet.",
            ),
        ),
    ),
)
