"""A notebook of a release, opened alone: it brings the course, keeps what the place has, and goes on."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

from autograder.learner.environment import DRIVE, KAGGLE, find_place
from lessons.alone import FIRST_CELL, alone, opened_in, release
from tests.setup.conftest import ROOT
from tests.setup.test_wheel import link, needed, run

# What such a place brings. Only what is missing of the extra `notebook` is installed.
PLACE = ("torch", "ipykernel", "ipywidgets", "matplotlib", "scikit-learn", "networkx", "pip",
         "beautifulsoup4", "nbformat", "platformdirs", "filelock", "packaging")  # fmt: skip
MISSING = ("anywidget", "psygnal")
FROM_WHEEL = """
import autograder
from pathlib import Path
assert not Path("lessons").exists() and "site-packages" in autograder.__file__
"""


def as_wheel(name: str, folder: Path) -> None:
    """A wheel of what is installed here: the local place that pip takes packages from."""
    found = importlib.metadata.distribution(name)
    stem = f"{found.metadata['Name'].replace('-', '_')}-{found.version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for path in found.files or ():
            if path.parts[0] not in ("..", "/") and path.suffix != ".pyc":
                wheel.write(path.locate(), str(path))


def environment(folder: Path, names: tuple[str, ...]) -> Path:
    """The Python of a fresh environment with these packages, and nothing else."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    seen: set[str] = set(MISSING)
    for name in names:
        for found in needed(name, seen):
            link(found, packages)
    return folder / "venv/bin/python"


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """The files of a release, at an address on this disk, beside a few packages."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    release(ROOT, folder, folder.as_uri())
    for name in MISSING:
        as_wheel(name, folder)
    return folder


def test_every_notebook_of_the_course_is_released(released) -> None:
    assert {path.name for path in released.glob("*.ipynb")} == {
        path.name for path in (ROOT / "course").glob("*/*.ipynb")
    }
    for path in released.glob("*.ipynb"):
        first = nbformat.read(path, as_version=4).cells[0]
        assert first.id == FIRST_CELL
        assert len(first.source.splitlines()) <= 28
        compile(first.source, path.name, "exec")


def test_alone_it_installs_the_course_and_goes_on(released, tmp_path, monkeypatch) -> None:
    python = environment(tmp_path, PLACE)
    notebook = nbformat.read(released / "00_start_here.ipynb", as_version=4)
    asked = {FIRST_CELL, "setup", "see-map", "demo-double", "quiz-start"}
    notebook.cells = [cell for cell in notebook.cells if cell.id in asked]
    assert len(notebook.cells) == len(asked)
    wrong = nbformat.v4.new_code_cell("check(Double)", metadata={"tags": ["raises-exception"]})
    notebook.cells += [nbformat.v4.new_code_cell(FROM_WHEEL), wrong]
    spec = tmp_path / "kernels/place"
    spec.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "place", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("PYTHON", "PIP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(released))
    assert "place" in KernelSpecManager().find_kernel_specs()
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, kernel_name="place", timeout=300, resources=where).execute()
    first, *_, last = ("".join(map(str, cell.outputs)) for cell in notebook.cells)
    assert "The course is not here. Installing file:" in first
    assert f"and what it needs: {MISSING[0]}" in first
    assert f"torch {importlib.metadata.version('torch')}" in first
    assert "Your progress is kept in" in first
    assert "✗ Double" in last
    kept = run(python, "-c", "import torch; print(torch.__version__)", cwd=tmp_path)
    assert kept.stdout.strip() == importlib.metadata.version("torch")


def refused(source: str, tmp_path: Path, torch: str) -> str:
    """What the first cell says in a place with that torch, with nothing installed by it."""
    python = environment(tmp_path, ("pip",))
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / f"torch-{torch}.dist-info").mkdir()
    metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}\n"
    (packages / f"torch-{torch}.dist-info/METADATA").write_text(metadata)
    before = sorted(packages.iterdir())
    done = run(python, "-c", source, cwd=tmp_path)
    assert done.returncode == 1
    assert sorted(packages.iterdir()) == before
    return done.stdout + done.stderr


def test_a_torch_that_is_too_old_is_refused_clearly(released, tmp_path) -> None:
    source = nbformat.read(released / "00_start_here.ipynb", as_version=4).cells[0].source
    said = refused(source, tmp_path, "2.9.1+cu128")
    assert "torch 2.9.1+cu128 is installed here, and the course needs 2.13 or newer" in said


def test_another_wheel_than_the_one_released_is_refused(released, tmp_path) -> None:
    source = nbformat.read(released / "00_start_here.ipynb", as_version=4).cells[0].source
    said = refused(re.sub(r"sha256=\w+", f"sha256={'0' * 64}", source), tmp_path, "2.13.0")
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in said


def test_a_button_opens_the_released_notebook_in_colab_and_kaggle() -> None:
    address = "https://github.com/somebody/course/releases/download/v1.0.0"
    blob = "somebody/course/blob/notebooks/02_sigmoid.ipynb"
    colab, kaggle = opened_in(address, "02_sigmoid", buttons=True)
    assert colab.endswith(f".svg)](https://colab.research.google.com/github/{blob})")
    assert kaggle.endswith(
        f".svg)](https://kaggle.com/kernels/welcome?src=https://github.com/{blob})"
    )
    plain = opened_in("https://github.com/somebody/course/blob/main/", "02_sigmoid", buttons=False)
    assert [one.partition("]")[0] for one in plain] == ["[Open in Colab", "[Open in Kaggle"]
    assert opened_in("file:///here", "02_sigmoid", buttons=True) == []


def test_a_release_on_github_has_both_buttons_beside_each_notebook(tmp_path, monkeypatch) -> None:
    wheel = tmp_path / "course.whl"
    wheel.write_bytes(b"")
    monkeypatch.setattr("lessons.alone.make_wheel", lambda root, folder: wheel)
    folder = tmp_path / "dist"
    release(ROOT, folder, "https://github.com/somebody/course/releases/download/v1.0.0")
    text = (folder / "README.md").read_text(encoding="utf-8")
    notebooks = len(list(folder.glob("*.ipynb")))
    assert text.count("colab-badge.svg") == text.count("open-in-kaggle.svg") == notebooks > 0


def test_a_notebook_keeps_its_cells_and_graded_ones_their_places() -> None:
    lesson = nbformat.read(ROOT / "course/02_sigmoid/02_sigmoid.ipynb", as_version=4)
    made = alone(lesson, "https://example.org/x.whl", "0" * 64, "2.13")
    assert made.cells[1:] == lesson.cells


def test_a_lesson_brings_what_it_alone_imports() -> None:
    brought = {}
    for path in (ROOT / "course").glob("*/[0-9]*.ipynb"):
        made = alone(
            nbformat.read(path, as_version=4), "https://example.org/x.whl", "0" * 64, "2.13"
        )
        brought[path.stem] = re.findall(r"backward-by-hand\[(.*?)\]", made.cells[0].source)
    assert brought.pop("12_modern") == ["notebook,triton"]
    assert brought.pop("02_sigmoid") == ["notebook"]
    assert {"notebook"} == {extras for each in brought.values() for extras in each}


@pytest.mark.parametrize(
    ("environ", "there", "modules", "folder", "words"),
    [
        ({}, (), (), None, "is kept in {}"),
        ({"BACKWARD_BY_HAND_HOME": "/x"}, (DRIVE,), ("google.colab",), None, "is kept in {}"),
        ({}, (), ("google.colab",), None, "is not kept"),
        ({}, (DRIVE,), ("google.colab",), DRIVE, "in your Drive"),
        ({"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}, (), (), KAGGLE, "Persistence"),
    ],
)
def test_progress_is_kept_where_the_place_keeps_files(
    environ, there, modules, folder, words
) -> None:
    place, said = find_place(environ, there.__contains__, modules.__contains__)
    assert place == (folder and folder / "backward-by-hand")
    assert words in said
