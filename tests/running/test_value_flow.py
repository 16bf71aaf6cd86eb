"""Where a value was made: in the code that was asked, never in that of who asks, which may be in the same file."""

import torch

from autograder.observation.observation import Answer, Question
from autograder.observation.syntax import code_at
from autograder.running.probe import answered
from autograder.running.value_flow import Rewritten, flow_of

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
QUESTION = Question("run:0", "function", "a vector", args=(X,))


def doubled(x):
    return x * 2


def flow():
    def run(answer: Answer) -> None:
        answer.outputs = (doubled(X),)

    return flow_of(run, QUESTION, frozenset({__file__}))


def made():
    return flow().results["output", 0].given[0]


def test_the_expressions_that_gave_a_value_end_where_somebody_asked():
    assert [code_at(span) for span in made().spans] == ["x * 2", "doubled(X)"]


def test_another_expression_takes_the_place_of_one_inside_the_answer():
    value = made()
    other = Rewritten(value, value.spans[0], {}, "x * 3")
    assert answered(doubled, QUESTION, {}, other).outputs[0].equal(3 * X)
