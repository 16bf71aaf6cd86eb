"""What a learner's code uses of the lesson's demonstrations, which are otherwise not run.

A helper or an import that a demonstration brings is there in the notebook, so it is there when the
notebook is graded: the statements that make such a name are run, and nothing else of that cell.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable, Mapping

from autograder.grading.definition import LONGEST, NO_PYTHON

_KNOWN = frozenset(dir(builtins))


def borrowed(learners: Iterable[str], demonstrations: Mapping[str, str]) -> dict[str, str]:
    """The statements of each demonstration that make names the learner's cells use, as source.

    learners        the learner's cells, without magics; one that cannot be parsed uses nothing
    demonstrations  the lesson's cells that are not run, by name, in the lesson's order
    """
    makers: dict[str, list[tuple[str, int]]] = {}
    statements: dict[str, list[ast.stmt]] = {}
    for cell, source in demonstrations.items():
        try:
            statements[cell] = ast.parse(source).body
        except SyntaxError:  # a demonstration with magics lends nothing
            continue
        for place, statement in enumerate(statements[cell]):
            for name in _made(statement):
                makers.setdefault(name, []).append((cell, place))
    wanted = [name for source in learners for name in free_names(source)]
    taken: set[tuple[str, int]] = set()
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for cell, place in makers.get(name, []):
            if (cell, place) not in taken:
                taken.add((cell, place))
                wanted += free_names(ast.unparse(statements[cell][place]))
    return {
        cell: "\n".join(ast.unparse(s) for place, s in enumerate(body) if (cell, place) in taken)
        for cell, body in statements.items()
        if any(one == cell for one, _ in taken)
    }


def free_names(source: str) -> set[str]:
    """The global names that a piece of code reads and may have to find outside itself."""
    try:
        table = symtable.symtable(source if len(source) <= LONGEST else "", "<cell>", "exec")
    except NO_PYTHON:
        return set()
    found: set[str] = set()
    tables = [table]
    while tables:
        one = tables.pop()
        is_module = one.get_type() == "module"
        for symbol in one.get_symbols():
            if symbol.is_referenced() and (is_module or symbol.is_global()):
                found.add(symbol.get_name())
        tables += one.get_children()
    return found - _KNOWN


def _made(statement: ast.stmt) -> set[str]:
    """The names that a definition, an import or an assignment makes."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
