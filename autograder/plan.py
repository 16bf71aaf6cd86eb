"""From an exercise to questions, and to the answers that are right.

The side that judges makes every input here; the learner's process only receives data.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, Named, Sampler
from autograder.functions import resolve
from autograder.materials import second_order  # the same measurement on both sides
from autograder.observation import Question

_DEEP = 2  # how many main cases get the costly questions too
SMALL = 20  # elements an input for gradcheck, whose cost is 2n + 2 forwards


@dataclass
class Expected:
    """What the reference gives for a question, in float64 (or the output's own integer dtype)."""

    outputs: tuple[Any, ...]
    single: bool
    gradients: tuple[Tensor | None, ...] | None = None
    second: tuple[Tensor | None, ...] | None = None


def make_plan(
    exercise: Exercise, seed: int, hidden: bool, devices: Sequence[str] = ("cpu",)
) -> list[Question]:
    """Every question of a visible (or hidden: complete) check. The same seed, the same questions."""
    return [q for q in _Planner(exercise, seed).questions(devices) if hidden or q.visible]


class _Planner:
    def __init__(self, exercise: Exercise, seed: int):
        self.exercise, self.seed = exercise, seed

    def sampler(self, label: str) -> Sampler:
        """A sampler for one purpose: adding a question never changes the inputs of another."""
        mix = zlib.crc32(f"{self.exercise.name}/{label}".encode())
        return Sampler((self.seed * 1_000_003 + mix) % 2**63)

    def questions(self, devices: Sequence[str]) -> list[Question]:
        made: list[Question] = []
        cases = list(enumerate(self.exercise.cases))
        for i, case in cases:
            made += self.function(i, case) if self.exercise.is_function else self.runs(i, case)
        if not self.exercise.is_function:
            main = [(i, c) for i, c in cases if c.role == "main"]
            if main:
                made += self.first_case(*main[0])
                for place, (i, case) in enumerate(main):
                    made += self.each_case(i, case, devices)
                    if place < _DEEP:
                        made += self.deep(i, case, first=place == 0)
            for i, case in cases:
                if case.role == "batch":
                    made += self.layouts(i, case)
        for i, refusal in enumerate(self.exercise.refusals):
            args = refusal.make(self.sampler(f"refusal:{i}"))
            made.append(
                Question(
                    f"refusal:{i}", "refusal", refusal.name, args=args, visible=refusal.visible,
                    wants=self.wants(args, None), more={"errors": list(refusal.errors)},
                )
            )  # fmt: skip
        for scenario in self.exercise.scenarios:
            seed = (self.seed * 7919 + zlib.crc32(scenario.name.encode())) % 2**31
            made.append(
                Question(
                    f"scenario:{scenario.name}", "scenario", scenario.name,
                    visible=scenario.visible, more={"name": scenario.name, "seed": seed},
                )
            )  # fmt: skip
        return made

    # ---- building blocks -------------------------------------------------------------------
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
        visible: bool = False, upstream: str = "g", **more: Any,
    ) -> Question:  # fmt: skip
        args = cast(case.make(self.sampler(f"case:{i}")), dtype)
        q = Question(
            id, kind, case.name, case.role, args, self.wants(args, case.wants), layout=layout,
            variant=variant, device=device, visible=visible, more=more,
        )  # fmt: skip
        reference = reference_outputs(self.exercise, q)[0]
        draw = self.sampler(f"{upstream}:{i}")
        q.upstream = tuple(self.one_upstream(o, draw, dtype, layout) for o in reference)
        return q

    def one_upstream(
        self, output: Any, draw: Sampler, dtype: torch.dtype, layout: str
    ) -> Tensor | None:
        if not isinstance(output, Tensor) or not output.is_floating_point():
            return None
        if not output.requires_grad:
            return None
        if layout == "expanded":
            return draw.uniform(low=0.5, high=1.5).to(dtype)
        return draw.normal(*output.shape).to(dtype)

    # ---- groups of questions ---------------------------------------------------------------
    def runs(self, i: int, case: Case) -> list[Question]:
        """Forward and backward of one case, as it is."""
        if case.role == "extreme":
            return [
                self.question(f"run:{i}", "run", i, case, torch.float32, visible=case.visible,
                              variant="float32")
            ]  # fmt: skip
        return [self.question(f"run:{i}", "run", i, case, visible=case.visible)]

    def function(self, i: int, case: Case) -> list[Question]:
        made = [self.question(f"run:{i}", "function", i, case, visible=case.visible)]
        if self.exercise.noncontiguous and case.role == "main":
            made.append(
                self.question(
                    f"transposed:{i}",
                    "function",
                    i,
                    case,
                    layout="transposed",
                    variant="transposed",
                )
            )
        return made

    def first_case(self, i: int, case: Case) -> list[Question]:
        """What is asked once: linearity in the upstream gradient, shared state, structure."""
        exercise = self.exercise
        made = []
        base = self.question(f"linear:{i}", "run", i, case, visible=case.visible, upstream="g2")
        made.append(base)
        combination = self.question(f"combination:{i}", "run", i, case, visible=case.visible)
        combination.upstream = tuple(
            None if a is None or b is None else 2.0 * a - 3.0 * b
            for a, b in zip(combination.upstream, base.upstream, strict=True)
        )
        combination.more = {"weights": [2.0, -3.0]}
        made.append(combination)
        for later in (False, True):
            q = self.question(f"interleave:{i}:{int(later)}", "interleave", i, case, later=later)
            q.more["args"] = self.another(i, case, q)
            made.append(q)
        if exercise.expanded:
            made.append(
                self.question(
                    f"expanded:{i}", "run", i, case, layout="expanded", variant="expanded"
                )
            )
        return made

    def another(self, i: int, case: Case, like: Question) -> tuple[Any, ...]:
        """Other arguments for the same case, with other gradients: two equal masks hide shared state."""
        right = expect(self.exercise, like).gradients or ()
        for attempt in range(8):
            args = cast(case.make(self.sampler(f"other:{i}:{attempt}")), torch.float64)
            found = expect(self.exercise, replace(like, args=args)).gradients or ()
            pairs = [
                (a, b) for a, b in zip(right, found, strict=True) if a is not None and b is not None
            ]
            if all(a.shape != b.shape or not torch.equal(a, b) for a, b in pairs):
                break
        return args

    def layouts(self, i: int, case: Case) -> list[Question]:
        """Other strides and a stride-0 upstream: view on two dimensions works by luck, on three not."""
        made = []
        if self.exercise.noncontiguous:
            made.append(
                self.question(
                    f"transposed:{i}", "run", i, case, layout="transposed", variant="transposed"
                )
            )
        if self.exercise.expanded:
            made.append(
                self.question(
                    f"expanded:{i}", "run", i, case, layout="expanded", variant="expanded"
                )
            )
        return made

    def each_case(self, i: int, case: Case, devices: Sequence[str]) -> list[Question]:
        """The hidden questions of one main case."""
        exercise, ask = self.exercise, self.question
        made = [ask(f"structure:{i}", "structure", i, case)]
        if exercise.noncontiguous:
            made.append(
                ask(f"transposed:{i}", "run", i, case, layout="transposed", variant="transposed")
            )
        if exercise.float32:
            made.append(ask(f"float32:{i}", "run", i, case, torch.float32, variant="float32"))
        if exercise.half:
            made.append(ask(f"bfloat16:{i}", "run", i, case, torch.bfloat16, variant="bfloat16"))
        if exercise.meta:
            made.append(ask(f"meta:{i}", "run", i, case, device="meta", variant="meta"))
        for device in devices:
            if device != "cpu":
                made.append(ask(f"{device}:{i}", "run", i, case, device=device, variant=device))
        first = made[0]
        if len(first.wants) > 1:
            for position in first.wants:
                q = ask(f"needs:{i}:{position}", "needs", i, case)
                q.wants = (position,)
                made.append(q)
        if exercise.second_order not in ("not-judged", "checked"):
            made += self.second_order(i, case, first)
        return made

    def deep(self, i: int, case: Case, first: bool) -> list[Question]:
        """The costly questions: writes between forward and backward, gradcheck, gradgradcheck.

        gradgradcheck costs most. Where the reference judges second derivatives in every case anyway,
        one case has to do.
        """
        exercise, ask = self.exercise, self.question
        made = [ask(f"mutate:{i}:output", "mutate", i, case, target="output")]
        for target in made[0].wants:
            made.append(ask(f"mutate:{i}:{target}", "mutate", i, case, target=target))
        if not exercise.gradcheck or any(
            a.numel() > SMALL for a in made[0].args if isinstance(a, Tensor)
        ):
            return made
        made.append(ask(f"gradcheck:{i}", "gradcheck", i, case, order=1, visible=case.visible))
        if exercise.second_order == "checked" or (exercise.second_order == "right" and first):
            made.append(ask(f"gradgradcheck:{i}", "gradcheck", i, case, order=2))
        return made

    def second_order(self, i: int, case: Case, like: Question) -> list[Question]:
        """The second derivative alone, and in a loss that adds another function of the input."""
        made = []
        for mixed in (False, True):
            name = f"second:{i}:{'mixed' if mixed else 'pure'}"
            visible = case.visible and self.exercise.visible_second
            q = self.question(name, "second", i, case, visible=visible, mixed=mixed)
            draw = self.sampler(f"directions:{i}")
            q.directions = tuple(draw.normal(*like.args[p].shape) for p in like.wants)
            made.append(q)
        return made


def cast(args: Sequence[Any], dtype: torch.dtype) -> tuple[Any, ...]:
    """The same arguments with floating-point tensors in ``dtype``."""
    return tuple(
        a.to(dtype) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args
    )


def reference_arguments(question: Question) -> list[Any]:
    """The arguments as the reference gets them: float64, CPU, contiguous, with requires_grad."""
    made: list[Any] = []
    for i, value in enumerate(cast(question.args, torch.float64)):
        if isinstance(value, Tensor):
            value = value.detach().clone()
            if i in question.wants:
                value.requires_grad_(True)
        elif isinstance(value, Named):
            value = resolve(value)
        made.append(value)
    return made


def reference_outputs(
    exercise: Exercise, question: Question
) -> tuple[tuple[Any, ...], bool, list[Any]]:
    """(outputs, whether there is a single one, the arguments they came from)."""
    args = reference_arguments(question)
    with torch.enable_grad():
        output = exercise.reference(*args)
    single = not isinstance(output, tuple | list)
    return ((output,) if single else tuple(output)), single, args


def expected_upstream(question: Question, outputs: Sequence[Any]) -> list[Tensor | None]:
    """The upstream gradients as the reference gets them."""
    made: list[Tensor | None] = []
    for given, output in zip(question.upstream, outputs, strict=False):
        if given is not None:
            given = given.to(torch.float64)
            given = given.expand(output.shape) if question.layout == "expanded" else given.clone()
        made.append(given)
    return made


def expect(
    exercise: Exercise, question: Question, upstream: Sequence[Tensor | None] | None = None
) -> Expected:
    """What the reference gives for one question; with ``upstream``, for another upstream gradient."""
    outputs, single, args = reference_outputs(exercise, question)
    expected = Expected(tuple(_detached(o) for o in outputs), single)
    grads = list(upstream) if upstream is not None else expected_upstream(question, outputs)
    wanted = [args[i] for i in question.wants]
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=False) if g is not None]
    if question.kind == "second":
        leaves = [None if g is None else g.clone().requires_grad_(True) for g in grads]
        expected.gradients, expected.second = second_order(
            outputs, leaves, wanted, question.directions, bool(question.more.get("mixed"))
        )
    elif pairs and wanted:
        found = torch.autograd.grad(
            [o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True
        )
        expected.gradients = tuple(map(_detached, found))
    return expected


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value
