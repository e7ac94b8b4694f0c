"""Check the parts that kernels on an NPU need: the driver, CANN, its compiler, torch_npu
and the chip. None of it is needed on the simulator."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tile_ir import TARGETS, BuildError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import is_chosen, switch
from tile_runtime.devices.cann import find_cann, find_device_compiler

# Where the driver shows its devices.
DEVICES = Path("/dev")
_DEVICE = re.compile(r"davinci\d+$")


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing looked at. `needed`: without it kernels can not run on the simulator. `later`: the
    first use makes it. `several`: kernels on one device do without."""

    name: str
    works: bool
    detail: str
    fix: str | None = None
    needed: bool = True
    later: bool = False
    several: bool = False


def _absent(name: str, detail: str, fix: str | None) -> DoctorFinding:
    return DoctorFinding(name, False, detail, fix, needed=False)


def _there(name: str, detail: str) -> DoctorFinding:
    return DoctorFinding(name, True, detail, needed=False)


def found_devices() -> list[str]:
    """Those that the driver shows."""
    return sorted(p.name for p in DEVICES.glob("davinci*") if _DEVICE.match(p.name))


def check_driver(build: bool) -> DoctorFinding:
    found = found_devices()
    if not found:
        return _absent(
            "NPU driver", f"no {DEVICES}/davinci0",
            "install the driver; a container gets its device by --device=/dev/davinci0",
        )  # fmt: skip
    return _there("NPU driver", ", ".join(found))


def check_cann(build: bool) -> DoctorFinding:
    cann = find_cann()
    if cann is None:
        return _absent(
            "CANN", "ASCEND_HOME_PATH is not set, and no usual folder is there",
            "install the toolkit of CANN 8.1 or newer, then `source` its set_env.sh",
        )  # fmt: skip
    told = f"{cann.version or 'of unknown version'} in {cann.home}"
    if not cann.home.is_dir():
        return _absent("CANN", f"{cann.told_by} is {cann.home}, which is no folder",
                       "source set_env.sh of the CANN that is installed")  # fmt: skip
    if missing := cann.missing():
        return _absent("CANN", f"{told} lacks {', '.join(missing)}",
                       "install the whole toolkit, not its runtime alone")  # fmt: skip
    if not cann.told_by:
        return _absent(
            "CANN", f"{told}, but ASCEND_HOME_PATH is not set",
            f"source {cann.home}/set_env.sh, or the one in the folder above",
        )  # fmt: skip
    return _there("CANN", f"{told} ({cann.told_by})")


def check_bisheng(build: bool) -> DoctorFinding:
    try:
        program = find_device_compiler()
    except BuildError as error:
        return _absent("bisheng", error.message, "install CANN's toolkit, which has it")
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
        problem = "" if done.returncode == 0 else f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        return _absent("bisheng", f"{program} does not run: {problem}",
                       "install the CANN for this machine's processor")  # fmt: skip
    return _there("bisheng", f"{program}: {(done.stdout.splitlines() or ['?'])[0]}")


def check_torch_npu(build: bool) -> DoctorFinding:
    from tile_runtime.devices.choose_device import NO_DEVICE, npu_problem

    problem = npu_problem()
    if problem in (None, NO_DEVICE):
        return _there("torch_npu", _version("torch_npu"))
    return _absent(
        "torch_npu", str(problem),
        "pip install 'tile-runtime[npu]', torch_npu at the version that its table gives for this "
        "torch and CANN, and source CANN's set_env.sh",
    )  # fmt: skip


def check_npu(build: bool) -> DoctorFinding:
    """Check the chip, its cores by every source, and, with `build`, the compilation of a kernel."""
    from tile_runtime.devices.choose_device import npu_problem

    problem = npu_problem()
    if problem is not None:
        return _absent("NPU", problem, "look at the lines above; `npu-smi info` lists the devices")
    import torch

    npu: Any = vars(torch)["npu"]
    chip = str(npu.get_device_name())
    cann = find_cann()
    known = TARGETS.get(chip)
    cores = _told_cores(npu)
    if cores is None and cann is not None:
        cores = cann.cores(chip)
    if cores is None and known is not None:
        cores = known.cube_cores, known.vector_cores
    told = f"{npu.device_count()} x {chip}"
    if cores is not None:
        told += f", {cores[0]} cube and {cores[1]} vector cores"
    wanted = switch("soc") if is_chosen("soc") else chip
    if wanted not in TARGETS:
        return _absent("NPU", f"{told}: {wanted} is not in the chip table",
                       f"set TILE_SOC to the nearest of {', '.join(TARGETS)}")  # fmt: skip
    if TARGETS[wanted].cube_cores > (cores or (TARGETS[wanted].cube_cores,))[0]:
        return _absent(
            "NPU", f"{told}, but kernels are compiled for {wanted} with more cores",
            "unset TILE_SOC: blocks that wait for each other need a core each",
        )  # fmt: skip
    return _there("NPU", f"{told}; kernels are compiled for {wanted}")


def _told_cores(npu: Any) -> tuple[int, int] | None:
    """Return the cores that newer versions of torch_npu report."""
    said = npu.get_device_properties(0)
    cube, vector = (getattr(said, name, None) for name in ("cube_core_num", "vector_core_num"))
    return (int(cube), int(vector)) if cube and vector else None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


CHECKS: tuple[Callable[[bool], DoctorFinding], ...] = (
    check_driver,
    check_cann,
    check_bisheng,
    check_torch_npu,
    check_npu,
)
