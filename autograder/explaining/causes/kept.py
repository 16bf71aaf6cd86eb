"""Which of the tensors that are kept for backward is one too many, and where it is made or saved."""

from __future__ import annotations

import math
import re

from autograder.explaining.causes.results import Reason
from autograder.explaining.causes.saved_names import called, made_at, read_as
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.observation import Kept

MASKS = {"mask", "mask of −inf", "zeros"}  # how Kept.like says of numbers that they are no result


def too_much(ev: Evidence, finding: Finding) -> Reason | None:
    """The tensor without which no more would be kept than is enough."""
    if finding.pair is None:
        return None
    kept = finding.pair.answer.kept
    over = finding.facts["kept"] - finding.facts["allowed"]
    shown = sorted(kept, key=lambda k: (not _made(k), -k.bytes))
    finding.evidence["kept_tensors"] = "; ".join(_in_words(ev, k) for k in shown)
    for cause, ask in _QUESTIONS:
        chosen = ask(ev, list(kept), over, finding.facts["allowed"])
        if not chosen:
            continue
        names = [called(ev, k) for k in chosen]
        count = max(math.prod(chosen[0].shape), 1)
        place = made_at(ev.source, chosen[0]) or ev.source.saves()
        facts = {"names": names, "several": len(chosen) > 1, "each": chosen[0].bytes // count,
                 "dtype": chosen[0].dtype, "nothing": not finding.facts["allowed"]}  # fmt: skip
        return Reason(cause, facts, place)
    return None


def _made(kept: Kept) -> bool:
    return kept.who in ("intermediate", "numbers")


def _unread(ev: Evidence, kept: list[Kept], over: int, _: int) -> list[Kept]:
    """Backward never reads it."""
    found = [k for k in kept if read_as(ev.source, k.holder) == "nothing"]
    return found if sum(k.bytes for k in found) >= over else []


def _for_its_shape(ev: Evidence, kept: list[Kept], over: int, _: int) -> list[Kept]:
    """Backward reads its shape alone."""
    return [k for k in kept if k.bytes >= over and read_as(ev.source, k.holder) == "shape"][:1]


def _for_a_question(ev: Evidence, kept: list[Kept], over: int, _: int) -> list[Kept]:
    """Backward asks whether there is one."""
    return [k for k in kept if k.bytes >= over and read_as(ev.source, k.holder) == "is None"][:1]


def _either(_: Evidence, kept: list[Kept], over: int, allowed: int) -> list[Kept]:
    """An input and the output, each of which is enough."""
    enough = [k for k in kept if k.bytes == allowed == over and not _made(k)]
    return kept if len(kept) == len(enough) == 2 else []


def _mask_of_numbers(ev: Evidence, kept: list[Kept], over: int, allowed: int) -> list[Kept]:
    """Two values only, kept as numbers."""
    masks = [k for k in kept if _likes(ev, k) <= MASKS and k.dtype != "bool" and math.prod(k.shape) > 1]  # fmt: skip
    alone = len(masks) == 1 and allowed > 0 and masks[0].bytes >= over
    return masks if alone and not _in_budget(ev, masks[0]) else []


def _one_byte(ev: Evidence, kept: list[Kept], over: int, _: int) -> list[Kept]:
    """Numbers where a byte an element would make it fit."""
    found = [k for k in kept if math.prod(k.shape) > 1 and k.bytes - math.prod(k.shape) == over]
    found = [k for k in found if k.dtype != "bool" and not _in_budget(ev, k)]
    return found[:1] if "one byte" in ev.exercise.budget_words else []


def _numbers(_: Evidence, kept: list[Kept], over: int, __: int) -> list[Kept]:
    """A number that was made a tensor."""
    found = [k for k in kept if k.who == "intermediate" and k.shape in ((), (1,))]
    return found if found and sum(k.bytes for k in found) >= over else []


def _exactly(ev: Evidence, kept: list[Kept], over: int, allowed: int) -> list[Kept]:
    """Without it, it would be just what is enough: all that forward made, or one tensor."""
    made = [k for k in kept if _made(k)]
    if not allowed:
        return kept
    if made and sum(k.bytes for k in made) == over:
        return made
    alone = [k for k in made if k.bytes == over]
    others = [k for k in kept if not _made(k) and k.bytes == over and not _in_budget(ev, k)]
    found = alone or others
    return found if len(found) == 1 else []


_QUESTIONS = (
    ("memory/never-read", _unread),
    ("memory/for-its-shape", _for_its_shape),
    ("memory/for-a-question", _for_a_question),
    ("memory/either", _either),
    ("memory/mask-of-numbers", _mask_of_numbers),
    ("memory/one-byte", _one_byte),
    ("memory/number", _numbers),
    ("memory/surplus", _exactly),
)


def _likes(ev: Evidence, kept: Kept) -> set[str]:
    return {k.like for p in ev.pairs("structure") for k in p.answer.kept if k.holder == kept.holder}


def _in_budget(ev: Evidence, kept: Kept) -> bool:
    """Whether the words of the budget name it: "x and beta", "the input"."""
    words = ev.exercise.budget_words
    general = "the input" if kept.who.startswith("input") else "the output"
    own = kept.who.startswith(("input", "output"))
    return own and (general in words or bool(re.search(rf"\b{re.escape(called(ev, kept))}\b", words)))  # fmt: skip


def _in_words(ev: Evidence, kept: Kept) -> str:
    who = called(ev, kept)
    if kept.who == "numbers":
        who = "numbers copied out of a tensor"
    elif _made(kept) and (who == kept.holder or kept.holder == "hidden"):
        who = "an intermediate result"
    place = "outside ctx" if kept.holder == "hidden" else kept.holder
    return f"{who} in {place}, {kept.bytes} bytes"


CAUSES = {"memory/too-much": (too_much,)}
