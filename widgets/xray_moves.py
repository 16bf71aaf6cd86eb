"""Numbers of a run that can be moved: those of its inputs, and those of the upstream gradients."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from widgets.cells import Cells
from widgets.steps import END, LEAF, Move, Part, Walk
from widgets.trace import Snapshot, Trace

Moved = Mapping[tuple[str, int], float]


def output_names(count: int) -> list[str]:
    """What outputs are called in the graph."""
    return ["output"] if count == 1 else [f"output {i}" for i in range(count)]


def fresh(values: Sequence[Any], names: Sequence[str], moved: Moved) -> list[Any]:
    """New tensors with these values, and the moved numbers in them."""
    made: list[Any] = []
    for position, value in enumerate(values):
        if isinstance(value, nn.Module):
            value.zero_grad()  # of an earlier run
        if isinstance(value, Tensor):
            copy = value.detach().clone()
            for (name, index), number in moved.items():
                if position < len(names) and names[position] == name:
                    copy[_place(copy, index)] = number
            value = copy.requires_grad_(value.requires_grad)
        made.append(value)
    return made


def movable(walk: Walk, known: Mapping[str, object], trace: Trace, order: int) -> Walk:
    """The walk with the numbers that can be moved: those that are drawn and have a fraction."""
    starts = [event for event in trace.events if event.kind == "starts"][: 2 - order]
    ends = [part for part in walk.parts if part.kind == END]
    shots = starts[0].gradients if starts else []
    moves = [move for part in walk.parts for move in _of_leaf(walk, part, known)]
    for part, shot in zip(ends, shots, strict=False):
        moves += _moves(walk, part, "backward", f"gradient at {part.label}", whole(shot))
    return replace(walk, moves=tuple(moves))


def whole(shot: Any) -> Tensor | None:
    """The values of a recorded tensor in its shape; None where not all were kept."""
    if not isinstance(shot, Snapshot) or shot.values is None:
        return None
    complete = shot.values.numel() == torch.Size(shot.shape).numel()
    return shot.values.reshape(shot.shape) if complete else None


def _of_leaf(walk: Walk, part: Part, known: Mapping[str, object]) -> list[Move]:
    value = known.get(part.label)
    if part.kind != LEAF or not isinstance(value, Tensor):
        return []
    return _moves(walk, part, "forward", part.label, value.detach())


def _moves(walk: Walk, part: Part, kind: str, name: str, value: Tensor | None) -> list[Move]:
    """One for each cell that is drawn of a tensor."""
    drawn = [
        getattr(step, kind)[part.key] for step in walk.steps if part.key in getattr(step, kind)
    ]
    if not drawn or value is None or not value.is_floating_point():
        return []
    return moves_of(part, kind, name, value, drawn[0][0])


def moves_of(part: Part, kind: str, name: str, value: Tensor, cells: Cells) -> list[Move]:
    """One for each cell of a tensor that is drawn in a box."""
    across = value.shape[-1] if value.dim() else 1
    stands = value.dim() == 1 and cells.columns == 1
    found = []
    for row, line in enumerate(cells.texts if value.numel() else ()):
        for column in range(len(line)):
            place = _place(value, index := row if stands else row * across + column)
            label = f"{name}[{', '.join(str(int(i)) for i in place)}]" if value.dim() else name
            number = value[place].item()
            found.append(Move(part.key, kind, (row, column), part.label, index, label, number))
    return found


def _place(value: Tensor, index: int) -> tuple[Tensor, ...]:
    return torch.unravel_index(torch.tensor(index), value.shape)
