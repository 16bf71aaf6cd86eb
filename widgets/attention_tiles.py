"""Attention tile by tile: what has been seen of the weights, and the three things a query keeps.

m is the largest score so far, s the sum of exp(score − m), o the output so far. The output is that of
the learner's own attention for the keys seen up to a tile.
"""

import torch
from torch import Tensor

from widgets.attention_head import BLOCK, Head, OwnAttention, is_causal, two_digits
from widgets.explorer import Frame, Grid, Sweep, short
from widgets.wording import number

OUTPUTS = 2  # features of the output that are shown
Names = tuple[tuple[str, ...], tuple[str, ...]]


def sweep_of_tiles(
    own: OwnAttention, head: Head, q: Tensor, k: Tensor, v: Tensor, names: Names
) -> Sweep:
    """One frame a tile, queries outside and keys inside, as FlashAttention-2 has it."""
    queries, keys = head.scores.shape
    places = [(i, j) for i in range(0, queries, BLOCK) for j in range(0, keys, BLOCK)]
    kept: dict[int, tuple[float, float, list[float]]] = {}
    frames = [_frame(own, head, (q, k, v), names, place, kept) for place in places]
    return Sweep(
        name=f"{head.name}, tile by tile",
        frames=tuple(frames),
        status="{0}",
        head=("query", "m before", "m now", "what was summed is multiplied by", "s now"),
        rows=tuple((f"{{{1 + 5 * i}}}", *(f"{{{2 + 5 * i + part}}}" for part in range(4)))
                   for i in range(BLOCK)),
    )  # fmt: skip


def _frame(
    own: OwnAttention,
    head: Head,
    qkv: tuple[Tensor, Tensor, Tensor],
    names: Names,
    place: tuple[int, int],
    kept: dict[int, tuple[float, float, list[float]]],
) -> Frame:
    """The state after one tile; `kept` is m, s and o of every query so far, and is updated."""
    (top, left), (rows, columns) = place, names
    scores = head.scores.masked_fill(~head.allowed, -torch.inf)
    end, seen = min(top + BLOCK, len(scores)), min(left + BLOCK, scores.shape[1])
    q, k, v = (one.detach().double().cpu() for one in qkv)
    allowed = head.allowed[:end, :seen]
    output = own(q[:end], k[:seen], v[:seen], allowed, is_causal(head.allowed)).detach()
    table: list[str] = []
    for i in range(top, end):
        before = kept.get(i, (-torch.inf, 0.0, []))
        m = scores[i, :seen].max().item()
        empty = m == -torch.inf
        s = 0.0 if empty else (scores[i, :seen] - m).exp().sum().item()
        kept[i] = (m, s, output[i, :OUTPUTS].tolist())
        factor = 0.0 if before[0] == -torch.inf else torch.tensor(before[0] - m).exp().item()
        table += [
            rows[i],
            number(short(before[0])),
            number(short(m)),
            number(short(factor)),
            number(short(s)),
        ]
    table += ["–"] * (5 * BLOCK - len(table))
    said = (
        f"queries {rows[top]} to {rows[end - 1]} meet keys {columns[left]} to {columns[seen - 1]}. "
        "Each query keeps m, s and o, and no row of scores."
    )
    grids = (_weights(head, scores, kept, place, names), _state(kept, rows))
    tile = f"tile ({top // BLOCK}, {left // BLOCK})"
    return Frame(tile, (said, *table), grids=grids)


def _weights(
    head: Head, scores: Tensor, kept: dict[int, tuple[float, float, list[float]]],
    place: tuple[int, int], names: Names,
) -> Grid:  # fmt: skip
    """exp(score − m) / s where a tile has been; the tile at hand, with these m and s, is the latest."""
    (top, left), (rows, columns) = place, names
    values, texts = [], []
    for i in range(len(rows)):
        until = len(columns) if i < top else min(left + BLOCK, len(columns)) if i in kept else 0
        m, s, _ = kept.get(i, (0.0, 1.0, []))
        shares = [(scores[i, j] - m).exp().item() / s if s else 0.0 for j in range(until)]
        marks = [two_digits(v) if head.allowed[i, j] else "✕" for j, v in enumerate(shares)]
        rest = len(columns) - until
        values.append((*map(short, shares), *[0.0] * rest))
        texts.append((*marks, *["·"] * rest))
    return Grid(
        "Weights so far (· not yet seen)",
        "key",
        "query",
        columns,
        rows,
        tuple(values),
        tuple(texts),
    )


def _state(kept: dict[int, tuple[float, float, list[float]]], rows: tuple[str, ...]) -> Grid:
    """m, s and the first numbers of o, a query a row."""
    width = max(len(o) for _, _, o in kept.values())
    columns = ("m", "s", *(f"o[{i}]" for i in range(width)))
    values, texts = [], []
    for i in range(len(rows)):
        m, s, o = kept.get(i, (0.0, 0.0, [0.0] * width))
        numbers = [0.0 if m == -torch.inf else m, s, *o]
        values.append(tuple(map(short, numbers)))
        texts.append(tuple(two_digits(n) if i in kept else "·" for n in numbers))
    return Grid(
        "What each query keeps", "kept", "query", columns, rows, tuple(values), tuple(texts)
    )
