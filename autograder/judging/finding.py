"""A finding: a rule that does not hold, as a cause code with typed parameters. No sentences here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autograder.contract.exercise import Severity
from autograder.observation.source import Place, at

if TYPE_CHECKING:
    from autograder.judging.evidence import Pair


@dataclass(frozen=True)
class Clause:
    """A part of a sentence as a code with facts: worded where the sentence that has it is worded."""

    cause: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Finding:
    """One thing that is not right. ``rule`` is a stable name with a page of explanation.

    message   the headline: stands alone, in the learner's words. Made of ``cause`` and ``facts`` by
              ``autograder.reporting.wording``, in the very last step; empty until then
    hint      the next step, without the solution; made in the same place
    evidence  measured, plain values that a report shows: case, argument, expected, actual, line, …
    cause     the code of what is wrong, "<family>/<cause>": a key of the sentences
    facts     the parameters of the cause, plain values by the names that its sentence uses
    pair      the question and answer in which it shows, where it is one
    position  the argument whose gradient it is about
    symptom   what is wrong is known, and not why: a cause may still be looked for
    severity  error: the answer does not pass; advice and note: it does
    asked_by  the key of the rule that found it
    """

    rule: str
    message: str = ""
    hint: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    cause: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    pair: Pair | None = field(default=None, repr=False, compare=False)
    position: int | None = field(default=None, compare=False)
    symptom: bool = False
    severity: Severity = "error"
    asked_by: str = field(default="", compare=False)


def fault(
    rule: str, cause: str, pair: Pair | None = None, position: int | None = None, *,
    seen_at: Place | None = None, evidence: dict[str, Any] | None = None, symptom: bool = False, **facts: Any,
) -> Finding:  # fmt: skip
    """A finding without words: the rule that does not hold, the code of the cause and its parameters.

    With a pair, the evidence names its case. ``seen_at``: the line to look at. ``symptom``: nothing says why yet.
    """
    shown = {} if pair is None else {"case": pair.question.case}
    return Finding(rule, evidence={**shown, **(evidence or {}), **at(seen_at)}, cause=cause, facts=facts,
                   pair=pair, position=position, symptom=symptom)  # fmt: skip
