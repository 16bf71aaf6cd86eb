"""Honesty: the derivative is the learner's own work."""

from __future__ import annotations

import torch

from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")

# torch.autograd and torch.func entry points, as the function mode names them.
_AUTOGRAD = (
    "torch.autograd.grad", "torch.autograd.backward", "torch.autograd.functional",
    "torch.Tensor.backward", "torch.func.", "torch._functorch",
)  # fmt: skip


@rule("uses-autograd", needs=_RIGHT)
def writes_it_by_hand(ev: Evidence) -> Verdict:
    """backward is written by hand, without autograd inside."""
    asked = [p for p in ev.pairs("structure") if p.answer.failure is None]
    if not asked or ev.exercise.may_use_autograd:
        return NOT_ASKED
    for pair in asked:
        names = pair.answer.backward_ops
        called = [n for n in names if n.startswith(_AUTOGRAD)]
        kernels = [n for n in names if n.startswith("aten.") and _is_backward_kernel(n)]
        if called or kernels or pair.answer.data.get("grad_enabled_in_backward"):
            recorded = bool(pair.answer.data.get("grad_enabled_in_backward"))
            what = (called or ([] if recorded else kernels) or ["torch.enable_grad"])[0]
            place = ev.source.first_call("backward", what.rsplit(".", 1)[-1])
            if recorded and not called:  # torch.autograd.grad hides from what notes the calls
                for name in ("grad", "backward", "vjp"):
                    if asked_autograd := ev.source.first_call("backward", name):
                        what, place = f"torch.autograd.{name}", asked_autograd
                        break
            place = place or ev.source.returned("backward", {})
            line = {"line": place[0], "source": place[1]} if place else {}
            words = (
                f"backward calls torch's own derivative ({what})"
                if what in kernels
                else f"backward lets autograd do the work ({what})"
            )
            return Finding(
                "uses-autograd",
                f"{words}. Here the derivative is yours to write.",
                "Write the formula with ordinary tensor operations on what you saved.",
                {"case": pair.where, **line},
            )
    return None


def _is_backward_kernel(name: str) -> bool:
    op = name.removeprefix("aten.").split(".")[0]
    return op.endswith(("_backward", "_backward_data"))


@rule("uses-builtin", needs=("forward_runs", "output_value"))
def builds_it_itself(ev: Evidence) -> Verdict:
    """The function that the exercise rebuilds is not called."""
    forbidden = ev.exercise.forbidden
    asked = list(ev.pairs("structure"))
    if not forbidden or not asked:
        return NOT_ASKED
    for pair in asked:
        used = [n for n in (*pair.answer.forward_ops, *pair.answer.backward_ops) if n in forbidden]
        if used:
            name = used[0].rsplit(".", 1)[-1]
            place = ev.source.first_call("forward", name) or ev.source.first_call("backward", name)
            line = {"line": place[0], "source": place[1]} if place else {}
            return Finding(
                "uses-builtin",
                f"{used[0]} is called, which is what this exercise builds.",
                "Use the simpler operations it is made of.",
                {"case": pair.where, **line},
            )
    return None


@rule("finite-differences", needs=_RIGHT)
def differentiates_exactly(ev: Evidence) -> Verdict:
    """The derivative is a formula, not a difference quotient."""
    if ev.exercise.is_function:
        return NOT_ASKED
    singles = [p for p in ev.pairs("run", variant="float32") if p.question.role == "main"]
    calls = [p for p in ev.pairs("structure") if p.answer.failure is None]
    if not singles or not calls:
        return NOT_ASKED
    forward = [n for n in calls[0].answer.forward_ops if n.startswith("aten.")]
    backward = [n for n in calls[0].answer.backward_ops if n.startswith("aten.")]
    repeats = bool(forward) and set(forward) - {"aten.detach"} <= set(backward)
    subtracts = any(n.startswith(("aten.sub", "aten.rsub")) for n in backward)
    divides = any(n.startswith("aten.div") for n in backward)
    if repeats and subtracts and divides and any(map(_off_in_single_precision, singles)):
        return Finding(
            "finite-differences",
            "backward computes a difference quotient: right in float64, but far off in float32.",
            "A difference quotient is how gradients are checked. Derive the formula and compute that.",
            {"case": singles[0].where},
        )
    return None


def _off_in_single_precision(pair: Pair) -> bool:
    for position in pair.question.wants:
        got, right = pair.raw(position), pair.right(position)
        if got is not None and right is not None and not close(got, right, torch.float32):
            return True
    return False


RULES: tuple[Rule, ...] = (writes_it_by_hand, builds_it_itself, differentiates_exactly)
