"""The solutions to measure: the lessons' own, and the gallery's first right answer where a lesson has none."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.exercises import all_exercises
from lessons.source import Lesson, read_lesson
from tests.mistakes.gallery import answers

LESSONS = Path(__file__).parents[1] / "lessons"
# What a solution never needs; importing them takes seconds, and widgets want a notebook.
NOT_NEEDED = {"autograder", "widgets", "matplotlib", "sklearn"}


@dataclass(frozen=True)
class Solution:
    """One exercise's solution: a Function class, a function or a context manager."""

    name: str
    lesson: str
    loaded: Any
    source: str  # in words, for the table

    @property
    def call(self) -> Any:
        """What a caller calls: apply of a Function, the thing itself otherwise."""
        return getattr(self.loaded, "apply", self.loaded)


def find_solutions() -> tuple[list[Solution], list[str]]:
    """All solutions there are, in the order of the course, and the exercises that have none yet."""
    right: dict[str, Any] = {}
    for answer in answers():
        if answer.right:
            right.setdefault(answer.exercise, answer)
    spaces: dict[str, dict[str, Any]] = {}
    found, missing = [], []
    for name, exercise in all_exercises().items():
        lesson = exercise.lesson
        if lesson not in spaces:
            spaces[lesson] = solutions_of(LESSONS / f"{lesson}.py")
        if name in spaces[lesson]:
            found.append(Solution(name, lesson, spaces[lesson][name], "the lesson"))
        elif name in right:
            found.append(Solution(name, lesson, right[name].load(), "the gallery"))
        else:
            missing.append(name)
    return found, missing


def solutions_of(path: Path) -> dict[str, Any]:
    """What the solution cells of a lesson define, {} for a lesson that is not there."""
    if not path.exists():
        return {}
    lesson = read_lesson(path)
    imported: dict[str, Any] = {"__name__": f"solutions_of_{lesson.name}"}
    exec(compile(_imports_and_helpers(lesson), f"{path} (helpers)", "exec"), imported)
    space = dict(imported)
    for cell in lesson.notebook.cells:
        if cell.cell_type == "code" and cell.metadata["nbgrader"]["solution"]:
            exec(compile(cell.source, f"{path} ({cell['id']})", "exec"), space)
    return {name: value for name, value in space.items() if name not in imported}


def _imports_and_helpers(lesson: Lesson) -> ast.Module:
    """Imports and plain functions of the cells that are no solutions; defining them runs nothing."""
    statements: list[ast.stmt] = []
    for cell in lesson.notebook.cells:
        if cell.cell_type == "code" and not cell.metadata["nbgrader"]["solution"]:
            statements += [s for s in ast.parse(cell.source).body if _is_harmless(s)]
    return ast.Module(statements, type_ignores=[])


def _is_harmless(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return not statement.decorator_list and not statement.args.defaults
    if isinstance(statement, ast.Import):
        modules = {alias.name for alias in statement.names}
    elif isinstance(statement, ast.ImportFrom):
        modules = {statement.module or ""}
    else:
        return False
    return not {module.split(".")[0] for module in modules} & NOT_NEEDED
