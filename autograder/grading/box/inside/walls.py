"""The walls around one submission, put up by its own process before it reads a byte of it.

Linux only. Every function raises OSError where the kernel refuses.
Sources: clone(2), user_namespaces(7), landlock(7), capabilities(7), prctl(2).
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Sequence

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
_SIGCHLD = 17
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on all machines
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY = 2, 4, 8, 1
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE = 24, 38, 4
# Of landlock's file rights: execute, read a file, list a directory.
_READ = 1 | 4 | 8


def fork_into_namespaces() -> int:
    """As os.fork, but the child has its own user, mount, process and IPC namespaces.

    The child is process 1 of its namespace: whatever it starts ends with it.
    """
    number = _SYS_CLONE[os.uname().machine]
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | _SIGCHLD
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = int(_libc.syscall(number, flags, 0, 0, 0, 0))
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    error = ctypes.get_errno()
    python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, os.strerror(error))
    return pid


def become_user(user: int, group: int) -> None:
    """Map the only user of the new namespace."""
    for file, text in (
        ("uid_map", f"{user} {user} 1"),
        ("setgroups", "deny"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{file}", "w") as target:
            target.write(text)


def own_file_system(work: str, size: int, files: int, also_tmp: bool) -> None:
    """An own, empty, sized folder to work in, which may be /tmp as well, and nothing in /proc."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    harmless = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("tmpfs", work, "tmpfs", harmless, f"size={size},nr_inodes={files + 16},mode=700")
    if also_tmp:
        _mount(work, "/tmp", None, _MS_BIND, None)
    _mount("tmpfs", "/proc", "tmpfs", harmless | _MS_RDONLY, "size=4096,nr_inodes=2")
    os.chdir(work)


def drop_capabilities() -> None:
    """Nothing this process could do as the root of its namespace remains."""
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one this kernel knows
    header = struct.pack("Ii", 0x20080522, 0)
    _check(_libc.capset(header, struct.pack("6I", *[0] * 6)))


def landlock_version() -> int:
    """The version of Landlock this kernel has; 0 for none."""
    return max(0, int(_libc.syscall(_LANDLOCK_CREATE, None, 0, 1)))


def restrict_files(writable: Sequence[str]) -> None:
    """Landlock: read and execute what is mounted, write below some folders, signal nobody else."""
    version = landlock_version()
    if version < 1:
        raise OSError("this kernel has no Landlock")
    rights = (1 << (13 + (version >= 2) + (version >= 3))) - 1
    rights |= (version >= 5) << 15
    network = 3 if version >= 4 else 0
    scoped = 3 if version >= 6 else 0
    fields = struct.pack("QQQ", rights, network, scoped)[
        : 24 if version >= 6 else 16 if version >= 4 else 8
    ]
    rules = int(_libc.syscall(_LANDLOCK_CREATE, fields, len(fields), 0))
    _check(rules)
    for path, allowed in (("/", _READ), *((folder, rights) for folder in writable)):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _check(_libc.syscall(_LANDLOCK_ADD, rules, 1, struct.pack("=Qi", allowed, place), 0))
        os.close(place)
    no_new_privileges()
    _check(_libc.syscall(_LANDLOCK_RESTRICT, rules, 0))
    os.close(rules)


def no_new_privileges() -> None:
    """No program this process starts can have more rights than it has itself."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))


def limit(limits: dict[str, float], device: str) -> None:
    """Resource limits of this process. A GPU's driver reserves far more address space than memory."""
    if device == "cpu":
        _lower(resource.RLIMIT_AS, _address_space() + int(limits["memory"]))
    _lower(resource.RLIMIT_FSIZE, int(limits["disk"]))
    _lower(resource.RLIMIT_NOFILE, int(limits["files"]))
    _lower(resource.RLIMIT_NPROC, int(limits["threads"]))
    _lower(resource.RLIMIT_CPU, int(limits["seconds"]) + 5)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None) -> None:
    given = [value.encode() if value is not None else None for value in (source, target, kind)]
    options = data.encode() if data is not None else None
    _check(_libc.mount(*given, ctypes.c_ulong(flags), options))


def _check(result: int) -> None:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
