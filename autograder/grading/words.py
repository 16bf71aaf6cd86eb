"""Names and sentences as they can be shown: a student may have chosen them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

LONGEST_NAME = 200  # characters shown of one


def printable(text: str) -> str:
    """A text in which nothing moves the cursor."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def shown(name: object) -> str:
    """A file's name as it can be shown."""
    text = printable(str(name))
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


def the_names(what: str, wanted: str, names: Sequence[str]) -> str:
    """Which names there are, those most like a wrong one first."""
    like = difflib.get_close_matches(wanted.casefold(), names, n=3, cutoff=0.5)
    return f"The {what}: {', '.join(dict.fromkeys([*like, *names]))}."


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things: "1 learner", "3 learners"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    more = f" … and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
