"""jacobian_map: the Jacobians of some functions side by side, and one entry followed through all of them.

Each row is what backward returns for an upstream gradient of 1 at one output and 0 at the others. Each
entry is compared with what forward does when that input is nudged: a learner's own class may be wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.contract.friendly_error import refusal
from widgets.attention_head import two_digits
from widgets.explorer import Exploration, Explorer, Frame, Grid, Sweep, short
from widgets.wording import number, stopped

MOST = 6  # inputs, and outputs of each function
NUDGE = 1e-6
POINTS = {"four numbers": (0.9, -0.4, 1.6, 0.3), "a tie": (0.9, 1.6, 1.6, 0.3)}
DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
One = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Jacobian:
    """One function at one point: its outputs (m), and ∂y/∂x twice, (m, n).

    matrix  by backward, row by row
    nudged  by central differences of forward
    stops   why there is none
    """

    name: str
    outputs: Tensor
    matrix: Tensor
    nudged: Tensor
    stops: str = ""


def jacobian_map(functions: Mapping[str, One] | None = None, x: Tensor | None = None) -> Explorer:
    """Slide through the entries of some Jacobians, side by side: which input reaches which output, how strongly.

    Args:
        functions: title → a function of x (n,) with a result of at most 6 numbers, your own Function
            classes inside: {"dense: SoftRank": lambda x: SoftRank.apply(x, 0.5)}. At most three fit
            beside each other. By default a sparse, a low-rank and a dense one of torch's operations.
            What one of them raises is shown.
        x: (n,) with at most 6 numbers; by default two points of four numbers, the second with a tie.

    Raises:
        ValueError: for an x of another shape, or no functions.
    """
    chosen = TORCHS if functions is None else functions
    if not chosen:
        raise refusal("jacobian_map needs at least one function of x.")
    if x is not None and (x.dim() != 1 or not 1 <= len(x) <= MOST):
        raise refusal(
            f"x has one dimension and 1 to {MOST} numbers, not the shape {tuple(x.shape)}."
        )
    points = {"your x": x} if x is not None else {k: torch.tensor(v) for k, v in POINTS.items()}
    sweeps = tuple(
        _sweep(name, point.detach().double().cpu(), chosen) for name, point in points.items()
    )
    title = "Jacobians side by side: which input reaches which output?"
    return Explorer(Exploration(title, "x", "Entry", sweeps))


def jacobian(name: str, function: One, x: Tensor) -> Jacobian:
    """Forward, backward for each output, and forward at x ± a nudge for each input; x (n,) in float64."""
    leaf = x.clone().requires_grad_()
    nothing = torch.zeros(0)
    try:
        with torch.enable_grad():
            outputs = function(leaf).reshape(-1)
            if not 1 <= len(outputs) <= MOST:
                stops = f"has {len(outputs)} outputs; 1 to {MOST} can be shown."
                return Jacobian(name, nothing, nothing, nothing, stops)
            rows = [
                torch.autograd.grad(one, leaf, retain_graph=True, materialize_grads=True)[0]
                for one in outputs
            ]
        with torch.no_grad():
            steps = NUDGE * torch.eye(len(x), dtype=x.dtype)
            columns = [(function(x + s) - function(x - s)).reshape(-1) / (2 * NUDGE) for s in steps]
    except Exception as error:
        words = stopped(error, name).replace("{", "(")
        error.__traceback__ = None
        return Jacobian(name, nothing, nothing, nothing, words)
    return Jacobian(name, outputs.detach(), torch.stack(rows).detach(), torch.stack(columns, 1))


def rank(matrix: Tensor) -> int:
    """The rank, with the rounding of derivatives taken for 0."""
    if not bool(matrix.isfinite().all()):
        return 0
    sizes = torch.linalg.svdvals(matrix)
    return int((sizes > 1e-9 * sizes.max().clamp(min=1e-30)).sum())


def _sweep(name: str, x: Tensor, functions: Mapping[str, One]) -> Sweep:
    every = [jacobian(title, function, x) for title, function in functions.items()]
    found = [one for one in every if not one.stops]
    outputs = max((len(one.outputs) for one in found), default=1)
    inputs = tuple(f"x{_below(j)}" for j in range(len(x)))
    return Sweep(
        name=f"{name}, x = ({', '.join(number(short(v)) for v in x.tolist())})",
        frames=tuple(
            Frame(
                f"∂y{_below(i)}/∂{inputs[j]}",
                (_told(every, i, j), *(word for one in found for word in _words(one, i, j))),
                row=i, column=j,
            )
            for i in range(outputs) for j in range(len(x))
        ),
        status="{0}",
        head=("function", "output", "by backward", "by a nudge", "not 0", "rank"),
        rows=tuple(
            (one.name, *(f"{{{1 + 3 * place + part}}}" for part in range(3)),
             f"{int((one.matrix != 0).sum())} of {one.matrix.numel()}", str(rank(one.matrix)))
            for place, one in enumerate(found)
        ),
        grids=tuple(
            Grid(
                one.name, "input", "output", inputs,
                tuple(f"y{_below(i)}" for i in range(len(one.outputs))),
                tuple(tuple(map(short, row)) for row in one.matrix.nan_to_num().tolist()),
                tuple(tuple(map(two_digits, row)) for row in one.matrix.tolist()),
            )
            for one in found
        ),
    )  # fmt: skip


def _words(one: Jacobian, i: int, j: int) -> tuple[str, str, str]:
    if i >= len(one.outputs):
        return ("–", "–", "–")
    shown = (one.outputs[i], one.matrix[i, j], one.nudged[i, j])
    output, entry, nudged = (number(round(value.item(), 6) + 0.0) for value in shown)
    return output, entry, f"{nudged} {'✓' if _agree(one, i, j) else '✗'}"


def _agree(one: Jacobian, i: int, j: int) -> bool:
    return bool(torch.isclose(one.matrix[i, j], one.nudged[i, j], rtol=1e-4, atol=1e-6))


def _told(every: list[Jacobian], i: int, j: int) -> str:
    """ "x₂ moves y₁ not at all (sparse: Embedding), by −0.2 a unit (dense: SoftRank)." """
    reach, wrong = [], []
    there, here = f"y{_below(i)}", f"x{_below(j)}"
    for one in every:
        if one.stops:
            wrong.append(f"{one.name} {one.stops}")
        elif i < len(one.outputs):
            told, moved = (
                number(short(round(m[i, j].item(), 6)) + 0.0) for m in (one.matrix, one.nudged)
            )
            reach.append(f"{f'by {moved} a unit' if moved != '0' else 'not at all'} ({one.name})")
            if not _agree(one, i, j):
                wrong.append(f"✗ {one.name}: backward says {told}.")
    told = f"{here} moves {there} {', '.join(reach)}." if reach else ""
    return " ".join([told, *wrong]).strip()


def _below(index: int) -> str:
    return str(index + 1).translate(DIGITS)


def _picked(x: Tensor) -> Tensor:
    return x[torch.arange(len(x)).flip(0) * 2 % len(x)]


def _length(x: Tensor) -> Tensor:
    return x.norm().expand(len(x))


def _ranks(x: Tensor) -> Tensor:
    return 0.5 + torch.sigmoid(2 * (x.unsqueeze(1) - x.unsqueeze(0))).sum(1)


TORCHS: Mapping[str, One] = {
    "sparse: elements picked": _picked, "low-rank: the length": _length, "dense: soft ranks": _ranks,
}  # fmt: skip
