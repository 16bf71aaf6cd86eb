"""What an exercise is: frozen data that says what is asked, never code that judges.

An :class:`Exercise` names the contract (a reference function, cases, a memory budget, hints).
``autograder.plan`` turns it into questions, ``autograder.probe`` puts them to the learner's code
and ``autograder.rules`` judge the answers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

OnCtx = Literal["refused", "noted", "fine"]
Role = Literal["main", "special", "extreme", "empty", "batch"]
SecondOrder = Literal["right", "right-or-refused", "refused", "checked", "not-judged"]


class Sampler:
    """Seeded random inputs: the same seed gives the same tensors on every machine.

    All tensors are float64 on the CPU; the plan casts and moves them where a question asks for it.
    """

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal values of the given shape."""
        return torch.randn(shape, generator=self._generator, dtype=torch.float64)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Values uniform in [low, high)."""
        unit = torch.rand(shape, generator=self._generator, dtype=torch.float64)
        return low + (high - low) * unit

    def away_from(
        self, *shape: int, points: Sequence[float] = (0.0,), gap: float = 0.05, scale: float = 1.5
    ) -> Tensor:
        """Normal values (times ``scale``) that keep at least ``gap`` from every kink in ``points``.

        Values of both signs are there whenever the tensor has two elements or more.
        """
        values = self.normal(*shape) * scale
        if values.numel() > 1:
            flat = values.view(-1)
            flat[0], flat[1] = -flat[0].abs(), flat[1].abs()
        for point in sorted(points):
            offset = values - point
            near = offset.abs() < gap
            side = torch.where(offset >= 0, 1.0, -1.0).to(values)
            values = torch.where(near, point + side * 2 * gap, values)
        return values

    def distinct(self, *shape: int, spacing: float = 0.3) -> Tensor:
        """Values without ties: shuffled multiples of ``spacing`` with a little noise, centred on 0."""
        count = 1
        for size in shape:
            count *= size
        order = torch.randperm(count, generator=self._generator).to(torch.float64)
        noise = self.uniform(count, low=-0.2, high=0.2) if count else torch.zeros(0).double()
        return ((order - (count - 1) / 2 + noise) * spacing).reshape(shape)

    def integer(self, low: int, high: int) -> int:
        """One integer in [low, high)."""
        return int(torch.randint(low, high, (), generator=self._generator))


@dataclass(frozen=True)
class Named:
    """A function argument (the ``f`` of ``hvp(f, x, v)``) by name, so that a question stays data.

    ``module`` is a module of ``autograder.functions`` that the learner's process may import.
    """

    name: str
    settings: tuple[float, ...] = ()


@dataclass(frozen=True)
class Case:
    """One call the submission is judged on.

    name     words a learner reads: "a batch of vectors"
    make     gets a Sampler, returns the arguments; tensors float64 on the CPU
    wants    positions of the arguments that require grad; None: every floating-point tensor that is
             not among the exercise's constants (for a plain function: none)
    role     main (random, smooth points), special (kinks, bounds, ties: ``fails-special-point``),
             extreme (±1000, judged in float32), empty, batch (more or fewer batch dimensions)
    visible  whether ``check(Name)`` asks it; the others wait for ``hidden=True``
    second   a special or extreme case that asks second derivatives too (main cases always do); "mixed": only
             in a loss that adds x³, where a gradient may be constant
    advice   the next step for who fails at this very point, where the rule's own words are too
             general ("if scale: takes 0 for a missing number")
    """

    name: str
    make: Callable[[Sampler], tuple[Any, ...]]
    role: Role = "main"
    visible: bool = False
    wants: tuple[int, ...] | None = None
    second: bool | Literal["mixed"] = False
    advice: str = ""

    def in_float64(self) -> Case:
        """The same case without its dtype in the name."""
        return replace(self, name=self.name.removesuffix(" in float32"))


@dataclass(frozen=True)
class Refusal:
    """Arguments that the contract says are refused, and the errors that count as a refusal.

    argument  which of them is the reason; the message may not name another one instead
    """

    name: str
    make: Callable[[Sampler], tuple[Any, ...]]
    errors: tuple[str, ...] = ("TypeError",)
    visible: bool = False
    argument: str = ""


@dataclass(frozen=True)
class Misconception:
    """A wrong formula that learners really write, to be recognised by its numbers.

    gradients  same arguments as the Function plus the keyword ``grad_output``; gives one gradient
               (or None for "no statement") an argument. A gradient that equals the wrong formula and
               not the right one is named by ``message``.
    rule       the rule it carries. With another one than ``gradient-value`` it is asked before the
               general diagnoses, so that its words replace theirs ("the gradient is zero").
    divided    (message, hint) where backward has a division, in the line {line}, that changes nothing:
               then nobody may say that it is missing
    """

    message: str
    hint: str
    gradients: Callable[..., Sequence[Tensor | None]]
    rule: str = "gradient-value"
    divided: tuple[str, str] | None = None


@dataclass(frozen=True)
class ForwardSlip:
    """A wrong forward value that learners really compute, recognised by its numbers.

    call  the last name of the call to point at ("mean" for critic(x).mean()); "": the line that returns
    """

    message: str
    hint: str
    value: Callable[..., Any]
    call: str = ""


@dataclass(frozen=True)
class Scenario:
    """An experiment of an exercise's own, for what cases cannot say.

    run    gets the submission and a seeded Sampler in the learner's process; returns plain data
    judge  gets that data outside; returns None when it is right, or ``(message, hint, evidence)``
    rule   the rule that a verdict of this scenario carries
    needs  rules that must hold before this one is judged
    cause  judged before gradcheck and before what is kept where: its finding explains theirs
    first  judged before everything else: its finding explains wrong values and errors. Where the
           experiment itself stops with an error, it is silent and the ordinary rules speak
    """

    name: str
    rule: str
    run: Callable[[Callable[..., Any], Sampler], dict[str, Any]]
    judge: Callable[[dict[str, Any]], tuple[str, str, dict[str, Any]] | None]
    visible: bool = False
    needs: tuple[str, ...] = ("raises",)
    cause: bool = False
    first: bool = False


@dataclass(frozen=True)
class Exercise:
    """What is asked. Names and contracts are public (they stand in the lesson).

    reference       takes the same arguments; its values are right, and so are its derivatives of
                    every order through autograd (for a surrogate: those of the surrogate)
    budget          (args, outputs) -> bytes that may stay alive for backward; None: not judged
    second_order    right: second derivatives must be right; right-or-refused: right or RuntimeError;
                    refused: always RuntimeError; checked: by gradgradcheck only; not-judged
    constants       positions of tensor arguments that get the gradient None by contract
    gradcheck       False where gradcheck fails by design (surrogate gradients)
    is_function     True for plain functions such as ``numerical_gradient``
    forbidden       torch functions the exercise rebuilds, by public name ("torch.softmax")
    may_use_autograd  backward (or the function) may call torch.autograd
    visible_second  second derivatives are asked in the visible check already
    repair          the released cell holds a broken version to repair, not an empty stub
    released        that broken version, as a function: recognised by its code
    half            also run in bfloat16
    any_size        also run with more rows than any case has, which may not take more operations; False
                    where a Python loop over rows or blocks is the method
    tensors_on_ctx  tensors that forward made as attributes of ctx: refused where the contract says so,
                    noted in a report that passes, or fine (inputs and outputs never are)
    """

    name: str
    lesson: str
    summary: str
    signature: str
    reference: Callable[..., Any]
    cases: tuple[Case, ...]
    hints: tuple[str, str, str]
    budget: Callable[[tuple[Any, ...], tuple[Tensor, ...]], int] | None = None
    budget_words: str = ""
    second_order: SecondOrder = "right"
    constants: frozenset[int] = frozenset()
    gradcheck: bool = True
    is_function: bool = False
    forbidden: frozenset[str] = frozenset()
    may_use_autograd: bool = False
    linear_upstream: bool = True
    visible_second: bool = False
    repair: bool = False
    released: Callable[..., Any] | None = None
    half: bool = True
    any_size: bool = True
    tensors_on_ctx: OnCtx = "noted"
    meta: bool = True
    float32: bool = True
    noncontiguous: bool = True
    expanded: bool = True
    refusals: tuple[Refusal, ...] = ()
    misconceptions: tuple[Misconception, ...] = ()
    forward_slips: tuple[ForwardSlip, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    tolerance: float = 1e-6
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names in the signature: ("x", "weight", "bias") for "(x, weight, bias=None)"."""
        return _names_in(self.signature)

    def argument(self, position: int) -> str:
        """The name of one argument, by position; args[0], args[1], … for those of "*args"."""
        names = self.argument_names
        starred = "*" in self.signature and position >= len(names) - 1
        if starred:
            return f"{names[-1]}[{position - len(names) + 1}]"
        return names[position] if position < len(names) else f"argument {position + 1}"

    def __post_init__(self) -> None:
        if not self.cases and not self.scenarios:
            raise ValueError(f"{self.name}: an exercise needs at least one case or scenario")
        if len(self.hints) != 3 or not all(text.strip() for text in self.hints):
            raise ValueError(f"{self.name}: three hints are needed, from gentle to formula")
        if self.cases and not any(c.visible for c in self.cases):
            raise ValueError(f"{self.name}: at least one case must be visible")


@functools.cache
def _names_in(signature: str) -> tuple[str, ...]:
    inner = signature.strip().strip("()")
    return tuple(p.split("=")[0].strip(" *") for p in inner.split(",") if p.strip())


def bytes_of(*tensors: Tensor | None) -> int:
    """Bytes of the given tensors, as budgets count them (elements × element size)."""
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)
