"""Copies between the cores that change the type, as `T.copy` of developer kernels asks for them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import Automatic, Buffer, Func, constant_value
from tile_ir.dtypes import DTYPES, from_bytes, to_bytes
from tile_ir.ops.cast import convert
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch

SIZE = 64
LEFT = tuple(Automatic(name) for name in ("sync", "memory", "cross"))


def product(given: str, taken: str, sums: str, wanted: str, threads: int) -> Func:
    """A tile of the vector cores times one of gm, handed back."""

    @T.prim_func
    def k(
        A: T.Tensor((SIZE, SIZE), given),
        B: T.Tensor((SIZE, SIZE), taken),
        C: T.Tensor((SIZE, SIZE), wanted),
    ):
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((SIZE, SIZE), given)
            left = T.alloc_shared((SIZE, SIZE), taken)
            right = T.alloc_shared((SIZE, SIZE), taken)
            c = T.alloc_fragment((SIZE, SIZE), sums)
            out = T.alloc_shared((SIZE, SIZE), wanted)
            T.copy(A, a)
            T.copy(a, left)
            T.copy(B, right)
            T.gemm_v0(left, right, c, init=True)
            T.copy(c, out)
            T.copy(out, C)

    return k


CASES = [
    ("float32", "float16", "float32", "float32", 2),
    ("float32", "bfloat16", "float32", "bfloat16", 2),
    ("bfloat16", "float32", "float32", "float16", 1),
    ("float32", "float16", "float32", "int32", 1),
    ("float16", "int8", "int32", "float32", 2),
    ("float16", "int8", "int32", "int16", 1),
    ("uint8", "float16", "float32", "int8", 2),
]


@pytest.mark.whole
def test_types_change_on_the_way(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    numbers = [batch.add(product(*case), LEFT) for case in CASES]
    batch.build()
    rng = np.random.default_rng(3)
    for number, (given, taken, sums, wanted, _) in zip(numbers, CASES, strict=True):
        a, b = (rng.integers(0, 4, (SIZE, SIZE)) for _ in range(2))
        a, b = (a * 0.5, b - 1.5) if taken.startswith(("float", "bfloat")) else (a, b - 2)
        first, second = (to_bytes(x, DTYPES[t]) for x, t in ((a, given), (b, taken)))
        c = np.zeros((SIZE, SIZE), DTYPES[wanted].storage)
        # A workspace for each copy between the cores.
        works = [_room(p) for p in batch.funcs[number].params[3:]]
        outcome = batch.run(number, [first, second, c, *works], checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        left = _converted(from_bytes(first, DTYPES[given]), given, taken)
        total = (np.asarray(left, np.float64) @ from_bytes(second, DTYPES[taken])).astype(sums)
        want = _converted(total, sums, wanted)
        found = from_bytes(outcome.arrays[2], DTYPES[wanted])
        assert np.array_equal(found, want), (given, taken, sums, wanted)


def _room(workspace: Buffer) -> Any:
    """Memory for a workspace, in whichever order the compiler keeps it."""
    return np.zeros([constant_value(n) or 1 for n in workspace.shape], workspace.dtype.storage)


def _converted(values: Any, source: str, dtype: str) -> Any:
    same = source == dtype
    return values if same else convert(values, DTYPES[source], DTYPES[dtype], "cast_rint")


def test_what_takes_two_steps_is_converted(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    number = batch.add(product("bfloat16", "float16", "float32", "float32", 2), LEFT)
    batch.build()
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 4, (SIZE, SIZE)) * 0.5, rng.integers(-2, 2, (SIZE, SIZE)) * 1.0
    first, second = to_bytes(a, DTYPES["bfloat16"]), to_bytes(b, DTYPES["float16"])
    c = np.zeros((SIZE, SIZE), np.float32)
    works = [_room(p) for p in batch.funcs[number].params[3:]]
    outcome = batch.run(number, [first, second, c, *works], checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    assert np.array_equal(outcome.arrays[2], (a @ b).astype(np.float32))
