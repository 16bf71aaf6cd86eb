"""axe-core, which judges the accessibility of a page.

It is no Python package, so a machine may lack it; tests that need it are then skipped with a line
that says what was not run and how to get it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.not_run import NO_AXE

AXE = Path(__file__).parents[2] / "build/node/node_modules/axe-core/axe.min.js"
# JupyterLab's body has no height and hides what overflows it, so axe takes everything in it for
# invisible and judges no colours. Nobody sees a difference: it is the window that clips a body.
# Style sheets of elsewhere are not fetched: there are none.
RUN = """async (selector) => {
  document.body.style.minHeight = "100vh";
  const { violations, passes } = await axe.run(selector, { preload: false });
  document.body.style.minHeight = "";
  return { violations, judged: [...violations, ...passes].map((rule) => rule.id) };
}"""


def axe_violations(page, selector: str = "html") -> list[str]:
    """What axe-core holds against the page inside all that `selector` matches."""
    if not AXE.exists():
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(NO_AXE)
        pytest.skip(NO_AXE)
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE.read_text(encoding="utf-8"))  # not a script tag: a page may forbid those
    results = page.evaluate(RUN, selector)
    assert "color-contrast" in results["judged"], "axe saw no text, so it judged nothing"
    return [
        f"{found['id']} ({found['impact']}): {node['html'][:120]} {node['failureSummary']}"
        for found in results["violations"]
        for node in found["nodes"]
    ]
