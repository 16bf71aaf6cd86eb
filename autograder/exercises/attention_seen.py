"""Which keys a wrong tiling of attention looks at, as learners really write it (lesson 07).

The same slip can be made in forward, in backward or in both, so it is written down once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from autograder.exercises.attention_positions import Positions, Tiling


@dataclass(frozen=True)
class Seen:
    """A wrong choice of keys.

    what       a clause that begins a sentence, or follows "In backward "
    positions  bool, (queries, keys): True where the score counts
    masked     the others are −inf; False: no tile covers them
    """

    what: str
    hint: str
    positions: Positions
    masked: bool = True


def _if_causal(positions: Positions) -> Positions:
    return lambda t: positions(t) if t.causal else t.all()


def _and_skipped(positions: Positions) -> Positions:
    """The same where the tiles of the future are left out besides."""
    return lambda t: positions(t) & t.not_skipped()


def _both(what: str, hint: str, positions: Positions) -> tuple[Seen, Seen]:
    """A wrong causal mask, in an answer that leaves out whole tiles of the future or does not."""
    masked = _if_causal(positions)
    return Seen(what, hint, masked), Seen(what, hint, _and_skipped(masked))


_FROM_THE_WHOLE = (
    "Row i of the tile is query rows.start + i, and so for the columns: compare those."
)
_SMALLER = "Query i attends to keys 0 … i: column <= row."
_REST = (
    "range(0, size, block_size) and slices: a slice that reaches beyond the end is simply shorter."
)


def _causal_masks() -> Iterator[Seen]:
    """Wrong causal masks inside the tiles."""
    yield from _both(
        "the causal mask is aligned bottom-right where L and S differ.",
        "The contract is torch's: top-left. Query i attends to keys 0 … i, counted from the start of both.",
        lambda t: t.column <= t.row + t.keys - t.queries,
    )
    yield from _both(
        "the causal mask leaves out the diagonal.",
        f"Query i may attend to key i too. {_SMALLER}",
        lambda t: t.column < t.row,
    )
    yield from _both(
        "the causal mask lets each query see one key too many.",
        _SMALLER,
        lambda t: t.column <= t.row + 1,
    )
    yield from _both(
        "the causal mask is made from positions inside the tile, not in the whole.",
        _FROM_THE_WHOLE,
        lambda t: t.column % t.block <= t.row % t.block,
    )
    yield from _both(
        "the causal mask counts the queries from the start of the tile, the keys from the start of the whole.",
        _FROM_THE_WHOLE,
        lambda t: t.column <= t.row % t.block,
    )
    yield from _both(
        "the causal mask counts the keys from the start of the tile, the queries from the start of the whole.",
        _FROM_THE_WHOLE,
        lambda t: t.column % t.block <= t.row,
    )
    yield from _both(
        "the causal mask is the wrong way round: each query sees the keys from its own on.",
        f"masked_fill fills where its mask is True. {_SMALLER}",
        lambda t: t.column >= t.row,
    )
    yield from _both(
        "the causal mask is the wrong way round: each query sees the keys after its own.",
        f"masked_fill fills where its mask is True. {_SMALLER}",
        lambda t: t.column > t.row,
    )
    yield Seen(
        "causal is ignored inside a tile: only whole tiles of the future are left out.",
        "A tile on the diagonal holds keys of the future too: mask its scores by the positions of its rows "
        "and columns in the whole.",
        lambda t: t.not_skipped(),
    )
    yield Seen(
        "the tiles of the future are neither masked nor left out with causal=True: only those on the "
        "diagonal are masked.",
        "Mask every tile by positions in the whole, or leave out those whose first key lies after their last "
        "query.",
        _if_causal(lambda t: (t.column <= t.row) | (t.column_tile != t.row_tile)),
    )


def _too_early() -> Iterator[Seen]:
    """Tiles that hold visible keys are left out with causal=True, by each comparison one may write."""

    def stop(tile: Tensor, block: int, size: int | None) -> Tensor:
        end = (tile + 1) * block
        return end if size is None else end.clamp(max=size)

    def left(t: Tiling, key: str, query: str, equal: bool) -> Tensor:
        keys = {
            "start": t.column_tile * t.block,
            "stop": stop(t.column_tile, t.block, t.keys),
            "end": stop(t.column_tile, t.block, None),
        }[key]
        rows = {
            "start": t.row_tile * t.block,
            "stop": stop(t.row_tile, t.block, t.queries),
            "end": stop(t.row_tile, t.block, None),
        }[query]
        return keys >= rows if equal else keys > rows

    def positions(key: str, query: str, equal: bool) -> Positions:
        return _if_causal(lambda t: (t.column <= t.row) & ~left(t, key, query, equal))

    for key, query, equal in (
        ("start", "start", True), ("stop", "stop", False), ("stop", "stop", True), ("end", "end", True),
        ("end", "stop", False), ("end", "stop", True), ("stop", "end", True), ("stop", "start", False),
    ):  # fmt: skip
        yield Seen(
            "a tile that holds visible keys is left out with causal=True.",
            "Leave a tile out only where its first key lies after its last query: keys.start >= rows.stop.",
            positions(key, query, equal),
            masked=False,
        )


def _left_out(what: str, hint: str, positions: Positions) -> Seen:
    """Blocks of keys or queries that no tile covers, with causal and without."""
    return Seen(what, hint, lambda t: t.right() & positions(t), masked=False)


def _blocks() -> Iterator[Seen]:
    """Loops that do not reach every block."""

    def whole(size: int, block: int) -> int:
        return size // block * block

    def up(size: int, block: int) -> int:
        return -(-size // block) * block

    yield _left_out(
        "the last keys are left out where block_size does not divide S.",
        _REST,
        lambda t: t.column < whole(t.keys, t.block),
    )
    yield _left_out(
        "the last queries are left out where block_size does not divide L.",
        _REST,
        lambda t: t.row < whole(t.queries, t.block),
    )
    yield _left_out(
        "the last block is left out where block_size does not divide L or S.",
        _REST,
        lambda t: (t.column < whole(t.keys, t.block)) & (t.row < whole(t.queries, t.block)),
    )
    count = "L counts the queries, S the keys: range(0, S, block_size) gives the starts of the blocks of keys."
    yield _left_out(
        "the blocks of keys are counted by L, the number of queries.",
        count,
        lambda t: t.column < up(t.queries, t.block),
    )
    yield _left_out(
        "the keys are counted by L, the number of queries.",
        count,
        lambda t: t.column < t.queries,
    )
    yield _left_out(
        "the blocks of queries are counted by S, the number of keys.",
        count,
        lambda t: t.row < up(t.keys, t.block),
    )
    yield _left_out(
        "the queries are counted by S, the number of keys.",
        count,
        lambda t: t.row < t.keys,
    )
    every = "Two loops: for each block of queries, over all blocks of keys."
    yield _left_out(
        "each block of queries meets one block of keys only.",
        every,
        lambda t: t.column_tile == t.row_tile,
    )
    yield _left_out(
        "only the first block of keys is used.",
        f"{every} Look at what ends the inner loop early: a return or a break.",
        lambda t: t.column_tile == 0,
    )
    yield _left_out(
        "the first block of keys is left out.",
        every,
        lambda t: t.column_tile > 0,
    )
    yield _left_out(
        "the last block of keys is left out, whatever block_size is.",
        _REST,
        lambda t: t.column < up(t.keys, t.block) - t.block,
    )
    yield _left_out(
        "the last block of queries is left out, whatever block_size is.",
        _REST,
        lambda t: t.row < up(t.queries, t.block) - t.block,
    )
    yield _left_out(
        "the last block of queries and the last block of keys are left out, whatever block_size is.",
        _REST,
        lambda t: (
            (t.row < up(t.queries, t.block) - t.block) & (t.column < up(t.keys, t.block) - t.block)
        ),
    )
    yield _left_out(
        "only the first block of queries is computed.",
        f"{every} Look at what ends the outer loop early: a return inside it.",
        lambda t: t.row_tile == 0,
    )
    yield _left_out(
        "only the first tile is computed.",
        f"{every} Look at what ends the loops early: a return inside them.",
        lambda t: (t.row_tile == 0) & (t.column_tile == 0),
    )


WRONG_KEYS = (
    Seen(
        "causal is ignored.",
        "With causal=True query i attends to keys 0 … i only. Make the mask of a tile from the positions "
        "of its rows and columns in the whole.",
        lambda t: t.all(),
    ),
    Seen(
        "it is causal always, with causal=False too.",
        "Mask only where causal is True.",
        lambda t: t.column <= t.row,
    ),
    Seen(
        "causal is turned round: True gives what False asks for.",
        "Look at the condition that asks for causal.",
        lambda t: t.all() if t.causal else t.column <= t.row,
    ),
    *_causal_masks(),
    *_too_early(),
    *_blocks(),
)
