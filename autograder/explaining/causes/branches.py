"""One element that decides for all: `if (x == 0).any()`. The run in which it is decided otherwise tells."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from autograder.explaining.causes.results import Reason, Result, Seen, result_of
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.judging.rules.outputs import tensors_of
from autograder.observation.compare import mismatch
from autograder.running.containment import contained
from autograder.running.value_flow import Replaced, Value, ancestors

_MOST = 8  # decisions of a run that are turned round


def decided_by_one(ev: Evidence, finding: Finding) -> Reason | None:
    """A condition about many elements that takes all of them one way, where some belong on the other."""
    result = result_of(ev, finding)
    if result is None or ev.flow is None or ev.answered is None:
        return None
    for seen in result.wrong[:2]:
        run = ev.flow(seen.pair.question)
        decides = [v for v in run.values if v.mask and v.numbers.size == 1 and v.exchangeable and v.line and _of_many(v)]  # fmt: skip
        for value in decides[:_MOST]:
            other = Replaced(value, np.asarray(1 - value.numbers))
            with contained():
                answer = ev.answered(seen.pair.question, other)
            pair = Pair(seen.pair.question, answer, seen.pair.references)
            mended = _mended(result, seen, pair) if answer.failure is None else 0
            if mended:
                facts = {"line": value.line, "code": value.code, "mended": mended}
                place = (value.line or 0, value.text)
                return Reason("branch/decides", facts, place, pair=seen.pair)
    return None


def _of_many(value: Value) -> bool:
    """Whether it was made of a mask of several elements, or of several numbers."""
    return any(v.numbers.size > 1 for v in ancestors(value))


def _mended(result: Result, seen: Seen, other: Pair) -> int:
    """How many numbers come right if it is decided otherwise, and others not."""
    gradient, place = result.kind == "gradient", result.place
    both = [(other.raw(place), other.right(place))] if gradient else tensors_of(other)[place : place + 1]  # fmt: skip
    got = both[0][0] if both else None
    if not isinstance(got, Tensor) or not seen.fits or seen.right is None or got.shape != seen.right.shape:  # fmt: skip
        return 0
    before, after = mismatch(seen.got, seen.right), mismatch(got, seen.right)
    # Where nothing is left the other branch is right for all: then nothing is wrong with deciding for all.
    return int((before & ~after).sum()) if bool(after.any()) else 0
