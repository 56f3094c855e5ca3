"""Limits of a decode worker: it cannot take much memory, write, open sockets or start programs.

The kernel enforces the limits, so that they hold even for a decoder that a hostile picture has
taken over. The system-call filter needs Linux on x86-64 or arm64; elsewhere only the memory limit
holds, and `sightline doctor` says so.
"""

from __future__ import annotations

import ctypes
import platform
import resource
import signal
import struct
import sys

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # The call returns "operation not permitted".
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _THIRD = 0, 4, 32  # Offsets of the call's number, machine and third argument.
_WRITING = 0x1 | 0x2 | 0x40  # O_WRONLY, O_RDWR, O_CREAT

# For each machine: its audit number, openat, and the calls refused outright: sockets, programs,
# signals to others, tracing, and all that changes a folder or a file.
_MACHINES = {
    "x86_64": (
        0xC000003E,
        257,
        [2, 41, 42, 43, 49, 50, 53, 57, 58, 59, 62, 76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92,
         93, 94, 101, 132, 133, 165, 188, 235, 258, 259, 260, 261, 263, 264, 265, 266, 268, 280,
         288, 304, 310, 311, 316, 322, 425, 437, 452],
    ),
    "aarch64": (
        0xC00000B7,
        56,
        [5, 33, 34, 35, 36, 37, 38, 40, 45, 46, 52, 53, 54, 55, 88, 117, 129, 198, 199, 200, 201,
         202, 203, 221, 242, 265, 270, 271, 276, 281, 425, 437, 452],
    ),
}  # fmt: skip


def die_with_parent() -> None:
    """Have the kernel end this process when the one that started it ends."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0)


def limit_memory(n_bytes: int) -> None:
    """Limit the address space of this process, and write no core files."""
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def forbid_writing() -> None:
    """Refuse every byte written to a file; pipes and shared memory are not files here."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def filter_calls() -> bool:
    """Refuse sockets, programs and changes to files; return whether the kernel took the filter."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None or struct.calcsize("P") != 8:
        return False
    program = _program(*machine)
    size = len(program) // 8
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", size, ctypes.addressof(code)))
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0) != 0:
        return False
    return _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(header)) == 0


def _program(arch: int, openat: int, refused: list[int]) -> bytes:
    """Assemble the filter: each step is (code, jump if true, jump if false, value)."""
    steps = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _REFUSE)]
    # Numbers from 2^30 up are a second way to call the same kernel functions on x86-64.
    steps += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, 1 << 30), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_EQUAL, 0, 3, openat), (_LOAD, 0, 0, _THIRD), (_ANY_BIT, 0, 1, _WRITING)]
    steps += [(_RETURN, 0, 0, _REFUSE), (_LOAD, 0, 0, _NUMBER)]
    for number in refused:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("@HBBI", *s) for s in steps)


def _prctl(option: int, a: int, b: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    word = ctypes.c_ulong
    return int(libc.prctl(option, word(a), word(b), word(0), word(0)))
