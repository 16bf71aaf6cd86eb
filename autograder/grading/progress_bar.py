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
        length=total, label=f"0 % of {total}" if plain else "", file=sys.stderr, show_pos=True, width=24,
        hidden=hidden or not total, fill_char="█", empty_char="░", bar_template="%(bar)s %(info)s%(label)s",
    ) as bar:  # fmt: skip

        def one_more() -> None:
            tenth = 10 * (bar.pos + 1) // total
            bar.label = f"{10 * tenth} % of {total}" if plain else ""
            bar.update(1)

        yield one_more
