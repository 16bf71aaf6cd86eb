"""Arguments beside those of a case: other numbers, other options, other sizes, −inf in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from autograder.contract.drawing import Asking, Numbered
from autograder.contract.exercise import Case, Exercise
from autograder.contract.references import Expected, cast, gradients_vary
from autograder.observation.compare import close
from autograder.observation.observation import Question

_BLOCK = 16  # of that size in each direction is the smallest block that kernels multiply
_APART = 1 / 16  # where such numbers were right, these are mostly too
_MOST = 2000  # numbers of a tensor with more of one size
_INFINITE = {"−inf": -math.inf, "inf": math.inf}


class OtherArguments(Asking):
    """What two calls may not share, and what has to stay finite, is seen with such arguments."""

    def extreme_arguments(self, at: Numbered) -> Iterator[Question]:
        """A case with −inf or inf in one place of a tensor, and with 0 for a number: what stays finite is right."""
        like = self.question("infinite", at, same_code=True, where_finite=True)
        for place, given in enumerate(like.args):
            others: dict[str, Any] = {"0": 0.0} if isinstance(given, float) and given else {}
            if place in like.wants:
                others = {name: _with_first(given, number) for name, number in _INFINITE.items()}
            for name, other in others.items():
                args = (*like.args[:place], other, *like.args[place + 1 :])
                told = f"{self.exercise.argument(place)} = {name}"
                asked = replace(like, id=f"{like.id}:{told}", args=args, case=told, role="special")
                right = self.answer(asked)
                if right is not None and not any(a.isnan().any() for a in right.outputs if isinstance(a, Tensor)):  # fmt: skip
                    yield asked

    def aliased(self, main: Sequence[Numbered]) -> Iterator[Question]:
        """One tensor, which requires grad, in the place of each two of one shape that some case has."""
        kind, asked = "function" if self.exercise.is_function else "run", set[tuple[int, int]]()
        for like in (
            self.question("aliased", at, kind, same_code=True, where_finite=True) for at in main
        ):
            places = like.wants or range(len(like.args))
            tensors = [(i, a) for i in places if isinstance(a := like.args[i], Tensor) and a.is_floating_point()]  # fmt: skip
            for (i, one), (j, other) in combinations(tensors, 2):
                if one.shape != other.shape or (i, j) in asked:
                    continue
                told = f"one tensor as {self.exercise.argument(i)} and {self.exercise.argument(j)}"
                again = replace(
                    like, id=f"aliased:{i}:{j}", case=told, role="special", wants=like.wants or (i, j),
                    args=(*like.args[:j], one, *like.args[j + 1 :]), more=like.more | {"same": [i, j]},
                )  # fmt: skip
                if self.answer(again) is not None:
                    asked.add((i, j))
                    yield again

    def answer(self, asked: Question) -> Expected | None:
        """The right answer; None where the reference refuses such arguments, each in its own way."""
        try:
            return self.references.expect(asked)
        except Exception:
            return None

    def from_above(
        self, name: str, at: Numbered, times: float, variant: str = "", **more: Any
    ) -> Question:
        """A case where so many times a random grad_output arrives: 0 goes on as 0, whatever backward divides by."""
        asked = self.question(name, at, variant=variant, same_code=True, times=abs(times), **more)
        if not times:
            asked.case += ", and grad_output = 0"
        asked.upstream = tuple(None if g is None else times * g for g in asked.upstream)
        return asked

    def unlike(self, main: list[Numbered], like: Question) -> tuple[Any, ...] | None:
        """The arguments of a main case whose plain values are others: a dim, a scale, a flag.

        What a call leaves on its class about them is wrong for another call. Arguments that somebody gave
        come backwards: the same numbers in other places, and a matrix keeps its eigenvalues.
        """
        if self.exercise.strictness.as_given:
            return tuple(
                a.flatten().flip(0).view(a.shape) if i in like.wants else a
                for i, a in enumerate(like.args)
            )
        mine, *others = (self.arguments(*at, torch.float64) for at in main)
        unlike = [o for o in others if _plain_values(o) != _plain_values(mine)]
        return next((o for o in unlike if self._matters(like, o)), next(iter(unlike), None))

    def _taken(self, like: Question, args: tuple[Any, ...]) -> bool:
        """Whether the reference runs on other arguments: probabilities have to add up."""
        try:
            return bool(self.references.forward(replace(like, args=args)).outputs)
        except Exception:
            return False

    def _matters(self, like: Question, other: Sequence[Any]) -> bool:
        """Whether somebody who takes the plain values of another call has other gradients."""
        mixed = tuple(
            a if isinstance(a, Tensor) else b for a, b in zip(like.args, other, strict=False)
        )
        try:
            found = self.references.expect(replace(like, args=mixed)).gradients
        except Exception:  # these values and these shapes do not go together, which shows as well
            return True
        right = self.references.expect(like).gradients
        pairs = zip(right or (), found or (), strict=False)
        return any(a is not None and b is not None and not close(a, b) for a, b in pairs)

    def another(self, i: int, case: Case, like: Question) -> tuple[Any, ...]:
        """Other arguments for the same case, with other gradients: two equal masks hide shared state."""
        if self.exercise.strictness.as_given:
            return next(filter(partial(self._taken, like), _nearby(like)), like.args)
        right = self.references.expect(like).gradients or ()
        varies = gradients_vary(self.references.forward(like), like)
        for attempt in range(8):
            args = cast(self.draw(i, case, f"other:{i}:{attempt}"), torch.float64)
            if not any(varies):
                break
            found = self.references.expect(replace(like, args=args)).gradients or ()
            if not any(
                vary and a is not None and b is not None and torch.equal(a, b)
                for vary, a, b in zip(varies, right, found, strict=True)
            ):
                break
        return args


def _nearby(like: Question) -> Iterator[tuple[Any, ...]]:
    """Arguments that somebody gave, a little smaller: still where the function is defined; else in other places.

    Only those that are differentiated: a rotation that is given stays one.
    """
    for moved in (lambda a: 0.875 * a, lambda a: a.flip(-1) if a.dim() else a):
        yield tuple(moved(a) if i in like.wants else a for i, a in enumerate(like.args))


def _plain_values(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if isinstance(a, Tensor) else a for a in args)


def _with_first(tensor: Tensor, number: float) -> Tensor:
    changed = tensor.clone()
    changed.view(-1)[:1] = number
    return changed


# ---- the same case in other sizes ---------------------------------------------------------------


def more_rows(
    first: Sequence[Any], rows: Callable[[int], Tensor], reference: Callable[..., Any]
) -> tuple[Any, ...] | None:
    """The arguments of a case with more rows along the first dimension: a size that nobody can have prepared for.

    Of the first tensor alone where the reference takes that (x of x @ weight.T), else of as few of the
    first ones as it takes (two inputs of one shape); None where it takes no such. ``rows`` gives them for a place.
    """
    args = list(first)
    for i, value in enumerate(first):
        if not isinstance(value, Tensor) or not value.dim():
            continue
        try:
            args[i] = rows(i)
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                reference(*args)
        except Exception:  # the reference refuses such shapes, each in its own way
            continue
        return tuple(args)
    return None


def scaled(args: Sequence[Any], times: int, place: int) -> Tensor:
    """So many copies of a tensor, one below the other, each with other numbers."""
    return _copies(args[place], times, 0, 1.0)


def _copies(tensor: Tensor, times: int, dim: int, apart: float) -> Tensor:
    """So many along a dimension; ``apart``: by which part of a number the last one differs from the first."""
    copies = tensor.movedim(dim, 0).expand(times, *tensor.movedim(dim, 0).shape)
    if copies.is_floating_point():
        factors = 1 + apart * torch.arange(times, dtype=copies.dtype) / times
        copies = copies * factors.view(-1, *[1] * (copies.dim() - 1))
    return copies.flatten(0, 1).movedim(0, dim).contiguous()


def other_sizes(args: Sequence[Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """In words, and the arguments: all sizes above 1 one of them, in place of each 1, and one far above the others.

    The last beside tensors of another shape alone: a result, or a block of a kernel, may have been given the wrong size.
    """
    tensors = [a for a in args if isinstance(a, Tensor)]
    sizes = sorted({size for tensor in tensors for size in tensor.shape if size > 1})
    if len(sizes) < 2:
        return
    yield f"all sizes {sizes[0]}", _cut(args, dict.fromkeys(sizes, sizes[0]))
    beside_others = len({tensor.shape for tensor in tensors}) > 1
    for size in sizes:
        yield f"1 in place of {size}", _cut(args, {size: 1})
        times = max(_BLOCK, 2 * sizes[-1]) // size + 1
        grown = [tensor for tensor in tensors if size in tensor.shape]
        square = any(t.shape.count(size) > 1 for t in grown)  # it may have to have an inverse
        small = times * max(t.numel() for t in grown) <= _MOST
        if beside_others and small and not square:
            yield f"{times * size} in place of {size}", _with_more(args, size, times)


def other_dims(args: Sequence[Any], exercise: Exercise) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """In words, and the arguments: along every other dimension of the first tensor."""
    if "dim" in exercise.argument_names[: len(args)]:
        place = exercise.argument_names.index("dim")
        for dim in {*range(-args[0].dim(), args[0].dim())} - {args[place]}:
            yield f"dim={dim} instead", (*args[:place], dim, *args[place + 1 :])


def _cut(args: Sequence[Any], sizes: Mapping[int, int]) -> tuple[Any, ...]:
    """The first elements along each dimension whose size has another one here."""

    def cut(tensor: Tensor) -> Tensor:
        return tensor[tuple(slice(sizes.get(size, size)) for size in tensor.shape)].clone()

    return tuple(cut(a) if isinstance(a, Tensor) else a for a in args)


def _with_more(args: Sequence[Any], size: int, times: int) -> tuple[Any, ...]:
    """So many times as many elements along each dimension of this size."""

    def grown(tensor: Tensor) -> Tensor:
        if size not in tensor.shape:
            return tensor
        return _copies(tensor, times, tensor.shape.index(size), _APART)

    return tuple(grown(a) if isinstance(a, Tensor) else a for a in args)
