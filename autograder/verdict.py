"""From what was observed to a report: the half of a check that never runs the learner's code.

In a notebook both halves run in one process. When submissions are graded the learner's half runs in
a box and this one outside; the verdict is the same, and so are the words, but for numbers that are
finite and wrong: how they came about is seen where the submission can run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.evidence import Evidence, Finding
from autograder.exercise import Exercise
from autograder.expected import References
from autograder.observation import Answer, Observation, Question
from autograder.plan import make_plan
from autograder.report import Report
from autograder.rules import NOT_ASKED, in_order, judge
from autograder.rules.context import note_on_ctx
from autograder.source import Source
from autograder.submission import FUNCTION_CLASS, INSTANCE, OTHER_CLASS, Kind


@dataclass(frozen=True)
class Asked:
    """One complete check as it is put to a submission: the exercise and its questions.

    It can be put to any number of submissions: the questions are only read, and what the reference
    answers (``references``) is computed when the first of them is judged.
    """

    exercise: Exercise
    questions: tuple[Question, ...]
    hidden: bool
    seed: int
    devices: tuple[str, ...] = ("cpu",)
    references: References = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.references is None:
            object.__setattr__(self, "references", References(self.exercise))

    @classmethod
    def of(
        cls, exercise: Exercise, seed: int, hidden: bool, devices: tuple[str, ...] = ("cpu",)
    ) -> Asked:
        """The questions of a visible (or hidden: complete) check. The same seed, the same questions."""
        references = References(exercise)
        questions = tuple(make_plan(exercise, seed, hidden, devices, references))
        return cls(exercise, questions, hidden, seed, devices, references)

    def report(self, graded: bool = False) -> Report:
        """An empty report on it."""
        return Report(
            self.exercise.name, False, hidden=self.hidden, seed=self.seed, devices=self.devices,
            graded=graded,
        )  # fmt: skip


def verdict(
    asked: Asked,
    observation: Observation,
    source: Source,
    graded: bool = False,
    more: int = 0,
    believed: frozenset[str] = frozenset(),
    later: Sequence[str] = (),
    follow: Callable[..., list[dict[str, Any]]] | None = None,
) -> Report:
    """Judge what was observed.

    more      how many more rules the complete check has, where this is the visible one
    later     names of those rules
    believed  keys of rules whose praise would mean nothing (there is no reference to compare with)
    follow    asks of one element (question, Element) what happened on the way to it, where the
              submission can still be run
    """
    report = asked.report(graded)
    evidence = Evidence(
        asked.exercise, list(asked.questions), observation, source, asked.references, follow
    )
    if observation.facts.get("interrupted"):
        report.interrupted = True
        report.findings = [_stopped(evidence, graded)]
        return report
    verdicts = judge(evidence)
    report.findings = verdicts.findings
    report.passed = not verdicts.findings
    report.held = [r.sentence for r in verdicts.held if r.key not in believed]
    report.skipped = [r.name for r in verdicts.skipped]
    report.undecided = [f"{r.sentence} – not judged: {why}." for r, why in verdicts.undecided]
    report.note = note_on_ctx(evidence) if report.passed else ""
    report.printed = str(observation.facts.get("printed", ""))
    report.more, report.later = more, tuple(later)
    return report


def wrong_kind(kind: Kind, exercise: Exercise) -> Finding | None:
    """A finding where the submission is not even the kind of thing that was asked for."""
    name = exercise.name
    if kind.what == INSTANCE:
        return Finding(
            "not-a-function", f"This is an instance of {name}; the check needs the class.",
            f"Write check({name}), without parentheses after {name}.",
        )  # fmt: skip
    if exercise.is_function:
        if kind.what == FUNCTION_CLASS:
            return Finding(
                "not-a-function", f"{name} is to be a plain function, not a class.",
                f"Write def {name}{exercise.signature}: …",
            )  # fmt: skip
    elif kind.what == OTHER_CLASS:
        return Finding(
            "not-a-function", f"{name} is a class, but not a torch.autograd.Function.",
            f"Begin with: class {name}(torch.autograd.Function):",
        )  # fmt: skip
    if not kind.callable:
        return Finding(
            "not-a-function", f"This is a {kind.type_name}, which cannot be called.",
            f"Pass the class itself: check({name}).",
        )  # fmt: skip
    return None


def count_rules(exercise: Exercise, questions: Sequence[Question]) -> int:
    """How many rules have something to judge in a plan."""
    return len(rules_asked(exercise, questions))


def rules_asked(exercise: Exercise, questions: Sequence[Question]) -> dict[str, str]:
    """The rules that have something to judge in a plan (not NOT_ASKED): public names by key."""
    blank = Observation({q.id: Answer(data={"passed": True}) for q in questions}, {})
    evidence = Evidence(exercise, list(questions), blank, Source())
    asked: dict[str, str] = {}
    for rule in in_order(evidence):
        try:
            if rule.judge(evidence) is NOT_ASKED:
                continue
        except Exception:  # a blank answer is not one the rule can read: it was asked all the same
            pass
        asked[rule.key] = rule.name
    return asked


def _stopped(evidence: Evidence, graded: bool) -> Finding:
    answers = list(evidence.observation.answers.values())
    failure = answers[-1].failure if answers else None
    found = failure is not None and bool(failure.line)
    place = f" in {failure.function}, line {failure.line}: {failure.source}" if found else ""  # type: ignore[union-attr]
    details: dict[str, Any] = {"holds_no_values": True}
    details |= {"line": failure.line, "source": failure.source} if found else {}  # type: ignore[union-attr]
    begin = "The check did not come to its end in time" if graded else "You interrupted the check"
    return Finding(
        "raises", f"{begin}; your code was running{place}.",
        "If it never ends by itself, look for a loop whose condition never becomes false.", details,
    )  # fmt: skip
