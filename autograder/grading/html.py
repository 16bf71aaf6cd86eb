"""HTML from a submission, reduced to what can only be read.

An allow-list of elements and attributes: no script, style, form, frame, object, SVG or MathML; no
id, name, style, event or data- attribute; classes only from the families our own reports and
highlighted code use, so that a submission cannot dress up as a control of the page it is shown in;
links only to the web and to mail; pictures only as data, so that looking sends nothing anywhere.
"""

from __future__ import annotations

import re

from bleach.sanitizer import Cleaner

TAGS = frozenset(
    re.findall(
        r"\w+",
        """
        a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption
        figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre q s samp section small span strong
        sub summary sup table tbody td tfoot th thead tr u ul var wbr
        """,
    )
)
# Where formulas stand until they are turned into MathML: see markdown.py.
TEX_TAG = "bbh-tex"

# Elements whose text is no text: bleach would leave a style sheet standing as a paragraph.
_UNREADABLE = re.compile(
    r"<(script|style|template|noscript|iframe|object|title)\b.*?(?:</\1\s*>|\Z)", re.I | re.S
)
_CLASSES = re.compile(r"((bbh|autograder)-[\w-]+|highlight|[a-z]{1,2}\d?|\s)+")
_ROLES = {"alert", "status", "note", "img", "group", "list", "listitem", "table", "presentation"}
_LINK = re.compile(r"(https?://|mailto:|#)", re.I)
_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")
_NUMBER = re.compile(r"\d{1,4}")
_WORD = re.compile(r"[\w-]{0,20}")


def clean_html(html: str) -> str:
    """`html` with only readable, passive elements left; the text of the others stays as text."""
    return _cleaner().clean(_UNREADABLE.sub("", html))


def _cleaner() -> Cleaner:
    # A Cleaner is cheap to make and not safe to share between threads.
    return Cleaner(
        tags=TAGS | {TEX_TAG},
        attributes=_is_harmless_attribute,
        protocols={"http", "https", "mailto", "data"},
        strip=True,
        strip_comments=True,
    )


def _is_harmless_attribute(tag: str, name: str, value: str) -> bool:
    if "<" in value:  # what replaces formulas later must never meet one inside an attribute
        return False
    if name == "class":
        return bool(_CLASSES.fullmatch(value))
    if name == "role":
        return value in _ROLES
    if name in ("alt", "lang", "title", "aria-label", "aria-live", "aria-hidden"):
        return True
    if name == "display":
        return tag == TEX_TAG
    if name == "href":
        return tag == "a" and bool(_LINK.match(value))
    if name == "src":
        return tag == "img" and bool(_PICTURE.fullmatch(value))
    if name in ("width", "height", "colspan", "rowspan", "span", "start"):
        return bool(_NUMBER.fullmatch(value))
    return name in ("scope", "align", "open") and bool(_WORD.fullmatch(value))
