"""Downloads: a member of an archive becomes its own student's submission or nobody's, and is then named."""

from __future__ import annotations

import logging
import shutil
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from nbgrader.apps.zipcollectapp import ZipCollectApp

from autograder.grading.archives import OwnMembers
from tests.grading.gradebooks import CONFIG, LESSON, make_course

SETTINGS = CONFIG + "from autograder.grading.config import configure\nconfigure(c)\n"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course folder as `configure` sets it up, with its lesson released."""
    root = tmp_path / "course"
    make_course(root, config=SETTINGS)
    shutil.copytree(root / "build/source", root / "course")
    return root


def archive(
    course: Path, members: list[tuple[str | zipfile.ZipInfo, str]], name: str = "all.zip"
) -> Path:
    """A download with these members: names (or more) and contents."""
    path = course / "downloaded" / LESSON / "archive" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for member, content in members:
            file.writestr(member, content)
    return path


def collect(course: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, str]:
    """What `nbgrader zip_collect` puts into submitted/: content by path; nothing lands anywhere else."""
    before = everything(course.parent)
    monkeypatch.chdir(course)
    app = ZipCollectApp()
    app.initialize([LESSON, *arguments])
    app.start()
    ZipCollectApp.clear_instance()
    inside = (course / "submitted", course / "downloaded")
    new = everything(course.parent) - before
    assert not [path for path in new if not any(path.is_relative_to(one) for one in inside)]
    found = (course / "submitted").rglob("*.ipynb")
    return {str(path.relative_to(course / "submitted")): path.read_text() for path in found}


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def of(student: str) -> str:
    return f"{student}/{LESSON}/{LESSON}.ipynb"


def test_names_as_lmss_write_them(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(
        course,
        [
            (f"lovelaceada_48213_912345_{LESSON}.ipynb", "canvas"),
            (f"boolegeorge_LATE_48214_912346_{LESSON}-1.ipynb", "late"),
            (f"Grace Hopper_7_assignsubmission_file/{LESSON}.ipynb", "moodle"),
            (f"Émilie du Châtelet_8_assignsubmission_file_{LESSON}.ipynb", "flat"),
            (f"carla_{LESSON} (2).ipynb", "by hand"),
        ],
    )
    (course / "downloaded" / LESSON / "archive" / f"dan_{LESSON}.ipynb").write_text("a file")
    assert collect(course, monkeypatch) == {
        of("lovelaceada"): "canvas", of("boolegeorge"): "late", of("Grace Hopper"): "moodle",
        of("Émilie du Châtelet"): "flat", of("carla"): "by hand", of("dan"): "a file",
    }  # fmt: skip


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


class Unmarked(zipfile.ZipInfo):
    """A member whose name is in UTF-8 and not marked as such, as many programs write it."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:
        return self.filename.encode(), 0


MALLORY = "mallory_48213_912345_"
BAD: dict[str, list[tuple[Any, str]]] = {
    "out of the folder": [(f"../../submitted/ada/{LESSON}/{LESSON}.ipynb", "evil")],
    "from the root": [(f"/tmp/ada_{LESSON}.ipynb", "evil")],
    "with backslashes": [(f"..\\..\\ada_{LESSON}.ipynb", "evil")],
    "with a drive": [(f"C:ada_{LESSON}.ipynb", "evil")],
    "a dot folder": [(f"./ada_{LESSON}.ipynb", "evil"), (f"ada_{LESSON}.ipynb/../x.ipynb", "evil")],
    "a link": [(link(f"ada_{LESSON}.ipynb"), "/etc/passwd")],
    "her own name in her file's": [(f"{MALLORY}ada_{LESSON}.ipynb", "evil")],
    "a folder within hers": [(f"{MALLORY}x/ada/ada_{LESSON}.ipynb", "evil")],
    "her folder, another's file": [
        (f"Mallory M_7_assignsubmission_file/ada_{LESSON}.ipynb", "evil"),
        (f"Mallory M_7_assignsubmission_file/Ada_8_assignsubmission_file_{LESSON}.ipynb", "evil"),
    ],
    "a name like a folder of Moodle's": [
        (f"ada_9_assignsubmission_file_{LESSON}_7_assignsubmission_file/{LESSON}.ipynb", "evil"),
        (f"ada_9_assignsubmission_file_{LESSON}_7_assignsubmission_file_{LESSON}.ipynb", "evil"),
    ],
    "an archive within": [(f"{MALLORY}ada_{LESSON}.zip", "PK")],
    "the same name twice": [(f"ada_{LESSON}.ipynb", "1"), (f"ada_{LESSON}.ipynb", "2")],
    "the same but for capitals": [(f"ada_{LESSON}.ipynb", "1"), (f"Ada_{LESSON}.ipynb", "2")],
    "the same in other letters": [(f"zo\u00e9_{LESSON}.ipynb", "1"), (f"zoe\u0301_{LESSON}.ipynb", "2")],
    "two who would be one": [
        (f"Ada L_7_assignsubmission_file/{LESSON}.ipynb", "1"),
        (f"Ada L_8_assignsubmission_file/{LESSON}.ipynb", "2"),
    ],
    "no student": [(f"_{LESSON}.ipynb", "evil"), (f".._{LESSON}.ipynb", "evil")],
    "a control character": [(f"ada\x1b_{LESSON}.ipynb", "evil")],
    "another lesson": [("ada_02_other.ipynb", "evil")],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", BAD)
def test_what_is_not_plainly_somebodys_is_nobodys(
    course: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    archive(course, [*BAD[kind], (f"bob_{LESSON}.ipynb", "good")])
    assert collect(course, monkeypatch) == {of("bob"): "good"}


def test_utf_8_that_is_not_marked(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(course, [(Unmarked(f"Zoë_{LESSON}.ipynb"), "hers")])
    assert collect(course, monkeypatch) == {of("Zoë"): "hers"}


def test_an_instructors_own_pattern_counts_from_the_first_folder(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pattern that this course's documentation had before, which read the last folder."""
    settings = course / "nbgrader_config.py"
    pattern = r".*/(?P<student_id>[^/_]+)_(?:LATE_)?(?:\d+_\d+_)?(?P<file_id>\d\d_[a-z_]+)"
    settings.write_text(
        f"{settings.read_text()}\nc.FileNameCollectorPlugin.named_regexp = r'{pattern}'\n"
    )
    archive(
        course,
        [(f"ben_1_2_{LESSON}.ipynb", "his"), (f"Mallory_3_x/ada_{LESSON}.ipynb", "evil")],
    )
    assert collect(course, monkeypatch) == {of("ben"): "his"}


def test_stock_nbgrader_takes_one_for_another(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the plug-ins are for: without them mallory hands in for ada."""
    pattern = r".*/(?P<student_id>[^/_]+)_(?:LATE_)?(?:\d+_\d+_)?(?P<file_id>\d\d_[a-z_]+)"
    (course / "nbgrader_config.py").write_text(
        f"{CONFIG}c.FileNameCollectorPlugin.named_regexp = r'{pattern}'\n"
    )
    archive(course, [(f"Mallory_3_x/ada_{LESSON}.ipynb", "evil")])
    assert of("ada") in collect(course, monkeypatch)


def test_a_damaged_archive_is_named_and_the_others_are_collected(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(course, [(f"bob_{LESSON}.ipynb", "good")])
    (course / "downloaded" / LESSON / "archive" / "broken.zip").write_bytes(b"PK\x03\x04 no more")
    assert collect(course, monkeypatch) == {of("bob"): "good"}


def test_what_is_left_out_is_named_with_the_reason(
    course: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = archive(course, [*BAD["a link"], *BAD["from the root"], *BAD["an archive within"]])
    log = logging.getLogger("test")
    with caplog.at_level(logging.WARNING, "test"):
        OwnMembers(log=log).extract(str(path.parent), str(tmp_path / "out"))
    assert [record.getMessage() for record in caplog.records] == [
        f"Left out: all.zip: ada_{LESSON}.ipynb is a link or a device.",
        f"Left out: all.zip: /tmp/ada_{LESSON}.ipynb leads out of its place.",
        f"Left out: all.zip: {MALLORY}ada_{LESSON}.zip is no notebook.",
    ]
    assert not list((tmp_path / "out").rglob("*.ipynb"))
