"""Reads the rules' pages, runs their examples, and keeps what they quote true.

    python -m tests.explaining.rule_pages        # writes the reports' sentences and docs/rules.md anew

A page's examples are code blocks marked by a comment that neither GitHub nor Jupyter shows:
``<!-- wrong: Sine -->`` defines Sine and gets the page's rule; ``<!-- right: Sine -->`` holds the
methods (or the whole class or function) that make it pass.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from autograder import evaluate
from autograder.contract.promises import PROMISES
from autograder.explaining.pages import PAGES, TITLES, page
from autograder.reporting.report import Report
from tests.explaining.page_exercises import exercise_called
from tests.mistakes.gallery import load

INDEX = Path(__file__).parents[2] / "docs" / "rules.md"
SEED = 1  # the reports that pages quote are those of this seed
_BLOCK = re.compile(
    r"<!-- (?P<kind>wrong|right): (?P<name>\w+) -->\n```python\n(?P<code>.*?)```\n", re.DOTALL
)
_QUOTE = re.compile(r"(?:\n> [^\n]+)+\n")

# Only of Functions that are not from the course.
OF_OTHERS = ("jvp", "vmap", "func", "opcheck", "loses-precision")
INPUT = torch.tensor([[-2.0, 0.5, 3.0], [1.0, -0.3, 0.8]])


def example(rule: str, kind: str) -> tuple[str, str] | None:
    """(exercise name, code) of a page's wrong or right block, or None."""
    found = [m for m in _BLOCK.finditer(page(rule)) if m["kind"] == kind]
    return (found[0]["name"], found[0]["code"]) if found else None


def report_on_wrong(rule: str) -> Report | None:
    """The report on a page's wrong code; None for a page without a marked example."""
    wrong = example(rule, "wrong")
    if wrong is None:
        return None
    name, code = wrong
    return _evaluated(rule, code, name)


def report_on_right(rule: str) -> Report | None:
    """The report on a page's wrong code, mended with its right block."""
    wrong, right = example(rule, "wrong"), example(rule, "right")
    if wrong is None or right is None:
        return None
    name, code = right
    if code.startswith("@staticmethod"):
        methods = code.replace("\n", "\n    ")
        code = f"{wrong[1]}\n\n_Wrong = {name}\n\nclass {name}(_Wrong):\n    {methods}"
    return _evaluated(rule, code, name)


def _evaluated(rule: str, code: str, name: str) -> Report:
    if rule in OF_OTHERS:
        return evaluate(_load(code, name), exercise=name, inputs=(INPUT,), strict=True, seed=SEED)
    return evaluate(_load(code, name), exercise=exercise_called(name), seed=SEED)


def _load(code: str, name: str) -> Any:
    return load("import math\n" + code, name)


def quoted(rule: str) -> str:
    """The report's first sentence as the page quotes it."""
    found = _QUOTE.search(page(rule))
    return " ".join(line[2:] for line in found[0].strip().splitlines()) if found else ""


def index() -> str:
    """docs/rules.md."""
    lines = [
        "# The rules",
        "",
        "Every report names the rule that did not hold. Here is what each of them means, under "
        "the promise that it judges; a name leads to a page with an example. In a notebook, "
        '`explain("gradient-sign")` shows that page; in a terminal, `python -m autograder explain '
        "gradient-sign`.",
    ]
    for promise in PROMISES:
        lines += [
            "",
            f"## {promise.title.capitalize()}",
            "",
            "| rule | what it says |",
            "|---|---|",
        ]
        lines += [
            f"| [{name}](../autograder/explaining/pages/pages/{name}.md) | {TITLES[name]} |"
            for name in promise.rules
        ]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write the quoted sentences and the index anew."""
    for rule in TITLES:
        report = report_on_wrong(rule)
        if report is not None and quoted(rule) != f"✗ {report.headline}":
            text = page(rule)
            start = _QUOTE.search(text)
            assert start is not None, f"{rule}: no quoted report"
            text = f"{text[: start.start()]}\n> ✗ {report.headline}\n{text[start.end() :]}"
            (PAGES / f"{rule}.md").write_text(text)
    INDEX.write_text(index())


if __name__ == "__main__":
    write()
