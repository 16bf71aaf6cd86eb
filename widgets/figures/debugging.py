"""The figure of lesson 10."""

from pathlib import Path

from widgets.figure import show_drawing


def workflow() -> None:
    """The steps from a wrong gradient to its fault, on one page."""
    svg = (Path(__file__).parent / "workflow.svg").read_text(encoding="utf-8")
    show_drawing(
        svg,
        "Eight steps in order. 0: read the message's last line. 1: make it small, every size another. "
        "2: float64 and a seed. 3: one input at a time. 4: the raw gradient of backward, with an upstream "
        "gradient of your own. 5: bisect forward. 6: bisect backward. 7: everything twice. Then write the test.",
        width=900,
    )
