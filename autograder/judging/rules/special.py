"""Contracts beyond values: what must be refused, and the exercises' own experiments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from autograder.contract.exercise import Refusal, Scenario
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import fault
from autograder.judging.rules.registry import NOT_ASKED, Rule, Verdict, rule, to
from autograder.judging.rules.runs import stopped
from autograder.observation.observation import Failure
from autograder.observation.source import Place
from autograder.observation.syntax import called


@rule("refuses", needs=("output_value",), of=to("refusal"))
def refuses_what_it_should(ev: Evidence, pair: Pair) -> Verdict:
    """Arguments that make no sense are refused with a clear error."""
    failure, wanted = pair.answer.failure, list(pair.question.more["errors"])
    refusal = next(r for r in ev.exercise.refusals if r.name == pair.where)
    facts: dict[str, Any] = {"given": pair.where, "errors": wanted, "error": wanted[0]}
    if failure is None:
        argument = refusal.argument or pair.where.split()[-1]
        return fault("refuses", "refuses/accepted", pair, symptom=True, argument=argument, **facts)
    facts["kind"] = failure.kind
    if failure.kind not in wanted and not (failure.is_runtime_error and "RuntimeError" in wanted):
        code = "refuses/other-error"
    elif not _says_something(failure.message, ev.exercise.argument_names, pair.where):
        code = "refuses/no-words"
    elif blamed := _blamed(ev, refusal, failure):
        code, facts["other"] = "refuses/blames", blamed
    else:
        return None
    return fault("refuses", code, pair, evidence={"original": failure.original}, **facts)


def _blamed(ev: Evidence, refusal: Refusal, failure: Failure) -> str:
    """An argument that the message names although another one is the reason, and is not named."""
    words = set(re.findall(r"\w+", failure.message))
    if not refusal.argument or refusal.argument in words:
        return ""
    return next((r.argument for r in ev.exercise.refusals if r.argument in words), "")


# Kinds of values that a message may say is wanted, or was given.
_KINDS = re.compile(
    r"\b(tensor|number|numeric|float|int|integer|scalar|real|constant|bool|str)s?\b", re.I
)
_WORDS = 4  # a message of so many words, or one word of so many letters, says something


def _says_something(message: str, arguments: tuple[str, ...], given: str) -> bool:
    """Whether an error message names an argument, a kind of value or what was given, or is a sentence at least."""
    words, about = (
        re.findall(r"\w+", message),
        {word for word in given.lower().split() if len(word) >= _WORDS},
    )
    named = set(words) & set(arguments) or about & set(message.lower().split())
    return len(words) >= _WORDS or bool(named or _KINDS.search(message))


def scenario_rules(ev: Evidence) -> tuple[list[Rule], ...]:
    """A rule for each scenario of the exercise: those that come first, the causes, and the others."""
    groups: tuple[list[Rule], ...] = [], [], []
    for scenario in ev.exercise.scenarios:
        groups[0 if scenario.first else 1 if scenario.cause else 2].append(_rule_of(scenario))
    return groups


def _rule_of(scenario: Scenario) -> Rule:
    def judge(ev: Evidence, pair: Pair) -> Verdict:
        if pair.answer.failure is not None:
            return NOT_ASKED if scenario.first else stopped(ev, pair)
        right = ev.references.experiment(pair.question)
        if (wrong := scenario.judge(pair.answer.data, right)) is None:
            return None
        return fault(
            wrong.rule or scenario.rule, wrong.code, pair, symptom=wrong.symptom,
            seen_at=_line_of_call(ev, wrong.at), evidence=wrong.evidence, **wrong.facts,
        )  # fmt: skip

    return rule(
        scenario.rule, (n for n in scenario.needs if n != "raises"), scenario.promise,
        to("scenario", name=scenario.name), key=f"scenario {scenario.name}",
        sentence=f"{scenario.name[0].upper()}{scenario.name[1:]}.",
    )(judge)  # fmt: skip


def _line_of_call(ev: Evidence, names: Sequence[str]) -> Place | None:
    """The line of the first of these calls that the learner's code has once; None where it has none."""
    named = ([node for node in ev.source.nodes if called(node) == name] for name in names)
    return next((ev.source.line_of(calls[0]) for calls in named if len(calls) == 1), None)
