"""A course, the place it is published and a learner's clone of it, all in a temporary folder."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

NOTEBOOK = "course/01_template/01_template.ipynb"
QUIET = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.org",
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.org",
}


def code(name: str, *lines: str, outputs: tuple[str, ...] = ()) -> dict:
    """A code cell whose id is its grade_id, as the course builds them; run, if it has outputs."""
    return {
        "cell_type": "code",
        "execution_count": 1 if outputs else None,
        "id": name,
        "metadata": {"nbgrader": {"grade_id": name}},
        "outputs": [{"name": "stdout", "output_type": "stream", "text": list(outputs)}]
        if outputs
        else [],
        "source": [line + "\n" for line in lines[:-1]] + [lines[-1]],
    }


def prose(name: str, *lines: str) -> dict:
    """A markdown cell."""
    source = [line + "\n" for line in lines[:-1]] + [lines[-1]]
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def notebook(*cells: dict, **metadata: object) -> str:
    """A notebook file, written as Jupyter writes it."""
    content = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def sources(text: str) -> dict[str, str]:
    """The text of each cell of a notebook file, by the cell's id."""
    return {cell["id"]: "".join(cell["source"]) for cell in json.loads(text)["cells"]}


def git(folder: Path, *arguments: str) -> str:
    """Run git in folder; what it prints."""
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **QUIET},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@dataclass(frozen=True)
class ClassOfOne:
    """`author` is where the course is written, `published` a bare repository, `learner` a clone."""

    author: Path
    published: Path
    learner: Path

    def publish(self, message: str, **files: str | None) -> None:
        """Write (or, if None, delete) files of the author's, given as path=content; push them."""
        for path, content in files.items():
            place = self.author / path
            if content is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content, encoding="utf-8")
        git(self.author, "add", "--all")
        git(self.author, "commit", "--quiet", "--message", message)
        git(self.author, "push", "--quiet", "origin", "main")

    def write(self, path: str, content: str) -> None:
        """Write a file in the learner's clone."""
        place = self.learner / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")

    def read(self, path: str) -> str:
        """What a file in the learner's clone holds."""
        return (self.learner / path).read_text(encoding="utf-8")

    def backups(self) -> list[Path]:
        """The backups in the learner's clone, oldest first."""
        return sorted((self.learner / "backups").glob("*"))


def found_class(folder: Path, **files: str) -> ClassOfOne:
    """A class whose published course is these files (and a .gitignore), and a learner's clone."""
    published, author = folder / "published.git", folder / "author"
    learner = folder / "the learner's clone"  # people do have such folders
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(published))
    git(folder, "clone", "--quiet", str(published), str(author))
    git(author, "switch", "--quiet", "--create", "main")
    course = ClassOfOne(author, published, learner)
    course.publish("first", **{".gitignore": "/backups/\n/build/\n", **files})
    git(folder, "clone", "--quiet", str(published), str(learner))
    return course
