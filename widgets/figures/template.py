"""The figures of lesson 01."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widgets.figure import palette, show, show_drawing


def anatomy() -> None:
    """What travels between forward, ctx and backward."""
    svg = (Path(__file__).parent / "anatomy.svg").read_text(encoding="utf-8")
    show_drawing(
        svg,
        "x goes into forward, which saves to ctx and gives y. grad_output comes back into "
        "backward, which reads ctx and gives the gradient of x.",
        width=760,
    )


def jacobians(matrices: Mapping[str, Any]) -> None:
    """Jacobians side by side, with their numbers. matrices: title → matrix (m, n)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(matrices), figsize=(9, 4), layout="constrained")
    for ax, (title, matrix) in zip(axes, matrices.items(), strict=True):
        ax.imshow(matrix, cmap="RdBu", vmin=-1.5, vmax=1.5)
        for (i, j), value in np.ndenumerate(np.asarray(matrix)):
            ax.text(j, i, f"{value + 0.0:.2f}", ha="center", va="center")
        ax.set(title=title, xlabel="input j", ylabel="output i")
    show(
        figure,
        alt="Two 5 by 5 Jacobians. That of sin has the cosines of x on its diagonal and zeros "
        "elsewhere. That of cumsum has ones on and below the diagonal, zeros above.",
    )


def kink() -> None:
    """max(x, 0) with three lines that touch it at its kink."""
    import matplotlib.pyplot as plt

    t = np.linspace(-1, 1, 201)
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for slope, words in ((0.25, "¼"), (0.5, "½"), (0.75, "¾")):
        ax.plot(t, slope * t, color=palette.purple, ls="--")
        ax.text(1.02, slope, f"slope {words}", va="center")
    ax.plot(t, t.clip(min=0), color=palette.blue, lw=3)
    ax.text(1.02, 1, "max(x, 0)", va="center", color=palette.blue)
    ax.plot(0, 0, "o", color=palette.black)
    ax.set(title="Which slope at the kink?", xlabel="x", ylabel="y", xlim=(-1, 1.25))
    show(
        figure,
        alt="The curve max(x, 0) with three dashed lines through its kink at 0, of slopes one "
        "quarter, one half and three quarters. Each stays on or below the curve.",
    )


def secants(point: float, step: float) -> None:
    """Central and one-sided difference of sin beside its tangent."""
    import matplotlib.pyplot as plt

    t = np.linspace(-0.2, 1.5, 200)
    figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
    ax.plot(t, np.sin(t), color=palette.black, lw=3, label="sin(x)")
    tangent = np.sin(point) + np.cos(point) * (t - point)
    ax.plot(t, tangent, color=palette.green, ls=":", label=f"tangent, slope {np.cos(point):.3f}")
    for start, name, colour, dashes in [
        (point - step, "central", "blue", "--"),
        (point, "one-sided", "vermillion", "-."),
    ]:
        ends = np.array([start, point + step])
        slope = np.diff(np.sin(ends))[0] / np.diff(ends)[0]
        words = f"{name} difference, slope {slope:.3f}"
        line = np.sin(start) + slope * (t - start)
        ax.plot(t, line, color=palette[colour], ls=dashes, label=words)
        ax.plot(ends, np.sin(ends), "o", color=palette[colour])
    title = f"Slopes of sin at {point} from two values, step {step}"
    ax.set(title=title, xlabel="x", ylabel="y", ylim=(-0.3, 1.35))
    ax.legend()
    show(
        figure,
        alt="The curve of sin, its tangent at 0.6 and two lines through points of the curve. The "
        "central difference is nearly parallel to the tangent, the one-sided one is flatter.",
    )


def u_curve(steps: Any, errors64: Any, errors32: Any, at: float) -> None:
    """Error of a numerical slope of exp at `at` against the step, in two precisions."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    ax.loglog(steps, errors32, "s-", ms=4, color=palette.vermillion, label="float32")
    ax.loglog(steps, errors64, "o-", ms=4, color=palette.blue, label="float64")
    truncation = steps**2 * np.exp(at) / 6
    rounding = np.exp(at) * np.finfo(np.float64).eps / steps
    ax.loglog(steps, truncation, ":", color=palette.black, label="truncation, ε²·f‴/6")
    ax.loglog(steps, rounding, "--", color=palette.black, label="rounding, f·ε_machine/ε")
    ax.axvline(1e-6, color=palette.green, ls="-.", label="the step of gradcheck, 1e-6")
    ax.set(
        title=f"Error of a numerical slope of exp at {at}",
        xlabel="step ε (in units of x)",
        ylabel="absolute error of the slope",
        ylim=(1e-12, 1e5),
    )
    ax.legend(loc="upper right")
    show(
        figure,
        alt="Error against step on logarithmic axes. Both curves are a U. In float64 the bottom "
        "lies below 1e-10, for steps around 1e-5. In float32 it lies near 1e-4, for steps around "
        "1e-2, and at a step of 1e-6 the error is already a tenth of a unit or more.",
    )


def fits(mine: Any, torchs: Any, target: Any, prediction: Sequence[float]) -> None:
    """Loss curves, (steps, 2) with training and held-out, and predictions against the truth."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for column, name, colour in [(0, "training", "blue"), (1, "held-out", "vermillion")]:
        left.plot(mine[:, column], color=palette[colour], lw=6, alpha=0.4, label=f"yours, {name}")
        left.plot(torchs[:, column], color=palette[colour], ls="--", label=f"torch's, {name}")
    left.set(title="Your gradients train as torch's do", xlabel="step")
    left.set(ylabel="mean squared error ÷ variance")
    left.legend()
    right.scatter(target, prediction, color=palette.blue, alpha=0.7, label="one person")
    right.plot([25, 346], [25, 346], color=palette.black, ls=":", label="perfect")
    right.set(
        title=f"{len(prediction)} people the model has never seen",
        xlabel="disease progression, measured (score)",
        ylabel="disease progression, predicted (score)",
    )
    right.legend()
    show(
        figure,
        alt="Left: training and held-out loss fall over the steps, and the curves of your "
        "Functions and of torch's operations lie on each other. Right: predictions for the "
        "held-out people against the measured values, scattered around the diagonal.",
    )
