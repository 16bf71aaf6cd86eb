"""Experiments on checkpoint_sequential: which layers run when, what is kept, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.measuring import RANDOM_STATE_BYTES, called_from
from autograder.exercises.recomputing import explained, judge_graph
from autograder.exercises.second_order import Verdict
from autograder.materials import has_custom_node
from autograder.reentry import ENDLESS
from autograder.storages import Storages

_COUNTS = ((6, 3), (7, 3), (5, 4), (4, 1), (3, 3))


class _Watched(torch.nn.Module):
    """A layer with a parameter that notes its calls, whether grad mode was on, and maybe who called."""

    def __init__(self, number: int, weight: Tensor, log: list[list[int]], callers: bool):
        super().__init__()
        self.number, self.log = number, log
        self.weight = torch.nn.Parameter(weight)
        self.ready_made, self.callers = False, callers

    def forward(self, x: Tensor) -> Tensor:
        self.log.append([self.number, int(torch.is_grad_enabled())])
        if self.callers:  # a walk through all frames
            self.ready_made = self.ready_made or called_from("torch.utils.checkpoint")
        return torch.sin(x * self.weight) + 0.5 * x


def _nodes(output: Tensor, leaf: Tensor) -> tuple[list[str], bool]:
    """The modules and names of the Function classes behind the output, and whether it leads to the leaf."""
    queue: list[Any] = [output.grad_fn]
    seen: set[int] = set()
    found: list[str] = []
    reached = False
    while queue:
        node = queue.pop()
        if node is None or id(node) in seen or len(seen) > 2000:
            continue
        seen.add(id(node))
        reached = reached or getattr(node, "variable", None) is leaf
        if hasattr(node, "_forward_cls"):
            found.append(f"{node._forward_cls.__module__}.{node._forward_cls.__name__}")
        queue += [following for following, _ in node.next_functions]
    return found, reached


@explained
def run_segments(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Several ways to cut: which layers ran when, how many Functions there are, what is kept."""
    return _segments(submission, s, _COUNTS, False)


@explained
def run_one_cut(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The same for a list in one way to cut, and whether torch's own checkpoint is among the callers."""
    made = _segments(submission, s, _COUNTS[1:2], True)
    told = ("count", "segments", "left", "ready_made")  # what is not judged is not handed on
    return {"cuts": [{name: cut[name] for name in told} for cut in made["cuts"]]}


def _segments(
    submission: Callable[..., Any], s: Sampler, counts: Sequence[tuple[int, int]], callers: bool
) -> dict[str, Any]:
    cuts = []
    for count, segments in counts:
        weights = [s.uniform(16, low=0.5, high=1.5) for _ in range(count)]
        log: list[list[int]] = []
        made = [_Watched(i, w, log, callers) for i, w in enumerate(weights)]
        layers = list(made) if count % 2 else torch.nn.Sequential(*made)
        x, g = s.normal(64, 16), s.normal(64, 16)
        leaf = x.clone().requires_grad_(True)
        with Storages() as storages:
            y = submission(layers, segments, leaf)
            kept = storages.alive(leaf, y)
        forward = len(log)
        nodes, reached = _nodes(y, leaf)
        if y.requires_grad:
            (y * g).sum().backward()
        cuts.append(
            {
                "count": count, "segments": segments, "x": x, "g": g, "weights": weights,
                "forward": log[:forward], "backward": log[forward:], "nodes": nodes, "reached": reached,
                "custom": has_custom_node(y), "kept": kept, "one": x.numel() * x.element_size(),
                "ready_made": any(layer.ready_made for layer in made),
                "gradients": [leaf.grad, *(layer.weight.grad for layer in made)],
                "left": len(layers), "requires_grad": y.requires_grad,
            }
        )  # fmt: skip
    return {"cuts": cuts}


def cut_words(cut: dict[str, Any]) -> str:
    plural = "s" if cut["segments"] > 1 else ""
    return f"{cut['count']} layers in {cut['segments']} segment{plural}"


def judge_runs(data: dict[str, Any]) -> Verdict:
    """Forward and backward come to their end."""
    error = data.get("error", "")
    if ENDLESS in error or "appears to not have been used" in error:
        return (
            "The recomputed segment does not start from the argument that Checkpoint gives it.",
            "Let the function of a segment use its own argument alone: def segment(h): … with h. An x from "
            "outside is another tensor by the time that backward calls the function again.",
            {"original": error},
        )
    if "does not require grad" in error:
        return (
            "The recomputation of a segment leaves no graph: something in it switches grad mode off, or "
            "detaches.",
            "Look into the function of a segment for torch.no_grad(), inference_mode, .detach() and .data. "
            "Checkpoint itself runs it under torch.enable_grad() in backward.",
            {"original": error},
        )
    return judge_graph(data)


def judge_layers_left(data: dict[str, Any]) -> Verdict:
    """The caller's layers are left as they were."""
    for cut in data["cuts"]:
        if cut["left"] != cut["count"]:
            return (
                f"Of the {cut['count']} layers that were passed {cut['left']} are left afterwards: the "
                "caller's own list was changed.",
                "pop, del and append change the list that the caller holds. Take slices: layers[a:b].",
                {},
            )
    return None


def judge_own(data: dict[str, Any]) -> Verdict:
    """The learner's own Checkpoint does the work, not torch's."""
    if any(cut["ready_made"] for cut in data["cuts"]):
        return (
            "torch.utils.checkpoint does the work here; this exercise builds it.",
            "Use the Checkpoint that you wrote: x = Checkpoint.apply(run_segment, x).",
            {},
        )
    return None


def judge_every_segment(data: dict[str, Any]) -> Verdict:
    """No layer leaves a graph in forward; the last segment's neither."""
    for cut in data["cuts"]:
        watched = sorted({number for number, grad in cut["forward"] if grad})
        if not watched and (cut["custom"] or not cut["requires_grad"]):
            continue
        missing = [i for i in watched if i in {number for number, _ in cut["backward"]}]
        where = f"With {cut_words(cut)}"
        if len(watched) == cut["count"] or not cut["custom"]:
            return (
                f"{where} no layer runs inside a Checkpoint: all intermediates are kept.",
                "A segment is a function of x: Checkpoint.apply(run_segment, x).",
                {"layers": cut["count"]},
            )
        last = watched[-1] == cut["count"] - 1 and not missing
        ends = watched == list(range(watched[0], watched[-1] + 1)) and not missing
        first = ends and watched[0] == 0
        which = "the last segment is" if last else "some layers are"
        which = "the first segment is" if first else which
        return (
            f"{where} {which} not checkpointed ({_layers(watched)} of {cut['count']}): the intermediates there "
            "are kept.",
            (
                "torch's own checkpoint_sequential leaves the last segment out, this one does not. "
                if last
                else ""
            )
            + "The same line for every segment: x = Checkpoint.apply(…, x).",
            {"layers": cut["count"]},
        )
    return None


def _layers(numbers: list[int]) -> str:
    first, last = numbers[0] + 1, numbers[-1] + 1
    return f"layer {first}" if first == last else f"layers {first} to {last}"


def _gradients(cut: dict[str, Any]) -> list[Tensor]:
    x = cut["x"].clone().requires_grad_(True)
    weights = [w.clone().requires_grad_(True) for w in cut["weights"]]
    y = x
    for weight in weights:
        y = torch.sin(y * weight) + 0.5 * y
    return list(torch.autograd.grad((y * cut["g"]).sum(), [x, *weights]))


def _is_cut_between(cut: dict[str, Any]) -> bool:
    """Whether the last segment alone is in the graph and runs its layers again, each once."""
    again = [number for number, _ in cut["backward"]]
    last = list(range(cut["count"] - len(again), cut["count"]))
    return not cut["reached"] and len(cut["nodes"]) == 1 < cut["segments"] and again == last


def judge_same_layers(data: dict[str, Any]) -> Verdict:
    """In backward every segment runs the layers again that it ran in forward."""
    for cut in data["cuts"]:
        again = [number for number, _ in cut["backward"]]
        if not cut["requires_grad"] or _is_cut_between(cut):  # asked with the gradients
            continue
        if sorted(again) == sorted(number for number, _ in cut["forward"]):
            continue
        distinct = sorted(set(again))
        if len(distinct) == cut["count"]:  # all of them, but not each once: counted elsewhere
            continue
        if not distinct:
            return (
                "What a segment takes its layers from is used up in forward, or emptied before backward: with "
                f"{cut_words(cut)} no layer runs again.",
                "Give each segment a list or a tuple of its layers, its own: list(layers[a:b]). An iterator "
                "(iter, islice, zip, map, a generator) gives each of them once, and pop takes them away.",
                {"ran again": "none"},
            )
        names = ", ".join(str(i + 1) for i in distinct)
        plural = "layers" if len(distinct) > 1 else "layer"
        verb = "run" if len(distinct) > 1 else "runs"
        return (
            "A segment's function runs other layers in backward than in forward: it looks up a variable "
            f"of the loop, and the loop is over. With {cut_words(cut)}, only {plural} {names} {verb} again in "
            "backward.",
            "Bind the segment when the function is made: a helper that takes the layers and returns the "
            "function, functools.partial, or a default argument (lambda h, part=part: …).",
            {"ran again": names},
        )
    return None


def _cut_off(cut: dict[str, Any]) -> tuple[str, str] | None:
    """Where the gradient ends on its way back to x; None where it does not, or nothing is known of it."""
    if not cut["requires_grad"]:
        return (
            "the result has no graph: it is cut off at the end.",
            "Return what the last Checkpoint.apply gives, as it is: no detach, no .data, no torch.no_grad() "
            "around the loop.",
        )
    if not cut["reached"]:
        what = "x is cut off" if not _is_cut_between(cut) else "each segment is cut off"
        where = "before the first segment" if not _is_cut_between(cut) else "from the one before"
        return (
            f"{what} {where}: the graph of the result does not lead back to x.",
            "Hand on x itself, and the output of each segment as it is: no .detach(), no .data, no "
            "torch.tensor(…). Checkpoint makes leaves of its own in backward.",
        )
    wrong = [not close(g, r) for g, r in zip(cut["gradients"], _gradients(cut), strict=True)]
    nothing = [g is None or not bool(g.any()) for g in cut["gradients"]]
    if wrong[0] and nothing == wrong and not wrong[-1]:
        # All that comes after the last one that gets nothing is right: the way ends in between.
        end = max(i for i, each in enumerate(wrong) if each)
        if all(wrong[: end + 1]):
            return (
                f"the gradient ends before layer {end + 1}: that layer and what follows get theirs, all "
                "before it and x get none.",
                "Inside the function of a segment everything stays connected to its argument: no .detach(), "
                "no .data, no torch.no_grad(). And Checkpoint's backward returns what arrives there.",
            )
    return None


def judge_gradients(data: dict[str, Any]) -> Verdict:
    """x and all parameters get right gradients."""
    for cut in data["cuts"]:
        if said := _cut_off(cut):
            return f"With {cut_words(cut)} {said[0]}", said[1], {}
        for place, (got, right) in enumerate(zip(cut["gradients"], _gradients(cut), strict=True)):
            if close(got, right):
                continue
            name = "x" if place == 0 else f"the parameter of layer {place}"
            return (
                f"With {cut_words(cut)} the gradient of {name} is "
                f"{'missing' if got is None else 'wrong'}.",
                "Give each segment the output of the one before, and use nothing from outside but its "
                "own layers.",
                {"actual": "None" if got is None else show(got), "expected": show(right)},
            )
    return None


def judge_kept(data: dict[str, Any]) -> Verdict:
    """One input a segment is kept, and nothing else."""
    for cut in data["cuts"]:
        # x itself is the caller's: the other segments' inputs, and a random state each.
        allowed = (cut["segments"] - 1) * cut["one"] + (cut["segments"] + 1) * RANDOM_STATE_BYTES
        if cut["kept"] > allowed:
            return (
                f"With {cut_words(cut)} {cut['kept']} bytes stay alive after forward; {allowed} are "
                "enough for the segments' inputs and a random state each.",
                "Look whether something holds on to results inside a segment: a list, or a closure.",
                {"kept": cut["kept"], "allowed": allowed},
            )
    return None
