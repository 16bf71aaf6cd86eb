"""What ends the process it runs in. In one kernel for all cells it takes the whole grade with it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.grading.attacks.resources import CELL, FORWARD


@dataclass(frozen=True)
class Crash:
    """Code that ends its process; ``where`` as for Excess."""

    name: str
    body: str
    where: str = CELL


_SEGFAULT = "import ctypes\nctypes.string_at(0)"

CRASHES: tuple[Crash, ...] = (
    Crash("the end, in a cell", "import os\nos._exit(0)"),
    Crash("the end, in forward", "import os\nos._exit(0)", FORWARD),
    Crash("the end, in a thread", "import os, threading, time\nthreading.Thread(target=os._exit, args=(3,)).start()\ntime.sleep(5)"),
    Crash("an abort", "import os\nos.abort()"),
    Crash("an abort in forward", "import os\nos.abort()", FORWARD),
    Crash("a bad pointer", _SEGFAULT),
    Crash("a bad pointer in forward", _SEGFAULT, FORWARD),
    Crash("a tensor beyond its memory", "import numpy as np\nfar = np.lib.stride_tricks.as_strided(np.zeros(1), (2**20,), (2**30,))\ntorch.from_numpy(far).sum()"),
    Crash("a stack without bottom", "import sys\nsys.setrecursionlimit(2**30)\nnest = []\nfor _ in range(10**6):\n    nest = [nest]\nrepr(nest)"),
    Crash("killing itself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nos._exit(1)"),
    Crash("killing its parent", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(1)"),
    Crash("killing its group", "import os, signal\nos.kill(0, signal.SIGKILL)\nos._exit(1)"),
    Crash("closing every file", "import os\nos.closerange(0, 4096)\nos._exit(1)"),
    Crash("a failed assertion of C++", "import ctypes\nctypes.CDLL(None).abort()"),
)  # fmt: skip
