"""What .venv was made from, written inside it: the next run sees that there is nothing to do."""

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

NAME = "installed.json"
# There only while pip works: when it is still there, somebody pulled the plug.
UNFINISHED = "unfinished"

# What of [project] pip acts on; the rest describes the project to people.
INSTALLED_FROM = ("name", "version", "dependencies", "optional-dependencies", "scripts")


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
