"""Comparing tensors, and finding words for how they differ."""

from __future__ import annotations

import math
from typing import Any

import numpy
import torch
from torch import Tensor

from autograder.observation.observation import Named

# rtol, atol (times the largest expected value) by dtype. Float64 is far tighter than gradcheck's
# defaults: a 0.09 % error and a sign flip of size 1e-5 pass gradcheck. bfloat16 keeps 8 bits.
TOLERANCE = {
    torch.float64: (1e-6, 1e-8),
    torch.float32: (1e-4, 2e-5),
    torch.bfloat16: (0.0, 0.1),
    torch.float16: (0.0, 0.02),
}


def real(tensor: Tensor) -> Tensor:
    """The real and imaginary parts of a complex tensor in a last dimension; any other as it is."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def coarse_dtype(tensor: Tensor) -> torch.dtype | None:
    """The coarser dtype that has every number of a tensor, where there is one and they are not all whole."""
    numbers = real(tensor)
    if not numbers.is_floating_point() or not numbers.numel():
        return None
    fitting: torch.dtype = numbers.dtype
    for some in (numbers.reshape(-1)[:1000], numbers):  # so many seldom fit by chance
        kinds = (torch.bfloat16, torch.float16, torch.float32, numbers.dtype)
        fits = (kind for kind in kinds if torch.equal(some.to(kind).to(numbers.dtype), some))
        if (fitting := next(fits, numbers.dtype)) == numbers.dtype:
            return None
    return None if bool((numbers == numbers.round()).all()) else fitting


def close(actual: Any, expected: Any, dtype: torch.dtype = torch.float64) -> bool:
    """Whether two tensors of one shape agree. Nan and infinities agree with themselves only."""
    if not alike(actual, expected):
        return False
    same = actual.dtype == expected.dtype and torch.equal(actual, expected)
    close = same or _surely_close(actual, expected, dtype)
    return close or not bool(mismatch(actual, expected, dtype).any())


def alike(actual: Any, expected: Any) -> bool:
    """Whether both are tensors, of one shape."""
    tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    return tensors and actual.shape == expected.shape


def _surely_close(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """Whether no element is off by more than what is allowed at 0: most answers, and half the time."""
    floating = actual.is_floating_point() and expected.dtype == torch.float64
    if not floating or not expected.numel():
        return False
    allowed = _allowed_at_zero(float(expected.abs().max()), dtype)
    # nan is never; and no whole number is another one
    return float((actual.double() - expected).abs().max()) <= min(allowed, 0.5) < math.inf


def where_finite(actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Both with NaN where the right number is not finite in the dtype of the actual one: there nothing is asked for."""
    beyond = ~expected.to(actual.dtype).isfinite()
    if actual.shape != expected.shape or not bool(beyond.any()):
        return actual, expected
    return actual.masked_fill(beyond, math.nan), expected.masked_fill(beyond, math.nan)


def mismatch(actual: Tensor, expected: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """Boolean tensor: where two tensors of one shape differ by more than the tolerance."""
    return _differ(actual, expected, dtype, _largest(expected))


def _largest(expected: Tensor) -> float:
    """The size of the largest finite number."""
    sizes = real(expected).to(torch.float64).abs()
    finite = (
        sizes if not sizes.numel() or float(sizes.max()) < math.inf else sizes[sizes.isfinite()]
    )
    return float(finite.max()) if finite.numel() else 1.0


def _differ(actual: Tensor, expected: Tensor, dtype: torch.dtype, largest: float) -> Tensor:
    """The same for a part of two tensors, of which the largest right number is known."""
    if actual.is_complex() and expected.is_complex():
        return _differ(real(actual), real(expected), dtype, largest).any(-1)
    if not actual.is_floating_point() or not expected.is_floating_point():
        return actual.to(expected.device) != expected
    a, e = actual.to(torch.float64), expected.to(torch.float64)
    relative, _ = TOLERANCE.get(dtype, TOLERANCE[torch.float64])
    size = e.abs().nan_to_num(0.0, posinf=0.0)
    near = (a - e).abs() <= _allowed_at_zero(largest, dtype) + relative * size
    near &= ~(_is_exact(a, dtype) & _is_exact(e, dtype))
    return ~(near | (a == e) | (torch.isnan(a) & torch.isnan(e)))


def _is_exact(numbers: Tensor, dtype: torch.dtype) -> Tensor:
    """Which numbers are whole, and small enough for their dtype to tell them from their neighbours."""
    return (numbers == numbers.round()) & (numbers.abs() < 2 / torch.finfo(dtype).eps)


def _allowed_at_zero(largest: float, dtype: torch.dtype) -> float:
    """How far off an element may be whose right value is 0, in a tensor with this largest one."""
    _, absolute = TOLERANCE.get(dtype, TOLERANCE[torch.float64])
    return absolute * max(largest, 1e-3 if dtype == torch.float64 else 1.0)


def single_inside(actual: Any, expected: Any) -> bool:
    """Whether float64 numbers went through float32: each that is not right is one that float32 has, and not by right.

    float32's rounding is often within the tolerance, so closeness does not tell.
    """
    if not alike(actual, expected) or actual.dtype != torch.float64:
        return False
    right = expected.to(torch.float64)
    if not off_by(actual, right) > 1e-11:
        return False
    differ = actual != right
    mine, wanted = actual[differ], right[differ]
    if not mine.all() or torch.equal(mine, mine.round()):  # whole numbers are in every dtype
        return False
    if not torch.equal(mine.float().double(), mine):
        return False
    return not torch.equal(wanted.float().double(), wanted)


def nearly(actual: Any, expected: Any) -> bool:
    """Whether all that is off is behind the fourth digit of the largest element."""
    return alike(actual, expected) and off_by(actual, expected) < 1e-4


def off_by(actual: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest expected number; nan where there is one."""
    a, e = _as_exact(actual), _as_exact(expected)
    return float((a - e).abs().max()) / float(e.abs().max()) if bool(e.any()) else math.inf


def _as_exact(tensor: Tensor) -> Tensor:
    """The same numbers as float64 ones, complex ones as complex."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def ratio(actual: Any, expected: Any) -> float | None:
    """The one factor c with actual = c · expected everywhere, or None."""
    if not alike(actual, expected) or actual.numel() == 0:
        return None
    a, e = _as_exact(actual).reshape(-1), _as_exact(expected).reshape(-1)
    energy = float((e * e.conj()).sum().real)
    if energy == 0 or not torch.isfinite(a).all():
        return None
    factor = float((a * e.conj()).sum().real) / energy
    if not close(a, factor * e) or abs(factor) < 1e-9:
        return None
    return factor


def first_difference(
    actual: Tensor, expected: Tensor, dtype: torch.dtype = torch.float64
) -> tuple[tuple[int, ...], Any, Any] | None:
    """(index, actual, expected) of the largest difference, as plain numbers; None where there is none."""
    wrong = mismatch(actual, expected, dtype)
    if not bool(wrong.any()):
        return None
    gap = (_as_exact(actual) - _as_exact(expected)).abs()
    gap = torch.where(wrong, torch.nan_to_num(gap, nan=torch.inf, posinf=torch.inf), -1.0)
    flat = int(gap.reshape(-1).argmax())
    index = tuple(map(int, numpy.unravel_index(flat, gap.shape)))  # torch's own loads sympy
    right = as_far_as(actual.dtype, expected)
    return index, plain_number(actual.reshape(-1)[flat]), plain_number(right.reshape(-1)[flat])


def plain_number(element: Tensor) -> Any:
    """One element as a float, or as a complex number."""
    return complex(element) if element.is_complex() else float(element)


def as_far_as(dtype: torch.dtype, expected: Tensor) -> Tensor:
    """The expected numbers, with 0 for those that are too small for a dtype: e⁻²⁰⁰ in float32."""
    if expected.dtype != torch.float64 or not dtype.is_floating_point:
        return expected
    return torch.where(expected.to(dtype) == 0, torch.zeros_like(expected), expected)


SHOWN = 6  # elements of a tensor that a report shows


def show(value: Any, limit: int = SHOWN, digits: int = 4) -> str:
    """A tensor or value in a few words: "[0.25, -1.5, …] (3×4)"."""
    if isinstance(value, Tensor):
        flat = value.detach().reshape(-1)
        text = ", ".join(number(v, digits) for v in flat[:limit].tolist())
        if flat.numel() > limit:
            text += ", …"
        if value.dim() == 0:
            return text
        shape = (
            f" (shape {'×'.join(map(str, value.shape))})"
            if value.dim() > 1 or flat.numel() > limit
            else ""
        )
        return f"[{text}]{shape}"
    if isinstance(value, float | complex):
        return number(value, digits)
    if isinstance(value, Named):
        return f"{value.name}({', '.join(map(number, value.settings))})"
    return str(value)


def show_apart(
    actual: Tensor, expected: Tensor, dtype: torch.dtype = torch.float64
) -> tuple[str, str]:
    """Both tensors in a few words, with as many digits as it takes to tell them apart.

    Where they differ only behind what is shown of a long tensor, the place where they differ most.
    """
    expected = as_far_as(actual.dtype, expected)
    a, e = actual.reshape(-1)[:SHOWN], expected.reshape(-1)[:SHOWN]
    alike = actual.shape == expected.shape
    alike = alike and not bool(_differ(a, e, dtype, _largest(expected)).any())
    if alike and (difference := first_difference(actual, expected, dtype)) is not None:
        index, mine, right = difference
        mine_words, right_words = digits_apart(mine, right)
        place = f"at [{', '.join(map(str, index))}]"
        return f"{mine_words} {place}", f"{right_words} {place}"
    return digits_apart(actual, expected)


def digits_apart(actual: Any, expected: Any) -> tuple[str, str]:
    """Both in a few words, with as many digits as it takes to tell them apart."""
    for digits in (4, 7, 10, 13, 17):
        words = show(actual, digits=digits), show(expected, digits=digits)
        if words[0] != words[1]:
            return words
    return show(actual), show(expected)


def both(actual: Any, expected: Any, dtype: torch.dtype = torch.float64) -> dict[str, object]:
    """The evidence "actual" and "expected", told apart. An expected None is 0."""
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        mine, right = show_apart(actual, expected, dtype)
        return {"actual": mine, "expected": right}
    return {
        "actual": "None" if actual is None else show(actual),
        "expected": "0" if expected is None else show(expected),
    }


def number(value: Any, digits: int = 4) -> str:
    """Four significant digits (or ``digits``); whole numbers without a point."""
    if isinstance(value, int):
        return str(value)
    return f"{value + 0.0:.{digits}g}"  # + 0.0: a zero without a sign


def shape_words(shape: Any) -> str:
    """(3, 4) as text; "() – a single number" for the empty shape."""
    return str(tuple(shape)) if len(shape) else "() – a single number"
