"""From a trace to the steps that a learner walks: forward, backward, leaves, errors."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.trace import Application, Backward, Event, Saved, Snapshot, Trace
from widgets import xray_dangers as dangers
from widgets.steps import Step, Table, Walk
from widgets.wording import SAID, brief, numbers, shape, size
from widgets.xray_dangers import name_at
from widgets.xray_graph import XRayGraph, graph_of, leaf_names, node_name

MOST_STEPS = 120
GETS = "What forward gets"


@dataclass(frozen=True)
class Expected:
    """The right values of the only application, where they are known: outputs and gradients."""

    outputs: Sequence[Any] = ()
    gradients: Mapping[int, Any] = field(default_factory=dict)


def walk_of(
    trace: Trace,
    title: str,
    known: Mapping[str, object],
    expected: Expected | None = None,
    error: str = "",
) -> Walk:
    """All steps of a trace.

    Args:
        trace: recorded with engine=True.
        title: what was run.
        known: variables that may hold leaves, by name.
        expected: right values for the first application.
        error: the error the run ended with, as a sentence, or "".
    """
    names = [argument_names(app.cls) for app in trace.applications]
    graph = graph_of(trace, names, leaf_names(trace, known))
    teller = _Teller(trace, graph, names, expected)
    told = sorted(teller.steps(), key=lambda pair: pair[0])  # stable: within a moment as told
    steps = [step for _, step in told]
    if len(steps) > MOST_STEPS:
        left = len(steps) - MOST_STEPS
        steps = steps[:MOST_STEPS]
        steps.append(
            Step("Not shown", f"{left} more steps follow. Trace a smaller run to see all.")
        )
    if error:
        steps.append(Step("Error", error, box=teller.last_box, wrong=True))
    elif not trace.applications:
        steps.append(Step("Nothing to see", "No Function of your own ran."))
    elif not trace.events:
        steps.append(Step("The end", "No backward ran, so nothing was asked of `backward`."))
    if trace.notes:
        steps.append(Step("Note", "; ".join(dict.fromkeys(trace.notes)) + "."))
    return Walk(title, graph.parts, graph.edges, tuple(steps))


def safe_walk_of(
    trace: Trace,
    title: str,
    known: Mapping[str, object],
    expected: Expected | None = None,
    error: str = "",
) -> Walk:
    """The same, and one step that says so where a trace cannot be told: looking never raises."""
    try:
        return walk_of(trace, title, known, expected, error)
    except Exception as trouble:
        said = f"This run cannot be shown ({type(trouble).__name__}: {trouble})."[:SAID]
        steps = [Step("Not shown", said.replace("`", "'"))]
        if error:
            steps.append(Step("Error", error, wrong=True))
        return Walk(title, (), (), tuple(steps))


def argument_names(cls: type) -> list[str]:
    """The names of forward's arguments after ctx; [] where they cannot be read."""
    try:
        forward = cls.forward  # type: ignore[attr-defined]
        own_setup = cls.setup_context is not torch.autograd.Function.setup_context  # type: ignore[attr-defined]
        parameters = list(inspect.signature(forward).parameters.values())
    except (AttributeError, TypeError, ValueError):
        return []
    parameters = parameters if own_setup else parameters[1:]
    return [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]


class _Teller:
    """Tells a trace as (moment, step) pairs."""

    def __init__(
        self, trace: Trace, graph: XRayGraph, names: list[list[str]], expected: Expected | None
    ) -> None:
        self.trace, self.graph, self.names, self.expected = trace, graph, names, expected
        self.last_box = ""

    def steps(self) -> Iterator[tuple[int, Step]]:
        for index, app in enumerate(self.trace.applications):
            for step in self.forward(index, app):
                yield app.order, step
        for index, app in enumerate(self.trace.applications):
            for call in app.backwards:
                for step in self.backward(index, app, call):
                    yield call.order, step
        for event in self.trace.events:
            for step in self.engine(event):
                yield event.order, step

    # ---- forward ---------------------------------------------------------------------------
    def forward(self, index: int, app: Application) -> Iterator[Step]:
        box, names = self.graph.of_application[index], self.names[index]
        self.last_box = box
        given = [f"`{name_at(names, i)}` = {numbers(v)}" for i, v in enumerate(app.inputs)]
        under = {
            self.graph.of_input[index, i]: brief(v)
            for i, v in enumerate(app.inputs)
            if (index, i) in self.graph.of_input
        } or self.leaf_values(index, app)
        yield Step(
            "Forward",
            f"{app.name}.forward gets {', '.join(given) or 'no input'}.",
            box,
            forward=under,
            tables=(_values_table(GETS, names, app.inputs),),
        )
        if app.error is not None or not app.outputs:
            return
        wrong = self.differs(index, app.outputs, self.expected.outputs if self.expected else ())
        several = "" if app.single else f" {len(app.outputs)} outputs:"
        yield Step(
            "Forward",
            f"{app.name}.forward returns{several} {', '.join(map(numbers, app.outputs))}.{wrong}",
            box,
            forward={box: brief(app.outputs[0])},
            wrong=bool(wrong),
        )
        yield Step(
            "Saved for backward",
            _saved_words(app),
            box,
            tables=_saved_tables(app, names),
            warnings=tuple(dangers.of_saving(app, names)),
        )

    def leaf_values(self, index: int, app: Application) -> dict[str, str]:
        """What stands under the leaves that go straight into this application."""
        found = {}
        for node in self.trace.nodes:
            if node.application != index:
                continue
            for position, after in enumerate(node.next):
                leaf = after and self.trace.nodes[after[0]].leaf
                if after and leaf is not None and position < len(app.inputs):
                    tensors = [v for v in app.inputs if isinstance(v, Snapshot)]
                    if position < len(tensors):
                        found[self.graph.of_node[after[0]]] = brief(tensors[position])
        return found

    # ---- backward --------------------------------------------------------------------------
    def backward(self, index: int, app: Application, call: Backward) -> Iterator[Step]:
        box, names = self.graph.of_application[index], self.names[index]
        self.last_box = box
        received = ", ".join(map(numbers, call.received))
        word = "grad_output" if len(call.received) == 1 else "grad_outputs"
        mode = " Autograd records it (`create_graph=True`)." if call.grad_mode else ""
        yield Step(
            "Backward",
            f"{app.name}.backward gets `{word}` = {received}.{mode}",
            box,
            self.line_out(box),
            back=True,
            backward={box: brief(call.received[0]) if call.received else ""},
        )
        if call.error is not None or call.returned is None:
            return
        pairs = [f"{numbers(g)} for `{name_at(names, i)}`" for i, g in enumerate(call.returned)]
        sent = self.sent_by(index, call)
        wrong = self.gradient_differs(index, call, sent, names)
        yield Step(
            "Backward",
            f"{app.name}.backward returns {', '.join(pairs) or 'nothing'}.{wrong}",
            box,
            tables=(_values_table("What backward returns", names, call.returned),),
            warnings=tuple(dangers.of_backward(call, app, names)),
            wrong=bool(wrong),
        )
        repaired = dangers.repairs(call.returned, sent, names)
        if repaired:
            yield Step(
                "Torch repairs",
                f"{'; '.join(repaired)}. On it goes as "
                f"{', '.join(numbers(g) for g in sent if g is not None)}.",
                box,
                tables=(_values_table("What torch hands on", names, sent),),
            )

    def sent_by(self, index: int, call: Backward) -> list[Any]:
        """What torch handed on for one argument each, after that call; [] where it was not seen."""
        for event in self.trace.events:
            own = event.node is not None and self.trace.nodes[event.node].application == index
            if event.kind == "sends" and own and event.order > call.order:
                # The node has no place for arguments that are no tensors; backward returns None there.
                gradients = iter(event.gradients)
                inputs = self.trace.applications[index].inputs
                return [next(gradients, None) if isinstance(v, Snapshot) else None for v in inputs]
        return []

    # ---- engine ----------------------------------------------------------------------------
    def engine(self, event: Event) -> Iterator[Step]:
        if event.kind == "starts":
            yield self.start(event)
        elif event.kind == "ends" and event.gradients:
            given = ", ".join(map(numbers, event.gradients))
            yield Step("Result", f"`torch.autograd.grad` returns {given}.")
        if event.node is None or event.node not in self.graph.of_node:
            return
        box = self.graph.of_node[event.node]
        node = self.trace.nodes[event.node]
        if event.kind == "accumulates" and len(event.gradients) == 3:
            yield self.accumulation(event, box)
        elif event.kind == "sends" and node.application is None:
            gets = [e for e in self.trace.events if e.kind == "receives" and e.node == event.node]
            gets = [e for e in gets if e.order < event.order][-1:]
            received = ", ".join(map(numbers, gets[0].gradients)) if gets else "its gradient"
            sent = ", ".join(map(numbers, event.gradients))
            yield Step(
                "Backward",
                f"{node_name(node)}, torch's own, gets {received} and hands on {sent}.",
                box,
                self.line_out(box),
                back=True,
                backward={box: brief(gets[0].gradients[0]) if gets else ""},
            )

    def start(self, event: Event) -> Step:
        under, words = {}, []
        for root, upstream in zip(event.roots, event.gradients, strict=False):
            under[self.graph.ends[root]] = brief(upstream)
            words.append(numbers(upstream))
        first = self.graph.ends[event.roots[0]] if event.roots else ""
        text = f"Backward starts at the output with the upstream gradient {', '.join(words)}."
        return Step("Backward", text, first, backward=under)

    def accumulation(self, event: Event, box: str) -> Step:
        before, added, after = event.gradients
        label = next(part.label for part in self.graph.parts if part.key == box)
        text = (
            f"The leaf `{label}` receives {numbers(added)}. `{label}.grad` is now {numbers(after)}"
        )
        text += "." if before is None else f": it was {numbers(before)}, and gradients are added."
        return Step("Leaf", text, box, self.line_out(box), back=True, backward={box: brief(after)})

    def line_out(self, box: str) -> tuple[str, str] | None:
        """The line a gradient comes in on, where there is just one."""
        lines = [edge for edge in self.graph.edges if edge[0] == box]
        return lines[0] if len(lines) == 1 else None

    # ---- right values ----------------------------------------------------------------------
    def differs(self, index: int, found: Sequence[Any], right: Sequence[Any]) -> str:
        """A sentence for the first value that is not the right one; "" where all are, or unknown."""
        if index:
            return ""
        for mine, theirs in zip(found, right, strict=False):
            if isinstance(theirs, Snapshot) and not _close(mine, theirs):
                return f" Expected is {numbers(theirs)}."
        return ""

    def gradient_differs(
        self, index: int, call: Backward, sent: Sequence[Any], names: Sequence[str]
    ) -> str:
        if self.expected is None or index or call is not self.trace.applications[0].backwards[0]:
            return ""
        given = sent or call.returned or []
        for position, right in self.expected.gradients.items():
            mine = given[position] if position < len(given) else None
            if isinstance(right, Snapshot) and not _close(mine, right):
                return f" Expected for `{name_at(names, position)}` is {numbers(right)}."
        return ""


def _close(mine: Any, right: Snapshot) -> bool:
    """Whether a recorded tensor has the right shape and, as far as kept, the right values."""
    if mine is None and right.values is not None:
        return not right.values.any()
    if not isinstance(mine, Snapshot) or mine.values is None or right.values is None:
        return True
    if mine.shape != right.shape:
        return False
    ours, theirs = mine.values.reshape(-1).double(), right.values.reshape(-1).double()
    return torch.allclose(ours, theirs, rtol=1e-6, atol=1e-6, equal_nan=True)


def _values_table(caption: str, names: Sequence[str], values: Sequence[Any]) -> Table:
    rows: list[tuple[str, ...]] = []
    for position, value in enumerate(values):
        row: tuple[str, ...] = ("no tensor", "–", "–", "–")
        if isinstance(value, Snapshot):
            wants = "yes" if value.requires_grad else "no"
            row = (shape(value), value.dtype, size(value.bytes), wants)
        rows.append((name_at(names, position), numbers(value), *row))
    head: tuple[str, ...] = ("name", "values", "shape", "dtype", "size", "wants a gradient")
    if caption != GETS:  # only what comes in wants a gradient or not
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Table(caption, head, tuple(rows))


def _saved_words(app: Application) -> str:
    tensors = [s for s in app.saved if s.snapshot is not None]
    own = {
        s.snapshot.storage: s.snapshot.storage_bytes
        for s in tensors
        if s.snapshot is not None and s.who == "intermediate"
    }
    if not tensors and not app.attributes:
        return f"{app.name} keeps no tensor for backward."
    listed = ", ".join(what(s.who, argument_names(app.cls), app) for s in tensors) or "nothing"
    extra = f" {size(sum(own.values()))} exist only for backward." if own else ""
    return f"{app.name} saves {listed}.{extra}"


def what(who: str, names: Sequence[str], app: Application) -> str:
    """ "input[0]" in words: "the input x"."""
    kind, _, rest = who.partition("[")
    if not rest:
        return "an intermediate" if who == "intermediate" else who
    position = int(rest.rstrip("]"))
    article = "a view of the" if kind.startswith("view of ") else "the"
    kind = kind.removeprefix("view of ")
    if kind == "input":
        return f"{article} input {name_at(names, position)}"
    return f"{article} output" + ("" if app.single else f" {position}")


def _saved_tables(app: Application, names: Sequence[str]) -> tuple[Table, ...]:
    rows: list[tuple[str, ...]] = []
    seen: dict[int, str] = {}
    for held in (*app.saved, *app.attributes):
        rows.append(_saved_row(held, names, app, seen))
    for name, text in app.plain_attributes.items():
        rows.append((f"ctx.{name}", f"no tensor: {text}", "–", "–", "–", "–"))
    if not rows:
        return ()
    head = ("kept as", "is", "shape", "dtype", "size", "memory")
    return (Table("What is kept for backward", head, tuple(rows)),)


def _saved_row(
    held: Saved, names: Sequence[str], app: Application, seen: dict[int, str]
) -> tuple[str, ...]:
    shot = held.snapshot
    if shot is None:
        return (held.holder, "None", "–", "–", "–", "–")
    words = what(held.who, names, app)
    if shot.storage in seen:
        memory = f"shared with {seen[shot.storage]}"
    elif held.who == "intermediate":
        memory = "its own"
    else:
        memory = f"shared with {words.removeprefix('a view of ')}"
    seen.setdefault(shot.storage, held.holder)
    return (held.holder, words, shape(shot), shot.dtype, size(shot.bytes), memory)
