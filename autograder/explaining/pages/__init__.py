"""Every rule's name with the sentence that says, without values, what its failing means.

Each rule also has a page, ``pages/<rule>.md``, which is read only when somebody asks for it.
"""

from __future__ import annotations

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
    "jvp": "jvp gives another derivative than backward.",
    "vmap": "Under vmap an example gives something else than alone.",
    "func": "Under torch.func a transform gives something else.",
    "opcheck": "torch's own check of a custom operator finds something.",
    "loses-precision": "forward computes in a coarser dtype than it is given.",
    "too-slow": "It takes far longer than the method needs.",
}


def page(rule: str) -> str:
    """The Markdown page of a rule: what it means, an example, how to find it in one's own code."""
    return (PAGES / f"{rule}.md").read_text(encoding="utf-8")
