"""The outer wall: bubblewrap (bwrap), with nothing in its file system but Python and its packages."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from autograder.grading.box import bundle
from autograder.grading.box.limits import MIB

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
    }  # fmt: skip
    if device == "cpu":
        values["CUDA_VISIBLE_DEVICES"] = ""
    return values
