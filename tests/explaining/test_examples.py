"""Known mistakes lend their sentences: to whoever computes the same, and to nobody else."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from autograder import evaluate, exercises
from autograder.contract.exercise import Case
from autograder.explaining import examples
from autograder.explaining.example_answers import known_answers
from autograder.explaining.likeness import same
from tests.mistakes.gallery import load, of
from tests.sigmoid_and_product import SIGMOID, sigmoid_with


@pytest.fixture(autouse=True)
def nothing_stays_registered(monkeypatch):
    monkeypatch.setattr(exercises, "_registered", {})


def told(submission, exercise, seed=5):
    """The first finding on a submission."""
    return evaluate(submission, exercise=exercise, hidden=True, seed=seed).findings[0]


def without(monkeypatch, what):
    """Holds one known mistake out."""
    monkeypatch.setattr(
        examples, "known_answers",
        lambda exercise, right=False: [a for a in known_answers(exercise, right) if a.what != what],
    )  # fmt: skip


HELD_OUT = [
    ("RoundSTE", "cuts off towards zero"),
    ("Max", "what reaches the maximum gets the gradient, however many there are"),
    ("Swish", "beta missing in the gradient of x"),
    ("save_in_bfloat16", "half in place of bfloat16"),
]


@pytest.mark.parametrize(("exercise", "what"), HELD_OUT)
def test_an_answer_is_recognised_by_another_one_with_its_numbers(exercise, what, monkeypatch):
    answer = next(a for a in of(exercise) if a.what == what)
    without(monkeypatch, what)
    found = told(answer.load(), exercise)
    assert found.cause == "example/known"
    assert found.evidence["known_mistake"] != what


# ---- an instructor's own ----------------------------------------------------------------------------
CELL = """
# %% wrong[{rules}]: {what}
{words}class Logistic(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return {gradient}
"""


def cell(gradient, words="", what="a mistake", rules="gradient-value"):
    return CELL.format(gradient=gradient, words=words, what=what, rules=rules)


@pytest.fixture
def logistic():
    """Registers the exercise Logistic with the known mistakes that are passed."""
    return lambda *cells: exercises.register(
        replace(SIGMOID, name="Logistic", mistakes="".join(cells))
    )


def by(formula):
    """An answer that computes the gradient by a formula of y and g."""
    return sigmoid_with(lambda ctx, g: formula(ctx.saved_tensors[0], g))


SAYS = "# says: The slope is y².\n# next: Differentiate once more.\n"


def test_a_new_exercise_has_named_mistakes(logistic):
    logistic(cell("g * y * y", SAYS, "the square"))
    found = told(by(lambda y, g: g * y.pow(2)), "Logistic")
    assert (found.message, found.hint) == ("The slope is y².", "Differentiate once more.")
    assert found.evidence["known_mistake"] == "the square"
    assert found.evidence["case"]


def test_other_numbers_are_not_the_example(logistic):
    logistic(cell("g * y * y", SAYS))
    assert told(by(lambda y, g: g * y.pow(3)), "Logistic").cause != "example/known"


def test_a_sentence_without_a_next_step_gets_the_general_one(logistic):
    logistic(cell("g * y * y", "# says: The slope is y².\n"))
    assert told(by(lambda y, g: g * y * y), "Logistic").hint.startswith("Derive it on paper")


def test_what_two_examples_explain_equally_is_not_told(logistic):
    logistic(cell("g * y * y", SAYS), cell("g * y.square()", "# says: The output is squared.\n"))
    assert told(by(lambda y, g: g * y * y), "Logistic").cause != "example/known"


def test_one_sentence_of_two_examples_is_told(logistic):
    logistic(cell("g * y * y", SAYS), cell("g * y.square()", SAYS, "the same"))
    assert told(by(lambda y, g: g * y * y), "Logistic").message == "The slope is y²."


def test_what_the_example_keeps_decides_between_two(logistic):
    larger = cell("g * y * y", "# says: The output is squared.\n").replace(
        "ctx.save_for_backward(y)", "ctx.save_for_backward(y, x.exp())"
    )
    larger = larger.replace("(y,) = ctx", "y, _ = ctx")
    logistic(cell("g * y * y", SAYS), larger)
    assert told(by(lambda y, g: g * y * y), "Logistic").message == "The slope is y²."


def test_a_mistake_that_stops_or_cannot_be_loaded_is_no_match(logistic):
    logistic(
        cell("g * y * nowhere", "# says: Nothing.\n"),
        "# %% wrong[raises]: no code\n# says: Nothing.\nraise ValueError\n",
        cell("g * y * y", SAYS),
    )
    assert told(by(lambda y, g: g * y * y), "Logistic").message == "The slope is y²."


def test_a_file_of_another_form_is_refused_when_it_is_registered(logistic):
    with pytest.raises(ValueError, match="every cell needs"):
        logistic("# %% rong: a cell\n")


# ---- one argument of several --------------------------------------------------------------------------
PRODUCT = """
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return {}
"""


def test_one_argument_is_explained_where_the_other_is_right_or_wrong_otherwise(tmp_path):
    path = tmp_path / "product_mistakes.py"
    path.write_text(
        "# %% wrong[gradient-value]: cubed\n# says: b is cubed.\n"
        + PRODUCT.format("g * b**3, g * a")
    )
    exercises.register(replace(
        SIGMOID, name="Product", signature="(a, b)", reference=torch.mul, mistakes=path, budget=None,
        cases=(Case("two vectors", lambda s: (s.normal(4), s.normal(4))),), forbidden=frozenset(),
    ))  # fmt: skip
    for gradients in ("g * b * b * b, g * a", "g * b * b * b, g * (a + 1) ** 2"):
        assert told(load(PRODUCT.format(gradients), "Product"), "Product").message == "b is cubed."
    assert (
        told(load(PRODUCT.format("g * b, g * a**3"), "Product"), "Product").cause != "example/known"
    )


def test_the_same_value_is_the_same_kind_of_value():
    nan = torch.tensor([1.0, torch.nan, torch.inf])
    assert same(nan, nan.clone())
    assert not same(nan, nan.float().double()[:2])
    assert not same(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert not same(None, torch.zeros(2))
    assert not same(1, True)
    assert same({"a": [1.0, None]}, {"a": [1.0 + 1e-9, None]})


# ---- sentences that are true for whoever has the numbers -----------------------------------------------
# An example is recognised by its numbers: how the learner's code came to them is another matter. So its
# sentences speak of values, by the contract's names, and not of code that may not be there.
_IN_CODE = re.compile(
    r"`|(?<![\w.])[A-Za-z_]\w*\.[a-z_]\w*|\b[A-Za-z]\w*_\w*|(?<!\w)_\w+|\b[a-z]\w*=(?!=)"
)
_OF_CODE = re.compile(
    r"\b(your|yours|(?:did|do) you|(?:a|the) (?:return|condition|loop|signature)|brackets?|defaults?)\b"
    r"|^(?:Save|Return|Use|Put|Keep|Call|Leave|Ask) "
)


def presumed(words: str, names: Sequence[str]) -> list[str]:
    """What a sentence takes for granted in somebody's code. ``names``: those of the contract."""
    plain = re.sub(r"torch\.[\w.]+", "torch", words)
    code = [found[0].rstrip("=") for found in _IN_CODE.finditer(plain)]
    return [each for each in code if each not in names] + [f[0] for f in _OF_CODE.finditer(words)]


@pytest.mark.parametrize("exercise", sorted(exercises.all_exercises()))
def test_sentences_are_short_and_speak_of_values(exercise):
    names = (*exercises.find(exercise).argument_names, "grad_output")
    for answer in of(exercise):
        assert len(answer.says.split()) <= 25, answer.what
        assert " line " not in f"{answer.says} {answer.next}", answer.what
        assert not answer.next or answer.says, answer.what
        assert presumed(answer.says, names) == presumed(answer.next, names) == [], answer.what


@pytest.mark.parametrize(
    "words",
    ["Take `f.dtype`.", "Ask f.dtype.", "grad_scores is too large.", "Save x.", "What did you save?", "keepdim=True keeps it."],
)  # fmt: skip
def test_what_a_sentence_takes_for_granted_is_found(words):
    assert presumed(words, ("x", "dim", "grad_output"))
