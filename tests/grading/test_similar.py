"""Copied answers are shown whatever they are dressed as; honest ones that agree are not."""

import ast
import json
import random
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from autograder.grading import similar
from autograder.grading.similar import Alike, alike, statements_of
from tests.mistakes.gallery import answers

ROOT = Path(__file__).parents[2]
# Right answers of the gallery that were written by changing one another: alike, and rightly shown.
RELATED = {
    ("FlashAttention-right-tiles-of-keys-outside-in-backward-no-tile-skipped",
     "FlashAttention-right-tiles-of-queries-outside-tiles-of-keys-inside"),
}  # fmt: skip


@cache
def released() -> dict[str, list[str]]:
    """What everybody has seen: released stubs and model solutions, by exercise."""
    found = defaultdict(list)
    for path in [*ROOT.glob("course/*/*.ipynb"), *ROOT.glob("solutions/*/*.ipynb")]:
        for cell in json.loads(path.read_text())["cells"]:
            source = "".join(cell["source"])
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                for name in re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE):
                    found[name].append(source)
    return found


@cache
def right() -> dict[str, list[tuple[str, str]]]:
    """(id, source) of the right answers, by exercise."""
    found = defaultdict(list)
    for answer in answers():
        if answer.right:
            found[answer.exercise].append((answer.id, answer.source))
    return found


class _Renamer(ast.NodeTransformer):
    """Renames whatever a source itself names, and keeps what it only uses."""

    def __init__(self, tree: ast.AST, keep: str):
        own = {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} - {"ctx", "self"}
        self.names = {name: f"my_{i}" for i, name in enumerate(sorted(own - {keep}))}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.get(node.arg, node.arg)
        return node


def renamed(source: str, exercise: str) -> str:
    """With other names, and without comments or the author's formatting."""
    tree = ast.parse(source)
    return ast.unparse(_Renamer(tree, exercise).visit(tree))


def commented(source: str) -> str:
    """With other comments, docstrings and empty lines."""
    lines = [
        f"{line}  # line {i}\n"
        for i, line in enumerate(ast.unparse(ast.parse(source)).splitlines())
    ]
    return '"""All my own work."""\n\n' + "\n".join(lines)


def reordered(source: str) -> str:
    """With methods in another order, and neighbouring assignments exchanged."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        if isinstance(node, ast.ClassDef):
            body.reverse()
        for i in range(0, len(body) - 1, 2):
            if isinstance(body[i], ast.Assign) and isinstance(body[i + 1], ast.Assign):
                body[i], body[i + 1] = body[i + 1], body[i]
    return ast.unparse(tree)


def with_a_print(source: str) -> str:
    """With one more statement in each function."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0, ast.parse("print('here I am', 12345)").body[0])
    return ast.unparse(tree)


def dressed(source: str, exercise: str) -> str:
    return commented(with_a_print(reordered(renamed(source, exercise))))


DRESSES = {
    "as it is": lambda source, exercise: source,
    "renamed": renamed,
    "commented": lambda source, exercise: commented(source),
    "reordered": lambda source, exercise: reordered(source),
    "all of it": dressed,
}


def names(found: list[Alike]) -> set[tuple[str, str]]:
    return {(a.first, a.second) for a in found}


def test_honest_right_answers_are_not_shown():
    pairs = 0
    for exercise, of_exercise in right().items():
        found = alike({id: [(exercise, source)] for id, source in of_exercise}, released())
        assert names(found) <= RELATED, list(map(str, found))
        pairs += len(of_exercise) * (len(of_exercise) - 1) // 2
    assert pairs > 400


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(
    "exercise", ["MyGELU", "Max", "LeanAttention", "GumbelSoftmax", "Checkpoint"]
)
def test_a_copy_is_shown(exercise: str, dress: str):
    """One of the honest answers, handed in a second time in another dress."""
    honest = right()[exercise]
    original, source = max(honest, key=lambda a: len(statements_of(a[1])))
    students = {id: [(exercise, text)] for id, text in honest}
    students["~copy"] = [(exercise, DRESSES[dress](source, exercise))]
    found = [a for a in alike(students, released(), 0.7) if (a.first, a.second) not in RELATED]
    assert names(found) == {(original, "~copy")}
    if dress in ("as it is", "renamed", "commented"):
        assert found[0].likeness > 0.999


def test_a_copied_notebook_is_shown_by_its_short_answers_together():
    """Three exercises of few statements each: none says enough alone."""
    exercises = ("ClipGradient", "Binarize", "GradientReversal", "FakeQuantize")
    students = {
        f"student {i}": [(e, right()[e][(i + 1) % len(right()[e])][1]) for e in exercises]
        for i in range(4)
    }
    honest = alike(students, released())
    students["thief"] = [(e, renamed(source, e)) for e, source in students["student 2"]]
    found = alike(students, released())
    assert names(found) - names(honest) == {("student 2", "thief")}
    (pair,) = [a for a in found if a.second == "thief"]
    assert len(pair.exercises) >= 2
    assert "unusual statements in common" in str(pair)


def test_the_model_solution_is_no_copy():
    for exercise, sources in released().items():
        if exercise in right():
            students = {f"student {i}": [(exercise, sources[-1])] for i in range(3)}
            assert alike(students, released()) == [], exercise


def test_what_many_hand_in_is_no_copy():
    exercise = "LeanAttention"
    students = {f"student {i}": [(exercise, right()[exercise][0][1])] for i in range(30)}
    assert alike(students) == []
    students = {"a": students["student 0"], "b": students["student 1"]}
    assert names(alike(students)) == {("a", "b")}


def test_stubs_and_what_is_no_python_are_no_copies():
    stub = "class X(Function):\n    def forward(ctx, x):\n        # YOUR CODE HERE\n        raise NotImplementedError()\n"
    assert alike({"a": [("X", stub)], "b": [("X", stub)]}, {"X": [stub]}) == []
    assert alike({"a": [("X", "def (")], "b": [("X", "")]}) == []
    assert alike({}) == []
    deep = "x = " + "-" * 30_000 + "1"
    long = "x = 0x" + "f" * 4000  # more digits than Python writes
    for each in (deep, long):
        assert alike({"a": [("X", each)], "b": [("X", each)]}) == []


def test_cells_that_do_not_parse_are_compared_by_lines():
    lines = "\n".join(f"y{i} = torch.special_{i}(x, {i}) * 2 ) + f( {i} , z )" for i in range(6))
    assert names(alike({"a": [("X", lines)], "b": [("X", lines + "\n# mine")]})) == {("a", "b")}


def test_the_order_of_students_changes_nothing():
    exercise = "MyGELU"
    students = {id: [(exercise, source)] for id, source in right()[exercise]}
    students["copy"] = [(exercise, dressed(right()[exercise][0][1], exercise))]
    shuffled = list(students.items())
    random.Random(3).shuffle(shuffled)
    assert alike(dict(shuffled), released()) == alike(students, released())


def test_the_number_of_comparisons_grows_with_the_class_and_not_with_its_pairs(monkeypatch):
    """Every student varies one of the honest answers in ways of their own."""
    compared = []
    pairs_of = similar._pairs

    def counted(*given):
        for pair, *rest in pairs_of(*given):
            compared.append(pair)
            yield pair, *rest

    monkeypatch.setattr(similar, "_pairs", counted)
    counts = {}
    for size in (100, 400):
        draw, students = random.Random(size), {}
        for i in range(size):
            _, source = draw.choice(right()["LeanAttention"])
            own = "\n".join(
                f"v{k} = f({draw.randrange(500)}, g({draw.randrange(500)}), 3)" for k in range(6)
            )
            students[f"student {i}"] = [("LeanAttention", source + "\n" + own)]
        compared.clear()
        alike(students, released())
        counts[size] = len(compared)
    assert counts[400] < 400 * 12
    assert counts[400] < 0.2 * 400 * 399 / 2
