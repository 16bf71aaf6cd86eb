"""Known mistakes as examples: the one whose numbers are the learner's lends its sentence.

The exercise's wrong answers are put to the questions that the learner was asked; most are out after the
first of them. What two examples explain equally well, and say differently, is not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.contract.known_mistakes import Answer as Example
from autograder.explaining.causes.results import Reason, Why
from autograder.explaining.example_answers import answers_of, known_answers, right_of
from autograder.explaining.likeness import (
    Part,
    Parts,
    first_part,
    parts,
    same_numbers,
    unlike_parts,
    wrong_parts,
)
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.running.containment import contained

_COMPARED = 12  # examples with the same numbers that are compared in everything else
_NUMBERS = ("run", "function", "second")
# Rules about wrong numbers, one as another: which of them speaks is seen when the cause is known.
_OF_NUMBERS = frozenset({
    "forward-value", "forward-shape", "forward-unstable", "value", "gradient-value", "gradient-sign",
    "gradient-scale", "gradient-zero", "gradient-missing", "gradient-shape", "gradient-swapped",
    "gradient-transposed", "gradient-unsummed", "gradient-unstable", "upstream-ignored",
    "upstream-nonlinear", "double-backward-value", "fails-special-point", "fails-batch-dims",
})  # fmt: skip


def known_mistake(ev: Evidence, finding: Finding) -> Reason | None:
    """The mistake of the example that is wrong in nothing in which the learner is not wrong alike.

    Where an example without a sentence has these numbers too, the general words come first.
    """
    best = _best(ev, [m for m in _matches(ev, finding) if m.whole])
    return _told(finding, best) if all(example.says for example in best) else None


def known_in_part(ev: Evidence, finding: Finding) -> Reason | None:
    """The mistake that explains most, where nothing else says why; it may be wrong elsewhere too."""
    if not finding.symptom:
        return None
    matches = _matches(ev, finding)
    return _told(finding, _best(ev, [m for m in matches if m.whole]) or _best(ev, matches))


CAUSES: Mapping[str, Sequence[Why]] = {"*": (known_mistake,)}
LAST_CAUSES: Mapping[str, Sequence[Why]] = {"*": (known_in_part,)}


@dataclass
class _Match:
    """An example with what is found wrong.

    unexplained  how many wrong parts of the learner's answers it does not have
    whole        whether all that is wrong with it is wrong with the learner's answers too
    """

    example: Example
    unexplained: int = 0
    whole: bool = True


@dataclass
class _Compared:
    """A question with the learner's answer, part by part. ``required``: what an example must have."""

    pair: Pair
    mine: Parts
    right: Parts
    wrong: set[Part]
    required: set[Part]


def _told(finding: Finding, examples: list[Example]) -> Reason | None:
    """The words of the examples; None where they say different things.

    Their numbers are the learner's; the code behind them need not be. So their sentences speak of values.
    """
    said = {e.says: e for e in reversed(examples) if e.says}
    if len(said) != 1:
        return None
    example = next(iter(said.values()))
    rule = finding.rule if finding.rule in example.rules else example.rules[0]
    gradient = finding.position is not None and not example.next
    facts = {"says": example.says, "next": example.next, "gradient": gradient}
    return Reason("example/known", facts, rule=rule, evidence={"known_mistake": example.what})


def _best(ev: Evidence, matches: list[_Match]) -> list[Example]:
    """Those that leave least unexplained; where they say different things, those that are most alike."""
    least = min((m.unexplained for m in matches), default=0)
    best = [m.example for m in matches if m.unexplained == least]
    if len({e.says for e in best}) < 2 or len(best) > _COMPARED:
        return best
    unlike = {e: _unlike_elsewhere(ev, e) for e in best}
    return [e for e in best if unlike[e] == min(unlike.values())]


def _unlike_elsewhere(ev: Evidence, example: Example) -> int:
    """How many of all answers differ: what is kept, needs, experiments and other dtypes among them."""
    answers, count = answers_of(ev, example), 0
    for pair in ev.pairs():
        if pair.question.kind != "gradcheck" and pair.question.device == "cpu":
            other = answers.pair(pair)
            count += other is None or not same_numbers([pair], [other])
    return count


def _matches(ev: Evidence, finding: Finding) -> list[_Match]:
    """The examples that have what is found wrong, in every case; none where no such one says anything."""
    examples = [
        e for e in known_answers(ev.exercise)
        if (finding.rule in e.rules or {finding.rule, e.rules[0]} <= _OF_NUMBERS)
        and (e.says or e.rules[0] in (finding.rule, *_OF_NUMBERS))
    ]  # fmt: skip
    if not any(e.says for e in examples):
        return []
    asked = _compared(ev, finding)
    if not asked:
        return []
    with contained():
        found = [m for e in examples if e.says and (m := _match(ev, e, asked))]
        silent = [e for e in examples if not e.says] if found else []
        return found + [m for e in silent if (m := _match(ev, e, asked))]


def _match(ev: Evidence, example: Example, asked: list[_Compared]) -> _Match | None:
    """How an example compares with the learner's answers; None where it lacks what was found."""
    answers, match = answers_of(ev, example), _Match(example)
    for each in asked:
        other = answers.pair(each.pair)
        if other is None:
            return None
        unlike = unlike_parts(each.mine, parts(other))
        if unlike & each.required:
            return None
        wrong = wrong_parts(other, each.right)
        if each is asked[0] and first_part(wrong) not in each.required:
            return None  # its sentence is about something else that comes first
        match.unexplained += len(unlike & each.wrong)
        match.whole = match.whole and not unlike & wrong
    # An experiment shows one thing: who is right where the example is wrong did something else.
    one_thing = asked[0].pair.question.kind == "scenario"
    return None if one_thing and not match.whole else match


def _compared(ev: Evidence, finding: Finding) -> list[_Compared]:
    """The questions to compare in, first the one that shows the finding; none where no numbers do."""
    first = finding.pair or _spoken_of(ev, finding)
    if first is None:
        return []
    right = right_of(ev, first)
    wrong = wrong_parts(first, right)
    place = first_part(wrong)
    if place is None or place[0] == "error":
        return []
    if place[0] in ("gradient", "second") and (place[0], finding.position) in wrong:
        required = {(place[0], finding.position)}
    else:
        required = {part for part in wrong if part[0] == place[0]}
    compared = [_Compared(first, parts(first), right, wrong, required)]
    for pair in _asked_alike(ev, first):
        right = right_of(ev, pair)
        alike = pair.question.kind == first.question.kind != "scenario"
        compared.append(
            _Compared(
                pair, parts(pair), right, wrong_parts(pair, right), required if alike else set()
            )
        )
    return compared


def _asked_alike(ev: Evidence, first: Pair) -> list[Pair]:
    """The other questions to compare in: those of the same kind come first."""
    kind, variants = first.question.kind, {"", first.question.variant}
    kinds = (*_NUMBERS, "scenario") if kind == "scenario" else _NUMBERS
    others = [
        p for p in ev.pairs(*kinds, where_finite=None)
        if p.question.variant in variants and p.question.device == first.question.device
        and p.question.id != first.question.id
    ]  # fmt: skip
    return sorted(others, key=lambda p: p.question.kind != kind)


def _spoken_of(ev: Evidence, finding: Finding) -> Pair | None:
    """The question of a finding that names its case alone: an experiment's."""
    case = finding.evidence.get("case")
    return next((p for p in ev.pairs("scenario") if p.where == case), None)
