"""How a rule is written, and how all of them are run.

A rule is a small function named after what it asserts. Its docstring is the sentence the learner
reads when it holds. It gets the :class:`~autograder.judging.evidence.Evidence` and returns

- None: it holds,
- a Finding: it does not,
- NOT_ASKED: nothing was asked that this rule could judge,
- an Undecided with the reason: the question could not be answered either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from autograder.contract.promises import promise_of
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding, fault


@dataclass(frozen=True)
class Undecided:
    """A rule that could not be judged, and why."""

    reason: str


class _NotAsked:
    def __repr__(self) -> str:
        return "NOT_ASKED"


NOT_ASKED = _NotAsked()
Verdict = Finding | Undecided | _NotAsked | None


@dataclass(frozen=True)
class Rule:
    """A rule with its public name, the rules (by function name) that must hold before it, its promise."""

    name: str
    judge: Callable[[Evidence], Verdict]
    needs: tuple[str, ...] = ()
    stated: str = ""

    @property
    def promise(self) -> str:
        """The key of the promise that it judges; by its name, where it does not state another one."""
        return self.stated or promise_of(self.name)

    @property
    def key(self) -> str:
        return self.judge.__name__

    @property
    def sentence(self) -> str:
        return (self.judge.__doc__ or self.key).strip().splitlines()[0]


def rule(
    name: str, needs: Iterable[str] = (), promise: str = ""
) -> Callable[[Callable[[Evidence], Verdict]], Rule]:
    """Make a Rule of a function. ``needs`` names rule functions, ``promise`` another than its name's."""

    def decorate(judge: Callable[[Evidence], Verdict]) -> Rule:
        return Rule(name, judge, tuple(needs), promise)

    return decorate


@dataclass
class Verdicts:
    """The outcome of all rules, in order. The first finding is the root cause.

    findings  errors; advice: what does not hold either and weighs less
    """

    findings: list[Finding] = field(default_factory=list)
    advice: list[Finding] = field(default_factory=list)
    broken: list[Rule] = field(default_factory=list)
    held: list[Rule] = field(default_factory=list)
    skipped: list[Rule] = field(default_factory=list)
    undecided: list[tuple[Rule, str]] = field(default_factory=list)


def judge_all(rules: Iterable[Rule], evidence: Evidence) -> Verdicts:
    """Run the rules in order; what depends on a rule that failed (or was skipped) is skipped."""
    verdicts = Verdicts()
    down: set[str] = set()
    strictness = evidence.exercise.strictness
    for current in rules:
        if current.name in strictness.ignored:
            continue
        if any(need in down for need in current.needs):
            down.add(current.key)
            verdicts.skipped.append(current)
            continue
        verdict = _judged(current, evidence)
        if isinstance(verdict, Finding) and verdict.rule in strictness.ignored:
            continue
        if isinstance(verdict, Finding):
            verdict.severity = strictness.severity(verdict.rule, verdict.cause)
        if isinstance(verdict, Finding) and verdict.severity != "error":
            verdicts.advice.append(verdict)
        elif isinstance(verdict, Finding):
            down.add(current.key)
            verdicts.findings.append(verdict)
            verdicts.broken.append(current)
        elif isinstance(verdict, Undecided):
            verdicts.undecided.append((current, verdict.reason))
        elif verdict is None:
            verdicts.held.append(current)
    return verdicts


def _judged(current: Rule, evidence: Evidence) -> Verdict:
    """What a rule says. One that stops with an error itself has found something all the same.

    Rules read what a submission answered, which may be stranger than its author thought. No learner
    is to see a traceback of the grader, and no answer is right because a rule could not read it.
    """
    try:
        return current.judge(evidence)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:200]
        shown = {"original": said, "defect": True}
        return fault(current.name, "grader/defect", evidence=shown, looked_for=current.name)
