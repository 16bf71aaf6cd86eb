"""Right answers are computed once and shared: they are the same, and nothing can change them."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from autograder import evaluate
from autograder.contract.plan import _Planner, make_plan
from autograder.contract.references import References, expect
from autograder.exercises import all_exercises, find
from autograder.observation.packing import to_bytes
from autograder.observation.source import Source
from autograder.reporting.verdict import Asked, verdict
from autograder.running.probe import answered, flow, probe
from tests.conftest import of_today
from tests.mistakes.gallery import answers
from tests.sigmoid_and_product import Sigmoid, sigmoid_with

JUDGED = ("run", "function", "second", "needs", "interleave", "mutate", "structure")


def same(a, b):
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-12, atol=0, equal_nan=True)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("name", of_today(sorted(all_exercises()), 3))
def test_what_is_shared_is_what_would_be_computed_alone(name):
    exercise = all_exercises()[name]
    references = References(exercise)
    for question in make_plan(exercise, 3, True, references=references):
        if question.kind not in JUDGED:
            continue
        shared, alone = references.expect(question), expect(exercise, question)
        assert same(shared.outputs, alone.outputs), question.id
        assert same(shared.gradients, alone.gradients), question.id
        assert same(shared.second, alone.second), question.id


def test_many_questions_share_one_run_of_the_reference():
    exercise, runs = all_exercises()["MyLinear"], []

    def counted(*args):
        runs.append(args)
        return exercise.reference(*args)

    counting = replace(exercise, reference=counted)
    references = References(counting)
    plan = make_plan(counting, 1, True, references=references)
    for question in plan:
        if question.kind in JUDGED:
            references.expect(question)
    different = {id(q.args) for q in plan if q.kind in JUDGED}
    # The second call in "interleave", a weight of −inf and of inf, more rows, tried and used, thousands of them, and sizes tried.
    other = 7
    assert len(runs) <= len(different) + other < len(plan)


def scribbling(ctx, g):
    """A backward that writes over everything it can reach, after computing the right gradient."""
    right = Sigmoid.backward(ctx, g).clone()
    for tensor in (g, *ctx.saved_tensors):
        tensor.data.fill_(7.0)
    return right


def test_questions_are_the_same_after_a_submission_that_writes_over_all_it_gets():
    asked = Asked.of(all_exercises()["MySigmoid"], 5, True)
    before = to_bytes(list(asked.questions))
    observation = probe(sigmoid_with(scribbling), asked.questions, {})
    assert not verdict(asked, asked.evidence(observation, Source())).passed
    assert to_bytes(list(asked.questions)) == before


@pytest.mark.parametrize("name", ["MySigmoid", "MyLinear", "Swish", "checkpoint_sequential"])
def test_one_plan_judges_many_submissions_as_evaluate_does_one(name):
    exercise = all_exercises()[name]
    scenarios = {s.name: s for s in exercise.scenarios}
    asked = Asked.of(exercise, 11, True)
    mine = [a for a in answers() if a.exercise == name]
    for answer in [mine[0], *of_today(mine[1:12], 3), mine[0]]:
        submission = answer.load()
        observation = probe(submission, asked.questions, scenarios)
        evidence = asked.evidence(
            observation, Source.of(submission),
            flow=lambda question, it=submission: flow(it, question, scenarios),
            answered=lambda question, instead, it=submission: answered(it, question, scenarios, instead),
        )  # fmt: skip
        together = verdict(asked, evidence)
        alone = evaluate(submission, exercise=name, seed=11)
        assert together.to_json() == alone.to_json(), answer.id


@pytest.mark.parametrize("name", of_today(sorted(all_exercises()), 3))
def test_the_arguments_of_questions_are_contiguous_as_they_arrive_in_the_box(name):
    for question in make_plan(all_exercises()[name], 3, True):
        for value in question.args:
            assert not isinstance(value, Tensor) or value.is_contiguous(), question.id


@pytest.mark.parametrize("name", sorted(all_exercises()))
def test_where_a_gradient_is_asked_for_something_arrives_from_above(name):
    exercise = all_exercises()[name]
    runs = [q for q in make_plan(exercise, 3, True) if q.kind == "run" and q.wants]
    assert [q.case for q in runs if all(g is None for g in q.upstream)] == []


def test_no_seed_follows_from_another():
    """Values a learner sees give one seed away at most: torch's generator has only 2³² states."""
    planners = [_Planner(find("MySigmoid"), seed, References(find("MySigmoid"))) for seed in (1, 2)]
    labels = ("case:0", "case:1", "g:0")
    first, second = ([p.own_seed(label) for label in labels] for p in planners)
    gaps = [b - a for a, b in zip(first, second, strict=True)]
    assert len({*first, *second}) == 6
    assert len(set(gaps)) == 3, (
        "the seeds of two batches differ by a constant: one gives all others away"
    )
