"""Mutants that compute the same thing as the answer they came from, by hand, with the reason.

(exercise, what of the answer, change) → why it is no fault. ``"*"`` as the answer stands for all
answers of the exercise.
"""

EQUIVALENT: dict[tuple[str, str, str], str] = {}


def reason(exercise: str, what: str, change: str) -> str | None:
    """Why a mutant is equivalent, or None where it is not known to be."""
    for answer in (what, "*"):
        if (exercise, answer, change) in EQUIVALENT:
            return EQUIVALENT[exercise, answer, change]
    return None
