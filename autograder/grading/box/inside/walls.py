"""The walls around one submission, put up from inside: namespaces, limits, Landlock, seccomp."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
from collections.abc import Sequence

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
_SIGCHLD = 17
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on all machines
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY = 2, 4, 8, 1
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE = 24, 38, 4
# Of landlock's file rights: execute, read a file, list a directory.
_READ = 1 | 4 | 8


def fork_into_namespaces() -> int:
    """As os.fork, but the child has its own user, mount, process and IPC namespaces.

    The child is process 1 of its namespace: whatever it starts ends with it.
    """
    column = filter_column()
    assert column is not None
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | _SIGCHLD
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = int(_libc.syscall(_CLONE[column], flags, 0, 0, 0, 0))
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


def own_file_system(work: str, size: int, files: int) -> None:
    """An own, empty, sized folder to work in, and nothing in /proc."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    harmless = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("tmpfs", work, "tmpfs", harmless, f"size={size},nr_inodes={files + 16},mode=700")
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
    fields = struct.pack("QQQ", rights, network, scoped)  # what a kernel does not know may be 0
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
    most = {
        resource.RLIMIT_FSIZE: limits["disk"], resource.RLIMIT_NOFILE: limits["files"],
        resource.RLIMIT_NPROC: limits["threads"], resource.RLIMIT_CPU: limits["seconds"] + 5,
        resource.RLIMIT_CORE: 0,
    }  # fmt: skip
    if device == "cpu":
        most[resource.RLIMIT_AS] = address_space() + limits["memory"]
    for which, value in most.items():
        _, hard = resource.getrlimit(which)
        lowest = int(value if hard == resource.RLIM_INFINITY else min(value, hard))
        resource.setrlimit(which, (lowest, lowest))


def address_space() -> int:
    """Bytes of it that this process has."""
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


CLONE_THREAD = 0x10000
_CLONE_NEW = 0x7E020000 | 0x80  # every namespace flag

# Each call that fails, with its number on x86_64 and on aarch64; - where the machine does not have it.
_CALLS = """
fork 57 -                 vfork 58 -                execve 59 221             execveat 322 281
unshare 272 97            setns 308 268             mount 165 40              umount2 166 39
pivot_root 155 41         chroot 161 51             fsopen 430 430            fsconfig 431 431
fsmount 432 432           fspick 433 433            open_tree 428 428         move_mount 429 429
mount_setattr 442 442     ptrace 101 117            process_vm_readv 310 270  process_vm_writev 311 271
kcmp 312 272              pidfd_open 434 434        pidfd_getfd 438 438       pidfd_send_signal 424 424
process_madvise 440 440   memfd_create 319 279      memfd_secret 447 447      add_key 248 217
request_key 249 218       keyctl 250 219            shmget 29 194             shmat 30 196
shmctl 31 195             semget 64 190             semop 65 193              semctl 66 191
semtimedop 220 192        msgget 68 186             msgsnd 69 189             msgrcv 70 188
msgctl 71 187             mq_open 240 180           mq_unlink 241 181         bpf 321 280
perf_event_open 298 241   userfaultfd 323 282       io_uring_setup 425 425    io_uring_enter 426 426
io_uring_register 427 427 kexec_load 246 104        kexec_file_load 320 294   init_module 175 105
finit_module 313 273      delete_module 176 106     open_by_handle_at 304 265 name_to_handle_at 303 264
socket 41 198             connect 42 203            bind 49 200               listen 50 201
accept 43 202             accept4 288 242           personality 135 92        acct 163 89
swapon 167 224            reboot 169 142            settimeofday 164 170      quotactl 179 60
fanotify_init 300 262     lookup_dcookie 212 18     vhangup 153 58
"""
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SECCOMP = (317, 277)
_AUDIT_ARCH = (0xC000003E, 0xC00000B7)

_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000


def filter_column() -> int | None:
    """The column of this machine in the tables; None where there is no table for it."""
    return {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)


def filter_program(column: int) -> bytes:
    """The filter for one kind of machine, as an array of struct sock_filter."""
    fail, missing = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS
    code: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, 4),  # the machine the call is made for
        (_EQUAL, 1, 0, _AUDIT_ARCH[column]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # its number
    ]
    if column == 0:  # the x32 numbers of the same calls
        code += [(_GREATER_EQUAL, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]
    for number in _CALLS.split()[column + 1 :: 3]:
        if number != "-":
            code += [(_EQUAL, 0, 1, int(number)), (_RETURN, 0, 0, fail)]
    # glibc falls back from clone3, whose flags cannot be seen from here, to clone.
    code += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, missing)]
    code += [
        (_EQUAL, 0, 5, _CLONE[column]),
        (_LOAD, 0, 0, 16),  # its flags: a thread may be started, a process may not
        (_ANY_BIT, 2, 0, _CLONE_NEW),
        (_ANY_BIT, 0, 1, CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, fail),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *line) for line in code)


def install_filter() -> None:
    """From here on the calls of the list fail, in all threads. OSError where there is no seccomp."""
    column = filter_column()
    if column is None:
        raise OSError(f"no seccomp filter is written for {os.uname().machine}")
    text = ctypes.create_string_buffer(filter_program(column))
    count = (len(text) - 1) // 8
    given = struct.pack("H6xP", count, ctypes.addressof(text))
    # SET_MODE_FILTER, for all threads
    _check(-abs(_libc.syscall(_SECCOMP[column], 1, 1, given)))
