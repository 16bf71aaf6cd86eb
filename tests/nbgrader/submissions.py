"""A class of honest accidents and of mischief, in the mini lesson.

Each function gives what a learner hands in, as autograder.grading.demo's do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import nbformat
from nbformat import NotebookNode

from autograder.grading.demo import right, untouched


def cell_named(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == name)


def wrong(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """Right for the visible check only."""
    notebook = untouched(released, lesson)
    cell_named(notebook, "double").source = "def double(number):\n    return 4"
    return notebook


def right_with_a_check_deleted(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    notebook = right(released, lesson)
    notebook.cells.remove(cell_named(notebook, "double-hidden"))
    return notebook


def right_with_metadata_stripped(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """As editors do that know nothing of nbgrader."""
    notebook = right(released, lesson)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    return notebook


def right_with_ids_stripped_as_well(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """As old versions of Jupyter and converters do."""
    notebook = right_with_metadata_stripped(released, lesson)
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        del cell["id"]
    return notebook


def right_with_a_cell_copied(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """JupyterLab copies metadata with a cell: the same grade_id stands there twice."""
    notebook = right(released, lesson)
    copy = nbformat.from_dict(cell_named(notebook, "double"))
    copy["id"] = "copied"
    notebook.cells.insert(notebook.cells.index(cell_named(notebook, "double")), copy)
    return notebook


def right_with_a_warning(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    notebook = right(released, lesson)
    cell_named(notebook, "double").source += (
        "\n\nimport warnings\nquiet = double\n"
        "def double(number):\n    warnings.warn('just so you know')\n    return quiet(number)"
    )
    return notebook


def untouched_but_skipped(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """The tag makes nbclient skip a cell, and nbgrader gives full marks to a cell without output."""
    notebook = untouched(released, lesson)
    for name in ("double-check", "double-hidden"):
        cell_named(notebook, name).metadata.tags = ["skip-execution"]
    return notebook


def untouched_but_edited_checks(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    notebook = untouched(released, lesson)
    for name in ("double-check", "double-hidden"):
        cell_named(notebook, name).source = "pass"
        cell_named(notebook, name).metadata.nbgrader.points = 9999
    return notebook


def untouched_but_unlocked(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """Claims that the graded cells are the learner's own."""
    notebook = untouched(released, lesson)
    for name in ("double-check", "double-hidden"):
        cell = cell_named(notebook, name)
        cell.source = "pass"
        cell.metadata.nbgrader |= {"solution": True, "locked": False}
    return notebook


@dataclass(frozen=True)
class Learner:
    """What a learner hands in, what lies beside it, and the score of 5 that it deserves."""

    hands_in: Callable[[NotebookNode, NotebookNode], NotebookNode]
    deserves: float
    beside: Mapping[str, str] = field(default_factory=dict)


# The lesson imports latex2mathml; a file of that name beside the notebook is imported in its place.
NO_ASSERTS = """\
import ast
import IPython


class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)


IPython.get_ipython().ast_transformers.append(NoAsserts())
"""

LEARNERS = {
    "right": Learner(right, 5),
    "untouched": Learner(untouched, 0),
    "wrong": Learner(wrong, 2),
    "deleted": Learner(right_with_a_check_deleted, 5),
    "stripped": Learner(right_with_metadata_stripped, 5),
    "nameless": Learner(right_with_ids_stripped_as_well, 5),
    "copied": Learner(right_with_a_cell_copied, 5),
    "warned": Learner(right_with_a_warning, 5),
    "skipped": Learner(untouched_but_skipped, 0),
    "edited": Learner(untouched_but_edited_checks, 0),
    "unlocked": Learner(untouched_but_unlocked, 0),
    "shadowed": Learner(
        untouched,
        0,
        {
            "latex2mathml.py": NO_ASSERTS,
            "page.html": "<script>window.pwned = 'file'</script>",
            "data.csv": "1,2\n",
        },
    ),
}
