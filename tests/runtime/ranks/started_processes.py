"""Processes of a group over gloo, as torchrun starts them, for tests on one machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SETTINGS = {"TILE_TARGET": "sim", "TILE_TIMEOUT": "300", "OMP_NUM_THREADS": "1"}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(
    count: int, program: Path, *what: str, settings: Mapping[str, str] = {}
) -> list[subprocess.Popen[str]]:
    """So many processes of a group."""
    address = {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count),
    }  # fmt: skip
    return [
        subprocess.Popen(
            [sys.executable, str(program), *what],
            env={
                **os.environ, **SETTINGS, **address, "RANK": str(rank), "LOCAL_RANK": str(rank),
                **settings,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]  # fmt: skip


def outputs_of(processes: list[subprocess.Popen[str]], seconds: float = 280) -> list[str]:
    """What each has printed at its end. Raises AssertionError where one has failed."""
    found = [process.communicate(timeout=seconds) for process in processes]
    for process, (_, errors) in zip(processes, found, strict=True):
        assert process.returncode == 0, errors[-4000:]
    return [output for output, _ in found]
