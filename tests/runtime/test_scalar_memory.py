"""What the checks remember of scalar loops does not grow with their rounds."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import compile

N = 1 << 16


def scalar_loop(kind: str) -> Any:
    """R rounds of scalar work: on a tile, or on elements of tensors in an order of its own."""

    @T.prim_func
    def main(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), rounds: T.int32):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((64,), "int32")
            with T.Scope("V"):
                T.tile.fill(a, 0)
                T.barrier_all()
                for r in range(rounds):
                    if kind == "tile":
                        a[r * 7 % 64] = a[r * 5 % 64] + 1
                    elif kind == "flags":
                        a[r % 64] = a[r * 5 % 64] + 1
                        T.set_flag("s", "v", 0)
                        T.wait_flag("s", "v", 0)
                        T.tile.add(a, a, 1)
                        T.set_flag("v", "s", 0)
                        T.wait_flag("v", "s", 0)
                    elif kind == "gather":
                        a[0] = a[0] + A[r * 79 % N]
                    else:
                        B[r * 79 % N] = r

    return main


def peak(kind: str, rounds: int, time: bool) -> int:
    """Bytes a process of its own has held at most after that many rounds."""
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "import test_scalar_memory as t\n"
        f"t.run({kind!r}, {rounds}, {time})\n"
        "status = dict(x.split(':', 1) for x in open('/proc/self/status'))\n"
        "print(status['VmHWM'].split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) * 1024


def run(kind: str, rounds: int, time: bool) -> None:
    a, b = (torch.zeros(N, dtype=torch.int32) for _ in range(2))
    with override(check="device", time=time, timeout=0, cache=False):
        compile(scalar_loop(kind))(a, b, rounds)


@pytest.mark.parametrize(
    ("kind", "time"),
    [("tile", False), ("flags", False), ("gather", False), ("scatter", False), ("tile", True)],
)
@pytest.mark.exhaustive
def test_memory_does_not_grow_with_the_rounds(kind: str, time: bool) -> None:
    few, many = (peak(kind, rounds, time) for rounds in (2 * N, 6 * N))
    assert many - few < 24 << 20, (few >> 20, many >> 20)
    assert many < 1 << 30


def test_folded_events_keep_their_times() -> None:
    """From 262,144 events of a core on, scalar work is folded: cycles grow as before."""
    a, b = (torch.zeros(N, dtype=torch.int32) for _ in range(2))
    with override(check="device", time=True, timeout=0):
        kernel = compile(scalar_loop("tile"))
        cycles, events = [], []
        for rounds in (40_000, 80_000, 160_000):
            kernel(a, b, rounds)
            line = kernel.timeline()
            assert line is not None
            cycles.append(line.totals["cycles"])
            events.append(len(line.events))
    assert events[2] < 2 * events[1]
    assert cycles[2] - cycles[1] == pytest.approx(2 * (cycles[1] - cycles[0]), rel=1e-6)
