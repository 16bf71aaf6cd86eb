"""Takes the course's fixes and keeps the learner's work: `make update`.

First a backup of every file of the learner's. Then nbgitpuller does what the links of a JupyterHub do: what the
learner changed is committed and merged with the course's version, and where both changed a line it is the learner's.
Notebooks are joined cell by cell (joined_cells.py); what cannot be joined stays as the learner left it.
"""

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from problem import SetupProblem, report
from repository import GitError, git, open_clone

ROOT = Path(__file__).resolve().parents[3]
MOST_FILES_SHOWN = 12
README = """These are your files as they were before `make update` on {when}.

your-files/      every file of yours: what you changed and what you added
course-version/  the course's new version of a notebook that was not joined with yours, or not everywhere
joined.txt       what became of the notebooks that you and the course changed

To go back to a file of yours, copy it from your-files/ to the same place in the course's folder.
`make update` never reads or deletes what is here; delete it when you no longer need it.
"""


def update(root: Path, now: datetime) -> str:
    """Update the clone in root; give the report for the learner. Raises SetupProblem and GitError."""
    clone = open_clone(root)
    if clone.has_latest:
        return "You have the latest version of the course already. Nothing was changed."
    mine, news = clone.learners(), clone.courses()
    backup = make_backup(root, sorted(mine), now)
    place = backup.relative_to(root)
    print(f"Your files are backed up in {place} ({len(mine)} of them).", flush=True)
    try:
        renamed = clone.merge(place)
    except GitError as error:
        with suppress(GitError):
            git(root, "merge", "--abort")
        words = f"git could not take the new version. Your files are as they were, and in {place}."
        evidence = "\n".join(str(error).splitlines()[-5:])
        raise SetupProblem(words, ("Run `make update` again.",), evidence) from None
    joined, more = backup / "joined.txt", f"  … and {len(news) - MOST_FILES_SHOWN} more files"
    return "\n".join([
        "The course is up to date. New or changed:",
        *(f"  {path}" for path in sorted(news)[:MOST_FILES_SHOWN]),
        *([more] if len(news) > MOST_FILES_SHOWN else []),
        *renamed,
        joined.read_text(encoding="utf-8") if joined.exists() else "",
        "If a notebook is open in JupyterLab: File → Reload Notebook from Disk.",
    ])  # fmt: skip


def make_backup(root: Path, paths: Iterable[str], now: datetime) -> Path:
    """Copy these files of root into a new folder in backups/. Raises SetupProblem where that cannot be done.

    A link is copied as a link, and a folder (what git calls a clone inside the clone) as a whole.
    """
    try:
        folder = root / "backups" / f"{now:%Y-%m-%d_%H-%M-%S_%f}"
        folder.mkdir(parents=True)
        (folder / "README.txt").write_text(README.format(when=f"{now:%Y-%m-%d %H:%M}"))
        for path in paths:
            source, target = root / path, folder / "your-files" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir() and not source.is_symlink():
                shutil.copytree(source, target, symlinks=True)
            else:
                shutil.copy2(source, target, follow_symlinks=False)
    except OSError as error:
        raise SetupProblem(
            "Your files could not be backed up, so nothing was updated and nothing was changed.",
            ("Free some disk space and check that this folder belongs to you, then try again.",),
            str(error),
        ) from error
    return folder


def main(root: Path = ROOT) -> int:
    """Update; give the exit status."""
    try:
        print(update(root, datetime.now()))
    except SetupProblem as problem:
        return report(problem)
    except GitError as error:
        return report(SetupProblem("git could not do what an update needs.", (), str(error)))
    except KeyboardInterrupt:
        print("\nStopped. Run `make update` again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
