"""How much is kept for backward, and which tensor of it is one too many."""

from __future__ import annotations

import math
import re

from torch import Tensor

from autograder.causes.never_read import (
    called,
    joined,
    kept_for_a_question,
    kept_for_its_shape,
    never_read,
)
from autograder.causes.second_order import MASKS
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
            surplus = _surplus(ev, pair.answer.kept, kept - allowed)
            ordered = sorted(
                pair.answer.kept, key=lambda k: (k not in surplus, not _made(k), -k.bytes)
            )
            as_numbers = _mask_as_numbers(ev, pair.answer.kept, surplus, kept - allowed)
            said, hint = (
                never_read(ev, pair.answer.kept, kept - allowed)
                or kept_for_its_shape(ev, pair.answer.kept, kept - allowed)
                or kept_for_a_question(ev, pair.answer.kept, kept - allowed)
                or _one_of_two(ev, pair.answer.kept, allowed)
                or _could_be_mask(ev, pair.answer.kept, kept - allowed)
                or _which(ev, surplus, kept - allowed)
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


def _surplus(ev: Evidence, kept: tuple[Kept, ...], bytes_over: int) -> list[Kept]:
    """What would have to go for the rest to be just as much as is allowed; [] where nobody can tell.

    All that forward made, else one of it, else one of the inputs and outputs that the budget does not name.
    """
    made = [k for k in kept if _made(k)]
    if bytes_over == sum(k.bytes for k in kept):
        return list(kept)
    if made and sum(k.bytes for k in made) == bytes_over:
        return made
    alone = [k for k in made if k.bytes == bytes_over]
    others = [k for k in kept if not _made(k) and k.bytes == bytes_over]
    if alone:
        # Two that are as large, and no way to tell them apart: both are shown, none is accused.
        return alone
    if len(others) > 1:
        others = [k for k in others if not _in_budget(ev, k)]
    return others if len(others) == 1 else []


def _in_budget(ev: Evidence, kept: Kept) -> bool:
    """Whether the words of the budget name it: "x and beta", "the input"."""
    words = ev.exercise.budget_words
    general = "the input" if kept.who.startswith("input") else "the output"
    return general in words or re.search(rf"\b{re.escape(called(ev, kept))}\b", words) is not None


def _one_of_two(ev: Evidence, kept: tuple[Kept, ...], allowed: int) -> tuple[str, str] | None:
    """The input and the output, either of which is enough."""
    enough = [k for k in kept if k.bytes == allowed and not _made(k)]
    if len(kept) != 2 or len(enough) != 2 or not ev.exercise.budget_words.startswith("one tensor"):
        return None
    return (
        f": {joined([called(ev, k) for k in kept])} are both kept, and one of them is enough",
        "Choose one of the two, and compute everything else in backward from it.",
    )


def _could_be_mask(ev: Evidence, kept: tuple[Kept, ...], bytes_over: int) -> tuple[str, str] | None:
    """Numbers are kept where the budget has one byte for each of them."""
    if "one byte" not in ev.exercise.budget_words:
        return None
    for each in kept:
        count = math.prod(each.shape)
        if count > 1 and each.bytes - count == bytes_over and not _in_budget(ev, each):
            return (
                f". {_capital(called(ev, each))} takes {each.bytes // count} bytes an element, where one is enough",
                "Does backward need the numbers, or only a comparison of them? A bool mask takes one byte an element.",
            )
    return None


def _capital(words: str) -> str:
    return f"T{words[1:]}" if words.startswith("the ") else words


def _mask_as_numbers(
    ev: Evidence, kept: tuple[Kept, ...], surplus: list[Kept], bytes_over: int
) -> Kept | None:
    """The one mask that is kept in numbers, where nothing else can be blamed and a mask may be kept."""
    if ev.exercise.budget_words.startswith("no tensor"):
        return None
    masks = [k for k in kept if k.like in MASKS and k.dtype != "bool" and not _is_number(k)]
    alone = len(masks) == 1 and masks[0].bytes >= bytes_over and surplus in ([], masks)
    return masks[0] if alone else None


def _could_be_bool(ev: Evidence, kept: Kept) -> tuple[str, str]:
    """What the headline says of it, and the next step."""
    name = called(ev, kept)
    seen = [k.like for p in ev.pairs("structure") for k in p.answer.kept if k.holder == kept.holder]
    if all(like == "zeros" for like in seen):
        return (
            f". {name} holds nothing but zeros, which backward can make",
            "torch.zeros_like(…) or new_zeros(shape) in backward, where it is needed; the shape may stay on ctx.",
        )
    others = {"mask": "1", "mask of −inf": "−inf"}
    numbers = joined(["0", *(number for like, number in others.items() if like in seen)])
    holds = f"it holds nothing but {numbers}, for which a bool is enough"
    if kept.like == "zeros" and "mask of −inf" in seen:  # nothing is masked here
        holds = f"here it holds nothing but zeros and is not needed; where it has {numbers}, a bool is enough"
    return (
        f". {name} is a mask of {kept.dtype}: {holds}",
        f"A bool takes one byte an element, {kept.dtype} {kept.bytes // max(math.prod(kept.shape), 1)}. Keep "
        "the mask itself, as it was given or as a comparison makes it, and nothing where there is none.",
    )


def _which(ev: Evidence, surplus: list[Kept], bytes_over: int) -> tuple[str, str]:
    """(what the headline says of the surplus, the next step)."""
    ask = (
        "Ask of each tensor that is kept: does backward read it, can it be computed from the others, and "
        "is it as small as it can be (a bool mask has one byte an element, mask.float() four)?"
    )
    names = [called(ev, k) for k in surplus]
    together = ev.exercise.budget_words.startswith("no tensor")
    if not names:
        return "", ask
    if all(map(_is_number, surplus)):
        some = len(names) > 1
        return (
            f": {joined(names)} {'are' if some else 'is'} kept, and a number needs no tensor",
            "Keep each number on ctx as it was given, under a name of its own."
            if some
            else f"Keep the number as an attribute, ctx.{_attribute(names[0])} = …, as it was given.",
        )
    if together:
        return f": {joined(names)} need not be kept", (
            f"Delete {'it' if len(names) == 1 else 'them'}: backward needs no tensor here. (A number or a shape goes on "
            "ctx as an attribute.)"
        )
    if len(names) == 1:
        return (
            f". Without {names[0]} it would be just that",
            f"Does backward need {names[0]}, or can it compute that from the rest?"
            + (
                " And is it as small as it can be (a bool mask has one byte an element, mask.float() four)?"
                if surplus[0].like in MASKS
                else ""
            ),
        )
    if sum(k.bytes for k in surplus) == bytes_over:
        return f". Without {joined(names)} it would be just that", ask
    return f". One of {joined(names)} is too much", ask


def _is_number(kept: Kept) -> bool:
    return _made(kept) and kept.who == "intermediate" and kept.shape in ((), (1,))


def _attribute(name: str) -> str:
    return name.rsplit(".", 1)[-1] if name.replace(".", "").isidentifier() else "number"


def _in_words(ev: Evidence, kept: Kept) -> str:
    who = called(ev, kept)
    if kept.who == "numbers":
        who = "numbers copied out of a tensor"
    elif _made(kept):
        who = "an intermediate result" if who == kept.holder or kept.holder == "hidden" else who
    place = "outside ctx" if kept.holder == "hidden" else kept.holder
    return f"{who} in {place}, {kept.bytes} bytes"
