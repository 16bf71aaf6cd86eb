"""What sanitising keeps and what it takes away, piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.feedback import formgrader_scripts
from autograder.grading.feedback_page import hide_hidden_tests
from autograder.grading.safe_text import as_typed, clean_html, is_plain, safe_html, tex_to_mathml
from autograder.grading.sanitising import (
    LONGEST_TEXT,
    MOST_OUTPUTS,
    SanitisePage,
    safe_outputs,
    safe_pictures,
    sanitise,
)
from autograder.learner.lesson import LessonFiles
from autograder.learner.lesson import read_lesson as lesson_of
from autograder.learner.submitted_notebook import restore
from autograder.reporting.report import Report
from lessons.source import read_lesson
from tests.build.mini_course import NAME, write_mini_course
from tests.nbgrader.attack import HTML_VECTORS, MARKDOWN_VECTORS, UNCLOSED_VECTORS
from tests.nbgrader.test_feedback import BeautifulSoup, what_it_loads_or_runs

v4 = nbformat.v4
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def harmless(html: str) -> bool:
    return what_it_loads_or_runs(BeautifulSoup(html, "html.parser")) == []


@pytest.mark.parametrize("html", [*HTML_VECTORS.values(), *UNCLOSED_VECTORS.values()])
def test_attacks_in_html(html: str) -> None:
    clean = clean_html(html)
    assert harmless(clean)
    assert "style" not in clean


@pytest.mark.parametrize("text", MARKDOWN_VECTORS.values())
def test_attacks_in_markdown(text: str) -> None:
    assert harmless(safe_html(text))
    assert harmless(safe_html(as_typed(text)))


@pytest.mark.parametrize("name", [name for name in MARKDOWN_VECTORS if name != "markdown-formula"])
def test_attacks_in_markdown_are_not_plain(name: str) -> None:
    assert not is_plain(MARKDOWN_VECTORS[name])


FRAGMENTS = st.sampled_from(
    [*"<>\"'`=/&;#[]()!$\\ \n", "script", "img", "src", "onerror", "alert(1)", "svg", "style", "math",
     "javascript:", "&#106;", "href", "</", "<!--", "-->", "<a ", "x", "bbh-tex", "<![CDATA[", "mtext",
     "iframe", "srcdoc", "data:text/html,", "```", "mermaid", "template", "title", "\\text{", "}"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_whatever_is_typed_nothing_runs(text: str) -> None:
    for html in (clean_html(text), safe_html(text), tex_to_mathml(text, display=False)):
        assert harmless(html), html


@settings(max_examples=200, deadline=None)
@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_a_fence_cannot_be_closed_from_inside(text: str) -> None:
    assert is_plain(as_typed(text))


def test_our_reports_keep_their_markup() -> None:
    report = Report("Square", passed=False, findings=[], held=["Forward runs."], undecided=["x"])
    report.passed = True
    html = report._repr_html_()
    clean = clean_html(html)
    assert clean == html[html.index("<div") :]
    assert clean.startswith('<div class="autograder-report')


def test_classes_of_the_page_itself_cannot_be_worn() -> None:
    assert clean_html('<p class="navbar navbar-fixed-top">x</p>') == "<p>x</p>"
    assert (
        clean_html('<p class="full-credit" id="double-check" name="n" data-x="1">x</p>')
        == "<p>x</p>"
    )
    assert clean_html('<p class="bbh-headline">x</p>') == '<p class="bbh-headline">x</p>'


def test_text_stays_text() -> None:
    assert clean_html("1 &lt; 2 &amp;&amp; a") == "1 &lt; 2 &amp;&amp; a"
    assert clean_html("<table><tr><td>1</td></tr></table>").count("<td>") == 1
    assert "body {" not in clean_html("<style>body { color: red }</style><p>x</p>")


def test_markdown_is_formatted() -> None:
    html = safe_html(
        "# T\n\n*e* **s** `c` [l](https://example.org) <b>b</b>\n\n- one\n\n| a |\n|---|\n| 1 |"
    )
    for piece in (
        "<h1>T",
        "<em>e",
        "<strong>s",
        "<code>c",
        'href="https://example.org"',
        "<b>b",
        "<li>",
        "<td>1",
    ):
        assert piece in html, piece


@pytest.mark.parametrize(
    "text",
    ["plain", "# A title", "*a* `b<c`", "a < b and $a<b$", "[l](https://example.org)", "```python\n1<2\n```"],
)  # fmt: skip
def test_plain_markdown_is_kept_as_typed(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize(
    ("tex", "element"),
    [(r"\frac{a}{b}", "mfrac"), (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "mtable"),
     (r"\begin{cases} 1 & x>0 \\ 0 & \text{else} \end{cases}", "mtable"), (r"x_i^2", "msubsup"),
     (r"\sqrt{x}", "msqrt"), (r"\hat{y}", "mover"), (r"\sum_i g_i", "munder")],
)  # fmt: skip
def test_formulas_become_mathml(tex: str, element: str) -> None:
    html = tex_to_mathml(tex, display=True)
    assert f"<{element}" in html or f"<{element.replace('munder', 'msub')}" in html
    assert "&amp;" not in html
    assert "\\" not in html


def test_a_formula_that_is_not_understood_is_shown_as_it_is() -> None:
    assert tex_to_mathml(r"\frac{", display=False) == r"<code>\frac{</code>"
    assert tex_to_mathml("x" * 5000, display=False).startswith("<code>xxx")


def test_a_formula_brings_no_links_and_no_styles() -> None:
    html = tex_to_mathml(r"\href{javascript:x}{y} \style{color:red}{z}", display=False)
    assert "href" not in html
    assert "style=" not in html


def display(data: dict, metadata: dict | None = None) -> nbformat.NotebookNode:
    return v4.new_output("display_data", data=data, metadata=metadata or {})


def test_outputs_keep_text_pictures_and_clean_html() -> None:
    [output] = safe_outputs(
        [display({"text/plain": "t", "image/png": DOT, "text/html": "<b onclick='x'>b</b>"},
                 {"image/png": {"width": 3, "height": "3 onload=x", "alt": "a dot"}})]
    )  # fmt: skip
    assert output.data == {"text/plain": "t", "image/png": DOT, "text/html": "<b>b</b>"}
    assert output.metadata == {}


def test_other_outputs_are_named_and_not_shown() -> None:
    kinds = ["application/javascript", "image/svg+xml", "application/vnd.jupyter.widget-view+json"]
    for kind in kinds:
        [output] = safe_outputs([display({kind: "x"})])
        assert output.data == {"text/plain": f"[output of kind {kind}]"}


def test_large_pictures_within_html_are_kept() -> None:
    picture = f'<img src="data:image/png;base64,{"A" * 2_000_000}" alt="large">'
    [output] = safe_outputs([display({"text/html": picture})])
    assert len(output.data["text/html"]) > 2_000_000


def test_floods_are_cut() -> None:
    [output] = safe_outputs([v4.new_output("stream", text="x" * (LONGEST_TEXT + 5))])
    assert output.text.endswith("\n… 5 more characters not shown")
    outputs = safe_outputs([v4.new_output("stream", text="x")] * (MOST_OUTPUTS + 3))
    assert len(outputs) == MOST_OUTPUTS + 1
    assert outputs[-1].text == "[3 more outputs not shown]\n"


def test_only_ordinary_pictures_stay_attached() -> None:
    attached = {
        "a.png": {"image/png": DOT},
        "b.svg": {"image/svg+xml": DOT},
        "c.png": {"image/png": '">'},
    }
    assert safe_pictures(attached) == {"a.png": {"image/png": DOT}}


def sanitised(cell: nbformat.NotebookNode, to_be_shown: bool = False) -> nbformat.NotebookNode:
    notebook = v4.new_notebook(cells=[cell])
    if to_be_shown:
        SanitisePage().preprocess(notebook, {})
    else:
        sanitise(notebook, ())
    nbformat.validate(notebook)
    return notebook.cells[0]


def test_a_learners_plain_note_stays_and_another_is_shown_as_typed() -> None:
    assert sanitised(v4.new_markdown_cell("My *note*.")).source == "My *note*."
    html = sanitised(v4.new_markdown_cell("<b>My</b> note."))
    assert html.source == "```text\n<b>My</b> note.\n```"


def test_a_picture_in_a_note_stays() -> None:
    cell = v4.new_markdown_cell("![dot](attachment:dot.png)")
    cell.attachments = nbformat.from_dict({"dot.png": {"image/png": DOT}})
    kept = sanitised(cell)
    assert kept.source == "![dot](attachment:dot.png)"
    assert f'src="data:image/png;base64,{DOT}"' in safe_html(kept.source, kept.attachments)


def test_a_missing_picture_does_not_break_the_page() -> None:
    cell = sanitised(v4.new_markdown_cell("![dot](attachment:dot.png)"), to_be_shown=True)
    assert "attachment:dot.png" in safe_html(cell.source, cell.get("attachments"))


def test_raw_cells_become_text() -> None:
    cell = sanitised(v4.new_raw_cell("<script>no()</script>"), to_be_shown=True)
    assert cell.cell_type == "markdown"
    assert harmless(safe_html(cell.source))


@pytest.mark.parametrize("grade_id", ['"><script>', "a b", "", None, ["double"], "x" * 65])
def test_metadata_of_the_wrong_kind_is_dropped(grade_id: object) -> None:
    cell = v4.new_code_cell("1", metadata={"nbgrader": {"grade_id": grade_id, "grade": True}})
    assert sanitised(cell).metadata == {}


def test_metadata_of_the_right_kind_is_kept() -> None:
    role = {
        "grade_id": "double",
        "grade": True,
        "points": 2,
        "comment": "<script>",
        "locked": "yes",
    }
    kept = sanitised(v4.new_code_cell("1", metadata={"nbgrader": role, "tags": ["x"]})).metadata
    assert kept == {
        "nbgrader": {"grade_id": "double", "grade": True, "solution": False, "locked": False,
                     "task": False, "schema_version": 3, "points": 2}
    }  # fmt: skip


def test_sanitising_twice_changes_nothing_more() -> None:
    cell = v4.new_code_cell(
        "1", outputs=[display({"text/html": html}) for html in HTML_VECTORS.values()]
    )
    once = sanitised(cell)
    assert sanitised(nbformat.from_dict(once)) == once


def test_hidden_tests_of_any_cell_are_taken_out_with_tracebacks() -> None:
    source = "# why\n### BEGIN HIDDEN TESTS\nassert f(31) == 62\n### END HIDDEN TESTS"
    error = v4.new_output(
        "error", ename="AssertionError", evalue="", traceback=["----> 3 assert f(31) == 62"]
    )
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source, outputs=[error])])
    hide_hidden_tests(notebook)
    assert notebook.cells[0].source == "# why"
    assert notebook.cells[0].outputs[0].traceback == ["AssertionError: "]


def test_formgraders_own_scripts_are_known() -> None:
    hashes = formgrader_scripts().split()
    assert len(hashes) == 3, "the tooltips, show name, hide name"
    assert all(one.startswith("'sha256-") and one.endswith("='") for one in hashes)


@pytest.fixture
def restored(tmp_path: Path):
    """Gives, by cell id, the role that each cell of a submission to the mini lesson gets."""
    course = write_mini_course(tmp_path / "course")
    written = read_lesson(course / "lessons" / f"{NAME}.py").notebook
    lesson = lesson_of(LessonFiles(NAME, nbformat.writes(written)))

    def of(*cells: nbformat.NotebookNode) -> dict[str, Any]:
        notebook, names = v4.new_notebook(cells=list(cells)), {cell.id for cell in cells}
        restore(notebook, lesson)
        return {
            cell.id: cell.metadata.get("nbgrader") for cell in notebook.cells if cell.id in names
        }

    return of


@pytest.fixture
def roles(restored: Any):
    """The same, but only the grade_id."""
    return lambda *cells: {id: role and role.grade_id for id, role in restored(*cells).items()}


def code(name: str, grade_id: str | None = None, **more) -> nbformat.NotebookNode:
    metadata = {"nbgrader": {"grade_id": grade_id, **more}} if grade_id else {}
    return v4.new_code_cell("1", id=name, metadata={**metadata, "restored": True})


def test_a_cell_is_known_by_its_grade_id_or_else_by_its_id(roles) -> None:
    assert roles(code("moved", "double"), code("double-check"), code("mine")) == {
        "moved": "double", "double-check": "double-check", "mine": None,
    }  # fmt: skip


def test_of_a_copied_cell_the_last_counts(roles) -> None:
    assert roles(code("double", "double"), code("copy", "double")) == {
        "double": None,
        "copy": "double",
    }


def test_a_role_cannot_be_claimed(roles) -> None:
    assert roles(code("a", "nobody-knows"), code("b", ["double"]), code("double-check", "double")) == {
        "a": None, "b": None, "double-check": "double",
    }  # fmt: skip


def test_points_and_flags_are_the_lessons(restored) -> None:
    claimed = code("double-check", "double-check", points=9999, solution=True, grade=False)
    role = restored(claimed)["double-check"]
    assert (role.points, role.grade, role.solution) == (2, True, False)
