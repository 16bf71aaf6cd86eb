"""Which answers of a class are alike enough to look at."""

from __future__ import annotations

import ast
import builtins
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.lesson_building import without_markers
from autograder.learner.lesson import LessonFiles, read_lesson

AT_LEAST = 0.8  # likeness from which two answers to one exercise are shown
STATEMENTS = 4  # unusual statements that a pair must share, over all its exercises
_SHORT = (
    6  # nodes of a statement's tree, or words of a line; a shorter one (return x) is no evidence
)
_MOST = 12  # submissions; what more of them share is common however large the class is
_OF_CTX = frozenset({
    "save_for_backward", "saved_tensors", "needs_input_grad", "mark_dirty", "set_materialize_grads",
    "mark_non_differentiable",
})  # fmt: skip


@dataclass(frozen=True)
class Alike:
    """Two students whose answers are alike.

    exercises   (exercise, likeness from 0 to 1) of all that are, most alike first
    statements  unusual statements that they share
    """

    first: str
    second: str
    exercises: tuple[tuple[str, float], ...]
    statements: int

    @property
    def likeness(self) -> float:
        """Of the two answers that are most alike."""
        return self.exercises[0][1]

    def __str__(self) -> str:
        named = ", ".join(f"{name} ({100 * value:.0f} %)" for name, value in self.exercises)
        return (
            f"{self.first} and {self.second}: {named}, with {self.statements} unusual statements in "
            "common."
        )


def alike(
    answers: Mapping[str, Sequence[tuple[str, str]]],
    released: Mapping[str, Sequence[str]] | None = None,
    at_least: float = AT_LEAST,
) -> list[Alike]:
    """The pairs of students to look at, most alike first.

    answers   {student: [(exercise, source), …]}; the last source of an exercise counts
    released  {exercise: [source, …]} that everybody has seen: stubs, and the model solutions
    """
    by_exercise: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for student in sorted(answers):
        for exercise, source in answers[student]:
            by_exercise[exercise][student] = statements_of(source)
    found: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    shared = Counter[tuple[str, str]]()
    for exercise, of_students in sorted(by_exercise.items()):
        known = map(statements_of, (released or {}).get(exercise, ()))
        for pair, likeness, count in _pairs(of_students, frozenset[str]().union(*known)):
            if likeness >= at_least:
                found[pair].append((exercise, likeness))
                shared[pair] += count
    made = [
        Alike(*pair, tuple(sorted(exercises, key=lambda each: -each[1])), shared[pair])
        for pair, exercises in found.items() if shared[pair] >= STATEMENTS
    ]  # fmt: skip
    return sorted(made, key=lambda a: (-a.likeness, -a.statements, a.first, a.second))


def _pairs(
    answers: Mapping[str, frozenset[str]], known: frozenset[str]
) -> Iterator[tuple[tuple[str, str], float, int]]:
    """(students, likeness, unusual statements in common) of those who share unusual statements.

    Likeness is the weight of what both have over the weight of what either has. A statement that half of
    a class has weighs nothing, and one that everybody knows is in no answer.
    """
    counts = Counter(one for statements in answers.values() for one in statements - known)
    rare = max(3, min(_MOST, len(answers) // 20))  # in at most so many answers it is unusual
    weights = Counter({
        statement: math.log1p(len(answers) / count) for statement, count in counts.items()
        if count <= max(rare, len(answers) / 2)
    })  # fmt: skip
    holders: dict[str, list[str]] = defaultdict(list)
    for student, statements in answers.items():
        for statement in statements:
            if 2 <= counts[statement] <= rare:
                holders[statement].append(student)
    shared = Counter(pair for students in holders.values() for pair in combinations(students, 2))
    for (a, b), count in shared.items():
        both, either = answers[a] & answers[b], answers[a] | answers[b]
        yield (
            (a, b),
            math.fsum(weights[s] for s in both) / math.fsum(weights[s] for s in either),
            count,
        )


# ---- from source to statements ----------------------------------------------------------------


def statements_of(source: str) -> frozenset[str]:
    """An answer's statements, without those inside them and without the names that its author chose."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(line for line in source.splitlines() if len(line.split()) >= _SHORT)
    found = set()
    for node in nodes:
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            for name in _INSIDE & {*node._fields}:
                setattr(node, name, [])
            _number_names(node)
            with suppress(
                RecursionError, ValueError
            ):  # too deep, or a number too long to be written
                text = ast.dump(node)
                if text.count("(") >= _SHORT:
                    found.add(text)
    return frozenset(found)


# What stands inside of a statement, and the name that it gives.
_INSIDE = {"body", "orelse", "finalbody", "handlers", "cases", "name"}


def _number_names(statement: ast.AST) -> None:
    """Numbers in place of names, in their order, so that renaming changes nothing; "" in place of texts."""
    numbers: defaultdict[str, str] = defaultdict(lambda: f"name {len(numbers)}")
    for node in ast.walk(statement):
        match node:
            case ast.Name(name) if not hasattr(builtins, name):
                node.id = numbers[name]
            case ast.arg(name):
                node.arg = numbers[name]
            # What is kept on ctx has the name its author gave it; torch's own names tell something.
            case ast.Attribute(ast.Name("ctx" | "self"), name) if name not in _OF_CTX:
                node.attr = numbers[f".{name}"]
            case ast.Constant(str() | bytes()):
                node.value = ""


# ---- from a course to sources -------------------------------------------------------------------

Answers = dict[str, list[tuple[str, str]]]  # by student: (exercise's grade_id, source)


def read_answers(course: CourseDirectory, lesson: str, students: Iterable[str]) -> Answers:
    """What each of the students wrote into the cells of the exercises; nobody who is unreadable."""
    found: Answers = {}
    for student in students:
        folder = course.format_path(course.autograded_directory, student, lesson)
        with suppress(OSError):
            cells = json.loads(Path(folder, f"{lesson}.ipynb").read_text("utf-8"))["cells"]
            roles = [(cell, cell["metadata"].get("nbgrader", {})) for cell in cells]
            found[student] = [
                (role["grade_id"], "".join(cell["source"])) for cell, role in roles
                if cell["cell_type"] == "code" and role.get("solution")
            ]  # fmt: skip
    return found


def seen_by_all(files: LessonFiles) -> dict[str, list[str]]:
    """By exercise: the stub that was released, and the solution, with its alternative beginnings."""
    lesson = read_lesson(files)
    return {
        name: [without_markers(text) for text in (lesson.released.get(name, ""), cell.source)]
        for name, cell in lesson.cells.items() if (role := lesson.roles.get(name)) and role.get("solution")
    }  # fmt: skip
