"""One change of a wrong expression that makes it right: tried at the step where a run goes wrong.

Each change is computed where the expression stands; one that gives the right numbers there is put into the wrong
cases, and has to make all of them right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.explaining.causes.changes import Edit, inside, of_whole
from autograder.explaining.causes.departures import Departure
from autograder.explaining.causes.results import Result
from autograder.explaining.likeness import right_parts, wrong_parts
from autograder.judging.evidence import Pair
from autograder.judging.rules.problems import size_of
from autograder.observation.compare import close, ratio
from autograder.observation.syntax import Span, called, code_at, expression_at
from autograder.running.containment import contained
from autograder.running.operations import Array
from autograder.running.value_flow import Rewritten, Tried, Value

_MOST = 1000  # changes of all of an expression that are computed, and of its parts
_PLACES = 10  # expressions that are changed, and numbers that may belong there
_NEW = 12  # others whose numbers no right answer has
_PUT = 8  # of those with the right numbers
_CASES = 4  # into which they are put
_LARGEST = 10_000  # elements of a question
_LONGEST = 400  # characters of an expression
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w=])")
_ORDERS = ("<", "<=", ">", ">=", "==", "!=")
_DRAWS = ("rand", "bernoulli", "dropout", "multinomial", "normal", "exponential")


def edit(result: Result, found: Departure) -> tuple[Edit, Span] | None:
    """The first change with which every wrong case comes out right, and the expression it is made in."""
    if size_of(result.ev.pair(found.question.id)) > _LARGEST:
        return None
    with contained():
        # Of what runs several times one wrong value does not mend all: then any right number will do.
        known = {span for value, _ in found.mended for span in value.spans}
        first = next((i for i, (v, _) in enumerate(found.mended) if v is found.value), 0)
        mended = (*found.mended[first:], *found.mended[:first])
        places: list[tuple[Value, Array | None, Span]] = [(v, i, span) for v, i in mended for span in v.spans]  # fmt: skip
        new = [(v, None, v.spans[0]) for v in found.new if v.spans[0] not in known]
        places = [*places[:_PLACES], *new[:_NEW]]
        for value, instead, span in places:
            if told := _of_expression(result, found, value, span, instead):
                return told, span
    return None


def _expression(span: Span) -> ast.expr | None:
    """An expression, where it may be computed again without changing anything."""
    tree = expression_at(span)
    calls = [called(node) for node in ast.walk(tree)] if tree is not None else []
    odd = any(name.endswith("_") or name.startswith(_DRAWS) for name in calls)
    return None if odd or len(code_at(span)) > _LONGEST else tree


def _of_expression(
    result: Result, found: Departure, value: Value, span: Span, instead: Array | None
) -> Edit | None:
    tree, ev, code = _expression(span), result.ev, code_at(span)
    if tree is None or ev.answered is None:
        return None
    beside = len(result.wrong) < len(result.every)
    if value.mask and (instead is None or (len(np.unique(instead)) < 2 and not beside)):
        return None  # many comparisons are never true
    got = value.numbers
    right = None if instead is None else torch.from_numpy(instead)

    def others(names: Mapping[str, Any]) -> Iterator[tuple[Edit, str]]:
        small = right is not None and np.abs(got).max() < 1e-12 * float(right.abs().max())
        factor = (
            ratio(torch.from_numpy(got), right)
            if right is not None and right.shape == got.shape
            else None
        )
        whole = () if value.mask or small else of_whole(code, names, factor)
        yield from islice(whole, _MOST)
        yield from islice(inside(code, tree, names), _MOST)

    def fits(made: Tensor) -> bool:
        if right is not None:
            return close(made.double(), right)
        telling = made.is_floating_point() and made.shape == got.shape and len(made.unique()) > min(1, got.size - 1)  # fmt: skip
        return telling and found.right.toward.have(made.double().numpy())

    tried = Tried(value, span, _given(result, found.question.args), others)
    ev.answered(found.question, tried)
    fits_there = [each for each in tried.found if fits(each[2])]
    if right is None:  # of those that give the same, the first
        fits_there = [*{each[2].numpy().tobytes(): each for each in reversed(fits_there)}.values()][::-1]  # fmt: skip
    fitting = [(told, text) for told, text, _ in fits_there]
    if value.mask and instead is not None and len(np.unique(instead)) < 2:
        fitting = [each for each in fitting if each[0].facts.get("other") in _ORDERS]
    roles = {s.pair.question.role for s in result.wrong}
    if roles & {"special", "extreme"}:  # there many names are one number
        names = {*_NAMES.findall(code)}
        fitting = [each for each in fitting if each[0].code != "function" and names.issuperset(_NAMES.findall(each[1]))]  # fmt: skip
    # Another part comes before a function that is one too many, and before two factors at once.
    fitting.sort(key=lambda each: each[0].code == "function" or "·" in each[0].facts.get("factor", ""))  # fmt: skip
    for told, text in fitting[:_PUT]:
        if all(comes_right(result, pair, (value, span), text) for pair in _asked(result)):
            return told
    return None


def _asked(result: Result) -> Iterator[Pair]:
    """The cases that have to come out right: wrong ones, and those that are not to become wrong."""
    wrong = [s.pair for s in result.wrong]
    right = [s.pair for s in result.every if s.pair not in wrong]
    special = result.ev.pairs("run", "function", role="special", variant="", where_finite=None)
    needs = result.ev.pairs("needs", device="cpu")  # what is made for another gradient is not there
    yield from (*wrong[:_CASES], *right[:_CASES], *islice(special, _CASES), *islice(needs, _CASES))


def _given(result: Result, args: Any) -> dict[str, Any]:
    """The numbers among the arguments, by the contract's names."""
    kinds = Tensor | int | float
    return {result.ev.argument(i): a for i, a in enumerate(args) if isinstance(a, kinds)}


def comes_right(result: Result, pair: Pair, there: tuple[Value, Span], text: str) -> bool:
    """Whether a case comes out right, and nothing else wrong, with another expression there."""
    ev = result.ev
    assert ev.answered is not None
    put = Rewritten(*there, _given(result, pair.question.args), text)
    answer = ev.answered(pair.question, put)
    known = right_parts(pair)
    still = wrong_parts(Pair(pair.question, answer, pair.references), known)
    fine = (result.kind, result.place) not in still and still <= wrong_parts(pair, known)
    return answer.failure is None and fine and not put.stops
