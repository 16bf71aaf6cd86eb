"""Names and sentences as they can be shown (a student may have chosen them), and those that stop a command."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

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


def filled(template: str, **facts: Any) -> str:
    """A page or a text of templates/, with these facts in it.

    In a page (.html.j2) every value that is not Markup is escaped, and nothing in it moves a cursor; in
    a text the filter `p` does that.
    """
    return _environment(template.endswith(".html.j2")).get_template(template).render(facts)


@cache
def _environment(is_page: bool) -> Environment:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    made = Environment(loader=loader, autoescape=is_page, finalize=_harmless if is_page else None)
    made.filters |= {
        "p": printable,
        "counted": counted,
        "listed": listed,
        "g": "{:g}".format,
        "number": "{:.10g}".format,
    }
    return made


def _harmless(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class Trouble(Exception):
    """Why a command ends before its work is done; `autograder` prints it, and no traceback."""

    exit_status = 1

    def __str__(self) -> str:
        return "\n".join(map(printable, super().__str__().split("\n")))


class CannotWrite(Trouble):
    """Grades cannot be kept. Nothing was half-written."""


class NameTrouble(CannotWrite):
    """A student's name that no gradebook can hold: only this one submission is concerned."""


class Busy(Trouble):
    """Somebody else grades this course right now."""


# Words of a database or of the system, and what to do about them.
_SENTENCES = (
    (
        ("locked",),
        "Somebody else keeps {where} to themselves. Close what has it open (another grading, "
        "a database browser), then run the same command again: it goes on where it stopped.",
    ),
    (
        ("readonly", "read-only", "permission denied", "not permitted"),
        "You may read but not write {where}. Get the right to write, then grade again.",
    ),
    (
        ("is full", "no space", "quota"),
        "There is no room left for {where}. Make some, then run the same command again.",
    ),
    (
        ("no such column", "undefinedcolumn"),
        "An older nbgrader made {where}. Make a copy of it, then run `nbgrader db upgrade`.",
    ),
    (
        ("not a database", "malformed"),
        "A file is damaged: {where}. Put a copy of it back from your backup.",
    ),
)


def trouble_with(where: str, said: object) -> CannotWrite:
    """Why something could not be used or kept, from what the database or the system said of it."""
    for words, sentence in _SENTENCES:
        if any(word in str(said).lower() for word in words):
            return CannotWrite(sentence.format(where=where))
    return CannotWrite(
        f"There is trouble with {where}: {said}. Once it works, run the same command again."
    )
