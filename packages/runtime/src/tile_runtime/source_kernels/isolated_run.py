"""Runs a kernel library in a process of its own, which can not outlive or harm the caller."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from functools import lru_cache
from pathlib import Path

from tile_ir import BuildError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.launcher.native import runner_program, simulator_library
from tile_runtime.source_kernels.host_stub import STUB_SYMBOL
from tile_runtime.source_kernels.run_files import RunFiles, RunRecord

# How long a process whose time is up may take to say where it is.
_LAST_WORDS_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. `code` is negative for a signal, as `subprocess` has it."""

    code: int
    timed_out: bool
    record: RunRecord
    console: str


@lru_cache(maxsize=4)
def _programs(cache_dir: str | None) -> tuple[Path, Path]:
    """Runner and simulator; building them or finding them is not done for every run."""
    return runner_program(), simulator_library()


def run_isolated(
    library: Path, files: RunFiles, timeout: float, symbol: str = STUB_SYMBOL
) -> Ended:
    """Run the kernel to its end, or until `timeout` seconds have passed (0: no limit).
    `symbol` is its host stub; a library may hold several.

    Raises BuildError if the process can not be started.
    """
    runner, simulator = _programs(os.environ.get("TILE_CACHE_DIR"))
    command = [
        str(runner), str(os.getpid()), str(simulator), str(library),
        str(files.request), str(files.record), str(files.timeline), symbol,
    ]  # fmt: skip
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=files.console,
            stderr=files.console,
            pass_fds=[d for d in (files.request, files.record, files.timeline) if d >= 0],
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError("runner", f"the simulator's process does not start: {error}") from None
    timed_out = False
    try:
        if not _wait(process, timeout or None):
            timed_out = True
            process.send_signal(signal.SIGALRM)
            _wait(process, _LAST_WORDS_SECONDS)
    finally:
        # The whole session: the kernel may have started processes. The leader is not reaped yet,
        # so its number can belong to nobody else.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    record = files.read_record()
    return Ended(process.returncode, timed_out, record, files.console_text())


def _wait(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    """Whether the process ended in time; it is not reaped."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # before Linux 5.3
        return _wait_by_polling(process.pid, seconds)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(None if seconds is None else seconds * 1000))
    finally:
        os.close(descriptor)


def _wait_by_polling(pid: int, seconds: float | None) -> bool:
    end = None if seconds is None else time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if end is not None and time.monotonic() >= end:
            return False
        time.sleep(0.002)
    return True
