"""Whether a submission with an edit answers right: one question first, all of them where that one is.

What is tried is bounded by counts, never by seconds: the same submission gets the same words on a busy
machine. A submission that works more for each answer is tried less often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from autograder.contract.exercise import Exercise
from autograder.contract.references import References
from autograder.explaining.edits.rebuilt import Original
from autograder.explaining.edits.tree_edits import Edit
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.judging.rules import judge
from autograder.observation.observation import Observation, Question
from autograder.observation.source import Source
from autograder.running.probe import answered, probe
from autograder.running.watching import counted

MOST_TRIED = 400  # edits put to one question, of a submission that works as little as most do
MOST_JUDGED = 40  # of those whose numbers are right there, judged as well
MOST_COMPLETE = 8  # of those that hold there, put to all questions
_USUAL_WORK = 60  # operations for one answer, and what making the class once more costs in such
_NUMBERS = ("run", "function", "second")


class Check(Protocol):
    """What is asked in one check of a submission."""

    @property
    def exercise(self) -> Exercise: ...
    @property
    def questions(self) -> tuple[Question, ...]: ...
    @property
    def references(self) -> References: ...


@dataclass
class Trials:
    """Puts the submission, as its tree says at the moment, to the questions of a check.

    witness  a question that shows the fault by itself
    numbers  a question whose numbers are compared first, since that is quick; None for no such
    """

    original: Original
    check: Check
    witness: Question
    numbers: Question | None = None
    tried: int = MOST_TRIED
    judged: int = MOST_JUDGED
    complete: int = MOST_COMPLETE

    @classmethod
    def of(
        cls, submission: Any, check: Check, observation: Observation, finding: Finding
    ) -> Trials | None:
        """None where there is no source, or no question that shows the fault alone."""
        original = Original.of(submission)
        if original is None:
            return None
        witness = _witness(check, observation, Source.of(submission), finding)
        if witness is None:
            return None
        trials = cls(original, check, witness)
        trials.numbers = trials._compared_first()
        work = trials._work()
        trials.tried = max(20, int(MOST_TRIED * 2 * _USUAL_WORK / (_USUAL_WORK + work)))
        trials.tried = min(trials.tried, MOST_TRIED)
        trials.judged = max(6, min(MOST_JUDGED, MOST_JUDGED * trials.tried // MOST_TRIED))
        trials.complete = max(3, min(MOST_COMPLETE, MOST_COMPLETE * trials.tried // MOST_TRIED))
        return trials

    @property
    def spent(self) -> bool:
        """Whether nothing more may be tried."""
        return min(self.tried, self.judged, self.complete) <= 0

    def passes(self, edit: Edit) -> bool:
        """Whether every question is answered right with an edit."""
        with edit.done():
            changed = self.original.built()
            if changed is None:
                return False
            self.tried -= 1
            if self.numbers is not None and not self._right_numbers(changed, self.numbers):
                return False
            self.judged -= 1
            if not self._holds(changed, [self.witness]):
                return False
            self.complete -= 1
            if self.numbers is not None:  # there is no need to find out why a number is wrong
                numbers = [q for q in self.check.questions if _of_numbers(q) and not q.variant]
                if not all(self._right_numbers(changed, q) for q in numbers):
                    return False
            return self._holds(changed, self.check.questions)

    def _right_numbers(self, changed: Any, question: Question) -> bool:
        self.original.rounds.start(1)
        answer = answered(changed, question, self._scenarios)
        if answer.failure is not None:
            return False
        pair = Pair(question, answer, self.check.references)
        return not wrong_parts(pair, right_parts(pair))

    def _holds(self, changed: Any, questions: Sequence[Question]) -> bool:
        self.original.rounds.start(len(questions))
        observation = probe(changed, questions, self._scenarios)
        if observation.facts["interrupted"]:  # what was stopped has failed as well
            raise KeyboardInterrupt
        return not _judged(self.check, questions, observation, self.original.source())

    @property
    def _scenarios(self) -> dict[str, Any]:
        return {s.name: s for s in self.check.exercise.scenarios}

    def _compared_first(self) -> Question | None:
        """The witness, where it is about numbers; else one that the submission answers right."""
        if self.witness.kind in _NUMBERS and not self._right_numbers(
            self.original.built(), self.witness
        ):
            return self.witness
        main = [q for q in self.check.questions if _of_numbers(q) and not q.variant][:1]
        return next((q for q in main if self._right_numbers(self.original.built(), q)), None)

    def _work(self) -> int:
        """How many operations the submission takes for one answer."""
        with counted() as work:
            answered(self.original.built(), self.numbers or self.witness, self._scenarios)
        return work.operations


def _of_numbers(question: Question) -> bool:
    """Whether an answer to it is right where its numbers are: at a kink several are."""
    return question.kind in _NUMBERS and question.role == "main"


def _judged(
    check: Check, questions: Sequence[Question], observation: Observation, source: Source
) -> list[Finding]:
    evidence = Evidence(check.exercise, list(questions), observation, source, check.references)
    return judge(evidence).findings


def _witness(
    check: Check, observation: Observation, source: Source, finding: Finding
) -> Question | None:
    """The first question whose answer is found wrong by itself, that of the finding before others."""
    asked = [q for q in check.questions if q.id in observation.answers]
    if finding.pair is not None:
        asked.sort(key=lambda q: q.id != finding.pair.question.id)  # type: ignore[union-attr]
    for question in asked:
        alone = replace(observation, answers={question.id: observation.answers[question.id]})
        if _judged(check, [question], alone, source):
            return question
    return None
