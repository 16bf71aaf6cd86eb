"""Dispatch modes that look at each operation of torch as it runs, and change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


class PlainMode(TorchDispatchMode):
    """A dispatch mode in which nothing is compiled.

    torch wraps every operation of any other mode to keep torch.compile out, which takes as long as
    the operation itself on a small tensor.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Watching(PlainMode):
    """Calls ``saw`` with each operation and the tensors it gave, while the mode is on."""

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        raise NotImplementedError

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        if isinstance(result, Tensor):
            self.saw(func, (result,))
        else:
            self.saw(func, [value for value in tree_iter(result) if isinstance(value, Tensor)])
        return result
