"""What takes the place of nbgrader's own Execute and SaveAutoGrades: answers run in the box.

With these, `nbgrader autograde` and the buttons of formgrader give the scores that `autograder grade`
gives, and nothing of a submission runs as the instructor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveAutoGrades
from traitlets import Bool, Enum, Float, List, TraitError, Unicode, validate

from autograder.grading.box import CannotStart, Limits, Walls
from autograder.grading.handed_in import HandedIn, known_lessons, lesson_files
from autograder.grading.lesson_building import Converted, CoursePreprocessor
from autograder.grading.limits import TooMuch, bounded
from autograder.grading.one_submission import How, content_hash, mark_in_box
from autograder.grading.policy.objects import not_to_be_allowed
from autograder.grading.records import Records, Seeds
from autograder.grading.result import Result
from autograder.grading.sanitising import course_of
from autograder.grading.waiting import lines_of, note_for_person, show_acceptance, with_verdicts
from autograder.learner.lesson import NoLesson, read_lesson
from autograder.learner.seen_outputs import seen_below
from autograder.learner.submitted_notebook import Lessons

WAITING = "autograder_waiting"  # in resources: the cells a person has to grade


class RightNotebook(CoursePreprocessor):
    """Stops where the notebook of another lesson was handed in: its 0 points would be no verdict."""

    _known: Lessons | None = None  # what the course's lessons are known by, once they were read

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        course = course_of(self)
        if course is None:
            return nb, resources
        if self._known is None:
            self._known = known_lessons(course)
        submission = _handed_in(course, resources, self._known).read()
        if submission.data is None:
            raise NbGraderException(submission.trouble or "There is no notebook any more.")
        return nb, resources


class KeepWhatWasSeen(CoursePreprocessor):
    """Of the outputs below cells only text and pictures stay; graded cells get theirs anew."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> Converted:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = seen_below(cell.get("outputs")), None
        return cell, resources


class ExecuteInBox(CoursePreprocessor):
    """Runs what a submission's answers need in a sandbox and judges it outside."""

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

    @validate("allowed_imports")
    def _can_be_allowed(self, proposal: Any) -> list[str]:
        for path in proposal["value"]:
            why = not_to_be_allowed(path)
            if why is not None:
                raise TraitError(f"ExecuteInBox.allowed_imports: {path!r} {why}.")
        return list(proposal["value"])

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        course = course_of(self)
        if course is None:
            raise NbGraderException("ExecuteInBox runs within `nbgrader autograde` only.")
        student, name = (resources["nbgrader"][one] for one in ("student", "assignment"))
        walls = Walls.none() if self.unsafe else Walls()
        root = Path(course.root)
        try:
            files = lesson_files(course, name)
            lesson = read_lesson(files)
            seed, limits = Seeds(root).of(name), Limits(seconds=self.seconds)
            allowed = tuple(self.allowed_imports)
            how = How(seed, self.device, limits, walls, self.run_tests, allowed)
            with bounded() as bound:
                marked = mark_in_box(nb, lesson, how, bound)
        except TooMuch as error:
            raise NbGraderException(f"Judging this notebook takes {error}.") from error
        except CannotStart as error:
            raise NbGraderException(
                f"Submissions cannot be run safely here: {error}. `autograder doctor` says more. For "
                "work of people you trust there is --ExecuteInBox.unsafe=True."
            ) from error
        except NoLesson as error:
            raise NbGraderException(str(error)) from error
        if marked.reasons:
            nb.cells.insert(0, note_for_person(marked.reasons, marked.part))
        result = Result(
            student, name, "", tuple(marked.marks), reasons=tuple(marked.reasons),
            content=content_hash(_handed_in(course, resources).read(), files, how),
        )  # fmt: skip
        if Records(root).acceptance(result) is not None:
            accepted = with_verdicts(result)
            show_acceptance(nb, accepted.marks, lines_of(result))
            result = accepted
        resources[WAITING] = {m.grade_id for m in result.marks if m.points is None}
        return nb, resources


def _handed_in(course: CourseDirectory, resources: Any, known: Lessons | None = None) -> HandedIn:
    student, lesson = (resources["nbgrader"][one] for one in ("student", "assignment"))
    folder = Path(course.format_path(course.submitted_directory, student, lesson))
    return HandedIn(student, lesson, folder, known)


def allowed_imports(course: CourseDirectory) -> tuple[str, ...]:
    """What a class may import beside what everybody may. Raises ValueError for what it cannot."""
    try:
        return tuple(ExecuteInBox(config=course.config).allowed_imports)
    except TraitError as error:
        raise ValueError(f"nbgrader_config.py: {error}") from error


class SaveGrades(SaveAutoGrades):
    """nbgrader's own, which cannot say of a code cell that a person has to look at it."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Converted:
        self._waiting = resources.get(WAITING, set())
        result: Converted = super().preprocess(nb, resources)
        return result

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        super()._add_score(cell, resources)
        if cell.metadata["nbgrader"]["grade_id"] in self._waiting:
            grade = self.gradebook.find_grade(
                cell.metadata["nbgrader"]["grade_id"], self.notebook_id, self.assignment_id,
                self.student_id,
            )  # fmt: skip
            grade.auto_score = None
            grade.needs_manual_grade = True
            self.gradebook.db.commit()
