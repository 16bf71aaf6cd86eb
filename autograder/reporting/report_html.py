"""A report as HTML: in a notebook, and in graded feedback."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.reporting.report import Report, Row


def as_html(report: Report) -> str:
    """The headline, which screen readers announce, the promises, then the rows."""
    state = "passed" if report.passed else "not-started" if report.not_started else "failed"
    role = "status" if report.passed else "alert"
    words = {"passed": "Passed", "not-started": "Not started", "failed": "Not yet"}[state]
    rows = report.rows()
    return (
        f"<style>{stylesheet()}</style>"
        f'<div class="autograder-report bbh-report bbh-{state}">'
        f'<p class="bbh-headline" role="{role}">'
        f'<span class="bbh-mark" aria-hidden="true">{report.mark}</span> '
        f'<span class="bbh-state">{words}</span> {_code(report.headline)}</p>'
        f"{_promises(report)}{_rows(rows, quiet=False)}{_rows(rows, quiet=True)}</div>"
    )


def _promises(report: Report) -> str:
    found, not_reached = report.promises_found()
    items = [
        f'<li class="bbh-{line.state}"><span class="bbh-mark" role="img" '
        f'aria-label="{line.state}:">{line.mark}</span> {html.escape(line.title)}</li>'
        for line in found
    ]
    if not_reached:
        together = " · ".join(not_reached).replace(" ", "\N{NO-BREAK SPACE}")
        words = html.escape(together.replace("·\N{NO-BREAK SPACE}", "· "))
        items.append(f'<li class="bbh-not-reached">– not reached: {words}</li>')
    return f'<ul class="bbh-promises">{"".join(items)}</ul>' if items else ""


def _rows(rows: list[Row], quiet: bool) -> str:
    """The rows that say what is wrong, or (quiet) those that say where to look further."""
    shown = "".join(_row(row) for row in rows if row.quiet == quiet)
    also = " bbh-quiet" if quiet else ""
    return f'<dl class="bbh-rows{also}">{shown}</dl>' if shown else ""


def _row(row: Row) -> str:
    numbers = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        f'<td class="bbh-shape">{html.escape(shape)}</td><td>{html.escape(text)}</td></tr>'
        for name, shape, text in row.numbers
    )
    table = f'<table class="bbh-numbers"><tbody>{numbers}</tbody></table>' if numbers else ""
    return f"<dt>{html.escape(row.label)}</dt><dd>{_code(row.text)}{table}</dd>"


def _code(text: str) -> str:
    """Escaped HTML; what stands in backticks becomes code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


@cache
def stylesheet() -> str:
    """The reports' CSS (also shipped to graded feedback, where inline styles are removed)."""
    return (Path(__file__).parent / "static" / "report.css").read_text()
