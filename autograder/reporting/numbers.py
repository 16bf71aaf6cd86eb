"""Numbers under one another: the tensors of a report, so that its columns line up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

LONGEST = 96  # characters of one tensor
_LIST = re.compile(r"\[(?P<items>[^\]]*)\](?: \(shape (?P<shape>[^)]*)\))?", re.DOTALL)


class Numbers(NamedTuple):
    """A line of a table: whose numbers they are, their shape where it does not show, the numbers."""

    name: str
    shape: str
    text: str


def aligned(named: Mapping[str, str]) -> tuple[Numbers, ...]:
    """The values by name, in words ("[0.25, -1.5, …] (shape 3×4)"), with columns that line up."""
    lists = {name: _LIST.fullmatch(" ".join(text.split())) for name, text in named.items()}
    items = {name: found["items"].split(", ") for name, found in lists.items() if found}
    wide = [max(map(len, column)) for column in zip_longest(*items.values(), fillvalue="")]
    shown = []
    for name, found in lists.items():
        if found is None:
            shown.append(Numbers(name, "", " ".join(named[name].split())))
            continue
        columns = [n.rjust(width) for n, width in zip(items[name], wide, strict=False)]
        sizes = (found["shape"] or "").split("×")
        shape = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})" if sizes[0] else ""
        shown.append(Numbers(name, shape, f"[{', '.join(columns)}]"))
    return tuple(n._replace(text=_cut(n.text)) for n in shown)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
