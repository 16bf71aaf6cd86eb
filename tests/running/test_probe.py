"""What exercises' own experiments and function exercises rely on in the probe."""

import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.contract.exercise import Case, Exercise, Scenario
from autograder.exercises import find
from autograder.observation.observation import Question
from autograder.running.probe import probe
from autograder.running.watching import Storages
from tests.mistakes.gallery import load

HINTS = ("a", "b", "c")


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


def _kept(submission, s):
    x = s.normal(50).requires_grad_(True)
    with Storages() as storages:
        y = submission(x)
        return {"kept": storages.alive(x, y)}


def test_recording_adds_nothing_to_what_a_scenario_measures():
    scenario = Scenario("kept", "saves-too-much", _kept, lambda data: None)
    question = Question("scenario:kept", "scenario", more={"name": "kept", "seed": 1})
    answer = probe(Double, [question], {"kept": scenario}).answers["scenario:kept"]
    assert answer.data == {"kept": 0}


class Swapped(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3, None


def test_a_function_is_not_judged_by_the_arguments_of_a_function_that_it_applies():
    def times_three(nothing, x):
        return Swapped.apply(x, 3.0)

    question = Question(
        "run:0", "function", args=(None, torch.ones(2)), wants=(1,), upstream=(torch.ones(2),)
    )
    answer = probe(times_three, [question], {}).answers["run:0"]
    assert answer.raw is None
    assert torch.equal(answer.gradients[0], torch.full((2,), 3.0))


def test_arguments_after_a_star_have_names_of_their_own():
    case = Case("any", lambda s: ())
    plain = Exercise("P", "", "(x, dim)", abs, (case,), HINTS)
    starred = Exercise("S", "", "(fn, *args)", abs, (case,), HINTS)
    assert [plain.argument(i) for i in range(3)] == ["x", "dim", "argument 3"]
    assert [starred.argument(i) for i in range(3)] == ["fn", "args[0]", "args[1]"]
    assert find("Checkpoint").argument(2) == "args[1]"


UNFINISHED = """
class Checkpoint(Function):
    @staticmethod
    def forward(ctx, fn, *args):
        raise NotImplementedError()


def checkpoint_sequential(layers, segments, x):
    return Checkpoint.apply(lambda h: h, x)
"""


def test_a_function_built_on_an_unfinished_exercise_says_which_comes_first():
    answer = load(UNFINISHED, "checkpoint_sequential")
    report = evaluate(answer, exercise="checkpoint_sequential", seed=1)
    assert report.findings[0].rule == "raises"
    assert report.findings[0].cause == "start/earlier"
    assert not report.findings[0].evidence.get("not_started")
