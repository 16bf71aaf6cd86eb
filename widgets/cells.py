"""A tensor as a grid of cells: its rows and columns kept, what is left out of a large one said."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from widgets.trace import Snapshot
from widgets.wording import number

MOST_ROWS, MOST_COLUMNS = 6, 5  # of a matrix
MOST_LONG = 12  # of a vector, which stands upright where nothing but vectors is drawn
LETTERS = 6  # what fits into a cell
SHARED, OWN, FREED = "shared", "own", "freed"


@dataclass(frozen=True)
class Cells:
    """The numbers of a tensor, row by row; what is too large is cropped, and `note` says so.

    caption  what it is: "value", "gradient"
    tints    −100 to 100: the hue tells the sign, the depth the size within this tensor
    upright  a vector, a number in each row
    """

    caption: str
    texts: tuple[tuple[str, ...], ...]
    tints: tuple[tuple[int, ...], ...]
    note: str = ""
    upright: bool = False

    @property
    def rows(self) -> int:
        return len(self.texts)

    @property
    def columns(self) -> int:
        return max(map(len, self.texts), default=0)


@dataclass(frozen=True)
class Kept:
    """A tensor in the tray between forward and backward.

    words  two short lines: what it is kept as and is, and its bytes
    state  SHARED with an input or output, its OWN memory, or FREED
    """

    cells: Cells
    words: tuple[str, str]
    state: str

    @property
    def name(self) -> str:
        """What it is kept as."""
        return self.words[0].split(":")[0]


def cells_of(caption: str, value: Any, upright: bool = False) -> tuple[Cells, ...]:
    """The grid of a recorded tensor or a tensor; nothing for what has no numbers to show."""
    if isinstance(value, Tensor):
        flat, whole = value.detach().reshape(-1), tuple(value.shape)
    elif isinstance(value, Snapshot) and value.values is not None:
        flat, whole = value.values.reshape(-1), value.shape
    else:
        return ()
    if not math.prod(whole):
        return (Cells(caption, (("–",),), ((0,),), f"empty, {_written(whole)}"),)
    across = whole[-1] if whole else 1
    rows, columns = math.prod(whole) // across, across
    lines = [flat[r * columns : r * columns + min(columns, MOST_LONG)] for r in range(rows)]
    lines = [line for line in lines[: MOST_ROWS if columns > 1 else MOST_LONG] if len(line)]
    if rows > 1 and columns > MOST_COLUMNS:
        lines = [line[:MOST_COLUMNS] for line in lines]
    if upright and rows == 1:
        lines = [line.reshape(1) for line in lines[0]]
    elif rows == 1:
        lines = [lines[0][: MOST_COLUMNS + 1]]
    shown = sum(map(len, lines))
    note = "" if shown == math.prod(whole) else f"{shown} of {_written(whole)}"
    grid = _grid(caption, [line.tolist() for line in lines], note)
    return (replace(grid, upright=upright and rows == 1),)


def cell_text(value: Any) -> str:
    """A number in at most six letters: "−0.25", "1e−8", "True"."""
    if isinstance(value, bool | complex):
        return str(value)[:LETTERS]
    if isinstance(value, int):
        value = float(value)
    if not math.isfinite(value):
        return number(value)
    for digits in (3, 2):
        text = number(float(f"{value:.{digits}g}"))
        if len(text) <= LETTERS and "e" not in text:
            return text
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}".replace("-", "−")


def upright(values: Sequence[Any]) -> bool:
    """Whether vectors stand upright: where no tensor has rows and columns of its own."""
    return all(len(getattr(value, "shape", ())) <= 1 for value in values)


def _grid(caption: str, lines: Sequence[Sequence[Any]], note: str) -> Cells:
    sizes = [abs(v) for line in lines for v in line if _finite(v)]
    largest = max(sizes, default=0) or 1

    def tint(value: Any) -> int:
        if isinstance(value, complex) or not _finite(value) or not value:
            return 0
        return round(math.copysign(15 + 85 * abs(value) / largest, value))

    return Cells(
        caption,
        tuple(tuple(map(cell_text, line)) for line in lines),
        tuple(tuple(map(tint, line)) for line in lines),
        note,
    )


def _finite(value: Any) -> bool:
    return math.isfinite(abs(value))


def _written(whole: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, whole)) + ")"
