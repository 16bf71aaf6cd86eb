"""The picture of a walk's last step, for places where nothing runs; from the same layout."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from widgets.figure import palette
from widgets.layout import BOX_HEIGHT, Box, lay_out
from widgets.png import png_of
from widgets.steps import CUT, END, LEAF, OWN, Walk

PIXELS_PER_INCH = 96  # the layout is in CSS pixels
DOTS_PER_INCH = 120
FONT = 7.2  # points: 12 px on screen would be 9, but matplotlib's letters are wider
LETTERS_BELOW = 20  # what fits under a box


def picture(walk: Walk) -> bytes:
    """A PNG with all values and gradients of the walk; the same bytes for the same walk."""
    made = lay_out({part.key: part.label for part in walk.parts}, walk.edges)
    size = (max(made.width, 60) / PIXELS_PER_INCH, max(made.height, 40) / PIXELS_PER_INCH)
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, made.width), ylim=(made.height, 0))
    axes.axis("off")
    cuts = {part.key for part in walk.parts if part.kind == CUT}
    for (start, _), points in made.lines.items():
        style = ":" if start in cuts else "-"
        axes.plot(*zip(*points, strict=True), style, color="#555555", lw=1)
        head = {"arrowstyle": "-|>", "color": "#555555", "lw": 1}
        axes.annotate("", points[-1], points[-2], arrowprops=head)
    forward, backward = last_values(walk)
    for part in walk.parts:
        box = made.boxes[part.key]
        _draw_box(axes, box, part.label, part.kind)
        below = box.y + BOX_HEIGHT / 2
        _words(axes, box.x, below + 9, forward.get(part.key, ""), palette.blue)
        _words(axes, box.x, below + 23, backward.get(part.key, ""), palette.vermillion)
    return png_of(figure)


def last_values(walk: Walk) -> tuple[dict[str, str], dict[str, str]]:
    """What stands under the boxes after the last step: values, gradients."""
    forward: dict[str, str] = {}
    backward: dict[str, str] = {}
    for step in walk.steps:
        forward |= step.forward
        backward |= step.backward
    return forward, backward


def _draw_box(axes: object, box: Box, label: str, kind: str) -> None:
    corner = (box.x - box.width / 2, box.y - box.height / 2)
    frame = FancyBboxPatch(
        corner,
        box.width,
        box.height,
        boxstyle=f"round,pad=0,rounding_size={19 if kind in (LEAF, END) else 5}",
        facecolor="#EAF4FB" if kind == OWN else "white",
        edgecolor=palette.vermillion if kind == CUT else "black",
        linewidth=1.6 if kind in (OWN, CUT) else 0.8,
        linestyle={END: "--", CUT: ":"}.get(kind, "-"),
    )
    axes.add_patch(frame)  # type: ignore[attr-defined]
    axes.text(box.x, box.y, label, ha="center", va="center", fontsize=FONT + 1)  # type: ignore[attr-defined]


def _words(axes: object, x: float, y: float, text: str, colour: str) -> None:
    cut = text if len(text) <= LETTERS_BELOW else text[: LETTERS_BELOW - 1] + "…"
    axes.text(x, y, cut, ha="center", va="center", fontsize=FONT, color=colour)  # type: ignore[attr-defined]
