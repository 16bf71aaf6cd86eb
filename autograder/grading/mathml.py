"""Formulas as MathML, which every browser draws by itself: no MathJax to load, no script to run.

latex2mathml translates; what it gives is not safe by itself (it passes links, styles and text that
looks like elements through), so only plain presentation MathML is built from its answer.
"""

from __future__ import annotations

import re
from html import escape, unescape
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element

ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        """
        math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow ms mspace msqrt
        mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none mprescripts
        """,
    )
)
ATTRIBUTES = frozenset(
    re.findall(
        r"\w+",
        """
        accent columnalign columnspacing depth display displaystyle fence form height largeop
        linebreak linethickness lspace mathvariant maxsize minsize movablelimits notation rowspacing
        rspace scriptlevel separator stretchy width
        """,
    )
)
# Environments that differ from a known one only in what they may be nested in.
_ENVIRONMENTS = {"aligned": "align*", "alignedat": "align*", "gathered": "align*"}
LONGEST_FORMULA = 4000


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
