"""The fixtures themselves: JupyterLab starts, runs a cell, and no request leaves the machine."""

from __future__ import annotations

import nbformat
import pytest

from tests.browser.lab import KERNEL_IS_IDLE, Lab

pytestmark = pytest.mark.browser


def test_a_notebook_opens_and_runs(shared_lab: Lab, page) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("print(6 * 7, 'is the answer')")],
        # without it JupyterLab asks which kernel to start
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, shared_lab.root / "answer.ipynb")
    page.goto(shared_lab.address("lab/tree/answer.ipynb?reset"))
    page.wait_for_function(KERNEL_IS_IDLE, timeout=60_000)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_selector(".jp-OutputArea-output:has-text('42 is the answer')", timeout=60_000)


def test_a_request_that_would_leave_the_machine_is_seen(page, requests_outside) -> None:
    page.set_content("<img src='https://example.org/pixel.png'>")
    page.wait_for_timeout(300)
    assert requests_outside == ["https://example.org/pixel.png"]
    requests_outside.clear()
