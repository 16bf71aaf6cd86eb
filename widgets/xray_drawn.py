"""What of a trace is drawn in the boxes of its graph: tensors, local derivatives, the tray."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from widgets.cells import FREED, OWN, SHARED, Cells, Kept, cells_of, upright
from widgets.trace import Application, Backward, Snapshot, Trace
from widgets.wording import size
from widgets.xray_expected import Expected, differs
from widgets.xray_graph import XRayGraph
from widgets.xray_tables import what


class Drawer:
    """Makes cells of recorded tensors, and knows the box that each belongs into.

    Args:
        trace: recorded with engine=True.
        graph: of that trace.
        local: the local derivatives of the first application's arguments, by position.
    """

    def __init__(self, trace: Trace, graph: XRayGraph, local: Mapping[int, Any]) -> None:
        self.trace, self.graph, self.local = trace, graph, local
        self.upright = upright(
            [v for app in trace.applications for v in (*app.inputs, *app.outputs)]
        )

    def boxes_of_inputs(self, index: int, app: Application) -> dict[int, str]:
        """The boxes of the leaves that go straight into this application, by position."""
        tensors = [i for i, v in enumerate(app.inputs) if isinstance(v, Snapshot)]
        found = {i: box for (of, i), box in self.graph.of_input.items() if of == index}
        for node in self.trace.nodes:
            for place, after in enumerate(node.next if node.application == index else ()):
                if after and self.trace.nodes[after[0]].leaf is not None and place < len(tensors):
                    found[tensors[place]] = self.graph.of_node[after[0]]
        return found

    def outputs(self, index: int, app: Application) -> dict[str, tuple[Cells, ...]]:
        """The outputs in the boxes that stand for them; those that have none, in the Function's own."""
        found: dict[str, tuple[Cells, ...]] = {}
        for place, value in enumerate(app.outputs):
            box = self.graph.of_output.get((index, place), self.graph.of_application[index])
            named = app.single or (index, place) in self.graph.of_output
            caption = "value" if named else f"output {place}"
            found[box] = (*found.get(box, ()), *self.cells(caption, value))
        return found

    def cells(self, caption: str, *values: Any) -> tuple[Cells, ...]:
        """What is drawn of recorded tensors."""
        return tuple(one for value in values for one in cells_of(caption, value, self.upright))

    def tray(self, app: Application, names: list[str]) -> tuple[Kept, ...]:
        """What lies between forward and backward, each once, with the bytes that only it needs."""
        found = []
        for held in (*app.saved, *app.attributes):
            for cells in cells_of("", held.snapshot):
                shot = held.snapshot
                own = shot is not None and held.who == "intermediate"
                count = size(shot.bytes) if shot is not None else ""
                of = what(held.who, names, app)
                words = (f"{held.holder}: {of}", f"{count}{' of its own' if own else ', shared'}")
                found.append(Kept(cells, words, OWN if own else SHARED))
        return tuple(found)

    def freed(self, app: Application, call: Backward, names: list[str]) -> tuple[Kept, ...]:
        """The tray after a backward: torch lets go of what it saved, and of nothing else on ctx."""
        if call.grad_mode:
            return self.tray(app, names)
        saved = {held.holder for held in app.saved}

        def after(one: Kept) -> Kept:
            if one.name not in saved:
                return replace(one, words=(one.words[0], "still there"))
            return replace(one, words=(one.words[0], "let go"), state=FREED)

        return tuple(map(after, self.tray(app, names)))

    def received(self, index: int, call: Backward, again: bool) -> tuple[Cells, ...]:
        """Upstream gradients in the Function's own box, where no box of an output shows them."""
        shown = any(of == index for of, _ in self.graph.of_output)
        return () if shown and not again else self.cells("gradient", *call.received)

    def handed_back(
        self, index: int, app: Application, gradients: Sequence[Any]
    ) -> dict[str, tuple[Cells, ...]]:
        """Gradients on their way into leaves; what a leaf has in the end is told by its own step."""
        boxes = self.boxes_of_inputs(index, app)
        return {
            boxes[i]: self.cells("gradient", value)
            for i, value in enumerate(gradients)
            if i in boxes and isinstance(value, Snapshot)
        }

    def wanted(
        self, index: int, app: Application, call: Backward, expected: Expected
    ) -> dict[str, tuple[Cells, ...]]:
        """The right gradients of those arguments whose gradients are wrong."""
        given, boxes = call.returned or (), self.boxes_of_inputs(index, app)
        return {
            boxes[i]: self.cells("expected", right)
            for i, right in expected.gradients.items()
            if i in boxes and differs(given[i] if i < len(given) else None, right)
        }

    def locals_of(self, index: int, app: Application) -> dict[str, tuple[Cells, ...]]:
        """The local derivatives on the lines into this application."""
        boxes = self.boxes_of_inputs(index, app) if index == 0 else {}
        return {
            box: self.cells("× local", self.local[i]) for i, box in boxes.items() if i in self.local
        }
