"""A figure is shown with alternative text, closed, and the same for everyone."""

import base64
import io

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from widgets import palette, show
from widgets.figure import mime_bundle, tidy
from widgets.png import png_of

matplotlib.use("agg")


@pytest.fixture
def figure():
    fig, ax = plt.subplots(figsize=(4, 3))
    ax.plot([0, 1], [0, 1])
    yield fig
    plt.close(fig)


def test_html_and_png_hold_the_same_picture_and_the_text_is_its_alternative(figure):
    bundle, metadata = mime_bundle(figure, alt='A line\n   from "0" to 1 < 2.')
    image = BeautifulSoup(bundle["text/html"], "html.parser").img
    assert image["alt"] == 'A line from "0" to 1 < 2.'
    assert image["src"] == "data:image/png;base64," + bundle["image/png"]
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == '[Figure: A line from "0" to 1 < 2.]'
    assert metadata["image/png"]["alt"] == image["alt"]


def test_the_size_on_screen_is_the_figure_s_own_or_the_one_asked_for(figure):
    def width(**options):
        html = mime_bundle(figure, "A line.", **options)[0]["text/html"]
        return int(BeautifulSoup(html, "html.parser").img["width"])

    assert abs(width() - 4 * 96) < 60  # inches × CSS pixels, less the margins cut off
    assert width(width=500) == 500


def test_the_same_figure_gives_the_same_bytes(figure):
    assert mime_bundle(figure, "A line.") == mime_bundle(figure, "A line.")


def test_the_picture_is_small_and_looks_the_same(figure):
    figure.axes[0].imshow(np.arange(64).reshape(8, 8), cmap="cividis")
    for slope, colour in enumerate(vars(palette).values()):
        figure.axes[0].plot([0, 7], [0, slope], color=colour, alpha=0.5, label=colour)
    figure.axes[0].legend(fontsize=4)
    small, full = png_of(figure, dpi=160), io.BytesIO()
    figure.savefig(full, format="png", dpi=160, facecolor="white")
    assert len(small) < 0.5 * len(full.getvalue())
    shown, drawn = (
        np.asarray(Image.open(one).convert("RGB"), dtype=int) for one in (io.BytesIO(small), full)
    )
    assert shown.shape == drawn.shape
    assert np.abs(shown - drawn).max() <= 16  # of 255
    assert (shown[0, 0] == 255).all()


def test_showing_a_figure_closes_it(figure, capsys):
    show(figure, alt="A line.")
    assert not plt.fignum_exists(figure.number)
    assert capsys.readouterr().out == "[Figure: A line.]\n"


@pytest.mark.parametrize("alt", ["", "  \n", None])
def test_a_figure_without_alternative_text_is_refused_and_says_how(figure, alt):
    with pytest.raises(ValueError, match=r'show\(fig, alt="'):
        show(figure, alt)
    assert plt.fignum_exists(figure.number)


def test_axes_are_refused_and_the_figure_is_pointed_at(figure):
    with pytest.raises(TypeError, match=r"ax\.figure"):
        show(figure.axes[0], "A line.")


def test_the_style_touches_the_figure_and_not_the_learner_s_settings(figure):
    before = dict(matplotlib.rcParams)
    mime_bundle(figure, "A line.")
    assert figure.get_layout_engine() is not None
    assert not figure.axes[0].spines["top"].get_visible()
    assert dict(matplotlib.rcParams) == before


def test_pictures_and_second_axes_keep_their_frame(figure):
    twin = figure.axes[0].twinx()
    picture = plt.figure().add_subplot()
    picture.imshow([[0, 1]])
    for axes in (twin, picture):
        tidy(axes)
        assert axes.spines["right"].get_visible()
    plt.close(picture.figure)


def test_the_palette_is_okabe_and_ito_s_by_name():
    assert set(vars(palette).values()) == {
        *("#000000", "#E69F00", "#56B4E9", "#009E73"),
        *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
    }
    assert palette["blue"] == palette.blue
    with pytest.raises(KeyError, match="no colour is called 'red'; there are black, blue"):
        palette["red"]
