"""What is wrong with one answer, as a code with facts: the same look for every kind of question."""

from __future__ import annotations

import cmath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Clause, Finding, fault
from autograder.judging.rules.runs import stopped
from autograder.observation.compare import (
    alike,
    as_far_as,
    both,
    close,
    digits_apart,
    first_difference,
    plain_number,
    shape_words,
    show,
    single_inside,
    where_finite,
)


@dataclass(frozen=True)
class Problem:
    """The first thing that is wrong with an answer.

    code      stops, output-count, output-shape, output-dtype, output-value, gradient-missing,
              gradient-none (where zeros are asked for), gradient-shape, gradient-dtype, gradient-value
    facts     what it is about ("the gradient for x"), what came (``mine``) and what is right, where (``at``)
    place     which output; position: which argument's gradient
    index     where two tensors of one shape differ most
    """

    code: str
    facts: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    place: int | None = None
    position: int | None = None
    index: tuple[int, ...] | None = None

    @property
    def clause(self) -> Clause:
        return Clause(f"problem/{self.code}", self.facts)


def problem(ev: Evidence, pair: Pair) -> Problem | None:
    """The first thing that is wrong with the answer of a pair; None: nothing."""
    failure = pair.answer.failure
    # What torch refuses of what backward returned is told by its shape.
    refused = failure is not None and failure.stage == "engine"
    found = problems(ev, pair) if failure is None or refused else []
    if failure is not None:
        found = [p for p in found if p.code == "gradient-shape"]
        found.append(Problem("stops", {"error": failure.kind}))
    return found[0] if found else None


def problems(ev: Evidence, pair: Pair) -> list[Problem]:
    """What is wrong with each output and each gradient that came, the first thing of each; remembered."""
    if "wrong" not in pair.known:
        pair.known["wrong"] = [*_of_outputs(ev, pair), *_of_gradients(ev, pair)]
    return pair.known["wrong"]


def _of_outputs(ev: Evidence, pair: Pair) -> Iterator[Problem]:
    wants, outputs = pair.question.wants, pair.answer.outputs or ()
    asked = pair.question.args[wants[0]].dtype if wants else pair.dtype
    for place, (got, right) in enumerate(zip(outputs, pair.expected.outputs, strict=False)):
        if isinstance(right, Tensor):
            found = Problem("output", {"what": what_of(ev, pair, place)}, place=place)
            if isinstance(got, Tensor):
                wanted = _as_precise(right.dtype, asked)
                yield from _of_tensors(ev, pair, found, got, right, wanted)
            else:
                facts = {**found.facts, "mine": kind_of(got)}
                yield replace(found, code="output-count", facts=facts)
        elif isinstance(right, int) and (type(got), got) != (type(right), right):
            mine = got if isinstance(got, int | float) else kind_of(got)
            facts = {"what": what_of(ev, pair, place), "mine": show(mine), "right": show(right)}
            yield Problem("output-number", {**facts, "case": pair.where}, both(got, right), place)


def _as_precise(dtype: torch.dtype, asked: torch.dtype) -> torch.dtype:
    """The dtype of an output in the precision of a question, where the right one follows that of its inputs."""
    if dtype not in (torch.float64, torch.complex128):
        return dtype
    return asked.to_complex() if dtype.is_complex else asked.to_real()


def _of_gradients(ev: Evidence, pair: Pair) -> Iterator[Problem]:
    for position in pair.question.wants:
        got, right, name = pair.raw(position), pair.right(position), ev.argument(position)
        found = Problem("gradient", {"argument": name, "what": f"the gradient for {name}"},
                        {"argument": name}, position=position)  # fmt: skip
        if right is None or (got is None and not bool(right.any())):
            if right is not None and _should_be_zeros(ev, pair, position):
                yield replace(found, code="gradient-none")
        elif not isinstance(got, Tensor):
            yield replace(found, code="gradient-missing")
        else:
            # Of whole numbers that are all 0 the dtype is not what is wrong first.
            zeros = not got.dtype.is_floating_point and not bool(got.any()) and bool(right.any())
            wanted = got.dtype if zeros else pair.question.args[position].dtype
            yield from _of_tensors(ev, pair, found, got, right, wanted)


def _of_tensors(
    ev: Evidence, pair: Pair, found: Problem, got: Tensor, right: Tensor, wanted: torch.dtype,
) -> Iterator[Problem]:  # fmt: skip
    """What is wrong with a tensor: its shape, its dtype, its numbers, or that they went through float32."""
    what, evidence, index = found.facts["what"], found.evidence, None
    facts: dict[str, Any] = {}
    if pair.question.more.get("where_finite"):
        got, right = where_finite(got, right)
    if got.shape != right.shape:
        aspect, facts, evidence = "shape", shapes(what, got, right), both(got, right)
    elif got.dtype != wanted:
        aspect, facts, evidence = "dtype", dtypes(what, got.dtype, wanted), {}
    elif not _alike(found, pair, got, right) or (_is_plain(pair) and single_inside(got, right)):
        aspect, evidence = "value", {**evidence, **both(got, right, pair.dtype)}
        if (most := first_difference(got, right, pair.dtype)) is not None:
            index, facts = most[0], at_index(ev, pair, got, right, most[0], found.position)
        else:
            facts = {"mine": "rounded to float32", "right": "float64"}
    else:
        return
    code = f"{found.code}-{aspect}"
    yield replace(found, code=code, facts={**found.facts, **facts}, evidence=evidence, index=index)


def _alike(found: Problem, pair: Pair, got: Tensor, right: Tensor) -> bool:
    """Whether two tensors agree; what a gradient may be off by grows with the grad_output that is asked."""
    times = pair.question.more.get("times")
    if times and found.code == "gradient":
        got, right = got / times, right / times
    return close(got, right, pair.dtype)


def _is_plain(pair: Pair) -> bool:
    """Whether its numbers are ordinary ones: the sums of others may be 0, up to rounding."""
    return pair.question.role == "main" and not pair.question.variant


def gradient_problem(ev: Evidence, pair: Pair, position: int) -> Problem | None:
    """What is wrong with the gradient for one argument; None: nothing, in all respects."""
    return next((each for each in problems(ev, pair) if each.position == position), None)


def _should_be_zeros(ev: Evidence, pair: Pair, position: int) -> bool:
    """Whether None, which leaves the argument without a gradient, stands where other cases give one."""
    constant = ev.exercise.is_function or position in ev.exercise.constants
    if pair.question.role != "special" or constant or pair.expected.gradients is None:
        return False
    asked = [p for p in ev.plain if position in p.question.wants]
    depends = pair.expected.gradients[pair.question.wants.index(position)] is not None
    return depends and any(isinstance(p.raw(position), Tensor) for p in asked)


# ---- the facts of a problem ------------------------------------------------------------------


def what_of(ev: Evidence, pair: Pair, place: int) -> str:
    """The words for an output: of several it is said which, by its place."""
    if ev.exercise.is_function:
        return "the result"
    if sum(isinstance(o, Tensor) for o in pair.expected.outputs) < 2:
        return "the output"
    return f"the {('first', 'second', 'third', 'fourth')[min(place, 3)]} output"


def inputs_of(ev: Evidence, pair: Pair) -> dict[str, object]:
    return {"inputs": {ev.argument(i): show(a) for i, a in enumerate(pair.question.args)}}


def upstream_of(pair: Pair) -> str:
    return ", ".join(show(g) for g in pair.question.upstream if g is not None)


def size_of(pair: Pair) -> int:
    """The number of elements that a call was given."""
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))


def kind_of(value: Any) -> str:
    return (value if isinstance(value, str) else type(value).__name__).strip("<>")


def shapes(what: str, got: Tensor, right: Tensor) -> dict[str, Any]:
    return {"what": what, "mine": shape_words(got.shape), "right": shape_words(right.shape)}


def dtypes(what: str, got: torch.dtype, wanted: torch.dtype) -> dict[str, Any]:
    return {"what": what, "mine": plain_dtype(got), "right": plain_dtype(wanted)}


def plain_dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def at_index(
    ev: Evidence, pair: Pair, got: Tensor, right: Tensor, index: tuple[int, ...], position: int | None
) -> dict[str, Any]:  # fmt: skip
    """Both numbers in one place of two tensors, and its name."""
    numbers = plain_number(got[index]), plain_number(as_far_as(got.dtype, right)[index])
    mine, wanted = digits_apart(*numbers)
    odd = [not cmath.isfinite(number) for number in numbers] == [True, False]
    return {"mine": mine, "right": wanted, "odd": odd, "at": _at(ev, pair, position, index, got)}


def _at(ev: Evidence, pair: Pair, position: int | None, index: tuple[int, ...], of: Tensor) -> str:
    """ "x = 0" where each element of one argument stands for itself, else "x[0, 1]"; "" where neither is so."""
    wants = pair.question.wants
    if position is None:
        tensors = [i for i, a in enumerate(pair.question.args) if isinstance(a, Tensor)]
        position = tensors[0] if len(tensors) == 1 else wants[0] if len(wants) == 1 else None
    if position is None or not index or not alike(pair.question.args[position], of):
        return ""
    value = pair.question.args[position]
    alone = all(alike(o, value) for o in pair.expected.outputs)
    name, number = ev.argument(position), plain_number(value[index])
    if (alone and len(wants) <= 1) or not cmath.isfinite(number):
        return f"{name} = {show(number)}"
    return f"{name}[{', '.join(map(str, index))}]"


# ---- a rule about answers of one kind ----------------------------------------------------------


def as_ever(ev: Evidence, pair: Pair, found: Problem) -> bool:
    """Whether the same is wrong without this circumstance: that is told by a rule of its own, or is believed."""
    for plain in ev.plain if pair.question.variant else ():
        alike = plain.where == pair.where and plain.question.wants == pair.question.wants
        first = problem(ev, plain) if alike else None
        if first is not None and (first.code, first.place, first.position) == (found.code, found.place, found.position):  # fmt: skip
            return True
    return False


# How a sentence begins about an error in such a case alone.
_LEADS = {
    "special": "Right almost everywhere, but not for {case}", "float32": "In float32",
    "bfloat16": "In bfloat16", "device": "On the GPU", "expanded": "With the grad_output of y.sum()",
    "strides": "With a transposed tensor", "grown": "With more rows", "compiled": "Under torch.compile",
}  # fmt: skip


def at_fault(ev: Evidence, rule: str, family: str, pair: Pair, found: Problem) -> Finding:
    if found.code == "stops":
        lead = _LEADS.get(family, "With {case}").format(case=pair.where)
        return stopped(ev, pair, rule, lead)
    facts: dict[str, Any] = {"place": found.place, found.code.replace("-", "_"): True}
    return fault(
        rule, f"{family}/wrong", pair, found.position, evidence=found.evidence, symptom=True,
        circumstance=pair.where, problem=found.clause, **facts,
    )  # fmt: skip


def fails_at_first(ev: Evidence, pair: Pair) -> bool:
    """Whether the first derivative, or the output, fails in this special case or batch already.

    The rules of these cases tell it.
    """
    role = pair.question.role
    if role not in ("batch", "special"):
        return False
    firsts = ev.pairs("run", role=role, variant="")
    return any(p.where == pair.where and problem(ev, p) is not None for p in firsts)
