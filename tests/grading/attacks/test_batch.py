"""A whole class where every second notebook attacks: the batch ends, and the honest half is unharmed.

The pages an instructor opens are attacked in tests/browser/test_formgrader.py, with the vectors of
tests/nbgrader/attack.py.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.grading.batch import Order, grade_all
from autograder.grading.course import open_course
from autograder.grading.marking import How, Result
from tests.grading.attacks.confinement import cell
from tests.grading.attacks.crashes import CRASHES
from tests.grading.attacks.grading import LIMITS
from tests.grading.attacks.inputs import HARD, UNREADABLE
from tests.grading.attacks.lesson import FULL, NAME, RIGHT, as_file, handed_in, lesson_files
from tests.grading.attacks.messages import MESSAGES, talking
from tests.grading.attacks.score import ATTACKS
from tests.grading.gradebooks import CONFIG, with_tools
from tests.grading.walls import needs_walls

pytestmark = needs_walls

_LOOKS_AROUND = cell(
    "found = [open(os.path.join(folder, name)).read() for folder, _, names in os.walk('/')"
    " for name in names if name.endswith(('.ipynb', 'seeds.json', 'gradebook.db'))]\n"
    "return [dict(os.environ), found]"
)


def attackers(peer: Path) -> dict[str, bytes | None]:
    """What is handed in, by student; None: something that is no ordinary file."""
    files: dict[str, bytes | None] = {"link": None, "folder": None, "pipe": None}
    files |= {f"file-{n}": data for n, data in enumerate(UNREADABLE.values()) if n % 4 == 0}
    files |= {f"score-{n}": as_file(a.notebook()) for n, a in enumerate(ATTACKS) if n % 9 == 0}
    files |= {
        f"crash-{n}": as_file(handed_in(RIGHT, before=[crash.body]))
        for n, crash in enumerate(CRASHES)
        if n % 4 == 1
    }
    files["message"] = as_file(handed_in(before=[talking(MESSAGES["JSON that is deep"])]))
    files["hard"] = HARD[0].file()
    files["looks-around"] = as_file(handed_in(before=[_LOOKS_AROUND]))
    files["half-a-character"] = as_file(handed_in(before=["print('\\ud800')"]))
    return files


def make_course(root: Path) -> None:
    files = lesson_files()
    for folder, text in (("build/source", files.source), ("course", files.released)):
        (root / folder / NAME).mkdir(parents=True)
        (root / folder / NAME / f"{NAME}.ipynb").write_text(text)
    (root / "nbgrader_config.py").write_text(CONFIG)
    course = open_course(root)
    with with_tools(), Gradebook(course.db_url, course.course_id) as gradebook:
        gradebook.add_assignment(NAME)
        gradebook.add_notebook(NAME, NAME)
        for name in RIGHT:
            gradebook.add_solution_cell(name.lower(), NAME, NAME)
            gradebook.add_source_cell(name.lower(), NAME, NAME, cell_type="code", source="")
            for kind, points in (("check", 2.0), ("hidden", 3.0)):
                one = f"{name.lower()}-{kind}"
                gradebook.add_grade_cell(one, NAME, NAME, max_score=points, cell_type="code")
                gradebook.add_source_cell(
                    one, NAME, NAME, cell_type="code", source=f"check({name})", locked=True
                )


def test_a_batch_among_attackers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    canary = f"canary-{secrets.token_hex(8)}"
    monkeypatch.setenv("CANARY", canary)
    make_course(tmp_path)
    peer = tmp_path / "submitted/honest-00" / NAME / f"{NAME}.ipynb"
    hostile = attackers(peer)
    honest = [f"honest-{n:02}" for n in range(len(hostile) // 2)]
    for student in (*honest, *hostile):
        place = tmp_path / "submitted" / student / NAME / f"{NAME}.ipynb"
        place.parent.mkdir(parents=True)
        given = hostile.get(student) or b""
        if student in honest:
            place.write_bytes(as_file(handed_in(RIGHT, after=[f"# {canary}"])))
        elif student == "link":
            place.symlink_to(peer)
        elif student == "folder":
            place.mkdir()
        elif student == "pipe":
            os.mkfifo(place)
        else:
            place.write_bytes(given)
    course = open_course(tmp_path)
    order = Order((NAME,), workers=2, how=How(limits=LIMITS))
    (tally, _), *graded = grade_all(course, order)
    results: list[Result] = [one.record.result for _, one in graded]

    assert tally.done == tally.total == len(honest) + len(hostile)
    scores = {one.student: one.score for one in results}
    assert {scores[student] for student in honest} == {FULL}
    # What no answer needs is not run: right answers beside a crash or a huge cell keep their points.
    right = {s for s in hostile if s.startswith("crash") or s == "hard"}
    assert all(scores[s] == (FULL if s in right else 0.0) for s in hostile)
    with Gradebook(course.db_url, course.course_id) as gradebook:
        kept = {one.student.id: one.score for one in gradebook.assignment_submissions(NAME)}
    assert kept == scores
    said = [(s, tmp_path / "autograded" / s / NAME / f"{NAME}.ipynb") for s in hostile]
    assert all(place.is_file() for _, place in said)
    assert [s for s, place in said if canary in place.read_text()] == []
    assert [one.student for one in results if canary in repr(one) and one.student in hostile] == []
    own = [
        place
        for s, place in ((s, tmp_path / "autograded" / s / NAME / f"{NAME}.ipynb") for s in honest)
    ]
    assert all(canary in place.read_text() for place in own)
    # Once more: nothing is left to do.
    ((again, _),) = grade_all(course, order)
    assert (again.total, again.unchanged) == (0, tally.total)
