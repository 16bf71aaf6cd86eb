"""Takes the course's fixes and keeps the learner's work: `make update`.

First a backup of every file of the learner's; then nbgitpuller fetches and merges; then each
notebook that both sides changed is joined again cell by cell; then every file of the learner's is
compared with the backup. What cannot be joined stays as the learner left it.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from backup import Backup, interrupted_backups, make_backup, same
from notebook_merge import merge_notebooks, read_notebook, write_notebook
from problem import SetupProblem, report
from repository import Clone, GitError, git_environment, open_clone

ROOT = Path(__file__).resolve().parents[3]
MOST_FILES_SHOWN = 12


@dataclass
class Outcome:
    """What an update did, collected as it goes. Paths are relative to the clone."""

    updated: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)  # changed by both sides
    both_changed: dict[str, tuple[str, ...]] = field(default_factory=dict)  # path → cell ids
    left_alone: set[str] = field(default_factory=set)  # could not be joined: the learner's stays
    renamed: dict[str, str] = field(default_factory=dict)  # the learner's file → its new name


def pull(clone: Clone, log: Path) -> None:
    """Let nbgitpuller fetch and merge. Raises SetupProblem with the end of its log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "nbgitpuller.pull", clone.url, clone.branch, str(clone.root)]
    with log.open("wb") as output:
        done = subprocess.run(
            command,
            cwd=clone.root,
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if done.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        said = [line for line in lines if line.strip()][-8:]
        raise SetupProblem("git could not merge the new version.", (), "\n".join(said))


def join_notebook(clone: Clone, backup: Backup, path: str, base: str, outcome: Outcome) -> None:
    """Write the learner's notebook with the course's fixes; or leave it exactly as it was."""
    course_content = clone.content(clone.course, path)
    if course_content is None:  # the course deleted it; the learner's stays
        outcome.left_alone.add(path)
        backup.restore(clone.root, path)
        return
    versions = (
        read_notebook(clone.content(base, path)),
        read_notebook(backup.yours(path).read_bytes()),
        read_notebook(course_content),
    )
    before, learner, course = versions
    if before is None or learner is None or course is None:
        outcome.left_alone.add(path)
        backup.restore(clone.root, path)
        backup.keep_course_version(path, course_content)
        return
    merge = merge_notebooks(before, learner, course)
    (clone.root / path).write_bytes(write_notebook(merge.notebook))
    outcome.joined.add(path)
    if merge.both_changed:
        outcome.both_changed[path] = merge.both_changed
        backup.keep_course_version(path, course_content)


def new_name_of(root: Path, backup: Backup, path: str) -> str:
    """The name under which nbgitpuller kept a learner's file that stood in the way; "" if none."""
    place = root / path
    pattern = re.compile(re.escape(place.stem) + r"__\d{14}" + re.escape(place.suffix))
    for sibling in sorted(place.parent.iterdir()):
        if pattern.fullmatch(sibling.name) and same(sibling, backup.yours(path)):
            return str(sibling.relative_to(root))
    return ""


def keep_learner_files(
    clone: Clone, backup: Backup, base: str, changed_by_course: set[str], outcome: Outcome
) -> None:
    """See that each of the learner's files is as it was, or joined with the course's version."""
    for path in backup.paths:
        if path in changed_by_course and path.endswith(".ipynb") and clone.content(base, path):
            join_notebook(clone, backup, path, base, outcome)
        elif same(clone.root / path, backup.yours(path)):
            continue
        elif path in changed_by_course and clone.content(base, path) is not None:
            outcome.joined.add(path)  # a text file: git joined it, the learner's lines first
        elif new_name := new_name_of(clone.root, backup, path):
            outcome.renamed[path] = new_name
        else:
            backup.restore(clone.root, path)
            outcome.left_alone.add(path)


def roll_back(clone: Clone, backup: Backup) -> None:
    """After a merge that failed: leave it, and put back every file that it touched."""
    clone.abort_merge()
    for path in backup.paths:
        if not same(clone.root / path, backup.yours(path)):
            backup.restore(clone.root, path)
    backup.done()


def update(root: Path, now: datetime) -> str:
    """Update the clone in root; give the report for the learner. Raises SetupProblem."""
    clone = open_clone(root)
    for folder in interrupted_backups(root):
        print(f"The last update was interrupted. Your files before it: {folder.relative_to(root)}")
    if clone.has_latest():
        return "You have the latest version of the course already. Nothing was changed."
    base = clone.common_version()
    changed_by_course = clone.changed_by_course(base)
    files = clone.changed_by_learner(base) | clone.added_by_learner()
    backup = make_backup(root, files, now)
    place = backup.folder.relative_to(root)
    print(f"Your files are backed up in {place} ({len(files)} of them).", flush=True)
    try:
        pull(clone, root / "build" / "update.log")
    except SetupProblem as problem:
        roll_back(clone, backup)
        remedies = (
            "Run `make update` again; if it fails again, clone the course into a new folder and "
            "copy your notebooks there.",
        )
        raise SetupProblem(
            f"{problem.what} Your files are as they were; the backup is in {place}.",
            remedies,
            problem.evidence,
        ) from None
    outcome = Outcome(updated=changed_by_course)
    keep_learner_files(clone, backup, base, changed_by_course, outcome)
    backup.done()
    return describe(outcome, place)


def describe(outcome: Outcome, backup: Path) -> str:
    """The report: what is new, what was kept, where the backup is."""
    lines = ["The course is up to date. New or changed:"]
    shown = sorted(outcome.updated)[:MOST_FILES_SHOWN]
    lines += [f"  {path}" for path in shown]
    if len(outcome.updated) > len(shown):
        lines.append(f"  … and {len(outcome.updated) - len(shown)} more files")
    if outcome.joined:
        lines += ["", "Joined with what you did there:"]
        lines += [f"  {path}" for path in sorted(outcome.joined)]
    for path, cells in sorted(outcome.both_changed.items()):
        lines += ["", f"In {path} you and the course changed the same cell: {', '.join(cells)}."]
        lines += [f"  Yours stayed. The course's is in {backup}/course-version/{path}"]
    for path in sorted(outcome.left_alone):
        lines += ["", f"{path} could not be joined with the new version: yours stayed as it was."]
        lines += [f"  The course's version, if there is one, is in {backup}/course-version/"]
    for path, name in sorted(outcome.renamed.items()):
        lines += ["", f"The course now has a file {path} too: yours is called {name}."]
    lines += ["", "If a notebook is open in JupyterLab: File → Reload Notebook from Disk."]
    return "\n".join(lines)


def main(root: Path = ROOT) -> int:
    """Update; give the exit status."""
    try:
        print(update(root, datetime.now()))
    except SetupProblem as problem:
        return report(problem)
    except GitError as error:
        return report(SetupProblem("git could not do what an update needs.", (), str(error)))
    except KeyboardInterrupt:
        print("\nStopped. Your files are in backups/ if the update had begun.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
