"""Looks whether everything the course needs is here, which device checks can run on, and where progress is kept.

What is needed is not written here: it is read from the installed project, so from the one list in
pyproject.toml.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import torch
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autograder.learner.progress import set_default_devices
from autograder.learner.progress_file import HOME_VARIABLE, home
from autograder.reporting.display import Paragraph, show, table

DISTRIBUTION = "backward-by-hand"
NO_GPU_NEEDED = "The course needs no GPU."
REPAIR = "Run `make start` in a terminal in the course's folder: it mends the environment."


@dataclass(frozen=True)
class Part:
    """One thing the course needs: what was found ("" for nothing), and which versions will do."""

    name: str
    found: str
    needed: str = ""

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

    @property
    def advice(self) -> str:
        """What to do where it does not fit."""
        if not self.found:
            return f"{self.name} is missing. {REPAIR}"
        oldest = self.needed.removeprefix(">=")
        first = f"Install Python {oldest} or newer. Then: " if self.name == "Python" else ""
        return f"{self.name} {self.found} will not do. {first}{REPAIR}"


@dataclass(frozen=True)
class Device:
    """What was found.

    names     the devices checks run on, in torch's words
    sentence  the same for a person
    advice    what to do about a GPU that cannot be used; "" where there is nothing to do
    """

    names: tuple[str, ...]
    sentence: str
    advice: str = ""


def find_device() -> Device:
    """Try what is there; never raises for a GPU that does not work."""
    cores = os.cpu_count() or 1
    cpu = f"Checks run on the CPU ({cores} {'core' if cores == 1 else 'cores'}"
    if torch.cuda.is_available():
        problem = cuda_problem()
        if not problem:
            name = torch.cuda.get_device_name()
            return Device(("cpu", "cuda"), f"{cpu}) and on the GPU ({name}).")
        advice = f"The GPU cannot be used: {problem} Its driver may be too old for this torch."
    elif torch.backends.mps.is_available():
        return Device(("cpu",), f"{cpu}); an Apple GPU is not used: it has no float64.")
    elif shutil.which("nvidia-smi") and torch.version.cuda is None:
        advice = "There seems to be an NVIDIA GPU, but this torch is built for the CPU only."
    else:
        return Device(("cpu",), f"{cpu}). {NO_GPU_NEEDED}")
    return Device(("cpu",), f"{cpu}).", f"{advice} {NO_GPU_NEEDED}")


def cuda_problem() -> str:
    """What happens when the GPU is asked to compute: "" if it does, else the first line of why."""
    try:
        doubled = torch.ones(2, device="cuda") * 2
        return "" if doubled.tolist() == [2.0, 2.0] else "it computed 1 × 2 wrongly."
    except RuntimeError as error:
        return str(error).partition("\n")[0].rstrip(".") + "."


@dataclass(frozen=True)
class Environment:
    """What was found: Python and packages, and the device that checks run on."""

    parts: tuple[Part, ...]
    device: Device

    @property
    def shown(self) -> list[tuple[str, str, str]]:
        """The parts people ask about, and every part that will not do."""
        asked = [part for part in self.parts if part.name in ("Python", "torch") or not part.fits]
        return [(part.name, part.found or "–", part.state) for part in asked]

    @property
    def sentences(self) -> list[str]:
        """What stands under the table: the last is what to do, or praise where there is nothing to do."""
        others = len(self.parts) - len(self.shown)
        noun = "package is" if others == 1 else "packages are"
        more = [f"{others} more {noun} here as needed."] if others else []
        advice = [part.advice for part in self.parts if not part.fits]
        advice += [self.device.advice] if self.device.advice else []
        return [*more, self.device.sentence, *(advice or ["Everything the course needs is here."])]

    def __str__(self) -> str:
        lines = [f"{name:<14} {found:<16} {state}" for name, found, state in self.shown]
        return "\n".join([*lines, "", *self.sentences])

    def _repr_html_(self) -> str:
        below = "".join(Paragraph(sentence)._repr_html_() for sentence in self.sentences)
        return table(("Needed", "Found", "State"), self.shown) + below


def check_environment() -> None:
    """Show what was found, and let checks run on the GPU too where there is one that works."""
    device = find_device()
    set_default_devices(device.names)
    show(Environment(tuple(find_parts("notebook")), device))


def find_parts(extra: str = "") -> list[Part]:
    """Python and the packages that the installed project lists, with those of one of its extras."""
    python = platform.python_version()
    try:
        project = metadata.metadata(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return [Part("Python", python), Part("the course", ""), Part("torch", torch.__version__)]
    wanted = map(Requirement, project.get_all("Requires-Dist") or [])
    return [
        Part("Python", python, project["Requires-Python"] or ""),
        *(
            Part(one.name, _installed(one.name), str(one.specifier))
            for one in wanted
            if not one.marker or one.marker.evaluate({"extra": extra})
        ),
    ]


def _installed(name: str) -> str:
    """The version of an installed package; "" where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


DRIVE = Path("/content/drive/MyDrive")
KAGGLE = Path("/kaggle/working")
FOLDER = "backward-by-hand"


def find_place(
    environ: Mapping[str, str], is_there: Callable[[Path], bool], has: Callable[[str], bool]
) -> tuple[Path | None, str]:
    """The folder that this place keeps files in (None: the usual one), and what to tell about it.

    Args:
        environ: its environment variables.
        is_there: whether a folder exists.
        has: whether a module can be imported.
    """
    if environ.get(HOME_VARIABLE):
        return None, "Your progress is kept in {}."
    if has("google.colab"):
        if is_there(DRIVE):
            return DRIVE / FOLDER, "Your progress is kept in your Drive, {}."
        return None, (
            "Your progress is not kept: Colab forgets its files. To keep it, mount your Drive "
            "(the folder icon on the left, then the Drive icon) and run this cell again."
        )
    if "KAGGLE_KERNEL_RUN_TYPE" in environ:
        return KAGGLE / FOLDER, (
            "Your progress is written to {}. Kaggle keeps it if Persistence is set to "
            "“Files only” in the notebook's settings."
        )
    return None, "Your progress is kept in {}, on the computer that runs this notebook."


def settle() -> None:
    """Keep progress where this place keeps files, and say where, or that it does not."""
    folder, words = find_place(os.environ, Path.is_dir, _has)
    if folder is not None:
        os.environ[HOME_VARIABLE] = str(folder)
    print(words.format(home()))


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False
