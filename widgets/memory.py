"""memory_timeline: the bytes alive over a forward and a backward, without and with checkpointing.

Measured, not estimated: every tensor that an operation makes is counted while its storage lives.
Storages that were there before (weights, the input) are not counted.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from torch.utils.checkpoint import checkpoint

from autograder.contract.friendly_error import refusal
from widgets.explorer import Curve, Exploration, Explorer, Frame, Panel, Sweep, spanned
from widgets.wording import size, stopped

KIB = 1024


@dataclass(frozen=True)
class Timeline:
    """Bytes alive after each operation; `turn` is how many operations the forward and loss took."""

    live: tuple[int, ...]
    turn: int

    @property
    def peak(self) -> int:
        return max(self.live, default=0)

    @property
    def at_turn(self) -> int:
        """Bytes alive between forward and backward."""
        return self.live[self.turn - 1]

    @property
    def steps_back(self) -> int:
        """How many operations backward took, recomputation included."""
        return len(self.live) - self.turn


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of the storages that operations make, as long as they live."""

    def __init__(self, known: Sequence[Tensor]) -> None:
        super().__init__()
        self.live = 0
        self.timeline: list[int] = []
        self._ignored = {tensor.untyped_storage()._cdata for tensor in known}
        self._seen: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in tree_iter(result):
            if isinstance(value, Tensor):
                self._count(value.untyped_storage())
        self.timeline.append(self.live)
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._seen or key in self._ignored or not storage.nbytes():
            return
        self._seen.add(key)
        self.live += storage.nbytes()
        weakref.finalize(storage, self._forget, key, storage.nbytes())

    def _forget(self, key: int, count: int) -> None:
        self._seen.discard(key)
        self.live -= count


def memory_timeline(
    blocks: Sequence[nn.Module] | None = None,
    x: Tensor | None = None,
    segments: Sequence[int] | None = None,
    by: Callable[[nn.Sequential, int, Tensor], Tensor] | None = None,
) -> Explorer:
    """Slide the number of checkpointed segments: bytes alive over a forward and a backward.

    Args:
        blocks: modules that are applied one after the other; by default twelve of Linear and Tanh.
        x: the input of the first block; by default 256 rows for those twelve. The loss is the mean
            of the squared output.
        segments: the numbers of segments the slider offers besides none; by default those that
            divide the number of blocks.
        by: what runs the blocks in checkpointed segments, called as by(blocks, segments, x), such as
            a `checkpoint_sequential` of your own; torch's checkpoint by default. What it raises is
            shown.

    Raises:
        ValueError: without a block, without x for blocks of one's own, or for a number of segments
            that is not between 1 and the number of blocks.
    """
    if blocks is None:
        blocks, x = _default_blocks(), torch.ones(256, 64) if x is None else x
    blocks = list(blocks)
    if not blocks or x is None:
        raise refusal("memory_timeline needs at least one block, and the input x of the first.")
    count = len(blocks)
    wanted = (
        list(segments)
        if segments is not None
        else [n for n in range(1, count + 1) if count % n == 0]
    )
    for number in wanted:
        if not 1 <= number <= count:
            raise refusal(f"{count} blocks cannot be cut into {number} segments.")
    measured, said = {0: measure(blocks, x, 0)}, ""
    try:
        measured |= {number: measure(blocks, x, number, by or _by_torch) for number in wanted}
    except Exception as error:
        if by is None:
            raise
        name = getattr(by, "__name__", "by")
        said = f"{name} {stopped(error, name)}"
        error.__traceback__ = None  # it would keep tensors alive
    sweep = _unfinished(count, measured[0], said) if said else _sweep(count, measured)
    title = "Bytes alive over a forward and a backward"
    return Explorer(Exploration(title, "Network", "Segments", (sweep,)))


def measure(
    blocks: Sequence[nn.Module],
    x: Tensor,
    segments: int,
    by: Callable[[nn.Sequential, int, Tensor], Tensor] | None = None,
) -> Timeline:
    """Bytes alive over one forward and backward with that many checkpointed segments (0: none).

    The gradients that the parameters have are put back afterwards.
    """
    run = by or _by_torch
    layers = nn.Sequential(*blocks)
    parameters = [p for block in blocks for p in block.parameters()]
    gradients = [p.grad for p in parameters]
    leaf = x.detach().clone().requires_grad_()
    for parameter in parameters:
        parameter.grad = None
    mode = LiveBytes([leaf, *parameters, *(b for block in blocks for b in block.buffers())])
    try:
        with torch.enable_grad(), mode:
            output = run(layers, segments, leaf) if segments else layers(leaf)
            loss = output.square().mean()
            turn = len(mode.timeline)
            loss.backward()
    finally:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
    return Timeline(tuple(mode.timeline), turn)


def _default_blocks() -> list[nn.Module]:
    with torch.random.fork_rng(devices=[]):  # else the learner's next random numbers would change
        return [nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(12)]


def _by_torch(layers: nn.Sequential, segments: int, x: Tensor) -> Tensor:
    bounds = [round(i * len(layers) / segments) for i in range(segments + 1)]
    for start, end in pairwise(bounds):
        x = checkpoint(layers[start:end], x, use_reentrant=False)
    return x


def _sweep(count: int, measured: dict[int, Timeline]) -> Sweep:
    plain = measured[0]
    longest = max(len(t.live) for t in measured.values())
    highest = max(t.peak for t in measured.values()) / KIB
    low, high = spanned([0.0, highest])
    panel = Panel(
        "Memory over one training step",
        "operations of torch so far",
        "KiB alive",
        (0.0, float(longest)),
        (low, high),
        (_curve("without checkpointing", plain, 1),),
    )
    frames = tuple(_frame(n, t, plain, count, (low, high)) for n, t in measured.items())
    least = min(measured, key=lambda n: measured[n].peak)
    return Sweep(
        name=f"{count} blocks",
        frames=frames,
        status="after forward {1} are alive, at the peak {2}: {5} of the peak without "
        "checkpointing. Backward takes {3} operations of torch, {6} more than without.",
        head=("what", "without", "here"),
        rows=(
            ("alive between forward and backward", size(plain.at_turn), "{1}"),
            ("peak", size(plain.peak), "{2}"),
            ("operations forward, loss included", str(plain.turn), "{4}"),
            ("operations backward, recomputed ones included", str(plain.steps_back), "{3}"),
        ),
        panels=(panel, _valley(measured, (low, high))),
        start=list(measured).index(least),
    )


def _valley(measured: dict[int, Timeline], up: tuple[float, float]) -> Panel:
    """The peak over the number of segments; 0 is without checkpointing."""
    points = tuple((float(n), round(t.peak / KIB, 1)) for n, t in sorted(measured.items()))
    across = (-0.5, max(measured) + 0.5)
    curve = Curve("the peak", (points,), 2)
    return Panel(
        "The peak over the number of segments", "segments (0: none)", "KiB", across, up, (curve,)
    )


def _unfinished(count: int, plain: Timeline, said: str) -> Sweep:
    """Where the learner's own way to run segments stopped: the network without checkpoints, and why."""
    sweep = _sweep(count, {0: plain})
    return replace(sweep, status=said.replace("{", "("))


def _frame(
    segments: int, timeline: Timeline, plain: Timeline, count: int, up: tuple[float, float]
) -> Frame:
    peak = timeline.live.index(timeline.peak)
    place = "no checkpoints" if not segments else f"{segments} segment{'s' if segments > 1 else ''}"
    turn = float(timeline.turn)
    return Frame(
        place=place,
        words=(
            str(segments),
            size(timeline.at_turn),
            size(timeline.peak),
            str(timeline.steps_back),
            str(timeline.turn),
            f"{100 * timeline.peak / max(1, plain.peak):.0f} %",
            str(timeline.steps_back - plain.steps_back),
        ),
        marks=(
            (0, 0, peak + 1.0, timeline.peak / KIB),
            (1, 0, float(segments), timeline.peak / KIB),
        ),
        lines=((0, turn, up[0], turn, up[1]),),
        curves=((0, _curve(f"here: {place} (● the peak, | where backward begins)", timeline, 0)),),
    )


def _curve(label: str, timeline: Timeline, style: int) -> Curve:
    points = tuple((float(i), round(b / KIB, 1)) for i, b in enumerate((0, *timeline.live)))
    return Curve(label, (points,), style)
