"""Chromium for the tests: started once, driven by Playwright, with axe-core to judge accessibility.

Neither is a Python package, so a machine may lack them; tests that need one are then skipped with a
line that says what was not run and how to get it.
"""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

AXE = Path(__file__).parents[1] / "build/node/node_modules/axe-core/axe.min.js"
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REMEMBER_BLOCKED = """
window.blockedRequests = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.blockedRequests.push(event.blockedURI);
});
"""


@contextlib.contextmanager
def chromium() -> Iterator[object]:
    """A headless Chromium (a Playwright Browser); skips the test where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="NOT RUN: needs playwright")
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip("NOT RUN: needs Chromium, for example `apt-get install chromium`")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield browser
        browser.close()


def axe_violations(page, selector: str = "html") -> list[str]:
    """What axe-core holds against the page under `selector`, one line a rule; skips without axe."""
    if not AXE.exists():
        pytest.skip("NOT RUN: needs axe-core: `npm install --prefix build/node axe-core`")
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not a script tag: a page may forbid those
    results = page.evaluate("selector => axe.run(document.querySelector(selector))", selector)
    return [
        f"{found['id']} ({found['impact']}): {node['html'][:120]} {node['failureSummary']}"
        for found in results["violations"]
        for node in found["nodes"]
    ]
