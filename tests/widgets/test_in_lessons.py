"""The widgets in the notebooks as learners open them: nothing is solved yet, and none may fail."""

from pathlib import Path

import matplotlib
import nbformat
import pytest

COURSE = Path(__file__).parents[2] / "course"
SHOWN = {
    "01_template": {"see-gradient-flow", "see-function-builder", "see-square", "see-your-flow"},
    "02_sigmoid": {
        "see-my-sigmoid",
        "see-kept-by-my-sigmoid",
        "see-kept-by-the-formula",
        "see-kept-intermediate",
    },
}
LEFT_OUT = ("finale-", "quiz-")


@pytest.mark.parametrize("lesson", SHOWN)
def test_a_widget_on_an_unwritten_exercise_shows_it_and_does_not_fail(lesson, monkeypatch):
    matplotlib.use("agg")
    notebook = nbformat.read(COURSE / lesson / f"{lesson}.ipynb", as_version=4)
    space: dict[str, object] = {"__name__": "__main__"}
    views = {}
    for cell in notebook.cells:
        data = cell.metadata.get("nbgrader", {})
        name = data.get("grade_id", "")
        if cell.cell_type != "code" or data.get("grade") or name.startswith(LEFT_OUT):
            continue
        if name.startswith("see-"):
            assert data["locked"]
            *lines, last = cell.source.rstrip().splitlines()
            exec("\n".join(lines), space)
            views[name] = str(eval(last, space))
        else:
            try:
                exec(cell.source, space)
            except NotImplementedError:
                assert name.startswith(("demo-", "try-"))  # those that use an exercise
    assert set(views) == SHOWN[lesson]
    unwritten = [text for text in views.values() if "not written yet" in text]
    stopped = [text for text in views.values() if "NotImplementedError" in text]
    assert len(unwritten) == 1
    assert len(stopped) == 2
