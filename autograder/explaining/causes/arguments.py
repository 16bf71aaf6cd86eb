"""What forward and backward make of their arguments: another order, none of the graph."""

from __future__ import annotations

import ast

from torch import Tensor

from autograder.explaining.causes.results import Reason, result_of, two_cases
from autograder.explaining.causes.sharing import how_asked
from autograder.explaining.exceptions.lines import keeps_graph
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.judging.rules.outputs import method_of
from autograder.observation.compare import close
from autograder.observation.syntax import called


def other_order(ev: Evidence, finding: Finding) -> Reason | None:
    """A forward that has the contract's names in another order than those that apply hands over."""
    node = ev.source.methods.get(method_of(ev))
    if node is None:
        return None
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if not ev.exercise.is_function and "setup_context" not in ev.source.methods:
        names = names[1:]
    asked = list(ev.exercise.argument_names)
    if names == asked or sorted(names) != sorted(asked):
        return None
    place = next(i for i, (a, b) in enumerate(zip(names, asked, strict=True)) if a != b)
    facts = {"method": node.name, "mine": ", ".join(names), "right": ", ".join(asked), "name": names[place], "given": asked[place]}  # fmt: skip
    return Reason("argument/order", facts, ev.source.line_of(node))


def as_returned(ev: Evidence, finding: Finding) -> Reason | None:
    """The line that returns what is no output, or too many of them."""
    ended = finding.pair.answer.returned_at if finding.pair is not None else {}
    return Reason("", line=ev.source.returned(method_of(ev), ended))


def missing_gradient(ev: Evidence, finding: Finding) -> Reason | None:
    """Why backward returns None for an argument that needs a gradient."""
    result = result_of(ev, finding)
    if result is None or not result.wrong or not all(s.got is None for s in result.wrong):
        return None
    pairs = [s.pair for s in result.wrong]
    returned = {p.answer.backward[-1].returned_type for p in pairs if p.answer.backward}
    if returned == {"NoneType"}:
        return Reason("gradient/nothing")
    for other in range(len(ev.exercise.argument_names)):
        there = [(p.answer.raw or ())[other : other + 1] for p in pairs]
        if all(each and close(each[0], p.right(result.place)) for each, p in zip(there, pairs, strict=True)):  # fmt: skip
            return Reason("gradient/elsewhere", {"other": ev.argument(other)})
    if (asked := how_asked(ev, pairs[0], result.place)) is not None:
        return asked
    if len(result.wrong) < len(result.every):
        return Reason("gradient/missing", two_cases(result), symptom=True)
    return None


def without_graph(ev: Evidence, finding: Finding) -> Reason | None:
    """A pass inside a function whose gradient is used on, and has no graph."""
    passes = [n for n in ev.source.parts(ev.exercise.name) if called(n) in ("grad", "backward")]
    result = result_of(ev, finding)
    zero = result is not None and all(isinstance(s.got, Tensor) and not s.got.any() for s in result.wrong)  # fmt: skip
    if finding.rule == "value":  # the last one may have none
        passes = passes[:-1] if zero else []
    bare = next((n for n in passes if not keeps_graph(n)), None)
    return None if bare is None else Reason("graph/no-create-graph", {}, ev.source.line_of(bare))


# ---- what cuts a result off from the graph -------------------------------------------------------


def marked(ev: Evidence, finding: Finding) -> Reason | None:
    """The first thing that forward returns is marked non-differentiable."""
    node = ev.source.methods.get("forward")
    parts = list(ast.walk(node)) if node is not None else []
    values = [n.value for n in parts if isinstance(n, ast.Return) and n.value is not None]
    firsts = {ast.unparse(v.elts[0] if isinstance(v, ast.Tuple) else v) for v in values}
    for call in parts:
        if isinstance(call, ast.Call) and called(call) == "mark_non_differentiable":
            for name in map(ast.unparse, call.args):
                if name in firsts:
                    return Reason("graph/constant", {"name": name}, ev.source.line_of(call))
    return None


def cut(ev: Evidence, finding: Finding) -> Reason | None:
    """The first thing on the way that leaves the graph: in a plain function, or around apply."""
    around = "forward" in ev.source.methods  # in a Function itself nothing is recorded
    place = None if around else ev.source.cut_in(ev.exercise.name)
    return None if place is None else Reason(finding.cause, {"cut": place[0]}, place[1:])


CAUSES = {"graph/cut-off": (marked, cut), "through/missing": (cut,)}
FIRST = {"penalty/no-gradient": (without_graph,), "value": (without_graph,)}
