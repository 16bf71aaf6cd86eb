"""The folder .venv: what it was made from, whether it works, and making one.

What it was made from is written inside it: the next run sees that there is nothing to do.
"""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from problem import SetupProblem

NAME = "installed.json"
# There only while pip works: when it is still there, somebody pulled the plug.
UNFINISHED = "unfinished"

# What of [project] pip acts on; the rest describes the project to people.
INSTALLED_FROM = ("name", "version", "dependencies", "optional-dependencies", "scripts")

MADE_BY_VENV = {"bin", "include", "lib", "lib64", "pyvenv.cfg", ".gitignore"}
MADE_BY_PACKAGES = {"etc", "man", "share", "src", NAME, UNFINISHED}
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
    """What an environment was made from. `extras` are the extras of pyproject.toml in it."""

    project: str  # digest of what pyproject.toml says about installing
    torch: str
    torch_index: str
    python: str  # "3.12"
    folder: str  # an environment does not survive being moved
    extras: tuple[str, ...]
    complete: bool = True  # False: pip has begun to change it and has not succeeded yet

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


def read(venv: Path) -> Stamp | None:
    """The stamp in this environment; None when there is none that can be read."""
    try:
        content = json.loads((venv / NAME).read_text(encoding="utf-8"))
        return Stamp(**{**content, "extras": tuple(content["extras"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(venv: Path, stamp: Stamp) -> None:
    (venv / NAME).write_text(json.dumps(asdict(stamp), indent=1) + "\n", encoding="utf-8")


def begin(venv: Path, before: Stamp | None) -> None:
    """Say that this environment is being changed. What it was is kept: a retry must know it."""
    if before is not None:
        _write(venv, replace(before, complete=False))
    (venv / UNFINISHED).touch()


def finish(venv: Path, stamp: Stamp) -> None:
    """Say that this environment is complete."""
    _write(venv, stamp)
    (venv / UNFINISHED).unlink(missing_ok=True)


def give_up(venv: Path) -> None:
    """Say that pip ended by itself, in an error: what is there is incomplete but not broken."""
    (venv / UNFINISHED).unlink(missing_ok=True)


def was_interrupted(venv: Path) -> bool:
    """Whether pip was stopped half-way, so that what it left cannot be trusted."""
    return (venv / UNFINISHED).exists()


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


def has_python(venv: Path) -> bool:
    """Whether the environment's Python is there at all (it is a link, and may lead nowhere)."""
    return os.access(python_in(venv), os.X_OK)


def works(venv: Path) -> bool:
    """Whether the environment's Python starts, is new enough and has pip."""
    return has_python(venv) and says_yes(venv, IS_NEW_ENOUGH_AND_HAS_PIP)


def says_yes(venv: Path, question: str) -> bool:
    """Whether the environment's Python answers one of the questions above with success."""
    return (
        subprocess.run([python_in(venv), "-I", "-c", question], capture_output=True).returncode == 0
    )


def why_unusable(venv: Path, version: str) -> str:
    """Why the environment that is there must be made again; "" if it can be kept."""
    before = read(venv)
    if not works(venv):
        return "it does not run"
    if was_interrupted(venv) and not says_yes(venv, HAS_WHOLE_PACKAGES):
        return "the last installation was interrupted"
    if version_of(venv) != version:
        return f"it has Python {version_of(venv)}"
    if before is not None and before.folder != str(venv.parent):
        return "this folder was moved"
    return ""


def refuse_to_delete_strangers(venv: Path) -> None:
    """Raise SetupProblem when the folder holds anything that no environment holds, or lies elsewhere."""
    if venv.is_symlink():
        raise SetupProblem(
            f"{venv} is a link to {venv.resolve()}, which was not made for this folder. "
            "It would be lost if the environment were made again.",
            ("Remove the link, then run the same command again.",),
        )
    strangers = {entry.name for entry in venv.iterdir()} - MADE_BY_VENV - MADE_BY_PACKAGES
    if strangers:
        raise SetupProblem(
            f"{venv} is not just a Python environment: {min(strangers)} is in it. "
            "It would be lost if the environment were made again.",
            ("Move that away, or rename the folder, then run the same command again.",),
        )


def make(venv: Path) -> None:
    """An empty environment, in place of whatever is there."""
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupProblem(
            f"This Python ({sys.executable}) cannot make environments: "
            "its venv module is not installed completely.",
            (
                f"Debian, Ubuntu: sudo apt install python{running_version()}-venv",
                "Or use another Python: make start PYTHON=/path/to/python3.12",
            ),
        )
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(venv)], capture_output=True, text=True
    )
    if made.returncode != 0:
        raise SetupProblem(
            f"Python could not make the environment {venv}.",
            ("Delete the folder .venv and run the same command again.",),
            (made.stdout + made.stderr).strip(),
        )


def prepare(venv: Path, version: str) -> None:
    """Make the environment if there is none, or again if it is broken; else leave it alone."""
    if not venv.exists():
        print("Making a Python environment in .venv …", flush=True)
    else:
        reason = why_unusable(venv, version)
        if not reason:
            return
        refuse_to_delete_strangers(venv)
        print(f"Making .venv again: {reason} …", flush=True)
    make(venv)
