"""What two calls share, what hides from torch, and which condition leaves out a gradient."""

from __future__ import annotations

import ast

from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.observation.syntax import name_of, own_names


def shared(ev: Evidence, finding: Finding) -> Reason | None:
    """The one or two places outside of ctx that forward writes to."""
    found: dict[str, ast.AST] = {}
    for method in ("forward", "setup_context"):
        node = ev.source.methods.get(method)
        for part in ast.walk(node) if node is not None else ():
            if node is not None and (words := _outside(ev, node, part)):
                found.setdefault(words, part)
    if not 0 < len(found) < 3:
        return None
    place = ev.source.line_of(next(iter(found.values())))
    return Reason(finding.cause, {"names": list(found)}, place)


def _outside(ev: Evidence, node: ast.FunctionDef, part: ast.AST) -> str:
    """What outlives a call and is written to here: an attribute of the class, a global; "" for nothing."""
    own = [n.name for n in ev.source.nodes if isinstance(n, ast.ClassDef)][:1]
    stored = isinstance(getattr(part, "ctx", None), ast.Store)
    if isinstance(part, ast.Attribute):
        return ast.unparse(part) if stored and ast.unparse(part.value) in own else ""
    if isinstance(part, ast.Name):
        declared = {name for n in ast.walk(node) if isinstance(n, ast.Global) for name in n.names}
        return f"the global {part.id}" if stored and part.id in declared else ""
    changed: ast.AST | None = part.value if isinstance(part, ast.Subscript) and stored else None
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        changed = part.func.value if part.func.attr in ("append", "setdefault", "update") else None
    outside = isinstance(changed, ast.Name) and changed.id not in own_names(node)
    return f"the global {changed.id}" if isinstance(changed, ast.Name) and outside else ""


def hidden_from_torch(ev: Evidence, finding: Finding) -> Reason | None:
    """What takes the tensor that is saved away from torch's eyes: .data, detach()."""
    place = ev.source.cut_off()
    return None if place is None else Reason(finding.cause, {"by": place[0]}, place[1:])


def wrongly_asked(ev: Evidence, finding: Finding) -> Reason | None:
    """Which condition leaves an argument without its gradient."""
    if finding.pair is None or finding.position is None:
        return None
    return how_asked(ev, finding.pair, finding.position)


def how_asked(ev: Evidence, pair: Pair, i: int) -> Reason | None:
    """When else argument i gets its gradient, by all that was asked about who needs one; None: unclear."""
    runs = [
        p for p in ev.pairs("run", "needs", role="main", variant="") if p.answer.raw is not None
    ]
    runs = [p for p in runs if len(p.question.args) == len(pair.question.args)]
    every = {p.question.wants for p in runs if p.answer.failure is None}
    got = {p.question.wants for p in runs if _has(p, i)}
    without = {wants for wants in every - got if i in wants}
    others = sorted({j for wants in every for j in wants} - {i})
    which: list[int] = []
    cause = "needs/never"
    if got and any(i not in wants for wants in got):
        which = [j for j in others if all(j in wants for wants in got)]
        cause = "needs/exchanged"
    elif got:
        which = [j for j in others if all(j in w for w in got) and not any(j in w for w in without)]
        cause = "needs/only-with"
        if not which:
            which = [j for j in others if not any(j in w for w in got) and all(j in w for w in without)]  # fmt: skip
            cause = "needs/only-without"
        if len(which) > 1:  # which of them it is, was not asked
            own = _condition(ev, pair, i) or ev.source.mentions("backward", "needs_input_grad")
            return Reason("needs/missing", line=own)
    own, line = _condition(ev, pair, i), ev.source.mentions("backward", "needs_input_grad")
    if (got and not which) or line is None or (not got and own is None):
        return None
    facts = {"argument": ev.argument(i), "others": [ev.argument(j) for j in which], "place": str(i)}
    return Reason(cause, facts, own or line)


def _has(pair: Pair, i: int) -> bool:
    raw = pair.answer.raw or ()
    return i < len(raw) and raw[i] is not None


def _condition(ev: Evidence, pair: Pair, i: int) -> tuple[int, str] | None:
    """The condition around the statement that makes gradient i, or in it, or one that counts; None where nothing is asked."""
    made = ev.source.returned_expression("backward", i, pair.answer.returned_at)
    if made is None or (around := ev.source.condition(made[0])):
        return made and around
    asks = {"if", "for"} & {*made[1].split()}
    return made if asks else ev.source.first("backward", _counts)


def _counts(node: ast.AST) -> bool:
    """Whether an entry of needs_input_grad is asked for by a number that is computed."""
    asked = isinstance(node, ast.Subscript) and name_of(node.value) == "needs_input_grad"
    return asked and not isinstance(node.slice, ast.Constant)  # type: ignore[attr-defined]


CAUSES = {
    "context/shared": (shared,),
    "context/unwatched": (hidden_from_torch,),
    "needs/missing": (wrongly_asked,),
}
