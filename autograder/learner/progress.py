"""A learner's progress: what passed, which hints and quiz answers were seen, what comes next, and the map of it.

Kept in one file a learner outside the course folder (see progress_file), so it survives kernel
restarts, updates and fresh clones. While nbgrader runs a notebook (NBGRADER_EXECUTION is set)
nothing is read or written: the learner's progress is not the instructor's.

`autograder.learner.progress` is also the name of the function that the package exports, so import names
from here with `from autograder.learner.progress import …`.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.learner import progress_file
from autograder.learner.progress_file import Answer, ExerciseRecord, Progress
from autograder.reporting.display import as_html, show, table

if TYPE_CHECKING:  # the map of the course is shown without loading torch
    from autograder.reporting.report import Report


def progress(reset: bool = False) -> None:
    """Show where you are in the course; with reset=True, start afresh (a backup is kept)."""
    if not reset:
        from autograder.exercises import LESSONS  # only here: it loads torch

        show(ProgressMap(LESSONS, load()))
    elif (backup := progress_file.move_to_backup() if _recording() else None) is None:
        print("There was no progress to reset.")
    else:
        print(
            f"Your progress starts afresh. The old one was kept as {backup}\n"
            f"To have it back, rename it to {progress_file.path()}. Your notebooks are untouched."
        )


def load() -> Progress:
    """What is remembered about this learner; empty under nbgrader."""
    return progress_file.read() if _recording() else Progress()


def record_check(report: Report) -> None:
    """Remember one check of an exercise. What passed once stays passed."""

    def change(known: Progress) -> None:
        record = known.exercise(report.exercise)
        record.attempts = 0 if report.passed else record.attempts + (not report.not_started)
        record.passed |= report.passed
        if report.promises:  # one that was interrupted found nothing of them
            record.kept = tuple(line.title for line in report.promises if line.state == "kept")
            record.promises = tuple(line.title for line in report.promises)

    _update(change)


def record_hint(exercise: str, level: int) -> None:
    """Remember the highest hint of an exercise that was shown; the first is number 1."""

    def change(known: Progress) -> None:
        record = known.exercise(exercise)
        record.hints = max(record.hints, level)

    _update(change)


def record_quiz(
    quiz_id: str, question: str, choice: str, correct: bool, questions: Collection[str]
) -> None:
    """Remember the last answer to one of the quiz's `questions`; forget those it no longer asks."""

    def change(known: Progress) -> None:
        quiz = known.quiz(quiz_id)
        quiz.questions = len(questions)
        answers = {**quiz.answers, question: Answer(choice, correct)}
        quiz.answers = {text: answer for text, answer in answers.items() if text in questions}

    _update(change)


def set_default_devices(devices: tuple[str, ...]) -> None:
    """Remember which devices checks run on unless told otherwise, for example ("cpu", "cuda")."""
    _update(lambda known: setattr(known, "devices", devices))


def default_devices() -> tuple[str, ...]:
    """The devices checks run on unless told otherwise; ("cpu",) until the start page was run.

    A remembered "cuda" is left out where this kernel has no GPU.
    """
    import torch  # here, not above: the map of the course is shown without loading torch

    devices = load().devices
    return devices if torch.cuda.is_available() else tuple(d for d in devices if d != "cuda")


def _recording() -> bool:
    return "NBGRADER_EXECUTION" not in os.environ


def _update(change: Callable[[Progress], object]) -> None:
    if _recording():
        progress_file.update(change)


COMPLETE, BEGUN, TO_DO = STATES = ("Complete", "Begun", "To do")


@dataclass(frozen=True)
class Step:
    """What to do next, in one sentence, and its notebook as seen from another lesson's folder."""

    text: str
    link: str = ""


@dataclass(frozen=True)
class ProgressMap:
    """Shows where a learner is: as text in a terminal, as a table in a notebook.

    lessons  the names of each lesson's exercises by its own name, in the order of the course
    """

    lessons: Mapping[str, tuple[str, ...]]
    progress: Progress

    def __str__(self) -> str:
        lines = [self.headline, ""]
        for lesson in self.lessons:
            groups = self._groups(lesson).items()
            lines.append(lesson)
            lines += [
                f"    {state.lower()}: {', '.join(names)}" for state, names in groups if names
            ]
            lines.append(f"    quiz: {self._quiz(lesson)}")
        return "\n".join([*lines, "", self.next_step().text])

    def _repr_html_(self) -> str:
        rows: list[tuple[str, ...]] = []
        for lesson in self.lessons:
            groups = (", ".join(names) or "–" for names in self._groups(lesson).values())
            rows.append((lesson, *groups, self._quiz(lesson)))
        step = self.next_step()
        # A paragraph of its own: within a sentence only its colour would tell that it is a link.
        link = f'<p><a href="{html.escape(step.link)}">Open the notebook</a></p>'
        return (
            f"<p><strong>{self.headline}</strong></p>{table(('Lesson', *STATES, 'Quiz'), rows)}"
            f"<p>{as_html(step.text)}</p>{link if step.link else ''}"
        )

    @property
    def headline(self) -> str:
        """How much of the course is done, in one sentence."""
        states = [state_of(n, self.progress) for names in self.lessons.values() for n in names]
        begun = f", {states.count(BEGUN)} more begun" if BEGUN in states else ""
        return f"{states.count(COMPLETE)} of {len(states)} exercises complete{begun}."

    def next_step(self) -> Step:
        """The first thing in the order of the course that is not done yet. A quiz never opened counts."""
        for lesson, names in self.lessons.items():
            link = f"../{lesson}/{lesson}.ipynb"
            for name in names:
                if state_of(name, self.progress) != COMPLETE:
                    missing = _missing(name, self.progress.exercise(name))
                    return Step(f"Next: `{name}` in {lesson}.{missing}", link)
            quiz = self.progress.quiz(quiz_of(lesson))
            if not quiz.questions or len(quiz.answers) < quiz.questions:
                return Step(f"Next: the quiz at the end of {lesson}.", link)
        return Step("You have completed every lesson. Well done!")

    def _groups(self, lesson: str) -> dict[str, list[str]]:
        """The lesson's exercises by how far they are, those with how many of their promises are kept."""
        groups: dict[str, list[str]] = {state: [] for state in STATES}
        for name in self.lessons[lesson]:
            told = f"{name}{_kept(self.progress.exercise(name))}"
            groups[state_of(name, self.progress)].append(told)
        return groups

    def _quiz(self, lesson: str) -> str:
        quiz = self.progress.quiz(quiz_of(lesson))
        answered = f"{len(quiz.answers)} of {quiz.questions} answered, {quiz.correct} right"
        return answered if quiz.answers else "not started"


def state_of(name: str, progress: Progress) -> str:
    """One of STATES: every promise kept, some of them (or a check of an earlier course passed), none."""
    record = progress.exercise(name)
    return COMPLETE if record.passed else BEGUN if record.kept or record.earlier else TO_DO


def quiz_of(lesson: str) -> str:
    """The id of a lesson's quiz: its name without the number."""
    return lesson.partition("_")[2]


def _kept(record: ExerciseRecord) -> str:
    """How many promises the last check found kept, where some are missing."""
    if record.passed or not (record.kept or record.earlier):
        return ""
    kept = f" ({len(record.kept)} of {len(record.promises)} promises kept)"
    return kept if record.kept else "" if record.promises else " (check it again)"


def _missing(name: str, record: ExerciseRecord) -> str:
    """What the last check found missing, in a sentence of its own."""
    missing = [title for title in record.promises if title not in record.kept]
    if missing:
        return f" The first promise that it does not keep yet: {missing[0]}."
    return f" Run `check({name})` again: it asks more than it did." if record.earlier else ""
