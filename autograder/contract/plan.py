"""From an exercise to questions. The side that judges makes every input here.

The learner's process only receives data. What the right answers are: ``autograder.contract.references``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.contract.drawing import (
    LARGE,
    TIMES,
    Numbered,
    cast,
    is_small,
    one_of_each_kind,
    stands_for,
)
from autograder.contract.exercise import Exercise
from autograder.contract.other_arguments import (
    OtherArguments,
    more_rows,
    other_dims,
    other_sizes,
    scaled,
)
from autograder.contract.references import References
from autograder.observation.observation import Question

# Times a random upstream gradient: who clips it, or adds to what it is multiplied by, shows.
FAR = -1000.0
LOUD = 1e10  # beside an x of 1e30: their product has no place in float32, their quotient has


def make_plan(
    exercise: Exercise, seed: int, hidden: bool, devices: Sequence[str] = ("cpu",),
    references: References | None = None,
) -> list[Question]:  # fmt: skip
    """Every question of a check. The same seed, the same questions; hidden: with other numbers and sizes.

    references  remembers what the reference gave while planning, for the judge to go on with
    """
    planner = _Planner(exercise, seed, references or References(exercise), hidden)
    return list(planner.questions(devices))


class _Planner(OtherArguments):
    """Which questions an exercise is worth. Each method gives some of them."""

    def questions(self, devices: Sequence[str]) -> Iterator[Question]:
        """All of them, in the order in which they are asked."""
        cases = list(enumerate(self.exercise.cases))
        if self.exercise.is_function:
            for at in cases:
                yield self.question("run", at, "function")
                if self.exercise.noncontiguous and at[1].role == "main":
                    yield self.question("transposed", at, "function", "transposed")
            yield from self.aliased([at for at in cases if at[1].role == "main"])
        else:
            yield from self.of_class(cases, devices)
        for i, refusal in enumerate(self.exercise.refusals):
            args, errors = refusal.make(self.sampler(f"refusal:{i}")), list(refusal.errors)
            wants = self.wants(args, None)
            yield Question(f"refusal:{i}", "refusal", refusal.name, args=args, wants=wants, more={"errors": errors})  # fmt: skip
        for name in (s.name for s in self.exercise.scenarios):
            more = {"name": name, "seed": self.own_seed(f"scenario:{name}") % 2**31}
            yield Question(f"scenario:{name}", "scenario", name, more=more)

    def of_class(self, cases: list[Numbered], devices: Sequence[str]) -> Iterator[Question]:
        for at in cases:
            extreme = at[1].role == "extreme"
            yield self.question("run", at, variant="float32" if extreme else "")
            if at[1].given is not None:
                asked = self.question("given", at, "given")
                yield replace(asked, args=at[1].given, case=f"{asked.case}, in their own dtype")
            if at[1].role == "special":
                yield self.from_above("silent", at, 0.0)
            if extreme:
                yield self.from_above("loud", at, LOUD, "float32", where_finite=True)
            if at[1].role in ("special", "extreme") and "jvp" in self.exercise.also:
                yield self.second(at, kind="jvp", variant="float32" if extreme else "")
        main = [at for at in cases if at[1].role == "main"]
        chosen = self.one_of_each_kind(main)
        # Of the first case the findings are simplest.
        varied = {*(i for i, _ in main[:1]), *chosen}
        if main:
            kept = varied if len(varied) > 1 else {i for i, _ in main[:2]}
            yield from self.first_case(main)
            for place, at in enumerate(main):
                if at[0] in varied:
                    yield from self.variants(at, place == 0, at[0] in chosen)
                elif at[0] in kept:
                    yield self.structure(at, first=False)
                for device in devices:
                    if device != "cpu":
                        yield self.question(device, at, variant=device)
                if at[0] in chosen:
                    yield from self.each_kind(at, place == 0, whole=at[0] == min(chosen))
                if place == 0:
                    yield from self.deep(at)
            yield from self.second_order_elsewhere(main)
            yield from self.of_more_rows("grown", main) if self.exercise.any_size else ()
            if not self.exercise.strictness.as_given:
                yield from self.resized([at for at in main if at[0] in chosen])
            yield from self.of_more_rows("large", main) if self.exercise.budget is not None else ()
            yield from self.smallest(cases, kept)
        batches = [at for at in cases if at[1].role == "batch"]
        yield from self.batches(batches, [at for at in main if at[0] in varied])
        for i, case in cases:
            if case.second:
                twice = self.second_order((i, case.in_float64()), pure=case.role == "extreme")
                yield from twice[1:] if case.second == "mixed" else twice
                # A copy without infinities, or a mask of them, is kept only where there are some.
                if not self.finite(i, case):
                    yield self.structure((i, case), first=True)

    # ---- groups of questions ---------------------------------------------------------------
    def one_of_each_kind(self, cases: list[Numbered]) -> set[int]:
        """The numbers of the cases that stand for all whose arguments take the same branches."""
        return one_of_each_kind({i: self.arguments(i, c, torch.float64) for i, c in cases})

    def first_case(self, main: list[Numbered]) -> Iterator[Question]:
        """What is asked once: linearity in the upstream gradient, shared state."""
        i, case = main[0]
        yield self.from_above("linear", main[0], FAR)
        q = self.question("interleave", main[0], "interleave")
        q.more = {"args": self.another(i, case, q), "unlike": self.unlike(main, q)}
        yield q
        given = [at for at, one in enumerate(q.upstream) if one is not None]
        several = any(one is not None and one.numel() > 1 for one in q.upstream)
        if self.exercise.strictness.as_given and several:
            yield self.single(main[0])
        for at in given if len(given) > 1 else ():  # the others may come as None
            alone = self.question("alone", main[0], suffix=f":{at}")
            alone.case = f"{case.name} (grad_output of output {at + 1} alone)"
            alone.upstream = tuple(one if n == at else None for n, one in enumerate(q.upstream))
            yield alone
        yield self.question("expanded", main[0], variant="expanded")
        if self.exercise.noncontiguous:
            yield self.question("consumer", main[0], variant="consumer")
        for kind in self.exercise.also:
            yield self.second(main[0], kind=kind)
        if not self.exercise.strictness.as_given:
            calm = self.question("run", main[0], suffix=":evaluated")
            name = f"{case.name} (nothing needs a gradient)"
            yield replace(calm, case=name, role="special", wants=(), upstream=())
            yield from self.extreme_arguments(main[0])
            yield from self.aliased(main)

    def single(self, at: Numbered) -> Question:
        """A case whose loss is one element of each output: who clips by what all of them are, or divides by that, shows."""
        asked = replace(self.question("single", at), variant="single")
        asked.case = f"{at[1].name} (one element of grad_output alone)"
        asked.upstream = tuple(None if g is None else _largest_alone(g) for g in asked.upstream)
        return asked

    def batches(self, cases: list[Numbered], varied: list[Numbered]) -> Iterator[Question]:
        """Other strides, a stride-0 upstream and second derivatives of more dimensions.

        view on two dimensions works by luck, on three not: what is asked already of main cases with
        three dimensions (``varied``) is not asked again.
        """
        exercise, chosen = self.exercise, self.one_of_each_kind(cases)
        seen = [self.arguments(*at, torch.float64) for at in varied]
        for at in cases:
            args = self.arguments(*at, torch.float64)
            # Three dimensions an answer may flatten, and not block by block.
            flattens = exercise.any_size and any(a.dim() >= 3 for a in args if isinstance(a, Tensor))  # fmt: skip
            again = any(stands_for(each, args) for each in seen)
            if exercise.noncontiguous and not again and (at[0] in chosen or flattens):
                yield self.question("transposed", at, variant="transposed")
            if at[0] in chosen:
                yield self.question("expanded", at, variant="expanded")
                yield from self.second_order(at, pure=True)

    def variants(self, at: Numbered, first: bool, chosen: bool) -> Iterator[Question]:
        """What is kept and which operations run; other strides and dtypes; second derivatives.

        Of the two other dtypes bfloat16 is the one that shows what is made in a fixed dtype. That and a constant
        grad_output depend on no sizes: cases that stand for all of a kind (``chosen``) are asked.
        """
        exercise = self.exercise
        yield self.structure(at, first)
        if exercise.noncontiguous:
            yield self.question("transposed", at, variant="transposed")
        if exercise.float32 and (first or not exercise.half):
            yield self.question("float32", at, variant="float32")
            yield from self.second_order_in(at, "float32") if first else ()
        if exercise.half and chosen:
            yield self.question("bfloat16", at, variant="bfloat16")
        yield from self.second_order(at, pure=not chosen)

    def smallest(self, cases: list[Numbered], asked: set[int]) -> Iterator[Question]:
        """What is kept in the case with fewest output elements: who keeps less of large ones only."""
        some = [at for at in cases if at[1].role in ("main", "batch")]
        if self.exercise.budget is not None and some:
            at = min(some, key=self.output_size)
            if at[0] not in asked:
                yield self.structure(at, first=True)

    def output_size(self, at: Numbered) -> int:
        outputs = self.references.forward(self.question("", at)).outputs
        return sum(o.numel() for o in outputs if isinstance(o, Tensor))

    def structure(self, at: Numbered, first: bool) -> Question:
        asked = self.question(
            "structure", at, "structure", "bfloat16" if self.in_half(first) else ""
        )
        judged = not self.exercise.strictness.as_given
        if judged and asked.role == "main" and not asked.variant:
            others = cast(self.draw(*at, "structure: others"), torch.float64)
            asked.more["moved"] = self.moved(at, asked, asked.args)
            asked.more["others"] = [others, *self.moved(at, asked, others)]
        return asked

    def in_half(self, first: bool) -> bool:
        return self.exercise.half and not first  # mask.float() is no larger than a float32 x

    def of_more_rows(self, kind: str, main: list[Numbered]) -> Iterator[Question]:
        """One case with more rows than any has: right answers; "grown": and no more operations; "large": what is kept.

        Who keeps more of large ones only, or of one dtype, or in another form, shows with one or some thousand
        numbers: how many, and in which dtype, nobody knows before.
        """
        drawn = self.own_seed(kind) if kind == "large" else 0
        single = bool(drawn & 1) and self.exercise.float32
        for at in main:
            few = self.question(kind, at, kind, "float32" if single else "")
            dtype = torch.float32 if single else torch.float64
            largest = max([a.numel() for a in few.args if isinstance(a, Tensor)], default=0)
            times = TIMES if kind == "grown" else (LARGE << (drawn >> 1) % 3) // max(1, largest)
            rows = partial(scaled, few.args, times)
            if times and (args := more_rows(few.args, rows, self.exercise.reference)) is not None:
                name = f"{at[1].name}, with {times} times as many rows"
                more: dict[str, Any] = {"args": few.args, "upstream": few.upstream}
                if kind == "large":
                    others = cast(self.draw(*at, "large: others"), dtype)
                    rows = partial(scaled, others, times)
                    more["others"] = more_rows(others, rows, self.exercise.reference)
                many = replace(few, args=args, case=name, more=more)
                many.upstream = self.upstream(f"{kind}:rows:{at[0]}", many, dtype)
                yield many
                return

    def resized(self, cases: list[Numbered]) -> Iterator[Question]:
        """Sizes that coincide, a 1 in the place of each, every dim: squeeze and expand that are not told more go by sizes."""
        for at in cases:
            given = self.arguments(*at, torch.float64)
            for words, args in (*other_sizes(given), *other_dims(given, self.exercise)):
                try:
                    asked = self.question("run", at, suffix=f":{words}")
                    asked = replace(
                        asked,
                        args=args,
                        case=f"{at[1].name}, {words}",
                        role="batch",
                        variant="sizes",
                    )
                    asked.upstream = self.upstream(f"{words}:{at[0]}", asked, torch.float64)
                    self.references.expect(asked)
                except Exception:  # the reference refuses such sizes, each in its own way
                    continue
                yield asked

    def each_kind(self, at: Numbered, first: bool, whole: bool) -> Iterator[Question]:
        """What depends on which branches run and not on sizes or values: once for each kind of case.

        A single input that needs a gradient is asked about where another tensor gets None by contract.
        meta is slow: torch's own kernels for it are written in Python. With ``whole``, backward for all
        inputs is asked beside those for one: it should take more work. ``structure`` counts that too,
        where it asks with the same arguments.
        """
        i = at[0]
        if self.exercise.meta:
            yield self.question("meta", at, variant="meta")
        every = self.question("needs", at, "needs", counted=whole)
        if len(every.wants) > 1 or self.exercise.constants:
            if whole and self.in_half(first):
                yield every
            for place in every.wants:
                yield replace(every, id=f"needs:{i}:{place}", wants=(place,))

    def deep(self, at: Numbered) -> Iterator[Question]:
        """Writes between forward and backward; gradcheck.

        The reference judges derivatives in every case: what is left to gradcheck is what does not survive many calls.
        """
        args = self.arguments(*at, torch.float64)
        for target in ("output", *self.wants(args, at[1].wants)):
            yield self.question("mutate", at, "mutate", suffix=f":{target}", target=target)
        if self.exercise.gradcheck and is_small(args):
            yield self.question("gradcheck", at, "gradcheck")


def _largest_alone(tensor: Tensor) -> Tensor:
    place = tensor.abs().flatten().argmax() if tensor.numel() else torch.zeros(0, dtype=torch.long)
    flat = torch.zeros_like(tensor).flatten()
    flat[place] = tensor.flatten()[place]
    return flat.view(tensor.shape)
