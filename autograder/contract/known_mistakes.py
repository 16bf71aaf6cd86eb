"""Known mistakes: wrong code that learners really write, and right answers in other styles.

They stand in one file beside the exercise, as text in cells that nothing here runs:

    # %% wrong[upstream-ignored]: returns the local derivative only
    class MySigmoid(Function): ...

    # %% wrong[gradient-value|gradient-scale]: uses x where the output is meant
    # says: The slope is taken to be x · (1 − x): the formula of the output, applied to the input.
    # next: y · (1 − y) is meant with y = σ(x). Save y, or compute it from x first.
    class MySigmoid(Function): ...

    # %% right: the setup_context form
    class MySigmoid(Function): ...

``says`` and ``next`` are the headline and the next step for who makes this mistake, where the general
words are not enough.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

_HEAD = re.compile(
    r"^# %% (?:(?P<right>right)|wrong\[(?P<rules>[a-z0-9|-]+)\]): (?P<what>.+)\n"
    r"(?:# says: (?P<says>.+)\n)?(?:# next: (?P<next>.+)\n)?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Answer:
    """One answer to an exercise.

    what    says in a few words what is special about it
    rules   the rules that a wrong one deserves, the fairest first; empty for a right one
    says    the headline for who makes this mistake; "" where the general words are enough
    next    the next step
    line    the line of the file in which its code begins
    """

    exercise: str
    what: str
    source: str
    rules: tuple[str, ...] = ()
    says: str = ""
    next: str = ""
    line: int = 0

    @property
    def right(self) -> bool:
        return not self.rules

    @property
    def id(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.what.lower()).strip("-")[:50]
        return f"{self.exercise}-{'right' if self.right else self.rules[0]}-{words}"


def read_answers(given: Path | str, exercise: str) -> list[Answer]:
    """The answers of one file, or of its text; ValueError where there is none, or a cell of another form."""
    text, path = (given, exercise) if isinstance(given, str) else (given.read_text("utf-8"), given)
    heads = list(_HEAD.finditer(text))
    stray = [line for line in text.splitlines() if line.startswith("# %%")]
    if not heads or len(heads) != len(stray):
        raise ValueError(f"{path}: every cell needs '# %% wrong[rule]: what' or '# %% right: what'")
    answers = []
    for head, following in itertools.zip_longest(heads, heads[1:]):
        source = text[head.end() : following.start() if following else None].strip("\n") + "\n"
        rules = tuple(head["rules"].split("|")) if head["rules"] else ()
        line = text[: head.end()].count("\n") + 1
        answers.append(
            Answer(
                exercise, head["what"], source, rules, head["says"] or "", head["next"] or "", line
            )
        )
    return answers
