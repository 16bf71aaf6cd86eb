"""What an exercise is: frozen data that says what is asked, never code that judges.

An :class:`Exercise` names the contract (a reference function, cases, a memory budget, hints).
``autograder.contract.plan`` turns it into questions, ``autograder.running.probe`` puts them to the learner's code
and ``autograder.judging.rules`` judge the answers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

Role = Literal["main", "special", "extreme", "empty", "batch"]
Severity = Literal["error", "advice", "note"]
SecondOrder = Literal["right", "right-or-refused", "refused", "not-judged"]
# What a submission is called with; how it is called; what an experiment with it has measured, as plain data.
Arguments = tuple[Any, ...]
Solution = Callable[..., Any]
Data = dict[str, Any]


class Sampler:
    """Seeded random inputs: the same seed gives the same tensors on every machine.

    All tensors are float64 on the CPU; the plan casts and moves them where a question asks for it.

    more  added to every size above 1: the same case in another size
    """

    def __init__(self, seed: int, more: int = 0):
        self._generator = torch.Generator().manual_seed(seed)
        self._more = more

    def _sizes(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(size + self._more if size > 1 else size for size in shape)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal values of the given shape."""
        return torch.randn(self._sizes(shape), generator=self._generator, dtype=torch.float64)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Values uniform in [low, high)."""
        unit = torch.rand(self._sizes(shape), generator=self._generator, dtype=torch.float64)
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
        noise = self.uniform(*shape, low=-0.2, high=0.2)
        count = noise.numel()
        order = torch.randperm(count, generator=self._generator).to(noise).reshape(noise.shape)
        return (order - (count - 1) / 2 + noise) * spacing

    def integer(self, low: int, high: int) -> int:
        """One integer in [low, high)."""
        return int(torch.randint(low, high, (), generator=self._generator))


@dataclass(frozen=True)
class Case:
    """One call the submission is judged on.

    name     words a learner reads: "a batch of vectors"
    make     gets a Sampler, returns the arguments; tensors float64 on the CPU
    wants    positions of the arguments that require grad; None: every floating-point tensor that is
             not among the exercise's constants (for a plain function: none)
    role     main (random, smooth points), special (kinks, bounds, ties: ``fails-special-point``),
             extreme (±1000, judged in float32), empty, batch (more or fewer batch dimensions)
    second   a special or extreme case that asks second derivatives too (main cases always do); "mixed": only
             in a loss that adds x³, where a gradient may be constant
    digits   numbers below 1e-5 keep their digits in float32, as all others do where those of torch's own function do
    advice   the next step for who fails at this very point, where the rule's own words are too
             general ("if scale: takes 0 for a missing number")
    given    the arguments in dtypes that somebody gave, where not all are float64: writes are looked for in these too
    """

    name: str
    make: Callable[[Sampler], Arguments]
    role: Role = "main"
    wants: tuple[int, ...] | None = None
    second: bool | Literal["mixed"] = False
    digits: bool = False
    advice: str = ""
    given: Arguments | None = None

    def in_float64(self) -> Case:
        """The same case without its dtype in the name."""
        return replace(self, name=self.name.removesuffix(" in float32"))


@dataclass(frozen=True)
class Refusal:
    """Arguments that the contract says are refused, and the errors that count as a refusal.

    argument  which of them is the reason; the message may not name another one instead
    """

    name: str
    make: Callable[[Sampler], Arguments]
    errors: tuple[str, ...] = ("TypeError",)
    argument: str = ""


@dataclass(frozen=True)
class Cause:
    """What the judge of an experiment found: a code with typed facts, never a sentence.

    code      a key of the exercise's sentences, "<family>/<cause>"
    facts     what the sentence of that code puts between its braces
    evidence  measured values that a report shows: actual, expected, original, …
    rule      the rule that does not hold, where it is not the experiment's own
    at        names of calls: the line is shown in which the first of them stands that the code calls once
    symptom   what is wrong is known, and not why: a known mistake with the same data may say more
    """

    code: str
    facts: Data = field(default_factory=dict)
    evidence: Data = field(default_factory=dict)
    rule: str = ""
    at: tuple[str, ...] = ()
    symptom: bool = True


@dataclass(frozen=True)
class Scenario:
    """An experiment of an exercise's own, for what cases cannot say.

    run    gets the submission and a seeded Sampler in the learner's process; returns plain data
    judge  gets that data outside, and what the same run gave with the reference: there are the inputs that
           the run chose, and mostly what is right; returns None when it is right, or the Cause
    rule   the rule that a verdict of this scenario carries
    promise  the key of the promise it is about; "": that of the rule
    needs  rules that must hold before this one is judged
    cause  judged before gradcheck and before what is kept where: its finding explains theirs
    first  judged before everything else: its finding explains wrong values and errors. Where the
           experiment itself stops with an error, it is silent and the ordinary rules speak
    free   entries that are the submission's own affair: their length, and numbers that other questions judge
    """

    name: str
    rule: str
    run: Callable[[Solution, Sampler], Data]
    judge: Callable[[Data, Data], Cause | None]
    needs: tuple[str, ...] = ("raises",)
    cause: bool = False
    first: bool = False
    promise: str = ""
    free: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strictness:
    """What of an answer counts. A contract of the course counts everything that it asks.

    advice      public names of rules, or codes of causes, that only advise: what is found is shown, and the
                answer passes
    ignored     public names of rules that are not judged
    atol, rtol  what a number may be off by, beyond what is always allowed
    as_given    nothing is asked that nobody gave: no −inf, no gradcheck. What torch sums or casts itself, and
                a precision lost inside, is advice of its own
    """

    advice: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    atol: float = 0.0
    rtol: float = 0.0
    as_given: bool = False
    of_largest: float = 0.0  # what a number may be off by, as a share of the largest beside it

    def severity(self, rule: str, cause: str) -> Severity:
        """How much it weighs that a rule does not hold, for this cause."""
        return "advice" if {rule, cause} & self.advice else "error"


@dataclass(frozen=True)
class Exercise:
    """What is asked. Names and contracts are public (they stand in the lesson).

    reference       takes the same arguments; its values are right, and so are its derivatives of
                    every order through autograd (for a surrogate: those of the surrogate)
    drawn           (args, outputs) -> what forward drew at random, read off its outputs, as further arguments of the
                    reference; it draws its own where they are missing. None: nothing is drawn
    budget          (args, outputs) -> bytes that may stay alive for backward; None: not judged
    second_order    right: second derivatives must be right; right-or-refused: right or RuntimeError;
                    refused: always RuntimeError; not-judged
    constants       positions of tensor arguments that get the gradient None by contract
    gradcheck       False where gradcheck fails by design (surrogate gradients)
    is_function     True for plain functions such as ``numerical_gradient``
    forbidden       torch functions the exercise rebuilds, by public name ("torch.softmax")
    may_use_autograd  backward (or the function) may call torch.autograd
    released        the released cell holds, in place of an empty stub, the first of the known mistakes, to be
                    repaired: it is recognised by its code
    half            also run in bfloat16
    any_size        also run with more rows than any case has, which may not take more operations; False
                    where a Python loop over rows or blocks is the method
    tensors_on_ctx  forward may put a tensor that it made on ctx as an attribute (a random state); else it is
                    refused
    strictness      what counts as an error
    also            further kinds of question that the first case is asked: jvp, vmap, func, opcheck, compiled
    mistakes        known mistakes and right answers, a file or its text (``autograder.contract.known_mistakes``)
    sentences       the words for the causes that its own experiments find, in the form of
                    ``autograder.reporting.wording``
    """

    name: str
    summary: str
    signature: str
    reference: Solution
    cases: tuple[Case, ...]
    hints: tuple[str, str, str]
    lesson: str = ""
    drawn: Callable[[Arguments, Arguments], Arguments] | None = None
    budget: Callable[[Arguments, Arguments], int] | None = None
    budget_words: str = ""
    second_order: SecondOrder = "right"
    constants: frozenset[int] = frozenset()
    gradcheck: bool = True
    is_function: bool = False
    forbidden: frozenset[str] = frozenset()
    may_use_autograd: bool = False
    linear_upstream: bool = True
    released: bool = False
    half: bool = True
    any_size: bool = True
    tensors_on_ctx: bool = False
    meta: bool = True
    float32: bool = True
    noncontiguous: bool = True
    refusals: tuple[Refusal, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    mistakes: Path | str | None = None
    sentences: str = ""
    strictness: Strictness = Strictness()
    also: tuple[str, ...] = ()

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


@functools.cache
def _names_in(signature: str) -> tuple[str, ...]:
    inner = signature.strip().strip("()")
    return tuple(p.split("=")[0].strip(" *") for p in inner.split(",") if p.strip())


def bytes_of(*tensors: Tensor | None) -> int:
    """Bytes of the given tensors, as budgets count them (elements × element size)."""
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)
