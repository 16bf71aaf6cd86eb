"""checkpoint_sequential: in which order the layers run in forward, and what each of them gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Sampler
from autograder.exercises.second_order import Verdict

_COUNTS = ((6, 3), (7, 3))
_X = 0  # what layers get is numbered: 0 is x, i the output of layer i
_OTHER = -1


def run_order(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The layers that forward runs, in order: [number, whether grad mode is on, what it gets]."""
    cuts = []
    for count, segments in _COUNTS:
        leaf = s.normal(2, 3).requires_grad_(True)
        log: list[list[int]] = []
        made = {leaf.data_ptr(): _X}
        held: list[Tensor] = []  # no address is used twice while all outputs are alive

        def layer(number: int, log: Any = log, made: Any = made, held: Any = held) -> Any:
            def run(h: Tensor) -> Tensor:
                log.append([number, int(torch.is_grad_enabled()), made.get(h.data_ptr(), _OTHER)])
                held.append(h + 1.0)
                made[held[-1].data_ptr()] = number
                return held[-1]

            return run

        submission([layer(number) for number in range(1, count + 1)], segments, leaf)
        cuts.append({"count": count, "segments": segments, "log": log})
    return {"cuts": cuts}


def judge_order(data: dict[str, Any]) -> Verdict:
    """Every layer runs once, in order, on the output of the one before."""
    for cut in data["cuts"]:
        order = [number for number, _, _ in cut["log"]]
        if not order:
            return None
        if order != list(range(1, cut["count"] + 1)):
            said = _one_of_each(data["cuts"]) or _words_of_order(cut, order)
            where = f"With {cut['count']} layers in {cut['segments']} segments forward runs"
            return f"{said[0]} {where} {_joined(order)}.", said[1], {"ran": _joined(order)}
        if wrong := _words_of_inputs(cut):
            return wrong
    return None


def _joined(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _layers(numbers: list[int], verb: str = "") -> str:
    """ "layer 3 runs", "layers 3 and 5 run": the verb in the form of one ("runs") is for one."""
    if len(numbers) == 1:
        return f"layer {numbers[0]} {verb}".strip()
    words = f"layers {_joined(numbers[:-1])} and {numbers[-1]}"
    return f"{words} {verb.removesuffix('s')}".strip()


def _pieces(order: list[int]) -> list[list[int]]:
    """The order, cut where it does not go on with the next layer."""
    pieces = [order[:1]]
    for number in order[1:]:
        if number == pieces[-1][-1] + 1:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return pieces


_NEIGHBOURS = (
    "A slice layers[a:b] ends before b, and the next one begins at b: the boundaries i · count // segments, "
    "each of them the end of one segment and the start of the next."
)


def _one_of_each(cuts: list[dict[str, Any]]) -> tuple[str, str] | None:
    """What is said where as many layers run as there are segments, whatever their number and no two neighbours."""
    for cut in cuts:
        order = [number for number, _, _ in cut["log"]]
        if len(_pieces(order)) != cut["segments"] or len(order) != cut["segments"]:
            return None
        if order != sorted(order):
            return None
    return (
        "One layer of each segment runs, the others never.",
        "A return inside the loop over a segment's layers ends it after the first: it belongs after the loop.",
    )


def _words_of_order(cut: dict[str, Any], order: list[int]) -> tuple[str, str]:
    count, segments, pieces = cut["count"], cut["segments"], _pieces(order)
    every = list(range(1, count + 1))
    missing = [i for i in every if i not in order]
    often = [i for i in every if order.count(i) > 1]
    if not missing and not often:
        return _words_of_permuted(segments, order, pieces)
    if not missing:
        return _words_of_repeated(cut, order, pieces, often)
    if len(pieces) > 1 and all(p == pieces[0] and p[-1] == count for p in pieces):
        return (
            "Every function runs the last segment: functions made in a loop look their variable up when they "
            "are called, after the loop.",
            "Bind the segment when the function is made: a helper that takes the layers and returns the "
            "function, functools.partial, or a default argument.",
        )
    if often:
        return (
            f"{_layers(often, 'runs').capitalize()} more than once, {_layers(missing, 'never runs')}.",
            "Print the numbers at which each segment begins and ends. " + _NEIGHBOURS,
        )
    said = f"{_layers(missing, 'never runs')}:".capitalize()
    if missing == every[-len(missing) :]:
        return (
            f"{said} the last layers are left out.",
            "The last segment ends at the last layer, also where the layers do not divide evenly: the "
            "boundaries are i · count // segments for i = 0 … segments. A return inside the loop ends it.",
        )
    if all(i - 1 in order for i in missing) and len(pieces) > 1:
        return (
            f"{said} layers at the boundaries of segments are left out.",
            f"{_NEIGHBOURS} (A return inside the loop over a segment's layers ends it, too.)",
        )
    return (
        said.removesuffix(":") + ".",
        f"{_NEIGHBOURS} A return inside the loop over a segment's layers ends it after the first.",
    )


def _words_of_permuted(segments: int, order: list[int], pieces: list[list[int]]) -> tuple[str, str]:
    count = len(order)
    if order == list(range(count, 0, -1)):
        return "The layers run in the reverse order.", "First layers[0], then layers[1], …"
    if order == [i + 1 for start in range(segments) for i in range(start, count, segments)]:
        return (
            f"Each segment has layers that lie {segments} apart; they should stand next to each other.",
            "layers[i::segments] goes in steps of segments. layers[start:stop] takes what lies between.",
        )
    if [i for piece in pieces[::-1] for i in piece] == sorted(order):
        return (
            "The segments run in the reverse order, the last one first.",
            "The segment with layers[0] is the first: it gets x.",
        )
    return "The layers run in another order.", "First layers[0], then layers[1], …"


def _words_of_repeated(
    cut: dict[str, Any], order: list[int], pieces: list[list[int]], often: list[int]
) -> tuple[str, str]:
    count, segments = cut["count"], cut["segments"]
    if len(pieces) == segments and all(p == list(range(1, count + 1)) for p in pieces):
        return (
            "All layers run in every segment.",
            "A segment has layers of its own: layers[start:stop].",
        )
    if len(pieces) == segments and all(piece[0] == 1 for piece in pieces):
        return (
            "Every segment begins with the first layer again.",
            "A segment begins where the one before ended: layers[start:stop], not layers[:stop].",
        )
    if len(pieces) == segments and all(piece[-1] == count for piece in pieces):
        return (
            "Every segment runs on to the last layer.",
            "A segment ends where the next one begins: layers[start:stop], not layers[start:].",
        )
    modes = {mode for number, mode, _ in cut["log"] if number in often}
    if len(often) == count and modes == {0, 1}:
        return (
            "Every layer runs twice: once outside of a Checkpoint, with its graph, and once inside.",
            "Hand the function of the segment to Checkpoint.apply, and do not call it yourself.",
        )
    times = f"{order.count(often[0])} times" if order.count(often[0]) != 2 else "twice"
    said = f"{_layers(often, 'runs').capitalize()} {times}"
    if len(often) < count and len(often) <= segments:
        return f"{said}: neighbouring segments share a layer.", _NEIGHBOURS
    return f"{said}.", "Every layer runs once in forward. " + _NEIGHBOURS


def _words_of_inputs(cut: dict[str, Any]) -> Verdict:
    """What a layer gets that is not the output of the one before; what is copied on the way is not known."""
    for number, _, source in cut["log"]:
        if source in (number - 1, _OTHER):
            continue
        got = "x" if source == _X else f"the output of layer {source}"
        begins = source == _X and number > 2
        return (
            f"Every layer runs once and in order, but layer {number} gets {got}, not the output of layer "
            f"{number - 1} (with {cut['count']} layers in {cut['segments']} segments).",
            "A segment gets the output of the one before: x = Checkpoint.apply(…, x)."
            if begins
            else "Inside a segment each layer gets the output of the one before: h = layer(h). And a segment "
            "gets that of the segment before: x = Checkpoint.apply(…, x).",
            {"layer": number},
        )
    return None
