"""Makes .venv, or repairs it, or sees in a moment that there is nothing to do, or no room for it."""

import argparse
import errno
import fcntl
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pip_run
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


@dataclass(frozen=True)
class Request:
    """What somebody asked `make` for."""

    root: Path
    torch: str  # a requirement: "torch>=2.13"
    torch_index: str = ""  # one more place where pip may look
    extras: tuple[str, ...] = ()
    python_chosen: bool = False  # PYTHON=… was given, so another Python's .venv will not do
    torch_is_default: bool = False  # neither TORCH nor TORCH_INDEX was given: what is there will do

    @property
    def venv(self) -> Path:
        """Where the environment goes."""
        return self.root / ".venv"

    @property
    def python_version(self) -> str:
        """The Python that .venv must have: this one, or the one it has already."""
        there = "" if self.python_chosen else venv_folder.version_of(self.venv)
        return there or venv_folder.running_version()


def read_request(arguments: list[str], root: Path) -> Request:
    """The command line as a Request."""
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__)
    parser.add_argument("--torch", default="torch>=2.13", help="which torch, as pip spells it")
    parser.add_argument("--torch-index", default="", help="one more index where pip may look")
    parser.add_argument(
        "--extras", default=(), type=_names, help="extras of pyproject.toml, with commas"
    )
    parser.add_argument("--torch-is-default", action="store_true", help="what is there will do")
    parser.add_argument("--python-chosen", action="store_true", help="this Python and no other")
    return Request(root, **vars(parser.parse_args(arguments)))


def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted(filter(None, text.split(","))))


def in_gigabytes(size: int) -> str:
    """A number of bytes as a person reads it."""
    return f"{size / GIGABYTE:.1f} GB"


def check_free_space(folder: Path, needed: int) -> None:
    """Raise SetupProblem when the disk of folder has fewer than `needed` bytes left."""
    free = shutil.disk_usage(folder).free
    if free >= needed:
        return
    raise SetupProblem(
        f"The disk is too full: this needs about {in_gigabytes(needed)} in {folder}, "
        f"and {in_gigabytes(free)} are free.",
        (
            "Free some space, then run the same command again.",
            "`python3 -m pip cache purge` deletes what pip has kept from earlier installs.",
            "Or move this folder to a larger disk; nothing in it depends on where it is.",
        ),
    )


def check_room_to_install(root: Path, torch_is_there: bool) -> None:
    """Raise SetupProblem when there is no room for the environment or for pip's downloads."""
    if torch_is_there:
        check_free_space(root, SMALL_CHANGE)
        return
    check_free_space(root, CPU_BUILD)
    temporary = Path(tempfile.gettempdir())
    if temporary.stat().st_dev != root.stat().st_dev:
        check_free_space(temporary, DOWNLOADS)


def cuda_warning(root: Path, torch_index: str) -> str:
    """A sentence for people on Linux whose disk may not hold the CUDA build; else nothing."""
    free = shutil.disk_usage(root).free
    if platform.system() != "Linux" or torch_index or free >= CUDA_BUILD:
        return ""
    return (
        f"Note: {in_gigabytes(free)} are free. If pip picks the CUDA build of torch it may need "
        f"{in_gigabytes(CUDA_BUILD)}; `make help` says how to choose the smaller CPU build."
    )


def stamp_for(request: Request, before: Stamp | None) -> Stamp:
    """The stamp of the environment asked for. Extras that are there already stay."""
    there = before.extras if before else ()
    torch, index = request.torch, request.torch_index
    if before is not None and request.torch_is_default:
        # Chosen once is chosen: `make start TORCH=…` and then plain `make test` fetch nothing again.
        torch, index = before.torch, before.torch_index
    return Stamp(
        project=venv_folder.digest_of_project(request.root / "pyproject.toml"),
        torch=torch,
        torch_index=index,
        python=request.python_version,
        folder=str(request.root),
        extras=tuple(sorted({*request.extras, *there})),
    )


def pip_arguments(wanted: Stamp, before: Stamp | None) -> list[str]:
    """What `pip install` has to be told to turn one environment into the other."""
    extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
    arguments = ["--editable", f".{extras}", wanted.torch]
    if wanted.torch_index:
        arguments += ["--extra-index-url", wanted.torch_index]
    torch_wanted = (wanted.torch, wanted.torch_index)
    if before is not None and torch_wanted != (before.torch, before.torch_index):
        # Without this the torch that is there would do, and the build asked for would never come.
        arguments.append("--upgrade")
    return arguments


def install(request: Request) -> None:
    """Bring .venv to what was asked for. Raises SetupProblem when that cannot be done."""
    before = venv_folder.read(request.venv)
    wanted = stamp_for(request, before)
    if before is not None and before.covers(wanted) and venv_folder.has_python(request.venv):
        return
    torch_is_there = any(request.venv.glob("lib/python*/site-packages/torch/version.py"))
    check_room_to_install(request.root, torch_is_there)
    venv_folder.prepare(request.venv, request.python_version)
    wanted = stamp_for(request, before)  # again: .venv may have been made with another Python

    log = request.root / "build" / "install.log"
    print(f"Installing what the course needs into .venv (log: {log}) …", flush=True)
    warning = "" if torch_is_there else cuda_warning(request.root, request.torch_index)
    if warning:
        print(warning, flush=True)
    venv_folder.begin(request.venv, before)
    try:
        python = venv_folder.python_in(request.venv)
        pip_run.install(python, pip_arguments(wanted, before), request.root, log)
    except SetupProblem:
        venv_folder.give_up(request.venv)
        raise
    venv_folder.finish(request.venv, wanted)
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
        request = read_request(arguments, root)
        with one_at_a_time(root):
            install(request)
    except SetupProblem as problem:
        return report(problem)
    except KeyboardInterrupt:
        print("\nStopped. Run the same command again to go on.", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return report(SetupProblem("The disk is full.", ("Free some space and try again.",)))
    return 0
