"""The gradients that backward itself returns, before torch repairs them.

The rules of this family are exclusive: which of them fails, one look at all the evidence decides
(``autograder.explaining``); here it is only seen that, and for which argument, a gradient is wrong.
"""

from __future__ import annotations

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.outputs import inputs_of
from autograder.judging.rules.problems import apart, dtypes, gradient_is_right, shapes
from autograder.judging.rules.registry import NOT_ASKED, Rule, Undecided, Verdict, rule
from autograder.judging.rules.runs import stopped
from autograder.observation.compare import both, close, first_difference, show
from autograder.observation.source import at

_BEFORE = (
    "forward_runs", "output_shape", "output_value", "output_is_connected", "backward_runs",
    "one_gradient_an_argument", "leaves_inputs", "leaves_saved", "leaves_upstream",
)  # fmt: skip


@rule("gradient-value", needs=_BEFORE)
def gradients_agree(ev: Evidence) -> Verdict:
    """The gradients agree with the reference, for random upstream gradients of both signs."""
    asked = [p for p in ev.plain if p.question.upstream and p.question.wants]
    if not asked or ev.exercise.is_function:
        return NOT_ASKED
    usable = usable_pairs(ev)
    # One argument at a time, the first that is wrong: the others often follow from the same cause.
    for position in sorted({i for p in usable for i in p.question.wants}):
        wrong = [p for p in usable if position in p.question.wants and not gradient_is_right(p, position)]  # fmt: skip
        if wrong:
            return _wrong(ev, position, min(wrong, key=_size))
        if usable and not any(
            _can_be_told(p, position) for p in usable if position in p.question.wants
        ):
            name = ev.argument(position)
            return Undecided(f"central differences say nothing here about the gradient for {name}")
    return _refused_by_torch(ev)


def _can_be_told(pair: Pair, position: int) -> bool:
    """Whether some element of a gradient is known to a few digits."""
    errors, right = pair.expected.errors, pair.right(position)
    error = errors[pair.question.wants.index(position)] if errors else None
    if error is None or right is None or not right.numel():
        return True
    return bool((error <= 0.1 * right.abs().max() + 1e-8).any())


def usable_pairs(ev: Evidence) -> list[Pair]:
    """The plain cases in which backward came to its end."""
    usable = [p for p in ev.plain if p.answer.outputs is not None and p.question.upstream]
    return [p for p in usable if p.answer.backward or p.answer.gradients is not None]


def _size(pair: Pair) -> int:
    return sum(a.numel() for a in pair.question.args if isinstance(a, Tensor))


def _wrong(ev: Evidence, position: int, pair: Pair) -> Finding:
    got, right, name = pair.raw(position), pair.right(position), ev.argument(position)
    upstream = ", ".join(show(g) for g in pair.question.upstream if g is not None)
    evidence = {"argument": name, **inputs_of(ev, pair), "upstream": upstream, **both(got, right)}
    what, rule_name, code = f"the gradient for {name}", "gradient-value", "gradient/wrong"
    facts: dict[str, object] = {"argument": name, "what": what}
    wanted = pair.question.args[position].dtype
    if not isinstance(got, Tensor) or right is None:
        rule_name, code = "gradient-missing", "gradient/missing"
    elif got.shape != right.shape:
        rule_name, code, facts = (
            "gradient-shape",
            "gradient/shape",
            facts | shapes(what, got, right),
        )
    elif got.dtype != wanted and (got.dtype.is_floating_point or bool(got.any())):
        rule_name, code, facts = "gradient-dtype", "gradient/dtype", facts | dtypes(what, got.dtype, wanted)  # fmt: skip
    else:
        facts |= apart(ev, pair, what, got, right, position=position)
        if (difference := first_difference(got, right)) is not None:
            evidence["index"] = difference[0]
    return fault(rule_name, code, pair, position, evidence=evidence, symptom=True, **facts)


def _refused_by_torch(ev: Evidence) -> Finding | None:
    """Torch refused a gradient although what was recorded looks right (several nodes, no raw)."""
    for pair in ev.plain:
        failure = pair.answer.failure
        if failure is not None and failure.stage == "engine" and "invalid gradient" in failure.message:  # fmt: skip
            return fault("gradient-shape", "gradient/refused", pair, evidence={"original": failure.message[:300]})  # fmt: skip
    return None


@rule("gradient-unsummed", needs=(*_BEFORE, "gradients_agree"))
def nothing_left_to_torch(ev: Evidence) -> Verdict:
    """backward gives each gradient in the shape and dtype of its argument."""
    if not ev.exercise.strictness.as_given or not ev.plain:
        return NOT_ASKED
    for pair in ev.plain:
        for position in pair.question.wants:
            argument, raw = pair.question.args[position], pair.answer.raw or ()
            got = raw[position] if position < len(raw) else None
            if not isinstance(got, Tensor):
                continue
            name = ev.argument(position)
            what = f"the gradient for {name}"
            place = ev.source.returned_expression("backward", position, pair.answer.returned_at)
            if got.shape != argument.shape:
                facts = {"argument": name, **shapes(what, got, argument)}
                return fault("gradient-unsummed", "gradient/repaired-shape", pair, position, evidence=at(place), **facts)  # fmt: skip
            if got.dtype != argument.dtype:
                facts = {"argument": name, **dtypes(what, got.dtype, argument.dtype)}
                return fault("gradient-dtype", "gradient/repaired-dtype", pair, position, evidence=at(place), **facts)  # fmt: skip
    return None


@rule("gradient-value", needs=("forward_runs", "output_value"))
def function_gradients_agree(ev: Evidence) -> Verdict:
    """The gradients through the function agree with the reference."""
    asked = [p for p in ev.plain if p.question.upstream and p.question.wants]
    if not asked or not ev.exercise.is_function:
        return NOT_ASKED
    for pair in asked:
        for position in pair.question.wants:
            got, right, name = pair.reached(position), pair.right(position), ev.argument(position)
            if right is not None and bool(right.any()) and got is None:
                return fault("gradient-missing", "through/missing", pair, position, symptom=True, argument=name)  # fmt: skip
            if right is not None and got is not None and not close(got, right):
                return fault(
                    "gradient-value", "through/wrong", pair, position, symptom=True,
                    evidence=both(got, right), argument=name,
                )  # fmt: skip
    return None


@rule("gradient-value", needs=(*_BEFORE, "gradients_agree"))
def gradcheck_passes(ev: Evidence) -> Verdict:
    """gradcheck passes."""
    pairs = [p for p in ev.pairs("gradcheck") if p.question.more["order"] == 1]
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        failure = pair.answer.failure
        if failure is None:
            continue
        if failure.own_frame:
            return stopped(ev, pair, case="When gradcheck calls it")
        original = {"original": f"{failure.kind}: {failure.message}"[:300]}
        return fault("gradient-value", "gradcheck/rejects", pair, evidence=original, symptom=True)
    return None


RULES: tuple[Rule, ...] = (gradients_agree, function_gradients_agree, gradcheck_passes)
