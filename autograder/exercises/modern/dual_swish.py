"""DualSwish of lesson 12: lesson 02's Swish, for torch.func and forward mode too."""

from __future__ import annotations

from dataclasses import replace

from autograder.exercises.sigmoid.swish import SWISH

DUAL_SWISH = replace(
    SWISH,
    name="DualSwish",
    lesson="12_modern",
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
