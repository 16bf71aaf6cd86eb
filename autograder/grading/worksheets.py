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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.grading.scores import LessonScore, Student
from autograder.grading.troubles import Trouble
from autograder.grading.words import listed, shown

MOST_NAMED = 20
READ_ONLY = "(read only)"
UNTOUCHED = ("EX", "N/A")  # excused; not this student's assignment
Points = Mapping[tuple[str, str], float]  # by (student, lesson)


class NotItsTable(Trouble):
    """A file is no table of that LMS, or it cannot be said which column is meant."""


@dataclass
class Filled:
    """A table with points in it.

    written  how many fields
    remarks  what a person has to know: who does not match, which column is missing
    """

    text: str
    written: int = 0
    remarks: list[str] = field(default_factory=list)


@dataclass
class Table:
    """A CSV file as it was read; `mark` is the byte order mark, where there is one."""

    head: list[str]
    rows: list[list[str]]
    delimiter: str
    mark: str
    end: str

    @classmethod
    def read(cls, data: bytes) -> Table:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise NotItsTable("The file is not in UTF-8: export it from the LMS again.") from None
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        text = text.removeprefix(mark)
        first = text.split("\n", 1)[0]
        delimiter = max(",;\t", key=first.count)
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row
        ]
        if not rows:
            raise NotItsTable("The file is empty.")
        return cls(rows[0], rows[1:], delimiter, mark, "\r\n" if first.endswith("\r") else "\n")

    def written(self) -> str:
        out = io.StringIO()
        csv.writer(out, delimiter=self.delimiter, lineterminator=self.end).writerows(
            [self.head, *self.rows]
        )
        return self.mark + out.getvalue()

    def field(self, row: Sequence[str], column: str) -> str:
        """What stands in a column; "" where the table has none of that name."""
        at = self.head.index(column) if column in self.head else len(row)
        return row[at].strip() if at < len(row) else ""


# ---- who is who ----------------------------------------------------------------------------


def plain(text: str) -> str:
    """A name as LMSs write it into the names of files: letters and digits."""
    return re.sub(r"[\W_]+", "", text.casefold())


class Class:
    """Finds the gradebook's student of a row: by ids, else by e-mail address, else by a name only one has."""

    def __init__(self, students: Sequence[Student]):
        lms, ids, mails, names = (defaultdict[str, set[str]](set) for _ in range(4))
        for one in students:
            lms[one.lms.casefold()].add(one.id)
            ids[one.id.casefold()].add(one.id)
            mails[one.email.casefold()].add(one.id)
            # As people are called, and as Canvas calls the files they hand in, which is their id then.
            for name in (one.last_name + one.first_name, one.first_name + one.last_name, one.id):
                names[plain(name)].add(one.id)
        self._known = (lms, ids, mails, names)

    def of(self, lms: str, ids: Sequence[str], mail: str, name: str) -> str | None:
        """The one student whom these are of; None where there is none, or where they are of several."""
        told = (
            [lms.casefold()],
            [one.casefold() for one in (*ids, mail)],
            [mail.casefold()],
            [plain(name)],
        )
        for known, keys in zip(self._known, told, strict=True):
            found = {student for key in keys if key for student in known.get(key, ())}
            if found:
                return found.pop() if len(found) == 1 else None
        return None


def _fill(
    table: Table,
    rows: Sequence[list[str]],
    who: Callable[[list[str]], str | None],
    name: Callable[[list[str]], str],
    columns: Mapping[str, int],
    points: Points,
    may: Callable[[list[str], str], bool],
) -> Filled:
    """Write the points of each row's student into the columns (of lessons).

    who, name  whose row it is, and how to call them
    may        whether what stands in a field of the row may be changed
    """
    done, of_row = Filled(""), [who(row) for row in rows]
    twice = {student for student, many in Counter(of_row).items() if student and many > 1}
    kept: list[str] = []
    for row, student in zip(rows, of_row, strict=True):
        for lesson, at in columns.items():
            value = points.get((student or "", lesson))
            if value is None or student in twice:
                continue
            row += [""] * (at + 1 - len(row))
            if may(row, row[at].strip()):
                row[at] = f"{value:.10g}"
                done.written += 1
            else:
                kept.append(f"{shown(name(row))} ({lesson})")
    unknown = [shown(name(row)) for row, one in zip(rows, of_row, strict=True) if one is None]
    here = {one for one in of_row if one}
    lost = sorted({student for student, lesson in points if lesson in columns} - here)
    for words, names in (
        ("In the LMS, but nobody of the gradebook by id, e-mail address or name", unknown),
        ("In the gradebook, but in no row of the LMS", [shown(one) for one in lost]),
        ("In several rows of the LMS, so nothing was written", sorted(map(shown, twice))),
        ("Not to be changed in the LMS, so left as it is", kept),
    ):
        if names:
            done.remarks.append(f"{words}: {listed(names, MOST_NAMED)}.")
    done.text = table.written()
    return done


# ---- Canvas --------------------------------------------------------------------------------


def _titled(head: str) -> str | None:
    """The title of an assignment's column, without Canvas's number behind it; None for other columns."""
    title, opened, number = head.rpartition("(")
    return title.rstrip() if opened and number[:-1].isdecimal() and number[-1] == ")" else None


def fill_canvas(
    data: bytes, students: Sequence[Student], lessons: Sequence[LessonScore], points: Points
) -> Filled:
    """Canvas's own gradebook export with the scores of the lessons in it.

    A column is a lesson's if its title is, or has in it, the lesson's name ("Lesson 02: Sigmoid (4711)").
    Raises NotItsTable for another file, or where no column is any lesson's, or two are one's.
    """
    table = Table.read(data)
    first = 2 if table.head[:2] == ["LastName", "FirstName"] else 1
    if table.head[0] not in ("Student", "LastName") or "ID" not in table.head[first : first + 1]:
        raise NotItsTable("This is no export of Canvas's gradebook: it begins with Student, ID.")
    begin = next(
        (i for i, row in enumerate(table.rows) if row[0].strip() == "Points Possible"), None
    )
    if begin is None or "Section" not in table.head:
        raise NotItsTable(
            "This is no export of Canvas's gradebook: its row Points Possible is missing."
        )
    possible, rows = table.rows[begin], table.rows[begin + 1 :]
    open_ = [
        at for at in range(table.head.index("Section") + 1, len(table.head))
        if _titled(table.head[at]) is not None and at < len(possible) and possible[at].strip() != READ_ONLY
    ]  # fmt: skip
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
        raise NotItsTable(f"No column is a lesson's. The assignments there: {named}.")

    def name(row: list[str]) -> str:
        return ", ".join(row[:first])

    known = Class(students)

    def who(row: list[str]) -> str | None:
        ids = [table.field(row, c) for c in ("SIS User ID", "SIS Login ID", "Integration ID")]
        return known.of(table.field(row, "ID"), ids, ids[1], "".join(row[:first]))

    people = [row for row in rows if plain(name(row)) != "studenttest"]
    done = _fill(
        table, people, who, name, columns, points, lambda _, text: text.upper() not in UNTOUCHED
    )
    done.remarks[:0] = remarks
    return done


def _column(table: Table, among: Sequence[int], lesson: str) -> int | None:
    titles = {at: plain(_titled(table.head[at]) or "") for at in among}
    for fits in (plain(lesson).__eq__, lambda title: plain(lesson) in title):
        found = [at for at, title in titles.items() if fits(title)]
        if len(found) > 1:
            names = " and ".join(table.head[at] for at in found)
            raise NotItsTable(f"Several columns could be {lesson}: {names}. Rename one in Canvas.")
        if found:
            return found[0]
    return None


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


# ---- Moodle --------------------------------------------------------------------------------

_NEEDED = ("Identifier", "Grade", "Last modified (grade)")


def fill_moodle(
    data: bytes, students: Sequence[Student], lesson: LessonScore, points: Points
) -> Filled:
    """Moodle's offline grading worksheet of one assignment with the lesson's scores in it.

    Raises NotItsTable for another file, or one in another language than English.
    """
    table = Table.read(data)
    lacking = [name for name in _NEEDED if name not in table.head]
    if lacking:
        raise NotItsTable(
            f"This is no grading worksheet of Moodle: the column {lacking[0]} is missing. Download it "
            "with Moodle set to English."
        )
    known, at = Class(students), table.head.index("Grade")

    def who(row: list[str]) -> str | None:
        ids = [table.field(row, "ID number"), table.field(row, "Username")]
        return known.of("", ids, table.field(row, "Email address"), table.field(row, "Full name"))

    def name(row: list[str]) -> str:
        return table.field(row, "Full name") or table.field(row, "Identifier")

    def may(row: list[str], _: str) -> bool:
        return table.field(row, "Grade can be changed").casefold() != "no"

    done = _fill(table, table.rows, who, name, {lesson.name: at}, points, may)
    most = next((c for c in table.head if c.casefold() == "maximum grade"), "")
    if table.rows and most:
        done.remarks[:0] = _other_points(lesson, table.field(table.rows[0], most), "Moodle")
    return done
