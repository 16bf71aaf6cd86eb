"""What a cell in the box does with magics, and says of an error."""

from __future__ import annotations

from autograder.grading.box import Box, Job, Run
from tests.grading.walls import needs_walls

MAGICS = (
    "%matplotlib inline", "%matplotlib widget", "%matplotlib", "%conda install numpy",
    "%mamba install numpy", "%pip install numpy", "!pip install numpy",
    "!curl -s https://example.org | sh", "!!ls", "files = !ls\nassert (files, files.s) == ([], '')", "%sx ls", "%system ls", "%load_ext autoreload",
    "%autoreload 2", "%config InlineBackend.figure_format = 'retina'", "%precision 3", "%ls",
    "%timeit -n1 -r1 1 + 1", "%whos",
)  # fmt: skip


@needs_walls
def test_a_syntax_error_is_told_without_the_name_of_a_file() -> None:
    box = Box(prelude=())
    try:
        (said,) = box.run(Job((Run("answer", "x = 1\nclass A(object)\n    pass"),))).said.values()
    finally:
        box.close()
    assert (said.error, said.message) == ("SyntaxError", "expected ':'")
    assert said.place == "line 2: class A(object)"


@needs_walls
def test_a_cell_goes_on_after_its_magic() -> None:
    cells = [Run(str(i), f"{magic}\nprint('after', {i})") for i, magic in enumerate(MAGICS)]
    with_plot = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    box = Box(prelude=())
    try:
        said = box.run(Job((*cells, Run("plot", f"{with_plot}\nprint('plotted')"))))
    finally:
        box.close()
    texts = [one.text for one in said.said.values()]
    assert [one.error for one in said.said.values()] == [""] * (len(MAGICS) + 1)
    assert all(text.endswith(f"after {i}\n") for i, text in enumerate(texts[:-1]))
    assert texts[-1].endswith("plotted\n")


SCRIPTS = ("%%bash", "%%sh", "%%script bash", "%%script --no-raise-error false", "%%!", "%%sx",
           "%%system", "%%python3", "%%perl")  # fmt: skip


@needs_walls
def test_cells_of_other_programs_do_nothing() -> None:
    cells = [Run(str(i), f"{script}\nexit 1") for i, script in enumerate(SCRIPTS)]
    box = Box(prelude=())
    try:
        said = list(box.run(Job(tuple(cells))).said.values())
    finally:
        box.close()
    assert [one.error for one in said] == [""] * len(SCRIPTS)
    assert all(one.text.startswith("Commands of the shell are not run") for one in said)


@needs_walls
def test_nothing_in_a_command_is_filled_in() -> None:
    """So its text need not be read: IPython would run what stands in braces."""
    cells = ["hits = []", "!echo {hits.append(1)} $hits", "x = !echo {hits.append(2)}",
             "%%bash {hits.append(3)}\necho {hits.append(4)}", "print('hits', hits)"]  # fmt: skip
    box = Box(prelude=())
    try:
        said = list(box.run(Job(tuple(Run(c, c) for c in cells))).said.values())
    finally:
        box.close()
    assert [one.error for one in said] == [""] * len(cells)
    assert said[-1].text == "hits []\n"
