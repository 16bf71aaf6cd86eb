"""Every rule's name with the sentence that says, without values, what its failing means.

Each rule also has a page, ``pages/<rule>.md``, which is read only when somebody asks for it: explain() shows
it as Markdown in a notebook and as readable text everywhere else.
"""

from __future__ import annotations

import difflib
import re
import shutil
import textwrap
from pathlib import Path

from autograder.contract.friendly_error import refusal, running_shell

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
    "fails-batch-dims": "Another number of batch dimensions, or another size, does not work.",
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


_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_FENCE = "```"
_MARKUP = ((re.compile(r"\[([^\]]+)\]\([^)]+\)"), r"\1"), (re.compile(r"\*\*(.+?)\*\*"), r"\1"),
           (re.compile(r"(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])"), r"\1"), (re.compile("`"), ""))  # fmt: skip


def explain(rule: str) -> None:
    """Show what a rule such as "gradient-sign" means. ValueError lists the closest names."""
    markdown = _COMMENT.sub("", page(known(rule)))
    if running_shell() is not None:
        from IPython.display import display

        bundle = {"text/plain": as_text(markdown), "text/markdown": _under_the_page(markdown)}
        display(bundle, raw=True)
    else:
        print(as_text(markdown, min(shutil.get_terminal_size().columns, 96)))


def known(rule: str) -> str:
    """The rule's own name, however it was written; ValueError with the closest names."""
    name = str(rule).strip().lower().replace("_", "-").replace(" ", "-")
    if name in TITLES:
        return name
    close = difflib.get_close_matches(name, list(TITLES), n=3, cutoff=0.4)
    names = ", ".join(close) or ", ".join(TITLES)
    raise refusal(f"There is no rule called {rule!r}. Closest names: {names}.")


def as_text(markdown: str, width: int = 88) -> str:
    """A page without its markup: sentences wrapped, code indented and untouched."""
    lines: list[str] = []
    paragraph: list[str] = []
    in_code = False

    def close_paragraph() -> None:
        if paragraph:
            lines.extend(_wrapped(" ".join(paragraph), width))
            paragraph.clear()

    for line in markdown.splitlines():
        if line.startswith(_FENCE):
            close_paragraph()
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        elif not line.strip():
            close_paragraph()
            lines.append("")
        elif line.startswith("#"):
            title = _plain(line.lstrip("# "))
            lines += [title, ("=" if line.startswith("# ") else "-") * len(title)]
        else:
            if line.startswith("- "):
                close_paragraph()
            paragraph.append(line.strip().removeprefix("> "))
    close_paragraph()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        _plain(text), width, subsequent_indent="  " if text.startswith(("- ", "✗ ")) else "",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _plain(text: str) -> str:
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return text


def _under_the_page(markdown: str) -> str:
    """The page's headings two levels down: it is shown inside a notebook that has its own."""
    in_code, lines = False, []
    for line in markdown.splitlines():
        in_code ^= line.startswith(_FENCE)
        lines.append(f"##{line}" if line.startswith("#") and not in_code else line)
    return "\n".join(lines)
