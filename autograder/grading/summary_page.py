"""The summary as a page: what it says is in templates/summary/, what it knows comes from `summary`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from nbgrader.coursedir import CourseDirectory

from autograder.explaining.pages import TITLES
from autograder.explaining.pages import page as explanation
from autograder.grading.class_overview import overview
from autograder.grading.database import reading
from autograder.grading.handed_in import lesson_files
from autograder.grading.kept_files import replace_file
from autograder.grading.safe_text import safe_html, said_as_html
from autograder.grading.scores import Student, read_students
from autograder.grading.similar import alike, read_answers, seen_by_all
from autograder.grading.summary import BINS, LessonSummary, summarise
from autograder.grading.words import counted, printable

_STYLE = Path(__file__).parent.parent / "reporting" / "static" / "summary.css"
MOST_NAMED = 200


def write_summary(
    course: CourseDirectory, lessons: Sequence[str] = (), output: Path | None = None
) -> Path:
    """Write the page, and give its path. Raises CannotWrite or NoLesson."""
    with reading(course) as connection:
        look = overview(course, connection, lessons)
        names = {one.id: _who(one) for one in read_students(connection)}
    summaries = []
    for name in dict.fromkeys(one.lesson for one in look.found):
        of_lesson = [one for one in look.found if one.lesson == name]
        graded = [one.student for one in of_lesson if not one.is_to_grade]
        answers, files = read_answers(course, name, graded), lesson_files(course, name)
        for one in of_lesson:
            if one.copied:  # named as such, and like each other anyway
                answers.pop(one.student, None)
        nothing = [names[student] for student in look.without.get(name, ())]
        summaries.append(summarise(name, of_lesson, alike(answers, seen_by_all(files)), nothing))
    path = output or Path(course.root, "grading", "summary.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    replace_file(path, page(summaries, when).encode("utf-8", "replace"), 0o600)
    return path


def page(summaries: Sequence[LessonSummary], when: str) -> str:
    """The whole page. Names and reasons are a learner's text: every one of them is escaped."""
    style = _STYLE.read_text(encoding="utf-8")
    rules = sorted({cause.rule for one in summaries for cause in one.causes} & TITLES.keys())
    lists = [one.nothing for one in summaries]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            summaries=summaries, when=when, style=style, titles=TITLES, most_named=MOST_NAMED,
            digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            never=sorted(set(lists[0]).intersection(*lists)) if len(lists) > 1 else [],
            shares=[
                f"{low} % to {'100' if low == 90 else f'under {low + 10}'} %"
                for low in range(0, 100, 100 // BINS)
            ],
            meanings=[(rule, Markup(_meaning(rule))) for rule in rules],
        )
    )  # fmt: skip


def _environment() -> Environment:
    """Jinja, with each value escaped and in it nothing that moves a cursor."""

    def shown(value: Any) -> Any:
        return (
            value if isinstance(value, Markup) or not isinstance(value, str) else printable(value)
        )

    loader = FileSystemLoader(Path(__file__).parent / "templates" / "summary")
    made = Environment(loader=loader, autoescape=True, finalize=shown)
    made.filters["g"] = lambda number: f"{number:g}"
    made.filters["learners"] = lambda count: counted(count, "learner")
    made.filters["said"] = lambda reason: Markup(said_as_html(printable(reason)))
    return made


def _who(student: Student) -> str:
    return student.id if student.name == student.id else f"{student.name} ({student.id})"


def _meaning(rule: str) -> str:
    """What a rule means: the beginning of its explanation page."""
    beginning = explanation(rule).split("\n## ")[0].partition("\n")[2]
    return safe_html(beginning.replace(f"**{TITLES.get(rule)}**", ""))
