"""The site: every page in Chromium, on a phone and on a desktop, the network closed; every widget stepped.

It is built once, from solutions as they are. Axe judges each kind of page, light or dark in turns.
"""

from __future__ import annotations

import functools
import http.server
import io
import re
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from bs4 import BeautifulSoup
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.browser.axe import axe_violations
from tests.browser.conftest import stop_at_the_door
from tests.browser.drive import LIVE, drive
from tests.browser.lessons import ROOT, solution
from tests.conftest import DAY
from tests.conftest import of_today as part

pytest.importorskip("furo", reason="the site's generator is in the extra `site`")

from lessons.site.build import build
from lessons.site.players import shows_widget

pytestmark = pytest.mark.browser

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
SCREENSHOTS = ROOT / "build/screenshots"
SCREENFUL = 4000  # pixels of a page in one screenshot: Chromium draws no more than 16384
BLOCK = 24  # the side of what is called white: wider than the lines of a letter
# What reaches beyond the right edge, unless it can be scrolled to where it stands.
STICKS_OUT = """() => {
  const held = (one) => {
    for (let up = one.parentElement; up && up.tagName !== "ARTICLE"; up = up.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
  };
  const wide = document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : [];
  const out = [...document.querySelectorAll("article *")].filter((one) =>
    one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !held(one));
  return [...wide, ...out.slice(0, 5).map((one) => one.outerHTML.slice(0, 120))];
}"""


@dataclass(frozen=True)
class Site:
    """The built site: its folder, and the address under which it is served."""

    folder: Path
    url: str

    @property
    def pages(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.html"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site") / "site"
    build(ROOT, folder)
    with served(folder) as url:
        yield Site(folder, url)


class served:
    """`with served(folder) as url:` is a web server on a free port."""

    def __init__(self, folder: Path) -> None:
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *message: object) -> None:
                pass

        handler = functools.partial(Quiet, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> str:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def outside() -> list[str]:
    return []


@pytest.fixture(scope="module")
def reader(browser, outside) -> Iterator:
    """One page for the whole site, in which nothing moves by itself."""
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    stop_at_the_door(context, outside)
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on(
        "response",
        lambda answer: answer.status < 400 or page.errors.append(f"{answer.status} {answer.url}"),
    )
    yield page
    context.close()


def open_page(page, site: Site, name: str) -> None:
    """Open a page of the site and wait until its widgets live."""
    page.goto(f"{site.url}/{name}", wait_until="load")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.bbh-player')].every((one) => one.dataset.ready)"
    )


def broken_links(pages: list[Path]) -> list[str]:
    """Links and pictures of these pages that lead nowhere in their site."""

    @functools.cache
    def soup(path: Path) -> BeautifulSoup:
        return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")

    @functools.cache
    def names(path: Path) -> set[str]:
        return (
            {one["id"] for one in soup(path).find_all(id=True)} if path.suffix == ".html" else set()
        )

    found = []
    for path in pages:
        for one in soup(path).find_all(["a", "img", "link", "script"]):
            address = one.get("href") or one.get("src")
            if not address or address.startswith(("https:", "mailto:", "data:")):
                continue
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and anchor not in names(target)):
                found.append(f"{path.name}: {address}")
    return found


def test_no_link_is_broken(site) -> None:
    assert broken_links(list(site.folder.rglob("*.html"))) == []


def of_today(site: Site, parts: int) -> list[str]:
    """The first page, a part of the others and of those about rules, which are alike: each takes a second or more."""
    rules = [name for name in site.pages if name.startswith("rules/") and "index" not in name]
    others = [name for name in site.pages if name not in rules]
    return ["index.html", *part(others, parts), *part(rules, 4 * parts)]


def test_every_page_fits_phone_and_desktop_and_asks_nobody(site, reader, outside) -> None:
    found = {}
    for name in of_today(site, 5):
        reader.errors.clear()
        open_page(reader, site, name)
        faults = list(reader.errors)
        for size in (PHONE, DESKTOP):
            reader.set_viewport_size(size)
            faults += [f"{size['width']}: {one}" for one in reader.evaluate(STICKS_OUT)]
        if faults:
            found[name] = faults
    assert (found, outside) == ({}, [])


def test_axe_finds_nothing(site, reader) -> None:
    found = {}
    for number, name in enumerate(of_today(site, 9), int(DAY)):
        size, scheme = [(PHONE, "dark"), (DESKTOP, "light")][number % 2]
        reader.set_viewport_size(size)
        reader.emulate_media(color_scheme=scheme)
        open_page(reader, site, name)
        violations = axe_violations(reader)
        if violations:
            found[f"{name}, {scheme}"] = violations
    reader.emulate_media(color_scheme="light")
    assert found == {}


def white_cards(page, address: str) -> list[tuple[int, int]]:
    """Where a page stays white in the dark theme: left and top of blocks that are bright in both screenshots."""
    shots = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(address, wait_until="networkidle")
        width, height = page.evaluate("() => [innerWidth, document.documentElement.scrollHeight]")
        parts = []
        for top in range(0, height, SCREENFUL):
            clip = {"x": 0, "y": top, "width": width, "height": min(SCREENFUL, height - top)}
            shot = io.BytesIO(page.screenshot(full_page=True, clip=clip))
            parts.append(np.asarray(Image.open(shot).convert("L")))
        shots.append(np.concatenate(parts))
    page.emulate_media(color_scheme="light")
    rows, columns = min(map(len, shots)) // BLOCK, width // BLOCK
    darkest = [
        shot[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK).min((1, 3))
        for shot in shots
    ]
    return [(int(BLOCK * x), int(BLOCK * y)) for y, x in np.argwhere(np.minimum(*darkest) > 200)]


def test_nothing_is_white_in_the_dark(site, reader) -> None:
    reader.set_viewport_size(DESKTOP)
    lessons = [name for name in site.pages if name.startswith("lessons/")]
    rules = [name for name in site.pages if name.startswith("rules/")]
    pictured = [
        name for name in site.pages
        if name.startswith("docs/") and "_images/" in (site.folder / name).read_text("utf-8")
    ]  # fmt: skip
    assert pictured
    looked = [
        "index.html",
        lessons[int(DAY) % len(lessons)],
        rules[int(DAY) % len(rules)],
        *pictured,
    ]
    found = {name: white_cards(reader, f"{site.url}/{name}") for name in looked}
    assert found == {name: [] for name in looked}


@pytest.mark.parametrize(
    "lesson", part(sorted(path.stem for path in (ROOT / "lessons").glob("[0-9]*.py")), 7)
)
def test_every_widget_of_a_lesson_plays(lesson, site, reader) -> None:
    reader.set_viewport_size(DESKTOP)
    reader.errors.clear()
    open_page(reader, site, f"lessons/{lesson}.html")
    views = reader.locator(f".bbh-player {LIVE}")
    shown = sum(map(shows_widget, solution(lesson).cells))
    assert views.count() == (shown or 1)  # the start page has no solution, and a quiz
    for view in views.all():
        drive(view)
    assert reader.errors == []


@pytest.mark.parametrize(
    "lesson", sorted(path.stem for path in (ROOT / "solutions").glob("[0-9]*"))
)
def test_a_player_tells_what_the_solution_told(lesson, site) -> None:
    page = BeautifulSoup((site.folder / f"lessons/{lesson}.html").read_text("utf-8"), "html.parser")
    told = [one.find("pre").text for one in page.find_all("noscript") if one.find("pre")]
    stood_in = [
        cell.outputs[-2].data["text/plain"] for cell in solution(lesson).cells if shows_widget(cell)
    ]
    assert list(map(words, told)) == list(map(words, stood_in))


def words(told: str) -> str:
    """What is told but the numbers: an x-ray takes those that the last check drew."""
    return re.sub(r"[−-]?\d[\d.e−]*", "#", told.strip())


def test_the_first_page_moves_and_names_the_fault(browser, site) -> None:
    page = browser.new_page(viewport=DESKTOP)
    open_page(page, site, "index.html")
    for shown in (".highlight", ".bbh-headline", ".bbh-steps svg"):  # without scrolling
        box = page.locator(f"article {shown}").first.bounding_box()
        assert box["y"] + box["height"] < DESKTOP["height"], shown
    assert "in the place of 2 * grad_output" in page.locator(".bbh-report").inner_text()
    walk = page.locator(".bbh-steps")
    first = walk.get_attribute("data-step")
    page.wait_for_function(
        "first => document.querySelector('.bbh-steps').dataset.step !== first", arg=first
    )
    page.close()


def test_answers_are_folded_and_can_be_opened(site, reader) -> None:
    open_page(reader, site, "lessons/02_sigmoid.html")
    answer = reader.locator("details").filter(has_text="class MySigmoid").first
    assert answer.get_attribute("open") is None
    assert not answer.locator("pre").first.is_visible()
    answer.locator("summary").press("Enter")
    assert answer.locator("pre").first.is_visible()
    assert reader.locator("math").count() > 10


def test_search_finds_a_rule(site, reader) -> None:
    reader.goto(f"{site.url}/search.html?q=gradient-scale")
    reader.locator("#search-results li a").first.wait_for()
    assert reader.locator("#search-results a[href*='gradient-scale']").count() > 0


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        ('<a href="nowhere.html">x</a>', "links"),
        ('<a href="#nowhere">x</a>', "links"),
        ('<div style="width: 700px">x</div>', "phone"),
        ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "axe"),
        ('<p style="color: #999; background: #fff">Too faint.</p>', "axe"),
        ('<script>fetch("http://example.com/")</script>', "outside"),
        ('<div style="width: 90px; height: 90px; background: #fff"></div>', "white"),
        (
            '<div class="bbh-player" data-kind="steps"><script type="application/json">{}</script></div>',
            "errors",
        ),
    ],
)
def test_a_planted_fault_is_found(fault, where, site, reader, outside) -> None:
    page = site.folder / "planted.html"
    text = (site.folder / "rules/raises.html").read_text(encoding="utf-8")
    page.write_text(text.replace("../", "").replace("</article>", f"{fault}</article>"))
    reader.set_viewport_size(PHONE)
    address = (
        f"{site.url}/planted.html?{zlib.crc32(fault.encode())}"  # none is taken from the cache
    )
    try:
        reader.errors.clear()
        reader.goto(address, wait_until="networkidle")
        look = {
            "links": lambda: [one for one in broken_links([page]) if "nowhere" in one],
            "phone": lambda: reader.evaluate(STICKS_OUT),
            "axe": lambda: axe_violations(reader),
            "outside": lambda: outside,
            "errors": lambda: reader.errors,
            "white": lambda: white_cards(reader, address),
        }
        assert look[where]()
    finally:
        outside.clear()
        page.unlink()


def test_the_picture_of_the_readme_is_made_here_and_moves(browser, site) -> None:
    page = browser.new_page(viewport={"width": 760, "height": 1100}, reduced_motion="reduce")
    open_page(page, site, "index.html")
    slider = page.get_by_role("slider", name="Step")
    last = int(slider.get_attribute("max"))
    slider.focus()
    heights, frames, told = [], [], [page.locator("article .highlight").first.inner_text()]
    for step in range(last + 1):
        slider.fill(str(step))
        heights.append(page.locator(".bbh-steps").bounding_box()["height"])
        told.append(page.locator(".bbh-steps").evaluate("walk => walk.textContent"))
    top = page.locator("article .cell").first.bounding_box()
    walk = page.locator(".bbh-steps").bounding_box()
    height = walk["y"] + max(heights) - top["y"]
    clip = {"x": 0, "y": top["y"] - 8, "width": 760, "height": height}
    for step in range(last + 1):
        slider.fill(str(step))
        shot = Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True)))
        frames.append(shot.convert("RGB"))
    page.close()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    made = SCREENSHOTS / "moving.png"
    colours = frames[-2].quantize(64)  # one palette: of the step that goes wrong
    frames = [one.quantize(palette=colours, dither=Image.Dither.NONE) for one in frames]
    pace = [1400] * last + [4000]
    # Fonts differ from machine to machine: the words in it tell whether a picture is out of date.
    said = PngInfo()
    said.add_itxt("told", "\n".join(told))
    frames[0].save(
        made, save_all=True, append_images=frames[1:], duration=pace, optimize=True, pnginfo=said
    )
    for picture in (made, ROOT / "docs/pictures/moving.png"):
        with Image.open(picture) as moving:
            assert moving.n_frames == last + 1
            assert moving.text["told"] == "\n".join(told), f"copy {made}"
            assert picture.stat().st_size < 400_000
