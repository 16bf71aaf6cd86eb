"""The folder .venv: what it was made from, whether it works, and making one.

What it was made from is written inside it: the next run sees that there is nothing to do.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from problem import SetupProblem

NAME = "installed.json"
# pip is at work, or somebody pulled the plug; it ended in an error: what is there is not broken; it is done.
UNFINISHED, FAILED, COMPLETE = "unfinished", "failed", "complete"

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
    state    COMPLETE, or how the attempt to change it went
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
    (venv / NAME).write_text(json.dumps(asdict(stamp), indent=1) + "\n", encoding="utf-8")


@contextmanager
def changing(venv: Path, there: Stamp, wanted: Stamp) -> Iterator[None]:
    """Say what becomes of this environment. What it was is kept until it is changed: a retry must know it."""
    _write(venv, replace(there, state=UNFINISHED))
    try:
        yield
    except SetupProblem:
        _write(venv, replace(there, state=FAILED))
        raise
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
    if there.state == UNFINISHED and not works(venv, HAS_WHOLE_PACKAGES):
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
