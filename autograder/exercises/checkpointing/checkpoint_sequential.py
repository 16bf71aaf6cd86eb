"""checkpoint_sequential of lesson 06: layers one after another, in checkpointed segments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Cause, Exercise, Sampler, Scenario, sentences_beside
from autograder.exercises.checkpointing.measuring import RANDOM_STATE_BYTES, called_from
from autograder.observation.compare import both, close
from autograder.observation.observation import Named
from autograder.running.function_classes import nodes_behind
from autograder.running.watching import Storages


def one_after_another(layers: Any, segments: int, x: Tensor) -> Tensor:
    """All layers in order: the value does not depend on the segments."""
    for layer in layers:
        x = layer(x)
    return x


# ---- in which order the layers run in forward ------------------------------------------------------

_OTHER = -1  # what a layer gets is numbered: 0 is x, i the output of layer i


class _Order:
    """Layers that add 1, and note in which order they run, what each gets, and who called."""

    def __init__(self, x: Tensor):
        self.ran: list[int] = []
        self.got: list[int] = []
        self.ready_made = False
        self._made = {x.data_ptr(): 0}
        self._held: list[Tensor] = []  # no address is used twice while all outputs are alive

    def run(self, number: int, h: Tensor) -> Tensor:
        self.ran.append(number)
        self.got.append(self._made.get(h.data_ptr(), _OTHER))
        self.ready_made = self.ready_made or called_from("torch.utils.checkpoint")
        self._held.append(h + 1.0)
        self._made[self._held[-1].data_ptr()] = number
        return self._held[-1]


def run_order(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Of two ways to cut: the layers that forward runs, in order, and what each of them gets."""
    cuts: list[dict[str, Any]] = []
    for count, segments in ((6, 3), (7, 3)):
        leaf = s.normal(2, 3).requires_grad_(True)
        order = _Order(leaf)
        layers = [functools.partial(order.run, number) for number in range(1, count + 1)]
        submission(layers, segments, leaf)
        cuts.append({
            "count": count, "segments": segments, "ran": order.ran, "got": order.got,
            "left": len(layers), "ready_made": order.ready_made,
        })  # fmt: skip
    return {"cuts": cuts}


def judge_order(data: dict[str, Any]) -> Cause | None:
    """Every layer runs once, in order, on the output of the one before."""
    for cut in data["cuts"]:
        ran, every = cut["ran"], list(range(1, cut["count"] + 1))
        if not ran:
            return None
        facts = {**_words(cut), "ran": ", ".join(map(str, ran))}
        evidence = {"actual": facts["ran"], "expected": ", ".join(map(str, every))}
        if missing := [i for i in every if i not in ran]:
            return Cause("experiment/never-runs", {**facts, **_layers(missing)}, evidence)
        if often := [i for i in every if ran.count(i) > 1]:
            return Cause("experiment/runs-often", {**facts, **_layers(often)}, evidence)
        if ran != every:
            return Cause("experiment/other-order", facts, evidence)
        for number, source in zip(ran, cut["got"], strict=True):
            if source not in (number - 1, _OTHER):
                got = "x" if source == 0 else f"the output of layer {source}"
                facts |= {"number": number, "got": got, "before": number - 1}
                return Cause("experiment/other-input", facts)
    return None


def judge_honest(data: dict[str, Any]) -> Cause | None:
    """The caller's layers are left as they were, and the Checkpoint is the learner's own."""
    for cut in data["cuts"]:
        if cut["left"] != cut["count"]:
            facts = {"left": cut["left"], "count": cut["count"]}
            return Cause(
                "experiment/layers-changed", facts, rule="mutates-input", at=("pop", "clear")
            )
        if cut["ready_made"]:
            at = ("checkpoint_sequential", "checkpoint")
            return Cause("experiment/ready-made", rule="uses-builtin", at=at)
    return None


def _words(cut: dict[str, Any]) -> dict[str, Any]:
    """A cut as facts: "6 layers in 3 segments"."""
    plural = "s" if cut["segments"] > 1 else ""
    return {"cut": f"{cut['count']} layers in {cut['segments']} segment{plural}"}


def _layers(numbers: list[int]) -> dict[str, Any]:
    """Layers as facts: "layer 3", "layers 3 and 5"."""
    words = [str(i) for i in numbers]
    several = f"layers {', '.join(words[:-1])} and {words[-1]}"
    return {"layers": f"layer {words[0]}" if len(words) == 1 else several}


# ---- what runs again in backward, what is kept, and the gradients ------------------------------------


class _Watched(torch.nn.Module):
    """A layer with a parameter that notes its calls, and whether grad mode was on."""

    def __init__(self, number: int, weight: Tensor, log: list[tuple[int, bool]]):
        super().__init__()
        self.number, self.log = number, log
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        self.log.append((self.number, torch.is_grad_enabled()))
        return torch.sin(x * self.weight) + 0.5 * x


def run_segments(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Several ways to cut: which layers leave a graph, run again, and in how many Checkpoints; what is kept."""
    cuts = []
    for count, segments in ((6, 3), (7, 3), (5, 4), (4, 1), (3, 3)):
        x, g = s.normal(64, 16), s.normal(64, 16)
        weights = [s.uniform(16, low=0.5, high=1.5) for _ in range(count)]
        log: list[tuple[int, bool]] = []
        made = [_Watched(i, w, log) for i, w in enumerate(weights, start=1)]
        leaf = x.clone().requires_grad_(True)
        with Storages() as storages:
            layers = made if count % 2 else torch.nn.Sequential(*made)
            y = submission(layers, segments, leaf)
            kept = storages.alive(leaf, y)
        forward = log[:]
        nodes = list(nodes_behind([y]))
        if y.requires_grad:
            (y * g).sum().backward()
        cuts.append({
            "count": count, "segments": segments, "x": x, "g": g, "weights": weights,
            "recorded": [number for number, recorded in forward if recorded],
            "again": [number for number, _ in log[len(forward):]],
            "checkpoints": sum(hasattr(node, "_forward_cls") for node in nodes),
            "graph": y.requires_grad,
            "reached": any(getattr(node, "variable", None) is leaf for node in nodes),
            "kept": kept, "gradients": [leaf.grad, *(layer.weight.grad for layer in made)],
        })  # fmt: skip
    return {"cuts": cuts}


def judge_checkpointed(data: dict[str, Any]) -> Cause | None:
    """No layer leaves a graph in forward; the last segment's neither."""
    for cut in data["cuts"]:
        recorded = sorted(set(cut["recorded"]))
        if not recorded and (cut["checkpoints"] or not cut["graph"]):
            continue
        facts = {**_words(cut), **_layers(recorded or [1])}
        if len(recorded) == cut["count"] or not cut["checkpoints"]:
            return Cause("experiment/no-checkpoint", facts)
        return Cause("experiment/outside", facts)
    return None


def judge_gradients(data: dict[str, Any]) -> Cause | None:
    """Backward runs the layers of each segment again, and x and all parameters get right gradients."""
    for cut in data["cuts"]:
        facts = _words(cut)
        if not cut["graph"]:
            return Cause("experiment/result-cut-off", facts, at=("detach",))
        if not cut["reached"]:
            return Cause("experiment/x-cut-off", facts, at=("detach", "tensor"))
        again = sorted(set(cut["again"]))
        if not again:
            return Cause("experiment/used-up", facts, at=("pop", "clear", "iter", "islice"))
        if len(again) < cut["count"]:
            return Cause("experiment/other-layers", {**facts, **_layers(again)}, at=("apply",))
        for place, (got, right) in enumerate(zip(cut["gradients"], _gradients(cut), strict=True)):
            if not close(got, right):
                facts |= {"name": f"layer {place}'s parameter" if place else "x"}
                cut_off = got is None or not bool(got.any())
                code = f"experiment/gradient-{'missing' if cut_off else 'wrong'}"
                return Cause(code, facts, both(got, right), at=("detach", "no_grad"))
    return None


def _gradients(cut: dict[str, Any]) -> list[Tensor]:
    x = cut["x"].clone().requires_grad_(True)
    weights = [w.clone().requires_grad_(True) for w in cut["weights"]]
    y = x
    for weight in weights:
        y = torch.sin(y * weight) + 0.5 * y
    return list(torch.autograd.grad((y * cut["g"]).sum(), [x, *weights]))


def _sizes(again: list[int]) -> list[int]:
    """How many layers each segment has: in backward the last one runs again first, each in its order."""
    sizes: list[int] = []
    for i, number in enumerate(again):
        if i == 0 or number <= again[i - 1]:
            sizes.append(0)
        sizes[-1] += 1
    return sizes[::-1]


def judge_segments(data: dict[str, Any]) -> Cause | None:
    """As many Checkpoints as segments were asked for, none of them empty, and one input of each kept."""
    for cut in data["cuts"]:
        again, sizes = cut["again"], _sizes(cut["again"])
        facts = {**_words(cut), "made": cut["checkpoints"], "asked": cut["segments"]}
        if len(again) > cut["count"]:
            number = max(again, key=again.count)
            facts |= {"number": number, "times": again.count(number)}
            return Cause("experiment/nested", facts)
        if cut["checkpoints"] != cut["segments"]:
            facts |= {"sizes": ", ".join(map(str, sizes))}
            return Cause("experiment/number-of-segments", facts)
        if len(sizes) != cut["segments"]:
            facts |= {"working": len(sizes)}
            return Cause("experiment/empty-segments", facts)
        # x itself is the caller's: the other segments' inputs, and a random state each.
        inputs = (cut["segments"] - 1) * cut["x"].nbytes
        allowed = inputs + (cut["segments"] + 1) * RANDOM_STATE_BYTES
        if cut["kept"] > allowed:
            facts |= {"kept": cut["kept"], "allowed": allowed}
            return Cause("experiment/kept-besides", facts)
    return None


# ---- the exercise --------------------------------------------------------------------------------------


def _case(name: str, layers: Named, segments: int) -> Case:
    return Case(name, lambda s: (layers, segments, s.normal(3, 4)))


_HONEST = "the layers are left as they were, and the Checkpoint is your own"
_EVERY = "every segment is checkpointed, the last one too"
_GRADIENTS = "x and all parameters get right gradients"
_OWN = ("output_value", f"scenario {_HONEST}")
_GIVEN = ("count", "segments", "x", "g", "weights")
_OF_SEGMENTS = (
    (_EVERY, "no-recompute", judge_checkpointed, _OWN),
    (_GRADIENTS, "gradient-value", judge_gradients, (*_OWN, f"scenario {_EVERY}")),
    (
        "there are as many segments as were asked for, and one input of each is kept",
        "saves-too-much", judge_segments,
        (*_OWN, f"scenario {_EVERY}", f"scenario {_GRADIENTS}"),
    ),
)  # fmt: skip

CHECKPOINT_SEQUENTIAL = Exercise(
    name="checkpoint_sequential",
    lesson="06_checkpointing",
    summary="the layers one after another, cut into segments, each of them checkpointed.",
    signature="(layers, segments, x)",
    reference=one_after_another,
    cases=(
        _case("4 layers in 2 segments", Named("wave_layers", (4, 0.7)), 2),
        _case("5 layers in 3 segments", Named("wave_layers", (5, 0.6)), 3),
        _case("an nn.Sequential of 5 layers in 2 segments", Named("wave_sequential", (5, 0.8)), 2),
        _case("4 layers in 1 segment", Named("wave_layers", (4, 0.9)), 1),
        _case("5 layers in 5 segments", Named("wave_layers", (5, 0.5)), 5),
        _case("a single layer", Named("wave_layers", (1, 0.8)), 1),
    ),
    hints=(
        "A segment is a few layers one after another: a function of one tensor. You have a Function "
        "that takes such a function. What goes in, and what comes out, segment by segment?",
        "Segment i has the layers from i * count // segments up to (i + 1) * count // segments. "
        "Make a function of each with a helper that takes the layers, so that it remembers its "
        "own.",
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
    scenarios=(
        Scenario(
            "the layers run one after another", "value", run_order, judge_order,
            needs=(), first=True, given=_GIVEN,
        ),
        Scenario(_HONEST, "uses-builtin", run_order, judge_honest, needs=("output_value",), given=_GIVEN),
        *(
            Scenario(name, rule, run_segments, judge, needs=needs, given=_GIVEN, free=("recorded", "again"))
            for name, rule, judge, needs in _OF_SEGMENTS
        ),
    ),
    sentences=sentences_beside(__file__),
)  # fmt: skip
