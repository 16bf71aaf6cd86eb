"""The gradients that backward itself returns, before torch repairs them.

The rules of this family are exclusive: which of them fails, one look at all the evidence decides
(``autograder.explaining``); here it is only seen that, and for which argument, a gradient is wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.problems import (
    Problem,
    dtypes,
    gradient_problem,
    inputs_of,
    shapes,
    size_of,
    upstream_of,
)
from autograder.judging.rules.registry import (
    NOT_ASKED,
    RIGHT,
    Undecided,
    Verdict,
    plain,
    rule,
    to,
)
from autograder.judging.rules.runs import stopped
from autograder.observation.compare import both, close

_LEFT_OFF = 1e-2
# As a share of the elements of a gradient: so many have to be known, for anybody to say that it is right.
_FEWEST = 0.01
_TOUCHED = ("leaves_inputs", "leaves_saved", "leaves_upstream")


@rule("gradient-value", needs=("output_value", "one_gradient_an_argument", *_TOUCHED))
def gradients_agree(ev: Evidence) -> Verdict:
    """The gradients agree with the reference, for random upstream gradients of both signs."""
    sent = (p.question.upstream for p in ev.plain if p.question.wants)
    if not any(g is not None for upstream in sent for g in upstream):
        return NOT_ASKED
    usable, unknown = usable_pairs(ev), list[str]()
    # One argument at a time, the first that is wrong: the others often follow from the same cause.
    for position in sorted({i for p in usable for i in p.question.wants}):
        asked = [p for p in sorted(usable, key=size_of) if position in p.question.wants]
        for pair in asked:
            if (found := gradient_problem(ev, pair, position)) is not None:
                return wrong_gradient(ev, pair, position, found)
        if not any(_can_be_told(p, position) for p in asked):
            unknown.append(ev.argument(position))
    if unknown:
        told = f"central differences say next to nothing here about the gradient for {', '.join(unknown)}"
        return Undecided(told, unknown=True)
    return _refused_by_torch(ev)


def _can_be_told(pair: Pair, position: int) -> bool:
    """Whether elements of a gradient are known to a few digits, and not a few of very many."""
    told = _told(pair, position)
    return told is None or not told.numel() or float(told.double().mean()) >= _FEWEST


def _told(pair: Pair, position: int) -> Tensor | None:
    """Which elements of a gradient are known to a few digits; None: all, exactly."""
    errors, right = pair.expected.errors, pair.right(position)
    error = errors[pair.question.wants.index(position)] if errors else None
    if error is None or right is None or not right.numel():
        return None
    return error <= 0.1 * right.abs().nan_to_num(posinf=0.0).max() + 1e-8


def partly_told(ev: Evidence) -> Iterator[tuple[str, Tensor]]:
    """(argument, which elements) of gradients of which some were judged, and some nobody can tell."""
    said = set()
    for pair in usable_pairs(ev):
        for position in pair.question.wants:
            told = _told(pair, position)
            if told is not None and position not in said and 0 < int(told.sum()) < told.numel():
                said.add(position)
                yield ev.argument(position), ~told


def usable_pairs(ev: Evidence) -> list[Pair]:
    """The plain cases in which backward came to its end."""
    usable = [p for p in ev.plain if p.answer.outputs is not None and p.question.upstream]
    return [p for p in usable if p.answer.backward or p.answer.gradients is not None]


def wrong_gradient(ev: Evidence, pair: Pair, position: int, found: Problem) -> Finding:
    """The finding that a gradient is wrong in a case."""
    shown = both(pair.raw(position), pair.right(position))
    evidence = {"argument": ev.argument(position), **inputs_of(ev, pair), "upstream": upstream_of(pair), **shown}  # fmt: skip
    family = "through" if ev.exercise.is_function else "gradient"
    code = f"{family}/{found.code.removeprefix('gradient-').replace('value', 'wrong')}"
    if found.index is not None:
        evidence["index"] = found.index
    return fault(found.code, code, pair, position, evidence=evidence, symptom=True, **found.facts)


def _refused_by_torch(ev: Evidence) -> Finding | None:
    """Torch refused a gradient although what was recorded looks right (several nodes, no raw)."""
    for pair in ev.plain:
        failure = pair.answer.failure
        if failure is not None and failure.stage == "engine" and "invalid gradient" in failure.message:  # fmt: skip
            return fault("gradient-shape", "gradient/refused", pair, evidence={"original": failure.message[:300]})  # fmt: skip
    return None


@rule("gradient-unsummed", needs=RIGHT, of=plain)
def nothing_left_to_torch(ev: Evidence, pair: Pair) -> Verdict:
    """backward gives each gradient in the shape and dtype of its argument."""
    if not ev.exercise.strictness.as_given:
        return NOT_ASKED
    for position, got in enumerate(pair.answer.raw or ()):
        if position not in pair.question.wants or not isinstance(got, Tensor):
            continue
        argument, name = pair.question.args[position], ev.argument(position)
        what = f"the gradient for {name}"
        if got.shape != argument.shape:
            if not _sums_to(got, pair.reached(position)):
                continue  # the Function was given another tensor, made of the argument
            rule_name, kind, facts = "gradient-unsummed", "shape", shapes(what, got, argument)
        elif got.dtype != argument.dtype:
            rule_name, kind, facts = (
                "gradient-dtype",
                "dtype",
                dtypes(what, got.dtype, argument.dtype),
            )
        else:
            continue
        place = ev.source.returned_expression("backward", position, pair.answer.returned_at)
        return fault(rule_name, f"gradient/repaired-{kind}", pair, position, seen_at=place, argument=name, **facts)  # fmt: skip
    return None


def _sums_to(got: Tensor, reached: Tensor | None) -> bool:
    """Whether what reached an argument is the sum of what backward returned."""
    with contextlib.suppress(RuntimeError):  # of shapes that no sum leads to
        return reached is not None and close(
            got.sum_to_size(reached.shape).to(reached.dtype), reached
        )
    return False


@rule("upstream-nonlinear", needs=RIGHT, of=to("run", variant="single"))
def elements_are_apart(ev: Evidence, pair: Pair) -> Verdict:
    """A loss of one element alone has the gradient of that element."""
    if pair.answer.failure is not None:
        return stopped(ev, pair, case="For a loss of one element")
    for position in pair.question.wants:
        found = gradient_problem(ev, pair, position)
        if found is not None and not _is_small(pair, position):
            told = wrong_gradient(ev, pair, position, found).evidence
            name = ev.argument(position)
            return fault("upstream-nonlinear", "upstream/elements", pair, position, evidence=told, argument=name)  # fmt: skip
    return None


def _is_small(pair: Pair, position: int) -> bool:
    """Whether a gradient is off by what a solver may leave off, as a share of what the gradient usually is."""
    got, right, usual = pair.reached(position), pair.right(position), pair.usual
    if usual is None or pair.references is None or right is None or got is None or got.shape != right.shape:  # fmt: skip
        return False
    known = pair.references.expect(usual).gradients or ()
    size = [g.abs().max() for g in known if g is not None and g.numel()]
    return bool(size) and bool((got - right).abs().max() <= _LEFT_OFF * max(size))


@rule("gradient-value", needs=RIGHT, of=to("gradcheck"))
def gradcheck_passes(ev: Evidence, pair: Pair) -> Verdict:
    """gradcheck passes."""
    failure = pair.answer.failure
    if failure is None:
        return None
    if failure.own_frame:
        return stopped(ev, pair, case="When gradcheck calls it")
    original = {"original": failure.original}
    return fault("gradient-value", "gradcheck/rejects", pair, evidence=original, symptom=True)
