"""Reports for machines: JSON lines, annotations on GitHub, JUnit's XML."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from autograder.reporting.report import Report

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
