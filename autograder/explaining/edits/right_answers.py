"""What the right code gives with one edit: a mistake that nobody had to write down.

Single edits of the exercise's right answers are put to the question in which a fault shows. The one whose
numbers are the learner's, there and in every other case, says what was done in place of what.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor

from autograder.contract.known_mistakes import Answer as Example
from autograder.contract.references import References
from autograder.explaining.edits.edit_kinds import edits
from autograder.explaining.edits.edit_words import words_of
from autograder.explaining.edits.rebuilt import Original
from autograder.explaining.edits.search import likeliest_first
from autograder.explaining.edits.tree_edits import Edit
from autograder.explaining.example_answers import known_answers, loaded
from autograder.explaining.likeness import Part, Parts, parts, right_parts, same, wrong_parts
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.observation.observation import Question
from autograder.running.containment import contained
from autograder.running.probe import answered

MOST_ANSWERS = 2  # right answers of an exercise
MOST_NODES = 30_000  # of syntax, compiled in all for one of them: an edit each time
MOST_TOLD = 80  # characters of an edit in a headline
MOST_WORDS = 14
_RULES = re.compile(r"forward-(?!dtype)|value|gradient-|upstream-|double-backward-value|fails-")
_NAMED_EVERYWHERE = {
    "torch",
    "math",
    "F",
    "ctx",
    "grad_output",
    "float",
    "abs",
    "max",
    "min",
    "sum",
}


def one_edit_away(ev: Evidence, finding: Finding) -> Finding | None:
    """What the right code gives with one edit, where that is what the learner's gives.

    It stays a symptom: where in the learner's own code it comes from may still be found.
    """
    pair = finding.pair
    if (
        not finding.symptom
        or pair is None
        or pair.references is None
        or not _RULES.match(finding.rule)
    ):
        return None
    part = _part(pair, finding)
    if part is None:
        return None
    with contained():
        for example in known_answers(ev.exercise, right=True)[:MOST_ANSWERS]:
            words = _told(ev, finding, pair, part, example)
            if words:
                facts = {**finding.facts, "words": words}
                facts["argument"] = (
                    ev.argument(part[1]) if part[0] in ("gradient", "second") else None
                )
                return replace(finding, cause=f"edit/right-{part[0]}", facts=facts)
    return None


def _part(pair: Pair, finding: Finding) -> Part | None:
    """The part of the answer that is wrong: an output before a gradient, the finding's own before others."""
    wrong = wrong_parts(pair, right_parts(pair))
    for kind in ("output", "gradient", "second"):
        places = sorted((p for p in wrong if p[0] == kind), key=lambda p: p[1] != finding.position)
        if places:
            return places[0] if _says_something(parts(pair)[places[0]]) else None
    return None


def _says_something(value: Any) -> bool:
    """Whether there are numbers that only one mistake gives: nothing, zeros and nan are given by many."""
    if not isinstance(value, Tensor) or value.numel() < 2:
        return False
    return bool(value.any()) and bool(value.isfinite().all())


def _told(ev: Evidence, finding: Finding, pair: Pair, part: Part, example: Example) -> str:
    """The edit in words; "" where none has the learner's numbers, or several that say other things."""
    matching = [
        edit for edit, theirs in _Edited.of(ev, example).answers(pair, finding, part)
        if part in theirs and same(parts(pair)[part], theirs[part])
    ]  # fmt: skip
    others = [p for p in ev.pairs(pair.question.kind, variant="") if p is not pair]
    others = [p for p in others if p.question.role in ("main", "batch")]
    others = [p for p in others if p.answer.failure is None and part in parts(p)]
    known = (
        _NAMED_EVERYWHERE | _names(ev) | {ev.argument(i) for i in range(len(pair.question.args))}
    )
    edited = _Edited.of(ev, example)
    meant = [e for e in matching if all(edited.gives(e, p, part) for p in others)]
    lines = {e.line for e in meant if e.rank == meant[0].rank}
    told = [w for w in map(words_of, meant) if len(w) <= MOST_TOLD and len(w.split()) <= MOST_WORDS]
    told = [w for w in told if _words_in(w) <= known]
    return told[0] if told and len(lines) == 1 else ""


def _says_itself(edit: Edit) -> bool:
    """Whether code before and after says what is done: no other question, no x / x for x / scale."""
    plain = isinstance(edit.node, ast.expr | ast.AugAssign)
    if edit.artefact or edit.places or not edit.above or not plain:
        return False
    around = [n for n in edit.above if isinstance(n, ast.If | ast.IfExp | ast.While | ast.Compare)]
    if around or (isinstance(edit.node, ast.Compare) and edit.same != "bound"):
        return False
    above, new = edit.above[-1], edit.changes[0][1]
    if isinstance(above, ast.BinOp) and isinstance(new, ast.Name):
        other = above.right if above.left is edit.node else above.left
        return ast.unparse(other) != new.id
    return True


def _names(ev: Evidence) -> set[str]:
    """The names in the learner's own code."""
    trees = ev.source.methods.values()
    return {n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name)}


_VARIABLE = re.compile(r"(?<![.\w])[A-Za-z_]\w*\b(?!=)")


def _words_in(words: str) -> set[str]:
    """The variables in the code that a sentence quotes: no attributes, no names of keyword arguments."""
    quoted = words.split("`")[1::2]
    return {n for code in quoted for n in _VARIABLE.findall(code)} - {"True", "False", "None"}


class _Edited:
    """One right answer with each of its edits, and what they answer: asked once a question."""

    _known: WeakKeyDictionary[References, dict[str, _Edited]] = WeakKeyDictionary()

    def __init__(self, ev: Evidence, example: Example):
        self.scenarios = {s.name: s for s in ev.exercise.scenarios}
        self.original = Original.of_text(example.source, example.exercise, loaded(example))
        self._answers: dict[tuple[str, str, Part], list[tuple[Edit, Parts]]] = {}

    @classmethod
    def of(cls, ev: Evidence, example: Example) -> _Edited:
        known = cls._known.setdefault(ev.references, {})
        if example.id not in known:
            known[example.id] = cls(ev, example)
        return known[example.id]

    def answers(self, pair: Pair, finding: Finding, part: Part) -> list[tuple[Edit, Parts]]:
        """The edits that may be meant, the likeliest first, with what they answer to one question."""
        key = pair.question.id, finding.rule.split("-")[0], part
        if key not in self._answers:
            tree = self.original.tree
            found = likeliest_first(edits(tree), replace(finding, evidence={}))
            found = [e for e in found if _says_itself(e)]
            most = MOST_NODES // (1 + sum(1 for _ in ast.walk(tree)))
            put = ((edit, self._put(edit, pair.question, pair.references)) for edit in found[:most])
            self._answers[key] = [(edit, theirs) for edit, theirs in put if theirs is not None]
        return self._answers[key]

    def gives(self, edit: Edit, pair: Pair, part: Part) -> bool:
        """Whether an edit gives the learner's numbers for another question as well."""
        theirs = self._put(edit, pair.question, pair.references)
        return theirs is not None and part in theirs and same(parts(pair)[part], theirs[part])

    def _put(self, edit: Edit, question: Question, references: References | None) -> Parts | None:
        with edit.done():
            changed = self.original.built()
        if changed is None:
            return None
        self.original.rounds.start(1)
        answer = answered(changed, question, self.scenarios)
        return None if answer.failure else parts(Pair(question, answer, references))


Why = Callable[[Evidence, Finding], Finding | None]
CAUSES: Mapping[str, Sequence[Why]] = {"*": (one_edit_away,)}
