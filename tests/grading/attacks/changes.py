"""What a learner may do to the notebook itself: to its graded cells, their names and metadata."""

from __future__ import annotations

from tests.grading.attacks.lesson import RIGHT, Cell, code


def _graded(made: Cell) -> list[Cell]:
    return [c for c in made["cells"] if c["metadata"].get("nbgrader", {}).get("grade")]


def worth_a_thousand(made: Cell) -> None:
    """The one test that passes anyway is worth more than the lesson has."""
    made["cells"].append(code("pass", "my-own-check", 1000.0))


def checks_that_say_pass(made: Cell) -> None:
    for cell in _graded(made):
        cell["source"] = "pass"


def checks_of_something_else(made: Cell) -> None:
    """The names are ours: the right exercise under another one's check."""
    for cell in _graded(made):
        cell["source"] = "check(Right, exercise='Square')"
    made["cells"].insert(1, code(RIGHT["Square"].replace("class Square", "class Right")))


def checks_as_text(made: Cell) -> None:
    for cell in _graded(made):
        cell["cell_type"] = "markdown"


def checks_as_raw_cells(made: Cell) -> None:
    for cell in _graded(made):
        cell["cell_type"] = "raw"


def checks_skipped_by_tag(made: Cell) -> None:
    for cell in _graded(made):
        cell["metadata"]["tags"] = ["skip-execution"]


def points_multiplied(made: Cell) -> None:
    """One right answer, whose points its own metadata says."""
    for cell in _graded(made):
        cell["metadata"]["nbgrader"]["points"] = 1000.0
        cell["source"] = "None"


def checks_twice(made: Cell) -> None:
    """Each graded cell has an empty twin of the same name, before and behind it."""
    for cell in _graded(made):
        place = made["cells"].index(cell)
        made["cells"][place + 1 : place + 1] = [{**cell, "source": "pass", "id": f"twin-{place}"}]
        made["cells"][place:place] = [{**cell, "source": "pass", "id": f"first-{place}"}]


def checks_handed_over(made: Cell) -> None:
    """The graded cells' names are on cells that do nothing, theirs are gone."""
    for cell in _graded(made):
        made["cells"].append({**cell, "source": "0 == 0", "id": cell["id"] + "-x"})
        cell["metadata"] = {}


def checks_unlocked_as_answers(made: Cell) -> None:
    for cell in _graded(made):
        cell["metadata"]["nbgrader"] |= {"solution": True, "locked": False}
        cell["source"] = "'my answer'"


CHANGES = (
    worth_a_thousand,
    checks_that_say_pass,
    checks_of_something_else,
    checks_as_text,
    checks_as_raw_cells,
    checks_skipped_by_tag,
    points_multiplied,
    checks_twice,
    checks_handed_over,
    checks_unlocked_as_answers,
)
