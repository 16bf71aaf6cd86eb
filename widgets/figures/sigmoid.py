"""The figures of lesson 02."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from widgets.figure import palette, show


def slope_over_output(functions: Mapping[str, Callable[[torch.Tensor], torch.Tensor]]) -> None:
    """For each function its slope over its output, x going from −6 to 2. functions: name → function."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 5.5), layout="constrained")
    for ax, (name, function) in zip(axes.flat, functions.items(), strict=True):
        x = torch.linspace(-6, 2, 400, dtype=torch.float64, requires_grad=True)
        y = function(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        ax.plot(y.detach(), slope, ".", color=palette.blue, markersize=3)
        ax.set(title=name, xlabel="output y", ylabel="slope f′(x)")
    show(
        figure,
        alt="Six panels of slope over output. For sigmoid, tanh, exp and relu every output has one "
        "slope; for Swish and GELU the curve folds back, so that one output has two slopes.",
    )


def two_slopes_of_sigmoid(x: Any, mine: Any, formula: Any) -> None:
    """Slope of the sigmoid on a log scale: of the learner's backward, and of the formula by autograd.

    x, mine, formula: tensors (n,), float32.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    ax.semilogy(x, mine, color=palette.blue, label="your backward")
    ax.semilogy(x, formula, "--", color=palette.vermillion, label="the formula")
    first_good = x[~formula.isnan()].min().item()
    left = x.min().item()
    ax.axvspan(left, first_good, color=palette.orange, alpha=0.4, label="the formula: NaN")
    ax.set(title="Slope of the sigmoid in float32", xlabel="x", ylabel="slope (log scale)")
    ax.legend(loc="lower right")
    show(
        figure,
        alt="Slope of the sigmoid on a log scale from x = -120 to 5. Your backward falls in a "
        "straight line to the end of float32; the gradient of the formula drops to 0 much earlier "
        f"and is NaN everywhere below about {first_good:.0f}.",
    )


def one_output_two_slopes(
    inputs: Sequence[float], outputs: Sequence[float], slopes: Sequence[float]
) -> None:
    """Swish with its tangents at two inputs that have the same output."""
    import matplotlib.pyplot as plt

    x = np.linspace(-5, 1, 300)
    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    ax.plot(x, x / (1 + np.exp(-x)), color=palette.blue)
    ax.axhline(outputs[0], color=palette.black, linestyle=":")
    ax.text(1, outputs[0] + 0.01, "one output", ha="right")
    for here, value, slope in zip(inputs, outputs, slopes, strict=True):
        near = np.array([here - 0.7, here + 0.7])
        ax.plot(near, value + slope * (near - here), color=palette.vermillion, linewidth=2)
        ax.plot(here, value, "o", color=palette.vermillion)
        ax.annotate(f"slope {slope:+.3f}", (here, value), (here - 1, value + 0.14), ha="center")
    ax.set(title="One output, two slopes: Swish cannot be undone", xlabel="x", ylabel="x·σ(x)")
    ax.set_ylim(-0.35, 0.3)
    show(
        figure,
        alt="Swish from -5 to 1. A dotted line at -0.189 meets the curve at x = -2.51, where it "
        "falls with slope -0.099, and at x = -0.5, where it rises with slope 0.260.",
    )


def swish_family(betas: Sequence[float]) -> None:
    """x·σ(βx) for four values of β."""
    import matplotlib.pyplot as plt

    x = np.linspace(-4, 4, 200)
    figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    looks = [("vermillion", ":"), ("purple", "-."), ("blue", "-"), ("green", "--")]
    for beta, (colour, style) in zip(betas, looks, strict=True):
        y = x / (1 + np.exp(-beta * x))
        ax.plot(x, y, style, color=palette[colour])
        ax.text(4.05, y[-1] - 0.25 * (beta == 1), f"β = {beta:g}", va="center")
    ax.set(
        title="One parameter, many activations: x·σ(βx)",
        xlabel="x",
        ylabel="output",
        xlim=(-4, 4.8),
    )
    show(
        figure,
        alt="Swish for four values of beta: a straight line x/2 for 0, smooth curves with a dip for "
        "0.5 and 1, and almost relu for 10.",
    )


def losses_of_activations(results: Mapping[str, tuple[list[float], list[float]]]) -> None:
    """Training losses, torch's as lines and the learner's as circles. results: name → (mine, torch's)."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    colours = ["blue", "black", "green", "vermillion", "purple"]
    for (name, (mine, theirs)), colour in zip(results.items(), colours, strict=True):
        ax.semilogy(theirs, color=palette[colour], label=f"{name}, torch")
        every = max(1, len(mine) // 15)
        steps = range(0, len(mine), every)
        ax.semilogy(steps, mine[::every], "o", color=palette[colour], markersize=5, mfc="none")
    ax.set(
        title="Lines: torch's activations. Circles: yours.", xlabel="training step", ylabel="loss"
    )
    ax.legend(ncol=2)
    show(
        figure,
        alt="Training losses over the steps for five activations. The circles of the learner's own "
        "Functions lie on the lines of torch's activations.",
    )


def learned_swishes(betas: Any) -> None:
    """The activations that a network has learned. betas: tensor (channels,)."""
    import matplotlib.pyplot as plt

    x = np.linspace(-4, 0.5, 200)
    figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    for beta in betas.tolist():
        ax.plot(x, x / (1 + np.exp(-beta * x)), color=palette.blue, alpha=0.5)
    start = x / (1 + np.exp(-x))
    ax.plot(x, start, "--", color=palette.vermillion, label="where all began: β = 1")
    ax.set(title=f"{len(betas)} activations, learned", xlabel="x", ylabel="x·σ(βx)")
    ax.legend()
    show(figure, alt="Learned Swish curves around the dashed starting curve with beta = 1.")
