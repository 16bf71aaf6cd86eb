"""How attacks are graded in these tests: as a batch grades, in one box that all cases share."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from autograder.grading import one_submission as work
from autograder.grading.box import Box, Limits, Outcome, Step, Walls
from autograder.grading.marking import Result
from autograder.grading.one_submission import How, Submission, grade
from autograder.running.program import Piece
from tests.grading.attacks.lesson import FULL, RIGHT, as_file, handed_in, lesson_files

SEED = 20_261_121
# Short, so that what never ends costs little; right answers take a hundredth of it.
LIMITS = Limits(cell_seconds=1.5, seconds=12.0, memory=512 * 2**20)
HOW = How(SEED, limits=LIMITS)


def graded(content: Any, how: How = HOW) -> Result:
    """The result for a notebook, given as bytes or as what stands in its file."""
    data = content if isinstance(content, bytes) else as_file(content)
    return grade(Submission("mallory", data), lesson_files(), how)


@cache
def undisturbed() -> Result:
    """What the honest neighbour gets where nobody attacks."""
    return grade(Submission("ada", as_file(handed_in(RIGHT))), lesson_files(), HOW)


def assert_neighbour_unharmed() -> None:
    """An honest notebook, graded in the same box right after, has all its points and looks the same."""
    before, now = undisturbed(), grade(
        Submission("ada", as_file(handed_in(RIGHT))), lesson_files(), HOW
    )  # fmt: skip
    assert now.score == FULL
    assert not now.reasons
    assert (now.marks, now.notebook, now.reasons) == (
        before.marks,
        before.notebook,
        before.reasons,
    )


def everything_in(result: Result) -> str:
    """All that a result says, as text: what an instructor or a learner may get to see."""
    return repr(result)


def the_box() -> Box:
    """The box that all of them are graded in."""
    undisturbed()
    return work._box(LIMITS, HOW.walls, HOW.device)


def run_in_the_box(source: str) -> Outcome:
    """Run text behind all walls, as if it were a part of an answer that nobody has read."""
    return the_box().run([Step((Piece("attack", source),))])


def said_in_the_box(source: str) -> str:
    """What text prints there; how it ended where it did not come to its end."""
    outcome = run_in_the_box(source)
    said = outcome.said(0)
    return said.text if said else f"was stopped: {outcome.lost[0]}"


def texts(result: Result) -> list[str]:
    """What the learner's own cells printed and how they stopped."""
    found = []
    for cell in json.loads(result.notebook)["cells"]:
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                found.append("".join(output["text"]))
            elif output["output_type"] == "error":
                found.append(f"{output['ename']}: {output['evalue']}")
    return found


__all__ = [
    "HOW",
    "LIMITS",
    "Walls",
    "assert_neighbour_unharmed",
    "everything_in",
    "graded",
    "run_in_the_box",
    "said_in_the_box",
    "texts",
    "the_box",
    "undisturbed",
]
