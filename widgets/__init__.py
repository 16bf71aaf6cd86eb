"""What the lessons import to show things: figures with alternative text, and quizzes.

`widgets.quiz` is also the name of the function below, so import names from its module with
`from widgets.quiz import …`.
"""

from widgets.figure import palette, show
from widgets.quiz import quiz, quiz_answers

__all__ = ["palette", "quiz", "quiz_answers", "show"]
