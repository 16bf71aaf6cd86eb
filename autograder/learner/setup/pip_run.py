"""Runs uv or pip: keeps a log, shows that something is happening, and explains a failure."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from problem import SetupProblem

LAST_LINES = 12
FAILURES = Path(__file__).with_name("pip_failures.toml")
TAKES_LONG = re.compile(r"Installing collected|GB\)|\d{3}\.\d+ MB\)")


def explain(log: str, log_path: Path) -> SetupProblem:
    """The problem behind a failed run of pip, told from what it printed."""
    listed = tomllib.loads(FAILURES.read_text(encoding="utf-8"))["failure"]
    meant = next(failure for failure in listed if re.search(failure["pattern"], log))
    return SetupProblem(
        meant["meaning"],
        (*meant["remedies"], f"The whole log is in {log_path}."),
        "\n".join(log.rstrip().splitlines()[-LAST_LINES:]),
    )


def show_progress(line: str = "") -> None:
    """On a terminal, one line that is written again and again; in a log, only what takes long."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line.strip():<{width}.{width}}", end="" if line else "\r", flush=True)
    elif TAKES_LONG.search(line):
        print(f"  {line.strip()[:100]}", flush=True)


def install(python: Path, arguments: Sequence[str], folder: Path, log_path: Path) -> None:
    """Install into that python's environment what `pip install arguments` would, run in folder.

    uv does it where it is on the PATH, several times faster; pip does it elsewhere, and where uv
    cannot, since pip knows the mirrors, proxies and certificates of pip's own settings.
    Raises SetupProblem, explained, if it fails.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    uv = shutil.which("uv")
    with log_path.open("w", encoding="utf-8") as log:
        if uv is not None:
            if _run(uv_command(uv, python, arguments), folder, log)[0]:
                return
            print("uv could not install it; trying with pip …", flush=True)
        # pip compiles one file after the other, on one processor: that is left for afterwards.
        pip = [str(python), "-m", "pip", "install", "--no-compile", *arguments]
        done, said = _run(pip, folder, log)
        if not done:
            raise explain(said, log_path)
        # A file that cannot be compiled belongs to a package that does not mean to import it.
        libraries = [str(path) for path in python.parents[1].glob("lib/python*/site-packages")]
        _run([str(python), "-m", "compileall", "-q", "-j", "0", *libraries], folder, log)


def uv_command(uv: str, python: Path, arguments: Sequence[str]) -> list[str]:
    """The command with which uv does what `pip install arguments` does."""
    # Of several indexes pip takes the best version; --upgrade means the named packages to pip and all to uv.
    upgraded = ["--upgrade-package", "torch"] if "--upgrade" in arguments else []
    return [
        *(uv, "pip", "install", "--python", str(python), "--compile-bytecode"),
        *("--index-strategy", "unsafe-best-match", *upgraded),
        *(argument for argument in arguments if argument != "--upgrade"),
    ]


def _run(command: Sequence[str], folder: Path, log: TextIO) -> tuple[bool, str]:
    """Whether the command succeeded, and what it said; that goes to the log, too."""
    # PIP_USER in somebody's settings would make pip refuse to install into .venv.
    settings = dict(os.environ, PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    said = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=settings,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            log.write(line)
            show_progress(line)
    show_progress()
    return process.returncode == 0, "".join(said)
