"""What learners and practitioners type: `check`, `hint`, `explain` and `why`; the Functions in a file, and what stands beside them.

A notebook is read by nbformat, which whoever checks a file may do without.
"""

from __future__ import annotations

import argparse
import contextlib
import runpy
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.autograd import Function

from autograder.exercises import is_exercise
from autograder.learner.checking import evaluate, hint, in_stages
from autograder.reporting.display import formatted
from autograder.reporting.report import Report
from autograder.running.program import importable

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
_TERMS = ("seed", "device", "strict", "ignore", "seconds", "atol", "rtol", "second_order")


def notebook(given: str) -> Path:
    """The path that somebody typed; a lesson's folder stands for its notebook."""
    path = Path(given)
    return path / f"{path.resolve().name}.ipynb" if path.is_dir() else path


def run_check(options: argparse.Namespace) -> int:
    """Check a notebook or a .py file; 0 if all passed, 3 where not everything was judged."""
    given, form = vars(options), "json" if options.json else options.format
    if options.file.suffix == ".py":
        names, terms = ({word: given[word] for word in words} for words in (BESIDE, _TERMS))
        with contextlib.redirect_stdout(
            sys.stderr
        ):  # what the file prints is no part of the report
            reports = [t.report(**terms) for t in targets(options.file, options.function, names)]
        print(formatted(reports, form, str(options.file)))
    else:
        from autograder.learner.terminal_check import check_notebook

        found = check_notebook(options.file, options.hidden, options.seed, options.function)
        for trouble in found.troubles:
            print(f"! {trouble}", file=sys.stderr)
        reports = [*map(in_stages, found.reports)]
        print(formatted(reports, form, str(options.file)))
        if form == "text":
            print(f"\n{sum(r.passed for r in reports)} of {len(reports)} exercises pass.")
    outcomes = {report.outcome for report in reports}
    status = EXIT_INCOMPLETE if "incomplete" in outcomes else EXIT_PASSED
    return EXIT_FAILED if "failed" in outcomes else status


def run_hint(options: argparse.Namespace) -> int:
    """Print the next hint for an exercise of a notebook."""
    from autograder.learner.terminal_check import named_in

    hint(named_in(options.notebook, options.function))
    return EXIT_PASSED


def run_explain(options: argparse.Namespace) -> int:
    """Print what a rule means, or all rules."""
    from autograder.explaining.pages import TITLES, explain

    if options.rule:
        explain(options.rule)
    else:
        for name, title in TITLES.items():
            print(f"{name:<28}{title}")
    return EXIT_PASSED


def run_why(options: argparse.Namespace) -> int:
    """Print why a report says what it says."""
    from autograder.learner.terminal_check import why

    print(why(options.notebook, options.exercise, options.seed).rstrip())
    return EXIT_PASSED


# ---- the Functions in a file: inputs, a reference and a surrogate stand beside them ---------------

BESIDE = ("inputs", "reference", "surrogate")


class Stops(ValueError):
    """A file that stops with an error where it is run."""


@dataclass(frozen=True)
class Target:
    """One Function of a file, ready to be checked.

    beside  what was found for it, or None: inputs, reference, surrogate
    """

    file: Path
    name: str
    submission: Any
    beside: dict[str, Any]

    def report(self, **terms: Any) -> Report:
        """Its report; ``terms`` as evaluate takes them."""
        with importable(self.file.parent):
            inputs = self.beside["inputs"]
            inputs = inputs() if callable(inputs) else inputs
            if inputs is None:  # the course asks, and allows nothing
                terms = {k: v for k, v in terms.items() if k in ("seed", "device")}
            given = {**self.beside, "inputs": inputs, **terms}
            return evaluate(self.submission, exercise=self.name, **given)


def targets(file: Path, function: str = "", names: Mapping[str, str] | None = None) -> list[Target]:
    """What is to be checked in a file: one Function, or all that have inputs.

    names  where inputs, reference and surrogate are: "NAME" in the file, "other.py:NAME" in another one. Those
           that are not named are looked for by these words; a dict has one for each Function
    ValueError for a file that stops (Stops), and for a name that is nowhere.
    """
    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    with importable(file.parent):
        space = _run(file)
        beside = {word: _value(file, space, word, (names or {}).get(word, "")) for word in BESIDE}
    if function:
        chosen = {function: _named(space, function, file)}
    else:
        chosen = _with_inputs(space, beside["inputs"])
        if not chosen:
            raise ValueError(
                f"{file} has no Function with inputs: say inputs = (x, …) in it, the arguments as you would pass "
                "them to apply, or inputs = {'MyOp': (x, …)}; or name a Function with --function MyOp"
            )
    made = []
    for name, value in chosen.items():
        found = {word: _of(each, name) for word, each in beside.items()}
        if found["inputs"] is None and not is_exercise(name):
            raise ValueError(
                f"{name} is no exercise, so it needs inputs to be checked on: --inputs NAME, "
                f"where {file} says NAME = (x, …), the arguments as you would pass them to apply"
            )
        made.append(Target(file, name, value, found))
    return made


def _of(value: Any, name: str) -> Any:
    """What stands beside one Function: a dict has something for each."""
    return value.get(name) if isinstance(value, dict) else value


def _value(file: Path, space: dict[str, Any], word: str, where: str) -> Any:
    if not where:
        return space.get(word)
    place, _, name = where.rpartition(":")
    if not place:
        return _named(space, name, file)
    others = (file.parent / place, Path(place))
    if (other := next(filter(Path.is_file, others), None)) is None:
        raise ValueError(f"there is no file {place}")
    with importable(other.parent):
        return _named(_run(other), name, other)


def _with_inputs(space: dict[str, Any], inputs: Any) -> dict[str, Any]:
    """What a file has inputs for: what a dict of them names; else its own Functions, or those it imports if it has none."""
    if isinstance(inputs, dict):
        return {name: space[name] for name, given in inputs.items() if name in space and given is not None}  # fmt: skip
    functions = {n: v for n, v in space.items() if isinstance(v, type) and issubclass(v, Function)}
    # run_path calls the module of a file <run_path>; torch's own are what others are made from.
    own = {n: v for n, v in functions.items() if v.__module__ == "<run_path>"}
    imported = {n: v for n, v in functions.items() if v.__module__.split(".")[0] != "torch"}
    return {} if inputs is None else own or imported


def _run(file: Path) -> dict[str, Any]:
    """What a file defines."""
    try:
        return runpy.run_path(str(file))
    except (Exception, SystemExit) as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).resolve() == file.resolve()
        ]
        place = f" in line {lines[-1]}" if lines else ""
        raise Stops(f"{file} stops{place} with {type(error).__name__}: {error}") from error


def _named(space: dict[str, Any], name: str, file: Path) -> Any:
    if name not in space:
        raise ValueError(f"{file} defines nothing called {name}")
    return space[name]
