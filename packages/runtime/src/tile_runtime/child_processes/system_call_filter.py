"""A filter of system calls: a child opens no connection, looks into no other process, and starts no
program unless it is one that compiles.

The program is classic BPF as the kernel's documentation "Seccomp BPF" has it.
"""

from __future__ import annotations

import ctypes
import errno
import struct
import sys

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.child_processes.kernel_calls import (
    PR_SET_NO_NEW_PRIVS,
    PR_SET_SECCOMP,
    control_process,
    machine,
)

_FILTER = 2
_LOAD, _EQUAL, _AT_LEAST, _SOME_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000
# Where the kernel puts the number, the machine and the first argument.
_NUMBER, _MACHINE, _FIRST = 0, 4, 16
_CLONE_THREAD = 0x00010000
# Numbers from here on are those of another way to call (x32), which nobody needs.
_OTHER_WAY = 0x40000000


@dataclass(frozen=True, slots=True)
class CallNumbers:
    """System calls of one machine: those that end the process, those refused to all, those refused
    to processes that start no programs, and the two that also start threads."""

    machine: int
    fatal: tuple[int, ...]
    refused: tuple[int, ...]
    starting: tuple[int, ...]
    clone: int
    clone3: int = 435


# fatal: ptrace, process_vm_readv and writev, mount, umount2, pivot_root, unshare, setns, bpf,
# add_key, request_key, keyctl, kexec_load, init_module, finit_module, delete_module, reboot,
# swapon, swapoff, pidfd_getfd, chroot, perf_event_open, userfaultfd.
# refused: socket, socketpair, connect, bind, listen, accept, accept4, io_uring_setup,
# process_madvise; and what holds memory that no limit of a process counts: memfd_create,
# memfd_secret, shmget. starting: fork, vfork, execve, execveat. Signals are left to namespaces.
_NUMBERS = {
    "x86_64": CallNumbers(
        0xC000003E,
        (101, 310, 311, 165, 166, 155, 272, 308, 321, 248, 249, 250, 246, 175, 313, 176, 169,
         167, 168, 438, 161, 298, 323),
        (41, 53, 42, 49, 50, 43, 288, 425, 440, 319, 447, 29),
        (57, 58, 59, 322),
        56,
    ),
    "aarch64": CallNumbers(
        0xC00000B7,
        (117, 270, 271, 40, 39, 41, 97, 268, 280, 217, 218, 219, 104, 105, 273, 106, 142, 224, 225,
         438, 51, 241, 282),
        (198, 199, 203, 200, 201, 202, 242, 425, 440, 279, 447, 194),
        (221, 281),
        220,
    ),
}  # fmt: skip


def filter_system_calls(starts_programs: bool) -> None:
    """Filter the system calls of this process and of all it starts. OSError where the kernel has no
    filters, or the machine is not known."""
    numbers = _NUMBERS.get(machine())
    if numbers is None or sys.byteorder != "little":
        raise OSError(errno.ENOSYS, f"system calls of {machine()} are not known")
    program = b"".join(_program(numbers, starts_programs))
    instructions = ctypes.create_string_buffer(program, len(program))
    count = len(program) // 8
    header = struct.pack("@HP", count, ctypes.addressof(instructions))
    control_process(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    control_process(PR_SET_SECCOMP, _FILTER, header, 0, 0)


def _program(numbers: CallNumbers, starts_programs: bool) -> list[bytes]:
    refuse = _REFUSE | errno.EPERM
    code = [
        _instruction(_LOAD, value=_MACHINE),
        _instruction(_EQUAL, 1, 0, numbers.machine),
        _instruction(_RETURN, value=_KILL),
        _instruction(_LOAD, value=_NUMBER),
        _instruction(_AT_LEAST, 0, 1, _OTHER_WAY),
        _instruction(_RETURN, value=_KILL),
    ]
    refused = numbers.refused if starts_programs else (*numbers.refused, *numbers.starting)
    for calls, answer in ((numbers.fatal, _KILL), (refused, refuse)):
        for number in calls:
            code += [_instruction(_EQUAL, 0, 1, number), _instruction(_RETURN, value=answer)]
    if not starts_programs:
        # The C library starts threads by `clone` where there is no `clone3`.
        code += [
            _instruction(_EQUAL, 0, 1, numbers.clone3),
            _instruction(_RETURN, value=_REFUSE | errno.ENOSYS),
            _instruction(_EQUAL, 0, 3, numbers.clone),
            _instruction(_LOAD, value=_FIRST),
            _instruction(_SOME_BITS, 1, 0, _CLONE_THREAD),
            _instruction(_RETURN, value=refuse),
        ]
    return [*code, _instruction(_RETURN, value=_ALLOW)]


def _instruction(code: int, then: int = 0, otherwise: int = 0, value: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)
