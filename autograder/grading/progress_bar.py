"""How far a command is, while it works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from click import progressbar


@contextmanager
def progress(total: int, hidden: bool = False) -> Iterator[Callable[[], None]]:
    """What to call for each of so many that is done. A bar in a terminal; elsewhere a line for each tenth."""
    plain = not sys.stderr.isatty()
    with progressbar(
        length=total, file=sys.stderr, show_pos=True, width=24, hidden=plain or hidden or not total,
        fill_char="█", empty_char="░", bar_template="%(bar)s %(info)s",
    ) as bar:  # fmt: skip

        def one_more() -> None:
            bar.hidden = hidden
            bar.label = f"{10 * (10 * (bar.pos + 1) // total)} % of {total}"
            bar.update(1)

        yield one_more
