"""What nbgrader keeps of a graded submission in autograded/: the notebook and the files beside it."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from autograder.grading.course import log
from autograder.grading.markdown import as_typed
from autograder.grading.rows import SourceText
from autograder.grading.storage import NotPlain, read_plain, sync_folder, write_new
from autograder.grading.submission import HARMLESS_FILES

MOST_FILES = 1000
LONGEST_TIMESTAMP = 100  # bytes; a date is shorter


def fill(folder: Path, notebook: str, lesson: str, submitted: Path, converter: Autograde) -> None:
    """Write the graded notebook, the lesson's own files and the learner's data into `folder`.

    Like `nbgrader autograde`, but of what was handed in only plain data files come along: no
    links, no devices, nothing that a browser or Python would run.

    submitted  the folder that was handed in; it may hold anything
    converter  nbgrader's own, for what is configured of it: permissions, files to leave alone
    """
    course: CourseDirectory = converter.coursedir
    mode = int(str(converter.permissions), 8)
    text = notebook.encode("utf-8", "replace")
    write_new(folder / f"{lesson}.ipynb", text.rstrip(b"\n") + b"\n", mode)
    source = Path(course.format_path(course.source_directory, ".", lesson))
    learners = set(converter.exclude_overwriting.get(lesson, []))
    for path in _files(source, course.ignore):
        if str(path) not in learners:
            _copy((source / path).resolve(), folder / path, mode)
    _copy_submitted(submitted, folder, course, mode)
    for inner, _, _ in os.walk(folder, topdown=False):
        _share(Path(inner), course)
        sync_folder(Path(inner))


def read_timestamp(submitted: Path) -> datetime | None:
    """When it was handed in, in UTC; None where no (or an empty) timestamp.txt says so.

    Raises ValueError where there is one that cannot be understood.
    """
    try:
        text = read_plain(submitted / "timestamp.txt", LONGEST_TIMESTAMP).decode("utf-8").strip()
        when = parse_utc(text) if text else None
    except FileNotFoundError:
        return None
    except (NotPlain, ValueError, OverflowError) as error:
        raise ValueError(f"timestamp.txt cannot be understood ({error})") from error
    return when


def placeholder(cells: Sequence[SourceText], reasons: Sequence[str]) -> str:
    """A notebook for formgrader where what was handed in could not be read.

    It says why, and has the lesson's graded cells, so that a person can give points. Each holds an
    error: whatever reads scores off outputs finds none.
    """
    why = reasons or ("What was handed in is no notebook that can be read.",)
    said = "\n".join(as_typed(reason) for reason in why)
    notebook = new_notebook(metadata={"language_info": {"name": "python"}})
    notebook.cells.append(
        new_markdown_cell(
            f"## This submission could not be graded automatically\n\n{said}", id="why"
        )
    )
    for number, cell in enumerate(cells):
        role = {
            "grade_id": cell.name, "grade": cell.points is not None, "solution": cell.is_answer,
            "task": cell.is_task, "locked": cell.locked, "schema_version": 3,
            "cell_type": cell.cell_type, "checksum": cell.checksum,
        }  # fmt: skip
        if cell.points is not None:
            role["points"] = cell.points
        extra = {"metadata": {"nbgrader": role}, "id": f"cell-{number}"}
        if cell.cell_type == "code":
            error = new_output(
                "error", ename="NotGraded", evalue="see the top of this page",
                traceback=["NotGraded: see the top of this page"],
            )  # fmt: skip
            notebook.cells.append(new_code_cell(cell.source, outputs=[error], **extra))
        else:
            notebook.cells.append(new_markdown_cell(cell.source, **extra))
    return str(nbformat.writes(notebook))


def _copy_submitted(submitted: Path, folder: Path, course: CourseDirectory, mode: int) -> None:
    """Copy a learner's data. What is in the way of it stays."""
    room = course.max_dir_size * 1000
    for number, path in enumerate(_files(submitted, course.ignore)):
        if number >= MOST_FILES or room < 0:
            log.warning("%s holds too much: some of it was left out", submitted)
            return
        if path.suffix.lower() not in HARMLESS_FILES:
            if not (folder / path).exists():  # the lesson's own module is there already
                log.warning("Leaving out %r, which is no data", str(submitted / path))
            continue
        try:
            room -= _copy(submitted / path, folder / path, mode, course.max_file_size * 1000)
        except (FileExistsError, NotADirectoryError):
            continue  # the lesson's own file has this name
        except NotPlain as error:
            log.warning("Leaving out a submitted file: %s", error)


def _files(folder: Path, ignore: Sequence[str]) -> Iterator[Path]:
    """The files in a folder, as paths from there; without notebooks and what nbgrader ignores."""
    for inside, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _ignored(name, ignore))
        for name in sorted(names):
            if not _ignored(name, [*ignore, "*.ipynb"]):
                yield Path(inside, name).relative_to(folder)


def _ignored(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _copy(source: Path, target: Path, mode: int, most: int | None = None) -> int:
    """Copy one file that is not there yet; gives its size in bytes."""
    content = read_plain(source, most)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_new(target, content, mode)
    return len(content)


def _share(folder: Path, course: CourseDirectory) -> None:
    """Folders as nbgrader makes them where several instructors share a course."""
    if course.groupshared:
        os.chmod(folder, (folder.stat().st_mode | 0o2770) & 0o2777)
