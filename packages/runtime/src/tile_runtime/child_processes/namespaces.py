"""Namespaces of Linux: a child without network, that sees no process but its own, and has a disk of
limited size."""

from __future__ import annotations

import os
from contextlib import suppress

from tile_runtime.child_processes.kernel_calls import (
    PR_SET_CHILD_SUBREAPER,
    control_process,
    mount,
    unshare,
)

_USER = 0x10000000
# By what they separate a child from; each is asked for alone where not all can be had.
_NAMESPACES = {
    "processes": 0x20000000,
    "network": 0x40000000,
    "mounts": 0x00020000,
    "messages": 0x08000000,
}
_REC_PRIVATE = 0x4000 | 0x40000
_NO_SETUID_NO_DEVICES = 2 | 4


def enter_namespaces() -> tuple[list[str], dict[str, str]]:
    """Enter namespaces of all kinds; which were entered, and which not, for what reason."""
    user, group = os.getuid(), os.getgid()
    try:
        unshare(_USER)
    except OSError as error:
        problem = error.strerror or str(error)
    else:
        problem = ""
        with suppress(OSError):  # a user without a name in it has no rights to lose
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{user} {user} 1")
            _write("/proc/self/gid_map", f"{group} {group} 1")
    entered: list[str] = []
    missing: dict[str, str] = {}
    for name, flag in _NAMESPACES.items():
        try:
            unshare(flag)
        except OSError as error:
            missing[name] = problem or error.strerror or str(error)
        else:
            entered.append(name)
    return entered, missing


def limit_scratch(folder: str, megabytes: int) -> None:
    """Lay a disk of limited size, which ends with the namespace, over a folder."""
    mount("none", "/", "none", _REC_PRIVATE)
    options = f"size={megabytes}m,mode=700"
    mount("tile-judge", folder, "tmpfs", _NO_SETUID_NO_DEVICES, options)


def adopt_orphans() -> None:
    """Make this process the parent of orphans of its children."""
    control_process(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
