"""Whether the box holds on this machine: tried, not guessed."""

from __future__ import annotations

from autograder.grading.box.box import Box, CannotStart
from autograder.grading.box.job import Job, Run
from autograder.grading.box.limits import Walls


def trouble(walls: Walls | None = None) -> str:
    """Why no submission can be run behind these walls (all of them) here; "" where one was run."""
    try:
        with Box(walls=walls) as box:
            outcome = box.run(Job((Run("hello", "print('hello')"),)))
    except CannotStart as error:
        return str(error)
    works = 0 in outcome.said and outcome.said[0].text == "hello\n"
    return "" if works else f"nothing ran: {outcome.lost.get(0)}"
