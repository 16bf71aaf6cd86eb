"""formgrader in a real JupyterLab: it shows the class, and a submission can do nothing in it.

The attack is first shown to work where our plug-ins are missing. Then each wall is tried alone: the
notebook that autograding keeps, the page that formgrader makes of it, and the page's own policy.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.grading.demo import LEARNERS, LESSONS
from tests.browser.lab import KERNEL_IS_IDLE, Lab, running_lab
from tests.browser.notebook import wait_until
from tests.build.mini_course import NAME
from tests.nbgrader.attack import ELSEWHERE, POINTS
from tests.nbgrader.classroom import STOCK_CONFIG, scores

# The course's configuration with one wall left standing.
ONLY_THE_PAGE_IS_SANITISED = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "course"
from autograder.grading.config import configure
configure(c, "pages")
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


pytestmark = [pytest.mark.browser, pytest.mark.slow]


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
    # Until both are loaded, the page loses what is typed.
    page.wait_for_function(
        "() => window.formgrader?.grades?.loaded && window.formgrader.comments?.loaded"
    )


def wait_for_table(frame, name: str) -> None:
    """Until a page's table is complete, its rows move about and a click on one may be lost."""
    frame.wait_for_url(f"**/formgrader/{name}*")
    frame.wait_for_function("() => window.models?.loaded")


def stay(page) -> None:
    """Where the attack leads the page away, the page stays to be looked at."""
    page.route(f"{ELSEWHERE}/refresh", lambda route: route.fulfill(status=204))


def pwned(page) -> set[str]:
    """The names of the vectors that ran."""
    return set(page.evaluate("() => window.pwned || []"))


def try_everything(page) -> set[str]:
    """Do what a curious instructor does, and give the names of the vectors that ran."""
    for link in page.query_selector_all("a.bait, .rendered_html a, .panel a"):
        if (link.get_attribute("href") or "").lower().replace("\t", "").startswith("javascript:"):
            link.evaluate("link => link.click()")
    page.mouse.move(400, 500)
    page.wait_for_timeout(700)  # for what should not happen
    return pwned(page)


def covered(page) -> bool:
    """Whether something lies over the page's own navigation."""
    return page.evaluate("() => !document.elementFromPoint(640, 25)?.closest('.navbar')")


@contextmanager
def serving(folder: Path, home: Path, config: str | None = None) -> Iterator[tuple[Lab, Path]]:
    """A server on a copy of a graded class: it takes seconds to start, and reads one configuration."""
    copy = with_config(folder, home / "class", config)
    with running_lab(copy, home / "lab-home") as lab:
        yield lab, copy


@pytest.fixture(scope="module")
def guarded(guarded_class: Path, tmp_path_factory) -> Iterator[tuple[Lab, Path]]:
    """The mini class as this course shows it."""
    with serving(guarded_class, tmp_path_factory.mktemp("guarded")) as found:
        yield found


@pytest.fixture(scope="module")
def real(real_class: Path, tmp_path_factory) -> Iterator[tuple[Lab, Path]]:
    """Two lessons of the course itself."""
    with serving(real_class, tmp_path_factory.mktemp("real")) as found:
        yield found


def test_formgrader_in_jupyterlab_shows_the_class(real, page) -> None:
    lab, folder = real
    lab.sign_in(page)
    page.goto(f"{lab.url}/lab?reset")
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Formgrader", exact=True).click()
    frame = page.wait_for_selector("iframe[src*=formgrader]").content_frame()
    expected = scores(folder)
    wait_for_table(frame, "")
    for lesson in LESSONS:
        row = frame.locator("#main-table tr", has_text=lesson)
        row.get_by_role("link", name="3", exact=True).click()
        wait_for_table(frame, f"manage_submissions/{lesson}")
        for learner in LEARNERS:
            found = frame.locator("#main-table tr", has_text=learner)
            found.get_by_text(f"{expected[learner, lesson]:g} / ").wait_for()
        frame.get_by_role("link", name="Manage Assignments").click()
        wait_for_table(frame, "manage_assignments")


def test_formgrader_shows_the_report_and_the_formulas(real, page) -> None:
    lab, folder = real
    lab.sign_in(page)
    open_submission(page, lab, folder, "carla", "01_template")
    report = page.locator(".autograder-report.bbh-failed").first
    assert "gradient-scale" in report.inner_text()
    promises = report.locator(".bbh-promises")
    assert "✗ gradients" in " ".join(promises.inner_text().split())
    style = promises.evaluate("one => getComputedStyle(one).display")
    assert style == "flex"  # our style sheet
    assert page.locator("math").first.bounding_box()["width"] > 0
    assert page.locator("#square-check").get_attribute("placeholder") == "0"


def the_attack_fails(page, lab: Lab, folder: Path) -> None:
    """The attacker's work is opened, and nothing of it runs, covers, asks or leads away."""
    before = manual_scores(folder)
    open_submission(page, lab, folder, "mallory")
    assert try_everything(page) == set()
    assert not covered(page)
    asks = "#notebook form, #notebook iframe, #notebook input:not(.score):not(.extra-credit)"
    assert page.locator(asks).count() == 0
    page.wait_for_timeout(2000)
    assert page.url.startswith(f"{lab.url}/formgrader/submissions/")
    assert manual_scores(folder) == before


def test_the_attack_fails_behind_all_walls(guarded, page) -> None:
    lab, folder = guarded
    lab.sign_in(page)
    the_attack_fails(page, lab, folder)


def test_an_instructor_can_still_grade_by_hand(guarded, page) -> None:
    lab, folder = guarded
    lab.sign_in(page)
    assert manual_scores(folder) == {None}
    open_submission(page, lab, folder, "wrong")
    page.locator(".glyphicon-eye-open").click()
    assert page.locator("a.name-shown").inner_text().strip() == "wrong"
    for field, typed in (("#double-hidden", "1"), ("#double-comment", "Nearly.")):
        with page.expect_response(lambda answer: answer.request.method == "PUT"):
            page.fill(field, typed)
            page.press(field, "Tab")
    assert manual_scores(folder) == {None, 1.0}


def test_the_kept_notebook_is_harmless_in_jupyterlab(guarded, page) -> None:
    lab, _ = guarded
    lab.sign_in(page)
    page.goto(f"{lab.url}/lab/tree/autograded/mallory/{NAME}/{NAME}.ipynb?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.wait_for_function(KERNEL_IS_IDLE)
    assert try_everything(page) == set()


def test_without_our_plug_ins_the_attack_works(
    stock_class: Path, page, tmp_path: Path, requests_outside: list[str]
) -> None:
    outside = {f"{ELSEWHERE}/{what}" for what in ("pixel.png", "sheet.css", "refresh")}
    with serving(stock_class, tmp_path) as (lab, folder):
        lab.sign_in(page)
        stay(page)
        assert manual_scores(folder) == {None}
        open_submission(page, lab, folder, "mallory")
        assert covered(page)
        try_everything(page)
        wait_until(page, lambda: pwned(page) >= WORK_IN_STOCK)
        wait_until(page, lambda: POINTS in manual_scores(folder))  # it gave itself points
        wait_until(page, lambda: outside <= set(requests_outside))
        page.goto("about:blank")
        requests_outside.clear()


@pytest.mark.parametrize(
    ("graded", "config"),
    [("guarded", STOCK_CONFIG), ("stock", ONLY_THE_PAGE_IS_SANITISED)],
    ids=["only the kept notebook", "only the page"],
)
def test_the_attack_fails_behind_one_wall(
    graded: str, config: str, request, page, tmp_path: Path, requests_outside: list[str]
) -> None:
    graded_class = request.getfixturevalue(f"{graded}_class")
    with serving(graded_class, tmp_path, config) as (lab, folder):
        lab.sign_in(page)
        the_attack_fails(page, lab, folder)
    if config == STOCK_CONFIG:  # then the page is stock's, which loads MathJax
        assert all("cdnjs.cloudflare.com" in url for url in requests_outside)
        requests_outside.clear()


def test_the_pages_policy_alone_lets_no_script_run(
    stock_class: Path, page, tmp_path: Path, requests_outside: list[str]
) -> None:
    with serving(stock_class, tmp_path, ONLY_THE_POLICY_STANDS) as (lab, folder):
        lab.sign_in(page)
        stay(page)
        open_submission(page, lab, folder, "mallory")
        assert covered(page), "nothing was sanitised"
        assert try_everything(page) == set()
        assert manual_scores(folder) == {None}
        assert not any("pixel" in url or "sheet" in url for url in requests_outside)
        page.goto("about:blank")
        requests_outside.clear()


def test_feedback_pages_let_nothing_run(
    guarded_class: Path, stock_class: Path, page, requests_outside: list[str]
) -> None:
    name = Path("feedback/mallory", NAME, f"{NAME}.html")
    stay(page)
    page.goto((stock_class / name).as_uri())
    try_everything(page)
    wait_until(page, lambda: {"script", "event", "frame"} <= pwned(page))
    page.unroute(f"{ELSEWHERE}/refresh")
    page.goto("about:blank")
    requests_outside.clear()
    page.goto((guarded_class / name).as_uri())
    assert try_everything(page) == set()
    page.wait_for_timeout(2000)
    assert page.url == (guarded_class / name).as_uri()
