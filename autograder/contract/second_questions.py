"""Questions about second derivatives: alone and in other losses, with other strides, with inputs frozen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.drawing import Asking
from autograder.contract.exercise import Case
from autograder.observation.observation import Question

JUDGED = ("right", "right-or-refused", "refused")  # by questions about second derivatives


class AskingTwice(Asking):
    """Makes those questions of an exercise."""

    def second_order(self, i: int, case: Case, pure: bool = False) -> list[Question]:
        """The second derivative alone, and (not if ``pure``) in a loss that adds x³."""
        if self.exercise.second_order not in JUDGED:
            return []
        alone = pure or not self.is_finite(i, case)  # x³ has no second derivative at infinity
        return [
            self.second(f"second:{i}:{'mixed' if mixed else 'pure'}", i, case, mixed)
            for mixed in ((False,) if alone else (False, True))
        ]

    def is_finite(self, i: int, case: Case) -> bool:
        args = self.arguments(i, case, torch.float64)
        return all(bool(torch.isfinite(a).all()) for a in args if isinstance(a, Tensor))

    def second(
        self, name: str, i: int, case: Case, mixed: bool, kind: str = "second", **more: Any
    ) -> Question:
        """A question with directions: weights of the gradients, or tangents of the arguments."""
        made = self.question(name, kind, i, case, mixed=mixed, **more)
        draw = self.sampler(f"directions:{i}")
        drawn = [draw.normal(*made.args[p].shape) for p in made.wants]
        made.directions = tuple(
            d.to(made.args[p].dtype) for p, d in zip(made.wants, drawn, strict=True)
        )
        return made

    def second_order_elsewhere(self, i: int, case: Case) -> list[Question]:
        """The second derivative with other strides, and with each of several inputs frozen."""
        if self.exercise.second_order not in JUDGED:
            return []
        made = []
        if self.exercise.noncontiguous and self.exercise.second_order != "refused":
            name, layout = f"second:{i}:transposed", "transposed"
            made.append(self.second(name, i, case, False, layout=layout, variant=layout))
        whole = self.second(f"second:{i}:frozen", i, case, False)
        for frozen in whole.wants if len(whole.wants) > 1 else ():
            places = [place for place, p in enumerate(whole.wants) if p != frozen]
            made.append(
                replace(
                    whole, id=f"second:{i}:frozen:{frozen}",
                    case=f"{case.name}, {self.exercise.argument(frozen)} frozen",
                    wants=tuple(whole.wants[place] for place in places),
                    directions=tuple(whole.directions[place] for place in places),
                )
            )  # fmt: skip
        return made
