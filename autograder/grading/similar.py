"""Which answers of a class are alike enough to look at."""

from __future__ import annotations

import ast
import builtins
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory

from autograder.grading.lesson_building import without_markers
from autograder.learner.lesson import LessonFiles

AT_LEAST = 0.8  # likeness from which two answers to one exercise are shown
STATEMENTS = 4  # unusual statements that a pair must share, over all its exercises
_RUN = 6  # tokens
_SHORT = 6  # tokens; shorter statements (return x) are no evidence
_MOST = 12  # submissions; what more of them share is common however large the class is
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


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
    by_exercise: dict[str, dict[str, Answer]] = defaultdict(dict)
    for student in sorted(answers):
        for exercise, source in answers[student]:
            by_exercise[exercise][student] = Answer.of(source)
    found: dict[tuple[str, str], list[tuple[str, float, int]]] = defaultdict(list)
    for exercise, of_students in sorted(by_exercise.items()):
        known = [Answer.of(source) for source in (released or {}).get(exercise, ())]
        for pair, likeness, shared in _pairs(of_students, known):
            if likeness >= at_least:
                found[pair].append((exercise, likeness, shared))
    made = []
    for (first, second), exercises in found.items():
        shared = sum(count for _, _, count in exercises)
        ordered = tuple(sorted(((n, v) for n, v, _ in exercises), key=lambda e: (-e[1], e[0])))
        if shared >= STATEMENTS:
            made.append(Alike(first, second, ordered[0][1], ordered, shared))
    return sorted(made, key=lambda a: (-a.likeness, -a.statements, a.first, a.second))


@dataclass(frozen=True)
class Answer:
    """The features of one answer: whole statements (long enough to say something), and all."""

    statements: frozenset[int]
    features: frozenset[int]

    @classmethod
    def of(cls, source: str) -> Answer:
        statements, features = set(), set()
        for tokens in _statements(source):
            plain = ["name" if token.startswith("name:") else token for token in tokens]
            runs = range(max(1, len(tokens) - _RUN + 1))
            features |= {_hash(plain[i : i + _RUN]) for i in runs}
            if len(tokens) >= _SHORT:
                # Each name by the order in which names first stand here: renaming changes nothing.
                names = list(dict.fromkeys(t for t in tokens if t.startswith("name:")))
                statements.add(
                    _hash([f"name {names.index(t)}" if t in names else t for t in tokens])
                )
        return cls(frozenset(statements), frozenset(features | statements))


def _pairs(
    answers: Mapping[str, Answer], known: Sequence[Answer]
) -> Iterator[tuple[tuple[str, str], float, int]]:
    """(students, likeness, unusual statements in common) of those who share unusual statements.

    Likeness is the weight of what both have over the weight of what either has. A feature that half of
    a class has weighs nothing, and one that was released is in no answer.
    """
    seen = frozenset[int]().union(*(answer.features for answer in known))
    counts = Counter(f for answer in answers.values() for f in answer.features - seen)
    rare = max(3, min(_MOST, len(answers) // 20))  # in at most so many answers it is unusual
    weights = {
        feature: math.log1p(len(answers) / count)
        for feature, count in counts.items()
        if count <= max(rare, len(answers) / 2)
    }
    holders: dict[int, list[str]] = defaultdict(list)
    for student, answer in answers.items():
        for statement in answer.statements:
            if 2 <= counts[statement] <= rare:
                holders[statement].append(student)
    shared = Counter(pair for students in holders.values() for pair in combinations(students, 2))
    for pair, count in shared.items():
        a, b = (answers[student].features for student in pair)
        both, either = (sum(weights.get(f, 0.0) for f in each) for each in (a & b, a | b))
        yield pair, both / either if either else 0.0, count


# ---- from source to tokens -------------------------------------------------------------------


def _statements(source: str) -> Iterator[list[str]]:
    """The tokens of each statement, without those of the statements inside it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from (line.split() for line in source.splitlines() if line.strip())
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not _is_text(node):
            try:
                yield list(_tokens(node, top=True))
            except RecursionError:
                continue


def _is_text(node: ast.AST) -> bool:
    """A docstring, or any other text that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _tokens(node: ast.AST, top: bool = False) -> Iterator[str]:
    """The tree in order. A name becomes "name:…", for later; a text is a text whatever it says."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            own = isinstance(node, ast.arg) or not hasattr(builtins, name)
            yield f"name:{name}" if own else name
        case ast.Constant(value=value):
            yield "text" if isinstance(value, str | bytes) else repr(value)
        case ast.expr_context() | ast.alias():
            pass
        case _:
            yield from _inside(node, top)


def _inside(node: ast.AST, top: bool) -> Iterator[str]:
    yield type(node).__name__
    if isinstance(node, ast.Attribute):
        own = getattr(node.value, "id", "") in ("ctx", "self")
        # What is kept on ctx has the name its author gave it; torch's own names tell something.
        yield f"name:.{node.attr}" if own and node.attr not in _OF_CTX else node.attr
    elif isinstance(node, ast.keyword):
        yield str(node.arg)
    for name, value in ast.iter_fields(node):
        if top and name in _BODIES:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _tokens(child)


_OF_CTX = frozenset({
    "save_for_backward", "saved_tensors", "needs_input_grad", "mark_dirty", "set_materialize_grads",
    "mark_non_differentiable",
})  # fmt: skip


def _hash(tokens: Sequence[str]) -> int:
    return int.from_bytes(blake2b(" ".join(tokens).encode(), digest_size=8).digest(), "little")


Answers = dict[str, list[tuple[str, str]]]  # by student: (exercise's grade_id, source)


def read_answers(course: CourseDirectory, lesson: str, students: Iterable[str]) -> Answers:
    """What each of the students wrote into the cells of the exercises; nobody who is unreadable."""
    found: Answers = {}
    for student in students:
        folder = course.format_path(course.autograded_directory, student, lesson)
        cells = list(_answers(_cells(Path(folder, f"{lesson}.ipynb"))))
        if cells:
            found[student] = cells
    return found


def seen_by_all(files: LessonFiles) -> dict[str, list[str]]:
    """By exercise: the stub that was released, and the solution, with its alternative beginnings."""
    seen: dict[str, list[str]] = {}
    for text in (files.released, files.source):
        cells = json.loads(text)["cells"] if text else []
        for name, source in _answers(cells):
            seen.setdefault(name, []).append(without_markers(source))
    return seen


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads(path.read_bytes())["cells"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _answers(cells: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for cell in cells:
        role = cell.get("metadata", {}).get("nbgrader", {})
        if cell.get("cell_type") == "code" and role.get("solution"):
            source = cell.get("source", "")
            yield str(role.get("grade_id")), source if isinstance(source, str) else "".join(source)
