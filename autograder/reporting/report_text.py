"""A report as text: in a terminal, and beside the HTML in a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.reporting.report import Report, Row

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
