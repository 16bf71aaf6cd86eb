"""Messages on a socket: one byte for the kind, eight for the length, then the bytes."""

from __future__ import annotations

import socket
import time

HEADER = 9
# What a submission's process says before it has read anything of the submission …
READY, NO_WALL = b"r", b"w"
# … and after that. Everything else is no message.
STARTS, SAID, ANSWER, END = b"s", b"o", b"a", b"e"


class Closed(EOFError):
    """The other side is gone before its message was complete."""


class TooLong(ValueError):
    """A message, or all messages together, above the limit."""


class Late(TimeoutError):
    """Nothing came in time."""


def send(to: socket.socket, kind: bytes, data: bytes = b"") -> None:
    """Send one message."""
    to.sendall(kind + len(data).to_bytes(8, "little") + data)


def receive(
    source: socket.socket, limit: int, deadline: float | None = None
) -> tuple[bytes, bytes]:
    """The next message; ``deadline`` is a time.monotonic(). Raises Closed, TooLong or Late.

    The length is looked at before anything is allocated.
    """
    head = _exactly(source, HEADER, deadline)
    size = int.from_bytes(head[1:], "little")
    if size > limit:
        raise TooLong(f"a message of {size} bytes, where {limit} are left")
    return head[:1], _exactly(source, size, deadline)


def _exactly(source: socket.socket, size: int, deadline: float | None) -> bytes:
    parts, missing = [], size
    while missing:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            source.settimeout(left)
        try:
            part = source.recv(min(missing, 1 << 20))
        except TimeoutError:
            raise Late from None
        except ConnectionError:
            raise Closed from None
        if not part:
            raise Closed
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
