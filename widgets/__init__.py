"""What the lessons import to show things: figures with alternative text, quizzes, live widgets.

`widgets.quiz` and `widgets.xray` are also the names of functions below, so import names from their
modules with `from widgets.quiz import …`.
"""

from widgets import figures
from widgets.attempt import attempt
from widgets.attention import attention_map
from widgets.builder import function_builder
from widgets.figure import palette, show
from widgets.flow import Operation, default_operations, gradient_flow
from widgets.jacobian import jacobian_map
from widgets.ledger import saved_ledger
from widgets.memory import memory_timeline
from widgets.patients import patients
from widgets.prediction import outcome, predict
from widgets.quiz import quiz, quiz_answers
from widgets.ste import ste_explorer
from widgets.suspects import suspects, verdict
from widgets.xray import xray

__all__ = [
    "Operation",
    "attempt",
    "attention_map",
    "default_operations",
    "figures",
    "function_builder",
    "gradient_flow",
    "jacobian_map",
    "memory_timeline",
    "outcome",
    "palette",
    "patients",
    "predict",
    "quiz",
    "quiz_answers",
    "saved_ledger",
    "show",
    "ste_explorer",
    "suspects",
    "verdict",
    "xray",
]
