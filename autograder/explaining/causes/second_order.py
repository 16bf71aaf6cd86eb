"""Why a second derivative is missing, wrong, or not refused: what is a constant to autograd, and where.

Each cause is measured, or stands in the learner's code and agrees with what was measured.
"""

from __future__ import annotations

import ast
from typing import Any

from autograder.explaining.causes.definitions import saved_expression
from autograder.explaining.causes.kept import MASKS, name_of, saved_at
from autograder.explaining.causes.results import Reason
from autograder.explaining.exceptions.messages import why_it_stopped
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.judging.rules.order_two import wrong_one
from autograder.observation.observation import Kept
from autograder.observation.syntax import called

ONCE = "once_differentiable"
# What gives its operand back as it is, or a copy of it: of another layout or dtype than the usual one.
_COPIES = {
    "transposed": ("contiguous", "reshape", "flatten", "ravel", "reshape_as"),
    "float32": ("to", "double", "type", "type_as"),
}


def _as(cause: str, place: tuple[int, str] | None = None, **facts: Any) -> Reason:
    return Reason(cause, facts, place)


def cut(ev: Evidence, finding: Finding) -> Reason | None:
    """A decorator, or an operation of backward, that takes it out of the graph."""
    assert finding.pair is not None
    tried, place = without_decorator(finding.pair), ev.source.cut_off()
    if tried or ONCE in str(finding.evidence.get("original")):
        return _as("second/once", ev.source.mentions("backward", ONCE),
                   right=tried == "right", refused=tried == "refused" and bool(_raises(ev)))  # fmt: skip
    stops = finding.cause == "second/stops"
    if stops and finding.pair.answer.failure and finding.pair.answer.failure.raised_by_learner:
        return _as("second/own-refusal")
    if place is None or (stops and "does not require grad" not in finding.evidence["original"]):
        return None
    return _as("second/cut", place[1:], what=place[0])


def by_grad_output(ev: Evidence, finding: Finding) -> Reason | None:
    """A refusal that hangs on grad_output: below a constant one nothing is refused."""
    assert finding.pair is not None
    mixed = finding.pair.question.id
    pure = mixed.replace(":mixed", ":pure")
    asked = mixed != pure and pure in ev.observation.answers
    failure = ev.pair(pure).answer.failure if asked else None
    if failure is None or not failure.raised_by_learner:
        return None
    place = failure.place and (ev.source.condition(failure.place[0]) or failure.place)
    return _as("second/by-grad-output", place)


def constant(ev: Evidence, finding: Finding) -> Reason | None:
    """A float tensor that forward made and kept."""
    made = {k.holder: k for k in _kept(ev, finding) if k.who in ("intermediate", "numbers") and "float" in k.dtype}  # fmt: skip
    likes = {holder: {k.like for k in _kept(ev, finding) if k.holder == holder} for holder in made}
    made = {holder: k for holder, k in made.items() if not likes[holder] <= MASKS}
    if not made:
        return None
    first, alike = next(iter(made.values())), set.union(*(likes[h] for h in made))
    names = list(dict.fromkeys(name_of(ev.source, holder) for holder in made))
    like = (
        alike.pop() if len(alike) == len(made) == 1 else ""
    )  # in one case alone it may be by chance
    if like.startswith("output"):
        return _as("second/copy-of-output", saved_at(ev.source, first), names=names)
    if like.startswith("input"):
        own = ev.argument(int(like[6:-1]))
        return _as("second/copy-of-input", saved_at(ev.source, first), names=names, own=own)
    own = f"input[{_argument(finding)}]"
    saved = any(k.who == own for k in _kept(ev, finding))
    return _as("second/constant", saved_at(ev.source, first), names=names,
               several=len(names) > 1, saved=saved)  # fmt: skip


def _argument(finding: Finding) -> int:
    """Which of forward's arguments the second derivative is by; of one by grad_output the first."""
    assert finding.pair is not None
    wants, place = finding.pair.question.wants, finding.facts["place"]
    return wants[place] if place < len(wants) else wants[0]


def _kept(ev: Evidence, finding: Finding) -> list[Kept]:
    return [k for pair in ev.pairs("structure", "second") for k in pair.answer.kept]


def view(ev: Evidence, finding: Finding) -> Reason | None:
    """What is kept shares its memory with an input or the output, and is another tensor."""
    assert finding.pair is not None
    variant = finding.pair.question.variant
    for method in ("forward", "setup_context") if variant in _COPIES else ():
        node = ev.source.methods.get(method)
        calls = [c for c in (ast.walk(node) if node else ()) if called(c) in _COPIES[variant]]
        if calls:
            place = ev.source.line_of(calls[0])
            return _as(
                "second/copied", place, call=f"{called(calls[0])}()", dtype=variant == "float32"
            )
    views = {k.holder: k for k in _kept(ev, finding) if _is_view(ev, k)}
    if not views:
        return None
    at = f"input[{_argument(finding)}]"
    own = [k for k in views.values() if k.who.endswith(at)] or list(views.values())
    name, who = name_of(ev.source, own[0].holder), own[0].who.removeprefix("view of ")
    if who.startswith("output"):
        return _as("second/view-of-output", ev.source.returned("forward", {}), names=[name])
    of = ev.argument(int(who[6:-1]))
    return _as("second/view", saved_at(ev.source, own[0]), names=[name], own=of)


def _is_view(ev: Evidence, kept: Kept) -> bool:
    """Whether a view is kept, be it one of the same shape, which looks like the input itself, or like the output."""
    given = saved_expression(ev.source, kept.holder)
    last = ev.source.returned("forward", {})
    if given is not None and last is not None and kept.who.startswith("output"):
        return isinstance(given[1], ast.Name) and last[1].startswith(f"return {given[1].id}.")
    if given is None or not kept.who.startswith("input"):
        return kept.who.startswith("view of ")
    arguments = [a.arg for a in given[0].args.args]
    return not isinstance(given[1], ast.Name) or given[1].id not in arguments


def without_decorator(pair: Pair) -> str:
    """What comes out without once_differentiable: "right", "wrong", "refused"; "" where it is not there."""
    data: Any = pair.answer.data.get("without_decorator")
    if not isinstance(data, dict):
        return ""
    if data.get("error"):
        return "refused" if data["error"] == "RuntimeError" else "wrong"
    return "wrong" if wrong_one(pair, tuple(data.get("second") or ())) else "right"


def _raises(ev: Evidence) -> list[ast.Raise | ast.Assert]:
    """The refusals of its own that stand in backward."""
    node = ev.source.methods.get("backward")
    return [n for n in (ast.walk(node) if node else ()) if isinstance(n, ast.Raise | ast.Assert)]


# What is kept beside the thing itself is measured: it comes before a known mistake with these numbers.
EARLY = dict.fromkeys(("second/missing", "second/none", "second/wrong"), (view,))
_WRONG = (by_grad_output, cut, constant)
CAUSES = {
    "second/missing": _WRONG,
    "second/none": _WRONG,
    "second/wrong": _WRONG,
    "second/stops": (cut, why_it_stopped),
    "second/not-refused": (by_grad_output,),
}
