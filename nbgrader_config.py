"""What nbgrader needs to know about this course; every nbgrader command and formgrader read it.

nbgrader's names are mapped to the course's folders: a lesson is an assignment. Notebooks in
build/source are made from lessons/*.py by `make build`; course/ is what nbgrader calls the release.
What protects the instructor (sanitised pages, nothing loaded from the internet) is switched on by
`configure`, listed in autograder/grading/config.toml.
"""

from pathlib import Path

from autograder.grading.config import configure

c = get_config()  # noqa: F821 - nbgrader puts it here

c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "backward-by-hand"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
c.CourseDirectory.solution_directory = "solutions"

configure(c)
