"""Shows what has both a text and an HTML form, in a notebook or in a terminal; reports also for machines: JSON lines, annotations, JUnit."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from autograder.contract.friendly_error import running_shell

EMPHASIS = re.compile(r"\*(\S(?:[^*]*\S)?)\*")


def as_html(text: str) -> str:
    """HTML of a text with `code` and *emphasis*, as in widgets/static/shared.js; all else is shown as it stands."""
    parts = html.escape(text, quote=False).split("`")
    return "".join(
        f"<code>{part}</code>" if i % 2 else EMPHASIS.sub(r"<em>\1</em>", part)
        for i, part in enumerate(parts)
    )


CELL = 'style="text-align:left;vertical-align:top;padding:0.2em 0.5em"'


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


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """An HTML table whose first column names its rows."""
    head = "".join(f'<th scope="col" {CELL}>{as_html(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row" {CELL}>{as_html(first)}</th>'
        + "".join(f"<td {CELL}>{as_html(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    above = f"<caption>{as_html(caption)}</caption>" if caption else ""
    return (
        f'<table style="border-collapse:collapse">{above}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


if TYPE_CHECKING:
    from jinja2 import Template

    from autograder.reporting.report import Report, Row

# ---- text: in a terminal, and beside the HTML in a notebook --------------------------------------

_STATIC = Path(__file__).parent / "static"
_WIDTH = 96
_COLUMN = 14  # where the text of a row begins
_TOGETHER = "\N{NO-BREAK SPACE}"


def report_as_text(report: Report) -> str:
    """The headline, the promises, then the rows."""
    lines = textwrap.wrap(f"{report.mark} {report.headline}", _WIDTH, subsequent_indent="  ")
    lines += _promises(report)
    for row in report.rows():
        lines += _row(row)
    return "\n".join(lines)


def _promises(report: Report) -> Iterator[str]:
    found, not_reached = report.promises_found()
    chips = [f"{line.mark} {line.title}".replace(" ", _TOGETHER) for line in found]
    behind = [title.replace(" ", _TOGETHER) for title in not_reached]
    for start, text in (("  ", "  ".join(chips)), ("  – not reached: ", " · ".join(behind))):
        wrapped = textwrap.wrap(text, _WIDTH, initial_indent=start, subsequent_indent=" " * 4)
        yield from (line.replace(_TOGETHER, " ") for line in wrapped)


def _row(row: Row) -> Iterator[str]:
    yield from textwrap.wrap(
        row.text, _WIDTH, initial_indent=f"  {row.label + ':':<{_COLUMN - 2}}",
        subsequent_indent=" " * _COLUMN, max_lines=3, placeholder=" …",
    )  # fmt: skip
    names = max((len(line.name) for line in row.numbers), default=0)
    shapes = max((len(line.shape) for line in row.numbers), default=0)
    for name, shape, text in row.numbers:
        of_shape = f"{shape:<{shapes}}  " if shapes else ""
        start = f"{' ' * _COLUMN}{name:<{names}}  {of_shape}"
        yield start + _whole_numbers(text, _WIDTH - len(start))


def _whole_numbers(text: str, room: int) -> str:
    """As many of the numbers in brackets as there is room for: complex ones are long."""
    if len(text) <= room or not text.startswith("["):
        return text
    return f"{text[: room - 3].rpartition(', ')[0]}, …]"


# ---- numbers under one another, so that columns line up ------------------------------------------

LONGEST = 96  # characters of one tensor
_LIST = re.compile(r"\[(?P<items>[^\]]*)\](?: \(shape (?P<shape>[^)]*)\))?", re.DOTALL)


class Numbers(NamedTuple):
    """A line of a table: whose numbers they are, their shape where it does not show, the numbers."""

    name: str
    shape: str
    text: str


def aligned(named: Mapping[str, str]) -> tuple[Numbers, ...]:
    """The values by name, in words ("[0.25, -1.5, …] (shape 3×4)"), with columns that line up."""
    lists = {name: _LIST.fullmatch(" ".join(text.split())) for name, text in named.items()}
    items = {name: found["items"].split(", ") for name, found in lists.items() if found}
    wide = [max(map(len, column)) for column in zip_longest(*items.values(), fillvalue="")]
    shown = []
    for name, found in lists.items():
        if found is None:
            shown.append(Numbers(name, "", " ".join(named[name].split())))
            continue
        columns = [n.rjust(width) for n, width in zip(items[name], wide, strict=False)]
        sizes = found["shape"]
        shape = str(tuple(map(int, sizes.split("×")))) if sizes else ""
        shown.append(Numbers(name, shape, f"[{', '.join(columns)}]"))
    return tuple(n._replace(text=cut(n.text, LONGEST)) for n in shown)


def cut(text: str, limit: int) -> str:
    """So many characters of a text, the last of them an ellipsis where there are more."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# ---- HTML ----------------------------------------------------------------------------------------


def report_as_html(report: Report) -> str:
    """static/report.html.j2 of a report, as HTML."""
    state = "passed" if report.passed else "not-started" if report.not_started else "failed"
    found, behind = report.promises_found()
    return _template("html").render(
        report=report, state=state, style=stylesheet(), rows=report.rows(), found=found,
        behind=[title.replace(" ", _TOGETHER) for title in behind],
    )  # fmt: skip


@cache
def _template(form: str) -> Template:
    from jinja2 import Environment  # torch brings it; whoever checks in a terminal never needs it

    source = (_STATIC / f"report.{form}.j2").read_text("utf-8")
    return Environment(autoescape=form != "github").from_string(source)


@cache
def stylesheet() -> str:
    """The reports' CSS (also shipped to graded feedback, where inline styles are removed)."""
    return (_STATIC / "report.css").read_text("utf-8")


# ---- for machines --------------------------------------------------------------------------------


def formatted(reports: Sequence[Report], form: str, file: str) -> str:
    """The reports on Functions of one file as "text", "json", "github" or "junit"."""
    if form == "json":
        return "\n".join(report.to_json().replace("\n", " ") for report in reports)
    if form in ("github", "junit"):
        return _template(form).render(reports=reports, file=file).strip()
    return "\n\n".join(map(str, reports))
