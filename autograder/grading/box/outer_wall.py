"""The outer wall: bubblewrap (bwrap), and what of the course is in the box."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import cloudpickle

import autograder
from autograder.contract.functions import FUNCTIONS
from autograder.contract.plan import make_plan
from autograder.exercises import all_exercises, find, registered_exercises
from autograder.grading.box.job import MIB, CannotStart, Limits, Walls
from autograder.observation.packing import to_bytes

PACKAGE = Path(autograder.__file__).parent
# All of the course that goes in. A test looks that none of it imports anything else of the course.
TAKEN = (
    "observation", "running", "grading/box/inside", "contract/differentiation.py",
    "contract/ending.py", "contract/exercise.py", "contract/functions.py",
)  # fmt: skip
_WARM_UP = "Square"


def what_asks() -> bytes:
    """What exercises run beside the learner's code, pickled by value: experiments and functions; and questions to
    warm up with."""
    exercises = (*all_exercises().values(), *registered_exercises().values())
    experiments = {e.name: {s.name: s.run for s in e.scenarios} for e in exercises if e.scenarios}
    own = {
        n: f for n, f in FUNCTIONS.items() if not f.__module__.startswith("autograder.contract.")
    }
    asked = [q for q in make_plan(find(_WARM_UP), seed=0, hidden=True) if q.kind != "scenario"]
    runs = (run for of_one in experiments.values() for run in of_one.values())
    names = {"autograder.exercises", *(each.__module__ for each in (*runs, *own.values()))}
    modules = [importlib.import_module(name) for name in sorted(names)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps((experiments, own, to_bytes(asked)))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def package_folders() -> list[Path]:
    """Where the two packages of the course lie on this machine."""
    widgets = importlib.util.find_spec("widgets")
    return [PACKAGE, *map(Path, (widgets and widgets.submodule_search_locations) or ())]


def python_folders() -> list[Path]:
    """The folders Python and its packages are read from."""
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent}
    return sorted(p for p in found if p != Path("/usr"))


# What the dynamic linker and the C library look up; nothing that names a user or a host.
_ETC = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/alternatives",
]
_GPU = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"]
USER = "1000"
WORK = "/box"  # where a submission may write; each has its own
_ROOM = 64 * MIB


def command(
    control: int, given: int, work: str, limits: Limits, walls: Walls, device: str
) -> tuple[list[str], dict[str, str]]:
    """The command that runs the warm process in a box of its own, and its environment.

    control, given  descriptors: where it is talked to, and where it finds `what_asks`
    work            where a submission may write
    """
    settings = {
        "control": control, "given": given, "package": str(PACKAGE), "work": work,
        "device": device, "limits": asdict(limits), "walls": asdict(walls),
    }  # fmt: skip
    # -P: a file that a submission writes is not what an import finds.
    warm = [sys.executable, "-P", str(PACKAGE / "grading/box/inside/warm.py"), json.dumps(settings)]
    if not walls.outer:
        return warm, environment(device, work)
    program = shutil.which("bwrap")
    if program is None:
        raise CannotStart(
            "bubblewrap is not installed (Debian, Ubuntu: sudo apt install bubblewrap)"
        )
    return [program, *_walled(device), *warm], {}


def _walled(device: str) -> Iterator[str]:
    yield from (
        f"--unshare-all --unshare-user --uid {USER} --gid {USER} --hostname box --die-with-parent "
        "--new-session --cap-drop ALL --clearenv"
    ).split()
    for name, value in environment(device, WORK).items():
        yield from ("--setenv", name, value)
    # Before what is bound: a course may lie below /tmp.
    yield from f"--size {MIB} --tmpfs /tmp --ro-bind /usr /usr".split()
    for place in (Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64")):
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))
    for file in _ETC:
        yield from ("--ro-bind-try", file, file)
    for folder in python_folders():
        if not folder.is_relative_to("/usr"):
            yield from ("--ro-bind", str(folder), str(folder))
    for folder in package_folders():
        yield from ("--size", str(MIB), "--tmpfs", str(folder))
    for name in TAKEN:
        yield from ("--ro-bind", str(PACKAGE / name), str(PACKAGE / name))
    yield from ("--proc", "/proc", "--dev", "/dev")
    if device != "cpu":
        numbered = map(str, Path("/dev").glob("nvidia[0-9]*"))
        for file in (*_GPU, *numbered):
            yield from ("--dev-bind-try", file, file)
    yield from (
        f"--size {_ROOM} --tmpfs {WORK} --chdir {WORK} "
        "--remount-ro /dev --remount-ro /tmp --remount-ro /"
    ).split()
    for folder in package_folders():
        yield from ("--remount-ro", str(folder))
    yield "--"


_ENVIRONMENT = """
PATH=/usr/bin:/bin USER=learner LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 PYTHONNOUSERSITE=1
MPLBACKEND=agg OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NBGRADER_EXECUTION=autograde TRITON_INTERPRET=1
"""


def environment(device: str, work: str) -> dict[str, str]:
    """All the environment there is in the box."""
    values = dict(pair.split("=") for pair in _ENVIRONMENT.split())
    values |= dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR"), work)
    if device == "cpu":
        values["CUDA_VISIBLE_DEVICES"] = ""
    return values
