"""What is kept for backward and never read there, by the names in the source."""

from __future__ import annotations

import ast
import re

from torch import Tensor

from autograder.causes.second_order import name_of
from autograder.evidence import Evidence
from autograder.observation import Kept
from autograder.source import Source


def never_read(ev: Evidence, kept: tuple[Kept, ...], bytes_over: int) -> tuple[str, str] | None:
    """(what the headline says of it, the next step) where without it no more is kept than is needed."""
    unread = [k for k in kept if _is_unread(ev.source, k.holder)]
    if not unread or sum(k.bytes for k in unread) < bytes_over:
        return None
    them = "it" if len(unread) == 1 else "them"
    return (
        f": {joined([called(ev, k) for k in unread])} {'is' if len(unread) == 1 else 'are'} kept, and backward never "
        f"reads {them}",
        f"Do not save {them}: what is kept lives until backward has run.",
    )


def kept_for_its_shape(
    ev: Evidence, kept: tuple[Kept, ...], bytes_over: int
) -> tuple[str, str] | None:
    """The same for one tensor of which backward reads nothing but the shape."""
    for each in kept:
        name = _unpacked(ev.source, each.holder)
        if each.bytes < bytes_over or name is None or not _only_shape(ev.source, name):
            continue
        return (
            f": {called(ev, each)} is kept for its shape alone",
            f"A shape is no tensor: ctx.shape = {called(ev, each) if each.who.startswith('input') else 'x'}.shape "
            "keeps it without the numbers."
            + (
                " Here not even that is needed: grad_output has the same shape."
                if each.who.startswith("input") and _shape_stays(ev, int(each.who[6:-1]))
                else ""
            ),
        )
    return None


def _shape_stays(ev: Evidence, i: int) -> bool:
    """Whether the output has the shape of this argument in every case."""
    seen = [p for p in ev.pairs("run", "structure") if p.answer.outputs]
    return bool(seen) and all(
        isinstance(output := (p.answer.outputs or (None,))[0], Tensor)
        and output.shape == getattr(p.question.args[i], "shape", None)
        for p in seen
    )


def kept_for_a_question(
    ev: Evidence, kept: tuple[Kept, ...], bytes_over: int
) -> tuple[str, str] | None:
    """The same for one tensor of which backward asks nothing but whether there is one."""
    for each in kept:
        name = _unpacked(ev.source, each.holder)
        if each.bytes < bytes_over or name is None:
            continue
        node = ev.source.methods["backward"]
        asked = [n for n in ast.walk(node) if isinstance(n, ast.Compare) and _with_none(n)]
        harmless = {id(n.left) for n in asked}
        uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name]
        uses = [n for n in uses if isinstance(n.ctx, ast.Load)]
        if uses and all(id(n) in harmless for n in uses):
            what = called(ev, each)
            number, _ = ev.source.line_of(uses[0])
            return (
                f": {what} is kept only to ask whether there is one (line {number})",
                f"That is a plain True or False, and forward knows it: ctx.has_{what} = {what} is not None.",
            )
    return None


def _with_none(node: ast.Compare) -> bool:
    last = node.comparators[-1]
    return isinstance(last, ast.Constant) and last.value is None


_SHAPE = {"shape", "size", "dim", "ndim", "numel", "new_zeros", "new_ones", "new_empty", "dtype", "device"}  # fmt: skip
_LIKE = ("_like", "_as")


def _only_shape(source: Source, name: str) -> bool:
    """Whether every use of this name in backward is ``x.shape`` and the like."""
    node = source.methods["backward"]
    harmless: set[int] = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Attribute) and n.attr in _SHAPE:
            harmless.add(id(n.value))
        elif isinstance(n, ast.Call) and ast.unparse(n.func).endswith(_LIKE):
            harmless |= {id(a) for a in n.args}
    uses = [
        n
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    return bool(uses) and all(id(n) in harmless for n in uses)


def unread_mask(ev: Evidence) -> str | None:
    """The name of a mask that is kept and never read."""
    for pair in ev.pairs("structure"):
        for kept in pair.answer.kept:
            if (kept.dtype == "bool" or kept.like == "mask") and _is_unread(ev.source, kept.holder):
                return called(ev, kept)
    return None


def called(ev: Evidence, kept: Kept) -> str:
    """What the learner calls a kept tensor."""
    if kept.who.startswith("input["):
        return ev.argument(int(kept.who[6:-1]))
    return "the output" if kept.who.startswith("output[") else name_of(ev.source, kept.holder)


def joined(names: list[str]) -> str:
    """The names as an enumeration: \"a, b and c\"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _is_unread(source: Source, holder: str) -> bool:
    """Whether a place of ctx.saved_tensors, or an attribute of ctx, plays no part in backward."""
    node = source.methods.get("backward")
    if node is None:
        return False
    if (attribute := re.match(r"ctx\.(\w+)", holder)) is not None:
        return not source.mentions("backward", attribute[1])
    reads = [
        n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == "saved_tensors"
    ]
    if not reads:
        return not _uses_of(node, _first_argument(node))
    place = re.fullmatch(r"saved\[(\d+)\]", holder)
    parts = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and n.value in reads]
    if place is not None and len(parts) == len(reads):
        read = {ast.unparse(n.slice) for n in parts}
        return all(text.isdecimal() for text in read) and place[1] not in read
    name = _unpacked(source, holder)
    return name is not None and not _is_loaded(node, name)


def _unpacked(source: Source, holder: str) -> str | None:
    """The name that backward gives to a place of ctx.saved_tensors, where it unpacks them once."""
    place, node = re.fullmatch(r"saved\[(\d+)\]", holder), source.methods.get("backward")
    found = [n for n in (ast.walk(node) if node is not None else ()) if isinstance(n, ast.Assign)]
    found = [n for n in found if ast.unparse(n.value).endswith(".saved_tensors")]
    if place is None or node is None or len(found) != 1:
        return None
    if sum(isinstance(n, ast.Attribute) and n.attr == "saved_tensors" for n in ast.walk(node)) != 1:
        return None
    target = found[0].targets[0]
    if not isinstance(target, ast.Tuple | ast.List) or int(place[1]) >= len(target.elts):
        return None
    name = target.elts[int(place[1])]
    names = [t.id for t in target.elts if isinstance(t, ast.Name)]
    again = any(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in names and n not in target.elts
        for n in ast.walk(node)
    )  # fmt: skip
    once = len(names) == len(target.elts) and not again
    return name.id if once and isinstance(name, ast.Name) else None


def _first_argument(node: ast.FunctionDef) -> str:
    return node.args.args[0].arg if node.args.args else ""


def _uses_of(node: ast.FunctionDef, ctx: str) -> list[ast.AST]:
    """The places where ctx itself is handed on, so that nobody knows what is read there."""
    attributes = {id(n.value) for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return [
        n
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and n.id == ctx and id(n) not in attributes
    ]


def _is_loaded(node: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        for n in ast.walk(node)
    )
