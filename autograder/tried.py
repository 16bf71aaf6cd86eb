"""What a report says of an edit that was tried on the learner's code and mended everything."""

from __future__ import annotations

import re

from autograder.evidence import Finding

# What takes a tensor out of the graph, where an edit leaves it out.
_CUT = re.compile(r"without `(\.(?:data|detach\(\)|item\(\)|numpy\(\)))`")


def headline_of(finding: Finding) -> str:
    """The message; before it the edit, where one was found, or two that do the same."""
    tried = finding.evidence.get("tried")
    if not tried:
        return finding.message
    one = f"{tried['words']} {tried['then']} (tried)"
    if "or_line" not in tried:
        return f"The cause is in line {tried['line']}: {one}. {finding.message}"
    places = f"line {tried['line']} or in line {tried['or_line']}"
    return f"The cause is in {places}: {one}, or {tried['or_words']}. {finding.message}"


def hint_of(finding: Finding) -> str:
    """The next step. After an edit it is to understand it: general advice would only lead away.

    At a special point the advice is the exercise's own.
    """
    tried = finding.evidence.get("tried")
    if not tried or finding.rule == "fails-special-point":
        return finding.hint
    if (cut := _CUT.match(tried["words"])) is not None and "second" in finding.message:
        return (
            f"What comes out of {cut[1]} has no history: to the second derivative it is a constant. Nothing is "
            "saved by it: where nobody asks for a second derivative, torch records nothing in backward anyway."
        )
    if "view stops" in finding.message and "reshape" in tried["words"]:
        return finding.hint  # why it stops is said already
    return f"Work out what line {tried['line']} does as it stands, and why that gives what is shown here."
