"""How quick and how large the live widgets are, beside a plain ipywidgets slider with matplotlib.

    python benchmarks/widgets.py [--steps 40]

One JupyterLab and one Chromium, one notebook with all of them. Every step is a real key press on
the slider; the page itself takes the time from the key press until the new content is in the page
and laid out. (For the plain slider that is when the new picture is there, not yet decoded.)
Needs the extra `test` and Chromium.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.lab import CHROMIUM_FLAGS, find_chromium, running_lab  # noqa: E402
from tests.browser.notebook import open_lab, open_notebook, run_all, write_notebook  # noqa: E402

MEDIAN_GOAL_MS, LATE_GOAL_MS = 16, 50
MODULE_GOAL_BYTES = 30_000
NAMES = ("gradient_flow", "ste_explorer", "function_builder", "memory_timeline", "attention_map")
PLAIN = """import ipywidgets, matplotlib.pyplot as plt, torch
xs = torch.linspace(-4, 4, 81)
def draw(i=40):
    y = torch.sigmoid(xs)
    slope = y * (1 - y)
    fig, (left, right) = plt.subplots(1, 2, figsize=(7, 2.5))
    left.plot(xs, y)
    left.plot(xs[i], y[i], "o")
    right.plot(xs, slope)
    right.plot(xs[i], slope[i], "o")
    plt.show()
ipywidgets.interact(draw, i=(0, 80))"""

# From the key press to the first change after which `state` is another one, laid out.
WATCH = """([container, state]) => {
  const here = document.querySelector(container);
  const read = new Function("here", `return ${state}`);
  window.latencies = [];
  let started = null;
  let before = read(here);
  document.addEventListener("keydown", () => { started = performance.now(); before = read(here); }, true);
  new MutationObserver(() => {
    if (started === null || !read(here) || read(here) === before) return;
    here.getBoundingClientRect();
    window.latencies.push(performance.now() - started);
    started = null;
  }).observe(here, { subtree: true, childList: true, attributes: true, characterData: true });
}"""


@dataclass(frozen=True)
class Latency:
    """Milliseconds of the steps of one widget."""

    name: str
    steps: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.steps)

    @property
    def late(self) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.steps, n=20)[-1]


def main() -> None:
    """Measure everything once and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=40, help="key presses for each widget")
    options = parser.parse_args()
    executable = find_chromium()
    if executable is None:
        sys.exit("No Chromium was found, so nothing can be measured.")
    if options.steps < 2:
        parser.error("a median and a percentile need at least 2 steps")
    print_latencies(measure_latencies(executable, options.steps))
    print()
    print_sizes()


def measure_latencies(executable: str, steps: int) -> list[Latency]:
    """One browser, one notebook, every widget in turn, the plain slider last."""
    from playwright.sync_api import sync_playwright

    found = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, home = Path(folder) / "root", Path(folder) / "home"
        root.mkdir()
        home.mkdir()
        sources = [
            f"from widgets import {', '.join(NAMES)}",
            *(f"{name}()" for name in NAMES),
            PLAIN,
        ]
        write_notebook(root / "widgets.ipynb", *sources)
        with running_lab(root, home, env={"PYTHONPATH": str(ROOT)}) as lab:
            browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 6000})
            open_lab(page, lab)
            open_notebook(page, "widgets.ipynb")
            run_all(page)
            page.wait_for_function(
                f"document.querySelectorAll('.bbh input').length === {len(NAMES)}"
            )
            for index, name in enumerate(NAMES):
                page.evaluate(f"document.querySelectorAll('.bbh')[{index}].id = 'watched-{index}'")
                watched = f"#watched-{index}"
                place = "here.dataset.position ?? here.dataset.step"
                found.append(Latency(name, press(page, watched, f"{watched} input", place, steps)))
            area = ".widget-interact, .jupyter-widgets.widget-vbox"
            page.wait_for_selector(f":is({area}) img")
            found.append(
                Latency(
                    "ipywidgets.interact + matplotlib",
                    press(
                        page,
                        area,
                        f":is({area}) .noUi-handle",
                        "here.querySelector('img')?.src",
                        steps,
                    ),
                )
            )
            browser.close()
    return found


def press(page: Any, container: str, slider: str, state: str, steps: int) -> tuple[float, ...]:
    """Milliseconds of that many key presses, to and fro between two places of the slider."""
    page.evaluate(WATCH, [container, state])
    page.locator(slider).first.focus()
    page.keyboard.press("ArrowRight")  # the first one is not like the others
    page.wait_for_function("window.latencies.length === 1", timeout=10_000)
    for number in range(steps):
        page.keyboard.press("ArrowRight" if number % 2 else "ArrowLeft")
        page.wait_for_function(f"window.latencies.length === {number + 2}", timeout=10_000)
    return tuple(page.evaluate("window.latencies")[1:])


def print_latencies(found: list[Latency]) -> None:
    """One row for each widget."""
    print(f"Key press to new content, ms (goal: median ≤ {MEDIAN_GOAL_MS}, p95 ≤ {LATE_GOAL_MS})")
    print(f"{'':34}{'median':>8}{'p95':>8}{'steps':>8}")
    for one in found:
        met = one.median <= MEDIAN_GOAL_MS and one.late <= LATE_GOAL_MS
        print(
            f"{one.name:34}{one.median:8.1f}{one.late:8.1f}{len(one.steps):8}"
            f"  {'meets the goal' if met else 'misses the goal'}"
        )


def print_sizes() -> None:
    """Bytes of every module, and of what each widget sends to the page and leaves in a notebook."""
    import widgets
    from widgets.live import STATIC, script
    from widgets.static_player import own_state

    print(f"Module, bytes (goal: ≤ {MODULE_GOAL_BYTES})")
    for path in sorted(STATIC.glob("*.js")):
        if path.name != "shared.js":
            print(f"{path.name:34}{len(script(path.name).encode()):10}")
    print("\nBytes of the trace sent to the page, and of the stand-in in a saved notebook")
    for name in NAMES:
        widget = getattr(widgets, name)()
        trace = len(json.dumps(own_state(widget), ensure_ascii=False).encode())
        saved = sum(len(text.encode()) for text in widget.stand_in().values())
        print(f"{name:34}{trace:10}{saved:10}")


if __name__ == "__main__":
    main()
