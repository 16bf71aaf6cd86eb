"""What is written to: torch itself, inputs, upstream gradients and saved tensors stay as they were."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.registry import Verdict, rule, to
from autograder.observation.compare import close
from autograder.observation.source import at

_runs = to("run", "function", looked_for_writes=True)


def _of_classes(ev: Evidence) -> Iterable[Pair]:
    return () if ev.exercise.is_function else _runs(ev)


@rule("shared-state")
def leaves_torch_alone(ev: Evidence) -> Verdict:
    """torch and its settings are left as they were."""
    changed = ev.observation.facts.get("changed") or []
    if not changed:
        return None
    shown = [str(each) for each in changed[:3]]
    return fault("shared-state", "torch/changed", evidence={"changed": changed[:10]}, changed=shown)


@rule("mutates-input", needs=("forward_runs",), of=_runs)
def leaves_inputs(ev: Evidence, pair: Pair) -> Verdict:
    """The inputs are left as they were."""
    data, method = pair.answer.data, "forward"
    changed = data.get("inputs_changed_in_forward") or ()
    # An argument that nobody differentiates may be a buffer, as a batch norm's running mean is.
    buffers = ev.exercise.strictness.as_given and not {*changed} & {*pair.question.wants}
    found = {"writes/buffer" if buffers else "writes/input": changed}
    if ev.exercise.is_function:
        method, switched = ev.exercise.name, data.get("requires_grad_changed")
        found = {"writes/input": pair.answer.inputs_changed, "writes/requires-grad": switched}
    for cause, changed in found.items():
        if changed:
            return _written(ev, "mutates-input", cause, pair, method, ev.argument(changed[0]))
    return None


@rule("mutates-saved", needs=("output_is_connected",), of=_of_classes)
def leaves_saved(ev: Evidence, pair: Pair) -> Verdict:
    """The saved tensors are left as they were."""
    data = pair.answer.data
    left = data.get("grad_left")
    assigned = ev.source.assigned("backward", "grad") if left else None
    if left and (assigned or ev.exercise.may_use_autograd):
        cause = "writes/grad-set" if assigned else "writes/grad-added"
        shown = at(assigned or ev.source.first_call("backward", "backward"))
        return fault("mutates-saved", cause, pair, evidence=shown, argument=ev.argument(left[0]))
    late = {*pair.answer.inputs_changed}.difference(data.get("inputs_changed_in_forward") or ())
    if late:
        return _written(ev, "mutates-saved", "writes/input-late", pair, "backward", ev.argument(min(late)))  # fmt: skip
    if any(call.saved_changed for call in pair.answer.backward):
        harmless = ev.exercise.strictness.as_given and any(map(_same_again, ev.pairs("interleave")))
        what = "writes/output" if _is_output(ev, pair) else "writes/harmless" if harmless else "writes/saved"  # fmt: skip
        return _written(ev, "mutates-saved", what, pair, "backward")
    return None


def _same_again(pair: Pair) -> bool:
    """Whether a second pass through a graph gave the same gradients as the first."""
    first, again = pair.answer.gradients or (), pair.answer.data.get("again") or ()
    return bool(again) and all(a is b or close(a, b) for a, b in zip(first, again, strict=True))


@rule("random-state", needs=("output_is_connected",), of=to("run"))
def leaves_random_numbers(ev: Evidence, pair: Pair) -> Verdict:
    """backward does not set torch's random numbers back to earlier ones."""
    if not pair.answer.data.get("drawn_again"):
        return None
    calls = (ev.source.first_call("backward", name) for name in ("set_rng_state", "set_state"))
    place = next(filter(None, calls), None)
    return fault("random-state", "writes/random-state", pair, evidence=at(place))


@rule("mutates-upstream", needs=("output_is_connected",), of=_of_classes)
def leaves_upstream(ev: Evidence, pair: Pair) -> Verdict:
    """grad_output is left as it was."""
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
