"""Numbers that are right for changed arguments: exchanged, with another sign, along another dimension.

Each change is tried with the reference and has to explain every case; it runs only after something
was found wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from autograder.causes.slips import same_outputs
from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import Forward, expect, reference_arguments


@dataclass(frozen=True)
class _Change:
    """One change of a call: the words for it, and the arguments and outputs it makes of a pair's.

    back  what turns the reference's output into the one to compare with
    """

    message: str
    hint: str
    args: Callable[[Pair, list[Any]], list[Any]]
    back: Callable[[Pair, Any], Any] = lambda _, output: output


def changed_forward(ev: Evidence, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """(headline, next step) where the outputs of all pairs are right for changed arguments."""
    for change in (*_exchanges(ev, pairs), *_numbers(ev, pairs), *_dimensions()):
        if all(_gives(ev, change, pair) for pair in pairs):
            return change.message, change.hint
    return None


def _gives(ev: Evidence, change: _Change, pair: Pair) -> bool:
    try:
        with torch.no_grad():
            args = change.args(pair, reference_arguments(pair.question))
            found = change.back(pair, ev.exercise.reference(*args))
    except Exception:  # a changed call need not make sense for every case
        return False
    return same_outputs(pair, found)


def _exchanges(ev: Evidence, pairs: Sequence[Pair]) -> Iterator[_Change]:
    """Two arguments of one kind, each taken for the other."""
    names = ev.exercise.argument_names
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            if not all(_alike(p, i, j) for p in pairs):
                continue
            order = ", ".join(names)
            yield _Change(
                f"{names[i]} and {names[j]} are exchanged: the output is the one for each in the other's "
                "place.",
                f"The contract's order is ({order}), in the signature of forward and wherever they are "
                "handed on.",
                lambda _, args, i=i, j=j: _swapped(args, i, j),  # type: ignore[misc]
            )


def _alike(pair: Pair, i: int, j: int) -> bool:
    args = pair.question.args
    if max(i, j) >= len(args):
        return False
    a, b = args[i], args[j]
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.dtype == b.dtype
    return _number(a) and _number(b)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _swapped(args: list[Any], i: int, j: int) -> list[Any]:
    args[i], args[j] = args[j], args[i]
    return args


_NUMBERS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    (
        "{name} has the wrong sign: the output is the one for −{name}.",
        "Look where {name} is added and where it is subtracted, or where a minus is missing.",
        lambda value: -value,
    ),
    (
        "{name} divides where it should multiply, or the other way round: the output is the one for "
        "1/{name}.",
        "Look at each * and / beside {name}.",
        lambda value: 1 / value,
    ),
    (
        "{name} is there twice: the output is the one for {name} squared.",
        "Look for a second place that multiplies by {name}, or divides by it.",
        lambda value: value**2,
    ),
)


def _numbers(ev: Evidence, pairs: Sequence[Pair]) -> Iterator[_Change]:
    """One argument that is not differentiated by everything else: its sign, its inverse, its square."""
    for i, name in enumerate(ev.exercise.argument_names):
        values = [p.question.args[i] for p in pairs if i < len(p.question.args)]
        if len(values) < len(pairs) or not all(map(_number, values)):
            continue
        for message, hint, change in _NUMBERS:
            yield _Change(
                message.format(name=name), hint.format(name=name),
                lambda _, args, i=i, change=change: [  # type: ignore[misc]
                    *args[:i], change(args[i]), *args[i + 1 :]
                ],
            )  # fmt: skip


def _dimensions() -> Iterator[_Change]:
    """What works along the last dimension, along another one."""
    for place, words in ((0, "the first dimension"), (1, "dimension 1"), (-2, "the last but one")):
        yield _Change(
            f"It works along {words}, not along the last: where {words} is the last it would be right.",
            "dim=-1 is the last dimension, however many there are.",
            lambda pair, args, d=place: [_turned(a, _dim(pair, d)) for a in args],  # type: ignore[misc]
            lambda pair, output, d=place: _turned(output, _dim(pair, d)),  # type: ignore[misc]
        )


def _dim(pair: Pair, place: int) -> int:
    """That dimension of the first argument. Raises where it has none, or too few."""
    dims = int(pair.question.args[0].dim())
    if not -dims <= place < dims:
        raise ValueError("no such dimension")
    return place % dims


def _turned(value: Any, dim: int) -> Any:
    if isinstance(value, tuple | list):
        return [_turned(one, dim) for one in value]
    return value.transpose(dim, -1) if isinstance(value, Tensor) and value.dim() > dim else value


# ---- gradients -----------------------------------------------------------------------------


def elsewhere(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """The gradient is the right one for other arguments: the output, −x, or two exchanged."""
    name = ev.argument(i)
    for what, hint, change in _points(ev, i):
        if all(_right_there(ev, i, pair, change) for pair in every):
            return Finding(
                "gradient-value",
                f"The gradient for {name} is the derivative at {what}.",
                hint,
            )
    return None


def exchanged_numbers(ev: Evidence, i: int, every: Sequence[Pair]) -> str:
    """The names of two plain numbers whose exchange gives this gradient; "" where there are none."""
    names = ev.exercise.argument_names
    for j in range(len(names)):
        for k in range(j + 1, len(names)):
            args = [p.question.args for p in every]
            if any(k >= len(a) or not _number(a[j]) or not _number(a[k]) for a in args):
                continue

            def change(pair: Pair, args: list[Any], j: int = j, k: int = k) -> list[Any]:
                return _exchanged(pair, args, j, k)

            if all(_right_there(ev, i, p, change) for p in every):
                return f"{names[j]} and {names[k]}"
    return ""


_Point = tuple[str, str, Callable[[Pair, list[Any]], list[Any]]]


def _points(ev: Evidence, i: int) -> Iterator[_Point]:
    names = ev.exercise.argument_names
    for j, name in enumerate(names):
        yield (
            f"the output, where {name} belongs: backward puts what forward returned in the place of {name}",
            f"Look at what is saved and what backward calls it: the formula for {name} needs {name}.",
            lambda pair, args, j=j: _replaced(args, j, pair.expected.outputs[0]),  # type: ignore[misc]
        )
        yield (
            f"−{name}: the sign of {name} is lost or turned round on the way to backward",
            f"Put one number for {name} into what backward computes, step by step.",
            lambda pair, args, j=j: _replaced(args, j, -args[j]),  # type: ignore[misc]
        )
    for j in range(len(names)):
        for k in range(j + 1, len(names)):
            yield (
                f"{names[j]} and {names[k]} exchanged: each stands in backward where the other belongs",
                "Look at the order in which they are saved, and in which backward takes them back.",
                lambda pair, args, j=j, k=k: _exchanged(pair, args, j, k),  # type: ignore[misc]
            )


def _replaced(args: list[Any], j: int, value: Any) -> list[Any]:
    if not isinstance(value, Tensor) or not isinstance(args[j], Tensor):
        raise TypeError("no tensors")
    if value.shape != args[j].shape or not value.is_floating_point():
        raise TypeError("another kind of tensor")
    args[j] = value.detach().requires_grad_(args[j].requires_grad)
    return args


def _exchanged(pair: Pair, args: list[Any], j: int, k: int) -> list[Any]:
    if not _alike(pair, j, k):
        raise TypeError("not of one kind")
    return _swapped(args, j, k)


def _right_there(
    ev: Evidence, i: int, pair: Pair, change: Callable[[Pair, list[Any]], list[Any]]
) -> bool:
    """Whether the learner's gradient is the reference's at the changed arguments."""
    question = pair.question
    try:
        args = change(pair, reference_arguments(question))
        with torch.enable_grad():
            output = ev.exercise.reference(*args)
        single = not isinstance(output, tuple | list)
        outputs = (output,) if single else tuple(output)
        run = Forward(args, question.wants, outputs, single)
        found = expect(ev.exercise, replace(question, kind="run"), run=run).gradients
    except Exception:  # the function need not be defined there
        return False
    gradient = found[question.wants.index(i)] if found else None
    got = pair.raw(i)
    return gradient is not None and isinstance(got, Tensor) and close(got, gradient)
