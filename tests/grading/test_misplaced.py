"""Notebooks that lie where nobody looks for them are named, with where they belong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.grading.class_overview import WAITS
from autograder.grading.handed_in import find, find_misplaced
from tests.grading.batches import LESSON, SQUARE, add_lesson, code, hand_in, make_course, notebook
from tests.grading.test_status import look
from tests.grading.walls import needs_walls

OTHER = "02_other"
# The lessons' own cells, by which a notebook is known.
OWN = {
    name: tuple(
        code(f"{name} has cell {n}, and nobody else has it", f"{name}-{n}") for n in range(6)
    )
    for name in (LESSON, OTHER)
}


def of_lesson(lesson: str) -> str:
    """A notebook of one of the two lessons."""
    return notebook({"Square": SQUARE}, more=OWN[lesson])


@pytest.fixture
def course(tmp_path: Path) -> Any:
    """Two lessons; nobody has handed in yet."""
    made = make_course(tmp_path / "course", 0)
    source = Path(made.root, "build/source", LESSON, f"{LESSON}.ipynb")
    source.write_text(of_lesson(LESSON))
    add_lesson(Path(made.root), OTHER, of_lesson(OTHER))
    return made


def put(course: Any, place: str, text: str = "{}") -> Path:
    path = Path(course.root, "submitted", place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


PLACES = {
    f"rita/1_two/{LESSON}.ipynb": f"submitted/rita/{LESSON}/{LESSON}.ipynb",
    "ruth/1_two/answers.ipynb": f"submitted/ruth/{LESSON}/{LESSON}.ipynb",
    f"{LESSON}/sam/{LESSON}.ipynb": f"submitted/sam/{LESSON}/{LESSON}.ipynb",
    f"uma/{LESSON}.ipynb": f"submitted/uma/{LESSON}/{LESSON}.ipynb",
    f"{LESSON}_zoe.ipynb": f"submitted/zoe/{LESSON}/{LESSON}.ipynb",
    f"{LESSON}_final.IPYNB": f"submitted/STUDENT/{LESSON}/{LESSON}.ipynb",
    f"archive/tom/{LESSON}/{LESSON}.ipynb": f"submitted/archive/{LESSON}/{LESSON}.ipynb",
    "vera/homework.ipynb": f"submitted/vera/{OTHER}/{OTHER}.ipynb",
    "will/homework.ipynb": "submitted/will/LESSON/LESSON.ipynb",
}


def test_each_is_named_with_where_it_belongs(course: Any) -> None:
    for place in PLACES:
        put(course, place, of_lesson(OTHER) if place.startswith("vera") else "{}")
    hand_in(Path(course.root), "ada", of_lesson(LESSON))
    found = find_misplaced(course, {"zoe"})
    assert {one.path.removeprefix("submitted/"): one.belongs for one in found} == PLACES
    assert not any(one.spare for one in found)


def test_what_is_no_notebook_or_in_its_place_is_not_named(course: Any) -> None:
    hand_in(Path(course.root), "ada", of_lesson(LESSON))
    for place in (
        f"ada/{LESSON}/.ipynb_checkpoints/{LESSON}-checkpoint.ipynb", "ada/notes.txt",
        f"__MACOSX/ada/._{LESSON}.ipynb", f"ada/{LESSON}/._{LESSON}.ipynb",
    ):  # fmt: skip
        put(course, place)
    assert find_misplaced(course) == []
    put(course, f"ada/{LESSON}/scratch.ipynb")
    (spare,) = find_misplaced(course)
    assert (spare.path, spare.spare) == (f"submitted/ada/{LESSON}/scratch.ipynb", True)


def test_links_are_named_and_not_followed(course: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    secret = tmp_path / "elsewhere" / "secret.ipynb"
    secret.write_text(of_lesson(OTHER))
    folder = Path(course.root, "submitted", "mallory")
    folder.mkdir(parents=True)
    (folder / "all").symlink_to(tmp_path / "elsewhere")
    (folder / "mine.ipynb").symlink_to(secret)
    (one,) = find_misplaced(course)
    assert one.path == "submitted/mallory/mine.ipynb"
    assert (
        one.belongs == "submitted/mallory/LESSON/LESSON.ipynb"
    )  # nobody has read what it leads to


def test_a_folder_that_cannot_be_taken_is_named_with_what_to_do(course: Any) -> None:
    ada = hand_in(Path(course.root), "ada", of_lesson(LESSON)).parent
    hand_in(Path(course.root), os.fsdecode(b"a\xff"), of_lesson(LESSON))
    submitted = Path(course.root, "submitted")
    (submitted / "ben").mkdir()
    (submitted / "ben" / LESSON).symlink_to(ada)
    (submitted / "cyd").symlink_to(ada.parent)
    assert [one.student for one in find(course, LESSON)] == ["ada"]
    found = list(map(str, find_misplaced(course)))
    assert found == [
        f"submitted/a\ufffd/{LESSON}: has a name that is no valid text: rename the folder",
        *(
            f"submitted/{name}/{LESSON}: is a link, or lies in one, and is not followed: put the folder itself in its place"
            for name in ("ben", "cyd")
        ),
    ]
    assert {one.state for one in look(course).found} == {"not graded yet"}


def test_a_folder_without_end_is_given_up(course: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.grading.handed_in.MOST_LOOKED_AT", 50)
    for number in range(60):
        put(course, f"mallory/{number:03}.ipynb")
    put(course, "nora/a/b/c/d/e/f/g.ipynb")
    put(course, f"uma/{LESSON}.ipynb")
    found = find_misplaced(course)
    assert len([one for one in found if one.student == "mallory"]) == 50
    assert [one.student for one in found if one.student != "mallory"] == ["uma"]


@needs_walls
@pytest.mark.slow
def test_grade_and_status_name_them(course: Any, capfd: pytest.CaptureFixture[str]) -> None:
    put(course, f"uma/{LESSON}\x1b[2J.ipynb")
    shown = f"submitted/uma/{LESSON}\ufffd[2J.ipynb"

    def run(*words: str) -> tuple[int, str]:
        capfd.readouterr()
        return main([*words, "--course", course.root]), capfd.readouterr().out

    status, out = run("grade")  # nothing else is there
    assert (status, out.count(shown)) == (1, 1)
    hand_in(Path(course.root), "ada", of_lesson(LESSON))
    for words in (["grade", "--jobs", "1"], ["grade", "--jobs", "1", LESSON], ["status"]):
        status, out = run(*words)
        assert status == (words[0] == "grade")
        assert f"{shown}: belongs in submitted/uma/{LESSON}/{LESSON}.ipynb" in out
        assert "\x1b" not in out
    assert run("grade", "--student", "ada")[0] == 0
    assert run("grade", "--student", "uma")[0] == 1
    for command in ("grade", "status"):
        _, out = run(command, "--json")
        (line,) = [
            each for each in map(json.loads, out.splitlines()) if each.get("state") == "misplaced"
        ]
        assert line["path"] == f"submitted/uma/{LESSON}\x1b[2J.ipynb"
        assert line["belongs_in"] == f"submitted/uma/{LESSON}/{LESSON}.ipynb"
    (Path(course.root, "submitted/uma") / f"{LESSON}\x1b[2J.ipynb").unlink()
    put(course, f"ada/{LESSON}/scratch.ipynb")
    status, out = run("grade")
    assert status == 0  # nothing is lost
    assert "scratch.ipynb" in out


# ---- another name, or another lesson -----------------------------------------------------------
def trouble(course: Any, student: str, lesson: str = LESSON) -> str:
    (one,) = find(course, lesson, student)
    given = one.read()
    return given.trouble if given.data is None else "read"


@pytest.mark.parametrize(
    "name",
    [f"{LESSON}_GRACE_final (2).ipynb", f"{LESSON}.IPYNB", f"{LESSON}/{LESSON}.ipynb"],
)
def test_a_notebook_of_another_name_is_named(course: Any, name: str) -> None:
    put(course, f"grace/{LESSON}/{name}", of_lesson(LESSON))
    begin = f"There is no {LESSON}.ipynb in what was handed in, but `{name}`. "
    assert trouble(course, "grace") == f"{begin}Make the right one {LESSON}.ipynb, and grade again."
    assert find_misplaced(course) == []  # it is named once


def test_several_are_named_and_none_is_chosen(course: Any) -> None:
    for number in range(7):
        put(course, f"grace/{LESSON}/try {number}\n.ipynb", of_lesson(LESSON))
    said = trouble(course, "grace")
    assert "but `try 0\ufffd.ipynb`, `try 1" in said
    assert " and 2 more. Make the right one" in said
    Path(course.root, "submitted/hugo", LESSON).mkdir(parents=True)
    assert trouble(course, "hugo") == ""  # nothing is there at all


def _without(text: str, *keys: str) -> str:
    made = json.loads(text)
    for cell in made["cells"]:
        for key in keys:
            cell.pop(key)
    return json.dumps(made)


@pytest.mark.parametrize("lost", [(), ("metadata",), ("id",), ("metadata", "id")])
def test_another_lessons_notebook_waits_for_a_person(course: Any, lost: tuple[str, ...]) -> None:
    put(course, f"ada/{LESSON}/{LESSON}.ipynb", _without(of_lesson(OTHER), *lost))
    put(course, f"ben/{LESSON}/{LESSON}.ipynb", _without(of_lesson(LESSON), *lost))
    assert trouble(course, "ada").startswith(
        f"{LESSON}.ipynb is the notebook of {OTHER}, not of {LESSON}."
    )
    assert trouble(course, "ben") == "read"


def test_a_lesson_without_exercises_is_known_too(course: Any) -> None:
    text = of_lesson(OTHER).replace(OTHER, "00_start_here")
    folder = Path(course.root, "course/00_start_here")
    folder.mkdir(parents=True)
    (folder / "00_start_here.ipynb").write_text(text)
    put(course, f"ada/{LESSON}/{LESSON}.ipynb", text)
    assert "is the notebook of 00_start_here" in trouble(course, "ada")
    put(course, "ben/start.ipynb", text)
    assert [one.lesson for one in find_misplaced(course)] == [None]


def _emptied() -> str:
    made = json.loads(of_lesson(OTHER))
    return json.dumps(made | {"cells": []})


def _few(count: int) -> str:
    return notebook({"Square": SQUARE}, more=OWN[OTHER][:count])


@pytest.mark.parametrize(
    "text",
    [
        _emptied(), "{}", "", "no notebook at all", _few(0), _few(2),
        notebook({"Square": SQUARE}, more=OWN[OTHER] + OWN[LESSON]),
        notebook({"Square": SQUARE}, more=OWN[OTHER] + OWN[LESSON][:1]),
        json.dumps({"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": SQUARE}]}),
    ],
)  # fmt: skip
def test_what_could_be_this_lessons_is_graded(course: Any, text: str) -> None:
    put(course, f"ada/{LESSON}/{LESSON}.ipynb", text)
    assert trouble(course, "ada") == "read"


@needs_walls
@pytest.mark.slow
def test_the_reason_stands_in_status(course: Any, capfd: pytest.CaptureFixture[str]) -> None:
    put(course, f"ada/{LESSON}/{LESSON}.ipynb", of_lesson(OTHER))
    put(course, f"grace/{LESSON}/answers.ipynb", of_lesson(LESSON))
    assert main(["grade", "--jobs", "1", "--course", course.root]) == 0
    found = {one.student: one for one in look(course).found}
    assert {one.state for one in found.values()} == {WAITS}
    assert f"is the notebook of {OTHER}" in found["ada"].reasons[0]
    assert "but `answers.ipynb`. Make the right one" in found["grace"].reasons[0]
    folder = Path(course.root, "submitted/grace", LESSON)
    os.rename(folder / "answers.ipynb", folder / f"{LESSON}.ipynb")
    assert main(["grade", "--jobs", "1", "--course", course.root]) == 0
    assert look(course).found[1].score.points == 5.0  # type: ignore[union-attr]
