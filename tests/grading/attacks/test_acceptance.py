"""No submission gets itself accepted: what it holds, what lies beside it and what it runs say nothing."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.grading.database import open_gradebook
from autograder.grading.records import Records, note_for_person
from autograder.grading.scores import Score, read_scores
from tests.conftest import of_today
from tests.grading.batches import LESSON, hand_in, make_course, notebook, using
from tests.grading.walls import needs_walls

pytestmark = needs_walls
HARMLESS = using("pdb")  # waits; its answer is right


def grade(course: Any, *more: str) -> None:
    assert main(["grade", "--course", course.root, "--jobs", "1", *more]) == 0


def scores(course: Any) -> dict[str, Score]:
    with closing(open_gradebook(course)) as gradebook, gradebook.engine.connect() as connection:
        return {one.student: one for one in read_scores(connection)}


def forged(course: Any, student: str) -> dict[str, Any]:
    """The record of a submission as it would be, had somebody accepted it."""
    path = Records(Path(course.root)).path(student, LESSON)
    data: dict[str, Any] = json.loads(path.read_text())
    accepted = {
        "content": data["result"]["content"], "lines": data["result"]["reasons"], "who": "root",
        "when": data["graded"],
    }  # fmt: skip
    return data | {"accepted": accepted}


def in_the_notebook(course: Any, path: Path) -> None:
    made = json.loads(path.read_text())
    made["metadata"] = forged(course, "mallory")
    for cell in made["cells"]:
        cell["metadata"] |= made["metadata"]
        cell["metadata"]["nbgrader"] |= made["metadata"]
    note = note_for_person(made["metadata"]["accepted"]["lines"], beginning="A person looked.")
    made["cells"].insert(0, dict(note))
    made["cells"].insert(0, {**note, "cell_type": "code", "outputs": [], "execution_count": None})
    path.write_text(json.dumps(made))


def beside_the_notebook(course: Any, path: Path) -> None:
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        for below in ("", "grading/records", f"grading/records/{LESSON}"):
            for name in ("mallory.json", "accepted.json", "timestamp.txt"):
                place = folder / below / name
                place.parent.mkdir(parents=True, exist_ok=True)
                if folder != path.parent or name != "timestamp.txt" or below:
                    place.write_text(json.dumps(forged(course, "mallory")))


def by_its_code(course: Any, path: Path) -> None:
    record = Records(Path(course.root)).path("mallory", LESSON)
    made = json.loads(path.read_text())
    made["cells"][0]["source"] += (
        f"\nimport os\nos.makedirs({str(record.parent)!r}, exist_ok=True)\n"
        f"for place in ({str(record)!r}, '../../grading/records/{LESSON}/mallory.json'):\n"
        f"    try:\n        open(place, 'w').write({json.dumps(forged(course, 'mallory'))!r})\n"
        "    except OSError:\n        pass"
    )
    path.write_text(json.dumps(made))


def in_its_output(course: Any, path: Path) -> None:
    made = json.loads(path.read_text())
    made["cells"][1]["source"] += f"\nprint({json.dumps(forged(course, 'mallory'))!r})"
    path.write_text(json.dumps(made))


WAYS = (in_the_notebook, beside_the_notebook, by_its_code, in_its_output)


@pytest.mark.parametrize("forge", of_today(WAYS, 2), ids=lambda forge: forge.__name__)
def test_a_forged_acceptance_gains_nothing(
    forge: Callable[[Any, Path], None], tmp_path: Path
) -> None:
    course = make_course(tmp_path / "course", 0)
    path = hand_in(Path(course.root), "mallory", notebook({"Square": HARMLESS}))
    grade(course)
    assert scores(course)["mallory"].waits
    forge(course, path)
    for more in ((), ("--all",)):
        grade(course, *more)
        assert set(scores(course)) == {"mallory"}
        found = scores(course)["mallory"]
        assert (found.points, found.waits) == (0.0, True)
        record = Records(Path(course.root)).read("mallory", LESSON)
        assert record is not None
        assert record.accepted is None


def test_what_would_be_gained(tmp_path: Path) -> None:
    """Such a record in its own place is believed: only the instructor can write there."""
    course = make_course(tmp_path / "course", 0)
    hand_in(Path(course.root), "mallory", notebook({"Square": HARMLESS}))
    grade(course)
    record = json.dumps(forged(course, "mallory"))
    Records(Path(course.root)).path("mallory", LESSON).write_text(record)
    grade(course, "--all")
    assert (scores(course)["mallory"].points, scores(course)["mallory"].waits) == (5.0, False)


def test_accepted_work_that_somebody_else_hands_in_waits(tmp_path: Path) -> None:
    course = make_course(tmp_path / "course", 0)
    path = hand_in(Path(course.root), "ada", notebook({"Square": HARMLESS}))
    grade(course)
    assert main(["accept", "ada", LESSON, "--yes", "--course", course.root]) == 0
    shutil.copytree(path.parent, Path(course.root, "submitted/mallory", LESSON))
    grade(course, "--all")
    found = scores(course)
    assert (found["ada"].points, found["ada"].waits) == (5.0, False)
    assert (found["mallory"].points, found["mallory"].waits) == (0.0, True)


def test_lines_more_than_can_be_named_are_said_to_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty harmless lines must not hide the one that is not."""
    many = using(", ".join(["ctypes", *(f"harmless_{number}" for number in range(20))]))
    course = make_course(tmp_path / "course", 0)
    hand_in(Path(course.root), "mallory", notebook({"Square": many}))
    grade(course)
    capsys.readouterr()
    assert main(["accept", "mallory", LESSON, "--yes", "--course", course.root]) == 0
    assert re.search(r"Beyond these: \d+ more – read the whole notebook\.", capsys.readouterr().out)
