"""Which tensors met in the operation that failed, and which reduction made one of them smaller.

torch's own message names two sizes. A call that failed is made once more while every operation is
recorded, which would cost too much in calls that succeed.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from autograder.contract.ending import errors_only
from autograder.observation.observation import Failure, Operand
from autograder.running.operations import Operation, Operations

_MOST = 4  # operands that are kept
_SHORTEN = frozenset({
    "sum", "mean", "amax", "amin", "max", "min", "logsumexp", "prod", "argmax", "argmin", "norm", "var",
    "std", "all", "any", "nansum", "median", "count_nonzero", "squeeze", "select",
})  # fmt: skip


def look_again(failure: Failure, again: Callable[[], Any], files: frozenset[str]) -> None:
    """Add to a failure the operands of the operation that failed, where that is what happened.

    torch's own message names two sizes.

    again  makes the failed call once more; what it prints is dropped
    files  the files in which the submission's functions are defined
    """
    if failure.kind not in ("RuntimeError", "IndexError") or failure.raised_by_learner:
        return
    operations = Operations(files)
    try:
        with errors_only(), contextlib.redirect_stdout(io.StringIO()), operations:
            again()
    except Exception as error:  # as in the first call: whatever a submission raises
        error.__traceback__ = None
        ran, said = operations.all, operations.error
        empty = [o.line for o in ran if o.name in ("sum", "mean") and o.line and _told(o) in ([], ()) and o.tensors[0].numel() != 1]  # fmt: skip
        failure.empty_dims = tuple(dict.fromkeys(empty))
        reduced = [found for o in ran for made in o.made if (found := _reduced(o, made))]
        if said is not None and said[:200] == failure.message[:200]:
            failure.operation = ran[-1].name
            failure.operands = _operands(ran, ran[-1].tensors[:_MOST])
        elif failure.kind == "IndexError" and reduced:
            failure.operands = (reduced[-1],)


def _operands(ran: list[Operation], tensors: list[Tensor]) -> tuple[Operand, ...]:
    """What is known of these tensors: where each was made, or lost dimensions, and in which sums."""
    known: dict[Any, Operand] = {}
    for operation in ran:
        first = operation.tensors[0] if operation.tensors else None
        for made in operation.made:
            before = known.get(_key(made), Operand(()))
            found = Operand(tuple(made.shape), line=operation.line, function=operation.function)
            if (shorter := _reduced(operation, made)) is not None:
                found = shorter
            elif alike := [each for t in (made, *operation.tensors) if (each := known.get(_key(t)))
                           and each.reduced_by and t.shape == made.shape]:  # fmt: skip
                found = alike[0]
            whole, summed = before.whole, before.summed
            if first is not None and operation.name in ("sum", "mean"):
                whole, summed = _sums(known.get(_key(first)), first, _dims(operation, first))
            known[_key(made)] = replace(found, whole=whole, summed=summed)
    return tuple(known.get(_key(t), Operand(tuple(t.shape))) for t in tensors)


def _reduced(operation: Operation, made: Tensor) -> Operand | None:
    """The result of a reduction that took dimensions away; None for any other."""
    whole = operation.tensors[0] if operation.tensors and operation.name in _SHORTEN else made
    if made.dim() >= whole.dim():
        return None
    shapes = tuple(made.shape), tuple(whole.shape)
    return Operand(
        shapes[0],
        operation.name,
        _dims(operation, whole),
        shapes[1],
        operation.line,
        operation.function,
    )


def _told(operation: Operation) -> Any:
    """The dimensions as a reduction was told them."""
    _, args, kwargs = operation.call
    return kwargs.get("dim", args[1] if len(args) > 1 else None)


def _dims(operation: Operation, whole: Tensor) -> tuple[int, ...]:
    """Over which dimensions of its first tensor a reduction ran; all of them where none is told."""
    told = [told] if type(told := _told(operation)) is int else told
    if isinstance(told, list | tuple) and told and all(type(d) is int for d in told):
        return tuple(sorted({d % max(1, whole.dim()) for d in told} & {*range(whole.dim())}))
    return tuple(range(whole.dim()))


def _sums(known: Operand | None, tensor: Tensor, dims: tuple[int, ...]) -> tuple[Any, Any]:
    """(shape of the tensor that the first of several sums was given, its dimensions summed so far)."""
    whole: Any = tuple(tensor.shape)
    summed: Any = ()
    if known is not None and known.whole:
        whole, summed = known.whole, known.summed
    left = [d for d in range(len(whole)) if d not in summed or len(whole) == tensor.dim()]
    return whole, tuple(sorted({*summed, *(left[d] for d in dims if d < len(left))}))


def _key(tensor: Tensor) -> tuple[int, tuple[int, ...]]:
    """What save_for_backward gives back is another object in the same place."""
    return tensor.data_ptr(), tuple(tensor.shape)
