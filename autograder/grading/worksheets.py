"""Tables that an LMS wrote itself, filled in: Canvas's gradebook and Moodle's offline grading worksheet.

Every row, column, id and the order of both stay as they came; only points are written, and only into fields
that may be changed. Sources: Canvas, lib/gradebook_exporter.rb and gradebook_importer.rb; Moodle,
mod/assign/feedback/offline/importgradeslib.php.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from autograder.grading.scores import LessonScore, Student
from autograder.grading.words import Trouble, listed, shown

MOST_NAMED = 20
READ_ONLY = "(read only)"
UNTOUCHED = ("EX", "N/A")  # Canvas: excused; not this student's assignment
Points = Mapping[tuple[str, str], float]  # by (student, lesson)


class Filled(NamedTuple):
    """A table with points in it; ``remarks``: who does not match, which column is missing."""

    text: str
    remarks: list[str]


class Row(NamedTuple):
    """A person's row: how to call them, what tells who they are (see `_keys`), whether it may be changed."""

    fields: list[str]
    name: str
    keys: set[tuple[int, str]]
    is_open: bool = True


class Table:
    """A CSV file as it was read."""

    def __init__(self, data: bytes):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise Trouble("The file is not in UTF-8: export it from the LMS again.") from None
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        first = text.split("\n", 1)[0]
        self._end = "\r\n" if first.endswith("\r") else "\n"
        self._delimiter = max(",;\t", key=first.count)
        lines = io.StringIO(text.removeprefix(self._mark), newline="")
        rows = [row for row in csv.reader(lines, delimiter=self._delimiter) if row]
        if not rows:
            raise Trouble("The file is empty.")
        self.head, self.rows = rows[0], rows[1:]

    def __str__(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self._delimiter, lineterminator=self._end)
        writer.writerows([self.head, *self.rows])
        return self._mark + out.getvalue()

    def fields(self, row: Sequence[str], *columns: str) -> list[str]:
        """What stands in these columns; "" where the table has none of that name."""
        named = dict(zip(self.head, row, strict=False))
        return [named.get(column, "").strip() for column in columns]


# ---- who is who ----------------------------------------------------------------------------


def plain(text: str) -> str:
    """A name as LMSs write it into the names of files: letters and digits."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _keys(lms: str, ids: Iterable[str], mail: str, names: Iterable[str]) -> set[tuple[int, str]]:
    """What somebody is known by, each with how sure it is: 0 is the surest."""
    every = [lms.casefold()], map(str.casefold, ids), [mail.casefold()], map(plain, names)
    return {(sure, key) for sure, keys in enumerate(every) for key in keys if key}


def _whose(rows: Sequence[Row], students: Sequence[Student]) -> Iterator[str | None]:
    """The gradebook's student of each row: by ids, else by e-mail address, else by a name only one has."""
    known: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    for one in students:
        # As people are called, and as Canvas calls the files they hand in, which is their id then.
        names = (one.last_name + one.first_name, one.first_name + one.last_name, one.id)
        for key in _keys(one.lms, [one.id], one.email, names):
            known[key].add(one.id)
    for row in rows:
        sure = min((sure for sure, key in row.keys & known.keys()), default=None)
        found = set[str]().union(*(known[key] for key in row.keys & known.keys() if key[0] == sure))
        yield found.pop() if len(found) == 1 else None


def _fill(
    table: Table, rows: Sequence[Row], students: Sequence[Student], columns: Mapping[str, int],
    points: Points, remarks: Sequence[str],
) -> Filled:  # fmt: skip
    """Write the points of each row's student into the columns (of lessons)."""
    of_row, kept = [*_whose(rows, students)], []
    twice = {student for student, many in Counter(of_row).items() if student and many > 1}
    for (row, name, _, is_open), student in zip(rows, of_row, strict=True):
        for lesson, at in columns.items():
            value = points.get((student or "", lesson))
            if value is None or student in twice:
                continue
            row += [""] * (at + 1 - len(row))
            if is_open and row[at].strip().upper() not in UNTOUCHED:
                row[at] = f"{value:.10g}"
            else:
                kept.append(f"{name} ({lesson})")
    lost = {student for student, lesson in points if lesson in columns} - {*of_row}
    lists = {
        "In the LMS, but nobody of the gradebook by id, e-mail address or name": [
            row.name for row, student in zip(rows, of_row, strict=True) if student is None
        ],
        "In the gradebook, but in no row of the LMS": sorted(lost),
        "In several rows of the LMS, so nothing was written": sorted(twice),
        "Not to be changed in the LMS, so left as it is": kept,
    }
    named = {words: listed([*map(shown, names)], MOST_NAMED) for words, names in lists.items()}
    said = (f"{words}: {names}." for words, names in named.items() if names)
    return Filled(str(table), [*remarks, *said])


def _other_points(lesson: LessonScore, possible: str, place: str) -> Iterator[str]:
    try:
        there = float(possible.replace(",", "."))
    except ValueError:
        return
    if there != lesson.points:
        yield (
            f"{lesson.name} has {lesson.points:g} points here and {there:g} in {place}: the points are "
            "written as they are here."
        )


# ---- Canvas --------------------------------------------------------------------------------

_TITLED = re.compile(
    r"(.*)\(\d+\)", re.S
)  # an assignment's column: Canvas's number stands behind it


def fill_canvas(
    data: bytes, students: Sequence[Student], lessons: Sequence[LessonScore], points: Points
) -> Filled:
    """Canvas's own gradebook export with the scores of the lessons in it.

    A column is a lesson's if its title is, or has in it, the lesson's name ("Lesson 02: Sigmoid (4711)").
    Raises Trouble for another file, or where no column is any lesson's, or two are one's.
    """
    table = Table(data)
    names = 2 if table.head[:2] == ["LastName", "FirstName"] else 1
    begin = [at for at, row in enumerate(table.rows) if row[0].strip() == "Points Possible"]
    is_its = table.head[0] in ("Student", "LastName") and table.head[names : names + 1] == ["ID"]
    if not (is_its and begin and "Section" in table.head):
        raise Trouble(
            "This is no export of Canvas's gradebook: it begins with Student, ID, and has a column "
            "Section and a row Points Possible."
        )
    possible = table.rows[begin[0]]
    open_ = {
        at: plain(title[1]) for at, (head, most) in enumerate(zip(table.head, possible, strict=False))
        if (title := _TITLED.fullmatch(head)) and most.strip() != READ_ONLY
    }  # fmt: skip
    columns: dict[str, int] = {}
    remarks: list[str] = []
    for lesson in lessons:
        at = _column(table, open_, lesson.name)
        if at is not None:
            columns[lesson.name] = at
            remarks += _other_points(lesson, possible[at], "Canvas")
        elif any(name == lesson.name for _, name in points):
            remarks.append(f"Canvas has no column for {lesson.name}.")
    if not columns:
        named = listed([table.head[at] for at in open_], MOST_NAMED) or "none"
        raise Trouble(f"No column is a lesson's. The assignments there: {named}.")
    people = []
    for row in table.rows[begin[0] + 1 :]:
        lms, *ids = table.fields(row, "ID", "SIS User ID", "SIS Login ID", "Integration ID")
        keys = _keys(lms, ids, ids[1], ["".join(row[:names])])
        if (3, "studenttest") not in keys:
            people.append(Row(row, ", ".join(row[:names]), keys))
    return _fill(table, people, students, columns, points, remarks)


def _column(table: Table, titles: Mapping[int, str], lesson: str) -> int | None:
    for fits in (plain(lesson).__eq__, lambda title: plain(lesson) in title):
        found = [at for at, title in titles.items() if fits(title)]
        if len(found) > 1:
            names = " and ".join(table.head[at] for at in found)
            raise Trouble(f"Several columns could be {lesson}: {names}. Rename one in Canvas.")
        if found:
            return found[0]
    return None


# ---- Moodle --------------------------------------------------------------------------------


def fill_moodle(
    data: bytes, students: Sequence[Student], lessons: Sequence[LessonScore], points: Points
) -> Filled:
    """Moodle's offline grading worksheet of one assignment with the scores of the (only) lesson in it.

    Raises Trouble for another file, or one in another language than English.
    """
    table, (lesson,) = Table(data), lessons
    for column in ("Identifier", "Grade", "Last modified (grade)"):
        if column not in table.head:
            raise Trouble(
                f"This is no grading worksheet of Moodle: the column {column} is missing. Download it "
                "with Moodle set to English."
            )
    people: list[Row] = []
    remarks: list[str] = []
    for row in table.rows:
        number, user, mail, name, own, open_ = table.fields(
            row, "ID number", "Username", "Email address", "Full name", "Identifier",
            "Grade can be changed",
        )  # fmt: skip
        keys = _keys("", [number, user, mail], mail, [name])
        people.append(Row(row, name or own, keys, open_.casefold() != "no"))
    for head, most in zip(table.head, [*table.rows, []][0], strict=False):
        if head.casefold() == "maximum grade":
            remarks += _other_points(lesson, most, "Moodle")
    columns = {lesson.name: table.head.index("Grade")}
    return _fill(table, people, students, columns, points, remarks)
