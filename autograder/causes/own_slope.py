"""A backward that multiplies grad_output by a slope of its own, for estimators that state another one."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.evidence import Evidence, Pair
from autograder.expected import expected_upstream


def slope_of_its_own(
    ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]
) -> tuple[str, str] | None:
    """(headline, next step) where grad_output is multiplied by a number that x alone decides.

    Measured: two upstream gradients at the same x give the same factor, and it is not one for all x.
    """
    if ev.exercise.gradcheck or ev.exercise.is_function or len(ev.exercise.argument_names) != 1:
        return None
    factors, stated = [], []
    for pair in every:
        found = _factor(pair, pair.raw(i)), _factor(pair, pair.right(i))
        if found[0] is None or found[1] is None:
            return None
        factors.append(found[0])
        stated.append(found[1])
    by_id = {p.question.id: k for k, p in enumerate(every)}
    again = [
        (k, by_id.get(id.replace("linear", "run"))) for id, k in by_id.items() if "linear" in id
    ]
    both = [(factors[k], factors[j]) for k, j in again if j is not None]
    if not both or not all(a.shape == b.shape and close(a, b) for a, b in both):
        return None
    mine, right = torch.cat(factors), torch.cat(stated)
    if bool((mine - mine[0]).abs().max() < 1e-6):
        return None
    slopes = " or ".join(show(v) for v in right.round(decimals=6).unique().flip(0)[:3])
    return (
        f"backward multiplies grad_output by a number that changes with x, from {show(mine.min())} to "
        f"{show(mine.max())} here; the contract states {slopes}.",
        "That is the slope of another surrogate, a smooth one perhaps. The contract is: "
        f"{ev.exercise.summary}",
    )


def _factor(pair: Pair, gradient: object) -> Tensor | None:
    """What grad_output was multiplied by, element by element; None where it is not to be told."""
    upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
    if not isinstance(gradient, Tensor) or upstream is None or gradient.shape != upstream.shape:
        return None
    if bool((upstream.abs() < 1e-6).any()) or not bool(torch.isfinite(gradient).all()):
        return None
    return (gradient.double() / upstream.double()).reshape(-1)
