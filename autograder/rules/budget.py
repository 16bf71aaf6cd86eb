"""How much is kept for backward, and which tensor of it is one too many."""

from __future__ import annotations

import math

from torch import Tensor

from autograder.causes.second_order import name_of
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import Kept
from autograder.rules.ranges import half_precision, single_precision
from autograder.rules.registry import NOT_ASKED, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")
_DTYPES = (single_precision, half_precision)


def outputs_as_asked(pair: Pair) -> tuple[Tensor, ...]:
    """The right outputs in the dtype of the arguments; the reference works in float64."""
    floats = [a for a in pair.question.args if isinstance(a, Tensor) and a.is_floating_point()]
    return tuple(
        o.to(floats[0].dtype) if floats and o.is_floating_point() else o
        for o in pair.expected.outputs
        if isinstance(o, Tensor)
    )


@rule("saves-too-much", needs=_RIGHT)
def keeps_within_budget(ev: Evidence) -> Verdict:
    """No more is kept for backward than is needed."""
    budget = ev.exercise.budget
    asked = [p for p in ev.pairs("structure") if p.answer.failure is None]
    if budget is None or not asked:
        return NOT_ASKED
    for pair in asked:
        allowed = budget(pair.question.args, outputs_as_asked(pair))
        kept = sum(k.bytes for k in pair.answer.kept)
        if kept > allowed:
            half = pair.question.variant == "bfloat16"
            if half and any(isinstance(r.judge(ev), Finding) for r in _DTYPES):
                continue  # more is kept because the dtype is wrong, which is the cause
            words = f" ({ev.exercise.budget_words})" if ev.exercise.budget_words else ""
            where = "In bfloat16 " if half else ""
            surplus = _surplus(pair.answer.kept, kept - allowed)
            ordered = sorted(
                pair.answer.kept, key=lambda k: (k not in surplus, not _made(k), -k.bytes)
            )
            as_numbers = _mask_as_numbers(ev, pair.answer.kept, surplus, kept - allowed)
            said, hint = (
                _which(ev, surplus, kept - allowed)
                if as_numbers is None
                else _could_be_bool(ev, as_numbers)
            )
            return Finding(
                "saves-too-much",
                f"{where}{kept} bytes stay alive for backward; {allowed} are enough{words}{said}.",
                hint,
                {
                    "case": pair.where,
                    "kept": kept,
                    "allowed": allowed,
                    "kept_tensors": "; ".join(_in_words(ev, k) for k in ordered),
                },
            )
    return None


def _made(kept: Kept) -> bool:
    return kept.who in ("intermediate", "numbers")


def _surplus(kept: tuple[Kept, ...], bytes_over: int) -> list[Kept]:
    """What would have to go for the rest to be just as much as is allowed; [] where nobody can tell.

    All that forward made, else one of it, else one of the inputs and outputs.
    """
    made = [k for k in kept if _made(k)]
    if made and sum(k.bytes for k in made) == bytes_over:
        return made
    alone = [k for k in made if k.bytes == bytes_over]
    others = [k for k in kept if not _made(k) and k.bytes == bytes_over]
    if alone:
        # Two that are as large, and no way to tell them apart: both are shown, none is accused.
        return alone
    return others if len(others) == 1 else []


def _mask_as_numbers(
    ev: Evidence, kept: tuple[Kept, ...], surplus: list[Kept], bytes_over: int
) -> Kept | None:
    """The one mask that is kept in floats, where nothing else can be blamed and a mask may be kept."""
    if ev.exercise.budget_words.startswith("no tensor"):
        return None
    masks = [k for k in kept if k.like == "mask" and "float" in k.dtype and not _is_number(k)]
    alone = len(masks) == 1 and masks[0].bytes >= bytes_over and surplus in ([], masks)
    return masks[0] if alone else None


def _could_be_bool(ev: Evidence, kept: Kept) -> tuple[str, str]:
    """What the headline says of it, and the next step."""
    name = _called(ev, kept)
    return (
        f". {name} could be a bool mask: it holds nothing but 0, 1 or −inf, in {kept.dtype}",
        f"A bool takes one byte an element, {kept.dtype} {kept.bytes // max(math.prod(kept.shape), 1)}. Keep "
        "the mask itself, as it is or as a comparison makes it; where there is none, keep None.",
    )


def _which(ev: Evidence, surplus: list[Kept], bytes_over: int) -> tuple[str, str]:
    """(what the headline says of the surplus, the next step)."""
    ask = (
        "Ask of each tensor that is kept: does backward read it, can it be computed from the others, and "
        "is it as small as it can be (a bool mask has one byte an element, mask.float() four)?"
    )
    names = [_called(ev, k) for k in surplus]
    together = ev.exercise.budget_words.startswith("no tensor")
    if not names:
        return "", ask
    if len(surplus) == 1 and _is_number(surplus[0]):
        return (
            f": {names[0]} is a single number",
            f"A number needs no tensor: keep it as an attribute, ctx.{_attribute(names[0])} = …, as it was "
            "given.",
        )
    if together:
        return f": {_and(names)} need not be kept", (
            "Delete it: backward needs no tensor here. (A number or a shape goes on ctx as an attribute.)"
        )
    if len(names) == 1:
        return (
            f". Without {names[0]} it would be just that",
            f"Does backward need {names[0]}, or can it compute that from the rest? And is each tensor as "
            "small as it can be (a bool mask has one byte an element, mask.float() four)?",
        )
    if sum(k.bytes for k in surplus) == bytes_over:
        return f". Without {_and(names)} it would be just that", ask
    return f". One of {_and(names)} is too much", ask


def _is_number(kept: Kept) -> bool:
    return _made(kept) and kept.who == "intermediate" and kept.shape in ((), (1,))


def _attribute(name: str) -> str:
    return name.rsplit(".", 1)[-1] if name.replace(".", "").isidentifier() else "number"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _called(ev: Evidence, kept: Kept) -> str:
    if kept.who.startswith("input["):
        return ev.argument(int(kept.who[6:-1]))
    return "the output" if kept.who.startswith("output[") else name_of(ev.source, kept.holder)


def _in_words(ev: Evidence, kept: Kept) -> str:
    who = _called(ev, kept)
    if kept.who == "numbers":
        who = "numbers copied out of a tensor"
    elif _made(kept):
        who = "an intermediate result" if who == kept.holder or kept.holder == "hidden" else who
    place = "outside ctx" if kept.holder == "hidden" else kept.holder
    return f"{who} in {place}, {kept.bytes} bytes"
