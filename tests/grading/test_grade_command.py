"""`autograder grade` and `autograder replay` as an instructor meets them, in one process."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.box.job import Limits
from autograder.grading.records import Records
from tests.build.mini_course import NAME, write_mini_course
from tests.grading.batches import (
    LESSON,
    REPOSITORY,
    SETUP,
    SIGMOID,
    SQUARE,
    WRONG,
    add_lesson,
    code,
    everything,
    hand_in,
    make_course,
    notebook,
    recorded,
)
from tests.grading.gradebooks import contents
from tests.grading.walls import needs_walls

pytestmark = [needs_walls, pytest.mark.slow]


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Runs a command; its exit status, and what it wrote to stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        status = main([*words, "--course", str(tmp_path / "course")])
        return status, *capfd.readouterr()

    return run


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--jobs", "0"], 2, "--jobs is a number of processes, 1 or more."),
        (["--jobs", "-3"], 2, "--jobs is a number of processes, 1 or more."),
        (["--seconds", "0"], 2, "--seconds is a time, more than 0."),
        (["09_nothing"], 1, "There is no lesson 09_nothing. The lessons: 01_two."),
        (["../../etc"], 1, "'../../etc' is no name of a lesson."),
        (["--student", "zoe"], 1, "zoe handed nothing in for these lessons."),
        (["--db", "mysterious://x"], 1, "The gradebook's address cannot be used"),
        (["--db", "sqlite:////nowhere/gradebook.db"], 1, "There is no gradebook yet."),
        (
            ["--scheduler", "carrier-pigeon://roof"],
            1,
            "No Dask scheduler answers at carrier-pigeon",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, said: Any, words: list[str], status: int, sentence: str
) -> None:
    course = make_course(tmp_path / "course", 1)
    found, out, err = said("grade", *words)
    assert found == status
    assert err.startswith(f"autograder: {sentence}")
    assert "Traceback" not in err
    assert out == ""
    assert recorded(course) == set()


def test_folders_that_are_no_course(tmp_path: Path, said: Any) -> None:
    status, _, err = said("grade")
    assert (status, err) == (2, f"autograder: There is no folder {tmp_path / 'course'}.\n")
    (tmp_path / "course").mkdir()
    status, _, err = said("grade")
    assert status == 2
    assert "is no course folder: there is no nbgrader_config.py in it." in err
    assert list((tmp_path / "course").iterdir()) == []


def test_nothing_handed_in(tmp_path: Path, said: Any) -> None:
    make_course(tmp_path / "course", 0)
    status, out, _ = said("grade")
    assert (status, out) == (
        0, "Nothing was handed in: no lesson has a submission in submitted/.\n"
    )  # fmt: skip
    assert said("grade", LESSON)[:2] == (0, "Nothing was handed in for these lessons.\n")


def test_only_what_changed_is_graded_again_and_a_persons_marks_stay(
    tmp_path: Path, said: Any
) -> None:
    course = make_course(tmp_path / "course", 3)
    root = Path(course.root)

    def graded(*words: str) -> tuple[set[str], int]:
        status, out, err = said("grade", "--jobs", "1", "--json", *words)
        assert status == 0, err
        first, *results = [json.loads(line) for line in out.splitlines()]
        assert first["to_grade"] == len(results)
        return {line["student"] for line in results}, first["unchanged"]

    ada, ben, carla = (f"student-{i:03d}" for i in range(3))
    assert graded("--student", ben) == ({ben}, 0)
    assert graded() == ({ada, carla}, 1)
    with Gradebook(course.db_url, course.course_id) as gradebook:
        found = gradebook.find_grade("square-hidden", LESSON, LESSON, ben)
        assert found.auto_score == 0
        found.manual_score, found.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    assert graded() == (set(), 3)
    hand_in(root, ben, notebook({"Square": SQUARE}))
    assert graded() == ({ben}, 2)
    auto, manual, *_ = contents(course)["grade", ben, LESSON, LESSON, "square-hidden"]
    assert (auto, manual) == (3.0, 1.5)
    before = everything(course)
    assert graded("--all") == ({ada, ben, carla}, 0)
    assert everything(course) == before
    source = root / "build/source" / LESSON / f"{LESSON}.ipynb"
    source.write_text(source.read_text().replace("# mark-", "# another mark-"))
    assert graded() == ({ada, ben, carla}, 0)


def test_cells_that_are_no_check_wait_for_a_person_or_are_run(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 0)
    root = Path(course.root)
    tests = (code("assert Square.apply(torch.ones(1)).item() == 1", "by-hand", 4.0),)
    add_lesson(root, "02_tests", notebook({"Square": SQUARE}, SETUP, tests))
    hand_in(root, "ada", notebook({"Square": SQUARE}, SETUP, tests), "02_tests")
    hand_in(root, "ben", notebook({"Square": "Square = 1"}, SETUP, tests), "02_tests")
    status, out, _ = said("grade", "--jobs", "1")
    assert status == 0
    assert "2 wait for a person (`autograder status` says why):" in out
    assert "  ada, 02_tests (by-hand): by-hand is no check(…): a person grades it." in out
    assert contents(course)["grade", "ada", "02_tests", "02_tests", "by-hand"][0] is None
    status, out, _ = said("grade", "--jobs", "1", "--run-tests", "--all")
    assert status == 0
    assert "person" not in out
    points = [
        contents(course)["grade", s, "02_tests", "02_tests", "by-hand"] for s in ("ada", "ben")
    ]
    assert [found[0] for found in points] == [4.0, 0.0]
    for student in ("ada", "ben"):
        assert said("replay", student, "02_tests", "--run-tests")[0] == 0


def test_a_progress_bar_in_a_terminal(tmp_path: Path) -> None:
    course = make_course(tmp_path / "course", 8)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", "--jobs", "1", "--course", course.root],
        stdout=subprocess.PIPE, stderr=theirs, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux says that nobody has the other side any more
            break
        if not part:
            break
        shown += part
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0
    steps = [step.strip() for step in re.split(r"\r\x1b\[K|\x1b\[\?25.", shown.decode())]
    assert any(step.startswith("░" * 24 + " 0/8") for step in steps)
    assert "█" * 24 + " 8/8" in steps
    assert any(re.fullmatch(r"█{12}░{12} 4/8(  [0-9:]+)?", step) for step in steps)
    assert out.startswith("Graded 8 in ")


def test_an_appeal_is_replayed(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 2)
    assert said("grade", "--jobs", "1")[0] == 0
    before = everything(course)
    status, out, _ = said("replay", "student-001", LESSON)
    assert status == 0
    assert "All 2 marks are as recorded." in out
    assert "Square, hidden check (square-hidden): 0 of 3" in out
    assert "gradient-scale" in out
    record = Records(Path(course.root)).read("student-001", LESSON)
    assert record is not None
    evidence = record.result.marks[1].report["findings"][0]["evidence"]
    assert evidence
    for name in evidence:
        assert f"    {name} = " in out
    assert f"seed {record.result.marks[1].report['seed']}" in out
    assert everything(course) == before
    # Somebody else's points in the record are noticed.
    path = Records(Path(course.root)).path("student-001", LESSON)
    path.write_text(path.read_text().replace('"points": 0.0', '"points": 1.0'))
    status, out, _ = said("replay", "student-001", LESSON)
    assert status == 1
    assert "square-check: recorded 1.0, now 0.0" in out
    hand_in(Path(course.root), "student-001", notebook({"Square": WRONG + "\n# later"}))
    assert "has changed since it was graded" in said("replay", "student-001", LESSON)[2]
    status, _, err = said("replay", "zoe", LESSON)
    assert (status, err) == (1, f"autograder: zoe handed nothing in for {LESSON}.\n")
    status, out, err = said("replay", "student-000", LESSON, "--exercise", "Square")
    assert status == 0
    assert out.count("Square, ") == 2


def by_hand(course: Any, student: str, **points: float) -> None:
    """A person gives points in formgrader."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        for cell, given in points.items():
            found = gradebook.find_grade(cell.replace("_", "-"), LESSON, LESSON, student)
            found.manual_score, found.needs_manual_grade = given, False
        gradebook.db.commit()


def test_after_points_by_hand_all_commands_tell_the_same(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 1)
    root, ada = Path(course.root), "student-000"
    assert said("grade", "--jobs", "1")[0] == 0
    by_hand(course, ada, square_check=1.5, square_hidden=2.5)
    hand_in(root, ada, notebook({"Square": WRONG}))
    story = (
        "Points given by hand are kept: 4 of 5 in square-check, square-hidden. For what is handed in "
        "now the grader would give 0. A person decides."
    )
    status, out, _ = said("grade", "--jobs", "1", "--json")
    graded = json.loads(out.splitlines()[1])
    assert (status, graded["needs_person"], graded["reasons"]) == (0, True, [story])
    assert (graded["score"], graded["automatic"]) == (4.0, 0.0)
    (stands,) = [json.loads(line) for line in said("status", "--json")[1].splitlines()]
    assert (stands["state"], stands["reasons"]) == ("waits for a person", [story])
    assert stands["score"] == graded["score"]
    _, out, _ = said("grade", "--jobs", "1", "--all")
    assert (
        f"1 waits for a person (`autograder status` says why):\n  {ada}, {LESSON}: {story}" in out
    )
    status, out, _ = said("replay", ada, LESSON)
    assert status == 0
    assert "All 2 marks are as recorded." in out
    assert "which are kept and count:\n  square-check: 1.5 of 2\n  square-hidden: 2.5 of 3\n" in out
    assert "a person decides what counts." in out
    by_hand(course, ada, square_check=1.5, square_hidden=2.5)  # looked at
    assert json.loads(said("status", "--json")[1])["state"] == "graded"
    assert "a person decides" not in said("replay", ada, LESSON)[1]


def test_those_who_wait_are_counted_again(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 7)  # one suspicious, one unreadable
    assert "2 wait for a person" in said("grade", "--jobs", "2")[1]
    again = "All 7 were graded before and have not changed; 2 wait for a person.\n"
    assert said("grade")[1] == again
    assert json.loads(said("grade", "--json")[1]) == {"to_grade": 0, "unchanged": 7, "waiting": 2}
    hand_in(Path(course.root), "student-000", notebook({"Square": WRONG}))
    assert " 6 had not changed; 2 wait for a person.\n" in said("grade", "--jobs", "1")[1]
    by_hand(course, "student-005", square_check=0.0, square_hidden=0.0)
    assert "; 1 waits for a person." in said("grade")[1]


def test_another_time_is_graded_again_and_lateness_is_said(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 0)
    with Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.update_or_create_assignment(LESSON, duedate="2026-03-01 12:00:00")
    folder = hand_in(Path(course.root), "ada", notebook({"Square": SQUARE})).parent
    assert "late" not in said("grade", "--jobs", "1")[1]
    (folder / "timestamp.txt").write_text("2026-03-01 13:30:00 UTC")
    _, out, _ = said("grade", "--jobs", "1", "--json")
    assert json.loads(out.splitlines()[1])["seconds_late"] == 5400.0
    assert f"ada, {LESSON}: late by 1 hour 30 minutes; nothing is taken off" in said("status")[1]
    assert "All 1 were graded before" in said("grade")[1]
    assert "Handed in late: 1" in said("grade", "--jobs", "1", "--all")[1]


def test_a_time_nobody_understands_is_said_and_holds_nothing_back(
    tmp_path: Path, said: Any
) -> None:
    course = make_course(tmp_path / "course", 0)
    folder = hand_in(Path(course.root), "ada", notebook({"Square": SQUARE})).parent
    (folder / "timestamp.txt").write_text("whenever")
    _, out, _ = said("grade", "--jobs", "1", "--json")
    graded, stands = json.loads(out.splitlines()[1]), json.loads(said("status", "--json")[1])
    assert (graded["needs_person"], stands["state"]) == (False, "graded")
    for words in (graded["reasons"][0], stands["unclear"], said("status")[1]):
        assert "timestamp.txt cannot be understood" in words


@pytest.mark.parametrize("command", ["grade", "status", "replay", "summary", "export"])
def test_a_mistyped_lesson_is_answered_with_the_names(
    tmp_path: Path, said: Any, command: str
) -> None:
    course = make_course(tmp_path / "course", 1)
    for name in ("00_first", "02_sigmoid"):
        add_lesson(Path(course.root), name, notebook({"Square": SQUARE}))
    words = {"replay": ["student-000", "2_sigmoid"], "export": ["--lesson", "2_sigmoid"]}
    status, _, err = said(command, *words.get(command, ["2_sigmoid"]))
    assert status
    assert "no lesson 2_sigmoid. The lessons: 02_sigmoid, 00_first, 01_two." in err
    assert "make gradebook" not in err


def test_replay_asks_for_a_name_that_is_there(tmp_path: Path, said: Any) -> None:
    make_course(tmp_path / "course", 7)
    assert said("grade", "--jobs", "2")[0] == 0
    for name in ("square", "Nonsense", ""):
        status, out, err = said("replay", "student-000", LESSON, "--exercise", name)
        assert (status, out) == (2, "")
        assert f"{LESSON} has no exercise {name}. The names: Square" in err
        assert "square-check, square-hidden." in err
    status, out, _ = said("replay", "student-000", LESSON, "--exercise", "square-hidden")
    assert status == 0
    assert out.count("Square, ") == 1
    assert "The mark is as recorded." in out
    assert "A person decides: The file is empty." in said("replay", "student-006", LESSON)[1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
@pytest.mark.parametrize("words", [["grade"], ["replay", "student-000", LESSON]])
def test_no_gpu_is_said_before_anything_is_done(
    tmp_path: Path, said: Any, words: list[str]
) -> None:
    course = make_course(tmp_path / "course", 1)
    status, out, err = said(*words, "--device", "cuda")
    assert (status, out) == (2, "")
    assert err.startswith("autograder: --device cuda: this machine has no GPU that torch can use")
    assert recorded(course) == set()


SLOW = "import time\n" + SQUARE.replace(":\n", ":\n    time.sleep(9)\n", 1)


def test_time_that_ran_out_is_no_final_nothing(tmp_path: Path, said: Any) -> None:
    """Of what had been asked before, test_waiting tells."""
    course = make_course(tmp_path / "course", 0, exercises=("Square", "MySigmoid"))
    answers = {"Square": SLOW, "MySigmoid": SIGMOID}
    hand_in(Path(course.root), "ada", notebook(answers))
    status, out, _ = said("grade", "--jobs", "1", "--seconds", "1", "--json")
    assert status == 0
    (reason,) = json.loads(out.splitlines()[1])["reasons"]
    assert "(1 s) ran out before these had been asked: Square, MySigmoid." in reason
    assert "--seconds 2" in reason
    kept = contents(course)
    assert kept["grade", "ada", LESSON, LESSON, "mysigmoid-check"][::3] == (None, True)


ENDLESS = "        while True:\n            pass\n"


def test_an_exercise_without_end_gets_nothing(
    tmp_path: Path, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.grading.marking.Limits", partial(Limits, cell_seconds=3.0))
    course = make_course(tmp_path / "course", 0, exercises=("Square", "MySigmoid"))
    endless = SQUARE.replace("        return x * x\n", ENDLESS)
    assert endless != SQUARE
    hand_in(Path(course.root), "ada", notebook({"Square": endless, "MySigmoid": SIGMOID}))
    _, out, _ = said("grade", "--jobs", "1", "--json")
    line = json.loads(out.splitlines()[1])
    assert (line["score"], line["needs_person"]) == (5.0, False)


def test_the_first_grade_in_a_clone_prepares_the_gradebook(tmp_path: Path, said: Any) -> None:
    root = write_mini_course(tmp_path / "course")
    notebook = root / "submitted" / "ada" / NAME / f"{NAME}.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.write_text("no notebook")
    there = ("--db", f"sqlite:///{tmp_path}/other.db")
    assert "yet. Run `make gradebook`, then grade again." in said("status")[2]
    status, out, err = said("status", *there)
    assert (status, out) == (1, "")
    assert f"yet. Run `make gradebook DB={there[1]}`, then grade again." in err
    status, out, err = said("grade", "--jobs", "1", *there)
    assert status == 0, err
    assert "There is no gradebook yet. Preparing it" in err
    assert "1 waits for a person" in out
    assert json.loads(said("status", "--json", *there)[1])["state"] == "waits for a person"
    assert not (root / "gradebook.db").exists()


def test_in_a_course_folder_of_ones_own_it_says_what_to_do(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 1)
    Path(course.root, "gradebook.db").unlink()
    status, out, err = said("grade")
    assert (status, out) == (1, "")
    assert (
        "Run `nbgrader generate_assignment LESSON --force` for each lesson in build/source/" in err
    )


def test_a_name_no_gradebook_can_hold_keeps_nobody_else_waiting(tmp_path: Path, said: Any) -> None:
    course = make_course(tmp_path / "course", 1)
    hand_in(Path(course.root), os.fsdecode(b"a\xff"), notebook({"Square": SQUARE}))
    hand_in(Path(course.root), "a\nb", notebook({"Square": SQUARE}))
    status, out, err = said("grade", "--jobs", "1")
    assert status == 1
    assert f"submitted/a\ufffd/{LESSON}: has a name that is no valid text: rename the folder" in out
    assert "Traceback" not in err
    assert recorded(course) == {"student-000", "a\nb"}
