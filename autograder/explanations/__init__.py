"""Every rule's name with the sentence that says, without values, what its failing means.

Each rule also has a page, ``pages/<rule>.md``, which is read only when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGES = Path(__file__).parent / "pages"

TITLES: dict[str, str] = {
    "raises": "The code stops with an error.",
    "not-a-function": "There is no hand-written backward in the graph.",
    "gradient-count": "backward does not return one gradient for each argument of forward.",
    "output-count": "forward does not return the outputs that are asked for.",
    "value": "The value that the function returns is wrong.",
    "refuses": "Something that should be refused is accepted, or refused with the wrong error.",
    "forward-shape": "The output of forward has the wrong shape.",
    "forward-dtype": "The output of forward has the wrong dtype.",
    "forward-value": "The output of forward is wrong.",
    "forward-unstable": "forward gives nan, inf or nonsense where the right value is finite.",
    "gradient-missing": "A gradient that is needed is missing.",
    "gradient-shape": "A gradient does not have the shape of its argument.",
    "gradient-dtype": "A gradient does not have the dtype of its argument.",
    "gradient-zero": "A gradient is zero everywhere.",
    "gradient-sign": "A gradient has the wrong sign.",
    "gradient-scale": "A gradient is off by a factor.",
    "gradient-transposed": "A gradient is the transpose of the right one.",
    "gradient-swapped": "The gradients are right, but in the wrong order.",
    "gradient-unsummed": "A gradient is not summed over the dimensions that were broadcast.",
    "upstream-ignored": "A gradient is not multiplied by grad_output.",
    "upstream-nonlinear": "A gradient is not linear in grad_output.",
    "gradient-unstable": "A gradient is nan, inf or far off where the right one is finite.",
    "gradient-value": "A gradient is wrong.",
    "saves-too-much": "More is kept for backward than is needed.",
    "saves-on-ctx": "A tensor is kept where torch cannot see it.",
    "shared-state": "Two calls, or torch itself, are disturbed by state that outlives a call.",
    "mutates-input": "An input is written to.",
    "mutates-saved": "A saved tensor is written to in backward.",
    "mutates-upstream": "grad_output is written to.",
    "ignores-needs-input-grad": "A gradient is computed although nobody needs it.",
    "double-backward-value": "The second derivative is wrong.",
    "double-backward-missing": "There is no second derivative.",
    "higher-derivative": "A derivative of third or higher order is wrong.",
    "fails-noncontiguous": "Tensors that are not contiguous do not work.",
    "fails-expanded-upstream": "An expanded upstream gradient does not work.",
    "fails-empty": "Empty tensors do not work.",
    "fails-batch-dims": "Another number of batch dimensions does not work.",
    "fails-float32": "float32 does not work.",
    "fails-half": "bfloat16 does not work.",
    "fails-device": "Another device does not work.",
    "fails-special-point": "A kink, bound or tie is not treated as agreed.",
    "uses-autograd": "backward lets autograd do the work.",
    "uses-builtin": "The function that is to be rebuilt is called.",
    "finite-differences": "The derivative is computed by a difference quotient.",
    "memorised": "The answers are remembered, not computed.",
    "parameters-without-gradient": "Parameters used inside the function get no gradient.",
    "random-state": "Random numbers differ between forward and recomputation, or the caller's are disturbed.",
    "no-recompute": "Nothing is recomputed: the intermediates are kept.",
    "too-many-passes": "More passes are made than the method needs.",
    "temporary-too-large": "A temporary tensor is larger than it may be.",
    "too-slow": "It takes far longer than the method needs.",
}


# What a rule looks at, in a word or two: for the list of what a visible check has not asked.
_TOPICS: dict[str, str] = {
    "refuses": "what must be refused",
    "uses-builtin": "how it is computed",
    "uses-autograd": "how it is computed",
    "memorised": "other sizes",
    "shared-state": "two calls at a time",
    "forward-unstable": "very large inputs",
    "gradient-unstable": "very large inputs",
    "fails-special-point": "special points",
    "fails-batch-dims": "other numbers of dimensions",
    "double-backward-value": "second derivatives",
    "double-backward-missing": "second derivatives",
    "higher-derivative": "higher derivatives",
    "ignores-needs-input-grad": "frozen inputs",
    "saves-on-ctx": "how much is kept",
    "saves-too-much": "how much is kept",
    "random-state": "random numbers",
    "no-recompute": "recomputation",
    "parameters-without-gradient": "parameters",
    "too-many-passes": "cost",
    "temporary-too-large": "cost",
    "too-slow": "cost",
    "upstream-nonlinear": "a NaN from upstream",
    "fails-noncontiguous": "other layouts in memory",
    "fails-expanded-upstream": "other layouts in memory",
    "fails-empty": "empty tensors",
    "fails-float32": "float32",
    "fails-half": "bfloat16",
    "fails-device": "other devices",
}


def topics(rules: Sequence[str]) -> list[str]:
    """What these rules look at, each topic once; nothing for rules about plain values."""
    return list(dict.fromkeys(_TOPICS[rule] for rule in rules if rule in _TOPICS))


def page(rule: str) -> str:
    """The Markdown page of a rule: what it means, an example, how to find it in one's own code."""
    return (PAGES / f"{rule}.md").read_text(encoding="utf-8")
