"""The figures of lesson 03."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widgets.figure import palette, show


def sums_of_a_gradient(pictures: Mapping[str, Any]) -> None:
    """Matrices side by side, with their numbers. pictures: title → matrix."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(10, 2.8), layout="constrained")
    for ax, (title, values) in zip(axes, pictures.items(), strict=True):
        ax.imshow(values, cmap="cividis", vmin=-1, vmax=5)
        for (i, j), value in np.ndenumerate(np.asarray(values)):
            ax.text(
                j,
                i,
                f"{value:g}",
                ha="center",
                va="center",
                color="black" if value > 2.5 else "white",
            )
        ax.set(title=title, xlabel="column", ylabel="row")
        ax.set_xticks(range(values.shape[1]))
        ax.set_yticks(range(values.shape[0]))
    show(
        figure,
        alt="A 3 by 4 upstream gradient; the gradient of a row that was stretched downwards is its "
        "column sums 4, 2, 3, 2; that of a column that was stretched sideways its row sums 2, 5, 4.",
    )


def soft_maximum() -> None:
    """log(eᵗ + 1) beside max(t, 0), values and slopes."""
    import matplotlib.pyplot as plt

    t = np.linspace(-5, 5, 201)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    for ax, smooth, sharp in (
        (left, np.logaddexp(t, 0), t.clip(min=0)),
        (right, 1 / (1 + np.exp(-t)), (t > 0).astype(float)),
    ):
        ax.plot(t, smooth, color=palette.blue, label="log(eᵗ + e⁰)")
        ax.plot(t, sharp, "--", color=palette.vermillion, label="max(t, 0)")
        ax.set(xlabel="t")
        ax.legend()
    left.set(title="Value", ylabel="value of (t, 0)")
    right.set(title="Share of the gradient that t gets", ylabel="slope in t")
    show(
        figure,
        alt="Left: the logarithm of the sum of exponentials of t and 0 is a rounded version of "
        "max(t, 0). Right: its slope in t rises smoothly from 0 to 1, where that of the maximum "
        "jumps at 0.",
    )


def kept_by_stacks(depths: Sequence[int], masks: Sequence[float], outputs: Sequence[float]) -> None:
    """Kibibytes kept over the number of layers, with a mask and with the output."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    ax.plot(depths, masks, "o-", color=palette.blue, label="LinearReLU, keeps a mask")
    ax.plot(depths, outputs, "s--", color=palette.vermillion, label="F.linear and torch.relu")
    ax.set(title="A mask pays only at the end of the chain", xlabel="layers in the stack")
    ax.set(ylabel="kept for backward (KiB)")
    ax.legend()
    told = "; ".join(
        f"{n} layers {a:.0f} against {b:.0f} KiB"
        for n, a, b in zip(depths, masks, outputs, strict=True)
    )
    show(figure, alt=f"Kept memory over the number of stacked layers, mask against output: {told}.")


def digits(pictures: Sequence[Any], titles: Sequence[str], headline: str, alt: str) -> None:
    """Handwritten digits in a row. pictures: arrays (8, 8), 0 for paper and 1 for ink."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(10, 1.8), layout="constrained")
    for ax, picture, title in zip(axes, pictures, titles, strict=True):
        ax.imshow(picture, cmap="gray_r")
        ax.set_title(title, fontsize=8)
        ax.axis("off")
    figure.suptitle(headline)
    show(figure, alt=alt)


def losses_and_their_gaps(results: Mapping[str, tuple[Any, Any]]) -> None:
    """Loss curves of the first entry, and the differences of all. results: name → (yours, torch's)."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    yours, torchs = next(iter(results.values()))
    every = max(1, len(yours) // 25)
    left.semilogy(torchs, color=palette.orange, label="torch.nn")
    steps = range(0, len(yours), every)
    left.semilogy(steps, yours[::every], "o", mfc="none", color=palette.blue, label="yours")
    left.set(title="Training loss", xlabel="step", ylabel="cross-entropy (nats)")
    left.legend()
    looks = [("o", "blue"), ("x", "vermillion")]
    for (name, (mine, theirs)), (marker, colour) in zip(results.items(), looks, strict=True):
        gap = (mine - theirs).abs()
        gap[gap == 0] = np.nan  # exactly equal: no place on a log scale
        right.semilogy(gap, marker, markersize=3, color=palette[colour], label=name)
    title = "Yours minus torch.nn, where not equal"
    right.set(title=title, xlabel="step", ylabel="|difference| (nats)")
    right.legend()
    show(
        figure,
        alt="Left: the training loss falls; the circles of your network lie on the line of torch.nn. "
        "Right: the difference of the two losses on a log scale, small in float32 and far smaller "
        "in float64.",
    )


def ink_and_gain(ink: Any, gain: Any) -> None:
    """Mean ink of each pixel beside its learned gain. Both (8, 8)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, values, title in zip(
        axes, (ink, gain), ("mean ink", "learned gain (start: 1)"), strict=True
    ):
        image = ax.imshow(values, cmap="cividis")
        ax.set(title=title, xlabel="column", ylabel="row")
        figure.colorbar(image, ax=ax)
    show(
        figure,
        alt="Left: the mean ink of each of the 64 pixels, highest in the middle columns. Right: the "
        "learned gain of each pixel, 1 where there never is ink and different from 1 elsewhere.",
    )
