"""The twelve cases of lesson 10: what each Function promises once its one fault is repaired.

The Function as it is admitted stands in the lesson, and first among the case's known mistakes.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.contract.exercise import (
    Arguments,
    Case,
    Exercise,
    Sampler,
    Scenario,
    Solution,
    bytes_of,
)
from autograder.exercises.checkpointing.measuring import RANDOM_STATE_BYTES
from autograder.exercises.common_cases import (
    ONE_TENSOR,
    beside_number,
    extreme,
    kept,
    normal,
    of_every_shape,
    some,
    special,
)
from autograder.exercises.layers.dropout import (
    draws,
    dropped_rows,
    judge_generator,
    judge_share_of_rows,
)

CASES: list[Exercise] = []  # in the order of the lesson


def _admit(
    summary: str, signature: str, reference: Solution, cases: tuple[Case, ...],
    hints: tuple[str, str, str], **more: Any,
) -> None:  # fmt: skip
    """The next case."""
    name = f"Case{len(CASES) + 1:02}"
    CASES.append(Exercise(name, summary, signature, reference, cases, hints, **more))  # fmt: skip


def _far(*further: Any, second: bool = True) -> Case:
    """Inputs of which a square is finite in float32, and an exponential is not."""
    x = [[-1000.0, -100.0, -30.0, -5.0], [0.0, 5.0, 100.0, 1000.0]]
    return extreme("inputs up to ±1000", x, *further, second=second)


_admit(
    "a + t · (b − a): the way from a to b, t of it.",
    "(a, b, t)",
    lambda a, b, t: a + t * (b - a),
    of_every_shape(
        lambda s, *shape: (s.normal(*shape), s.normal(*shape), float(s.uniform(low=0.2, high=0.4))),
        special("t = 0 and t = 1: an end", some(3), some(3), 1.0),
    ),
    (
        "torch counts. How many arguments has forward, ctx aside, and how many gradients leave backward?",
        "One gradient for each argument of forward, in the same order. What stands for one that is a number?",
        "return (1 - ctx.t) * grad_output, ctx.t * grad_output, None",
    ),
    budget=kept(),
    budget_words="no tensor: backward needs none",
)  # fmt: skip

_admit(
    "Each channel, the last dimension of x, times its own weight.",
    "(x, weight)",
    lambda x, weight: x * weight,
    of_every_shape(lambda s, *shape: (s.normal(*shape), s.normal(*shape[-1:])), least=1),
    (
        "Compare the shape in the message with that of weight. Which elements of x meet the same weight?",
        "weight[c] meets x[…, c] in all other dimensions, so the sum runs over those, and c stays.",
        "grad_weight = (grad_output * x).sum_to_size(weight.shape): the sum over every dimension but the last.",
    ),
    budget=kept(0, 1),
    budget_words="x and weight",
)

_admit(
    "x / (1 + x²), element by element.",
    "(x)",
    lambda x: x / (1 + x * x),
    of_every_shape(normal, _far()),
    (
        "One call works. Call it twice, and then go back through the first: whose numbers does it use?",
        "A class is there once for all calls; ctx is there once for each. Where do tensors belong?",
        "ctx.save_for_backward(x) in forward, (x,) = ctx.saved_tensors in backward, and nothing on the class.",
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
)

_admit(
    "The logarithm of softmax along the last dimension.",
    "(x)",
    lambda x: torch.log_softmax(x, -1),
    of_every_shape(normal, _far(), least=1),
    (
        "Print x before and after the call. Whose tensor is it?",
        "The message names a tensor that another operation has saved. This Function wrote into it. One character does that.",
        "shifted = x - x.amax(-1, keepdim=True): a new tensor, and the caller's x stays as it is.",
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
)

_admit(
    "x/6 + 1/2, cut off below 0 and above 1; the gradient is 0 at x = ±3, as F.hardsigmoid's.",
    "(x)",
    lambda x: torch.where((x > -3) & (x < 3), x / 6 + 0.5, (x.detach() >= 3).to(x)),
    of_every_shape(
        lambda s, *shape: s.away_from(*shape, points=(-3.0, 3.0), scale=3.0),
        special("at −3 and 3", [-3.0, 3.0, -2.5, 2.5, 0.0],
             advice="On a bound the gradient is 0, as for F.hardsigmoid."),
        _far(second=False),
    ),
    (
        "Try x = 10. The output is 1 there, and does not move with x. What does the mask say?",
        "What has been clamped lies between 0 and 1, always. Before the clamp, or by strict comparisons, one can tell.",
        "inside = (y > 0) & (y < 1), or the same asked of x: (x > -3) & (x < 3). Then grad_output * inside / 6.",
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
)  # fmt: skip

_admit(
    "exp(−scale · (x − centre)²): a bump of height 1; scale is a float, centre a tensor of x's shape.",
    "(x, scale, centre)",
    lambda x, scale, centre: torch.exp(-scale * (x - centre) ** 2),
    of_every_shape(
        lambda s, *shape: (s.normal(*shape), float(s.uniform(low=0.4, high=0.9)), s.normal(*shape)),
        special("at its top: x = centre", [1.0, 1.0, 1.0], 0.5, [1.0, 1.0, 1.0], second=True),
    ),
    (
        "Ask for one gradient at a time: of x alone, then of centre alone. Which one does not come?",
        "ctx.needs_input_grad has an entry for each argument of forward, numbers too. Which place is centre's?",
        "if ctx.needs_input_grad[2]: places are counted from 0, and scale has place 1.",
    ),
    budget=kept(0, 2, output=True),
    budget_words="x, centre and the output",
)  # fmt: skip

_admit(
    "max(x, 0)², element by element.",
    "(x)",
    lambda x: x.clamp(min=0) ** 2,
    of_every_shape(Sampler.away_from, _far(second=False)),
    (
        "Give backward a gradient that you made yourself, and print it afterwards.",
        "y.sum() sends one number, expanded to the shape of y: all its elements lie in one place of memory.",
        "return 2 * x * grad_output * (x > 0): make a new tensor, and leave grad_output as it came.",
    ),
    budget=kept(0),
    budget_words=ONE_TENSOR,
)


def _cancelling(s: Sampler) -> Arguments:
    """Rows whose large terms add up to nothing: what is left is what rounding has done."""
    x, decay = s.normal(4, 3), 0.9
    x[:, 0] = 1e6
    x[:, 1] = -1e6 / decay
    return x, decay


_admit(
    "The discounted sum along the last dimension: x₀ + decay·x₁ + decay²·x₂ + …, in the dtype of x.",
    "(x, decay)",
    lambda x, decay: (x * decay ** torch.arange(x.shape[-1]).to(x)).sum(-1),
    of_every_shape(
        beside_number(0.8, 0.9),
        Case("terms that cancel", _cancelling),
        special("decay = 1: a plain sum", some(3, 4), 1.0),
        least=1,
    ),
    (
        "Compare with the sum worked out by hand in float64. How many digits agree?",
        "torch.tensor of a list of Python floats has the default dtype, whatever x has. Then everything behind it is rounded.",
        "torch.tensor([…], dtype=x.dtype, device=x.device), or x.new_tensor([…]).",
    ),
    budget=lambda args, outputs: args[0].shape[-1] * args[0].element_size(),
    budget_words="the weights: a number for each place of the last dimension",
)

# The sigmoid of −1000 is 0: nothing that was multiplied by it can be won back.
_CLOSED = special("a gate of −1000", [[0.5, -2.0, -1000.0, 1000.0]])

_admit(
    "A gated linear unit: the first half of the last dimension times the sigmoid of the second.",
    "(x)",
    lambda x: torch.nn.functional.glu(x, -1),
    of_every_shape(lambda s, *shape: 1.5 * s.normal(*shape[:-1], 2 * shape[-1]), _far(second=False), _CLOSED, least=1),
    (
        "Print what is saved at the end of forward, and again what backward unpacks. Are these the halves that are meant?",
        "chunk gives views: two names for one memory. Which line writes there after the tensors were handed to save_for_backward?",
        "return value * gate: a new tensor for the output, so that the saved half keeps its numbers.",
    ),
    budget=lambda args, outputs: bytes_of(args[0]) * 3 // 2,
    budget_words="x, and half as much",
    second_order="right-or-refused",
)  # fmt: skip


_admit(
    "x unchanged; backward gives alpha · grad_output, for this call alone.",
    "(x, alpha)",
    lambda x, alpha: x.detach() + alpha * (x - x.detach()),
    of_every_shape(
        beside_number(0.2, 0.8),
        special("alpha = 0", some(4), 0.0),
        _far(0.5, second=False),
    ),
    (
        "Call it three times with the same x, each time with a fresh gradient. Print the three gradients.",
        "A hook that is put on a tensor stays there, and sees every gradient of it, whoever sends it.",
        "No hook: ctx.alpha = alpha in forward, return ctx.alpha * grad_output, None in backward.",
    ),
    budget=kept(),
    budget_words="no tensor: backward needs none",
    gradcheck=False,
)  # fmt: skip


_admit(
    "Stochastic depth: each row of x is dropped with probability p, the others are divided by 1 − p.",
    "(x, p)",
    dropped_rows,
    of_every_shape(
        lambda s, *shape: (s.away_from(*shape[:-1], 40, 20 * shape[-1]), 0.4),
        special("p = 0", lambda s: s.away_from(5, 3), 0.0),
        least=1,
    ),
    (
        "Which rows are 0 in y, and which in the gradient? Print both.",
        "The rows that forward dropped are known to forward alone. Who draws again draws others.",
        "ctx.save_for_backward(rows) in forward; in backward (rows,) = ctx.saved_tensors, and nothing is drawn.",
    ),
    drawn=lambda args, outputs: ((outputs[0].nan_to_num(0.0) != 0).any(-1, keepdim=True),),
    budget=lambda args, outputs: max(args[0].numel() // max(args[0].shape[-1], 1), RANDOM_STATE_BYTES),
    budget_words="one byte a row, or the state of the random generator",
    gradcheck=False,  # each of its calls would drop others
    scenarios=(
        Scenario("the rows are drawn once, by torch's generator", "random-state", draws, judge_generator, needs=(), first=True),
        Scenario("each row is dropped with probability p", "forward-value", draws, judge_share_of_rows, needs=(), first=True),
    ),
)  # fmt: skip

_admit(
    "√(1 + x²), element by element.",
    "(x)",
    lambda x: torch.sqrt(1 + x * x),
    of_every_shape(normal, special("x = 0", [0.0, 0.0], second=True), _far()),
    (
        "The slope is right. Differentiate it once more: does autograd see how it depends on x?",
        "Nothing that is computed with recording switched off can be differentiated again.",
        "Take the with torch.no_grad() away: autograd records backward only when somebody asks for create_graph.",
    ),
    budget=kept(0, output=True),
    budget_words="x and the output",
)
