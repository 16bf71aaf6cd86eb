"""Forwards that hand their arguments on as they are, or within bounds: torch has these, who writes one wants another gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import as_tuple
from autograder.contract.measured import Measured, leaf
from autograder.contract.real_numbers import flat_of, is_differentiable
from autograder.observation.compare import close

IDENTITY, BOUNDS = "identity", "bounds"
# Times an argument, and more for each one after it: so many numbers that bounds are reached, and none is all there is.
_PLACES = ((1.0, 0.0), (-1.7, 0.2), (12.0, 0.2), (1e3, 0.2), (0.01, 0.0))

Gradients = tuple[Tensor, Tensor]  # what backward gives, and what is right


@dataclass(frozen=True)
class Handed:
    """What is handed on around some arguments.

    places  which output an argument is
    beyond  which of its numbers are held at a bound
    bounds  the numbers that are given in their place
    keeps   forward keeps something for backward
    """

    places: Mapping[int, int]
    beyond: Mapping[int, Tensor]
    bounds: frozenset[float]
    keeps: bool

    def excuses(
        self, upstream: Sequence[Tensor | None], off: Mapping[int, Gradients]
    ) -> tuple[str, dict[int, frozenset[int]]]:
        """IDENTITY or BOUNDS, and of which outputs a gradient may be meant to be no derivative, by its position."""
        every = frozenset(range(len(upstream)))
        # To what is handed on as one output, another output's upstream gradient is nothing.
        if any(upstream[place] is None for p, place in self.places.items() if p in off):
            return IDENTITY, {}
        if not self.bounds:
            return IDENTITY, dict.fromkeys(off, every)
        if (
            self.bounds == {0.0} and self.keeps
        ):  # a relu's mask was to be made of that, and was forgotten
            return BOUNDS, {}
        return BOUNDS, {p: every for p in off if p in self.places and self._beyond(p, *off[p])}

    def _beyond(self, p: int, given: Tensor, right: Tensor) -> bool:
        """Whether a gradient is another one at the bounds alone."""
        beyond = self.beyond[p]
        alike = given.shape == right.shape and close(given[~beyond], right[~beyond])
        return alike and bool(beyond.any())


def handed_on(measured: Measured, args: Sequence[Any]) -> Handed | None:
    """Which argument each output is, whatever they all are; None where one is none.

    In their order: two arguments that change places are more than an identity.
    """
    floats = [p for p, a in enumerate(args) if is_differentiable(a)]
    made = as_tuple(measured.values(args))
    rest, places, bounds = iter(floats), dict[int, int](), set[float]()
    for k in (k for k, o in enumerate(made) if is_differentiable(o)):
        if (p := next((p for p in rest if _held(made[k], args[p]) is not None), None)) is None:
            return None
        places[p] = k
    beyond = {p: made[k] != args[p] for p, k in places.items()}
    moved = [1.7 * a + 0.2 * p if p in floats else _other(a) for p, a in enumerate(args)]
    for rest_of in (args, moved):
        for pairs in zip(*_seen(measured, rest_of, places), strict=True):
            output, argument = map(torch.cat, zip(*pairs, strict=True))
            found = _held(output, argument)
            if found is None or not bool((output == argument).any()):
                return None
            bounds |= found
    return Handed(places, beyond, frozenset(bounds), _keeps(measured, args)) if places else None


def _keeps(measured: Measured, args: Sequence[Any]) -> bool:
    """Whether forward keeps something for backward; True where nobody can tell."""
    with torch.enable_grad():
        made = as_tuple(measured.call(*map(leaf, args)))
    nodes = [o.grad_fn for o in made if isinstance(o, Tensor) and o.grad_fn is not None]
    own = all(isinstance(node, torch.autograd.function.BackwardCFunction) for node in nodes)
    return not own or any(node.saved_tensors or vars(node) for node in nodes)  # type: ignore[attr-defined]


def _seen(
    measured: Measured, args: Sequence[Any], places: Mapping[int, int]
) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """At some places: each output and the argument that it is, in a row."""
    for scale, shift in _PLACES:
        given = [scale * a + p * shift if p in places else a for p, a in enumerate(args)]
        with contextlib.suppress(Exception):  # far away, arguments need not make sense
            made = as_tuple(measured.values(given))
            yield [(flat_of(made[k]), flat_of(given[p])) for p, k in places.items()]


def _held(output: Tensor, argument: Tensor) -> set[float] | None:
    """The bounds between which an output is its argument; None where it is another function of it."""
    if output.shape != argument.shape or not output.numel():
        return None
    o, a = flat_of(output), flat_of(argument)
    numbers = ~(o.isnan() & a.isnan())
    o, a = o[numbers], a[numbers]
    same = bool(numbers.any()) and torch.equal(o, a.clamp(o.min(), o.max()))
    return set(o[o != a].tolist()) if same else None


def _other(value: Any) -> Any:
    """Another value of an option: another number, the other flag."""
    if isinstance(value, bool):
        return not value
    return type(value)(1.7 * value + 1) if isinstance(value, float | int) else value
