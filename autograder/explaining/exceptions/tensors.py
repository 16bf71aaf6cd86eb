"""Errors about shapes: which tensors met, where each got its shape, and which reduction took a dimension from one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from autograder.explaining.causes.departures import ERROR, departure, moved
from autograder.explaining.causes.repairs import Repair, repair
from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.compare import shape_words
from autograder.observation.observation import Failure
from autograder.running.operations import Place, Value

_BROADCAST = (
    "must match the (?:existing )?size|not broadcastable|not expandable|must be broadcastable"
)
_SIZES = "size|shape|[Dd]imension|index out of range"
_LIKELY = 1  # the rank of a change
_SHORTEN = frozenset({
    "sum", "mean", "amax", "amin", "max", "min", "logsumexp", "prod", "argmax", "argmin", "norm", "var",
    "std", "all", "any", "nansum", "median", "count_nonzero", "squeeze", "select",
})  # fmt: skip


def met(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """What the tensors of the operation that failed tell; None where they tell nothing."""
    # Where a shape goes wrong is mostly behind the slip that a likely change of the code mends.
    found = _repair(finding, ev, failure)
    shaped = _misshapen(ev, finding) if failure.kind in ("RuntimeError", "IndexError") else None
    if shaped is not None and (found is None or found.rank > _LIKELY):
        return shaped
    if found is not None:
        facts = {"code": found.code, "at_line": found.line, **found.edit.facts}
        return Reason("stops/edit", facts, (found.line, found.text))
    product = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", failure.words)
    if product is not None:
        a, b, c, d = map(int, product.groups())
        turn = " or ".join(["the first"] * (a == c) + ["the second"] * (b == d))
        facts = {"first": f"{a}×{b}", "second": f"{c}×{d}", "same": (a, b) == (c, d), "turn": turn}
        return Reason("stops/transposed", facts)
    if not re.search(_BROADCAST, failure.words) or finding.pair is None:
        return None
    if (flow := ev.flow(finding.pair.question)) is None:
        return None
    run = flow.operations
    if run.error is None or run.error[:200] != failure.message[:200]:
        return None
    given = run.all[-1].given
    places = [each for each in given if isinstance(each, Place)]
    if None in given or len(places) != 2 or _fits([place.values.shape for place in places]):
        return None
    shapes = [_in_words(place, run.values, failure) for place in places]
    return Reason("stops/two-shapes", {"first": shapes[0], "second": shapes[1]})


def _misshapen(ev: Evidence, finding: Finding) -> Reason | None:
    """What has another shape than right answers have: with theirs the run comes to its end, and is right."""
    pair = finding.pair
    if (
        pair is None
        or pair.references is None
        or "view size" in str(finding.evidence.get("original"))
    ):
        return None
    found = departure(ev, pair.question, ERROR)
    if found is None or (told := moved(found)) is None:
        return None
    keepdim = found.value.op in _SHORTEN and not found.value.view
    facts = {
        "by": found.value.op,
        "keepdim": keepdim,
        "code": found.value.code,
        "at_line": found.line,
    }
    code = told[0].replace("departs", "stops")
    return Reason(code, {**facts, **told[1]}, (found.line, found.text))


def _repair(finding: Finding, ev: Evidence, failure: Failure) -> Repair | None:
    """What stands somewhere in the code in the place of what does not stop."""
    words = failure.words
    if finding.pair is None or not re.search(_SIZES, words) or "stride" in words:
        return None
    return repair(ev, finding.pair, ("error", ""))


def _fits(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether these shapes broadcast."""
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def _in_words(place: Place, values: Sequence[Value], failure: Failure) -> str:
    """A shape, and the line in which the tensor got it where that is another one."""
    line = next((value.line for value in reversed(values) if value.place.key == place.key), None)
    return shape_words(place.values.shape) + (
        f" of line {line}" if line and line != failure.line else ""
    )
