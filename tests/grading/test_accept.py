"""`autograder accept`: a person lets a submission pass; for this very work, and for no other."""

from __future__ import annotations

import builtins
import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.database import open_gradebook
from autograder.grading.one_submission import note_for_person
from autograder.grading.records import Record, Records
from autograder.grading.scores import Score, read_scores
from tests.grading import batches
from tests.grading.gradebooks import CELLS, LESSON, grade_as, hand_in
from tests.grading.walls import needs_walls

PANDAS = "cell 2 (double), line 3: `import pandas` – pandas is not among the modules."
RIGHT = {"passed": True, "not_started": False, "headline": "all right", "findings": []}
WRONG = {
    "passed": False, "not_started": False, "headline": "the sign is wrong",
    "findings": [{"rule": "gradient-sign"}],
}  # fmt: skip


def waiting_notebook(*reasons: str) -> str:
    """What the grader writes of a submission that waits."""
    cells = [note_for_person(reasons)]
    for name in CELLS:
        error = new_output("error", ename="NotGraded", evalue="A person looks.", traceback=[])
        role = {"grade_id": name, "grade": True, "solution": False, "locked": True, "points": 1}
        report = new_output("display_data", data={"text/plain": f"the report on {name}"})
        cells.append(
            new_code_cell(name, id=name, metadata={"nbgrader": role}, outputs=[report, error])
        )
    return str(nbformat.writes(new_notebook(cells=cells)))


def wait(course: Any, student: str = "ada", *reasons: str, **more: Any) -> None:
    """Grade a submission with lines to be looked at: one check found it right, the other wrong."""
    reasons = reasons or (PANDAS,)
    more = {"reports": (RIGHT, WRONG), "notebook": waiting_notebook(*reasons)} | more
    grade_as(course, student, (None, None), reasons=reasons, **more)


def accept(course: Any, *words: str) -> int:
    return main(["accept", *words, "--course", course.root])


def score(course: Any, student: str = "ada") -> Score:
    with closing(open_gradebook(course)) as gradebook, gradebook.engine.connect() as connection:
        return next(one for one in read_scores(connection) if one.student == student)


def record(course: Any, student: str = "ada", lesson: str = LESSON) -> Record:
    found = Records(Path(course.root)).read(student, lesson)
    assert found is not None
    return found


def test_the_points_are_those_that_the_checks_found(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    wait(small_course)
    assert score(small_course).waits
    assert accept(small_course, "ada", LESSON, "--yes", "--by", "Grace") == 0
    assert (score(small_course).points, score(small_course).waits) == (2.0, False)
    said = capsys.readouterr().out
    assert PANDAS in said
    assert "double, first check: 2 of 2" in said
    assert "double, hidden check: 0 of 3 (the sign is wrong)" in said
    assert "Accepted: 2 of 5 points are in the gradebook." in said
    kept = record(small_course)
    assert kept.accepted is not None
    assert (kept.accepted.who, kept.accepted.lines) == ("Grace", (PANDAS,))
    assert kept.accepted.content == kept.result.content
    assert kept.accepted.when.endswith("+00:00")
    assert [mark.points for mark in kept.result.marks] == [None, None]  # what the grader found


def test_the_notebook_no_longer_says_that_it_waits(small_course: Any) -> None:
    wait(small_course)
    path = Path(small_course.root, "autograded/ada", LESSON, f"{LESSON}.ipynb")
    assert "before it gets points" in path.read_text()
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    note, right, wrong = notebook.cells
    assert "A person looked at this notebook" in note.source
    assert "import pandas" in note.source
    assert [one.output_type for one in right.outputs] == ["display_data"]
    assert [one.get("ename") for one in wrong.outputs] == [None, "CheckFailed"]
    assert "NotGraded" not in path.read_text()


def test_graded_again_the_same_work_stays_accepted(small_course: Any) -> None:
    wait(small_course)
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    before = record(small_course).accepted
    wait(small_course)
    assert (score(small_course).points, score(small_course).waits) == (2.0, False)
    assert record(small_course).accepted == before
    path = Path(small_course.root, "autograded/ada", LESSON, f"{LESSON}.ipynb")
    assert "A person looked at this notebook" in path.read_text()


def test_status_says_who_accepted_it(small_course: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wait(small_course, reports=(RIGHT, {}))
    assert accept(small_course, "ada", LESSON, "--yes", "--by", "Gra\x1bce") == 0
    capsys.readouterr()
    assert main(["status", "--course", small_course.root]) == 0
    said = capsys.readouterr().out
    assert "Accepted by a person (`autograder accept`):" in said
    assert f"ada, {LESSON}: accepted by Gra�ce, 20" in said
    assert "import pandas" not in said  # that no longer holds it back
    assert "double-hidden: graded by hand" in said
    assert main(["status", "--json", "--course", small_course.root]) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["accepted"].startswith("accepted by Gra")


def test_changed_work_waits_again(small_course: Any) -> None:
    wait(small_course)
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    Path(small_course.root, "submitted/ada", LESSON, f"{LESSON}.ipynb").write_text("{ }")
    wait(small_course)
    assert score(small_course).waits
    assert record(small_course).accepted is None
    hand_in(small_course, "ada")  # as it was when it was accepted
    wait(small_course)
    assert score(small_course).waits


def test_a_line_that_nobody_looked_at_waits(small_course: Any) -> None:
    """A newer grader may see more in the same work."""
    wait(small_course)
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    wait(small_course, "ada", PANDAS, "cell 3, line 1: `import ctypes` – reads memory.")
    assert score(small_course).waits
    assert record(small_course).accepted is None


def test_an_acceptance_is_taken_back(small_course: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wait(small_course)
    assert accept(small_course, "ada", LESSON, "--withdraw") == 1
    assert "was not accepted by anybody" in capsys.readouterr().err
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    assert accept(small_course, "ada", LESSON, "--withdraw") == 0
    assert "takes the points back" in capsys.readouterr().out
    assert main(["status", "--course", small_course.root]) == 0
    assert "ada, 01_doubling: changed since" in capsys.readouterr().out
    wait(small_course)
    assert score(small_course).waits


NOT_READ = "There is no 01_doubling.ipynb in what was handed in."
BY_HAND = "double-check is no check(…): a person grades it."


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"reports": ({}, {}), "notebook": "", "reasons": (NOT_READ,)}, NOT_READ),
        ({"reports": ({}, {}), "reasons": ("The grader itself failed (x).",)}, "itself failed"),
        ({"reports": (RIGHT, RIGHT), "reasons": (BY_HAND,)}, "is no check"),
    ],
)
def test_nothing_but_lines_of_code_can_be_accepted(
    small_course: Any, what: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_as(small_course, "ada", (None, None), **what)
    assert accept(small_course, "ada", LESSON, "--yes") == 1
    said = capsys.readouterr().err
    assert "Give its points in formgrader" in said
    assert words in said
    assert score(small_course).waits
    assert record(small_course).accepted is None


def test_refusals_say_why(small_course: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert accept(small_course, "ada", LESSON, "--yes") == 1
    assert "ada handed nothing in" in capsys.readouterr().err
    hand_in(small_course, "ada")
    assert accept(small_course, "ada", LESSON, "--yes") == 1
    assert f"Run `autograder grade {LESSON} --student ada` first." in capsys.readouterr().err
    grade_as(small_course, "ada")
    assert accept(small_course, "ada", LESSON, "--yes") == 1
    assert "does not wait" in capsys.readouterr().err
    wait(small_course)
    Path(small_course.root, "submitted/ada", LESSON, f"{LESSON}.ipynb").write_text("{ }")
    assert accept(small_course, "ada", LESSON, "--yes") == 1
    assert "changed since" in capsys.readouterr().err
    wait(small_course)
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    assert accept(small_course, "ada", LESSON, "--yes") == 1
    assert "was accepted by" in capsys.readouterr().err
    assert accept(small_course, "ada", "99_nothing", "--yes") == 1


def test_cells_without_a_verdict_go_on_waiting(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    wait(small_course, reports=(RIGHT, {}))
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    assert (score(small_course).points, score(small_course).waits) == (2.0, True)
    assert "Still waiting in formgrader, under Manual Grading: double-hidden." in (
        capsys.readouterr().out
    )


def test_it_says_what_stopped_an_answer(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that is missing where it is graded is not the learner's fault."""
    hint = "Mend that cell first: ModuleNotFoundError: No module named 'pandas'"
    gone = WRONG | {"findings": [{"rule": "raises", "message": "It is not there.", "hint": hint}]}
    wait(small_course, reports=(gone, WRONG))
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    said = capsys.readouterr().out.splitlines()
    assert f"  double, first check: 0 of 2 (the sign is wrong {hint})" in said
    assert "  double, hidden check: 0 of 3 (the sign is wrong)" in said


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", lambda prompt="": answer)


def test_it_asks(
    small_course: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wait(small_course)
    assert accept(small_course, "ada", LESSON) == 2  # nobody is there to be asked
    assert "--yes" in capsys.readouterr().err
    on_a_terminal(monkeypatch, "")
    assert accept(small_course, "ada", LESSON) == 1
    assert "Nothing was changed." in capsys.readouterr().out
    assert score(small_course).waits
    on_a_terminal(monkeypatch, "y")
    assert accept(small_course, "ada", LESSON) == 0
    assert not score(small_course).waits


def test_what_was_graded_while_it_asked_is_not_accepted(
    small_course: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wait(small_course)
    on_a_terminal(monkeypatch, "y")

    def answer(prompt: str = "") -> str:
        wait(small_course, "ada", PANDAS, "cell 3, line 1: `import ctypes` – reads memory.")
        return "y"

    monkeypatch.setattr(builtins, "input", answer)
    assert accept(small_course, "ada", LESSON) == 1
    assert "graded again meanwhile" in capsys.readouterr().err
    assert score(small_course).waits


def test_a_quoted_line_cannot_move_the_cursor(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    wait(small_course, "ada", "cell 2, line 1: `\x1b[2J\x1b[1;1Hall is well` – x.")
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "damage",
    [
        lambda accepted: True, lambda accepted: accepted | {"content": None},
        lambda accepted: accepted | {"content": ""}, lambda accepted: accepted | {"content": "0"},
        lambda accepted: accepted | {"lines": PANDAS}, lambda accepted: accepted | {"lines": []},
        lambda accepted: [accepted], lambda accepted: {},
    ],
)  # fmt: skip
def test_an_acceptance_that_is_not_whole_is_none(small_course: Any, damage: Any) -> None:
    wait(small_course)
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    path = Records(Path(small_course.root)).path("ada", LESSON)
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"accepted": damage(data["accepted"])}))
    wait(small_course)
    assert score(small_course).waits


def test_a_record_of_before_there_were_acceptances(small_course: Any) -> None:
    wait(small_course)
    records = Records(Path(small_course.root))
    path = records.path("ada", LESSON)
    data = json.loads(path.read_text())
    del data["accepted"]
    path.write_text(json.dumps(data))
    assert record(small_course) == replace(record(small_course), accepted=None)


def test_formgraders_own_points_stay(small_course: Any) -> None:
    wait(small_course)
    with Gradebook(small_course.db_url, small_course.course_id) as gradebook:
        grade = gradebook.find_grade("double-hidden", LESSON, LESSON, "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    assert accept(small_course, "ada", LESSON, "--yes") == 0
    assert score(small_course).points == 3.5


@needs_walls
def test_what_a_class_allows_waits_for_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = batches.make_course(tmp_path / "course", 0)
    root = Path(course.root)
    for name, module in (("ada", "sympy"), ("ben", "sympy, ctypes")):
        answer = batches.using(module)
        batches.hand_in(root, name, batches.notebook({"Square": answer}))
    grade = ["grade", "--course", course.root, "--jobs", "1", "--all"]
    assert main(grade) == 0
    assert [score(course, name).waits for name in ("ada", "ben")] == [True, True]
    settings = root / "nbgrader_config.py"
    before = settings.read_text()
    settings.write_text(before + 'c.ExecuteInBox.allowed_imports = ["sympy"]\n')
    assert main(grade) == 0
    assert [score(course, name).waits for name in ("ada", "ben")] == [False, True]
    assert record(course, "ada", batches.LESSON).accepted is None
    capsys.readouterr()
    settings.write_text(before + 'c.ExecuteInBox.allowed_imports = ["sympy", "ctypes"]\n')
    assert main(grade) == 2
    assert "'ctypes' could change what the checks see" in capsys.readouterr().err


@needs_walls
def test_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two exercises one waits: the other is graded, and shown."""
    course = batches.make_course(tmp_path / "course", 0, exercises=("Square", "MySigmoid"))
    wrong = batches.SIGMOID.replace("(1 - y)", "(2 - y)")
    answers = {"Square": batches.using("pdb"), "MySigmoid": wrong}
    path = batches.hand_in(Path(course.root), "ada", batches.notebook(answers))
    grade = ["grade", "--course", course.root, "--jobs", "1", "--all"]
    assert main(grade) == 0
    assert f"ada, {batches.LESSON} (Square): " in capsys.readouterr().out
    waits = {cell.name: cell.waits for cell in score(course).cells}
    assert waits == {f"{n}-{kind}": n == "square" for n in ("square", "mysigmoid") for kind in batches.CHECKS}  # fmt: skip
    assert main(["status", "--course", course.root]) == 0
    assert f"  ada, {batches.LESSON} (Square)\n" in capsys.readouterr().out
    assert main(["export", "--course", course.root]) == 1  # there is no final score
    path = Path(course.root, "autograded", *path.parts[-3:])
    before = nbformat.read(path, as_version=4).cells
    assert "looks at Square before it gets points; the other exercises have" in before[0].source
    assert main(["accept", "ada", batches.LESSON, "--yes", "--course", course.root]) == 0
    assert (score(course).points, score(course).waits) == (5.0, False)
    after = nbformat.read(path, as_version=4).cells
    shown = [[cell for cell in cells if "MySigmoid" in cell.source] for cells in (before, after)]
    assert shown[0] == shown[1]
    capsys.readouterr()
    assert main(grade) == 0
    assert "wait" not in capsys.readouterr().out
    assert (score(course).points, score(course).waits) == (5.0, False)
    assert main(["replay", "ada", batches.LESSON, "--course", course.root]) == 0
    said = capsys.readouterr().out
    assert "All 4 marks are as recorded." in said
    assert "were accepted by" in said


def test_all_who_wait_for_one_reason_are_accepted_at_once(
    small_course: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ctypes = "cell 3, line 1: `import ctypes` – reads memory."
    wait(small_course, "ada")
    wait(small_course, "ben")
    wait(small_course, "carla", PANDAS, ctypes)
    wait(small_course, "dan", ctypes)
    assert accept(small_course, "--reason", "import sympy", "--yes") == 1
    assert "Of 4 submissions that wait none" in capsys.readouterr().err
    assert accept(small_course, "--reason", "import pandas", "--yes", "--by", "Grace") == 0
    said = capsys.readouterr().out
    assert "2 submissions wait because of" in said
    assert "      ada, ben" in said
    assert "Accepted: 2 submissions have the points that the checks found." in said
    waits = {name: score(small_course, name).waits for name in ("ada", "ben", "carla", "dan")}
    assert waits == {"ada": False, "ben": False, "carla": True, "dan": True}
    accepted = record(small_course, "ben").accepted
    assert accepted is not None
    assert (accepted.who, accepted.lines) == ("Grace", (PANDAS,))
    assert accept(small_course, "--reason", "import", LESSON, "--yes") == 0
    assert not any(score(small_course, name).waits for name in ("carla", "dan"))
    assert accept(small_course, "ada", "--yes") == 2
    assert "STUDENT LESSON, or --reason" in capsys.readouterr().err
