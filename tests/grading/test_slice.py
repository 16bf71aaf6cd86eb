"""What of a notebook an answer needs, and that nothing else of it counts."""

from __future__ import annotations

from typing import Any

import pytest
from nbformat import NotebookNode, from_dict

from autograder.learner.lesson import Lesson, read_lesson
from autograder.learner.slice import Slice, asked_of
from autograder.learner.submitted_notebook import restore
from autograder.running.program import new_space, run
from tests.grading.attacks.lesson import RIGHT, handed_in, lesson_files

ANSWER = RIGHT["Square"].replace("2 * x * grad_output", "{factor} * x * grad_output")


def asked(cells: list[str], answer: str, after: tuple[str, ...] = ()) -> tuple[Slice, Lesson]:
    """The slice of Square in a notebook with these cells above it."""
    lesson = read_lesson(lesson_files())
    notebook: NotebookNode = from_dict(handed_in({"Square": answer}, before=cells, after=after))
    restore(notebook, lesson)
    found = [one for one in asked_of(notebook, lesson) if one.exercise == "Square"]
    assert len(found) == 1
    return found[0].slice, lesson


def taken(cells: list[str], answer: str) -> list[str]:
    """The learner's statements that are taken, each in one line."""
    made, _ = asked(cells, answer)
    import ast

    return [
        ast.unparse(node).splitlines()[0]
        for piece in made.pieces
        if piece.cell in made.own
        for node in piece.tree().body
    ]


def made_by(cells: list[str], answer: str) -> Any:
    """What stands behind a name of the notebook once the slice has run."""
    made, _ = asked(cells, answer)
    space = new_space()
    assert run(made.pieces, space) == []
    return space


def using(name: str) -> str:
    return ANSWER.format(factor=name)


CLASS = "class Square(Function):"
# By name: cells above the answer, what the answer uses of them, and what is taken of them.
NEEDED: dict[str, tuple[list[str], str, list[str]]] = {
    "nothing": (["x = 1\nprint(x)", "import os\nos.remove('x')"], "2", []),
    "a constant": (["two = 2\nthree = 3"], "two", ["two = 2"]),
    "what a constant is made of": (["a = 1\nb = 3\ntwo = a + a"], "two", ["a = 1", "two = a + a"]),
    "what something is registered at": (
        ["import functools\n@functools.singledispatch\ndef twice(x):\n    return 2\nf = twice.register(int, abs)"], "twice(1.0)",
        ["import functools", "@functools.singledispatch", "f = twice.register(int, abs)"],
    ),
    "a function": (["def twice():\n    return 2\n\nprint(twice())"], "twice()", ["def twice():"]),
    "what a function uses": (["k = 2", "def two():\n    return k"], "two()", ["k = 2", "def two():"]),
    "the last of two": (["two = 1\ndef two():\n    return open('x')\ntwo = 2"], "two", ["two = 2"]),
    "both where the second needs the first": (["two = 1\ntwo = two + 1"], "two", ["two = 1", "two = two + 1"]),
    "what is added to it": (["two = 1\ntwo += 1"], "two", ["two = 1", "two += 1"]),
    "what is appended": (["t = []\nt.append(2)\nu = []\nu.append(3)"], "t[0]", ["t = []", "t.append(2)"]),
    "what is assigned in it": (["t = {}\nt['a'] = 2\nprint(t)"], "t['a']", ["t = {}", "t['a'] = 2"]),
    "what is appended under another name": (["t = []\nsame = t\nsame.append(2)\nother = [t]"], "t[0]",
                                            ["t = []", "same = t", "same.append(2)"]),
    "what a loop puts in": (["t = []\nfor i in range(3):\n    t.append(i)\nfor i in t:\n    print(i)"], "t[2]",
                            ["t = []", "for i in range(3):"]),
    "what a function puts in": (["t = []\ndef fill(a):\n    a.append(2)\n\nfill(t)\nprint(t)"], "t[0]",
                                ["t = []", "def fill(a):", "fill(t)"]),
    "what a function binds": (["def make():\n    global two\n    two = 2\n\nmake()"], "two", ["def make():", "make()"]),
    "a tensor changed in place": (["w = torch.ones(())\nw.mul_(2)\nw.sum()\ntorch.sum(w)"], "w",
                                  ["w = torch.ones(())", "w.mul_(2)", "w.sum()"]),
    "what it counts": (["calls = 0\ndef two():\n    global calls\n    calls += 1\n    return 2"], "two()",
                       ["calls = 0", "def two():"]),
    "one of a pair": (["two, three = 2, 3"], "two", ["two, three = (2, 3)"]),
    "an indented cell": (["    two = 2\n    print(two)"], "two", ["two = 2"]),
    "a cell with prompts": ([">>> two = 2\n>>> print(two)\n2"], "two", ["two = 2"]),
    "a cell of VS Code's": (["# %% [first]\ntwo = 2\n# %%\nprint(two)"], "two", ["two = 2"]),
    "under a condition": (["import sys\nif sys.version:\n    two = 2\nelse:\n    two = 3"], "two",
                          ["import sys", "if sys.version:"]),
    "with a fallback": (["try:\n    import nothing_of_this_name as two\nexcept ImportError:\n    two = 2"], "two", ["try:"]),
    "an import": (["import math, os\nimport json"], "math.sqrt(4)", ["import math"]),
    "a star": (["from math import *\nimport json"], "sqrt(4)", ["from math import *"]),
    "behind a magic": (["%matplotlib inline\n!ls\ntwo = 2\nfiles = !ls"], "two", ["two = 2"]),
    "in a timed cell": (["%%time\ntwo = 2\nprint(two)"], "two", ["two = 2"]),
    "on a timed line": (["%time two = 2\n%timeit -n 1 two"], "two", ["two = 2"]),
    "in a semicolon's line": (["print(1); two = 2; print(2)"], "two", ["two = 2"]),
    "not what is beside it on its line": (["a = 1; b = 2"], "2", []),
    "not what is done to torch": (["torch.Tensor.sum = None\ntorch.relu = None\nimport math\nmath.pi = 3"], "2", []),
    "not in spite of a type hint": (["from somewhere import Odd\nodd: Odd = 3"], "2", []),
    "not what cannot be parsed": (["two = 3\ndef f(:"], "2", []),
    "not what follows an error in its cell": (["1 / 0", "two = 2\n1 / 0"], "two", ["two = 2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_only_what_is_needed_is_taken(name: str) -> None:
    cells, used, expected = NEEDED[name]
    assert taken(cells, using(used)) == [*expected, CLASS]
    assert made_by(cells, using(used))["Square"].__name__ == "Square"


def test_what_is_done_to_the_answer_is_taken() -> None:
    changed = (
        RIGHT["Square"]
        + "\nprint(Square.apply(torch.ones(1)))\nSquare.backward = staticmethod(lambda c, g: g)"
    )
    assert taken([], changed) == [CLASS, "Square.backward = staticmethod(lambda c, g: g)"]
    patched = RIGHT["Square"] + "\ncheck(Square)\nsetattr(Square, 'backward', None)\nhelp(Square)"
    assert taken([], patched) == [CLASS, "setattr(Square, 'backward', None)"]
    by_loop = RIGHT["Square"] + "\nfor one in (Square, 1):\n    one.backward = None"
    assert taken([], by_loop) == [CLASS, "for one in (Square, 1):"]


def test_a_type_hint_needs_nothing() -> None:
    hinted = "from torch.autograd.function import FunctionCtx\n" + RIGHT["Square"].replace(
        "forward(ctx, x)", "forward(ctx: FunctionCtx, x: 'print(1)') -> list[open('x')]"
    )
    assert taken([], hinted) == [CLASS]
    forward = made_by([], hinted)["Square"].forward
    assert forward.__annotations__ == {}


def test_a_lessons_helper_is_the_lessons() -> None:
    made, _ = asked(["logistic = None"], using("2"))
    assert len(made.pieces) == len(made.own) + 1  # the set-up cell
    with_demo, _ = asked([], using("logistic(x)"))
    demo = next(p for p in with_demo.pieces if "demo-logistic" in p.cell)
    assert demo.cell not in with_demo.own
    assert len(demo.tree().body) == 1  # and not what it prints


def test_what_stands_below_the_check_is_not_there_yet() -> None:
    made, _ = asked([], using("two"), after=("two = 2",))
    space = new_space()
    run(made.pieces, space)
    assert "two" not in space


def test_lines_keep_their_numbers() -> None:
    made, _ = asked([], "%%time\n%matplotlib inline\nprint(1)\n\n" + RIGHT["Square"])
    space = new_space()
    run(made.pieces, space)
    assert space["Square"].forward.__code__.co_firstlineno == 6
    assert made.source.offset == 4


@pytest.mark.parametrize(
    "cell",
    ["%run helpers.py", "exec('two = 2')", "globals()['two'] = 2", "from helpers_of_mine import *",
     "two = 2\n" * 9000],
)  # fmt: skip
def test_what_cannot_be_sliced_with_certainty_waits(cell: str) -> None:
    made, _ = asked(["print(1)", cell], using("two"))
    (doubt,) = made.doubts
    assert doubt[:2] == ("cell 5", 1)
    if "helpers" in cell or "2'" in cell or "global" in cell:  # nobody needs what it may define
        assert asked([cell, "two = 2"], using("two"))[0].doubts == ()


def test_what_stopped_the_answer_before_it_was_read_is_told() -> None:
    made, _ = asked([], "x = 1\n" + RIGHT["Square"].replace("(Function):", "(Function)"))
    assert made.pieces == ()
    assert made.stopped == "SyntaxError: expected ':' (line 2: class Square(Function))"
