"""Which answers of a class are alike enough to look at."""

from __future__ import annotations

import ast
import builtins
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

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

    likeness    0 … 1, of the two answers that are most alike
    exercises   (exercise, likeness) of all that are, most alike first
    statements  unusual statements that they share
    """

    first: str
    second: str
    likeness: float
    exercises: tuple[tuple[str, float], ...]
    statements: int

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
    made = []
    for pair, exercises in found.items():
        exercises.sort(key=lambda each: -each[1])
        if shared[pair] >= STATEMENTS:
            made.append(Alike(*pair, exercises[0][1], tuple(exercises), shared[pair]))
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
            head = copy(node)
            for name in {"body", "orelse", "finalbody", "name"} & {*node._fields}:
                setattr(head, name, [])
            with suppress(
                RecursionError, ValueError
            ):  # too deep, or a number too long to be written
                text = ast.dump(_Nameless().visit(head))
                if text.count("(") >= _SHORT:
                    found.add(text)
    return frozenset(found)


class _Nameless(ast.NodeTransformer):
    """Numbers in place of names, in their order, so that renaming changes nothing; "" in place of texts."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def _number(self, name: str) -> str:
        return self._names.setdefault(name, f"name {len(self._names)}")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return node if hasattr(builtins, node.id) else ast.Name(self._number(node.id))

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._number(node.arg))

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("" if isinstance(node.value, str | bytes) else node.value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        # What is kept on ctx has the name its author gave it; torch's own names tell something.
        if getattr(node.value, "id", "") in ("ctx", "self") and node.attr not in _OF_CTX:
            node.attr = self._number(f".{node.attr}")
        return self.generic_visit(node)


# ---- from a course to sources -------------------------------------------------------------------

Answers = dict[str, list[tuple[str, str]]]  # by student: (exercise's grade_id, source)


def read_answers(course: CourseDirectory, lesson: str, students: Iterable[str]) -> Answers:
    """What each of the students wrote into the cells of the exercises; nobody who is unreadable."""
    found: Answers = {}
    for student in students:
        folder = course.format_path(course.autograded_directory, student, lesson)
        try:
            text = Path(folder, f"{lesson}.ipynb").read_text(encoding="utf-8")
        except OSError:
            continue
        found[student] = list(_answers(text))
    return found


def seen_by_all(files: LessonFiles) -> dict[str, list[str]]:
    """By exercise: the stub that was released, and the solution, with its alternative beginnings."""
    lesson = read_lesson(files)
    return {
        name: [without_markers(text) for text in (lesson.released.get(name, ""), cell.source)]
        for name, cell in lesson.cells.items() if (role := lesson.roles.get(name)) and role.get("solution")
    }  # fmt: skip


def _answers(text: str) -> Iterator[tuple[str, str]]:
    """(grade_id, source) of the cells of a notebook that ask for an answer."""
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    for cell in cells:
        role = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and role.get("solution"):
            yield role["grade_id"], "".join(cell["source"])
