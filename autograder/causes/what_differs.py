"""What the cases in which an answer is right have in common, and those in which it is wrong have not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from autograder.evidence import Evidence, Pair


@dataclass(frozen=True)
class Feature:
    """A property of an argument: where it holds the argument ``yes``, where it does not it ``no``.

    as_if  what an answer looks like that is right where it holds only; "" where that says no more
    """

    holds: Callable[[Pair], bool]
    name: str
    yes: str
    no: str
    hint: str
    as_if: str = ""

    def turned_round(self) -> Feature:
        """The opposite property."""
        return replace(self, holds=lambda p: not self.holds(p), yes=self.no, no=self.yes, as_if="")


def what_differs(ev: Evidence, wrong: Sequence[Pair], every: Sequence[Pair]) -> list[Feature]:
    """The properties that all right cases have and no wrong one; ``yes`` is said of the right ones."""
    right = [p for p in every if p not in wrong]
    if not right or not wrong:
        return []
    found, opposite = [], []
    for feature in _features(ev):
        try:
            good, bad = {feature.holds(p) for p in right}, {feature.holds(p) for p in wrong}
        except (IndexError, TypeError, AttributeError):
            continue
        if good == {True} and bad == {False}:
            found.append(feature)
        elif good == {False} and bad == {True}:
            opposite.append(feature.turned_round())
    return found or opposite


_FIXED = "Look for a dimension that is written out (-1, 0, 1) or left out, where dim belongs."


def _features(ev: Evidence) -> list[Feature]:
    names = ev.exercise.argument_names
    made = _of_dim(names.index("dim")) if "dim" in names else []
    return made + [feature for j, name in enumerate(names) for feature in _of_argument(j, name)]


def _of_dim(d: int) -> list[Feature]:
    return [
        Feature(
            lambda p: p.question.args[d] in (-1, p.question.args[0].dim() - 1),
            "dim", "is the last dimension", "is another one", _FIXED,
            ", as if it always worked along the last one",
        ),
        Feature(
            lambda p: p.question.args[d] in (0, -p.question.args[0].dim()),
            "dim", "is dimension 0", "is another one", _FIXED,
            ", as if it always worked along dimension 0",
        ),
        Feature(
            lambda p: p.question.args[d] < 0,
            "dim", "is negative", "counts from the front",
            "A negative dim counts from the end: dim % x.dim() is the same one, counted from the front.",
        ),
    ]  # fmt: skip


def _of_argument(j: int, name: str) -> list[Feature]:
    return [
        Feature(
            lambda p: len(p.question.args) <= j or p.question.args[j] is None,
            name, "is left out", "is given",
            f"Follow {name} through backward: where does the case with it differ from the one without?",
        ),
        Feature(
            lambda p: isinstance(p.question.args[j], bool) and p.question.args[j],
            name, "is True", "is not",
            f"Follow {name} through backward: what changes there when it is True?",
        ),
        Feature(
            lambda p: _is_whole(p, j),
            name, "has the shape of the output", "is broadcast",
            f"Where {name} is broadcast each of its elements is used several times. Multiply first, by "
            "grad_output too, then sum over the dimensions that were made or stretched, and no other.",
        ),
    ]  # fmt: skip


def _is_whole(pair: Pair, j: int) -> bool:
    value, output = pair.question.args[j], pair.expected.outputs[0]
    if not isinstance(value, Tensor):
        raise TypeError("no tensor")
    return value.shape == output.shape
