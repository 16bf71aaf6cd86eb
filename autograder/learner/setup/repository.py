"""The learner's clone and the course it came from: the few git commands an update needs."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from problem import SetupProblem

# Somebody's own git settings must not stop an update, ask a question or open an editor.
SETTINGS = {"commit.gpgsign": "false", "core.hooksPath": os.devnull, "core.quotepath": "false"}
NO_GIT = (
    "Debian, Ubuntu: sudo apt install git",
    "macOS: xcode-select --install",
    "Without git: download the new version into a folder beside this one, and copy your "
    "notebooks over. Nothing was changed here.",
)


def git_environment() -> dict[str, str]:
    """The environment variables git runs with: quiet, in English, with SETTINGS."""
    settings = {"GIT_CONFIG_COUNT": str(len(SETTINGS))}
    for number, (key, value) in enumerate(SETTINGS.items()):
        settings[f"GIT_CONFIG_KEY_{number}"] = key
        settings[f"GIT_CONFIG_VALUE_{number}"] = value
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_MERGE_AUTOEDIT": "no", "LC_ALL": "C"}
    return {**os.environ, **settings, **quiet}


class GitError(Exception):
    """git ended in an error; the text is what it said."""


def git(root: Path, *arguments: str) -> bytes:
    """What `git arguments` prints, run in root. Raises GitError."""
    done = subprocess.run(["git", *arguments], cwd=root, env=git_environment(), capture_output=True)
    if done.returncode != 0:
        raise GitError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def git_line(root: Path, *arguments: str) -> str:
    """The one line that `git arguments` prints."""
    return git(root, *arguments).decode().strip()


def git_paths(root: Path, *arguments: str) -> set[str]:
    """The paths, relative to root, that `git arguments -z` prints."""
    return set(filter(None, os.fsdecode(git(root, *arguments)).split("\0")))


@dataclass(frozen=True)
class Clone:
    """A learner's clone. `branch` is the course's branch, `url` where the course comes from."""

    root: Path
    branch: str
    url: str

    @property
    def course(self) -> str:
        """The name of the newest version of the course that was fetched."""
        return f"origin/{self.branch}"

    def has_latest(self) -> bool:
        """Whether everything that was fetched is in this clone already."""
        return git_line(self.root, "merge-base", "HEAD", self.course) == git_line(
            self.root, "rev-parse", self.course
        )

    def common_version(self) -> str:
        """The newest commit that the learner and the course share."""
        return git_line(self.root, "merge-base", "HEAD", self.course)

    def changed_by_learner(self, since: str) -> set[str]:
        """Tracked files that differ from that commit, committed or not, and still exist."""
        changed = git_paths(self.root, "diff", "--name-only", "--no-renames", "-z", since)
        return {path for path in changed if os.path.lexists(self.root / path)}

    def added_by_learner(self) -> set[str]:
        """Files that git does not know and does not ignore."""
        return git_paths(self.root, "ls-files", "--others", "--exclude-standard", "-z")

    def changed_by_course(self, since: str) -> set[str]:
        """Files that the course changed, added or deleted after that commit."""
        return git_paths(self.root, "diff", "--name-only", "--no-renames", "-z", since, self.course)

    def content(self, version: str, path: str) -> bytes | None:
        """What a file held in a version; None if it was not there."""
        try:
            return git(self.root, "show", f"{version}:{path}")
        except GitError:
            return None

    def abort_merge(self) -> None:
        """Leave a merge that stopped half-way, if there is one."""
        if merging(self.root):
            git(self.root, "merge", "--abort")


def merging(root: Path) -> bool:
    """Whether a merge or a rebase is going on."""
    names = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD")
    return any((root / git_line(root, "rev-parse", "--git-path", n)).exists() for n in names)


def check_is_clone(root: Path) -> None:
    """Raise SetupProblem when root is not the top folder of a git clone with an origin."""
    if shutil.which("git") is None:
        raise SetupProblem("git is not installed, and `make update` needs it.", NO_GIT)
    try:
        top = git_line(root, "rev-parse", "--show-toplevel")
    except GitError as error:
        if "not a git repository" in str(error):
            top = ""
        else:
            raise SetupProblem("git cannot read this folder.", (), str(error)) from None
    if not top or not Path(top).samefile(root):
        raise SetupProblem(
            f"{root} is not a git clone, so there is nothing to update it from.",
            (
                "If you downloaded the course as a file: download the new version into a folder "
                "beside this one, and copy your notebooks over.",
            ),
        )
    if merging(root):
        raise SetupProblem(
            "A git merge or rebase is unfinished in this folder.",
            ("Finish it, or leave it with `git merge --abort` or `git rebase --abort`.",),
        )


def course_branch(root: Path) -> str:
    """The branch the course lives on, asked from where it came from. Raises SetupProblem."""
    try:
        answer = git(root, "ls-remote", "--symref", "origin", "HEAD").decode()
    except GitError as error:
        raise SetupProblem(
            "The place this course was cloned from cannot be reached. Nothing was changed.",
            (
                "Check the internet connection and run `make update` again.",
                "`git remote -v` shows the address; `git remote set-url origin …` mends it.",
            ),
            str(error),
        ) from None
    for line in answer.splitlines():
        if line.startswith("ref: refs/heads/"):
            return line.split()[1].removeprefix("refs/heads/")
    raise SetupProblem("The place this course was cloned from is empty. Nothing was changed.")


def open_clone(root: Path) -> Clone:
    """The clone in root, with the course's newest version fetched. Raises SetupProblem."""
    check_is_clone(root)
    try:
        url = git_line(root, "remote", "get-url", "origin")
    except GitError:
        raise SetupProblem(
            "This clone does not know where it came from: it has no remote called origin.",
            ("git remote add origin ADDRESS-OF-THE-COURSE",),
        ) from None
    branch = course_branch(root)
    here = git_line(root, "branch", "--show-current")
    if here != branch:
        raise SetupProblem(
            f"You are on {'branch ' + here if here else 'no branch'}; the course is on {branch}. "
            "Nothing was changed.",
            (f"git switch {branch}", "Or, if you work on the course itself, merge as you like."),
        )
    try:
        git(root, "fetch", "origin")
    except GitError as error:
        raise SetupProblem("The new version could not be fetched.", (), str(error)) from None
    return Clone(root, branch, url)
