"""Contracts beyond values: what must be refused, and the exercises' own experiments."""

from __future__ import annotations

import re

from autograder.causes.named_in_source import with_its_line
from autograder.causes.not_refused import why_accepted
from autograder.evidence import Evidence, Finding, Pair
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule


@rule("refuses", needs=("forward_runs", "output_value"))
def refuses_what_it_should(ev: Evidence) -> Verdict:
    """Arguments that make no sense are refused with a clear error."""
    asked = list(ev.pairs("refusal"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        failure = pair.answer.failure
        wanted = pair.question.more["errors"]
        kinds = " or ".join(wanted)
        if failure is None:
            refusal = next(r for r in ev.exercise.refusals if r.name == pair.where)
            argument = refusal.argument or pair.where.split()[-1]
            if (why := why_accepted(ev.source, argument, wanted)) is not None:
                return Finding(
                    "refuses",
                    f"{pair.where[0].upper()}{pair.where[1:]} is accepted: {why[0]}.",
                    why[1],
                    {"case": pair.where, **why[2]},
                )
            return Finding(
                "refuses",
                f"{pair.where[0].upper()}{pair.where[1:]} is accepted; the contract asks for {kinds}.",
                f"Check the argument at the start of forward and raise {wanted[0]} with a sentence that says "
                "what is wrong.",
                {"case": pair.where},
            )
        said = {
            "case": pair.where,
            "original": f"{failure.kind}: {failure.message[:200]}",
            "own_words": failure.raised_by_learner,
        }
        if failure.kind not in wanted:
            return Finding(
                "refuses",
                f"{pair.where[0].upper()}{pair.where[1:]} is refused with {failure.kind}; the contract asks "
                f"for {kinds} with a message.",
                f"Raise {wanted[0]} yourself, before anything else goes wrong.",
                said,
            )
        if not _says_something(failure.message, ev.exercise.argument_names):
            return Finding(
                "refuses",
                f"{pair.where[0].upper()}{pair.where[1:]} is refused with {failure.kind}, but the message "
                "does not say what is wrong.",
                "Whoever reads it has not seen your code: name the argument, and say what is wanted "
                "in its place.",
                said,
            )
        if (other := _blamed(pair, ev)) is not None:
            return Finding(
                "refuses",
                f"{pair.where[0].upper()}{pair.where[1:]} is refused with a message that names {other}.",
                "Name the argument that is wrong, or all that may be: whoever reads it looks there first.",
                said,
            )
    return None


def _blamed(pair: Pair, ev: Evidence) -> str | None:
    """An argument that the message names although another one is the reason, and is not named."""
    refusal = next(r for r in ev.exercise.refusals if r.name == pair.where)
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
    return Finding(
        "shared-state",
        f"Running your code left something changed: {', '.join(map(str, changed[:3]))}. It was put back.",
        "A Function computes; it does not change torch's settings or functions.",
        {"changed": changed[:10]},
    )


def scenario_rules(ev: Evidence) -> tuple[tuple[Rule, ...], ...]:
    """A rule for each scenario of the exercise: those that come first, the causes, and the others."""
    first, early, late = (
        tuple(
            _scenario_rule(s.name, s.rule, s.needs)
            for s in ev.exercise.scenarios
            if (s.first, s.cause and not s.first) == when
        )
        for when in ((True, False), (False, True), (False, False))
    )
    return first, early, late


def _scenario_rule(name: str, rule_name: str, needs: tuple[str, ...]) -> Rule:
    def judge(ev: Evidence) -> Verdict:
        id = f"scenario:{name}"
        if id not in ev.observation.answers:
            return NOT_ASKED
        answer = ev.observation.answers[id]
        scenario = next(s for s in ev.exercise.scenarios if s.name == name)
        if answer.failure is not None and scenario.first:
            return NOT_ASKED
        if answer.failure is not None:
            from autograder.errors.translate import translate

            pair = Pair(ev.questions[id], answer)
            said = translate(answer.failure, ev, pair, answer.failure.function or ev.exercise.name)
            evidence: dict[str, object] = {
                "case": name, "original": f"{answer.failure.kind}: {answer.failure.message}"[:400],
                "not_started": said.not_started,
            }  # fmt: skip
            if answer.failure.own_frame:
                evidence |= {"line": answer.failure.line, "source": answer.failure.source}
            return Finding("raises", said.message, said.hint, evidence)
        wrong = scenario.judge(answer.data)
        if wrong is None:
            return None
        message, hint, details = wrong
        return with_its_line(ev, Finding(rule_name, message, hint, {"case": name, **details}))

    judge.__name__ = f"scenario {name}"
    judge.__doc__ = f"{name[0].upper()}{name[1:]}."
    return Rule(rule_name, judge, tuple(n for n in needs if n != "raises"))


RULES: tuple[Rule, ...] = (refuses_what_it_should, leaves_torch_alone)
