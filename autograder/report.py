"""What the learner reads: one root cause, measured evidence, one next step. Text, HTML and JSON."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import sys
import textwrap
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.evidence import Finding
from autograder.exercises import find
from autograder.explanations import TITLES, topics
from autograder.seen import place_of_finding
from autograder.tried import headline_of, hint_of

_WIDTH = 96

# The sentences worth reading when something else is wrong: what the learner has already reached.
_FIRST = "The gradients agree with the reference, for random upstream gradients of both signs."
_MILESTONES = (
    "Forward runs.",
    "The output values agree with the reference.",
    "Backward runs.",
    _FIRST,
    "Second derivatives are right (or refused where that is allowed).",
)

# The rules beside whose findings such a sentence would be a contradiction, though its questions held.
_GRADIENTS = r"gradient-(?!unstable|missing)|upstream-"
_DENIED = {
    "Forward runs.": r"(?:^| )value\b",  # a plain function, which has no forward
    "The output values agree with the reference.": r"forward-(?!unstable)",
    "Backward runs.": r"gradient-count|raises",
    _FIRST: _GRADIENTS,
    # A sentence about torch's settings: beside hooks that stay on it would read as their denial.
    "torch and its settings are left as they were.": r"shared-state",
    _MILESTONES[-1]: rf"double-backward|higher-derivative|{_GRADIENTS}",
}

# Findings about points and ranges of which "agree with the reference" says nothing.
_AGREE = "agree with the reference"
_ELSEWHERE = r"fails-special-point|-unstable|(?:^| )value\b"


@dataclass
class Report:
    """The outcome of checking one submission.

    passed    nothing that was asked is wrong
    findings  the first is the root cause
    held      sentences of the rules that hold
    skipped   names of rules that were not judged because the root cause stands before them
    undecided sentences of rules that could not be judged, with the reason
    note      what a right answer could do better
    more      how many more checks run with hidden=True (0 when this was the complete check)
    later     the rules of those checks
    seed      repeats this very check; None where it must not be shown
    graded    shown as graded feedback: hidden checks give rule, line and advice, never values or seeds
    """

    exercise: str
    passed: bool
    findings: list[Finding] = field(default_factory=list)
    hidden: bool = True
    seed: int | None = None
    held: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    note: str = ""
    more: int = 0
    later: tuple[str, ...] = ()
    printed: str = ""
    devices: tuple[str, ...] = ("cpu",)
    graded: bool = False
    interrupted: bool = False

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
        if self.passed:
            if self.more:
                return (
                    f"{self.exercise}: {_count(len(self.held), 'visible check')} pass; {self.more} more run "
                    "when graded, or now with hidden=True."
                )
            return f"{self.exercise}: all checks pass ({_count(len(self.held), 'check')})."
        first = self.findings[0]
        # That nothing is there, or that nothing came of it, is no secret.
        known = self.not_started or first.evidence.get("holds_no_values")
        hides = self.discreet and not known
        said = TITLES.get(first.rule, first.message) if hides else headline_of(first)
        return said if said.startswith(f"{self.exercise} ") else f"{self.exercise}: {said}"

    @property
    def mark(self) -> str:
        if self.passed:
            return "✓"
        return "○" if self.not_started else "✗"

    def rows(self) -> list[tuple[str, str]]:
        """(label, text) of what stands under the headline; the same in text and HTML."""
        if self.passed:
            later = ", ".join(topics(self.later))
            rows = [("Note", self.note)] if self.note else []
            return rows + ([("Not asked", f"{later}.")] if later else []) + self._notes()
        first, rows = self.findings[0], []
        rows += _own_line(first.evidence.get("tried") or first.evidence)
        if not self.discreet:
            rows += _evidence_rows(first.evidence, first.message)
        if hint := first.hint if self.discreet else hint_of(first):
            rows.append(("Next", hint))
        if self.not_started:  # a stub has nothing to see; what is to be repaired has
            return rows + (self._see() if first.rule != "raises" else [])
        rows.append(("Rule", f'{first.rule} – `explain("{first.rule}")` says more'))
        others = [f.rule for f in self.findings[1:] if f.rule != first.rule]
        if others:
            rows.append(("Also", ", ".join(dict.fromkeys(others)) + " (look again after this one)"))
        if self.held and not self.discreet:
            works = [s for s in self.held if s in _MILESTONES] or self.held[:1]
            found = " ".join(f.rule for f in self.findings)
            works = [s for s in works if not re.search(_DENIED.get(s, "^$"), found)]
            if re.search(_ELSEWHERE, found):
                works = [s.replace(_AGREE, f"{_AGREE} in the ordinary cases") for s in works]
            if works:
                rows.append(("Works", " ".join(works[-3:])))
        return rows + self._notes()

    def _notes(self) -> list[tuple[str, str]]:
        rows = []
        if self.undecided and not self.discreet:
            rows.append(("Undecided", " ".join(self.undecided[:2])))
        if self.printed.strip() and not self.discreet:
            lines = self.printed.strip().splitlines()
            rows.append(
                (
                    "Printed",
                    _cut(lines[0], 120) + (f" … ({len(lines)} lines)" if len(lines) > 1 else ""),
                )
            )
        if self.seed is not None and not self.graded and not self.passed:
            rows.append(("Again", f"`seed={self.seed}` repeats exactly this check"))
        return rows + self._see()

    def _see(self) -> list[tuple[str, str]]:
        place = self._place_in_a_walk() if self.findings else ""
        imported = "" if names_xray() else "`from widgets import xray`, then "
        return [("See", f"{imported}`xray({self.exercise})` opens {place}")] if place else []

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
        lines = textwrap.wrap(f"{self.mark} {self.headline}", _WIDTH, subsequent_indent="  ")
        for label, text in self.rows():
            start = f"  {label + ':':<12}"
            lines += textwrap.wrap(
                text, _WIDTH, initial_indent=start, subsequent_indent=" " * 14, max_lines=3,
                placeholder=" …",
            )  # fmt: skip
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        state = "passed" if self.passed else "not-started" if self.not_started else "failed"
        role = "status" if self.passed else "alert"
        words = {"passed": "Passed", "not-started": "Not started", "failed": "Not yet"}[state]
        rows = "".join(
            f"<dt>{html.escape(label)}</dt><dd>{_code(text)}</dd>" for label, text in self.rows()
        )
        details = f'<dl class="bbh-rows">{rows}</dl>' if rows else ""
        return (
            f"<style>{stylesheet()}</style>"
            f'<div class="autograder-report bbh-report bbh-{state}" role="{role}">'
            f'<p class="bbh-headline"><span class="bbh-mark" aria-hidden="true">{self.mark}</span> '
            f'<span class="bbh-state">{words}</span> {_code(self.headline)}</p>{details}</div>'
        )

    def to_json(self) -> str:
        """The report as JSON; in graded hidden reports without evidence and seed."""
        data: dict[str, Any] = {
            "exercise": self.exercise, "passed": self.passed, "hidden": self.hidden,
            "headline": self.headline, "not_started": self.not_started, "seed": self.seed,
            "findings": [_finding_data(f, self.discreet) for f in self.findings],
            "held": self.held, "note": self.note, "skipped": self.skipped, "undecided": self.undecided,
            "devices": list(self.devices),
        }  # fmt: skip
        if self.graded:
            data["seed"] = None
        return json.dumps(data, ensure_ascii=False, indent=1, default=str)

    def for_instructors(self) -> dict[str, Any]:
        """Everything as plain data, whoever else may see the report: evidence, values and seed."""
        return {**json.loads(replace(self, graded=False).to_json()), "graded": self.graded}


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, which alone can show a live widget."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def names_xray() -> bool:
    """Whether the notebook's own variables have an `xray`."""
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and callable(shell.user_ns.get("xray"))


@cache
def has_xray() -> bool:
    """Whether `from widgets import xray` would work. Looked for, not imported: widgets builds on this."""
    found = importlib.util.find_spec("widgets")
    places = (found.submodule_search_locations if found else None) or []
    return any((Path(place) / "xray.py").is_file() for place in places)


def _finding_data(finding: Finding, discreet: bool) -> dict[str, Any]:
    if not discreet:
        return asdict(finding)
    return {"rule": finding.rule, "message": TITLES.get(finding.rule, ""), "hint": finding.hint}


def _own_line(evidence: dict[str, Any]) -> list[tuple[str, str]]:
    """The learner's own line, which is shown in every report: it is their own text."""
    if not evidence.get("line"):
        return []
    return [("Your line", f"{evidence['line']}: {_cut(str(evidence.get('source', '')), 100)}")]


def _evidence_rows(evidence: dict[str, Any], headline: str) -> list[tuple[str, str]]:
    """The measured evidence in at most four rows; an error that the headline quotes is not repeated."""
    rows: list[tuple[str, str]] = []
    if evidence.get("inputs"):
        inputs = ", ".join(f"{k} = {v}" for k, v in evidence["inputs"].items())
        upstream = f"; grad_output = {evidence['upstream']}" if evidence.get("upstream") else ""
        rows.append(("With", _cut(inputs + upstream, 260)))
    elif evidence.get("case"):
        rows.append(("With", str(evidence["case"])))
    if "actual" in evidence:
        rows.append(("Yours", _cut(str(evidence["actual"]), 120)))
        rows.append(("Expected", _cut(str(evidence.get("expected", "")), 120)))
    if evidence.get("kept_tensors"):
        rows.append(("Kept", _cut(str(evidence["kept_tensors"]), 240)))
    original = str(evidence.get("original") or "")
    if original and not evidence.get("not_started") and not _quotes(headline, original):
        label = "The error" if evidence.get("own_words") else "torch says"
        rows.append((label, _cut(original.replace("\n", " "), 240)))
    return rows


def _quotes(headline: str, original: str) -> bool:
    """Whether the headline has the words of an error ("KeyError: …") in full."""
    words = original.split(": ", 1)[-1].strip().rstrip(".")
    return len(words) >= 10 and words in headline


def _code(text: str) -> str:
    """Escaped HTML; what stands in backticks becomes code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


@cache
def stylesheet() -> str:
    """The reports' CSS (also shipped to graded feedback, where inline styles are removed)."""
    return (Path(__file__).parent / "static" / "report.css").read_text()
