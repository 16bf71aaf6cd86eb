"""Which tensors met in the operation that failed, and which reduction made one of them smaller.

torch's own message names two sizes. A call that failed is made once more while every operation is
watched, which would cost too much in calls that succeed.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_iter

from autograder.modes import PlainMode
from autograder.observation import Failure, Operand

_ABOUT_SHAPES = ("RuntimeError", "IndexError")
_REDUCTIONS = frozenset(
    [
        "sum",
        "mean",
        "amax",
        "amin",
        "max",
        "min",
        "logsumexp",
        "prod",
        "argmax",
        "argmin",
        "norm",
        "var",
        "std",
        "all",
        "any",
        "nansum",
        "median",
        "count_nonzero",
        "squeeze",
        "select",
    ]
)
_MOST = 4  # operands that are kept


def look_again(failure: Failure, again: Callable[[], Any], files: frozenset[str]) -> None:
    """Add to a failure the operands of the operation that failed, where that is what happened.

    again  makes the failed call once more; what it prints is dropped
    files  the files in which the submission's functions are defined
    """
    if failure.kind not in _ABOUT_SHAPES or failure.raised_by_learner:
        return
    watching = _Watching(files)
    try:
        with contextlib.redirect_stdout(io.StringIO()), watching:
            again()
    except BaseException as error:  # as in the first call: whatever a submission raises
        failure.empty_dims = tuple(dict.fromkeys(watching.empty_dims))
        if watching.message is not None and watching.message[:200] == failure.message[:200]:
            failure.operation = watching.operation
            failure.operands = watching.operands
        elif failure.kind == "IndexError" and watching.last is not None:
            failure.operands = (watching.last,)
        error.__traceback__ = None
    watching.forget()


class _Watching(PlainMode):
    """Notes what each reduction takes away, and the operands of the last operation that raised."""

    def __init__(self, files: frozenset[str]) -> None:
        super().__init__()
        self.files = files
        self.message: str | None = None
        self.operation = ""
        self.operands: tuple[Operand, ...] = ()
        self.empty_dims: list[int] = []
        self.last: Operand | None = None
        # By place in memory: what save_for_backward gives back is another object. All tensors are
        # held, so that no two share a place one after the other.
        self._reduced: dict[tuple[int, tuple[int, ...]], Operand] = {}
        self._held: list[Tensor] = []
        self._sums: dict[tuple[int, tuple[int, ...]], _Sums] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = func.__name__.split(".")[0]
        tensors = [v for v in tree_iter((args, kwargs)) if isinstance(v, Tensor)]
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.message, self.operation = str(error), name
            self.operands = tuple(map(self._operand, tensors[:_MOST]))
            raise
        given = [v for v in tree_iter(result) if isinstance(v, Tensor)]
        self._held += given
        if name in ("sum", "mean") and tensors and given:
            self._sums_up(tensors[0], args, kwargs, given[0])
        for made in given:
            if tensors and name in _REDUCTIONS and made.dim() < tensors[0].dim():
                self._reduces(name, tensors[0], args, kwargs, made)
            else:
                self._passes_on(tensors, made)
        return result

    def _reduces(
        self, name: str, whole: Tensor, args: Any, kwargs: dict[str, Any], made: Tensor
    ) -> None:
        dims = _dims(whole, _told(args, kwargs))
        line, function = self._place()
        shapes = tuple(made.shape), tuple(whole.shape)
        self.last = Operand(shapes[0], name, dims, shapes[1], line, function)
        self._reduced[_key(made)] = self.last

    def _sums_up(self, whole: Tensor, args: Any, kwargs: dict[str, Any], made: Tensor) -> None:
        """Notes over which dimensions of the first tensor the sums ran, one after the other."""
        told = _told(args, kwargs)
        line, _ = self._place()
        if told in ([], ()) and line and whole.numel() != 1:
            self.empty_dims.append(line)
        known = self._sums.get(_key(whole))
        known = known or _Sums(tuple(whole.shape), tuple(range(whole.dim())))
        dims = _dims(whole, told)
        left = known.left
        if made.dim() < whole.dim():
            left = tuple(d for i, d in enumerate(left) if i not in dims)
        summed = tuple(sorted({*known.summed, *(known.left[i] for i in dims)}))
        self._sums[_key(made)] = _Sums(known.whole, left, summed)

    def _passes_on(self, tensors: list[Tensor], made: Tensor) -> None:
        """What has the shape of a reduced tensor that went into it lacks the same dimension."""
        for before in tensors:
            known = self._reduced.get(_key(before))
            if known is not None and before.shape == made.shape:
                self._reduced.setdefault(_key(made), known)

    def _operand(self, tensor: Tensor) -> Operand:
        found = self._reduced.get(_key(tensor)) or Operand(tuple(tensor.shape))
        sums = self._sums.get(_key(tensor))
        return found if sums is None else replace(found, whole=sums.whole, summed=sums.summed)

    def _place(self) -> tuple[int | None, str]:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename not in self.files:
            frame = frame.f_back  # type: ignore[assignment]
        return (None, "") if frame is None else (frame.f_lineno, frame.f_code.co_name)

    def forget(self) -> None:
        """Let go of the tensors."""
        self._held.clear()


@dataclass(frozen=True)
class _Sums:
    """What one or several sums made of a tensor of shape ``whole``: which of its dimensions are left."""

    whole: tuple[int, ...]
    left: tuple[int, ...]
    summed: tuple[int, ...] = ()


def _told(args: Any, kwargs: dict[str, Any]) -> Any:
    return kwargs.get("dim", args[1] if len(args) > 1 else None)


def _dims(whole: Tensor, told: Any) -> tuple[int, ...]:
    """The dimensions of a reduction, from the front; all of them where none is told."""
    if isinstance(told, int) and not isinstance(told, bool):
        return (told % whole.dim(),) if whole.dim() else ()
    if isinstance(told, list | tuple) and told and all(type(d) is int for d in told):
        return tuple(sorted(d % whole.dim() for d in told))
    return tuple(range(whole.dim()))


def _key(tensor: Tensor) -> tuple[int, tuple[int, ...]]:
    return tensor.data_ptr(), tuple(tensor.shape)
