"""Markdown from a submission: shown with its formulas and formatting, and nothing else.

``markdown_to_html`` is nbconvert's filter of the same purpose, for the pages instructors and
learners open. ``is_plain`` says whether any other program may show a text as it was typed.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from autograder.grading.html import TEX_TAG, clean_html
from autograder.grading.mathml import tex_to_mathml

PICTURES = ("image/png", "image/jpeg", "image/gif")
_TEX = re.compile(rf"<{TEX_TAG}( display=\"\w*\")?>([^<]*)</{TEX_TAG}>")
_DATA_PICTURE = re.compile(r"data:image/(png|jpeg|gif);base64,")


@pass_context
def markdown_to_html(context: Any, source: str) -> str:
    """The filter for nbconvert's templates; pictures attached to the cell are shown."""
    cell = context.get("cell") or {}
    return safe_html(source, cell.get("attachments"))


def safe_html(source: str, attachments: dict[str, Any] | None = None) -> str:
    """Markdown as HTML that can only be read, with formulas as MathML. Never raises."""
    renderer = _PageRenderer(escape=False, allow_harmful_protocols=False, attachments=attachments)
    try:
        html = clean_html(MarkdownWithMath(renderer=renderer).render(source))
    except Exception:  # nested too deeply, a picture that is not there: show what was typed
        return f"<pre>{escape(source)}</pre>"
    return _TEX.sub(_formula, html)


def is_plain(source: str, attachments: dict[str, Any] | None = None) -> bool:
    """Whether nbconvert's own Markdown, which trusts its input, shows nothing but formatted text.

    True where rendering it with and without trust gives the same page: no HTML, no script links,
    no picture from elsewhere.
    """
    try:
        trusting = IPythonRenderer(escape=False, attachments=attachments)
        careful = _CarefulRenderer(allow_harmful_protocols=False, attachments=attachments)
        pages = [MarkdownWithMath(renderer=one).render(source) for one in (trusting, careful)]
    except Exception:
        return False
    return pages[0] == pages[1]


def as_typed(source: str) -> str:
    """Markdown that shows `source` itself, in a fence no line of it can close."""
    longest = max((len(run) for run in re.findall(r"`+", source)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{source}\n{fence}"


def _formula(match: re.Match[str]) -> str:
    return tex_to_mathml(unescape(match[2]), display=bool(match[1]))


class _CarefulRenderer(IPythonRenderer):
    """Writes HTML out as text, and shows no picture that is not part of the notebook."""

    def block_mermaidjs(self, code: str) -> str:
        return super().block_mermaidjs(escape(code))

    def image(self, text: str, url: str, title: str | None = None) -> str:
        shown = self._embed_image_or_attachment(url)
        if not _DATA_PICTURE.match(shown):
            return f"<em>[picture not shown: {escape(text)}]</em>"
        return super().image(text, url, title)


class _PageRenderer(_CarefulRenderer):
    """For our own pages: HTML goes on to `clean_html`, formulas are put aside for MathML."""

    def __init__(self, **options: Any):
        super().__init__(exclude_anchor_links=True, **options)

    def block_mermaidjs(self, code: str) -> str:
        return f"<pre>{escape(code)}</pre>"

    def inline_math(self, body: str) -> str:
        return f"<{TEX_TAG}>{escape(body)}</{TEX_TAG}>"

    def block_math(self, body: str) -> str:
        return f'<{TEX_TAG} display="block">{escape(body)}</{TEX_TAG}>'

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")
