"""Why: from the first finding of the rules to the cause that the evidence names.

A table leads from cause codes to small functions ``(evidence, finding) -> Reason | None``; the first
answer wins. A module of causes has such a table of its own, ``CAUSES``, and stands in ``TABLES`` with
one line: those that stand first are asked first.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from autograder.explaining import examples
from autograder.explaining.causes import (
    arguments,
    kept,
    second_order,
    sharing,
    values,
)
from autograder.explaining.causes.on_the_way import of_rule
from autograder.explaining.causes.results import Reason, Why, refined
from autograder.explaining.exceptions import messages
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding

Causes = Mapping[str, Sequence[Why]]

_LOG = logging.getLogger(__name__)  # tests fail for what is said here

# Keys are a cause code ("gradient/wrong"), a family of codes ("gradient"), the name of a rule, or "*".
TABLES: tuple[Causes, ...] = (
    arguments.FIRST, values.EARLY, second_order.EARLY, examples.CAUSES, messages.CAUSES, arguments.CAUSES, sharing.CAUSES,
    kept.CAUSES, second_order.CAUSES, values.CAUSES, examples.LAST_CAUSES,
)  # fmt: skip


def explained(finding: Finding, ev: Evidence) -> Finding:
    """The finding with its cause, where one is found; else with what was found on the way to one."""
    for _, found in explanations(finding, ev):
        finding = found
    return finding


def explanations(finding: Finding, ev: Evidence) -> Iterator[tuple[Why, Finding]]:
    """Who knew something about the finding, and what became of it, until it names a cause; at last who knows a line."""
    asked = finding
    for why in asked_of(finding):
        if (reason := _asked(why, ev, finding)) is not None:
            finding = refined(ev, finding, reason)
            yield why, finding
            if not finding.symptom:
                break
    if "line" not in finding.evidence and (reason := _asked(of_rule, ev, asked)) is not None:
        yield of_rule, refined(ev, finding, reason)


def _asked(why: Why, ev: Evidence, finding: Finding) -> Reason | None:
    try:
        return why(ev, finding)
    except (
        Exception
    ):  # an answer that nobody thought of: the verdict stands, and others may know why
        _LOG.debug("%s stopped", why.__name__, exc_info=True)
        return None


def asked_of(finding: Finding) -> Iterator[Why]:
    """The functions that may know why, in the order of the tables."""
    keys = dict.fromkeys((finding.cause, finding.cause.split("/")[0], finding.rule, "*"))
    for table in TABLES:
        for key in keys:
            yield from table.get(key, ())
