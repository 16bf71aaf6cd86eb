"""Second derivatives: right, or refused with an error, but never silently wrong."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.causes.arithmetic_words import happened
from autograder.causes.second_order import (
    ONCE,
    as_released,
    backward_line,
    constants,
    leave_decorator_out,
    leave_out,
    saving_line,
    without_decorator,
    wrong_one,
)
from autograder.causes.second_sources import ANYTHING, by_another_function, or_refused, what_is_kept
from autograder.compare import both, show
from autograder.evidence import Evidence, Finding, Pair
from autograder.rules.context import honours_needs_input_grad
from autograder.rules.far_out import gradient_stable, output_stable
from autograder.rules.problems import fails_at_first
from autograder.rules.ranges import expanded_upstream, other_strides, special_points
from autograder.rules.refused_twice import must_refuse, wrong_error
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")


def _wrong(pair: Pair) -> tuple[int, object, object] | None:
    """(place, actual, expected) of the first wrong second derivative."""
    return wrong_one(pair, pair.answer.second or ())


@rule("double-backward-value", needs=(*_RIGHT, "writes_it_by_hand"))
def second_derivatives(ev: Evidence) -> Verdict:
    """Second derivatives are right (or refused where that is allowed)."""
    pairs = list(ev.pairs("second"))
    if not pairs:
        return NOT_ASKED
    verdict: Verdict = None
    for pair in pairs:
        found = _judge_pair(ev, pair)
        if found is not None and not _first_is_wrong(ev, pair):
            return found
        if found is not None and pair.question.role in ("extreme", "special"):
            verdict = NOT_ASKED  # nothing was found, and "right" would say too much
    return verdict


def _judge_pair(ev: Evidence, pair: Pair) -> Finding | None:
    if ev.exercise.second_order == "refused":
        return must_refuse(ev, pair)
    may_refuse = ev.exercise.second_order == "right-or-refused"
    failure = pair.answer.failure
    if failure is not None:
        if may_refuse:
            return None if failure.is_runtime_error else wrong_error(pair)
        return _refused(ev, pair)
    wrong = _wrong(pair)
    if wrong is None:
        return None
    mixed = bool(pair.question.more.get("mixed"))
    place, got, right = wrong
    if as_released(ev, pair):
        return _to_repair(ev, pair, place, got, right)
    if got is None and not may_refuse:
        return _missing(ev, pair, place)
    return _silent(ev, pair, place, got, right, mixed, may_refuse)


def _first_is_wrong(ev: Evidence, pair: Pair) -> bool:
    """Whether the first derivative already fails in this case, with these strides or with an input frozen."""
    if pair.question.variant == "transposed":
        return any(isinstance(r.judge(ev), Finding) for r in (other_strides, expanded_upstream))
    if pair.question.role == "extreme":
        firsts = (output_stable, gradient_stable, special_points)  # x = 0 is asked here once more
        return any(isinstance(r.judge(ev), Finding) for r in firsts)
    if fails_at_first(ev, pair):
        return True
    if ":frozen:" in pair.question.id:
        return isinstance(honours_needs_input_grad.judge(ev), Finding)
    return False


def _right_so_far(ev: Evidence, pair: Pair) -> str:
    """How a finding begins. Cases with a frozen input are asked last: without, all was right."""
    _, frozen, position = pair.question.id.rpartition(":frozen:")
    where = f"With {ev.argument(int(position))} frozen the" if frozen else "The"
    if pair.question.variant == "transposed":
        where = "With inputs that are not contiguous the"
    return f"{where} first derivative is right"


def _name(ev: Evidence, pair: Pair, place: int) -> str:
    wants = pair.question.wants
    return ev.argument(wants[place]) if place < len(wants) else "grad_output"


def _refused(ev: Evidence, pair: Pair) -> Finding:
    failure = pair.answer.failure
    assert failure is not None
    line: dict[str, object] = {}
    if failure.own_frame:
        line = {"line": failure.line, "source": failure.source}
    why = "differentiating backward again stops with an error"
    hint = (
        "backward must be made of torch operations on saved inputs and outputs and on grad_output, without "
        "detach, .data, numpy or in-place writes."
    )
    cut, kept = ev.source.cut_off(), constants(ev)
    if ONCE in failure.message:
        why, hint = f"backward is marked with {ONCE}", leave_decorator_out(ev, pair, False)
        line = _at(cut) if cut is not None and cut[0] == ONCE else line
    elif failure.raised_by_learner:
        why = f"backward refuses it by a raise of its own ({failure.kind})"
        hint = "Here a second derivative is asked for: take that refusal away."
        if kept is not None:
            hint += f" Then {kept.why}. {kept.hint}"
    elif "does not require grad" in failure.message and cut is not None:
        why, line = f"{cut[0]} takes backward out of the graph", _at(cut)
        hint = leave_out(cut[0], kept)
    return Finding(
        "double-backward-missing",
        f"{_right_so_far(ev, pair)}, but there is no second one: {why}.",
        hint,
        {"case": pair.where, "original": f"{failure.kind}: {failure.message[:300]}", **line},
    )


def _missing(ev: Evidence, pair: Pair, place: int) -> Finding:
    cut, kept, name = ev.source.cut_off(), constants(ev), _name(ev, pair, place)
    why = "what backward reads is not connected to it"
    hint = (
        "Save the input or the output itself (not detached, not .data, not something computed from it) and "
        "compute the rest again in backward."
    )
    line = saving_line(ev)
    if without_decorator(pair):
        why, hint = f"{ONCE} cuts backward off from {name}", leave_decorator_out(ev, pair, False)
        line = _at(cut) if cut is not None else {}
    elif cut is not None:
        why, line = f"{cut[0]} cuts backward off from {name}", _at(cut)
        hint = leave_out(cut[0], kept)
    elif kept is not None:
        why, hint = kept.why, kept.hint
    elif (told := what_is_kept(ev, pair)) is not None:
        why, hint, line = told[0], told[1], {**line, **told[2]}
    return Finding(
        "double-backward-missing",
        f"{_right_so_far(ev, pair)}, but the second one with respect to {name} is missing: {why}.",
        hint,
        {"case": pair.where, **line},
    )


def _at(cut: tuple[str, int, str]) -> dict[str, object]:
    return {"line": cut[1], "source": cut[2]}


def _silent(
    ev: Evidence, pair: Pair, place: int, got: object, right: object, mixed: bool, may_refuse: bool
) -> Finding:
    if isinstance(got, Tensor) and not bool(torch.isfinite(got).all()):
        return _not_finite(ev, pair, place, got, right)
    if pair.question.role == "special" and got is not None:
        return _kink(ev, pair, place, got, right)
    told = ": something in backward is a constant to it, or has another derivative than it should."
    hint = ANYTHING
    line, cut, kept = saving_line(ev), ev.source.cut_off(), constants(ev)
    if without_decorator(pair):
        told = f": {ONCE} cuts backward off from what it reads."
        hint = leave_decorator_out(ev, pair, may_refuse)
        line = _at(cut) if cut is not None else {}
    elif cut is not None:
        told = f". What comes out of {cut[0]} is a constant to the second derivative."
        hint = leave_out(cut[0], None)
        line = _at(cut)
    elif kept is not None:
        told, hint = f": {kept.why}.", kept.hint
    elif (other := by_another_function(ev, pair, place, got) or what_is_kept(ev, pair)) is not None:
        told, hint, line = f": {other[0]}.", other[1], {**line, **other[2]}
    if may_refuse and not without_decorator(pair):
        told, hint = or_refused(
            ev, told, hint, "" if kept is None or cut is not None else kept.names
        )
    if mixed and may_refuse:
        told = f"{told.removesuffix('.')}. In a loss that adds another function of the input no error is raised."
    return Finding(
        "double-backward-value",
        f"{_right_so_far(ev, pair)}, the second one with respect to {_name(ev, pair, place)} is "
        f"{'missing, and no error is raised' if got is None else 'wrong'}{told}",
        hint,
        {
            "case": pair.where,
            **both(got, right),
            **line,
        },
    )


def _not_finite(ev: Evidence, pair: Pair, place: int, got: Tensor, right: object) -> Finding:
    """An operation of backward has no finite slope there, though its value is right."""
    odd = ~torch.isfinite(got)
    second = f"the second one with respect to {_name(ev, pair, place)} is {show(got[odd][0])}"
    evidence = {"case": pair.where, **both(got, right), **backward_line(ev)}
    if (cause := happened(ev, pair, "second", place, odd)) is not None:
        return Finding(
            "double-backward-value",
            f"{cause.beginning}: {_right_so_far(ev, pair)[0].lower()}{_right_so_far(ev, pair)[1:]}, {second} "
            f"(case: {pair.where}).",
            cause.hint,
            {**evidence, **cause.line},
        )
    return Finding(
        "double-backward-value",
        f"{_right_so_far(ev, pair)}, {second} (case: {pair.where}).",
        "torch differentiates every operation of backward; what torch.where or nan_to_num puts aside "
        "comes back as 0 · nan. Replace the number before the root, division or difference that fails, "
        "not the result after it.",
        evidence,
    )


def _kink(ev: Evidence, pair: Pair, place: int, got: object, right: object) -> Finding:
    """Right in all ordinary cases: backward has a kink at a point where the function has none."""
    return Finding(
        "double-backward-value",
        f"The second derivative with respect to {_name(ev, pair, place)} is right almost everywhere, but "
        f"wrong for {pair.where}.",
        "abs, sign, clamp and max have a kink, and torch takes one slope there, often 0. Write backward "
        "with a formula that is smooth at this point, as the function itself is.",
        {
            "case": pair.where,
            **both(got, right),
            **backward_line(ev),
        },
    )


def _to_repair(ev: Evidence, pair: Pair, place: int, got: object, right: object) -> Finding:
    name = _name(ev, pair, place)
    return Finding(
        "double-backward-value",
        f"Here your repair of {ev.exercise.name} begins: the output and the first derivatives are right, "
        f"the second derivative with respect to {name} is not yet.",
        "Nothing you did is wrong: it was given to you like this. Ask of every saved tensor whether it is "
        "an input, the output, or neither.",
        {
            "case": pair.where,
            **both(got, right),
            "not_started": True,
            **saving_line(ev),
        },
    )


@rule("double-backward-value", needs=(*_RIGHT, "second_derivatives"))
def gradgradcheck_passes(ev: Evidence) -> Verdict:
    """gradgradcheck passes."""
    pairs = [p for p in ev.pairs("gradcheck") if p.question.more["order"] == 2]
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        failure = pair.answer.failure
        if failure is not None:
            first = failure.message.splitlines()[0][:200] if failure.message else failure.kind
            return Finding(
                "double-backward-value",
                "gradgradcheck rejects the second derivative.",
                "backward must be differentiable torch operations on saved inputs, outputs and grad_output.",
                {"case": pair.where, "original": f"{failure.kind}: {first}"},
            )
    return None


RULES: tuple[Rule, ...] = (second_derivatives, gradgradcheck_passes)
