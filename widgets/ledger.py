"""saved_ledger: what a forward keeps for backward, who keeps it, and until when.

"Until when" is measured on a run of its own: what a node holds is looked at after backward, and
what a ctx attribute holds after the graph was dropped, before and after Python's garbage collector.
"""

import gc
import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from autograder.reporting.display import table
from widgets.runs import callable_and_name, copies, counting, parameters
from widgets.trace import storage_of, tensors_within
from widgets.wording import size, stopped
from widgets.xray_graph import spoken_name

BACKWARD = "backward has used it"
GRAPH = "the graph is dropped"
COLLECTOR = "Python's garbage collector runs"
LONGER = "somebody else lets go of it"


@dataclass(frozen=True)
class Entry:
    """One tensor that is kept. `counted` bytes are those that no entry above, no input and no parameter has."""

    keeper: str
    held_as: str
    what: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    counted: int
    until: str


@dataclass(frozen=True)
class Ledger:
    """Shows the entries as text and as a table; `total` is the bytes kept beyond the inputs."""

    name: str
    entries: tuple[Entry, ...]
    error: str = ""

    @property
    def total(self) -> int:
        return sum(entry.counted for entry in self.entries)

    @property
    def summary(self) -> str:
        """The sentence above the table."""
        if self.error:
            return f"{self.name} {self.error}"
        if not self.entries:
            return f"{self.name} keeps no tensor for backward."
        return f"{self.name} keeps {size(self.total)} for backward, besides its inputs{self._and_parameters}."

    @property
    def _and_parameters(self) -> str:
        return " and parameters" if any(e.what == "a parameter" for e in self.entries) else ""

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for e in self.entries:
            shape = "(" + ", ".join(map(str, e.shape)) + ")"
            own = size(e.counted) if e.counted else "nothing"
            yield e.keeper, e.held_as, e.what, f"{shape} {e.dtype}", size(e.bytes), own, e.until

    def tray(self, most: int) -> str:
        """A card with a bar for each entry, as long as its extra bytes; `most` fills the card."""
        bars = "".join(
            f"<li><strong>{html.escape(e.keeper)}</strong> {html.escape(e.held_as)}, "
            f"{html.escape(e.what)}: {size(e.counted) if e.counted else 'nothing extra'}"
            f'<div style="width:{100 * e.counted / max(1, most):.1f}%;height:0.7em;'
            f'background:{BAR};border-left:2px solid currentColor"></div></li>'
            for e in self.entries
        )
        return (
            '<div style="flex:1 1 20em;border:1px solid currentColor;border-radius:6px;padding:0.7em 1em">'
            f'<p style="margin:0">{html.escape(self.summary)}</p><ul>{bars}</ul></div>'
        )

    def __repr__(self) -> str:
        rows = [HEAD, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        return "\n".join([self.summary, *(lines if self.entries else [])])

    def _repr_html_(self) -> str:
        said = f"<p>{html.escape(self.summary)}</p>"
        if not self.entries:
            return said
        return said + table(HEAD, self._rows(), f"What {self.name} keeps for backward")


@dataclass(frozen=True)
class Ledgers:
    """Several ledgers side by side: what is kept is drawn on one scale, and the tables follow."""

    every: tuple[Ledger, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.every))

    def _repr_html_(self) -> str:
        most = max((e.counted for one in self.every for e in one.entries), default=0)
        trays = "".join(one.tray(most) for one in self.every)
        tables = "".join(one._repr_html_() for one in self.every)
        return (
            f'<div style="display:flex;flex-wrap:wrap;gap:1em">{trays}</div>'
            '<details><summary data-lm-suppress-shortcuts="true">Shapes, dtypes, and until when'
            f"</summary>{tables}</details>"
        )


HEAD = ("kept by", "as", "is", "shape, dtype", "size", "extra", "until")
BAR = "color-mix(in srgb, #56b4e9 60%, var(--jp-layout-color1, Canvas))"


def saved_ledger(fn: Any, *inputs: Any) -> Any:
    """A table of what fn(*inputs) keeps for backward.

    Args:
        fn: a Function class, its apply, or any function of tensors; or a list of them, which are
            then shown side by side, their bytes on one scale.
        inputs: its arguments; they are copied. Where no tensor requires a gradient, all
            floating-point ones do.

    What fn raises is said in the ledger.
    """
    if isinstance(fn, list | tuple):
        return Ledgers(tuple(saved_ledger(one, *inputs) for one in fn))
    function, name = callable_and_name(fn)
    names = parameters(function)
    try:
        return Ledger(name, _entries(function, inputs, names))
    except Exception as error:
        return Ledger(name, (), stopped(error, name))


def _entries(
    function: Callable[..., Any], inputs: Sequence[Any], names: Sequence[str]
) -> tuple[Entry, ...]:
    arguments = copies(inputs)
    known = {
        storage_of(value)[0]: f"the input {names[i]}" if i < len(names) else f"input {i + 1}"
        for i, value in enumerate(arguments)
        if isinstance(value, Tensor)
    }
    outputs, nodes = _forward(function, arguments)
    for leaf in (node.variable for node in nodes if hasattr(node, "variable")):
        known.setdefault(storage_of(leaf)[0], "a parameter")
    free = set(known)  # somebody has inputs and parameters anyway
    for position, value in enumerate(outputs):
        words = "the output" if len(outputs) == 1 else f"the output {position}"
        known.setdefault(storage_of(value)[0], words)
    until = _measured(function, inputs)
    made: list[Entry] = []
    for position, (node, held_as, tensor) in enumerate(_held(nodes)):
        storage, room = storage_of(tensor)
        what = known.get(storage, "made in between")
        counted = 0 if storage in free else room
        free.add(storage)
        made.append(
            Entry(
                spoken_name(node.name()), held_as, what, tuple(tensor.shape),
                str(tensor.dtype).removeprefix("torch."), tensor.numel() * tensor.element_size(),
                counted, until[position] if position < len(until) else "",
            )
        )  # fmt: skip
    return tuple(made)


def _forward(
    function: Callable[..., Any], arguments: Sequence[Any]
) -> tuple[list[Tensor], list[Any]]:
    """The outputs that are tensors, and all nodes behind them, those of the beginning first."""
    with torch.enable_grad():
        output = function(*arguments)
    every = output if isinstance(output, tuple | list) else (output,)
    outputs = [v for v in every if isinstance(v, Tensor)]
    found: dict[int, Any] = {}
    waiting = [v.grad_fn for v in outputs]
    while waiting:
        node = waiting.pop(0)
        if node is not None and id(node) not in found:
            found[id(node)] = node
            waiting += [after for after, _ in node.next_functions]
    return outputs, list(found.values())[::-1]


def _held(nodes: Sequence[Any]) -> Iterator[tuple[Any, str, Tensor]]:
    """(node, what it is held as, the tensor) for all that nodes save and all that hides on a ctx."""
    for node in nodes:
        if hasattr(node, "_forward_cls"):
            for i, tensor in enumerate(node.saved_tensors):
                if isinstance(tensor, Tensor):
                    yield node, f"saved[{i}]", tensor
            yield from _held_on_ctx([node])
        else:
            for name in dir(node):
                if name.startswith("_saved_"):
                    for path, tensor in tensors_within(getattr(node, name), name[7:]):
                        yield node, path, tensor


def _measured(function: Callable[..., Any], inputs: Sequence[Any]) -> list[str]:
    """Until when each tensor that `_held` finds is held, in its order, from a run of its own."""
    collecting = gc.isenabled()
    gc.disable()  # else a cycle may be collected before we look
    try:
        return _lives(function, copies(inputs))
    finally:
        if collecting:
            gc.enable()


def _lives(function: Callable[..., Any], arguments: list[Any]) -> list[str]:
    outputs, nodes = _forward(function, arguments)
    arguments.clear()
    held = list(_held(nodes))
    saved = [(node, path) for node, path, _ in held]
    storages = [StorageWeakRef(tensor.untyped_storage()) for _, _, tensor in held]
    del held
    ends = [value for value in outputs if value.grad_fn is not None]
    gradients = [counting(value) for value in ends]
    torch.autograd.backward(ends, gradients)
    ends.clear()
    on_ctx = {(id(node), path) for node, path, _ in _held_on_ctx(nodes)}
    after_backward = [(id(node), path) in on_ctx or _still_saved(node) for node, path in saved]
    del saved
    outputs.clear()
    nodes.clear()
    gradients.clear()
    after_graph = [not storage.expired() for storage in storages]
    gc.collect()
    after_collector = [not storage.expired() for storage in storages]
    return [
        BACKWARD if not backward else LONGER if collector else COLLECTOR if graph else GRAPH
        for backward, graph, collector in zip(
            after_backward, after_graph, after_collector, strict=True
        )
    ]


def _held_on_ctx(nodes: Sequence[Any]) -> Iterator[tuple[Any, str, Tensor]]:
    for node in nodes:
        if hasattr(node, "_forward_cls"):
            for name, value in vars(node).items():
                for path, tensor in tensors_within(value, f"ctx.{name}"):
                    yield node, path, tensor


def _still_saved(node: Any) -> bool:
    """Whether a node still has what it saved; torch raises RuntimeError for what it has freed."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    try:
        return (hasattr(node, "saved_tensors") and bool(node.saved_tensors)) or any(
            isinstance(getattr(node, name), Tensor) for name in names
        )
    except RuntimeError:
        return False
