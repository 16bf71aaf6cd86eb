"""pip's failures, told as sentences. The logs are shortened from real ones."""

from pathlib import Path

import pytest

import venv_folder
from problem import SetupProblem

LOG = Path("build/install.log")
OFFLINE = """Collecting torch>=2.13
  WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after \
connection broken by 'NewConnectionError('<HTTPSConnection object>: Failed to establish a new \
connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/
ERROR: Could not find a version that satisfies the requirement torch>=2.13 (from versions: none)
ERROR: No matching distribution found for torch>=2.13
"""
NO_TORCH = """Looking in indexes: an-index
ERROR: Could not find a version that satisfies the requirement torch>=2.13 (from versions: 2.2.2)
ERROR: No matching distribution found for torch>=2.13
"""
FULL = """Installing collected packages: torch
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
"""
CERTIFICATE = """Could not fetch URL: There was a problem confirming the ssl certificate: \
SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))
ERROR: No matching distribution found for torch>=2.13
"""
CONFLICT = """ERROR: Cannot install backward-by-hand and torch==2.2.0 because these package versions \
have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit the documentation
"""
DENIED = """ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: 'x'
"""
DENIED_CACHE_THEN_FULL = (
    "WARNING: The directory '/home/me/.cache/pip' is not writable: Permission denied\n" + FULL
)


@pytest.mark.parametrize(
    ("log", "meaning"),
    [
        (OFFLINE, "could not reach"),
        (NO_TORCH, "found no torch"),
        (FULL, "disk filled up"),
        (CERTIFICATE, "does not trust the certificate"),
        (CONFLICT, "exclude each other"),
        (DENIED, "may not write"),
        (DENIED_CACHE_THEN_FULL, "disk filled up"),
        ("ERROR: something new\n", "could not install what the course needs"),
    ],
)
def test_explain(log: str, meaning: str) -> None:
    problem = venv_folder.explain(log, LOG)
    assert meaning in problem.what
    assert problem.evidence == log.rstrip()
    assert len(problem.remedies) >= 2
    assert str(LOG) in problem.remedies[-1]


def test_explain_shows_only_the_end_of_a_long_log() -> None:
    problem = venv_folder.explain("\n".join(f"line {n}" for n in range(500)), LOG)
    assert problem.evidence.splitlines()[-1] == "line 499"
    assert len(problem.evidence.splitlines()) == venv_folder.LAST_LINES


def test_only_what_takes_long_is_shown_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    small, large = "  Downloading x.whl (35.0 MB)\n", "  Downloading torch-2.13.0.whl (887.9 MB)\n"
    for line in ("Collecting x\n", small, large, "Installing collected packages: a, b\n"):
        venv_folder.show_progress(line)
    assert capsys.readouterr().out == f"{large}  Installing collected packages: a, b\n"


def test_on_a_terminal_one_line_is_written_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(venv_folder.sys.stdout, "isatty", lambda: True)
    venv_folder.show_progress("Collecting dask[distributed]\n")
    assert capsys.readouterr().out == "\rCollecting dask[dis"[:20]
    venv_folder.show_progress()
    assert capsys.readouterr().out == "\r" + " " * 19 + "\r"


def program(path: Path, says: str, status: int = 0) -> Path:
    """A program that prints what it is told and what it was called with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "{says}" "$@"; exit {status}\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def no_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing on the path"))


@pytest.mark.usefixtures("no_uv")
def test_a_python_that_cannot_run_pip(tmp_path: Path) -> None:
    python = program(tmp_path / "venv" / "bin" / "python", "no module named pip:", status=1)
    log = tmp_path / "logs" / "install.log"
    with pytest.raises(SetupProblem, match="could not install") as caught:
        venv_folder.fill(python, ["torch"], tmp_path, log)
    assert caught.value.evidence == "no module named pip: -m pip install --no-compile torch"
    assert log.read_text() == caught.value.evidence + "\n"


@pytest.mark.parametrize("uv_works", [True, False])
def test_uv_installs_where_it_is_and_pip_where_uv_cannot(
    uv_works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = program(tmp_path / "venv" / "bin" / "python", "python")
    program(tmp_path / "programs" / "uv", "uv", status=0 if uv_works else 2)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:/bin:/usr/bin")
    log = tmp_path / "install.log"
    venv_folder.fill(python, ["torch", "--extra-index-url", "x", "--upgrade"], tmp_path, log)
    first, *rest = log.read_text().splitlines()
    assert first.startswith(f"uv pip install --python {python} --compile-bytecode")
    assert first.endswith("--upgrade-package torch torch --extra-index-url x")  # torch, not all
    assert (rest == []) == uv_works
    if not uv_works:
        assert rest[0].endswith("pip install --no-compile torch --extra-index-url x --upgrade")
        assert "compileall" in rest[1]
