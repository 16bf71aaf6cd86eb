"""Which single edit of the learner's own code makes the check pass: tried, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from autograder.explaining.edits.edit_kinds import edits
from autograder.explaining.edits.edit_trials import Check, Trials
from autograder.explaining.edits.edit_words import about, code_of, words_of
from autograder.explaining.edits.joint_edits import together
from autograder.explaining.edits.tree_edits import Edit
from autograder.judging.finding import Clause, Finding
from autograder.observation.observation import Observation
from autograder.running.containment import contained

MOST_PLACES = 3  # that pass: with so many, none of them is the cause

_trying: ContextVar[bool] = ContextVar("trying", default=True)


@dataclass(frozen=True)
class Mend:
    """One edit with which every question is answered right.

    line, source  the number of its line in the learner's file or cell, and the line's text
    code          the smallest part of the code around it that can be recognised
    words         the edit: "with `if` in place of `elif`"
    about         the code of what kind of thing it changes
    artefact      it may only hide the fault
    """

    line: int
    source: str
    code: str
    words: str
    about: str
    artefact: bool = False


@contextlib.contextmanager
def nothing_tried() -> Iterator[None]:
    """Inside the block reports are made without it: for thousands of answers in a row."""
    token = _trying.set(False)
    try:
        yield
    finally:
        _trying.reset(token)


def with_cause(
    findings: list[Finding], submission: Any, check: Check, observation: Observation
) -> list[Finding]:
    """The findings; the first one with the place of its cause where it is a symptom and edits find one.

    evidence["edit"] holds what was tried, as plain data: what a report tells of it is its affair.
    """
    if not findings or not findings[0].symptom or not _trying.get():
        return findings
    found = mending(submission, check, observation, findings[0])
    return [_placed(findings[0], found), *findings[1:]] if found else findings


def _placed(finding: Finding, found: list[Mend]) -> Finding:
    """A finding with the edits that mend it, and with the place where they leave no more than two."""
    first, others = found[0], found[1:]
    told = {"edit": {**vars(first), "others": [vars(each) for each in others]}}
    if len(found) >= MOST_PLACES or any(each.artefact for each in found):
        return replace(finding, evidence={**finding.evidence, **told})
    kind = Clause(f"about/{first.about}")
    facts: dict[str, Any] = {"line": first.line, "code": first.code, "about": kind}
    facts |= {name: finding.evidence.get(name) for name in ("argument", "case")}
    if others:
        facts |= {"other_line": others[0].line, "other_code": others[0].code}
    place = {"line": first.line, "source": first.source}
    return replace(
        finding, cause=_code(finding.rule), symptom=False,
        facts={**finding.facts, **facts},
        evidence={**finding.evidence, **place, **told},
    )  # fmt: skip


_CODES = {
    "forward": "edit/output", "value": "edit/output", "gradient": "edit/gradient",
    "upstream": "edit/gradient", "double": "edit/second", "higher": "edit/second", "raises": "edit/stops",
    "fails": "edit/case",
}  # fmt: skip


def _code(rule: str) -> str:
    return _CODES.get(rule.split("-")[0], "edit/place")


def mending(
    submission: Any, check: Check, observation: Observation, finding: Finding
) -> list[Mend]:
    """The edits with which a submission that failed passes the same check, one a line, the likeliest
    first; at most MOST_PLACES.

    submission   what failed: its code runs again, changed, in variables of its own
    observation  what it answered
    finding      what was found
    """
    with contained():
        trials = Trials.of(submission, check, observation, finding)
        if trials is None:
            return []
        found: dict[int, Mend] = {}
        alternatives = likeliest_first(edits(trials.original.tree), finding)
        for edit in alternatives:
            if trials.spent or len(found) == MOST_PLACES:
                break
            if any(each.line in found for each in edit.places or [edit]):
                continue
            if trials.passes(edit):
                edit = _simplest(edit, alternatives, trials)
                text = trials.original.text_of(edit.line)
                found[edit.line] = Mend(
                    edit.line, text, code_of(edit), words_of(edit), about(edit), edit.artefact
                )
    return sorted(found.values(), key=lambda mend: mend.artefact)


_AFTER_FORWARD = (
    "gradient-", "upstream-", "double-", "higher-", "ignores-", "mutates-upstream", "mutates-saved",
)  # fmt: skip
_BACKWARD = ("backward", "vjp")


def likeliest_first(found: list[Edit], finding: Finding) -> list[Edit]:
    """Edits in the order in which they are tried: those of the line in which the value was made first.

    What backward does changes no output; a wrong gradient may come from what forward kept.
    """
    after = finding.rule.startswith(_AFTER_FORWARD)
    if finding.rule.startswith(("forward-", "mutates-input")):
        found = [edit for edit in found if edit.function not in _BACKWARD]

    def rank(edit: Edit) -> int:
        elsewhere = edit.line != finding.evidence.get("line")
        return edit.rank + 2 * (after and edit.function == "forward") + elsewhere

    return sorted(found, key=rank)


def _simplest(edit: Edit, others: list[Edit], trials: Trials) -> Edit:
    """The same with as little as it takes: fewer places, or something left out in place of changed.

    ``x == inf`` for ``x == -inf`` mends what would be as right without the whole condition.
    """
    places = list(edit.places)
    for each in edit.places:
        rest = [place for place in places if place is not each]
        if rest and trials.passes(together(rest)):
            places = rest
    if edit.places:
        return together(places)
    if edit.words:
        return edit
    near = [e for e in others if e.words.startswith("without ") and e.line == edit.line]
    near = [e for e in near if not e.places and any(e.node is n for n in edit.above)]
    return next((e for e in near[:4] if trials.passes(e)), edit)
