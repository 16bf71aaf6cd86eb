"""Which line a sentence about a formula speaks of: the only one that calls what the sentence names.

A gradient is often made in several steps, and the last one is where it shows, not where it went wrong.
"""

from __future__ import annotations

import ast
import re

from autograder.source import Source

# (words of a sentence, the calls that it speaks of, the likeliest first)
_CALLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bsum\b.* is a mean|is divided by the (?:size|number|width)", ("mean", "sum")),
    (r"\b[Tt]he (?:running )?sum\b|[Σ] \w·\w", ("sum",)),
    (r"\bexp is applied twice", ("exp",)),
    (r"\b(?:weights|scores) are recomputed", ("softmax", "exp")),
    (r"computes σ\(", ("sigmoid",)),
    (r"\bin the clamp\b", ("clamp", "clip", "clamp_")),
)
_ASSIGNED = "it is assigned where it should be added"


def line_spoken_of(source: Source, method: str, message: str) -> tuple[int, str] | None:
    """(line, its text) in this method that a sentence speaks of; None where none or several may be meant."""
    node = source.methods.get(method)
    if node is None:
        return None
    if _ASSIGNED in message:
        found = _assigned_in_the_innermost_loop(node)
        return source.line_of(found) if found is not None else None
    for pattern, calls in _CALLS:
        if not re.search(pattern, message):
            continue
        for name in calls:
            places = {
                source.line_of(c)
                for c in ast.walk(node)
                if isinstance(c, ast.Call) and ast.unparse(c.func).split(".")[-1] == name
            }
            if places:
                return places.pop() if len(places) == 1 else None
    return None


def _assigned_in_the_innermost_loop(node: ast.AST) -> ast.AST | None:
    """The first ``x[…] = …`` of the deepest loop; None where there is none."""
    loops = [n for n in ast.walk(node) if isinstance(n, ast.For | ast.While)]
    inner = [o for o in loops if not any(n in loops for n in ast.walk(o) if n is not o)]
    for loop in inner:
        for part in ast.walk(loop):
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
                return part
    return None
