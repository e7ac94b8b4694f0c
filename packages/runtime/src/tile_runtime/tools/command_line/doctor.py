"""`tile-ascend doctor`: what works here, and how to mend what does not.

Not here: what is looked at on a machine with an NPU (npu_findings.py), or several
(rank_findings.py).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tile_ir import BuildError
from tile_runtime.scripts.columns import columns
from tile_runtime.tools.command_line import npu_findings, rank_findings
from tile_runtime.tools.command_line.npu_findings import DoctorFinding

# Oldest compilers the simulator is written for.
OLDEST = {"g++": 11, "clang++": 14}
# How the runner ends when it is started by hand (main.cpp).
_NO_RUN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--build", action="store_true", help="build what the first use would build, and try it"
    )


def run(options: argparse.Namespace) -> int:
    """Print all findings; 1 if kernels can not run on the simulator."""
    findings = [found for check in CHECKS if (found := check(options.build)) is not None]
    later = any(f.later for f in findings)
    broken = any(f.needed and not f.works for f in findings)
    rows = []
    for found in findings:
        mark = "ok" if found.works else "BROKEN" if found.needed else "absent"
        rows.append(("later" if found.later else mark, found.name, found.detail))
        if not found.works and found.fix:
            rows.append(("", "", f"fix: {found.fix}"))
    print(columns(rows))
    once = ", once the first use has built what is marked `later`" if later else ""
    npu = " and on the NPU" if all(f.works or f.several for f in findings) else ""
    where = f"kernels run here on the simulator{npu}{once}"
    print("kernels can not run here" if broken else where)
    return int(broken)


def check_python(build: bool) -> DoctorFinding:
    found = platform.python_version()
    return DoctorFinding(
        "Python", sys.version_info >= (3, 10), f"{found} ({sys.executable})",
        "install Python 3.10 or newer",
    )  # fmt: skip


def check_compiler(build: bool) -> DoctorFinding:
    from tile_runtime.devices.compile_host import find_compiler

    try:
        words = find_compiler()
    except BuildError as error:
        return DoctorFinding("C++ compiler", False, error.message, error.hint)
    done = subprocess.run([*words, "-dumpfullversion"], capture_output=True, text=True)
    version = done.stdout.strip()
    if done.returncode != 0 or not version:
        return DoctorFinding("C++ compiler", False, f"{words[0]} does not run", "reinstall it")
    kind = "clang++" if "clang" in os.path.basename(words[0]) else "g++"
    major = version.partition(".")[0]
    works = not major.isdigit() or int(major) >= OLDEST[kind]
    return DoctorFinding(
        "C++ compiler", works, f"{' '.join(words)} {version}",
        f"install {kind} {OLDEST[kind]} or newer",
    )  # fmt: skip


def check_simulator(build: bool) -> DoctorFinding:
    from tile_runtime.launcher.native import simulator_library

    return _built("simulator", simulator_library, build)


def check_runner(build: bool) -> DoctorFinding:
    """The program in which `tile-ascend sim` runs kernels: it starts, and finds its libraries."""
    from tile_runtime.launcher.native import runner_program

    finding = _built("runner", runner_program, build)
    if not finding.works or finding.later:
        return finding
    try:
        # Without a run to do, it says so with its exit code.
        done = subprocess.run([finding.detail], capture_output=True, timeout=30)
        problem = "" if done.returncode == _NO_RUN else f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if not problem:
        return finding
    return DoctorFinding("runner", False, f"{finding.detail} does not start: {problem}",
                   "remove the file; it is built anew")  # fmt: skip


def check_launcher(build: bool) -> DoctorFinding:
    from tile_runtime.launcher.native import launcher, launcher_library, simulator_library

    finding = _built("launcher", launcher_library, build)
    there = _built("simulator", simulator_library, build)
    if not all(part.works and not part.later for part in (finding, there)):
        return finding
    try:
        launcher()
    except (ImportError, RuntimeError) as error:
        return DoctorFinding("launcher", False, f"{finding.detail} can not be loaded: {error}",
                       "remove the file; it is built anew")  # fmt: skip
    return finding


def _built(name: str, library: Callable[..., Path], build: bool) -> DoctorFinding:
    """Whether a native part is there, building it if that is wanted."""
    try:
        return DoctorFinding(name, True, str(library(may_build=build)))
    except BuildError as error:
        if error.slug == "not-built":
            what = "the first use builds it, and so does `tile-ascend doctor --build`"
            return DoctorFinding(name, True, what, later=True)
        return DoctorFinding(name, False, error.message, error.hint)


def check_torch(build: bool) -> DoctorFinding:
    fix = "pip install torch -c constraints.txt"
    if find_spec("torch") is None:
        return DoctorFinding("torch", False, "torch is not installed", fix)
    if not build:  # importing it takes longer than everything else here
        return DoctorFinding("torch", True, version("torch"), fix)
    try:
        import torch
    except (ImportError, OSError) as error:
        return DoctorFinding("torch", False, str(error), fix)
    return DoctorFinding("torch", True, torch.__version__, fix)


def check_cache(build: bool) -> DoctorFinding:
    from tile_runtime.cache.kernel_cache import kernel_cache

    cache = kernel_cache()
    try:
        cache.scratch().rmdir()
    except BuildError as error:
        return DoctorFinding("cache", False, error.message, error.hint)
    size = cache.size()
    return DoctorFinding(
        "cache", True, f"{cache.root}: {size.kernels} kernels, {size.bytes / 1e6:.1f} MB"
    )


CHECKS: tuple[Callable[[bool], DoctorFinding | None], ...] = (
    check_python,
    check_compiler,
    check_torch,
    check_simulator,
    check_launcher,
    check_runner,
    check_cache,
    *npu_findings.CHECKS,
    *rank_findings.CHECKS,
)
