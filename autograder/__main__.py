"""The command line: `check NOTEBOOK` (or any file), `hint NOTEBOOK`, `explain RULE`, `why NOTEBOOK EXERCISE`, grading."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130

_EXTRAS = (
    "{} is not installed here. The checker alone needs none of it; notebooks and grading need "
    "pip install 'backward-by-hand[course,grading]'"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 only if everything passed, 2 for a wrong call, 3 where not everything was judged."""
    os.environ.setdefault(
        "TRITON_INTERPRET", "1"
    )  # read when triton is imported: checks ask on the CPU
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
        from autograder.grading.processes import prepare

        prepare()  # its workers import for seconds, and so do we
    try:
        options = _parser_for(given).parse_args(given)
        return int(options.run(options))
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        print(f"autograder: {_EXTRAS.format(error.name)}", file=sys.stderr)
        return EXIT_USAGE
    except Exception as error:
        words = str(error)
        usage = EXIT_USAGE if isinstance(error, ValueError | TypeError) else None
        if isinstance(error, OSError) and error.filename:
            words, usage = f"{error.filename}: {error.strerror}", EXIT_FAILED
        status = getattr(error, "exit_status", usage)  # whatever else happens is a fault of ours
        if status is None:
            raise
        print(f"autograder: {words}", file=sys.stderr)
        return int(status)


def _parser_for(given: Sequence[str]) -> argparse.ArgumentParser:
    try:
        return _parser(grading=given[:1] not in (["check"], ["hint"], ["explain"], ["why"]))
    except ModuleNotFoundError:
        if given and not given[0].startswith("-"):
            raise
        return _parser(grading=False)  # `autograder --help` where only the checker is installed


def _parser(grading: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograder", description="Checks hand-written torch.autograd.Functions."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser(
        "check", help="check a course notebook, or a Function in a .py file"
    )
    check.add_argument("file", type=Path, help="a notebook of the course, or FILE.py")
    check.add_argument("--function", default="", help="one exercise, or one Function of FILE.py")
    check.add_argument("--hidden", action="store_true", help="run everything the grader runs")
    check.add_argument("--seed", type=int, help="repeat exactly one check")
    check.add_argument("--json", action="store_true", help="the same as --format json")
    check.add_argument(
        "--format", default="text", choices=("text", "json", "github", "junit"),
        help="for FILE.py also github (annotations of a CI job) and junit",
    )  # fmt: skip
    own = check.add_argument_group("for FILE.py")
    own.add_argument(
        "--inputs", default="",
        help="NAME or OTHER.py:NAME of a tuple of arguments, or of a function giving one (inputs)",
    )  # fmt: skip
    own.add_argument(
        "--reference", default="", help="the same for a torch function to compare with"
    )
    own.add_argument("--surrogate", default="", help="the same for one whose gradient is meant")
    own.add_argument("--strict", action="store_true", help="advice counts as an error")
    own.add_argument(
        "--ignore", action="append", default=[], metavar="RULE", help="a rule that is not judged"
    )
    own.add_argument(
        "--seconds", type=float, default=10.0, help="no new question after that; then status 3"
    )
    own.add_argument("--device", action="append", help="ask there too: cuda")
    own.add_argument("--atol", type=float, default=0.0, help="what a number may be off by")
    own.add_argument("--rtol", type=float, default=0.0, help="the same, as a share of it")
    own.add_argument(
        "--second-order", action=argparse.BooleanOptionalAction, default=None,
        help="second derivatives must be there; or are not asked",
    )  # fmt: skip
    check.set_defaults(run=_check)

    hint = commands.add_parser("hint", help="the next hint for an exercise of a course notebook")
    hint.add_argument("notebook", type=Path)
    hint.add_argument("--function", default="", help="which; not needed where there is only one")
    hint.set_defaults(run=_hint)

    explain = commands.add_parser("explain", help="say what a rule means")
    explain.add_argument("rule", nargs="?", help="a rule's name; without one, all rules are listed")
    explain.set_defaults(run=_explain)

    why = commands.add_parser(
        "why", help="for maintainers: which rule and cause spoke, and on what"
    )
    why.add_argument("notebook", type=Path)
    why.add_argument("exercise")
    why.add_argument("--seed", type=int, default=0)
    why.set_defaults(run=_why)
    if grading:  # imported late: learners who check a notebook do not wait for nbgrader
        _add_grading(commands)
    return parser


def _add_grading(commands: Any) -> None:
    """What instructors run."""
    from autograder.grading import import_jsonschema

    import_jsonschema()
    from autograder.grading.commands import add_commands

    add_commands(commands)


def _check(options: argparse.Namespace) -> int:
    if options.file.suffix == ".py":
        return _check_file(options)
    from autograder.learner.progress import record_check
    from autograder.learner.terminal_check import check_notebook

    found = check_notebook(
        options.file, hidden=options.hidden, seed=options.seed, only=options.function
    )
    for report in found.reports:
        record_check(report)
    for trouble in found.troubles:
        print(f"! {trouble}", file=sys.stderr)
    for report in found.reports:
        print(
            report.to_json().replace("\n", " ")
            if options.json or options.format == "json"
            else f"{report}\n"
        )
    if not options.json and options.format != "json":
        done = sum(r.passed for r in found.reports)
        print(f"{done} of {len(found.reports)} exercises pass.")
    return EXIT_PASSED if found.passed else EXIT_FAILED


def _hint(options: argparse.Namespace) -> int:
    from autograder.learner.checking import hint
    from autograder.learner.terminal_check import named_in

    hint(named_in(options.notebook, options.function))
    return EXIT_PASSED


def _why(options: argparse.Namespace) -> int:
    from autograder.learner.terminal_check import why

    for line in why(options.notebook, options.exercise, options.seed):
        print(line)
    return EXIT_PASSED


def _check_file(options: argparse.Namespace) -> int:
    from autograder.learner.file_check import BESIDE, targets
    from autograder.reporting.formats import formatted

    names = {word: getattr(options, word) for word in BESIDE}
    terms = {
        name: getattr(options, name)
        for name in (
            "seed",
            "device",
            "strict",
            "ignore",
            "seconds",
            "atol",
            "rtol",
            "second_order",
        )
    }
    reports = [t.report(**terms) for t in targets(options.file, options.function, names)]
    print(formatted(reports, "json" if options.json else options.format, str(options.file)))
    outcomes = {report.outcome for report in reports}
    if "failed" in outcomes:
        return EXIT_FAILED
    return EXIT_INCOMPLETE if "incomplete" in outcomes else EXIT_PASSED


def _explain(options: argparse.Namespace) -> int:
    from autograder.explaining.pages import TITLES, explain

    if options.rule:
        explain(options.rule)
    else:
        for name, title in TITLES.items():
            print(f"{name:<28}{title}")
    return EXIT_PASSED


if __name__ == "__main__":
    sys.exit(main())
