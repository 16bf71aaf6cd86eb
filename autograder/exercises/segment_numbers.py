"""checkpoint_sequential: how many segments come out, how long they are, and which rule made them so."""

from __future__ import annotations

from typing import Any

from autograder.exercises.second_order import Verdict
from autograder.exercises.segment_experiments import cut_words


def _working_segments(cut: dict[str, Any]) -> int:
    """How many segments have layers: in backward the last one runs again first, each in its order."""
    ran = [number for number, _ in cut["backward"]]
    return sum(i == 0 or number <= ran[i - 1] for i, number in enumerate(ran))


def _sizes(cut: dict[str, Any]) -> list[int]:
    """How many layers each segment has, from the first to the last."""
    sizes: list[int] = []
    ran = [number for number, _ in cut["backward"]]
    for i, number in enumerate(ran):
        if i == 0 or number <= ran[i - 1]:
            sizes.append(0)
        sizes[-1] += 1
    return sizes[::-1]


def _filled(count: int, size: int) -> list[int]:
    """The sizes of segments of ``size`` layers each, with the rest in the last."""
    return [min(size, count - start) for start in range(0, count, size)]


def _misread(cuts: list[dict[str, Any]]) -> tuple[str, str] | None:
    """A number of segments that comes of one rule in all cuts: (message, hint)."""
    every = [(cut["count"], cut["segments"], _sizes(cut)) for cut in cuts]
    wrong = next((c for c in cuts if len(_sizes(c)) != c["segments"]), None)
    if wrong is None:
        return None
    where, sizes = f"with {cut_words(wrong)}", ", ".join(map(str, _sizes(wrong)))
    between = (
        "The boundaries i · count // segments for i = 0 … segments give exactly that many segments, and "
        "none is empty."
    )
    if all(sizes == _filled(count, segments) for count, segments, sizes in every):
        return (
            f"segments is taken for the number of layers in a segment; it is the number of segments: {where} "
            f"the segments have {sizes} layers.",
            f"How many layers a segment has follows from it: about count / segments. {between}",
        )
    if all(sizes == _filled(count, -(-count // segments)) for count, segments, sizes in every):
        empty = len(wrong["nodes"]) - len(_sizes(wrong))
        few = (
            f"of {len(wrong['nodes'])} Checkpoints {empty} {'have' if empty > 1 else 'has'} no layers"
            if empty
            else "too few come out"
        )
        return (
            f"The size of a segment is rounded up, so that {few}: {where} they have {sizes} layers.",
            f"Layers need not divide evenly. {between}",
        )
    if all(sizes == _filled(count, count // segments) for count, segments, sizes in every):
        return (
            "The size of a segment is rounded down, and what is left over becomes one segment more: "
            f"{where} they have {sizes} layers.",
            f"Layers need not divide evenly. {between}",
        )
    if all(len(sizes) == min(segments + 1, count) for count, segments, sizes in every):
        return (
            f"There is one segment too many: {where} there are {len(_sizes(wrong))}.",
            "Between segments + 1 boundaries lie segments: range(segments) counts them, and the boundaries are "
            "i · count // segments.",
        )
    return None


def judge_number_of_segments(data: dict[str, Any]) -> Verdict:
    """As many Checkpoints as segments were asked for, and none of them empty."""
    for cut in data["cuts"]:
        again = [number for number, _ in cut["backward"]]
        if (times := max(map(again.count, again), default=0)) > 1:
            return (
                f"With {cut_words(cut)} layer {max(again, key=again.count) + 1} runs {'twice' if times == 2 else f'{times} times'} in "
                "backward, where once is enough: a Checkpoint runs inside of another one.",
                "The segments stand one after another: what is inside a segment is called as it is, and its "
                "output goes to the next Checkpoint.apply.",
                {"runs": times},
            )
    if said := _misread(data["cuts"]):
        return *said, {}
    if all(len(cut["nodes"]) == cut["count"] for cut in data["cuts"]):
        return (
            "Every layer is a Checkpoint of its own, however many segments are asked for.",
            "A segment is several layers in one function: it keeps one input for all of them. Cut the "
            "layers at i · count // segments for i = 0 … segments.",
            {"layers": data["cuts"][0]["count"], "segments": data["cuts"][0]["segments"]},
        )
    for cut in data["cuts"]:
        made, working = len(cut["nodes"]), _working_segments(cut)
        if made == working == cut["segments"]:
            continue
        hint = (
            "Layers need not divide evenly. Boundaries such as i · count // segments for i = 0 … "
            "segments give exactly that many segments, and none is empty."
        )
        if made == cut["segments"]:
            return (
                f"With {cut_words(cut)} only {working} of the {made} Checkpoints have layers.",
                f"An empty segment saves nothing, and the others are longer for it. {hint}",
                {"layers": cut["count"], "segments": cut["segments"], "working": working},
            )
        return (
            f"With {cut_words(cut)} there {'is' if made == 1 else 'are'} {made} "
            f"Checkpoint{'' if made == 1 else 's'}; {cut['segments']} are asked for.",
            hint,
            {"layers": cut["count"], "segments": cut["segments"], "made": made},
        )
    return None
