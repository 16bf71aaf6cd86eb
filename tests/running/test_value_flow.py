"""Where a value was made: in the code that was asked, never in that of who asks, which may be in the same file."""

import torch

from autograder.observation.observation import Answer, Question
from autograder.observation.syntax import code_at
from autograder.running.probe import answered
from autograder.running.value_flow import Replaced, Tried, flow_of

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


def test_another_expression_is_computed_where_one_stands():
    value = made()
    tried = Tried(value, value.spans[0], {"k": 3}, lambda names: [(sorted(names), "x * k")])
    assert answered(doubled, QUESTION, {}, tried).outputs[0].equal(2 * X)
    ((names, text, numbers),) = tried.found
    assert (names, text) == (["k", "x"], "x * k")
    assert numbers.equal(3 * X)


def test_inside_a_function_in_cpp_the_shape_stays():
    """With fewer dimensions in the place of its first step, repeat_interleave writes past its memory."""

    def repeated(x):
        return x.repeat_interleave(2, -1) + 1

    def run(answer: Answer) -> None:
        answer.outputs = (repeated(X),)

    values = flow_of(run, QUESTION, frozenset({__file__})).values
    (step,) = (value for value in values if value.op == "unsqueeze")
    assert step.operation.inside
    other = answered(repeated, QUESTION, {}, Replaced(step, 5 * step.numbers))
    assert other.outputs[0].equal(5 * X.repeat_interleave(2, -1) + 1)
    flat = answered(repeated, QUESTION, {}, Replaced(step, 5 * step.numbers.reshape(-1)))
    assert flat.outputs[0].equal(repeated(X))
