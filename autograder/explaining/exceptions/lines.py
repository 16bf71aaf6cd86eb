"""Errors whose cause the line that stopped tells, or a name in it, together with the words of the error."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.observation import Failure
from autograder.observation.source import functions_of
from autograder.observation.syntax import SAVING, assignments, called, own_names


def statements(ev: Evidence, failure: Failure) -> Iterator[ast.AST]:
    """The nodes that stand in the line that stopped."""
    line = (failure.line or 0) - ev.source.offset
    for node in ev.source.nodes:
        first = getattr(node, "lineno", 0)
        if 0 < first <= line <= (getattr(node, "end_lineno", 0) or 0) and not isinstance(
            node, _LONG
        ):
            yield node


_LONG = (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)


def unpacks(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """``a, b = …`` with more or fewer names than there are values: what is unpacked?"""
    few = re.search(r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)", failure.words)  # fmt: skip
    many = re.search(r"too many values to unpack \(expected (\d+)", failure.words)
    if not (found := few or many):
        return None
    values = [n.value for n in statements(ev, failure) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Tuple | ast.List)]  # fmt: skip
    what = ast.unparse(values[0]) if len(values) == 1 else ""
    saved = what.endswith("saved_tensors")
    facts = {"wanted": int(found[1]), "got": int(found[2]) if few else 0, "what": what[:40]}
    if saved and failure.function == "forward":
        return Reason("stops/saved-in-forward", facts)
    if saved and ev.source.saves() is None and few and found[2] == "0":
        return Reason("stops/nothing-saved", facts)
    if saved and few and failure.function == "jvp" and found[2] == "0":
        return Reason("stops/not-for-forward", facts, ev.source.saves())
    calls = [n for m in SAVING for n in ev.source.parts(m) if called(n) == "save_for_backward"]
    if saved and few and len(calls) > 1:
        return Reason("stops/saved-twice", facts, ev.source.line_of(calls[-1]))
    if what.endswith("needs_input_grad"):
        count = len(finding.pair.question.args) if finding.pair is not None else 0
        return Reason("stops/unpacks-needs", {**facts, "count": count})
    kind = "saved" if saved else "shape" if re.search(r"\.shape$|size\(\)$", what) else "other"
    return Reason("stops/unpacks-few" if few else "stops/unpacks-many", {**facts, kind: True})


def outside_a_tuple(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """An entry that a tuple does not have: of which tuple?"""
    if failure.words != "tuple index out of range":
        return None
    parts = [n for n in statements(ev, failure) if isinstance(n, ast.Subscript)]
    whats = {ast.unparse(n): kind for n in parts for kind in _TUPLES if ast.unparse(n.value).endswith(kind)}  # fmt: skip
    if len(whats) != 1:
        return None
    what, kind = next(iter(whats.items()))
    return Reason("stops/tuple-index", {"what": what, kind: True})


_TUPLES = ("needs_input_grad", "saved_tensors", "shape")


def unset(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """A name without a value, or with None, that is set in one branch alone: there is what has to move."""
    named = re.search(r"local variable '(\w+)'", failure.words)
    if not (named or "'NoneType'" in failure.words):
        return None
    node = functions_of(ev.source.lines).get(failure.function) or ev.source.methods.get("backward")
    if node is None:
        return None
    names = [named[1]] if named else [n.id for n in statements(ev, failure) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]  # fmt: skip
    for name in dict.fromkeys(names):
        made = assignments(node, name)
        none = [n for n in made if getattr(getattr(n, "value", None), "value", ...) is None]
        others = [n for n in made if n not in none]
        places = [ev.source.line_of(n) for n in others]
        if len(others) == 1 and (named or none) and ev.source.condition(places[0][0]):
            code = "stops/no-value" if named else "stops/none-computed"
            return Reason(code, {"name": name, "set_in": places[0][0]}, places[0])
    return None


def whole_tuple(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """``x = ctx.saved_tensors``: the name stands for the whole tuple."""
    if "tuple" not in failure.words and "index" not in failure.words:
        return None
    named = {ast.unparse(node) for node in statements(ev, failure)}
    for part in ev.source.parts(failure.function or "backward"):
        if isinstance(part, ast.Assign) and ast.unparse(part.value).endswith(".saved_tensors"):
            name = ast.unparse(part.targets[0])
            if name in named:
                return Reason("stops/whole-tuple", {"name": name}, ev.source.line_of(part))
    return None


def gradient_of_nothing(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """Something is differentiated that has no graph: which of the ways to lose it is it?"""
    if "does not require grad" not in failure.words or "in-place" in failure.words:
        return None
    source, inside = ev.source, "backward"
    if not ev.exercise.is_function:
        if not failure.own_frame:
            return None
        if failure.words.startswith("One of the differentiated"):
            return Reason("stops/needs-none")
        if not any(source.mentions(inside, n) for n in ("enable_grad", "set_grad_enabled", "inference_mode")):  # fmt: skip
            return Reason("stops/grad-mode-off") if ev.exercise.may_use_autograd else None
        args = finding.pair.question.args if finding.pair is not None else ()
        if source.mentions(inside, "requires_grad_"):
            first = not (args and isinstance(args[0], Tensor)) and source.mentions(inside, "needs_input_grad")  # fmt: skip
            asked = source.mentions(inside, "needs_input_grad") if first else None
            return Reason("stops/left-graph", {"first": ev.argument(0) if first else ""}, asked)
        return Reason("stops/no-leaf")
    passes = [n for n in source.nodes if called(n) in ("grad", "backward")]
    line = (failure.line or 0) - source.offset
    before = [n for n in passes if (n.end_lineno or 0) < line]  # type: ignore[attr-defined]
    if before and not any(keeps_graph(n) for n in before):
        return Reason("stops/no-create-graph", line=source.line_of(before[-1]))
    sets = any(getattr(n, "attr", getattr(n, "arg", "")) in ("requires_grad_", "requires_grad") for n in source.nodes)  # fmt: skip
    name = ev.argument(1) if len(ev.exercise.argument_names) > 1 else ev.argument(0)
    return None if sets else Reason("stops/nothing-requires-grad", {"name": name})


def keeps_graph(call: ast.AST) -> bool:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    return any(k.arg is None or (k.arg == "create_graph" and ast.unparse(k.value) != "False") for k in keywords)  # fmt: skip


def own_raise(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """The learner's own raise or assert."""
    if not failure.raised_by_learner:
        return None
    case = finding.pair.where if finding.pair is not None else ""
    said, advice = failure.words[:80].strip().rstrip("."), ev.advice(case)
    place = ev.source.condition(failure.line) if failure.line else None
    if failure.kind in ("TypeError", "ValueError") or (failure.kind == "AssertionError" and advice):
        facts = {"said": said, "at_case": case, "advice": advice}
        return Reason("stops/refuses-allowed", facts, place)
    return Reason("stops/own-raise", {"said": said}, place)


# ---- names and attributes that do not exist: what was probably meant, and where it is to be had --

CTX = ("saved_tensors", "needs_input_grad", *(n for n in vars(FunctionCtx) if n[0] != "_"))
_MODULES = ("math", "np", "numpy", "F", "nn", "scipy", "torch")
# (pattern in an AttributeError, how the owner is written, what it has)
_OWNERS: tuple[tuple[str, str, object], ...] = (
    (r"^module 'torch' has no attribute '(\w+)'", "torch", torch),
    (r"^module 'torch.nn.functional' has no attribute '(\w+)'", "torch.nn.functional", torch.nn.functional),
    (r"^'Tensor' object has no attribute '(\w+)'", "a tensor", torch.Tensor),
)  # fmt: skip


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one name that ``name`` was probably meant to be; None where nothing is near."""
    matches = difflib.get_close_matches(name, list(names), n=1, cutoff=0.75)
    return matches[0] if matches else None


def attribute(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
    """An attribute that does not exist and is close to one that does."""
    if found := re.search(r"'\w+Backward' object has no attribute '(\w+)'", failure.words):
        stored = ev.source.attributes_set("forward") | ev.source.attributes_set("setup_context")
        if found[1] in stored:
            return Reason("stops/used-up")
        if (meant := closest(found[1], (*CTX, *sorted(stored)))) is None:
            return None
        return Reason("stops/misspelt", {"written": f"ctx.{found[1]}", "meant": f"ctx.{meant}"})
    for pattern, owner, thing in _OWNERS:
        found = re.search(pattern, failure.words)
        if found and owner == "a tensor" and found[1] in CTX:
            return Reason("stops/asks-tensor", {"attribute": found[1]})
        if found and (near := closest(found[1], dir(thing))) is not None:
            written = found[1] if owner == "a tensor" else f"{owner}.{found[1]}"
            return Reason("stops/misspelt", {"written": written, "meant": near})
    if "to unpack" in failure.words and "save_for_backward" in ev.source.attributes_set("forward"):
        return Reason("stops/save-assigned")
    return None


def undefined(ev: Evidence, finding: Finding, failure: Failure) -> Reason | None:
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
        return Reason("stops/not-imported", {"name": name})
    if (
        forward is not None
        and node is not None
        and node.name != "forward"
        and name in own_names(forward)
    ):
        value = _plain_argument(ev, finding, forward, name)
        return Reason("stops/only-in-forward", {"name": name, "plain": bool(value)})
    known = {*(own_names(node) if node is not None else ()), *vars(builtins), "torch"}
    if (meant := closest(name, known)) is not None:
        return Reason("stops/misspelt", {"written": name, "meant": meant})
    return Reason("stops/undefined", {"name": name, "capital": name[:1].isupper()})


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
