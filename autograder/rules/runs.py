"""It runs: forward and backward come to their end, on a custom node, with one gradient an argument."""

from __future__ import annotations

import ast
import re

from torch import Tensor

from autograder.causes.argument_order import other_order
from autograder.causes.slips import slip_where_it_runs
from autograder.compare import close
from autograder.errors.translate import Said, translate
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import Failure
from autograder.rules.registry import NOT_ASKED, Verdict, rule
from autograder.rules.writes import in_place_line

# Failures of the engine that have a rule of their own; the raises rule leaves them to it.
_COUNT = "returned an incorrect number of gradients"
_SHAPE = "returned an invalid gradient at index"
_NON_TENSOR = "returned a gradient different than None at position"
_NOT_VARIABLE = "expected Variable or None"
_VERSION = "modified by an inplace operation"


def _failures(ev: Evidence, *stages: str) -> list[tuple[Pair, Failure]]:
    return [
        (pair, pair.answer.failure)
        for pair in ev.plain
        if pair.answer.failure is not None and pair.answer.failure.stage in stages
    ]


def _finding(ev: Evidence, pair: Pair, failure: Failure, method: str) -> Finding:
    said = _refused_wrongly(ev, pair, failure, method) or translate(failure, ev, pair, method)
    if not said.not_started and (other := other_order(ev)) is not None:
        said = Said(f"{other[0].removesuffix('.')}, and it stops with an error.", other[1])
    evidence = {
        "case": pair.where,
        "original": f"{failure.kind}: {failure.message}"[:400],
        "own_words": failure.raised_by_learner,
        "not_started": said.not_started,
    }
    if failure.line is not None and failure.own_frame:
        evidence["line"], evidence["source"] = failure.line, failure.source
    elif "leaf Variable" in failure.message:  # torch looks when forward has ended
        evidence |= in_place_line(ev, "forward")
    named = set(re.findall(r"\bline (\d+)\b", said.message))
    if len(named) == 1 and (text := ev.source.text_of(number := int(named.pop()))):
        evidence |= {"line": number, "source": text}  # the cause; where it stopped is later
    return Finding("raises", said.message, said.hint, evidence)


def _refused_wrongly(ev: Evidence, pair: Pair, failure: Failure, method: str) -> Said | None:
    """The learner's own raise of an error that is about values, where the contract allows them."""
    by_assert = failure.kind == "AssertionError" and ev.advice(pair.where)
    by_raise = failure.raised_by_learner and failure.kind in ("TypeError", "ValueError")
    if not by_assert and not by_raise:
        return None
    said = failure.message[:120].strip()
    words = f": {said}{'' if said.endswith(('.', '!', '?')) else '.'}" if said else "."
    return Said(
        f"{method} refuses what the contract allows ({pair.where}){words}",
        ev.advice(pair.where)
        or "Look at the condition above that line: for which arguments is it true, and for which should "
        "it be?",
    )


@rule("raises")
def forward_runs(ev: Evidence) -> Verdict:
    """Forward runs."""
    if not ev.plain:
        return NOT_ASKED
    found = _failures(ev, "forward", "call")
    if not found:
        return None
    pair, failure = found[0]
    finding = _finding(ev, pair, failure, "forward")
    of_values = not failure.raised_by_learner and "require grad" not in failure.message
    if not of_values or (slip := slip_where_it_runs(ev)) is None:
        return finding
    message = f"{slip.message.removesuffix('.')}; for {pair.where} it stops with an error."
    return Finding(finding.rule, message, slip.hint, finding.evidence)


def _marked_as_constant(ev: Evidence) -> tuple[str, int, str] | None:
    """(name, line, its text) where the first thing that forward returns is marked non-differentiable."""
    node = ev.source.methods.get("forward")
    if node is None:
        return None
    returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    firsts = {ast.unparse(v.elts[0] if isinstance(v, ast.Tuple) else v) for v in returned if v}
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith(
            "mark_non_differentiable"
        ):
            continue
        for name in map(ast.unparse, call.args):
            if name in firsts:
                return name, *ev.source.line_of(call)
    return None


@rule("not-a-function", needs=("forward_runs", "output_has_value"))
def output_is_connected(ev: Evidence) -> Verdict:
    """The output is connected to your own backward."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in ev.plain:
        a = pair.answer
        if a.failure is not None and a.failure.stage == "forward":
            continue
        if a.outputs is None or not pair.question.wants:
            continue
        if not any(a.requires_grad):
            if (marked := _marked_as_constant(ev)) is not None:
                name, line, text = marked
                first = " first" if len(a.outputs) > 1 else ""
                return Finding(
                    "not-a-function",
                    f"{name}, which forward returns{first}, is marked as non-differentiable in line {line}: "
                    "backward is never called.",
                    "Mark those outputs only that have no derivative, such as indices.",
                    {"case": pair.where, "line": line, "source": text},
                )
            return Finding(
                "not-a-function",
                "The result is cut off from the graph: it does not require grad, so backward is never called.",
                "Return the tensor that forward computed from its arguments, and call the class through "
                "apply. Something on the way (detach, item, numpy, a number, mark_non_differentiable) "
                "cuts the graph.",
                {"case": pair.where},
            )
        if not a.custom:
            return Finding(
                "not-a-function",
                "There is no backward of yours in the graph: torch differentiates this by itself.",
                "Write a torch.autograd.Function with forward and backward, and pass the class (or "
                "something that calls its apply). Calling forward directly skips backward.",
                {"case": pair.where},
            )
    return None


@rule("raises", needs=("forward_runs",))
def backward_runs(ev: Evidence) -> Verdict:
    """Backward runs."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair, failure in _failures(ev, "backward", "engine"):
        text = failure.message
        if failure.stage == "engine" and any(
            t in text for t in (_COUNT, _SHAPE, _NON_TENSOR, _NOT_VARIABLE)
        ):
            continue
        return _finding(ev, pair, failure, "backward")
    answers = [pair.answer for pair in ev.plain]
    arrived = any(g is not None for a in answers for g in a.gradients or ())
    return None if arrived or any(a.backward for a in answers) else NOT_ASKED


@rule("gradient-count", needs=("forward_runs", "output_is_connected", "backward_runs"))
def one_gradient_an_argument(ev: Evidence) -> Verdict:
    """Backward returns one gradient an argument, None for what is no tensor."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in ev.plain:
        a = pair.answer
        text = a.failure.message if a.failure is not None else ""
        names = ", ".join(ev.argument(i) for i in range(len(pair.question.args)))
        wanted, got = a.expected_count, a.raw_count
        listed = bool(a.backward) and a.backward[-1].returned_type == "list"
        if _COUNT in text or (_NOT_VARIABLE in text and listed):
            if listed:
                return Finding(
                    "gradient-count",
                    "backward returns a list; torch takes a list for one single gradient.",
                    "Return the gradients as a tuple: return a, b, c.",
                    {"case": pair.where, "original": text[:300]},
                )
            if a.backward and a.backward[-1].returned_type == "NoneType":
                return Finding(
                    "gradient-missing",
                    "backward returns nothing, so no gradient arrives.",
                    "The last line of backward must be `return` and the gradients.",
                    {"case": pair.where, "original": text[:300]},
                )
            if (left_out := _for_what_was_left_out(ev, pair, got)) is not None:
                return left_out
            plural = "s" if wanted != 1 else ""
            some = len(pair.question.args) < len(ev.exercise.argument_names)
            return Finding(
                "gradient-count",
                f"backward returns {_plural(got)}, but the call passed {wanted} argument{plural} ({names})."
                if some
                else f"backward returns {_plural(got)}, but forward takes {wanted} argument{plural} "
                f"besides ctx ({names}).",
                "Return one value for each argument of forward, in the same order; None for the ones "
                "that are no tensor.",
                {"case": pair.where, "original": text[:300], "returned": got, "expected": wanted},
            )
        if _NON_TENSOR in text:
            if (moved := _in_anothers_place(ev, pair)) is not None:
                return moved
            args = pair.question.args
            given = [
                ev.argument(i)
                for i, (value, arg) in enumerate(zip(a.raw or (), args, strict=False))
                if value is not None and not isinstance(arg, Tensor)
            ]
            which = (
                f"{given[0]}, which is no tensor"
                if len(given) == 1
                else f"{' and '.join(given)}, which are no tensors"
                if given
                else "an argument that is no tensor"
            )
            return Finding(
                "gradient-count",
                f"backward returns a gradient for {which}.",
                f"The arguments are {names}: return None at the place of each plain Python value.",
                {"case": pair.where, "original": text[:300]},
            )
        if _NOT_VARIABLE in text:
            odd = [i for i, v in enumerate(a.raw or ()) if not isinstance(v, Tensor | None)]
            which = f" for {ev.argument(odd[0])}" if odd else ""
            kind = re.search(r"\(got (.*?)\)", text)
            what = f"({kind[1]}) " if kind else ""
            ended = a.returned_at
            place = ev.source.returned_expression("backward", odd[0], ended) if odd else None
            return Finding(
                "gradient-count",
                f"backward returns something{which} {what}that is neither a tensor nor None.",
                "Each returned value must be a tensor (the gradient) or None. Stay with torch's operations: "
                "float(), .item() and numpy() leave torch.",
                {
                    "case": pair.where,
                    "original": text[:300],
                    **({"line": place[0], "source": place[1]} if place else {}),
                },
            )
    return None


def _in_anothers_place(ev: Evidence, pair: Pair) -> Finding | None:
    """The gradient of a tensor that is returned where the one for a plain value stands."""
    raw = pair.answer.raw or ()
    for j, value in enumerate(raw):
        if j in pair.question.wants or not isinstance(value, Tensor):
            continue
        for i in pair.question.wants:
            right = pair.right(i)
            if right is None or (i < len(raw) and raw[i] is not None) or not close(value, right):
                continue
            order = ", ".join(ev.argument(k) for k in range(len(pair.question.args)))
            return Finding(
                "gradient-count",
                f"backward returns the gradient for {ev.argument(i)} in the place of {ev.argument(j)}, which is no "
                "tensor.",
                f"The values stand in the order of forward's arguments, {order}, and None for what is no tensor.",
                {"case": pair.where},
            )
    return None


def _for_what_was_left_out(ev: Evidence, pair: Pair, got: int | None) -> Finding | None:
    """A gradient for an argument with a default that this call did not pass: torch wants none."""
    passed = len(pair.question.args)
    if got is None or not passed < got <= len(ev.exercise.argument_names):
        return None
    call = ", ".join(map(ev.argument, range(passed)))
    name = ev.argument(got - 1)
    return Finding(
        "gradient-count",
        f"backward returns a gradient for {name}, which was left out: the call was apply({call}).",
        f"torch counts the arguments that were passed. Where {name} was left out its place holds None "
        "(None at the end may also be dropped).",
        {
            "case": pair.where,
            "original": pair.answer.failure.message[:300] if pair.answer.failure else "",
            "returned": got,
            "expected": passed,
        },
    )


def _plural(count: int | None) -> str:
    return f"{count} value{'s' if count != 1 else ''}"
