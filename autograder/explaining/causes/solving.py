"""What a part of an operation would have to be, to make other numbers of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from autograder.running.operations import Array, Number, tensors_in
from autograder.running.value_flow import Value
from autograder.running.watching import MOVES

_LARGEST = 100  # elements of what is solved for by its slopes


def moves(value: Value, part: Value) -> bool:
    """Whether a value is only another view or a copy of its part."""
    if (not value.view and value.op not in MOVES and not value.read) or any(
        g.mask and g is not part for g in value.given
    ):
        return False
    made, mine = value.numbers, _beside(value, part.numbers)
    return mine is not None and np.array_equal(mine, made)


def _beside(value: Value, numbers: Array) -> Array | None:
    """The numbers of a part as they meet those of the value; None where they do not."""
    if numbers.size == value.numbers.size:
        return numbers.reshape(value.numbers.shape)
    try:
        return np.broadcast_to(numbers, value.numbers.shape)
    except ValueError:
        return None


def solved_by(value: Value, numbers: Array, part: Value) -> Iterator[Array]:
    """What a part of a sum, a product, a quotient or a choice would have to be, to make these numbers of it."""
    made, mine = value.numbers, _beside(value, part.numbers)
    if made.size != numbers.size and made.shape == part.numbers.shape and moves(value, part):
        yield numbers  # a copy has as many as what is copied
    if made.size != numbers.size:
        return
    wanted = numbers.reshape(made.shape)
    if mine is None:
        yield from _by_slopes(value, wanted, part)
        return
    given = value.operation.given if value.operation is not None else []
    sides = {i for i, place in enumerate(given) if part in getattr(place, "held", ())} or {0, 1}
    left, right = 0 in sides, 1 in sides
    with np.errstate(all="ignore"):
        factor = np.where(made == wanted, 1.0, wanted / made)
        ways = {
            "mul": (mine * factor,), "div": left * (mine * factor,) + right * (mine / factor,), "neg": (-wanted,),
            "add": (mine + wanted - made,), "sub": left * (mine + wanted - made,) + right * (mine - wanted + made,),
            "rsub": (mine - wanted + made,), "exp": (np.log(wanted),), "log": (np.exp(wanted),),
            "sqrt": (wanted**2,), "reciprocal": (1 / wanted,), "tanh": (np.arctanh(wanted),),
            "sigmoid": (np.log(wanted / (1 - wanted)),),
        }.get(value.op, ())  # fmt: skip
        if part.mask:
            ways = (np.where(np.isclose(made, wanted), mine, 1 - mine),)
    if not ways and not part.mask and not moves(value, part):
        yield from _by_slopes(value, wanted, part)
        return
    infinite = value.op not in ("mul", "div")  # there it comes of a 0
    for way in (wanted,) if moves(value, part) else ways:
        fits = (way.reshape(part.numbers.shape),) if part.numbers.size == made.size else _once(way, part.numbers.shape)  # fmt: skip
        for once in fits if infinite or np.isfinite(way).all() else ():
            back = _beside(value, once)
            if back is not None and not np.isnan(once).any() and np.allclose(back, way):
                yield once
                break


def _once(numbers: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    """One row of what was broadcast from this shape, or from another: along dimensions in which it is the same everywhere."""
    yield numbers[(0,) * (numbers.ndim - len(shape))][tuple(slice(0, size) for size in shape)]
    yield narrow(numbers)


def narrow(numbers: Array) -> Array:
    """What was broadcast to these numbers: one element of each dimension along which they are the same."""
    for axis in range(numbers.ndim):
        if np.allclose(first := numbers.take([0], axis), numbers):
            numbers = first
    return numbers


def concerned(value: Value, numbers: Array, part: Value) -> bool:
    """Whether a part has a say in what is another number; True where nobody knows."""
    slopes, made = _slopes(value, part), value.numbers
    if slopes is None or made.size != numbers.size:
        return True
    return bool(slopes[0][made.reshape(-1) != numbers.reshape(-1)].any())


def puts(value: Value, part: Value) -> bool:
    """Whether an operation puts the numbers of a part somewhere, beside others, and does no more."""
    slopes = _slopes(value, part)
    return slopes is not None and bool(np.isin(slopes[0], (0, 1)).all() and slopes[0].sum(1).max() == 1)  # fmt: skip


def _by_slopes(value: Value, wanted: Array, part: Value) -> Iterator[Array]:
    """The same of what is linear in a part, and lets no two numbers of it do for one another: a product of matrices, rows that are put together."""
    found = _slopes(value, part)
    if found is None:
        return
    slopes, again = found
    used, apart = slopes.any(0), (wanted - value.numbers).reshape(-1)
    if not used.any() or not (np.isfinite(slopes).all() and np.isfinite(apart).all()):
        return
    if np.linalg.matrix_rank(slopes[:, used]) < used.sum():
        return
    new = part.numbers.copy().reshape(-1)
    new[used] += np.linalg.lstsq(slopes[:, used], apart, rcond=None)[0]
    if np.allclose(again(torch.from_numpy(new.reshape(part.numbers.shape))).detach().numpy(), wanted):  # fmt: skip
        yield new.reshape(part.numbers.shape)


def _slopes(value: Value, part: Value) -> tuple[Array, Callable[[Tensor], Tensor]] | None:
    """The derivative of an operation by one of its parts, a row for each number, and the operation of that part."""
    operation = value.operation
    pointwise = operation is not None and torch.Tag.pointwise in operation.call[0].tags
    # Of what a mask chooses, the mask may be another.
    if operation is None or pointwise or any(g.mask for g in value.given):
        return None
    given = [g for g in operation.given if not isinstance(g, Number)]
    places = [place for place in given if place is not None]
    mine = [place for place in places if place.held == (part,) and place.key == part.place.key]
    large = max(value.numbers.size, part.numbers.size) > _LARGEST
    if large or len(mine) != 1 or len(places) < len(given):
        return None

    def again(tensor: Tensor) -> Tensor:
        func, *args = operation.call
        left = iter(places)

        def stand_in(old: Tensor) -> Tensor:
            place = next(left)
            other = tensor if place is mine[0] else torch.from_numpy(place.values)
            # The operation may write to it.
            return other.clone() if old.is_floating_point() else other.to(old.dtype, copy=True)

        taken, named = tree_map_only(Tensor, stand_in, args)
        return tensors_in(func(*taken, **named))[operation.values.index(value)]

    leaf = torch.from_numpy(part.numbers.copy()).requires_grad_()
    try:
        with torch.enable_grad():
            made = again(leaf).reshape(-1)
            rows = [torch.autograd.grad(each, leaf, retain_graph=True)[0] for each in made]
    except (RuntimeError, TypeError, ValueError, NotImplementedError):  # it has no derivative
        return None
    return (torch.stack(rows).reshape(len(made), -1).numpy(), again) if rows else None
