"""The command line: `python -m autograder check NOTEBOOK`, `explain RULE`, and checks of any file."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 only if everything passed, 2 for a wrong call."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _command(given)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `autograder status | head` has read all it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PASSED


def _command(given: list[str]) -> int:
    if given[:1] == ["grade"] and not any(word.startswith("--sch") for word in given):
        from autograder.grading.pool import prepare

        prepare()  # its workers import for seconds, and so do we
    options = _parser(grading=given[:1] not in (["check"], ["explain"])).parse_args(given)
    try:
        return int(options.run(options))
    except (ValueError, TypeError) as error:
        print(f"autograder: {error}", file=sys.stderr)
        return EXIT_USAGE


def _parser(grading: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograder", description="Checks hand-written torch.autograd.Functions."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser(
        "check", help="check a course notebook, or a Function in a .py file"
    )
    check.add_argument("file", type=Path, help="a notebook of the course, or FILE.py")
    check.add_argument("--hidden", action="store_true", help="run everything the grader runs")
    check.add_argument("--seed", type=int, help="repeat exactly one check")
    check.add_argument("--json", action="store_true", help="reports as JSON lines")
    check.add_argument("--function", help="for FILE.py: the name of your Function in it")
    check.add_argument(
        "--reference", help="for FILE.py: the name of a torch function to compare with"
    )
    check.add_argument(
        "--inputs",
        help="for FILE.py: the name of a tuple of arguments, or of a function giving one",
    )
    check.set_defaults(run=_check)

    explain = commands.add_parser("explain", help="say what a rule means")
    explain.add_argument("rule", nargs="?", help="a rule's name; without one, all rules are listed")
    explain.set_defaults(run=_explain)
    if grading:  # imported late: learners who check a notebook do not wait for nbgrader
        _add_grading(commands)
    return parser


def _add_grading(commands: Any) -> None:
    """What instructors run."""
    from autograder.grading.quick_imports import import_jsonschema

    import_jsonschema()
    from autograder.grading.commands import add_commands
    from autograder.grading.doctor import add_doctor
    from autograder.grading.grade_command import add_grade
    from autograder.grading.replay import add_replay

    add_grade(commands)
    add_commands(commands)
    add_replay(commands)
    add_doctor(commands)


def _check(options: argparse.Namespace) -> int:
    if options.file.suffix == ".py":
        return _check_file(options)
    from autograder.notebook import check_notebook

    found = check_notebook(options.file, hidden=options.hidden, seed=options.seed)
    for trouble in found.troubles:
        print(f"! {trouble}", file=sys.stderr)
    for report in found.reports:
        print(report.to_json().replace("\n", " ") if options.json else f"{report}\n")
    if not options.json:
        done = sum(r.passed for r in found.reports)
        print(f"{done} of {len(found.reports)} exercises pass.")
    return EXIT_PASSED if found.passed else EXIT_FAILED


def _check_file(options: argparse.Namespace) -> int:
    from autograder.api import evaluate
    from autograder.exercises import is_exercise
    from autograder.notebook import importable

    if not options.file.is_file():
        raise ValueError(f"there is no file {options.file}")
    if not options.function:
        raise ValueError("say which Function of the file to check: --function MyOp")
    with importable(options.file.parent):
        space = _run(options.file)
        submission = _named(space, options.function, options.file)
        inputs = _named(space, options.inputs, options.file) if options.inputs else None
        if inputs is None and not is_exercise(options.function):
            raise ValueError(
                f"{options.function} is no exercise, so it needs inputs to be checked on: --inputs NAME, "
                f"where {options.file} says NAME = (x, …), the arguments as you would pass them to apply"
            )
        report = evaluate(
            submission,
            exercise=options.function,
            seed=options.seed,
            reference=_named(space, options.reference, options.file) if options.reference else None,
            inputs=inputs() if callable(inputs) else inputs,
        )
    print(report.to_json().replace("\n", " ") if options.json else report)
    return EXIT_PASSED if report.passed else EXIT_FAILED


def _run(file: Path) -> dict[str, Any]:
    """What a file defines; ValueError if it stops with an error."""
    try:
        return runpy.run_path(str(file))
    except Exception as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).resolve() == file.resolve()
        ]
        place = f" in line {lines[-1]}" if lines else ""
        raise ValueError(f"{file} stops{place} with {type(error).__name__}: {error}") from error


def _named(space: dict[str, Any], name: str, file: Path) -> Any:
    if name not in space:
        raise ValueError(f"{file} defines nothing called {name}")
    return space[name]


def _explain(options: argparse.Namespace) -> int:
    from autograder.explanations import TITLES
    from autograder.explanations.reading import explain

    if options.rule:
        explain(options.rule)
    else:
        for name, title in TITLES.items():
            print(f"{name:<28}{title}")
    return EXIT_PASSED


if __name__ == "__main__":
    sys.exit(main())
