"""One self-contained HTML page of any widget of the course: its ES module, no kernel, no network.

Most interaction tests run on such a page, and the documentation shows widgets with it. A content
security policy in the page forbids every request.
"""

import html
import json

import anywidget
import ipywidgets  # type: ignore[import-untyped]

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
 style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 1.5rem; background: Canvas; color: CanvasText; font-family: sans-serif; }}
{css}
</style>
</head>
<body class="bbh-page">
<main><h1>{title}</h1><div id="widget"></div></main>
<script type="application/json" id="state">{state}</script>
<script type="application/json" id="module">{module}</script>
<script type="module">
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const state = read("state");
const listeners = {{}};
const model = {{
  get: (name) => state[name],
  set(name, value) {{
    state[name] = value;
    for (const heard of listeners[`change:${{name}}`] ?? []) heard();
  }},
  save_changes() {{}},
  on(event, heard) {{ (listeners[event] ??= []).push(heard); }},
  off(event, heard) {{ listeners[event] = listeners[event].filter((one) => one !== heard); }},
}};
const address = URL.createObjectURL(new Blob([read("module")], {{ type: "text/javascript" }}));
const {{ default: widget }} = await import(address);
await widget.render({{ model, el: document.getElementById("widget") }});
window.model = model;
document.body.dataset.ready = "true";
</script>
</body>
</html>
"""


def page(widget: anywidget.AnyWidget, title: str) -> str:
    """The HTML page in which the widget runs by itself, from the state it has now."""
    return PAGE.format(
        title=html.escape(title),
        css=widget._css,
        state=_as_json(own_state(widget)),
        module=_as_json(str(widget._esm)),
    )


def own_state(widget: anywidget.AnyWidget) -> dict[str, object]:
    """What the widget's own module reads: its synchronised traits but those all widgets have.

    Those that only a kernel gives a meaning to are left out.
    """
    common = {*ipywidgets.DOMWidget.class_trait_names(), *widget.trait_names(kernel=True)}
    return {
        name: value
        for name, value in widget.get_state().items()
        if name not in common and not name.startswith("_")
    }


def _as_json(value: object) -> str:
    """JSON that cannot close the script element it stands in."""
    return json.dumps(value).replace("</", "<\\/").replace("<!--", "<\\u0021--")
