"""What a submission may reach for outside of itself: files, processes, the network, the kernel.

Each case is the body of a function that returns what it got. <words> in it stand for what the test
has laid out (``outside.py``): a peer's files, a process, servers.
"""

from __future__ import annotations

from dataclasses import dataclass

# Which box it works in when it is shown what the wall is for:
NO_WALLS = "no walls"
OUTER_ONLY = "the outer wall only"

_REACH = """\
import ctypes, os, struct

libc = ctypes.CDLL(None, use_errno=True)


def kernel(number, *given):
    found = libc.syscall(number, *given)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def reach():
{body}

try:
    got = reach()
except BaseException as error:
    print("REFUSED", type(error).__name__, error)
else:
    print("REACHED" if got else "NOTHING", got)
"""


def cell(body: str) -> str:
    """A cell that says REACHED and what it got, REFUSED and why, or NOTHING."""
    return _REACH.format(body="".join(f"    {line}\n" for line in body.splitlines()))


@dataclass(frozen=True)
class Reach:
    """One thing to reach for.

    body     gives what it got
    without  the box it works in
    secret   whether what it gets is a canary that must not be anywhere in a result
    """

    name: str
    body: str
    without: str = NO_WALLS
    secret: bool = False


@dataclass(frozen=True)
class Leaves:
    """Something left behind for the next student, and how that one would find it."""

    name: str
    leave: str
    look: str
    without: str = OUTER_ONLY


def _reads(name: str, path: str) -> Reach:
    return Reach(name, f"with open('{path}') as file:\n    return file.read()", secret=True)


def _connects(name: str, family: str, address: str) -> Reach:
    return Reach(
        name,
        f"import socket\nwith socket.socket(socket.{family}) as to:\n    to.settimeout(2)\n"
        f"    to.connect({address})\n    return to.recv(100).decode()",
        secret=True,
    )


REACHES: tuple[Reach, ...] = (
    # ---- files of others
    _reads("a peer's notebook", "<root>/submitted/ben/01_two/01_two.ipynb"),
    _reads("the source with its solutions", "<root>/build/source/01_two/01_two.ipynb"),
    _reads("the seeds", "<root>/grading/seeds.json"),
    _reads("the feedback of a peer", "<root>/feedback/ben/01_two/01_two.html"),
    _reads("a peer's notebook by way of a process's root", "/proc/<pid>/root<root>/submitted/ben/01_two/01_two.ipynb"),
    _reads("a file that another process has open", "/proc/<pid>/fd/<fd>"),
    _reads("the environment of a process", "/proc/<pid>/environ"),
    Reach("the gradebook", "import sqlite3\nreturn sqlite3.connect('file:<root>/gradebook.db?mode=ro', uri=True)"
          ".execute('SELECT * FROM grade').fetchall()", secret=True),
    Reach("a peer's notebook through a link", "os.symlink('<root>/submitted/ben/01_two/01_two.ipynb', 'mine.txt')\n"
          "with open('mine.txt') as file:\n    return file.read()", secret=True),
    Reach("who else is there", "return os.listdir('<root>/submitted')"),
    Reach("the answers of the exercises", "with open('<repository>/autograder/exercises/sigmoid/activations.py') as file:\n"
          "    return 'reference' in file.read()"),
    Reach("the course's solutions", "return os.listdir('<repository>/solutions')"),
    Reach("the accounts", "with open('/etc/passwd') as file:\n    return 'root:' in file.read()"),
    Reach("the names of processes", "return [n for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()]"),
    Reach("the machine's name", "return os.uname().nodename if os.uname().nodename == '<host>' else ''"),
    # ---- writing
    Reach("changing an installed package", "import torch\nwith open(torch.__file__, 'ab'):\n    return True"),
    Reach("changing the checks", "import autograder.running\nplace = os.path.dirname(autograder.running.__file__) + '/planted.py'\n"
          "with open(place, 'w') as file:\n    file.write('#')\nos.remove(place)\nreturn True"),
    Reach("a file in the course", "with open('<root>/planted', 'w') as file:\n    return file.write('planted')"),
    Reach("removing a peer's work", "os.remove('<root>/submitted/ben/spare.txt')\nreturn True"),
    # ---- the network
    _connects("a server over IPv4", "AF_INET", "('127.0.0.1', <port4>)"),
    _connects("a server over IPv6", "AF_INET6", "('::1', <port6>)"),
    _connects("a socket in a folder", "AF_UNIX", "'<root>/socket'"),
    _connects("a socket without a file", "AF_UNIX", "'\\x00<abstract>'"),
    Reach("a name server", "import socket\nwith socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to:\n    to.settimeout(2)\n"
          "    to.sendto(b'who is it', ('127.0.0.1', <udp>))\n    return to.recv(100).decode()", secret=True),
    Reach("a web page", "from urllib.request import urlopen\n"
          "return urlopen('http://127.0.0.1:<web>/', timeout=2).read().decode()", secret=True),
    Reach("a door for others", "import socket\nwith socket.socket() as door:\n    door.bind(('127.0.0.1', 0))\n    door.listen()\n"
          "    return door.getsockname()"),
    # ---- other processes
    Reach("ending a process", "import signal\nos.kill(<pid>, signal.SIGTERM)\nreturn True"),
    Reach("a process's memory by the kernel", "text = ctypes.create_string_buffer(<size>)\n"
          "here = struct.pack('QQ', ctypes.addressof(text), <size>)\nthere = struct.pack('QQ', <address>, <size>)\n"
          "kernel(310, <pid>, here, 1, there, 1, 0)\nreturn text.value.decode()", secret=True),
    Reach("a process's memory by its file", "with open('/proc/<pid>/mem', 'rb') as file:\n    file.seek(<address>)\n"
          "    return file.read(<size>).decode()", secret=True),
    Reach("tracing a process", "kernel(101, 0x4206, <pid>, 0, 0)\nreturn True"),
    Reach("a process's open file", "number = kernel(438, kernel(434, <pid>, 0), <fd>, 0)\n"
          "return os.pread(number, 100, 0).decode()", secret=True),
    Reach("a process's namespaces", "place = os.open('/proc/<pid>/ns/ipc', os.O_RDONLY)\nkernel(308, place, 0)\nreturn True"),
    Reach("slowing a process down", "os.setpriority(os.PRIO_PROCESS, <pid>, 19)\nreturn True"),
    Reach("a process's limits", "import resource\nreturn resource.prlimit(<pid>, resource.RLIMIT_CORE, (0, 0)) is not None"),
    Reach("the warm process's memory", "with open(f'/proc/{os.getppid()}/mem', 'r+b', buffering=0) as file:\n    return True"),
    # ---- programs and processes of its own
    Reach("a program", "import subprocess\nreturn subprocess.run(['/bin/sh', '-c', 'echo there'], capture_output=True).stdout"),
    Reach("a shell", "return os.system('true') == 0"),
    Reach("a process", "if os.fork() == 0:\n    os._exit(0)\nos.wait()\nreturn True", OUTER_ONLY),
    Reach("a process by another call", "pid = kernel(56, 17, 0, 0, 0, 0)\nif pid == 0:\n    os._exit(0)\nreturn True", OUTER_ONLY),
    Reach("a terminal", "return os.openpty()"),
    # ---- the kernel
    Reach("namespaces of its own", "kernel(272, 0x10000000)\nreturn True", OUTER_ONLY),
    Reach("a mount", "kernel(272, 0x10020000)\nif libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) < 0:\n"
          "    raise OSError(ctypes.get_errno(), 'mount')\nreturn True", OUTER_ONLY),
    Reach("memory outside its limits", "return os.memfd_create('hidden')", OUTER_ONLY),
    Reach("a queue of the kernel's", "return kernel(425, 4, ctypes.create_string_buffer(120))", NO_WALLS),
    Reach("watching page faults", "return kernel(323, 1)", OUTER_ONLY),
    Reach("a key", "return kernel(248, b'user', b'attack', b'x', 1, -1)", OUTER_ONLY),
    Reach("shared memory of System V", "return kernel(29, 0, 4096, 0o600) >= 0 and 'a segment'", OUTER_ONLY),
)  # fmt: skip

_SPIN = "if os.fork() == 0:\n    import time\n    os.setsid()\n"

LEAVINGS: tuple[Leaves, ...] = (
    Leaves("a file in the working folder", "with open('note.txt', 'w') as file:\n    return file.write('for you')",
           "with open('note.txt') as file:\n    return file.read()"),
    Leaves("a module to be imported", "with open('helper.py', 'w') as file:\n    return file.write('answer = 1')",
           "import sys\nsys.path.insert(0, '')\nimport helper\nreturn helper.answer"),
    Leaves("a configuration of IPython's", "os.makedirs('profile_default/startup', exist_ok=True)\n"
           "with open('profile_default/startup/00.py', 'w') as file:\n    return file.write('x = 1')",
           "return '00.py' in os.listdir('profile_default/startup')"),
    Leaves("a process", _SPIN + "    time.sleep(20)\n    os._exit(0)\nreturn True",
           "mine = {os.getpid(), os.getppid(), 1}\n"
           "return [n for n in os.listdir('/proc') if n.isdigit() and int(n) not in mine and int(n) > os.getppid()]"),
    Leaves("a listening process", _SPIN + "    import socket\n    with socket.socket(socket.AF_UNIX) as door:\n"
           "        door.bind('\\0left-behind')\n        door.listen()\n        time.sleep(20)\n    os._exit(0)\n"
           "import time\ntime.sleep(0.3)\nreturn True",
           "import socket\nwith socket.socket(socket.AF_UNIX) as to:\n    to.connect('\\0left-behind')\n    return True"),
    Leaves("shared memory", "return kernel(29, 0x5EED, 4096, 0o1666) >= 0 and True",
           "return kernel(29, 0x5EED, 4096, 0o666) >= 0 and True"),
    Leaves("a queue of messages", "return kernel(68, 0x5EED, 0o1666) >= 0 and True", "return kernel(68, 0x5EED, 0o666) >= 0 and True"),
    Leaves("semaphores", "return kernel(64, 0x5EED, 1, 0o1666) >= 0 and True", "return kernel(64, 0x5EED, 1, 0o666) >= 0 and True"),
    Leaves("a key in the user's keyring", "return kernel(248, b'user', b'left-behind', b'x', 1, -4)",
           "return kernel(249, b'user', b'left-behind', 0, -4)"),
    Leaves("a file in shared memory", "with open('/dev/shm/<token>', 'w') as file:\n    return file.write('for you')",
           "with open('/dev/shm/<token>') as file:\n    text = file.read()\nos.remove('/dev/shm/<token>')\nreturn text", NO_WALLS),
)  # fmt: skip
