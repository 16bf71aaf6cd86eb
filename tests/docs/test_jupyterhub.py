"""The page for JupyterHub: its configuration loads, and every name in it is one."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import Exchange
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/jupyterhub.md").read_text(encoding="utf-8")


def loaded(number: int) -> Config:
    """One of the page's snippets, as Jupyter loads a configuration file."""
    snippet = re.findall(r"```python\n(.*?)```", PAGE, re.S)[number]
    config = Config()
    exec(compile(snippet, f"snippet {number}", "exec"), {"get_config": lambda: config})
    return config


def test_the_hubs_snippet_loads() -> None:
    spawner = loaded(0).Spawner
    assert spawner.cmd == ["/srv/backward-by-hand/.venv/bin/jupyterhub-singleuser"]
    assert spawner.environment["OMP_NUM_THREADS"] == "1"
    kind = pytest.importorskip("jupyterhub.spawner").Spawner
    assert set(spawner) <= set(kind.class_trait_names(config=True))
    kind(config=loaded(0))


def test_the_exchanges_snippet_is_nbgraders() -> None:
    config = loaded(1)
    assert CourseDirectory(config=config).course_id == "backward-by-hand"
    assert Exchange(config=config).root == "/srv/nbgrader/exchange"
    known = {"CourseDirectory": CourseDirectory, "Exchange": Exchange}
    for name, settings in config.items():
        assert set(settings) <= set(known[name].class_trait_names(config=True))


def test_the_course_of_the_snippet_is_the_instructors() -> None:
    own = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    assert f'course_id = "{loaded(1).CourseDirectory.course_id}"' in own


def test_the_link_leads_to_a_lesson() -> None:
    (link,) = re.findall(r"https://hub\S+", PAGE)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    folder = asked["repo"].rsplit("/", 1)[1]
    assert asked["urlpath"].startswith(f"lab/tree/{folder}/")
    assert (ROOT / asked["urlpath"].removeprefix(f"lab/tree/{folder}/")).is_file()
    assert set(asked) == {"repo", "branch", "urlpath"}


def test_every_command_of_nbgrader_on_the_page_is_one() -> None:
    commands = set(re.findall(r"nbgrader ([a-z]+_?[a-z]+) 02_sigmoid", PAGE))
    assert commands == {
        "release_assignment", "fetch_assignment", "collect", "submit", "release_feedback",
        "fetch_feedback",
    }  # fmt: skip
    known = importlib.import_module("nbgrader.apps.nbgraderapp").NbGraderApp.subcommands
    assert commands <= set(known)
