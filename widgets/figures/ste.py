"""The figures of lesson 04."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from torch import Tensor

from widgets.figure import palette, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS = (("blue", "-"), ("vermillion", "--"), ("green", "-."), ("purple", ":"))
MOONS = ((0, "o", "vermillion"), (1, "^", "blue"))


def _axes(columns: int = 1, rows: int = 1, **options: Any) -> tuple[Any, list[Axes]]:
    """A figure as wide as the text, and its axes in one list."""
    import matplotlib.pyplot as plt

    height = options.pop("height", 3.4)
    fig, axes = plt.subplots(rows, columns, figsize=(9, height), squeeze=False, **options)
    return fig, list(axes.flat)


def pushes(x: Tensor, loss: Tensor, smoothed: Tensor, at: Tensor, push: Tensor) -> None:
    """A loss that is a staircase, the same loss averaged over one step, and pushes of a surrogate.

    x, loss, smoothed  (n,) each
    at, push           (k,): where an arrow stands, and minus the surrogate's gradient there
    """
    fig, [axis] = _axes()
    for level in loss.unique():
        for piece in _runs(loss == level):
            axis.plot(x[piece], loss[piece], color=palette.blue, lw=2.5)
    axis.plot(x, smoothed, "--", color=palette.vermillion)
    height = float(loss.max())
    for place, direction in zip(at.tolist(), push.sign().tolist(), strict=True):
        axis.annotate(
            "", (place + 0.2 * direction, -0.09 * height), (place, -0.09 * height),
            arrowprops={"arrowstyle": "-|>", "color": palette.black, "lw": 1.5},
        )  # fmt: skip
    axis.text(2.5, 0.8 * height, "the loss", color=palette.blue, ha="center")
    axis.text(2.5, 0.66 * height, "averaged over one step", color=palette.vermillion, ha="center")
    axis.text(2.5, 0.52 * height, "arrows: pushes of the surrogate", ha="center")
    axis.set(title="(round(x) − 2.4)²", xlabel="x", ylabel="loss", ylim=(-0.16 * height, None))
    show(
        fig,
        alt="A loss made of flat pieces, with its lowest one from 1.5 to 2.5, and the same loss "
        "averaged over one step, a dashed line without flat pieces. Arrows left of 2.5 point right, those "
        "right of it left: downhill on the dashed line, but for the half step from 2 to 2.5.",
    )


def _runs(where: Tensor) -> list[slice]:
    """The stretches in which a mask is true."""
    edges = [0, *((where[1:] != where[:-1]).nonzero().flatten() + 1).tolist(), len(where)]
    return [slice(a, b) for a, b in pairwise(edges) if bool(where[a])]


def descent(values: Sequence[float], rounded: Sequence[float], wanted: float) -> None:
    """The path of x and of round(x), step by step."""
    fig, [axis] = _axes(height=3)
    axis.plot(values, color=palette.blue)
    axis.step(range(len(rounded)), rounded, "--", where="post", color=palette.vermillion)
    axis.axhline(wanted, color=palette.black, lw=0.8)
    axis.text(2, wanted + 0.08, f"wanted: {wanted}")
    axis.text(15, 1.5, "x", color=palette.blue)
    axis.text(len(rounded) * 0.9, 1.75, "round(x)", color=palette.vermillion)
    axis.set(title="Straight-through descent", xlabel="step", ylabel="value")
    show(
        fig,
        alt="x climbs from 0 and then swings around 2.5, so that round(x) jumps between 2 and 3; "
        "neither value equals the wanted 2.4.",
    )


def latent_weights(paths: Mapping[str, Sequence[float]], turn: int) -> None:
    """Paths of one latent weight under a gradient that changes its sign at step ``turn``."""
    fig, [axis] = _axes()
    for (name, path), (colour, dashes) in zip(paths.items(), LOOKS, strict=False):
        axis.plot(path, dashes, color=palette[colour], label=name)
    axis.axhline(0, color=palette.black, lw=0.8)
    axis.axvline(turn, color=palette.black, lw=0.8, ls=":")
    axis.text(turn + 1, 5, "the gradient turns", va="top", ha="left")
    axis.set(title="One latent weight, pushed up and then down", xlabel="training step", ylabel="w")
    axis.legend(loc="upper left")
    show(
        fig,
        alt="The plain latent weight climbs to 5 and needs about 50 steps to come back and change its sign; the "
        "one kept within plus or minus 1 needs about 10. The clipped one that is not kept stops just above 1.",
    )


def staircase(x: Tensor, y: Tensor, slopes: Mapping[str, Tensor], title: str) -> None:
    """A quantiser above, and below it one line for each gradient; all (n,)."""
    fig, axes = _axes(rows=1 + len(slopes), height=1.2 + 1.7 * (1 + len(slopes)), sharex=True)
    axes[0].plot(x.detach(), y.detach(), color=palette.blue)
    axes[0].set(title=title, ylabel="value")
    for axis, (name, slope) in zip(axes[1:], slopes.items(), strict=True):
        axis.plot(x.detach(), slope, color=palette.vermillion)
        axis.set(ylabel=name)
    axes[-1].set(xlabel="x")
    ends = "; ".join(
        f"{n} from {float(s.min()):g} to {float(s.max()):g}" for n, s in slopes.items()
    )
    show(fig, alt=f"A staircase of eight steps, flat outside. Below it: {ends}.")


def temperatures(bars: Mapping[float, Tensor]) -> None:
    """softmax((logits + noise) / τ) for each τ, (n,) each."""
    fig, [axis] = _axes(height=2.8)
    looks = (("sky", ""), ("blue", "//"), ("green", ".."))
    for place, ((tau, heights), (colour, hatch)) in enumerate(
        zip(bars.items(), looks, strict=True)
    ):
        where = [i + 0.27 * (place - 1) for i in range(len(heights))]
        axis.bar(
            where,
            heights,
            0.25,
            color=palette[colour],
            hatch=hatch,
            ec="white",
            label=f"τ = {tau:g}",
        )
    axis.set(title="softmax((logits + G) / τ)", xlabel="option", ylabel="probability")
    axis.set_xticks(range(len(heights)))
    axis.legend()
    show(
        fig,
        alt="Bars for four options at three temperatures: almost equal at tau 5, graded at 1, "
        "and nearly all on the first option at 0.1.",
    )


def choosing(names: Sequence[str], probabilities: Tensor) -> None:
    """Probabilities of options while they are learned, (steps, options), each line with its name."""
    fig, [axis] = _axes(height=3)
    order = probabilities[-1].argsort(descending=True).tolist()
    for column, (colour, dashes) in zip(order, LOOKS, strict=True):
        axis.plot(probabilities[:, column], dashes, color=palette[colour], label=names[column])
    axis.set(title="Which formula?", xlabel="training step", ylabel="probability", ylim=(0, 1.05))
    axis.legend(loc="center right")
    best = names[order[0]]
    show(fig, alt=f"Four probabilities start at a quarter; that of {best} rises to nearly 1.")


def features(day: Mapping[float, Tensor], night: Mapping[float, Tensor]) -> None:
    """Histograms of one feature by day and by night, for each strength of the reversal."""
    fig, axes = _axes(columns=len(day), height=2.8)
    for axis, alpha in zip(axes, day, strict=True):
        spread = max(day[alpha].abs().max(), night[alpha].abs().max())
        for values, colour, hatch, name in (
            (day[alpha], "orange", "//", "day"),
            (night[alpha], "blue", "..", "night"),
        ):
            axis.hist(
                (values / spread).tolist(), bins=25, range=(-1, 1), color=palette[colour], hatch=hatch,
                ec="white", alpha=0.7, label=name,
            )  # fmt: skip
        axis.set(title=f"α = {alpha:g}", xlabel="feature (of its largest value)")
    axes[0].set_ylabel("photos")
    axes[0].legend()
    show(
        fig,
        alt="Histograms of the feature. Without reversal all of the night lies on one of the two hills of the day; "
        "with it day and night have the same two hills.",
    )


def accuracies(curves: Mapping[str, Sequence[Sequence[float]]], every: int) -> None:
    """Test accuracies, one for ``every`` so many training steps, several runs a name."""
    fig, [axis] = _axes()
    for (name, runs), (colour, dashes) in zip(curves.items(), LOOKS, strict=False):
        for number, run in enumerate(runs):
            percent = [100 * a for a in run]
            steps = [every * i for i in range(len(run))]
            axis.plot(
                steps,
                percent,
                dashes,
                color=palette[colour],
                lw=1.5,
                label=None if number else name,
            )
    axis.set(
        title="Two moons with binary weights", xlabel="training step",
        ylabel="test accuracy (%)", ylim=(20, 102),
    )  # fmt: skip
    axis.legend(loc="center right")
    show(
        fig,
        alt="Test accuracy over the training steps. With torch.sign flat dashed lines near chance; with "
        "Binarize curves that rise to the top.",
    )


def boundaries(
    sides: Mapping[str, Tensor], across: Tensor, up: Tensor, points: Tensor, moon: Tensor
) -> None:
    """What networks decide in the plane, and the points with their true moon.

    sides       title → (n, n), 1 where the network says moon 1
    across, up  (n, n) coordinates
    points      (m, 2), and moon (m,) with 0 or 1
    """
    fig, axes = _axes(columns=len(sides), sharey=True)
    shades = [palette.orange, palette.sky]
    for axis, (title, side) in zip(axes, sides.items(), strict=True):
        axis.contourf(across, up, side, levels=[-0.5, 0.5, 1.5], colors=shades, alpha=0.35)
        axis.contour(across, up, side, levels=[0.5], colors=[palette.black], linewidths=1)
        for value, marker, colour in MOONS:
            x, y = points[moon == value].T
            axis.plot(x, y, marker, color=palette[colour], markersize=3, label=f"moon {value}")
        axis.set(title=title)
    axes[0].legend(loc="lower left")
    told = "; ".join(sides)
    show(fig, alt=f"Decision boundaries over the test points of two moons. {told}.")
