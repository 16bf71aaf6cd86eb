"""formgrader in a real JupyterLab: it shows the class, and a submission can do nothing in it.

The attack is first shown to work where our plug-ins are missing. Then each wall is tried alone: the
notebook that autograding keeps, the page that formgrader makes of it, and the page's own policy.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from autograder.grading.demo import LEARNERS, LESSONS
from tests.browser.lab import KERNEL_IS_IDLE, Lab
from tests.build.mini_course import NAME
from tests.nbgrader.attack import ELSEWHERE, POINTS
from tests.nbgrader.classroom import STOCK_CONFIG, scores

LabServer = Callable[..., AbstractContextManager[Lab]]

# The course's configuration with one wall left standing.
ONLY_THE_PAGE_IS_SANITISED = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
from autograder.grading.config import configure_pages
configure_pages(c)
"""
ONLY_THE_POLICY_STANDS = (
    ONLY_THE_PAGE_IS_SANITISED
    + """
c.HTMLExporter.preprocessors = []
del c.HTMLExporter.filters["markdown2html"]
"""
)

# Ways in that work in stock formgrader; a test that lost one of them would prove less.
WORK_IN_STOCK = {
    "animation", "details", "entity-link", "event", "focus", "frame", "frame-link", "javascript",
    "link", "markdown-entity-link", "markdown-event", "markdown-link", "markdown-mermaid",
    "markdown-script", "output-markdown", "script", "width",
}  # fmt: skip


def guarded(test):
    """Marks for tests on the mini class."""
    for mark in (pytest.mark.browser, pytest.mark.slow):
        test = mark(test)
    return test


def with_config(folder: Path, target: Path, config: str | None = None) -> Path:
    """A copy of a graded class, read with another nbgrader_config.py."""
    shutil.copytree(folder, target)
    if config is not None:
        (target / "nbgrader_config.py").write_text(config)
    return target


def submission_id(folder: Path, learner: str, lesson: str = NAME) -> str:
    """How formgrader calls the notebook a learner handed in."""
    with sqlite3.connect(folder / "gradebook.db") as database:
        [(found,)] = database.execute(
            "SELECT n.id FROM submitted_notebook n JOIN submitted_assignment s"
            " ON n.assignment_id = s.id JOIN assignment a ON s.assignment_id = a.id"
            " WHERE s.student_id = ? AND a.name = ?",
            (learner, lesson),
        ).fetchall()
    return found


def manual_scores(folder: Path) -> set[float | None]:
    """The scores an instructor gave by hand; {None} where none was given."""
    with sqlite3.connect(folder / "gradebook.db") as database:
        return {score for (score,) in database.execute("SELECT manual_score FROM grade")}


def open_submission(page, lab: Lab, folder: Path, learner: str, lesson: str = NAME) -> None:
    page.goto(f"{lab.url}/formgrader/submissions/{submission_id(folder, learner, lesson)}/")
    page.wait_for_function("() => document.querySelector('input.score')?.placeholder !== ''")


def try_everything(page) -> list[str]:
    """Do what a curious instructor does, and give the names of the vectors that ran."""
    for link in page.query_selector_all("a.bait, .rendered_html a, .panel a"):
        if (link.get_attribute("href") or "").lower().replace("\t", "").startswith("javascript:"):
            link.evaluate("link => link.click()")
    page.mouse.move(400, 500)
    page.wait_for_timeout(700)
    return sorted(set(page.evaluate("() => window.pwned || []")))


def covered(page) -> bool:
    """Whether something lies over the page's own navigation."""
    return page.evaluate("() => !document.elementFromPoint(640, 25)?.closest('.navbar')")


@pytest.fixture
def formgrader(page, lab_server: LabServer, tmp_path: Path):
    """`with formgrader(class_folder, config) as (lab, folder):` a server on a copy, signed in."""

    @contextmanager
    def serve(folder: Path, config: str | None = None) -> Iterator[tuple[Lab, Path]]:
        copy = with_config(folder, tmp_path / "class", config)
        with lab_server(copy) as lab:
            lab.sign_in(page)
            yield lab, copy

    return serve


@pytest.mark.browser
@pytest.mark.slow
def test_formgrader_in_jupyterlab_shows_the_class(real_class: Path, page, formgrader) -> None:
    with formgrader(real_class) as (lab, folder):
        page.goto(f"{lab.url}/lab?reset")
        page.get_by_role("menuitem", name="Nbgrader").click(timeout=60_000)
        page.get_by_role("menuitem", name="Formgrader", exact=True).click()
        frame = page.frame_locator("iframe[src*=formgrader]")
        for lesson in LESSONS:
            frame.get_by_role("link", name="Manage Assignments").click()
            row = frame.locator("#main-table tr", has_text=lesson)
            row.get_by_role("link", name="3", exact=True).click()
            for learner in LEARNERS:
                score = f"{scores(folder)[learner, lesson]:g} / "
                found = frame.locator("#main-table tr", has_text=learner)
                found.get_by_text(score).wait_for(timeout=15_000)


@pytest.mark.browser
@pytest.mark.slow
def test_formgrader_shows_the_report_and_the_formulas(real_class: Path, page, formgrader) -> None:
    with formgrader(real_class) as (lab, folder):
        open_submission(page, lab, folder, "carla", "01_template")
        report = page.locator(".autograder-report.bbh-failed").first
        assert "gradient-scale" in report.inner_text()
        promises = report.locator(".bbh-promises")
        assert "✗ gradients" in " ".join(promises.inner_text().split())
        assert (
            promises.evaluate("one => getComputedStyle(one).display") == "flex"
        )  # our style sheet
        assert page.locator("math").first.bounding_box()["width"] > 0
        assert page.locator("#square-check").get_attribute("placeholder") == "0"


@guarded
def test_an_instructor_can_still_grade_by_hand(guarded_class: Path, page, formgrader) -> None:
    with formgrader(guarded_class) as (lab, folder):
        open_submission(page, lab, folder, "wrong")
        page.locator(".glyphicon-eye-open").click()
        assert page.locator("a.name-shown").inner_text().strip() == "wrong"
        page.fill("#double-hidden", "1")
        page.press("#double-hidden", "Tab")
        page.fill("#double-comment", "Nearly.")
        page.press("#double-comment", "Tab")
        page.wait_for_timeout(500)
        assert manual_scores(folder) == {None, 1.0}


@guarded
def test_without_our_plug_ins_the_attack_works(
    stock_class: Path, page, formgrader, requests_outside: list[str]
) -> None:
    with formgrader(stock_class) as (lab, folder):
        assert manual_scores(folder) == {None}
        open_submission(page, lab, folder, "mallory")
        assert covered(page)
        ran = try_everything(page)
        assert set(ran) >= WORK_IN_STOCK, sorted(WORK_IN_STOCK - set(ran))
        assert POINTS in manual_scores(folder), "it gave itself points"
        page.wait_for_timeout(2000)
        assert {f"{ELSEWHERE}/{what}" for what in ("pixel.png", "sheet.css", "refresh")} <= set(
            requests_outside
        )
        requests_outside.clear()


@guarded
@pytest.mark.parametrize(
    ("walls", "graded", "config"),
    [
        ("all", "guarded", None),
        ("only the kept notebook", "guarded", STOCK_CONFIG),
        ("only the page", "stock", ONLY_THE_PAGE_IS_SANITISED),
    ],
)
def test_the_attack_fails(
    walls: str, graded: str, config: str | None, request, page, formgrader, requests_outside
) -> None:
    with formgrader(request.getfixturevalue(f"{graded}_class"), config) as (lab, folder):
        open_submission(page, lab, folder, "mallory")
        assert try_everything(page) == []
        assert not covered(page)
        assert (
            page.locator(
                "#notebook form, #notebook iframe, #notebook input:not(.score):not(.extra-credit)"
            ).count()
            == 0
        )
        page.wait_for_timeout(2000)
        assert page.url.startswith(f"{lab.url}/formgrader/submissions/")
        assert manual_scores(folder) == {None}
        if walls == "only the kept notebook":  # then the page is stock's, which loads MathJax
            assert all("cdnjs.cloudflare.com" in url for url in requests_outside)
            requests_outside.clear()


@guarded
def test_the_pages_policy_alone_lets_no_script_run(
    stock_class: Path, page, formgrader, requests_outside: list[str]
) -> None:
    with formgrader(stock_class, ONLY_THE_POLICY_STANDS) as (lab, folder):
        open_submission(page, lab, folder, "mallory")
        assert covered(page), "nothing was sanitised"
        assert try_everything(page) == []
        assert manual_scores(folder) == {None}
        assert not any("pixel" in url or "sheet" in url for url in requests_outside)
        requests_outside.clear()


@guarded
def test_feedback_pages_let_nothing_run(
    guarded_class: Path, stock_class: Path, page, requests_outside: list[str]
) -> None:
    name = Path("feedback/mallory", NAME, f"{NAME}.html")
    page.goto((stock_class / name).as_uri())
    assert {"script", "event", "frame"} <= set(try_everything(page))
    requests_outside.clear()
    page.goto((guarded_class / name).as_uri())
    assert try_everything(page) == []
    page.wait_for_timeout(2000)
    assert page.url == (guarded_class / name).as_uri()


@guarded
def test_the_kept_notebook_is_harmless_in_jupyterlab(guarded_class: Path, page, formgrader) -> None:
    with formgrader(guarded_class) as (lab, _):
        page.goto(f"{lab.url}/lab/tree/autograded/mallory/{NAME}/{NAME}.ipynb?reset")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
        page.wait_for_function(KERNEL_IS_IDLE, timeout=60_000)
        assert try_everything(page) == []
