"""How JupyterLab is started: on course/, at the start page, without asking the internet anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import serve
from problem import SetupProblem
from tests.setup.conftest import SETUP


def make_start_page(root: Path) -> None:
    page = root / "course" / serve.START_PAGE
    page.parent.mkdir(parents=True)
    page.write_text("{}")


def test_command() -> None:
    command = serve.lab_command(Path("/a b"), ["--no-browser"], is_root=False)
    assert command[1:3] == ["-m", "jupyterlab"]
    assert "--ServerApp.root_dir=/a b/course" in command
    assert command[-1] == "--no-browser"
    assert not any("allow_root" in word for word in command)
    assert "--ServerApp.allow_root=True" in serve.lab_command(Path("/a"), [], is_root=True)


def test_ones_own_jupyter_settings_stay_first() -> None:
    assert serve.lab_environment({})["JUPYTER_CONFIG_PATH"] == str(SETUP / "jupyter")
    both = serve.lab_environment({"JUPYTER_CONFIG_PATH": "/mine", "HOME": "/me"})
    assert both["JUPYTER_CONFIG_PATH"].split(os.pathsep) == ["/mine", str(SETUP / "jupyter")]
    assert both["HOME"] == "/me"


def test_missing_start_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main([], tmp_path) == 1
    assert "start page is missing" in capsys.readouterr().err
    make_start_page(tmp_path)
    serve.check_can_serve(tmp_path)


def test_missing_jupyterlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_start_page(tmp_path)
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupProblem, match="make start"):
        serve.check_can_serve(tmp_path)


def ask_jupyter(tmp_path: Path, *command: str) -> dict:
    """What a command of Jupyter's own prints as JSON, with our settings and nobody's own."""
    environment = serve.lab_environment(
        {**os.environ, "JUPYTER_CONFIG_PATH": "", "JUPYTER_CONFIG_DIR": str(tmp_path)}
    )
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True)
    return json.loads(done.stdout)


def test_jupyterlab_reads_the_offline_settings(tmp_path: Path) -> None:
    """Asked from JupyterLab itself: a setting in the wrong place would be ignored silently."""
    settings = ask_jupyter(tmp_path, "-m", "jupyterlab", "--show-config-json")["LabApp"]
    assert settings["news_url"] is None
    assert settings["check_for_updates_class"] == "jupyterlab.NeverCheckForUpdate"
    assert settings["extension_manager"] == "readonly"

    question = "import json; from jupyterlab_server.settings_utils import _get_overrides as get;"
    overrides = ask_jupyter(tmp_path, "-c", question + "print(json.dumps(get('/nowhere')[0]))")
    assert overrides["@jupyterlab/apputils-extension:notification"] == {
        "fetchNews": "false",
        "checkForUpdates": False,
    }


def test_the_panel_for_writing_assignments_is_hidden(tmp_path: Path) -> None:
    question = "import json; from jupyterlab_server.config import get_static_page_config as get;"
    page = ask_jupyter(tmp_path, "-c", question + "print(json.dumps(get()))")
    assert page["disabledExtensions"] == {"@jupyter/nbgrader:create-assignment": True}
