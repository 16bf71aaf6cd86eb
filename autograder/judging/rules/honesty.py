"""Whose work it is, and what is written to: torch itself, inputs, upstream gradients and saved tensors stay as they were."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.problems import gradient_problem
from autograder.judging.rules.registry import NOT_ASKED, Undecided, Verdict, of_classes, rule, to
from autograder.observation.compare import alike, close
from autograder.observation.observation import KERNEL

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")

_LARGER = "large", "grown"  # who is honest up to a size shows there
# torch.autograd and torch.func entry points, as the function mode names them.
_AUTOGRAD = (
    "torch.autograd.grad", "torch.autograd.backward", "torch.autograd.functional",
    "torch.Tensor.backward", "torch.func.", "torch._functorch",
)  # fmt: skip
_DERIVATIVES = ("grad", "backward", "jvp", "jacfwd")


@rule("uses-autograd", needs=_RIGHT)
def writes_it_by_hand(ev: Evidence) -> Verdict:
    """backward is written by hand, without autograd inside."""
    asked = _looked_into(ev)
    if not asked or ev.exercise.may_use_autograd:
        return NOT_ASKED
    if ev.observation.facts.get("set_up"):  # a table of slopes, say, that backward looks up
        return fault("uses-autograd", "own-work/autograd", asked[0], what="torch.autograd", method="The code above the class")  # fmt: skip
    for pair in ev.pairs("run", "second", "needs", "structure", "interleave", "mutate", *_LARGER):
        for method in pair.answer.data.get("passes_inside", ()):
            place = ev.source.first_call(method, *_DERIVATIVES)
            return fault("uses-autograd", "own-work/autograd", pair, seen_at=place, what="torch.autograd", method=method)  # fmt: skip
    for pair in (*asked, *(p for p in ev.pairs(*_LARGER) if p.answer.failure is None)):
        if pair.answer.data.get("recorded_in_forward"):
            place = ev.source.first_call("forward", "enable_grad", "set_grad_enabled")
            return fault("uses-autograd", "own-work/recording", pair, seen_at=place, method="forward", what="torch.enable_grad")  # fmt: skip
        called = [n for n in pair.answer.backward_ops if n.startswith(_AUTOGRAD)]
        ran = {"backward": pair.answer.backward_ops, "forward": pair.answer.forward_ops}
        kernels = {n: m for m, names in reversed(ran.items()) for n in names if KERNEL.search(n)}
        recorded = bool(pair.answer.data.get("recorded_in_backward"))
        if not called and not kernels and not recorded:
            continue
        if recorded and not called:  # torch.autograd.grad hides from what notes the calls
            names = ("grad", "backward", "vjp")
            called = [f"torch.autograd.{n}" for n in names if ev.source.first_call("backward", n)]
        what = (called or ([] if recorded else [*kernels]) or ["torch.enable_grad"])[0]
        method = kernels.get(what, "backward")
        place = ev.source.first_call(method, what.rsplit(".", 1)[-1])
        place = place or ev.source.returned(method, {})
        cause = "own-work/derivative-kernel" if what in kernels else "own-work/autograd"
        if what == "torch.enable_grad":  # and no pass is made, as far as can be seen
            cause = "own-work/recording"
        return fault("uses-autograd", cause, pair, seen_at=place, what=what, method=method)
    return None


def _looked_into(ev: Evidence) -> list[Pair]:
    """The answers in which operations were counted."""
    return [p for p in ev.pairs("structure") if p.answer.failure is None]


@rule("gradient-value", needs=_RIGHT, of=to("structure", role="main", variant=""))
def is_the_same_when_watched(ev: Evidence, pair: Pair) -> Verdict:
    """The gradients are the same when operations are counted."""
    if pair.answer.failure is not None:
        return NOT_ASKED
    off = any(gradient_problem(ev, p, i) for p in _watched(pair) for i in pair.question.wants)
    return fault("gradient-value", "own-work/watched", pair) if off else None


def _watched(pair: Pair) -> Iterator[Pair]:
    """An answer in which operations were counted, and those for inputs that are a little other."""
    yield pair
    if pair.references is None or pair.references.exercise.drawn is not None:
        return
    given = pair.question.more.get("moved", ())
    for args, gradients in zip(given, pair.answer.data.get("moved", ()), strict=False):
        yield pair.other(gradients, args=args)


@rule("uses-builtin", needs=("forward_runs", "output_value"), of=to("structure"))
def builds_it_itself(ev: Evidence, pair: Pair) -> Verdict:
    """The function that the exercise rebuilds is not called."""
    if not ev.exercise.forbidden:
        return NOT_ASKED
    ran = (*pair.answer.forward_ops, *pair.answer.backward_ops)
    used = next((each for each in ran if each in ev.exercise.forbidden), None)
    if used is None:
        return None
    name, first = used.rsplit(".", 1)[-1], ev.source.first_call
    place = first("forward", name) or first("backward", name)
    return fault("uses-builtin", "own-work/builtin", pair, seen_at=place, what=used)


@rule("finite-differences", needs=(*_RIGHT, "writes_it_by_hand"), of=_looked_into)
def differentiates_exactly(ev: Evidence, pair: Pair) -> Verdict:
    """The derivative is a formula, not a difference quotient."""
    if _IMAGINARY in (*pair.answer.forward_ops, *pair.answer.backward_ops):
        return fault("finite-differences", "own-work/complex-step", pair)
    unseen = "backward", "was not seen" if "moved" in pair.question.more else ""
    method, found = pair.answer.data.get("elsewhere", unseen)
    if found != "quotient":
        return Undecided(f"{method} {found}", unknown=True) if found else None
    place = ev.source.returned(method, pair.answer.returned_at)
    return fault("finite-differences", "own-work/difference-quotient", pair, seen_at=place, method=method)  # fmt: skip


def _with_all_digits(ev: Evidence) -> Iterator[Pair]:
    yield from of_classes(ev)
    # A share of ties has all digits too.
    yield from ev.pairs("run", role="special", variant="")
    for pair in _looked_into(ev):
        yield from _watched(pair)


@rule(
    "finite-differences",
    needs=(*_RIGHT, "half_precision", "single_precision", "is_the_same_when_watched"),
    promise="layouts",
    of=_with_all_digits,
)
def has_all_digits(ev: Evidence, pair: Pair) -> Verdict:
    """Outputs and gradients have all the digits that a formula gives."""
    if ev.exercise.may_use_autograd:
        return NOT_ASKED
    ordinary = pair.question.kind == "run" and pair.question.role == "main"
    outputs = pair.answer.outputs if ordinary else ()
    sizes = [float(a.abs().max()) for a in pair.question.args if isinstance(a, Tensor) and a.is_floating_point() and a.numel()]  # fmt: skip
    largest = partial(_is_inexact, beside=max(sizes, default=0.0))  # what cancels had more digits
    if any(map(largest, outputs or (), pair.expected.outputs or ())):
        return fault("forward-value", "own-work/inexact", pair, what="the output")
    off = any(_is_inexact(pair.raw(i), pair.right(i)) for i in pair.question.wants)
    return (
        fault("finite-differences", "own-work/inexact", pair, what="the gradient") if off else None
    )


_IMAGINARY = "imaginary"  # as running counts a result with an imaginary part; no exercise has any


def _is_inexact(got: Any, right: Any, beside: float = 0.0) -> bool:
    """A formula has fifteen digits in float64; a difference quotient, with the best of steps, some eleven to twelve."""
    if not alike(got, right) or got.dtype != torch.float64 or not got.numel():
        return False
    off = float((got - right).abs().max() / (1 + beside + right.abs().max()))
    return 1e-13 < off < 1e-6  # what is further off is wrong, and others say so


_of_classes = to("run", "given", looked_for_writes=True)


@rule("shared-state")
def leaves_torch_alone(ev: Evidence) -> Verdict:
    """torch and its settings are left as they were."""
    changed = ev.observation.facts.get("changed") or []
    if not changed:
        return None
    shown = [str(each) for each in changed[:3]]
    return fault("shared-state", "torch/changed", evidence={"changed": changed[:10]}, changed=shown)


@rule(
    "mutates-input",
    needs=("forward_runs",),
    of=to("run", "given", "function", looked_for_writes=True),
)
def leaves_inputs(ev: Evidence, pair: Pair) -> Verdict:
    """The inputs are left as they were."""
    data = pair.answer.data
    method = ev.exercise.name if ev.exercise.is_function else "forward"
    changed = data.get("inputs_changed_in_forward") or ()
    # An argument that nobody differentiates may be a buffer, as a batch norm's running mean is.
    buffers = ev.exercise.strictness.as_given and not {*changed} & {*pair.question.wants}
    found = {
        "writes/buffer" if buffers else "writes/input": changed,
        "writes/hook": data.get("hooked"),
        "writes/requires-grad": data.get("requires_grad_changed"),
        "writes/grad-left": data.get("grad_left") if ev.exercise.is_function else (),
    }
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
        place = assigned or ev.source.first_call("backward", "backward")
        return fault("mutates-saved", cause, pair, seen_at=place, argument=ev.argument(left[0]))
    late = {*pair.answer.inputs_changed}.difference(data.get("inputs_changed_in_forward") or ())
    if late:
        return _written(ev, "mutates-saved", "writes/input-late", pair, "backward", ev.argument(min(late)))  # fmt: skip
    if any(call.saved_changed for call in pair.answer.backward):
        twice = [pair] if pair.question.kind == "given" else ev.pairs("interleave")
        harmless = ev.exercise.strictness.as_given and any(map(same_again, twice))
        what = "writes/output" if _is_output(ev, pair) else "writes/harmless" if harmless else "writes/saved"  # fmt: skip
        return _written(ev, "mutates-saved", what, pair, "backward")
    return None


def same_again(pair: Pair) -> bool:
    """Whether a second pass through a graph gave the same gradients as the first."""
    first, again = pair.answer.gradients or (), pair.answer.data.get("again") or ()
    return bool(again) and all(a is b or close(a, b) for a, b in zip(first, again, strict=True))


@rule("random-state", needs=("output_is_connected",), of=to("run"))
def leaves_random_numbers(ev: Evidence, pair: Pair) -> Verdict:
    """backward does not set torch's random numbers back to earlier ones."""
    if not pair.answer.data.get("drawn_again"):
        return None
    place = ev.source.first_call("backward", "set_rng_state", "set_state")
    return fault("random-state", "writes/random-state", pair, seen_at=place)


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
    place = ev.source.mentions(method, "requires_grad_") if switches else ev.source.writes_in_place(method)  # fmt: skip
    return fault(rule, cause, pair, seen_at=place, evidence={"argument": argument},
                 method=method, argument=argument)  # fmt: skip


def _is_output(ev: Evidence, pair: Pair) -> bool:
    """Whether all saved tensors that backward wrote to are outputs."""
    written = {i for call in pair.answer.backward for i in call.saved_changed}
    who = {k.holder: k.who for p in ev.pairs("structure") for k in p.answer.kept}
    return bool(written) and all(who.get(f"saved[{i}]", "").startswith("output") for i in written)
