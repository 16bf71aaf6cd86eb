"""Looks whether everything the course needs is here, and says what to do where it is not.

What is needed is not written here: it is read from the installed project, so from the one list in
pyproject.toml.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata

import torch
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autograder import markup
from autograder.devices import Device, find_device
from autograder.progress import set_default_devices
from autograder.view import show, table

DISTRIBUTION = "backward-by-hand"
ALWAYS_SHOWN = ("Python", "torch", "jupyterlab", "nbgrader", "anywidget")
REPAIR = "Run `make start` in a terminal in the course's folder: it mends the environment."


@dataclass(frozen=True)
class Part:
    """One thing the course needs: what was found ("" for nothing), and which versions will do."""

    name: str
    found: str
    needed: str

    @property
    def fits(self) -> bool:
        """Whether it is there in a version that will do. A build made from sources may be newer."""
        return bool(self.found) and SpecifierSet(self.needed).contains(self.found, prereleases=True)

    @property
    def state(self) -> str:
        """One word or two for the table."""
        if self.fits:
            return "✓ ok"
        return f"✗ needs {self.needed}" if self.found else "✗ missing"


@dataclass(frozen=True)
class Environment:
    """What was found: Python and packages, and the device that checks run on."""

    parts: tuple[Part, ...]
    device: Device

    @property
    def advice(self) -> list[str]:
        """What to do, most urgent first; one sentence of praise where there is nothing to do."""
        missing = [part.name for part in self.parts if not part.found]
        old = [part for part in self.parts if part.found and not part.fits]
        sentences = [f"Missing: {', '.join(missing)}. {REPAIR}"] if missing else []
        for part in old:
            remedy = REPAIR
            if part.name == "Python":
                remedy = f"Install Python {part.needed.removeprefix('>=')} or newer. Then: {REPAIR}"
            sentences.append(f"{part.name} {part.found} will not do. {remedy}")
        sentences += [self.device.advice] if self.device.advice else []
        return sentences or ["Everything the course needs is here."]

    @property
    def shown(self) -> list[Part]:
        """The parts people ask about, and every part that will not do."""
        return [part for part in self.parts if part.name in ALWAYS_SHOWN or not part.fits]

    @property
    def sentences(self) -> list[str]:
        """What stands under the table."""
        others = len(self.parts) - len(self.shown)
        noun = "package is" if others == 1 else "packages are"
        more = [f"{others} more {noun} here as needed."] if others else []
        return [*more, self.device.sentence, *self.advice]

    def __str__(self) -> str:
        lines = [f"{part.name:<14} {part.found or '–':<16} {part.state}" for part in self.shown]
        return "\n".join([*lines, "", *self.sentences])

    def _repr_html_(self) -> str:
        rows: list[tuple[str, ...]] = [
            (part.name, part.found or "–", markup.as_html(part.state)) for part in self.shown
        ]
        below = "".join(f"<p>{markup.as_html(sentence)}</p>" for sentence in self.sentences)
        return table(("Needed", "Found", "State"), rows) + below


def check_environment() -> None:
    """Show what was found, and let checks run on the GPU too where there is one that works."""
    device = find_device()
    set_default_devices(device.names)
    show(Environment(find_parts(), device))


def find_parts() -> tuple[Part, ...]:
    """Python and every package the course needs, as the installed project lists them."""
    python = Part("Python", platform.python_version(), "")
    try:
        project = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return (python, Part("the course", "", ""), Part("torch", str(torch.__version__), ""))
    wanted = [Requirement(line) for line in project.requires or []]
    return (
        Part("Python", platform.python_version(), project.metadata["Requires-Python"] or ""),
        *(
            Part(one.name, installed(one.name), str(one.specifier))
            for one in wanted
            if not one.marker
        ),
    )


def installed(name: str) -> str:
    """The version of an installed package; "" where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
