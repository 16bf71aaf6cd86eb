"""A sample of the mechanical mutants: what the grader accepts has to be listed as equivalent.

Each day other ones; `make report-card` takes many more.
"""

import ast

import pytest

from autograder.exercises import all_exercises
from autograder.judging import rules
from autograder.judging.rules import ranges
from tests.conftest import DAY, of_today
from tests.mistakes.equivalent import EQUIVALENT, READ
from tests.mistakes.gallery import answers
from tests.mistakes.mutants import mutants
from tests.mistakes.trials import Trial, trials

AN_EXERCISE = 4
GALLERY = answers()


def survivors(found: list[Trial]) -> list[str]:
    """The mutants that are accepted and not known to be equivalent."""
    return [trial.id for trial in found if trial.reason is None and trial.accepted()]


def of(exercise: str) -> list[Trial]:
    return trials([a for a in GALLERY if a.exercise == exercise])


@pytest.mark.parametrize("exercise", of_today(READ))
def test_an_accepted_mutant_is_a_known_equivalent(exercise: str):
    sample = trials([a for a in GALLERY if a.exercise == exercise], AN_EXERCISE, DAY)
    assert sample
    assert survivors(sample) == []


def test_a_fault_that_no_rule_looks_for_survives(monkeypatch):
    strict = [t for t in of("Clip") if "x >= ctx.low" in t.mutant.change]
    assert survivors(strict) == []
    blind = tuple(rule for rule in rules.ORDER if rule is not ranges.special_points)
    assert len(blind) == len(rules.ORDER) - 1
    monkeypatch.setattr(rules, "ORDER", blind)
    assert any("x > ctx.low" in found for found in survivors(strict))


def test_a_mutant_that_never_ends_is_not_accepted(monkeypatch):
    monkeypatch.setattr("tests.mistakes.trials.LIMIT_S", 0.5)
    endless = next(t for t in of("unbroadcast") if "grad = grad.sum(0) → grad = grad" in t.id)
    assert not endless.accepted()


def test_every_equivalent_is_still_a_mutant():
    named = {*of_today(sorted({(e.exercise, e.answer) for e in EQUIVALENT}))}
    made = {
        (a.exercise, a.what, mutant.change)
        for a in GALLERY
        if a.right and (a.exercise, a.what) in named
        for mutant in mutants(a.source)
    }
    stale = [
        (e.exercise, e.answer, change)
        for e in EQUIVALENT
        for change in e.changes
        if (e.exercise, e.answer) in named
        and not any(
            (e.exercise, e.answer) == (exercise, answer) and found.startswith(change.rstrip("…"))
            for exercise, answer, found in made
        )
    ]
    assert stale == []
    assert set(READ) <= set(all_exercises())


SOURCE = '''
class Power(Function):
    """The n-th power, n = 2."""

    @staticmethod
    def backward(ctx, grad_output: "Tensor[1]") -> "tuple[1, 2]":
        print(ctx.count + 1)
        warnings.warn("old", stacklevel=2)
        if ctx.count < 1:
            raise ValueError(1 + 2)
        return grad_output * 2, ctx.saved_tensors[0]
'''


def test_one_node_changes_and_words_for_the_reader_stay():
    found = {m.change: m.source for m in mutants(SOURCE)}
    assert set(found) == {
        "backward: if ctx.count < 1: → if ctx.count <= 1:",
        "backward: if ctx.count < 1: → if ctx.count > 1:",
        "backward: if ctx.count < 1: → if ctx.count < 2:",
        "backward: if ctx.count < 1: → if ctx.count < -1:",
        *(
            f"backward: return (grad_output * 2, ctx.saved_tensors[0]) → return {after}"
            for after in (
                "(ctx.saved_tensors[0], grad_output * 2)",
                "(grad_output * 2,)",
                "(grad_output / 2, ctx.saved_tensors[0])",
                "(grad_output + 2, ctx.saved_tensors[0])",
                "(grad_output, ctx.saved_tensors[0])",
                "(2, ctx.saved_tensors[0])",
                "(grad_output * 3, ctx.saved_tensors[0])",
                "(grad_output * -2, ctx.saved_tensors[0])",
                "(grad_output * 2, ctx.saved_tensors[1])",
            )
        ),
    }
    assert len(set(found.values())) == len(found)


def test_how_the_source_is_laid_out_does_not_change_a_mutants_name():
    spread = ast.unparse(ast.parse(SOURCE)).replace("grad_output * 2", "(grad_output\n * 2)")
    assert [m.change for m in mutants(spread)] == [m.change for m in mutants(SOURCE)]


def test_the_same_limit_gives_the_same_mutants():
    mine = [a for a in GALLERY if a.exercise == "Square"]
    assert [t.id for t in trials(mine, 5)] == [t.id for t in trials(mine, 5)]
