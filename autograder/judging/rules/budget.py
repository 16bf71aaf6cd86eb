"""How much is kept for backward."""

from __future__ import annotations

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.ranges import half_precision, single_precision
from autograder.judging.rules.registry import NOT_ASKED, Verdict, rule
from autograder.observation.source import at

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")


@rule("saves-too-much", needs=_RIGHT)
def keeps_within_budget(ev: Evidence) -> Verdict:
    """No more is kept for backward than is needed."""
    asked = [p for p in ev.pairs("structure") if p.answer.failure is None]
    if ev.exercise.budget is None or not asked:
        return NOT_ASKED
    for pair in asked:
        kept, allowed = sum(k.bytes for k in pair.answer.kept), allowed_bytes(ev, pair)
        if kept <= allowed:
            continue
        half = pair.question.variant == "bfloat16"
        if half and any(isinstance(r.judge(ev), Finding) for r in (single_precision, half_precision)):  # fmt: skip
            continue  # more is kept because the dtype is wrong, which is the cause
        return fault(
            "saves-too-much", "memory/too-much", pair, symptom=True,
            evidence={"kept": kept, "allowed": allowed, **at(ev.source.saves())},
            kept=kept, allowed=allowed, enough=ev.exercise.budget_words, lead=" in bfloat16" if half else "",
        )  # fmt: skip
    return None


def allowed_bytes(ev: Evidence, pair: Pair) -> int:
    """The bytes that may stay alive for backward; the reference works in float64, the question may not."""
    floats = [a for a in pair.question.args if isinstance(a, Tensor) and a.is_floating_point()]
    outputs = tuple(
        o.to(floats[0].dtype) if floats and o.is_floating_point() else o
        for o in pair.expected.outputs
        if isinstance(o, Tensor)
    )
    return 0 if ev.exercise.budget is None else ev.exercise.budget(pair.question.args, outputs)
