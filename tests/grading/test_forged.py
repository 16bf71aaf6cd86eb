"""Answers that were forged or damaged on their way never pass, and never stop the grader.

Each day with other questions of an exercise.
"""

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from autograder.exercises import all_exercises, find
from autograder.grading.judge import examination, judge
from autograder.observation.observation import Answer, Observation, Question
from autograder.observation.packing import Unreadable, from_bytes, to_bytes
from autograder.observation.source import Source
from autograder.running.probe import probe
from autograder.running.submission import kind_of
from tests.conftest import DAY
from tests.mistakes.gallery import answers

SEED = 5
# Functions, plain functions, a derivative of second order, and exercises of experiments only.
EXERCISES = ("MySigmoid", "Clip", "hvp", "saved_bytes", "save_in_bfloat16", "Softmax")
MORE = (*EXERCISES, "FirstOrderOnly", "gradient_penalty", "checkpoint_sequential", "Checkpoint")


@cache
def _observed(exercise: str, right: bool) -> Observation:
    answer = next(a for a in answers() if a.exercise == exercise and a.right == right)
    value = answer.load()
    asked = examination(exercise, SEED)
    seen = probe(value, list(asked.questions), {s.name: s for s in find(exercise).scenarios})
    seen.facts["kind"] = asdict(kind_of(value))
    return seen


def observed(exercise: str, right: bool = True) -> Observation:
    """A fresh copy of what the first right (or wrong) answer of the gallery gives."""
    return copy.deepcopy(_observed(exercise, right))


def some(questions: Iterable[Any]) -> list[Any]:
    """Those of the day."""
    found = list(questions)
    return random.Random(DAY).sample(found, min(len(found), 6))


def passes(exercise: str, given: Observation | bytes) -> bool:
    data = given if isinstance(given, bytes) else to_bytes(given)
    return judge(examination(exercise, SEED), data, Source()).passed


def changed(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Plain data with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(changed(v, change) for v in value)
    if isinstance(value, dict):
        return {k: changed(v, change) for k, v in value.items()}
    if isinstance(value, Answer):
        return Answer(**{f.name: changed(getattr(value, f.name), change) for f in fields(value)})
    return value


def nan(tensor: Tensor) -> Tensor:
    return torch.full_like(tensor, float("nan")) if tensor.is_floating_point() else tensor


@pytest.mark.parametrize("exercise", MORE)
def test_the_forging_starts_from_what_passes(exercise: str):
    assert passes(exercise, observed(exercise))
    assert not passes(exercise, observed(exercise, right=False))


@pytest.mark.parametrize("exercise", MORE)
def test_every_answer_is_needed(exercise: str):
    for id in some(observed(exercise).answers):
        forged = observed(exercise)
        del forged.answers[id]
        assert not passes(exercise, forged), id


@pytest.mark.parametrize("exercise", MORE)
def test_an_empty_answer_passes_nothing(exercise: str):
    assert not passes(exercise, Observation(facts=observed(exercise).facts))
    questions = examination(exercise, SEED).questions
    everywhere = observed(exercise)
    everywhere.answers = {q.id: Answer() for q in questions}
    assert not passes(exercise, everywhere)
    for question in some(questions):
        # What is seen from inside (bytes kept, a device without values) can only lower a score.
        if question.kind in ("structure", "large") or question.variant == "meta":
            continue
        forged = observed(exercise)
        forged.answers[question.id] = Answer(data={"passed": False})
        assert not passes(exercise, forged), question.id


@pytest.mark.parametrize("exercise", ["MySigmoid", "Clip", "hvp", "Softmax", "Checkpoint"])
def test_nan_passes_nothing(exercise: str):
    everywhere = observed(exercise)
    everywhere.answers = {id: changed(a, nan) for id, a in everywhere.answers.items()}
    assert not passes(exercise, everywhere)
    for question in some(examination(exercise, SEED).questions):
        if question.kind in ("run", "function", "second", "needs", "interleave"):
            forged = observed(exercise)
            answer = forged.answers[question.id]
            if answer.failure is not None:  # a second derivative may be refused
                continue
            shown = [*(answer.gradients or ()), *(answer.second or ()), *(answer.outputs or ())]
            finite = any(
                isinstance(t, Tensor) and t.numel() and t.is_floating_point() for t in shown
            )
            forged.answers[question.id] = changed(answer, nan)
            assert not (finite and passes(exercise, forged)), question.id


@pytest.mark.parametrize("exercise", ["MySigmoid", "Clip", "hvp", "Softmax", "Checkpoint"])
@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.unsqueeze(0),
        lambda t: t.flatten()[:0],
        lambda t: t.new_zeros(()),
        lambda t: None,
        lambda t: 1.0,
        lambda t: [t],
        lambda t: t.to(torch.float16) if t.is_floating_point() else t.to(torch.int8),
    ],
    ids=["more dimensions", "empty", "one number", "None", "a float", "a list", "half"],
)
def test_tensors_of_another_kind_pass_nothing(exercise: str, change: Callable[[Tensor], Any]):
    asked = (
        question
        for question in examination(exercise, SEED).questions
        if question.kind in ("run", "function")
        and question.variant == ""
        and question.role != "empty"
    )
    for question in some(asked):
        forged = observed(exercise)
        answer = forged.answers[question.id]
        answer.outputs = changed(answer.outputs, change)
        assert not passes(exercise, forged), question.id


@pytest.mark.parametrize("exercise", ["MySigmoid", "Clip", "hvp", "Softmax", "Checkpoint"])
def test_more_or_fewer_values_pass_nothing(exercise: str):
    for question in some(examination(exercise, SEED).questions):
        if question.kind not in ("run", "function") or question.variant == "meta":
            continue
        for give in (lambda t: (*t, *t), lambda t: t[:-1]):
            forged = observed(exercise)
            answer = forged.answers[question.id]
            answer.outputs = give(answer.outputs)
            answer.requires_grad = give(answer.requires_grad)
            assert not passes(exercise, forged), question.id
            if question.wants and any(u is not None for u in question.upstream):
                forged = observed(exercise)
                forged.answers[question.id].gradients = give(forged.answers[question.id].gradients)
                forged.answers[question.id].raw = None
                assert not passes(exercise, forged), question.id


# ---- experiments -----------------------------------------------------------------------------


def with_experiments() -> list[str]:
    return [name for name, exercise in all_exercises().items() if exercise.scenarios]


@pytest.mark.parametrize("exercise", with_experiments())
def test_the_reference_can_do_every_experiment(exercise: str):
    """Otherwise nobody would know what a forged experiment lacks."""
    asked = examination(exercise, SEED)
    assert all(asked.references.experiment(q) for q in asked.questions if q.kind == "scenario")


def containers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all lists, tuples and dicts in plain data."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            yield from containers(inner, (*path, key))
    elif isinstance(value, list | tuple):
        yield path
        for i, inner in enumerate(value):
            yield from containers(inner, (*path, i))


def without_inside(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy of plain data where the container at that path is empty."""
    if not path:
        return type(value)()
    if isinstance(value, dict):
        return {k: without_inside(v, path[1:]) if k == path[0] else v for k, v in value.items()}
    return type(value)(
        without_inside(v, path[1:]) if i == path[0] else v for i, v in enumerate(value)
    )


@pytest.mark.parametrize("exercise", with_experiments())
def test_an_experiment_without_outcomes_passes_nothing(exercise: str):
    """Several experiments may share what they measure, so it is taken from all of them."""
    data = {i: a.data for i, a in observed(exercise).answers.items() if i.startswith("scenario:")}
    paths = {path for found in data.values() for path in containers(found)}
    for path in sorted(paths, key=str):
        names = {p for p in path if isinstance(p, str)}
        forged, emptied = observed(exercise), False
        for id, found in data.items():
            if path in containers(found) and _at(found, path):
                forged.answers[id].data, emptied = without_inside(found, path), True
        if emptied and passes(exercise, forged):
            scenarios = find(exercise).scenarios
            assert names & {name for s in scenarios for name in s.free}, path


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def measured(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What stands in an experiment's data, with the names above it."""
    if isinstance(data, dict):
        for name, inner in data.items():
            yield from measured(inner, (*path, name))
    elif isinstance(data, list | tuple):
        for inner in data:
            yield from measured(inner, path)
    else:
        yield path, data


def is_said(value: Any) -> bool:
    """Whether it is more than that nothing was found."""
    if isinstance(value, Tensor):
        return bool(value.any())
    return isinstance(value, int | float | str) and not isinstance(value, bool) and bool(value)


@pytest.mark.parametrize("exercise", with_experiments())
def test_inputs_of_ones_own_choice_are_not_believed(exercise: str):
    """x = 0 makes every gradient easy: sin'(0) = 1."""
    forged, hard = observed(exercise), False
    for scenario in find(exercise).scenarios:
        answer = forged.answers[f"scenario:{scenario.name}"]
        hard |= any(
            isinstance(value, Tensor) and is_said(value) and not set(path) & {*scenario.free}
            for path, value in measured(answer.data)
        )
        answer.data = changed(answer.data, torch.zeros_like)
    assert not (hard and passes(exercise, forged))


def test_a_number_of_bytes_of_ones_own_choice_is_not_believed():
    forged = observed("saved_bytes")
    for answer in forged.answers.values():
        answer.outputs = answer.outputs and tuple(0 for _ in answer.outputs)
    assert not passes("saved_bytes", forged)


# ---- damage ----------------------------------------------------------------------------------

SWAPS: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**70, "", "x" * 50, [], {}, 1.5,
    float("nan"), float("inf"), {"Tensor": []}, {"Tensor": ["float64"]}, {"Tensor": ["float64", -1]},
    {"Tensor": ["float64", 2**30, 2**30]}, {"Tensor": [[], 1]}, {"Tensor": {}}, {"tuple": []}, {"tuple": {}},
    {"dict": {}}, {"dict": []}, {"dict": {"a": 1}, "tuple": []}, {"list": []}, {"bool": {}}, {"str": {}},
    {"Answer": {}}, {"Observation": {}}, {"Question": {}}, {"Failure": {"stage": 1}},
    {"Failure": {"stage": "forward", "kind": "x", "message": "y", "more": 1}}, {"exec": "1"},
)  # fmt: skip


def nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON tree."""
    found, queue = [], [tree]
    while queue:
        here = queue.pop()
        keys = here.keys() if isinstance(here, dict) else range(len(here))
        for key in keys:
            found.append((here, key))
            if isinstance(here[key], dict | list):
                queue.append(here[key])
    return found


def mutations(data: bytes, draw: random.Random, count: int) -> Iterator[bytes]:
    size = int.from_bytes(data[:8], "little")
    for i in range(count):
        if i % 4 == 0:  # a byte of the structure
            place = 8 + draw.randrange(size)
            yield data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]
        elif i % 4 == 1:  # a byte anywhere, the header of the tensors included
            place = draw.choice(
                [draw.randrange(8), draw.randrange(len(data)), 8 + size + draw.randrange(200)]
            )
            yield data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]
        elif i % 8 == 2:
            yield data[: draw.randrange(len(data))]
        else:  # another value at some place of the structure
            tree = json.loads(data[8 : 8 + size])
            here, key = draw.choice(nodes(tree))
            here[key] = draw.choice(SWAPS)
            text = json.dumps(tree).encode()
            yield len(text).to_bytes(8, "little") + text + data[8 + size :]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_damaged_answers_never_pass_and_never_raise(exercise: str):
    """From answers that do not pass: whatever happens to them, they still do not."""
    data = to_bytes(observed(exercise, right=False))
    for mutated in mutations(data, random.Random(f"{DAY} wrong"), 24):
        assert not passes(exercise, mutated)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_damage_to_right_answers_never_raises(exercise: str):
    data = to_bytes(observed(exercise))
    refused = 0
    for mutated in mutations(data, random.Random(f"{DAY} right"), 24):
        refused += not passes(exercise, mutated)
    assert refused > 6  # the damage is real


# ---- reading ---------------------------------------------------------------------------------


def answer_with(**given: Any) -> bytes:
    return to_bytes(Observation({"q": Answer(**given)}))


@pytest.mark.parametrize(
    "given",
    [
        {"outputs": [torch.ones(1)]},
        {"outputs": torch.ones(1)},
        {"single": 1},
        {"inputs_changed": (True,)},
        {"inputs_changed": (1.0,)},
        {"requires_grad": (1,)},
        {"gradients": (1.0,)},
        {"gradients": ("x",)},
        {"forward_ops": (1,)},
        {"forward_ops": "mul"},
        {"failure": "RuntimeError"},
        {"failure": {"stage": "forward"}},
        {"data": [1]},
        {"kept": ({"bytes": 0},)},
        {"upstream_changed": None},
        {"data": {"x": "y" * 30_000}},
        {"data": {"x": [0] * 30_000}},
        {"data": {"x": Answer()}},
    ],
    ids=lambda given: next(iter(given)),
)
def test_a_field_of_another_type_is_unreadable(given: dict[str, Any]):
    with pytest.raises(Unreadable):
        from_bytes(answer_with(**given))


def test_deep_nesting_is_unreadable():
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    with pytest.raises(Unreadable, match="deep"):
        from_bytes(answer_with(data={"x": deep}))


@pytest.mark.parametrize("single", [{"bool": {}}, {"int": {}}, {"list": {}}, {"dict": []}, {}])
def test_nothing_passes_for_another_kind(single: Any):
    text = to_bytes(Observation({"q": Answer(single=False)}))[8:].replace(b"false", json.dumps(single).encode())  # fmt: skip
    with pytest.raises(Unreadable):
        from_bytes(len(text).to_bytes(8, "little") + text)


@pytest.mark.parametrize("value", [1, None, {"answers": {}}, Answer(), [Observation()]])
def test_only_what_is_expected_is_read(value: Any):
    with pytest.raises(Unreadable):
        from_bytes(to_bytes(value), expect=Observation)


@pytest.mark.parametrize("facts", [{"printed": 1}, {"changed": "x"}, {"interrupted": 0}])
def test_facts_of_another_type_are_unreadable(facts: dict[str, Any]):
    with pytest.raises(Unreadable):
        from_bytes(to_bytes(Observation(facts=facts)), expect=Observation)


def test_every_plan_and_every_observation_can_be_read():
    for name in all_exercises():
        asked = examination(name, SEED)
        back = from_bytes(to_bytes(list(asked.questions)), expect=list[Question])
        assert [q.id for q in back] == [q.id for q in asked.questions]
