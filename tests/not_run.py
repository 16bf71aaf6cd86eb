"""The line at the very end of a test run that says what was not run for want of a browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

NO_CHROMIUM = (
    "No Chromium was found, so nothing was tested in a browser. Install it with your system's "
    "package manager (apt-get install chromium)."
)
NO_AXE = (
    "axe-core is not there, so accessibility was not tested. Install it with "
    "`npm install --prefix build/node axe-core`."
)


def loud_lines(reasons: Iterable[str]) -> list[str]:
    """A line for each thing that is missing, with the number of tests that were skipped for it."""
    missing = Counter(
        why for reason in reasons for why in (NO_CHROMIUM, NO_AXE) if reason.endswith(why)
    )
    return [
        f"*** NOT RUN: {tests} test{'' if tests == 1 else 's'}. {why}"
        for why, tests in missing.items()
    ]
