"""Findings about a dtype, with what makes tensors of it in the learner's code."""

from __future__ import annotations

import re

from autograder.causes.dtype_sources import joined, made_by
from autograder.evidence import Evidence, Finding
from autograder.rules.registry import Verdict

_ODD_DTYPE = r"the (output|gradient)\b.* is (float\d+) instead of"


def with_dtype_source(ev: Evidence, verdict: Verdict) -> Verdict:
    """The verdict, which names what makes tensors of the odd dtype where one thing in the code does."""
    if not isinstance(verdict, Finding):
        return verdict
    odd = re.search(_ODD_DTYPE, verdict.message)
    methods = ("forward",) if odd and odd[1] == "output" else ("backward", "vjp")
    made = made_by(ev.source, odd[2], *methods) if odd else None
    if made is not None:
        verdict.message, verdict.hint = joined(verdict.message, made), made.hint
        verdict.evidence |= {"line": made.line, "source": made.text}
    return verdict
