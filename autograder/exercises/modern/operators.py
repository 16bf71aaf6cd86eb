"""DualSwish and sinc_op of lesson 12."""

from __future__ import annotations

from dataclasses import replace

import torch

from autograder.contract.exercise import Exercise
from autograder.exercises.common_cases import ONE_TENSOR, cases_of, kept, special
from autograder.exercises.sigmoid.activations import SWISH

DUAL_SWISH = replace(
    SWISH,
    name="DualSwish",
    summary="x · σ(beta · x), right under torch.func, vmap and forward mode as well.",
    also=("jvp", "vmap", "func"),
    hints=(
        "torch.func calls three methods of their own: forward without ctx, setup_context with the inputs and the "
        "output, and jvp. What backward needs is saved for backward; where does jvp get its x and beta from?",
        "setup_context calls ctx.save_for_backward(x, beta) and ctx.save_for_forward(x, beta). jvp(ctx, x_t, beta_t) "
        "gets the tangents and gives the output's: the same two slopes as in backward, and no sum. "
        "generate_vmap_rule = True writes vmap for you.",
        "With s = torch.sigmoid(beta * x): backward gives g * (s + beta * x * s * (1 - s)) and "
        "(g * x**2 * s * (1 - s)).sum_to_size(beta.shape); jvp gives x_t * (s + beta * x * s * (1 - s)) + "
        "beta_t * x**2 * s * (1 - s). A tangent can be None: then that term is left out.",
    ),
)


_points = cases_of(lambda s, *shape: s.away_from(*shape, gap=0.1))

SINC_OP = Exercise(
    name="sinc_op",
    summary="sin(πx) / (πx), 1 at x = 0: NumPy's sinc behind torch.library.custom_op.",
    signature="(x)",
    reference=torch.sinc,
    forbidden=frozenset({"torch.sinc", "torch.special.sinc", "torch.Tensor.sinc", "aten.sinc"}),
    half=False,
    cases=(
        _points("a matrix", 3, 4),
        _points("a vector", 5),
        _points("a batch of matrices", 2, 3, 4),
        special(
            "x = 0",
            [0.0, 0.0, 1.5],

            advice="The curve is flat at 0. A quotient with x below it has no number there: give that place a value "
            "of its own, before the division.",
        ),
        special("whole numbers, where sinc is 0", [1.0, -2.0, 3.0], second=True),
        _points("a single number (0-d)", role="batch"),
        _points("an empty vector", 0, role="empty"),
        _points("an empty batch of matrices", 0, 3, 4, role="empty"),
    ),
    budget=kept(0, output=True),
    budget_words=f"{ONE_TENSOR}, and the output",
    also=("vmap", "opcheck", "compiled"),
    hints=(
        "Four things are registered. The body may leave torch; the fake may not look at numbers; backward is plain "
        "torch; and since each element stands for itself, a batch is no more than a larger tensor.",
        "Body: x.numpy(force=True), np.sinc, back to x's dtype and device, contiguous. Fake: an empty tensor with "
        "exactly that shape and those strides. sinc′ = (cos πx − sinc x) / x, and 0 at 0: "
        "replace x by 1 where it is 0, before you divide.",
        "safe = torch.where(x == 0, 1.0, x); slope = torch.where(x == 0, 0.0, ((torch.pi * x).cos() - sinc_op(x)) / safe). "
        "Body ends with torch.empty(x.shape, …).copy_(torch.from_numpy(…)) and the fake with "
        "x.new_empty(x.shape). vmap returns sinc_op(x), in_dims[0].",
    ),
)  # fmt: skip
