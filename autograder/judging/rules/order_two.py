"""Second derivatives: right, or refused with an error, but never silently wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.contract.known_mistakes import read_answers
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.context import honours_needs_input_grad
from autograder.judging.rules.far_out import gradient_stable, output_stable
from autograder.judging.rules.problems import fails_at_first
from autograder.judging.rules.ranges import (
    expanded_upstream,
    other_strides,
    single_precision,
    special_points,
)
from autograder.judging.rules.registry import NOT_ASKED, Undecided, Verdict, finds, rule
from autograder.observation.compare import both, close, show, where_finite
from autograder.observation.observation import Failure
from autograder.observation.source import Source, at

_Wrong = tuple[int, object, object]  # (place, actual, expected)
_LEADS = {"transposed": "for inputs that are not contiguous, ", "float32": "in float32 "}


@rule("double-backward-value", needs=("writes_it_by_hand",))
def second_derivatives(ev: Evidence) -> Verdict:
    """Second derivatives are right (or refused where that is allowed)."""
    # What is wrong in any layout and dtype is told of the usual ones.
    pairs = sorted(ev.pairs("second"), key=lambda pair: pair.question.variant != "")
    verdict: Verdict = None if pairs else NOT_ASKED
    for pair in pairs:
        if _declared_absent(ev, pair):
            return Undecided("backward says by once_differentiable that there are none")
        # What stops needs no comparison, and measured slopes of backward take many calls.
        given = ev.exercise.strictness.as_given and pair.answer.failure is None
        if given and pair.expected.second is None:
            return Undecided("there is nothing that they can be compared with")
        found = _judged(ev, pair)
        if found is not None and not _first_is_wrong(ev, pair):
            return found
        if found is not None and pair.question.role in ("extreme", "special"):
            verdict = NOT_ASKED  # nothing was found, and "right" would say too much
    return verdict


def _declared_absent(ev: Evidence, pair: Pair) -> bool:
    """Whether backward is once differentiable on purpose, where nobody asks for more."""
    asked_for = (
        ev.exercise.strictness.severity("double-backward-missing", "second/stops") == "error"
    )
    return "without_decorator" in pair.answer.data and not asked_for


def _judged(ev: Evidence, pair: Pair) -> Finding | None:
    must_refuse = ev.exercise.second_order == "refused"
    may_refuse = ev.exercise.second_order == "right-or-refused"
    failure = pair.answer.failure
    if failure is not None:
        if must_refuse or may_refuse:
            return None if failure.is_runtime_error else _other_error(pair, failure)
        shown = at(failure.place or ev.source.returned("backward", {}))
        return _found(
            ev, pair, "second/stops", None, {"original": failure.original, **shown},
            where="Differentiated again, backward", method="backward",
        )  # fmt: skip
    wrong = wrong_one(pair, pair.answer.second or ())
    if must_refuse:
        return _not_refused(pair, wrong)
    if wrong is None:
        return None
    got = wrong[1]
    if _as_released(ev):
        return _found(ev, pair, "second/to-repair", wrong, {"not_started": True}, name=ev.exercise.name)  # fmt: skip
    if isinstance(got, Tensor) and not bool(torch.isfinite(got).all()):
        number = show(got[~torch.isfinite(got)][0])
        return _found(ev, pair, "second/not-finite", wrong, number=number)
    if pair.question.role == "special" and got is not None:
        return _found(ev, pair, "second/kink", wrong)
    cause = "second/missing" if got is None and not may_refuse else "second/wrong"
    if ev.exercise.strictness.as_given and _never_meant(pair):
        cause = "second/none"
    none = "missing, and no error is raised" if may_refuse else "missing"
    return _found(ev, pair, cause, wrong, state=none if got is None else "wrong", may_refuse=may_refuse)  # fmt: skip


def _found(
    ev: Evidence, pair: Pair, cause: str, wrong: _Wrong | None,
    evidence: dict[str, Any] | None = None, **facts: Any,
) -> Finding:  # fmt: skip
    """A finding with what is common to all: which derivative, in which case, and the line to look at."""
    wants, place = pair.question.wants, wrong[0] if wrong else 0
    name = ev.argument(wants[place]) if place < len(wants) else "grad_output"
    missing = cause in ("second/stops", "second/missing", "second/none")
    rule = "double-backward-missing" if missing else "double-backward-value"
    _, frozen, position = pair.question.id.rpartition(":frozen:")
    lead = f"with {ev.argument(int(position))} frozen, " if frozen else ""
    lead = _LEADS.get(pair.question.variant, lead)
    kept = [k.who for p in ev.pairs("structure") for k in p.answer.kept]
    if cause in ("second/not-finite", "second/kink"):
        line = ev.source.first_call("backward", "saved_tensors")
    elif all(who.startswith(("input", "output")) for who in kept):
        line = None  # what is kept has a history: it is lost in backward
    else:
        line = ev.source.saves()
    shown = both(wrong[1], wrong[2]) if wrong and not missing else {}
    return fault(
        rule, cause, pair, evidence={**shown, **at(line or ev.source.returned("backward", {})), **(evidence or {})},
        symptom=cause != "second/to-repair", argument=name, lead=lead, subject=f"{lead}the second derivative",
        at_case=pair.where, **{"state": "missing", "may_refuse": False, "place": place, **facts},
    )  # fmt: skip


def _not_refused(pair: Pair, wrong: _Wrong | None) -> Finding:
    came = "a right one" if wrong is None else "None" if wrong[1] is None else "a wrong one"
    mixed = bool(pair.question.more.get("mixed"))
    return fault("double-backward-value", "second/not-refused", pair, evidence={"mixed": mixed},
                 symptom=True, came=came)  # fmt: skip


def _other_error(pair: Pair, failure: Failure) -> Finding:
    evidence = {"original": failure.message[:300]}
    return fault("refuses", "second/other-error", pair, seen_at=failure.place, evidence=evidence, kind=failure.kind,
                 by_assert=failure.kind == "AssertionError")  # fmt: skip


def _first_is_wrong(ev: Evidence, pair: Pair) -> bool:
    """Whether the first derivative already fails in this case, with these strides or with an input frozen."""
    if pair.question.variant == "transposed":
        return finds(ev, other_strides, expanded_upstream)
    if pair.question.variant == "float32":
        return finds(ev, single_precision)
    if pair.question.role == "extreme":  # x = 0 is asked here once more
        return finds(ev, output_stable, gradient_stable, special_points)
    frozen = ":frozen:" in pair.question.id
    return (frozen and finds(ev, honours_needs_input_grad)) or fails_at_first(ev, pair)


def wrong_one(pair: Pair, second: tuple[Any, ...]) -> _Wrong | None:
    """(place, actual, expected) of the first wrong one of some second derivatives."""
    dtype = torch.float32 if pair.question.variant == "float32" else torch.float64
    for place, right in enumerate(pair.expected.second or ()):
        got = second[place] if place < len(second) else None
        if right is None or not bool(right.any()):
            if (
                isinstance(got, Tensor)
                and bool(got.any())
                and not close(got, torch.zeros_like(got), dtype)
            ):
                return place, got, right
        elif got is None or not close(*where_finite(got, right), dtype):
            return place, got, right
    return None


def _never_meant(pair: Pair) -> bool:
    """Whether backward is a function of grad_output alone: where a part of the rest comes, more is missed.

    Where not even that arrives, the gradient is a new leaf, and not a term of any graph.
    """
    second, count = pair.answer.second or (), len(pair.question.wants)
    return any(map(_moves, second[count:])) and not any(map(_moves, second[:count]))


def _moves(second: Tensor | None) -> bool:
    return second is not None and bool(second.any())


def _as_released(ev: Evidence) -> bool:
    """Whether a repair exercise still is the version that it started from, by its code."""
    exercise = ev.exercise
    if not exercise.released or exercise.mistakes is None:
        return False
    first = read_answers(exercise.mistakes, exercise.name)[0]
    return ev.source.same_code(Source.parse(first.source), "forward", "backward")
