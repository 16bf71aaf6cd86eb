"""From a trace to the walk that a learner takes: its graph, its steps, its last word."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from widgets.runs import argument_names
from widgets.steps import Step, Walk
from widgets.trace import Trace
from widgets.wording import SAID
from widgets.xray_expected import Expected
from widgets.xray_graph import graph_of, leaf_names
from widgets.xray_teller import Teller

MOST_STEPS = 120


@dataclass(frozen=True)
class Story:
    """What is known about a run besides its trace.

    title      what was run
    known      variables that may hold leaves, by name
    expected   right values for the first application
    error      the error the run ended with, as a sentence, or ""
    allowed    whether that error is what the contract allows
    gradients  names of the gradients a second backward starts at
    asked      by what the second derivatives are
    local      local derivatives of the arguments that have one, by position
    """

    title: str
    known: Mapping[str, object]
    expected: Expected | None = None
    error: str = ""
    allowed: bool = False
    gradients: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    local: Mapping[int, object] = field(default_factory=dict)


def walk_of(trace: Trace, story: Story) -> Walk:
    """All steps of a trace that was recorded with engine=True."""
    names = [argument_names(app.cls) for app in trace.applications]
    graph = graph_of(trace, names, leaf_names(trace, story.known), story.gradients)
    teller = Teller(trace, graph, names, story.expected, story.asked, story.local)
    told = sorted(teller.steps(), key=lambda pair: pair[0])  # stable: within a moment as told
    steps = [step for _, step in told]
    if len(steps) > MOST_STEPS:
        left = len(steps) - MOST_STEPS
        steps = steps[:MOST_STEPS]
        steps.append(
            Step("Not shown", f"{left} more steps follow. Trace a smaller run to see all.")
        )
    if story.error:
        steps.append(_last_word(story, teller.last_box))
    elif not trace.applications:
        steps.append(Step("Nothing to see", "No Function of your own ran."))
    elif not trace.events:
        steps.append(Step("The end", "No backward ran, so nothing was asked of `backward`."))
    if trace.notes:
        steps.append(Step("Note", "; ".join(dict.fromkeys(trace.notes)) + "."))
    return Walk(story.title, graph.parts, graph.edges, tuple(steps))


def safe_walk_of(trace: Trace, story: Story) -> Walk:
    """The same, and one step that says so where a trace cannot be told: looking never raises."""
    try:
        return walk_of(trace, story)
    except Exception as trouble:
        said = f"This run cannot be shown ({type(trouble).__name__}: {trouble})."[:SAID]
        steps = [Step("Not shown", said.replace("`", "'"))]
        if story.error:
            steps.append(_last_word(story, ""))
        return Walk(story.title, (), (), tuple(steps))


def _last_word(story: Story, box: str) -> Step:
    if story.allowed:
        return Step(
            "Refused", f"{story.error.rstrip('.')}. Refusing is what the contract allows here.", box
        )
    return Step("Error", story.error, box=box, wrong=True)
