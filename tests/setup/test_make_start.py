"""The real Makefile, venv and pip, on a tiny course in a folder whose name has spaces."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.conftest import ROOT
from tests.setup.tiny_project import lab_call, make, make_course, torch_version

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return make_course(tmp_path, ROOT)


def pull_the_plug(venv: Path) -> None:
    """What is left when pip is killed."""
    stamp = json.loads((venv / "installed.json").read_text())
    (venv / "installed.json").write_text(json.dumps({**stamp, "state": ""}))


def test_start_from_nothing_then_again(course: Path) -> None:
    first = make(course, "start", LAB_ARGS="--no-browser --port=9999")
    assert first.returncode == 0, first.stderr
    assert "Making an environment with Python 3." in first.stdout
    call = lab_call(first.stdout)
    assert call["folder"] == str(course)
    assert call["arguments"][-2:] == ["--no-browser", "--port=9999"]
    assert call["config"].endswith("autograder/learner/setup/jupyter")
    assert torch_version(course) == "2.14.0"
    log = course / "build" / "install.log"
    assert "torch-2.14.0" in log.read_text()

    log.unlink()
    again = make(course, "start")
    assert again.returncode == 0
    assert "nstall" not in again.stdout
    assert not log.exists()  # pip did not run


def test_what_makes_pip_run_again(course: Path) -> None:
    def installs(*arguments: str, **settings: str) -> bool:
        done = make(course, *arguments, **settings)
        assert done.returncode == 0, done.stderr
        return "Installing" in done.stdout

    assert installs("environment")
    assert installs("everything")  # more extras
    assert not installs("environment")  # fewer: what is there does
    assert installs("environment", TORCH="torch==2.13.0")
    assert torch_version(course) == "2.13.0"
    assert not installs("everything", TORCH="torch==2.13.0")  # the extras were kept

    pyproject = course / "pyproject.toml"
    pyproject.write_text(pyproject.read_text() + "\n[tool.ruff]\nline-length = 90\n")
    assert not installs("environment", TORCH="torch==2.13.0")
    pyproject.write_text(pyproject.read_text().replace("cluster = []", 'cluster = ["checker"]'))
    assert installs("environment", TORCH="torch==2.13.0")


def test_an_index_that_is_given_later_brings_its_torch(course: Path, tmp_path: Path) -> None:
    """With torch there already, pip would be content: TORCH_INDEX must still be listened to."""
    assert make(course, "environment", TORCH="torch==2.13.0").returncode == 0
    index = tmp_path / "an index" / "torch"
    index.mkdir(parents=True)
    name = "torch-2.14.0-py3-none-any.whl"
    shutil.move(tmp_path / "wheels" / name, index / name)
    (index / "index.html").write_text(f'<a href="{name}">{name}</a>')
    shutil.rmtree(tmp_path / "wheels")
    done = make(
        course,
        "environment",
        PIP_NO_INDEX="0",
        PIP_FIND_LINKS="",
        PIP_INDEX_URL=(tmp_path / "nothing here").as_uri(),
        TORCH_INDEX=index.parent.as_uri(),
    )
    assert done.returncode == 0, done.stderr
    assert torch_version(course) == "2.14.0"


def test_broken_environments_are_made_again(course: Path) -> None:
    venv = course / ".venv"
    (venv / "bin").mkdir(parents=True)  # somebody pressed Ctrl-C very early
    done = make(course, "environment")
    assert "Making .venv again: it does not run" in done.stdout
    assert torch_version(course) == "2.14.0"

    (site,) = venv.glob("lib/python*/site-packages")
    pull_the_plug(venv)  # and a package is not all there
    (site / "torch" / "version.py").unlink()
    done = make(course, "environment", TORCH="torch>=2.14")
    assert "Making .venv again: the last installation was interrupted" in done.stdout
    assert torch_version(course) == "2.14.0"

    moved = course.rename(course.with_name("moved"))
    done = make(moved, "environment")
    assert done.returncode == 0, done.stderr
    assert "Making .venv again: this folder was moved" in done.stdout


def test_an_interrupted_download_goes_on(course: Path) -> None:
    assert make(course, "environment").returncode == 0
    pull_the_plug(course / ".venv")
    done = make(course, "environment")
    assert done.returncode == 0
    assert "Making" not in done.stdout
    assert "Installing" in done.stdout
    assert "Installing" not in make(course, "environment").stdout


def test_a_folder_that_is_no_environment_is_left_alone(course: Path) -> None:
    thesis = course / ".venv" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("all of it")
    done = make(course, "environment")
    assert done.returncode != 0
    assert "thesis.txt is in it" in done.stderr
    assert thesis.read_text() == "all of it"


def test_an_environment_that_lies_elsewhere_is_left_alone(course: Path, tmp_path: Path) -> None:
    assert make(course, "environment").returncode == 0
    copy = tmp_path / "copy"
    shutil.copytree(course, copy, ignore=shutil.ignore_patterns(".venv"))
    (copy / ".venv").symlink_to(course / ".venv")
    done = make(copy, "environment")
    assert done.returncode != 0
    assert "Remove the link" in done.stderr
    assert torch_version(course) == "2.14.0"


def test_pip_fails(course: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "wheels")
    (tmp_path / "wheels").mkdir()
    done = make(course, "start")
    assert done.returncode != 0
    assert "pip found no torch that fits this Python and this computer." in done.stderr
    assert "| ERROR: No matching distribution found for torch" in done.stderr
    assert "What to do:" in done.stderr
    log = course / "build" / "install.log"
    assert str(log) in done.stderr
    assert "No matching distribution" in log.read_text()
    assert "Traceback" not in done.stderr


def test_after_a_failure_the_same_command_goes_on(course: Path, tmp_path: Path) -> None:
    hidden = (tmp_path / "wheels").rename(tmp_path / "hidden")
    (tmp_path / "wheels").mkdir()
    assert make(course, "environment").returncode != 0
    (tmp_path / "wheels").rmdir()
    hidden.rename(tmp_path / "wheels")
    done = make(course, "environment")
    assert done.returncode == 0
    assert "Making" not in done.stdout  # the environment itself was sound
    assert torch_version(course) == "2.14.0"


def test_help_lists_every_target(course: Path) -> None:
    text = (course / "Makefile").read_text()
    (phony,) = [line for line in text.splitlines() if line.startswith(".PHONY: help")]
    for said in (make(course).stdout, make(course, "help").stdout):
        for target in phony.split()[1:]:
            assert f"  make {target} " in said
        for name in ("TORCH ", "TORCH_INDEX ", "PYTHON ", "LAB_ARGS ", "TEST_ARGS ", "WORKERS "):
            assert f"  {name}" in said


def test_cleaning_leaves_the_environment_and_the_learners_work(course: Path) -> None:
    kept = ["course/mine.ipynb", "backups/x/mine.ipynb", ".venv/pyvenv.cfg"]
    for name in [*kept, "build/install.log"]:
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text("")
    assert make(course, "clean").returncode == 0
    assert not (course / "build").exists()
    assert all((course / name).exists() for name in kept)


def test_two_at_once_take_turns(course: Path) -> None:
    import fcntl

    with (course / "pyproject.toml").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        install = subprocess.Popen(
            [sys.executable, "autograder/learner/setup/install.py"],
            cwd=course,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert install.stdout is not None
        assert "waiting for it" in install.stdout.readline()
        assert not (course / ".venv").exists()
        install.kill()
        install.communicate()
