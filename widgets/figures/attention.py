"""The figures of lesson 07."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widgets.figure import palette, show

# name of an attention → (colour, line)
_LOOKS = {
    "torch": ("black", "-"),
    "ScaledDotProductAttention": ("vermillion", "--"),
    "LeanAttention": ("blue", "-."),
    "FlashAttention": ("green", ":"),
}


def tiles(L: int, S: int, size: int) -> None:
    """A causal matrix of L queries by S keys in tiles: which are whole, masked, skipped."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    seen = np.arange(S) <= np.arange(L)[:, None]
    ax.imshow(seen, cmap="Blues", vmin=0, vmax=2, aspect="auto")
    for i in range(0, L, size):
        ax.axhline(i - 0.5, color=palette.black)
        for j in range(0, S, size):
            ax.axvline(j - 0.5, color=palette.black)
            words = (
                "skipped" if j > i + size - 1 else "masked" if min(j + size, S) - 1 > i else "whole"
            )
            middle = j + min(size, S - j) / 2 - 0.5, i + min(size, L - i) / 2 - 0.5
            ax.text(*middle, words, ha="center", va="center", fontsize=12)
    title = f"Tiles of {size} × {size}, causal, L = {L}, S = {S}"
    ax.set(title=title, xlabel="key", ylabel="query")
    show(
        figure,
        alt=f"A matrix of {L} queries by {S} keys cut into tiles of {size} by {size}; the last "
        "column of tiles is narrower. Tiles below the diagonal are whole, those on it are masked, "
        "those above are skipped.",
    )


def four_attentions(curves: Mapping[str, Any]) -> None:
    """Losses of the four trainings (steps,), and how far each is from torch's so far."""
    import matplotlib.pyplot as plt

    truth = np.asarray(curves["torch"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    worst = 0.0
    for name, losses in curves.items():
        colour, line = _LOOKS[name]
        thick = {"lw": 4, "alpha": 0.3} if name == "torch" else {}
        left.plot(losses, line, color=palette[colour], label=name, **thick)
        if name != "torch":
            apart = np.maximum.accumulate(np.abs(np.asarray(losses) - truth)).clip(min=1e-17)
            right.semilogy(apart, line, color=palette[colour])
            worst = max(worst, float(apart[-1]))
    left.set(title="Four attentions, one curve", xlabel="training step", ylabel="loss (nats)")
    right.set(title="Largest difference from torch", xlabel="training step", ylabel="so far (nats)")
    left.legend()
    show(
        figure,
        alt=f"Left: the loss falls from {truth[0]:.1f} to {truth[-1]:.1f}, the four curves on top of "
        f"each other. Right, on a log scale: no difference from torch's is above {worst:.0e}.",
    )


def where_heads_look(weights: Any, line: str) -> None:
    """Attention weights (head, character, character) over the characters of a line."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(weights), figsize=(11, 3.4), layout="constrained")
    letters = [c.replace(" ", "·") for c in line]
    for number, (ax, matrix) in enumerate(zip(axes, weights, strict=True), start=1):
        drawn = ax.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
        ax.set_xticks(range(len(line)), letters, fontsize=6)
        ax.set_yticks(range(len(line)), letters, fontsize=6)
        ax.set(title=f"head {number}", xlabel="looks at", ylabel="character")
    figure.colorbar(drawn, ax=axes, label="attention weight", shrink=0.8)
    show(
        figure,
        alt=f"{len(weights)} triangular matrices of attention weights over the characters of one "
        "line. The upper right half is 0 in all; below, each head has a pattern of its own.",
    )


def time_and_memory(
    lengths: Sequence[int], found: Mapping[tuple[str, str], Sequence[tuple[float, float]]]
) -> None:
    """found: (device, attention) → for each length (seconds, bytes at the peak)."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    grown = []
    for (device, name), measured in found.items():
        seconds, peaks = np.array(measured).T
        look = {"color": palette[_LOOKS[name][0]], "ls": "-" if device == "cpu" else "--"}
        left.loglog(lengths, 1000 * seconds, marker="s" if name == "torch" else "o", **look)
        label = f"{name}, {device.upper()}"
        right.loglog(
            lengths, peaks / 2**20, marker="s" if name == "torch" else "o", label=label, **look
        )
        grown.append(f"{label} {peaks[-1] / peaks[0]:.0f}")
    left.set(title="Time, forward and backward", ylabel="time (ms)")
    right.set(title="Peak memory", ylabel="peak (MiB)")
    for ax in (left, right):
        ax.set_xlabel("length L (tokens)")
        ax.set_xticks(lengths, [str(length) for length in lengths])
        ax.minorticks_off()
    right.legend(fontsize=8)
    show(
        figure,
        alt="Time and peak memory over the length, both axes logarithmic. From the shortest to the "
        f"longest the memory grows by these factors: {', '.join(grown)}.",
    )
