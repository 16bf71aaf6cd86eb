"""The gallery: wrong answers with the rule each deserves, and right answers written differently.

One file an exercise, ``tests/mistakes/<lesson>/<Exercise>.py``, in cells:

    # %% wrong[upstream-ignored]: returns the local derivative only
    # %% wrong[gradient-value|gradient-scale]: either of two rules is a fair root cause
    # %% right: the setup_context form
"""

from __future__ import annotations

import itertools
import linecache
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent
_HEADER = re.compile(
    r"^# %% (?:(?P<right>right)|wrong\[(?P<rules>[a-z0-9|-]+)\]): (?P<what>.+)$", re.MULTILINE
)
_counter = itertools.count()


@dataclass(frozen=True)
class Answer:
    """One answer of the gallery. ``rules`` is empty for a right one; the first is the deserved one."""

    lesson: str
    exercise: str
    what: str
    source: str
    rules: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        return not self.rules

    @property
    def id(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.what.lower()).strip("-")[:50]
        return f"{self.exercise}-{'right' if self.right else self.rules[0]}-{words}"

    def load(self) -> Any:
        """The submission: the source is run as a notebook cell would be."""
        return load(self.source, self.exercise)


def load(source: str, name: str) -> Any:
    """Run source with what a lesson's set-up cell gives, and return the object called ``name``."""
    file = f"<gallery {next(_counter)}>"
    # Tracebacks and the reports' "your line" read the source from here.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {
        "__name__": "__main__",
        "torch": torch,
        "Function": torch.autograd.Function,
    }
    exec(compile(source, file, "exec"), space)
    return space[name]


def parse(path: Path) -> list[Answer]:
    """The answers of one file; ValueError for a file without any."""
    text = path.read_text()
    heads = list(_HEADER.finditer(text))
    stray = [line for line in text.splitlines() if line.startswith("# %%")]
    if not heads or len(heads) != len(stray):
        raise ValueError(f"{path}: every cell needs '# %% wrong[rule]: what' or '# %% right: what'")
    answers = []
    for head, following in itertools.zip_longest(heads, heads[1:]):
        source = text[head.end() : following.start() if following else None].strip("\n") + "\n"
        rules = tuple(head["rules"].split("|")) if head["rules"] else ()
        answers.append(Answer(path.parent.name, path.stem, head["what"], source, rules))
    return answers


def answers(lesson: str | None = None) -> list[Answer]:
    """Every answer of the gallery, or of one lesson."""
    paths = sorted(HERE.glob(f"{lesson or '[0-9]*'}/*.py"))
    return [answer for path in paths for answer in parse(path)]
