"""The rules' pages: what they claim happens, and explain() shows them everywhere."""

import re
import subprocess
import sys

import pytest
from setuptools import Distribution

from autograder import explain
from autograder.__main__ import EXIT_PASSED, EXIT_USAGE, main
from autograder.contract.promises import PROMISES
from autograder.explaining.pages import PAGES, TITLES, as_text, page
from tests.explaining import rule_pages as pages

# The mended code would be the solution of an exercise of the course.
WITHOUT_RIGHT = {
    "higher-derivative", "parameters-without-gradient", "no-recompute", "too-many-passes",
    "temporary-too-large",
}  # fmt: skip


def test_every_rule_has_a_page_and_every_page_a_rule():
    assert {path.stem for path in PAGES.glob("*.md")} == set(TITLES)


@pytest.mark.parametrize("rule", TITLES)
def test_a_page_begins_with_the_rule_and_its_sentence_and_stays_short(rule):
    lines = page(rule).splitlines()
    assert lines[0] == f"# {rule}"
    assert lines[2] == f"**{TITLES[rule]}**"
    assert "## In your own code" in lines
    assert len(lines) <= 55
    assert max(len(line) for line in lines if not line.startswith("> ")) <= 125


@pytest.mark.parametrize("rule", TITLES)
def test_the_wrong_code_gets_the_rule_and_the_report_that_the_page_quotes(rule):
    report = pages.report_on_wrong(rule)
    assert report.findings[0].rule == rule
    assert pages.quoted(rule) == f"✗ {report.headline}", (
        "The report's words have changed: python -m tests.explaining.rule_pages writes them into the page."
    )


@pytest.mark.parametrize("rule", [rule for rule in TITLES if rule not in WITHOUT_RIGHT])
def test_the_right_code_passes_every_check(rule):
    report = pages.report_on_right(rule)
    assert report.passed, str(report)


def test_the_exceptions_are_exceptions():
    assert [r for r in TITLES if pages.example(r, "wrong") is None] == []
    assert all(pages.example(rule, "right") is None for rule in WITHOUT_RIGHT)


@pytest.mark.parametrize("rule", [rule for rule in TITLES if rule not in pages.OF_OTHERS])
def test_graded_feedback_on_the_same_mistake_shows_no_number_that_was_measured(rule, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    report = pages.report_on_wrong(rule)
    assert TITLES[rule] in report.headline
    assert not re.search(r"\d\.\d", str(report))
    assert "seed" not in str(report)


def test_the_index_names_each_rule_once_and_is_up_to_date():
    assert sorted(rule for each in PROMISES for rule in each.rules) == sorted(TITLES)
    assert pages.INDEX.read_text() == pages.index(), (
        "python -m tests.explaining.rule_pages writes it."
    )


@pytest.mark.parametrize("rule", TITLES)
def test_a_terminal_gets_text_without_markup_and_the_code_as_it_is(rule, capsys):
    explain(rule)
    text = capsys.readouterr().out
    assert text.startswith(f"{rule}\n{'=' * len(rule)}\n")
    assert TITLES[rule] in " ".join(text.split())
    assert not re.search(r"```|<!--|(?<!\w)\*\*\w|^#", text, re.MULTILINE)
    for code in re.findall(r"```python\n(.*?)```", page(rule), re.DOTALL):
        assert all(f"    {line}\n" in text for line in code.splitlines() if line)


def test_prose_is_wrapped_and_keeps_its_lists():
    text = as_text(
        "# T\n\nSome **bold** words and a [link](https://x.org).\n\n- one `two`\n- *three*\n", 24
    )
    assert text == "T\n=\n\nSome bold words and a\nlink.\n\n- one two\n- three"


def test_stars_in_code_and_formulas_are_no_emphasis():
    assert as_text("a `x**3` and b * c * d and `y * z`") == "a x**3 and b * c * d and y * z"


def test_a_notebook_gets_markdown_and_text_beside_it(monkeypatch):
    import IPython
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    explain("gradient-sign")
    (bundle,) = shown
    assert bundle["text/markdown"].startswith("### gradient-sign\n")
    assert "\n#### Right\n" in bundle["text/markdown"]
    assert "<!--" not in bundle["text/markdown"]
    assert bundle["text/plain"].startswith("gradient-sign\n=====")


@pytest.mark.parametrize("written", ["gradient-sign", "Gradient_Sign", " gradient sign "])
def test_a_name_may_be_written_carelessly(written, capsys):
    explain(written)
    assert capsys.readouterr().out.startswith("gradient-sign\n")


def test_an_unknown_name_gives_the_closest_ones():
    with pytest.raises(ValueError, match=r"no rule called 'gradiant-sing'.*gradient-sign"):
        explain("gradiant-sing")
    with pytest.raises(ValueError, match="raises"):
        explain("qqqq")


def test_the_command_line_explains_lists_and_helps(capsys):
    assert main(["explain", "gradient-sign"]) == EXIT_PASSED
    assert TITLES["gradient-sign"] in capsys.readouterr().out
    assert main(["explain"]) == EXIT_PASSED
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(TITLES)
    assert main(["explain", "gradiant-sing"]) == EXIT_USAGE
    assert "gradient-sign" in capsys.readouterr().err


def test_pages_are_read_only_when_they_are_asked_for():
    code = (
        "import io, sys; opened = []; sys.addaudithook(lambda event, args: "
        "event == 'open' and opened.append(str(args[0]))); import autograder.explaining.pages; "
        "print(sum(name.endswith('.md') for name in opened))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_an_installed_package_has_the_pages_and_the_stylesheet():
    distribution = Distribution()
    distribution.parse_config_files(["pyproject.toml"])
    distribution.include_package_data = False  # what git knows does not count in a wheel
    build = distribution.get_command_obj("build_py")
    build.finalize_options()
    files = {f"{package}/{name}" for package, _, _, names in build.data_files for name in names}
    assert {f"autograder.explaining.pages/pages/{rule}.md" for rule in TITLES} <= files
    assert "autograder/reporting/static/report.css" in files
