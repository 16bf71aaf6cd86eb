"""Attention: each wrong step gets its own sentence, and where two give the same numbers both are said."""

import pytest
import torch
from torch import Tensor

from autograder import evaluate
from autograder.exercise import Sampler
from autograder.exercises.attention_flash import FLASH_ATTENTION
from autograder.exercises.attention_softmax import SOFTMAX
from autograder.exercises.attention_whole import LEAN_ATTENTION
from tests.mistakes.gallery import HERE, load, parse


def right_source(name):
    """The first right answer of the gallery."""
    return next(a.source for a in parse(HERE / "07_attention" / f"{name}.py") if a.right)


def first(exercise, *changes, hidden=True):
    source = right_source(exercise)
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return evaluate(load(source, exercise), exercise=exercise, hidden=hidden, seed=1).findings[0]


START = "torch.arange({0}.start, {0}.stop, device=q.device)"
INSIDE = "torch.arange({0}.stop - {0}.start, device=q.device)"
ROWS, COLUMNS = ((START.format(x), INSIDE.format(x)) for x in ("rows", "cols"))
SKIP, SKIP_BACK = (
    "if causal and cols.start >= rows.stop",
    "if ctx.causal and cols.start >= rows.stop",
)
TILE_BACK = "tile_scores(q, k, rows, cols, ctx.causal)"
PRODUCT = "weights * (grad_weights - delta[..., rows, :])"


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("column > row", "column >= row")], "The causal mask leaves out the diagonal."),
        ([("column > row", "column > row + 1")], "lets each query see one key too many."),
        ([("column > row", "column < row")], "is the wrong way round: each query sees the keys from"),
        ([ROWS], "counts the queries from the start of the tile"),
        ([COLUMNS], "counts the keys from the start of the tile"),
        ([ROWS, COLUMNS], "The causal mask is made from positions inside the tile"),
        ([(SKIP, "if causal and cols.stop > rows.stop")], "A tile that holds visible keys is left out"),
        ([("column > row", "column > row + k.shape[-2] - q.shape[-2]")], "is aligned bottom-right"),
        ([("                top = new\n", "                top = new\n                break\n")],
         "Only the first block of keys is used."),
        ([("total * shrink + e.sum", "e.sum")], "The running sum is that of the last tile only"),
        ([("                top = new\n", "")], "Or: The running maximum stays −∞"),
        ([("top + total.log()", "total.log()")], "log(Σ exp(scores − maximum)), without the maximum."),
        ([("top + total.log()", "top - total.log()")], "the logarithm is subtracted from the maximum"),
        ([(TILE_BACK, "tile_scores(q, k, rows, cols, False)")],
         "In backward causal is ignored inside a tile"),
        ([(TILE_BACK, "tile_scores(q, k, rows, cols, False)"), (SKIP_BACK, "if False")],
         "In backward causal is ignored."),
        ([(SKIP_BACK, "if ctx.causal and cols.start >= rows.start")],
         "In backward a tile that holds visible keys is left out"),
        ([(PRODUCT, "(weights * grad_weights - delta[..., rows, :])")],
         "The brackets are in the wrong place"),
        ([("grad_q[..., rows, :] +=", "grad_q[..., rows, :] =")],
         "assigned where it should be added. This holds for q only: the gradients for k and v are right."),
        ([("@ q[..., rows, :]\n", "@ q[..., rows, :] * q.shape[-1] ** 0.5\n")],
         "The scale is missing in backward. This holds for k only: the gradient for q is right."),
    ],
)  # fmt: skip
def test_the_wrong_step_in_the_tiles_is_named(changes, words, hidden):
    assert words in first("FlashAttention", *changes, hidden=hidden).message


DELTA, WHOLE = "(grad_output * out).sum(-1, keepdim=True)", "@ v.transpose(-1, -2) - delta)"
MASKED = "scores.masked_fill(~mask, -torch.inf)"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([(DELTA, "(out * out).sum(-1, keepdim=True)")], "Σ out² is subtracted"),
        ([(DELTA, "(grad_output * out).sum()")], "one sum runs over everything, all heads included"),
        ([("weights * (grad_output", "(weights * (grad_output"), (WHOLE, "@ v.transpose(-1, -2)) - delta)")],
         "The brackets are in the wrong place"),
        ([("q * ctx.scale\n", "q\n")],
         "The scale is missing in backward. This holds for k only: the gradient for q is right."),
        ([("(scores - lse).exp()\n        grad_q", "(scores + lse).exp()\n        grad_q")],
         "The sign of the logsumexp is wrong in backward"),
        ([("(scores - lse).exp()\n        grad_q", "(scores - lse)\n        grad_q")],
         "the exponential is missing"),
        ([("ctx.scale = scale", "ctx.scale = q.shape[-1] ** -0.5")],
         "The scale that is given is ignored in backward"),
        ([("-0.5 if scale is None else scale", "-0.5 * (1.0 if scale is None else scale)")],
         "The scale that is given comes on top of 1/√E."),
        ([("-torch.inf)\n        lse", "-1e9)\n        lse")],
         "gets the mean of all values: a large negative number in place of −inf, or one number"),
        ([("q, k, v, mask, out, lse)\n        ctx", "q, k, v, BIAS, out, lse)\n        ctx"),
          ("BIAS", "torch.zeros_like(scores) if mask is None else torch.zeros_like(scores)." + MASKED[7:]),
          (MASKED + "\n        weights", "scores + mask\n        weights")],
         "is a mask of float64: here it holds nothing but zeros and is not needed; where it has 0 and −inf, a bool is"),
    ],
)  # fmt: skip
def test_the_wrong_step_on_whole_matrices_is_named(changes, words):
    assert words in first("LeanAttention", *changes).message


def test_a_return_that_hands_on_what_other_lines_made_is_not_shown():
    assert "line" not in first("FlashAttention", ("column > row", "column >= row")).evidence


def test_a_whole_mask_that_is_always_made_is_not_said_to_come_with_causal():
    whole = "torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)"
    save = "ctx.save_for_backward("
    message = first("FlashAttention", (save, f"allowed = {whole}.tril()\n        {save}")).message
    assert (
        "makes a bool tensor of 56 elements, shape (7, 8), as a mask of the whole matrix is, in every case"
        in message
    )


def numbers(values):
    """Nested tuples that are equal where the tensors agree to seven places, NaN included."""
    return tuple(
        (tuple(t.shape), tuple("nan" if v != v else round(v, 7) for v in t.flatten().tolist()))
        for t in values
    )


def told_apart(known):
    """Sentences by the numbers that they stand for; known: (sentence, function of the case's number)."""
    found = {}
    for sentence, value, cases in known:
        try:
            key = numbers([value(*case) for case in cases])
        except (IndexError, RuntimeError):  # a known slip need not make sense for every case
            continue
        found.setdefault(key, set()).add(sentence)
    return found


SAME = {  # what no input can tell apart
    frozenset(("The scale is multiplied in twice.", "The scores are divided by E, not by √E.")),
    frozenset((
        "Only the last tile of keys counts: sum and output are assigned where they should be added.",
        "The running maximum stays −∞: e^(old − new) is 0, and what was gathered before the last tile is "
        "lost.",
    )),
}  # fmt: skip
AT_SPECIAL_POINTS = (
    "The running maximum starts at",
    "A query that may look",
    "A large negative number",
)


@pytest.mark.parametrize("exercise", [SOFTMAX, LEAN_ATTENTION, FLASH_ATTENTION])
def test_no_two_wrong_outputs_are_taken_for_each_other(exercise):
    made = [c.make(Sampler(i)) for i, c in enumerate(exercise.cases) if c.role == "main"]
    right = numbers([exercise.reference(*args) for args in made])
    found = told_apart([(s.message, s.value, made) for s in exercise.forward_slips])
    for key, sentences in found.items():
        if key == right:  # these show at special points only
            assert all(s.startswith(AT_SPECIAL_POINTS) for s in sentences)
        else:
            assert len(sentences) == 1 or sentences in SAME


@pytest.mark.parametrize("exercise", [SOFTMAX, LEAN_ATTENTION, FLASH_ATTENTION])
def test_no_two_wrong_gradients_are_taken_for_each_other(exercise):
    made = [c.make(Sampler(i)) for i, c in enumerate(exercise.cases) if c.role == "main"]
    wanted = 1 if exercise is SOFTMAX else 3
    upstream = [
        Sampler(99 + i).normal(*exercise.reference(*args).shape) for i, args in enumerate(made)
    ]
    right = []
    for args, g in zip(made, upstream, strict=True):
        leaves = [t.clone().requires_grad_(True) for t in args[:wanted]]
        right.append(torch.autograd.grad(exercise.reference(*leaves, *args[wanted:]), leaves, g))
    for i in range(wanted):

        def gradient(known, i=i):
            def value(*args_and_upstream):
                *args, g = args_and_upstream
                found = known.gradients(*args, grad_output=g)[i]
                if not isinstance(found, Tensor):
                    raise IndexError("no statement")
                return found

            return value

        cases = [(*args, g) for args, g in zip(made, upstream, strict=True)]
        found = told_apart([(k.message, gradient(k), cases) for k in exercise.misconceptions])
        found.pop(numbers([r[i] for r in right]), None)  # it spoils other gradients than this one
        assert all(len(sentences) == 1 for sentences in found.values())
