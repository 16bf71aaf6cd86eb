"""What learners and practitioners type: `check`, `hint`, `explain` and `why`. Each imports what it needs when it runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
_TERMS = ("seed", "device", "strict", "ignore", "seconds", "atol", "rtol", "second_order")


def notebook(given: str) -> Path:
    """The path that somebody typed; a lesson's folder stands for its notebook."""
    path = Path(given)
    return path / f"{path.resolve().name}.ipynb" if path.is_dir() else path


def run_check(options: argparse.Namespace) -> int:
    """Check a notebook or a .py file; 0 if all passed, 3 where not everything was judged."""
    if options.json:
        options.format = "json"
    return _check_file(options) if options.file.suffix == ".py" else _check_notebook(options)


def _check_notebook(options: argparse.Namespace) -> int:
    from autograder.learner.progress import record_check
    from autograder.learner.terminal_check import check_notebook

    found = check_notebook(
        options.file, hidden=options.hidden, seed=options.seed, only=options.function
    )
    for trouble in found.troubles:
        print(f"! {trouble}", file=sys.stderr)
    as_json = options.format == "json"
    for report in found.reports:
        record_check(report)
        print(report.to_json().replace("\n", " ") if as_json else f"{report}\n")
    if not as_json:
        done = sum(r.passed for r in found.reports)
        print(f"{done} of {len(found.reports)} exercises pass.")
    return EXIT_PASSED if found.passed else EXIT_FAILED


def _check_file(options: argparse.Namespace) -> int:
    from autograder.learner.file_check import BESIDE, targets
    from autograder.reporting.display import formatted

    given = vars(options)
    names, terms = ({word: given[word] for word in words} for words in (BESIDE, _TERMS))
    reports = [t.report(**terms) for t in targets(options.file, options.function, names)]
    print(formatted(reports, options.format, str(options.file)))
    outcomes = {report.outcome for report in reports}
    if "failed" in outcomes:
        return EXIT_FAILED
    return EXIT_INCOMPLETE if "incomplete" in outcomes else EXIT_PASSED


def run_hint(options: argparse.Namespace) -> int:
    """Print the next hint for an exercise of a notebook."""
    from autograder.learner.checking import hint
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
