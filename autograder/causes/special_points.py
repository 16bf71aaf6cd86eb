"""Why an answer is wrong at a special point alone."""

from __future__ import annotations

import ast

from torch import Tensor

from autograder.causes.slips import known_slip, slip_at
from autograder.compare import close, mismatch, show
from autograder.evidence import Evidence, Pair
from autograder.exercise import ForwardSlip
from autograder.expected import expected_upstream
from autograder.source import Source


def slip_at_point(ev: Evidence, case: object) -> ForwardSlip | None:
    """The known slip that is made at this special point alone."""
    special = list(ev.pairs("run", "function", role="special", variant=""))
    pairs = [p for p in special if p.where == case]
    ran = [p for p in special if p.answer.failure is None]
    return (known_slip(ev, [*ran, *ev.plain]) or slip_at(ev, pairs)) if pairs else None


def gives_up(ev: Evidence, case: object) -> tuple[str, str, dict[str, object]] | None:
    """(message, hint, line) where one special element makes the whole gradient 0."""
    condition = _condition_on_all(ev.source, "backward")
    if condition is None:
        return None
    for pair in (p for p in ev.pairs("run", role="special") if p.where == case):
        for position in pair.question.wants:
            got, right = pair.raw(position), pair.right(position)
            if not isinstance(got, Tensor) or right is None or got.numel() < 2:
                continue
            if bool(got.any()) or not bool(right.any()):
                continue
            return (
                f"the gradient for {ev.argument(position)} is then 0 everywhere, as the `if` in line "
                f"{condition[0]} decides for the whole tensor.",
                "Where a few elements or rows are special, the others are not: decide for each of them, with a "
                "mask and torch.where, in place of `if` with any() or all().",
                {"line": condition[0], "source": condition[1]},
            )
    return None


def blocked_there(ev: Evidence, case: object) -> tuple[str, str] | None:
    """(words, hint) where a special element stops grad_output and should pass it on, or the other way round."""
    for pair in (p for p in ev.pairs("run", role="special") if p.where == case):
        for position in pair.question.wants:
            got, right = pair.raw(position), pair.right(position)
            upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
            if not isinstance(got, Tensor) or right is None or upstream is None:
                continue
            if not got.shape == right.shape == upstream.shape or not got.dim():
                continue
            odd = mismatch(got, right) & (upstream != 0)
            passes, stops = close(right[odd], upstream[odd]), not bool(right[odd].any())
            if not bool(odd.any()) or passes == stops:
                continue
            value = pair.question.args[position]
            places = list(dict.fromkeys(show(float(v)) for v in value[odd]))
            name = ev.argument(position)
            where = f" at {name} = {', '.join(places[:3])}" + (", …" if len(places) > 3 else "")
            if bool(odd.all()):
                where = " there"
            if passes and not bool(got[odd].any()):
                return (
                    f"the gradient for {name} is blocked{where}, and all of grad_output has to pass.",
                    "No mask of backward, and no factor, may be 0 there.",
                )
            if stops and close(got[odd], upstream[odd]):
                return (
                    f"the gradient for {name} passes{where}, and has to stop.",
                    "There, too, the mask of backward has to be 0.",
                )
    return None


def for_the_whole(ev: Evidence, i: int, wrong: list[Pair]) -> tuple[str, str] | None:
    """(headline, next step) where an `if` on one number of a tensor lets all of grad_output through, or nothing."""
    place = _condition_on_all(ev.source, "backward", _ONE_NUMBER)
    for pair in wrong:
        got = pair.raw(i)
        upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
        if not isinstance(got, Tensor) or upstream is None or got.shape != upstream.shape:
            return None
        if bool(got.any()) and not close(got.to(upstream.dtype), upstream):
            return None
    if place is None:
        return None
    return (
        f"The gradient passes as a whole or not at all: the `if` in line {place[0]} asks one number of the whole tensor, "
        "and decides for every element.",
        "Decide for each element by itself: a comparison of the tensor is a mask, for torch.where or a product.",
    )


_ONE_NUMBER = ("any", "all", "sum", "mean", "max", "min", "item", "norm", "prod")


def _condition_on_all(
    source: Source, method: str, calls: tuple[str, ...] = ("any", "all")
) -> tuple[int, str] | None:
    """The first `if` of a method that asks any() or all() of a tensor, or for one of these."""
    node = source.methods.get(method)
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.If | ast.IfExp) and any(
            isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in calls
            for call in ast.walk(part.test)
        ):
            return source.line_of(part)
    return None
