"""Kernels that do with scalars whatever can go wrong, run with random ones: `python -m
end_to_end.mutated_scalars RUNS SEED` in tests/ prints how the runs ended. The process has to live."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import tile_frontend as T
from end_to_end.kernel_batch import KernelBatch
from tile_ir import Automatic, Func

SIZE = 16
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
TYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64")


def arithmetic(dtype: str) -> Func:
    kind = getattr(T, dtype)

    @T.prim_func
    def k(
        X: T.Tensor((SIZE,), dtype), Y: T.Tensor((SIZE,), "int32"), a: kind, b: kind, f: T.float32
    ):
        with T.Kernel(1, threads=1):
            x = T.alloc_shared((SIZE,), dtype)
            y = T.alloc_shared((SIZE,), "int32")
            T.copy(X, x)
            T.tile.fill(y, 0)
            y[0] = T.cast(a // b, "int32")
            y[1] = T.cast(a % b + T.ceildiv(b, a), "int32")
            y[2] = T.cast((a << b) + (a >> b), "int32")
            y[3] = T.cast(f, "int32") + T.cast(f * f, "int32")
            for i in T.serial(4, SIZE):
                y[i] = T.cast(x[i] // x[i - 1] + a % x[i], "int32")
            T.copy(y, Y)

    return k


def places(dtype: str) -> Func:
    kind = getattr(T, dtype)

    @T.prim_func
    def k(
        X: T.Tensor((SIZE,), dtype), Y: T.Tensor((SIZE,), "int32"), a: kind, b: kind, f: T.float32
    ):
        with T.Kernel(1, threads=1):
            x = T.alloc_shared((SIZE,), dtype)
            y = T.alloc_shared((SIZE,), "int32")
            T.copy(X, x)
            T.tile.fill(y, 0)
            if f > 0.0:
                y[a] = 1
                Y[b] = y[x[0]]
            else:
                T.copy(Y[a], y)
                y[x[1] * b] = Y[x[2] - a]
            T.copy(y, Y)

    return k


def loops(dtype: str) -> Func:
    kind = getattr(T, dtype)

    @T.prim_func
    def k(
        X: T.Tensor((SIZE,), dtype), Y: T.Tensor((SIZE,), "int32"), a: kind, b: kind, f: T.float32
    ):
        with T.Kernel(1, threads=1):
            y = T.alloc_shared((SIZE,), "int32")
            v = T.alloc_var("int32")
            T.tile.fill(y, 0)
            v = 0
            for i in T.serial(a, b):
                v = v + T.cast(i // a, "int32")
            while v < T.cast(a, "int32"):
                v = v + T.cast(b, "int32") // 2
            y[0] = v
            T.copy(y, Y)

    return k


def grid(dtype: str) -> Func:
    kind = getattr(T, dtype)

    @T.prim_func
    def k(
        X: T.Tensor((SIZE,), dtype), Y: T.Tensor((SIZE,), "int32"), a: kind, b: kind, f: T.float32
    ):
        with T.Kernel(T.cast(a // b, "int32"), threads=1) as cid:
            y = T.alloc_shared((SIZE,), "int32")
            T.tile.fill(y, T.cast(cid % b, "int32"))
            if cid == 0:
                T.copy(y, Y)

    return k


KERNELS = (arithmetic, places, loops, grid)


def drawn(pick: random.Random, dtype: str) -> int:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    edges = [low, low + 1, -1, 0, 1, 2, 3, SIZE - 1, SIZE, SIZE + 1, 31, 32, 64, high - 1, high]
    value = pick.choice(edges) if pick.random() < 0.8 else pick.randint(low, high)
    return int(min(max(value, low), high))


def floats(pick: random.Random) -> float:
    return pick.choice(
        [0.0, -0.0, 1.5, -2.5, 3e9, -3e38, float("inf"), float("-inf"), float("nan")]
    )


def main(runs: int, seed: int) -> Counter[str]:
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        batch = KernelBatch(Path(folder))
        listed = [(batch.add(make(dtype), AUTOMATIC), dtype) for make in KERNELS for dtype in TYPES]
        batch.build()
        for run in range(runs):
            pick = random.Random(f"{seed}-{run}")
            number, dtype = pick.choice(listed)
            x = np.array([drawn(pick, dtype) for _ in range(SIZE)], dtype)
            a, b = drawn(pick, dtype), drawn(pick, dtype)
            if dtype == "uint32":  # words that are handed over have a sign
                a, b = (v - (1 << 32) if v >= 1 << 31 else v for v in (a, b))
            arguments: list[Any] = [x, np.zeros(SIZE, np.int32), a, b, floats(pick)]
            checks = pick.randrange(3)
            outcome = batch.run(number, arguments, checks=checks, timeout=0.2, threads=1)
            ended[outcome.error.kind if outcome.error is not None else "right"] += 1
    return ended


if __name__ == "__main__":
    count = main(int(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps(dict(count.most_common())))
