"""The outer wall: bubblewrap (bwrap), and the folders that a box is built in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.box import bundle
from autograder.grading.box.job import MIB

PREFIX = "grading-box-"
SHORT = Path("/tmp")
LONGEST = 60  # bytes of a path, so that with the names below it a socket's stays below 104


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


def make_folder(for_sockets: bool = False) -> Folder:
    """A new, empty folder; sockets can only be where the path is short. Raises OSError."""
    place = Path(tempfile.gettempdir())
    if for_sockets and len(os.fsencode(place)) > LONGEST:
        place = SHORT
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
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
    for place in {Path(tempfile.gettempdir()), SHORT}:
        for path in place.glob(f"{PREFIX}*"):
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
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "alternatives")
_GPU = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
USER = "1000"
WORK = "/box"  # where a submission may write; each has its own
_ROOM = 64 * MIB


def bubblewrap() -> str | None:
    """The path of bwrap; None where it is not installed."""
    return shutil.which("bwrap")


def command(program: str, made: Path, inside: Sequence[str], device: str) -> list[str]:
    """The command that runs ``inside`` in a box of its own.

    made  the bundle; its packages lie over the real ones, so that the same paths name them
    """
    made_inside = "/bundle"
    line = [
        program, "--unshare-all", "--unshare-user", "--uid", USER, "--gid", USER,
        "--hostname", "box", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--clearenv",
    ]  # fmt: skip
    for name, value in environment(device).items():
        line += ["--setenv", name, value]
    # Before what is bound: a course may lie below /tmp.
    line += ["--size", str(MIB), "--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        place = Path("/", name)
        if place.is_symlink():
            line += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            line += ["--ro-bind", str(place), str(place)]
    for name in _ETC:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for folder in bundle.python_folders():
        if not folder.is_relative_to("/usr"):
            line += ["--ro-bind", str(folder), str(folder)]
    line += ["--ro-bind", str(made), made_inside]
    for name, place in bundle.package_folders().items():
        line += ["--ro-bind", str(made / name), str(place)]
    line += ["--proc", "/proc", "--dev", "/dev"]
    if device != "cpu":
        numbered = [p.name for p in Path("/dev").glob("nvidia[0-9]*")]
        for name in (*_GPU, *numbered):
            line += ["--dev-bind-try", f"/dev/{name}", f"/dev/{name}"]
    line += [
        "--size", str(_ROOM), "--tmpfs", WORK, "--chdir", WORK,
        "--remount-ro", "/dev", "--remount-ro", "/tmp", "--remount-ro", "/", "--", *inside,
    ]  # fmt: skip
    return line


def tmp_is_free() -> bool:
    """Whether nothing the box needs lies below /tmp."""
    places = [*bundle.package_folders().values(), *bundle.python_folders()]
    return not any(place.is_relative_to("/tmp") for place in places)


def environment(device: str) -> dict[str, str]:
    """All the environment there is in the box."""
    where = {str(place.parent) for place in bundle.package_folders().values()}
    values = {
        "PATH": "/usr/bin:/bin", "HOME": WORK, "TMPDIR": WORK, "USER": "learner", "LANG": "C.UTF-8",
        "PYTHONPATH": ":".join(sorted(where)), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "MPLBACKEND": "agg", "MPLCONFIGDIR": WORK,
        "IPYTHONDIR": WORK, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        "NBGRADER_EXECUTION": "autograde",
        "TRITON_INTERPRET": "1",  # questions are asked on the CPU
    }  # fmt: skip
    if device == "cpu":
        values["CUDA_VISIBLE_DEVICES"] = ""
    return values
