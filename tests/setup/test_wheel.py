"""A source distribution, the wheel made of it, in an environment with what it asks for and pytest, and nothing else."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lessons.alone import make_wheel
from tests.setup.conftest import ROOT

BROUGHT = (
    "torch",
    "numpy",
    "cloudpickle",
    "platformdirs",
    "filelock",
    "pytest",
)  # pytest for its plugin; the wheel does not ask for it
NOT_THERE = ("IPython", "nbformat", "nbgrader", "ipywidgets", "matplotlib", "scipy")
OPS = """
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return FACTOR * grad_output

inputs = (torch.tensor([0.3, -1.0]),)
"""


def needed(name: str, seen: set[str]) -> Iterator[importlib.metadata.Distribution]:
    """A distribution that is installed here, and what it needs."""
    if name.lower() in seen:
        return
    seen.add(name.lower())
    found = importlib.metadata.distribution(name)
    yield found
    for line in found.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield from needed(requirement.name, seen)


def link(found: importlib.metadata.Distribution, packages: Path) -> None:
    """Make what a distribution installed importable in another environment, without a copy."""
    for top in {path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "/")}:
        place = packages / top
        if not place.exists() and top != "__pycache__":
            place.symlink_to(Path(str(found.locate_file(top))).resolve())


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that sees neither this repository nor this environment's variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that the wheel was installed into."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "-q"]
    wheel = make_wheel(ROOT, folder)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    seen: set[str] = set()
    for name in BROUGHT:
        for found in needed(name, seen):
            link(found, packages)
    put = run(*pip, "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    assert put.returncode == 0, put.stderr
    return python


def test_the_environment_is_as_empty_as_it_should_be(python: Path, tmp_path: Path) -> None:
    question = f"import importlib.util as i; print([n for n in {NOT_THERE} if i.find_spec(n)])"
    assert run(python, "-c", question, cwd=tmp_path).stdout.strip() == "[]"
    where = run(python, "-c", "import autograder; print(autograder.__file__)", cwd=tmp_path)
    assert where.stdout.startswith(str(python.parents[1])), where.stderr


def test_the_wheel_has_the_version_that_the_changes_name(python: Path, tmp_path: Path) -> None:
    question = "import importlib.metadata as m; print(m.version('backward-by-hand'))"
    newest = re.search(r"^## (\S+)", (ROOT / "docs/changelog.md").read_text(), re.M)
    assert newest is not None
    assert run(python, "-c", question, cwd=tmp_path).stdout.strip() == newest[1]


def test_what_the_wheel_asks_for(python: Path, tmp_path: Path) -> None:
    question = "import importlib.metadata as m; print(*m.requires('backward-by-hand'), sep='\\n')"
    lines = run(python, "-c", question, cwd=tmp_path).stdout.splitlines()
    always = {re.split(r"[<>=]", line)[0] for line in lines if "extra ==" not in line}
    assert always == {"torch", "numpy", "cloudpickle", "platformdirs", "filelock"}


def test_the_page_for_any_function_runs_from_top_to_bottom(python: Path, tmp_path: Path) -> None:
    page = tmp_path / "any-function.md"
    page.write_text((ROOT / "docs" / "any-function.md").read_text())
    done = run(python, ROOT / "tests" / "docs" / "documents.py", page, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == (ROOT / "docs" / "any-function.md").read_text()


@pytest.mark.parametrize(("factor", "status", "word"), [(2, 0, "✓ Twice"), (3, 1, "✗ Twice")])
def test_a_file_is_checked(
    factor: int, status: int, word: str, python: Path, tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(OPS.replace("FACTOR", str(factor)))
    done = run(python, "-m", "autograder", "check", "ops.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.startswith(word)
    tested = run(python, "-m", "pytest", "-q", "--backward", "ops.py", cwd=tmp_path)
    assert tested.returncode == status, tested.stdout
    assert ("1 failed" if status else "1 passed") in tested.stdout


@pytest.mark.parametrize("command", [["check", "lesson.ipynb"], ["status"], ["why", "x", "y"]])
def test_what_needs_an_extra_says_which(command: list[str], python: Path, tmp_path: Path) -> None:
    (tmp_path / "lesson.ipynb").write_text("{}")
    done = run(python, "-m", "autograder", *command, cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'backward-by-hand[course,grading]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_there_without_the_extras(python: Path, tmp_path: Path) -> None:
    done = run(python, "-m", "autograder", "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "check a course notebook" in done.stdout
