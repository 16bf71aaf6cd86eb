"""Watches what runs: operations of torch, storages that stay alive, lines and returns of the learner.

Counts and not seconds: the same code gives the same counts on every machine, whatever else it does.
"""

from __future__ import annotations

import contextlib
import linecache
import opcode
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import takewhile
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._library.custom_ops import _maybe_get_opdef
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from autograder.observation.snapshot import storage_of
from autograder.observation.syntax import codes_of


def name_of(operation: Any) -> str:
    """ "add" for aten::add.Tensor and for aten::add_.Tensor."""
    schema = getattr(operation, "_schema", None)  # what is counted beside operations has none
    name = str(schema.name if schema else operation).partition("::")[2]
    return name.removesuffix("_") or name


# What operations do with the numbers that they are given, by name. They show the same numbers in another shape;
VIEWS = frozenset(
    ["view", "_unsafe_view", "_reshape_alias", "as_strided", "alias", "detach", "lift_fresh", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "select", "slice", "diagonal", "unfold", "split", "split_with_sizes", "unbind"]
)  # fmt: skip
# they copy them, or look whether they are still the same;
COPIES = frozenset(["_to_copy", "to", "clone", "copy", "equal", "is_same_size"])
# they put them somewhere else;
MOVES = frozenset(
    ["_to_copy", "clone", "copy", "cat", "stack", "where", "masked_fill", "gather", "scatter", "index_select", "index_add", "constant_pad_nd", "repeat", "flip", "roll", "select_backward", "slice_backward", "diag_embed", "resolve_conj", "resolve_neg"]
)  # fmt: skip
# or they add them up, make others, pick or tell some: what they are given tells nothing of what they give.
AFFINE = VIEWS | COPIES | MOVES | frozenset(
    ["add", "sub", "rsub", "neg", "sum", "mean", "cumsum", "index", "index_put", "scatter_add", "diag", "tril", "triu", "im2col", "col2im", "masked_select", "nonzero", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_empty", "new_full", "full_like", "fill", "zero", "_local_scalar_dense", "isnan", "isinf", "isfinite", "any", "all", "argmax", "argmin", "eq", "ne", "bernoulli", "convolution_backward"]
)  # fmt: skip
# What a trace runs as well: copies, and the look whether they are still alike.
OF_A_TRACE = frozenset({"detach", "clone", "equal"})


class PlainMode(TorchDispatchMode):
    """A dispatch mode in which nothing is compiled, and ``run`` makes each operation run.

    torch wraps every operation of any other mode to keep torch.compile out, which takes as long as
    the operation itself on a small tensor.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError


class Framed(PlainMode):
    """A mode that knows who called an operation, up to whoever switched it on: that may be in the same file."""

    _outside: frozenset[FrameType] = frozenset()

    def __enter__(self) -> Any:
        self._outside = frozenset(upwards(sys._getframe(1)))
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self._outside = frozenset()
        super().__exit__(*error)

    def frames(self) -> Iterator[FrameType]:
        """The frames around an operation, the innermost first."""
        return takewhile(lambda frame: frame not in self._outside, upwards(sys._getframe(1)))


def upwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


class Watching(PlainMode):
    """How often each operation ran; ``saw`` is called with each and the tensors it gave.

    What runs inside of a custom operator is seen as well, also by the mode ``beside`` this one.
    """

    def __init__(self, beside: AbstractContextManager[Any] | None = None) -> None:
        super().__init__()
        self.operations: Counter[Any] = Counter()
        self.recorded = False  # whether one ran while autograd was recording
        self.beside = beside or contextlib.nullcontext()

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        """Nothing more than counting."""

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operator = _maybe_get_opdef(func)
        if operator is None or any(isinstance(a, Tensor) and a.is_meta for a in args):
            result = func(*args, **kwargs)
        else:
            with self.beside, self:  # torch switched them off for its own work
                result = operator._init_fn(*args, **kwargs)
        self.operations[func] += 1
        # A trace copies what is saved, and torch detaches it.
        self.recorded |= torch.is_grad_enabled() and name_of(func) not in OF_A_TRACE
        if isinstance(result, Tensor):
            self.saw(func, (result,))
        else:
            self.saw(func, [value for value in tree_iter(result) if isinstance(value, Tensor)])
        return result


def work_of(operations: Mapping[Any, int]) -> int:
    """The number of operations, of which it is known how often each ran; without those of a trace.

    So the same is counted where something is traced and where it is not.
    """
    return sum(times for each, times in operations.items() if name_of(each) not in OF_A_TRACE)


class Made(NamedTuple):
    """A storage that an operation made, and the first tensor in it. ``size`` is in bytes."""

    storage: int
    reference: StorageWeakRef
    size: int
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def elements(self) -> int:
        """Places in memory, of which an expanded tensor has few."""
        return self.size // self.dtype.itemsize


IMAGINARY = "imaginary"


def note_imaginary(seen: Watching, tensor: Tensor) -> None:
    """Count a result with an imaginary part as an operation of that name: lambertw gives real numbers as complex ones."""
    if tensor.dtype.is_complex and not tensor.is_meta:
        with torch.utils._python_dispatch._disable_current_modes():
            if tensor.detach().imag.any():
                seen.operations[IMAGINARY] += 1


class Storages(Watching):
    """Weak references to every storage that an operation made while the mode was on."""

    def __init__(self, beside: AbstractContextManager[Any] | None = None) -> None:
        super().__init__(beside)
        self._made: dict[int, Made] = {}

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        name = name_of(operation)
        computed = name not in VIEWS and "empty" not in name  # and not what lay in that memory
        for tensor in tensors:
            if computed:
                note_imaginary(self, tensor)
            self.know(tensor)

    def know(self, tensor: Tensor) -> None:
        """Take in a tensor's storage."""
        key, size = storage_of(tensor)
        if size and key not in self._made:  # a key that is referred to does not come back
            reference = StorageWeakRef(tensor.untyped_storage())
            self._made[key] = Made(key, reference, size, tuple(tensor.shape), tensor.dtype)

    @property
    def largest(self) -> Made | None:
        """The one with the most elements; None where nothing was made."""
        return max(self._made.values(), key=lambda made: made.elements, default=None)

    @property
    def dtypes(self) -> frozenset[torch.dtype]:
        """Those of the tensors that were made."""
        return frozenset(made.dtype for made in self._made.values())

    def known(self, tensor: Tensor) -> bool:
        """Whether a tensor lies in one of these storages."""
        return storage_of(tensor)[0] in self._made

    def left(self, known: Container[int]) -> list[Made]:
        """Those that are still alive, but for ``known`` ones."""
        made = self._made.items()
        return [each for key, each in made if key not in known and not each.reference.expired()]

    def alive(self, *without: Tensor) -> int:
        """Bytes of the storages that are still alive, those of ``without`` left out."""
        return sum(made.size for made in self.left({storage_of(t)[0] for t in without}))


# ---- Python's own lines ----------------------------------------------------------------------
@contextlib.contextmanager
def traced(
    wanted: Callable[[CodeType], bool], note: Callable[[FrameType, str], None], lines: bool
) -> Iterator[None]:
    """Call ``note`` with each event of the frames that run wanted code; without lines, of calls alone."""

    def inside(frame: FrameType, event: str, argument: Any) -> Any:
        note(frame, event)
        return inside

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if not wanted(frame.f_code):
            return None
        frame.f_trace_lines = lines
        return inside

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


@dataclass
class Work:
    """What ran: operations as torch's dispatcher counts them, lines with their repetitions.

    places  how often each line ran, by file and number
    """

    ran: Watching = field(default_factory=Watching)
    places: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def operations(self) -> int:
        return self.ran.operations.total()

    @property
    def lines(self) -> int:
        return self.places.total()


@contextlib.contextmanager
def counted(files: frozenset[str] = frozenset()) -> Iterator[Work]:
    """Count what runs in the block. Lines are counted in code of the given files only."""
    work = Work()

    def note(frame: FrameType, event: str) -> None:
        work.places[frame.f_code.co_filename, frame.f_lineno] += event == "line"

    with traced(lambda code: code.co_filename in files, note, True), work.ran:
        yield work


def repeated_line(few: Work, many: Work) -> tuple[int, str, int, int] | None:
    """(number, text, times, times) of the line that runs so much more often in the second; None for none."""
    grown = many.places - few.places
    if not grown:
        return None
    most = max(grown.values())
    file, number = min(place for place, times in grown.items() if times == most)
    text = linecache.getline(file, number).strip()[:200]
    return number, text, few.places[file, number], many.places[file, number]


_RETURNS = [opcode.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opcode.opmap]
METHODS = ("forward", "backward", "vjp", "setup_context", "jvp")


def with_several_returns(target: Any) -> frozenset[CodeType]:
    """The code of a function, or of a class's methods, that can end in more than one place."""
    values = [getattr(target, name, None) for name in METHODS]
    found = {code for value in (target, *values) for code in codes_of(value)}
    return frozenset(c for c in found if sum(map(c.co_code[::2].count, _RETURNS)) > 1)


@contextlib.contextmanager
def last_returns(codes: frozenset[CodeType]) -> Iterator[dict[str, int]]:
    """By function name, the line in which it last ended in the block. Costs nothing without codes."""
    ended: dict[str, int] = {}

    def note(frame: FrameType, event: str) -> None:
        if event == "return":
            ended[frame.f_code.co_name] = frame.f_lineno

    with traced(codes.__contains__, note, False) if codes else contextlib.nullcontext():
        yield ended
