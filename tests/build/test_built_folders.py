"""course/ and solutions/, which are committed, are what lessons/ gives."""

from __future__ import annotations

from pathlib import Path

import nbformat
from bs4 import BeautifulSoup

from lessons.build import ROOT, check
from tests.build.real_course import copy_of_the_course


def test_built_folders_match_lessons(tmp_path: Path) -> None:
    assert check(copy_of_the_course(tmp_path / "course")) == [], "run `make build`"


def test_planted_differences_are_seen(tmp_path: Path) -> None:
    course = copy_of_the_course(tmp_path / "course", "0[01]_*")
    planted = [*course.glob("course/*/*.ipynb"), *course.glob("solutions/*/*.ipynb")]
    assert len(planted) == 3
    for path in planted:
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[-1].source += "\nOne more line."
        nbformat.write(notebook, path)
    said = check(course)
    for path in planted:
        assert any(str(path.relative_to(course)) in line for line in said), path


def test_solutions_were_saved_without_errors_and_widget_state(tmp_path: Path) -> None:
    for path in copy_of_the_course(tmp_path / "course").glob("solutions/*/*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        assert "widgets" not in notebook.metadata
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                if "raises-exception" not in cell.metadata.get("tags", []):
                    assert output.output_type != "error", f"{path.name}: {cell.id}"
                for kind in output.get("data", {}):
                    assert kind in {
                        "text/plain", "text/html", "text/markdown", "text/latex", "image/png",
                        "image/jpeg",
                    }, f"{path.name}: {cell.id} has {kind}"  # fmt: skip


def test_solutions_hold_every_picture_once_and_with_alternative_text() -> None:
    pictures = 0
    for path in sorted((ROOT / "solutions").glob("*/*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                assert "image/png" not in output.get("data", {}), f"{path.name}: {cell.id}"
                html = BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser")
                for image in html.find_all("img"):
                    assert image["alt"].strip(), f"{path.name}: {cell.id}"
                    pictures += 1
    assert pictures > 40
