"""What a report says of an edit that was tried on the learner's code and mended everything."""

from __future__ import annotations

from autograder.evidence import Finding


def headline_of(finding: Finding) -> str:
    """The message; before it the edit, where one was found."""
    tried = finding.evidence.get("tried")
    if not tried:
        return finding.message
    return (
        f"The cause is in line {tried['line']}: {tried['words']} {tried['then']} (tried). "
        f"{finding.message}"
    )


def hint_of(finding: Finding) -> str:
    """The next step. After an edit it is to understand it: general advice would only lead away."""
    tried = finding.evidence.get("tried")
    if not tried:
        return finding.hint
    return f"Work out what line {tried['line']} does as it stands, and why that gives what is shown here."
