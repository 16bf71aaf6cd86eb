"""What ends a program, told apart: a person's interrupt, and what a submission raises itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Interrupted(KeyboardInterrupt):
    """A person's own."""


@contextlib.contextmanager
def errors_only() -> Iterator[None]:
    """Nothing but a person ends the program: what else would (exit, another's KeyboardInterrupt) is an error."""
    try:
        yield
    except (Exception, Interrupted):
        raise
    except BaseException as end:
        raise RuntimeError(f"{type(end).__name__}: {end}") from end
