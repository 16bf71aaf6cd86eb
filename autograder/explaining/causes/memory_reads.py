"""What a kernel reads that it should not: memory in another order than the strides say, and what lies behind the end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.contract.differentiation import as_tuple, gradients_of
from autograder.contract.references import applied, expected_upstream, reference_arguments
from autograder.explaining.causes.results import Reason, Result, Seen, result_of
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding
from autograder.observation.compare import close
from autograder.running.submission import transposed

_BLOCKS = tuple(2**n for n in range(1, 12))  # sizes of blocks that are tried
_POWER = 0  # stands for the next power of two

# ---- strides ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """What is read in the place of the arguments and of each upstream gradient."""

    args: Callable[[list[Any]], list[Any]] = lambda args: args
    upstream: Callable[[Tensor], Tensor] = lambda g: g


def ignoring_strides(ev: Evidence, finding: Finding) -> Reason | None:
    """An argument, or grad_output, is read at places that its strides do not name."""
    result = result_of(ev, finding)
    if result is None or not result.wrong or not result.wrong[0].fits:
        return None
    seen = result.wrong[0]
    for code, words, change in _readings(seen, result):
        if _gives(result, change, seen) or _relaid(result, change, seen):
            return Reason(f"strides/{code}", {**finding.facts, "argument": words}, pair=seen.pair)
    return None


def _readings(seen: Seen, result: Result) -> Iterator[tuple[str, str, Change]]:
    """Ways to read the arguments that leave out strides: (code, whose, the change that it amounts to)."""
    question = seen.pair.question
    if question.layout == "transposed":
        tensors = [i for i, a in enumerate(question.args) if isinstance(a, Tensor) and a.dim()]
        groups: dict[tuple[int, ...], str] = {(i,): result.ev.argument(i) for i in tensors}
        groups |= {tuple(tensors): "an argument"} if len(tensors) > 1 else {}
        for (places, name), last in itertools.product(groups.items(), (False, True)):
            change = Change(
                args=lambda args, p=places, last=last: [_as_read(a, last) if i in p else a for i, a in enumerate(args)],  # type: ignore[misc]
            )  # fmt: skip
            yield ("last" if last else "ignored"), name, change
    if result.kind == "gradient" and question.layout in ("transposed", "consumer"):
        yield "ignored", "grad_output", Change(upstream=lambda g: _as_read(g, False))


def _as_read(tensor: Tensor, last: bool) -> Tensor:
    """What is read of a tensor that is given transposed; with ``last``, only the last dimension's stride is left out."""
    given = transposed(tensor.detach())
    steps = list(torch.empty(given.shape).stride())
    if last:
        steps = [*given.stride()[:-1], 1]
    read = given.as_strided(given.shape, steps).clone()
    return read.requires_grad_(tensor.requires_grad)


def _gives(result: Result, change: Change, seen: Seen) -> bool:
    """Whether the reference gives the learner's result for what is read."""
    question, exercise = seen.pair.question, result.ev.exercise
    try:
        args = change.args(reference_arguments(question))
        with torch.enable_grad():
            outputs = as_tuple(applied(exercise, question, args))
        if result.kind == "output":
            found = outputs[result.place]
        else:
            grads = [None if g is None else change.upstream(g) for g in expected_upstream(question, outputs)]  # fmt: skip
            (found,) = gradients_of(outputs, grads, [args[result.place]])
    except Exception:  # what is read need not make sense
        return False
    return isinstance(found, Tensor) and close(seen.got, found.detach())


def _relaid(result: Result, change: Change, seen: Seen) -> bool:
    """Whether the output lies in memory as the argument does, and is filled without asking for strides either."""
    if result.kind != "output":
        return False
    args = change.args(reference_arguments(seen.pair.question))
    try:
        with torch.no_grad():
            right = applied(result.ev.exercise, seen.pair.question, args)
        like = torch.empty_like(transposed(seen.got))
        relaid = right.contiguous().view(-1).as_strided(like.shape, like.stride())
    except Exception:  # several outputs, or of another shape
        return False
    return close(seen.got, relaid)


# ---- blocks ----------------------------------------------------------------------------------------


def counting_what_is_behind(result: Result) -> Reason | None:
    """The output is right for arguments with zeros behind one of their dimensions: a block that was not masked."""
    if result.kind != "output" or result.ev.exercise.strictness.as_given:
        return None
    for places in _alike_in_size(result.every):
        for block in (_POWER, *_BLOCKS):
            if all(_padded(result, seen, places, block) for seen in result.every):
                (i, dim), *others = places
                facts: dict[str, Any] = {"argument": result.ev.argument(i), "dim": dim}
                facts |= {
                    "others": [result.ev.argument(j) for j, _ in others],
                    "together": bool(others),
                }
                return Reason("forward/behind", facts)
        if (argument := _even_blocks_alone(result, places)) is not None:
            return Reason("forward/last-block", {"argument": argument, "dim": places[0][1]})
    return None


def _even_blocks_alone(result: Result, places: list[tuple[int, int]]) -> str | None:
    """The argument of which the result is right in those cases alone in which a dimension is a power of 2."""
    if "fake" not in result.ev.source.methods:
        return None
    (i, dim), *_ = places
    sizes = [(s, s.pair.question.args[i].shape[dim]) for s in result.every]
    told = all((s not in result.wrong) == (size & (size - 1) == 0) for s, size in sizes)
    both = 0 < len(result.wrong) < len(result.every)
    return result.ev.argument(i) if told and both else None


def _alike_in_size(every: Sequence[Seen]) -> Iterator[list[tuple[int, int]]]:
    """Dimensions, counted from the end, that have one size in each case: (which argument, which dimension)."""
    first = every[0].pair.question.args
    by_size: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for i, value in enumerate(first):
        for dim in range(-1, -value.dim() - 1, -1) if isinstance(value, Tensor) else ():
            if all(s.pair.question.args[i].dim() >= -dim for s in every):
                sizes = tuple(s.pair.question.args[i].shape[dim] for s in every)
                by_size.setdefault(sizes, []).append((i, dim))
    yield from by_size.values()


def _padded(result: Result, seen: Seen, places: list[tuple[int, int]], block: int) -> bool:
    """Whether the result is the one with so many zeros behind that blocks come out even."""
    args: list[Any] = reference_arguments(seen.pair.question)
    (i, dim), *_ = places
    size = args[i].shape[dim]
    whole = -(-size // block) * block if block else 1 << max(size - 1, 0).bit_length()
    for j, of in places:
        args[j] = F.pad(args[j].detach(), [0, 0] * (-of - 1) + [0, whole - size])
    try:
        with torch.no_grad():
            found = applied(result.ev.exercise, seen.pair.question, args)
    except Exception:  # sizes that no longer fit one another
        return False
    if not isinstance(found, Tensor) or not isinstance(seen.got, Tensor) or found.dim() != seen.got.dim():  # fmt: skip
        return False
    inside = tuple(slice(0, size) for size in seen.got.shape)
    return close(seen.got, found[inside])
