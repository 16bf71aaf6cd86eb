"""The wrong formulas that an exercise knows, recognised by the numbers of a gradient."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor

from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream, reference_arguments


def misconception(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    for known in ev.exercise.misconceptions:
        if all(_follows(known.gradients, p, i) for p in every):
            return Finding(known.rule, known.message, known.hint)
    return None


def _follows(formula: Callable[..., Any], pair: Pair, i: int) -> bool:
    args = [a.detach() if isinstance(a, Tensor) else a for a in reference_arguments(pair.question)]
    grads = [g for g in expected_upstream(pair.question, pair.expected.outputs) if g is not None]
    try:
        if "output" in inspect.signature(formula).parameters:
            found = formula(*args, grad_output=grads[0], output=pair.expected.outputs[0])
        else:
            found = formula(*args, grad_output=grads[0])
    except Exception:  # a known mistake need not make sense for every case
        return False
    values = found if isinstance(found, tuple | list) else (found,)
    return i < len(values) and isinstance(values[i], Tensor) and close(pair.raw(i), values[i])
