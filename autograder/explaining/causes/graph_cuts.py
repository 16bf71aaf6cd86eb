"""What cuts a result off from the graph."""

from __future__ import annotations

import ast
from dataclasses import replace

from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.source import at
from autograder.observation.syntax import called


def marked(ev: Evidence, finding: Finding) -> Finding | None:
    """The first thing that forward returns is marked non-differentiable."""
    node = ev.source.methods.get("forward")
    parts = list(ast.walk(node)) if node is not None else []
    values = [n.value for n in parts if isinstance(n, ast.Return) and n.value is not None]
    firsts = {ast.unparse(v.elts[0] if isinstance(v, ast.Tuple) else v) for v in values}
    for call in parts:
        if isinstance(call, ast.Call) and called(call) == "mark_non_differentiable":
            for name in map(ast.unparse, call.args):
                if name in firsts:
                    evidence = {**finding.evidence, **at(ev.source.line_of(call))}
                    return replace(finding, cause="graph/constant", symptom=False, evidence=evidence, facts={"name": name})  # fmt: skip
    return None


def cut(ev: Evidence, finding: Finding) -> Finding | None:
    """The first thing on the way that leaves the graph: in a plain function, or around apply."""
    around = "forward" in ev.source.methods  # in a Function itself nothing is recorded
    place = None if around else ev.source.cut_in(ev.exercise.name)
    if place is None:
        return None
    evidence = {**finding.evidence, **at(place[1:])}
    return replace(finding, symptom=False, evidence=evidence, facts={**finding.facts, "what": place[0]})  # fmt: skip


CAUSES = {"graph/cut-off": (marked, cut)}
