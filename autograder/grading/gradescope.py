"""Gradescope: a submission's results.json, and the zip that Gradescope grades each submission with.

In the zip are a lesson, the grader, and two scripts: `setup.sh` runs once, when Gradescope builds the image,
`run_autograder` for each submission, in a container of its own. Both are named, and the folders lie, as
Gradescope's documentation of autograders says.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory

from autograder.explaining.pages import TITLES
from autograder.grading.box import Walls, trouble
from autograder.grading.execute import how_to_grade
from autograder.grading.handed_in import HandedIn, lesson_files, notebooks_in
from autograder.grading.kept_files import NotPlain, read_plain, replace_file
from autograder.grading.marking import How, Mark, Result
from autograder.grading.one_submission import Submission, close_boxes, grade
from autograder.grading.records import Record, new_record
from autograder.grading.scores import CellScore, Score
from autograder.grading.words import Trouble, filled
from autograder.learner.lesson import LessonFiles
from autograder.learner.submitted_notebook import LARGEST

# Learners see the first checks at once, and the rest when the instructor publishes grades.
AT_ONCE, PUBLISHED = "visible", "after_published"


def results(score: Score, record: Record | None, comments: Sequence[str] = ()) -> dict[str, Any]:
    """One student's results.json, with the scores of the gradebook.

    record    what the grader remembers, for the words; None: scores only
    comments  what people wrote to the student
    """
    marks = {mark.grade_id: mark for mark in record.result.marks} if record else {}
    order = {name: place for place, name in enumerate(marks)}
    cells = sorted(score.cells, key=lambda cell: order.get(cell.name, len(order)))
    said = [f"Comment: {comment}" for comment in comments]
    if score.penalty:
        said.insert(0, f"Handed in late: {score.penalty:g} points are taken off.")
    if score.waits:
        said.insert(0, "Not final yet: somebody still looks at this submission.")
    return {
        "score": score.points,
        "output": "\n\n".join(said),
        "output_format": "text",
        "visibility": PUBLISHED,
        "stdout_visibility": "hidden",
        "tests": [
            *(_test(cell, marks.get(cell.name), number) for number, cell in enumerate(cells, 1)),
            *(test for cell in cells if (mark := marks.get(cell.name)) for test in _promises(mark)),
        ],
    }


def _test(cell: CellScore, mark: Mark | None, number: int) -> dict[str, Any]:
    exercise = mark.exercise if mark else ""
    hidden = mark is None or mark.hidden
    kind = "hidden check" if hidden else "first check"
    return {
        "name": f"{exercise} ({kind})" if exercise else cell.name,
        "number": str(number),
        "score": cell.points,
        "max_score": cell.max_points,
        "status": "passed" if cell.points >= cell.max_points and not cell.waits else "failed",
        "output": _words(cell, mark),
        "output_format": "text",
        "visibility": PUBLISHED if hidden else AT_ONCE,
        "tags": [mark.rule] if mark and mark.rule else [],
    }


def _promises(mark: Mark) -> Iterator[dict[str, Any]]:
    """What was found of each promise, as tests without points; once an exercise."""
    lines = () if mark.hidden or mark.report.get("not_started") else mark.report.get("promises", ())
    for line in lines:
        kept = line["state"] == "kept"
        yield {
            "name": f"{mark.exercise}: {line['title']}",
            "status": "passed" if kept else "failed",
            "output": "" if kept else f"This promise is {line['state']}.",
            "output_format": "text",
            "visibility": AT_ONCE,
        }


def _words(cell: CellScore, mark: Mark | None) -> str:
    """What the learner may read of a check: root cause, their line, advice; no values, no seed."""
    if cell.waits:
        return "A person looks at this before it gets points."
    if mark is None or not mark.report:
        return "Graded by a person."
    findings = mark.report.get("findings") or []
    if mark.points is not None and mark.points != cell.points:
        return "A person gave these points." + (f"\n{_advice(findings[0])}" if findings else "")
    if not findings:
        which = "the hidden check" if mark.hidden else "the first check"
        return f"{mark.exercise}: {which} passes." if mark.report.get("passed") else ""
    return _advice(findings[0])


def _advice(finding: dict[str, Any]) -> str:
    rule = str(finding.get("rule", ""))
    evidence = finding.get("evidence") or {}
    lines = [TITLES.get(rule, "")]
    if evidence.get("line"):
        lines.append(f"Your line {evidence['line']}: {str(evidence.get('source', ''))[:100]}")
    if finding.get("hint"):
        lines.append(f"Next: {finding['hint']}")
    lines.append(f'Rule: {rule} – explain("{rule}") in the notebook says more.')
    return "\n".join(line for line in lines if line)


# ---- the zip -------------------------------------------------------------------------------

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = "/opt/backward-by-hand/bin/python"
# Where namespaces are forbidden, as in most containers, what needs none of them still holds.
WALLS = (
    Walls(),
    Walls(outer=False, namespaces=False),
    Walls(outer=False, namespaces=False, landlock=False),
    Walls.none(),
)


def pack(course: CourseDirectory, lesson: str, path: Path) -> Path:
    """Write the zip that grades a lesson on Gradescope, with the course's seed and settings.

    Raises NoLesson for a lesson there is none of, Trouble where this is no clone of the course.
    """
    listing = REPOSITORY / "pyproject.toml"
    if not listing.is_file():
        raise Trouble("The zip is made in a clone of this course: what it needs is listed there.")
    needs = tomllib.loads(listing.read_text("utf-8"))["project"]["dependencies"]
    torch = next(one for one in needs if one.startswith("torch"))
    how = how_to_grade(course, lesson, How())
    data = {
        "lesson": asdict(lesson_files(course, lesson)), "seed": how.seed,
        "allowed": how.allowed, "by_promise": how.by_promise,
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        index = os.environ.get("TORCH_INDEX", "")
        for name in ("setup.sh", "run_autograder"):
            script = zipfile.ZipInfo(name)
            script.external_attr = 0o100755 << 16
            facts = {"python": PYTHON, "torch": torch, "index": index}
            archive.writestr(script, filled(f"gradescope/{name}.j2", **facts) + "\n")
        archive.writestr("requirements.txt", "\n".join(needs) + "\n")
        archive.writestr("lesson.json", json.dumps(data))
        for package in ("autograder", "widgets"):
            for file in sorted((REPOSITORY / package).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, Path("course", file.relative_to(REPOSITORY)))
    return path


def main(place: Path) -> int:
    """Grade what lies in submission/ of Gradescope's folder, into results/results.json."""
    data = json.loads((place / "source/lesson.json").read_text("utf-8"))
    modules = tuple((name, text) for name, text in data["lesson"].pop("modules"))
    files = LessonFiles(**data["lesson"], modules=modules)
    walls = next(one for one in WALLS if one == WALLS[-1] or not trouble(one))
    how = How(
        data["seed"], walls=walls, allowed=tuple(data["allowed"]), by_promise=data["by_promise"]
    )
    result = grade(_handed_in(place / "submission", files.name), files, how)
    close_boxes()
    text = json.dumps(results(_score(result), new_record(result, "")), indent=1)
    replace_file(place / "results" / "results.json", text.encode("ascii"))
    print(f"Graded {files.name}: {result.score:g} of {result.max_score:g}. {walls}")
    print(*result.reasons, sep="\n")
    return 0


def _handed_in(folder: Path, lesson: str) -> Submission:
    """The lesson's notebook, or the only one there, whatever its name."""
    there = notebooks_in(folder)
    if len(there) == 1 and there[0].name != f"{lesson}.ipynb":
        try:
            return Submission("", read_plain(there[0], LARGEST))
        except (NotPlain, FileNotFoundError) as error:
            return Submission("", None, f"{error}.")
    inside = there[0].parent if len(there) == 1 else folder
    return HandedIn("", lesson, inside).read()


def _score(result: Result) -> Score:
    """The score as a gradebook would have it."""
    cells = (
        CellScore(
            mark.grade_id, result.lesson, mark.points or 0.0, mark.max_points, mark.points is None,
            mark.points,
        )
        for mark in result.marks
    )  # fmt: skip
    return Score(result.student, result.lesson, None, 0.0, tuple(cells))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
