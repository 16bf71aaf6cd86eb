"""How a rule is written, and how all of them are run.

A rule is a small function named after what it asserts. Its docstring is the sentence the learner
reads when it holds. It gets the :class:`~autograder.evidence.Evidence` and returns

- None: it holds,
- a Finding: it does not,
- NOT_ASKED: nothing was asked that this rule could judge (a visible check asks less),
- an Undecided with the reason: the question could not be answered either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from autograder.evidence import Evidence, Finding


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
    """A rule with its public name and the rules (by function name) that must hold before it."""

    name: str
    judge: Callable[[Evidence], Verdict]
    needs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.judge.__name__

    @property
    def sentence(self) -> str:
        return (self.judge.__doc__ or self.key).strip().splitlines()[0]


def rule(name: str, needs: Iterable[str] = ()) -> Callable[[Callable[[Evidence], Verdict]], Rule]:
    """Make a Rule of a function. ``needs`` names rule functions."""

    def decorate(judge: Callable[[Evidence], Verdict]) -> Rule:
        return Rule(name, judge, tuple(needs))

    return decorate


@dataclass
class Verdicts:
    """The outcome of all rules, in order. The first finding is the root cause."""

    findings: list[Finding] = field(default_factory=list)
    held: list[Rule] = field(default_factory=list)
    skipped: list[Rule] = field(default_factory=list)
    undecided: list[tuple[Rule, str]] = field(default_factory=list)


def judge_all(rules: Iterable[Rule], evidence: Evidence) -> Verdicts:
    """Run the rules in order; what depends on a rule that failed (or was skipped) is skipped."""
    verdicts = Verdicts()
    down: set[str] = set()
    for current in rules:
        if any(need in down for need in current.needs):
            down.add(current.key)
            verdicts.skipped.append(current)
            continue
        verdict = _judged(current, evidence)
        if isinstance(verdict, Finding):
            down.add(current.key)
            verdicts.findings.append(verdict)
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
        return Finding(
            current.name,
            "This answer gives something that the grader does not understand: it stopped while it looked "
            f"for {current.name}.",
            "The fault is the grader's. Please report it with your code; the lesson says what is asked for.",
            {"original": said, "defect": True},
        )
