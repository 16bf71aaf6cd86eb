"""What is odd about the first wrong value of a run, beside the values that right answers have there."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.contract.meant_gradients import OwnGradient
from autograder.contract.measured import Measured
from autograder.contract.references import expected_upstream
from autograder.explaining.causes import alterations
from autograder.explaining.causes.departures import Departure, doubtful
from autograder.explaining.causes.edits import edit
from autograder.explaining.causes.numbers import number_at_fault
from autograder.explaining.causes.results import Reason, Result, Seen, departure_of, where_only
from autograder.explaining.example_answers import known_answers
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Clause, Finding
from autograder.observation.compare import close, mismatch, show
from autograder.running.value_flow import Value, ancestors, code_at

_NEVER_NEGATIVE = {"relu", "square", "abs", "exp", "sigmoid", "softplus"}
_WORDS = 10  # of code in a headline
# What puts every number into the range that a mask asks for afterwards.
_BOUNDING = {"clamp", "clamp_min", "clamp_max", "hardtanh", "minimum", "maximum", "sign", *_NEVER_NEGATIVE}  # fmt: skip


def masked(result: Result) -> Reason | None:
    """What lets all of grad_output through, or nothing: a mask that is the same everywhere."""
    if result.kind != "gradient":
        return None
    passes = result.all(lambda s: close(s.got, s.pair.question.upstream[0]))
    nothing = result.all(lambda s: not bool(s.got.any()), wrong_only=True)
    found = departure_of(result) if passes or nothing else None
    alike = [v for v in found.mine if v.line is not None and doubtful(v) == 1] if found is not None else []  # fmt: skip
    if found is None or not alike:
        return None
    last = alike[-1]
    found = replace(found, line=last.line or 0, text=last.text, value=last)
    reason = _reason(_of_mask(result, found), found, result)
    return replace(reason, rule="gradient-zero") if reason is not None and nothing else reason


def edited(result: Result) -> Reason | None:
    """The one change at the first wrong step with which every wrong case comes out right."""
    found = departure_of(result)
    known = edit(result, found) if found is not None else None
    if found is None or known is None:
        return None
    told, span = known
    line = span.line, linecache.getline(span.file, span.line).strip()
    facts: dict[str, Any] = {"line": span.line, "code": _short(code_at(span)), **told.facts}
    if told.code == "edit":
        words = " ".join(str(facts[name]) for name in ("code", "mine", "other")).split()
        facts["part"] = facts.get("part") and len(words) < _WORDS
    reason = Reason(f"departs/{told.code}", facts, line, pair=result.ev.pair(found.question.id))
    return replace(reason, rule=_rule(result))


def _rule(result: Result) -> str:
    """The rule that says how a gradient is wrong as a whole: its sign, its scale, a lost grad_output; "" for none."""
    looks = alterations.ignored, alterations.vanishing, alterations.turned, alterations.scaled, alterations.transposed, alterations.not_linear  # fmt: skip
    return next((reason.rule for look in looks if (reason := look(result)) is not None), "")


def departed(result: Result) -> Reason | None:
    """The first wrong value beside the right one with which, in its place, the result is right."""
    found = departure_of(result)
    if found is None or not found.mended:
        return None
    if found.value.mask:
        return _reason(_of_mask(result, found), found, result)
    if (number := number_at_fault(result, found)) is not None:
        return replace(number, rule=_rule(result))
    if found.instead is None:
        return _symptom(_reason(("departs/somehow", where_only(result)), found, result))
    got, right = torch.from_numpy(found.value.numbers), torch.from_numpy(found.instead)
    apart = (got - right.reshape(got.shape)).abs().nan_to_num(nan=torch.inf).reshape(-1)
    at = int(apart.argmax())
    both = {"mine": show(a := float(got.reshape(-1)[at])), "right": show(b := float(right.reshape(-1)[at]))}  # fmt: skip
    if both["mine"] == both["right"]:
        both = {"mine": f"{a:.9g}", "right": f"{b:.9g}"}
    reason = _reason(("departs/mended", {**both, **where_only(result)}), found, result)
    return _symptom(reason and replace(reason, rule=_rule(result)))


def _reason(
    told: tuple[str, Mapping[str, Any]] | None, found: Departure, result: Result
) -> Reason | None:
    if not told or not found.value.code:  # a line of a file that is not there says nothing
        return None
    facts = {"line": found.line, "code": _short(found.value.code)}
    pair = result.ev.pair(found.question.id)
    return Reason(told[0], {**facts, **told[1]}, (found.line, found.text), pair=pair)


def _short(code: str) -> str:
    """Code that fits into a headline."""
    words = code.split()
    return code if len(words) < _WORDS else f"{' '.join(words[: _WORDS - 2])} …"


def _symptom(reason: Reason | None) -> Reason | None:
    """It says where, and a known mistake may still say why."""
    return reason and replace(reason, symptom=True)


def first_wrong(result: Result) -> Reason | None:
    """Where the first wrong value is made, and no more."""
    found, exercise = departure_of(result), result.ev.exercise
    if found is None:
        return None
    beside = ""
    if not known_answers(exercise, right=True):  # somebody else's Function
        beside = "torch runs the reference"
        if isinstance(exercise.reference, Measured):
            beside = "torch itself differentiates forward"
            # Of a surrogate it has other numbers, and what is no class cannot be run.
            if (
                isinstance(exercise.reference, OwnGradient)
                or getattr(exercise.reference.call, "opened", None) is None
            ):
                return None
    return _symptom(
        _reason(("departs/first", {"beside": beside, **where_only(result)}), found, result)
    )


# ---- masks ---------------------------------------------------------------------------------------


def _of_mask(result: Result, found: Departure) -> tuple[str, dict[str, Any]] | None:
    """A mask that is True everywhere or nowhere, and how it came about; else beside the one that mends it."""
    mask, op = found.value.numbers.astype(bool).reshape(-1), found.value.op.strip("_")
    alike = mask.all() == mask.any()
    if found.instead is None:
        right = (v.numbers for v in found.right.values if v.mask and v.numbers.size == mask.size)
        stops = any(s.right is not None and bool((s.right == 0).any()) for s in result.wrong)
        if not alike or not (stops or any(0 < r.sum() < mask.size for r in right)):
            return None
    elif not alike:
        right_one = found.instead.astype(bool).reshape(-1)
        return "mask/differs", {"more": int((mask & ~right_one).sum()), "less": int((~mask & right_one).sum())}  # fmt: skip
    if not mask.any():
        return ("mask/joined-with-and" if op in ("bitwise_and", "logical_and", "and") else "mask/nowhere"), {}  # fmt: skip
    if op in ("bitwise_or", "logical_or", "or"):
        return "mask/joined-with-or", {}
    if (bounded := _bounded(found.value)) is not None:
        never = bounded.op in _NEVER_NEGATIVE
        return f"mask/{'never-negative' if never else 'bounded'}", {"call": bounded.op, "made": bounded.line}  # fmt: skip
    return "mask/everywhere", {}


def _bounded(mask: Value) -> Value | None:
    """What was brought into range before a mask compares it."""
    for compared in (v for v in ancestors(mask) if v.mask):
        upwards = compared.op in ("ge", "gt", "ne")  # what is never negative has no bound above
        for value in ancestors(compared):
            alike = not value.mask and value.numbers.size > 1 and len(np.unique(np.abs(value.numbers))) == 1  # fmt: skip
            bounds = value.op in _BOUNDING and (upwards or value.op not in _NEVER_NEGATIVE)
            if value.line is not None and value.given and (bounds or alike):
                return value
    return None


# ---- special points: a kink, a tie, a bound, a masked row ----------------------------------------

_SHARES = {0.0: "none", 0.5: "half", 1.0: "all"}


def at_point(ev: Evidence, finding: Finding) -> Reason | None:
    """Which share of grad_output arrives there, which should, and what in the code decides it."""
    pair, i = finding.pair, finding.position
    if pair is None or i is None or pair.answer.failure is not None:
        return None
    got, right, x = pair.raw(i), pair.right(i), pair.question.args[i]
    if not isinstance(got, Tensor) or right is None or got.shape != right.shape:
        return None
    shares = _shares(pair, got, right)
    if shares is None:
        return None
    odd = mismatch(got, right)
    places = list(dict.fromkeys(show(float(v)) for v in x[odd])) if x.shape == odd.shape else []
    at = f"{ev.argument(i)} = {', '.join(places[:3])}" if places and len(places) <= 3 and not bool(odd.all()) else ""  # fmt: skip
    facts = {"mine_share": shares[0], "right_share": shares[1], "at": at, "advice": ev.advice(pair.where)}  # fmt: skip
    seen = Seen(pair, got, right)
    plain = (Seen(p, p.raw(i), p.right(i)) for p in ev.plain if i in p.question.wants)
    decides = edited(Result(ev, "gradient", i, (seen, *plain), (seen,)))
    if decides is not None and decides.code == "departs/edit":
        return Reason(
            "special/share",
            facts | {"decides": Clause("decides/edit", decides.facts)},
            decides.line,
        )
    return Reason("special/share", facts, symptom=True)


def _shares(pair: Pair, got: Tensor, right: Tensor) -> tuple[str, str] | None:
    """(what passes of grad_output where it is wrong, what should): none, half or all of it."""
    upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
    if upstream is None or upstream.shape != got.shape:
        return None
    odd = mismatch(got, right) & (upstream != 0)
    both = [{round(float(v), 6) + 0.0 for v in (t.double()[odd] / upstream[odd]).reshape(-1)} for t in (got, right)]  # fmt: skip
    if any(len(each) != 1 for each in both):
        return None
    mine, asked = (_SHARES.get(each.pop()) for each in both)
    return (mine, asked) if mine is not None and asked is not None else None
