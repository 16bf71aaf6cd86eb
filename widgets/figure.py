"""One way to show a figure in every lesson: with alternative text, readable in light and dark.

JupyterLab gives a matplotlib figure no alternative text; only `<img alt>` inside HTML has it. So a
figure is shown as HTML, with the same picture as image/png beside it for places that show no HTML.
One picture serves both themes: a dark one turns its lightness round and keeps its hues. Where style
sheets are stripped it keeps its white card.
"""

import base64
import html
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.contract.friendly_error import refusal, running_shell
from widgets.png import png_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160  # sharp on dense screens; a CSS inch has 96 pixels
CSS_PIXELS_PER_INCH = 96
IN_THE_DARK = (
    '<style>body[data-jp-theme-light="false"] .bbh-figure, body.vscode-dark .bbh-figure '
    "{ filter: invert(0.92) hue-rotate(180deg); }</style>"
)


@dataclass(frozen=True)
class Palette:
    """The Okabe–Ito colours, told apart with every common kind of colour vision.

    `palette.blue` and `palette["blue"]` are the same. On white, yellow, orange and sky are for
    areas and markers: as thin lines or text they are too faint.
    """

    black: str = "#000000"
    blue: str = "#0072B2"
    vermillion: str = "#D55E00"
    green: str = "#009E73"
    purple: str = "#CC79A7"
    sky: str = "#56B4E9"
    orange: str = "#E69F00"
    yellow: str = "#F0E442"

    def __getitem__(self, name: str) -> str:
        """The colour of that name; KeyError with all names for any other."""
        colours = vars(self)
        if name not in colours:
            raise KeyError(f"no colour is called {name!r}; there are {', '.join(colours)}")
        return str(colours[name])


palette = Palette()


def show(fig: "Figure", alt: str, width: int | None = None) -> None:
    """Show a matplotlib figure with alternative text, and close it.

    Args:
        fig: the figure, not its axes.
        alt: what the figure shows, in a sentence or two, for people who do not see it.
        width: how wide it is shown, in CSS pixels; its own size by default.

    Raises:
        TypeError: if `fig` is not a figure.
        ValueError: if `alt` says nothing.
    """
    import matplotlib.pyplot as plt

    bundle, metadata = mime_bundle(fig, alt, width)
    plt.close(fig)
    _display(bundle, metadata)


def show_drawing(svg: str, alt: str, width: int) -> None:
    """Show an SVG drawing with alternative text, in both themes like a figure.

    Args:
        svg: the whole file, black and coloured on nothing.
        alt: what it shows, in a sentence or two.
        width: how wide it is shown, in CSS pixels.
    """
    encoded = base64.b64encode(svg.encode()).decode()
    text = " ".join(alt.split())
    tag = image_tag(f"image/svg+xml;base64,{encoded}", text, width)
    _display({"text/html": tag, "text/plain": f"[Figure: {text}]"}, {})


def image_tag(data: str, text: str, width: int) -> str:
    """The HTML of a picture on a white card; in a dark theme light and dark change places."""
    return (
        f'{IN_THE_DARK}<img class="bbh-figure" src="data:{data}" alt="{html.escape(text)}" '
        f'width="{width}" style="background:#fff;border-radius:6px;height:auto;max-width:100%">'
    )


def _display(bundle: dict[str, str], metadata: dict) -> None:
    if running_shell() is None:
        print(bundle["text/plain"])
    else:
        from IPython.display import display

        display(bundle, metadata=metadata, raw=True)


def mime_bundle(
    fig: "Figure", alt: str, width: int | None = None
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The figure as HTML, image/png (base64) and text, and the metadata that go with them."""
    _refuse_what_cannot_be_shown(fig, alt)
    text = " ".join(alt.split())
    picture = png(fig)
    encoded = base64.b64encode(picture).decode()
    tag = image_tag(f"image/png;base64,{encoded}", text, width or css_width(picture))
    bundle = {"text/html": tag, "image/png": encoded, "text/plain": f"[Figure: {text}]"}
    return bundle, {"image/png": {"alt": text}}


def png(fig: "Figure") -> bytes:
    """The figure as a PNG file, in the course's style; the same bytes for the same figure."""
    if fig.get_layout_engine() is None:
        fig.set_layout_engine("constrained")
    for axes in fig.axes:
        tidy(axes)
    return png_of(fig, dpi=DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.1)


def tidy(axes: "Axes") -> None:
    """Give axes the look of the course: open to the top and right, with a faint grid behind.

    Done to the figure at hand rather than through matplotlib's settings, which are the learner's.
    """
    if axes.name != "rectilinear" or axes.images or axes.yaxis.get_ticks_position() == "right":
        return  # pictures keep their frame, and a second y axis its own side
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(True, color="#DDDDDD", linewidth=0.8)


def css_width(picture: bytes) -> int:
    """How wide a PNG of DOTS_PER_INCH is on screen, in CSS pixels."""
    [pixels] = struct.unpack(">I", picture[16:20])  # the width field of the IHDR chunk
    return round(pixels * CSS_PIXELS_PER_INCH / DOTS_PER_INCH)


def _refuse_what_cannot_be_shown(fig: object, alt: object) -> None:
    if not hasattr(fig, "savefig"):
        raise refusal(
            f"show() takes a figure and got {type(fig).__name__}. "
            "With `fig, ax = plt.subplots()` pass `fig`; from axes, pass `ax.figure`.",
            TypeError,
        )
    if not isinstance(alt, str) or not alt.strip():
        raise refusal(
            "show() needs alternative text: say in a sentence or two what the figure shows, "
            'as in show(fig, alt="The loss falls from 0.7 to 0.1 in 40 steps.").'
        )
