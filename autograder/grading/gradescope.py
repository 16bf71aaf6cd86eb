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
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.explaining.pages import TITLES
from autograder.grading.box import Walls, trouble
from autograder.grading.execute import how_to_grade
from autograder.grading.handed_in import HandedIn, lesson_files, notebooks_in
from autograder.grading.kept_files import NotPlain, read_plain, replace_file
from autograder.grading.marking import How, Result
from autograder.grading.one_submission import Submission, close_boxes, grade
from autograder.grading.records import Record, new_record
from autograder.grading.scores import CellScore, Score
from autograder.grading.words import Trouble, filled
from autograder.learner.lesson import LessonFiles
from autograder.learner.submitted_notebook import LARGEST


def results(score: Score, record: Record | None, comments: Sequence[str] = ()) -> bytes:
    """One student's results.json, with the scores of the gradebook.

    Learners see the first checks at once, and the rest when the instructor publishes grades.

    record    what the grader remembers, for the words; None: scores only
    comments  what people wrote to the student
    """
    marks = {mark.grade_id: mark for mark in record.result.marks} if record else {}
    order = [*marks, *(cell.name for cell in score.cells)]
    text = filled(
        "gradescope/results.json.j2", score=score, marks=marks, titles=TITLES,
        cells=sorted(score.cells, key=lambda cell: order.index(cell.name)),
        comments=[f"Comment: {comment}" for comment in comments],
    )  # fmt: skip
    return json.dumps(json.loads(text), indent=1).encode("ascii")


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
    given = json.loads((place / "source/lesson.json").read_text("utf-8"))
    modules = tuple((name, text) for name, text in given["lesson"].pop("modules"))
    files = LessonFiles(**given["lesson"], modules=modules)
    walls = next(one for one in WALLS if one == WALLS[-1] or not trouble(one))
    how = How(
        given["seed"], walls=walls, allowed=tuple(given["allowed"]), by_promise=given["by_promise"]
    )
    result = grade(_handed_in(place / "submission", files.name), files, how)
    close_boxes()
    data = results(_score(result), new_record(result, ""))
    replace_file(place / "results" / "results.json", data)
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
