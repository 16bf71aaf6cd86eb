"""`.ci/run` on machines that lack things, played with stand-ins for apt-get, sudo and make."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.conftest import ROOT

REAL_TOOLS = ("bash", "dirname", "getconf", "env", "sh")


def stand_in(folder: Path, name: str, script: str) -> None:
    """A command of that name that runs the script."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of commands: root's machine, where make says what it was given."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in REAL_TOOLS:
        (commands / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    (commands / "python3").symlink_to(sys.executable)
    stand_in(commands, "id", "echo 0")
    stand_in(commands, "make", 'echo "make $*; TORCH=$TORCH; REQUIRE_BROWSER=$REQUIRE_BROWSER"')
    stand_in(commands, "git", "")
    return commands


def run_ci(machine: Path, **settings: str) -> str:
    """What .ci/run prints there; it must succeed."""
    folder = machine.parent / "clone" / ".ci"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder)
    done = subprocess.run(
        [machine / "bash", folder / "run"],
        env={"PATH": str(machine), "HOME": os.environ.get("HOME", "/"), **settings},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_installs_what_is_missing(machine: Path) -> None:
    stand_in(machine, "apt-get", f'echo "$*" >> {machine.parent}/installed')
    said = run_ci(machine)
    assert said.rstrip().endswith("make test; TORCH=torch==2.13.0; REQUIRE_BROWSER=")
    update, install = (machine.parent / "installed").read_text().splitlines()
    assert update.startswith("update")
    assert install.endswith("chromium bubblewrap fonts-dejavu-core npm")


def test_without_apt(machine: Path) -> None:
    said = run_ci(machine, TORCH="torch==2.14.0")
    assert "No apt-get here" in said
    assert "make test; TORCH=torch==2.14.0" in said


def test_without_root_or_sudo(machine: Path) -> None:
    stand_in(machine, "id", "echo 1000")
    stand_in(machine, "apt-get", "exit 100")
    said = run_ci(machine)
    assert "Neither root nor sudo" in said
    assert "make test" in said


def test_apt_fails(machine: Path) -> None:
    stand_in(machine, "apt-get", "exit 100")
    said = run_ci(machine)
    assert "apt-get failed" in said
    assert "make test; " in said


def test_where_the_tools_are_nothing_may_be_skipped_for_want_of_them(machine: Path) -> None:
    stand_in(machine, "npm", "")
    stand_in(machine, "chromium", "")
    assert "REQUIRE_BROWSER=1" in run_ci(machine)
