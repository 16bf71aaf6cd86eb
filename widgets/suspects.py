"""Find the bug: two answers by somebody else, one of them wrong; say which before the check does.

Everything comes from the exercise's known mistakes and right answers
(autograder/exercises/*/*_mistakes.py): the two that are shown, and what there is to choose from.
"""

import html
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from IPython.display import display as show_live

from autograder.contract.friendly_error import running_shell
from autograder.contract.known_mistakes import Answer, read_answers
from autograder.exercises import find
from autograder.explaining.example_answers import code_of
from autograder.learner.checking import evaluate
from autograder.reporting import display
from widgets.prediction import Prediction, outcome
from widgets.quiz_data import Choice, Question, bug_of, load_prediction, suspects_of

_files = itertools.count()


@dataclass(frozen=True)
class Suspects:
    """Two answers to an exercise, by what stands behind `wrong[…]:` and `right:` in its known mistakes.

    others  further known mistakes, which neither of the two makes: the choices that are not right
    first   whether the wrong one is A
    """

    exercise: str
    wrong: str
    right: str
    others: Sequence[str]
    first: bool = False

    def answers(self) -> dict[str, Answer]:
        """A and B."""
        wrong, right = self._known(self.wrong), self._known(self.right)
        return {"A": wrong, "B": right} if self.first else {"A": right, "B": wrong}

    def question(self) -> Question:
        """Which of the two is wrong, and in what."""
        guilty, innocent = ("A", "B") if self.first else ("B", "A")
        fault = self._known(self.wrong)
        told = f"{fault.says} {fault.next}".strip() or "The report below says what it does."
        choices = [Choice(f"{guilty}: {fault.what}", True, told)]
        for what in map(self._known, self.others):
            choices.append(Choice(f"{guilty}: {what.what}", False, f"{guilty} does not do this."))
        for what in (fault, *map(self._known, self.others)):
            why = f"{innocent} keeps every promise of `{self.exercise}`."
            choices.append(Choice(f"{innocent}: {what.what}", False, why))
        prompt = f"Two answers to `{self.exercise}`. One of them is wrong: which one, and why?"
        return Question(prompt, tuple(sorted(choices, key=lambda choice: choice.text)))

    def _known(self, what: str) -> Answer:
        mistakes = find(self.exercise).mistakes
        for answer in read_answers(mistakes, self.exercise) if mistakes else ():
            if answer.what == what:
                return answer
        raise ValueError(f"no known answer to {self.exercise} is called {what!r}")


def suspects(lesson: str) -> tuple[Any, Any]:
    """Show two answers to an exercise of the lesson, one of them wrong, and ask which; returns both.

    Args:
        lesson: called as its quiz: suspects("sigmoid").

    Raises:
        ValueError: if there is no such lesson.
    """
    shown = {name: renamed(answer, name) for name, answer in suspects_of(lesson).answers().items()}
    display.show(Sources(shown))
    asked = Prediction(bug_of(lesson), load_prediction(bug_of(lesson)))
    if running_shell() is None:
        print(asked.stand_in()["text/plain"])
    else:
        show_live(asked)
    a, b = (defined(name, source) for name, source in shown.items())
    return a, b


def verdict(lesson: str) -> None:
    """Check both suspects, and compare with what you said.

    Raises:
        ValueError: if there is no such lesson.
    """
    outcome(bug_of(lesson))
    asked = suspects_of(lesson)
    for name, answer in asked.answers().items():
        judged = defined(name, renamed(answer, name))
        report = evaluate(judged, exercise=asked.exercise, hidden=False)
        # As in feedback: what could be repeated or seen is the learner's own class, not this one.
        display.show(Judged(name, replace(report, graded=True)))


@dataclass(frozen=True)
class Sources:
    """Shows code beside code, under its names."""

    sources: dict[str, str]

    def __str__(self) -> str:
        return "\n\n".join(f"{name}\n\n{source}" for name, source in self.sources.items())

    def _repr_html_(self) -> str:
        columns = "".join(
            f'<div style="flex:1 1 auto;max-width:100%"><pre style="overflow-x:auto;white-space:pre"><code>'
            f"{html.escape(source)}</code></pre></div>"
            for source in self.sources.values()
        )
        return f'<div style="display:flex;flex-wrap:wrap;gap:0 1.5em">{columns}</div>'


@dataclass(frozen=True)
class Judged:
    """Shows what a check says about one of the two: its report, or that all is kept."""

    name: str
    report: Any

    def __str__(self) -> str:
        return (
            f"{self.name}: every promise is kept."
            if self.report.passed
            else f"{self.name}:\n{self.report}"
        )

    def _repr_html_(self) -> str:
        if self.report.passed:
            return f"<p><strong>✓ {self.name}: every promise is kept.</strong></p>"
        return f"<p><strong>✗ {self.name}</strong></p>{self.report._repr_html_()}"


def renamed(answer: Answer, name: str) -> str:
    """The source with the class or function called A or B."""
    return re.sub(rf"\b{answer.exercise}\b", name, answer.source)


def defined(name: str, source: str) -> Any:
    """What the source defines; reports and tracebacks find its lines."""
    file = f"<suspect {name} {next(_files)}>"
    space: dict[str, Any] = {
        "__name__": "__main__", "torch": torch, "Function": torch.autograd.Function,
    }  # fmt: skip
    exec(code_of(source, file), space)
    return space[name]
