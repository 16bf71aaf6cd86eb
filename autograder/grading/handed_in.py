"""Finds what was handed in, as nbgrader collects it, and reads it without trusting it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.course import how_to_prepare
from autograder.grading.kept_files import NotPlain, read_plain
from autograder.grading.one_submission import Submission
from autograder.grading.processes import TooMuch, bounded
from autograder.grading.words import listed, shown, the_names
from autograder.learner.lesson import LessonFiles, NoLesson, read_files
from autograder.learner.submitted_notebook import LARGEST, Lessons

MOST_LOOKED_AT = 2000  # entries of one folder of submitted/, with all that is in it
DEEPEST = 5  # folders within one another
MOST_NAMED = 5  # notebooks in one sentence
SECONDS_TO_RECOGNISE = 20.0
_HIDDEN = (".", "__")  # checkpoints, and what archives leave


@dataclass(frozen=True)
class HandedIn:
    """One student's folder for one lesson.

    known  the course's lessons, to notice the notebook of another one; None: nobody looks
    """

    student: str
    lesson: str
    folder: Path
    known: Lessons | None = field(default=None, compare=False, repr=False)

    def read(self, path: Path | None = None) -> Submission:
        """The notebook's bytes; an ordinary file only, so that a link leads to nobody else's work.

        path  another notebook than that of the lesson's name
        """
        path = path or self.folder / f"{self.lesson}.ipynb"
        try:
            data = read_plain(path, LARGEST)
            with bounded(SECONDS_TO_RECOGNISE, None):
                other = self.known.of(data) if self.known else ""
        except FileNotFoundError:
            why = self._instead()
        except NotPlain as error:
            why = f"{path.name} {error}."
        except TooMuch as error:
            why = f"Recognising {path.name} takes {error}."
        else:
            if other in ("", self.lesson):
                return Submission(self.student, data)
            why = (
                f"{path.name} is the notebook of {other}, not of {self.lesson}. Put the right one in "
                "its place and grade again."
            )
        return Submission(self.student, None, why)

    def _instead(self) -> str:
        """What to do with the notebooks that are there in place of the lesson's own; "" for none."""
        wanted = f"{self.lesson}.ipynb"
        there = [path.relative_to(self.folder) for path in notebooks_in(self.folder)]
        if not there:
            return ""
        names = listed([f"`{shown(path)}`" for path in there], MOST_NAMED)
        return (
            f"There is no {wanted} in what was handed in, but {names}. Make the right one {wanted}, and "
            "grade again."
        )


@dataclass(frozen=True)
class Misplaced:
    """What in submitted/ is not graded: a notebook where none is looked for, or a folder that cannot be taken.

    path     from the course's folder
    belongs  where it seems to belong, from there too; STUDENT or LESSON where that cannot be told
    spare    it lies with the lesson's own notebook, which is graded: nothing is lost
    why      what is to be done with a folder that is in its place
    """

    path: str
    student: str | None
    lesson: str | None
    belongs: str
    spare: bool = False
    why: str = ""

    def __str__(self) -> str:
        if self.spare:
            return f"{shown(self.path)}: not read; {shown(self.belongs)} is what is graded"
        return f"{shown(self.path)}: {self.why or f'belongs in {shown(self.belongs)}'}"

    def as_data(self) -> dict[str, object]:
        """For scripts."""
        return {
            "state": "spare" if self.spare else "misplaced", "path": self.path,
            "belongs_in": self.belongs, "why": self.why,
        }  # fmt: skip


def find(course: CourseDirectory, lesson: str, student: str | None = None) -> list[HandedIn]:
    """What was handed in for a lesson, by student; of one student only where one is named."""
    known = known_lessons(course)
    found = (
        HandedIn(who, lesson, folder, known) for folder, who in _folders(course, lesson)
        if student in (None, who) and not _why_not(folder, who)
    )  # fmt: skip
    return sorted(found, key=lambda one: one.student)


def find_misplaced(course: CourseDirectory, students: Collection[str] = ()) -> list[Misplaced]:
    """The notebooks in submitted/ that are at no place where one is looked for, and folders that nobody can
    take, by path.

    students  names that may stand in the name of a file. Links are named and never followed.
    """
    lessons, step = lesson_names(course), course.submitted_directory
    root = Path(course.format_path(step, ".", "."))
    if not lessons or not root.is_dir():
        return []
    known = known_lessons(course)
    places = {
        folder: (who, lesson) for lesson in lessons for folder, who in _folders(course, lesson)
    }
    found = [
        Misplaced(at := os.path.relpath(folder, course.root), *whose, at, why=why)
        for folder, whose in places.items() if (why := _why_not(folder, whose[0]))
    ]  # fmt: skip
    student: str | None
    lesson: str | None
    for path in (path for each in root.iterdir() for path in notebooks_in(each)):
        inside = next((p for p in path.parents if p in places), None)
        if inside:
            student, lesson = places[inside]
            source = Path(course.format_path(course.source_directory, ".", lesson), path.name)
            # Where the lesson's own is missing, reading says what is there in its place.
            is_own = path.parent == inside and source.is_file()
            if is_own or not os.path.lexists(inside / f"{lesson}.ipynb"):
                continue
            place = inside
        else:
            student, lesson = _guess(path.relative_to(root), lessons, students)
            of = lesson or known.of(HandedIn("", "", path.parent).read(path).data or b"")
            lesson = of if of in lessons else None
            place = Path(course.format_path(step, student or "STUDENT", lesson or "LESSON"))
        belongs = os.path.relpath(place / f"{lesson or 'LESSON'}.ipynb", course.root)
        at = os.path.relpath(path, course.root)
        found.append(Misplaced(at, student, lesson, belongs, bool(inside)))
    return sorted(found, key=lambda one: one.path)


def lessons_handed_in(course: CourseDirectory) -> list[str]:
    """The lessons for which there is a source notebook and somebody handed something in."""
    return [
        name for name in lesson_names(course)
        if not all(_why_not(*each) for each in _folders(course, name))
    ]  # fmt: skip


def lesson_names(course: CourseDirectory) -> list[str]:
    """The lessons there is a source folder of."""
    root = Path(course.format_path(course.source_directory, ".", "."))
    return sorted(p.name for p in root.iterdir() if p.is_dir()) if root.is_dir() else []


def lesson_files(course: CourseDirectory, name: str) -> LessonFiles:
    """A lesson's source and released notebook. Raises NoLesson."""
    source, released = (
        Path(course.format_path(step, ".", name), f"{name}.ipynb")
        for step in (course.source_directory, course.release_directory)
    )
    if "/" in name or name in ("", ".", ".."):
        raise NoLesson(f"{name!r} is no name of a lesson.")
    others = lesson_names(course)
    if others and name not in others:
        raise NoLesson(f"There is no lesson {name}. {the_names('lessons', name, others)}")
    if not source.is_file():
        raise NoLesson(
            f"There is no source notebook of {name} ({source}). {how_to_prepare(course)}"
        )
    return read_files(name, source, released)


def known_lessons(course: CourseDirectory) -> Lessons:
    """What the course's lessons are known by; a first one without exercises is only released."""
    files = {}
    for step in (course.release_directory, course.source_directory):
        root = Path(course.format_path(step, ".", "."))
        for path in root.glob("*/*.ipynb"):
            if path.stem == path.parent.name and path.is_file():
                files[path.stem] = path.read_bytes()
    return Lessons(files)


def notebooks_in(place: Path) -> list[Path]:
    """The notebooks anywhere in a folder, within bounds (or one itself); links are never followed."""
    if not place.is_dir() or place.is_symlink():
        is_one = place.name.lower().endswith(".ipynb") and not place.name.startswith(".")
        return [place] if is_one else []
    found, left = [], MOST_LOOKED_AT
    for inside, folders, names in os.walk(place):
        deep = len(Path(inside).relative_to(place).parts) >= DEEPEST
        folders[:] = [name for name in folders if not deep and not name.startswith(_HIDDEN)]
        there = [name for name in names[:left] if name.lower().endswith(".ipynb")]
        found += [Path(inside, name) for name in there if not name.startswith(_HIDDEN)]
        left -= len(folders) + len(names)
        if left <= 0:
            break
    return sorted(found)


def _guess(
    path: Path, lessons: Sequence[str], students: Collection[str]
) -> tuple[str | None, str | None]:
    """Whose notebook for which lesson that may be, by the names of its folders and its own."""
    of = {part: _lesson_like(part, lessons) for part in (path.stem, *path.parent.parts)}
    lesson = next(filter(None, of.values()), None)
    for folder in path.parent.parts:
        if not of[folder]:
            return folder, lesson
    rest = path.stem.replace(lesson or "\0", "").strip(" _-.()")
    named = (rest, path.stem, *re.split(r"[^\w-]+|_", rest))
    return next((name for name in named if name in students), None), lesson


def _lesson_like(name: str, lessons: Sequence[str]) -> str | None:
    """The lesson of a name, or of one much like it."""
    name, low = name.casefold(), {lesson.casefold(): lesson for lesson in lessons}
    inside = [one for one in low if one in name]
    like = inside or difflib.get_close_matches(name, low, n=1, cutoff=0.75)
    return low.get(name) or (low[like[0]] if like else None)


def _folders(course: CourseDirectory, lesson: str) -> Iterator[tuple[Path, str]]:
    """The folders at the places of submissions for a lesson, and whose each is."""
    step = course.submitted_directory
    pattern = Path(course.format_path(step, "*", lesson))
    whole = re.compile(course.format_path(step, "([^/]+)", re.escape(lesson), escape=True))
    for folder in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        match = whole.fullmatch(str(folder))
        if match and folder.is_dir():
            yield folder, match[1]


def _why_not(folder: Path, student: str) -> str:
    """Why a folder cannot be graded, and what to do; "" where it can. No link is followed, wherever it leads."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return "is a link, or lies in one, and is not followed: put the folder itself in its place"
    try:
        student.encode()
    except UnicodeEncodeError:
        return "has a name that is no valid text: rename the folder"
    return ""
