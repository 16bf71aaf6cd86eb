"""The pictures in docs/pictures: what a learner sees in JupyterLab, looked at and photographed.

They are in build/pictures afterwards. `WRITE_PICTURES=1 make test TEST_ARGS=tests/browser/test_pictures.py`
puts them into docs/pictures as well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.browser.lessons import ROOT
from tests.browser.notebook import (
    SEEN,
    change_theme,
    nothing_but,
    run_cells,
    show_cell,
    write_notebook,
)
from tests.browser.widgets.sight import faults
from tests.mistakes.gallery import of

pytestmark = pytest.mark.browser

KEPT, MADE = ROOT / "docs/pictures", ROOT / "build/pictures"
ROOM = 12  # around what is shown, in pixels
SET_UP = """import torch
from torch import nn
from torch.autograd import Function
from torch.nn import functional as F
from autograder import check
from widgets import attention_map, memory_timeline, saved_ledger, ste_explorer, xray"""
MY_SIGMOID = """class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return 2 * grad_output * y * (1 - y)"""
CUBE = """class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        x, square = ctx.saved_tensors
        return grad_output * (square + 2 * x * x)"""
ROOTS = """class SquareRoot(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sqrt(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (2 * y)


class SquareRootFromInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (2 * torch.sqrt(x))


wide, narrow = torch.rand(100, 10, requires_grad=True), torch.rand(10, 100, requires_grad=True)


def output_kept(x):
    return F.linear(SquareRoot.apply(F.linear(x, wide)), narrow)


def input_kept(x):
    return F.linear(SquareRootFromInput.apply(F.linear(x, wide)), narrow)"""
LAYERS = """torch.manual_seed(0)
layers = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(16)])
x = torch.randn(512, 64, requires_grad=True)"""


def nothing(output) -> None:
    """As it opens."""


def at(slider: str, *keys: str) -> Callable:
    """Moves a slider by these keys."""

    def move(output) -> None:
        output.get_by_role("slider", name=slider).focus()
        for key in keys:
            output.page.keyboard.press(key)

    return move


def tiles(output) -> None:
    """The last choice: the causal mask, tile by tile; two blocks of queries are done."""
    choice = output.get_by_role("combobox").first
    choice.select_option(index=choice.locator("option").count() - 1)
    at("Place", "End", "ArrowLeft", "ArrowLeft", "ArrowLeft")(output)


def rounding(output) -> None:
    """Beyond the window of the clipped surrogate, where the three gradients differ."""
    output.get_by_role("combobox").first.select_option("round")
    at("x", "End", *["ArrowLeft"] * 3)(output)


@dataclass(frozen=True)
class Picture:
    """The cells that it takes, the last of which is shown; what is done with it."""

    cells: tuple[str, ...]
    prepare: Callable = nothing


def right(exercise: str) -> str:
    """The first right answer that is known."""
    return next(answer.source for answer in of(exercise) if answer.right)


PICTURES = {
    "xray": Picture((MY_SIGMOID, "xray(MySigmoid)")),
    "second-backward": Picture((CUBE, "xray(Cube, order=2)")),
    "ste-explorer": Picture(("ste_explorer()",), rounding),
    "saved-ledger": Picture((ROOTS, "saved_ledger([output_kept, input_kept], torch.rand(64, 10))")),
    "memory-timeline": Picture(
        (right("checkpoint_sequential"), LAYERS, "memory_timeline(layers, x, by=checkpoint_sequential)"),
        at("Segments", "Home", "ArrowRight", "ArrowRight", "ArrowRight"),
    ),
    "attention-map": Picture(
        (right("FlashAttention"), 'attention_map(tokens=list("tokens"), by=FlashAttention)'),
        tiles,
    ),
    "report": Picture((MY_SIGMOID, "check(MySigmoid)")),  # the last: it raises
}  # fmt: skip


@pytest.fixture(scope="module")
def gallery(desk, shared_lab, kernel) -> dict[str, int]:
    """A notebook with all of them, run; the cell that each picture shows."""
    sources, shown = [SET_UP], {}
    for name, picture in PICTURES.items():
        sources += picture.cells
        shown[name] = len(sources) - 1
    write_notebook(shared_lab.root / "pictures.ipynb", *sources)
    kernel.open(desk, "pictures.ipynb")
    assert run_cells(desk, range(len(sources) - 1)) == []
    [report] = run_cells(desk, [len(sources) - 1])
    assert "CheckFailed" in report
    return shown


@pytest.mark.parametrize("name", PICTURES)
def test_what_the_picture_shows_is_whole(name, lab_page, gallery) -> None:
    picture, index = PICTURES[name], gallery[name]
    cell = show_cell(lab_page, index, name)
    output = cell.locator(".jp-OutputArea-child:visible").first
    picture.prepare(output)
    place = f"{SEEN} [data-name='{name}'] .jp-OutputArea-output"
    for theme in ("dark", "light"):  # photographed in the light
        change_theme(lab_page, theme)
        with nothing_but(lab_page, [index]):
            assert faults(lab_page, theme == "dark", place) == []
            MADE.mkdir(parents=True, exist_ok=True)
            top, whole = cell.locator(".jp-InputArea").bounding_box(), output.bounding_box()
            clip = {
                "x": top["x"],
                "y": top["y"] - ROOM / 2,
                "width": top["width"] + ROOM,
                "height": whole["y"] + whole["height"] - top["y"] + ROOM,
            }
            lab_page.screenshot(path=MADE / f"{name}.png", clip=clip)
    if os.environ.get("WRITE_PICTURES"):
        shutil.copy(MADE / f"{name}.png", KEPT / f"{name}.png")


def test_every_picture_of_the_documentation_is_made_here_or_of_the_site() -> None:
    of_the_site = {"moving"}  # by test_site.py
    assert {file.stem for file in KEPT.glob("*.png")} == set(PICTURES) | of_the_site
