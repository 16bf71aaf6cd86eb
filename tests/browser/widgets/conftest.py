"""`play` opens a widget in the static player: a page without a kernel and without a network."""

import pytest

from tests.browser.lab import is_local
from widgets.static_player import page as player_page

REMEMBER_BLOCKED = """
window.blockedRequests = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.blockedRequests.push(event.blockedURI);
});
"""


@pytest.fixture
def play(browser, tmp_path):
    """Opens a widget in a page of its own; options are those of Playwright's new_page."""
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
        page.add_init_script(REMEMBER_BLOCKED)
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_player
    for page in opened:
        page.close()


@pytest.fixture
def outside():
    """Lists what a page asked for beyond this machine, or was kept from asking for."""

    def list_outside(page):
        asked = [url for url in page.requested if not is_local(url)]
        return asked + page.evaluate("() => window.blockedRequests")

    return list_outside
