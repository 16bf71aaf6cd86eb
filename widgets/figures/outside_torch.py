"""The figures of lesson 11."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widgets.figure import palette, show

_LOOKS = (("o-", "blue"), ("s--", "vermillion"), ("^:", "green"))


def tangents(a: Any, y: Any, slopes: Any) -> None:
    """A curve with a tangent at each third of its points. All (n,): where, how high, how steep."""
    import matplotlib.pyplot as plt

    a, y, slopes = (np.asarray(each) for each in (a, y, slopes))
    figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
    ax.plot(a, y, color=palette.blue, lw=2)
    reach = 0.12 * (a.max() - a.min())
    for place in range(0, len(a), max(1, len(a) // 6)):
        run = np.array([-reach, reach]) / np.hypot(1, slopes[place])
        ax.plot(a[place] + run, y[place] + slopes[place] * run, color=palette.vermillion)
        ax.plot(a[place], y[place], "o", color=palette.vermillion)
    ax.set(
        title="The solution of y·eʸ = a, and the slopes of your backward", xlabel="a", ylabel="y"
    )
    show(
        figure,
        alt="A curve that rises from 0, ever more slowly. Short lines in another colour, "
        "the slopes that backward gives at seven of its points, touch it.",
    )


def errors_over_steps(steps: Sequence[int], errors: Mapping[str, Any]) -> None:
    """How far off something still is after each number of steps, on a log scale. errors: what → numbers."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    for (what, values), (look, colour) in zip(errors.items(), _LOOKS, strict=False):
        numbers = np.maximum(np.asarray(values), 1e-17)
        ax.semilogy(steps, numbers, look, color=palette[colour], mfc="none")
        place, side = ((-10, -14), "right") if colour == "blue" else ((8, 6), "left")
        ax.annotate(what, (steps[2], numbers[2]), place, textcoords="offset points", ha=side,
                    color=palette[colour])  # fmt: skip
    ax.set(
        title="Each step divides the error by about the same number",
        xlabel="steps",
        ylabel="largest error",
    )
    last = ", ".join(
        f"{what} {float(np.asarray(values)[-1]):.0e}" for what, values in errors.items()
    )
    show(
        figure,
        alt=f"Lines that fall on a log scale, from left to right, until rounding stops them. At the right end: {last}.",
    )


def shrinking_intervals(
    counts: Sequence[int], estimators: Mapping[str, tuple[Any, Any]], truth: float
) -> None:
    """Means with their intervals over the number of draws. estimators: name → (means, half widths), (n,) each."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    ax.axhline(truth, color=palette.black, lw=1)
    ax.annotate(
        "the exact gradient", (counts[-1], truth), (0, 8), textcoords="offset points", ha="right"
    )
    for shift, ((name, (means, widths)), (look, colour)) in enumerate(
        zip(estimators.items(), _LOOKS, strict=False)
    ):
        places = np.asarray(counts) * (1 + 0.12 * shift)
        ax.errorbar(
            places,
            np.asarray(means),
            np.asarray(widths),
            fmt=look[0],
            color=palette[colour],
            capsize=4,
            label=name,
        )
    ax.set(xscale="log", title="99 % intervals: one closes on the truth, one on something else",
           xlabel="draws", ylabel="mean of the estimates")  # fmt: skip
    ax.legend()
    told = "; ".join(
        f"{name}: {float(np.asarray(means)[-1]):.3f} ± {float(np.asarray(widths)[-1]):.3f}"
        for name, (means, widths) in estimators.items()
    )
    show(
        figure,
        alt=f"Intervals that grow shorter with more draws. The truth is {truth:.3f}; with most draws, {told}.",
    )


def kept_over_steps(steps: Sequence[int], kept: Mapping[str, Sequence[int]]) -> None:
    """Bytes kept for backward over the number of steps. kept: who → bytes for each number of steps."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
    for (who, sizes), (look, colour) in zip(kept.items(), _LOOKS, strict=False):
        values = np.asarray(sizes) / 1024
        ax.plot(steps, values, look, color=palette[colour])
        ax.annotate(who, (steps[-2], values[-2]), (0, 8), textcoords="offset points",
                    ha="right", color=palette[colour])  # fmt: skip
    ax.set(title="What one call keeps for backward", xlabel="steps", ylabel="KiB", ylim=(0, None))
    told = "; ".join(
        f"{who} {sizes[0]} bytes at {steps[0]} steps, {sizes[-1]} at {steps[-1]}"
        for who, sizes in kept.items()
    )
    show(figure, alt=f"Two lines over the number of steps: one rises, one is level. {told}.")
