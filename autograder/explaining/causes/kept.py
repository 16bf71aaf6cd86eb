"""Which of the tensors that are kept for backward is one too many, and where it is made or saved."""

from __future__ import annotations

import ast
import math
import re

from autograder.explaining.causes.definitions import saved_expression
from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.observation import Kept
from autograder.observation.source import Source
from autograder.observation.syntax import OF_SHAPE, handed_on, parents
from autograder.observation.syntax import called as call_name

MASKS = {"mask", "mask of −inf", "zeros"}  # how Kept.like says of numbers that they are no result


def too_much(ev: Evidence, finding: Finding) -> Reason | None:
    """The tensor without which no more would be kept than is enough."""
    if finding.pair is None:
        return None
    kept, allowed = finding.pair.answer.kept, finding.facts["allowed"]
    shown = sorted(kept, key=lambda k: (not _made(k), -k.bytes))
    finding.evidence["kept_tensors"] = "; ".join(_in_words(ev, k) for k in shown)
    found = _chosen(ev, list(kept), finding.facts["kept"] - allowed, allowed)
    for cause, chosen in found.items():
        if chosen:
            names, each = [called(ev, k) for k in chosen], chosen[0]
            facts = {"names": names, "several": len(chosen) > 1, "nothing": not allowed,
                     "each": each.bytes // max(math.prod(each.shape), 1)}  # fmt: skip
            return Reason(cause, facts, saved_at(ev.source, each) or ev.source.saves())
    return None


def _made(kept: Kept) -> bool:
    return kept.who in ("intermediate", "numbers")


def _chosen(ev: Evidence, kept: list[Kept], over: int, allowed: int) -> dict[str, list[Kept]]:
    """What may be left out by each cause, the surest first."""
    unread = [k for k in kept if read_as(ev.source, k.holder) == "nothing"]
    shapes = [k for k in kept if k.bytes >= over and read_as(ev.source, k.holder) == "shape"]
    others = [k for k in kept if not _in_budget(ev, k)]
    as_bool = [k for k in others if k.dtype != "bool" and k.bytes - math.prod(k.shape) == over and math.prod(k.shape) > 1]  # fmt: skip
    made, exactly = [k for k in kept if _made(k)], [k for k in others if k.bytes == over]
    surplus = kept if not allowed else made if sum(k.bytes for k in made) == over else exactly
    return {
        "memory/never-read": unread if sum(k.bytes for k in unread) >= over else [],
        "memory/for-its-shape": shapes[:1],
        "memory/one-byte": as_bool[:1] if "one byte" in ev.exercise.budget_words else [],
        "memory/surplus": surplus if surplus is not exactly or len(exactly) == 1 else [],
    }


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


# ---- what the learner calls a kept tensor, and what backward reads of it: by the source ----------


def called(ev: Evidence, kept: Kept) -> str:
    """What the learner calls a kept tensor."""
    if kept.who.startswith("input["):
        return ev.argument(int(kept.who[6:-1]))
    return "the output" if kept.who.startswith("output[") else name_of(ev.source, kept.holder)


def name_of(source: Source, holder: str) -> str:
    """The learner's expression for it: "s" for saved[2] in save_for_backward(x, beta, s)."""
    given = saved_expression(source, holder)
    text = ast.unparse(given[1]) if given else holder
    return "a tensor outside ctx" if holder == "hidden" else text if len(text) <= 40 else holder


def saved_at(source: Source, kept: Kept) -> tuple[int, str] | None:
    """The line that saves a kept tensor: computing it is no mistake."""
    given = saved_expression(source, kept.holder)
    return None if given is None else source.line_of(given[1])


def read_as(source: Source, holder: str) -> str:
    """What backward reads of it: "nothing", "shape", or "numbers" (also where nobody can tell)."""
    node = source.methods.get("backward")
    if node is None:
        return "numbers"
    found = uses(node, holder)
    if found is None:
        return "numbers"
    if not found:
        return "nothing"
    around = parents(node)
    kinds = {_reads(around.get(use), use) for use in found}
    return kinds.pop() if len(kinds) == 1 else "numbers"


def _reads(parent: ast.AST | None, use: ast.AST) -> str:
    if isinstance(parent, ast.Attribute) and parent.attr in OF_SHAPE:
        return "shape"
    if isinstance(parent, ast.Call) and use in parent.args and call_name(parent).endswith(("_like", "_as")):  # fmt: skip
        return "shape"
    return "numbers"


def uses(node: ast.FunctionDef, holder: str) -> list[ast.AST] | None:
    """Where a method reads a place of ctx.saved_tensors or an attribute of ctx; None: nobody can tell."""
    attribute, place = re.match(r"ctx\.(\w+)", holder), re.fullmatch(r"saved\[(\d+)\]", holder)
    if attribute:
        found: list[ast.AST] = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == attribute[1]]  # fmt: skip
        return None if not found and handed_on(node) else found
    reads = [
        n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == "saved_tensors"
    ]
    if not reads:
        return None if handed_on(node) or holder == "hidden" else []
    parts = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and n.value in reads]
    if place and len(parts) == len(reads) and all(ast.unparse(n.slice).isdecimal() for n in parts):
        return [n for n in parts if ast.unparse(n.slice) == place[1]]
    unpacked = [n for n in ast.walk(node) if isinstance(n, ast.Assign) and n.value in reads]
    if not place or len(reads) != 1 or len(unpacked) != 1:
        return None
    target = unpacked[0].targets[0]
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    if int(place[1]) >= len(names) or not all(isinstance(n, ast.Name) for n in names):
        return None
    name = names[int(place[1])].id  # type: ignore[attr-defined]
    same = [
        n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and n not in names
    ]
    return None if any(isinstance(n.ctx, ast.Store) for n in same) else list(same)
