"""Why a call stopped: what the learner's line, the names in it and the tensors that met tell together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.explaining.causes.results import Reason
from autograder.explaining.exceptions import lines, names, tensors
from autograder.explaining.exceptions.messages import cause_in_words
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.observation import Failure

Told = tuple[str, dict[str, Any]]
# The first that answers counts: the learner's own words, names, the line, the tensors, torch's words.
_ASKED: tuple[Callable[[Evidence, Finding, Failure], Told | None], ...] = (
    lines.own_raise,
    names.attribute,
    names.undefined,
    lines.unpacks,
    lines.needs_index,
    lines.whole_tuple,
    lines.optional,
    lines.gradient_of_nothing,
    tensors.met,
)


def why_it_stopped(ev: Evidence, finding: Finding) -> Reason | None:
    """The cause of the error; None where nothing tells it."""
    failure = finding.pair.answer.failure if finding.pair is not None else None
    if failure is None:
        return None
    told = next(filter(None, (ask(ev, finding, failure) for ask in _ASKED)), None)
    told = told or cause_in_words(failure.kind, failure.words)
    # Where it is not the learner's line that asks, what backward gave has no graph: no more is known.
    if told is None or (told[0] == "stops/not-connected" and not failure.own_frame):
        return None
    cause, facts = told
    place = facts.pop("place", None)
    if place is None and not finding.evidence.get("line") and cause in _BY_CALL:
        place = ev.source.saves()
    if place is None and cause == "stops/writes-leaf":  # torch looks when forward has ended
        place = ev.source.writes_in_place("forward")
    return Reason(cause, facts, place)


_BY_CALL = ("stops/saved-value", "stops/saved-list")  # torch looks when forward has ended

CAUSES = {"stops/error": (why_it_stopped,), "start/no-method": (names.missing_method,)}
