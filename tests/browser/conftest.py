"""Fixtures for tests that look at things in a real browser.

`browser` is shared by the session. `page` is a fresh, empty browser for one test; whatever it asks
for beyond this machine is blocked, and fails the test at its end. `lab_server(folder)` is a context
manager that runs a JupyterLab showing that folder; `shared_lab` is one for the whole session, and
`lab_page` the page that shows it: loaded once, since each load takes seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.browser.lab import CHROMIUM_FLAGS, PATIENCE, Lab, find_chromium, is_local, running_lab
from tests.browser.notebook import Kernel, change_theme, close_all, open_lab
from tests.nbgrader.classes import guarded_class, real_class, stock_class
from tests.not_run import NO_CHROMIUM

__all__ = ["guarded_class", "real_class", "stock_class"]

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is in the extra `test`")

sync_api.expect.set_options(timeout=PATIENCE)
VIEWPORT = sync_api.ViewportSize(width=1280, height=1000)


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    """One Chromium for all tests.

    Without one they are skipped, loudly, or fail where REQUIRE_BROWSER is set.
    """
    executable = find_chromium()
    if executable is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(NO_CHROMIUM)
        pytest.skip(NO_CHROMIUM)
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=executable, headless=True, args=CHROMIUM_FLAGS
        )
        yield chromium
        chromium.close()


@pytest.fixture
def requests_outside() -> list[str]:
    """Addresses beyond this machine that `page` asked for; a test that expects some clears it."""
    return []


@pytest.fixture
def page(browser: sync_api.Browser, requests_outside: list[str]) -> Iterator[sync_api.Page]:
    """A page of its own context; requests that would leave the machine are blocked and reported."""
    context = browser.new_context(viewport=VIEWPORT)
    stop_at_the_door(context, requests_outside)
    yield context.new_page()
    context.close()
    assert not requests_outside, f"requests left this machine: {requests_outside}"


def stop_at_the_door(context: sync_api.BrowserContext, outside: list[str]) -> None:
    """Add to the list what the context's pages ask for beyond this machine; Chromium finds none of it.

    Where requests are intercepted, Chromium keeps no cache. What a page's own policy refuses was not asked for.
    What pages wait for may take its time.
    """
    context.set_default_timeout(PATIENCE)

    def note(request: sync_api.Request) -> None:
        if not is_local(request.url) and request.failure != "csp":
            outside.append(request.url)

    def refuse(socket: sync_api.WebSocketRoute) -> None:
        outside.append(socket.url)
        socket.close()

    context.on("requestfinished", note)
    context.on("requestfailed", note)
    context.route_web_socket(lambda url: not is_local(url), refuse)


@pytest.fixture
def lab_server(tmp_path: Path) -> Callable[..., AbstractContextManager[Lab]]:
    """`with lab_server(folder) as lab:` runs JupyterLab on the folder; see lab.running_lab."""
    return partial(running_lab, home=tmp_path / "lab-home")


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab for the session; put notebooks into folders of your own under `lab.root`."""
    root = tmp_path_factory.mktemp("shared-lab")
    with running_lab(root, tmp_path_factory.mktemp("shared-lab-home")) as lab:
        yield lab


@pytest.fixture(scope="session")
def lab_outside() -> list[str]:
    """Addresses beyond this machine that the shared JupyterLab's page asked for."""
    return []


@pytest.fixture(scope="session")
def lab_app(
    browser: sync_api.Browser, shared_lab: Lab, lab_outside: list[str]
) -> Iterator[sync_api.Page]:
    """The page of the shared JupyterLab. Tests ask for `lab_page`, fixtures of modules for this."""
    context = browser.new_context(viewport=VIEWPORT, reduced_motion="reduce")
    stop_at_the_door(context, lab_outside)
    page = context.new_page()
    open_lab(page, shared_lab)
    yield page
    context.close()


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    """A kernel of the shared JupyterLab for notebooks that need none of their own."""
    return Kernel()


@pytest.fixture(scope="module")
def desk(lab_app: sync_api.Page, kernel: Kernel) -> Iterator[sync_api.Page]:
    """The same page for one module, in the light theme; its notebooks are closed at its end."""
    change_theme(lab_app, "light")
    yield lab_app
    close_all(lab_app, kernel.id)


@pytest.fixture
def lab_page(desk: sync_api.Page, lab_outside: list[str]) -> Iterator[sync_api.Page]:
    """The same page for one test, which fails if anything was asked for beyond this machine."""
    yield desk
    asked = list(lab_outside)
    lab_outside.clear()
    assert not asked, f"requests left this machine: {asked}"
