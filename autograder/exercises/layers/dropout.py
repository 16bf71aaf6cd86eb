"""Dropout of lesson 09, and the rows that Case11 of lesson 10 drops: what is asked of their random numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.contract.exercise import (
    Arguments,
    Cause,
    Data,
    Exercise,
    Sampler,
    Scenario,
    Solution,
)
from autograder.exercises.common_cases import cases_of, extreme, told


def dropout(x: Tensor, p: float, training: bool, kept: Tensor | None = None) -> Tensor:
    """Inverted dropout; ``kept`` says which elements stay, drawn where it is missing."""
    if not training:
        return x.clone()
    if kept is None:
        kept = torch.rand(x.shape, dtype=torch.float64) >= p
    return x * kept / (1 - p) if p < 1 else x * 0.0


def kept_in(args: Arguments, outputs: Arguments) -> Arguments:
    """Which elements an answer kept: no case has a 0 in x where that matters. An infinite one times 0 is NaN."""
    return (outputs[0].nan_to_num(0.0) != 0,)


_case = cases_of(lambda s, *shape, p, training=True: (s.away_from(*shape), p, training))


# ---- which elements are dropped ----------------------------------------------------------------------

_SHAPE = (6, 10, 50)  # of three dimensions: who draws for two of them draws for one as well
_P = 0.3
_FAR = 6.0  # standard deviations: one honest answer in a thousand million is further off


def run_draws(dropout: Solution, s: Sampler) -> Data:
    """Which elements are kept in three calls, of which the first and the last have the same seed.

    zeros   as the first call, of an x whose second half is 0
    slopes  which elements of that x have a gradient
    counts  how many elements each of eight more calls keeps
    """
    x, seed = s.away_from(*_SHAPE), s.integer(0, 10_000)
    half = torch.arange(_SHAPE[0]).view(-1, 1, 1) < _SHAPE[0] // 2

    def call(given: Tensor) -> tuple[Tensor, Tensor]:
        leaf = given.clone().requires_grad_(True)
        output = dropout(leaf, _P, True)
        torch.rand(7)  # the next layer draws as well
        (slope,) = torch.autograd.grad(output, leaf, torch.ones_like(given))
        return output.detach() != 0, slope != 0

    torch.manual_seed(seed)
    first, second = call(x)[0], call(x)[0]
    torch.manual_seed(seed)
    again = call(x)[0]
    zeros, slopes = call(torch.where(half, x, 0.0))
    counts = [int(call(x)[0].sum()) for _ in range(8)]
    masks = {"first": first, "second": second, "again": again}
    return {**masks, "zeros": zeros, "slopes": slopes, "counts": counts}


def judge_generator(data: Data, right: Data) -> Cause | None:
    """torch's generator decides, as the caller seeded it, and backward knows what forward drew."""
    first, half = data["first"], _SHAPE[0] // 2
    if _mixed(first) and torch.equal(first, data["second"]):
        return Cause("draws/always-the-same", at=("manual_seed", "set_rng_state", "Generator"))
    if not torch.equal(first, data["again"]):
        return Cause("draws/not-by-the-seed", at=("Generator", "random", "rand", "seed"))
    if not torch.equal(data["slopes"][:half], data["zeros"][:half]):
        return Cause("draws/another-mask")
    if _mixed(first) and len(set(data["counts"])) == 1:
        return Cause(
            "draws/as-many", {"kept": data["counts"][0], "of": first.numel()}, rule="forward-value"
        )
    return None


def judge_share(data: Data, right: Data) -> Cause | None:
    """Each element by itself is dropped with probability p."""
    kept = data["first"]
    if _mixed(kept) and any(bool((kept.narrow(d, 0, 1) == kept).all()) for d in range(kept.dim())):
        return Cause("draws/whole-rows")
    if (far := _far_off(kept)) is not None:
        code = "draws/keeps-p" if _far_off(kept, _P) is None else "draws/share"
        return Cause(code, {"share": far, "p": _P})
    return None


def judge_zeros(data: Data, right: Data) -> Cause | None:
    """Where x is 0 the gradient is that of what was drawn, too."""
    return None if data["slopes"][_SHAPE[0] // 2 :].any() else Cause("draws/zeros-dropped")


def _mixed(kept: Tensor) -> bool:
    return 0 < int(kept.sum()) < kept.numel()


def _far_off(kept: Tensor, share: float = 1 - _P) -> float | None:
    """The share of the elements that are kept, where no luck explains how far it is off."""
    found = float(kept.double().mean())
    spread = (share * (1 - share) / kept.numel()) ** 0.5
    return found if abs(found - share) > _FAR * spread else None


DROPOUT = Exercise(
    **told("Dropout"),
    reference=dropout,
    drawn=kept_in,
    gradcheck=False,  # each of its calls would drop others
    cases=(
        _case("a matrix, p=0.4", 75, 80, p=0.4),
        _case("a batch of matrices, p=0.25", 2, 3, 4, p=0.25),
        _case("not training", 3, 4, p=0.4, training=False),
        _case("p = 0", 2, 5, p=0.0, role="special", second=True),
        _case(
            "p = 1", 2, 4, p=1.0, role="special", second=True,
            advice="Everything is dropped, and 1 / (1 − p) is a division by 0.",
        ),
        _case("p = 1, not training", 5, p=1.0, training=False, role="special"),
        _case("a vector", 7, p=0.5, role="batch"),
        _case("a single number (0-d)", p=0.5, role="batch"),
        _case("an empty batch", 0, 3, p=0.5, role="empty"),
        extreme(
            "inputs of ±1000",
            [-1000.0, 1000.0, 500.0, -2.0], 0.5, True,

        ),
    ),
    budget=lambda args, outputs: args[0].numel() if args[2] else 0,
    scenarios=(
        Scenario(
            "each element is dropped with probability p", "forward-value", run_draws, judge_share,
            needs=(), first=True,
        ),
        Scenario(
            "what is dropped is drawn once, by torch's generator", "random-state", run_draws, judge_generator,
            needs=(), first=True,
        ),
        Scenario(
            "a 0 in x is kept or dropped as any other number", "gradient-value", run_draws, judge_zeros,
            needs=("gradients_agree",),
        ),
    ),
)  # fmt: skip


# ---- Case11 of lesson 10, which drops rows ----------------------------------------------------------


def dropped_rows(x: Tensor, p: float, rows: Tensor | None = None) -> Tensor:
    """The reference: ``rows`` of x (…, 1) are kept, and divided by 1 − p; without them it draws its own."""
    if rows is None:
        rows = torch.rand(*x.shape[:-1], 1, dtype=torch.float64) >= p
    return x * rows / (1 - p)


def draws(drop_rows: Solution, s: Sampler) -> Data:
    """Dropout's experiment, which hands on whether it trains: it always does."""
    return run_draws(lambda x, p, training: drop_rows(x, p), s)


def judge_share_of_rows(data: Data, right: Data) -> Cause | None:
    """Each row by itself is dropped with probability p; those of two calls, for there are few."""
    return judge_share({"first": torch.stack([data["first"], data["second"]]).any(-1)}, right)
