"""Reports for a Function that is not from the course: from Python, from a file, and as docs/ tells it."""

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate, exercises
from autograder.__main__ import EXIT_FAILED, EXIT_PASSED, EXIT_USAGE, main
from tests.docs import documents
from tests.docs.documents import ROOT
from tests.sigmoid_and_product import Sigmoid

DOCS = ROOT / "docs"


def test_the_page_on_new_exercises_prints_what_it_says_it_prints(tmp_path):
    """The other page is followed where nothing but torch is installed: tests/setup/test_wheel.py."""
    path = DOCS / "new-exercise.md"
    try:
        outcome = documents.run(path, tmp_path)
    finally:
        exercises._registered.clear()
    assert outcome.text == path.read_text(), (
        f"python -m tests.docs.documents docs/{path.name} writes the printed parts anew."
    )


def test_a_page_whose_output_is_wrong_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(6 * 7)\n```\n\n```text\n43\n```\n")
    assert "```text\n42\n```" in documents.run(page, tmp_path).text


# ---- where gradcheck makes no sense -----------------------------------------------------------


class Relu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


class ReluPassingAtZero(Relu):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x >= 0)


class Round(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class RoundHalved(Round):
    @staticmethod
    def backward(ctx, grad_output):
        return 0.5 * grad_output


def straight_through(x):
    return x + (torch.round(x) - x).detach()


SMOOTH, KINK = torch.tensor([-1.0, 0.5, 2.0]), torch.tensor([0.0, 1.0])


def test_at_a_kink_the_reference_decides():
    inputs = [(SMOOTH,), (KINK,)]
    assert evaluate(Relu, reference=torch.relu, inputs=inputs).passed
    wrong = evaluate(ReluPassingAtZero, reference=torch.relu, inputs=inputs)
    assert wrong.findings[0].rule == "fails-special-point"


def test_a_surrogate_is_compared_with_the_reference_and_not_with_differences():
    assert evaluate(Round, reference=straight_through, inputs=(SMOOTH,)).passed
    wrong = evaluate(RoundHalved, reference=straight_through, inputs=(SMOOTH,))
    assert wrong.findings[0].rule == "gradient-scale"


def test_values_that_nobody_knows_are_not_called_right():
    alone = evaluate(Sigmoid, inputs=(SMOOTH,))
    compared = evaluate(Sigmoid, reference=torch.sigmoid, inputs=(SMOOTH,))
    sentence = "The output values agree with the reference."
    assert sentence in compared.held
    assert sentence not in alone.held


def test_a_reference_that_stops_is_not_swallowed():
    def broken(x):
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError):
        evaluate(Sigmoid, reference=broken, inputs=(SMOOTH,))


# ---- the command line on a file ---------------------------------------------------------------

FILE = """
import torch
from beside import SIZE

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return FACTOR * grad_output

def inputs():
    return (torch.ones(SIZE),)
"""


def write(folder, factor):
    (folder / "beside.py").write_text("SIZE = 3\n")
    file = folder / "ops.py"
    file.write_text(FILE.replace("FACTOR", str(factor)))
    return str(file)


@pytest.fixture(autouse=True)
def forget_what_was_imported(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "beside", raising=False)
    yield
    sys.modules.pop("beside", None)


def test_a_file_may_import_what_lies_beside_it(tmp_path, capsys):
    arguments = ["check", write(tmp_path, 2), "--function", "Twice", "--inputs", "inputs"]
    assert main(arguments) == EXIT_PASSED
    assert capsys.readouterr().out.startswith("✓ Twice")
    assert main(["check", write(tmp_path, 3), *arguments[2:]]) == EXIT_FAILED
    assert "1.5 × what belongs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ({"def inputs": "def others"}, ["--function", "Twice"], "--inputs NAME"),
        ({"def inputs": "def others"}, [], "--function MyOp"),
        ({}, ["--inputs", "elsewhere.py:x"], "there is no file elsewhere.py"),
        ({}, ["--ignore", "gradients"], "There is no rule called 'gradients'"),
        ({}, ["--device", "cuda:77"], "no device 'cuda:77'"),
        ({}, ["--function", "Triple", "--inputs", "inputs"], "defines nothing called Triple"),
        ({}, ["--function", "Twice", "--inputs", "outputs"], "defines nothing called outputs"),
        ({"import torch": "1 / 0"}, ["--function", "Twice"], "line 2 with ZeroDivisionError"),
        ({"import torch": "import ("}, ["--function", "Twice"], "SyntaxError"),
        ({"SIZE\n": "WIDTH\n"}, ["--function", "Twice"], "line 3 with ImportError"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_command_is_said_in_a_sentence(
    change, arguments, words, tmp_path, capsys
):
    file = write(tmp_path, 2)
    text = FILE
    for old, new in change.items():
        text = text.replace(old, new, 1)
    (tmp_path / "ops.py").write_text(text)
    assert main(["check", file, *arguments]) == EXIT_USAGE
    assert words in capsys.readouterr().err


def test_a_missing_file_is_said(capsys, tmp_path):
    assert main(["check", str(tmp_path / "none.py"), "--function", "X"]) == EXIT_USAGE
    assert "there is no file" in capsys.readouterr().err
