"""checkpoint_sequential of lesson 06: the exercise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Named, Scenario
from autograder.exercises import segment_experiments as experiments
from autograder.exercises import segment_numbers as numbers
from autograder.exercises import segment_orders as orders

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


def _last_segment(layers: Any, segments: int, rounded_up: bool) -> list[Any]:
    count = len(layers)
    start = (
        (segments - 1) * (-(-count // segments)) if rounded_up else count - -(-count // segments)
    )
    return list(layers)[start:]


def _each_from_x(rounded_up: bool) -> Callable[..., Tensor]:
    """Only the last segment is seen; sizes rounded up, or cut at i · count // segments."""
    return lambda layers, segments, x: one_after_another(
        _last_segment(layers, segments, rounded_up), 1, x
    )


def _last_again_and_again(rounded_up: bool) -> Callable[..., Tensor]:
    """What functions made in a loop give when they are all called after it."""
    return lambda layers, segments, x: one_after_another(
        segments * _last_segment(layers, segments, rounded_up), 1, x
    )


# ---- the exercise ----------------------------------------------------------------------------


def _case(name: str, layers: Named, segments: int, **more: Any) -> Case:
    return Case(name, lambda s: (layers, segments, s.normal(3, 4)), **more)


_RUNS = ("output_value", "scenario forward and backward come to their end")
_OWN = (*_RUNS, "scenario the Checkpoint is your own")
_CUT = (*_OWN, "scenario every segment is checkpointed, the last one too")
_SAME = (*_CUT, "scenario backward runs the layers of each segment again")

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
    forward_slips=(
        ForwardSlip(
            "The layers after the last even segment are left out.",
            "5 layers in 3 segments: 5 // 3 · 3 is 3. The boundaries i · count // segments end at count.",
            _without_the_rest,
        ),
        *(
            ForwardSlip(
                "Every segment starts from the original x; only the last one is seen in the result.",
                "A segment gets the output of the one before: x = Checkpoint.apply(…, x).",
                _each_from_x(rounded_up),
            )
            for rounded_up in (False, True)
        ),
        *(
            ForwardSlip(
                "Every function runs the last segment: functions made in a loop look their variable up when "
                "they are called, after the loop.",
                "Bind the segment when the function is made: a helper that takes the layers and returns the "
                "function, functools.partial, or a default argument.",
                _last_again_and_again(rounded_up),
            )
            for rounded_up in (False, True)
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
            "the layers run one after another",
            "value",
            orders.run_order,
            orders.judge_order,
            visible=True,
            needs=(),
            first=True,
        ),
        Scenario(
            "forward and backward come to their end",
            "raises",
            experiments.run_segments,
            experiments.judge_runs,
            visible=True,
            needs=("output_value",),
        ),
        Scenario(
            "the caller's layers are left as they were",
            "mutates-input",
            experiments.run_one_cut,
            experiments.judge_layers_left,
            visible=True,
            needs=_RUNS,
        ),
        Scenario(
            "the Checkpoint is your own",
            "uses-builtin",
            experiments.run_one_cut,
            experiments.judge_own,
            visible=True,
            needs=_RUNS,
        ),
        Scenario(
            "every segment is checkpointed, the last one too",
            "no-recompute",
            experiments.run_segments,
            experiments.judge_every_segment,
            visible=True,
            needs=_OWN,
        ),
        Scenario(
            "backward runs the layers of each segment again",
            "gradient-value",
            experiments.run_segments,
            experiments.judge_same_layers,
            visible=True,
            needs=_CUT,
        ),
        Scenario(
            "x and all parameters get right gradients",
            "gradient-value",
            experiments.run_segments,
            experiments.judge_gradients,
            visible=True,
            needs=_SAME,
        ),
        Scenario(
            "there are as many segments as were asked for",
            "saves-too-much",
            experiments.run_segments,
            numbers.judge_number_of_segments,
            visible=True,
            needs=(*_SAME, "scenario x and all parameters get right gradients"),
        ),
        Scenario(
            "one input a segment is kept",
            "saves-too-much",
            experiments.run_segments,
            experiments.judge_kept,
            needs=(*_SAME, "scenario there are as many segments as were asked for"),
        ),
    ),
)
