"""A graph that is walked step by step: in the browser with a slider, as numbered text, as a picture.

Everything is computed before the first step is shown; the browser only moves between steps.
"""

import base64
import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import traitlets

from autograder.reporting import display
from widgets.blocks import DENSITIES, Density, largest, room_of
from widgets.cells import Cells, Kept
from widgets.figure import image_tag
from widgets.layout import lay_out
from widgets.live import LiveWidget, script, stylesheet

OWN, TORCH, LEAF, END, CUT = "own", "torch", "leaf", "end", "cut"
Drawn = Mapping[str, tuple[Cells, ...]]  # by key of the box
DRAWN_TOO = "values"  # a column of tables that the picture shows cell by cell


@dataclass(frozen=True)
class Part:
    """A box of the graph: its key, what it says, and its kind (own, torch, leaf, end or cut)."""

    key: str
    label: str
    kind: str = TORCH


@dataclass(frozen=True)
class Table:
    """A table under a step; the first cell of each row names the row."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Step:
    """What one step says and shows.

    phase     a word or two: "Forward", "Backward", "Error"
    text      one or two sentences; `code` and *emphasis* are marked. They stand alone.
    box       key of the box it is about, or ""
    line      (from, to) of the line something travels on, or None; `back`: against its direction
    forward   new values in boxes, by key; they stay in the steps that follow
    backward  new gradients in boxes, by key; they stay as well
    expected  the right gradients beside wrong ones; they stay as well
    local     by what the gradient is multiplied on its way into a box, where that is one number each
    kept      what lies in the tray of a box from now on
    warnings  dangers, a sentence each
    wrong     an error, or a value that differs from the right one
    """

    phase: str
    text: str
    box: str = ""
    line: tuple[str, str] | None = None
    back: bool = False
    forward: Drawn = field(default_factory=dict)
    backward: Drawn = field(default_factory=dict)
    expected: Drawn = field(default_factory=dict)
    local: Drawn = field(default_factory=dict)
    kept: Mapping[str, tuple[Kept, ...]] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    wrong: bool = False


@dataclass(frozen=True)
class Move:
    """A number that can be moved.

    box, kind, cell  where it is drawn: under "forward" or "backward", in which row and column
    of, index        the input or output it belongs to, and its place among the numbers there
    label            what it is called
    """

    box: str
    kind: str
    cell: tuple[int, int]
    of: str
    index: int
    label: str
    value: float


@dataclass(frozen=True)
class Walk:
    """A graph and the steps through it. `edges` go in the direction of the forward pass.

    `opens` is the index of the step to open on; without one it is the first that shows something
    wrong, or the first of all. `moves` are the numbers that can be moved, and `moved` gives the walk
    with some of them changed.
    """

    title: str
    parts: tuple[Part, ...]
    edges: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    opens: int | None = None
    moves: tuple[Move, ...] = ()
    moved: Callable[[str, int, float], "Walk"] | None = None

    @property
    def opening(self) -> int:
        """The index of the step to open on."""
        if self.opens is not None:
            return self.opens
        return next((i for i, step in enumerate(self.steps) if step.wrong), 0)

    def with_last(self, step: Step) -> "Walk":
        """The same walk with one more step."""
        return replace(self, steps=(*self.steps, step))

    def __str__(self) -> str:
        """Numbered steps, for terminals and screen readers."""
        return "\n".join([plain(self.title), *_numbered(self.steps)])


class StepThrough(LiveWidget):
    """Shows a walk live: buttons, a slider and Play; every key that moves is the browser's own."""

    _esm = script("steps.js")
    _css = stylesheet("steps.css")

    graphs: traitlets.List = traitlets.List().tag(sync=True)
    steps: traitlets.List = traitlets.List().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    moves: traitlets.List = traitlets.List().tag(sync=True, kernel=True)
    move: traitlets.List = traitlets.List().tag(sync=True, kernel=True)

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        super().__init__(title=walk.title, step=walk.opening, **_frames(walk))

    @traitlets.observe("move")
    def _run_again(self, change: dict) -> None:
        """The learner's Function once more, with the number that was moved."""
        if self.walk.moved is None:
            return
        name, index, value = change["new"]
        self.walk = self.walk.moved(str(name), int(index), float(value))
        with self.hold_sync():
            for trait, data in _frames(self.walk).items():
                setattr(self, trait, data)
            self.step = min(self.step, len(self.walk.steps) - 1)

    @traitlets.validate("step")
    def _only_steps_there_are(self, proposal: dict) -> int:
        index: int = proposal["value"]
        return max(0, min(index, len(self.walk.steps) - 1))

    def __str__(self) -> str:
        return str(self.walk)

    def stand_in(self) -> dict[str, str]:
        """Numbered steps as text, the same with a picture as HTML, and the picture."""
        from widgets.step_picture import picture  # matplotlib takes a while to import

        encoded = base64.b64encode(picture(self.walk)).decode()
        return {
            "text/plain": str(self.walk),
            "text/html": as_html(self.walk, encoded, round(drawn(self.walk)["width"])),
            "image/png": encoded,
        }


def _frames(walk: Walk) -> dict[str, Any]:
    """What the browser needs of a walk, as plain data."""
    graphs: list[dict[str, object]] = []
    for density in DENSITIES:
        graph = drawn(walk, density)
        if not graphs or graph["width"] < graphs[-1]["width"]:
            graphs.append(graph)
    moves = [list(asdict(move).values()) for move in walk.moves]
    plain_data = {"graphs": graphs, "steps": list(map(_compact, walk.steps)), "moves": moves}
    return dict(json.loads(json.dumps(plain_data)))  # lists for tuples, as the browser has them


def drawn(walk: Walk, density: Density = DENSITIES[0]) -> dict[str, Any]:
    """The graph with its layout, as plain data for the browser and the picture."""
    rooms = {
        part.key: room_of(part.label, largest(walk.steps, part.key), density) for part in walk.parts
    }
    made = lay_out(rooms, walk.edges, density.down)
    return {
        "width": made.width,
        "height": made.height,
        "cell": [density.width, density.height, density.numbers],
        "down": density.down,
        "boxes": [
            {
                **asdict(part),
                **asdict(made.boxes[part.key]),
                "slots": [list(asdict(slot).values()) for slot in rooms[part.key].slots],
                "tray": rooms[part.key].tray,
            }
            for part in walk.parts
        ],
        "lines": [
            {"from": start, "to": end, "points": [list(point) for point in points]}
            for (start, end), points in made.lines.items()
        ],
    }


def as_html(walk: Walk, encoded: str, width: int) -> str:
    """The picture and the numbered steps, as HTML that survives every sanitiser."""
    alt = f"{plain(walk.title)}. The numbered steps below say what it shows."
    items = "".join(
        f"<li><strong>{html.escape(step.phase)}.</strong> {display.as_html(step.text)}"
        + "".join(f"<br>⚠ {display.as_html(warning)}" for warning in step.warnings)
        + "".join(display.table(t.head, t.rows, t.caption) for t in step.tables)
        + "</li>"
        for step in walk.steps
    )
    return (
        f"<p>{display.as_html(walk.title)}</p>"
        f"{image_tag(f'image/png;base64,{encoded}', alt, width)}<ol>{items}</ol>"
    )


def plain(text: str) -> str:
    """The text without its marks."""
    from bs4 import BeautifulSoup  # comes with nbconvert

    return BeautifulSoup(display.as_html(text), "html.parser").get_text()


def _numbered(steps: Sequence[Step]) -> list[str]:
    lines: list[str] = []
    for number, step in enumerate(steps, start=1):
        lines.append(f"{number:3}. {step.phase}. {plain(step.text)}")
        for table in step.tables:
            lines += ["       " + " | ".join(row) for row in (table.head, *table.rows)]
        lines += [f"     ⚠ {plain(warning)}" for warning in step.warnings]
    return lines


def _compact(step: Step) -> Any:
    """A step as plain data, without what is empty and what the picture shows."""
    said = asdict(step, dict_factory=lambda pairs: {k: v for k, v in pairs if v is not False})
    kept = {name: value for name, value in said.items() if value}
    for table in kept.get("tables", ()):
        if DRAWN_TOO in table["head"]:
            place = table["head"].index(DRAWN_TOO)
            table["head"] = _without(table["head"], place)
            table["rows"] = [_without(row, place) for row in table["rows"]]
    return kept


def _without(row: Sequence[str], place: int) -> list[str]:
    return [*row[:place], *row[place + 1 :]]
