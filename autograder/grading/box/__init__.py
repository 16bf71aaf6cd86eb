"""The box that submissions run in: bubblewrap around a warm process, and a wall for each submission.

``inside`` is what runs in the box; nothing else of the course is there but what answers questions
(``bundle``). The rest of this package stays outside.
"""

from autograder.grading.box.box import Box, CannotStart, trouble
from autograder.grading.box.job import Check, Job, Limits, Lost, Outcome, Run, Said, Walls

__all__ = [
    "Box", "CannotStart", "Check", "Job", "Limits", "Lost", "Outcome", "Run", "Said", "Walls", "trouble",
]  # fmt: skip
