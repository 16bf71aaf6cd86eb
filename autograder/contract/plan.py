"""From an exercise to questions. The side that judges makes every input here.

The learner's process only receives data. What the right answers are: ``autograder.contract.references``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.contract.case_kinds import stands_for
from autograder.contract.drawing import is_small
from autograder.contract.exercise import Case, Exercise
from autograder.contract.more_rows import TIMES, more_rows
from autograder.contract.references import References, cast, gradients_vary
from autograder.contract.second_questions import AskingTwice
from autograder.observation.observation import Question


def make_plan(
    exercise: Exercise, seed: int, hidden: bool, devices: Sequence[str] = ("cpu",),
    references: References | None = None,
) -> list[Question]:  # fmt: skip
    """Every question of a check. The same seed, the same questions; hidden: with other numbers and sizes.

    references  remembers what the reference gave while planning, for the judge to go on with
    """
    planner = _Planner(exercise, seed, references or References(exercise), hidden)
    return planner.questions(devices)


class _Planner(AskingTwice):
    """Which questions an exercise is worth."""

    def questions(self, devices: Sequence[str]) -> list[Question]:
        made: list[Question] = []
        cases = list(enumerate(self.exercise.cases))
        for i, case in cases:
            made += self.function(i, case) if self.exercise.is_function else self.runs(i, case)
        if not self.exercise.is_function:
            main = [(i, c) for i, c in cases if c.role == "main"]
            if main:
                made += self.first_case(*main[0], main)
                chosen = self.one_of_each_kind(main)
                for place, (i, case) in enumerate(main):
                    if place == 0 or i in chosen:
                        made += self.structure_and_variants(i, case, first=place == 0)
                    elif place == 1 and chosen == {main[0][0]}:
                        made.append(self.structure(i, case, first=False))
                    made += self.each_device(i, case, devices)
                    if i in chosen:
                        made += self.each_kind(i, case, place == 0, whole=i == min(chosen))
                    if place == 0 or (place == 1 and self.exercise.second_order == "checked"):
                        made += self.deep(i, case, first=place == 0)
                made += self.second_order_elsewhere(*main[0])
                made += self.grown(main) if self.exercise.any_size else []
                made += self.smallest(cases, {q.id for q in made})
            made += self.batches([(i, case) for i, case in cases if case.role == "batch"], made)
            for i, case in cases:
                if case.second:
                    twice = self.second_order(i, case.in_float64(), pure=case.role == "extreme")
                    made += twice[1:] if case.second == "mixed" else twice
                    # A copy without infinities, or a mask of them, is kept only where there are some.
                    made += [] if self.is_finite(i, case) else [self.structure(i, case, first=True)]
        for i, refusal in enumerate(self.exercise.refusals):
            args = refusal.make(self.sampler(f"refusal:{i}"))
            made.append(
                Question(
                    f"refusal:{i}", "refusal", refusal.name, args=args,
                    wants=self.wants(args, None), more={"errors": list(refusal.errors)},
                )
            )  # fmt: skip
        for scenario in self.exercise.scenarios:
            seed = self.own_seed(f"scenario:{scenario.name}") % 2**31
            made.append(
                Question(
                    f"scenario:{scenario.name}", "scenario", scenario.name,
                    more={"name": scenario.name, "seed": seed},
                )
            )  # fmt: skip
        return made

    # ---- groups of questions ---------------------------------------------------------------
    def runs(self, i: int, case: Case) -> list[Question]:
        """Forward and backward of one case, as it is."""
        if case.role == "extreme":
            return [
                self.question(f"run:{i}", "run", i, case, torch.float32,
                              variant="float32")
            ]  # fmt: skip
        return [self.question(f"run:{i}", "run", i, case)]

    def function(self, i: int, case: Case) -> list[Question]:
        made = [self.question(f"run:{i}", "function", i, case)]
        if self.exercise.noncontiguous and case.role == "main":
            made.append(self.laid_out(i, case, "transposed", "function"))
        return made

    def first_case(self, i: int, case: Case, main: list[tuple[int, Case]]) -> list[Question]:
        """What is asked once: linearity in the upstream gradient, shared state."""
        exercise = self.exercise
        made = []
        base = self.question(f"linear:{i}", "run", i, case, upstream="g2")
        made.append(base)
        combination = self.question(f"combination:{i}", "run", i, case)
        combination.upstream = tuple(
            None if a is None or b is None else 2.0 * a - 3.0 * b
            for a, b in zip(combination.upstream, base.upstream, strict=True)
        )
        combination.more = {"weights": [2.0, -3.0]}
        made.append(combination)
        q = self.question(f"interleave:{i}", "interleave", i, case)
        q.more = {"args": self.another(i, case, q), "unlike": self.unlike(i, main)}
        made.append(q)
        if exercise.expanded:
            made.append(self.laid_out(i, case, "expanded"))
        if exercise.noncontiguous:
            made.append(self.laid_out(i, case, "consumer"))
        made += [self.second(f"{kind}:{i}", i, case, False, kind=kind) for kind in exercise.also]
        return made + self.infinite(i, case)

    def infinite(self, i: int, case: Case) -> list[Question]:
        """The first case with −inf in an argument, where others take its place and the answer stays finite.

        Masks bring it where elements are weighed against each other. A function that treats each
        by itself promises something for finite numbers.
        """
        like = self.question(f"infinite:{i}", "run", i, case)
        if not like.wants or self.exercise.strictness.as_given:
            return []
        place = like.wants[0]
        changed = like.args[place].clone()
        changed.view(-1)[:1] = -math.inf
        args = (*like.args[:place], changed, *like.args[place + 1 :])
        asked = replace(
            like, args=args, case=f"{self.exercise.argument(place)} = −inf", role="special"
        )
        right = self.references.expect(asked)
        found = [t for t in (*right.outputs, *(right.gradients or ())) if isinstance(t, Tensor)]
        others = self.references.expect(like).outputs
        finite = all(bool(torch.isfinite(t).all()) for t in found)
        return (
            [asked]
            if finite and any(map(_more_than_one, right.outputs, others, [changed] * len(others)))
            else []
        )

    def unlike(self, i: int, main: list[tuple[int, Case]]) -> tuple[Any, ...] | None:
        """The arguments of a main case whose plain values are others: a dim, a scale, a flag.

        What a call leaves on its class about them is wrong for another call.
        """
        mine = _plain_values(self.arguments(i, main[0][1], torch.float64))
        for other, case in main[1:]:
            args = self.arguments(other, case, torch.float64)
            if _plain_values(args) != mine:
                return args
        return None

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

    def batches(self, cases: list[tuple[int, Case]], made: list[Question]) -> list[Question]:
        """Other strides, a stride-0 upstream and second derivatives of more dimensions.

        view on two dimensions works by luck, on three not: what ``made`` asks already of main cases
        with three dimensions is not asked again.
        """
        chosen, asked = self.one_of_each_kind(cases), []
        seen = [q.args for q in made if q.layout == "transposed" and q.kind == "run"]
        for i, case in cases:
            args = self.arguments(i, case, torch.float64)
            again = any(stands_for(each, args) for each in seen)
            if self.exercise.noncontiguous and not again and (i in chosen or self.flattens(args)):
                asked.append(self.laid_out(i, case, "transposed"))
            if i in chosen:
                asked += [self.laid_out(i, case, "expanded")] if self.exercise.expanded else []
                asked += self.second_order(i, case, pure=True)
        return asked

    def structure_and_variants(self, i: int, case: Case, first: bool) -> list[Question]:
        """What is kept and which operations run; other strides and dtypes; second derivatives.

        Asked where each_kind is, and in the first case, of which the findings are simplest. Of the two
        other dtypes bfloat16 is the one that shows what is made in a fixed dtype.
        """
        exercise, ask = self.exercise, self.question
        made = [self.structure(i, case, first)]
        if exercise.noncontiguous:
            made.append(self.laid_out(i, case, "transposed"))
        if exercise.float32 and (first or not exercise.half):
            made.append(ask(f"float32:{i}", "run", i, case, torch.float32, variant="float32"))
        if exercise.half:
            made.append(ask(f"bfloat16:{i}", "run", i, case, torch.bfloat16, variant="bfloat16"))
        twice = self.second_order(i, case)
        # What is wrong alone is wrong beside x³ too: both are asked for where the words are simplest.
        simplest = first or len(twice) < 2
        return [*made, *(twice if simplest else twice[1:])]

    def smallest(self, cases: list[tuple[int, Case]], asked: set[str]) -> list[Question]:
        """What is kept in the case with fewest output elements: who keeps less of large ones only."""
        some = [(i, c) for i, c in cases if c.role in ("main", "batch")]
        if self.exercise.budget is None or not some:
            return []
        runs = [self.references.forward(self.question(f"run:{i}", "run", i, c)) for i, c in some]
        sizes = [sum(o.numel() for o in run.outputs if isinstance(o, Tensor)) for run in runs]
        i, case = some[sizes.index(min(sizes))]
        return [] if f"structure:{i}" in asked else [self.structure(i, case, first=True)]

    def structure(self, i: int, case: Case, first: bool) -> Question:
        half = self.structure_in_half(first)
        dtype, variant = (torch.bfloat16, "bfloat16") if half else (torch.float64, "")
        return self.question(f"structure:{i}", "structure", i, case, dtype, variant=variant)

    def structure_in_half(self, first: bool) -> bool:
        return self.exercise.half and not first  # mask.float() is no larger than a float32 x

    def flattens(self, args: tuple[Any, ...]) -> bool:
        """Whether there are three dimensions that an answer may flatten, and not block by block."""
        return self.exercise.any_size and any(a.dim() >= 3 for a in args if isinstance(a, Tensor))

    def each_device(self, i: int, case: Case, devices: Sequence[str]) -> list[Question]:
        """One main case on every device but the CPU."""
        return [
            self.question(f"{device}:{i}", "run", i, case, device=device, variant=device)
            for device in devices
            if device != "cpu"
        ]

    def grown(self, main: list[tuple[int, Case]]) -> list[Question]:
        """One case with more rows than any has: right answers, and no more operations."""
        for i, case in main:
            labels = [f"rows:{i}:{draw}" for draw in range(1, TIMES)]
            few = self.question(f"grown:{i}", "grown", i, case)
            more = [cast(self.draw(i, case, label), torch.float64) for label in labels]
            if (args := more_rows([few.args, *more], self.exercise.reference)) is None:
                continue
            many = replace(few, args=args, case=f"{case.name}, with {TIMES} times as many rows")
            many.more = {"args": few.args, "upstream": few.upstream}
            many.upstream = self.upstream(f"rows:{i}", many, torch.float64)
            return [many]
        return []

    def each_kind(self, i: int, case: Case, first: bool, whole: bool) -> list[Question]:
        """What depends on which branches run and not on sizes or values: once for each kind of case.

        meta is slow: torch's own kernels for it are written in Python. With ``whole``, backward for all
        inputs is asked beside those for one: it should take more work. ``structure`` counts that too,
        where it asks with the same arguments.
        """
        made = []
        if self.exercise.meta:
            made.append(self.question(f"meta:{i}", "run", i, case, device="meta", variant="meta"))
        every = self.question(f"needs:{i}", "needs", i, case, counted=whole)
        if len(every.wants) > 1:
            made += [every] if whole and self.structure_in_half(first) else []
            made += [
                replace(every, id=f"needs:{i}:{place}", wants=(place,)) for place in every.wants
            ]
        return made

    def deep(self, i: int, case: Case, first: bool) -> list[Question]:
        """Writes between forward and backward; gradcheck and gradgradcheck.

        They cost most, and the reference judges derivatives in every case: what is left to them is what
        does not survive many calls, in one case. Where second derivatives have no other judge,
        gradgradcheck is asked in two.
        """
        exercise, ask = self.exercise, self.question
        made = [ask(f"mutate:{i}:output", "mutate", i, case, target="output")]
        for target in made[0].wants:
            made.append(ask(f"mutate:{i}:{target}", "mutate", i, case, target=target))
        if not exercise.gradcheck or not is_small(made[0].args):
            return made
        if first:
            made.append(ask(f"gradcheck:{i}", "gradcheck", i, case, order=1))
        if exercise.second_order == "checked" or (exercise.second_order == "right" and first):
            made.append(ask(f"gradgradcheck:{i}", "gradcheck", i, case, order=2))
        return made


def _nearby(like: Question) -> tuple[Any, ...]:
    """Arguments that somebody gave, a little smaller: still where the function is defined.

    Only those that are differentiated: a rotation that is given stays one.
    """
    return tuple(0.875 * a if i in like.wants else a for i, a in enumerate(like.args))


def _plain_values(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if isinstance(a, Tensor) else a for a in args)


def _more_than_one(output: Any, before: Any, changed: Tensor) -> bool:
    """Whether an output is not made element by element: more of it than the first one has changed."""
    if not isinstance(output, Tensor) or not isinstance(before, Tensor):
        return False
    if output.shape != changed.shape:
        return True
    return not torch.equal(output.reshape(-1)[1:], before.reshape(-1)[1:])
