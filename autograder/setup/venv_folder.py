"""The folder .venv: is it a Python environment that works, and if not, make one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import install_stamp
from problem import SetupProblem

MADE_BY_VENV = {"bin", "include", "lib", "lib64", "pyvenv.cfg", ".gitignore"}
MADE_BY_PACKAGES = {"etc", "man", "share", "src", install_stamp.NAME, install_stamp.UNFINISHED}
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
    before = install_stamp.read(venv)
    if not works(venv):
        return "it does not run"
    if install_stamp.was_interrupted(venv) and not says_yes(venv, HAS_WHOLE_PACKAGES):
        return "the last installation was interrupted"
    if version_of(venv) != version:
        return f"it has Python {version_of(venv)}"
    if before is not None and before.folder != str(venv.parent):
        return "this folder was moved"
    return ""


def refuse_to_delete_strangers(venv: Path) -> None:
    """Raise SetupProblem when the folder holds anything that no environment holds."""
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
