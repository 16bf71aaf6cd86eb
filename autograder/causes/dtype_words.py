"""Findings about a dtype, with what makes tensors of it in the learner's code."""

from __future__ import annotations

import re

from torch import Tensor

from autograder.causes.dtype_sources import joined, made_by
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import Failure
from autograder.rules.registry import Verdict

_ODD_DTYPE = r"the (output|gradient)\b.* is (float\d+) instead of"


_MIXED = r"^In (float32|bfloat16): it stops with RuntimeError: .*(same dtype|scalar type|dtype)"
# What a tensor may be that does not fit, in this order, where the input has the dtype that is named.
_OTHERS = {"float32": ("float64",), "bfloat16": ("float64", "float32")}


def _mixed(ev: Evidence, verdict: Finding) -> Finding:
    """An operation that refuses two dtypes (many take them): what makes the odd one, where the code shows it."""
    wanted = re.search(_MIXED, verdict.message)
    for dtype in _OTHERS[wanted[1]] if wanted else ():
        made = made_by(ev.source, dtype, "forward", "backward", "vjp")
        if made is not None and wanted is not None:
            stops = verdict.evidence.get("line")
            where = f"what line {stops} computes" if stops else "the operation that stops"
            verdict.message = f"In {wanted[1]}: {made.words}, and {where} wants one dtype."
            verdict.hint = made.hint
            verdict.evidence |= {"line": made.line, "source": made.text}
            break
    return verdict


def mixed_dtypes(failure: Failure, ev: Evidence, pair: Pair, method: str) -> tuple[str, str] | None:
    """(headline, next step) for an operation that stops at two dtypes, where the code shows what makes the odd one."""
    floats = [a for a in pair.question.args if isinstance(a, Tensor) and a.is_floating_point()]
    if not re.search(_TWO_DTYPES, failure.message) or not floats:
        return None
    wanted = str(floats[0].dtype).removeprefix("torch.")
    for odd in ("float32", "float64", "int64"):
        if odd == wanted or (made := made_by(ev.source, odd, failure.function or method)) is None:
            continue
        return f"{method} mixes {odd} with the {wanted} of its inputs: {made.words}.", made.hint
    return None


_TWO_DTYPES = r"(?i)expected .*(?:dtype|scalar type).*(?:equal|but|got)"


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
