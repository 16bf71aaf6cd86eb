"""What operations were given while they were watched, those of NumPy on a tensor's numbers too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from autograder.observation.snapshot import storage_of
from autograder.running.function_classes import patched
from autograder.running.watching import AFFINE, Storages, name_of, note_imaginary

_MOST = 2**21  # numbers of a run that are remembered


class Run(NamedTuple):
    """One run of an operation: its name, the tensors of numbers that it was given, and the shape of what it gave."""

    operation: str
    given: tuple[Tensor, ...]
    shape: torch.Size


class Results(Storages):
    """Remembers what operations were given.

    entered  numbers that no operation made here: of Python, and of tensors that came from elsewhere
    told     those among which they may be: what a method was given, what torch handed to Python, what NumPy computed of that
    full     more ran than is remembered
    """

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []
        self.entered: list[Tensor] = []
        self.told: list[Tensor] = []
        self.full = False
        self.arrays = _Arrays(self)
        self._left = _MOST
        # By storage: what NumPy may write to, and its numbers.
        self._handed: dict[int, tuple[Tensor, Tensor]] = {}

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = name_of(func)
        given = [*_leaves((*args, *kwargs.values()))]
        numbers = [each for each in given if type(each) in (int, float)]
        if numbers:
            self.entered.append(torch.tensor(numbers, dtype=torch.float64))
        self._enter(given)
        taken = () if name in AFFINE else self._copies(given)  # before it may write to them
        result = super().run(func, args, kwargs)
        self._ran(name, taken, result)
        if not isinstance(result, Tensor | list | tuple | None):
            self.told.append(torch.tensor([result], dtype=torch.float64))  # x.item()
        self._handed = {key: (each, _copy(each)) for key, (each, _) in self._handed.items()}
        return result

    def _enter(self, given: Iterable[Any]) -> None:
        """Take in the numbers of tensors that nothing made here, and of those that somebody wrote to without torch."""
        bits = torch.int64  # nan is no other number than before
        wrote = [t for t, was in self._handed.values() if not _copy(t).view(bits).equal(was.view(bits))]  # fmt: skip
        new = [t for t in given if isinstance(t, Tensor) and not t.is_meta and not self.known(t)]
        for each in wrote + new:
            self.know(each)
            if each.dtype != torch.bool:
                self.entered.append(_copy(each))

    def told_by(self, tensors: Iterable[Tensor]) -> None:
        """Take in tensors whose numbers are known."""
        with torch.utils._python_dispatch._disable_current_modes():
            self.told += map(_copy, tensors)

    def handed(self, tensor: Tensor) -> None:
        """Take in a tensor whose memory is an array's from now on."""
        self.told_by([tensor])
        with torch.utils._python_dispatch._disable_current_modes():
            self._handed[storage_of(tensor)[0]] = tensor, _copy(tensor)

    def _ran(self, name: str, taken: tuple[Tensor, ...], result: Any) -> None:
        first = next((each for each in _leaves([result]) if isinstance(each, Tensor)), None)
        if taken and first is not None:
            self.runs.append(Run(name, taken, first.shape))

    def _copies(self, values: Iterable[Any]) -> tuple[Tensor, ...]:
        found = [each.detach() for each in values if _has_numbers(each)]
        self._left -= sum(each.numel() for each in found)
        self.full = self.full or self._left < 0
        return () if self.full else tuple(map(_copy, found))

    def computed(self, name: str, given: Iterable[Any], made: numpy.ndarray) -> None:
        """Take in what NumPy computed. No operation of torch runs here, in which the results would see their own work."""
        with torch.utils._python_dispatch._disable_current_modes():
            arrays = [torch.from_numpy(numpy.array(each)) for each in given if _is_float(each)]
            result = torch.from_numpy(numpy.array(made))
            note_imaginary(self, result)
            self._ran(name, self._copies(arrays), result)
            self.told += self._copies([result])


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """What an operation was given; tree_leaves takes as long as the operation."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from _leaves(each)
        else:
            yield each


def _has_numbers(value: Any) -> bool:
    numbers = isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())
    return numbers and not value.is_meta and value.numel() > 0


def _copy(tensor: Tensor) -> Tensor:
    number = tensor.detach()
    return (number.real if number.is_complex() else number).to(torch.float64, copy=True)


class _Arrays:
    """In it ``x.numpy()`` is an array that tells what NumPy and SciPy compute from it."""

    def __init__(self, results: Results):
        plain, listed, arrays = Tensor.numpy, Tensor.tolist, (numpy.asarray, numpy.array)

        def numpy_(tensor: Tensor, *args: Any, **kwargs: Any) -> _Array:
            results.handed(tensor)
            return _told(plain(tensor, *args, **kwargs), results)

        def tolist(tensor: Tensor) -> Any:
            results.told_by([tensor])
            return listed(tensor)

        def array(made: Callable[..., Any], of: Any, *args: Any, **kwargs: Any) -> Any:
            found = made(of, *args, **kwargs)
            return _told(found, results) if isinstance(of, Tensor | _Array) else found

        self._stack: list[Any] = []
        self._new: list[Any] = [(Tensor, "numpy", numpy_), (Tensor, "tolist", tolist)]
        self._new += [(numpy, each.__name__, functools.partial(array, each)) for each in arrays]

    def __enter__(self) -> None:
        self._stack.append(patched(self._new))
        self._stack[-1].__enter__()

    def __exit__(self, *error: Any) -> None:
        self._stack.pop().__exit__(*error)


class _Array(numpy.ndarray):
    results: Results

    def __array_finalize__(self, of: Any) -> None:
        if isinstance(of, _Array):  # a part of one tells as well
            self.results = of.results

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        if "out" in more:
            more["out"] = tuple(map(_plain, more["out"]))
        return self._call(ufunc.__name__, getattr(ufunc, method), given, more)

    def __array_function__(self, function: Any, types: Any, given: Any, more: Any) -> Any:
        return self._call(function.__name__, function, given, more)

    def _call(self, name: str, call: Any, given: Sequence[Any], more: dict[str, Any]) -> Any:
        plain = [*tree_map(_plain, [*given])]
        before = [numpy.array(each) for each in _leaves(plain) if _is_float(each)]
        made = call(*plain, **tree_map(_plain, more))
        if not isinstance(made, numpy.ndarray) or not _is_float(made):
            return made
        self.results.computed(name, before, made)
        return _told(made, self.results)


def _told(array: numpy.ndarray, results: Results) -> _Array:
    made = array.view(_Array)
    made.results = results
    return made


def _plain(value: Any) -> Any:
    return value.view(numpy.ndarray) if isinstance(value, _Array) else value


def _is_float(value: Any) -> bool:
    return isinstance(value, numpy.ndarray | numpy.generic) and value.dtype.kind in "fc"
