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


def explain(log: str, log_path: Path) -> SetupProblem:
    """The problem behind a failed run of pip, told from what it printed."""
    listed = tomllib.loads(FAILURES.read_text(encoding="utf-8"))["failure"]
    meant = next(failure for failure in listed if re.search(failure["pattern"], log))
    return SetupProblem(
        meant["meaning"],
        (*meant["remedies"], f"The whole log is in {log_path}."),
        "\n".join(log.rstrip().splitlines()[-LAST_LINES:]),
    )


def progress_line(line: str) -> str:
    """What to show of one line of pip's output: a short phrase, or nothing."""
    collecting = re.match(r"Collecting ([\w.\[\]-]+)", line)
    if collecting:
        return f"looking at {collecting.group(1)}"
    downloading = re.match(r"\s*Downloading \S*?([^/\s]+) \((.+)\)", line)
    if downloading:
        return f"downloading {downloading.group(1).split('-')[0]} ({downloading.group(2)})"
    if line.startswith("Installing collected packages"):
        return "installing (a minute or two)"
    if line.startswith(("Resolved ", "Prepared ")):  # uv
        return "installing"
    return ""


def show_progress(phrase: str) -> None:
    """On a terminal, rewrite one line; in a log, print only what takes long."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{'  ' + phrase:<{width}.{width}}", end="", flush=True)
    elif re.search(r"installing|GB\)|\d{3}\.\d+ MB\)", phrase):
        print(f"  {phrase}", flush=True)


def clear_progress() -> None:
    """Take the rewritten line away again."""
    if sys.stdout.isatty():
        print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", flush=True)


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
        show_progress("compiling")
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
            phrase = progress_line(line)
            if phrase:
                show_progress(phrase)
    clear_progress()
    return process.returncode == 0, "".join(said)
