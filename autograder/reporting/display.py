"""Shows something that has both a text and an HTML form, in a notebook or in a terminal; the little markup of sentences."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Protocol

from autograder.contract.friendly_error import running_shell

EMPHASIS = re.compile(r"\*(\S(?:[^*]*\S)?)\*")


def as_html(text: str) -> str:
    """HTML of a text with `code` and *emphasis*, as in widgets/static/shared.js; all else is shown as it stands."""
    parts = html.escape(text, quote=False).split("`")
    return "".join(
        f"<code>{part}</code>" if i % 2 else EMPHASIS.sub(r"<em>\1</em>", part)
        for i, part in enumerate(parts)
    )


CELL = 'style="text-align:left;vertical-align:top;padding:0.3em 0.8em"'


class View(Protocol):
    """What `show` can show."""

    def __str__(self) -> str: ...

    def _repr_html_(self) -> str: ...


@dataclass(frozen=True)
class Paragraph:
    """A sentence or two, with the little markup that quizzes have: printed text breaks within words."""

    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<p>{as_html(self.text)}</p>"


def is_rich() -> bool:
    """Whether IPython runs this, which can show HTML."""
    return running_shell() is not None


def show(view: View) -> None:
    """As HTML in a notebook, with the text beside it for other readers; as text elsewhere."""
    if not is_rich():
        print(view)
        return
    from IPython.display import display

    display({"text/plain": str(view), "text/html": view._repr_html_()}, raw=True)


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """An HTML table whose first column names its rows. Cells are HTML already."""
    head = "".join(f'<th scope="col" {CELL}>{name}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row" {CELL}>{first}</th>'
        + "".join(f"<td {CELL}>{cell}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
