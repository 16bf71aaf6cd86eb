"""One result in every case: what came and what is right. Outputs, gradients and second derivatives alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from autograder.contract.real_numbers import is_differentiable
from autograder.explaining.causes.departures import ZEROS, Departure, departure
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.judging.rules.gradient import usable_pairs, wrong_gradient
from autograder.judging.rules.outputs import method_of, tensors_of, wrong_output
from autograder.judging.rules.problems import gradient_problem
from autograder.observation.compare import close, single_inside
from autograder.observation.source import at
from autograder.running.operations import LARGEST
from autograder.running.watching import MOVES

ENOUGH = 8  # elements in all cases together: fewer may agree with a wrong formula by chance


@dataclass(frozen=True)
class Reason:
    """A cause code with its facts; "" where it says no more than the line.

    rule      another than the finding has; symptom: it says where, not why
    pair      the case that it speaks of, where this need not be the finding's
    evidence  what else a report shows
    Its line may be among the facts, as ``line`` and ``source``.
    """

    code: str
    facts: dict[str, Any] = field(default_factory=dict)
    line: tuple[int, str] | None = None
    rule: str = ""
    symptom: bool = False
    pair: Pair | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


Why = Callable[[Evidence, Finding], Reason | None]


@dataclass(frozen=True)
class Seen:
    """The result in one case."""

    pair: Pair
    got: Any
    right: Tensor | None

    @property
    def fits(self) -> bool:
        """Whether both are tensors of one shape."""
        return isinstance(self.got, Tensor) and self.right is not None and self.got.shape == self.right.shape  # fmt: skip


@dataclass(frozen=True)
class Result:
    """One result of a submission, in the cases in which it was asked for.

    kind   output, gradient or second
    place  which output, the gradient for which argument, which second derivative
    """

    ev: Evidence
    kind: str
    place: int
    every: tuple[Seen, ...]
    wrong: tuple[Seen, ...]

    @property
    def method(self) -> str:
        """The method whose work it is."""
        if self.kind == "output":
            return method_of(self.ev)
        return "vjp" if "vjp" in self.ev.source.methods else "backward"

    @property
    def fitting(self) -> bool:
        """Whether it has the right shape everywhere, and numbers with a fraction."""
        return all(s.fits and is_differentiable(s.got) for s in self.every)

    def all(self, holds: Callable[[Seen], bool], wrong_only: bool = False) -> bool:
        """Whether something holds in every case, or in every wrong one; False where it cannot be computed."""
        try:
            return all(holds(s) for s in (self.wrong if wrong_only else self.every))
        except (RuntimeError, IndexError, TypeError, ValueError):
            return False


def result_of(ev: Evidence, finding: Finding) -> Result | None:
    """The result that a finding is about; None where it is about none."""
    family = finding.cause.split("/")[0]
    if family == "gradient" and finding.position is not None:
        i = finding.position
        pairs = [p for p in usable_pairs(ev) if i in p.question.wants]
        every = [Seen(p, p.raw(i), p.right(i)) for p in pairs]
        wrong = [s for s in every if gradient_problem(ev, s.pair, i)]
        return Result(ev, "gradient", i, tuple(every), _by_size(wrong))
    if family == "forward":
        place = int(finding.facts.get("place") or 0)
        found = [(p, t[place]) for p in ev.plain if len(t := tensors_of(p)) > place]
        every = [Seen(p, got, right) for p, (got, right) in found]
        wrong = [s for s in every if not close(s.got, s.right) or single_inside(s.got, s.right)]
        return Result(ev, "output", place, tuple(every), _by_size(wrong))
    return _of_one_case(ev, finding)


def _of_one_case(ev: Evidence, finding: Finding) -> Result | None:
    """The result in the one case that a finding is about."""
    pair, i, place = finding.pair, finding.position, finding.facts.get("place")
    if pair is None or pair.references is None:
        return None
    if pair.answer.failure is not None and pair.answer.failure.stage != "engine":
        return None
    family, wants = finding.cause.split("/")[0], pair.question.wants
    if family == "second":
        second, right = pair.answer.second or (), pair.expected.second or ()
        if not isinstance(place, int) or place >= min(len(second), len(right), len(wants)):
            return None
        (i, kind), seen = (wants[place], "second"), Seen(pair, second[place], right[place])
    elif i is not None:
        seen, kind = Seen(pair, pair.raw(i), pair.right(i)), "gradient"
    elif isinstance(place, int) and len(both := tensors_of(pair)) > place:
        (i, kind), seen = (place, "output"), Seen(pair, *both[place])
    else:
        return None
    ordinary = (*_ordinary(ev, kind, i, seen),)
    wrong = _by_size([s for s in ordinary if s.right is not None and not close(s.got, s.right)])
    return Result(ev, kind, i, (seen, *ordinary), (seen, *wrong))


def _ordinary(ev: Evidence, kind: str, i: int, seen: Seen) -> Iterator[Seen]:
    """The same result in the other ordinary cases."""
    for pair in ev.plain:
        if pair is seen.pair:
            continue
        if kind == "gradient" and i in pair.question.wants:
            yield Seen(pair, pair.raw(i), pair.right(i))
        elif kind == "output" and len(both := tensors_of(pair)) > i:
            yield Seen(pair, *both[i])


def _by_size(seen: list[Seen]) -> tuple[Seen, ...]:
    return tuple(sorted(seen, key=lambda s: sum(a.numel() for a in s.pair.question.args if isinstance(a, Tensor))))  # fmt: skip


def refined(ev: Evidence, finding: Finding, cause: Reason) -> Finding:
    """The finding with what a cause knows of it, in the case that the cause speaks of."""
    if cause.pair is not None and cause.pair is not finding.pair:
        finding = _in_case(ev, finding, cause.pair)
    place = (cause.facts["line"], cause.facts["source"]) if {"line", "source"} <= cause.facts.keys() else None  # fmt: skip
    line = at(cause.line or place)
    facts = {**finding.facts, **line, **cause.facts}
    return replace(
        finding, rule=cause.rule or finding.rule, cause=cause.code or finding.cause, facts=facts,
        evidence={**finding.evidence, **line, **cause.evidence},
        symptom=cause.symptom if cause.code else finding.symptom,
    )  # fmt: skip


def _in_case(ev: Evidence, finding: Finding, pair: Pair) -> Finding:
    """The same finding with the numbers of another case in which the result is wrong."""
    i = finding.position
    problem = None if i is None else gradient_problem(ev, pair, i)
    gradient = None if i is None or problem is None else wrong_gradient(ev, pair, i, problem)
    other = wrong_output(ev, pair) if i is None else gradient
    if other is None:
        return finding
    known = {k: v for k, v in finding.evidence.items() if k in ("line", "source")}
    return replace(other, rule=finding.rule, evidence={**other.evidence, **known})


def departure_of(result: Result) -> Departure | None:
    """Where the way of the result leaves those of right answers: in the smallest wrong case with enough numbers."""
    seen = [s for s in result.wrong if isinstance(s.got, Tensor) and s.got.numel() <= LARGEST]
    if not seen:
        return None
    telling = max(seen, key=lambda s: (_of_other_size(s), min(s.got.numel(), ENOUGH)))
    return departure(result.ev, telling.pair.question, (result.kind, result.place))


def _of_other_size(seen: Seen) -> bool:
    """Whether there are too many numbers, or too few: then another shape alone does not mend it."""
    return seen.right is not None and seen.got.numel() != seen.right.numel()


def line_of_result(result: Result) -> tuple[int, str] | None:
    """Where the wrong value was made: measured in a run, or else as far as the source tells."""
    source, seen = result.ev.source, result.wrong[0]
    if measured := departure_of(result):
        operation = measured.value.operation
        outside = operation is not None and operation.call[0].namespace != "aten"
        # Nobody sees what fills a tensor from inside an operator.
        if outside or measured.value.op in ZEROS:
            return None
        if (
            measured.value.op in MOVES and not measured.value.read and measured.new[:-1]
        ):  # it was made before it was put there
            first = measured.new[0]
            return first.line or measured.line, first.text
        return measured.line, measured.text
    ended = seen.pair.answer.returned_at
    made = source.returned_expression(result.method, result.place, ended)
    room = made is not None and any(f"{name}(" in made[1] for name in ZEROS)
    return None if room else made


# ---- which cases ---------------------------------------------------------------------------------


def in_some_cases(result: Result) -> Reason | None:
    """Right in some cases and wrong in others."""
    facts = two_cases(result)
    if not result.wrong or facts["right_case"] in ("", facts["wrong_case"]):
        return None  # of two calls with the same arguments one name tells nothing
    return Reason("value/cases", facts, symptom=True)


def two_cases(result: Result) -> dict[str, Any]:
    """The names of a wrong case and of a right one; of the same arguments, what comes from above tells them apart."""
    right = next((s.pair for s in result.every if s not in result.wrong), None)
    wrong = [s.pair for s in result.wrong]
    alike = [p for p in wrong if right is not None and p.question.args is right.question.args]
    first = min(alike, key=_outputs_asked) if alike else wrong[0]

    def named(pair: Pair) -> str:
        whole = bool(alike) and _outputs_asked(pair) > 1
        return f"{pair.where} (of all outputs)" if whole else pair.where

    return {
        "wrong_case": named(first),
        "right_case": named(right) if right else "",
        "above": bool(alike),
    }


def _outputs_asked(pair: Pair) -> int:
    return sum(g is not None for g in pair.question.upstream)
