"""Runs on meta tensors, which have a shape and no data: quickly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_iter, tree_map, tree_map_only

from autograder.running.watching import PlainMode

_MOST = 10_000  # operations with their arguments that are remembered
_known: dict[Any, Any] = {}


class QuickMeta(PlainMode):
    """Operations on meta tensors as quick as those on other small tensors.

    A meta tensor has a shape and no data: running on it shows which tensors a Function makes on a fixed
    device. Many of torch's meta kernels are written in Python, and the first in a process imports torch's
    compiler, for a second. The CPU's kernels give ones of the same kinds and shapes the same shape, which is
    remembered: it depends on nothing else. What they cannot tell is left to torch, errors among it.
    """

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # By identity: an operation is hashed in Python, which takes as long as the answer.
        key = (id(func), torch.get_default_dtype(), _kind(args), _kind(kwargs))
        if key not in _known and len(_known) < _MOST:
            _known[key] = _kinds_on_cpu(func, args, kwargs)
        known = _known.get(key)
        if known is None:
            return func(*args, **kwargs)
        if torch.Tag.inplace in func.tags:
            return args[0]
        return tree_map_only(_OnMeta, _OnMeta.tensor, known)


@dataclass(frozen=True)
class _OnMeta:
    """A tensor to be made."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype

    def tensor(self) -> Tensor:
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device="meta")


# What has no shape without numbers, and what would draw from the CPU's random numbers.
_UNTOLD = {
    torch.Tag.data_dependent_output,
    torch.Tag.dynamic_output_shape,
    torch.Tag.nondeterministic_seeded,
}


def _kinds_on_cpu(func: Any, args: Any, kwargs: Any) -> Any:
    """What an operation of torch on meta tensors alone gives; None where torch has to be asked."""
    shares = any(each.alias_info is not None for each in func._schema.returns)
    if (shares and torch.Tag.inplace not in func.tags) or _UNTOLD & {*func.tags}:
        return None
    given = [v for v in tree_iter((args, kwargs)) if isinstance(v, Tensor | torch.device)]
    devices = [v if isinstance(v, torch.device) else v.device for v in given if getattr(v, "shape", True)]  # fmt: skip
    if func.namespace != "aten" or not devices or any(each.type != "meta" for each in devices):
        return None
    try:
        result = func(*tree_map(_of_ones, args), **tree_map(_of_ones, kwargs))
    except Exception:  # the numbers may be why
        return None
    return tree_map_only(Tensor, lambda t: _OnMeta(t.shape, t.stride(), t.dtype), result)


def _of_ones(value: Any) -> Any:
    """The same on the CPU: ones, and no index beyond the first."""
    if isinstance(value, Tensor) and value.is_meta:
        size = value.untyped_storage().nbytes() // value.element_size()
        filled = torch.full((size,), float(value.is_floating_point()), dtype=value.dtype)
        return filled.as_strided(value.shape, value.stride(), value.storage_offset())
    return torch.device("cpu") if value == torch.device("meta") else value


def _kind(value: Any) -> Any:
    """What a result may depend on: of a tensor all but its numbers, of anything else what it is."""
    if isinstance(value, Tensor):
        return value.shape, value.stride(), value.dtype, value.device
    if isinstance(value, list | tuple):
        return tuple(map(_kind, value))
    if isinstance(value, dict):
        return tuple((name, _kind(each)) for name, each in value.items())
    return type(value), value
