"""The gradients that backward itself returns, before torch repairs them.

The rules of this family are exclusive: one diagnosis is made from all the evidence
(``autograder.causes.diagnosis``), and the rule that it names is the one that fails.
"""

from __future__ import annotations

import re

from autograder.causes.diagnosis import diagnose
from autograder.compare import both, close
from autograder.errors.translate import translate
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import Failure
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule

_BEFORE = (
    "forward_runs", "output_shape", "output_value", "output_is_connected", "backward_runs",
    "one_gradient_an_argument", "leaves_inputs", "leaves_saved", "leaves_upstream",
)  # fmt: skip


@rule("gradient-value", needs=_BEFORE)
def gradients_agree(ev: Evidence) -> Verdict:
    """The gradients agree with the reference, for random upstream gradients of both signs."""
    asked = [p for p in ev.plain if p.question.upstream and p.question.wants]
    if not asked or ev.exercise.is_function:
        return NOT_ASKED
    return diagnose(ev)


@rule("gradient-value", needs=("forward_runs", "output_value"))
def function_gradients_agree(ev: Evidence) -> Verdict:
    """The gradients through the function agree with the reference."""
    asked = [p for p in ev.plain if p.question.upstream and p.question.wants]
    if not asked or not ev.exercise.is_function:
        return NOT_ASKED
    for pair in asked:
        for position in pair.question.wants:
            got, right = pair.reached(position), pair.right(position)
            if right is not None and bool(right.any()) and got is None:
                cut = ev.source.cut_in(ev.exercise.name)
                line = {"line": cut[1], "source": cut[2]} if cut is not None else {}
                return Finding(
                    "gradient-missing",
                    f"No gradient flows through the function to {ev.argument(position)}"
                    + (f": {cut[0]} in line {cut[1]} cuts it off." if cut is not None else "."),
                    "Use torch operations only, without detach, item or no_grad.",
                    {"case": pair.where, **line},
                )
            if right is not None and got is not None and not close(got, right):
                return Finding(
                    "gradient-value",
                    f"The gradient through the function to {ev.argument(position)} is wrong.",
                    "Use torch operations only, and sum exactly the dimensions that were broadcast.",
                    {"case": pair.where, **both(got, right)},
                )
    return None


@rule("gradient-value", needs=(*_BEFORE, "gradients_agree"))
def gradcheck_passes(ev: Evidence) -> Verdict:
    """gradcheck passes."""
    pairs = [p for p in ev.pairs("gradcheck") if p.question.more["order"] == 1]
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        failure = pair.answer.failure
        if failure is not None and failure.own_frame:
            return _stops_under_gradcheck(ev, pair, failure)
        if failure is not None:
            first = failure.message.splitlines()[0][:200] if failure.message else failure.kind
            return Finding(
                "gradient-value",
                "gradcheck rejects the gradient, although it equals the reference on ordinary inputs.",
                "gradcheck calls your Function many times, with undefined and one-hot upstream gradients: "
                "look for state that outlives a call, and for randomness.",
                {"case": pair.where, "original": f"{failure.kind}: {first}"},
            )
    return None


def _stops_under_gradcheck(ev: Evidence, pair: Pair, failure: Failure) -> Finding:
    """An error of the learner's own code, which ordinary upstream gradients do not bring about."""
    said = translate(failure, ev, pair, failure.function or "backward")
    message, hint = f"When gradcheck calls it: {said.message}", said.hint
    if "NoneType" in failure.message and ev.source.mentions_anywhere("set_materialize_grads"):
        message = "backward cannot take an upstream gradient that is None."
        hint = (
            "After ctx.set_materialize_grads(False) torch passes None for an output that the loss does not "
            "use, and gradcheck tries that: give None back for the inputs then."
        )
    if _used_up(ev, failure):
        message = (
            "backward uses up what forward left on ctx: a second backward through the same graph "
            "(retain_graph=True) finds nothing there."
        )
        hint = "Read what is on ctx and leave it there: pop, next and del take it away."
    place = {} if failure.line is None else {"line": failure.line, "source": failure.source}
    original = f"{failure.kind}: {failure.message}"[:300]
    return Finding("raises", message, hint, {"case": pair.where, "original": original, **place})


def _used_up(ev: Evidence, failure: Failure) -> bool:
    """Whether a backward that ran once misses what it has taken itself: popped, deleted, the next of few."""
    if failure.kind == "StopIteration" or re.search("pop from (an )?empty", failure.message):
        return True
    missing = re.search(r"'\w+Backward' object has no attribute '(\w+)'", failure.message)
    kept = ev.source.attributes_set("forward") | ev.source.attributes_set("setup_context")
    return missing is not None and missing[1] in kept


RULES: tuple[Rule, ...] = (gradients_agree, function_gradients_agree, gradcheck_passes)
