"""Arguments beside those of a case: other numbers, other options, −inf in one place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.drawing import Asking, Numbered, is_finite
from autograder.contract.exercise import Case
from autograder.contract.references import cast, gradients_vary
from autograder.observation.observation import Question


class OtherArguments(Asking):
    """What two calls may not share, and what has to stay finite, is seen with such arguments."""

    def infinite(self, i: int, case: Case) -> Iterator[Question]:
        """The first case with −inf, and with inf, in one place of an argument, where the right answer is finite."""
        for name, number in (("−inf", -math.inf), ("inf", math.inf)):
            like = self.question("infinite", (i, case), suffix=f":{name}")
            if not like.wants or self.exercise.strictness.as_given:
                return
            place = like.wants[0]
            changed = like.args[place].clone()
            changed.view(-1)[:1] = number
            args = (*like.args[:place], changed, *like.args[place + 1 :])
            name = f"{self.exercise.argument(place)} = {name}"
            asked = replace(like, args=args, case=name, role="special")
            right = self.references.expect(asked)
            found = [t for t in (*right.outputs, *(right.gradients or ())) if isinstance(t, Tensor)]
            if all(map(is_finite, found)):
                yield asked

    def silent(self, at: Numbered) -> Question:
        """A case where nothing arrives from above: 0 goes on, whatever backward divides by."""
        asked = self.question("silent", at)
        nothing = tuple(None if g is None else torch.zeros_like(g) for g in asked.upstream)
        return replace(asked, case=f"{at[1].name}, and grad_output = 0", upstream=nothing)

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
        return next((o for o in others if _plain_values(o) != _plain_values(mine)), None)

    def another(self, i: int, case: Case, like: Question) -> tuple[Any, ...]:
        """Other arguments for the same case, with other gradients: two equal masks hide shared state."""
        if self.exercise.strictness.as_given:
            return _nearby(like)
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


def _nearby(like: Question) -> tuple[Any, ...]:
    """Arguments that somebody gave, a little smaller: still where the function is defined.

    Only those that are differentiated: a rotation that is given stays one.
    """
    return tuple(0.875 * a if i in like.wants else a for i, a in enumerate(like.args))


def _plain_values(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if isinstance(a, Tensor) else a for a in args)
