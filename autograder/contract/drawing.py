"""Single questions of an exercise: seeded arguments and upstream gradients, each made once; kinds of cases."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.exercise import Case, Exercise, Sampler
from autograder.contract.not_finite import all_finite
from autograder.contract.references import References, cast
from autograder.observation.observation import Named, Question

SMALL = 20  # elements an input for gradcheck, whose cost is 2n + 2 forwards
MORE = 1  # what a hidden check adds to every size above 1
TIMES = 4  # as many rows as a case has, in a question that has more
LARGE = 1024  # elements of a large case: what grows with it shows
WAYS, STEP = 6, 1e-6  # in which inputs are moved a little, and how far
_TINY = 1e-6  # outputs below it have upstream gradients in their own unit
_LEFT_OUT = "left out"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}  # by the variant of a question
_LAYOUTS = ("transposed", "consumer", "expanded")
Numbered = tuple[int, Case]  # a case with its place in the exercise


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
        self._directions: dict[int, tuple[Tensor, ...]] = {}  # by the tuple of arguments

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
            self.references.forward(Question("", "run", case.name, args=args, wants=wants))
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
        if given is not None or self.exercise.is_function:
            return given or ()
        return tuple(
            i
            for i, a in enumerate(args)
            if isinstance(a, Tensor) and a.is_floating_point() and i not in self.exercise.constants
        )

    def question(
        self, name: str, at: Numbered, kind: str = "run", variant: str = "", suffix: str = "",
        upstream: str = "g", **more: Any,
    ) -> Question:  # fmt: skip
        """A question about one case; ``variant`` is the dtype, the layout or the device that is another one."""
        i, case = at
        dtype = DTYPES.get(variant, torch.float64)
        elsewhere = variant not in ("", *DTYPES, *_LAYOUTS)
        args = self.arguments(i, case, dtype)
        q = Question(
            f"{name}:{i}{suffix}", kind, case.name, case.role, args, self.wants(args, case.wants),
            layout=variant if variant in _LAYOUTS else "contiguous",
            variant=variant, device=variant if elsewhere else "cpu", more=more,
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
        unit = self._unit(output)
        if layout == "expanded" and not output.is_complex():
            return (draw.uniform(low=0.5, high=1.5) / unit).to(dtype)
        drawn = draw.normal(*output.shape) / unit
        if output.is_complex():
            drawn = torch.complex(drawn, draw.normal(*output.shape) / unit)
        if self._measured:  # of what is not finite no slope can be measured
            drawn = torch.where(output.detach().isfinite(), drawn, 0.0)
        return cast([drawn], dtype)[0]

    def moved(self, at: Numbered, q: Question, args: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Arguments of a question a little off, in several ways and in all those at once."""
        draw, places = self.sampler(f"moved:{at[0]}"), q.wants
        ways = [[draw.normal(*args[i].shape) for i in places] for _ in range(WAYS)]
        ways.append([torch.stack(each).sum(0) / WAYS**0.5 for each in zip(*ways, strict=True)])
        by_place = [dict(zip(places, way, strict=True)) for way in ways]
        return [
            tuple(a + STEP * way[i].to(a.dtype) if i in way else a for i, a in enumerate(args))
            for way in by_place
        ]

    @property
    def _measured(self) -> bool:
        return getattr(self.exercise.reference, "own", False)

    def _unit(self, output: Tensor) -> float:
        """What an output is in, where slopes are measured, and how exactly: all may be tiny, and so would its gradients be."""
        sizes = output.detach().abs().nan_to_num(posinf=0.0)
        largest = float(sizes.max()) if sizes.numel() and self._measured else 0.0
        return 2.0 ** math.floor(math.log2(largest)) if 0 < largest < _TINY else 1.0

    # ---- second derivatives -----------------------------------------------------------------
    def twice(self, at: Numbered) -> bool:
        """Whether second derivatives are asked: where numbers are not finite, none are measured."""
        if self.exercise.second_order == "not-judged" or not self._measured:
            return self.exercise.second_order != "not-judged"
        return self.finite(*at) and all_finite(
            self.references.forward(self.question("", at)).outputs
        )

    def second_order(self, at: Numbered, pure: bool = False) -> list[Question]:
        """The second derivative alone, and (not if ``pure``) in a loss that adds x³."""
        if not self.twice(at):
            return []
        alone = pure or not self.finite(*at)  # x³ has no second derivative at infinity
        found = [self.second(at, ":pure")]
        return found if alone else [*found, self.second(at, ":mixed", mixed=True)]

    def finite(self, i: int, case: Case) -> bool:
        args = self.arguments(i, case, torch.float64)
        return all_finite(args)

    def second(
        self,
        at: Numbered,
        suffix: str = "",
        kind: str = "second",
        variant: str = "",
        mixed: bool = False,
    ) -> Question:
        """A question with directions: weights of the gradients, or tangents of the arguments."""
        made = self.question(kind, at, kind, variant, suffix, mixed=mixed)
        if (of := id(made.args)) not in self._directions:
            draw = self.sampler(f"directions:{at[0]}")
            wanted = [made.args[p] for p in made.wants]
            self._directions[of] = tuple([draw.normal(*a.shape).to(a.dtype) for a in wanted])
        made.directions = self._directions[of]
        return made

    def second_order_elsewhere(self, main: Sequence[Numbered]) -> Iterator[Question]:
        """The second derivative with other strides, where there are some, and with each of several inputs frozen."""
        at = (i, case) = main[0]
        if not self.twice(at):
            return
        if self.exercise.noncontiguous:
            of_rows = (at for at in main if self.twice(at) and any(a.dim() > 1 for a in self.arguments(*at, torch.float64) if isinstance(a, Tensor)))  # fmt: skip
            yield from self.second_order_in(next(of_rows, at), "transposed")
        whole = self.second(at, ":frozen")
        for frozen in whole.wants if len(whole.wants) > 1 else ():
            left = [(p, d) for p, d in zip(whole.wants, whole.directions, strict=True) if p != frozen]  # fmt: skip
            name = f"{case.name}, {self.exercise.argument(frozen)} frozen"
            wants, directions = tuple(p for p, _ in left), tuple(d for _, d in left)
            yield replace(
                whole, id=f"second:{i}:frozen:{frozen}", case=name, wants=wants, directions=directions
            )  # fmt: skip

    def second_order_in(self, at: Numbered, variant: str) -> Iterator[Question]:
        """The second derivative in another layout or dtype, where it may be right."""
        if self.exercise.second_order in ("right", "right-or-refused"):
            yield self.second(at, f":{variant}", variant=variant)


def rows_of(args: Sequence[Any]) -> int:
    """The size of the first dimension of the first tensor that has one; 0 where none has."""
    return next((a.shape[0] for a in args if isinstance(a, Tensor) and a.dim()), 0)


# ---- cases of one kind: arguments that take a Function through the same branches ----------------


def one_of_each_kind(cases: Mapping[int, tuple[Any, ...]]) -> set[int]:
    """Of the cases with arguments of the same types and flags, the one with most dimensions.

    Not of all such kinds, but of as many as it takes to have every type and flag of each argument: each
    decides about branches of its own, and all combinations are seen by the ordinary runs. Not one without
    dimensions: a 0-d tensor on the CPU may meet tensors on every device.

    cases  arguments by the number of the case
    """
    best: dict[tuple[Any, ...], tuple[int, int]] = {}
    for i, args in cases.items():
        dimensions = sum(a.dim() for a in args if isinstance(a, Tensor))
        kind = tuple(map(_type_or_flag, args))
        if kind not in best or dimensions > best[kind][0]:
            best[kind] = dimensions, i
    most = max(map(len, best), default=0)
    left = {kind: {*enumerate((*kind, *[_LEFT_OUT] * (most - len(kind))))} for kind in best}
    chosen, missing = set(), set().union(*left.values())
    while missing:
        kind = max(left, key=lambda each: len(left[each] & missing))
        chosen.add(best[kind][1])
        missing -= left[kind]
    return chosen


def stands_for(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether arguments differ from others in the sizes and values of their tensors at most.

    With as many dimensions, or more than two.
    """
    return len(some) == len(others) and all(
        a.dtype == b.dtype and a.dim() >= min(b.dim(), 3)
        if isinstance(a, Tensor) and isinstance(b, Tensor)
        else type(a) is type(b) and a == b
        for a, b in zip(some, others, strict=True)
    )


def _type_or_flag(value: Any) -> Any:
    """What may decide which branch of a Function runs: a flag itself, of other arguments the type.

    None stands for an argument that is left out.
    """
    if isinstance(value, Tensor):
        return value.dtype
    if value is None:
        return _LEFT_OUT
    return value if isinstance(value, bool | str | Named) else type(value)
