"""Why an answer is wrong at a special point alone: a kink, a tie, a bound, a masked row."""

from __future__ import annotations

from torch import Tensor

from autograder.contract.references import expected_upstream
from autograder.explaining.causes.on_the_way import edited
from autograder.explaining.causes.results import Reason, Result, Seen
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Clause, Finding
from autograder.observation.compare import mismatch, show

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
