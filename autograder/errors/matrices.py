"""Errors of matrix products: transposed, in batches that do not fit, or where elements are meant."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from autograder.compare import close
from autograder.evidence import Evidence, Pair
from autograder.expected import reference_arguments
from autograder.observation import Failure

_PRODUCT = r"@|matmul|\bmm\(|\bdot\(|\bmv\(|bmm"
Words = tuple[str, str]


def transposed(failure: Failure, method: str) -> Words | None:
    """Two matrices that would fit with one of them transposed."""
    found = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", failure.message)
    if found is None:
        return None
    a, b, c, d = map(int, found.groups())
    fits = [words for words, good in (("the first", a == c), ("the second", b == d)) if good]
    if not fits or (a, b) == (c, d):
        return None
    return (
        f"{method} multiplies matrices whose shapes do not fit: {a}×{b} and {c}×{d}. They would with "
        f"{' or '.join(fits)} transposed.",
        "The inner sizes must agree, and the outer ones must give the shape that is wanted. transpose(-1, -2) "
        "or .mT, whatever the number of batch dimensions.",
    )


def batches_of_matrices(failure: Failure, method: str) -> Words | None:
    """The dimensions in front of the matrices do not fit: torch's sizes are about those."""
    sizes = re.search(r"tensor a \((\d+)\).*tensor b \((\d+)\).*dimension (\d+)", failure.message)
    if sizes is None or not re.search(_PRODUCT, failure.source):
        return None
    return (
        f"{method} multiplies batches of matrices (@) whose batch dimensions do not fit: {sizes[1]} against "
        f"{sizes[2]} in dimension {sizes[3]}.",
        "The matrices are the last two dimensions, all in front are batches. mT and transpose(-1, -2) exchange "
        "the last two; .T turns round all of them, and transpose(0, 1) or (1, 2) may move a batch.",
    )


def matrices_for_elements(failure: Failure, ev: Evidence, pair: Pair, method: str) -> Words | None:
    """@ in a function that works element by element."""
    if not re.search(_PRODUCT, failure.source):
        return None
    if not _by_elements(ev, pair):
        return None
    return (
        f"{method} multiplies matrices where {ev.exercise.name} works element by element: *, not @.",
        "* multiplies each element with its partner, and broadcasts; @, matmul, mm and dot add up products.",
    )


def _by_elements(ev: Evidence, pair: Pair) -> bool:
    """Whether every element of the output comes from one element of each argument: tried on two."""
    args, outputs = reference_arguments(pair.question), pair.expected.outputs
    if len(outputs) != 1 or not isinstance(outputs[0], Tensor) or outputs[0].numel() == 0:
        return False
    whole = outputs[0].detach()
    for place in (0, whole.numel() - 1):
        try:
            single = [
                a.detach().expand(whole.shape).reshape(-1)[place] if isinstance(a, Tensor) else a
                for a in args
            ]
            with torch.no_grad():
                made = ev.exercise.reference(*single)
        except Exception:  # another call need not make sense for this reference
            return False
        if not isinstance(made, Tensor) or not close(made, whole.reshape(-1)[place]):
            return False
    return True
