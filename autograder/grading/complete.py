"""Whether a passing set of answers answers everything, with inputs that were really given.

Rules look for mistakes. A forged observation could have none because it has nothing: answers without
outputs, an experiment without outcomes, inputs of its own choice. Here the deciding process lays its
own inputs under each experiment's data, and asks of what passes that nothing is missing.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from autograder.exercise import Exercise
from autograder.expected import References
from autograder.observation import Answer, Observation, Question
from autograder.probe import probe
from autograder.verdict import Asked

# Entries of an experiment's data that the experiment makes itself, whatever the submission does.
GIVEN = frozenset({
    "x", "w", "weight", "scale", "frozen", "g", "g1", "g2", "weights", "tensors", "zeros", "n", "m",
    "unknowns", "full", "plain", "sizes", "elements", "one", "count", "segments", "loss",
    "how",
})  # fmt: skip
# Entries whose length is the submission's own affair.
FREE = frozenset({"names", "masks", "kept", "left"})
# Questions that a right answer may refuse with an error: other rules say whether it has to.
_SECOND = ("refused", "right-or-refused")


_known: WeakKeyDictionary[References, dict[str, dict[str, Any]]] = WeakKeyDictionary()


def experiments(asked: Asked) -> dict[str, dict[str, Any]]:
    """The data of every experiment of an exercise, as its own reference gives it, by question id.

    They run once for an examination, however many submissions are judged by it.
    """
    exercise, known = asked.exercise, _known.setdefault(asked.references, {})
    questions = [q for q in asked.questions if q.kind == "scenario" and q.id not in known]
    if questions:
        seen = probe(exercise.reference, questions, {s.name: s for s in exercise.scenarios})
        known |= {id: a.data for id, a in seen.answers.items() if a.failure is None}
    return known


def put_back(asked: Asked, observation: Observation) -> None:
    """Put the experiments' own inputs in place of what the observation says they were."""
    for id, data in experiments(asked).items():
        answer = observation.answers.get(id)
        if answer is not None and answer.failure is None:
            _put_back(answer.data, data)


def _put_back(data: Any, trusted: Any) -> None:
    if isinstance(trusted, dict) and isinstance(data, dict):
        for name, value in trusted.items():
            if name in data and name in GIVEN:
                data[name] = copy.deepcopy(value)  # a judge may ask for gradients on it
            elif name in data:
                _put_back(data[name], value)
    elif isinstance(trusted, list | tuple) and isinstance(data, list | tuple):
        for inner, value in zip(data, trusted, strict=False):
            _put_back(inner, value)


def missing(asked: Asked, observation: Observation) -> str:
    """What is missing in answers in which no rule found a mistake; "" where they are complete."""
    trusted = experiments(asked)
    for question in asked.questions:
        answer = observation.answers.get(question.id)
        if answer is None:
            return f"{question.id} was not answered"
        lack = _lack(question, answer, asked.exercise, asked.references)
        if not lack and question.id in trusted:
            lack = _shorter(answer.data, trusted[question.id], "data")
        if lack:
            return f"{question.id}: {lack}"
    return ""


def _lack(question: Question, answer: Answer, exercise: Exercise, references: References) -> str:
    kind = question.kind
    if kind == "refusal":
        return "" if answer.failure is not None else "nothing was refused"
    if answer.failure is not None:
        refused = kind == "second" and exercise.second_order in _SECOND
        fine = kind == "mutate" or refused or question.variant == "meta"
        return "" if fine else f"it stopped with {answer.failure.kind[:80]}"
    if kind == "gradcheck":
        return "" if answer.data.get("passed") is True else "gradcheck did not pass"
    if kind == "scenario":
        return "" if answer.data else "nothing was measured"
    if kind == "structure":
        return ""
    if question.variant == "meta":  # values were left out
        return ""
    return _outputs_lack(question, answer, exercise, references) or _gradients_lack(
        question, answer, references
    )


def _outputs_lack(
    question: Question, answer: Answer, exercise: Exercise, references: References
) -> str:
    if answer.outputs is None:
        return "there is no output"
    if len(answer.requires_grad) != len(answer.outputs):
        return "nothing is known of the outputs' graph"
    if not exercise.is_function and question.wants and not answer.custom:
        return "no backward of a Function was seen"
    right = references.expect(question).outputs
    if len(right) != len(answer.outputs):
        return f"{len(answer.outputs)} outputs in place of {len(right)}"
    for i, (output, expected) in enumerate(zip(answer.outputs, right, strict=True)):
        if not isinstance(expected, Tensor):
            continue
        if not isinstance(output, Tensor) or output.shape != expected.shape:
            return f"output {i} is not of the shape {tuple(expected.shape)}"
    return ""


def _gradients_lack(question: Question, answer: Answer, references: References) -> str:
    if question.wants and any(u is not None for u in question.upstream):
        shapes = [question.args[position].shape for position in question.wants]
        if lack := _not_of_shapes(answer.gradients, shapes):
            return f"the gradients {lack}"
    if question.kind != "second":
        return ""
    right = references.expect(question).second or ()
    lack = _not_of_shapes(answer.second, [None if r is None else r.shape for r in right])
    return f"the second derivatives {lack}" if lack else ""


def _not_of_shapes(
    found: tuple[Tensor | None, ...] | None, shapes: Sequence[torch.Size | None]
) -> str:
    """None stands for zeros in what was found, and for any shape in what is asked for."""
    if found is None or len(found) != len(shapes):
        return "are missing"
    for tensor, shape in zip(found, shapes, strict=True):
        if tensor is not None and shape is not None and tensor.shape != shape:
            return f"have the shape {tuple(tensor.shape)} in place of {tuple(shape)}"
    return ""


def _shorter(data: Any, trusted: Any, where: str) -> str:
    """Where an experiment's data has less in it than the reference's."""
    if isinstance(trusted, dict):
        if not isinstance(data, dict):
            return f"{where} is no dict"
        for name, value in trusted.items():
            if name not in data:
                return f"{where} has no {name!r}"
            if name in ("found", "value") and data.get("refused") is True:
                continue
            if name not in FREE and (lack := _shorter(data[name], value, f"{where}[{name!r}]")):
                return lack
    elif isinstance(trusted, list | tuple):
        if not isinstance(data, list | tuple) or len(data) < len(trusted):
            return f"{where} has fewer than {len(trusted)} entries"
        for i, (inner, value) in enumerate(zip(data, trusted, strict=False)):
            if lack := _shorter(inner, value, f"{where}[{i}]"):
                return lack
    return ""
