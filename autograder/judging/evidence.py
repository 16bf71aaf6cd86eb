"""What the rules look at: questions, answers and right answers side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from autograder.contract.drawing import DTYPES
from autograder.contract.exercise import Exercise, Strictness
from autograder.contract.references import Expected, References
from autograder.observation.compare import TOLERANCE, alike, close, coarse_dtype, real
from autograder.observation.observation import Answer, Observation, Question
from autograder.observation.source import Source


@dataclass
class Pair:
    """One question with the answer that came and the answer that is right.

    Where forward draws at random, the question is that for what this answer drew.

    references  where the right answer comes from; None for a question that has no such thing
    usual       the question about the same arguments whose upstream gradient is random: how large gradients are
    known       what is wrong with it, near or far out, once somebody asked
    """

    question: Question
    answer: Answer
    references: References | None = None
    usual: Question | None = None
    known: dict[Any, list[Any]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.references is not None and self.references.exercise.drawn is not None:
            self.question = self.references.as_drawn(self.question, self.answer.outputs)

    def other(self, gradients: Sequence[Any], outputs: Sequence[Any] = (), **asked: Any) -> Pair:
        """Other gradients for the same question, or for one with these fields; the outputs are the same where none are given."""
        answer = Answer(tuple(outputs) or self.answer.outputs, gradients=tuple(gradients))
        return Pair(replace(self.question, **asked), answer, self.references)

    @cached_property
    def expected(self) -> Expected:
        """The right answer, computed when a rule first looks at it: many rules need not.

        Where several numbers are right, since they were measured or somebody allows more, the one that
        the answer gives is among them: every rule then compares as it does with exact numbers.
        """
        if self.references is None:
            return Expected((), True)
        found, strictness = (
            self.references.expect(self.question),
            self.references.exercise.strictness,
        )
        if not strictness.as_given:
            return found
        # What a number may be off by is said for an ordinary upstream gradient.
        atol = strictness.atol * self.question.more.get("times", 1)
        return _allowing(found, self.answer, replace(strictness, atol=atol), self._usual())

    def _usual(self) -> dict[int, float]:
        """How large the gradients that are wanted usually are: those of a sum may all be 0."""
        if self.usual is None or self.references is None or not self.question.variant:
            return {}
        found = self.references.expect(self.usual).gradients or ()
        places = dict(zip(self.usual.wants, found, strict=False))
        return {
            k: _largest(g)
            for k, i in enumerate(self.question.wants)
            if (g := places.get(i)) is not None
        }

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that the question asks in, to the tolerance of which the answer is judged."""
        return DTYPES.get(self.question.variant, torch.float64)

    @property
    def where(self) -> str:
        """The case in the learner's words, with the variant where there is one."""
        return self.question.case

    def raw(self, position: int) -> Any:
        """What the learner's backward returned for an argument, before torch repairs it.

        Falls back to the gradient that reached the leaf when backward was not seen directly, where what
        torch repairs is not judged here, and where one leaf is two arguments.
        """
        given = self.references is not None and self.references.exercise.strictness.as_given
        summed = given or "same" in self.question.more
        reached, raw = self.reached(position), self.answer.raw or ()
        if (summed and reached is not None) or position >= len(raw):
            return reached
        return raw[position]

    def reached(self, position: int) -> Tensor | None:
        """The gradient that reached the leaf (after torch summed and cast it)."""
        if self.answer.gradients is None or position not in self.question.wants:
            return None
        return self.answer.gradients[self.question.wants.index(position)]

    def agrees(self, position: int) -> bool:
        """Whether the gradient that reached the leaf is right."""
        got, right = self.reached(position), self.right(position)
        if right is None or got is None:
            return right is None or not bool(right.any())
        return close(got, right, self.dtype)

    @property
    def all_agree(self) -> bool:
        return all(map(self.agrees, self.question.wants))

    def right(self, position: int) -> Tensor | None:
        """The right gradient for an argument; zeros where the reference does not depend on it."""
        if self.expected.gradients is None or position not in self.question.wants:
            return None
        gradient = self.expected.gradients[self.question.wants.index(position)]
        if gradient is None:
            gradient = torch.zeros_like(self.question.args[position], dtype=torch.float64)
        return gradient


@dataclass(eq=False)
class Evidence:
    """All pairs of one evaluation.

    questions   by id, in the order in which they were asked
    references  where right answers to these questions may be remembered already
    watched     asks how the answer to a question came about, operation by operation; None where nothing can run again
    answered    asks what is answered with other numbers in the place of one operation's; None likewise
    """

    exercise: Exercise
    questions: dict[str, Question]
    observation: Observation
    source: Source
    references: References
    watched: Callable[[Question], Any] | None = None
    answered: Callable[..., Answer] | None = None
    _pairs: dict[str, Pair] = field(default_factory=dict, init=False)
    _flows: dict[str, Any] = field(default_factory=dict, init=False)
    _chosen: dict[tuple[Any, ...], list[str]] = field(default_factory=dict, init=False)

    def pair(self, id: str) -> Pair:
        """The pair of one question that was answered."""
        if id not in self._pairs:
            question = self.questions[id]
            has_reference = question.kind not in ("refusal", "scenario", "gradcheck")
            asked = self.questions.values() if self.exercise.strictness.as_given else ()
            usual = (q for q in asked if q.args is question.args and not q.variant and q.kind == question.kind == "run")  # fmt: skip
            references = self.references if has_reference else None
            answer = self.observation.answers[id]
            self._pairs[id] = Pair(question, answer, references, next(usual, None))
        return self._pairs[id]

    def pairs(self, *kinds: str, **like: Any) -> Iterator[Pair]:
        """The answered pairs of the given kinds, in the order they were asked.

        like  what a field of the question, or an entry of its ``more``, has to be; of several values (a tuple) one
        """
        chosen = kinds, *like.items()
        if chosen not in self._chosen:
            asked = [q for q in self.questions.values() if not kinds or q.kind in kinds]
            for name, value in like.items():
                values = value if isinstance(value, tuple) else (value,)
                asked = [q for q in asked if q.more.get(name, getattr(q, name, None)) in values]
            self._chosen[chosen] = [q.id for q in asked if q.id in self.observation.answers]
        return map(self.pair, self._chosen[chosen])

    def flow(self, question: Question) -> Any:
        """How the answer to a question came about: one run for all who ask; None where nothing can run again."""
        if question.id not in self._flows and self.watched is not None:
            self._flows[question.id] = self.watched(question)
        return self._flows.get(question.id)

    @cached_property
    def plain(self) -> list[Pair]:
        """The runs that the first rules look at: main cases, float64, contiguous."""
        return list(self.pairs("run", "function", role="main", variant=""))

    def advice(self, case: Any) -> str:
        """What the exercise itself advises who fails in the case of this name; often nothing."""
        return next((c.advice for c in self.exercise.cases if c.name == case), "")

    def argument(self, position: int) -> str:
        return self.exercise.argument(position)


def _allowing(
    expected: Expected, answer: Answer, strictness: Strictness, usual: dict[int, float]
) -> Expected:
    """The right answer with the numbers of an answer in place of those that they may stand for.

    usual  how large gradients usually are, by their place
    """

    def allowed(
        given: Sequence[Any] | None, right: Sequence[Any], errors: Sequence[Any] = (), sizes: Sequence[Any] = (),
        usual: dict[int, float] = {},  # noqa: B006
    ) -> tuple[Any, ...]:  # fmt: skip
        each = zip_longest(right, given or (), errors, sizes)
        return tuple(
            nearest(mine, wanted, error, strictness, usual.get(i, 0.0), size)
            for i, (wanted, mine, error, size) in enumerate([*each][: len(right)])
        )

    found = replace(
        expected, outputs=allowed(answer.outputs, expected.outputs, expected.output_errors)
    )
    if expected.gradients is not None:
        found.gradients = allowed(answer.gradients, expected.gradients, expected.errors, expected.sizes, usual)  # fmt: skip
    if expected.second is not None:
        found.second = allowed(answer.second, expected.second, expected.second_errors)
    return found


def _largest(numbers: Tensor) -> float:
    return float(real(numbers).abs().nan_to_num(posinf=0.0).max()) if numbers.numel() else 0.0


def nearest(
    given: Any, right: Any, error: Tensor | None, strictness: Strictness, usual: float,
    size: Tensor | None = None,
) -> Any:  # fmt: skip
    """The right numbers, with those of an answer in the place of each that it may stand for.

    usual  how large the largest number usually is
    size   how large the numbers are that each is a sum of
    """
    if not isinstance(right, Tensor) or not (right.is_floating_point() or right.is_complex()):
        return right
    if given is None and error is not None:
        given = torch.zeros_like(right)
    if not alike(given, right) or given.is_complex() != right.is_complex():
        return right
    coarse = coarse_dtype(given) if given.dtype == right.dtype else None
    if (
        error is None
        and coarse is None
        and not (strictness.atol or strictness.rtol or strictness.of_largest)
    ):
        return right
    size = (right if size is None else size).abs().to(torch.float64)
    allowed = strictness.atol + strictness.rtol * size + strictness.of_largest * _largest(right)
    if error is not None:
        allowed = allowed + error
    if coarse is not None:
        relative, absolute = TOLERANCE[coarse]
        allowed = allowed + relative * size + absolute * max(_largest(right), usual)
    exact = given.to(right.dtype)
    inside = (exact - right).abs() <= allowed
    if error is not None:  # nobody knows: a place that was not reached, or next to nan
        inside |= torch.isinf(error) & torch.isfinite(exact) | torch.isnan(error)
    return torch.where(inside, exact, right)
