"""What is odd about the first wrong value of a run, beside the values that right answers have there."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.explaining.causes import alterations
from autograder.explaining.causes.departures import ZEROS, Departure, moved
from autograder.explaining.causes.other_code import RULE, wrong_way
from autograder.explaining.causes.precision import made_in
from autograder.explaining.causes.repairs import repair
from autograder.explaining.causes.results import (
    Reason,
    Result,
    departure_of,
    line_of_result,
    result_of,
)
from autograder.explaining.example_answers import like
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.compare import nearly, show
from autograder.observation.syntax import code_at, product_around
from autograder.running.value_flow import Value, ancestors

_WORDS = 10  # of code in a headline
_ROUNDED = 1e-6  # of the largest difference: less is what rounding leaves
# What puts every number into the range that a mask asks for afterwards.
_BOUNDING = {"clamp", "clamp_min", "clamp_max", "hardtanh", "minimum", "maximum", "relu", "square", "abs", "exp", "sigmoid"}  # fmt: skip


def with_line(ev: Evidence, finding: Finding) -> Reason:
    """The line in which a slip is, or that made the value; of a finding with a line, that of the step where it goes wrong."""
    result, known = result_of(ev, finding), finding.evidence.get("line")
    if result is None or not result.wrong or (known and departure_of(result) is None):
        return Reason("")
    told = None if known else repaired(result)
    return Reason("", line=told.line if told else line_of_result(result))


def of_rule(ev: Evidence, finding: Finding) -> Reason | None:
    """Of a finding about no result: the line of the change with which its rule holds."""
    if finding.pair is None or finding.evidence.get("line") or result_of(ev, finding) is not None:
        return None
    found = repair(ev, finding.pair, (RULE, finding.asked_by))
    return None if found is None else Reason("", line=(found.line, found.text))


def of_draw(ev: Evidence, finding: Finding) -> Reason | None:
    """The line that draws numbers: in backward, where that begins there."""
    run = ev.flow(finding.pair.question) if finding.pair is not None else None
    every = run.operations.all if run is not None and not finding.evidence.get("line") else ()
    drawn = [o for o in every if torch.Tag.nondeterministic_seeded in o.call[0].tags and o.spans]
    if not drawn:
        return None
    span = drawn[-1].spans[-1 if drawn[-1].late else 0]
    return Reason("", line=(span.line, linecache.getline(span.file, span.line).strip()))


def repaired(result: Result) -> Reason | None:
    """The one change in the learner's code with which every case comes out right."""
    if not isinstance(result.wrong[0].got, Tensor):
        return None
    step = departure_of(result)
    if step is not None and step.value.view and (shaped := moved(step)) is not None:
        return _reason(shaped, step, result)
    read = _read(step, result) if step is not None and step.value.read else None
    pair = result.ev.pair(step.question.id) if step else result.wrong[0].pair
    found = repair(result.ev, pair, (result.kind, result.place))
    if read is not None and not read.symptom and (found is None or found.rank):
        return read
    if found is None:
        return None
    code, line = found.code, found.line
    if found.edit.code == "scale":  # which of the factors lacks it, nobody can tell
        span = product_around(found.span)
        code, line = code_at(span), span.line
    facts: dict[str, Any] = {"line": line, "code": _short(code), **found.edit.facts}
    if "without" in facts:
        facts["mine"] = _short(facts["mine"])
    elif found.edit.code == "edit":
        words = " ".join(str(facts[name]) for name in ("code", "mine", "other")).split()
        facts["part"] = facts.get("part") and len(words) < _WORDS
    return Reason(f"departs/{found.edit.code}", facts, (found.line, found.text), _rule(result), pair=pair)  # fmt: skip


def _rule(result: Result) -> str:
    """The rule that says how a gradient is wrong as a whole: its sign, its scale, a lost grad_output; "" for none."""
    looks = alterations.ignored, alterations.vanishing, alterations.turned, alterations.scaled, alterations.transposed, alterations.unsummed, alterations.not_linear  # fmt: skip
    return next((reason.rule for look in looks if (reason := look(result)) is not None), "")


def led_wrong(result: Result) -> Reason | None:
    """The condition that leads a wrong case where it goes wrong: the other way it comes out right."""
    pair, step = result.wrong[0].pair, departure_of(result)
    at = wrong_way(result.ev, pair, (result.kind, result.place))
    if at is None:
        return None
    line, body = at.tree.lineno, getattr(at.holder, "body", None)
    ends = isinstance(body, list) and isinstance(
        body[-1], ast.Return
    )  # the other way is all that follows
    last = getattr(at.node if ends else at.holder, "end_lineno", 0)
    told = step is not None and step.mended and step.value.op not in ZEROS
    if step is not None and told and line < step.line <= last:
        return None  # what it leads to is known better
    text = linecache.getline(at.file, line).strip()
    facts = {"line": line, "code": _short(ast.unparse(at.tree))}
    return Reason("departs/way", facts, (line, text), _rule(result), symptom=True, pair=pair)


def departed(result: Result) -> Reason | None:
    """The first wrong value beside the right one with which, in its place, the result is right."""
    found = departure_of(result)
    # Zeros that nothing fills are no step that goes wrong.
    if found is None or found.value.op in ZEROS:
        return None
    if not found.mended:
        return None
    if (shaped := moved(found)) is not None:
        return _reason(shaped, found, result)
    if found.value.mask:
        return _reason(_of_mask(found), found, result)
    if found.value.read:
        return _read(found, result)
    if found.right.anywhere.have(found.value.numbers):
        return _symptom(_reason(("departs/not-yet", {}), found, result))
    if found.instead is None:
        return _symptom(_reason(("departs/somehow", {}), found, result))
    got, right = (
        torch.from_numpy(found.value.numbers),
        torch.from_numpy(found.instead.reshape(found.value.numbers.shape)),
    )
    rounded = (
        made_in(result.ev, ancestors(found.value), "float32", found.question)
        if nearly(got, right)
        else None
    )
    if rounded is not None:
        return Reason("precision/single", rounded)
    apart = (got - right).abs().nan_to_num(nan=torch.inf).nan_to_num().reshape(-1)
    beside = apart * (right != 0).reshape(-1)  # a number beside another says more than one beside 0
    at = int((beside if beside.max() > _ROUNDED * apart.max() else apart).argmax())
    both = {"mine": show(a := float(got.reshape(-1)[at])), "right": show(b := float(right.reshape(-1)[at]))}  # fmt: skip
    if both["mine"] == both["right"]:
        both = {"mine": f"{a:.9g}", "right": f"{b:.9g}"}
    whole = like(found.value.numbers, found.mine[-1].numbers)
    return _symptom(_reason(("departs/mended", both | {"whole": whole}), found, result))


def _read(found: Departure, result: Result) -> Reason | None:
    """A name that stands for another tensor than the formula means: saved, handed on, a constant."""
    assert found.value.read is not None
    facts: dict[str, Any] = {
        "name": found.value.read.name,
        "made": found.line,
        "right": _named(result, found),
    }
    reason = _reason(("departs/read", facts), found, result)
    reason = reason and replace(reason, facts={**reason.facts, "line": found.value.line})
    return reason if facts["right"] else _symptom(reason)


def _named(result: Result, found: Departure) -> str:
    """What has the numbers that belong in the place of a value: an argument, the output, an expression; "" for none."""
    pair, known = result.ev.pair(found.question.id), dict[str, Any]()
    for i, argument in enumerate(pair.question.args):
        known[f"forward's {result.ev.argument(i)}"] = argument
    known["the output"] = next(iter(pair.answer.outputs or ()), None)
    numbers = {
        name: t.detach().double().numpy() for name, t in known.items() if isinstance(t, Tensor)
    }
    run = result.ev.flow(pair.question)
    made = (v for v in run.values if v.spans and v.exchangeable) if run is not None else ()
    numbers |= {f"`{v.code}` of line {v.line}": v.numbers for v in made if v.numbers.size > 1}
    belong = [n for value, n in found.mended if value is found.value]
    same = (name for name, mine in numbers.items() if any(like(mine, n) for n in belong))
    return next(same, "")


def _reason(
    told: tuple[str, Mapping[str, Any]] | None, found: Departure, result: Result
) -> Reason | None:
    if not told or not found.value.code:  # a line of a file that is not there says nothing
        return None
    facts = {"line": found.line, "code": _short(found.value.code)}
    pair = result.ev.pair(found.question.id)
    return Reason(told[0], {**facts, **told[1]}, (found.line, found.text), _rule(result), pair=pair)


def _short(code: str) -> str:
    """Code that fits into a headline."""
    words = code.split()
    return code if len(words) < _WORDS else f"{' '.join(words[: _WORDS - 2])} …"


def _symptom(reason: Reason | None) -> Reason | None:
    """It says where, and a known mistake may still say why."""
    return reason and replace(reason, symptom=True)


# ---- masks ---------------------------------------------------------------------------------------


def _of_mask(found: Departure) -> tuple[str, dict[str, Any]] | None:
    """A mask beside the one that mends it; of one that is the same everywhere, how it came about."""
    mask = found.value.numbers.astype(bool)
    right = next((n for v, n in found.mended if v is found.value), mask).astype(bool)
    bounded = _bounded(found.value) if mask.all() else None
    if bounded is None and any(m.any() and not m.all() for m in (mask, right)):
        more, less = int((mask & ~right).sum()), int((~mask & right).sum())
        return ("mask/differs", {"more": more, "less": less}) if more or less else None
    if bounded is not None:
        return "mask/bounded", {"made": bounded.line}
    return f"mask/{'everywhere' if mask.all() else 'nowhere'}", {}


def _bounded(mask: Value) -> Value | None:
    """What was brought into range before a mask compares it."""
    return next((v for v in ancestors(mask) if v.op in _BOUNDING and v.line and v.given), None)
