"""Single questions of an exercise: seeded arguments and upstream gradients, each made once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.case_kinds import one_of_each_kind
from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.contract.references import References, cast
from autograder.observation.observation import Question

SMALL = 20  # elements an input for gradcheck, whose cost is 2n + 2 forwards
MORE = 1  # what a hidden check adds to every size above 1


def is_small(args: Sequence[Any]) -> bool:
    """Whether gradcheck can be asked with these arguments."""
    return not any(a.numel() > SMALL for a in args if isinstance(a, Tensor))


def _grown(larger: Sequence[Any], own: Sequence[Any]) -> bool:
    return all(
        a.shape == tuple(size + MORE if size > 1 else size for size in b.shape)
        for a, b in zip(larger, own, strict=True)
        if isinstance(b, Tensor)
    )


class Asking:
    """Makes questions of one exercise from a seed. The same seed and label, the same numbers."""

    def __init__(self, exercise: Exercise, seed: int, references: References, hidden: bool = False):
        self.exercise, self.seed, self.references = exercise, seed, references
        self.hidden = hidden
        self._more: dict[int, int] = {}
        self._drawn: dict[int, tuple[Any, ...]] = {}
        self._arguments: dict[tuple[int, torch.dtype], tuple[Any, ...]] = {}
        self._upstreams: dict[tuple[Any, ...], tuple[Tensor | None, ...]] = {}

    def sampler(self, label: str, more: int = 0) -> Sampler:
        """A sampler for one purpose: adding a question never changes the inputs of another."""
        return Sampler(self.own_seed(label), more)

    def draw(self, i: int, case: Case, label: str) -> tuple[Any, ...]:
        """The arguments of one case, in a hidden check of other sizes where that makes sense."""
        return case.make(self.sampler(label, self.more(i, case)))

    def more(self, i: int, case: Case) -> int:
        """What is added to the sizes of one case."""
        if i not in self._more:
            self._more[i] = MORE if self.hidden and self.also_larger(i, case) else 0
        return self._more[i]

    def also_larger(self, i: int, case: Case) -> bool:
        """Whether a case makes sense in another size; then its arguments are remembered.

        Where some of its numbers are fixed it does not, nor where gradcheck would become too large.
        """
        try:
            larger, own = (case.make(self.sampler(f"case:{i}", more)) for more in (MORE, 0))
            if any(isinstance(a, tuple | list) for a in own):  # sizes that are given by hand
                return False
            if not _grown(larger, own) or (is_small(own) and not is_small(larger)):
                return False
            args = cast(larger, torch.float64)
            wants = self.wants(args, case.wants)
            self.references.forward(Question("", "run", args=args, wants=wants))
        except Exception:  # sizes that do not fit one another, each refused in its own way
            return False
        self._drawn[i], self._arguments[i, torch.float64] = larger, args
        return True

    def own_seed(self, label: str) -> int:
        """The seed of one purpose. Whoever guesses it from its numbers knows no other.

        torch's generator has 2³² states, so one can be found by trying; the way back through the
        hash to the batch's secret seed, from which all others follow, is not open.
        """
        kind = "hidden/" if self.hidden else ""
        text = f"{kind}{self.seed}/{self.exercise.name}/{label}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def wants(self, args: Sequence[Any], given: tuple[int, ...] | None) -> tuple[int, ...]:
        if given is not None:
            return given
        if self.exercise.is_function:
            return ()
        return tuple(
            i
            for i, a in enumerate(args)
            if isinstance(a, Tensor) and a.is_floating_point() and i not in self.exercise.constants
        )

    def question(
        self, id: str, kind: str, i: int, case: Case, dtype: torch.dtype = torch.float64,
        layout: str = "contiguous", variant: str = "", device: str = "cpu",
        upstream: str = "g", **more: Any,
    ) -> Question:  # fmt: skip
        args = self.arguments(i, case, dtype)
        q = Question(
            id, kind, case.name, case.role, args, self.wants(args, case.wants), layout=layout,
            variant=variant, device=device, more=more,
        )  # fmt: skip
        q.upstream = self.upstream(f"{upstream}:{i}", q, dtype)
        return q

    def arguments(self, i: int, case: Case, dtype: torch.dtype) -> tuple[Any, ...]:
        """The arguments of one case: the same tuple for every question that asks with them."""
        self.more(i, case)  # which may remember what it drew
        if (i, dtype) not in self._arguments:
            if i not in self._drawn:
                self._drawn[i] = self.draw(i, case, f"case:{i}")
            self._arguments[i, dtype] = cast(self._drawn[i], dtype)
        return self._arguments[i, dtype]

    def upstream(self, label: str, q: Question, dtype: torch.dtype) -> tuple[Tensor | None, ...]:
        """Upstream gradients for the outputs of a question: again the same tuple for the same ones."""
        key = label, dtype, q.layout == "expanded"
        if key not in self._upstreams:
            draw = self.sampler(label)
            self._upstreams[key] = tuple(
                self.one_upstream(output, draw, dtype, q.layout)
                for output in self.references.forward(q).outputs
            )
        return self._upstreams[key]

    def one_upstream(
        self, output: Any, draw: Sampler, dtype: torch.dtype, layout: str
    ) -> Tensor | None:
        if not isinstance(output, Tensor) or not output.requires_grad:
            return None
        if output.is_complex():
            return cast(
                [torch.complex(draw.normal(*output.shape), draw.normal(*output.shape))], dtype
            )[0]
        if layout == "expanded":
            return draw.uniform(low=0.5, high=1.5).to(dtype)
        return draw.normal(*output.shape).to(dtype)

    def laid_out(self, i: int, case: Case, layout: str, kind: str = "run") -> Question:
        """One case with other strides, or with an upstream gradient that has them."""
        return self.question(f"{layout}:{i}", kind, i, case, layout=layout, variant=layout)

    def one_of_each_kind(self, cases: list[tuple[int, Case]]) -> set[int]:
        """The numbers of the cases that stand for all whose arguments take the same branches."""
        return one_of_each_kind({i: self.arguments(i, c, torch.float64) for i, c in cases})
