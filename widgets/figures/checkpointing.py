"""The figures of lesson 06."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widgets.figure import palette, show


def kept_over_batch(batches: Sequence[int], kept: Sequence[float], parameters: float) -> None:
    """What is kept for backward over the batch size, beside all parameters (MiB)."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    ax.plot(batches, kept, "o-", color=palette.blue)
    ax.axhline(parameters, ls="--", color=palette.vermillion)
    ax.text(batches[-1], kept[-1], "kept for backward  ", ha="right", va="center")
    ax.text(batches[-1], parameters, "all parameters", ha="right", va="bottom")
    ax.set(title="Eight layers of width 64", xlabel="batch size (samples)", ylabel="memory (MiB)")
    show(
        figure,
        alt=f"What is kept for backward grows in a straight line to {kept[-1]:.1f} MiB at "
        f"{batches[-1]} samples. The parameters need {parameters:.2f} MiB at every size.",
    )


def square_root_law(
    segments: Sequence[int],
    measured: Sequence[tuple[float, ...]],
    plain: tuple[float, ...],
    depth: int,
) -> None:
    """Peak and time of a step over the number of segments.

    measured, plain: (peak in inputs of a layer, seconds, …), with segments and without checkpoints.
    """
    import matplotlib.pyplot as plt

    peaks, seconds = np.array([each[:2] for each in measured]).T
    cuts = np.array(segments)
    offset = float(np.mean(peaks - (cuts + 2 * depth / cuts)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    s = np.linspace(1, depth, 200)
    curve = f"s + 2n/s + {offset:.1f}"
    left.plot(s, s + 2 * depth / s + offset, color=palette.black, label=curve)
    for ax, values, without in ((left, peaks, plain[0]), (right, 1e3 * seconds, 1e3 * plain[1])):
        ax.plot(cuts, values, "o", color=palette.blue, label="yours")
        ax.axhline(without, ls="--", color=palette.vermillion, label="no checkpoint")
        ax.set(xlabel="segments", xscale="log", ylim=(0, 1.3 * max(*values, without)))
        ax.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        ax.minorticks_off()
        ax.legend(loc="upper center" if ax is left else "lower center")
    left.set(title="Peak memory", ylabel="peak (inputs of a layer)")
    right.set(title="Time of a training step", ylabel="time (ms)")
    best = int(peaks.argmin())
    show(
        figure,
        alt=f"Left: the peak over the segments is a valley with its floor of {peaks[best]:.0f} inputs "
        f"at {cuts[best]} segments, against {plain[0]:.0f} without checkpoints; the curve s + 2n/s "
        f"runs through the points. Right: a step takes {1e3 * seconds.min():.0f} to "
        f"{1e3 * seconds.max():.0f} ms, without checkpoints {1e3 * plain[1]:.0f} ms.",
    )


def trainings(histories: Mapping[str, Any]) -> None:
    """Losses of some trainings (steps,) from the same weights; the first is the one to compare with."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
    looks = (("vermillion", "-", 5), ("black", "--", 1.5), ("blue", ":", 2), ("green", "-.", 1))
    for (name, losses), (colour, line, width) in zip(histories.items(), looks, strict=True):
        ax.plot(losses, line, color=palette[colour], lw=width, label=name)
    ax.set(title="32 layers on the digits", xlabel="training step", ylabel="loss (cross-entropy)")
    ax.legend()
    first, *others = (np.asarray(losses) for losses in histories.values())
    apart = max(float(np.abs(losses - first).max()) for losses in others)
    show(
        figure,
        alt=f"The loss of {len(histories)} trainings falls from {first[0]:.2f} to {first[-1]:.2f}; at "
        f"no step do they lie further apart than {apart:.2g}.",
    )
