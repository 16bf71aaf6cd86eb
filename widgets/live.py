"""What every widget of the course shares: its files, and what stands in where none can run."""

from pathlib import Path

import anywidget

STATIC = Path(__file__).parent / "static"


def script(name: str) -> str:
    """The ES module of a widget: the shared helpers followed by its own file, no bundler needed."""
    return _read("shared.js") + _read(name)


def stylesheet(name: str) -> str:
    """The style sheet of a widget: the shared colours and controls followed by its own file."""
    return _read("shared.css") + _read(name)


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


class LiveWidget(anywidget.AnyWidget):
    """A widget that also says, as text and as HTML or a picture, what it shows.

    That is what GitHub, nbconvert, a terminal and a notebook that is not trusted show.
    """

    def stand_in(self) -> dict[str, str]:
        """MIME type → content for places where no widget can run; text/plain is always there."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: dict) -> tuple[dict, dict]:
        live = super()._repr_mimebundle_(**kwargs)
        data, metadata = live or ({}, {})  # a closed widget has nothing live to show
        return {**data, **self.stand_in()}, metadata
