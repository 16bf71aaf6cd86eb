"""The learner's clone and the course it came from: the few git commands an update needs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from problem import SetupProblem

# Somebody's own git settings must not stop an update, ask a question or open an editor.
SETTINGS = {
    "commit.gpgsign": "false",
    "core.hooksPath": os.devnull,
    "core.quotepath": "false",
    "diff.renames": "false",
    "user.name": "make update",
    "user.email": "update@localhost",
}
NO_GIT = (
    "Debian, Ubuntu: sudo apt install git",
    "macOS: xcode-select --install",
    "Without git: download the new version into a folder beside this one, and copy your "
    "notebooks over. Nothing was changed here.",
)
FOLDER = Path(__file__).resolve().parent
UNFINISHED = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD")


class GitError(Exception):
    """git ended in an error; the text is what it said."""


def git(root: Path, *arguments: str) -> str:
    """What `git arguments` prints, without the end of its last line, run in root. Raises GitError."""
    return os.fsdecode(_run(["git", *arguments], root, SETTINGS)).rstrip("\n")


def _run(command: list[str], root: Path, settings: Mapping[str, str]) -> bytes:
    environ = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for number, (key, value) in enumerate(settings.items()):
        environ |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    done = subprocess.run(command, cwd=root, env=os.environ | environ, capture_output=True)
    if done.returncode != 0:
        raise GitError((done.stdout + done.stderr).decode(errors="replace").strip())
    return done.stdout


def git_paths(root: Path, *arguments: str) -> set[str]:
    """The paths, relative to root, that `git arguments -z` prints."""
    return set(filter(None, git(root, *arguments, "-z").split("\0")))


@dataclass(frozen=True)
class Clone:
    """A learner's clone.

    branch  on which the newest version of the course is, which was fetched
    base    the newest commit that the learner and the course share
    """

    root: Path
    branch: str
    base: str

    @property
    def course(self) -> str:
        """The name of the newest version."""
        return f"origin/{self.branch}"

    @property
    def has_latest(self) -> bool:
        """Whether everything that was fetched is in this clone already."""
        return self.base == git(self.root, "rev-parse", self.course)

    def learners(self) -> set[str]:
        """The learner's files: tracked ones that differ, committed or not, and those that git does not know."""
        changed = git_paths(self.root, "diff", "--name-only", "--no-renames", self.base)
        changed |= git_paths(self.root, "ls-files", "--others", "--exclude-standard")
        return {path for path in changed if os.path.lexists(self.root / path)}

    def courses(self) -> set[str]:
        """Files that the course changed, added or deleted."""
        return git_paths(self.root, "diff", "--name-only", "--no-renames", self.base, self.course)

    def merge(self, backup: Path) -> list[str]:
        """Bring the learner's work and the course's version together; which files have another name now.

        backup  where joined_cells.py says what became of notebooks, from root
        Raises GitError.
        """
        joining = map(quote, (sys.executable, str(FOLDER / "joined_cells.py")))
        settings = SETTINGS | {
            "core.attributesFile": str(FOLDER / "git_attributes.txt"),
            "merge.cells.driver": f"{' '.join(joining)} %O %A %B %P {quote(str(backup))}",
        }
        origin = git(self.root, "remote", "get-url", "origin")
        pull = [sys.executable, "-m", "nbgitpuller.pull", origin, self.branch, "."]
        said = _run(pull, self.root, settings).decode(errors="replace")
        return [line for line in said.splitlines() if line.startswith("Renamed ")]


def open_clone(root: Path) -> Clone:
    """The clone in root, with the course's newest version fetched. Raises SetupProblem."""
    if shutil.which("git") is None:
        raise SetupProblem("git is not installed, and `make update` needs it.", NO_GIT)
    try:
        top = git(root, "rev-parse", "--show-toplevel")
    except GitError as error:
        if "not a git repository" not in str(error):
            raise SetupProblem("git cannot read this folder.", (), str(error)) from None
        top = ""
    if not top or not Path(top).samefile(root):
        raise SetupProblem(
            f"{root} is not a git clone, so there is nothing to update it from.", NO_GIT[2:]
        )
    if any((root / git(root, "rev-parse", "--git-path", n)).exists() for n in UNFINISHED):
        raise SetupProblem(
            "A git merge or rebase is unfinished in this folder.",
            ("Finish it, or leave it with `git merge --abort` or `git rebase --abort`.",),
        )
    branch = _course_branch(root)
    here = git(root, "branch", "--show-current")
    if here != branch:
        raise SetupProblem(
            f"You are on {'branch ' + here if here else 'no branch'}; the course is on {branch}. "
            "Nothing was changed.",
            (f"git switch {branch}", "Or, if you work on the course itself, merge as you like."),
        )
    git(root, "fetch", "origin")
    return Clone(root, branch, git(root, "merge-base", "HEAD", f"origin/{branch}"))


def _course_branch(root: Path) -> str:
    """The branch the course lives on, asked from where it came from. Raises SetupProblem."""
    if "origin" not in git(root, "remote").split():
        raise SetupProblem(
            "This clone does not know where it came from: it has no remote called origin.",
            ("git remote add origin ADDRESS-OF-THE-COURSE",),
        )
    try:
        answer = git(root, "ls-remote", "--symref", "origin", "HEAD")
    except GitError as error:
        raise SetupProblem(
            "The place this course was cloned from cannot be reached. Nothing was changed.",
            (
                "Check the internet connection and run `make update` again.",
                "`git remote -v` shows the address; `git remote set-url origin …` mends it.",
            ),
            str(error),
        ) from None
    head = answer.partition("\t")[0].removeprefix("ref: refs/heads/")
    if not head or head == answer:
        raise SetupProblem("The place this course was cloned from is empty. Nothing was changed.")
    return head
