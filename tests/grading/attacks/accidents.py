"""What happens to honest learners: none of it costs a mark that was earned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tests.grading.attacks.lesson import RIGHT, WRONG, Cell, code, handed_in


@dataclass(frozen=True)
class Accident:
    """A right notebook with something honest done to it.

    before  a cell before the exercises
    after   a cell behind everything
    answers exercises written in another way
    change  what is done to the notebook besides
    """

    name: str
    before: str = ""
    after: str = ""
    answers: dict[str, str] = field(default_factory=lambda: MappingProxyType({}))  # type: ignore[assignment,return-value]
    change: Callable[[Cell], Any] | None = None

    def notebook(self) -> Cell:
        made = handed_in(
            RIGHT | dict(self.answers),
            [self.before] if self.before else [],
            [self.after] if self.after else [],
        )
        if self.change is not None:
            self.change(made)
        return made


def _place(made: Cell, name: str) -> int:
    return next(
        i
        for i, c in enumerate(made["cells"])
        if c["metadata"].get("nbgrader", {}).get("grade_id") == name
    )


def an_answer_moved_down(made: Cell) -> None:
    """Behind its own checks, where it was dragged by mistake."""
    made["cells"].append(made["cells"].pop(_place(made, "square")))


def an_answer_moved_up(made: Cell) -> None:
    made["cells"].insert(1, made["cells"].pop(_place(made, "mysigmoid")))


def a_check_moved_up(made: Cell) -> None:
    made["cells"].insert(1, made["cells"].pop(_place(made, "square-hidden")))


def exercises_in_another_order(made: Cell) -> None:
    place = _place(made, "square")
    block = [made["cells"].pop(place) for _ in range(3)]
    made["cells"] += block


def a_copied_answer(made: Cell) -> None:
    """JupyterLab copies the name with the cell."""
    place = _place(made, "square")
    made["cells"].insert(place + 1, {**made["cells"][place], "id": "copied"})


def a_copied_check(made: Cell) -> None:
    place = _place(made, "square-check")
    made["cells"].insert(place + 1, {**made["cells"][place], "id": "copied"})


def a_deleted_check(made: Cell) -> None:
    del made["cells"][_place(made, "square-hidden")]


def all_checks_deleted(made: Cell) -> None:
    made["cells"] = [c for c in made["cells"] if not c["metadata"].get("nbgrader", {}).get("grade")]


def a_changed_check(made: Cell) -> None:
    made["cells"][_place(made, "square-check")]["source"] = (
        "check(Square, hidden=True)\nprint('again')"
    )


def a_deleted_demonstration(made: Cell) -> None:
    del made["cells"][_place(made, "demo-logistic")]


def an_answer_in_a_cell_of_its_own(made: Cell) -> None:
    """The stub stays, and a new cell below it has the answer."""
    place = _place(made, "square")
    answer = made["cells"][place]["source"]
    made["cells"][place]["source"] = WRONG["Square"]
    made["cells"].insert(place + 1, code(answer))


def an_answer_split_in_two(made: Cell) -> None:
    """A helper in the learner's own cell below the imports."""
    place = _place(made, "square")
    made["cells"].insert(place, code("def twice(x):\n    return 2 * x"))
    cell = made["cells"][place + 1]
    cell["source"] = cell["source"].replace("2 * x * grad_output", "twice(x) * grad_output")


def a_stub_left_below(made: Cell) -> None:
    """A first attempt, kept as a comment."""
    made["cells"][_place(made, "square")]["source"] += (
        "\n\n# class Square(Function):\n#     raise NotImplementedError()\n"
    )


def a_later_attempt_below_the_checks(made: Cell) -> None:
    """Trying things out afterwards changes nothing about what was checked."""
    made["cells"].insert(_place(made, "square-hidden") + 1, code(WRONG["Square"]))


_FORWARD = "    def forward(ctx, x):\n"


def says(text: str) -> dict[str, str]:
    """Both answers with a line more in forward."""
    return {
        name: answer.replace(_FORWARD, f"{_FORWARD}        {text}\n")
        for name, answer in RIGHT.items()
    }


ACCIDENTS: tuple[Accident, ...] = (
    # ---- what is printed
    Accident("a warning", before="import warnings\nwarnings.warn('just so you know')"),
    Accident("a warning in forward", before="import warnings", answers=says("warnings.warn('mind')")),
    Accident("a warning of torch's", before="torch.tensor(torch.ones(2))\ntorch.ones(2, 3).T @ torch.ones(2)\ntorch.ones(1, 2, 3).T"),
    Accident("warnings as errors", before="import warnings\nwarnings.simplefilter('error')", answers=says("torch.tensor(torch.ones(1)) if False else None")),
    Accident("a print in forward", answers=says("print('forward of', x)")),
    Accident("a print to stderr in forward", before="import sys", answers=says("print('forward', file=sys.stderr)")),
    Accident("many prints in forward", answers=says("print('x' * 100_000)")),
    Accident("half a character", before="print('\\ud800')\nclass Odd(Exception):\n    pass\nraise Odd('\\udfff')"),
    Accident("half a character in forward", answers=says("print('\\ud800')")),
    Accident("control characters", before="print('\\x00\\x1b[31mred\\x07')"),
    Accident("a progress bar", before="import time\nfor i in range(20):\n    print(f'\\r{i * 5} %', end='', flush=True)"),
    Accident("a display", before="from IPython.display import HTML, Markdown, display\ndisplay(HTML('<b>bold</b>'), Markdown('$x$'), torch.ones(2))"),
    Accident("an output that is cleared", before="from IPython.display import clear_output\nprint(1)\nclear_output(wait=True)"),
    Accident("logging", before="import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.warning('a line')"),
    # ---- what is asked and shown
    Accident("a question", before="name = input('Your name? ')\nprint('Hello', name)"),
    Accident("help", before="help(torch.relu)\ntorch.relu?"),
    Accident("figures", before="import matplotlib.pyplot as plt\nfor _ in range(25):\n    plt.figure()\n    plt.plot([1, 2])\nplt.show()\nplt.savefig('mine.png')"),
    Accident("a backend of matplotlib's", before="%matplotlib inline\nimport matplotlib\nmatplotlib.use('Agg')"),
    Accident("another backend of matplotlib's", before="%matplotlib notebook\n%matplotlib widget\n%matplotlib qt"),
    Accident("timing", before="%timeit -n 2 -r 1 torch.ones(3).sum()\n%time y = torch.ones(2)"),
    Accident("settings of the notebook", before="%load_ext autoreload\n%autoreload 2\n%config InlineBackend.figure_format = 'svg'"),
    Accident("a magic that is not there", before="%load_ext line_profiler\n%lprun -f f f()"),
    Accident("a command of the shell", before="!ls\n!nvidia-smi\n!pip install -q einops"),
    Accident("commands that reach out", before="!curl -sL https://example.org/a.csv -o a.csv\n!pip list | grep torch\n!wget -q https://example.org/a.zip && unzip a.zip\n!echo {1 / 0} $missing"),
    Accident("a cell of the shell", before="%%bash\nls | sort > files.txt"),
    Accident("a script", before="%%script bash --bg\nsleep 1000"),
    Accident("a script that is Python", before="%%python3\nraise SystemExit(1)"),
    Accident("the output of a command", before="files = !ls | sort\nprint(files, files.n, files.grep('x'))\nfiles = !!ls\nmore = %sx ls"),
    Accident("waiting at the top", before="import asyncio\nawait asyncio.sleep(0.01)"),
    # ---- how cells end
    Accident("an error before", before="1 / 0"),
    Accident("an error behind", after="raise ValueError('unfinished')"),
    Accident("no Python", before="for i in range(3)\n    print(i)"),
    Accident("half a line", before="def unfinished(:"),
    Accident("a name that is not there", before="print(undefined_name)"),
    Accident("a module that is not there", before="import a_module_nobody_has"),
    Accident("leaving", before="import sys\nsys.exit()"),
    Accident("leaving with an error", before="import sys\nsys.exit('that is all')"),
    Accident("exit and quit", before="exit()\nquit()"),
    Accident("an interrupt", before="raise KeyboardInterrupt"),
    Accident("recursion", before="def again():\n    return again()\n\n\nagain()"),
    Accident("an empty cell", before=" \n\n"),
    # ---- the order of cells
    *(Accident(change.__name__.replace("_", " "), change=change) for change in (
        an_answer_moved_down, an_answer_moved_up, a_check_moved_up, exercises_in_another_order, a_copied_answer,
        a_copied_check, a_deleted_check, all_checks_deleted, a_changed_check, a_deleted_demonstration,
        an_answer_in_a_cell_of_its_own, an_answer_split_in_two, a_stub_left_below, a_later_attempt_below_the_checks)),
    Accident("a helper of a demonstration", answers={"MySigmoid": RIGHT["MySigmoid"].replace("torch.sigmoid(x)", "logistic(x)")}),
    Accident("a helper below", after="def slope(y):\n    return y * (1 - y)", before="def slope(y):\n    return y * (1 - y)",
             answers={"MySigmoid": RIGHT["MySigmoid"].replace("grad_output * y * (1 - y)", "grad_output * slope(y)")}),
    # ---- other ways to write it
    Accident("another name", answers={"Square": RIGHT["Square"].replace("class Square", "class MySquare") + "\n\nSquare = MySquare\n"}),
    Accident("only apply", answers={"Square": RIGHT["Square"].replace("class Square", "class MySquare") + "\n\nSquare = MySquare.apply\n"}),
    Accident("tabs", answers={"Square": RIGHT["Square"].replace("    ", "\t")}),
    Accident("a comment in another language", answers={"Square": "# производная: 2x 🎉\n" + RIGHT["Square"]}),
    Accident("a test of one's own", after="torch.testing.assert_close(Square.apply(torch.ones(2)), torch.ones(2))\n"
             "torch.autograd.gradcheck(Square.apply, torch.ones(2, dtype=torch.double, requires_grad=True))"),
    Accident("a test of one's own that fails", before="assert False, 'todo'", after="assert 1 == 2"),
    Accident("checks of one's own", after="check(Square)\ncheck(Square, hidden=True)\nhint(Square)\nprogress()"),
    # ---- what stays as it was set
    Accident("an import that nobody uses", before="import os, sys, random, numpy as np\nimport scipy.stats\nfrom sklearn import datasets"),
    Accident("names from a star", before="from torch import *\nfrom math import *"),
    Accident("another default dtype", before="torch.set_default_dtype(torch.float64)"),
    Accident("a seed", before="torch.manual_seed(0)\nimport random\nrandom.seed(0)"),
    Accident("threads of torch's", before="torch.set_num_threads(4)"),
    Accident("no gradients", before="torch.set_grad_enabled(False)"),
    Accident("anomaly mode", before="torch.autograd.set_detect_anomaly(True)"),
    Accident("deterministic mode", before="torch.use_deterministic_algorithms(True)"),
    Accident("how tensors are printed", before="torch.set_printoptions(precision=2, sci_mode=False)"),
    Accident("names that are used again", before="x = y = g = name = result = questions = answer = probe = table = 7"),
    Accident("memory that is freed", before="import gc\nbig = torch.ones(10**6)\ndel big\ngc.collect()"),
    Accident("an open figure and a long cell", before="import time\ntime.sleep(0.2)"),
)  # fmt: skip
