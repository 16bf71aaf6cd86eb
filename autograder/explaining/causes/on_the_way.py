"""What is odd about the first wrong value of a run, beside the values that right answers have there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.explaining.causes.departures import Departure, ancestors, doubtful, like
from autograder.explaining.causes.relations import relation
from autograder.explaining.causes.results import ENOUGH, Reason, Result, departure_of
from autograder.observation.compare import close
from autograder.running.value_flow import Value

_NEVER_NEGATIVE = {"relu", "square", "abs", "exp", "sigmoid", "softplus"}
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
    reason = _reason(_of_mask(result, found), found)
    return replace(reason, rule="gradient-zero") if reason is not None and nothing else reason


def over_no_dimension(result: Result) -> Reason | None:
    """A reduction over an empty list of dimensions, which adds up everything."""
    found = departure_of(result)
    empty = [v for v in found.mine if v.op.endswith("[]") and v.line is not None] if found is not None else []  # fmt: skip
    if not empty:
        return None
    place = empty[0].line or 0, empty[0].text
    return Reason("sum/empty-dims", {"what": result.ev.argument(0), "line": place[0]}, place)


def departed(result: Result) -> Reason | None:
    """How the first wrong value differs from what right answers have there."""
    found = departure_of(result)
    if found is None:
        return None
    told = _of_mask(result, found) if found.value.mask else _told(result, found)
    return _reason(told, found)


def _reason(told: tuple[str, dict[str, Any]] | None, found: Departure) -> Reason | None:
    facts = {"line": found.line, "code": found.value.code}
    return told and Reason(told[0], {**facts, **told[1]}, (found.line, found.text))


def first_wrong(result: Result) -> Reason | None:
    """Where the first wrong value is made, and no more."""
    found = departure_of(result)
    if found is None:
        return None
    reason = _reason(("departs/first", {}), found)
    return reason and replace(reason, symptom=True)


def _told(result: Result, found: Departure) -> tuple[str, dict[str, Any]] | None:
    got = torch.from_numpy(found.value.numbers)
    if len(got.unique()) < ENOUGH or not bool(torch.isfinite(got).all()):
        return None
    hand = dict(_at_hand(result, found))
    told = relation(got, _counterparts(found), hand)
    return told and (f"departs/{told[0]}", told[1])


def _counterparts(found: Departure) -> list[Tensor]:
    """The values of right answers that the run has not, the last ones first."""
    own = [v for v in found.mine if v is not found.value]
    size = found.value.numbers.size
    values = [v for v in reversed(found.right.values) if v.numbers.size == size and not v.mask]
    values = [v for v in values if not found.right.given.have(v.numbers)]
    values = [v for v in values if not any(like(v, o) for o in own)]
    return [torch.from_numpy(v.numbers) for v in values]


def _at_hand(result: Result, found: Departure) -> Iterator[tuple[str, Tensor]]:
    """What a formula can be made of, by the learner's names: arguments, grad_output, and right values."""
    for position, value in enumerate(found.question.args):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number or (isinstance(value, Tensor) and value.is_floating_point()):
            yield result.ev.argument(position), torch.as_tensor(value).detach().double()
    for value in found.mine:
        target = value.text.partition(" = ")[0]
        if value is not found.value and target.isidentifier() and found.right.toward.have(value.numbers):  # fmt: skip
            yield target, torch.from_numpy(value.numbers)


# ---- masks ---------------------------------------------------------------------------------------


def _of_mask(result: Result, found: Departure) -> tuple[str, dict[str, Any]] | None:
    """A mask that is True everywhere, nowhere, too often or too seldom, and how it came about."""
    mask, size = found.value.numbers.astype(bool).reshape(-1), found.value.numbers.size
    right = [v.numbers.astype(bool).reshape(-1) for v in found.right.values if v.mask and v.numbers.size == size]  # fmt: skip
    stops = any(s.right is not None and bool((s.right == 0).any()) for s in result.wrong)
    mixed = [r for r in right if 0 < r.sum() < size]
    if not mixed and not (mask.all() == mask.any() and stops):
        return None
    op = found.value.op.strip("_")
    if mask.all():
        if op in ("bitwise_or", "logical_or", "or"):
            return "mask/joined-with-or", {}
        if (bounded := _bounded(found.value)) is not None:
            never = bounded.op in _NEVER_NEGATIVE
            return f"mask/{'never-negative' if never else 'bounded'}", {"call": bounded.op, "made": bounded.line}  # fmt: skip
        return "mask/everywhere", {}
    if not mask.any():
        return ("mask/joined-with-and" if op in ("bitwise_and", "logical_and", "and") else "mask/nowhere"), {}  # fmt: skip
    last = mixed[-1] if found.instead is None else found.instead.numbers.astype(bool).reshape(-1)
    if (mask == ~last).all():
        return "mask/opposite", {}
    if np.all(mask | ~last):
        return "mask/too-often", {}
    return ("mask/too-seldom", {}) if np.all(~mask | last) else None


def _bounded(mask: Value) -> Value | None:
    """What was brought into range before a mask compares it."""
    compared = [g for v in ancestors(mask) if v.mask for g in v.given if not g.mask]
    return next((v for v in compared if v.op in _BOUNDING and v.line is not None), None)
