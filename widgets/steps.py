"""A graph that is walked step by step: in the browser with a slider, as numbered text, as a picture.

Everything is computed before the first step is shown; the browser only moves between steps.
"""

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import traitlets

from autograder.reporting import markup
from widgets.layout import lay_out
from widgets.live import LiveWidget, script, stylesheet

OWN, TORCH, LEAF, END, CUT = "own", "torch", "leaf", "end", "cut"


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
    forward   new value under boxes, by key; stays in the steps that follow
    backward  new gradient under boxes, by key; stays as well
    warnings  dangers, a sentence each
    wrong     an error, or a value that differs from the right one
    """

    phase: str
    text: str
    box: str = ""
    line: tuple[str, str] | None = None
    back: bool = False
    forward: dict[str, str] = field(default_factory=dict)
    backward: dict[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    wrong: bool = False


@dataclass(frozen=True)
class Walk:
    """A graph and the steps through it. `edges` go in the direction of the forward pass.

    `opens` is the index of the step to open on; without one it is the first that shows something
    wrong, or the first of all.
    """

    title: str
    parts: tuple[Part, ...]
    edges: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    opens: int | None = None

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

    graph = traitlets.Dict().tag(sync=True)
    steps: traitlets.List = traitlets.List().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        super().__init__(
            graph=drawn(walk),
            steps=[_compact(step) for step in walk.steps],
            title=walk.title,
            step=walk.opening,
        )

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
            "text/html": as_html(self.walk, encoded),
            "image/png": encoded,
        }


def drawn(walk: Walk) -> dict[str, object]:
    """The graph with its layout, as plain data for the browser."""
    made = lay_out({part.key: part.label for part in walk.parts}, walk.edges)
    return {
        "width": made.width,
        "height": made.height,
        "boxes": [{**asdict(part), **asdict(made.boxes[part.key])} for part in walk.parts],
        "lines": [
            {"from": start, "to": end, "points": [list(point) for point in points]}
            for (start, end), points in made.lines.items()
        ],
    }


def as_html(walk: Walk, encoded: str) -> str:
    """The picture and the numbered steps, as HTML that survives every sanitiser."""
    alt = html.escape(f"{plain(walk.title)}. The numbered steps below say what it shows.")
    items = "".join(
        f"<li><strong>{html.escape(step.phase)}.</strong> {markup.as_html(step.text)}"
        + "".join(f"<br>⚠ {markup.as_html(warning)}" for warning in step.warnings)
        + "".join(map(_table_html, step.tables))
        + "</li>"
        for step in walk.steps
    )
    return (
        f"<p>{markup.as_html(walk.title)}</p>"
        f'<img src="data:image/png;base64,{encoded}" alt="{alt}" '
        'style="background:#fff;border-radius:6px;height:auto;max-width:100%">'
        f"<ol>{items}</ol>"
    )


def plain(text: str) -> str:
    """The text without its marks."""
    from bs4 import BeautifulSoup  # comes with nbconvert

    return BeautifulSoup(markup.as_html(text), "html.parser").get_text()


def _numbered(steps: Sequence[Step]) -> list[str]:
    lines: list[str] = []
    for number, step in enumerate(steps, start=1):
        lines.append(f"{number:3}. {step.phase}. {plain(step.text)}")
        for table in step.tables:
            lines += ["       " + " | ".join(row) for row in (table.head, *table.rows)]
        lines += [f"     ⚠ {plain(warning)}" for warning in step.warnings]
    return lines


def _table_html(table: Table) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in table.head)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in table.rows
    )
    caption = html.escape(table.caption)
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _compact(step: Step) -> Any:
    """A step as plain data, without what is empty."""
    kept = {name: value for name, value in asdict(step).items() if value}
    return json.loads(json.dumps(kept))  # lists for tuples, as the browser has them
