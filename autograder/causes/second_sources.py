"""Why a second derivative is missing or wrong where nothing that forward made is kept.

What is kept is another tensor than the one that autograd knows, or backward hands the work to another
Function, whose own backward is then the second derivative.
"""

from __future__ import annotations

import ast

from torch import Tensor

from autograder.causes.named_in_source import other_function_called
from autograder.causes.second_order import GUARD, may_raise, name_of, wrong_one
from autograder.compare import close
from autograder.evidence import Evidence, Pair

Told = tuple[str, str, dict[str, object]]  # a clause, the next step, the line

ANYTHING = (
    "Save only inputs and outputs with save_for_backward, compute everything else from them again in backward, "
    "and use operations there that torch can differentiate."
)
_MAY_COPY = ("contiguous", "reshape", "flatten", "ravel", "reshape_as")


def what_is_kept(ev: Evidence, pair: Pair) -> Told | None:
    """What is kept looks like an input or the output, and is another tensor."""
    if pair.question.variant == "transposed":
        return _copied_where_not_contiguous(ev)
    return _view(ev, pair)


def _copied_where_not_contiguous(ev: Evidence) -> Told | None:
    """Everything else was right, so this is made of a tensor that is not contiguous alone."""
    for method in ("forward", "setup_context"):
        node = ev.source.methods.get(method)
        calls = [n for n in (ast.walk(node) if node is not None else ()) if isinstance(n, ast.Call)]
        calls = [c for c in calls if ast.unparse(c.func).split(".")[-1] in _MAY_COPY]
        calls.sort(key=lambda c: "contiguous" not in ast.unparse(c.func))
        if not calls or (len(calls) > 1 and "contiguous" not in ast.unparse(calls[0].func)):
            continue
        number, text = ev.source.line_of(calls[0])
        name = ast.unparse(calls[0].func).split(".")[-1]
        return (
            f"{name} in line {number} then makes a copy, of which autograd knows nothing",
            "Save the very tensor that forward was given or returns. What backward needs in another layout it "
            "can make for itself.",
            {"line": number, "source": text},
        )
    return None


def _view(ev: Evidence, asked: Pair) -> Told | None:
    """A view is kept that forward made, where autograd is off; in every case with several elements."""
    views: dict[str, str] = {}
    for pair in ev.pairs("structure", "second"):
        for kept in pair.answer.kept:
            if kept.who.startswith("view of "):
                views.setdefault(kept.holder, kept.who.removeprefix("view of "))
    if len(views) > 1 and all(of.startswith("input") for of in views.values()):
        return _several_views(ev, views, asked)
    if len(views) != 1:
        return None
    ((holder, of),) = views.items()
    name = name_of(ev.source, holder)
    what = f"what is kept ({name})" if name == holder else name
    if of.startswith("output"):
        returned = ev.source.returned("forward", {})
        line: dict[str, object] = {} if returned is None else {
            "line": returned[0], "source": returned[1],
        }  # fmt: skip
        where = f" in line {returned[0]}" if returned is not None else ""
        return (
            f"{what} shares its memory with the output, but forward returns another tensor{where}",
            "Save the very tensor that forward returns: that one alone has a history afterwards. Make every "
            "other shape of it in backward.",
            line,
        )
    argument = ev.argument(int(of[6:-1]))
    return (
        f"{what} is a view of {argument} that forward made, where autograd is off",
        f"Save {argument} itself, the very tensor that forward was given, and make the view in backward.",
        {},
    )


def _several_views(ev: Evidence, views: dict[str, str], asked: Pair) -> Told:
    """Stretched or reshaped inputs are kept, under the same names perhaps."""
    given = [ev.argument(int(of[6:-1])) for of in sorted(set(views.values()))]
    names = [name_of(ev.source, holder) for holder in sorted(views)]
    forward = ev.source.methods.get("forward")
    made = [
        n
        for n in (ast.walk(forward) if forward is not None else ())
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id in names for s in n.targets for t in ast.walk(s))
    ]
    place = ev.source.line_of(made[0]) if made else None
    where = f" in line {place[0]}" if place is not None else ""
    what = f"{' and '.join(names)}, as saved, are not the inputs but views of them"
    if (only := _the_only_view(ev, views, asked)) is not None:
        of = ev.argument(int(views[only][6:-1]))
        what = f"{name_of(ev.source, only)}, as saved, is not {of} but a view of it"
    return (
        f"{what} that forward made{where}, where autograd is off",
        f"Save {' and '.join(given)} themselves, the very tensors that forward was given, and make the views in "
        "backward.",
        {"line": place[0], "source": place[1]} if place is not None else {},
    )


def _the_only_view(ev: Evidence, views: dict[str, str], asked: Pair) -> str | None:
    """The holder of the one view in this case, where the other input needs no stretching and is kept itself.

    A whole input under another name looks like the input itself; its derivative is missing all the same.
    """
    same = [p for p in ev.pairs("structure", "second") if p.where == asked.where]
    kept = {k.holder: k.who for p in same for k in p.answer.kept if k.holder in views}
    here = [holder for holder, who in kept.items() if who.startswith("view of ")]
    wrong = wrong_one(asked, asked.answer.second or ())
    if len(here) != 1 or len(kept) < 2 or wrong is None or wrong[0] >= len(asked.question.wants):
        return None
    return here[0] if views[here[0]] == f"input[{asked.question.wants[wrong[0]]}]" else None


def by_another_function(ev: Evidence, pair: Pair, place: int, got: object) -> Told | None:
    """backward calls the apply of another Function: its backward gives the second derivative."""
    call = other_function_called(ev)
    if call is None:
        return None
    name, number, text = call
    lacks = _lacks(ev, pair, place, got)
    return (
        f"it is what the backward of {name} gives, which line {number} calls"
        + (f", and the factor {lacks} is missing in it" if lacks else ""),
        f"Check {name} by itself: its backward returns a gradient for each of its arguments, an upstream gradient "
        "among them, and each is the derivative by that argument times all the others.",
        {"line": number, "source": text},
    )


def _lacks(ev: Evidence, pair: Pair, place: int, got: object) -> str:
    """The one factor of the second derivative that is missing, by its numbers: "" where none is."""
    right = (pair.expected.second or ())[place] if place < len(pair.expected.second or ()) else None
    if pair.question.more.get("mixed") or not isinstance(got, Tensor) or right is None:
        return ""
    factors = {
        "grad_output": next(iter(pair.question.upstream), None),
        "of its own upstream gradient": next(iter(pair.question.directions), None),
    }
    for words, factor in factors.items():
        if factor is None or factor.shape != got.shape or got.numel() < 2:
            continue
        if close(got * factor, right):
            return words
    return ""


def or_refused(ev: Evidence, told: str, hint: str, names: str) -> tuple[str, str]:
    """Both, where a refusal would do as well. ``names``: what is kept, and is to be computed again."""
    if ev.source.methods and not may_raise(ev.source):
        told = f"{told.removesuffix('.')}, and nothing in backward refuses it."
    if names:
        hint = f"compute {names} again in backward, from the inputs: there autograd sees how the result depends on them."
    more = f"{hint[0].lower()}{hint[1:]}"
    return told, f"Refuse it: {GUARD}. Or, if second derivatives are to be right, {more}"
