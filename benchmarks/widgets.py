"""How quick and how large the live widgets are, beside a plain ipywidgets slider with matplotlib.

    python benchmarks/widgets.py [--steps 40] [--runs 7] [--markdown]

One JupyterLab and one Chromium, one notebook with all of them. Every step is a real key press on
the slider; the page itself takes the time from the key press until the new content is in the page
and laid out. (For the plain slider that is when the new picture is there, not yet decoded.) A cell
that is run again is timed from Ctrl+Enter's command until the widget is in the page, in the kernel
that has run it before. Needs the extra `test` and Chromium. --markdown prints docs/benchmarks.md's
section.
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

from tests.browser.every_widget import EXPLORERS, SET_UP, WALKS  # noqa: E402
from tests.browser.lab import CHROMIUM_FLAGS, find_chromium, running_lab  # noqa: E402
from tests.browser.notebook import open_lab, open_notebook, run_cells, write_notebook  # noqa: E402

MEDIAN_GOAL_MS, LATE_GOAL_MS = 16, 50
MODULE_GOAL_BYTES = 30_000
CELLS = {name: source for name, source in {**WALKS, **EXPLORERS}.items() if name != "block"}
PLAIN_NAME = "plain slider"
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
  window.unwatch?.();
  const press = () => { started = performance.now(); before = read(here); };
  document.addEventListener("keydown", press, true);
  const observer = new MutationObserver(() => {
    if (started === null || !read(here) || read(here) === before) return;
    here.getBoundingClientRect();
    window.latencies.push(performance.now() - started);
    started = null;
  });
  observer.observe(here, { subtree: true, childList: true, attributes: true, characterData: true });
  window.unwatch = () => { document.removeEventListener("keydown", press, true); observer.disconnect(); };
}"""
# From the command until what `drawn` matches is in the cell's output anew, laid out.
RUN_AGAIN = """async ([index, drawn]) => {
  const { content } = jupyterapp.shell.currentWidget;
  const { node } = content.widgets[index].outputArea;
  const old = node.querySelector(drawn);
  content.deselectAll();
  content.activeCellIndex = index;
  const started = performance.now();
  const ended = new Promise((resolve) => {
    const look = () => {
      const now = node.querySelector(drawn);
      if (!now || now === old) return;
      observer.disconnect();
      now.getBoundingClientRect();
      resolve(performance.now() - started);
    };
    const observer = new MutationObserver(look);
    observer.observe(node, { subtree: true, childList: true });
  });
  await jupyterapp.commands.execute("notebook:run-cell");
  return ended;
}"""
SAVED_BYTES = """index => new TextEncoder().encode(JSON.stringify(
  jupyterapp.shell.currentWidget.content.widgets[index].model.toJSON().outputs)).length"""


@dataclass(frozen=True)
class Measured:
    """One widget: milliseconds of its steps and of its cell run again; bytes in the saved notebook.

    `sent` are the bytes that go from the kernel to the page: once for all steps of a widget, again
    at every step of the plain slider.
    """

    name: str
    steps: tuple[float, ...]
    runs: tuple[float, ...]
    saved: int
    sent: int

    @property
    def late(self) -> float:
        """The 95th percentile of the steps."""
        return statistics.quantiles(self.steps, n=20)[-1]

    @property
    def meets_the_goal(self) -> bool:
        return statistics.median(self.steps) <= MEDIAN_GOAL_MS and self.late <= LATE_GOAL_MS


def main() -> None:
    """Measure everything once and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=40, help="key presses for each widget")
    parser.add_argument("--runs", type=int, default=7, help="times that each cell is run again")
    parser.add_argument(
        "--markdown", action="store_true", help="print tables for the documentation"
    )
    options = parser.parse_args()
    executable = find_chromium()
    if executable is None:
        sys.exit("No Chromium was found, so nothing can be measured.")
    if options.steps < 2 or options.runs < 1:
        parser.error("a percentile needs at least 2 steps, a median at least 1 run")
    print_widgets(measure(executable, options.steps, options.runs), options.markdown)
    print()
    print_modules(options.markdown)


def measure(executable: str, steps: int, runs: int) -> list[Measured]:
    """One browser, one notebook, every widget in turn, the plain slider last."""
    from playwright.sync_api import sync_playwright

    sources = [SET_UP, *CELLS.values(), PLAIN]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, home = Path(folder) / "root", Path(folder) / "home"
        root.mkdir()
        home.mkdir()
        write_notebook(root / "widgets.ipynb", *sources)
        with running_lab(root, home, env={"PYTHONPATH": str(ROOT)}) as lab:
            browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
            # As high as all cells: what is outside the window is not drawn.
            page = browser.new_page(viewport={"width": 1280, "height": 8000})
            open_lab(page, lab)
            open_notebook(page, "widgets.ipynb")
            errors = run_cells(page, range(len(sources) - 1))
            if errors:
                raise RuntimeError("\n".join(errors))
            found = [
                measure_widget(page, index, name, steps, runs)
                for index, name in enumerate(CELLS, start=1)
            ]
            found.append(measure_plain(page, len(sources) - 1, steps, runs))
            browser.close()
    return found


def measure_widget(page: Any, index: int, name: str, steps: int, runs: int) -> Measured:
    """One of ours, in that cell."""
    again = tuple(page.evaluate(RUN_AGAIN, [index, ".bbh input"]) for _ in range(runs))
    place = "here.dataset.position ?? here.dataset.step"
    latencies = press(page, index, ".bbh", ".bbh input", place, steps)
    return Measured(name, latencies, again, page.evaluate(SAVED_BYTES, index), trace_bytes(name))


def measure_plain(page: Any, index: int, steps: int, runs: int) -> Measured:
    """The slider of ipywidgets with a figure of matplotlib, in that cell."""
    page.evaluate(RUN_AGAIN, [index, "img"])
    again = tuple(page.evaluate(RUN_AGAIN, [index, "img"]) for _ in range(runs))
    source = "here.querySelector('img')?.src"
    latencies = press(page, index, ".widget-interact", ".noUi-handle", source, steps)
    sent = len(page.locator(".widget-interact img").get_attribute("src"))
    return Measured(PLAIN_NAME, latencies, again, page.evaluate(SAVED_BYTES, index), sent)


def press(
    page: Any, index: int, container: str, slider: str, state: str, steps: int
) -> tuple[float, ...]:
    """Milliseconds of that many key presses, to and fro between two places of the slider."""
    page.evaluate(
        "index => { jupyterapp.shell.currentWidget.content.widgets[index].node.id = 'watched'; }",
        index,
    )
    page.evaluate(WATCH, [f"#watched {container}", state])
    page.locator(f"#watched {slider}").first.focus()
    page.keyboard.press("ArrowRight")  # the first one is not like the others
    page.wait_for_function("window.latencies.length === 1", timeout=10_000)
    for number in range(steps):
        page.keyboard.press("ArrowRight" if number % 2 else "ArrowLeft")
        page.wait_for_function(f"window.latencies.length === {number + 2}", timeout=10_000)
    page.evaluate("() => document.getElementById('watched').removeAttribute('id')")
    return tuple(page.evaluate("window.latencies")[1:])


def trace_bytes(name: str) -> int:
    """Bytes of everything a widget sends to the page, all its steps included."""
    from widgets.static_player import own_state

    space: dict[str, Any] = {"__name__": "benchmark"}
    exec(SET_UP, space)
    return len(json.dumps(own_state(eval(CELLS[name], space)), ensure_ascii=False).encode())


def print_widgets(found: list[Measured], markdown: bool) -> None:
    """One row for each widget."""
    head = [
        "",
        "step, median ms",
        "p95 ms",
        "goal",
        "cell run again, ms",
        "sent, bytes",
        "saved, bytes",
    ]
    rows = [
        [
            f"`{one.name}`" if markdown and one.name != PLAIN_NAME else one.name,
            f"{statistics.median(one.steps):.1f}",
            f"{one.late:.1f}",
            "–" if one.name == PLAIN_NAME else "met" if one.meets_the_goal else "missed",
            f"{statistics.median(one.runs):.0f}",
            f"{one.sent}" + (" a step" if one.name == PLAIN_NAME else ""),
            f"{one.saved}",
        ]
        for one in found
    ]  # fmt: skip
    print_table(head, rows, markdown)


def print_modules(markdown: bool) -> None:
    """Bytes of every ES module, with the helpers they share."""
    from widgets.live import STATIC, script

    sizes = {
        path.name: len(script(path.name).encode())
        for path in sorted(STATIC.glob("*.js"))
        if path.name != "shared.js"
    }
    rows = [
        [name, f"{size}", "met" if size <= MODULE_GOAL_BYTES else "missed"]
        for name, size in sizes.items()
    ]
    print_table(["module", "bytes", "goal"], rows, markdown)


def print_table(head: list[str], rows: list[list[str]], markdown: bool) -> None:
    """Aligned for a terminal, or as Markdown with numbers to the right."""
    if markdown:
        print("| " + " | ".join(head) + " |")
        print("|---|" + "--:|" * (len(head) - 1))
        for row in rows:
            print("| " + " | ".join(row) + " |")
        return
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
