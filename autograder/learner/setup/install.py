"""Makes .venv, or repairs it, or sees in a moment that there is nothing to do, or no room for it.

Run as a file by `make`, which looks for a Python that is new enough, before anything is installed.
"""

import argparse
import errno
import fcntl
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import venv_folder
from problem import SetupProblem, report
from venv_folder import Stamp

ROOT = Path(__file__).resolve().parents[3]
GIGABYTE = 10**9
# Measured with torch 2.13 on Linux: the CPU build and everything else take 2.0 GB, and pip unpacks
# on the side. The CUDA build brings its own libraries: several gigabytes more.
CPU_BUILD = 3 * GIGABYTE
CUDA_BUILD = 12 * GIGABYTE
SMALL_CHANGE = GIGABYTE // 2  # torch is there already
DOWNLOADS = 1 * GIGABYTE  # what pip keeps in the temporary folder meanwhile
STOPPED = "\nStopped. Run the same command again to go on."


def read_request(arguments: list[str]) -> argparse.Namespace:
    """What somebody asked `make` for."""
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__)
    parser.add_argument("--torch", default="torch>=2.13", help="which torch, as pip spells it")
    parser.add_argument("--torch-index", default="", help="one more index where pip may look")
    parser.add_argument("--extras", default="", help="extras of pyproject.toml, with commas")
    parser.add_argument("--torch-is-default", action="store_true", help="what is there will do")
    parser.add_argument("--python-chosen", action="store_true", help="this Python and no other")
    return parser.parse_args(arguments)


def wanted(request: argparse.Namespace, root: Path, there: Stamp) -> Stamp:
    """The stamp of the environment that was asked for.

    What was chosen once stays: extras that are there, and where nothing else was asked for the torch
    and the Python.
    """
    torch, index = request.torch, request.torch_index
    if request.torch_is_default and there.torch:
        torch, index = there.torch, there.torch_index
    python = "" if request.python_chosen else venv_folder.version_of(root / ".venv")
    return Stamp(
        project=venv_folder.digest_of_project(root / "pyproject.toml"),
        torch=torch,
        torch_index=index,
        python=python or venv_folder.running_version(),
        folder=str(root),
        extras=tuple(sorted({*filter(None, request.extras.split(",")), *there.extras})),
        state=venv_folder.COMPLETE,
    )


def pip_arguments(asked: Stamp, there: Stamp) -> list[str]:
    """What `pip install` has to be told to turn one environment into the other."""
    extras = f"[{','.join(asked.extras)}]" if asked.extras else ""
    arguments = ["--editable", f".{extras}", asked.torch]
    if asked.torch_index:
        arguments += ["--extra-index-url", asked.torch_index]
    if there.torch and (asked.torch, asked.torch_index) != (there.torch, there.torch_index):
        # Without this the torch that is there would do, and the build asked for would never come.
        arguments.append("--upgrade")
    return arguments


def check_room(root: Path, torch_is_there: bool, torch_index: str = "") -> None:
    """Raise SetupProblem when there is no room for the environment or for pip's downloads.

    Warns where it may be too little for the CUDA build.
    """
    needed = {root: SMALL_CHANGE if torch_is_there else CPU_BUILD}
    temporary = Path(tempfile.gettempdir())
    if not torch_is_there and temporary.stat().st_dev != root.stat().st_dev:
        needed[temporary] = DOWNLOADS
    for folder, size in needed.items():
        if (free := shutil.disk_usage(folder).free) < size:
            raise SetupProblem(
                f"The disk is too full: this needs about {size / GIGABYTE:.1f} GB in {folder}, "
                f"and {free / GIGABYTE:.1f} GB are free.",
                (
                    "Free some space, then run the same command again.",
                    "`python3 -m pip cache purge` deletes what pip has kept from earlier installs.",
                    "Or move this folder to a larger disk; nothing in it depends on where it is.",
                ),
            )
    free, is_linux = shutil.disk_usage(root).free, platform.system() == "Linux"
    if is_linux and not torch_is_there and not torch_index and free < CUDA_BUILD:
        print(
            f"Note: {free / GIGABYTE:.1f} GB are free. If pip picks the CUDA build of torch it may "
            f"need {CUDA_BUILD / GIGABYTE:.1f} GB; `make help` says how to choose the smaller CPU build.",
            flush=True,
        )


def install(request: argparse.Namespace, root: Path) -> None:
    """Bring .venv to what was asked for. Raises SetupProblem when that cannot be done."""
    venv = root / ".venv"
    there = venv_folder.read(venv)
    asked = wanted(request, root, there)
    if there.covers(asked) and venv_folder.works(venv):
        return
    torch_is_there = any(venv.glob("lib/python*/site-packages/torch/version.py"))
    check_room(root, torch_is_there, request.torch_index)
    venv_folder.prepare(venv, asked.python)
    asked = wanted(request, root, there)  # again: .venv may have been made with another Python
    log = root / "build" / "install.log"
    print(f"Installing what the course needs into .venv (log: {log}) …", flush=True)
    with venv_folder.changing(venv, there, asked):
        venv_folder.fill(venv_folder.python_in(venv), pip_arguments(asked, there), root, log)
    print("The environment is ready.", flush=True)


@contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Hold the only right to change .venv, waiting for whoever has it."""
    with (root / "pyproject.toml").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another `make` is installing; waiting for it …", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass  # some network disks cannot lock: then it is up to the person
        yield


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Install; give the exit status. What a person can mend ends in a sentence, not a traceback."""
    try:
        request = read_request(arguments)
        with one_at_a_time(root):
            install(request, root)
    except SetupProblem as problem:
        return report(problem)
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return report(SetupProblem("The disk is full.", ("Free some space and try again.",)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
