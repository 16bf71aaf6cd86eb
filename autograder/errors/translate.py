"""Exceptions in the learner's words. The original message always stays beside the translation."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torch import Tensor

from autograder.causes.dtype_words import mixed_dtypes
from autograder.errors.by_source import (
    after_the_last,
    list_and_tuple,
    missing_or_not,
    no_create_graph,
    nothing_requires_grad,
    rows_counted,
    tuple_for_tensor,
)
from autograder.errors.in_a_case import stops_because
from autograder.errors.known import KINDS, KNOWN, KNOWN_IN_FUNCTIONS, TUPLES
from autograder.errors.misspelt import closest, misspelt
from autograder.errors.shapes import about_shapes
from autograder.evidence import Evidence, Pair
from autograder.exercises import is_exercise
from autograder.observation import Failure


@dataclass(frozen=True)
class Said:
    """A translated exception."""

    message: str
    hint: str
    not_started: bool = False


def translate(failure: Failure, ev: Evidence, pair: Pair, method: str) -> Said:
    """The headline and the next step for an exception in forward or backward."""
    name = ev.exercise.name
    if failure.kind == "NotImplementedError" and not re.search(_TORCHS_OWN, failure.message):
        return _not_implemented(failure, ev, name, method)
    if not ev.exercise.is_function and (said := _without_leaf(failure, ev, pair)) is not None:
        return said
    special = misspelt(failure, ev, method) or missing_or_not(failure, ev, method)
    special = special or after_the_last(failure, ev, pair, method)
    special = special or rows_counted(failure, ev, pair, method)
    special = special or list_and_tuple(failure, ev, pair) or tuple_for_tensor(failure, ev)
    if special is None and ev.exercise.is_function:
        special = no_create_graph(failure, ev) or nothing_requires_grad(failure, ev)
    special = special or _misused(failure, ev, pair, method)
    special = special or mixed_dtypes(failure, ev, pair, method)
    if special is not None:
        return Said(*special)
    if (explained := about_shapes(failure, ev, pair, method)) is not None:
        return Said(*explained)
    known = (*KNOWN_IN_FUNCTIONS, *KNOWN) if ev.exercise.is_function else KNOWN
    for pattern, message, hint in known:
        found = re.search(pattern, failure.message)
        if found:
            words = (*found.groups(), *[""] * 4)
            place = name if ev.exercise.is_function else method
            return Said(message.format(*words, method=place), hint.format(*words, method=place))
    if failure.kind in KINDS:
        message, hint = KINDS[failure.kind]
        first = failure.message.splitlines()[0][:160] if failure.message else ""
        return Said(message.format(method=method, text=first), hint.format(method=method))
    place = method if not ev.exercise.is_function else name
    first = failure.message.splitlines()[0][:160] if failure.message else failure.kind
    if (why := stops_because(failure, ev, pair)) is not None:
        return Said(f"{place} stops: {why[0]}.", why[1])
    if failure.raised_by_learner:
        return Said(
            f"{place} raises an error of its own: {failure.kind}: {first}",
            "Look at the condition before this line: it holds where it should not.",
        )
    return Said(
        f"{place} stops with {failure.kind}: {first}",
        _where_to_look(failure),
    )


def _where_to_look(failure: Failure) -> str:
    if failure.own_frame and _SAID.search(failure.message) and failure.kind not in _LOOK:
        return (
            "torch's words name the sizes or dtypes that it met. Write beside each name in that line what it "
            "should be, and look where the two part."
        )
    if failure.own_frame:
        return _LOOK.get(failure.kind, _LOOK[""])
    return _CALLED if re.search(r"positional arguments?\b", failure.message) else _NO_LINE


_SAID = re.compile(
    r"torch\.Size|shape|\bsizes?\b|\[\d+|dtype|\b(?:float|u?int)\d+|Float|Double|Long"
)
# By the kind of error: where to look in the line that is named.
_LOOK = {
    "": "Print the shapes and dtypes just before the line that is named.",
    "AttributeError": "Print type(…) of what stands before the dot, just before the line that is named.",
    "TypeError": "Print type(…) of what is handed over, just before the line that is named.",
}
_CALLED = "Compare with the signature that the exercise gives: the names of the arguments, their number and order."
_NO_LINE = (
    "No line of yours is named: it is about what goes into the code or comes out. Leave out one step after "
    "the other until the error goes away."
)


def _without_leaf(failure: Failure, ev: Evidence, pair: Pair) -> Said | None:
    """Grad mode is on where backward recomputes, and still nothing there requires grad: why?"""
    unconnected = "element 0 of tensors does not require grad" in failure.message
    if not unconnected:
        return None
    modes = ("enable_grad", "set_grad_enabled", "inference_mode")
    if ev.exercise.may_use_autograd and not any(ev.source.mentions("backward", m) for m in modes):
        return Said(
            "Grad mode is off where backward recomputes: torch.enable_grad() is missing, so nothing is recorded that "
            "could be differentiated.",
            "Inside forward and backward torch records nothing. Recompute and differentiate in one block: with "
            "torch.enable_grad().",
        )
    if not ev.source.mentions("backward", "enable_grad"):
        return None
    first_is_tensor = bool(pair.question.args) and isinstance(pair.question.args[0], Tensor)
    if not first_is_tensor and ev.source.reads_needs_from_the_start("backward"):
        return Said(
            "needs_input_grad is read one place off: its position 0 belongs to "
            f"{ev.argument(0)}, so no tensor of the recomputation requires grad.",
            f"needs_input_grad has one entry for each argument of forward after ctx, {ev.argument(0)} "
            f"included: {ev.argument(1)} is position 1.",
        )
    if ev.source.mentions("backward", "requires_grad_"):
        return Said(
            "What backward differentiates has no graph: an operation on the way to it ran outside "
            "torch.enable_grad(), or it was detached.",
            "From the first operation on the detached arguments to the tensor that is differentiated, "
            "everything belongs into one block of torch.enable_grad().",
        )
    return Said(
        "backward recomputes with grad mode on, but no tensor there requires grad, so there is nothing to "
        "differentiate.",
        "detach() gives a tensor that does not require grad: tensor.detach().requires_grad_(True).",
    )


def _not_implemented(failure: Failure, ev: Evidence, name: str, method: str) -> Said:
    for wanted in ("forward", "backward"):
        near = closest(wanted, set(ev.source.methods) - {wanted})
        if f"implement the {wanted}" in failure.message.replace("either ", "") and near:
            return Said(
                f"{name} has no {wanted}, but a method {near}: did you mean {wanted}?",
                f"torch looks for the name {wanted} and for no other.",
            )
    if "You must implement either the backward or vjp" in failure.message:
        return Said(
            f"{name} has no backward yet.",
            "Add a static method backward(ctx, grad_output) to the class.",
            not_started=True,
        )
    if "You must implement the forward function" in failure.message:
        return Said(f"{name} has no forward yet.", "Add a static method forward.", not_started=True)
    stub = failure.function or method
    if ev.exercise.is_function and ev.source.methods and stub not in ev.source.methods:
        return Said(
            f"{name} calls code that is not written yet: {stub} still raises NotImplementedError.",
            "Solve the earlier exercise that it builds on first, and run its cell.",
        )
    if ev.exercise.is_function or stub == name:
        if ev.source.methods and not ev.source.is_stub(stub) and ev.source.has_stub(stub):
            return _stub_left(name)
        return Said(f"{name} is not started yet.", _START, not_started=True)
    if ev.source.methods and not ev.source.is_stub(stub) and ev.source.has_stub(stub):
        return _stub_left(stub)
    others = [m for m in ("forward", "backward") if m != stub and m in ev.source.methods]
    done = [m for m in others if not ev.source.has_stub(m)]
    if done:
        return Said(f"{done[0]} is written; {stub} is not started yet.", _START, not_started=True)
    return Said(f"{name} is not started yet.", _START, not_started=True)


# A NotImplementedError that torch raises for an operation; a stub raises one without such words.
_TORCHS_OWN = r"not implemented for|Could not run"

_START = (
    "Replace the line `raise NotImplementedError()` with your own code, run the cell, then run this "
    "check again. A hint helps to begin."
)


def _stub_left(where: str) -> Said:
    return Said(
        f"The line `raise NotImplementedError()` still stands in {where}, so your code above it never "
        "comes to its end.",
        "Delete the line `raise NotImplementedError()`.",
    )


def _misused(failure: Failure, ev: Evidence, pair: Pair, method: str) -> tuple[str, str] | None:
    """(headline, next step) for what only the learner's source and the call explain together."""
    unknown = re.match(r"name '(\w+)' is not defined", failure.message)
    if unknown and is_exercise(unknown[1]):
        return (
            f"{method} uses {unknown[1]}, an exercise of this course that is not there yet.",
            f"Run the cell that defines {unknown[1]} (and solve it first), then this one again.",
        )
    if unknown and (value := _plain_argument(ev, pair, unknown[1])) is not None:
        return (
            f"{method} uses {unknown[1]}, which only forward was given.",
            f"It is a plain value ({value}): keep it in forward, ctx.{unknown[1]} = {unknown[1]}, and read "
            f"ctx.{unknown[1]} in {method}. save_for_backward is for tensors.",
        )
    if re.search(TUPLES, failure.message) and not ev.source.mentions_anywhere("saved_tensors"):
        return (
            f"{ev.exercise.name if ev.exercise.is_function else method} uses a tuple where a tensor or a "
            "number is needed.",
            "A shape is a tuple of numbers, and a function with several outputs gives a tuple: take the entry "
            "that is meant. math.prod(shape) is the number of elements.",
        )
    unpacks = "to unpack" in failure.message
    if unpacks and "save_for_backward" in ev.source.attributes_set("forward"):
        return (
            "forward assigns to ctx.save_for_backward; it is a method, and nothing was saved.",
            "Call it: ctx.save_for_backward(x).",
        )
    count = len(pair.question.args)
    short = unpacks or "tuple index out of range" in failure.message
    if short and re.search(_names_of_needs(ev, method), failure.source):
        passed = ", ".join(map(ev.argument, range(count)))
        return (
            f"{method} asks for more entries than ctx.needs_input_grad has: there are {count} here, one for "
            f"each argument that was passed ({passed}).",
            "An argument that was left out has no entry. Look first whether there is one: "
            "len(ctx.needs_input_grad), or a note that forward leaves on ctx.",
        )
    return None


def _names_of_needs(ev: Evidence, method: str) -> str:
    """A pattern for ctx.needs_input_grad and the names that a method gives to it."""
    node = ev.source.methods.get(method)
    names = [
        n.targets[0].id
        for n in (ast.walk(node) if node is not None else ())
        if isinstance(n, ast.Assign)
        and isinstance(n.targets[0], ast.Name)
        and ast.unparse(n.value).endswith("needs_input_grad")
    ]
    return "|".join(["needs_input_grad", *(rf"\b{name}\[" for name in names)])


def _plain_argument(ev: Evidence, pair: Pair, name: str) -> str | None:
    """The kind of an argument of forward that is no tensor, by its name in the source; else None."""
    forward = ev.source.methods.get("forward")
    if forward is None or ev.exercise.is_function:
        return None
    names = [a.arg for a in (*forward.args.posonlyargs, *forward.args.args)]
    names = names if "setup_context" in ev.source.methods else names[1:]
    position = names.index(name) if name in names else len(pair.question.args)
    value = pair.question.args[position] if position < len(pair.question.args) else None
    return None if value is None or isinstance(value, Tensor) else type(value).__name__
