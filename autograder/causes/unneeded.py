"""What backward does about an argument that needs no gradient: it stops, or gives zeros in place of None."""

from __future__ import annotations

import re

from torch import Tensor

from autograder.errors.translate import translate
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import Failure

_COUNT = re.compile(r"incorrect number of gradients \(expected (\d+), got (\d+)\)")
_ONE_EACH = (
    "backward returns one value for each argument of forward, in their order, and None in the place of one that "
    "needs none: the number of values is always the same."
)


def stops_where_one_is_needed(ev: Evidence, pair: Pair, failure: Failure) -> Finding:
    """The finding where backward stops, or torch refuses what it returns, when one argument needs a gradient."""
    wanted = ev.argument(pair.question.wants[0])
    evidence: dict[str, object] = {
        "case": pair.where,
        "original": f"{failure.kind}: {failure.message[:300]}",
    }
    if failure.own_frame:
        evidence |= {"line": failure.line, "source": failure.source}
    counted = _COUNT.search(failure.message)
    if counted is not None and int(counted[2]) < int(counted[1]):
        place = ev.source.returned("backward", pair.answer.returned_at)
        evidence |= {"line": place[0], "source": place[1]} if place is not None else {}
        return Finding(
            "raises",
            f"None is left out where an argument needs no gradient: when only {wanted} needs one, backward returns "
            f"{counted[2]} value{'s' if counted[2] != '1' else ''} for {counted[1]} arguments.",
            _ONE_EACH,
            evidence,
        )
    said = translate(failure, ev, pair, "backward")
    if " stops with " in said.message:
        return Finding(
            "raises",
            f"It stops when only {wanted} needs a gradient: {failure.message[:160]}",
            f"Follow backward by hand for this case: what depends on an argument besides {wanted} is None, or was never "
            "computed.",
            evidence,
        )
    return Finding(
        "raises",
        f"When only {wanted} needs a gradient, {said.message[0].lower()}{said.message[1:]}",
        said.hint,
        evidence,
    )


def zeros_for_none(ev: Evidence, pair: Pair, j: int, value: object) -> Finding | None:
    """Zeros in the place of an argument that needs no gradient: nothing was computed for it."""
    if not isinstance(value, Tensor) or not value.numel() or bool(value.any()):
        return None
    name, wanted = ev.argument(j), ev.argument(pair.question.wants[0])
    return Finding(
        "ignores-needs-input-grad",
        f"When only {wanted} needs a gradient, backward returns zeros for {name} in place of None.",
        f"Let the gradient for {name} be None until it is computed: zeros take memory and time, and say that the "
        "derivative is 0.",
        {"case": pair.where},
    )
