"""Why a second derivative is missing or wrong: what was kept, what was decorated, what refuses.

Each cause is measured, or stands in the learner's code and agrees with what was measured.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close
from autograder.evidence import Evidence, Pair
from autograder.expected import expect
from autograder.observation import Kept
from autograder.source import Source

ONCE = "once_differentiable"
MASKS = {"mask", "mask of −inf", "zeros"}  # how Kept.like says of numbers that they are no result
GUARD = "`if torch.is_grad_enabled(): raise RuntimeError(...)` as the first line of backward"


@dataclass(frozen=True)
class Constants:
    """What was kept without its history: a constant to the second derivative.

    why   a clause that names it
    hint  what to keep in its place
    """

    why: str
    hint: str
    names: str


def name_of(source: Source, holder: str) -> str:
    """What the learner calls a kept tensor: "s" for saved[2] in save_for_backward(x, beta, s)."""
    if holder == "hidden":
        return "a tensor outside ctx"
    place = re.fullmatch(r"saved\[(\d+)\]", holder)
    methods = [source.methods[m] for m in ("forward", "setup_context") if m in source.methods]
    calls = [
        node
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("save_for_backward")
    ]
    if place is None or len(calls) != 1:
        return holder
    given, i = calls[0].args, int(place[1])
    if any(isinstance(a, ast.Starred) for a in given) or i >= len(given):
        return holder
    text = ast.unparse(given[i])
    return text if len(text) <= 40 else holder


def constants(ev: Evidence) -> Constants | None:
    """The floats that forward made and kept; None where there are none."""
    found: dict[str, Kept] = {}
    likes: dict[str, set[str]] = {}
    for pair in ev.pairs("structure", "second"):
        for kept in pair.answer.kept:
            if kept.who in ("intermediate", "numbers") and "float" in kept.dtype:
                found.setdefault(kept.holder, kept)
                likes.setdefault(kept.holder, set()).add(kept.like)
    found = {holder: kept for holder, kept in found.items() if not likes[holder] <= MASKS}
    if not found:
        return None
    names = list(dict.fromkeys(name_of(ev.source, holder) for holder in found))
    if len(found) == 1:
        (alike,) = likes.values() if len(likes) == 1 else ({""},)
        like = alike.pop() if len(alike) == 1 else ""  # in one case alone it may be by chance
        if like.startswith("output"):
            return Constants(
                f"{names[0]} has the numbers of the output, but is not the tensor that forward returns, "
                "so it is a constant to the second derivative",
                "Save the very tensor that forward returns, and return it as it is: torch knows what "
                "its history is.",
                names[0],
            )
        if like.startswith("input"):
            name = ev.argument(int(like[6:-1]))
            return Constants(
                f"{names[0]} has the numbers of {name}, but is a copy, so it is a constant to the second "
                "derivative",
                f"Save {name} itself, the very tensor that forward was given.",
                names[0],
            )
    several = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    what = "a tensor that forward made, is a constant"
    if len(names) > 1:
        what = "tensors that forward made, are constants"
    given = {kept.who for pair in ev.pairs("structure", "second") for kept in pair.answer.kept}
    if "input[0]" in given and _what_may_be_saved(ev) == "the input itself":
        return Constants(
            f"{several}, {what} to autograd",
            f"Leave {several} out of what is saved: backward can compute all it needs from {ev.argument(0)}, which is "
            "saved already, and torch knows its history.",
            several,
        )
    return Constants(
        f"{several}, {what} to autograd",
        f"Save {_what_may_be_saved(ev)} with save_for_backward in place of {several}, and let backward "
        "compute from there all it needs: torch knows the history of inputs and outputs.",
        several,
    )


def _what_may_be_saved(ev: Evidence) -> str:
    words = ev.exercise.budget_words
    if not words or words.startswith(("one tensor", "no tensor")):
        return "the input itself"
    return f"only {words}"


def without_decorator(pair: Pair) -> str:
    """What comes out without once_differentiable: "right", "wrong", "refused"; "" where it is not there."""
    data: Any = pair.answer.data.get("without_decorator")
    if not isinstance(data, dict):
        return ""
    if data.get("error"):
        return "refused" if data["error"] == "RuntimeError" else "wrong"
    return "wrong" if wrong_one(pair, tuple(data.get("second") or ())) else "right"


def wrong_one(pair: Pair, second: tuple[Any, ...]) -> tuple[int, object, object] | None:
    """(place, actual, expected) of the first wrong one of some second derivatives."""
    for place, right in enumerate(pair.expected.second or ()):
        got = second[place] if place < len(second) else None
        if right is None or not bool(right.any()):
            if isinstance(got, Tensor) and bool(got.any()) and not close(got, got * 0):
                return place, got, right
            continue
        if got is None or not _same_where_finite(got, right):
            return place, got, right
    return None


def _same_where_finite(got: Any, right: Tensor) -> bool:
    """Far out the reference itself may have no number: there nothing is asked for."""
    finite = torch.isfinite(right)
    if not isinstance(got, Tensor) or got.shape != right.shape or bool(finite.all()):
        return close(got, right)
    return close(got[finite], right[finite])


def leave_decorator_out(ev: Evidence, pair: Pair, may_refuse: bool) -> str:
    """What to do about once_differentiable in this very answer, which was also tried without it."""
    tried = without_decorator(pair)
    kept = constants(ev)
    if tried == "right":
        return (
            f"Leave {ONCE} out: under it autograd records nothing of backward. (Tried: without it the "
            "second derivative is right.)"
        )
    if tried == "refused" and may_refuse:
        return (
            f"Leave {ONCE} out: under it grad mode is off, so that your own refusal never comes about. "
            "(Tried: without it an error is raised.)"
        )
    if tried == "refused":
        return f"Leave {ONCE} out, and what refuses in backward: here a second derivative is asked for."
    more = f": {kept.why}" if kept is not None else ""
    if may_refuse:
        return (
            f"Put a refusal in its place: {GUARD}. Without either the second derivative comes out "
            f"wrong{more}."
        )
    then = kept.hint if kept is not None else (
        "Let torch's operations compute everything in backward from saved inputs and grad_output."
    )  # fmt: skip
    return f"Leave {ONCE} out, but not that alone: the second derivative is still wrong then{more}. {then}"


def leave_out(what: str, kept: Constants | None) -> str:
    """The next step where something takes tensors out of the graph."""
    more = f" And {kept.why}. {kept.hint}" if kept is not None else ""
    return f"Leave {what} out: autograd has to see how everything in backward depends on the inputs.{more}"


def may_raise(source: Source) -> bool:
    """Whether backward has a raise or an assert of its own."""
    node = source.methods.get("backward")
    return node is not None and any(isinstance(n, ast.Raise | ast.Assert) for n in ast.walk(node))


def why_not_refused(ev: Evidence, pair: Pair) -> tuple[str, str, dict[str, object]]:
    """(clause, next step, line): why no error is raised where every second derivative is to be refused."""
    source = ev.source
    tried = without_decorator(pair)
    place = source.first_mention("backward", ONCE)
    line: dict[str, object] = {"line": place[0], "source": place[1]} if place else {}
    if tried == "refused" and may_raise(source):
        return (
            f"{ONCE} turns grad mode off, so that your own refusal never comes about",
            f"Leave {ONCE} out: under it torch.is_grad_enabled() is always False. (Tried: without it an "
            "error is raised.)",
            line,
        )
    if tried:
        return (
            f"{ONCE} alone does not refuse it",
            f"Leave {ONCE} out (under it torch.is_grad_enabled() is always False), and make backward refuse: "
            f"{GUARD}.",
            line,
        )
    mixed = pair.question.more.get("mixed")
    same = [p for p in ev.pairs("second") if p.question.more.get("mixed") == mixed]
    if any(p.where != pair.where and p.answer.failure is not None for p in same):
        return (
            f"other cases are refused, but not {pair.where}",
            f"Every attempt is to be refused, whatever x is: {GUARD}, without a second condition.",
            {},
        )
    asks = "is_grad_enabled"
    place = source.first_mention("forward", asks)
    if place is not None and not source.mentions("backward", asks):
        return (
            f"torch.{asks}() is asked in forward, where it is always False",
            "Grad mode is off in the forward of a Function. With create_graph=True it is on while backward "
            f"runs: ask there, {GUARD}.",
            {"line": place[0], "source": place[1]},
        )
    node = source.methods.get("backward")
    raises = [n for n in ast.walk(node) if isinstance(n, ast.Raise)] if node is not None else []
    if raises:
        number, text = source.line_of(raises[0])
        return (
            "backward never comes to its raise",
            f"Ask torch.is_grad_enabled(): with create_graph=True it is True while backward runs. {GUARD}.",
            {"line": number, "source": text},
        )
    return (
        "nothing in backward refuses it",
        f"Make backward refuse: {GUARD}. With create_graph=True grad mode is on while backward runs. "
        f"{ONCE} alone stays silent in a sum with another function of x.",
        {},
    )


def as_released(ev: Evidence, pair: Pair) -> bool:
    """Whether a repair exercise is still the version it started from.

    By its code; where there is no source to read, by its second derivatives.
    """
    if ev.exercise.released is None:
        return False
    if ev.source.methods:
        return ev.source.same_code(Source.of(ev.exercise.released), "forward", "backward")
    start = expect(replace(ev.exercise, reference=ev.exercise.released), pair.question).second or ()
    found = pair.answer.second or ()
    return len(start) == len(found) and all(
        close(f, s) or (f is None and s is None) for f, s in zip(found, start, strict=True)
    )


def saving_line(ev: Evidence) -> dict[str, object]:
    """The line that decides what backward can read; without one, the line that reads it."""
    for method in ("forward", "setup_context"):
        place = ev.source.first_call(method, "save_for_backward")
        if place is not None:
            return {"line": place[0], "source": place[1]}
    return backward_line(ev)


def backward_line(ev: Evidence) -> dict[str, object]:
    """The line in which backward reads what was saved; without one, its return."""
    place = ev.source.first_call("backward", "saved_tensors")
    place = place or ev.source.returned("backward", {})
    return {"line": place[0], "source": place[1]} if place else {}
