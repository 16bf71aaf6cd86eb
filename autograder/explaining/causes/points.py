"""Why an answer is wrong at a special point alone: a kink, a tie, a bound, a masked row."""

from __future__ import annotations

import ast

from torch import Tensor

from autograder.contract.references import expected_upstream
from autograder.explaining.causes.masks import what_decides
from autograder.explaining.causes.results import Reason, Result
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.observation.compare import mismatch, show
from autograder.observation.source import Source
from autograder.observation.syntax import called

_SHARES = {0.0: "none", 0.5: "half", 1.0: "all"}
_ONE_NUMBER = ("any", "all", "sum", "mean", "max", "min", "item", "norm", "prod")


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
    decides = what_decides(ev.source, x, odd) if x.shape == odd.shape else None
    facts = {"mine_share": shares[0], "right_share": shares[1], "at": at, "advice": ev.advice(pair.where)}  # fmt: skip
    if decides is not None:
        return Reason("special/share", facts | {"decides": decides[0]}, decides[1])
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


def for_the_whole(result: Result) -> Reason | None:
    """An `if` on one number of a tensor lets all of grad_output through, or nothing, in every wrong case."""
    if result.kind != "gradient":
        return None
    for s in result.wrong:
        upstream = s.pair.question.upstream[0]
        if upstream is None or not s.fits or upstream.shape != s.got.shape:
            return None
        if bool(s.got.any()) and bool(mismatch(s.got.double(), upstream.double()).any()):
            return None
    place = condition_on_all(result.ev.source, "backward", _ONE_NUMBER)
    return None if place is None else Reason("value/whole", line=place)


def condition_on_all(source: Source, method: str, calls: tuple[str, ...]) -> tuple[int, str] | None:
    """The first `if` of a method that asks one number of a whole tensor."""
    node = source.methods.get(method)
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.If | ast.IfExp) and any(called(call) in calls for call in ast.walk(part.test)):  # fmt: skip
            return source.line_of(part)
    return None
