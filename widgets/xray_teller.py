"""A trace told as steps: forward, what is saved, backward, torch's own nodes, leaves."""

from collections.abc import Iterator, Mapping
from typing import Any

from widgets import xray_dangers as dangers
from widgets.steps import Step
from widgets.trace import Application, Backward, Event, Snapshot, Trace
from widgets.wording import numbers
from widgets.xray_dangers import name_at
from widgets.xray_drawn import Drawer
from widgets.xray_expected import Expected, differs
from widgets.xray_graph import XRayGraph, node_name, running, second_start
from widgets.xray_second import recorded, second_derivatives, where_it_ends
from widgets.xray_tables import GETS, saved_tables, saved_words, values_table

BACK, BACK_AGAIN, INNER = "Backward", "Second backward", "Inner backward"


class Teller:
    """Tells a trace as (moment, step) pairs.

    Args:
        trace: recorded with engine=True.
        graph: of that trace.
        names: the argument names of each application's forward.
        expected: the right values of the first application, where they are known.
        asked: by what the second derivatives are that a second backward gives.
        local: the local derivatives of the first application's arguments, by position.
    """

    def __init__(
        self,
        trace: Trace,
        graph: XRayGraph,
        names: list[list[str]],
        expected: Expected | None,
        asked: tuple[str, ...],
        local: Mapping[int, Any],
    ) -> None:
        self.trace, self.graph, self.names = trace, graph, names
        self.expected, self.asked = expected or Expected(), asked
        self.drawn = Drawer(trace, graph, local)
        self.second = second_start(trace)
        self.last_box = ""

    def steps(self) -> Iterator[tuple[int, Step]]:
        """All steps with their moments; steps of one moment in order."""
        for index, app in enumerate(self.trace.applications):
            for step in self.forward(index, app):
                yield app.order, step
        for index, app in enumerate(self.trace.applications):
            for call in app.backwards:
                yield call.order, self.backward_gets(index, app, call)
                for step in self.backward_returns(index, app, call):
                    yield call.ended, step
        for event in self.trace.events:
            for step in self.engine(event):
                yield event.order, step

    def phase(self, order: int) -> str:
        """What a moment of some backward belongs to."""
        if running(self.trace, order):
            return INNER
        return BACK_AGAIN if self.again(order) else BACK

    def again(self, order: int) -> bool:
        """Whether a moment belongs to a backward through a backward."""
        return self.second is not None and order >= self.second

    # ---- forward ---------------------------------------------------------------------------
    def forward(self, index: int, app: Application) -> Iterator[Step]:
        box, names = self.graph.of_application[index], self.names[index]
        self.last_box = box
        given = [f"`{name_at(names, i)}` = {numbers(v)}" for i, v in enumerate(app.inputs)]
        under = {
            box: self.drawn.cells("value", app.inputs[i])
            for i, box in self.drawn.boxes_of_inputs(index, app).items()
        }
        yield Step(
            "Forward",
            f"{app.name}.forward gets {', '.join(given) or 'no input'}.",
            box,
            forward=under,
            tables=(values_table(GETS, names, app.inputs),),
        )
        if app.error is not None or not app.outputs:
            return
        wrong = "" if index else self.output_differs(app)
        several = "" if app.single else f" {len(app.outputs)} outputs:"
        yield Step(
            "Forward",
            f"{app.name}.forward returns{several} {', '.join(map(numbers, app.outputs))}.{wrong}",
            box,
            forward=self.drawn.outputs(index, app),
            warnings=tuple(dangers.of_forward(app, names)),
            wrong=bool(wrong),
        )
        yield Step(
            "Saved for backward",
            saved_words(app, names),
            box,
            tables=saved_tables(app, names),
            warnings=tuple(dangers.of_saving(app, names)),
            kept={box: self.drawn.tray(app, names)},
        )

    def output_differs(self, app: Application) -> str:
        """A sentence for the first output that is not the right one; "" where all are, or unknown."""
        pairs = zip(app.outputs, self.expected.outputs, strict=False)
        return next((words for mine, right in pairs if (words := differs(mine, right))), "")

    # ---- backward --------------------------------------------------------------------------
    def backward_gets(self, index: int, app: Application, call: Backward) -> Step:
        """What a call of backward was given."""
        box, phase = self.graph.of_application[index], self.phase(call.order)
        self.last_box = box
        received = ", ".join(map(numbers, call.received))
        word = "grad_output" if len(call.received) == 1 else "grad_outputs"
        mode = " Autograd records it (`create_graph=True`)." if call.grad_mode else ""
        gets = "is called again and gets" if phase == BACK_AGAIN else "gets"
        return Step(
            phase,
            f"{app.name}.backward {gets} `{word}` = {received}.{mode}",
            box,
            self.line_out(box),
            back=True,
            backward={box: self.drawn.received(index, call, self.again(call.order))},
        )

    def backward_returns(self, index: int, app: Application, call: Backward) -> Iterator[Step]:
        """What it returned, what torch made of that, and what was recorded of it."""
        if call.error is not None or call.returned is None:
            return
        box, names = self.graph.of_application[index], self.names[index]
        pairs = [f"{numbers(g)} for `{name_at(names, i)}`" for i, g in enumerate(call.returned)]
        sent = self.sent_by(index, call)
        wrong = self.gradient_differs(index, call, names)
        yield Step(
            self.phase(call.order),
            f"{app.name}.backward returns {', '.join(pairs) or 'nothing'}.{wrong}",
            box,
            tables=(values_table("What backward returns", names, call.returned),),
            warnings=tuple(dangers.of_backward(call, app, names)),
            wrong=bool(wrong),
            backward=self.drawn.handed_back(index, app, call.returned),
            expected=self.drawn.wanted(index, app, call, self.expected) if wrong else {},
            local=self.drawn.locals_of(index, app),
            kept={box: self.drawn.freed(app, call, names)},
        )
        repaired = dangers.repairs(call.returned, sent, names)
        if repaired:
            yield Step(
                "Torch repairs",
                f"{'; '.join(repaired)}. On it goes as "
                f"{', '.join(numbers(g) for g in sent if g is not None)}.",
                box,
                tables=(values_table("What torch hands on", names, sent),),
                backward=self.drawn.handed_back(index, app, sent),
            )
        if call.grad_mode and self.second is not None:
            yield recorded(app, call, names, box)

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

    def gradient_differs(self, index: int, call: Backward, names: list[str]) -> str:
        """The same for the gradients that the first backward returned, before torch repairs them."""
        if index or call is not self.trace.applications[0].backwards[0]:
            return ""
        given = call.returned or []
        for position, right in self.expected.gradients.items():
            mine = given[position] if position < len(given) else None
            if words := differs(mine, right, name_at(names, position)):
                return words
        for position in sorted(self.expected.nothing):
            if position < len(given) and isinstance(given[position], Snapshot):
                return f" Expected for `{name_at(names, position)}` is None."
        return ""

    # ---- engine ----------------------------------------------------------------------------
    def engine(self, event: Event) -> Iterator[Step]:
        if event.kind == "starts":
            yield self.start(event)
        elif event.kind == "ends" and event.gradients:
            result = self.result(event)
            yield result
            # Where the result is known to be right, no history was missed.
            if self.again(event.order) and (result.wrong or not self.expected.second):
                yield from where_it_ends(self.trace, self.graph, event.order)
        if event.node is None or event.node not in self.graph.of_node:
            return
        box = self.graph.of_node[event.node]
        if event.kind == "accumulates" and len(event.gradients) == 3:
            yield self.accumulation(event, box)
        elif event.kind == "sends" and self.trace.nodes[event.node].application is None:
            yield self.torchs_own(event, box)

    def result(self, event: Event) -> Step:
        """What `torch.autograd.grad` gave back."""
        if self.again(event.order) and self.asked:
            return second_derivatives(event.gradients, self.asked, self.expected.second)
        given = ", ".join(map(numbers, event.gradients))
        return Step("Result", f"`torch.autograd.grad` returns {given}.")

    def torchs_own(self, event: Event, box: str) -> Step:
        """What a node of torch's own was given and handed on."""
        node = self.trace.nodes[event.node or 0]
        gets = [e for e in self.trace.events if e.kind == "receives" and e.node == event.node]
        gets = [e for e in gets if e.order < event.order][-1:]
        received = ", ".join(map(numbers, gets[0].gradients)) if gets else "its gradient"
        sent = ", ".join(map(numbers, event.gradients))
        return Step(
            self.phase(event.order),
            f"{node_name(node)}, torch's own, gets {received} and hands on {sent}.",
            box,
            self.line_out(box),
            back=True,
            backward={box: self.drawn.cells("gradient", *gets[0].gradients) if gets else ()},
        )

    def start(self, event: Event) -> Step:
        under, words = {}, []
        for place, upstream in enumerate(event.gradients[: len(event.roots)]):
            under[self.graph.ends[event.order, place]] = self.drawn.cells("gradient", upstream)
            words.append(numbers(upstream))
        first = self.graph.ends[event.order, 0] if event.roots else ""
        given = f"with the upstream gradient {', '.join(words)}."
        if app := running(self.trace, event.order):
            text = f"Inside {app.name}.backward another backward starts, {given}"
            return Step(INNER, text, first, backward=under)
        if not self.again(event.order):
            return Step(BACK, f"Backward starts at the output {given}", first, backward=under)
        text = (
            "The gradients are outputs of a graph now, the one that backward was recorded in. "
            f"A second backward starts there, {given}"
        )
        return Step(BACK_AGAIN, text, first, backward=under)

    def accumulation(self, event: Event, box: str) -> Step:
        before, added, after = event.gradients
        label = next(part.label for part in self.graph.parts if part.key == box)
        text = (
            f"The leaf `{label}` receives {numbers(added)}. `{label}.grad` is now {numbers(after)}"
        )
        text += "." if before is None else f": it was {numbers(before)}, and gradients are added."
        warnings = (
            (f"`{label}` is an input itself and no detached copy: its gradient comes twice.",)
            if self.fed_from_within(event.order, box)
            else ()
        )
        return Step(
            "Leaf",
            text,
            box,
            self.line_out(box),
            back=True,
            backward={box: self.drawn.cells("gradient", after)},
            warnings=warnings,
        )

    def fed_from_within(self, order: int, box: str) -> bool:
        """Whether a backward inside a backward reaches an input of the very Function it runs in."""
        app = running(self.trace, order)
        if app is None:
            return False
        index = next(i for i, one in enumerate(self.trace.applications) if one is app)
        return (box, self.graph.of_application[index]) in self.graph.edges

    def line_out(self, box: str) -> tuple[str, str] | None:
        """The line a gradient comes in on, where there is just one."""
        lines = [edge for edge in self.graph.edges if edge[0] == box]
        return lines[0] if len(lines) == 1 else None
