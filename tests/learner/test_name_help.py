"""Cells that need an exercise which is not written yet say so; all other errors are shown as they are."""

import re
import sys
from textwrap import dedent

import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder.learner.name_help import NameHelp, show_in

IMPORTS = "import torch\nfrom torch.autograd import Function"
FORWARD = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        # YOUR CODE HERE
        raise NotImplementedError()
"""
BACKWARD = """
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        # YOUR CODE HERE
        raise NotImplementedError()
"""
WRITTEN = BACKWARD.replace(
    "raise NotImplementedError()", "return 2 * grad_output * ctx.saved_tensors[0]"
)
HVP = """
def hvp(f, x, v):
    # YOUR CODE HERE
    raise NotImplementedError()
"""  # fmt: skip


class Notebook:
    """Runs cells, and gives what would stand under them where they end in an error."""

    def __init__(self):
        self._shell = InteractiveShell()
        self._shown: list[str] = []
        self._shell._showtraceback = lambda kind, error, lines: self._shown.append("\n".join(lines))
        show_in(self._shell, NameHelp(self._shell.user_ns))
        assert self.run(IMPORTS) is None

    def run(self, source):
        """None without an error."""
        self._shown.clear()
        result = self._shell.run_cell(dedent(source), store_history=True)
        self.error = result.error_in_exec
        assert (self.error is None) == (not self._shown)
        if not self._shown:
            return None
        said = re.sub(r"\x1b\[[0-9;]*m", "", self._shown[0])
        self.lines = said.split("\n")
        return said if "Traceback" in said else " ".join(self.lines)


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell makes its own
    return Notebook()


def test_a_stub_is_named_with_its_method_and_the_error_stays(notebook):
    notebook.run(FORWARD)
    said = notebook.run("y = Square.apply(torch.ones(2))")
    assert said == (
        "Square is not written yet: its forward still raises NotImplementedError. Write it and run "
        "its cell, then run this cell again."
    )
    assert type(notebook.error) is NotImplementedError
    assert [line.split()[-1] for line in notebook.lines] == ["Write", "again."]


def test_so_is_a_backward_that_the_engine_calls(notebook):
    notebook.run(BACKWARD)
    said = notebook.run("Square.apply(torch.ones(2, requires_grad=True)).sum().backward()")
    assert said.startswith("Square is not written yet: its backward still raises")


def test_so_is_a_function_and_what_another_exercise_calls(notebook):
    notebook.run(HVP)
    notebook.run("def gradient_penalty(critic, samples):\n    return hvp(critic, samples, samples)")
    said = notebook.run("penalty = gradient_penalty(None, 1)")
    assert said.startswith("hvp is not written yet: it still raises NotImplementedError.")


def test_an_exercise_whose_cell_has_not_run_is_named_as_before(notebook):
    assert notebook.run("Square.apply(1)").startswith("Square is not there yet: run the cell above")


def test_what_a_stopped_cell_was_to_make_says_why_it_is_not_there(notebook):
    notebook.run(HVP)
    notebook.run("before = 1\nmine, (first, *others) = hvp(None, 1, 2)\ndef later(): pass")
    assert notebook.run("before") is None
    for name in ("mine", "first", "others", "later"):
        assert notebook.run(f"print({name})") == (
            f"`{name}` is not ready yet: the cell that makes it stopped, because hvp was not written. "
            "Once it is, run that cell again, then this one."
        )
        assert type(notebook.error) is NameError


def test_the_reason_goes_on_from_cell_to_cell_and_into_functions(notebook):
    notebook.run("first = Square.apply(torch.ones(2))")
    notebook.run("second = first + 1")
    said = notebook.run("def use():\n    return second\nuse()")
    assert said.startswith("`second` is not ready yet")
    assert "because Square was not written" in said


@pytest.mark.parametrize(
    "source",
    [
        "unknown_name",
        "def half():\n    raise NotImplementedError()\nhalf()",
        "raise NotImplementedError('in float16')",
        "x[7]",
        "1 / 0",
    ],
)
def test_other_errors_keep_their_traceback(notebook, source):
    notebook.run(HVP)
    notebook.run("x, runs = torch.ones(3), {}\nruns[1] = hvp(None, x, x)")
    assert "Traceback" in notebook.run(source)


def test_what_a_stopped_cell_has_not_put_in_its_place_is_not_ready(notebook):
    notebook.run(HVP)
    notebook.run("x, runs = torch.ones(3), {}\nruns[1] = hvp(None, x, x)")
    assert "`runs` is not ready yet" in notebook.run("runs[1]")
    assert "`runs` is not ready yet" in notebook.run("[runs[each] for each in (1, 2)]")
    notebook.run("x = torch.ones(3)\nlater = hvp(None, x, x)")
    assert "`later` is not ready yet" in notebook.run("x[:, 1], later")


def test_an_exercise_that_refuses_in_words_of_its_own_keeps_its_traceback(notebook):
    words = 'raise NotImplementedError("no half precision")'
    notebook.run(FORWARD.replace("raise NotImplementedError()", words))
    assert "Traceback" in notebook.run("Square.apply(torch.ones(2))")


def test_a_name_that_an_answer_lacks_is_its_own_mistake(notebook):
    notebook.run(HVP)
    notebook.run("mask = hvp(None, 1, 2)")
    notebook.run(FORWARD.replace("raise NotImplementedError()", "return x * mask"))
    assert "Traceback" in notebook.run("Square.apply(torch.ones(2))")


def test_when_it_is_written_everything_runs(notebook):
    cells = ("y = Square.apply(torch.ones(2))", "z = y + 1")
    notebook.run(FORWARD)
    assert all(notebook.run(cell) for cell in cells)
    notebook.run(WRITTEN)
    assert [notebook.run(cell) for cell in cells] == [None, None]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ('check("Square")', "check needs Square itself, without quotation marks: check(Square)."),
        ("check(3)", "This needs your class, for example check(Square); it was given int."),
        ("check(Sqare)", "There is no exercise called 'Sqare'. Did you mean Square"),
        ('hint("Sqare")', "There is no exercise called 'Sqare'. Did you mean Square"),
        ('explain("gradient-sing")', "There is no rule called 'gradient-sing'. Closest names: "),
    ],
)
def test_a_call_that_cannot_be_meant_is_answered_with_its_message_alone(notebook, call, sentence):
    notebook.run("from autograder import check, explain, hint")
    notebook.run(WRITTEN.replace("class Square", "class Sqare"))
    said = notebook.run(call)
    assert said.startswith(sentence)
    assert "Traceback" not in said
    assert type(notebook.error) is ValueError
