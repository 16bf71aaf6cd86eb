"""Why is a gradient wrong? One cause, from measured evidence.

Every candidate has to explain all wrong gradients of one argument in every case that was run.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.causes.candidates import CANDIDATES
from autograder.causes.changed_arguments import exchanged_numbers
from autograder.causes.line_of_words import line_spoken_of
from autograder.causes.made_at import Seen
from autograder.causes.true_everywhere import with_why
from autograder.compare import (
    both,
    close,
    first_difference,
    mismatch,
    shape_words,
    show,
    single_inside,
)
from autograder.evidence import Evidence, Finding, Pair


def diagnose(ev: Evidence) -> Finding | None:
    """The one finding about gradients in the plain cases; None when all of them are right."""
    usable = [p for p in ev.plain if p.answer.outputs is not None and p.question.upstream]
    usable = [p for p in usable if p.answer.backward or p.answer.gradients is not None]
    positions = sorted({i for p in usable for i in p.question.wants})
    wrong = {i: [p for p in usable if not _right(p, i)] for i in positions}
    wrong = {i: pairs for i, pairs in wrong.items() if pairs}
    if not wrong:
        return _engine_refused(ev)
    if (finding := _swapped(ev, wrong, usable)) is not None:
        return finding
    # One argument at a time, the first that is wrong: the others often follow from the same cause.
    position, pairs = next(iter(wrong.items()))
    pairs = sorted(
        pairs, key=lambda p: sum(a.numel() for a in p.question.args if isinstance(a, Tensor))
    )
    every = [p for p in usable if position in p.question.wants]
    for candidate in CANDIDATES:
        finding = candidate(ev, position, pairs, every)
        if finding is not None:
            shown = _whose_shapes(finding, position, pairs)
            found = _with_evidence(ev, finding, position, shown, list(wrong))
            return with_why(ev, found, position, every)
    return None


def _whose_shapes(finding: Finding, position: int, pairs: list[Pair]) -> Pair:
    """The case to show: the one whose shapes the words name, else the smallest."""
    for pair in pairs:
        got, right = pair.raw(position), pair.right(position)
        if isinstance(got, Tensor) and right is not None and got.shape != right.shape:
            words = shape_words(got.shape), shape_words(right.shape)
            if all(each in finding.message for each in words):
                return pair
    return pairs[0]


def _right(pair: Pair, position: int) -> bool:
    if position not in pair.question.wants:
        return True
    got, right = pair.raw(position), pair.right(position)
    if right is None:
        return True
    if got is None:
        return not bool(right.any())
    return (
        isinstance(got, Tensor)
        and got.dtype == pair.question.args[position].dtype
        and close(got, right)
        and not single_inside(got, right)
    )


def _with_evidence(
    ev: Evidence, finding: Finding, position: int, pair: Pair, wrong: list[int]
) -> Finding:
    got, right = pair.raw(position), pair.right(position)
    evidence: dict[str, Any] = {
        "case": pair.where,
        "argument": ev.argument(position),
        "inputs": {ev.argument(i): show(a) for i, a in enumerate(pair.question.args)},
        "upstream": ", ".join(show(g) for g in pair.question.upstream if g is not None),
        **both(got, right),
    }
    if isinstance(got, Tensor) and isinstance(right, Tensor) and got.shape == right.shape:
        difference = first_difference(got, right)
        if difference is not None:
            evidence["index"] = difference[0]
    ended = pair.answer.returned_at
    for method in ("backward", "vjp"):
        spoken_of = line_spoken_of(ev.source, method, finding.message)
        made = ev.source.returned_expression(method, position, ended, _seen(got, right))
        if line := spoken_of or made:
            evidence["line"], evidence["source"] = line
            break
    evidence["wrong_arguments"] = [ev.argument(i) for i in wrong]
    return Finding(finding.rule, finding.message, finding.hint, {**evidence, **finding.evidence})


def _seen(got: Any, right: Any) -> Seen:
    """What a wrong gradient shows about the line that made it."""
    if not isinstance(got, Tensor) or not isinstance(right, Tensor) or not got.any():
        return Seen()
    if got.shape != right.shape:
        return Seen(filled=True)
    wrong = mismatch(got, right)
    masked = ((got == 0) | (right == 0))[wrong].all()
    return Seen(filled=True, masked=bool(masked) and bool(wrong.any()) and bool(right.any()))


def _engine_refused(ev: Evidence) -> Finding | None:
    """Torch refused a gradient although what was recorded looks right (several nodes, no raw)."""
    for pair in ev.plain:
        failure = pair.answer.failure
        if (
            failure is not None
            and failure.stage == "engine"
            and "invalid gradient" in failure.message
        ):
            return Finding(
                "gradient-shape",
                "A gradient that backward returns does not fit its argument.",
                "The gradient for an argument has exactly that argument's shape.",
                {"case": pair.where, "original": failure.message[:300]},
            )
    return None


def _swapped(ev: Evidence, wrong: dict[int, list[Pair]], usable: list[Pair]) -> Finding | None:
    """Right gradients in the wrong order."""
    positions = list(wrong)
    for i in positions:
        for j in positions:
            if i >= j:
                continue
            pairs = [p for p in usable if i in p.question.wants and j in p.question.wants]
            if pairs and all(
                close(p.raw(i), p.right(j)) and close(p.raw(j), p.right(i)) for p in pairs
            ):
                other = exchanged_numbers(ev, i, pairs)
                finding = Finding(
                    "gradient-swapped",
                    f"The gradients for {ev.argument(i)} and {ev.argument(j)} are right, but swapped"
                    + (f" – or {other} are exchanged where backward reads them." if other else "."),
                    "Return the gradients in the order of forward's arguments"
                    + (
                        f", and look at the order in which {other} are kept and read."
                        if other
                        else "."
                    ),
                )
                return _with_evidence(ev, finding, i, pairs[0], [i, j])
    return None
