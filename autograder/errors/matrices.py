"""Errors of matrix products: transposed, in batches that do not fit, or where elements are meant."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from autograder.compare import close, shape_words
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


def batches_of_matrices(failure: Failure, pair: Pair, method: str) -> Words | None:
    """The dimensions in front of the matrices do not fit: torch's sizes are about those."""
    sizes = re.search(r"tensor a \((\d+)\).*tensor b \((\d+)\).*dimension (\d+)", failure.message)
    if sizes is None or not re.search(_PRODUCT, failure.source):
        return None
    a, b, dim = (int(n) for n in sizes.groups())
    if (turned := _turned_round(failure, pair, (a, b), dim)) is not None:
        written, shape = turned
        return (
            f"{written} in line {failure.line} turns round all dimensions, {shape_words(shape)} becomes "
            f"{shape_words(shape[::-1])}, where two are to be exchanged.",
            ".T is for matrices; .mT and transpose(-1, -2) exchange the last two dimensions of any tensor. To sum "
            "over the batch as well, make rows first: g.reshape(-1, g.shape[-1]).T.",
        )
    return (
        f"{method} multiplies batches of matrices (@) whose batch dimensions do not fit: {sizes[1]} against "
        f"{sizes[2]} in dimension {sizes[3]}.",
        "The matrices are the last two dimensions, all in front are batches. mT and transpose(-1, -2) exchange "
        "the last two; .T turns round all of them, and transpose(0, 1) or (1, 2) may move a batch.",
    )


def _turned_round(
    failure: Failure, pair: Pair, sizes: tuple[int, ...], dim: int
) -> tuple[str, tuple[int, ...]] | None:
    """(as it is written, shape) of a tensor of several dimensions whose .T is multiplied.

    sizes, dim  the two sizes that torch names, and the dimension where they do not fit
    """
    written = re.findall(r"\b([A-Za-z_]\w*)\.T\b", failure.source)
    tensors = [t for t in (*pair.question.args, *pair.expected.outputs) if isinstance(t, Tensor)]
    shapes = {tuple(t.shape) for t in tensors if t.dim() > 2}
    met = [s for s in shapes if s[::-1][dim] in sizes and s[::-1][dim] != s[dim]]
    return (f"{written[0]}.T", met[0]) if len(written) == len(met) == 1 else None


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
