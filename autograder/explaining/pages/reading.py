"""explain(): a rule's page, as Markdown in a notebook and as readable text everywhere else."""

from __future__ import annotations

import difflib
import re
import shutil
import sys
import textwrap

from autograder.contract.friendly_error import refusal
from autograder.explaining.pages import TITLES, page

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_FENCE = "```"
_MARKUP = ((re.compile(r"\[([^\]]+)\]\([^)]+\)"), r"\1"), (re.compile(r"\*\*(.+?)\*\*"), r"\1"),
           (re.compile(r"(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])"), r"\1"), (re.compile("`"), ""))  # fmt: skip


def explain(rule: str) -> None:
    """Show what a rule such as "gradient-sign" means. ValueError lists the closest names."""
    markdown = _COMMENT.sub("", page(known(rule)))
    if _in_notebook():
        from IPython.display import display

        bundle = {"text/plain": as_text(markdown), "text/markdown": _under_the_page(markdown)}
        display(bundle, raw=True)
    else:
        print(as_text(markdown, min(shutil.get_terminal_size().columns, 96)))


def known(rule: str) -> str:
    """The rule's own name, however it was written; ValueError with the closest names."""
    name = str(rule).strip().lower().replace("_", "-").replace(" ", "-")
    if name in TITLES:
        return name
    close = difflib.get_close_matches(name, list(TITLES), n=3, cutoff=0.4)
    names = ", ".join(close) or ", ".join(TITLES)
    raise refusal(f"There is no rule called {rule!r}. Closest names: {names}.")


def as_text(markdown: str, width: int = 88) -> str:
    """A page without its markup: sentences wrapped, code indented and untouched."""
    lines: list[str] = []
    paragraph: list[str] = []
    in_code = False

    def close_paragraph() -> None:
        if paragraph:
            lines.extend(_wrapped(" ".join(paragraph), width))
            paragraph.clear()

    for line in markdown.splitlines():
        if line.startswith(_FENCE):
            close_paragraph()
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        elif not line.strip():
            close_paragraph()
            lines.append("")
        elif line.startswith("#"):
            title = _plain(line.lstrip("# "))
            lines += [title, ("=" if line.startswith("# ") else "-") * len(title)]
        else:
            if line.startswith("- "):
                close_paragraph()
            paragraph.append(line.strip().removeprefix("> "))
    close_paragraph()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        _plain(text), width, subsequent_indent="  " if text.startswith(("- ", "✗ ")) else "",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _plain(text: str) -> str:
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return text


def _under_the_page(markdown: str) -> str:
    """The page's headings two levels down: it is shown inside a notebook that has its own."""
    in_code, lines = False, []
    for line in markdown.splitlines():
        in_code ^= line.startswith(_FENCE)
        lines.append(f"##{line}" if line.startswith("#") and not in_code else line)
    return "\n".join(lines)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")  # not imported: then nobody runs in it
    return ipython is not None and ipython.get_ipython() is not None
