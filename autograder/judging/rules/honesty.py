"""Honesty: the derivative is the learner's own work."""

from __future__ import annotations

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import fault
from autograder.judging.rules.problems import gradient_problem
from autograder.judging.rules.registry import NOT_ASKED, Verdict, of_classes, rule, to
from autograder.observation.source import at

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")

# torch.autograd and torch.func entry points, as the function mode names them.
_OF_BACKWARD = ("_backward", "_backward_data")
_AUTOGRAD = (
    "torch.autograd.grad", "torch.autograd.backward", "torch.autograd.functional",
    "torch.Tensor.backward", "torch.func.", "torch._functorch",
)  # fmt: skip


@rule("uses-autograd", needs=_RIGHT)
def writes_it_by_hand(ev: Evidence) -> Verdict:
    """backward is written by hand, without autograd inside."""
    asked = _looked_into(ev)
    if not asked or ev.exercise.may_use_autograd:
        return NOT_ASKED
    if ev.observation.facts.get("set_up"):  # a table of slopes, say, that backward looks up
        return fault("uses-autograd", "own-work/autograd", asked[0], what="torch.autograd", method="The code above the class")  # fmt: skip
    for pair in ev.pairs("run", "second", "needs", "structure"):
        for method in pair.answer.data.get("passes_inside", ()):
            place = ev.source.first_call(method, "grad") or ev.source.first_call(method, "backward")
            return fault("uses-autograd", "own-work/autograd", pair, evidence=at(place), what="torch.autograd", method=method)  # fmt: skip
    for pair in asked:
        names = pair.answer.backward_ops
        called = [n for n in names if n.startswith(_AUTOGRAD)]
        kernels = [n for n in names if n.startswith("aten.") and _op(n).endswith(_OF_BACKWARD)]
        recorded = bool(pair.answer.data.get("grad_enabled_in_backward"))
        if not called and not kernels and not recorded:
            continue
        if recorded and not called:  # torch.autograd.grad hides from what notes the calls
            names = ("grad", "backward", "vjp")
            called = [f"torch.autograd.{n}" for n in names if ev.source.first_call("backward", n)]
        what = (called or ([] if recorded else kernels) or ["torch.enable_grad"])[0]
        place = ev.source.first_call("backward", what.rsplit(".", 1)[-1])
        place = place or ev.source.returned("backward", {})
        cause = "own-work/derivative-kernel" if what in kernels else "own-work/autograd"
        if what == "torch.enable_grad":  # and no pass is made, as far as can be seen
            cause = "own-work/recording"
        return fault("uses-autograd", cause, pair, evidence=at(place), what=what, method="backward")
    return None


def _looked_into(ev: Evidence) -> list[Pair]:
    """The answers in which operations were counted."""
    return [p for p in ev.pairs("structure") if p.answer.failure is None]


@rule("gradient-value", needs=_RIGHT, of=to("structure", role="main", variant=""))
def is_the_same_when_watched(ev: Evidence, pair: Pair) -> Verdict:
    """The gradients are the same when operations are counted."""
    if pair.answer.failure is not None:
        return NOT_ASKED
    off = any(gradient_problem(ev, pair, position) for position in pair.question.wants)
    return fault("gradient-value", "own-work/watched", pair) if off else None


@rule("uses-builtin", needs=("forward_runs", "output_value"), of=to("structure"))
def builds_it_itself(ev: Evidence, pair: Pair) -> Verdict:
    """The function that the exercise rebuilds is not called."""
    if not ev.exercise.forbidden:
        return NOT_ASKED
    ran = (*pair.answer.forward_ops, *pair.answer.backward_ops)
    used = next((each for each in ran if each in ev.exercise.forbidden), None)
    if used is None:
        return None
    methods, name = ("forward", "backward"), used.rsplit(".", 1)[-1]
    place = next(filter(None, (ev.source.first_call(m, name) for m in methods)), None)
    return fault("uses-builtin", "own-work/builtin", pair, evidence=at(place), what=used)


@rule("finite-differences", needs=_RIGHT, of=_looked_into)
def differentiates_exactly(ev: Evidence, pair: Pair) -> Verdict:
    """The derivative is a formula, not a difference quotient."""
    if _IMAGINARY in (*pair.answer.forward_ops, *pair.answer.backward_ops):
        return fault("finite-differences", "own-work/complex-step", pair)
    if not pair.answer.data.get("elsewhere"):
        return None
    place = ev.source.returned("backward", pair.answer.returned_at)
    return fault("finite-differences", "own-work/difference-quotient", pair, evidence=at(place))


@rule("finite-differences", needs=(*_RIGHT, "is_the_same_when_watched"), of=of_classes)
def has_all_digits(ev: Evidence, pair: Pair) -> Verdict:
    """The gradient has all the digits that a formula gives."""
    if ev.exercise.may_use_autograd:
        return NOT_ASKED
    off = any(_is_inexact(pair.raw(i), pair.right(i)) for i in pair.question.wants)
    return fault("finite-differences", "own-work/inexact", pair) if off else None


_IMAGINARY = "imaginary"  # as running counts a result with an imaginary part; no exercise has any


def _op(name: str) -> str:
    return name.removeprefix("aten.").split(".")[0]


def _is_inexact(got: object, right: Tensor | None) -> bool:
    """A formula has fifteen digits in float64; a difference quotient, with the best of steps, some eleven to twelve."""
    if (
        not isinstance(got, Tensor)
        or right is None
        or got.shape != right.shape
        or not right.numel()
    ):
        return False
    off = float((got - right).abs().max() / (1 + right.abs().max()))
    return 1e-13 < off < 1e-6  # what is further off is wrong, and others say so
