"""What takes too much: memory, processes, threads, files, output, time. Every amount is bounded.

Each case is the body of a function that gives something true if it got all it wanted.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.grading.attacks.lesson import RIGHT

CELL, FORWARD = "a cell", "forward"


@dataclass(frozen=True)
class Excess:
    """Something that takes more than there is for one submission.

    where  CELL: a cell of its own; FORWARD: in the forward of Square
    """

    name: str
    body: str
    where: str = CELL


def in_forward(body: str) -> str:
    """A Square whose forward does that first."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return RIGHT["Square"].replace(
        "        ctx.save_for_backward(x)\n", lines + "        ctx.save_for_backward(x)\n"
    )


# Seconds that what "never ends" takes: longer than it has, short enough to be shown to come to its end.
LONG = 4.0
_UNTIL = f"import time\nend = time.monotonic() + {LONG}\n"
_FOR_EVER = _UNTIL + "while time.monotonic() < end:\n    pass\nreturn True"
_STUBBORN = (
    _UNTIL
    + "while time.monotonic() < end:\n    try:\n        while time.monotonic() < end:\n            pass\n    except BaseException:\n        pass\nreturn True"
)
_DEAF = (
    "import signal\nfor number in range(1, 65):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nsignal.setitimer(signal.ITIMER_REAL, 0)\n"
    + _FOR_EVER
)

EXCESSES: tuple[Excess, ...] = (
    # ---- memory (a submission has 512 MiB here)
    Excess("one large tensor", "import torch\nreturn torch.ones(700 * 2**17, dtype=torch.float64).sum()"),
    Excess("many small tensors", "import torch\nheld = [torch.ones(2**15) for _ in range(5600)]\nreturn len(held)"),
    Excess("memory without torch", "held = [bytearray(2**20) for _ in range(700)]\nreturn len(held)"),
    Excess("memory of the system's", "import mmap\nheld = mmap.mmap(-1, 700 * 2**20)\nreturn held.write(b'x')"),
    Excess("shared memory of the system's", "import mmap\nheld = [mmap.mmap(-1, 2**20, flags=mmap.MAP_SHARED) for _ in range(700)]\nreturn len(held)"),
    Excess("memory in forward", "held = torch.ones(700 * 2**17, dtype=torch.float64)", FORWARD),
    # ---- processes, threads, files
    Excess("processes", "pids = []\nfor _ in range(40):\n    pid = os.fork()\n    if pid == 0:\n        os._exit(0)\n    pids.append(pid)\n"
           "return [os.waitpid(pid, 0) for pid in pids]"),
    Excess("threads", "import threading\nstop = threading.Event()\ntry:\n    threads = [threading.Thread(target=stop.wait) for _ in range(100)]\n"
           "    for thread in threads:\n        thread.start()\nfinally:\n    stop.set()\nreturn True"),
    Excess("open files", "held = [os.open('/dev/null', os.O_RDONLY) for _ in range(300)]\ntry:\n    return len(held)\nfinally:\n    os.closerange(min(held), max(held) + 1)"),
    Excess("many files", "import shutil\nos.mkdir('many')\ntry:\n    for number in range(500):\n        with open(f'many/{number}', 'w'):\n            pass\n"
           "finally:\n    shutil.rmtree('many')\nreturn True"),
    Excess("one large file", "try:\n    with open('large', 'wb') as file:\n        return [file.write(bytes(2**20)) for _ in range(40)]\nfinally:\n    os.remove('large')"),
    Excess("several files that are large together", "try:\n    for number in range(4):\n        with open(f'large-{number}', 'wb') as file:\n            file.write(bytes(10 * 2**20))\n"
           "    return True\nfinally:\n    [os.remove(f'large-{n}') for n in range(4)]"),
    Excess("more than its limits", "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3000, 3000))\nreturn True"),
    # ---- time
    Excess("an endless loop", _FOR_EVER),
    Excess("an endless loop in forward", _FOR_EVER.replace("return True", "y = x"), FORWARD),
    Excess("an endless loop that nothing stops", _STUBBORN),
    Excess("an endless loop in forward that nothing stops", _STUBBORN.replace("return True", "y = x"), FORWARD),
    Excess("an endless loop that hears no signal", _DEAF),
    Excess("a long sleep", _UNTIL + f"time.sleep({LONG})\nreturn True"),
)  # fmt: skip

# What says too much; the number is how much of it there is where nothing cuts it.
CHATTER: tuple[tuple[str, str, int], ...] = (
    ("a long print", "print('x' * 20_000_000)", 20_000_000),
    ("many prints", "for number in range(50_000):\n    print('line', number)", 500_000),
    ("writing to stderr", "import sys\nsys.stderr.write('x' * 20_000_000)", 20_000_000),
    ("a huge repr", "class Long:\n    def __repr__(self):\n        return 'x' * 20_000_000\n\n\nprint(Long())", 20_000_000),
    ("many displays", "from IPython.display import display\nfor _ in range(3_000):\n    display('x' * 1_000)", 3_000_000),
    ("two hundred million characters", "for _ in range(200):\n    print('x' * 1_000_000)", 200_000_000),
)  # fmt: skip
