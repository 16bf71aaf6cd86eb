"""What attacks reach for, laid out by the test: a course with canaries in it, a process, servers."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]

# Says where in its memory the canary is, and which file it has open, and waits to be ended.
_VICTIM = """\
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
text = ctypes.create_string_buffer(os.environ["CANARY"].encode())
file = os.open(sys.argv[1], os.O_RDONLY)
print(ctypes.addressof(text), file, flush=True)
time.sleep(600)
"""


@dataclass
class Outside:
    """What there is to reach for. ``words`` are put in the place of <words> in an attack."""

    root: Path
    canary: str
    words: dict[str, str] = field(default_factory=dict)

    def filled_in(self, text: str) -> str:
        for word, value in self.words.items():
            text = text.replace(f"<{word}>", value)
        return text


@contextmanager
def laid_out(root: Path) -> Iterator[Outside]:
    """A course folder with canaries, and servers that give the canary to whoever connects."""
    outside = Outside(root, f"canary-{secrets.token_hex(8)}")
    for name in (
        "submitted/ben/01_two/01_two.ipynb", "submitted/ben/spare.txt", "grading/seeds.json",
        "build/source/01_two/01_two.ipynb", "feedback/ben/01_two/01_two.html",
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps({"secret": outside.canary}))
    with sqlite3.connect(root / "gradebook.db") as gradebook:
        gradebook.execute("CREATE TABLE grade (student TEXT)")
        gradebook.execute("INSERT INTO grade VALUES (?)", (outside.canary,))
    gradebook.close()
    token = secrets.token_hex(8)
    outside.words |= {
        "root": str(root), "repository": str(REPOSITORY), "host": os.uname().nodename,
        "token": token, "abstract": token, "size": str(len(outside.canary)),
    }  # fmt: skip
    with _servers(outside):
        yield outside


@contextmanager
def victim(outside: Outside) -> Iterator[subprocess.Popen[str]]:
    """A process of somebody else's with the canary in its memory and its environment."""
    file = outside.root / "submitted/ben/01_two/01_two.ipynb"
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _VICTIM, str(file)], stdout=subprocess.PIPE, text=True,
        env={"CANARY": outside.canary},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        address, number = process.stdout.readline().split()
        outside.words |= {"pid": str(process.pid), "address": address, "fd": number}
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _servers(outside: Outside) -> Iterator[None]:
    doors = {
        "port4": _door(socket.AF_INET, ("127.0.0.1", 0)),
        "socket": _door(socket.AF_UNIX, str(outside.root / "socket")),
        "unnamed": _door(socket.AF_UNIX, f"\0{outside.words['abstract']}"),
        "web": _door(socket.AF_INET, ("127.0.0.1", 0)),
    }
    if has_ipv6():
        doors["port6"] = _door(socket.AF_INET6, ("::1", 0))
    page = f"HTTP/1.0 200 OK\r\n\r\n{outside.canary}"
    for name, door in doors.items():
        text = page if name == "web" else outside.canary
        threading.Thread(
            target=_give, args=(door, text.encode(), name == "web"), daemon=True
        ).start()
        if name in ("port4", "port6", "web"):
            outside.words[name] = str(door.getsockname()[1])
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 0))
    outside.words["udp"] = str(names.getsockname()[1])
    threading.Thread(target=_answer, args=(names, outside.canary.encode()), daemon=True).start()
    try:
        yield
    finally:
        for door in (*doors.values(), names):
            with door:
                if door is not names:
                    door.shutdown(socket.SHUT_RDWR)


def has_ipv6() -> bool:
    try:
        _door(socket.AF_INET6, ("::1", 0)).close()
    except OSError:
        return False
    return True


def _door(family: int, address: object) -> socket.socket:
    door = socket.socket(family)
    door.bind(address)  # type: ignore[arg-type]
    door.listen()
    return door


def _give(door: socket.socket, text: bytes, reads: bool) -> None:
    while True:
        try:
            guest, _ = door.accept()
        except OSError:
            return
        with guest:
            if reads:
                guest.recv(4096)
            guest.sendall(text)


def _answer(names: socket.socket, text: bytes) -> None:
    while True:
        try:
            _, who = names.recvfrom(100)
            names.sendto(text, who)
        except OSError:
            return
