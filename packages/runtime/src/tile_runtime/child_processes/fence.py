"""The fence around a child: what it may reach, and how much it may use.

Namespaces keep it from the network and from other processes, Landlock from files, a filter from
system calls, resource limits from memory, time and disk. The answer lists parts that the platform
lacks.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pkgutil import resolve_name
from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.child_processes.landlock import confine_files
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.namespaces import enter_namespaces, limit_scratch
from tile_runtime.child_processes.system_call_filter import filter_system_calls

# The exit code of a child that ran out of memory.
OUT_OF_MEMORY = 99
_MOST_FILES = 256
# Of what a compiler starts; a candidate starts none.
_MOST_PROCESSES = 256


@dataclass(frozen=True, slots=True)
class Fence:
    """`starts_programs` allows the compiler. `readable` are folders and files; all else can not be
    opened; `readable_by` names a function, `module:function`, that gives further ones. Of `listed`
    folders only the names can be read. `scratch` is the only folder that can be written, up to
    `scratch_mb`."""

    starts_programs: bool = False
    readable: tuple[str, ...] = ()
    readable_by: str = ""
    listed: tuple[str, ...] = ()
    scratch: str = ""
    scratch_mb: int = 256

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def isolate(fence: Fence) -> tuple[list[str], dict[str, str]]:
    """Put up, in the keeper, what only its children are subject to; those in force, and those
    missing with the reason."""
    in_force: list[str] = []
    missing: dict[str, str] = {}
    found, problems = enter_namespaces()
    in_force += found
    missing |= problems
    if "mounts" in found:
        _put_up("disk", lambda: limit_scratch(fence.scratch, fence.scratch_mb), in_force, missing)
    else:
        missing["disk"] = "no namespace of mounts"
    return in_force, missing


def enter_fence(fence: Fence, limits: ChildLimits) -> tuple[list[str], dict[str, str]]:
    """Put up, in the child, what is for this process and all it starts."""
    os.environ.update(TMPDIR=fence.scratch, HOME=fence.scratch)
    readable = (*fence.readable, *(resolve_name(fence.readable_by)() if fence.readable_by else ()))
    _limit_resources(fence, limits.seconds)
    in_force, missing = ["memory", "time"], dict[str, str]()
    _put_up(
        "files",
        lambda: confine_files(readable, fence.listed, fence.scratch),
        in_force,
        missing,
    )
    _put_up("calls", lambda: filter_system_calls(fence.starts_programs), in_force, missing)
    return in_force, missing


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that there was no memory. That of torch has no class of its own."""
    if isinstance(error, RuntimeError):
        return "allocate memory" in str(error)
    return isinstance(error, MemoryError)


def _put_up(
    name: str, fence: Callable[[], None], in_force: list[str], missing: dict[str, str]
) -> None:
    try:
        fence()
    except OSError as error:
        missing[name] = error.strerror or str(error)
    else:
        in_force.append(name)


def limit_memory(limits: ChildLimits) -> None:
    """Limit the memory that this process may add, and write no core files."""
    _limit(resource.RLIMIT_CORE, 0)
    if limits.memory_mb is not None:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, now + (limits.memory_mb << 20))


def _limit_resources(fence: Fence, seconds: float) -> None:
    _limit(resource.RLIMIT_CPU, (int(seconds) + 1) * (os.cpu_count() or 1))
    _limit(resource.RLIMIT_FSIZE, fence.scratch_mb << 20)
    _limit(resource.RLIMIT_NOFILE, _MOST_FILES)
    _limit(resource.RLIMIT_NPROC, _MOST_PROCESSES)


def _limit(what: int, limit: int) -> None:
    with suppress(ValueError, OSError):  # a lower limit of the machine stands
        resource.setrlimit(what, (limit, limit))
