"""Outputs of a submission, reduced to what can only be looked at and to a size a page can bear."""

from __future__ import annotations

import re
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.grading.html import clean_html
from autograder.grading.markdown import PICTURES, is_plain

MOST_OUTPUTS = 100
LONGEST_TEXT = 100_000
LARGEST_PICTURE = 4_000_000
LONGEST_HTML = LARGEST_PICTURE + LONGEST_TEXT  # our figures are pictures within HTML

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*")


def safe_outputs(outputs: list[Any]) -> list[NotebookNode]:
    """The outputs of one cell with nothing in them that could run, load or cover anything."""
    shown = [_safe_output(output) for output in outputs[:MOST_OUTPUTS]]
    if len(outputs) > MOST_OUTPUTS:
        left_out = f"[{len(outputs) - MOST_OUTPUTS} more outputs not shown]\n"
        shown.append(new_output("stream", name="stdout", text=left_out))
    return shown


def safe_pictures(attachments: Any) -> dict[str, dict[str, str]]:
    """The attachments of a cell that are ordinary pictures, by name."""
    kept: dict[str, dict[str, str]] = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        given = bundle.items() if isinstance(bundle, dict) else ()
        pictures = {kind: data for kind, data in given if _is_picture(kind, data)}
        if pictures:
            kept[name] = pictures
    return kept


def _safe_output(output: NotebookNode) -> NotebookNode:
    if output.output_type == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return new_output("stream", name=name, text=_shortened(output.get("text", "")))
    if output.output_type == "error":
        return new_output(
            "error",
            ename=_shortened(output.get("ename", "")),
            evalue=_shortened(output.get("evalue", "")),
            traceback=[_shortened(line) for line in output.get("traceback", [])[:1000]],
        )
    data = _safe_data(output.get("data", {}))
    metadata = {
        kind: facts
        for kind in data
        if (facts := _safe_picture_facts(output.get("metadata", {}).get(kind)))
    }
    if output.output_type == "execute_result":
        count = output.get("execution_count")
        return new_output(
            "execute_result",
            data=data,
            metadata=metadata,
            execution_count=count if isinstance(count, int) else None,
        )
    return new_output("display_data", data=data, metadata=metadata)


def _safe_data(data: dict[str, Any]) -> dict[str, str]:
    """A display's representations that are safe; always one that can be shown."""
    safe: dict[str, str] = {}
    for kind, value in data.items():
        if kind == "text/plain":
            safe[kind] = _shortened(value)
        elif kind == "text/html":
            html = clean_html(_shortened(value, LONGEST_HTML))
            if html.strip():
                safe[kind] = html
        elif kind in ("text/markdown", "text/latex") and is_plain(text := _shortened(value)):
            # formulas are shown the way our pages show Markdown's
            safe.setdefault("text/markdown", text)
        elif _is_picture(kind, value):
            safe[kind] = value
    if "text/plain" not in safe:
        safe["text/plain"] = f"[output of kind {', '.join(sorted(map(str, data)))[:200]}]"
    return safe


def _safe_picture_facts(metadata: Any) -> dict[str, Any]:
    """Size and alternative text of a picture; nbconvert writes sizes into the page unquoted."""
    given = metadata if isinstance(metadata, dict) else {}
    facts: dict[str, Any] = {
        name: given[name] for name in ("width", "height") if isinstance(given.get(name), int)
    }
    if isinstance(given.get("alt"), str):
        facts["alt"] = _shortened(given["alt"])
    return facts


def _is_picture(kind: str, data: Any) -> bool:
    return (
        kind in PICTURES
        and isinstance(data, str)
        and len(data) <= LARGEST_PICTURE
        and bool(_BASE64.fullmatch(data))
    )


def _shortened(text: Any, longest: int = LONGEST_TEXT) -> str:
    text = "".join(map(str, text)) if isinstance(text, list) else str(text)
    if len(text) <= longest:
        return text
    return text[:longest] + f"\n… {len(text) - longest} more characters not shown"
