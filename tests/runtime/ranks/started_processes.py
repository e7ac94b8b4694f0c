"""Processes of a group over gloo, as torchrun starts them, for tests on one machine."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from forked_python import run_python

SETTINGS = {"TILE_TARGET": "sim", "TILE_TIMEOUT": "300", "OMP_NUM_THREADS": "1"}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


# The result of each process.
Started = list["Future[subprocess.CompletedProcess[str]]"]


def started(
    count: int, program: Path, *what: str, settings: Mapping[str, str] = {}, seconds: float = 280
) -> Started:
    """So many processes of a group, which begin with all imported."""
    address = {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count),
    }  # fmt: skip
    pool = ThreadPoolExecutor(count)
    found = [
        pool.submit(
            run_python,
            [str(program), *what],
            env={
                **os.environ, **SETTINGS, **address, "RANK": str(rank), "LOCAL_RANK": str(rank),
                **settings,
            },
            seconds=seconds,
        )
        for rank in range(count)
    ]  # fmt: skip
    pool.shutdown(wait=False)
    return found


def outputs_of(processes: Started) -> list[str]:
    """What each has printed at its end. Raises AssertionError where one has failed."""
    found = [process.result() for process in processes]
    for done in found:
        assert done.returncode == 0, done.stderr[-4000:]
    return [done.stdout for done in found]
