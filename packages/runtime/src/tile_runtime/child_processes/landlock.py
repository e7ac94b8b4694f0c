"""Landlock of Linux: a child that can open only some files.

The rights, the layouts and their versions are those of the kernel's user-space documentation,
"Landlock: unprivileged access control".
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from tile_runtime.child_processes.kernel_calls import (
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    PR_SET_NO_NEW_PRIVS,
    control_process,
    system_call,
)

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
# How many of the rights on files each version of Landlock knows, from the first on.
_RIGHTS = (13, 14, 15, 15, 16)
_ASK_VERSION = 1
_PATH_BENEATH = 1
# Rights that a rule on a file, not a folder, may give: execute, write, read, truncate, ioctl.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
# What programs read besides their libraries.
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/dev/urandom")


def confine_files(readable: Iterable[str], listed: Iterable[str], scratch: str) -> None:
    """Let this process, and all it starts, read some files and folders, list some more folders, and
    write one folder only. OSError where the kernel has no Landlock."""
    version = system_call(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    rights = (1 << _RIGHTS[min(version, len(_RIGHTS)) - 1]) - 1
    handled = struct.pack("<Q", rights)
    rules = system_call(LANDLOCK_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    try:
        for path in (*_SYSTEM, *readable):
            _allow(rules, path, _READ)
        for path in listed:
            _allow(rules, path, _READ_DIR)
        _allow(rules, os.devnull, _READ_FILE | _WRITE_FILE)
        _allow(rules, scratch, rights)
        control_process(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        system_call(LANDLOCK_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Add a rule for a folder with all below it, or a file; none for what is not there."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        given = rights if os.path.isdir(path) else rights & _OF_FILES
        rule = struct.pack("<Qi", given, place)
        system_call(LANDLOCK_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
