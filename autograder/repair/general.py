"""Which findings say what is wrong and not why: for these alone edits are tried.

Where a sentence names the cause already, the edit would only give the answer away.
"""

from __future__ import annotations

import re

from autograder.evidence import Finding

# Words of sentences that name a symptom. Each of them stands somewhere in this package (a test looks).
SYMPTOMS = (
    "stops with ",
    "what backward reads is not connected to it",
    "is not the derivative of forward times grad_output",
    "is not the one that the contract states",
    "No gradient flows through the function to",
    "differs from the expected values",
    "is not the expected value",
    "the output is wrong",
    "the output has the wrong shape",
    ", but wrong for ",
    "a factor that changes from case to case",
    "× the expected one everywhere",
    "returns no gradient (None) for",
    "is not linear in grad_output.",
    "gradgradcheck rejects the second derivative",
    ", as it would be with ",
    "are exchanged where backward reads them",
    "unless one is transposed",
    "an argument that is no tensor",
    "does not require grad",
)
# What stands at the end where nothing more is known.
ENDS = (
    "a mask).", "are enough (the input).", "are enough (the output).", "one tensor as large as x).",
    "is zero everywhere.", "is missing in backward, or is True everywhere.",
)  # fmt: skip
_SHAPE = re.compile(r" has shape \([\d, ]*\) instead of \([\d, ]*\)\.$")
# Words that point at the place: nothing has to be tried then.
NAMED = (
    "line ", " dimensions only", " of everything", " 0.5000 ×", " 2.0000 ×", " in rows with other numbers too",
)  # fmt: skip
# Rules that say in which case it fails. (A comparison at a special point is named by the case.)
CASES = (
    "fails-special-point", "fails-empty", "fails-noncontiguous", "fails-batch-dims",
    "fails-expanded-upstream", "fails-half", "fails-float32",
)  # fmt: skip


def is_general(finding: Finding) -> bool:
    """Whether a finding leaves open what in the code is the cause."""
    if finding.evidence.get("not_started") or finding.evidence.get("holds_no_values"):
        return False
    said = finding.message
    if any(words in said for words in NAMED):
        return False
    if finding.rule in CASES or any(s in said for s in SYMPTOMS):
        return True
    return said.endswith(ENDS) or _SHAPE.search(said) is not None
