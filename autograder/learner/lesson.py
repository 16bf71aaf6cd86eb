"""A lesson as checking sees it, read from the source notebook and never from a submission."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType

import nbformat
from nbformat import NotebookNode

from autograder.contract.exercise import Exercise
from autograder.exercises import register, registered_exercises


class NoLesson(ValueError):
    """A lesson that is not there or cannot be graded; the message says what to do."""

    exit_status = 1


@dataclass(frozen=True)
class LessonFiles:
    """All that grading needs to know of a lesson, as text: it travels to other machines.

    source    the source notebook (with solutions and hidden tests), as JSON
    released  the notebook learners get, as JSON; "" where it is not known
    modules   an instructor's own modules that its cells import, by name: their text
    """

    name: str
    source: str
    released: str = ""
    modules: tuple[tuple[str, str], ...] = ()

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """A hash of all of it. It travels with the files, so that nobody has to find it out again."""
        parts = (self.name, self.source, self.released, *(t for pair in self.modules for t in pair))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class GradedCell:
    """A cell with points. exercise is "" where it is no `check(Name)`: then a person grades it."""

    grade_id: str
    points: float
    exercise: str = ""
    hidden: bool = False
    is_solution: bool = False


@dataclass(frozen=True)
class Lesson:
    """The cells of a lesson by what grading does with them."""

    name: str
    notebook: NotebookNode
    graded: dict[str, GradedCell] = field(default_factory=dict)
    roles: dict[str, NotebookNode] = field(default_factory=dict)
    released: dict[str, str] = field(default_factory=dict)

    @cached_property
    def cells(self) -> dict[str, NotebookNode]:
        """The lesson's own cells by grade_id."""
        return {name: cell for cell in self.notebook.cells if (name := grade_id_of(cell))}

    @cached_property
    def checks(self) -> dict[str, GradedCell]:
        """Its cells that are exactly a check, worth nothing: what is asked where nothing is graded."""
        found = {name: check_in(cell.source) for name, cell in self.cells.items()}
        return {name: GradedCell(name, 0.0, *asked) for name, asked in found.items() if asked[0]}

    @cached_property
    def texts(self) -> frozenset[str]:
        """The text of every cell, to know the lesson's own Markdown by."""
        return frozenset(cell.source for cell in self.notebook.cells)


def read_files(name: str, source: Path, released: Path | None = None) -> LessonFiles:
    """The files of a lesson."""
    text = source.read_text(encoding="utf-8")
    given = released.read_text(encoding="utf-8") if released and released.is_file() else ""
    cells = nbformat.reads(text, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    modules = [
        (file.stem, file.read_text(encoding="utf-8")) for file in sorted(source.parent.glob("*.py"))
        if re.search(rf"^[ \t]*(import|from)\b.*\b{re.escape(file.stem)}\b", code, re.M)
    ]  # fmt: skip
    return LessonFiles(name, text, given, tuple(modules))


def read_lesson(files: LessonFiles) -> Lesson:
    """The lesson of those files; its own modules are imported, so that their exercises are known."""
    for name, text in files.modules:
        _import_text(name, text)
    return _read_lesson(files)


@lru_cache(maxsize=16)
def _read_lesson(files: LessonFiles) -> Lesson:
    notebook = nbformat.reads(files.source, as_version=4)
    graded: dict[str, GradedCell] = {}
    roles = dict[
        str, NotebookNode
    ]()  # of what nbgrader's gradebook knows; a cell to try things in is nothing to it
    for cell in notebook.cells:
        name, role = grade_id_of(cell), NotebookNode(cell.metadata.get("nbgrader") or {})
        if name and any(role.get(kind) for kind in ("grade", "solution", "locked", "task")):
            roles[name] = role
        if name and role.get("grade"):
            exercise, hidden = ("", False) if role.get("solution") else check_in(cell.source)
            points = float(role.get("points", 0))
            graded[name] = GradedCell(name, points, exercise, hidden, bool(role.get("solution")))
    released = {}
    if files.released:
        cells = nbformat.reads(files.released, as_version=4).cells
        released = {name: cell.source for cell in cells if (name := grade_id_of(cell))}
    return Lesson(files.name, notebook, graded, roles, released)


def check_in(source: str) -> tuple[str, bool]:
    """(exercise, hidden) of a cell that is exactly one `check(Name, …)`; ("", False) for another.

    The cell is read, not run: what decides never executes a notebook's text.
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return "", False
    match statements:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Name(name)], more))]:
            match more:
                case []:
                    return name, False
                case [ast.keyword("hidden", ast.Constant(hidden))]:
                    return name, bool(hidden)
    return "", False


def grade_id_of(cell: NotebookNode) -> str:
    """The name nbgrader's metadata gives a cell; "" where there is none."""
    role = cell.metadata.get("nbgrader")
    name = role.get("grade_id") if isinstance(role, dict) else None
    return name if isinstance(name, str) else ""


def _import_text(name: str, text: str) -> None:
    """Import an instructor's module from its text; two lessons may have different ones of one name."""
    known = sys.modules.get(name)
    if known is not None and not hasattr(known, "__autograder_text__"):
        return  # it is importable here anyway
    module, exercises = _module(name, text)
    sys.modules[name] = module
    registered = registered_exercises()
    for exercise in exercises:
        if registered.get(exercise.name) is not exercise:
            register(exercise)


@lru_cache(maxsize=64)
def _module(name: str, text: str) -> tuple[ModuleType, tuple[Exercise, ...]]:
    """A module run from its text, once, and the exercises that it registers."""
    module = ModuleType(name)
    module.__dict__["__autograder_text__"] = text
    before = registered_exercises()
    sys.modules[name] = module
    try:
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    except Exception as error:
        raise NoLesson(
            f"{name}.py, which the lesson imports, stops with {type(error).__name__}: {error}"
        ) from error
    after = registered_exercises().items()
    return module, tuple(one for known_as, one in after if before.get(known_as) is not one)
