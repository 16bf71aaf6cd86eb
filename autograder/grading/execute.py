"""What `nbgrader autograde` and formgrader's buttons do in place of running cells: the same as `autograder grade`.

Nothing of a submission runs as the instructor, and whatever is kept is what `autograder grade` keeps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets import Bool, Enum, Float, List, Unicode

from autograder.grading.box import CannotStart, Limits
from autograder.grading.gradebook import Writer, alone
from autograder.grading.handed_in import HandedIn, known_lessons, lesson_files
from autograder.grading.lesson_building import Converted, CoursePreprocessor
from autograder.grading.marking import How
from autograder.grading.one_submission import grade
from autograder.grading.policy.objects import not_to_be_allowed
from autograder.grading.records import Seeds
from autograder.grading.sanitising import course_of, sanitise
from autograder.grading.words import Trouble
from autograder.learner.lesson import NoLesson


class ExecuteInBox(CoursePreprocessor):
    """Grades what was handed in as `autograder grade` does; the notebook that comes out is its."""

    unsafe = Bool(
        False, help="Run without a sandbox: only for submissions of people you trust"
    ).tag(config=True)
    device = Enum(("cpu", "cuda"), "cpu", help="Where exercises are checked").tag(config=True)
    run_tests = Bool(
        False,
        help="Also run graded cells that are no check(…), in the submission's own process, which "
        "could forge what they find. Without it they are graded by hand.",
    ).tag(config=True)
    seconds = Float(Limits().seconds, help="The most a submission may take").tag(config=True)
    allowed_imports = List(
        Unicode(),
        help='Modules, such as "pandas", or names in them, such as "torch.save", that nobody has to '
        "look at in a submission. What such a package does with text and files is not read.",
    ).tag(config=True)

    points_by_promise = Bool(
        False,
        help="Give an answer with right values and gradients that breaks another promise a share of the "
        "points, as many promises as it keeps.",
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        course = course_of(self)
        if course is None:
            raise NbGraderException("ExecuteInBox runs within `nbgrader autograde` only.")
        student, lesson = (resources["nbgrader"][one] for one in ("student", "assignment"))
        if resources["nbgrader"]["notebook"] != lesson:  # another one, for a person to read
            sanitise(nb, ())
            return nb, resources
        folder = Path(course.format_path(course.submitted_directory, student, lesson))
        how = How.given(self.device, self.unsafe, self.run_tests, self.seconds)
        try:
            files = lesson_files(course, lesson)
            handed_in = HandedIn(student, lesson, folder, known_lessons(course))
            result = grade(handed_in.read(), files, how_to_grade(course, lesson, how, self))
            if not result.notebook:
                raise NbGraderException(" ".join(result.reasons))
            with alone(course), Writer(course) as writer:
                result = writer.write(result, folder)
        except CannotStart as error:
            raise NbGraderException(
                f"Submissions cannot be run safely here: {error}. `autograder doctor` says more. For "
                "work of people you trust there is --ExecuteInBox.unsafe=True."
            ) from error
        except (Trouble, NoLesson) as error:
            raise NbGraderException(str(error)) from error
        return nbformat.reads(result.notebook, as_version=4), resources


def how_to_grade(
    course: CourseDirectory, lesson: str, how: How, settings: ExecuteInBox | None = None
) -> How:
    """With the lesson's seed and the class's settings. Raises ValueError for imports nobody can allow.

    settings  as nbgrader made them: its course was made before it read nbgrader_config.py
    """
    settings = settings or ExecuteInBox(config=course.config)
    allowed, by_promise = tuple(settings.allowed_imports), settings.points_by_promise
    for path in allowed:
        if why := not_to_be_allowed(path):
            raise ValueError(f"nbgrader_config.py: ExecuteInBox.allowed_imports: {path!r} {why}.")
    seed = Seeds(course.root).of(lesson)
    return replace(how, seed=seed, allowed=allowed, by_promise=by_promise)
