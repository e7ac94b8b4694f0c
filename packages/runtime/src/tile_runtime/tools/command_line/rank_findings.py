"""Check the parts that kernels over several NPUs need: the vendor's SHMEM library and its package,
the links between the devices, and processes for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec

from tile_runtime.devices.shmem_library import VARIABLE, shmem_home
from tile_runtime.tools.command_line.npu_findings import DoctorFinding, found_devices

# Links over which a kernel reaches the memory of another device, by parts of their names.
_REACHING = ("HCCS", "SIO")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[a-zA-Z]")
# torchrun sets it: how many processes it has started here.
PROCESSES = "LOCAL_WORLD_SIZE"


def check_library(build: bool) -> DoctorFinding | None:
    """Headers that kernels are compiled with, and the package that makes the heap."""
    home, package = shmem_home(), find_spec("shmem")
    if not _wanted():
        return None
    if home is None:
        return _for_ranks(
            "SHMEM", f"{VARIABLE} names no folder with its headers",
            "install the vendor's SHMEM library, then `source` its set_env.sh",
        )  # fmt: skip
    if package is None:
        return _for_ranks("SHMEM", f"{home}, but the package shmem is not installed",
                          "pip install the wheel cann-shmem that its build makes")  # fmt: skip
    return _for_ranks("SHMEM", f"{home}; ranks meet without TLS")


def check_links(build: bool) -> DoctorFinding | None:
    """Whether each device reaches the memory of each other."""
    if not _wanted():
        return None
    table = _link_table()
    if not table:
        return _for_ranks("links", "`npu-smi info -t topo` shows no links of two devices",
                          "run it by hand: a container needs the tool and the devices")  # fmt: skip
    for device, kinds in table.items():
        for other, kind in kinds.items():
            if device != other and not any(name in kind for name in _REACHING):
                return _for_ranks(
                    "links", f"{kind} between {device} and {other}: kernels do not reach over it",
                    "use devices that HCCS connects: ASCEND_RT_VISIBLE_DEVICES",
                )  # fmt: skip
    found = sorted({kind for kinds in table.values() for kind in kinds.values()} - {"X"})
    return _for_ranks("links", f"{' and '.join(found)} between {len(table)} devices")


def check_processes(build: bool) -> DoctorFinding | None:
    """As many processes as devices, in a process that torchrun has started."""
    processes, devices = os.environ.get(PROCESSES, ""), _visible()
    if not processes.isdigit() or not devices:
        return None
    told = f"{processes} processes for {devices} devices"
    if int(processes) > devices:
        return _for_ranks("ranks", told, f"torchrun --nproc-per-node {devices}")
    return _for_ranks("ranks", told)


def _for_ranks(name: str, detail: str, fix: str | None = None) -> DoctorFinding:
    """Something that kernels on one device do without; it works if there is nothing to do."""
    return DoctorFinding(name, fix is None, detail, fix, needed=False, several=True)


def _wanted() -> bool:
    return len(found_devices()) > 1 or shmem_home() is not None


def _visible() -> int:
    """How many devices a process sees."""
    chosen = os.environ.get("ASCEND_RT_VISIBLE_DEVICES")
    return len(found_devices()) if not chosen else len(chosen.split(","))


def _link_table() -> dict[str, dict[str, str]]:
    """The kind of link of each device to each, as the vendor's tool shows them."""
    if shutil.which("npu-smi") is None:
        return {}
    try:
        done = subprocess.run(
            ["npu-smi", "info", "-t", "topo"], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = [line.split() for line in _COLOURS.sub("", done.stdout).splitlines()]
    lines = {row[0]: row[1:] for row in rows if row and "X" in row[1:] and row[0][-1].isdigit()}
    return {name: dict(zip(lines, kinds, strict=False)) for name, kinds in lines.items()}


CHECKS: tuple[Callable[[bool], DoctorFinding | None], ...] = (
    check_library,
    check_links,
    check_processes,
)
