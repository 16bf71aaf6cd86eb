"""A report as text: in a terminal, and beside the HTML in a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.reporting.report import Report, Row
import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

_WIDTH = 96
_COLUMN = 14  # where the text of a row begins
_TOGETHER = "\N{NO-BREAK SPACE}"


def as_text(report: Report) -> str:
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
        yield f"{' ' * _COLUMN}{name:<{names}}  {of_shape}{text}"


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
        sizes = (found["shape"] or "").split("×")
        shape = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})" if sizes[0] else ""
        shown.append(Numbers(name, shape, f"[{', '.join(columns)}]"))
    return tuple(n._replace(text=_cut(n.text)) for n in shown)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
