"""Build the site into build/site: lessons with answers folded and widgets live, rules, documents.

    python lessons/site/build.py                       what `make site` runs
    python lessons/site/build.py --repository ADDRESS  files that are no page are linked there

Sphinx makes the pages. Solutions are taken as they were executed; only what widgets need runs again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lessons.alone import opened_in  # noqa: E402
from lessons.convert import released  # noqa: E402
from lessons.site.pages import RULES, accessible, folded, linked, linked_output, sites_places  # noqa: E402
from lessons.site.players import play  # noqa: E402
from lessons.source import KERNEL, BuildError, read_lessons  # noqa: E402
from widgets.static_player import players, stylesheets  # noqa: E402

HERE = Path(__file__).parent
FIRST = "index"
OTHERS = "OTHERS"  # in the contents: the documents that nobody put into an order
# A rule is found by its report, the table of rules and the search: fifty more would drown the contents.
ORPHAN = "---\norphan: true\n---\n\n"


def write_source(root: Path, folder: Path, repository: str) -> None:
    """Write what Sphinx reads into an empty folder."""
    lessons = read_lessons(root / "lessons")
    places = sites_places(root, [lesson.name for lesson in lessons])
    first = jupytext.read(HERE / "index.py", fmt="py:percent")
    first.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    notebooks = {FIRST: first}
    for lesson in lessons:
        path = root / "solutions" / lesson.name / f"{lesson.name}.ipynb"
        solved = (
            nbformat.read(path, as_version=4) if lesson.has_exercises else released(root, lesson)
        )
        notebooks[lesson.name] = folded(lesson.name, solved)
        if links := opened_in(repository, lesson.name, buttons=False):
            title, _, text = solved.cells[0].source.partition("\n")
            solved.cells[0].source = f"{title}\n\n{' · '.join(links)}\n{text}"
    executed = {lesson.name for lesson in lessons if lesson.has_exercises}
    play(root, notebooks, whole=frozenset(set(notebooks) - executed))
    for name, notebook in notebooks.items():
        at = "README.md" if name == FIRST else f"course/{name}/{name}.ipynb"
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = cell.source.replace(OTHERS, _others(places, cell.source))
                cell.source = linked(cell.source, at, places, repository)
            for output in cell.get("outputs", []):
                if "text/html" in output.get("data", {}):
                    html = output.data["text/html"]
                    output.data["text/html"] = linked_output(html, at, places)
        _write(folder / places[at], nbformat.writes(notebook))
    for at, place in places.items():
        if place.endswith(".md"):
            text = (root / at).read_text(encoding="utf-8")
            alone = ORPHAN if at.startswith(str(RULES)) else ""
            _write(folder / place, alone + linked(text, at, places, repository))
    shutil.copytree(root / "docs/pictures", folder / "docs/pictures")
    shutil.copytree(HERE / "static", folder / "_static")
    shutil.copy(HERE / "conf.py", folder)
    _write(folder / "_static/players.js", players())
    _write(folder / "_static/widgets.css", stylesheets())


def _others(places: dict[str, str], contents: str) -> str:
    documents = {
        place.removesuffix(".md") for place in places.values() if place.startswith("docs/")
    }
    return "\n".join(sorted(documents - set(contents.split())))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build(root: Path, out: Path, *, repository: str = "") -> None:
    """Build the site of this clone into the folder `out`, which is emptied.

    Raises:
        BuildError: for whatever Sphinx warns of: a broken link, a formula it cannot set.
    """
    from sphinx.cmd.build import main as sphinx  # takes a while to import

    source = out.with_name(f"{out.name}-source")
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    write_source(root, source, repository)
    doctrees = out.with_name(f"{out.name}-doctrees")
    if sphinx(["-q", "-W", "--keep-going", "-d", str(doctrees), str(source), str(out)]):
        raise BuildError("Sphinx found what is written above.")
    for path in out.rglob("*.html"):
        _write(path, accessible(path.read_text(encoding="utf-8")))


def main(arguments: list[str]) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(
        prog="lessons/site/build.py", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build/site", help="the folder to fill")
    parser.add_argument("--repository", default="", metavar="ADDRESS", help="where files are shown")
    options = parser.parse_args(arguments)
    try:
        build(ROOT, options.out.resolve(), repository=options.repository)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Open {options.out / 'index.html'} in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
