"""The map of the course: which exercises and quiz questions are done, and what comes next."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autograder.learner.progress_file import Progress
from autograder.reporting import markup
from autograder.reporting.display import table

Lessons = Mapping[
    str, tuple[str, ...]
]  # lesson name → names of its exercises, in the order of the course


@dataclass(frozen=True)
class ProgressMap:
    """Shows where a learner is: as text in a terminal, as a table in a notebook."""

    lessons: Lessons
    progress: Progress

    def __str__(self) -> str:
        lines = [headline(self.lessons, self.progress), ""]
        for lesson, exercises in self.lessons.items():
            lines.append(lesson)
            lines += [
                f"    {state}: {', '.join(names)}" for state, names in _states(exercises, self)
            ]
            lines.append(f"    quiz: {_quiz(lesson, self.progress)}")
        return "\n".join([*lines, "", next_step(self.lessons, self.progress).text])

    def _repr_html_(self) -> str:
        rows = [_row(lesson, exercises, self) for lesson, exercises in self.lessons.items()]
        step = next_step(self.lessons, self.progress)
        # A paragraph of its own: within a sentence only its colour would tell that it is a link.
        link = (
            f'<p><a href="{html.escape(step.link)}">Open the notebook</a></p>' if step.link else ""
        )
        return (
            f"<p><strong>{headline(self.lessons, self.progress)}</strong></p>"
            f"{table(('Lesson', *STATES, 'Quiz'), rows)}<p>{markup.as_html(step.text)}</p>{link}"
        )


COMPLETE, BEGUN, TO_DO = STATES = ("Complete", "Begun", "To do")


@dataclass(frozen=True)
class Step:
    """What to do next, in one sentence, and its notebook as seen from another lesson's folder."""

    text: str
    link: str


def headline(lessons: Lessons, progress: Progress) -> str:
    """How much of the course is done, in one sentence."""
    names = [name for exercises in lessons.values() for name in exercises]
    complete = sum(state_of(name, progress) == COMPLETE for name in names)
    begun = sum(state_of(name, progress) == BEGUN for name in names)
    sentence = f"{complete} of {len(names)} exercises complete"
    return f"{sentence}, {begun} more begun." if begun else f"{sentence}."


def state_of(name: str, progress: Progress) -> str:
    """One of STATES: every promise kept, some of them (or a check of an earlier course passed), none."""
    record = progress.exercise(name)
    return COMPLETE if record.passed else BEGUN if record.kept or record.earlier else TO_DO


def promises_of(name: str, progress: Progress) -> str:
    """An exercise with how many of its promises the last check found kept."""
    record = progress.exercise(name)
    if record.passed:
        return name
    if not record.promises:
        return f"{name} (check it again)" if record.earlier else name
    return (
        f"{name} ({len(record.kept)} of {len(record.promises)} promises kept)"
        if record.kept
        else name
    )


def quiz_of(lesson: str) -> str:
    """The id of a lesson's quiz: its name without the number."""
    return lesson.partition("_")[2]


def next_step(lessons: Lessons, progress: Progress) -> Step:
    """The first thing in the order of the course that is not done yet."""
    for lesson, exercises in lessons.items():
        link = f"../{lesson}/{lesson}.ipynb"
        for name in exercises:
            if state_of(name, progress) != COMPLETE:
                return Step(f"Next: `{name}` in {lesson}.{_open(name, progress)}", link)
        if unanswered(lesson, progress):
            return Step(f"Next: the quiz at the end of {lesson}.", link)
    return Step("You have completed every lesson. Well done!", "")


def _open(name: str, progress: Progress) -> str:
    """What the last check found missing, in a sentence of its own."""
    record = progress.exercise(name)
    missing = [title for title in record.promises if title not in record.kept]
    if missing:
        return f" The first promise that it does not keep yet: {missing[0]}."
    return f" Run `check({name})` again: it asks more than it did." if record.earlier else ""


def unanswered(lesson: str, progress: Progress) -> bool:
    """Whether the lesson's quiz has a question without an answer. A quiz never opened counts."""
    record = progress.quiz(quiz_of(lesson))
    return not record.questions or len(record.answers) < record.questions


def _states(exercises: tuple[str, ...], shown: ProgressMap) -> Iterator[tuple[str, list[str]]]:
    for state in STATES:
        names = [
            promises_of(name, shown.progress)
            for name in exercises
            if state_of(name, shown.progress) == state
        ]
        if names:
            yield state.lower(), names


def _quiz(lesson: str, progress: Progress) -> str:
    record = progress.quiz(quiz_of(lesson))
    if not record.answers:
        return "not started"
    return f"{len(record.answers)} of {record.questions} answered, {record.correct} right"


def _row(lesson: str, exercises: tuple[str, ...], shown: ProgressMap) -> tuple[str, ...]:
    groups = dict(_states(exercises, shown))
    names = (", ".join(groups.get(state.lower(), ["–"])) for state in STATES)
    return lesson, *names, _quiz(lesson, shown.progress)
