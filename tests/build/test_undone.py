"""Released notebooks in a real kernel, from top to bottom, with nothing done: no cell shows a traceback.

Each day two of the lessons.
"""

from __future__ import annotations

import random

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.contract.friendly_error import WIDTH
from lessons.convert import notebook_path
from tests.conftest import DAY
from tests.build.real_course import REPOSITORY, copy_of_the_course, exercise_lessons

pytestmark = pytest.mark.slow


LESSONS = random.Random(DAY).sample(exercise_lessons(), 2)


@pytest.mark.parametrize("name", LESSONS)
def test_what_needs_an_exercise_says_so_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    path = notebook_path(copy_of_the_course(tmp_path / "course") / "course", name)
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, allow_errors=True, timeout=300, resources=where).execute()
    said = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                said[cell.metadata.nbgrader.grade_id] = output.traceback
    demonstrations = {cell for cell in said if not cell.endswith("-check")}
    to_write = [cell for cell in notebook.cells if "raise NotImplementedError()" in cell.source]
    assert bool(demonstrations) == bool(to_write), "what is handed out for repair runs"
    for cell, lines in said.items():
        assert max(map(len, lines)) <= WIDTH, f"{cell} shows a traceback"
        sentence = " ".join(lines)
        if cell in demonstrations:
            assert " is not written yet: " in sentence or " is not ready yet" in sentence, cell
