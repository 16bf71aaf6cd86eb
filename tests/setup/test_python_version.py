"""install.py must be readable by Pythons far too old for the course, and say so kindly."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import install
from tests.setup.conftest import ROOT, SETUP

OLD_NAMES = ["python2.7", *(f"python3.{minor}" for minor in range(4, 11))]
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
OLD_PYTHONS = [*OLD_NAMES, *sorted(str(path) for path in PYENV.glob("*/bin/python"))]


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
    return [python for python in OLD_PYTHONS if () < version_of(python) < install.OLDEST]


def test_really_old_pythons_get_the_message() -> None:
    pythons = really_old_pythons()
    if not pythons:
        pytest.skip("no Python older than 3.11 is installed here")
    for python in pythons:
        done = subprocess.run(
            [python, SETUP / "install.py", "--python-chosen"], capture_output=True, text=True
        )
        assert done.returncode == 1
        assert "This course needs Python 3.11 or newer. This is Python" in done.stderr
        assert "What to do: install a newer Python" in done.stderr
        assert "Traceback" not in done.stderr
        assert "SyntaxError" not in done.stderr


def test_old_python_can_parse_it() -> None:
    source = (SETUP / "install.py").read_text()
    ast.parse(source, feature_version=(3, 4))
    tree = ast.parse(source)
    # Python 2.7 knows neither of these.
    assert not any(isinstance(node, ast.JoinedStr | ast.AnnAssign) for node in ast.walk(tree))
    assert source.isascii()


def test_it_takes_a_newer_python_that_is_there_too(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 6))
    monkeypatch.setattr(install, "find_newer_python", lambda: sys.executable)
    monkeypatch.setattr(sys, "argv", ["-c", "print('the newer one ran')"])
    assert install.main() == 0
    assert "the newer one ran" in capfd.readouterr().out


def test_but_not_when_a_python_was_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 6))
    monkeypatch.setattr(sys, "argv", ["install.py", "--python-chosen"])
    assert install.main() == 1
    assert "This is Python 3.9.6" in capsys.readouterr().err


def test_find_newer_python(tmp_path: Path) -> None:
    broken = tmp_path / "python3.14"  # what pyenv leaves for versions that are not selected
    broken.write_text("#!/bin/sh\necho command not found >&2; exit 127\n")
    broken.chmod(0o755)
    nowhere = str(tmp_path / "nowhere")
    assert install.find_newer_python([nowhere, str(broken)]) is None
    assert install.find_newer_python([nowhere, str(broken), sys.executable]) == sys.executable


def test_windows_is_told_about_wsl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(install.os, "name", "nt")
        assert install.main() == 1
    assert "wsl --install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "new_enough"),
    [((2, 7, 18), False), ((3, 10, 99), False), ((3, 11, 0), True), ((4, 0), True)],
)
def test_is_new_enough(version: tuple[int, ...], new_enough: bool) -> None:
    assert install.is_new_enough(version) is new_enough


def test_oldest_python_is_the_same_everywhere() -> None:
    oldest = ".".join(map(str, install.OLDEST))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == f">={oldest}"
    assert project["tool"]["mypy"]["python_version"] == oldest
    assert project["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    makefile = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"Python (3\.\d+) or newer", makefile)) == {oldest}
