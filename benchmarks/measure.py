"""Time, kept bytes and peak memory of one forward and backward pass.

Times of several candidates are taken in turns, round after round, so that what else the machine does
meets all of them; a ratio is the median over the rounds of the ratio within a round.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.profiler import profile

_MARKS = re.compile(r"<!-- counted -->.*<!-- end -->", re.DOTALL)
ROUND_S = 0.01  # each candidate runs at least this long in a round


@dataclass(frozen=True)
class Pass:
    """A call whose first output is differentiated by ``.backward`` where it can be."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    leaves: tuple[Tensor, ...]
    upstream: Tensor | None

    def run(self) -> Tensor:
        """One forward and backward; the gradients lie in the leaves' .grad afterwards."""
        for leaf in self.leaves:
            leaf.grad = None
        output = first_output(self.function(*self.args))
        if self.upstream is not None:
            output.backward(self.upstream)
        return output.detach()

    @property
    def device(self) -> torch.device:
        return self.leaves[0].device


def first_output(result: Any) -> Tensor:
    """The tensor itself, or the first of a tuple."""
    return result[0] if isinstance(result, tuple) else result


def make_pass(
    function: Callable[..., Any], args: tuple[Any, ...], leaves: tuple[Tensor, ...]
) -> Pass:
    """The pass with an upstream gradient of its output's shape, drawn once, the same for all."""
    output = first_output(function(*args))
    upstream = None
    if output.requires_grad:
        generator = torch.Generator().manual_seed(1)
        upstream = torch.randn(output.shape, generator=generator).to(output)
    return Pass(function, args, leaves, upstream)


def round_times(passes: list[Pass], rounds: int) -> list[list[float]]:
    """Seconds of one pass: a list a round, with an entry for each of the passes."""
    repeats = []
    for one in passes:
        _timed(one, 1)  # the first pass pays for caches and allocations
        repeats.append(max(1, round(ROUND_S / max(_timed(one, 1), 1e-6))))
    found = []
    for number in range(rounds):
        seconds = [0.0] * len(passes)
        for i in range(len(passes)):
            i = (i + number) % len(passes)  # nobody always goes first
            seconds[i] = _timed(passes[i], repeats[i]) / repeats[i]
        found.append(seconds)
    return found


def median_ratio(rounds: list[list[float]], over: int, under: int) -> float:
    """The median over the rounds of the time of one candidate divided by that of another."""
    return statistics.median(seconds[over] / seconds[under] for seconds in rounds)


def kept_bytes(one: Pass) -> int:
    """Bytes of distinct storage that autograd keeps for backward, inputs and parameters included."""
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        # The detached tensor keeps the storage alive, so no other one can get its address.
        kept[tensor.untyped_storage().data_ptr()] = tensor.detach()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = one.function(*one.args)
    del result
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def peak_bytes(one: Pass) -> int:
    """The most bytes in use at one moment of a pass, beyond what was in use before it.

    On the CPU torch's profiler reports every allocation, those inside an operation included.
    """
    one.run()
    for leaf in one.leaves:
        leaf.grad = None
    if one.device.type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        one.run()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with _quiet_profiler(), profile(profile_memory=True, use_kineto=True) as recorded:
        one.run()
    events = [e for e in recorded.kineto_results.events() if e.name() == "[memory]"]
    in_use = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        in_use += event.nbytes()
        peak = max(peak, in_use)
    return peak


@contextlib.contextmanager
def _quiet_profiler() -> Iterator[None]:
    """The profiler announces itself on file descriptor 2; nothing else is hidden that matters."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _timed(one: Pass, repeats: int) -> float:
    _wait(one)
    start = time.perf_counter()
    for _ in range(repeats):
        one.run()
    _wait(one)
    return time.perf_counter() - start


def _wait(one: Pass) -> None:
    if one.device.type == "cuda":
        torch.cuda.synchronize()


def write_counted(page: Path, tables: str) -> None:
    """Put tables between the marks of a page of docs, under when and on what they were counted."""
    version = torch.__version__.partition("+")[0]
    when = f"Counted {date.today():%d %B %Y} on torch {version}, Python {platform.python_version()}, {os.cpu_count()} cores."
    made = f"<!-- counted -->\n{when}\n\n{tables}\n<!-- end -->"
    page.write_text(_MARKS.sub(lambda _: made, page.read_text(encoding="utf-8")), encoding="utf-8")
