"""A browser for the static player, and a progress folder of their own for all tests here."""

import pytest

from autograder import progress_file
from tests import chromium
from widgets.static_player import page as player_page


@pytest.fixture(autouse=True)
def progress_home(tmp_path, monkeypatch):
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


@pytest.fixture(scope="session")
def browser():
    with chromium.chromium() as browser:
        yield browser


@pytest.fixture
def play(browser, tmp_path):
    """Opens a widget in the static player and gives the Playwright page."""
    opened = []

    def open_player(widget, colour_scheme="light", **options):
        file = tmp_path / f"player-{len(opened)}.html"
        file.write_text(player_page(widget, "A widget"), encoding="utf-8")
        page = browser.new_page(color_scheme=colour_scheme, **options)
        opened.append(page)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        page.add_init_script(chromium.REMEMBER_BLOCKED)
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_player
    for page in opened:
        page.close()


def outside(page):
    """Every address the page asked for or was kept from asking for, itself and its own aside."""
    asked = [url for url in page.requested if not url.startswith(("file:", "blob:", "data:"))]
    return asked + page.evaluate("() => window.blockedRequests")
