"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform

_LIBC = ctypes.CDLL(None, use_errno=True)
# Numbers of newer system calls are the same on all machines.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 22, 36, 38


def machine() -> str:
    """The instruction set, as system calls are numbered by it."""
    return platform.machine()


def system_call(number: int, *arguments: object) -> int:
    """The result of a system call. OSError if it fails."""
    return _checked(_LIBC.syscall(ctypes.c_long(number), *arguments))


def control_process(option: int, *arguments: object) -> int:
    """`prctl`. OSError if it fails."""
    return _checked(_LIBC.prctl(option, *arguments))


def unshare(flags: int) -> None:
    """Enter new namespaces. OSError where that is not allowed."""
    _checked(_LIBC.unshare(flags))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system. OSError where that is not allowed."""
    words = (text.encode() for text in (source, target, kind))
    _checked(_LIBC.mount(*words, ctypes.c_ulong(flags), options.encode()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
