"""Why an output or a gradient is wrong: the general causes, in the order of asking.

A cause works for any Function. It has to explain every wrong case, and the right ones beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from autograder.explaining.causes import alterations, on_the_way, results
from autograder.explaining.causes.arguments import (
    as_returned,
    missing_gradient,
    other_order,
    through_a_function,
)
from autograder.explaining.causes.arithmetic import far_out, odd, odd_there
from autograder.explaining.causes.numbers import given_number
from autograder.explaining.causes.precision import few_digits, of_result, two_dtypes
from autograder.explaining.causes.results import Reason, Result, Seen, Why, result_of, with_line
from autograder.explaining.causes.shapes import SHAPES, done_to_the_shape
from autograder.explaining.causes.sums import summed_otherwise
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.compare import close

_Reason = Callable[[Result], Reason | None]


def asking(*causes: _Reason) -> Why:
    """The first of these causes of the result that a finding is about."""

    def why(ev: Evidence, finding: Finding) -> Reason | None:
        result = result_of(ev, finding)
        if result is None or not result.wrong:
            return None
        return next(filter(None, (cause(result) for cause in causes)), None)

    return why


def _swapped(ev: Evidence, finding: Finding) -> Reason | None:
    """The gradients of two arguments are right, each in the other's place."""
    one = result_of(ev, finding)
    if one is None or one.kind != "gradient":
        return None
    i, pairs = one.place, [s.pair for s in one.every]
    for j in {j for p in pairs for j in p.question.wants if j != i}:
        both = [p for p in pairs if j in p.question.wants]
        if both and all(close(p.raw(i), p.right(j)) and close(p.raw(j), p.right(i)) for p in both):
            line = ev.source.returned(one.method, pairs[0].answer.returned_at)
            return Reason("gradient/swapped", {"other": ev.argument(j)}, line, "gradient-swapped")
    return None


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


VALUES: Sequence[_Reason] = (
    alterations.ignored, alterations.passed_on, on_the_way.edited, alterations.vanishing,
    alterations.turned, alterations.scaled, alterations.transposed, alterations.not_linear,
    summed_otherwise, on_the_way.departed, on_the_way.first_wrong, results.in_some_cases,
)  # fmt: skip

# Asked before the known mistakes: what the source proves, or the numbers beyond doubt.
EARLY = {
    "forward": (with_line, other_order),
    "forward/wrong": (asking(few_digits),),
    "gradient": (with_line, _swapped),
    "gradient/wrong": (asking(few_digits, on_the_way.masked),),
    "count": (other_order, as_returned),
    "stops/error": (other_order, two_dtypes),
    **dict.fromkeys(
        ("unstable", "special", "batch", "strides", "expanded", "empty", "grown", "float32", "bfloat16"), (with_line,)
    ),
}  # fmt: skip
CAUSES = {
    "forward/wrong": (odd, asking(*VALUES)),
    "forward/shape": (asking(*SHAPES),),
    "forward/dtype": (of_result,),
    "gradient/wrong": (odd, asking(*VALUES)),
    "gradient/shape": (asking(*SHAPES),),
    "gradient/dtype": (of_result,),
    "gradient/missing": (missing_gradient,),
    # what is right in the ordinary cases, and wrong at a point, in a dtype, layout, size or far out
    "special/wrong": (odd_there, on_the_way.at_point, given_number),
    "batch/wrong": (odd_there, _of_shape),
    "strides/wrong": (odd_there,),
    **dict.fromkeys([f"{what}/wrong" for what in ("expanded", "empty", "grown", "device")], (odd_there,)),
    **dict.fromkeys(("float32/wrong", "bfloat16/wrong"), (of_result, odd_there)),
    "unstable": (far_out,),
    "through/missing": (through_a_function,),
}  # fmt: skip
