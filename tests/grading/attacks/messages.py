"""Messages that a submission may send to the grader in the place of the box's own."""

from __future__ import annotations

_TALKS = """\
import os, socket, time
from autograder.grading.box.inside import cells as frames

for number in range(3, 200):
    try:
        to = socket.socket(fileno=os.dup(number))
        break
    except OSError:
        continue
to.settimeout(5)
{body}
"""


def talking(body: str) -> str:
    """A cell that finds the socket to the grader and says something on it."""
    return _TALKS.format(body=body)


_END = "\nos._exit(0)"
# What is said by a cell in a notebook that is right besides: its other points stay.
MESSAGES: dict[str, str] = {
    "noise": "to.sendall(os.urandom(4096))" + _END,
    "a message of an unknown kind": "frames.send(to, b'x', b'hello')" + _END,
    "a message that is longer than it is": "to.sendall(frames.ANSWER + (2**20).to_bytes(8, 'little') + b'{}')" + _END,
    "a message that is far too long": "to.sendall(frames.ANSWER + (2**62).to_bytes(8, 'little'))" + _END,
    "a message without an end": "to.sendall(frames.ANSWER)\ntime.sleep(3)",
    "no JSON": "frames.send(to, frames.ANSWER, b'{')" + _END,
    "JSON of another kind": "frames.send(to, frames.ANSWER, b'[1, 2]')" + _END,
    "text that is no text": "frames.send(to, frames.ANSWER, b'{\"text\": 7}')" + _END,
    "JSON that is deep": "frames.send(to, frames.ANSWER, b'[' * 200_000)" + _END,
    "JSON with a large number": "frames.send(to, frames.ANSWER, b'1' * 100_000)" + _END,
    "JSON of a million lists": "frames.send(to, frames.ANSWER, b'[' + b'[],' * 2_000_000 + b'0]')" + _END,
    "more steps than there are": "for _ in range(50):\n    frames.send(to, frames.STARTS, b'1')" + _END,
    "a flood": "for _ in range(20_000):\n    frames.send(to, frames.ANSWER, b'{}')" + _END,
    "a wall that is missing": "frames.send(to, frames.NO_WALL, b'no wall')" + _END,
    "ready, again": "frames.send(to, frames.READY)" + _END,
    "an answer to a cell": "frames.send(to, frames.ANSWER, b'x' * 1000)" + _END,
    "files along with a message": "socket.send_fds(to, [frames.ANSWER + bytes(8)], [0] * 20)" + _END,
    "half a character": "frames.send(to, frames.ANSWER, b'{\"text\": \"\\\\ud800\", \"error\": \"\\\\udfff\"}')" + _END,
    "the end, and then staying": "frames.send(to, frames.ANSWER, b'{}')\nframes.send(to, frames.END)\nimport signal\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(4)",
}  # fmt: skip
