"""The outer wall: bubblewrap (bwrap), and the folders that a box is built in."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
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
# What a lesson imports of the course and no answer needs, such as `check`, is there and does nothing.
_INERT = """from unittest.mock import MagicMock


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return MagicMock()
"""
_WARM_UP = "Square"
_WARM = "autograder.grading.box.inside.warm"


def make_bundle(folder: Path) -> Path:
    """Write the bundle into an empty folder: autograder/, widgets/ and two files; gives the folder."""
    for name in TAKEN:
        for file in [PACKAGE / name] if name.endswith(".py") else (PACKAGE / name).rglob("*.py"):
            target = folder / "autograder" / file.relative_to(PACKAGE)
            compiled = importlib.util.cache_from_source(target)
            Path(compiled).parent.mkdir(parents=True, exist_ok=True)
            # with its time, so that what Python compiled of it is good here
            shutil.copy2(file, target)
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(importlib.util.cache_from_source(file), compiled)
    for place in (folder / "autograder").rglob("*/"):
        if place.name != "__pycache__":
            (place / "__init__.py").touch()
    for package in ("autograder", "widgets"):
        (folder / package).mkdir(exist_ok=True)
        (folder / package / "__init__.py").write_text(_INERT)
    (folder / "experiments.pickle").write_bytes(_experiments())
    questions = make_plan(find(_WARM_UP), seed=0, hidden=True)
    asked = [q for q in questions if q.kind != "scenario"]
    (folder / "questions.bin").write_bytes(to_bytes(asked))
    return folder


def inert_names() -> list[str]:
    """An instructor's own modules, which notebooks import and the box has nothing behind."""
    own = {e.reference.__module__.partition(".")[0] for e in registered_exercises().values()}
    return sorted(own - {"__main__", "torch", "autograder", "widgets"})


def _experiments() -> bytes:
    """What exercises run beside the learner's code, pickled by value: experiments and functions."""
    exercises = (*all_exercises().values(), *registered_exercises().values())
    experiments = {e.name: {s.name: s.run for s in e.scenarios} for e in exercises if e.scenarios}
    own = {
        n: f for n, f in FUNCTIONS.items() if not f.__module__.startswith("autograder.contract.")
    }
    # Exercises share experiments: each module of theirs may hold one.
    by_value = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in (PACKAGE / "exercises").rglob("*.py")
        if path.stem != "__init__" and not path.stem.endswith("_mistakes")
    }
    by_value |= {run.__module__ for of_one in experiments.values() for run in of_one.values()}
    by_value |= {function.__module__ for function in own.values()}
    modules = [importlib.import_module(name) for name in sorted(by_value)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps({"experiments": experiments, "functions": own})
        return data
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def package_folders() -> dict[str, Path]:
    """Where the two packages of the course lie on this machine."""
    widgets = importlib.util.find_spec("widgets")
    places = {"autograder": PACKAGE}
    if widgets is not None and widgets.origin:
        places["widgets"] = Path(widgets.origin).parent
    return places


def python_folders() -> list[Path]:
    """The folders Python and its packages are read from."""
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent}
    return sorted(p for p in found if p != Path("/usr"))


PREFIX = "grading-box-"


@dataclass(frozen=True)
class Folder:
    """A folder of our own. lock: the descriptor that holds it; owner: the process that made it."""

    path: Path
    lock: int
    owner: int = field(default_factory=os.getpid)

    def remove(self) -> None:
        """Take it away, with all that is in it. A forked child that ends leaves it where it is."""
        if os.getpid() != self.owner:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def make_folder() -> Folder:
    """A new, empty folder. Raises OSError."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            lock = _open(path)
        except FileNotFoundError:  # somebody who cleans up was here between the two steps
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return Folder(path, lock)
        os.close(lock)


def sweep() -> None:
    """Take away what killed processes have left behind."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or just gone
            _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    lock = _open(path)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path)
    finally:
        os.close(lock)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


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


def bubblewrap() -> str | None:
    """The path of bwrap; None where it is not installed."""
    return shutil.which("bwrap")


def command(
    made: Path, control: int, limits: Limits, walls: Walls, device: str
) -> tuple[list[str], dict[str, str]]:
    """The command that runs the warm process in a box of its own, and its environment.

    made  the bundle; its packages lie over the real ones, so that the same paths name them
    """
    inside = str(made.parent / "work")
    settings = {
        "control": control, "bundle": "/bundle" if walls.outer else str(made),
        "work": WORK if walls.outer else inside, "tmp": walls.outer and tmp_is_free(),
        "inert": inert_names(), "device": device, "limits": asdict(limits), "walls": asdict(walls),
    }  # fmt: skip
    # -P: a file that a submission writes is not what an import finds.
    warm = [sys.executable, "-P", "-m", _WARM, json.dumps(settings)]
    if not walls.outer:
        Path(inside).mkdir()
        places = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR"), inside)
        return warm, environment(device) | places | {"PYTHONPATH": str(made)}
    program = bubblewrap()
    if program is None:
        raise CannotStart(
            "bubblewrap is not installed (Debian, Ubuntu: sudo apt install bubblewrap)"
        )
    return [program, *_walled(made, device), *warm], {}


def _walled(made: Path, device: str) -> Iterator[str]:
    yield from (
        f"--unshare-all --unshare-user --uid {USER} --gid {USER} --hostname box --die-with-parent "
        "--new-session --cap-drop ALL --clearenv"
    ).split()
    for name, value in environment(device).items():
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
    own = [folder for folder in python_folders() if not folder.is_relative_to("/usr")]
    given = [*zip(own, own, strict=True), (made, "/bundle")]
    for source, target in given + [(made / name, at) for name, at in package_folders().items()]:
        yield from ("--ro-bind", str(source), str(target))
    yield from ("--proc", "/proc", "--dev", "/dev")
    if device != "cpu":
        numbered = map(str, Path("/dev").glob("nvidia[0-9]*"))
        for file in (*_GPU, *numbered):
            yield from ("--dev-bind-try", file, file)
    yield from (
        f"--size {_ROOM} --tmpfs {WORK} --chdir {WORK} "
        "--remount-ro /dev --remount-ro /tmp --remount-ro / --"
    ).split()


def tmp_is_free() -> bool:
    """Whether nothing the box needs lies below /tmp."""
    places = [*package_folders().values(), *python_folders()]
    return not any(place.is_relative_to("/tmp") for place in places)


def environment(device: str) -> dict[str, str]:
    """All the environment there is in the box."""
    where = {str(place.parent) for place in package_folders().values()}
    values = dict(pair.split("=") for pair in f"""
    PATH=/usr/bin:/bin HOME={WORK} TMPDIR={WORK} USER=learner LANG=C.UTF-8
    PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 PYTHONNOUSERSITE=1 MPLBACKEND=agg MPLCONFIGDIR={WORK}
    IPYTHONDIR={WORK} OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NBGRADER_EXECUTION=autograde TRITON_INTERPRET=1
    """.split())  # fmt: skip
    values["PYTHONPATH"] = ":".join(sorted(where))
    if device == "cpu":
        values["CUDA_VISIBLE_DEVICES"] = ""
    return values
