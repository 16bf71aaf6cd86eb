"""What a notebook shows: which IPython runs this, and errors whose message says all there is to say."""

import sys
import textwrap
from typing import Any

WIDTH = 80  # characters of a line that fits beside the file browser


def running_shell() -> Any:
    """The IPython that runs this; None where none does: where it was not imported nobody runs in it."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def refusal(message: str, kind: type[Exception] = ValueError) -> Exception:
    """An error that IPython shows as its message alone."""
    error = kind(message)
    vars(error)["_render_traceback_"] = lambda: in_lines(message)
    return error


def in_lines(message: str) -> list[str]:
    """A message as lines to show in place of a traceback.

    JupyterLab breaks a long line of an error anywhere, also within a word.
    """
    return [
        line
        for paragraph in message.split("\n")
        for line in textwrap.wrap(
            paragraph, WIDTH, break_long_words=False, break_on_hyphens=False
        ) or [""]
    ]  # fmt: skip
