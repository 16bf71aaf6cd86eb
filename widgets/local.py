"""Local derivatives: by what each number of an input is multiplied on its way back.

A Function's own backward is asked for them, one output element at a time. An input whose elements each
reach at most one output element has one number each; for any other there is no such number.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from widgets.runs import copies

MOST = 24  # output elements that are asked about, each in a run of its own


def local_derivatives(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    gradients: Mapping[int, Tensor | None],
    upstream: Tensor | None,
) -> dict[int, Tensor]:
    """The local derivative of each argument that has one, in its shape, by position.

    Args:
        function: with one output that has a gradient, of at most 24 numbers; else there is nothing.
        arguments: tensors that require a gradient, and whatever else it takes.
        gradients: what backward returned for the arguments. A factor that does not give it is none.
        upstream: the gradient it was given.
    """
    if upstream is None or not 0 < upstream.numel() <= MOST:
        return {}
    state = torch.get_rng_state()
    rows = [_row(function, arguments, place, state) for place in range(upstream.numel())]
    found = {}
    for position, gradient in gradients.items():
        every = [row.get(position) for row in rows]
        if gradient is None or any(one is None for one in every):
            continue
        jacobian = torch.stack([one for one in every if one is not None])
        reached = jacobian != 0
        if (reached.sum(0) > 1).any():
            continue
        factor = jacobian.sum(0)
        back = (jacobian * upstream.reshape(-1, *[1] * gradient.dim())).sum(0)
        if torch.allclose(back, gradient.to(back.dtype), equal_nan=True):
            found[position] = factor
    return found


def _row(
    function: Callable[..., Any], arguments: Sequence[Any], place: int, state: Tensor
) -> dict[int, Tensor]:
    """What arrives at each argument when only one output element has the gradient 1."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.set_rng_state(state)
        given = copies(arguments)
        output = function(*given)
        every = output if isinstance(output, tuple | list) else (output,)
        [live] = [value for value in every if isinstance(value, Tensor) and value.requires_grad]
        one = torch.zeros_like(live)
        one.view(-1)[place] = 1
        wanted = {i: v for i, v in enumerate(given) if isinstance(v, Tensor) and v.requires_grad}
        found = torch.autograd.grad(live, list(wanted.values()), one, allow_unused=True)
    return {i: g for i, g in zip(wanted, found, strict=True) if g is not None}
