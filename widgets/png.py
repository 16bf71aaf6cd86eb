"""Figures as small PNG files: what a lesson shows is saved in notebooks, and those in git."""

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLOURS = 256  # one byte a pixel instead of three; edges of lines and letters need about 100


def png_of(figure: "Figure", **options: Any) -> bytes:
    """The figure on white as a PNG file with a palette; the same bytes for the same figure.

    The palette is chosen so that the worst colour is as near as can be: no channel of a diagram is
    off by more than about 15 of 255, and the file has a third of the bytes.

    Args:
        options: for `Figure.savefig`, such as dpi and bbox_inches.
    """
    from PIL import Image  # comes with matplotlib

    drawn = io.BytesIO()
    quick = {"compress_level": 1}  # it is read again at once
    figure.savefig(drawn, format="png", facecolor="white", pil_kwargs=quick, **options)
    image = Image.open(drawn).convert("RGB")
    method, dither = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    small = io.BytesIO()
    # Without metadata: a new matplotlib would change every saved picture.
    image.quantize(MOST_COLOURS, method=method, dither=dither).save(small, "PNG")
    return small.getvalue()
