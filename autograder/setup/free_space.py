"""Is there room for the environment? Asked before anything is downloaded."""

import platform
import shutil
import tempfile
from pathlib import Path

from problem import SetupProblem

GIGABYTE = 10**9
# Measured with torch 2.13 on Linux: the CPU build and everything else take 2.0 GB, and pip unpacks
# on the side. The CUDA build brings its own libraries: several gigabytes more.
CPU_BUILD = 3 * GIGABYTE
CUDA_BUILD = 12 * GIGABYTE
SMALL_CHANGE = GIGABYTE // 2  # torch is there already
DOWNLOADS = 1 * GIGABYTE  # what pip keeps in the temporary folder meanwhile


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
