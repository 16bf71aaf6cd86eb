"""What is written to: inputs, upstream gradients and saved tensors stay as they were."""

from __future__ import annotations

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.registry import NOT_ASKED, Verdict, rule
from autograder.observation.observation import LOOKED_FOR_WRITES
from autograder.observation.source import at


def _runs(ev: Evidence) -> list[Pair]:
    return [p for p in ev.pairs("run", "function") if p.question.variant in LOOKED_FOR_WRITES]


@rule("mutates-input", needs=("forward_runs",))
def leaves_inputs(ev: Evidence) -> Verdict:
    """The inputs are left as they were."""
    if not ev.plain:
        return NOT_ASKED
    method = ev.exercise.name if ev.exercise.is_function else "forward"
    for pair in _runs(ev):
        changed = pair.answer.data.get("inputs_changed_in_forward") or ()
        switched = ()
        if ev.exercise.is_function:
            changed = pair.answer.inputs_changed
            switched = pair.answer.data.get("requires_grad_changed") or ()
        if changed:
            # An argument that nobody differentiates may be a buffer, as a batch norm's running mean is.
            buffers = ev.exercise.strictness.as_given and not set(changed) & set(
                pair.question.wants
            )
            cause = "writes/buffer" if buffers else "writes/input"
            return _written(ev, "mutates-input", cause, pair, method, ev.argument(changed[0]))
        if switched:
            return _written(ev, "mutates-input", "writes/requires-grad", pair, method, ev.argument(switched[0]))  # fmt: skip
    return None


@rule("mutates-saved", needs=("forward_runs", "output_is_connected"))
def leaves_saved(ev: Evidence) -> Verdict:
    """The saved tensors are left as they were."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in _runs(ev):
        left = pair.answer.data.get("grad_left") or ()
        assigned = ev.source.assigned("backward", "grad")
        if left and (assigned or ev.exercise.may_use_autograd):
            cause = "writes/grad-set" if assigned else "writes/grad-added"
            found = fault("mutates-saved", cause, pair, argument=ev.argument(left[0]))
            found.evidence |= at(assigned or ev.source.first_call("backward", "backward"))
            return found
        late = set(pair.answer.inputs_changed) - set(
            pair.answer.data.get("inputs_changed_in_forward") or ()
        )
        if late:
            return _written(ev, "mutates-saved", "writes/input-late", pair, "backward", ev.argument(min(late)))  # fmt: skip
        if any(call.saved_changed for call in pair.answer.backward):
            what = "writes/output" if _is_output(ev, pair) else "writes/saved"
            return _written(ev, "mutates-saved", what, pair, "backward")
    return None


@rule("mutates-upstream", needs=("forward_runs", "output_is_connected"))
def leaves_upstream(ev: Evidence) -> Verdict:
    """grad_output is left as it was."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in _runs(ev):
        failure, answer = pair.answer.failure, pair.answer
        expanded = failure is not None and failure.stage == "backward" and "single memory location" in failure.message  # fmt: skip
        if answer.upstream_changed or any(c.upstream_changed for c in answer.backward) or expanded:
            return _written(ev, "mutates-upstream", "writes/upstream", pair, "backward")
    return None


def _written(
    ev: Evidence, rule: str, cause: str, pair: Pair, method: str, argument: str = ""
) -> Finding:
    switches = cause == "writes/requires-grad"
    place = ev.source.first_mention(method, "requires_grad_") if switches else ev.source.writes_in_place(method)  # fmt: skip
    return fault(rule, cause, pair, evidence={"argument": argument, **at(place)},
                 method=method, argument=argument)  # fmt: skip


def _is_output(ev: Evidence, pair: Pair) -> bool:
    """Whether all saved tensors that backward wrote to are outputs."""
    written = {i for call in pair.answer.backward for i in call.saved_changed}
    who = {k.holder: k.who for p in ev.pairs("structure") for k in p.answer.kept}
    return bool(written) and all(who.get(f"saved[{i}]", "").startswith("output") for i in written)
