"""A course of two tiny lessons for tests: everything a lesson can have, runs in a second."""

from __future__ import annotations

import shutil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

START = """\
# %% [markdown]
# # Start here

# %% nbgrader={"grade_id": "setup", "locked": true}
print("hello")
"""

LESSON = '''\
# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Doubling
#
# Where $a<b$, $\\frac{a}{2} < \\frac{b}{2}$. Read <b>all</b> of it.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import latex2mathml
import uuid

# %% [markdown]
# ## Twice
#
# Write a function that doubles.

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(number):
    """Twice the number."""
    ### BEGIN SOLUTION
    first_addend, second_addend = number, number
    total = first_addend + second_addend
    return total if total == 2 * number else None
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "double-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
assert double(2) == 4, "2 doubled is 4"

# %% nbgrader={"grade": true, "grade_id": "double-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# The hidden checks of double run here when this notebook is graded.
### BEGIN HIDDEN TESTS
for unseen_number in (31, -7, 0.25):
    assert double(unseen_number) == unseen_number + unseen_number, "not for every number"
### END HIDDEN TESTS

# %% [markdown] tags=["solution-note"]
# Adding a number to itself doubles it, whatever kind of number it may be; a common mistake is to square.

# %% nbgrader={"grade": false, "grade_id": "demo-token", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("run", uuid.uuid4().hex)

# %% [markdown]
# ## Summary
#
# You can double.
'''

NAME = "01_doubling"


def write_mini_course(folder: Path, lesson: str = LESSON) -> Path:
    """A course folder with the two lessons and the repository's own nbgrader_config.py; not built."""
    (folder / "lessons").mkdir(parents=True)
    (folder / "lessons" / "00_start_here.py").write_text(START)
    (folder / "lessons" / f"{NAME}.py").write_text(lesson)
    shutil.copy(REPOSITORY / "nbgrader_config.py", folder)
    for module in ("build", "convert", "source", "stamp"):
        shutil.copy(REPOSITORY / "lessons" / f"{module}.py", folder / "lessons")
    return folder


def change_lesson(course: Path, old: str, new: str) -> None:
    """Replace a text in the lesson; the text must be there."""
    path = course / "lessons" / f"{NAME}.py"
    text = path.read_text()
    assert old in text, f"{old!r} is not in the lesson"
    path.write_text(text.replace(old, new))


def released_path(course: Path) -> Path:
    return course / "course" / NAME / f"{NAME}.ipynb"


def solved_path(course: Path) -> Path:
    return course / "solutions" / NAME / f"{NAME}.ipynb"
