"""`make` takes a Python that is new enough, and says kindly where there is none."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.setup.conftest import ROOT
from tests.setup.tiny_project import make, make_course

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
OLDEST = (3, 11)
OLD_NAMES = ["python2.7", *(f"python3.{minor}" for minor in range(4, 11))]
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
OLD_PYTHONS = [*OLD_NAMES, *sorted(str(path) for path in PYENV.glob("*/bin/python"))]
# What makes a Python say that it is an older one.
PRETENDS = "import sys; sys.version_info = (3, 9, 6); exec(sys.argv[1])"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return make_course(tmp_path, ROOT)


def program(path: Path, line: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


def version_of(python: str) -> tuple[int, ...]:
    """The version of a Python; () if it is not there."""
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", question], capture_output=True, text=True)
    except OSError:
        return ()
    return tuple(map(int, done.stdout.split("."))) if done.returncode == 0 else ()


def really_old_pythons() -> list[str]:
    """The Pythons of this machine that are too old for the course."""
    return [python for python in OLD_PYTHONS if () < version_of(python) < OLDEST]


def test_really_old_pythons_get_the_message(course: Path) -> None:
    pythons = really_old_pythons()
    if not pythons:
        pytest.skip("no Python older than 3.11 is installed here")
    for python in pythons:
        refused(course, python, "Python {}.{}".format(*version_of(python)))


def refused(course: Path, python: str, what: str) -> None:
    done = make(course, "start", PYTHON=python)
    assert done.returncode != 0
    assert f'This course needs Python 3.11 or newer. "{python}" is {what}' in done.stderr
    assert "What to do: install a newer Python" in done.stderr
    assert "make start PYTHON=" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (course / ".venv").exists()


def test_a_python_that_was_named_is_too_old(course: Path) -> None:
    old = program(course / "old python", f"exec '{sys.executable}' -c '{PRETENDS}' \"$2\"")
    refused(course, str(old), "Python 3.9.6.")


def test_there_is_no_such_python(course: Path) -> None:
    refused(course, "python-of-my-dreams", "not there.")


def test_it_takes_a_newer_python_that_is_there_too(course: Path, tmp_path: Path) -> None:
    """Where none was named; what pyenv leaves for versions that are not selected is none."""
    folder = tmp_path / "pythons"
    program(folder / "python3", f"exec '{sys.executable}' -c '{PRETENDS}' \"$2\"")
    program(folder / "python3.14", "echo command not found >&2; exit 127")
    program(folder / "python3.13", f"exec '{sys.executable}' \"$@\"")
    done = make(course, "environment", path=f"{folder}:{os.environ['PATH']}", PYTHON=None)
    assert done.returncode == 0, done.stderr
    assert (course / ".venv" / "bin" / "python").exists()


def test_windows_is_told_about_wsl(course: Path) -> None:
    assert "wsl --install" in make(course, "start", OS="Windows_NT").stderr


def test_oldest_python_is_the_same_everywhere() -> None:
    oldest = ".".join(map(str, OLDEST))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == f">={oldest}"
    assert project["tool"]["mypy"]["python_version"] == oldest
    assert project["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    makefile = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"Python (3\.\d+) or newer", makefile)) == {oldest}
    assert f"sys.version_info < {OLDEST}" in makefile
