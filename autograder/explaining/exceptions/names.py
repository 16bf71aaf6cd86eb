"""Names and attributes that do not exist: what was probably meant, and where it is to be had."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.observation import Failure
from autograder.observation.syntax import own_names

CTX = (
    "save_for_backward", "saved_tensors", "needs_input_grad", "mark_dirty",
    "mark_non_differentiable", "set_materialize_grads",
)  # fmt: skip
_MODULES = ("math", "np", "numpy", "F", "nn", "scipy", "torch")
# (pattern in an AttributeError, how the owner is written, what it has)
_OWNERS: tuple[tuple[str, str, object], ...] = (
    (r"^module 'torch' has no attribute '(\w+)'", "torch", torch),
    (r"^module 'torch.nn.functional' has no attribute '(\w+)'", "torch.nn.functional", torch.nn.functional),
    (r"^'Tensor' object has no attribute '(\w+)'", "a tensor", torch.Tensor),
)  # fmt: skip
Told = tuple[str, dict[str, Any]]


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one name that ``name`` was probably meant to be; None where nothing is near."""
    matches = difflib.get_close_matches(name, list(names), n=1, cutoff=0.75)
    return matches[0] if matches else None


def attribute(ev: Evidence, finding: Finding, failure: Failure) -> Told | None:
    """An attribute that does not exist and is close to one that does."""
    if found := re.search(r"'\w+Backward' object has no attribute '(\w+)'", failure.words):
        stored = ev.source.attributes_set("forward") | ev.source.attributes_set("setup_context")
        if found[1] in stored:
            return "stops/used-up", {}
        if (meant := closest(found[1], (*CTX, *sorted(stored)))) is None:
            return None
        return "stops/misspelt", {"written": f"ctx.{found[1]}", "meant": f"ctx.{meant}"}
    for pattern, owner, thing in _OWNERS:
        found = re.search(pattern, failure.words)
        if found and owner == "a tensor" and found[1] in CTX:
            return "stops/asks-tensor", {"attribute": found[1]}
        if found and (near := closest(found[1], dir(thing))) is not None:
            written = found[1] if owner == "a tensor" else f"{owner}.{found[1]}"
            return "stops/misspelt", {"written": written, "meant": near}
    if "to unpack" in failure.words and "save_for_backward" in ev.source.attributes_set("forward"):
        return "stops/save-assigned", {}
    return None


def undefined(ev: Evidence, finding: Finding, failure: Failure) -> Told | None:
    """A name that is not defined where it is used."""
    found = re.match(r"name '(\w+)' is not defined", failure.words)
    if found is None:
        return None
    name, method = found[1], finding.facts["method"]
    node, forward = (
        ev.source.methods.get(failure.function or method),
        ev.source.methods.get("forward"),
    )
    if name in _MODULES:
        return "stops/not-imported", {"name": name}
    if (
        forward is not None
        and node is not None
        and node.name != "forward"
        and name in own_names(forward)
    ):
        value = _plain_argument(ev, finding, forward, name)
        return "stops/only-in-forward", {"name": name, "plain": bool(value)}
    known = {*(own_names(node) if node is not None else ()), *vars(builtins), "torch"}
    if (meant := closest(name, known)) is not None:
        return "stops/misspelt", {"written": name, "meant": meant}
    return "stops/undefined", {"name": name, "capital": name[:1].isupper()}


def _plain_argument(ev: Evidence, finding: Finding, forward: ast.FunctionDef, name: str) -> str:
    """The kind of an argument of forward that is no tensor, by its name in the source; else ""."""
    names = [a.arg for a in (*forward.args.posonlyargs, *forward.args.args)]
    names = names if "setup_context" in ev.source.methods else names[1:]
    args = finding.pair.question.args if finding.pair is not None else ()
    value = args[names.index(name)] if name in names and names.index(name) < len(args) else None
    return "" if value is None or isinstance(value, Tensor) else type(value).__name__


def missing_method(ev: Evidence, finding: Finding) -> Reason | None:
    """A method that torch does not find, and one whose name is close to it."""
    others = set(ev.source.methods) - {"forward", "backward", "setup_context"}
    near = closest(finding.facts["method"], others)
    if near is None:
        return None
    facts = finding.facts | {"near": near}
    return Reason("start/misspelt-method", facts, evidence={"not_started": False})
