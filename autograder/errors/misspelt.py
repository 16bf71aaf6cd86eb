"""Names that do not exist, and the ones that were probably meant."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import torch

from autograder.observation import Failure

if TYPE_CHECKING:
    from autograder.evidence import Evidence

CTX = (
    "save_for_backward", "saved_tensors", "needs_input_grad", "mark_dirty",
    "mark_non_differentiable", "set_materialize_grads",
)  # fmt: skip

# (pattern in an AttributeError, how the owner is written, what it has)
_OWNERS: tuple[tuple[str, str, object], ...] = (
    (r"^module 'torch' has no attribute '(\w+)'", "torch", torch),
    (r"^module 'torch.nn.functional' has no attribute '(\w+)'", "F", torch.nn.functional),
    (r"^'Tensor' object has no attribute '(\w+)'", "a tensor", torch.Tensor),
)


def misspelt(failure: Failure, ev: Evidence, method: str) -> tuple[str, str] | None:
    """(headline, next step) for an attribute that does not exist but is close to one that does."""
    found = re.search(r"'\w+Backward' object has no attribute '(\w+)'", failure.message)
    if found:
        stored = ev.source.attributes_set("forward") | ev.source.attributes_set("setup_context")
        meant = closest(found[1], (*CTX, *sorted(stored)))
        if meant is None:
            return None
        return (
            f"{method} asks for ctx.{found[1]}, which does not exist: did you mean ctx.{meant}?",
            f"Spell it ctx.{meant}."
            if meant in CTX
            else f"What is stored as ctx.{meant} is read as ctx.{meant}.",
        )
    found = re.search(r"^'Tensor' object has no attribute '(\w+)'", failure.message)
    if found and found[1] in CTX:
        return (
            f"{method} asks a tensor for {found[1]}, which belongs to ctx.",
            f"Ask ctx: ctx.{found[1]}.",
        )
    for pattern, owner, thing in _OWNERS:
        found = re.search(pattern, failure.message)
        meant = closest(found[1], dir(thing)) if found else None
        if found and meant is not None:
            has = "has" if owner == "a tensor" else "there is"
            where = (
                f"{owner} has no {found[1]}"
                if owner == "a tensor"
                else f"{owner}.{found[1]} does not exist"
            )
            return f"{method} stops: {where}; did you mean {meant}?", f"Here {has} {meant}."
    return None


def closest(name: str, names: object) -> str | None:
    """The one name that ``name`` was probably meant to be; None where nothing is near."""
    matches = difflib.get_close_matches(name, list(names), n=1, cutoff=0.75)  # type: ignore[call-overload]
    return matches[0] if matches else None
