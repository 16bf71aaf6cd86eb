"""The twelve cases of lesson 10: what each Function promises once its one fault is repaired.

The Function as it is admitted stands in the lesson, and first among the case's known mistakes.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.contract.exercise import (
    Arguments,
    Case,
    Exercise,
    Sampler,
    Scenario,
    bytes_of,
)
from autograder.exercises.common_cases import (
    beside_number,
    extreme,
    kept,
    normal,
    of_every_shape,
    some,
    special,
    told,
)
from autograder.exercises.layers.dropout import (
    draws,
    dropped_rows,
    judge_generator,
    judge_share_of_rows,
)


def _far(*further: Any, second: bool = True) -> Case:
    """Inputs of which a square is finite in float32, and an exponential is not."""
    x = [[-1000.0, -100.0, -30.0, -5.0], [0.0, 5.0, 100.0, 1000.0]]
    return extreme("inputs up to ±1000", x, *further, second=second)


CASE_01 = Exercise(
    **told("Case01"),
    reference=lambda a, b, t: a + t * (b - a),
    cases=of_every_shape(
        lambda s, *shape: (s.normal(*shape), s.normal(*shape), float(s.uniform(low=0.2, high=0.4))),
        special("t = 0 and t = 1: an end", some(3), some(3), 1.0),
    ),
    budget=kept(),
)  # fmt: skip

CASE_02 = Exercise(
    **told("Case02"),
    reference=lambda x, weight: x * weight,
    cases=of_every_shape(lambda s, *shape: (s.normal(*shape), s.normal(*shape[-1:])), least=1),
    budget=kept(0, 1),
)

CASE_03 = Exercise(
    **told("Case03"),
    reference=lambda x: x / (1 + x * x),
    cases=of_every_shape(normal, _far()),
    budget=kept(0),
)

CASE_04 = Exercise(
    **told("Case04"),
    reference=lambda x: torch.log_softmax(x, -1),
    cases=of_every_shape(normal, _far(), least=1),
    budget=kept(0),
)

CASE_05 = Exercise(
    **told("Case05"),
    reference=lambda x: torch.where((x > -3) & (x < 3), x / 6 + 0.5, (x.detach() >= 3).to(x)),
    cases=of_every_shape(
        lambda s, *shape: s.away_from(*shape, points=(-3.0, 3.0), scale=3.0),
        special("x = −3 and 3", [-3.0, 3.0, -2.5, 2.5, 0.0],
             advice="On a bound the gradient is 0, as for F.hardsigmoid."),
        _far(second=False),
    ),
    budget=kept(0),
)  # fmt: skip

CASE_06 = Exercise(
    **told("Case06"),
    reference=lambda x, scale, centre: torch.exp(-scale * (x - centre) ** 2),
    cases=of_every_shape(
        lambda s, *shape: (s.normal(*shape), float(s.uniform(low=0.4, high=0.9)), s.normal(*shape)),
        special("the top, x = centre", [1.0, 1.0, 1.0], 0.5, [1.0, 1.0, 1.0], second=True),
    ),
    budget=kept(0, 2, output=True),
)  # fmt: skip

CASE_07 = Exercise(
    **told("Case07"),
    reference=lambda x: x.clamp(min=0) ** 2,
    cases=of_every_shape(Sampler.away_from, _far(second=False)),
    budget=kept(0),
)


def _cancelling(s: Sampler) -> Arguments:
    """Rows whose large terms add up to nothing: what is left is what rounding has done."""
    x, decay = s.normal(4, 3), 0.9
    x[:, 0] = 1e6
    x[:, 1] = -1e6 / decay
    return x, decay


CASE_08 = Exercise(
    **told("Case08"),
    reference=lambda x, decay: (x * decay ** torch.arange(x.shape[-1]).to(x)).sum(-1),
    cases=of_every_shape(
        beside_number(0.8, 0.9),
        Case("terms that cancel", _cancelling),
        special("decay = 1: a plain sum", some(3, 4), 1.0),
        least=1,
    ),
    budget=lambda args, outputs: args[0].shape[-1] * args[0].element_size(),
)

# The sigmoid of −1000 is 0: nothing that was multiplied by it can be won back.
_CLOSED = special("a gate of −1000", [[0.5, -2.0, -1000.0, 1000.0]])

CASE_09 = Exercise(
    **told("Case09"),
    reference=lambda x: torch.nn.functional.glu(x, -1),
    cases=of_every_shape(lambda s, *shape: 1.5 * s.normal(*shape[:-1], 2 * shape[-1]), _far(second=False), _CLOSED, least=1),
    budget=lambda args, outputs: bytes_of(args[0]) * 3 // 2,
    second_order="right-or-refused",
)  # fmt: skip


CASE_10 = Exercise(
    **told("Case10"),
    reference=lambda x, alpha: x.detach() + alpha * (x - x.detach()),
    cases=of_every_shape(
        beside_number(0.2, 0.8),
        special("alpha = 0", some(4), 0.0),
        _far(0.5, second=False),
    ),
    budget=kept(),
    gradcheck=False,
)  # fmt: skip


CASE_11 = Exercise(
    **told("Case11"),
    reference=dropped_rows,
    cases=of_every_shape(
        lambda s, *shape: (s.away_from(*shape[:-1], 40, 20 * shape[-1]), 0.4),
        special("p = 0", lambda s: s.away_from(5, 3), 0.0),
        least=1,
    ),
    drawn=lambda args, outputs: ((outputs[0].nan_to_num(0.0) != 0).any(-1, keepdim=True),),
    budget=lambda args, outputs: args[0].numel() // max(args[0].shape[-1], 1),
    gradcheck=False,  # each of its calls would drop others
    scenarios=(
        Scenario("the rows are drawn once, by torch's generator", "random-state", draws, judge_generator, needs=(), first=True),
        Scenario("each row is dropped with probability p", "forward-value", draws, judge_share_of_rows, needs=(), first=True),
    ),
)  # fmt: skip

CASE_12 = Exercise(
    **told("Case12"),
    reference=lambda x: torch.sqrt(1 + x * x),
    cases=of_every_shape(normal, special("x = 0", [0.0, 0.0], second=True), _far()),
    budget=kept(0, output=True),
)
