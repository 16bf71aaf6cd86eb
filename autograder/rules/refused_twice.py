"""Second derivatives that have to be refused, or may be: with RuntimeError, and in every case."""

from __future__ import annotations

from autograder.causes.second_order import why_not_refused, wrong_one
from autograder.evidence import Evidence, Finding, Pair


def must_refuse(ev: Evidence, pair: Pair) -> Finding | None:
    """A finding unless a second derivative ends in a RuntimeError, where every one has to be refused."""
    failure = pair.answer.failure
    if failure is not None:
        return None if failure.is_runtime_error else wrong_error(pair)
    why, hint, line = why_not_refused(ev, pair)
    wrong = wrong_one(pair, pair.answer.second or ())
    words = "a right one comes out"
    if wrong is not None:
        words = "None comes out" if wrong[1] is None else "a wrong one comes out"
    return Finding(
        "double-backward-value",
        f"A second derivative is asked for, and {words} in the place of an error: {why}.",
        hint,
        {"case": pair.where, "mixed": bool(pair.question.more.get("mixed")), **line},
    )


def wrong_error(pair: Pair) -> Finding:
    """A finding for a refusal with another error than RuntimeError."""
    failure = pair.answer.failure
    assert failure is not None
    return Finding(
        "refuses",
        f"A second derivative is refused with {failure.kind}; it should be a RuntimeError.",
        "Raise RuntimeError with a sentence that says why."
        if failure.kind != "AssertionError"
        else "assert is for what can never happen, and python -O leaves it out: `if …: raise RuntimeError(…)` with a "
        "sentence that says why.",
        {
            "case": pair.where,
            "original": failure.message[:300],
            "own_words": failure.raised_by_learner,
        },
    )
