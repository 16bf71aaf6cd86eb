"""What a submission says, reduced to what can only be read: HTML, Markdown, formulas.

An allow-list of elements and attributes: no script, style, form, frame, object, SVG or MathML; no
id, name, style, event or data- attribute; classes only from the families our own reports and
highlighted code use, so that a submission cannot dress up as a control of the page it is shown in;
links only to the web and to mail; pictures only as data, so that looking sends nothing anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from itertools import cycle
from string import punctuation
from typing import Any
from xml.etree import ElementTree

from bleach.sanitizer import Cleaner
from jinja2 import pass_context
from latex2mathml.converter import convert_to_element
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath


def words_of(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


TAGS = words_of("""
a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption
figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre q s samp section small span strong
sub summary sup table tbody td tfoot th thead tr u ul var wbr
""")
# Where formulas stand until they are turned into MathML.
TEX_TAG = "bbh-tex"

# Elements whose text is no text: bleach would leave a style sheet standing as a paragraph.
_UNREADABLE = re.compile(
    r"<(script|style|template|noscript|iframe|object|title)\b.*?(?:</\1\s*>|\Z)", re.I | re.S
)
# Attributes, alone or behind the only element that may have them, and what they may say.
_ATTRIBUTES = {
    "class": re.compile(r"(bbh|autograder)-[\w-]+|highlight|[a-z]{1,2}\d?"),
    "role": re.compile("alert|status|note|img|group|list|listitem|table|presentation"),
    "a href": re.compile(r"(?is)(https?://|mailto:|#).*"),
    "img src": re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*"),
    f"{TEX_TAG} display": re.compile("(?s).*"),
    **dict.fromkeys(words_of("alt lang title aria-label aria-live aria-hidden"), re.compile("(?s).*")),
    **dict.fromkeys(words_of("width height colspan rowspan span start"), re.compile(r"\d{1,4}")),
    **dict.fromkeys(("scope", "align", "open"), re.compile(r"[\w-]{0,20}")),
}  # fmt: skip


def clean_html(html: str) -> str:
    """`html` with only readable, passive elements left; the text of the others stays as text."""
    # A Cleaner is cheap to make and not safe to share between threads.
    cleaner = Cleaner(
        tags=TAGS | {TEX_TAG},
        attributes=_is_harmless_attribute,
        protocols={"http", "https", "mailto", "data"},
        strip=True,
        strip_comments=True,
    )
    return cleaner.clean(_UNREADABLE.sub("", html))


def _is_harmless_attribute(tag: str, name: str, value: str) -> bool:
    allowed = _ATTRIBUTES.get(name) or _ATTRIBUTES.get(f"{tag} {name}")
    if (
        allowed is None or "<" in value
    ):  # what replaces formulas must never meet one in an attribute
        return False
    words = value.split() if name == "class" else [value]
    return bool(words) and all(allowed.fullmatch(word) for word in words)


ELEMENTS = words_of("""
math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow ms mspace msqrt
mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none mprescripts
""")
ATTRIBUTES = words_of("""
accent columnalign columnspacing depth display displaystyle fence form height largeop
linebreak linethickness lspace mathvariant maxsize minsize movablelimits notation rowspacing
rspace scriptlevel separator stretchy width
""")
# Environments that differ from a known one only in what they may be nested in.
_ENVIRONMENTS = {"aligned": "align*", "alignedat": "align*", "gathered": "align*"}
LONGEST_FORMULA = 4000
GRAVE = "\u02cb"  # looks like a backtick


def tex_to_mathml(tex: str, *, display: bool) -> str:
    """MathML of a formula; the formula itself as code where it is not understood. Never raises."""
    try:
        if len(tex) > LONGEST_FORMULA:
            raise ValueError("too long to be a formula")
        for name, known in _ENVIRONMENTS.items():
            tex = tex.replace(f"{{{name}}}", f"{{{known}}}")
        element = convert_to_element(tex, display="block" if display else "inline")
        _purify(element)
        return ElementTree.tostring(element, encoding="unicode")
    except Exception:  # the formula is a learner's: whatever it does, the page is shown
        return f"<code>{escape(tex)}</code>"


def _purify(element: ElementTree.Element) -> None:
    """Check and clean a tree in place. Raises ValueError for an element that is not MathML."""
    if element.tag not in ELEMENTS:
        raise ValueError(f"{element.tag} is not presentation MathML")
    is_root = element.tag == "math"
    for name in list(element.attrib):
        if name not in ATTRIBUTES and not (is_root and name == "xmlns"):
            del element.attrib[name]
    # latex2mathml writes characters as entities and leaves it to its own writer to resolve them.
    element.text = unescape(element.text) if element.text else element.text
    element.tail = unescape(element.tail) if element.tail else element.tail
    for child in element:
        _purify(child)


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
    fence = "`" * (1 + max(2, *map(len, re.findall(r"`+", source)), 0))
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


def as_code(text: str) -> str:
    """A piece of code within a sentence, between two backticks; one that it has itself is another sign."""
    return f"`{text.replace('`', GRAVE)}`"


def said_as_markdown(sentence: str) -> str:
    """The sentence for a Markdown cell. Addresses in it are no links."""
    return "".join(
        f"`{part}`" if is_code else "".join("\\" + c if c in punctuation else c for c in part)
        for part, is_code in _parts(sentence)
    )


def said_as_html(sentence: str) -> str:
    """The sentence for an HTML page."""
    return "".join(
        f"<code>{escape(part)}</code>" if is_code else escape(part)
        for part, is_code in _parts(sentence)
    )


def _parts(sentence: str) -> Iterator[tuple[str, bool]]:
    """The sentence in pieces, and whether each is code; on one line."""
    return zip(re.split("`([^`]+)`", " ".join(sentence.splitlines())), cycle((False, True)))
