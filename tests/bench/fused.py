"""Fused operators of many devices against a product and a collective, each a launch of its own.

Times are modelled, with the cost of launching, on eight devices of an A2 server; the sizes are
those that others published for eight devices or less. Rows fail below what is promised.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import tile_frontend as T
from bench.row import Examples, Measurement, Row
from bench.unfused_collectives import COLUMNS, PIECE, gather, scattered_sum
from tile_ir.switches import override
from tile_runtime import Ranks
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.scripts.module import load_script

RANKS = 8
BLOCKS = 24
GAIN = 1.25
# M, N and K of the whole product.
SIZES = (
    (2048, 1024, 2048), (4096, 2048, 4096), (4096, 4096, 4096), (8192, 4096, 4096),
    (16384, 4096, 4096),
)  # fmt: skip
REDUCED = (5416, 1408, 6144)
# A tile for fewer cores than there are, and that one needs all that the links bring at the end.
SMALL = (512, 256, 4096)


class Fused:
    """The examples, and the modelled microseconds of their launches and of those they replace."""

    def __init__(self, examples: Examples) -> None:
        self._folder = examples.folder

    def script(self, name: str) -> ModuleType:
        return load_script(self._folder / f"{name}.py")

    def product(self, m: int, n: int, k: int) -> float:
        tiles = T.recommend_tiles(m, n, k)
        kernel = self.script("developer/gemm").gemm(m, n, k, *tiles)
        kernel(_zeros(m, k), _zeros(k, n))
        return float(kernel.timeline().task_microseconds)

    def ag_gemm(self, size: Sequence[int], ranks: int = RANKS) -> float:
        m, (n, k) = size[0] // ranks, size[1:]
        kernel = self.script("distributed/ag_gemm").ag_gemm(ranks, m, n, k)
        with Ranks(ranks) as world:
            gathered, words = world.zeros((ranks, m, k), torch.float16), _words(world, m)
            c = [_zeros(ranks, m, n) for _ in range(ranks)]
            return _launch(world, kernel, gathered, _zeros(k, n), words, c, 1)

    def gemm_rs(self, size: Sequence[int], ranks: int = RANKS) -> float:
        m, (n, k) = size[0] // ranks, size[1:]
        kernel = self.script("distributed/gemm_rs").gemm_rs(ranks, m, n, k)
        with Ranks(ranks) as world:
            parts = world.zeros((ranks, m, n), torch.float16)
            words = world.signals(ranks * T.ceildiv(m, 128) * T.ceildiv(n, 256))
            c = [_zeros(m, n) for _ in range(ranks)]
            return _launch(world, kernel, _zeros(ranks, m, k), _zeros(k, n), parts, words, c, 1)

    def gemm_ar(
        self, size: Sequence[int], rows: int = 240, columns: int = 128, ranks: int = RANKS
    ) -> float:
        m, n, k = size
        script = self.script("distributed/gemm_ar")
        kernel = script.gemm_ar(ranks, m, n, k, rows, columns)
        tiles = T.ceildiv(m, rows) * T.ceildiv(n, columns)
        with Ranks(ranks) as world:
            parts, c = world.zeros((ranks, m, n), torch.float16), world.zeros((m, n), torch.float16)
            made = world.signals(ranks * tiles)
            summed = world.signals(tiles * script.stripes_of(rows, BLOCKS, ranks))
            return _launch(world, kernel, _zeros(m, k), _zeros(k, n), parts, made, c, summed, 1)


def all_gather(m: int, n: int) -> float:
    """An all-gather of m rows of each rank."""
    with Ranks(RANKS) as world:
        x = world.zeros((RANKS, m, n), torch.float16)
        return _launch(world, gather(RANKS, m, n), x, _words(world, m), 1)


def all_sum(m: int, n: int, everywhere: bool) -> float:
    """A reduce-scatter of m rows for each rank, or an all-reduce of as many times ranks."""
    with Ranks(RANKS) as world:
        parts, y = (world.zeros((RANKS, m, n), torch.float16) for _ in range(2))
        done = world.signals(RANKS * T.ceildiv(m, PIECE) * T.ceildiv(n, COLUMNS))
        kernel = scattered_sum(RANKS, m, n, everywhere)
        return _launch(
            world, kernel, _zeros(RANKS, m, n), parts, _words(world, m), y, done, 1
        )  # fmt: skip


def _zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.float16)


def _words(world: Ranks, m: int) -> Any:
    return world.signals(world.count * T.ceildiv(m, PIECE))


def _launch(world: Ranks, kernel: JITKernel, *arguments: Any) -> float:
    world.launch(kernel, *arguments)
    assert world.times is not None, "the launch is timed"
    return float(world.times.task_microseconds)


def _gain(name: str, apart: float, fused: float, limit: float, more: bool = True) -> Row:
    gain = apart / fused
    title = f"{name}: {apart:.0f} us apart, {fused:.0f} us in one, gain"
    return Row(title, gain, gain, gain, "x", 1, limit, more)


def _title(name: str, size: Sequence[int]) -> str:
    return f"{name} {'x'.join(map(str, size))} on {RANKS}"


def _timed(what: str, measure: Callable[[Fused], list[Row]]) -> Measurement:
    def run(examples: Examples) -> list[Row]:
        with override(time=True, check="off", timeout=0):
            return measure(Fused(examples))

    run.__doc__ = what
    return run


def _gathers(fused: Fused, size: Sequence[int], limit: float, more: bool = True) -> Row:
    apart = fused.product(*size) + all_gather(size[0] // RANKS, size[2])
    return _gain(_title("all-gather and gemm", size), apart, fused.ag_gemm(size), limit, more)


def _scatters(fused: Fused, size: Sequence[int], limit: float) -> Row:
    apart = fused.product(*size) + all_sum(size[0] // RANKS, size[1], everywhere=False)
    return _gain(_title("gemm and reduce-scatter", size), apart, fused.gemm_rs(size), limit)


def _reduces(fused: Fused, size: Sequence[int], limit: float) -> Row:
    apart = fused.product(*size) + all_sum(size[0] // RANKS, size[1], everywhere=True)
    return _gain(_title("gemm and all-reduce", size), apart, fused.gemm_ar(size), limit)


def _alone(fused: Fused) -> list[Row]:
    """On one device: the fused kernels against the product."""
    size = 1024, 4096, 4096
    product = fused.product(*size)
    times = {
        "all-gather": fused.ag_gemm(size, 1), "reduce-scatter": fused.gemm_rs(size, 1),
        "all-reduce": fused.gemm_ar(size, 128, 256, ranks=1),
    }  # fmt: skip
    return [
        Row(f"gemm with {name} on 1 device, of gemm alone", *[time / product] * 3, "x", 1, 1.05)
        for name, time in times.items()
    ]


def _host(examples: Examples) -> list[Row]:
    """Simulated all-gather and gemm of 1024^3 for each of eight ranks, in a process of its own."""
    command = [sys.executable, "-m", "bench.fused", str(examples.folder.resolve())]
    tests = Path(__file__).parents[1]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tests)
    seconds, memory = (float(word) for word in done.stdout.split())
    name = "all-gather and gemm 1024^3 on 8, simulated"
    return [
        Row(name, *[seconds] * 3, "s", 1, 20),
        Row(f"{name}: memory", *[memory] * 3, "GiB", 1, 2),
    ]


FUSED: dict[str, Measurement] = {
    "ranks.fused.gather": _timed(
        "All-gather and product, in published sizes.",
        lambda f: [_gathers(f, size, GAIN) for size in SIZES],
    ),
    "ranks.fused.scatter": _timed(
        "Product and reduce-scatter, in published sizes.",
        lambda f: [_scatters(f, size, GAIN) for size in SIZES],
    ),
    "ranks.fused.reduce": _timed(
        "Product and all-reduce, in a published size.", lambda f: [_reduces(f, REDUCED, GAIN)]
    ),
    "ranks.fused.small": _timed(
        "A size where overlap loses.", lambda f: [_gathers(f, SMALL, 1, more=False)]
    ),
    "ranks.fused.alone": _timed("One device, against the product alone.", _alone),
    "ranks.fused.host": _host,
}


def main(folder: str) -> None:
    with override(time=True, check="device", timeout=0):
        start = time.perf_counter()
        Fused(Examples(Path(folder))).ag_gemm((1024, 1024, 1024))
        seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


if __name__ == "__main__":
    main(sys.argv[1])
