"""Why an answer that is right in the ordinary cases is wrong at a point, in a dtype, layout, size or far out."""

from __future__ import annotations

from torch import Tensor

from autograder.explaining.causes.arguments import number_made, through_a_function
from autograder.explaining.causes.arithmetic import first_odd, what_happened
from autograder.explaining.causes.dtype_sources import of_result
from autograder.explaining.causes.points import at_point
from autograder.explaining.causes.results import Reason, Result, Seen
from autograder.explaining.causes.shapes import done_to_the_shape
from autograder.explaining.causes.sums import summed_otherwise
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding


def _odd(ev: Evidence, finding: Finding) -> Reason | None:
    """The operation that made a nan or an infinity."""
    if finding.pair is None or finding.pair.answer.failure is not None:
        return None
    facts = first_odd(ev, finding.pair)
    line = (int(facts["line"]), str(facts["source"])) if "line" in facts else None
    return Reason(finding.cause, facts, line) if facts else None


def _far_out(ev: Evidence, finding: Finding) -> Reason | None:
    """The same far out, also for numbers that are finite and wrong."""
    pair, facts = finding.pair, finding.facts
    if pair is None:
        return None
    of = "outputs" if finding.position is None else "gradients"
    told = what_happened(ev, pair, of, int(facts["place"]), int(facts["index"]))
    advice = {"advice": ev.advice(pair.where)} if finding.position is None else {}
    line = (int(told["line"]), str(told["source"])) if "line" in told else None
    return Reason(finding.cause, told | advice, line, symptom=not told)


def _of_shape(ev: Evidence, finding: Finding) -> Reason | None:
    """What was done to the shape of a gradient in a batch: sums that were right as long as there was none."""
    pair, i = finding.pair, finding.position
    if pair is None or i is None or not isinstance(pair.raw(i), Tensor):
        return None
    right = pair.right(i)
    if right is None or pair.raw(i).shape == right.shape:
        return None
    odd = Seen(pair, pair.raw(i), right)
    batch = [p for p in ev.pairs("run", "function", role="batch", variant="") if p.answer.failure is None]  # fmt: skip
    asked = [p for p in (*ev.plain, *batch) if p.question.upstream and i in p.question.wants]
    every = tuple(Seen(p, p.raw(i), p.right(i)) for p in asked if p.answer.failure is None)
    summed = summed_otherwise(Result(ev, "gradient", i, every, (odd,)))
    found = summed or done_to_the_shape(Result(ev, "gradient", i, (odd,), (odd,)))
    problem = finding.facts["problem"]
    return found and Reason(found.code, {**problem.facts, **found.facts}, found.line)


_ANY = (_odd,)
CAUSES = {
    "special/wrong": (*_ANY, at_point),
    "batch/wrong": (
        _odd,
        _of_shape,
    ),
    "strides/wrong": _ANY,
    "expanded/wrong": _ANY,
    "empty/wrong": _ANY,
    "grown/wrong": _ANY,
    "device/wrong": _ANY,
    "float32/wrong": (
        of_result,
        _odd,
    ),
    "bfloat16/wrong": (
        of_result,
        _odd,
    ),
    "unstable": (_far_out,),
    "count/number": (number_made,),
    "through/missing": (through_a_function,),
}
