"""Experiments on Checkpoint: random numbers, forward's and the caller's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.second_order import Verdict


def run_random(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """A function with dropout inside; other random numbers are drawn before its backward."""
    x, g, seed = s.normal(6, 5), s.normal(6, 5), s.integer(0, 10_000)
    masks: list[Tensor] = []

    def dropout(h: Tensor) -> Tensor:
        masks.append((torch.rand(h.shape) > 0.4).to(h.dtype))
        return h * h * masks[-1]

    torch.manual_seed(seed)
    torch.rand(5)  # so that the state is not the one that a seed gives
    before_forward = torch.get_rng_state()
    dropout(x)
    after_plain = torch.get_rng_state()
    torch.set_rng_state(before_forward)
    leaf = x.clone().requires_grad_(True)
    y = checkpoint(dropout, leaf)
    ran = len(masks) - 1
    after_forward = torch.get_rng_state()
    advanced = torch.equal(after_forward, after_plain)
    stayed = torch.equal(after_forward, before_forward)
    torch.rand(7)
    before = torch.get_rng_state()
    (found,) = torch.autograd.grad(y, leaf, g)
    after = torch.get_rng_state()
    data = {
        "x": x, "g": g, "masks": masks, "found": found, "advanced": advanced, "stayed": stayed,
        "untouched": torch.equal(after, before), "as_noted": torch.equal(after, before_forward), "ran": ran,
    }  # fmt: skip
    return {**data, "drawn_from": _drawn_from(masks[-1], after_plain, before, seed)}


def _drawn_from(mask: Tensor, after: Tensor, present: Tensor, seed: int) -> str:
    """Which random state the last mask was drawn from: of those that learners set by mistake."""
    with torch.random.fork_rng(devices=[]):
        for name, begin in (
            ("after", lambda: torch.set_rng_state(after)),
            ("present", lambda: torch.set_rng_state(present)),
            ("seed", lambda: torch.manual_seed(seed)),
        ):
            begin()
            if torch.equal((torch.rand(mask.shape) > 0.4).to(mask.dtype), mask):
                return name
    return ""


_BEFORE = (
    "Keep torch.get_rng_state() in forward, before fn runs, and set it again before you recompute."
)
_DRAWN = {
    "after": (
        "The recomputation draws the numbers that come after those of forward, as with a random state that is "
        "noted when fn has already run",
        "Note it before: ctx.state = torch.get_rng_state() stands above the call of fn in forward.",
    ),
    "present": (
        "The recomputation draws from the random state that backward finds, not from that of forward",
        _BEFORE + " fork_rng alone only puts the caller's back at the end.",
    ),
    "seed": (
        "The recomputation begins at the seed again, but forward began further on",
        _BEFORE + " torch.initial_seed() is where the generator once began.",
    ),
}


def judge_same_numbers(data: dict[str, Any]) -> Verdict:
    """The recomputation draws forward's random numbers."""
    plain, forward, *again = data["masks"]
    if data["ran"] > 1:
        return (
            f"fn runs {'twice' if data['ran'] == 2 else str(data['ran']) + ' times'} in forward: each run draws "
            "random numbers of its own.",
            "Call fn once in forward, and return what that call gives.",
            {"runs": data["ran"]},
        )
    if not torch.equal(plain, forward):
        return (
            "forward draws other random numbers than fn alone would.",
            "Only look at the random state in forward (torch.get_rng_state()); do not seed or set it.",
            {},
        )
    right = 2 * data["x"] * forward * data["g"]
    if close(data["found"], right):
        return None
    if again and not torch.equal(again[0], forward) and data["drawn_from"] in _DRAWN:
        message, hint = _DRAWN[data["drawn_from"]]
        return (
            f"{message}. A dropout inside fn drops other elements than in forward.",
            hint,
            {
                "forward kept": show(forward.reshape(-1)),
                "recompute kept": show(again[0].reshape(-1)),
            },
        )
    if again and not torch.equal(again[0], forward):
        return (
            "A dropout inside fn drops other elements in the recomputation than in forward: the "
            "gradient belongs to another function.",
            "Keep torch.get_rng_state() in forward, before fn runs, and set it again before you "
            "recompute.",
            {
                "forward kept": show(forward.reshape(-1)),
                "recompute kept": show(again[0].reshape(-1)),
            },
        )
    return (
        "With a dropout inside fn the gradient is wrong, although the mask is the same.",
        "Look at what happens between setting the random state and the inner backward.",
        {"actual": show(data["found"]), "expected": show(right)},
    )


def judge_state(data: dict[str, Any]) -> Verdict:
    """The caller's random state is not disturbed."""
    if not data["advanced"] and data["stayed"]:
        return (
            "forward puts the random state back as it was before fn: the next layer draws the same numbers again.",
            "forward runs fn once and leaves the generator alone; fork_rng belongs into backward.",
            {},
        )
    if not data["advanced"]:
        return (
            "After forward the random state is not where fn alone would have left it.",
            "forward runs fn once and leaves the generator alone; putting the old state back there "
            "would give the next layer the same random numbers again.",
            {},
        )
    if not data["untouched"] and data["as_noted"]:
        return (
            "backward leaves the random state of forward behind, not the one it found: whatever is drawn next "
            "repeats itself.",
            "Two states are in play. Note the caller's when backward begins, and put that one back at the end; "
            "torch.random.fork_rng does it for a with block, also when fn raises. Set forward's state inside.",
            {},
        )
    if not data["untouched"]:
        return (
            "backward changes the caller's random state: whatever is drawn next repeats itself.",
            "Put the state back as it was before the recomputation; torch.random.fork_rng does that "
            "for a with block, also when fn raises.",
            {},
        )
    return None


class _Interrupted(Exception):
    """What fn raises in an experiment."""


def run_interrupted(checkpoint: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """fn draws random numbers and then raises, in the recomputation only."""
    x = s.normal(3, 4).requires_grad_(True)
    backward = [False]

    def fails_later(h: Tensor) -> Tensor:
        noise = torch.rand(h.shape, dtype=h.dtype)
        if backward[0]:
            raise _Interrupted("fn stops here")
        return h * noise

    torch.manual_seed(s.integer(0, 10_000))
    y = checkpoint(fails_later, x)
    torch.rand(7)
    before, backward[0] = torch.get_rng_state(), True
    with contextlib.suppress(_Interrupted):
        torch.autograd.grad(y.sum(), x)
    return {"untouched": torch.equal(torch.get_rng_state(), before)}


def judge_interrupted(data: dict[str, Any]) -> Verdict:
    """The caller's random state survives an error of fn."""
    if data["untouched"]:
        return None
    return (
        "When fn raises in backward, the caller's random state is not put back.",
        "What stands after the call of fn does not run then. torch.random.fork_rng puts the state back "
        "at the end of its with block, whatever happens in it; so does finally after try.",
        {},
    )
