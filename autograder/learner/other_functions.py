"""Reports for a Function that is not from the course: asked on the inputs that somebody gives."""

from __future__ import annotations

import contextlib
import copy
import secrets
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from autograder.contract.any_function import (
    VALUES,
    Given,
    Terms,
    exercise_for,
    given,
    gradcheck_accepts,
)
from autograder.contract.ending import Clock, TimeIsOver, on
from autograder.contract.exercise import Exercise
from autograder.contract.meant_gradients import STEPS, TURNED, Meant
from autograder.contract.measured import Measured
from autograder.contract.promises import Line, State, promise_of
from autograder.contract.real_numbers import is_differentiable
from autograder.contract.references import References
from autograder.contract.ties import tied
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Clause, Finding, fault
from autograder.judging.rules import Verdicts, judge
from autograder.learner.asking_in_time import ask_in_time
from autograder.learner.excused_gradients import (
    allowing,
    how_far,
    judged_as_surrogate,
    left_off,
    meant_in,
    wrong_gradients,
)
from autograder.reporting.report import Report
from autograder.reporting.verdict import Asked, OneCheck, rules_asked, verdict
from autograder.reporting.wording import said, with_step
from autograder.running.containment import contained
from autograder.running.submission import Submission, adapted, all_dense, cloned
from autograder.running.survey import survey

# What may go wrong only because the check computes in float64.
_OF_A_DTYPE = frozenset({"raises", "forward-dtype", "forward-unstable", "gradient-unstable"})


_ROUNDING = 1e-14  # as a share of an output: what float64 leaves
_UNSTEADY = (
    "Two calls with the same arguments give other outputs, though torch, NumPy and Python draw the same random numbers. "
    "Where forward draws from a generator of its own, hand that in as an argument."
)
_CUT = "{call}: time was over. seconds=None waits for it."
_FOLDED = "How the gradient for {name} is shared between the triangles of a symmetric matrix."

# Numbers that are no derivative, and may be as their author wants them: linear in the upstream gradient.
_MAY_BE_MEANT = {f"gradient-{what}" for what in ("value", "scale", "sign", "zero", "missing")}


def report_on(
    submission: Any, inputs: Any, terms: Terms, name: str = "", devices: tuple[str, ...] = ("cpu",),
    seed: int | None = None, seconds: float | None = 10.0,
) -> Report:  # fmt: skip
    """Check any Function on inputs; ``evaluate`` says what the arguments mean.

    After ``seconds`` no new question is asked: the report is incomplete, and says what was not asked.
    Raises TypeError and ValueError for inputs that make no sense, and what a reference raises.
    """
    arguments = given(inputs)
    import torch._dynamo  # as the first operation on a meta tensor does, in the middle of a question

    clock = Clock(seconds)
    seed = secrets.randbelow(2**31) if seed is None else seed

    def report(target: Any) -> Report:
        try:
            made = _report(submission, target, arguments, terms, name, devices, seed, clock)
        except TimeIsOver:  # before or between all questions
            named = name or getattr(submission, "__name__", type(submission).__name__)
            late = ["what takes longer"]
            made = Report(named, False, seed=seed, devices=devices, own_inputs=True, unasked=late)
        made.undecided[:0] = [_CUT.format(call=clock.cut)] if clock.cut else []
        return made

    found = report(submission)
    lower = (
        arguments.dtype
        if arguments.dtype in (torch.float32, torch.bfloat16, torch.float16)
        else None
    )
    believed = terms.reference is None and terms.surrogate is None and not terms.strict
    if lower and believed and found.outcome == "failed" and found.findings[0].rule in _OF_A_DTYPE:
        as_given = report(_computed_in(lower, submission))
        if as_given.outcome != "failed":
            others = [f for f in as_given.findings if not f.rule.endswith(("-precision", "-dtype"))]
            note = fault(
                "loses-precision", "range/as-given",
                dtype=str(lower).removeprefix("torch."), said=Clause(found.findings[0].cause, found.findings[0].facts),
            )  # fmt: skip
            as_given.findings = [replace(said(note), severity="advice"), *others]
            return as_given
    return found


def _report(
    submission: Any, target: Any, arguments: Given, terms: Terms, name: str, devices: tuple[str, ...],
    seed: int, clock: Clock,
) -> Report:  # fmt: skip
    """The report on what is run (``target``), told as one on the submission."""
    # What is decorated with torch.compile gives the same without a minute of compiling.
    eager = torch.compiler.set_stance("force_eager")
    with (
        eager,
        contained(capture=False),
        torch.enable_grad(),
        on(clock),
        tied(arguments.ties) as bind,
    ):
        if isinstance(target, torch.nn.Module):  # a copy in float64, as its inputs are
            target, terms = copy.deepcopy(target).double(), replace(terms, dtypes=())
        for change in filter(None, (arguments.restore, bind if arguments.ties else None)):
            target, terms = adapted(target, change), _adapted(terms, change)
        if (seen := survey(target, arguments.sets[0])).unseen:
            target, terms = adapted(target, made=all_dense), _adapted(terms, made=all_dense)
            seen = survey(target, arguments.sets[0])
        target = adapted(target, cloned) if seen.writes else target
        own = Measured(Submission(target), terms.eps, seen=seen.seen)
        exercise = exercise_for(
            arguments, terms, own, submission, name, seen.also, not Submission(target).is_class, seen.drew
        )  # fmt: skip
        nothing = Asked(exercise, (), True, seed, devices, References(exercise))
        one = OneCheck(nothing, submission, target, clock.over)
        if (refused := one.refused) is not None:
            return refused
        if seen.unsteady and not terms.nondet_tol:
            report = one.asked.report()
            report.undecided, report.promises = [_UNSTEADY], (Line("values", "undecided"),)
            return report
        one.asked = asked = Asked.of(exercise, seed, True, devices)
        shared = any(isinstance(t.owner, torch.nn.Module) for t in arguments.ties)
        if seen.draws or shared:  # two calls draw different numbers, or read one module
            questions = tuple(q for q in asked.questions if q.kind != "interleave")
            one.asked = asked = replace(asked, questions=questions)
        ask_in_time(one, clock)
        asked, observation = one.asked, one.observation
        if observation.facts["interrupted"]:
            return one.verdict(VALUES)
        with contextlib.suppress(Exception):  # a forward that stops is told of by its answers
            dtype = own.computes_in(arguments.sets[0], arguments.wants[0])
            if dtype is not None and not clock.over():
                observation.facts["computes_in"] = str(dtype).removeprefix("torch.")
        exact = one.evidence(asked)
        loose = one.evidence(rough) if (rough := allowing(asked, terms)) is not asked else exact
        broken, many, notes, meant = judge(loose), False, list[Finding](), Meant()
        if broken.findings:
            wrong = () if terms.surrogate else wrong_gradients(loose)
            off = wrong_gradients(exact)
            if not (clock.over() or terms.exact) and (
                most := left_off(off, own, arguments.sets[0])
            ):
                many, rough = True, allowing(asked, terms, most)
            elif (meant := meant_in(wrong, asked, own, terms)).kind:
                asked = judged_as_surrogate(asked, own, terms, meant)
                exact, rough = one.evidence(asked), allowing(asked, terms)
                along = [exercise.argument(i) for i in meant.along]
                note = fault("surrogate", f"surrogate/{meant.kind}", along=along)
                notes = [replace(note, severity=meant.severity)]
            if many or notes:
                loose = one.evidence(rough) if rough is not asked else exact
                broken = judge(loose)
        finer, late = broken if loose is exact else judge(exact), clock.missed
        if not broken.findings and not many and _gradcheck_rejects(finer, own, arguments):
            loose, broken = exact, finer
        for each in (broken, finer):
            each.findings[:1] = [_doubted(f, exercise, meant) for f in each.findings[:1]]
        # What is wrong either way is explained by exact numbers.
        same = [(f.rule, f.position) for f in broken.findings[:1]] == [
            (f.rule, f.position) for f in finer.findings[:1]
        ]
        if not broken.findings and finer.findings:
            notes.append(replace(_approximately(finer.findings[0], exact, many), severity="advice"))
        believed = VALUES if terms.reference is None else frozenset()
        chosen = (asked, exact, finer) if same else (rough, loose, broken)
        report = verdict(*chosen[:2], believed=believed, judged=chosen[2])
        report.own_inputs = True
        if arguments.left_out:
            _leave_open(report, {"gradients"}, "undecided")
        report.undecided += [
            f"The gradient for {exercise.argument(i)}: {arguments.sets[0][i]}, not looked into."
            for i in sorted(arguments.left_out)
        ]
        report.undecided += [_FOLDED.format(name=exercise.argument(i)) for i in sorted(own.folded)]
        if seen.idle:
            of = fault("parameters-without-gradient", "surrogate/idle", names=seen.idle)
            notes.append(replace(of, severity="advice"))
        report.findings += map(said, notes)
        if terms.reference is None and terms.surrogate is None:
            report.findings[:1] = map(_perhaps_meant, report.findings[:1])
        if meant.kind == STEPS and report.findings[0].rule == "upstream-nonlinear":
            report.findings[0] = with_step(report.findings[0], "surrogate/nonlinear")
        unasked, behind = _not_asked(one)
        if unasked or late:
            if report.outcome != "failed":
                report.unasked = unasked or ["the slopes that were not measured"]
            _leave_open(report, behind, "not reached")
        return report


def _adapted(terms: Terms, *given: Any, **made: Any) -> Terms:
    """The same with what ``adapted`` makes of the functions that somebody gave."""
    right, meant = (f and adapted(f, *given, **made) for f in (terms.reference, terms.surrogate))
    return replace(terms, reference=right, surrogate=meant)


def _approximately(found: Finding, evidence: Evidence, many: bool) -> Finding:
    """The finding of an exact comparison, told as what it is: too small for anybody to mend."""
    from autograder.explaining.explanation import explained

    found, share = explained(found, evidence), how_far(wrong_gradients(evidence))
    told = Clause(found.cause, found.facts)
    return fault("loses-precision", "range/approximate", found.pair, found.position, many=many, said=told, share=share)  # fmt: skip


def _gradcheck_rejects(finer: Verdicts, own: Measured, arguments: Given) -> bool:
    """Whether gradients that only a finer comparison sees to be wrong are wrong to gradcheck, which looks at each slope."""
    wrong = any(f.rule.startswith("gradient-") for f in finer.findings)
    sets = zip(arguments.sets, arguments.wants, strict=True)
    # Of what is rounded inside, gradcheck's step shows the rounding.
    exact = wrong and own.share <= _ROUNDING
    return exact and not all(gradcheck_accepts(own.call, *each) for each in sets)


def _doubted(found: Finding, exercise: Exercise, meant: Meant) -> Finding:
    """A finding on what looks like a surrogate's gradient, told as what is wrong with that."""
    position, doubt = found.position, meant.doubts.get(-1 if found.position is None else found.position)  # fmt: skip
    if doubt is None or position is None or found.rule not in _MAY_BE_MEANT:
        return found
    rule = "gradient-sign" if doubt == TURNED else found.rule
    facts = {"argument": exercise.argument(position)}
    return replace(found, rule=rule, cause=f"surrogate/{doubt}", facts=facts, symptom=False)


def _perhaps_meant(finding: Finding) -> Finding:
    """A wrong gradient of which nobody but its author knows whether it is meant: how to say so stands beside it."""
    of_backward = finding.pair is not None and finding.pair.question.kind == "run"
    perhaps = of_backward and finding.rule in _MAY_BE_MEANT
    return with_step(finding, "surrogate/perhaps") if perhaps else finding


def _not_asked(one: OneCheck) -> tuple[list[str], set[str]]:
    """Questions that there was no time for, and the promises of rules that nothing else was asked for."""
    asked, answered = one.asked, one.observation.answers
    left = [q for q in asked.questions if q.id not in answered]
    at_all, late_ones = (
        rules_asked(asked.exercise, some, asked.references)
        for some in ([q for q in asked.questions if q.id in answered], left)
    )
    return [q.id for q in left], {promise_of(rule) for key, rule in late_ones.items() if key not in at_all}  # fmt: skip


def _leave_open(report: Report, promises: Collection[str], state: State) -> None:
    """What was kept as far as anybody looked, and was not looked into whole: nothing has passed."""
    report.passed = False
    report.promises = tuple(
        replace(line, state=state) if line.state == "kept" and line.key in promises else line
        for line in report.promises
    )


def _computed_in(dtype: torch.dtype, submission: Any) -> Callable[..., Any]:
    """The submission on float64 arguments, computed in the dtype that somebody gave them in."""
    called = Submission(submission)

    def to(value: Any, dtype: torch.dtype) -> Any:
        return value.to(dtype) if is_differentiable(value) else value

    def call(*args: Any) -> Any:
        lower, into = pytree.tree_flatten(args)
        exact = any(isinstance(a, Tensor) and a.dtype == torch.float64 for a in lower)
        made = called(*pytree.tree_unflatten([to(a, dtype) for a in lower], into))
        return pytree.tree_map(lambda o: to(o, torch.float64), made) if exact else made

    return call
