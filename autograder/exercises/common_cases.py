"""What exercises of several lessons share: cases of elementwise functions, their budget, far-out values."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Arguments, Case, Sampler, Solution, bytes_of

_TOLD = (
    r"^## {} (?P<signature>\(.*\))\n(?P<summary>.+)\n(?:keeps: (?P<budget_words>.+)\n)?"
    r"(?P<hints>(?:> .+\n){{3}})"
)
Budget = Callable[[Arguments, Arguments], int]
_OF_A_CASE = frozenset({"role", "wants", "second", "advice"})


def told(name: str) -> dict[str, Any]:
    """What an exercise of the course says of itself, in the exercises.md of its lesson: the words of an Exercise."""
    found = re.search(_TOLD.format(name), _texts(), re.M)
    assert found, f"no exercises.md has {name}"
    words = {key: text for key, text in found.groupdict().items() if text}
    return {"name": name, **words, "hints": tuple(re.findall("> (.+)", found["hints"]))}


@cache
def _texts() -> str:
    return "\n".join(p.read_text("utf-8") for p in Path(__file__).parent.glob("*/exercises.md"))


def kept(*places: int, output: bool = False) -> Budget:
    """The budget of a function that keeps the arguments at these places, and its output."""
    return lambda args, outputs: bytes_of(
        *(args[place] for place in places), *(outputs[:1] if output else ())
    )


def float64(numbers: Any) -> Tensor:
    """A float64 tensor of these numbers."""
    return torch.tensor(numbers, dtype=torch.float64)


def drawing(*given: Any) -> Callable[[Sampler], Arguments]:
    """What makes a case's arguments: of a list a float64 tensor, of a function what it draws with a Sampler.

    A single function may draw all of them.
    """

    def make(s: Sampler) -> Arguments:
        made = [v(s) if callable(v) else float64(v) if isinstance(v, list) else v for v in given]
        return _as_arguments(made[0] if len(made) == 1 else tuple(made))

    return make


def unknown(where: Tensor) -> Tensor:
    """What makes a reference NaN, gradients too, where nothing is promised; 0 elsewhere."""
    return torch.zeros_like(where, dtype=torch.float64).masked_fill(where, torch.nan)


def some(*shape: int) -> Callable[[Sampler], Tensor]:
    """Normal values of a shape, drawn when a case is made."""
    return lambda s: s.normal(*shape)


def put(
    draw: Callable[[Sampler], Tensor], number: float, *places: Any
) -> Callable[[Sampler], Tensor]:
    """What ``draw`` draws, with a number at these places."""

    def make(s: Sampler) -> Tensor:
        drawn = draw(s)
        for place in places:
            drawn[place] = number
        return drawn

    return make


def _as_arguments(made: Any) -> Arguments:
    return made if isinstance(made, tuple) else (made,)


def special(name: str, *given: Any, **more: Any) -> Case:
    """A case at a special point. ``given`` is what ``drawing`` makes its arguments of."""
    return Case(name, drawing(*given), **{"role": "special", **more})


extreme = partial(special, role="extreme")
empty = partial(special, role="empty")


def cases_of(draw: Solution, **always: Any) -> Callable[..., Case]:
    """Makes cases of one kind of their names and of what ``draw`` gets besides a Sampler.

    ``draw`` gives the arguments, or the only one. What a Case has itself (role, second, …) goes to the
    case, other keywords go to ``draw``. ``always`` is what all of them have.
    """

    def case(name: str, *given: Any, **more: Any) -> Case:
        own = always | {key: more.pop(key) for key in _OF_A_CASE & more.keys()}
        return Case(name, lambda s: _as_arguments(draw(s, *given, **more)), **own)

    return case


def clipped(x: Tensor, low: float, high: float) -> Tensor:
    """torch.clamp's values, with the gradient 1 on the bounds, as the contract says.

    torch.clamp itself has changed its mind: its gradient on a bound is 1 in torch 2.13, 0 since 2.14.
    """
    return torch.where((x >= low) & (x <= high), x, x.detach().clamp(low, high))


# In these exp and its friends overflow or vanish in float32.
EXTREME = [-1000.0, -100.0, -30.0, -5.0, 0.0, 5.0, 30.0, 100.0, 1000.0]

# A tensor, and a number: drawn between low and high, so that two calls have two, or given.
with_number = cases_of(
    lambda s, *shape, low=0.0, high=0.0, number=None: (
        1.5 * s.normal(*shape),
        float(s.uniform(low=low, high=high)) if number is None else number,
    )
)


def beside_number(low: float, high: float) -> Solution:
    """Draws a tensor of a shape, and a number between low and high."""
    return lambda s, *shape: (s.normal(*shape), float(s.uniform(low=low, high=high)))


# A tensor of a shape, away from 0.
off_zero = cases_of(Sampler.away_from)

# A tensor of a shape, and the dimension to work along: values of any size; all of them different.
along = cases_of(lambda s, *shape, dim: (1.5 * s.normal(*shape), dim))
distinct_along = cases_of(lambda s, *shape, dim: (s.distinct(*shape), dim))


def normal(s: Sampler, *shape: int) -> Tensor:
    """Values of both signs, of any size."""
    return 1.5 * s.normal(*shape)


def _wide(s: Sampler, *shape: int) -> Tensor:
    """The same, in batches of matrices also values at which exp and its friends are nearly flat."""
    return (3.0 if len(shape) > 2 else 1.0) * normal(s, *shape)


def along_a_dim(case: Callable[..., Case], *more: Case) -> tuple[Case, ...]:
    """Cases of a function that works along a dimension, with more of them before the rarer shapes."""
    return (
        case("a matrix, dim=1", 3, 4, dim=1),
        case("a matrix, dim=0", 5, 2, dim=0),
        case("a batch of matrices, dim=-2", 2, 3, 4, dim=-2),
        *more,
        case("a vector", 5, dim=0, role="batch"),
        case("an empty batch, dim=1", 0, 3, dim=1, role="empty"),
    )


def of_every_shape(
    draw: Solution, *more: Case, vector: int = 5, least: int = 0
) -> tuple[Case, ...]:
    """Cases of every shape with at least ``least`` dimensions, with more of them before the rarer shapes.

    ``draw`` gets a Sampler and a shape, and gives the arguments, or the only one.
    """
    case = cases_of(draw)
    shapes = {"a vector": (vector,), "a matrix": (3, 4), "a batch of matrices": (2, 3, 4)}
    few = {"a single number (0-d)": (), "a vector": (4,)}
    return (
        *(case(name, *shape) for name, shape in shapes.items() if len(shape) > least),
        *more,
        *(case(name, *shape, role="batch") for name, shape in few.items() if len(shape) == least),
        case("an empty batch", 0, 4, role="empty"),
        case("an empty batch of matrices", 0, 3, 4, role="empty"),
    )


def elementwise_cases() -> tuple[Case, ...]:
    """Cases of a smooth function of one tensor of any shape."""
    at_zero = special(
        "x = 0",
        [0.0, 0.0, 0.0],
        second=True,
        advice="The function is smooth at 0, and has one slope there. Where backward is put together from pieces "
        "(x < 0, sign, abs), what each of them is at 0 itself counts too.",
    )
    far = extreme("inputs up to ±1000 in float32", EXTREME, second=True, digits=True)
    return (*of_every_shape(_wide, at_zero), far)


def zeros_and_others(s: Sampler) -> Tensor:
    """0, −0 and two ordinary numbers of both signs."""
    return torch.cat([float64([0.0, -0.0]), s.away_from(2)])


def large(s: Sampler) -> Tensor:
    """Two values near ±1000, where exp would overflow in float32."""
    return float64([-1000.0, 1000.0]) + s.uniform(2)
