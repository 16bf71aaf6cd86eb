"""Findings about a dtype, with what makes tensors of it in the learner's code."""

from __future__ import annotations

import re

from autograder.causes.dtype_sources import joined, made_by
from autograder.evidence import Evidence, Finding
from autograder.rules.registry import Verdict

_ODD_DTYPE = r"the (output|gradient)\b.* is (float\d+) instead of"


_MIXED = r"^In (float32|bfloat16): it stops with RuntimeError: .*(same dtype|scalar type|dtype)"
# What a tensor may be that does not fit, in this order, where the input has the dtype that is named.
_OTHERS = {"float32": ("float64",), "bfloat16": ("float64", "float32")}


def _mixed(ev: Evidence, verdict: Finding) -> Finding:
    """torch refuses two dtypes in one operation: what makes the odd one, where one thing does."""
    wanted = re.search(_MIXED, verdict.message)
    for dtype in _OTHERS[wanted[1]] if wanted else ():
        made = made_by(ev.source, dtype, "forward", "backward", "vjp")
        if made is not None and wanted is not None:
            verdict.message = (
                f"In {wanted[1]}: {made.words}, and torch does not mix the two in one operation."
            )
            verdict.hint = made.hint
            verdict.evidence |= {"line": made.line, "source": made.text}
            break
    return verdict


def with_dtype_source(ev: Evidence, verdict: Verdict) -> Verdict:
    """The verdict, which names what makes tensors of the odd dtype where one thing in the code does."""
    if not isinstance(verdict, Finding):
        return verdict
    if re.search(_MIXED, verdict.message):
        return _mixed(ev, verdict)
    odd = re.search(_ODD_DTYPE, verdict.message)
    methods = ("forward",) if odd and odd[1] == "output" else ("backward", "vjp")
    made = made_by(ev.source, odd[2], *methods) if odd else None
    if made is not None:
        verdict.message, verdict.hint = joined(verdict.message, made), made.hint
        verdict.evidence |= {"line": made.line, "source": made.text}
    return verdict
