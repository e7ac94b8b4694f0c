"""Runs small kernels written by hand over several simulated ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from kernel_set import _KINDS, KernelSet, SimulatorError, launcher

DEVICE, STRICT = 1, 2
PROMPT, LATE = 1, 2

# Every schedule a broken kernel has to be reported in: seeds, host threads, deliveries.
SCHEDULES = tuple(itertools.product(range(10), (1, 2), (PROMPT, LATE)))


@dataclass(frozen=True)
class Ranked:
    """An array of every rank; of symmetric memory, if others reach it."""

    arrays: tuple[np.ndarray, ...]
    symmetric: bool = False

    def __getitem__(self, rank: int) -> np.ndarray:
        return self.arrays[rank]


def own(ranks: int, *shape: int, dtype: type = np.int32) -> Ranked:
    """Zeros that no other rank reaches."""
    return Ranked(tuple(np.zeros(shape, dtype) for _ in range(ranks)))


def shared(ranks: int, *shape: int, dtype: type = np.int32) -> Ranked:
    """Zeros in symmetric memory, at the start of a line on every rank."""
    return Ranked(tuple(_aligned(shape, dtype) for _ in range(ranks)), symmetric=True)


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype).reshape(shape)


@dataclass
class RankKernels:
    """Kernels of one test module, which may use the library for ranks."""

    prelude: str = ""
    kernels: KernelSet = field(init=False)
    opened: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kernels = KernelSet('#include "shmem.h"\n' + self.prelude)

    def add(self, name: str, parameters: str, body: str, kind: str = "KERNEL_TYPE_MIX_AIV_1_0") -> str:
        """Adds a kernel; its parameters are those of C++."""
        return self.kernels.add(name, parameters, body, kind)

    def run(self, name: str, ranks: int, *arguments: Any, blocks: int = 1, **options: int) -> str:
        """Runs a kernel over so many ranks and returns what it printed; SimulatorError if it is
        wrong."""
        kernel = self.kernels._kernels[name]
        if name not in self.opened:
            kinds = [_KINDS[t] for t, _ in kernel.parameters] + ["i32"]
            names = [n for _, n in kernel.parameters] + ["blocks"]
            path = str(self.kernels.library())
            self.opened[name] = launcher().Kernel(path, f"run_{name}", kinds, names)
        opened = self.opened[name]
        opened.set_options(**{"checks": STRICT, **options})
        values = [
            (*(a[r].ctypes.data if isinstance(a, Ranked) else a for a in arguments), blocks)
            for r in range(ranks)
        ]
        sizes = (*(a[0].nbytes if isinstance(a, Ranked) else 0 for a in arguments), 0)
        memory = [
            (n, a[0].nbytes, tuple(x.ctypes.data for x in a.arrays))
            for (_, n), a in zip(kernel.parameters, arguments, strict=True)
            if isinstance(a, Ranked) and a.symmetric
        ]
        fault, printed = opened.run_ranks(values, sizes, [], memory)
        if fault is not None:
            raise SimulatorError(fault)
        return str(printed)

    def fault(self, name: str, ranks: int, *arguments: Any, **options: int) -> Any:
        """Runs a kernel that is wrong, and returns its error."""
        with pytest.raises(SimulatorError) as caught:
            self.run(name, ranks, *arguments, **options)
        return caught.value.fault

    def others(self, name: str) -> list[Any]:
        """Further errors of its latest run, or what one without an error was warned of."""
        return list(self.opened[name].others())


def schedules() -> Iterator[dict[str, int]]:
    """The options of each schedule."""
    for seed, threads, delivery in SCHEDULES:
        yield {"seed": seed, "threads": threads, "delivery": delivery}
