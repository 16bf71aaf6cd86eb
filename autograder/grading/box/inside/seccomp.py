"""System calls that no exercise needs fail for a submission: processes, sockets, mounts, tracing, …

The filter is classic BPF, as seccomp(2) takes it. Numbers from the kernel's tables
(arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

CLONE_THREAD = 0x10000
_CLONE_NEW = 0x7E020000 | 0x80  # every namespace flag

# name: (x86_64, aarch64); None where the machine does not have it
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "open_tree": (428, 428), "move_mount": (429, 429),
    "mount_setattr": (442, 442), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "process_madvise": (440, 440),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "shmget": (29, 194), "shmat": (30, 196),
    "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191),
    "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "personality": (135, 92), "acct": (163, 89),
    "swapon": (167, 224), "reboot": (169, 142), "settimeofday": (164, 170), "quotactl": (179, 60),
    "fanotify_init": (300, 262), "lookup_dcookie": (212, 18), "vhangup": (153, 58),
}  # fmt: skip
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SECCOMP = (317, 277)
_AUDIT_ARCH = (0xC000003E, 0xC00000B7)

_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000


def machine() -> int | None:
    """The column of this machine in the tables; None where there is no table for it."""
    return {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)


def program(column: int) -> bytes:
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
    for numbers in _CALLS.values():
        number = numbers[column]
        if number is not None:
            code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, fail)]
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


def install() -> None:
    """From here on the calls of the list fail, in all threads. OSError where there is no seccomp."""
    column = machine()
    if column is None:
        raise OSError(f"no seccomp filter is written for {os.uname().machine}")
    text = ctypes.create_string_buffer(program(column))
    count = (len(text) - 1) // 8
    given = struct.pack("H6xP", count, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SECCOMP[column], 1, 1, given) != 0:  # SET_MODE_FILTER, for all threads
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
