"""Every code that a rule or a cause emits has a sentence, made of facts that it gives, short enough to be read once."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

from autograder.judging.finding import fault
from autograder.reporting.wording import Sentence, course, said

ROOT = Path(__file__).parents[2] / "autograder"
TOLD_IN_FULL = "start|graph|returns|writes|memory|context|needs|own-work|second|refuses|stops"
CODE = re.compile(r"[a-z-]+/[a-z][a-z0-9-]*[a-z0-9]")
# What a finding has already when its reason is found.
OF_THE_FINDING = {"what", "argument", "line", "mine", "right", "circumstance", "where", "method"}


def sources() -> Iterator[ast.AST]:
    for room in ("judging", "explaining"):
        for path in (ROOT / room).rglob("*.py"):
            yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_every_code_in_the_source_has_a_sentence():
    families = {code.split("/")[0] for code in course()}
    emitted = {
        n.value
        for n in sources()
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and CODE.fullmatch(n.value)
        if n.value.split("/")[0] in families
    }
    messages = (ROOT / "explaining/exceptions/messages.py").read_text()
    emitted |= {
        f"stops/{code}" for code in re.findall(r'^ +\("([a-z-]+)",', messages, re.MULTILINE)
    }
    assert len(emitted) > 200
    assert emitted - set(course()) == set()


def test_every_sentence_is_made_of_facts_that_are_there():
    missing = [
        (code, fields)
        for code, facts in given()
        for sentence in course().get(code, ())
        if (fields := _fields(sentence) - facts - sentence.needs)
    ]
    assert missing == []


def given() -> Iterator[tuple[str, set[str]]]:
    """Codes with the facts that stand beside them in the source, where all of them do."""
    for call in sources():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        code = next((a.value for a in call.args[:2] if _is_code(a)), "")
        if call.func.id == "fault" and all(k.arg for k in call.keywords):
            yield code, {str(k.arg) for k in call.keywords}
        elif call.func.id == "Reason" and len(call.args) > 1 and isinstance(call.args[1], ast.Dict):
            names = {k.value if isinstance(k, ast.Constant) else None for k in call.args[1].keys}
            if None not in names:
                yield code, OF_THE_FINDING | {str(name) for name in names}


def _is_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(CODE.fullmatch(str(node.value)))


def _fields(sentence: Sentence) -> set[str]:
    parsed = string.Formatter().parse(f"{sentence.message} {sentence.hint}")
    return {re.split(r"[.\[]", name)[0] for _, name, _, _ in parsed if name}


def test_headlines_are_short_and_every_one_has_a_next_step():
    for code, sentences in course().items():
        if re.match(rf"(?:{TOLD_IN_FULL})/", code):
            for sentence in sentences:
                assert len(sentence.message.split()) <= 25, sentence.message
                assert sentence.hint, code


def test_a_learner_never_sees_a_sentence_that_cannot_be_made():
    for code in ("gradient/wrong", "nobody/knows"):
        finding = said(fault("gradient-value", code))
        assert finding.message == "A gradient is wrong."
        assert finding.evidence["defect"].startswith(code)
