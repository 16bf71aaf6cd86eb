"""The folder .venv: what it was made from, whether it works, making one, and installing into it.

What it was made from is written inside it: the next run sees that there is nothing to do.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TextIO

from problem import SetupProblem

NAME = "installed.json"
COMPLETE = "complete"  # pip came to its end

# What of [project] pip acts on; the rest describes the project to people.
INSTALLED_FROM = ("name", "version", "dependencies", "optional-dependencies", "scripts")

MADE_BY_VENV = {"bin", "include", "lib", "lib64", "pyvenv.cfg", ".gitignore"}
MADE_BY_PACKAGES = {"etc", "man", "share", "src", NAME}
# Questions to a Python, which answers by its exit status.
IS_NEW_ENOUGH_AND_HAS_PIP = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
# pip writes INSTALLER when all files of a package are there; pyc files come and go.
HAS_WHOLE_PACKAGES = """
import sys
from importlib.metadata import distributions
for package in distributions():
    files = [f for f in package.files or [] if f.suffix != ".pyc"]
    if package.read_text("INSTALLER") is None or not all(f.locate().exists() for f in files):
        sys.exit(1)
"""


@dataclass(frozen=True)
class Stamp:
    """What an environment was made from; all of it "" where that is not known.

    project  digest of what pyproject.toml says about installing
    python   "3.12"
    folder   an environment does not survive being moved
    extras   the extras of pyproject.toml in it
    state    COMPLETE; "" where pip is at work, has failed, or somebody pulled the plug
    """

    project: str = ""
    torch: str = ""
    torch_index: str = ""
    python: str = ""
    folder: str = ""
    extras: tuple[str, ...] = ()
    state: str = ""

    def covers(self, wanted: "Stamp") -> bool:
        """Whether an environment with this stamp is all that `wanted` asks for."""
        same = replace(self, extras=()) == replace(wanted, extras=())
        return same and set(wanted.extras) <= set(self.extras)


def digest_of_project(pyproject: Path) -> str:
    """A digest of the parts of pyproject.toml that installing depends on (not of the rest)."""
    content = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    parts = [content["project"].get(key) for key in INSTALLED_FROM]
    parts += [content["build-system"], content.get("tool", {}).get("setuptools")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read(venv: Path) -> Stamp:
    """The stamp in this environment; an empty one where there is none that can be read."""
    try:
        content = json.loads((venv / NAME).read_text(encoding="utf-8"))
        return Stamp(**{**content, "extras": tuple(content["extras"])})
    except (OSError, ValueError, TypeError, KeyError):
        return Stamp()


def _write(venv: Path, stamp: Stamp) -> None:
    """Put the stamp into this environment."""
    (venv / NAME).write_text(json.dumps(asdict(stamp), indent=1) + "\n", encoding="utf-8")


@contextmanager
def changing(venv: Path, there: Stamp, wanted: Stamp) -> Iterator[None]:
    """Say what becomes of this environment. What it was is kept until it is changed: a retry must know it."""
    _write(venv, replace(there, state=""))
    yield
    _write(venv, wanted)


def running_version() -> str:
    """The version of this Python, like "3.12"."""
    return "{}.{}".format(*sys.version_info)


def python_in(venv: Path) -> Path:
    """The Python of an environment."""
    return venv / "bin" / "python"


def version_of(venv: Path) -> str:
    """The version that an environment was made with, like "3.12"; "" if it does not say."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    settings = dict(line.partition(" = ")[::2] for line in lines)
    return ".".join(settings.get("version", "").split(".")[:2])


def works(venv: Path, question: str = IS_NEW_ENOUGH_AND_HAS_PIP) -> bool:
    """Whether the environment's Python (a link, which may lead nowhere) starts and answers a question with success."""
    try:
        done = subprocess.run([python_in(venv), "-I", "-c", question], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


def why_unusable(venv: Path, version: str) -> str:
    """Why the environment that is there must be made again; "" if it can be kept."""
    there = read(venv)
    if not works(venv):
        return "it does not run"
    if there.state != COMPLETE and not works(venv, HAS_WHOLE_PACKAGES):
        return "the last installation was interrupted"
    if version_of(venv) != version:
        return f"it has Python {version_of(venv)}"
    return "this folder was moved" if there.folder not in ("", str(venv.parent)) else ""


def refuse_to_delete_strangers(venv: Path) -> None:
    """Raise SetupProblem when the folder holds anything that no environment holds, or lies elsewhere."""
    again = "It would be lost if the environment were made again."
    if venv.is_symlink():
        raise SetupProblem(
            f"{venv} is a link to {venv.resolve()}, which was not made for this folder. {again}",
            ("Remove the link, then run the same command again.",),
        )
    strangers = {entry.name for entry in venv.iterdir()} - MADE_BY_VENV - MADE_BY_PACKAGES
    if strangers:
        raise SetupProblem(
            f"{venv} is not just a Python environment: {min(strangers)} is in it. {again}",
            ("Move that away, or rename the folder, then run the same command again.",),
        )


def make(venv: Path) -> None:
    """An empty environment, in place of whatever is there."""
    command = [sys.executable, "-m", "venv", "--clear", str(venv)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        raise SetupProblem(
            f"This Python ({sys.executable}) could not make the environment {venv}.",
            (
                f"Debian, Ubuntu: sudo apt install python{running_version()}-venv",
                "Or use another Python: make start PYTHON=/path/to/python3.12",
                "Or delete the folder .venv and run the same command again.",
            ),
            (made.stdout + made.stderr).strip(),
        )


def prepare(venv: Path, version: str) -> None:
    """Make the environment if there is none, or again if it is broken; else leave it alone."""
    if not venv.exists():
        print(f"Making an environment with Python {running_version()} in .venv …", flush=True)
    elif reason := why_unusable(venv, version):
        refuse_to_delete_strangers(venv)
        print(f"Making .venv again: {reason} …", flush=True)
    else:
        return
    make(venv)


# ---- uv or pip at work: a log, a sign of life, and an explanation where it fails ------------------

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


def fill(python: Path, arguments: Sequence[str], folder: Path, log_path: Path) -> None:
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
