"""An exercise is found by the name of the class, the function or the notebook's variable."""

from __future__ import annotations

import sys
import types

import pytest

from autograder import evaluate
from autograder.learner.name_help import NameHelp
from tests.mistakes.gallery import answers

RIGHT = next(a for a in answers() if a.exercise == "unbroadcast" and a.right)


def notebook(monkeypatch, source: str) -> types.ModuleType:
    """The variables of a notebook after a cell."""
    made = types.ModuleType("__main__")
    exec(source, vars(made))
    monkeypatch.setitem(sys.modules, "__main__", made)
    return made


def test_a_function_without_a_name_has_that_of_its_variable(monkeypatch) -> None:
    space = notebook(monkeypatch, RIGHT.source + "\nsolved = unbroadcast\n"
                     "unbroadcast = lambda grad, shape: solved(grad, shape)")  # fmt: skip
    assert evaluate(space.unbroadcast).exercise == "unbroadcast"


def test_so_has_one_with_another_name_and_one_made_by_a_call(monkeypatch) -> None:
    space = notebook(
        monkeypatch,
        RIGHT.source.replace("def unbroadcast", "def summed")
        + "\nimport functools\nunbroadcast = summed\n",
    )
    assert evaluate(space.unbroadcast).exercise == "unbroadcast"
    space.unbroadcast = __import__("functools").partial(space.summed)
    assert evaluate(space.unbroadcast).exercise == "unbroadcast"


def test_a_function_in_no_variable_is_asked_for_its_exercise() -> None:
    with pytest.raises(ValueError, match="Say which exercise it solves: check") as found:
        evaluate(lambda grad, shape: grad)
    assert "MySigmoid" not in str(found.value)


def test_an_unknown_name_gets_close_ones_and_never_all() -> None:
    class mySigmoid: ...

    with pytest.raises(ValueError, match=r"Did you mean MySigmoid\?"):
        evaluate(mySigmoid)
    with pytest.raises(ValueError) as found:
        evaluate(type("Zzzzz", (), {}))
    assert len(str(found.value)) < 150


def test_a_class_of_almost_the_name_is_asked_about() -> None:
    space: dict[str, object] = {"mySigmoid": type("mySigmoid", (), {})}
    try:
        exec("check(MySigmoid)", {**space, "check": print})
    except NameError as error:
        said = NameHelp(space).sentence(error, error.__traceback__)
    assert said is not None
    assert said.startswith("There is no MySigmoid here. Did you mean mySigmoid? Call it MySigmoid")
