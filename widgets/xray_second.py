"""The backward of a backward in words: what was recorded of it, and where the walk back ends."""

from collections.abc import Iterator, Sequence
from typing import Any

from widgets.lineage import OUTSIDE
from widgets.steps import Step, Table
from widgets.trace import Application, Backward, Saved, Trace
from widgets.wording import numbers
from widgets.xray_expected import differs
from widgets.xray_graph import XRayGraph
from widgets.xray_tables import what

RECORDED, ENDS = "Recorded", "Where it ends"
HEAD = ("backward uses", "is", "comes back", "a second derivative")
STOPS = "stops here ✕"
LOST_IN_BACKWARD = {
    "detach": "`detach` gives the numbers without their history",
    "data": "`.data` gives the numbers without their history",
    "no_grad": "under `no_grad` nothing is recorded",
    "grad": "`torch.autograd.grad` without `create_graph=True` gives bare numbers",
    OUTSIDE: "outside torch nothing is recorded",
}


def recorded(app: Application, call: Backward, names: Sequence[str], box: str) -> Step:
    """What a second derivative will find of one backward that autograd recorded."""
    lost = list(dict.fromkeys(cut.origin for cut in call.cuts))
    if not lost:
        text = (
            f"Autograd has recorded {app.name}.backward, line by line: its gradients are outputs of "
            "a graph that leads back to all that it used."
        )
    else:
        text = (
            f"Autograd has recorded {app.name}.backward, line by line. But not all that it used has a "
            f"history: {', '.join(f'`{origin}`' for origin in lost)} is a constant to the graph."
        )
    rows = [_row(held, names, app, call) for held in (*app.saved, *app.attributes) if held.snapshot]
    rows += [(origin, "made in backward", "bare numbers", STOPS) for origin in lost if _own(origin)]
    table = (Table("What a second derivative finds", HEAD, tuple(rows)),) if rows else ()
    return Step(RECORDED, text, box, tables=table)


def _row(held: Saved, names: Sequence[str], app: Application, call: Backward) -> tuple[str, ...]:
    shot, words = held.snapshot, what(held.who, names, app)
    if held.who.startswith("input") and shot is not None:
        name = words.removeprefix("the input ")
        live = ("with its history", f"goes on to {name}")
        dead = ("wants no gradient", "has nothing to do here")
        return (held.holder, words, *(live if shot.requires_grad else dead))
    if held.who.startswith("output"):
        return (held.holder, words, "as this output", f"calls {app.name}.backward again")
    if shot is not None and not shot.dtype.startswith(("float", "bfloat", "complex")):
        return (held.holder, words, "as it was", "needs nothing from it")
    used = any(cut.origin == held.holder for cut in call.cuts)
    return (held.holder, words, "bare numbers", STOPS if used else "does not need it")


def where_it_ends(trace: Trace, graph: XRayGraph, order: int) -> Iterator[Step]:
    """A step for each tensor without history that the second backward could not go past."""
    for index, app in enumerate(trace.applications):
        calls = [call for call in app.backwards if call.order < order]
        for origin in dict.fromkeys(cut.origin for call in calls for cut in call.cuts):
            reason = LOST_IN_BACKWARD.get(
                origin, "it is an intermediate, and forward is not recorded"
            )
            text = (
                f"Here the walk back ends: `{origin}` has no history ({reason}). What it owes to the "
                "inputs is missing from the second derivative, without an error."
            )
            yield Step(ENDS, text, graph.of_cut.get((index, origin), ""))


def second_derivatives(found: Sequence[Any], asked: Sequence[str], right: Sequence[Any]) -> Step:
    """The result of a second backward, beside the right one where it is known."""
    pairs = list(zip(asked, found, strict=False))
    words = ", ".join(f"{numbers(value)} by `{name}`" for name, value in pairs)
    wrong = next(
        (
            said
            for (name, value), expected in zip(pairs, right, strict=False)
            if (said := differs(value, expected, name))
        ),
        "",
    )
    return Step("Result", f"Derivatives of the gradients: {words}.{wrong}", wrong=bool(wrong))


def _own(origin: str) -> bool:
    """Whether a history was lost in backward itself, not in what forward kept."""
    return origin in LOST_IN_BACKWARD
