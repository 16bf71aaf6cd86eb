"""Why an output or a gradient is wrong: the general causes, in the order of asking.

A cause works for any Function. It has to explain every wrong case, and the right ones beside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from os.path import commonprefix

from torch import Tensor

from autograder.explaining.causes import alterations, on_the_way, results
from autograder.explaining.causes.arguments import (
    as_returned,
    missing_gradient,
    other_order,
)
from autograder.explaining.causes.arithmetic import far_out, odd
from autograder.explaining.causes.precision import few_digits, inexact, of_result, two_dtypes
from autograder.explaining.causes.results import (
    Reason,
    Result,
    Why,
    departure_of,
    result_of,
)
from autograder.explaining.causes.truth import taken_for_nothing
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Clause, Finding
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
    """The gradient of one argument in the place of another, or of each in the other's."""
    one = result_of(ev, finding)
    if one is None or one.kind != "gradient":
        return None
    i, pairs = one.place, [s.pair for s in one.every]
    if alterations.turned(one) is not None:
        return None  # each is the other with the other sign: then that is what is wrong
    for j in {j for p in pairs for j in p.question.wants if j != i}:
        both = [p for p in pairs if j in p.question.wants]
        if not both or not all(close(p.raw(i), p.right(j)) for p in both):
            continue
        if all(close(p.raw(j), p.right(i)) for p in both):
            line = ev.source.returned(one.method, pairs[0].answer.returned_at)
            names = sorted((i, j))
            in_order, exchanged = (line is not None and _named_in_order(line[1], *map(ev.argument, order)) for order in (names, names[::-1]))  # fmt: skip
            # Else the line where it was made, which is known already.
            made = line if exchanged else None if in_order or on_the_way.repaired(one) else line
            facts = {"other": ev.argument(j), "in_order": in_order}
            return Reason("gradient/swapped", facts, made, "gradient-swapped")
        if not any(s.fits for s in one.wrong) and alterations.unsummed(one) is None:
            return Reason("gradient/of-another", {"other": ev.argument(j)}, rule="gradient-swapped")
    return None


def _named_in_order(line: str, *arguments: str) -> bool:
    """Whether what is returned is named after these arguments, in their order: then it is not exchanged there."""
    words, same = re.findall(r"\w+", line), len(commonprefix(arguments))  # noqa: RUF071
    places = [[k for k, word in enumerate(words) if word.endswith(name[same:] or name)] for name in arguments]  # fmt: skip
    return all(places) and [max(p) for p in places] == sorted(max(p) for p in places)


def in_that_case(ev: Evidence, finding: Finding) -> Reason | None:
    """The step that goes wrong in the one case of the finding, whatever is special about it."""
    result = result_of(ev, finding)
    if result is None or not isinstance(result.wrong[0].got, Tensor):
        return None
    found = departure_of(result) if result.kind == "second" else None
    # Of the derivative of a line nobody knows whether its history is missing: a change that mends it tells.
    unknown = result.kind == "second" and (found is None or not found.value.spans)
    step = next(filter(None, (ask(result) for ask in STEPS[: 1 if unknown else None])), None)
    if step is None:
        return None
    problem = finding.facts.get("problem")
    facts = problem.facts if isinstance(problem, Clause) else finding.facts
    what = facts.get("what") or f"the second one with respect to {facts.get('argument')}"
    facts = {"step": Clause(step.code, {**facts, "what": what, **step.facts})}
    facts["tried"] = tried = step.code.startswith("departs/") and not step.symptom
    # What is advised who fails there fits most answers: what was tried fits this one.
    facts["advice"] = ev.advice(finding.pair.where) if finding.pair is not None and not tried else ""  # fmt: skip
    return Reason(finding.cause, facts, step.line)


STEPS: Sequence[_Reason] = (
    on_the_way.repaired,
    on_the_way.led_wrong,
    alterations.transposed,
    alterations.unsummed,
    on_the_way.departed,
)
VALUES: Sequence[_Reason] = (
    alterations.ignored, alterations.passed_on, on_the_way.repaired, on_the_way.led_wrong,
    alterations.turned, alterations.conjugated, alterations.scaled, alterations.transposed, alterations.not_linear,
    on_the_way.departed, alterations.vanishing, results.in_some_cases,
)  # fmt: skip

# Asked before the known mistakes: what the source proves, or the numbers beyond doubt.
_zero = asking(taken_for_nothing)
EARLY = {
    "forward": (_zero, on_the_way.with_line, other_order),
    "forward/wrong": (asking(few_digits),),
    "gradient": (_zero, on_the_way.with_line, _swapped),
    "gradient/wrong": (asking(few_digits),),
    "second": (on_the_way.with_line,),
    "count": (other_order, as_returned),
    **dict.fromkeys(("draws/another-mask", "draws/keeps-p", "draws/share", "draws/whole-rows"), (on_the_way.of_draw,)),
    "stops/error": (other_order, two_dtypes),
    **dict.fromkeys(
        ("unstable", "special", "batch", "strides", "expanded", "empty", "grown", "float32", "bfloat16"), (_zero, on_the_way.with_line)
    ),
}  # fmt: skip
CAUSES = {
    "forward/wrong": (odd, asking(*VALUES)),
    "forward/shape": (asking(*STEPS),),
    "forward/dtype": (of_result,),
    "gradient/wrong": (odd, asking(*VALUES)),
    "gradient/shape": (asking(*STEPS),),
    "gradient/dtype": (of_result,),
    "gradient/missing": (missing_gradient,),
    # what is right in the ordinary cases, and wrong at a point, in a dtype, layout, size or far out
    **dict.fromkeys([f"{what}/wrong" for what in ("special", "batch", "strides", "expanded", "empty", "grown", "device")], (odd, in_that_case)),
    "float32/wrong": (of_result, odd, in_that_case),
    "bfloat16/wrong": (of_result, odd),
    "unstable": (far_out, in_that_case),
    "second/wrong": (in_that_case,),
    "second/not-finite": (odd,),
    "own-work/inexact": (inexact,),
}  # fmt: skip
