"""torch.func's transforms of a function, asked of an answer and of its reference alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.func import grad, hessian, jacfwd, jacrev, vmap

from autograder.contract.differentiation import as_tuple, copied
from autograder.observation.observation import Question

BATCH = 3  # examples in the batch that vmap is given


def transformed(call: Callable[..., Any], q: Question) -> dict[str, list[Tensor] | str]:
    """What each transform gives for the first output of a function, for the arguments in ``wants``.

    An error is its words. The outputs are weighted with the upstream gradient of the question where a number is needed.
    """
    args = [a.detach().clone() if isinstance(a, Tensor) else a for a in q.args]
    tensors, places = [args[i] for i in q.wants], tuple(range(len(q.wants)))

    def outputs(*given: Tensor) -> Tensor:
        moved = dict(enumerate(args)) | dict(zip(q.wants, given, strict=True))
        first: Tensor = as_tuple(call(*moved.values()))[0]
        return first

    def number(*given: Tensor) -> Tensor:
        weights = q.upstream[0]
        assert weights is not None
        return (weights * outputs(*given)).sum()

    batch = [torch.stack([t * (1 - 0.1 * k) for k in range(BATCH)]) for t in tensors]
    asked = {
        "grad": lambda: grad(number, places)(*tensors),
        "jacrev": lambda: jacrev(outputs, places)(*tensors),
        "jacfwd": lambda: jacfwd(outputs, places)(*tensors),
        "hessian": lambda: hessian(number, places)(*tensors),
        "vmap(grad)": lambda: vmap(grad(number, places))(*batch),
    }
    return {name: _given(ask) for name, ask in asked.items()}


def _given(ask: Callable[[], Any]) -> list[Tensor] | str:
    try:
        flat, _ = torch.utils._pytree.tree_flatten(ask())
    except NotImplementedError:
        raise
    except Exception as error:  # whichever it is: the transform does not work
        return f"{type(error).__name__}: {error}"[:300]
    return [t for t in map(copied, flat) if t is not None]
