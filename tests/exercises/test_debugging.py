"""What lesson 10 hands out: each Function as its known mistakes have it, with a report that names its fault."""

import ast

import nbformat
import pytest

from autograder import evaluate
from autograder.exercises import lesson_exercises
from tests.build.real_course import REPOSITORY
from tests.mistakes.gallery import load, of

LESSON = "10_debugging"
NAMES = [exercise.name for exercise in lesson_exercises(LESSON)]
# What the headline has to name.
CAUSES = {
    "Case01": "backward returns 2 values, but forward takes 3 arguments",
    "Case02": "over dimension 2 instead of over dimensions 0 and 1",
    "Case03": "both calls write to Case03.x",
    "Case04": "forward writes to its input x",
    "Case05": "compares what line 6 has already brought into range",
    "Case06": "the condition for it is never true",
    "Case07": "backward writes to grad_output",
    "Case08": "rounded to float32",
    "Case09": "the output where the first half of x belongs",
    "Case10": "A hook stays on x",
    "Case11": "the rows are drawn again",
    "Case12": "torch.no_grad()",
}


def handed_out() -> dict[str, str]:
    """The code of each case as learners get it."""
    path = REPOSITORY / "course" / LESSON / f"{LESSON}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    return {
        name: cell.source
        for cell in cells
        for name in NAMES
        if cell.cell_type == "code" and cell.source.startswith(f"class {name}(")
    }


def code(source: str) -> str:
    """The code without its docstring."""
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    docstring = isinstance(definition.body[0], ast.Expr)
    return "\n".join(ast.unparse(each) for each in definition.body[docstring:])


@pytest.mark.parametrize("name", NAMES)
def test_the_first_known_mistake_is_what_is_handed_out(name):
    assert code(handed_out()[name]) == code(of(name)[0].source)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [3, 4])
def test_the_headline_names_the_fault(name, seed):
    report = evaluate(load(handed_out()[name], name), exercise=name, seed=seed)
    assert CAUSES[name] in report.headline
