"""What is kept between forward and backward: how much, and where; gradients that are computed for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, starmap
from typing import Any

import torch
from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.honesty import same_again
from autograder.judging.rules.ranges import half_precision, single_precision
from autograder.judging.rules.registry import NOT_ASKED, RIGHT, Verdict, finds, of_classes, rule, to
from autograder.judging.rules.runs import stopped
from autograder.observation.compare import both, close

_MADE = "intermediate"  # how the trace calls a tensor that is neither an input nor the output


@rule("saves-too-much", needs=(*RIGHT, "keeps_calls_apart"), of=to("structure", "large"))
def keeps_within_budget(ev: Evidence, pair: Pair) -> Verdict:
    """No more is kept for backward than is needed."""
    kept, allowed = sum(k.bytes for k in pair.answer.kept), allowed_bytes(ev, pair)
    if allowed is None:
        return NOT_ASKED
    if (lack := _left_elsewhere(pair)) is not None:
        return fault("saves-too-much", "memory/elsewhere", pair, lack=lack, seen_at=ev.source.saves())  # fmt: skip
    # More is kept where the dtype is wrong, which is the cause.
    if kept <= allowed or (pair.question.variant and finds(ev, single_precision, half_precision)):
        return None
    return fault(
        "saves-too-much", "memory/too-much", pair, symptom=True,
        seen_at=ev.source.saves(), evidence={"kept": kept, "allowed": allowed},
        kept=kept, allowed=allowed, enough=ev.exercise.budget_words, lead=pair.question.variant and f" in {pair.question.variant}",
    )  # fmt: skip


def _left_elsewhere(pair: Pair) -> str | None:
    """How backward ends that gets what ctx holds alone, if that is not as it should; "" for another gradient, or another way."""
    carried = pair.answer.data.get("carried")
    if carried is None or not pair.all_agree:
        return None
    if not isinstance(carried, list) or len(carried) != len(pair.question.wants) + 1:
        return str(carried)
    *gradients, same_work = carried
    return None if pair.other(gradients).all_agree and same_work is True else ""


def allowed_bytes(ev: Evidence, pair: Pair) -> int | None:
    """The bytes that may stay alive for backward; the reference works in float64, the question may not. None: any."""
    if ev.exercise.budget is None:
        return None
    floats = [a for a in pair.question.args if isinstance(a, Tensor) and a.is_floating_point()]
    outputs = tuple(
        o.to(floats[0].dtype) if floats and o.is_floating_point() else o
        for o in pair.expected.outputs
        if isinstance(o, Tensor)
    )
    # Who draws may keep the generator's state in place of what was drawn.
    state = torch.get_rng_state().numel() if ev.exercise.drawn is not None else -1
    kept = (k.bytes for k in pair.answer.kept if k.dtype == "uint8" and k.bytes == state)
    return max(ev.exercise.budget(pair.question.args, outputs), *kept, 0)


@rule("shared-state", needs=RIGHT, of=to("interleave", "given"))
def keeps_calls_apart(ev: Evidence, pair: Pair) -> Verdict:
    """Two calls do not disturb each other, and neither do two passes through the graph of one."""
    if pair.question.kind == "given":  # what its numbers are is asked in float64
        alike = not pair.answer.data.get("again") or same_again(pair)
        return None if alike else fault("shared-state", "context/again", pair)
    if pair.answer.data.get("overwritten"):
        return fault("shared-state", "context/overwritten", pair)
    if pair.answer.failure is not None or not pair.all_agree or not _second_call(pair).all_agree:
        return fault("shared-state", "context/shared", pair)
    stops = pair.answer.data.get("again_stops")
    if stops is not None and not (stops.refused or stops.is_runtime_error):
        shown = {"original": stops.original}
        return fault("shared-state", "context/again-stops", pair, seen_at=stops.place, evidence=shown, kind=stops.kind, said=stops.words[:100])  # fmt: skip
    again = pair.answer.data.get("again")
    alike = again is None or pair.other(again).all_agree
    return None if alike else fault("shared-state", "context/again", pair)


def _second_call(pair: Pair) -> Pair:
    """The other one of two calls that ran backward."""
    found, data = pair.answer.data.get("other"), pair.answer.data
    if not isinstance(found, list) or len(found) != len(pair.question.wants):
        found = [None for _ in pair.question.wants]
    return pair.other(found, data.get("other_outputs") or (), args=pair.question.more["args"])


@rule("saves-on-ctx", needs=RIGHT)
def saves_where_torch_can_see(ev: Evidence) -> Verdict:
    """Inputs and outputs are kept with save_for_backward, where torch can see them."""
    if not of_classes(ev):
        return NOT_ASKED
    # After a write between forward and backward an error is right, and a wrong number is not.
    ended = (p for p in ev.pairs("mutate") if p.answer.failure is None)
    silent = [p for p in ended if p.answer.gradients is not None and not p.all_agree]
    for pair, case, holder, who in _on_ctx(ev):
        if who.startswith(_MADE):
            continue
        kind, index = who.removeprefix("view of ").rstrip("]").split("[")
        target = int(index) if kind == "input" else "output"
        output = pair.expected.outputs[int(index)] if kind == "output" else None
        return _kept_on_ctx(
            ev, pair, "context/on-ctx", holder, case,
            what=f"{'a view of ' * who.startswith('view')}{_called(ev, target)}",
            silent=any(p.question.more["target"] == target for p in silent),
            cycle=isinstance(output, Tensor) and output.is_floating_point(),
            needless=allowed_bytes(ev, pair) == 0,
        )  # fmt: skip
    for pair in silent:
        what = _called(ev, pair.question.more["target"])
        return fault("saves-on-ctx", "context/unwatched", pair, symptom=True, what=what,
                     seen_at=ev.source.saves())  # fmt: skip
    return None


@rule("saves-on-ctx", needs=("saves_where_torch_can_see", "keeps_within_budget"))
def saves_masks_too(ev: Evidence) -> Verdict:
    """Masks and other tensors made in forward are kept with save_for_backward as well."""
    if not of_classes(ev) or ev.exercise.tensors_on_ctx:
        return NOT_ASKED
    for pair, case, holder, who in _on_ctx(ev):
        if who.startswith(_MADE):
            return _kept_on_ctx(ev, pair, "context/made-on-ctx", holder, case)
    return None


def _kept_on_ctx(
    ev: Evidence, pair: Pair, cause: str, holder: str, case: str, **facts: Any
) -> Finding:
    """A tensor that is an attribute of ctx, with the line that puts it there."""
    name = (re.findall(r"^ctx\.(\w+)", holder) or [""])[0]
    place = ev.source.assigned("forward", name) or ev.source.assigned("setup_context", name)
    unread = ev.source.never_reads("backward", name)
    return fault("saves-on-ctx", cause, pair, holder=holder, case=case, unread=unread, **facts,
                 seen_at=place, evidence={"holder": holder})  # fmt: skip


def _on_ctx(ev: Evidence) -> Iterator[tuple[Pair, str, str, str]]:
    """(run, words where it is one case alone, ctx.name, who it is) of every tensor on ctx."""
    runs = [(p, "") for p in ev.plain]
    others = [p for p in ev.pairs("run", variant="") if p.question.role != "main"]
    runs += [(p, f"For {p.where}, ") for p in others]
    alone = [p for p in ev.pairs("needs") if len(p.question.wants) == 1]
    runs += [(p, f"When only {ev.argument(p.question.wants[0])} needs a gradient, ") for p in alone]
    for pair, case in runs:
        for holder, who in pair.answer.data.get("on_ctx") or ():
            yield pair, case, holder, who


def _called(ev: Evidence, target: object) -> str:
    return ev.argument(target) if isinstance(target, int) else "the output"


@rule("ignores-needs-input-grad", needs=RIGHT)
def honours_needs_input_grad(ev: Evidence) -> Verdict:
    """Gradients that nobody needs are not computed."""
    asked = list(ev.pairs("needs"))
    alone = (_with_one_needed(ev, asked, p) for p in asked if len(p.question.wants) == 1)
    if found := [each for each in alone if each is not None]:
        weight = ev.exercise.strictness.severity
        return min(found, key=lambda each: weight(each.rule, each.cause) != "error")
    return _computes_for_nothing(ev, asked) if asked else NOT_ASKED


def _is_worth_saying(ev: Evidence) -> bool:
    """Whether what nobody needs costs something; of an exercise it is said in any case."""
    if ev.exercise.strictness.severity("ignores-needs-input-grad", "") == "error":
        return True
    from torch.utils.flop_counter import flop_registry  # imports triton, for more than a second

    # What takes more than to read its operands: products of matrices, convolutions, attention.
    costly = {str(operation) for operation in flop_registry}
    ran = (name for p in ev.pairs("structure") for name in p.answer.backward_ops or ())
    return any(".".join(name.split(".")[:2]) in costly for name in ran)


_TOO_FEW = re.compile(r"incorrect number of gradients \(expected (\d+), got (\d+)\)")


def _with_one_needed(ev: Evidence, asked: list[Pair], pair: Pair) -> Finding | None:
    """What is wrong when one argument alone needs a gradient."""
    (i,) = pair.question.wants
    wanted, failure = ev.argument(i), pair.answer.failure
    if failure is not None:
        counted = _TOO_FEW.search(failure.message)
        if counted is None or int(counted[2]) >= int(counted[1]):
            return stopped(ev, pair, case=f"When only {wanted} needs a gradient")
        place = ev.source.returned("backward", pair.answer.returned_at)
        return fault("raises", "needs/none-left-out", pair, wanted=wanted, seen_at=place,
                     returned=int(counted[2]), expected=int(counted[1]))  # fmt: skip
    if not pair.agrees(i):
        missing, shown = pair.reached(i) is None, both(pair.reached(i), pair.right(i))
        rule, cause = ("gradient-missing", "needs/missing") if missing else ("gradient-value", "needs/wrong")  # fmt: skip
        return fault(rule, cause, pair, i, symptom=True, evidence=dict(shown), wanted=wanted)
    for j, value in enumerate(pair.answer.raw or ()):
        if j == i or value is None or not _is_worth_saying(ev):
            continue
        alone = [p for p in asked if p.question.wants == (j,) and p.answer.failure is None]
        other = bool(alone) and all(p.raw(j) is None for p in alone)
        zeros = isinstance(value, Tensor) and value.numel() > 0 and not bool(value.any())
        place = ev.source.returned_expression("backward", j, pair.answer.returned_at)
        if other and place is not None:
            place = ev.source.condition(place[0]) or place
        constant = j in ev.exercise.constants
        return fault("ignores-needs-input-grad", "needs/computed", pair, j, wanted=wanted, constant=constant,
                     zeros=zeros and not (other or constant), argument=ev.argument(j), other=other, place=str(j),
                     seen_at=place)  # fmt: skip
    return None


def _computes_for_nothing(ev: Evidence, asked: list[Pair]) -> Verdict:
    """None where it is asked for, but as much work as for all gradients."""
    alone = [p for p in asked if p.question.more["counted"] and len(p.question.wants) == 1]
    wholes = (
        p
        for p in (*asked, *ev.pairs("structure"))
        if alone and p.question.args is alone[0].question.args and len(p.question.wants) > 1
    )
    if (whole := next(wholes, None)) is None:
        return None
    work = whole.answer.data.get("operations")
    same = all(p.answer.data.get("operations") == work for p in alone)
    given = [g for g in whole.expected.gradients or () if g is not None]
    if (
        not isinstance(work, int)
        or not same
        # One tensor for two arguments takes no more work than for one.
        or any(starmap(close, combinations(given, 2)))
        or not _is_worth_saying(ev)
    ):
        return None
    place = ev.source.returned("backward", whole.answer.returned_at)
    return fault("ignores-needs-input-grad", "needs/thrown-away", whole, operations=work, seen_at=place)  # fmt: skip
