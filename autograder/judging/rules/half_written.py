"""A Function whose backward is not written yet: what forward gives is judged everywhere first."""

from __future__ import annotations

from dataclasses import replace

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.judging.rules import far_out, ranges
from autograder.judging.rules.registry import NOT_ASKED, Rule, Verdict, rule

# What forward alone can get wrong beyond the ordinary cases, in the order in which all rules ask.
_OF_FORWARD: tuple[Rule, ...] = (
    far_out.output_stable, ranges.special_points, ranges.batch_dimensions, ranges.empty_tensors,
    ranges.single_precision,
)  # fmt: skip


class _ForwardAlone(Evidence):
    """The same evidence, as if nobody had asked for gradients."""

    def __init__(self, ev: Evidence):
        questions = list(ev.questions.values())
        super().__init__(ev.exercise, questions, ev.observation, ev.source, ev.references)

    def pair(self, id: str) -> Pair:
        pair = super().pair(id)
        failure = pair.answer.failure
        if failure is None or failure.stage not in ("backward", "engine"):
            return pair
        question = replace(pair.question, wants=())
        return replace(pair, question=question, answer=replace(pair.answer, failure=None))


@rule("forward-value", needs=("forward_runs", "output_value"))
def forward_of_a_half(ev: Evidence) -> Verdict:
    """While backward is not written yet: forward is right in every case."""
    failures = [p.answer.failure for p in ev.plain if p.answer.failure is not None]
    stops = any(f.stage != "forward" and f.kind == "NotImplementedError" for f in failures)
    unwritten = ev.source.has_stub("backward") or "backward" not in ev.source.methods
    if ev.exercise.is_function or not stops or not unwritten:
        return NOT_ASKED
    alone = _ForwardAlone(ev)
    for current in _OF_FORWARD:
        verdict = current.judge(alone)
        if isinstance(verdict, Finding):
            return verdict
    return None
