"""Downloads from an LMS: what lies in an archive can only become the submission of whose it is.

In an archive the LMS writes the beginning of each name (Canvas `lovelaceada_48213_912345_…`, Moodle a folder
`Ada Lovelace_48213_assignsubmission_file/…`), and the learner the rest. So who handed something in is read
from the first part of a name and from nothing after it, and what could lead elsewhere is left out, by name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections import Counter, defaultdict
from functools import cached_property
from pathlib import Path

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from autograder.grading.course import checked_name
from autograder.grading.words import shown
from autograder.learner.submitted_notebook import LARGEST

MOST_MEMBERS = 100_000
# STUDENT_…_LESSON.ipynb (Canvas, or by hand) and NAME_NUMBER_assignsubmission_file/LESSON.ipynb (Moodle);
# browsers and LMSs add "-1" or " (2)" to a name that was there before.
NAMES = (
    r"/(?P<student_id>[^/_]+)_(?:\d+_assignsubmission_file(?:_?/|_)|(?:LATE_)?(?:\d+_\d+_)?)"
    r"(?P<file_id>%s)(?:-\d+| ?\(\d+\))?\.ipynb\Z"
)

_UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError)


class OwnMembers(ExtractorPlugin):
    """Takes out of archives what is a plain notebook at a plain place, and says what it left out."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Put the notebooks of each archive into a folder of `extracted_path` named as the archive is."""
        target = Path(extracted_path)
        for path in sorted(Path(archive_path).iterdir()):
            if path.is_symlink() or not path.is_file():
                self._left_out(path.name, "is no file")
            elif path.suffix.lower() == ".zip":
                self._unpack(path, target / path.name)
            elif path.suffix == ".ipynb":
                (target / "files").mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target / "files" / path.name)
            else:
                self._left_out(path.name, "is neither a zip file nor a notebook")

    def _unpack(self, path: Path, folder: Path) -> None:
        try:
            with zipfile.ZipFile(path) as archive:
                members = [(_name(member), member) for member in archive.infolist()]
                if len(members) > MOST_MEMBERS:
                    raise zipfile.BadZipFile(f"it has {len(members)} members")
                files = Counter(name.casefold() for name, member in members if not member.is_dir())
                for name, member in members:
                    why, times = _why_not(member, name), files[name.casefold()]
                    if why or times > 1:
                        self._left_out(f"{path.name}: {name}", why or f"is there {times} times")
                    elif not member.is_dir():
                        (folder / name).parent.mkdir(parents=True, exist_ok=True)
                        self._take_out(archive, member, folder / name)
        except (zipfile.BadZipFile, OSError) as error:
            self._left_out(path.name, f"cannot be read: {error}")

    def _take_out(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path) -> None:
        try:
            with archive.open(member) as source:
                place.write_bytes(source.read(LARGEST))
        except _UNREADABLE as error:
            self._left_out(f"{place.parent.name}/{place.name}", f"cannot be taken out: {error}")

    def _left_out(self, name: str, why: str) -> None:
        self.log.warning("Left out: %s %s.", shown(name), why)


class OwnNames(FileNameCollectorPlugin):
    """Reads from the beginning of a name whose notebook it is; nobody's where two could be meant.

    `named_regexp` is matched with "/" and the name within the archive; the student's part has to lie in the
    first folder, or in the name where there is none.
    """

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Student and lesson of an extracted file; None where it is to be skipped."""
        found = self._of(submitted_file)
        if found is None:
            self.log.warning("Left out: nobody's by its name: %s", shown(submitted_file))
            return None
        owners = self._owners[found["student_id"].casefold()]
        if len(owners) > 1:
            names = ", ".join(sorted(map(shown, owners)))
            self.log.warning("Left out: %s would all be %s's.", names, shown(found["student_id"]))
            return None
        return found

    def _root(self) -> Path:
        app = self.parent
        return Path(app._format_collect_path(app.extracted_directory))

    @cached_property
    def _owners(self) -> defaultdict[str, set[str]]:
        """By student, the names that were read as theirs; all lie there before the first is asked for."""
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for folder, _, files in os.walk(self._root()):
            for name in files:
                path = os.path.join(folder, name)
                if found := self._of(path):
                    owners[found["student_id"].casefold()].add(self._inside(path))
        return owners

    def _inside(self, path: str) -> str:
        """A file's name within its archive."""
        return "/".join(Path(path).relative_to(self._root()).parts[1:])

    def _of(self, path: str) -> dict[str, str] | None:
        lesson, name = self.parent.coursedir.assignment_id, f"/{self._inside(path)}"
        match = re.match(self.named_regexp or NAMES % re.escape(lesson), name)
        if match is None or "/" in name[1 : match.end("student_id")] or match["file_id"] != lesson:
            return None
        try:
            checked_name(match["student_id"])
        except ValueError:
            return None
        return {key: text for key, text in match.groupdict().items() if text is not None}


def _name(member: zipfile.ZipInfo) -> str:
    """A member's name; UTF-8 that is not marked as such is read as what it is."""
    name = member.filename
    if not member.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return unicodedata.normalize("NFC", name)


def _why_not(member: zipfile.ZipInfo, name: str) -> str:
    """Why a member is not taken out; "" where it may be."""
    parts, is_file = name.rstrip("/").split("/"), not member.is_dir()
    kind = stat.S_IFMT(member.external_attr >> 16)
    leads_out = not {"", ".", ".."}.isdisjoint(parts) or "\\" in name or ":" in parts[0]
    refused = {
        "is a link or a device": kind not in (0, stat.S_IFREG, stat.S_IFDIR),
        "leads out of its place": leads_out,
        "has a name that no file should have": not name.isprintable()
        or any(len(part.encode()) > 200 for part in parts),
        "lies in folders that the LMS did not make": is_file and len(parts) > 2,
        "is no notebook": is_file and not name.endswith(".ipynb"),
        "is encrypted": is_file and member.flag_bits & 0x1,
        f"has {member.file_size / 1e6:.0f} million bytes": is_file and member.file_size > LARGEST,
    }
    return next((why for why, holds in refused.items() if holds), "")
