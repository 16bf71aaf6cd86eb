"""From cause codes to English: the one place where sentences are made.

The sentences stand in ``sentences/*.md``, to be read and mended by anybody:

    ## gradient-scale/everywhere
    The gradient for {argument} is {ratio:.4f} × the expected one everywhere.
    > Look for a factor that is missing in backward.

    ## gradient-scale/everywhere +line
    …the same for a finding that has a fact ``line`` (of several such, the one with most facts)

An exercise's own sentences have the same form. Facts are put in between braces: a list becomes "a, b
and c", a clause its own sentence without the full stop; ``{count:byte}`` becomes "1 byte" or "2 bytes"; ``{name:Capital}`` begins with a capital letter, ``{name:Sentence}`` ends with a
full stop too, where it is no question.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.explaining.pages import TITLES
from autograder.judging.finding import Clause, Finding

SENTENCES = Path(__file__).parent / "sentences"
_HEAD = re.compile(r"^## (?P<code>\S+)(?P<needs>(?: \+\w+)*)$", re.MULTILINE)


@dataclass(frozen=True)
class Sentence:
    """What is said of one cause: the headline, the next step, and the facts that it takes."""

    message: str
    hint: str
    needs: frozenset[str] = frozenset()


Catalogue = Mapping[str, tuple[Sentence, ...]]


def worded(finding: Finding, own: str = "") -> Finding:
    """The finding with its message and hint. ``own``: the exercise's own sentences, as text.

    A finding without a cause code has its words already. Raises KeyError for a code without a sentence.
    """
    if not finding.cause:
        return finding
    sentence = _chosen(finding, own)
    words = _Words(own)
    return replace(
        finding, message=words.format(sentence.message, **finding.facts),
        hint=words.format(sentence.hint, **finding.facts),
    )  # fmt: skip


def said(finding: Finding, own: str = "") -> Finding:
    """The finding with words in any case: where its own cannot be made, what its rule says."""
    try:
        return worded(finding, own)
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # a mistake of the grader
        defect = {"defect": f"{finding.cause}: {error}"}
        return replace(
            finding, message=TITLES.get(finding.rule, "Something is wrong here."), hint="",
            evidence={**finding.evidence, **defect},
        )  # fmt: skip


_EDIT = "/edit"  # how codes end that say what belongs in the place of an expression, in the fact ``other``


def without_edit(finding: Finding) -> Finding:
    """The finding without the expression that made it right when tried."""
    if not finding.cause.endswith(_EDIT):
        return finding
    return worded(replace(finding, facts={**finding.facts, "other": ""}))


def with_step(finding: Finding, cause: str) -> Finding:
    """The finding with one more sentence, that of a code, behind its next step."""
    return replace(finding, hint=f"{finding.hint} {_chosen(Clause(cause), '').message}".strip())


def _chosen(finding: Finding | Clause, own: str) -> Sentence:
    """The sentence that uses most of the facts that are there; of two, the exercise's own."""
    sentences = (*read(own).get(finding.cause, ()), *course().get(finding.cause, ()))
    there = {
        name for name, value in finding.facts.items() if value not in (None, False, "", [], ())
    }
    fitting = [s for s in sentences if s.needs <= there]
    if not fitting:
        raise KeyError(f"no sentence for {finding.cause} with the facts {sorted(there)}")
    return max(fitting, key=lambda s: len(s.needs))


@cache
def course() -> Catalogue:
    """Every sentence of the grader, by cause code."""
    found: dict[str, tuple[Sentence, ...]] = {}
    for path in sorted(SENTENCES.glob("*.md")):
        for code, sentences in read(path.read_text(encoding="utf-8")).items():
            found[code] = (*found.get(code, ()), *sentences)
    return found


@cache
def read(text: str) -> Catalogue:
    """The sentences in a text, by cause code. Raises ValueError for a code that has no headline."""
    heads = list(_HEAD.finditer(text))
    found: dict[str, tuple[Sentence, ...]] = {}
    for head, after in zip(heads, [*heads, None][1:], strict=True):
        body = text[head.end() : after.start() if after else None].strip().splitlines()
        said = " ".join(line.strip() for line in body if line.strip() and not line.startswith(">"))
        hint = " ".join(line[1:].strip() for line in body if line.startswith(">"))
        if not said:
            raise ValueError(f"{head['code']} has no sentence")
        needs = frozenset(head["needs"].replace("+", " ").split())
        found[head["code"]] = (*found.get(head["code"], ()), Sentence(said, hint, needs))
    return found


class _Words(string.Formatter):
    """Puts facts into a sentence: clauses, lists, shapes, counted nouns, numbers with four digits."""

    def __init__(self, own: str = ""):
        self._own = own

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, Clause):
            clause = _chosen(value, self._own).message.removesuffix(".")
            text = self.format(
                re.sub("^The ", "the ", clause).replace(":Capital}", "}"), **value.facts
            )
            return self.format_field(text, spec)
        if spec == "Capital":
            text = self.format_field(value, "")
            return text[:1].upper() + text[1:]
        if spec == "Sentence":
            text = self.format_field(value, "Capital")
            return text if text.endswith("?") else f"{text}."
        if isinstance(value, int) and spec.isalpha() and len(spec) > 1:
            return f"{value} {spec}" if value == 1 else f"{value} {spec}s"
        if not spec and isinstance(value, float):
            return f"{value:.4g}"
        if isinstance(value, list | tuple) and not all(isinstance(v, int) for v in value):
            return listed([self.format_field(v, spec) for v in value])
        if isinstance(value, tuple | list):
            return str(tuple(value))
        return format(value, spec)


_MANY = 6


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; of many the first two and the last."""
    if len(words) > _MANY:
        words = [*words[:2], "…", words[-1]]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
