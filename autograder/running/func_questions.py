"""Forward mode, vmap and torch's own look at a custom operator, put to a submission that has them."""

from __future__ import annotations

from typing import Any

import torch
import torch.autograd.forward_ad as forward_ad
from torch import Tensor

from autograder.contract.differentiation import copied
from autograder.observation.observation import Answer, Question
from autograder.running.submission import fresh_arguments

BATCH = 3  # examples in the batch that vmap is given


def forward_mode(ask: Any, q: Question, answer: Answer) -> None:
    """The outputs' tangents, for the directions of the question as the arguments' tangents."""
    ask.stage = "jvp"
    args = [a.detach() if isinstance(a, Tensor) else a for a in fresh_arguments(q)]
    with forward_ad.dual_level():
        for place, direction in zip(q.wants, q.directions, strict=True):
            assert direction is not None
            args[place] = forward_ad.make_dual(args[place], direction)
        made = ask.submission(*args)
        outputs = made if isinstance(made, tuple | list) else (made,)
        tensors = [o if isinstance(o, Tensor) else None for o in outputs]
        tangents = [None if o is None else forward_ad.unpack_dual(o).tangent for o in tensors]
    answer.data["tangents"] = [copied(t) for t in tangents]


def vmap(ask: Any, q: Question, answer: Answer) -> None:
    """A batch at once, with the batch in front and behind, and each example by itself."""
    ask.stage = "vmap"
    args = [a.detach() if isinstance(a, Tensor) else a for a in fresh_arguments(q)]
    answer.data["together"], answer.data["alone"] = [], []
    for place in q.wants:
        examples = [args[place] * (1 - 0.1 * k) for k in range(BATCH)]
        each = [ask.submission(*args[:place], x, *args[place + 1 :]) for x in examples]
        outputs = [one if isinstance(one, tuple | list) else (one,) for one in each]
        alone = [torch.stack(parts) for parts in zip(*outputs, strict=True)]
        for dim in (0, -1):
            batched = [*args[:place], torch.stack(examples, dim), *args[place + 1 :]]
            in_dims = tuple(dim if i == place else None for i in range(len(args)))
            made = torch.func.vmap(ask.submission, in_dims=in_dims)(*batched)
            together = made if isinstance(made, tuple | list) else (made,)
            answer.data["together"].append([copied(t) for t in together])
            answer.data["alone"].append([copied(t) for t in alone])


def opcheck(ask: Any, q: Question, answer: Answer) -> None:
    """torch.library.opcheck: what each of its tests says, "SUCCESS" or the error."""
    ask.stage = "opcheck"
    found = torch.library.opcheck(
        ask.submission.target, tuple(fresh_arguments(q)), raise_exception=False
    )
    answer.data["opcheck"] = {
        name: said if isinstance(said, str) else f"{type(said).__name__}: {said}"[:400]
        for name, said in found.items()
    }
