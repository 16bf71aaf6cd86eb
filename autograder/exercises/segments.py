"""checkpoint_sequential of lesson 06: the exercise, its experiments and their judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Case, Exercise, ForwardSlip, Named, Sampler, Scenario
from autograder.exercises.measuring import RANDOM_STATE_BYTES, Storages, called_from
from autograder.exercises.recomputing import explained, judge_graph
from autograder.exercises.second_order import Verdict
from autograder.materials import has_custom_node

LESSON = "06_checkpointing"

# ---- the reference, and what learners compute instead ----------------------------------------


def one_after_another(layers: Any, segments: int, x: Tensor) -> Tensor:
    """All layers in order: the value does not depend on the segments."""
    for layer in layers:
        x = layer(x)
    return x


def _without_the_rest(layers: Any, segments: int, x: Tensor) -> Tensor:
    count = len(layers) // segments * segments
    return one_after_another(list(layers)[:count], segments, x)


def _each_from_x(layers: Any, segments: int, x: Tensor) -> Tensor:
    size = -(-len(layers) // segments)
    return one_after_another(list(layers)[(segments - 1) * size :], 1, x)


# ---- experiments -----------------------------------------------------------------------------

_COUNTS = ((6, 3), (7, 3), (5, 4), (4, 1), (3, 3))


class _Watched(torch.nn.Module):
    """A layer with a parameter that notes its calls and whether grad mode was on."""

    def __init__(self, number: int, weight: Tensor, log: list[list[int]]):
        super().__init__()
        self.number, self.log = number, log
        self.weight = torch.nn.Parameter(weight)
        self.ready_made = False

    def forward(self, x: Tensor) -> Tensor:
        self.log.append([self.number, int(torch.is_grad_enabled())])
        self.ready_made = self.ready_made or called_from("torch.utils.checkpoint")
        return torch.sin(x * self.weight) + 0.5 * x


def _nodes(output: Tensor) -> list[str]:
    """The modules and names of the Function classes between the output and the leaves."""
    queue: list[Any] = [output.grad_fn]
    seen: set[int] = set()
    found: list[str] = []
    while queue:
        node = queue.pop()
        if node is None or id(node) in seen or len(seen) > 2000:
            continue
        seen.add(id(node))
        if hasattr(node, "_forward_cls"):
            found.append(f"{node._forward_cls.__module__}.{node._forward_cls.__name__}")
        queue += [following for following, _ in node.next_functions]
    return found


@explained
def run_segments(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Several ways to cut: which layers ran when, how many Functions there are, what is kept."""
    cuts = []
    for count, segments in _COUNTS:
        weights = [s.uniform(16, low=0.5, high=1.5) for _ in range(count)]
        log: list[list[int]] = []
        layers = torch.nn.Sequential(*(_Watched(i, w, log) for i, w in enumerate(weights)))
        x, g = s.normal(64, 16), s.normal(64, 16)
        leaf = x.clone().requires_grad_(True)
        with Storages() as storages:
            y = submission(layers, segments, leaf)
            kept = storages.alive(leaf, y)
        forward = len(log)
        if y.requires_grad:
            (y * g).sum().backward()
        cuts.append(
            {
                "count": count, "segments": segments, "x": x, "g": g, "weights": weights,
                "forward": log[:forward], "backward": log[forward:], "nodes": _nodes(y),
                "custom": has_custom_node(y), "kept": kept, "one": x.numel() * x.element_size(),
                "ready_made": any(layer.ready_made for layer in layers),
                "gradients": [leaf.grad, *(layer.weight.grad for layer in layers)],
            }
        )  # fmt: skip
    return {"cuts": cuts}


def _cut_words(cut: dict[str, Any]) -> str:
    plural = "s" if cut["segments"] > 1 else ""
    return f"{cut['count']} layers in {cut['segments']} segment{plural}"


def judge_own(data: dict[str, Any]) -> Verdict:
    """The learner's own Checkpoint does the work, not torch's."""
    if "error" in data:
        return judge_graph(data)
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
        if not watched and cut["custom"]:
            continue
        missing = [i for i in watched if i in {number for number, _ in cut["backward"]}]
        where = f"With {_cut_words(cut)}"
        if len(watched) == cut["count"] or not cut["custom"]:
            return (
                f"{where} no layer runs inside a Checkpoint: all intermediates are kept.",
                "A segment is a function of x: Checkpoint.apply(run_segment, x).",
                {"layers": cut["count"]},
            )
        last = watched[-1] == cut["count"] - 1
        which = "the last segment is" if last and not missing else "some layers are"
        return (
            f"{where} {which} not checkpointed (layer {watched[0] + 1} to {watched[-1] + 1} of "
            f"{cut['count']}): the intermediates there are kept.",
            "torch's own checkpoint_sequential leaves the last segment out, this one does not: the "
            "same line for every segment.",
            {"layers": cut["count"]},
        )
    return None


def _working_segments(cut: dict[str, Any]) -> int:
    """How many segments have layers: in backward the last one runs again first, each in its order."""
    ran = [number for number, _ in cut["backward"]]
    return sum(i == 0 or number <= ran[i - 1] for i, number in enumerate(ran))


def judge_number_of_segments(data: dict[str, Any]) -> Verdict:
    """As many Checkpoints as segments were asked for, and none of them empty."""
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
                f"With {_cut_words(cut)} only {working} of the {made} Checkpoints have layers.",
                f"An empty segment saves nothing, and the others are longer for it. {hint}",
                {"layers": cut["count"], "segments": cut["segments"], "working": working},
            )
        return (
            f"With {_cut_words(cut)} there are {made} Checkpoints; {cut['segments']} are asked for.",
            hint,
            {"layers": cut["count"], "segments": cut["segments"], "made": made},
        )
    return None


def _gradients(cut: dict[str, Any]) -> list[Tensor]:
    x = cut["x"].clone().requires_grad_(True)
    weights = [w.clone().requires_grad_(True) for w in cut["weights"]]
    y = x
    for weight in weights:
        y = torch.sin(y * weight) + 0.5 * y
    return list(torch.autograd.grad((y * cut["g"]).sum(), [x, *weights]))


def judge_gradients(data: dict[str, Any]) -> Verdict:
    """x and all parameters get right gradients."""
    if "error" in data:
        return judge_graph(data)
    for cut in data["cuts"]:
        again = sorted({number for number, _ in cut["backward"]})
        for place, (got, right) in enumerate(zip(cut["gradients"], _gradients(cut), strict=True)):
            if close(got, right):
                continue
            if cut["forward"] and again and len(again) < cut["count"] and cut["custom"]:
                names = ", ".join(str(i + 1) for i in again)
                return (
                    f"With {_cut_words(cut)} only layer{'s' if len(again) > 1 else ''} {names} "
                    f"{'run' if len(again) > 1 else 'runs'} again in backward: every recomputation "
                    "runs the same segment.",
                    "A function made in a loop looks its variables up when it is called, and in backward "
                    "the loop is over. Bind the segment when the function is made: a default argument, "
                    "functools.partial, or a helper that returns the function.",
                    {"ran again": names},
                )
            name = "x" if place == 0 else f"the parameter of layer {place}"
            return (
                f"With {_cut_words(cut)} the gradient of {name} is "
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
                f"With {_cut_words(cut)} {cut['kept']} bytes stay alive after forward; {allowed} are "
                "enough for the segments' inputs and a random state each.",
                "Look whether something holds on to results inside a segment: a list, or a closure.",
                {"kept": cut["kept"], "allowed": allowed},
            )
    return None


# ---- the exercise ----------------------------------------------------------------------------


def _case(name: str, layers: Named, segments: int, **more: Any) -> Case:
    return Case(name, lambda s: (layers, segments, s.normal(3, 4)), wants=(2,), **more)


_GOOD = ("output_value",)
_OWN = (*_GOOD, "scenario the Checkpoint is your own")
_CUT = (*_OWN, "scenario every segment is checkpointed, the last one too")

CHECKPOINT_SEQUENTIAL = Exercise(
    name="checkpoint_sequential",
    lesson=LESSON,
    summary="the layers one after another, cut into segments, each of them checkpointed.",
    signature="(layers, segments, x)",
    reference=one_after_another,
    cases=(
        _case("4 layers in 2 segments", Named("wave_layers", (4, 0.7)), 2, visible=True),
        _case("5 layers in 3 segments", Named("wave_layers", (5, 0.6)), 3, visible=True),
        _case("an nn.Sequential of 5 layers in 2 segments", Named("wave_sequential", (5, 0.8)), 2),
        _case("4 layers in 1 segment", Named("wave_layers", (4, 0.9)), 1),
        _case("5 layers in 5 segments", Named("wave_layers", (5, 0.5)), 5),
        _case("a single layer", Named("wave_layers", (1, 0.8)), 1),
    ),
    hints=(
        "A segment is a few layers one after another: a function of one tensor. You have a Function "
        "that takes such a function. What goes in, and what comes out, segment by segment?",
        "Segment i has the layers from i · count // segments up to (i + 1) · count // segments. Make a "
        "function of each with a helper that takes the layers, so that it remembers its own.",
        "def run(part): return a function that applies the layers of part in order. Then for each "
        "segment: x = Checkpoint.apply(run(layers[start:stop]), x).",
    ),
    is_function=True,
    second_order="not-judged",
    gradcheck=False,
    may_use_autograd=True,
    float32=False,
    half=False,
    meta=False,
    forward_slips=(
        ForwardSlip(
            "The layers after the last even segment are left out.",
            "5 layers in 3 segments: 5 // 3 · 3 is 3. The boundaries i · count // segments end at count.",
            _without_the_rest,
        ),
        ForwardSlip(
            "Every segment starts from the original x; only the last one is seen in the result.",
            "A segment gets the output of the one before: x = Checkpoint.apply(…, x).",
            _each_from_x,
        ),
        ForwardSlip(
            "This is x itself: no layer was applied.",
            "x = Checkpoint.apply(run_segment, x), and return x at the end.",
            lambda layers, segments, x: x,
        ),
        ForwardSlip(
            "The layers run in the reverse order.",
            "First layers[0], then layers[1], …",
            lambda layers, segments, x: one_after_another(list(layers)[::-1], segments, x),
        ),
        ForwardSlip(
            "Only the first segment is applied.",
            "A return inside the loop ends it after one round.",
            lambda layers, segments, x: one_after_another(
                list(layers)[: len(layers) // segments], segments, x
            ),
        ),
    ),
    scenarios=(
        Scenario(
            "the Checkpoint is your own",
            "uses-builtin",
            run_segments,
            judge_own,
            visible=True,
            needs=_GOOD,
        ),
        Scenario(
            "every segment is checkpointed, the last one too",
            "no-recompute",
            run_segments,
            judge_every_segment,
            visible=True,
            needs=_OWN,
        ),
        Scenario(
            "x and all parameters get right gradients",
            "gradient-value",
            run_segments,
            judge_gradients,
            visible=True,
            needs=_CUT,
        ),
        Scenario(
            "there are as many segments as were asked for",
            "saves-too-much",
            run_segments,
            judge_number_of_segments,
            needs=(*_CUT, "scenario x and all parameters get right gradients"),
        ),
        Scenario(
            "one input a segment is kept",
            "saves-too-much",
            run_segments,
            judge_kept,
            needs=(*_CUT, "scenario there are as many segments as were asked for"),
        ),
    ),
)
