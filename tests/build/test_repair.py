"""A repair cell is released broken, without stub or solution, and solved without the broken lines."""

import nbformat
import pytest

from autograder.grading.lesson_building import OfferStart, StripMarkers

LESSON_CELL = """def double(number):
    start = 0
    ### BEGIN SOLUTION
    return start + 2 * number
    ### END SOLUTION
    ### BEGIN START
    # if number:
    #     return start + 3 * number
    ### END START"""
CLEARED = LESSON_CELL.replace(
    """    ### BEGIN SOLUTION
    return start + 2 * number
    ### END SOLUTION
""",
    """    # YOUR CODE HERE
    raise NotImplementedError()
""",
)


def cell(source: str, *tags: str) -> nbformat.NotebookNode:
    metadata = {"tags": list(tags), "nbgrader": {"grade_id": "double"}}
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def test_the_released_cell_holds_the_broken_version():
    released, _ = OfferStart().preprocess_cell(cell(CLEARED, "repair"), {}, 0)
    assert released.source == (
        "def double(number):\n    start = 0\n    if number:\n        return start + 3 * number"
    )


def test_the_solved_cell_holds_nothing_of_the_broken_version():
    solved, _ = StripMarkers().preprocess_cell(cell(LESSON_CELL, "repair"), {}, 0)
    assert "3 * number" not in solved.source
    assert "START" not in solved.source
    assert "2 * number" in solved.source


def test_other_cells_are_left_alone():
    untouched, _ = OfferStart().preprocess_cell(cell(CLEARED), {}, 0)
    assert untouched.source == CLEARED


def test_a_repair_cell_with_nothing_to_repair_is_refused():
    with pytest.raises(ValueError, match="'double' is tagged 'repair'"):
        OfferStart().preprocess_cell(cell("x = 1", "repair"), {}, 0)
