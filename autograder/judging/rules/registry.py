"""How a rule is written, and how all of them are run.

A rule is a small function named after what it asserts. Its docstring is the sentence the learner
reads when it holds. It gets the :class:`~autograder.judging.evidence.Evidence` and one of the answers
that it is about (``of``), and returns

- None: it holds,
- a Finding: it does not,
- an Undecided with the reason: the question could not be answered either way,
- NOT_ASKED: nothing was asked that this rule could judge. So it is where there is no such answer.

The first verdict that is not None counts. A rule that compares answers with one another gets the
evidence alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from autograder.contract.ending import TimeIsOver
from autograder.contract.promises import promise_of
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault


@dataclass(frozen=True)
class Undecided:
    """A rule that could not be judged, and why.

    unknown  it was to be judged, and nobody can tell: then nothing that builds on it is said to hold
    """

    reason: str
    unknown: bool = False


class _NotAsked:
    def __repr__(self) -> str:
        return "NOT_ASKED"


NOT_ASKED = _NotAsked()
Verdict = Finding | Undecided | _NotAsked | None


@dataclass(frozen=True)
class Rule:
    """A rule with its public name, the rules (by key) that must hold before it, and the key of its promise.

    key       the name of its function
    sentence  what the learner reads when it holds
    """

    name: str
    judge: Callable[[Evidence], Verdict]
    needs: tuple[str, ...]
    promise: str
    key: str
    sentence: str


Answers = Callable[[Evidence], Iterable[Pair]]
# What rules about the right behaviour elsewhere need: gradients that are right in the ordinary cases.
RIGHT = ("gradients_agree",)


def rule(
    name: str, needs: Iterable[str] = (), promise: str = "", of: Answers | None = None,
    key: str = "", sentence: str = "",
) -> Callable[[Callable[..., Verdict]], Rule]:  # fmt: skip
    """Make a Rule of a function. ``needs`` names rule functions, ``promise`` another than its name's.

    of             the answers it is about, which it gets one after the other; None: it gets the evidence alone
    key, sentence  in place of the function's name and docstring
    """

    def decorate(judge: Callable[..., Verdict]) -> Rule:
        return Rule(
            name, judge if of is None else _each(of, judge), tuple(needs), promise or promise_of(name),
            key or judge.__name__, sentence or (judge.__doc__ or "").splitlines()[0],
        )  # fmt: skip

    return decorate


def _each(of: Answers, judge: Callable[[Evidence, Pair], Verdict]) -> Callable[[Evidence], Verdict]:
    def judged(ev: Evidence) -> Verdict:
        verdict: Verdict = NOT_ASKED
        for pair in of(ev):
            if (verdict := judge(ev, pair)) is not None:
                break
        return verdict

    return judged


def to(*kinds: str, **like: Any) -> Answers:
    """The answers to questions of these kinds, and with these fields (``Evidence.pairs``)."""
    return lambda ev: ev.pairs(*kinds, **like)


def plain(ev: Evidence) -> list[Pair]:
    """The answers in the ordinary cases."""
    return ev.plain


def of_classes(ev: Evidence) -> list[Pair]:
    """The same, of a Function alone: a plain function has no backward, and its questions are of another kind."""
    return list(ev.pairs("run", role="main", variant=""))


def finds(ev: Evidence, *rules: Rule) -> bool:
    """Whether one of these rules does not hold."""
    return any(isinstance(each.judge(ev), Finding) for each in rules)


@dataclass
class Verdicts:
    """The outcome of all rules, in order. The first finding is the root cause.

    findings  errors; advice: what does not hold either and weighs less
    unknown   of the undecided ones, those of which nobody can tell whether they hold
    """

    findings: list[Finding] = field(default_factory=list)
    advice: list[Finding] = field(default_factory=list)
    broken: list[Rule] = field(default_factory=list)
    held: list[Rule] = field(default_factory=list)
    skipped: list[Rule] = field(default_factory=list)
    undecided: list[tuple[Rule, str]] = field(default_factory=list)
    unknown: list[Rule] = field(default_factory=list)


def judge_all(rules: Iterable[Rule], evidence: Evidence) -> Verdicts:
    """Run the rules in order; what depends on a rule that failed (or was skipped) is skipped."""
    verdicts = Verdicts()
    down: set[str] = set()
    unsure: set[str] = set()
    strictness = evidence.exercise.strictness
    for current in rules:
        if not down.isdisjoint(current.needs):
            down.add(current.key)
            if current.name not in strictness.ignored:
                verdicts.skipped.append(current)
            continue
        if not unsure.isdisjoint(current.needs):  # what it finds counts, its praise would not
            unsure.add(current.key)
        match NOT_ASKED if current.name in strictness.ignored else verdict_of(current, evidence):
            case Finding(rule=broken) as found if broken not in strictness.ignored:
                found.severity = strictness.severity(broken, found.cause)
                found.asked_by = current.key
                if found.severity != "error":
                    verdicts.advice.append(found)
                    continue
                down.add(current.key)
                verdicts.findings.append(found)
                verdicts.broken.append(current)
            case Undecided(reason=reason, unknown=unknown):
                verdicts.undecided.append((current, reason))
                if unknown:
                    unsure.add(current.key)
                    verdicts.unknown.append(current)
            case None if current.key in unsure:
                verdicts.skipped.append(current)
            case None:
                verdicts.held.append(current)
    return verdicts


def verdict_of(current: Rule, evidence: Evidence) -> Verdict:
    """What a rule says. One that stops with an error itself has found something all the same.

    Rules read what a submission answered, which may be stranger than its author thought. No learner
    is to see a traceback of the grader, and no answer is right because a rule could not read it.
    """
    try:
        return current.judge(evidence)
    except TimeIsOver:
        return Undecided("there was no time for it", unknown=True)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:200]
        shown = {"original": said, "defect": True}
        return fault(current.name, "grader/defect", evidence=shown, looked_for=current.name)
