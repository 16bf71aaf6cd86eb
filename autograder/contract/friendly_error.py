"""An error whose message says all there is to say: notebooks show it without a traceback."""

import textwrap

WIDTH = 80  # characters of a line that fits beside the file browser


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
