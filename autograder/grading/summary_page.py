"""The summary as a page: plain HTML that loads nothing, runs nothing and reads well aloud."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.explanations import TITLES
from autograder.explanations import page as explanation
from autograder.grading.answers import read_answers, seen_by_all
from autograder.grading.course import open_gradebook
from autograder.grading.handed_in import lesson_files, printable
from autograder.grading.markdown import safe_html
from autograder.grading.said import said_as_html
from autograder.grading.scores import Student, read_students
from autograder.grading.similar import alike
from autograder.grading.standing import GRADED, WAITS, standings
from autograder.grading.storage import replace_file
from autograder.grading.summary import BINS, Cause, ExerciseSummary, LessonSummary, summarise

_STYLE = Path(__file__).parent.parent / "static" / "summary.css"
MOST_NAMED = 200
MOST_EXERCISES = 3  # of one rule
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 220, 10, 40  # of the diagram, in pixels


def write_summary(
    course: CourseDirectory, lessons: Sequence[str] = (), output: Path | None = None
) -> Path:
    """Write the page, and give its path. Raises CannotWrite or NoLesson."""
    gradebook = open_gradebook(course)
    try:
        with gradebook.engine.connect() as connection:
            found = list(standings(course, connection, lessons))
            students = read_students(connection)
    finally:
        gradebook.close()
    summaries = []
    for name in dict.fromkeys(one.lesson for one in found):
        of_lesson = [one for one in found if one.lesson == name]
        graded = [one.student for one in of_lesson if one.state in (GRADED, WAITS)]
        answers, seen = read_answers(course, name, graded), seen_by_all(lesson_files(course, name))
        there = {one.student for one in of_lesson}
        nothing = [_who(one) for one in students if one.id not in there]
        summaries.append(summarise(name, of_lesson, alike(answers, seen), nothing))
    path = output or Path(course.root, "grading", "summary.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    replace_file(path, page(summaries, when).encode("utf-8", "replace"), 0o600)
    return path


def page(summaries: Sequence[LessonSummary], when: str) -> str:
    """The whole page. Names and reasons are a learner's text: every one of them is escaped."""
    style = _STYLE.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    rules = sorted({cause.rule for one in summaries for cause in one.causes} & TITLES.keys())
    links = "".join(
        f'<li><a href="#lesson-{number}">{_text(one.name)}</a></li>'
        for number, one in enumerate(summaries)
    )
    body = "".join(_lesson(number, one) for number, one in enumerate(summaries))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n'
        f"<title>How the class did</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>How the class did</h1><p>{_text(when)}. For instructors: it names learners."
        "</p></header>\n"
        + (f'<nav aria-label="Lessons"><ul>{links}</ul></nav>\n' if links else "")
        + f"<main>{body or '<p>Nothing was handed in.</p>'}{_meanings(rules)}</main>\n"
        "</body>\n</html>\n"
    )


def _lesson(number: int, one: LessonSummary) -> str:
    where = f"lesson-{number}"
    return (
        f'<section aria-labelledby="{where}"><h2 id="{where}">{_text(one.name)}</h2>'
        f"<p>{_counts(one)}</p>{_scores(where, one)}{_monday(one)}{_waiting(one)}"
        f"{_nothing(one)}{_alike(one)}</section>\n"
    )


def _counts(one: LessonSummary) -> str:
    said = [
        f"{one.handed_in} handed in: {one.graded} graded, {len(one.waiting)} waiting for a person, "
        f"{one.to_grade} to be graded."
    ]
    if one.points:
        full = sum(points >= one.max_points for points in one.points)
        said.append(
            f"Half of the graded have {one.median:g} points or more, of {one.max_points:g}; "
            f"{full} {'has' if full == 1 else 'have'} all."
        )
    return " ".join(said)


def _scores(where: str, one: LessonSummary) -> str:
    """The distribution as a picture, and the same as a table."""
    if not one.points:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_share(place)}</th><td>{count}</td></tr>'
        for place, count in enumerate(one.histogram)
    )
    return (
        f"<h3>Scores</h3><figure>{_wide(f'The diagram of the scores of {one.name}', _picture(where, one))}<figcaption>Learners by their share of the "
        f"{one.max_points:g} points. Only final scores.</figcaption></figure>"
        "<details><summary>The same as a table</summary><table><caption>Learners by share of the "
        'points</caption><thead><tr><th scope="col">Share</th><th scope="col">Learners</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></details>"
    )


def _picture(where: str, one: LessonSummary) -> str:
    highest = max(one.histogram)
    step = (_WIDTH - 2 * _LEFT) / BINS
    parts = []
    for place, count in enumerate(one.histogram):
        x, height = _LEFT + place * step, (_HEIGHT - _BOTTOM - 24) * count / highest
        y, middle = _HEIGHT - _BOTTOM - height, x + step / 2
        if count:
            parts.append(
                f'<rect x="{x + 3:.1f}" y="{y:.1f}" width="{step - 6:.1f}" height="{height:.1f}"/>'
                f'<text x="{middle:.1f}" y="{y - 6:.1f}">{count}</text>'
            )
        low = place * 100 // BINS
        parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - _BOTTOM + 18}">{low}–{low + 10}</text>')
    most = max(range(BINS), key=one.histogram.__getitem__)
    described = (
        f"Bar chart of {len(one.points)} final scores in tenths of the points. Most learners, "
        f"{highest}, have {_share(most)} of them. All numbers stand in the table below."
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{where}-t {where}-d">'
        f'<title id="{where}-t">Scores in {_text(one.name)}</title>'
        f'<desc id="{where}-d">{described}</desc>'
        f'<line x1="{_LEFT}" x2="{_WIDTH - _LEFT}" y1="{_HEIGHT - _BOTTOM}" '
        f'y2="{_HEIGHT - _BOTTOM}"/>{"".join(parts)}'
        f'<text x="{_WIDTH / 2:.0f}" y="{_HEIGHT - 4}">share of the points in %</text></svg>'
    )


def _share(place: int) -> str:
    low = place * 100 // BINS
    return f"{low} % to {'100' if place == BINS - 1 else f'under {low + 10}'} %"


def _monday(one: LessonSummary) -> str:
    """What to teach again: the most common root causes, then every exercise."""
    if not one.exercises:
        return ""
    top = "".join(f"<li>{_cause(cause)}</li>" for cause in one.causes[:3])
    rows = "".join(
        _row(exercise) for exercise in sorted(one.exercises, key=lambda e: (-e.wrong, e.name))
    )
    first = f"<ol>{top}</ol>" if top else "<p>No answer is wrong.</p>"
    table = (
        "<table><caption>Root causes by exercise, the hardest first</caption><thead><tr>"
        '<th scope="col">Exercise</th><th scope="col">Right</th><th scope="col">Not started</th>'
        '<th scope="col">Wrong</th><th scope="col">Most common root causes</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    return f"<h3>What to teach again on Monday</h3>{first}{_wide(f'Root causes in {one.name} by exercise', table)}"


def _cause(cause: Cause) -> str:
    """A rule, how many break it, and where most of them do."""
    named = [f"{_text(name)} ({count})" for name, count in cause.exercises[:MOST_EXERCISES]]
    more = len(cause.exercises) - MOST_EXERCISES
    places = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    return f"{_rule(cause.rule)} – {_learners(cause.learners)}: {places}"


def _wide(name: str, html: str) -> str:
    """Something that is scrolled sideways, with the keyboard too, where the screen is narrow."""
    return f'<div class="wide" role="region" tabindex="0" aria-label="{_text(name)}">{html}</div>'


def _row(one: ExerciseSummary) -> str:
    causes = "".join(f"<li>{_rule(rule)} ({count})</li>" for rule, count in one.causes[:4])
    return (
        f'<tr><th scope="row">{_text(one.name)}</th><td>{one.right}</td><td>{one.not_started}</td>'
        f"<td>{one.wrong}</td><td>{f'<ul>{causes}</ul>' if causes else '–'}</td></tr>"
    )


def _waiting(one: LessonSummary) -> str:
    if not one.waiting:
        return ""
    items = "".join(
        f"<li><strong>{_text(each.student)}</strong>{_reasons(each.reasons)}</li>"
        for each in one.waiting[:MOST_NAMED]
    )
    more = len(one.waiting) - MOST_NAMED
    rest = (
        f"<p>… and {more} more: <code>autograder status</code> names them.</p>" if more > 0 else ""
    )
    return f"<h3>Waiting for a person</h3><ul>{items}</ul>{rest}"


def _nothing(one: LessonSummary) -> str:
    if not one.nothing:
        return ""
    items = "".join(f"<li>{_text(name)}</li>" for name in one.nothing[:MOST_NAMED])
    more = len(one.nothing) - MOST_NAMED
    rest = f"<p>… and {more} more.</p>" if more > 0 else ""
    return (
        f"<h3>Handed nothing in</h3><p>{_learners(len(one.nothing))} of those that the gradebook "
        f"knows:</p><ul>{items}</ul>{rest}"
    )


def _who(student: Student) -> str:
    return student.id if student.name == student.id else f"{student.name} ({student.id})"


def _reasons(reasons: Sequence[str]) -> str:
    """One reason behind the name, several below it."""
    said = [said_as_html(printable(reason)) for reason in reasons]
    if len(said) < 2:
        return ": " + "".join(said)
    return "<ul>" + "".join(f"<li>{one}</li>" for one in said) + "</ul>"


def _alike(one: LessonSummary) -> str:
    """Pairs to look at: a reason to ask, and no verdict."""
    if not one.alike:
        return ""
    items = "".join(f"<li>{_text(str(pair))}</li>" for pair in one.alike[:MOST_NAMED])
    more = len(one.alike) - MOST_NAMED
    rest = f"<p>… and {more} more pairs, less alike.</p>" if more > 0 else ""
    return (
        "<h3>Alike enough to look at</h3><p>These share statements that are unusual in the class. "
        "That is a reason to read both and to ask, and no more: look before you judge.</p>"
        f"<ul>{items}</ul>{rest}"
    )


def _meanings(rules: Sequence[str]) -> str:
    """What the named rules mean: the beginning of their explanation pages."""
    if not rules:
        return ""
    parts = []
    for rule in rules:
        beginning = explanation(rule).split("\n## ")[0].partition("\n")[2]
        parts.append(
            f'<dt id="rule-{rule}">{_text(TITLES.get(rule, rule))}</dt>'
            f"<dd>{safe_html(beginning.replace(f'**{TITLES.get(rule)}**', ''))}"
            f"<p><code>autograder explain {rule}</code> says more.</p></dd>"
        )
    return (
        '<section aria-labelledby="meanings"><h2 id="meanings">What the root causes mean</h2>'
        f"<dl>{''.join(parts)}</dl></section>"
    )


def _rule(rule: str) -> str:
    return f'<a href="#rule-{rule}">{_text(TITLES[rule])}</a>' if rule in TITLES else _text(rule)


def _learners(count: int) -> str:
    return "1 learner" if count == 1 else f"{count} learners"


def _text(text: str) -> str:
    return escape(printable(text))
