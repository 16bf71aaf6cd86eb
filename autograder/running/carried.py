"""What backward knows of forward: what ctx holds, carried over to a copy of the class that never saw forward's arguments.

The class is copied with all that its code reaches, before forward runs; then the copy's backward gets what forward left
on ctx, and that alone. So nobody has to look for what is kept in a list, a global or a closure: it does not come along.
What does come along is counted as the bytes that it takes, of which those count that depend on forward's numbers.
"""

from __future__ import annotations

import functools
import io
import pickle
import re
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any

import cloudpickle.cloudpickle as cloud
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.contract.differentiation import as_tuple
from autograder.running.function_classes import custom_nodes, in_backward, patched
from autograder.running.watching import COPIES, VIEWS, Watching, name_of

# What torch itself has put on ctx once forward is over, for itself and for torch.func.
_TORCHS = re.compile(
    "_pt_|to_save$|dirty_tensors$|non_differentiable$|_materialize_non_diff_grads$"
)


def attributes_of(node: Any) -> Iterator[tuple[str, Any]]:
    """What somebody put on ctx, by name."""
    return ((n, v) for n, v in vars(node).items() if not _TORCHS.match(n))


def saved_of(node: Any) -> tuple[Any, ...]:
    """The tensors that a node has saved; none where they are not to be had."""
    try:
        return tuple(node.saved_tensors)
    except Exception:  # one was written to, or somebody's hook stops: other questions judge that
        return ()


def _bare(tensor: Tensor) -> Tensor:
    """Its numbers alone, expanded as it is: not what somebody set on it, nor what lies beside them in memory."""
    once = tuple(slice(None, None if step else 1) for step in tensor.stride())
    return tensor.detach()[once].clone().expand(tensor.shape)


# What is itself and no number, by id: where it was written, and the thing.
Known = dict[int, tuple[int, Any]]


class _Writer(cloud.Pickler):
    """Writes functions and classes of the learner's as what they are made of; of tensors sizes, of modules names."""

    def __init__(self, file: io.BytesIO, known: Known) -> None:
        super().__init__(file)
        self.beside, self.known = list[Any](), known

    def persistent_id(self, value: Any) -> Any:
        if id(value) in self.known:
            return 0, self.known[id(value)][0]
        if isinstance(
            value, types.ModuleType | torch.finfo | torch.iinfo | torch._ops.OpOverloadPacket
        ):
            self.beside.append(value)
            return len(self.beside), str(value)
        if isinstance(value, Tensor):
            self.beside.append(_bare(value))
            return len(self.beside), tuple(value.shape), value.stride(), value.storage_offset()
        return None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, functools._lru_cache_wrapper):
            return _cached, (value.__wrapped__, value.cache_parameters())
        return super().reducer_override(value)


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    """A cache that knows nothing yet."""
    return functools.lru_cache(**parameters)(function)


class Written:
    """Something as bytes, with tensors and modules beside them. Raises what pickle does for what cannot be written.

    beside  something that was written before: a marker or a class of it is the same one here
    """

    def __init__(self, value: Any, beside: Written | None = None) -> None:
        file = io.BytesIO()
        writer = _Writer(file, beside.known if beside is not None else {})
        # Modules are named, and those below them with them: to look for these takes a millisecond a function.
        with patched([(cloud, "_find_imported_submodules", lambda code, values: [])]):
            writer.dump(value)
        self.bytes = file.getvalue()
        self._beside = writer.beside
        # Whoever asks whether a thing is this very one asks it of such a thing.
        self.known: Known = {
            at: (place, thing) for at, (place, thing) in writer.memo.copy().items() if type(thing) is object or isinstance(thing, type)
        }  # fmt: skip

    def read(self, copies: Mapping[int, Any] = {}) -> tuple[Any, dict[int, Any]]:
        """Another one of the same, that shares nothing with the first but what libraries hold; and its parts, by place.

        copies  the parts of the copy of what was written before
        """
        reader = pickle.Unpickler(io.BytesIO(self.bytes))
        reader.persistent_load = lambda at: self._beside[at[0] - 1] if at[0] else copies[at[1]]  # type: ignore[method-assign]
        # cloudpickle would find the class that was written, since it is still here.
        with patched([(cloud, "_DYNAMIC_CLASS_TRACKER_BY_ID", weakref.WeakValueDictionary())]):
            return reader.load(), reader.memo.copy()

    def unlike(self, other: Written | None) -> int:
        """How many bytes differ; all of them where there is no other."""
        return sum(a != b for a, b in zip_longest(self.bytes, other.bytes if other else b""))


Work = dict[str, int]  # how often each operation ran that makes numbers


def worked(cls: type, ask: Callable[[], Any]) -> tuple[Any, Work]:
    """What is given, and what ran meanwhile in the backward of a class."""
    ran = Watching()
    with in_backward((cls,), ran):
        found = ask()
    # What only moves numbers depends on how they lie in memory, and a copy may lie otherwise.
    made = (each for each in ran.operations.items() if name_of(each[0]) not in VIEWS | COPIES)
    return found, {str(operation): times for operation, times in made}


class World:
    """A class as it is before forward runs, to be asked later what it makes of what ctx holds then."""

    def __init__(self, cls: type) -> None:
        self.cls, self._written = cls, Written(cls)

    def holds(self, outputs: Sequence[Any]) -> dict[str, Written]:
        """What ctx holds beside what it saved, by name."""
        held = {}
        for name, value in attributes_of(self._node(self.cls, outputs)):
            with suppress(Exception):  # what cannot be written cannot be carried over either
                held[f"ctx.{name}"] = Written(value, self._written)
        return held

    def backward(
        self, outputs: Sequence[Any], others: Sequence[Any], ask: Callable[[tuple[Any, ...]], Any]
    ) -> tuple[Any, Work]:
        """What ``ask`` finds of the copy's outputs for ``others`` where ctx holds what it holds for these outputs, and by which work.

        It is asked of those outputs as they are first: what backward makes once and for all is there then.
        """
        node, packed = self._node(self.cls, outputs), list[int]()
        saved = [_bare(t) for t in saved_of(node) if t is not None]
        held = Written(dict(attributes_of(node)), self._written)

        def pack(tensor: Tensor) -> int:
            packed.append(len(packed))
            return packed[-1]

        copy, parts = self._written.read()
        ask(as_tuple(copy.apply(*others)))
        with saved_tensors_hooks(pack, lambda k: saved[k - len(packed)]):
            made = as_tuple(copy.apply(*others))
        ctx = self._node(copy, made)
        for name in dict(attributes_of(ctx)):
            delattr(ctx, name)
        for name, value in held.read(parts)[0].items():
            setattr(ctx, name, value)
        return worked(copy, partial(ask, made))

    @staticmethod
    def _node(cls: type, outputs: Sequence[Any]) -> Any:
        return next(node for node in custom_nodes(outputs) if node._forward_cls is cls)
