"""What operations took and gave while they were watched, those of NumPy on a tensor's numbers too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from autograder.running.watching import Watching, note_imaginary

_LARGEST = 4096  # elements of a tensor; larger ones are not looked at
_MOST = 400  # runs of operations that are remembered

# Affine in all that they are given: what they give tells nothing.
_AFFINE = frozenset(
    {"add", "add_", "sub", "sub_", "rsub", "neg", "sum", "mean", "detach", "alias", "clone", "_to_copy", "copy_", "view",
     "_unsafe_view", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "select", "slice", "cat", "stack"}
)  # fmt: skip


class Run(NamedTuple):
    """One run of an operation: what it was given, tensors of numbers and all else, and what it gave.

    again  what it gives for another point, where it was given one tensor
    """

    operation: Any
    given: tuple[Tensor, ...]
    beside: list[Any]
    again: Callable[[Tensor], Any]
    result: Tensor


class Results(Watching):
    """Remembers what operations took and gave; with ``arrays``, those of NumPy on a tensor's numbers too."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []
        self.arrays = _Arrays(self)
        self.takes((), lambda point: None)

    @property
    def tensors(self) -> list[Tensor]:
        return [each.result for each in self.runs]

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def again(point: Tensor) -> Any:
            given = tree_map_only(Tensor, lambda t: point if t.numel() > 1 else t, (args, kwargs))
            return func(*given[0], **given[1])

        name = func.__name__.partition(".")[0]
        self.takes(() if name in _AFFINE else _leaves((*args, *kwargs.values())), again)
        return super().run(func, args, kwargs)

    def takes(self, given: Iterable[Any], again: Callable[[Tensor], Any]) -> None:
        """What the next operation takes, as it is before that may write to it."""
        tensors, beside = [], []
        for each in given if len(self.runs) < _MOST else ():
            if not isinstance(each, Tensor):
                beside.append(each)
            elif 1 < each.numel() <= _LARGEST and not each.is_meta:
                tensors.append(_copy(each))  # places and masks too
            else:
                beside.append(each.item() if has_numbers(each) else type(each))
        self._given = tuple(tensors), beside, again

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        for each in tensors:
            note_imaginary(self, each)
            if has_numbers(each) and len(self.runs) < _MOST:
                self.runs.append(Run(operation, *self._given, _copy(each)))


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """What an operation was given; tree_leaves takes as long as the operation."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from _leaves(each)
        else:
            yield each


def has_numbers(value: Any) -> bool:
    fits = isinstance(value, Tensor) and 0 < value.numel() <= _LARGEST
    return fits and value.dtype in (torch.float64, torch.complex128) and not value.is_meta


def _copy(tensor: Tensor) -> Tensor:
    real = tensor.detach().real if tensor.is_complex() else tensor.detach()
    return real.to(torch.float64, copy=True)


class _Arrays(TorchFunctionMode):
    """Makes ``x.numpy()`` an array that tells the results of what NumPy and SciPy compute from it."""

    def __init__(self, results: Results):
        super().__init__()
        self.results = results

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        return _told(made, self.results) if func is Tensor.numpy else made


class _Array(numpy.ndarray):
    results: Results

    def __array_finalize__(self, of: Any) -> None:
        if isinstance(of, _Array):  # a part of one tells as well
            self.results = of.results

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        if "out" in more:
            more["out"] = tuple(map(_plain, more["out"]))
        call, plain = getattr(ufunc, method), [*map(_plain, given)]
        before = [*map(_as_tensor, plain)]
        made = call(*plain, **more)
        if isinstance(made, numpy.ndarray) and made.dtype in (numpy.float64, numpy.complex128):
            # No operation of torch runs here, in which the results would not see their own work.
            with torch.utils._python_dispatch._disable_current_modes():
                self.results.takes(before, lambda point: torch.from_numpy(call(point.numpy())))
                self.results.saw(ufunc, [torch.from_numpy(made)])
        return _told(made, self.results) if isinstance(made, numpy.ndarray) else made


def _told(array: numpy.ndarray, results: Results) -> _Array:
    made = array.view(_Array)
    made.results = results
    return made


def _plain(value: Any) -> Any:
    return value.view(numpy.ndarray) if isinstance(value, _Array) else value


def _as_tensor(value: Any) -> Any:
    numbers = isinstance(value, numpy.ndarray) and value.dtype == numpy.float64
    return torch.from_numpy(value.copy()) if numbers else value
