"""Contracts beyond values: what must be refused, and the exercises' own experiments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from autograder.contract.exercise import Refusal
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import fault
from autograder.judging.rules.registry import NOT_ASKED, Rule, Verdict, rule
from autograder.judging.rules.runs import stopped
from autograder.observation.syntax import called


@rule("refuses", needs=("forward_runs", "output_value"))
def refuses_what_it_should(ev: Evidence) -> Verdict:
    """Arguments that make no sense are refused with a clear error."""
    asked = list(ev.pairs("refusal"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        failure = pair.answer.failure
        wanted = list(pair.question.more["errors"])
        facts = {"given": pair.where, "errors": wanted, "error": wanted[0]}
        if failure is None:
            refusal = _refusal(ev, pair)
            argument = refusal.argument or pair.where.split()[-1]
            return fault(
                "refuses", "refuses/accepted", pair, symptom=True, argument=argument, **facts
            )
        facts["kind"] = failure.kind
        code = _badly_refused(ev, pair, wanted, facts)
        if code:
            original = f"{failure.kind}: {failure.message[:200]}"
            return fault("refuses", code, pair, evidence={"original": original}, **facts)
    return None


def _badly_refused(ev: Evidence, pair: Pair, wanted: list[str], facts: dict[str, Any]) -> str:
    """The code of what is wrong with a refusal: another error, no words, another argument named; "" if nothing."""
    assert pair.answer.failure is not None
    if pair.answer.failure.kind not in wanted:
        return "refuses/other-error"
    if not _says_something(pair.answer.failure.message, ev.exercise.argument_names):
        return "refuses/no-words"
    facts["other"] = _blamed(pair, ev)
    return "refuses/blames" if facts["other"] else ""


def _refusal(ev: Evidence, pair: Pair) -> Refusal:
    return next(r for r in ev.exercise.refusals if r.name == pair.where)


def _blamed(pair: Pair, ev: Evidence) -> str | None:
    """An argument that the message names although another one is the reason, and is not named."""
    refusal = _refusal(ev, pair)
    assert pair.answer.failure is not None
    words = set(re.findall(r"\w+", pair.answer.failure.message))
    if not refusal.argument or refusal.argument in words:
        return None
    others = [r.argument for r in ev.exercise.refusals if r.argument in words]
    return others[0] if others else None


# Kinds of values that a message may say is wanted, or was given.
_KINDS = re.compile(
    r"\b(tensor|number|numeric|float|int|integer|scalar|real|constant|bool|str)s?\b", re.I
)
_WORDS = 4  # a message of so many words says something, in whatever language


def _says_something(message: str, arguments: tuple[str, ...]) -> bool:
    """Whether an error message names an argument, a kind of value, or is a sentence at least."""
    words = re.findall(r"\w+", message)
    return len(words) >= _WORDS or bool(_KINDS.search(message) or set(words) & set(arguments))


@rule("shared-state")
def leaves_torch_alone(ev: Evidence) -> Verdict:
    """torch and its settings are left as they were."""
    changed = ev.observation.facts.get("changed") or []
    if not changed:
        return None
    shown = [str(each) for each in changed[:3]]
    return fault("shared-state", "torch/changed", evidence={"changed": changed[:10]}, changed=shown)


def scenario_rules(ev: Evidence) -> tuple[tuple[Rule, ...], ...]:
    """A rule for each scenario of the exercise: those that come first, the causes, and the others."""
    first, early, late = (
        tuple(
            _scenario_rule(s.name, s.rule, s.needs, s.promise)
            for s in ev.exercise.scenarios
            if (s.first, s.cause and not s.first) == when
        )
        for when in ((True, False), (False, True), (False, False))
    )
    return first, early, late


def _scenario_rule(name: str, rule_name: str, needs: tuple[str, ...], promise: str) -> Rule:
    def judge(ev: Evidence) -> Verdict:
        id = f"scenario:{name}"
        if id not in ev.observation.answers:
            return NOT_ASKED
        answer = ev.observation.answers[id]
        scenario = next(s for s in ev.exercise.scenarios if s.name == name)
        if answer.failure is not None and scenario.first:
            return NOT_ASKED
        pair = ev.pair(id)
        if answer.failure is not None:
            return stopped(ev, pair)
        wrong = scenario.judge(answer.data)
        if wrong is None:
            return None
        return fault(
            wrong.rule or rule_name, wrong.code, pair, symptom=wrong.symptom,
            evidence={**wrong.evidence, **_line_of_call(ev, wrong.at)}, **wrong.facts,
        )  # fmt: skip

    judge.__name__ = f"scenario {name}"
    judge.__doc__ = f"{name[0].upper()}{name[1:]}."
    return Rule(rule_name, judge, tuple(n for n in needs if n != "raises"), promise)


def _line_of_call(ev: Evidence, names: Sequence[str]) -> dict[str, object]:
    """The line of the first of these calls that the learner's code has once; nothing where it has none."""
    for name in names:
        calls = [node for node in ev.source.nodes if called(node) == name]
        if len(calls) == 1:
            number, text = ev.source.line_of(calls[0])
            return {"line": number, "source": text}
    return {}


RULES: tuple[Rule, ...] = (refuses_what_it_should, leaves_torch_alone)
