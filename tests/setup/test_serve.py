"""How JupyterLab is started: on course/, at the start page, without asking the internet anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import serve
from tests.setup.conftest import SETUP


def start(root: Path, monkeypatch: pytest.MonkeyPatch, **settings: str) -> tuple[list[str], str]:
    """How JupyterLab is called in a course, and where it then looks for settings."""
    called: list[list[str]] = []
    (root / serve.START_PAGE).parent.mkdir(parents=True)
    (root / serve.START_PAGE).write_text("{}")
    monkeypatch.setattr(serve.os, "environ", settings)
    monkeypatch.setattr(serve.os, "execv", lambda program, command: called.append(command))
    monkeypatch.setattr(serve.os, "chdir", lambda folder: called.append(folder))
    serve.main(["--no-browser"], root)
    assert called[0] == root
    return called[1], settings["JUPYTER_CONFIG_PATH"]


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, config = start(tmp_path, monkeypatch)
    assert command[1:] == ["-m", "jupyterlab", "--Application.log_level=WARN", "--no-browser"]
    assert config == str(SETUP / "jupyter")


def test_ones_own_jupyter_settings_stay_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, config = start(tmp_path, monkeypatch, JUPYTER_CONFIG_PATH="/mine")
    assert config.split(os.pathsep) == ["/mine", str(SETUP / "jupyter")]


def test_missing_start_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main([], tmp_path) == 1
    assert "start page is missing" in capsys.readouterr().err


def test_missing_jupyterlab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda name: None)
    assert serve.main([], tmp_path) == 1
    assert "make start" in capsys.readouterr().err


def ask_jupyter(tmp_path: Path, *command: str) -> dict:
    """What a command of Jupyter's own prints as JSON, with our settings and nobody's own."""
    settings = {"JUPYTER_CONFIG_PATH": str(SETUP / "jupyter"), "JUPYTER_CONFIG_DIR": str(tmp_path)}
    environment = {**os.environ, **settings}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True)
    return json.loads(done.stdout)


def test_jupyterlab_reads_the_offline_settings(tmp_path: Path) -> None:
    """Asked from JupyterLab itself: a setting in the wrong place would be ignored silently."""
    settings = ask_jupyter(tmp_path, "-m", "jupyterlab", "--show-config-json")
    assert settings["ServerApp"]["root_dir"] == "course"
    assert settings["ServerApp"]["allow_root"]
    settings = settings["LabApp"]
    assert Path("course") / settings["default_url"].removeprefix("/lab/tree/") == serve.START_PAGE
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
