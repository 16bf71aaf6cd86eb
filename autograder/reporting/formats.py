"""A report as text, as HTML (in a notebook and in graded feedback), and for machines: JSON lines, annotations, JUnit."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from autograder.reporting.report import Report, Row

# ---- text: in a terminal, and beside the HTML in a notebook --------------------------------------

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


# ---- HTML ----------------------------------------------------------------------------------------


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
        f"{_list_of_promises(report)}{_html_rows(rows, quiet=False)}{_html_rows(rows, quiet=True)}</div>"
    )


def _list_of_promises(report: Report) -> str:
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


def _html_rows(rows: list[Row], quiet: bool) -> str:
    """The rows that say what is wrong, or (quiet) those that say where to look further."""
    shown = "".join(_html_row(row) for row in rows if row.quiet == quiet)
    also = " bbh-quiet" if quiet else ""
    return f'<dl class="bbh-rows{also}">{shown}</dl>' if shown else ""


def _html_row(row: Row) -> str:
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


# ---- for machines --------------------------------------------------------------------------------

FORMATS = ("text", "json", "github", "junit")
_LEVELS = {"error": "error", "advice": "warning", "note": "notice"}


def formatted(reports: Sequence[Report], form: str, file: str) -> str:
    """The reports on Functions of one file in one of FORMATS."""
    if form == "json":
        return "\n".join(report.to_json().replace("\n", " ") for report in reports)
    if form == "github":
        return "\n".join(line for report in reports for line in _annotations(report, file))
    if form == "junit":
        return _junit(reports, file)
    return "\n\n".join(map(str, reports))


def _annotations(report: Report, file: str) -> list[str]:
    """One line a finding, as GitHub Actions reads them; the headline where there is none."""
    made = [
        _annotation(_LEVELS[f.severity], file, f.evidence.get("line"), f"{report.exercise}: {f.rule}", f"{f.message} {f.hint}")
        for f in report.findings
    ]  # fmt: skip
    if report.outcome == "incomplete":
        made.append(
            _annotation("error", file, None, f"{report.exercise}: incomplete", report.headline)
        )
    return made or [f"{report.mark} {report.headline}"]


def _annotation(level: str, file: str, line: object, title: str, text: str) -> str:
    place = f"file={_property(file)}" + (f",line={line}" if line else "")
    return f"::{level} {place},title={_property(title)}::{_data(text.strip())}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _junit(reports: Sequence[Report], file: str) -> str:
    from xml.etree import ElementTree  # whoever checks in a notebook never needs it

    suite = ElementTree.Element(
        "testsuite", name=file, tests=str(len(reports)),
        failures=str(sum(r.outcome == "failed" for r in reports)),
        errors=str(sum(r.outcome == "incomplete" for r in reports)),
    )  # fmt: skip
    for report in reports:
        case = ElementTree.SubElement(suite, "testcase", classname=file, name=report.exercise)
        kind = {"failed": "failure", "incomplete": "error"}.get(report.outcome)
        if kind is not None:
            rule = report.findings[0].rule if report.outcome == "failed" else "incomplete"
            told = ElementTree.SubElement(case, kind, message=report.headline, type=rule)
            told.text = str(report)
        elif report.remarks:
            ElementTree.SubElement(case, "system-out").text = str(report)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(
        suite, encoding="unicode"
    )
