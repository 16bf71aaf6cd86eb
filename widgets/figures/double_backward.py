"""The figures of lesson 05."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from widgets.figure import palette, show

LOOKS = (("black", "-"), ("blue", "--"), ("vermillion", "-."), ("green", ":"))


def orders(x: Tensor, values: Sequence[Tensor]) -> None:
    """x³ and its first three derivatives, (n,) each."""
    import matplotlib.pyplot as plt

    fig, axis = plt.subplots(figsize=(9, 3.2))
    names = ("x³", "first derivative", "second derivative", "third derivative")
    for each, name, (colour, dashes) in zip(values, names, LOOKS, strict=True):
        axis.plot(x.detach(), each.detach(), dashes, color=palette[colour], label=name)
    axis.set(title="Your Cube, differentiated three times", xlabel="x", ylabel="value")
    axis.legend()
    show(
        fig,
        alt="The cubic curve, its first derivative (a parabola), its second derivative (a straight "
        "line through 0 with slope 6) and its third derivative (constant 6), from -1.5 to 1.5.",
    )


def second_derivatives(x: Tensor, curves: Mapping[str, Sequence[Tensor]]) -> None:
    """First and second derivatives of x·σ(x), by torch, wrong, and right: [value, first, second] each."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    looks = (("blue", "-", 4), ("vermillion", "--", 2), ("black", ":", 2))
    for axis, order, title in zip(axes, (1, 2), ("first", "second"), strict=True):
        for (name, values), (colour, dashes, width) in zip(curves.items(), looks, strict=True):
            axis.plot(
                x.detach(),
                values[order].detach(),
                dashes,
                color=palette[colour],
                lw=width,
                label=name,
            )
        axis.set(title=f"{title} derivative of x·σ(x)", xlabel="x")
    axes[1].legend()
    show(
        fig,
        alt="Left: three curves of the first derivative coincide. Right: your SwishTwice lies on the "
        "second derivative by torch operations; SwishOnce is a lower bump that never goes below 0.",
    )


def critics(histories: Mapping[str, Tensor]) -> None:
    """Gap of the mean scores and gradient penalty while critics train; (steps, 2) each: penalty, gap."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for (name, history), (colour, dashes) in zip(histories.items(), LOOKS[1:], strict=False):
        axes[0].plot(history[:, 1], dashes, color=palette[colour], label=name)
        axes[1].semilogy(history[:, 0], dashes, color=palette[colour], label=name)
    axes[0].set(title="gap of the mean scores", xlabel="training step")
    axes[1].set(title="gradient penalty (log scale)", xlabel="training step")
    axes[0].legend()
    show(
        fig,
        alt="Left: the gap of the mean scores rises and stays for both critics. Right, on a log scale: the "
        "penalty falls for both, to about the same values.",
    )


def critic_map(side: Tensor, scores: Tensor, lengths: Tensor, real: Tensor, fake: Tensor) -> None:
    """Score and length of its gradient in the plane; (k²,) each over side × side, points (n, 2)."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    count = len(side)
    for axis, values, title, levels in (
        (axes[0], scores, "score", 9),
        (axes[1], lengths, "length of its gradient (target 1)", [0.25 * i for i in range(9)]),
    ):
        grid = values.reshape(count, count).T
        drawn = axis.contourf(side, side, grid, levels=levels, cmap="cividis", extend="both")
        fig.colorbar(drawn, ax=axis)
        axis.plot(*real.T, "o", color="white", mec="black", markersize=4, label="real")
        axis.plot(*fake.T, "^", color=palette.orange, mec="black", markersize=4, label="fake")
        axis.set(title=title)
    axes[0].legend(loc="lower left")
    show(
        fig,
        alt="Two maps of the plane with the real points on two moons and the fake points in a blob "
        "above. Left: your critic's score falls from the moons to the blob. Right: the length of its "
        "gradient is near 1 around both clouds.",
    )


def newton_lengths(slope: Tensor, newton: Tensor) -> None:
    """Lengths of the gradient after each step of gradient descent and of Newton's method, (steps,) each."""
    import matplotlib.pyplot as plt

    fig, axis = plt.subplots(figsize=(9, 3.2))
    axis.semilogy(slope, color=palette.orange, label="gradient descent")
    axis.semilogy(newton, "o-", color=palette.blue, label="Newton with your hvp")
    axis.set(title="Length of the gradient: 0 at the minimum", xlabel="step")
    axis.legend()
    show(
        fig,
        alt="Length of the gradient over the steps. With Newton steps it falls by many powers of ten "
        "in a few steps; gradient descent is still far from the minimum after all of its steps.",
    )
