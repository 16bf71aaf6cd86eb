"""Sentences are made in reporting alone; nobody else writes, reads or rewrites the words of a finding."""

from __future__ import annotations

import ast
import re

import pytest

from tests.house.test_rooms import modules

# What else has a message: a learner's error, what a cell said, the error that a watcher saw.
NO_FINDING = re.compile(r"(?:.*\.)?failure|said|watching|self")
PROSE = {"message", "hint"}


def trespasses(tree: ast.Module) -> list[str]:
    """Where a module reads or writes the words of a finding."""
    imports = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "autograder.judging.finding"
        for alias in node.names
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in PROSE:
            if not NO_FINDING.fullmatch(ast.unparse(node.value)):
                found.append(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "Finding" and "Finding" in imports:
                words = len(node.args) > 1 or any(k.arg in PROSE for k in node.keywords)
            else:
                words = node.func.id == "replace" and any(k.arg in PROSE for k in node.keywords)
            if words:
                found.append(node)
    return [f"line {node.lineno}: {ast.unparse(node)[:100]}" for node in found]


@pytest.mark.parametrize(
    "room", ["grading", "learner", "explaining", "judging", "exercises", "running", "contract"]
)
def test_no_room_but_reporting_touches_the_words_of_a_finding(room):
    found = {
        str(path): places
        for path, tree in modules().items()
        if path.parts[0] == room and (places := trespasses(tree))
    }
    assert found == {}


@pytest.mark.parametrize(
    "code",
    [
        "'sign' in finding.message",
        "re.sub('a', 'b', report.findings[0].hint)",
        "replace(found, message='Other words.')",
        "from autograder.judging.finding import Finding\nFinding('raises', 'It stops.')",
        "from autograder.judging.finding import Finding\nFinding('raises', hint='Look.')",
    ],
)
def test_such_code_would_be_found(code):
    assert len(trespasses(ast.parse(code))) == 1


def test_a_learners_error_has_a_message_of_its_own():
    assert trespasses(ast.parse("pair.answer.failure.message")) == []
