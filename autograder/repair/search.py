"""Which single edit of the learner's own code makes the check pass: tried, one after the other."""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from autograder.evidence import Finding
from autograder.observation import Observation
from autograder.probe import probe
from autograder.repair.edits import Edit
from autograder.repair.general import is_general
from autograder.repair.groups import together
from autograder.repair.kinds import edits
from autograder.repair.rebuilt import Original
from autograder.repair.words import line_of, words_of
from autograder.source import Source
from autograder.verdict import Asked, verdict

MOST_EDITS = 400  # tried on one question each
MOST_COMPLETE = 12  # of those with which that question is answered right, tried on all
MOST_SECONDS = 1.0  # of computing: nobody waits longer for a sentence

_trying: ContextVar[bool] = ContextVar("trying", default=True)


@dataclass(frozen=True)
class Repair:
    """One edit with which every question is answered right.

    line    the number of its line in the learner's file or cell, and the line's text
    words   the edit: "with `if` in place of `elif`"
    other   an edit in another line that does so as well: nothing measured says which is meant
    """

    line: int
    source: str
    words: str
    other: Repair | None = None


@contextlib.contextmanager
def nothing_tried() -> Iterator[None]:
    """Inside the block reports are made without it: for thousands of answers in a row."""
    token = _trying.set(False)
    try:
        yield
    finally:
        _trying.reset(token)


def with_cause(
    findings: list[Finding], submission: Any, asked: Asked, observation: Observation
) -> list[Finding]:
    """The findings; where the first one names no cause and an edit was found that mends all, with it."""
    if not findings or not _trying.get() or not is_general(findings[0]):
        return findings
    found = repaired(submission, asked, observation, findings[0])
    if found is None:
        return findings
    first = findings[0]
    passes = "every check passes" if asked.hidden else "the visible checks pass"
    tried = {"line": found.line, "source": found.source, "words": found.words, "then": passes}
    if found.other is not None:
        tried |= {"or_line": found.other.line, "or_words": found.other.words}
    return [replace(first, evidence={**first.evidence, "tried": tried}), *findings[1:]]


def repaired(
    submission: Any, asked: Asked, observation: Observation, finding: Finding
) -> Repair | None:
    """The likeliest edit with which a submission that failed passes the same check; or None.

    submission   what failed: its code runs again, changed, in variables of its own
    observation  what it answered
    finding      what was found; an edit that it names already is not tried
    """
    until = time.process_time() + MOST_SECONDS
    original = Original.of(submission)
    witness = _witness(asked, observation, Source.of(submission))
    if original is None or witness is None:
        return None
    complete, first, rank = 0, None, 0
    alternatives = likeliest_first(edits(original.tree), finding)
    for edit in alternatives[:MOST_EDITS]:
        if time.process_time() > until or complete == MOST_COMPLETE:
            break
        if first is not None and (edit.rank > rank or line_of(edit) == first.line):
            continue
        if _is_named(edit, finding):
            continue
        if not _mends(edit, original, witness):
            continue
        complete += 1
        if _mends(edit, original, asked):
            edit = _simplest(edit, alternatives, original, asked)
            found = Repair(*original.text_of(line_of(edit)), words_of(edit))
            if first is not None:
                return replace(first, other=found)
            first, rank = found, edit.rank
    return first


_AFTER_FORWARD = (
    "gradient-",
    "upstream-",
    "double-",
    "higher-",
    "ignores-",
    "mutates-upstream",
    "mutates-saved",
)
_BACKWARD = ("backward", "vjp")


def likeliest_first(found: list[Edit], finding: Finding) -> list[Edit]:
    """Edits in the order in which they are tried: those of the method that the finding is about first.

    What backward does changes no output; a wrong gradient may come from what forward kept.
    """
    if finding.rule.startswith(("forward-", "mutates-input")):
        found = [edit for edit in found if edit.function not in _BACKWARD]
    elif finding.rule.startswith(_AFTER_FORWARD):
        return sorted(found, key=lambda edit: edit.rank + 2 * (edit.function == "forward"))
    return found


def _simplest(edit: Edit, others: list[Edit], original: Original, asked: Asked) -> Edit:
    """The same with as little as it takes: fewer places, or something left out in place of changed.

    ``x == inf`` for ``x == -inf`` mends what would be as right without the whole condition.
    """
    places = list(edit.places)
    for each in edit.places:
        rest = [place for place in places if place is not each]
        if rest and _mends(together(rest), original, asked):
            places = rest
    if edit.places:
        return together(places)
    if edit.words:
        return edit
    near = [e for e in others if e.words.startswith("without ") and line_of(e) == line_of(edit)]
    near = [e for e in near if not e.places and any(e.node is n for n in edit.above)]
    return next((e for e in near[:4] if _mends(e, original, asked)), edit)


def _is_named(edit: Edit, finding: Finding) -> bool:
    """A special point (x = 0, the kink) says by itself that a comparison there is the other one."""
    return finding.rule == "fails-special-point" and isinstance(edit.node, ast.Compare)


def _witness(asked: Asked, observation: Observation, source: Source) -> Asked | None:
    """The first question whose answer is found wrong by itself: most edits need no other."""
    for question in asked.questions:
        alone = replace(asked, questions=(question,))
        if question.id not in observation.answers:
            return None
        if not verdict(alone, observation, source).passed:
            return alone
    return None


def _mends(edit: Edit, original: Original, asked: Asked) -> bool:
    with edit.done():
        return _passes(original, asked)


def _passes(original: Original, asked: Asked) -> bool:
    changed = original.built()
    if changed is None:
        return False
    scenarios = {s.name: s for s in asked.exercise.scenarios}
    observation = probe(changed, asked.questions, scenarios)
    if any(
        observation.answers[q.id].failure is not None
        for q in asked.questions
        if q.kind in ("run", "function") and not q.variant and q.id in observation.answers
    ):
        return False  # there is no need to find out why
    if observation.facts.get("interrupted"):
        raise KeyboardInterrupt
    return verdict(asked, observation, original.source()).passed
