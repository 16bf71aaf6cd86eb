"""Sentences that quote a submission: code in them is marked as code, and nothing in them is markup.

A quotation stands between backticks, as in Markdown: between more of them than it holds itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from string import punctuation

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def as_code(text: str) -> str:
    """A piece of code within a sentence."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def said_as_markdown(sentence: str) -> str:
    """The sentence for a Markdown cell. Addresses in it are no links."""
    return "".join(
        as_code(part) if is_code else "".join("\\" + c if c in punctuation else c for c in part)
        for part, is_code in _parts(sentence)
    )


def said_as_html(sentence: str) -> str:
    """The sentence for an HTML page."""
    return "".join(
        f"<code>{escape(part)}</code>" if is_code else escape(part)
        for part, is_code in _parts(sentence)
    )


def _parts(sentence: str) -> Iterator[tuple[str, bool]]:
    """The sentence in pieces, and whether each is code; on one line."""
    sentence, end = " ".join(sentence.splitlines()), 0
    for found in _CODE.finditer(sentence):
        yield sentence[end : found.start()], False
        inside = found[2]
        if inside.startswith(" ") and inside.endswith(" ") and "`" in inside:
            inside = inside[1:-1]
        yield inside, True
        end = found.end()
    yield sentence[end:], False
