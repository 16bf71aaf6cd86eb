"""A real JupyterLab on a free port, with nobody's settings, and the browser that looks at it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# --no-sandbox: Chromium refuses to start as root with it, and CI containers run as root.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing beyond this machine has an address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
KERNEL_IS_IDLE = (
    "() => window.jupyterapp?.shell.currentWidget?.sessionContext"
    "?.session?.kernel?.status === 'idle'"
)
# Milliseconds after which something hangs. Nobody waits longer than it takes, on a slow machine either.
PATIENCE = 600_000
NO_NEWS = '{"fetchNews": "false", "checkForUpdates": false, "doNotDisturbMode": true}'


@dataclass(frozen=True)
class Lab:
    """A running server: `url` has no slash at its end, `root` is the folder it shows."""

    url: str
    token: str
    root: Path

    def address(self, path: str) -> str:
        """The address of `path` ("lab/tree/x.ipynb", "formgrader/…") with the token in it."""
        joint = "&" if "?" in path else "?"
        return f"{self.url}/{quote(path, safe='/?=&%')}{joint}token={self.token}"

    def sign_in(self, page: Page) -> None:
        """Sign in on the login page, as a person does: pages other than JupyterLab's need it."""
        page.goto(f"{self.url}/login")
        page.fill("input[name=password]", self.token)
        page.click("#login_submit")
        page.wait_for_url(f"{self.url}/lab**", wait_until="commit")


@contextlib.contextmanager
def running_lab(
    root: Path, home: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Lab]:
    """JupyterLab showing `root`, with `home` as its HOME and for every file Jupyter keeps.

    `cwd` is the folder the server runs in (default `root`; nbgrader reads its configuration there);
    `env` is added to the environment. Raises RuntimeError with the server's log if it cannot start.
    """
    _write_settings(home)
    port, token = _free_port(), secrets.token_hex(8)
    lab = Lab(f"http://127.0.0.1:{port}", token, root)
    with (home / "server.log").open("w+") as log:
        server = subprocess.Popen(
            _command(lab, port),
            cwd=cwd or root,
            env={**_environment(home), **(env or {})},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_ready(lab, server, home / "server.log")
            yield lab
        finally:
            _stop(server)


def find_chromium() -> str | None:
    """The path of an installed Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def is_local(url: str) -> bool:
    """Whether fetching `url` stays on this machine."""
    parts = urlsplit(url)
    if parts.scheme in ("data", "blob", "about", "file", "javascript", "chrome-error"):
        return True
    return parts.hostname in ("127.0.0.1", "localhost", "::1")


def _command(lab: Lab, port: int) -> list[str]:
    options = {
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": lab.root,
        "IdentityProvider.token": lab.token,
        "LabApp.news_url": "",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.expose_app_in_browser": True,
        "JupyterNotebookApp.expose_app_in_browser": True,
        "LabApp.extension_manager": "readonly",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *flags]


def _environment(home: Path) -> dict[str, str]:
    """This process's environment with every place Jupyter and its kernels write to under `home`."""
    own = {
        "HOME": home,
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
        "MPLCONFIGDIR": home / "matplotlib",
        "XDG_DATA_HOME": home / "xdg-data",
        "BACKWARD_BY_HAND_HOME": home / "progress",
        "OMP_NUM_THREADS": 1,
        # nbgrader calls `alembic` by its name
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    return {**os.environ, **{name: str(value) for name, value in own.items()}}


def _write_settings(home: Path) -> None:
    """No questions about news or updates: there is no internet to ask and nobody to answer."""
    folder = home / "settings" / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notification.jupyterlab-settings").write_text(NO_NEWS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(PATIENCE // 100):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(lab.address("api/status"), timeout=2).read()
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
