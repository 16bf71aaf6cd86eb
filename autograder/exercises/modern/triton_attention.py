"""triton_attention of lesson 12: attention in tiles, in one kernel."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
)
from autograder.exercises.attention.flash_attention import (
    ATTENTION_OPERATIONS,
    budget,
    flash_reference,
    heads,
    large_scores,
)
from autograder.exercises.common_cases import cases_of, extreme, told
from autograder.exercises.modern.operators import by_a_kernel, launched, not_stored
from autograder.observation.compare import both, close

_KEYS = 300  # more than a block may hold
_WIDEST = 256  # of a block of keys
_HIGHEST = 6.0  # of the scores that are in order
_SHARE = 1e-6  # that an average of ones may be off by
_WHOLE = 1e-3  # that a number of keys may be off by


# Of the sizes L, S, E, Ev.
_of = cases_of(lambda s, *sizes, causal, batch=(): (*heads(s, batch, *sizes), causal))


def _ranked(scores: Tensor) -> Tensor:
    """What is averaged, a row a key: ones, which tell the sum of the weights, and numbers that rise with the scores."""
    return torch.stack([torch.ones_like(scores), scores / _HIGHEST], 1)


def _in_order(call: Solution, s: Sampler) -> Data:
    """One query and many keys, whose scores rise or fall."""
    scores = torch.linspace(-_HIGHEST, _HIGHEST, _KEYS, dtype=torch.float64)
    q, found = torch.ones(1, 1).double(), {}
    for name, each in (("rising", scores), ("falling", scores.flip(0))):
        found[name] = launched(partial(call, q, each.unsqueeze(1), _ranked(each), False))
    return {"scores": scores, **found}


def _rescaled(data: Data, meant: Data) -> Cause | None:
    """Right while the largest score comes first, wrong when it comes last; an average of ones tells which sum it is."""
    scores, right = meant["scores"], meant["rising"]["output"]
    rising, falling = data["rising"]["output"], data["falling"]["output"]
    last_right, first_right = (
        way.shape == right.shape and close(way, right) for way in (rising, falling)
    )
    if last_right and first_right:
        return None
    if last_right or not first_right:
        wrong = falling if last_right else rising
        found = not_stored(data["rising"]) or _first_keys(rising, scores)
        found = found or _behind(rising, right, scores)
        return found or Cause("triton/many-keys", {"keys": _KEYS}, both(wrong, right))
    of_ones = float(rising[0, 0])
    facts = {"output": of_ones > 1 + _SHARE, "both": abs(of_ones - 1) <= _SHARE}
    return Cause("triton/not-rescaled", facts, both(rising, right), symptom=False)


def _first_keys(rising: Tensor, scores: Tensor) -> Cause | None:
    """Whether it is the right output for fewer keys, the first of them."""
    weights = (scores - scores.max()).exp().unsqueeze(1)
    averages = (weights * _ranked(scores)).cumsum(0) / weights.cumsum(0)
    alike = torch.isclose(rising, averages, rtol=_SHARE, atol=0.0).all(1).nonzero()
    if rising.shape != (1, 2) or len(alike) != 1:
        return None
    return Cause("triton/first-keys", {"keys": _KEYS, "seen": int(alike) + 1}, symptom=False)


def _behind(rising: Tensor, right: Tensor, scores: Tensor) -> Cause | None:
    """Whether each row's sum has some e⁰ too many: of places behind the last key, which nobody masked."""
    if not close(rising, rising[..., :1] * right):
        return None
    count = (1 / float(rising[0, 0]) - 1) * float(scores.exp().sum())
    if round(count) < 1 or abs(count - round(count)) > _WHOLE:
        return None
    return Cause("triton/behind-the-end", {"keys": _KEYS, "count": round(count)}, symptom=False)


def _many_keys(call: Solution, s: Sampler) -> Data:
    q, k, v = heads(s, (), 2, _KEYS, 2, 2)
    return launched(lambda: call(q, k, v, False))


def _one_kernel_in_tiles(data: Data, right: Data) -> Cause | None:
    names, widest = data["kernels"], data["widest"]
    if len(names) > 1:
        return Cause("triton/several", {"count": len(names), "names": list(dict.fromkeys(names))})
    if widest > _WIDEST:
        return Cause("triton/whole-row", {"columns": _KEYS, "widest": widest}, rule="temporary-too-large")  # fmt: skip
    return by_a_kernel(data, right)


TRITON_ATTENTION = Exercise(
    **told("triton_attention"),
    reference=flash_reference,
    forbidden=ATTENTION_OPERATIONS,
    second_order="right-or-refused",
    half=False,
    any_size=False,
    cases=(
        _of("one head", 5, 7, 3, 2, causal=False),
        _of("causal, more keys than queries", 5, 7, 3, 2, batch=(2,), causal=True),
        _of("causal, more queries than keys", 6, 3, 2, 5, batch=(2,), causal=True),
        _of("several blocks of keys", 3, 150, 4, 3, causal=False),
        _of("several blocks of queries and keys, causal", 70, 80, 2, 3, causal=True),
        _of("two batch dimensions", 3, 4, 5, 2, batch=(2, 2), causal=True, role="batch"),
        _of("no keys at all (S = 0)", 3, 0, 2, 4, causal=False, role="empty"),
        _of("no queries at all (L = 0)", 0, 3, 2, 4, causal=False, role="empty"),
        _of("an empty batch", 3, 4, 2, 5, batch=(0,), causal=True, role="empty"),
        extreme("scores up to 500 in size in float32", lambda s: (*large_scores(s), False), ),
    ),
    budget=budget,
    also=("opcheck",),
    scenarios=(
        Scenario(
            "the order of the keys changes nothing", "forward-value", _in_order, _rescaled,
            needs=("forward_runs",), first=True, free=("kernels",),
        ),
        Scenario(
            "one kernel, in tiles", "uses-builtin", _many_keys, _one_kernel_in_tiles,
            needs=("output_value",),
        ),
    ),
)  # fmt: skip
