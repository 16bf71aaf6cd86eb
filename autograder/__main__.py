"""The command line: the commands of commands.toml."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from autograder.learner.commands import (
    EXIT_FAILED,
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_PASSED,
    EXIT_USAGE,
)

__all__ = ["EXIT_FAILED", "EXIT_INCOMPLETE", "EXIT_PASSED", "EXIT_USAGE", "main"]

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
    try:
        options = _parser(given).parse_args(given)
        return int(_run(options))
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


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """All commands; options of the one that is given only, since some are looked up where it is defined."""
    parser = argparse.ArgumentParser(
        prog="autograder", description="Checks hand-written torch.autograd.Functions."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
    of_course = listed.pop("COURSE")
    for name, command in listed.items():
        words = f"{command['help'][0].upper()}{command['help'][1:]}. {command.get('more', '')}"
        one = commands.add_parser(name, help=command["help"], description=words)
        if given[:1] == [name]:
            on_a_course = command.get("on_a_course", False)
            _add(one, command.get("arguments", {}) | (of_course if on_a_course else {}))
            for title, options in command.get("groups", {}).items():
                _add(one.add_argument_group(title), options)
            one.set_defaults(run=command["run"], on_a_course=on_a_course)
    return parser


def _add(to: Any, options: Mapping[str, dict[str, Any]]) -> None:
    for flags, settings in options.items():
        for key in {"type", "action", "default"} & settings.keys():
            if ":" in str(settings[key]):
                settings[key] = resolve_name(settings[key])
        if callable(settings.get("default")):
            settings["default"] = settings["default"]()
        to.add_argument(*flags.split(), **settings)


def _run(options: argparse.Namespace) -> Any:
    if options.run.startswith("autograder.grading"):
        from autograder.grading import import_jsonschema

        import_jsonschema()
    run, course = resolve_name(options.run), []
    if options.on_a_course:
        from autograder.grading.course import course_in

        course = [course_in(options.course, options.db)]
    return run(options, *course)


if __name__ == "__main__":
    sys.exit(main())
