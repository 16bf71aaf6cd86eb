"""What install decides: which Python, what pip is told, what is said when something is in the way."""

import errno
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import install
import venv_folder
from install import ROOT, pip_arguments, read_request, wanted
from problem import SetupProblem
from venv_folder import Stamp

STAMP = Stamp("digest", "torch>=2.13", "", "3.12", "/course", ("test",), "complete")


def test_default_torch_is_the_one_of_the_makefile_and_pyproject() -> None:
    import tomllib

    root = install.ROOT
    default = read_request([]).torch
    assert f"TORCH ?= {default}\n" in (root / "Makefile").read_text()
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert default in project["dependencies"]


@pytest.mark.parametrize(
    ("changes", "covered"),
    [
        ({}, True),
        ({"extras": ()}, True),
        ({"extras": ("cluster", "test")}, False),
        ({"project": "other"}, False),
        ({"torch": "torch==2.13.0"}, False),
        ({"torch_index": "index"}, False),
        ({"python": "3.13"}, False),
        ({"folder": "/moved"}, False),
    ],
)
def test_covers(changes: dict[str, Any], covered: bool) -> None:
    assert STAMP.covers(replace(STAMP, **changes)) is covered


def test_stamp_survives_a_failed_installation_but_does_not_count(tmp_path: Path) -> None:
    other = replace(STAMP, torch="torch==2.99")
    with venv_folder.changing(tmp_path, Stamp(), STAMP):
        assert venv_folder.read(tmp_path) == Stamp()
    assert venv_folder.read(tmp_path) == STAMP
    with pytest.raises(SetupProblem), venv_folder.changing(tmp_path, STAMP, other):
        raise SetupProblem("pip failed")
    remembered = venv_folder.read(tmp_path)
    assert remembered == replace(STAMP, state="")
    assert not remembered.covers(STAMP)
    with pytest.raises(KeyboardInterrupt), venv_folder.changing(tmp_path, STAMP, other):
        raise KeyboardInterrupt
    assert venv_folder.read(tmp_path) == replace(STAMP, state="")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"extras": 3}', '{"extras": []}'])
def test_a_damaged_stamp_is_no_stamp(tmp_path: Path, content: str) -> None:
    (tmp_path / venv_folder.NAME).write_text(content)
    assert venv_folder.read(tmp_path) == Stamp()


def test_pip_arguments() -> None:
    assert pip_arguments(STAMP, Stamp()) == ["--editable", ".[test]", "torch>=2.13"]
    assert "--upgrade" not in pip_arguments(STAMP, STAMP)
    told = pip_arguments(replace(STAMP, torch_index="an-index", extras=()), STAMP)
    assert told[:3] == ["--editable", ".", "torch>=2.13"]
    assert told[3:] == ["--extra-index-url", "an-index", "--upgrade"]


def test_default_python_gives_way_to_the_one_in_venv(tmp_path: Path) -> None:
    make_project(tmp_path)
    here = venv_folder.running_version()
    assert wanted(read_request([]), tmp_path, Stamp()).python == here
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.99.1\n")
    assert wanted(read_request([]), tmp_path, Stamp()).python == "3.99"
    assert wanted(read_request(["--python-chosen"]), tmp_path, Stamp()).python == here


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = install.shutil.disk_usage("/")._replace(free=1_200_000_000)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda folder: usage)


def make_project(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "x"\n[build-system]\nrequires = []\n')


@pytest.mark.usefixtures("full_disk")
def test_full_disk_is_seen_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_project(tmp_path)
    assert install.main([], tmp_path) == 1
    said = capsys.readouterr().err
    assert f"this needs about 3.0 GB in {tmp_path}, and 1.2 GB are free" in said
    assert "Free some space" in said
    assert not (tmp_path / ".venv").exists()


@pytest.mark.usefixtures("full_disk")
def test_a_small_change_needs_less_room(tmp_path: Path) -> None:
    install.check_room(tmp_path, torch_is_there=True)
    with pytest.raises(SetupProblem):
        install.check_room(tmp_path, torch_is_there=False)


def test_cuda_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    usage = install.shutil.disk_usage("/")._replace(free=5 * install.GIGABYTE)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda folder: usage)
    for system, index, warned in (
        ("Linux", "", True), ("Linux", "an-index", False), ("Darwin", "", False)
    ):  # fmt: skip
        monkeypatch.setattr(install.platform, "system", lambda system=system: system)
        install.check_room(tmp_path, False, index)
        assert ("CUDA build" in capsys.readouterr().out) == warned


def test_a_disk_that_fills_up_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill_up(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    make_project(tmp_path)
    monkeypatch.setattr(install, "install", fill_up)
    assert install.main([], tmp_path) == 1
    assert "The disk is full" in capsys.readouterr().err


def test_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def press_ctrl_c(*given: object) -> None:
        raise KeyboardInterrupt

    make_project(tmp_path)
    monkeypatch.setattr(install, "install", press_ctrl_c)
    assert install.main([], tmp_path) == 130
    assert "Run the same command again" in capsys.readouterr().err


def test_venv_that_fails_says_what_it_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupProblem, match="could not make the environment") as caught:
        venv_folder.make(tmp_path / "file" / ".venv")
    assert caught.value.evidence
    assert f"sudo apt install python{venv_folder.running_version()}-venv" in str(caught.value)


def test_works(tmp_path: Path) -> None:
    assert not venv_folder.works(tmp_path)
    python = venv_folder.python_in(tmp_path)
    python.parent.mkdir()
    python.symlink_to("/a/python/that/was/uninstalled")
    assert not venv_folder.works(tmp_path)
    python.unlink()
    # An environment without pip in it.
    subprocess.run([venv_folder.sys.executable, "-m", "venv", "--without-pip", tmp_path])
    assert not venv_folder.works(tmp_path)


def test_problem_reads_well() -> None:
    problem = SetupProblem("It is broken.", ("Mend it.", "Buy another."), "line 1\nline 2")
    assert str(problem) == (
        "It is broken.\n\n    | line 1\n    | line 2\n\nWhat to do:\n  - Mend it.\n  - Buy another."
    )


def test_a_torch_that_was_chosen_once_stays(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    given = read_request(["--torch", "torch==2.13.0", "--torch-index", "https://example.org"])
    chosen = wanted(given, tmp_path, Stamp())
    later = read_request(["--torch-is-default"])
    assert wanted(later, tmp_path, chosen) == chosen
    other = wanted(read_request(["--torch", "torch==2.14.0"]), tmp_path, chosen)
    assert (other.torch, other.torch_index) == ("torch==2.14.0", "")
    assert wanted(later, tmp_path, Stamp()).torch == "torch>=2.13"
