"""Answers of lessons 01 to 03 whose first sentence has to name the root cause."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers

SAID = {
    "asks the mean of x once": "the `if` in line 10 asks one number of the whole tensor",
    "flattened, and left so": "but it is flattened: (12,) instead of (3, 4)",
    "one radius for both bounds": "passes where |x| is at most the larger one of |low| and |high|",
    "the size of the scale, without its sign": "has the wrong sign for a matrix, scale below 0, but not for a vector",
    "the backward of softmax, for the row that it came from": "zero everywhere, but for rounding: terms of it cancel",
    "one over the size, as a whole number": "// in line 9 rounds a fraction down to 0",
    "writes to the indices as if they counted all elements": "taken for places in the flattened tensor",
    "unsqueezes where the dimension was kept": "given back where keepdim=True has kept it, and not where it is gone",
    "the larger one of x and 0, which torch.max reads as a dimension": "In x.max(0) of line 5 the number is taken for a dim",
    "the bounds get gradients of their own": "a gradient for low and high, which are no tensors",
    "asks bias for a truth value, and calls needs_input_grad by another name": "asks whether all of bias is true",
    "a large negative number where −inf belongs": "the output is -1e+08 there, where −inf is right: the number 1e+08 of line 4",
    "a step on each side, divided by one step": "f(x + ε) and f(x − ε) are 2ε apart",
    "beta belongs to the channels, as in nn.PReLU": "beta has shape (3, 1), which fits (3, 4) as it is; forward makes (1, 3)",
    "one matrix product for the gradient of the weight, whatever stands in front": "not summed over the dimension in front",
    "the slope is returned where scale stands": "backward returns the gradient for x in the place of scale",
    "F.relu with inplace=True": "forward writes to its input x, by inplace=True in line 4",
    "takes an equal number of elements for an equal shape": "grad is returned as it is, (1, 3) instead of (3,)",
    "done as soon as there are no more elements than asked for": "(0, 3) instead of (1, 3): grad comes back as it is",
    "keeps the bounds beside x, as tensors of the default dtype": "the bounds are rounded to float32 before backward",
    "an upper bound of 0 is no bound to `if high`": "an upper bound that is 0 is taken for none",
    "decides from the output, strictly": "has clamped: an x on the bound and one beyond it are the same there",
    "the output is kept in bfloat16, to save memory": "small is kept in bfloat16",
    "the mask asks whether the output is at least 0": "result >= 0 in line 11 is always True",
    "keeps in forward where the output is not negative": "out >= 0 in line 5 is always True",
    "two detached tensors, which are one piece of memory": "right and left are one tensor (x.detach() copies nothing, line 3)",
    "one clone under two names": "above and below are one tensor (above = below = x.detach().clone() makes names",
    "an alias in place of a copy, so that both points are the same": "(up, down = x, x makes names, no copies, line",
    "puts x back by adding, which leaves rounding errors": "x comes back with other last digits",
    "moves x and does not put it back": "The function writes to its input x",
    "no mask at all": "mask is saved, but backward never uses it",
    "zeros to scatter into, made in forward": "blank holds nothing but zeros",
    "an einsum equation with a letter for one batch dimension": "the equation 'no,ni->oi' in line 15 names exactly 2",
    "a constant with brackets around it, which has a dimension": "in line 5 has one dimension, and the output has shape (1,)",
    "the dimensions in front are summed, those of size 1 are not": "is not summed where a dimension of size 1 was stretched",
    "keeps what broadcast_tensors gives, a view where it stretches": ": right, as saved, is not b but a view of it that forward",
    "the alias grad_input is grad_output all the same": "makes grad_input a name for it, no copy), which belongs to torch",
    "both factors stretched before they are saved, under their own names": "a and b, as saved, are not the inputs",
}


@pytest.mark.parametrize(("what", "said"), SAID.items())
def test_the_cause_stands_in_the_headline(what, said):
    answer = next(a for a in answers() if a.what == what)
    report = evaluate(answer.load(), exercise=answer.exercise, hidden=True, seed=1)
    assert said in report.headline


NEXT = {
    "writes through a view of a clone, which keeps the order in memory": "reshape would copy here",
    "decides from the output, which is never outside": "Compare what went into it.",
}


@pytest.mark.parametrize(("what", "said"), NEXT.items())
def test_the_next_step_leads_to_a_right_answer(what, said):
    answer = next(a for a in answers() if a.what == what)
    report = evaluate(answer.load(), exercise=answer.exercise, hidden=True, seed=1)
    assert said in report.findings[0].hint


def test_a_nan_of_the_first_derivative_is_told_once():
    """Where the first derivative is nan the second one is too: no finding says that the first is right."""
    answer = next(a for a in answers() if a.what == "the usual max trick: NaN for a row of -inf")
    report = evaluate(answer.load(), exercise=answer.exercise, hidden=True, seed=1)
    assert [f.rule for f in report.findings] == ["fails-special-point"]
