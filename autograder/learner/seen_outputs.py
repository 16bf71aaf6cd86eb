"""What a learner saw below a cell, for the person who reads it: nothing of it runs again."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

MOST_SEEN = 20_000  # characters of text below a cell that are kept for who reads it
LARGEST_SEEN = 2_000_000  # characters of a picture


def seen_below(outputs: Any) -> list[NotebookNode]:
    """What a learner saw below a cell, as text and pictures: nothing in it can act."""
    kept: list[NotebookNode] = []
    left = MOST_SEEN
    for given in outputs[:100] if isinstance(outputs, list) else ():
        if not isinstance(given, dict) or left <= 0:
            continue
        if given.get("output_type") == "error":
            text = f"{_line(given.get('ename'))}: {_line(given.get('evalue'))}"
        else:
            data = given.get("data")
            data = data if isinstance(data, dict) else {}
            picture = data.get("image/png")
            if isinstance(picture, str) and len(picture) <= LARGEST_SEEN and len(kept) < 20:
                kept.append(new_output("display_data", data={"image/png": picture}))
                continue
            text = _line(given.get("text", data.get("text/plain", "")))
        if text:
            kept.append(new_output("stream", name="stdout", text=text[:left].rstrip("\n") + "\n"))
            left -= len(text)
    return kept


def _line(given: Any) -> str:
    parts = given if isinstance(given, list) else [given]
    text = "".join(part for part in parts[:10_000] if isinstance(part, str))
    return text[:MOST_SEEN].encode("utf-8", "replace").decode("utf-8")
