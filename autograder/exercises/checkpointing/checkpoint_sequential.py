"""checkpoint_sequential of lesson 06: layers one after another, in checkpointed segments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Cause, Data, Exercise, Sampler, Scenario, Solution
from autograder.exercises.checkpointing.measuring import RANDOM_STATE_BYTES, called_from
from autograder.exercises.common_cases import cases_of, told
from autograder.observation.compare import both, close
from autograder.observation.observation import Named
from autograder.running.function_classes import custom_nodes
from autograder.running.watching import Storages


def one_after_another(layers: Any, segments: int, x: Tensor) -> Tensor:
    """All layers in order: the value does not depend on the segments."""
    for layer in layers:
        x = layer(x)
    return x


# ---- what runs when, what is kept, and the gradients ---------------------------------------------------


class _Watched(torch.nn.Module):
    """A layer with a parameter that notes its calls: its number, whether grad mode was on, and torch's own."""

    def __init__(self, number: int, weight: Tensor, log: list[tuple[int, bool, bool]]):
        super().__init__()
        self.number, self.log = number, log
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        ready_made = called_from("torch.utils.checkpoint")
        self.log.append((self.number, torch.is_grad_enabled(), ready_made))
        return torch.sin(x * self.weight) + 0.5 * x


def run_segments(submission: Solution, s: Sampler) -> Data:
    """Several ways to cut: which layers run, leave a graph and run again; how many Checkpoints; what is kept."""
    cuts = []
    for count, segments in ((6, 3), (7, 3), (5, 4), (4, 1), (3, 3)):
        x, g = s.normal(64, 16), s.normal(64, 16)
        weights = [s.uniform(16, low=0.5, high=1.5) for _ in range(count)]
        log: list[tuple[int, bool, bool]] = []
        made = [_Watched(i, w, log) for i, w in enumerate(weights, start=1)]
        leaf = x.clone().requires_grad_(True)
        layers = made[:] if count % 2 else torch.nn.Sequential(*made)
        with Storages() as storages:
            y = submission(layers, segments, leaf)
            kept = storages.alive(leaf, y)
        forward = log[:]
        checkpoints = sum(1 for _ in custom_nodes([y]))
        if y.requires_grad:
            (y * g).sum().backward()
        cuts.append({
            "count": count, "segments": segments, "bytes": x.nbytes,
            "ran": [number for number, _, _ in forward],
            "recorded": [number for number, recorded, _ in forward if recorded],
            "again": [number for number, _, _ in log[len(forward):]],
            "checkpoints": checkpoints, "left": len(layers), "kept": kept,
            "ready_made": any(ready_made for _, _, ready_made in log),
            "gradients": [leaf.grad, *(layer.weight.grad for layer in made)],
        })  # fmt: skip
    return {"cuts": cuts}


def _cause(code: str, cut: Data, layers: Sequence[int] = (), **more: Any) -> Cause:
    """A cause that is told of one cut, and of some of its layers."""
    facts = {name: cut[name] for name in ("count", "segments", "checkpoints", "left", "kept")}
    return Cause(f"experiment/{code}", {**facts, "layers": [str(i) for i in layers]}, **more)


def _chosen(data: Data, right: Data) -> Iterator[Data]:
    """What was found of each cut, with the sizes that the experiment chose."""
    for found, cut in zip(data["cuts"], right["cuts"], strict=True):
        yield {**found, **{name: cut[name] for name in ("count", "segments", "bytes")}}


def judge_order(cut: Data, right: Data) -> Cause | None:
    """Every layer runs once in forward, in order."""
    if not cut["ran"] or cut["ran"] == right["ran"]:
        return None
    return _cause("other-layers", cut, cut["ran"], evidence=both(cut["ran"], right["ran"]))


def judge_honest(cut: Data, right: Data) -> Cause | None:
    """The caller's layers are left as they were, and the Checkpoint is the learner's own."""
    if cut["left"] != cut["count"]:
        return _cause("layers-changed", cut, rule="mutates-input", at=("pop", "clear"))
    at = ("checkpoint_sequential", "checkpoint")
    return _cause("ready-made", cut, at=at) if cut["ready_made"] else None


def judge_checkpointed(cut: Data, right: Data) -> Cause | None:
    """No layer leaves a graph in forward; the last segment's neither."""
    return _cause("outside", cut, sorted({*cut["recorded"]})) if cut["recorded"] else None


def judge_gradients(cut: Data, right: Data) -> Cause | None:
    """Backward runs the layers of each segment again, and x and all parameters get right gradients."""
    for place, (got, meant) in enumerate(zip(cut["gradients"], right["gradients"], strict=True)):
        if not close(got, meant):
            if missing := {*right["ran"]} - {*cut["again"]}:
                return _cause("not-again", cut, sorted(missing), at=("detach",))
            at = ("detach", "no_grad")
            return _cause("gradient", cut, [place] * bool(place), evidence=both(got, meant), at=at)
    return None


def judge_segments(cut: Data, right: Data) -> Cause | None:
    """As many Checkpoints as segments were asked for, none of them empty, and one input of each kept."""
    again, segments = cut["again"], cut["segments"]
    # In backward the last segment runs again first, each in its order.
    working = sum(1 for before, number in pairwise([math.inf, *again]) if number <= before)
    if (cut["checkpoints"], working, len(again)) != (segments, segments, cut["count"]):
        return _cause("segments", cut, again)
    # x itself is the caller's: the other segments' inputs, and a random state each.
    allowed = (segments - 1) * cut["bytes"] + (segments + 1) * RANDOM_STATE_BYTES
    return _cause("kept-besides", cut) if cut["kept"] > allowed else None


# ---- the exercise --------------------------------------------------------------------------------------


_case = cases_of(lambda s, layers, segments: (layers, segments, s.normal(3, 4)))


def _experiment(
    name: str, rule: str, judge: Callable[[Data, Data], Cause | None], *needs: str
) -> Scenario:
    """What the first cut tells that is not as it should be; without needs it explains wrong values."""
    return Scenario(
        name, rule, run_segments,
        lambda data, right: next(filter(None, map(judge, _chosen(data, right), right["cuts"])), None),
        needs=needs, first=not needs,
        free=("ran", "recorded", "again"),
    )  # fmt: skip


_ORDER = "the layers run one after another"
_HONEST = "the layers are left as they were, and the Checkpoint is your own"
_OWN = ("output_value", f"scenario {_HONEST}")
_EVERY = "every segment is checkpointed, the last one too"
_GRADIENTS = "x and all parameters get right gradients"
_SEGMENTS = "there are as many segments as were asked for, and one input of each is kept"

CHECKPOINT_SEQUENTIAL = Exercise(
    **told("checkpoint_sequential"),
    reference=one_after_another,
    cases=(
        _case("4 layers in 2 segments", Named("wave_layers", (4, 0.7)), 2),
        _case("5 layers in 3 segments", Named("wave_layers", (5, 0.6)), 3),
        _case("an nn.Sequential of 5 layers in 2 segments", Named("wave_sequential", (5, 0.8)), 2),
        _case("4 layers in 1 segment", Named("wave_layers", (4, 0.9)), 1),
        _case("5 layers in 5 segments", Named("wave_layers", (5, 0.5)), 5),
        _case("a single layer", Named("wave_layers", (1, 0.8)), 1),
    ),
    is_function=True,
    may_use_autograd=True,
    scenarios=(
        _experiment(_ORDER, "value", judge_order),
        _experiment(_HONEST, "uses-builtin", judge_honest, "output_value"),
        _experiment(_EVERY, "no-recompute", judge_checkpointed, *_OWN),
        _experiment(_GRADIENTS, "gradient-value", judge_gradients, *_OWN, f"scenario {_EVERY}"),
        _experiment(
            _SEGMENTS, "saves-too-much", judge_segments,
            *_OWN, f"scenario {_EVERY}", f"scenario {_GRADIENTS}",
        ),
    ),
)  # fmt: skip
