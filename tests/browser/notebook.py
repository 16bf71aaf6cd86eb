"""Opens and drives one notebook in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path

import nbformat

from tests.browser.lab import KERNEL_IS_IDLE, Lab

KERNELSPEC = {"name": "python3", "display_name": "Python 3"}
DONE = "every cell has run"
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(
  (cell) => [cell.model.type, cell.model.sharedModel.getSource()])"""


def write_notebook(path: Path, *sources: str) -> None:
    """A notebook of code cells, and a last one that prints DONE."""
    code = [nbformat.v4.new_code_cell(source) for source in (*sources, f"print({DONE!r})")]
    notebook = nbformat.v4.new_notebook(cells=code, metadata={"kernelspec": KERNELSPEC})
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def open_notebook(page, lab: Lab, name: str) -> None:
    """Open a notebook of the lab and wait for its kernel."""
    page.goto(lab.address(f"lab/tree/{name}?reset"))
    page.wait_for_function(KERNEL_IS_IDLE, timeout=60_000)


def run_all(page) -> None:
    """Run all cells and wait until the last one has said DONE."""
    execute(page, "notebook:run-all-cells")
    page.wait_for_selector(f".jp-OutputArea-output:has-text('{DONE}')", timeout=60_000)


def execute(page, command: str, **arguments: object) -> None:
    """Start one of JupyterLab's own commands; those that ask a question first do not end here."""
    page.evaluate(
        "([id, args]) => void jupyterapp.commands.execute(id, args)", [command, arguments]
    )


def cells(page) -> list[list[str]]:
    """Kind and source of every cell of the open notebook, in order."""
    return page.evaluate(CELLS)


def change_theme(page, theme: str) -> None:
    """Switch to "JupyterLab Light" or "JupyterLab Dark" and wait until it is drawn."""
    execute(page, "apputils:change-theme", theme=theme)
    light = str(theme == "JupyterLab Light").lower()
    page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
    page.wait_for_timeout(500)  # the colours arrive with a style sheet after the attribute
