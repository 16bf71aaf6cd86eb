"""From what was observed to a report: the half of a check that never runs the learner's code.

In a notebook OneCheck runs both halves in one process. When submissions are graded the learner's half runs in
a box and this one outside; the verdict is the same, and so are the words, but for numbers that are
finite and wrong: how they came about is seen where the submission can run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch import Tensor

from autograder.contract.exercise import Exercise
from autograder.contract.plan import make_plan
from autograder.contract.promises import PROMISES, Line, State, promise_of
from autograder.contract.references import References
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding, fault
from autograder.judging.rules import NOT_ASKED, Verdicts, in_order, judge
from autograder.judging.rules.gradient import partly_told
from autograder.judging.rules.problems import inputs_of, upstream_of
from autograder.judging.rules.registry import Rule
from autograder.observation.observation import Answer, Observation, Question
from autograder.observation.packing import to_bytes
from autograder.observation.source import Source
from autograder.reporting.report import Report
from autograder.reporting.wording import said
from autograder.running import probe
from autograder.running.submission import (
    FUNCTION_CLASS,
    INSTANCE,
    OTHER_CLASS,
    OWN_APPLY,
    Kind,
    kind_of,
)
from autograder.running.value_flow import Other


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
    devices: tuple[str, ...]
    references: References = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, exercise: Exercise, seed: int, hidden: bool, devices: tuple[str, ...] = ("cpu",)
    ) -> Asked:
        """The questions of a check. The same seed, the same questions; hidden: with other numbers."""
        references = References(exercise)
        questions = tuple(make_plan(exercise, seed, hidden, devices, references))
        return cls(exercise, questions, hidden, seed, devices, references)

    @cached_property
    def packed(self) -> bytes:
        """The questions, as a box gets them."""
        return to_bytes(list(self.questions))

    @cached_property
    def rules(self) -> dict[str, str]:
        """The rules that have something to judge here: public names by key."""
        return rules_asked(self.exercise, self.questions, self.references)

    def evidence(
        self, observation: Observation, source: Source, flow: Callable[[Question], Any] | None = None,
        answered: Callable[..., Answer] | None = None,
    ) -> Evidence:  # fmt: skip
        """What rules and causes are asked about; ``flow`` and ``answered`` where the submission can still be run."""
        return Evidence(
            self.exercise,
            {q.id: q for q in self.questions},
            observation,
            source,
            self.references,
            flow,
            answered,
        )

    def report(self, graded: bool = False) -> Report:
        """An empty report on it."""
        return Report(
            self.exercise.name, False, hidden=self.hidden, seed=self.seed, devices=self.devices,
            graded=graded,
        )  # fmt: skip


def verdict(
    asked: Asked, evidence: Evidence, graded: bool = False, believed: frozenset[str] = frozenset(),
    judged: Verdicts | None = None,
) -> Report:  # fmt: skip
    """Judge what was observed, unless it was ``judged``, and say what that means.

    believed  keys of rules whose praise would mean nothing (there is no reference to compare with)
    """
    report, observation = asked.report(graded), evidence.observation
    if observation.facts.get("interrupted"):
        report.findings = [_stopped(evidence, graded)]
        return report
    verdicts = judged or judge(evidence)
    findings = _explained(verdicts.findings[:1], evidence) + verdicts.findings[1:]
    findings += _explained(verdicts.advice, evidence)
    findings = [with_inputs(f, evidence) for f in findings[:1]] + findings[1:]
    report.findings = [said(f, asked.exercise.sentences) for f in findings]
    report.passed = not verdicts.findings and not verdicts.unknown  # advice is none of them
    report.held = [r.sentence for r in verdicts.held if r.key not in believed]
    report.skipped = [r.name for r in verdicts.skipped]
    report.undecided = [f"{r.sentence} – not judged: {why}." for r, why in verdicts.undecided]
    if not verdicts.findings:
        report.undecided += [_open(*each) for each in partly_told(evidence)]
    report.promises = promises_of(asked, verdicts, believed)
    if report.not_started:
        report.promises = tuple(replace(line, state="not reached") for line in report.promises)
    report.printed = str(observation.facts.get("printed", ""))
    return report


@dataclass
class OneCheck:
    """What is asked of one submission, and what comes of it. To be used where its code is contained.

    runs    what runs in the place of what was handed in
    over    whether it is too late for a new question
    graded  the report is feedback
    """

    asked: Asked
    submission: Any
    runs: Any
    over: Callable[[], bool] = lambda: False
    graded: bool = False
    _whole: dict[str, list[Any]] = field(default_factory=dict, init=False)  # by question

    @property
    def refused(self) -> Report | None:
        """The report on what is not even the kind of thing that was asked for; None: questions are put."""
        wrong = wrong_kind(kind_of(self.submission), self.asked.exercise)
        if wrong is None:
            return None
        report = self.asked.report(self.graded)
        report.findings = [wrong]
        return report

    @cached_property
    def observation(self) -> Observation:
        """What it answers."""
        return self.answers(self.asked.questions)

    def answers(self, questions: Sequence[Question]) -> Observation:
        """What it answers to some questions."""
        return probe.probe(self.runs, questions, self._experiments, self.over)

    @cached_property
    def source(self) -> Source:
        """Its source; a plain function may have another name than its exercise."""
        source, exercise = Source.of(self.submission), self.asked.exercise
        return source.known_as(exercise.name) if exercise.is_function else source

    def verdict(self, believed: frozenset[str] = frozenset()) -> Report:
        """What is wrong and why, as far as its answers tell."""
        return self.refused or verdict(self.asked, self.evidence(), self.graded, believed)

    def evidence(self, asked: Asked | None = None) -> Evidence:
        """What rules and causes are asked about; ``asked``: the same questions, judged otherwise."""
        return (asked or self.asked).evidence(
            self.observation, self.source, self._flow, self._answered
        )

    def _flow(self, question: Question) -> Any:
        return probe.flow(self.runs, question, self._experiments)

    def _answered(self, question: Question, instead: Any) -> Answer:
        """Somebody's own code is run with numbers that its author never saw, and with no place in memory that is other."""
        if self.asked.exercise.strictness.as_given and isinstance(instead, Other):
            if question.id not in self._whole:
                self._whole[question.id] = self._flow(question).operations.whole
            instead.whole = self._whole[question.id]
        return probe.answered(self.runs, question, self._experiments, instead)

    @property
    def _experiments(self) -> dict[str, Any]:
        return {each.name: each for each in self.asked.exercise.scenarios}


def _explained(findings: list[Finding], evidence: Evidence) -> list[Finding]:
    if not findings:  # a third of what there is to import
        return []
    from autograder.explaining.explanation import explained

    return [explained(f, evidence) for f in findings]


def _open(name: str, elements: Tensor) -> str:
    """What cannot be told of one argument's gradient, by its first element."""
    count, first = int(elements.sum()), elements.nonzero()[0].tolist()
    where = f"{name}[{', '.join(map(str, first))}]" if first else name
    if count == 1:
        return f"The gradient for {name} at {where}: nobody can tell."
    return f"The gradient for {name}: of {count:,} of {elements.numel():,} elements, {where} first, nobody can tell."


def promises_of(
    asked: Asked, verdicts: Verdicts, believed: frozenset[str] = frozenset()
) -> tuple[Line, ...]:
    """What was found of each promise of the exercise. What was skipped and not asked says nothing."""
    found = zip(verdicts.findings, verdicts.broken, strict=True)
    broken = {_promise(finding, rule) for finding, rule in found}
    kept = {rule.promise for rule in verdicts.held if rule.key not in believed}
    open_ = {rule.promise for rule in verdicts.skipped if rule.key in asked.rules}
    unknown = {rule.promise for rule in verdicts.unknown}

    def state(key: str) -> State:
        if key in broken:
            return "broken"
        return "undecided" if key in unknown else "not reached" if key in open_ else "kept"

    spoken_of = broken | unknown | open_ | kept
    return tuple(Line(p.key, state(p.key)) for p in PROMISES if p.key in spoken_of)


def _promise(finding: Finding, rule: Rule) -> str:
    """The promise that a finding breaks: who stops in backward breaks that of the gradients, whoever asked."""
    if finding.rule == rule.name:
        return rule.promise
    failure = finding.pair.answer.failure if finding.pair else None
    late = finding.rule == "raises" and failure is not None and failure.stage != "forward"
    return "gradients" if late else promise_of(finding.rule)


def with_inputs(finding: Finding, evidence: Evidence) -> Finding:
    """The finding with what the call that shows it was given, where a number stands beside another."""
    shown = finding.evidence
    if "actual" not in shown:
        return finding
    pair = finding.pair or next(
        (p for p in evidence.pairs("run", "function") if p.where == shown.get("case")), None
    )
    if pair is None:
        return finding
    upstream, more = upstream_of(pair), inputs_of(evidence, pair)
    if upstream and promise_of(finding.rule) != "values" and finding.rule != "forward-unstable":
        more["upstream"] = upstream
    return replace(finding, evidence={**more, **shown})


def wrong_kind(kind: Kind, exercise: Exercise) -> Finding | None:
    """A finding where the submission is not even the kind of thing that was asked for."""
    if kind.what == INSTANCE:
        cause = "kind/instance"
    elif not exercise.is_function and kind.what == OWN_APPLY and not exercise.strictness.as_given:
        cause = "kind/own-apply"
    elif exercise.is_function and kind.what in (FUNCTION_CLASS, OWN_APPLY):
        cause = "kind/class-for-function"
    elif not exercise.is_function and kind.what == OTHER_CLASS:
        cause = "kind/other-class"
    elif not kind.callable:
        cause = "kind/not-callable"
    else:
        return None
    name, signature = exercise.name, exercise.signature
    return said(fault("not-a-function", cause, name=name, signature=signature, type=kind.type_name))


def rules_asked(
    exercise: Exercise, questions: Sequence[Question], references: References
) -> dict[str, str]:
    """The rules that have something to judge in a plan (not NOT_ASKED): public names by key."""
    blank = Observation({q.id: Answer(data={"passed": True}) for q in questions}, {})
    evidence = Evidence(exercise, {q.id: q for q in questions}, blank, Source(), references)
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
    place: dict[str, Any] = {}
    if failure is not None and failure.line:
        place = {"line": failure.line, "source": failure.source}
    facts = {"method": failure.function, **place} if failure and place else {}
    cause = "stopped/in-time" if graded else "stopped/interrupted"
    return said(fault("raises", cause, evidence={"holds_no_values": True, **place}, **facts))
