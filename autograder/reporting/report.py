"""What the learner reads: the promises, one root cause with what was measured, one next step.

How it looks is said in ``display``.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.contract.friendly_error import running_shell
from autograder.contract.promises import Line
from autograder.exercises import find
from autograder.explaining.pages import TITLES
from autograder.judging.finding import Finding
from autograder.reporting.display import Numbers, aligned, cut, report_as_html, report_as_text
from autograder.reporting.walk_place import place_of_finding
from autograder.reporting.wording import without_edit


@dataclass(frozen=True)
class Row:
    """A labelled line under the headline; below it, numbers in columns that line up.

    quiet  it says where to look further, not what is wrong
    """

    label: str
    text: str
    numbers: tuple[Numbers, ...] = ()
    quiet: bool = False


@dataclass
class Report:
    """The outcome of checking one submission.

    passed    nothing that was asked is wrong, and everything was asked and could be judged
    findings  errors first, of which the first is the root cause; then advice and notes
    own_inputs  asked with inputs that somebody gave to evaluate, not with those of the course
    unasked   questions that there was no time for: then nothing passed
    promises  what was found of each promise of the exercise
    held      sentences of the rules that hold
    skipped   names of rules that were not judged because the root cause stands before them
    undecided sentences of rules that could not be judged, with the reason
    seed      repeats this very check; None where it must not be shown
    graded    shown as graded feedback: hidden checks give rule, line and advice, never values or seeds
    """

    exercise: str
    passed: bool
    findings: list[Finding] = field(default_factory=list)
    promises: tuple[Line, ...] = ()
    hidden: bool = True
    seed: int | None = None
    held: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    printed: str = ""
    devices: tuple[str, ...] = ("cpu",)
    graded: bool = False
    own_inputs: bool = False
    unasked: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """passed, failed, or incomplete: nothing wrong was found, and not everything was judged."""
        wrong = any(f.severity == "error" for f in self.findings)
        unsure = any(line.state == "undecided" for line in self.promises)
        if not wrong and (self.unasked or unsure):
            return "incomplete"
        return "passed" if self.passed and not wrong else "failed"

    @property
    def remarks(self) -> list[Finding]:
        """Advice and notes."""
        return [f for f in self.findings if f.severity != "error"]

    @property
    def not_started(self) -> bool:
        """Whether the exercise still is the stub (or has an unwritten half)."""
        return bool(self.findings) and bool(self.findings[0].evidence.get("not_started"))

    @property
    def discreet(self) -> bool:
        """Graded hidden checks name the rule, the learner's own line and advice; values and seeds stay out."""
        return self.graded and self.hidden

    @property
    def headline(self) -> str:
        """The sentence that stands alone."""
        if self.outcome == "incomplete":
            why = (
                "not everything was asked: time ran out"
                if self.unasked
                else "nobody can tell whether everything is right"
            )
            return f"{self.exercise}: nothing wrong was found, but {why}."
        if self.passed:
            return f"{self.exercise}: every promise is kept."
        first = self.findings[0]
        # That nothing is there, or that nothing came of it, is no secret.
        known = self.not_started or first.evidence.get("holds_no_values")
        hides = self.discreet and not known
        said = TITLES.get(first.rule, first.message) if hides else first.message
        return said if said.startswith(f"{self.exercise} ") else f"{self.exercise}: {said}"

    def without_edits(self) -> Report:
        """The report without what belongs in the place of a wrong expression: where, and what else was found."""
        return replace(self, findings=[*map(without_edit, self.findings)])

    @property
    def mark(self) -> str:
        if self.outcome == "incomplete":
            return "…"
        if self.passed:
            return "✓"
        return "○" if self.not_started else "✗"

    def promises_found(self) -> tuple[list[Line], list[str]]:
        """The promises that are kept, broken or undecided, and the titles of those that were not reached."""
        if self.not_started:
            return [], []
        behind = [line.title for line in self.promises if line.state == "not reached"]
        return [line for line in self.promises if line.state != "not reached"], behind

    def rows(self) -> list[Row]:
        """What stands under the promises; the same in text and HTML."""
        if self.outcome != "failed":
            return [*self._remarks(), *self._notes()]
        first, rows = self.findings[0], []
        rows += _own_line(first.evidence)
        if not self.discreet:
            rows += _measured(first.evidence, first.message)
        if first.hint:
            rows.append(Row("Next", first.hint))
        if self.not_started:  # a stub has nothing to see; what is to be repaired has
            return rows + (self._see() if first.rule != "raises" else [])
        more = f'`explain("{first.rule}")` tells more, with an example'
        rule = Row("Rule", more, quiet=True)
        return [*rows, *self._remarks(), *self._notes(), rule, *self._repeat(), *self._see()]

    def _remarks(self) -> list[Row]:
        """Advice and notes, each with its line."""
        rows = []
        for finding in self.remarks if not self.discreet else ():
            line = finding.evidence.get("line")
            where = f" (line {line})" if line else ""
            label = "Note" if finding.severity == "note" else "Advice"
            rows.append(Row(label, f"{finding.message}{where} {finding.hint}".strip()))
        return rows

    def _notes(self) -> list[Row]:
        rows = []
        if self.unasked:
            some = ", ".join(self.unasked[:6]) + (", …" if len(self.unasked) > 6 else "")
            rows.append(
                Row("Not asked", f"{len(self.unasked)} questions: {some}. seconds=None asks all.")
            )
        if self.undecided and not self.discreet:
            rows.append(Row("Undecided", " ".join(self.undecided[:2]), quiet=True))
        if self.printed.strip() and not self.discreet:
            first, *others = self.printed.strip().splitlines()
            more = f" … ({len(others) + 1} lines)" if others else ""
            rows.append(Row("Printed", cut(first, 120) + more, quiet=True))
        return rows

    def _repeat(self) -> list[Row]:
        if self.seed is None or self.graded:
            return []
        if self.own_inputs:
            call, when = f"evaluate({self.exercise}, inputs=…", " again"
        else:
            hidden = ", hidden=True" * self.hidden
            call, when = f"check({self.exercise}{hidden}", ", after a restart too"
        told = f"`{call}, seed={self.seed})` asks with the same numbers{when}"
        return [Row("Repeat", told, quiet=True)]

    def _see(self) -> list[Row]:
        place = self._place_in_a_walk()
        imported = "" if names_xray() else "`from widgets import xray`, then "
        words = f"{imported}`xray({self.exercise})` opens {place}"
        return [Row("See it", words, quiet=True)] if place else []

    def _place_in_a_walk(self) -> str:
        """Where xray opens on the first finding; "" where the learner cannot call it or see it."""
        if self.graded or not self.exercise.isidentifier() or not in_notebook() or not has_xray():
            return ""
        try:
            exercise = find(self.exercise)
        except ValueError:
            return ""
        first, own = self.findings[0], [scenario.name for scenario in exercise.scenarios]
        return "" if exercise.is_function else place_of_finding(first.rule, first.evidence, own)

    def __str__(self) -> str:
        return report_as_text(self)

    def _repr_html_(self) -> str:
        return report_as_html(self)

    def to_json(self) -> str:
        """The report as JSON; in graded hidden reports without evidence and seed."""
        data: dict[str, Any] = {
            "exercise": self.exercise, "passed": self.passed, "outcome": self.outcome, "hidden": self.hidden,
            "headline": self.headline, "not_started": self.not_started, "seed": None if self.graded else self.seed,
            "findings": [_finding_data(f, self.discreet) for f in self.findings],
            "promises": [{"key": p.key, "title": p.title, "state": p.state} for p in self.promises],
            "held": self.held, "skipped": self.skipped, "undecided": self.undecided,
            "devices": list(self.devices),
        }  # fmt: skip
        return json.dumps(data, ensure_ascii=False, indent=1, default=str)

    def for_instructors(self) -> dict[str, Any]:
        """Everything as plain data, whoever else may see the report: evidence, values and seed."""
        return {**json.loads(replace(self, graded=False).to_json()), "graded": self.graded}


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, which alone can show a live widget."""
    return getattr(running_shell(), "kernel", None) is not None


def names_xray() -> bool:
    """Whether the notebook's own variables have an `xray`."""
    shell = running_shell()
    return shell is not None and callable(shell.user_ns.get("xray"))


@cache
def has_xray() -> bool:
    """Whether `from widgets import xray` would work. Looked for, not imported: widgets builds on this."""
    found = importlib.util.find_spec("widgets")
    places = (found.submodule_search_locations if found else None) or []
    return any((Path(place) / "xray.py").is_file() for place in places)


def _finding_data(finding: Finding, discreet: bool) -> dict[str, Any]:
    if not discreet:
        return {
            "rule": finding.rule, "severity": finding.severity, "message": finding.message, "hint": finding.hint,
            "evidence": finding.evidence, "cause": finding.cause,
        }  # fmt: skip
    return {"rule": finding.rule, "message": TITLES.get(finding.rule, ""), "hint": finding.hint}


def _own_line(evidence: dict[str, Any]) -> list[Row]:
    """The learner's own line, which is shown in every report: it is their own text."""
    if not evidence.get("line"):
        return []
    return [Row("Your line", f"{evidence['line']}: `{cut(str(evidence.get('source', '')), 100)}`")]


def _measured(evidence: dict[str, Any], headline: str) -> list[Row]:
    """With what it was called and what came of it; an error that the headline quotes is not repeated."""
    named = {name: str(value) for name, value in (evidence.get("inputs") or {}).items()}
    if evidence.get("upstream"):
        named["grad_output"] = str(evidence["upstream"])
    if "actual" in evidence:
        named["Yours"] = str(evidence["actual"])
        if "expected" in evidence:
            named["Expected"] = str(evidence["expected"])
    rows: list[Row] = []
    not_started = evidence.get("not_started")
    if named or (evidence.get("case") and not not_started):
        rows.append(Row("With", str(evidence.get("case") or "these values"), aligned(named)))
    if evidence.get("kept_tensors"):
        rows.append(Row("Kept", cut(str(evidence["kept_tensors"]), 240)))
    original = str(evidence.get("original") or "")
    if original and not not_started and not _quotes(headline, original):
        rows.append(Row("The error", cut(original.replace("\n", " "), 240)))
    return rows


def _quotes(headline: str, original: str) -> bool:
    """Whether the headline has the words of an error ("KeyError: …") in full."""
    words = original.split(": ", 1)[-1].strip().rstrip(".")
    return len(words) >= 10 and words in headline
