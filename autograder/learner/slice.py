"""Of a notebook what an exercise's answer needs, and nothing else.

The terminal's check and grading both ask here, so a notebook that passes in one passes in the other.
Plots, prints, installs, magics, other exercises and whatever goes wrong in them are not part of it.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from nbformat import NotebookNode

from autograder.exercises import is_exercise
from autograder.learner.cell_text import CellText, cell_text, free_names
from autograder.learner.lesson import GradedCell, Lesson, grade_id_of
from autograder.learner.statements import Statement
from autograder.observation.source import Source
from autograder.observation.syntax import first_line
from autograder.running.program import Piece

_KNOWN = frozenset(dir(builtins)) | {"__name__"}
# A line because of which it is not certain what belongs to a slice: (cell, line, its text, what, why).
Doubt = tuple[str, int, str, str, str]


@dataclass(frozen=True)
class Slice:
    """What an answer needs, in the notebook's order, as it stands where it is asked for.

    own      the names of those of its cells that are the learner's
    doubts   why it is not certain that this is all
    stopped  how the cell that would define the answer stopped before it could be read, in words
    source   the class or function that is asked for, where one has its name
    """

    pieces: tuple[Piece, ...] = ()
    own: frozenset[str] = frozenset()
    doubts: tuple[Doubt, ...] = ()
    stopped: str = ""
    source: Source = field(default_factory=Source, compare=False)


@dataclass(frozen=True)
class Asked:
    """Graded cells of one exercise with one slice: they are asked once.

    text  what is run behind the slice; "" where it is a ``check(Name)`` that is asked
    """

    exercise: str
    graded: tuple[GradedCell, ...]
    slice: Slice
    text: str = ""


def asked_of(notebook: NotebookNode, lesson: Lesson, tests: bool = False) -> list[Asked]:
    """The graded cells of a restored notebook with what they need, in its order.

    A check that stands above the only cell that defines its exercise (one of them was moved) is asked
    behind that cell. With ``tests``, graded cells that are no check are asked, too.
    """
    stream = _Stream.of(notebook, lesson)
    found: dict[object, Asked] = {}
    for graded, place, cell in stream.graded:
        text = ""
        if is_exercise(graded.exercise):
            wanted = frozenset({graded.exercise})
            place = stream.moved(graded.exercise, place)
        elif tests and not graded.is_solution:
            text = cell.source
            wanted = free_names(text)
        else:
            continue
        made = stream.slice(wanted, place, graded.exercise)
        one = Asked(graded.exercise, (graded,), made, text)
        same = graded if text else (graded.exercise, made)
        twin = found.get(same)
        found[same] = replace(one, graded=(*twin.graded, graded)) if twin else one
    return [*found.values()]


@dataclass(frozen=True, eq=False)
class _Cell:
    """A code cell: the learner's own, or the lesson's."""

    name: str
    is_own: bool
    read: CellText


@dataclass
class _Stream:
    """All statements of a notebook in its order, with the cell of each, and where it is graded."""

    cells: list[_Cell] = field(default_factory=list)
    every: list[tuple[Statement, _Cell]] = field(default_factory=list)
    graded: list[tuple[GradedCell, int, NotebookNode]] = field(default_factory=list)

    @classmethod
    def of(cls, notebook: NotebookNode, lesson: Lesson) -> _Stream:
        stream = cls()
        here = list(map(grade_id_of, notebook.cells))
        cells = [
            (name, cell) for name, cell in lesson.cells.items()
            if name not in here and name in lesson.roles and not lesson.roles[name].get("solution")
        ]  # fmt: skip
        for number, (name, cell) in enumerate(zip(here, notebook.cells, strict=True), 1):
            cells.append((f"cell {number}" + (f" ({name})" if name else ""), cell))
        for title, cell in cells:
            name = grade_id_of(cell)
            graded = lesson.graded.get(name)
            if cell.cell_type != "code":
                continue
            if graded is not None and not graded.is_solution:
                stream.graded.append((graded, len(stream.every), cell))
            elif name in lesson.roles and not lesson.roles[name].get("solution"):
                stream._add(title, lesson.cells[name].source, False)
            else:
                stream._add(title, cell.source, True)
        return stream

    def _add(self, title: str, source: str, own: bool) -> None:
        cell = _Cell(title, own, cell_text(source))
        self.cells.append(cell)
        self.every += [(one, cell) for one in cell.read.statements]

    @cached_property
    def _binders(self) -> dict[str, list[int]]:
        """By name the places of the statements that bind it, through functions that they call too."""
        by_call = {name: one.names.declared for one, _ in self.every for name in one.names.binds}
        found: dict[str, list[int]] = {}
        for place, (one, _) in enumerate(self.every):
            called = (by_call.get(name, frozenset()) for names, _ in one.calls for name in names)
            for name in one.names.binds.union(one.names.declared, *called):
                found.setdefault(name, []).append(place)
        return found

    def moved(self, exercise: str, place: int) -> int:
        """Where an exercise is asked: at its check, or behind the first cell that defines it."""
        binders = self._binders.get(exercise, [])
        if not binders or binders[0] < place:
            return place
        cell = self.every[binders[0]][1]
        return max(at for at, (_, of) in enumerate(self.every) if of is cell) + 1

    def slice(self, wanted: frozenset[str], end: int, exercise: str = "") -> Slice:
        """The statements before ``end`` that give these names their meaning."""
        taken: set[int] = set()
        unbound: set[str] = set()
        seen: set[tuple[str, int, int]] = set()
        waiting = {(name, end, end) for name in wanted}
        while True:
            seen |= waiting
            fresh: set[int] = set()
            for name, at, until in waiting:
                binders = self._reaching(name, at, until)
                fresh.update(binders)
                if not binders and name not in _KNOWN:
                    unbound.add(name)
            names = {name for name, _, _ in seen}
            fresh = (fresh - taken) or (set(self._changers(names, end)) - taken)
            if not fresh:
                return self._made(sorted(taken), names, unbound, end, exercise)
            taken |= fresh
            reads = [(place, self.every[place][0].names) for place in fresh]
            waiting = {(name, place, place) for place, of in reads for name in of.now}
            waiting |= {(name, place, end) for place, of in reads for name in of.later}
            waiting -= seen

    def _made(
        self, places: list[int], names: set[str], unbound: set[str], end: int, exercise: str
    ) -> Slice:
        picked: dict[_Cell, list[int]] = {}
        source, stopped = Source(), ""
        for one, cell in (self.every[place] for place in places):
            picked.setdefault(cell, []).append(one.place)
            if isinstance(one.node, ast.ClassDef | ast.FunctionDef) and one.node.name == exercise:
                source = definition_of(one.node, cell.read.text)
        looks = re.compile(rf"^[ \t]*((class|def)[ \t]+)?{exercise}\b", re.M)
        for cell in self.cells if exercise in unbound else ():
            if cell.read.stop and looks.search(cell.read.text):
                stopped = cell.read.stop
        return Slice(
            tuple(Piece(cell.name, cell.read.text, tuple(at)) for cell, at in picked.items()),
            frozenset(cell.name for cell in picked if cell.is_own),
            tuple(self._doubts(names, unbound, end)), stopped, source,
        )  # fmt: skip

    def _reaching(self, name: str, at: int, until: int) -> list[int]:
        """The statements that may have bound a name when it is read at ``at``, or before ``until``."""
        binders = [place for place in self._binders.get(name, []) if place < until]
        certain = [p for p in binders if p < at and self._binds_certainly(p, name)]
        return [p for p in binders if not certain or p >= certain[-1]]

    def _binds_certainly(self, place: int, name: str) -> bool:
        one = self.every[place][0]
        return one.certain and name in one.names.binds

    def _changers(self, names: set[str], end: int) -> Iterator[int]:
        """The statements before ``end`` that change what one of these names stands for.

        What is done to a module or a class of a library is nobody's answer.
        """
        shared = {name for name in names if not self._is_foreign(name)}
        touched = {name for name in shared if not self._is_defined(name)}
        own = [pair for one, cell in self.every if cell.is_own for pair in one.aliases]
        while more := set().union(*(bound for bound, of in own if of & shared)) - shared:
            shared |= more
            touched |= more
        for place, (one, _) in enumerate(self.every[:end]):
            given = (of for functions, of in one.calls if functions & self._patching)
            if one.changes.union(*given) & shared or one.touches & touched:
                yield place

    @cached_property
    def _patching(self) -> frozenset[str]:
        """The functions of the notebook that change what they are given."""
        return frozenset(name for one, _ in self.every if one.through for name in one.names.binds)

    def _is_foreign(self, name: str) -> bool:
        """Whether a name is only ever imported, or the lesson's."""
        at = (self.every[place] for place in self._binders.get(name, []))
        return all(one.is_import or not cell.is_own for one, cell in at)

    def _is_defined(self, name: str) -> bool:
        return all(self.every[place][0].is_definition for place in self._binders.get(name, []))

    # ---- what is not certain -----------------------------------------------------------------

    def _doubts(self, names: set[str], unbound: set[str], end: int) -> Iterator[Doubt]:
        """Lines that may bind a name which nothing else does, and cells that could not be read."""
        theirs = {name for name in names if name in unbound or not self._is_foreign(name)}
        for cell in self.cells:
            text = cell.read.text
            if cell.read.opaque and any(name in text for name in theirs):
                yield cell.name, 1, "", f"{len(text)} characters", cell.read.opaque
        missing = ", ".join(sorted(unbound))[:100]
        for one, cell in self.every[:end] if unbound else ():
            if one.opaque and cell.is_own:
                line = one.node.lineno
                source = cell.read.text.splitlines()[line - 1].strip()[:200]
                what = source if one.opaque == "*" else one.opaque
                why = f"may define what the answer uses ({missing}), which cannot be read"
                yield cell.name, line, source, what, why


def definition_of(node: ast.ClassDef | ast.FunctionDef, text: str) -> Source:
    """A class or function of a cell, its lines numbered as there."""
    first = first_line(node)
    return Source.parse("\n".join(text.splitlines()[first - 1 : node.end_lineno]), first)
