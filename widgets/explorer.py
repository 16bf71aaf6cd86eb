"""Curves or grids of numbers at the position of a native slider, everything computed ahead.

An Exploration has one sweep for each thing that can be picked, and a sweep has one frame for each
place of the slider. The browser only moves between frames, so no step waits for the kernel.
"""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import traitlets

from autograder.reporting import display
from widgets.figure import image_tag
from widgets.live import LiveWidget, script, stylesheet
from widgets.steps import plain

Point = tuple[float, float]
WIDTH = 760  # of the picture that stands in, in CSS pixels
TOLD = 5  # frames of a sweep that the text tells, spread evenly


@dataclass(frozen=True)
class Curve:
    """A line in pieces, so that jumps are not drawn; `style` 0 to 3 is its colour and its dashes."""

    label: str
    pieces: tuple[tuple[Point, ...], ...]
    style: int = 0


@dataclass(frozen=True)
class Panel:
    """A diagram: ranges (low, high) of both axes and the curves that every frame shows."""

    title: str
    across: str
    up: str
    x: Point
    y: Point
    curves: tuple[Curve, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A matrix as cells with their numbers in them; the frame says which row or cell is looked at."""

    title: str
    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Frame:
    """What one place of the slider shows.

    place   what the slider says: "x = 0.5"
    words   fill {0}, {1}, … in the sweep's status and rows
    marks   (panel, style, x, y): a point; its shape and colour go with the style
    lines   (panel, x0, y0, x1, y1): a thin straight line, as a tangent
    curves  (panel, Curve): drawn here besides the panel's own
    row     which row of the grids; a grid that has fewer shows none
    column  which cell of that row; −1: the whole row
    grids   shown here besides the sweep's own
    """

    place: str
    words: tuple[str, ...]
    marks: tuple[tuple[int, int, float, float], ...] = ()
    lines: tuple[tuple[int, float, float, float, float], ...] = ()
    curves: tuple[tuple[int, Curve], ...] = ()
    row: int = -1
    column: int = -1
    grids: tuple[Grid, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """One thing to pick. `status` and `rows` hold {0}, {1}, … for the words of the frame."""

    name: str
    frames: tuple[Frame, ...]
    status: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    panels: tuple[Panel, ...] = ()
    grids: tuple[Grid, ...] = ()
    code: str = ""
    start: int = 0

    def said(self, position: int) -> str:
        """The status line of a frame."""
        frame = self.frames[position]
        return f"{self.name}, {frame.place}: {filled(self.status, frame.words)}"


@dataclass(frozen=True)
class Exploration:
    """What can be explored: a title, what is picked, what the slider moves, and the sweeps."""

    title: str
    pick: str
    slide: str
    sweeps: tuple[Sweep, ...]

    def __str__(self) -> str:
        """Numbered sentences: some frames of every sweep."""
        return "\n".join(
            [plain(self.title), *(f"{i:3}. {plain(t)}" for i, t in enumerate(self.told(), 1))]
        )

    def told(self) -> list[str]:
        """A sentence for some frames of every sweep, in order; one for a sweep that shows nothing."""
        return [
            sweep.said(position)
            for sweep in self.sweeps
            for position in (_spread(len(sweep.frames), TOLD) if sweep.rows else [sweep.start])
        ]


class Explorer(LiveWidget):
    """Shows an exploration live: a native select, a native slider, diagrams, a table, the code."""

    _esm = script("explorer.js")
    _css = stylesheet("explorer.css")

    title = traitlets.Unicode().tag(sync=True)
    pick = traitlets.Unicode().tag(sync=True)
    slide = traitlets.Unicode().tag(sync=True)
    sweeps: traitlets.List = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        super().__init__(
            title=exploration.title,
            pick=exploration.pick,
            slide=exploration.slide,
            sweeps=[asdict(sweep) for sweep in exploration.sweeps],
            position=exploration.sweeps[0].start,
        )

    @traitlets.validate("chosen")
    def _only_sweeps_there_are(self, proposal: dict) -> int:
        return max(0, min(int(proposal["value"]), len(self.exploration.sweeps) - 1))

    @traitlets.validate("position")
    def _not_before_the_first(self, proposal: dict) -> int:
        # Sweeps differ in length, and the browser sets both: it keeps to the end of the sweep.
        longest = max(len(sweep.frames) for sweep in self.exploration.sweeps)
        return max(0, min(int(proposal["value"]), longest - 1))

    def __str__(self) -> str:
        return str(self.exploration)

    def stand_in(self) -> dict[str, str]:
        """Numbered sentences as text, the same with a picture as HTML, and the picture."""
        from widgets.explorer_picture import picture  # matplotlib takes a while to import

        sweep = self.exploration.sweeps[self.chosen]
        position = min(self.position, len(sweep.frames) - 1)
        encoded = base64.b64encode(picture(sweep, position)).decode()
        alt = plain(f"{self.title}. {sweep.said(position)}")
        items = "".join(f"<li>{display.as_html(told)}</li>" for told in self.exploration.told())
        image = image_tag(f"image/png;base64,{encoded}", alt, WIDTH)
        return {
            "text/plain": str(self),
            "text/html": f"<p>{display.as_html(self.title)}</p>{image}<ol>{items}</ol>",
            "image/png": encoded,
        }


def filled(template: str, words: Sequence[str]) -> str:
    """The template with {0}, {1}, … replaced, as the browser does it; other braces stay."""
    for index, word in enumerate(words):
        template = template.replace(f"{{{index}}}", word)
    return template


def short(value: float) -> float:
    """Four significant digits are more than a screen shows, and keep the trace small."""
    return float(f"{value:.4g}")


def pieces(points: Sequence[Point], jump: float = float("inf")) -> tuple[tuple[Point, ...], ...]:
    """The points, cut wherever two neighbours differ by `jump` or more; what is not finite is left out."""
    found: list[list[Point]] = [[]]
    for x, y in points:
        if y != y or abs(y) == float("inf"):
            found.append([])
            continue
        if found[-1] and abs(y - found[-1][-1][1]) >= jump:
            found.append([])
        found[-1].append((short(x), short(y)))
    return tuple(tuple(piece) for piece in found if piece)


def spanned(values: Sequence[float]) -> Point:
    """A range with a margin around the finite ones of the values."""
    finite = [v for v in values if v == v and abs(v) != float("inf")] or [0.0]
    low, high = min(finite), max(finite)
    margin = (high - low) * 0.08 or 0.25
    return short(low - margin), short(high + margin)


def _spread(count: int, wanted: int) -> list[int]:
    if count <= wanted:
        return list(range(count))
    return [round(i * (count - 1) / (wanted - 1)) for i in range(wanted)]
