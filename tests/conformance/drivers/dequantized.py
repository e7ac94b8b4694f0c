"""Kernels that unpack weights of four bits, two in a byte, the lower one first."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver

F16 = "float16"
_FP4, _INT4 = (f"dequantize_gemm/example_dequant_gemm_{x}.py" for x in ("fp4_hopper", "w4a8"))


def _nibbles(packed: torch.Tensor) -> torch.Tensor:
    return torch.stack((packed & 15, packed >> 4), -1).flatten(-2).int()


def signed(packed: torch.Tensor) -> torch.Tensor:
    """Integers from -8 to 7."""
    found = _nibbles(packed)
    return torch.where(found > 7, found - 16, found).double()


def floats(packed: torch.Tensor) -> torch.Tensor:
    """A sign, two bits of the exponent and one of the fraction; no denormal numbers."""
    found = _nibbles(packed)
    size = torch.exp2((found >> 1 & 3).double() - 1) * (1 + (found & 1).double() / 2)
    return torch.where(found > 7, -size, size)


CONVERT_ROWS = """
    n  k   block_N block_K
    64 256 32      128
    40 64  16      64
"""


@driver(f"{_FP4}:test_convert", CONVERT_ROWS)
def convert_floats(
    factory: Any, draw: Draw, n: int, k: int, block_N: int, block_K: int
) -> Iterator[Compared]:
    packed = draw.integers(0, 256, n, k // 2, dtype="uint8")
    yield Compared("b", factory(n, k, block_N, block_K, F16)(packed), floats(packed), 1e-9)


@driver(f"{_INT4}:_convert_test", CONVERT_ROWS)
def convert_integers(
    factory: Any, draw: Draw, n: int, k: int, block_N: int, block_K: int
) -> Iterator[Compared]:
    packed = draw.integers(0, 256, n, k // 2, dtype="uint8")
    yield Compared("b", factory(n, k, block_N, block_K, "int8")(packed), signed(packed), 1e-9)


@driver(f"{_FP4}:matmul", """
    m  n   k   block_M block_N block_K num_stages split
    64 96  256 32      32      128     2          1
    40 50  128 32      16      64      1          2
    70 64  384 64      32      64      2          3
""")  # fmt: skip
def gemm_floats(
    factory: Any, draw: Draw, m: int, n: int, k: int, **blocks: int
) -> Iterator[Compared]:
    """The result is transposed."""
    a, packed = draw(m, k, dtype=F16), draw.integers(0, 256, n, k // 2, dtype="uint8")
    kernel = factory(m, n, k, F16, F16, "float32", threads=128, **blocks)
    yield Compared("c", kernel(a, packed), floats(packed) @ a.double().T, 2e-3)


@driver(f"{_INT4}:matmul_int8xint4", """
    m  n  k   block_M block_N block_K
    64 96 256 32      32      128
    40 50 128 32      16      64
""")  # fmt: skip
def gemm_integers(
    factory: Any, draw: Draw, m: int, n: int, k: int, **blocks: int
) -> Iterator[Compared]:
    """The result is transposed."""
    a = draw.integers(-128, 128, m, k, dtype="int8")
    packed = draw.integers(0, 256, n, k // 2, dtype="uint8")
    kernel = factory(m, n, k, "int8", "int32", "int32", num_stages=1, threads=128, **blocks)
    yield Compared("c", kernel(a, packed), signed(packed) @ a.double().T, 1e-9)


@driver("gemm_int4/example_tilelang_gemm_int4.py:matmul_nt_int4", """
    m  n  k  block_M block_N block_K
    32 48 64 16      16      32
""")  # fmt: skip
def gemm_of_int4(
    factory: Any, draw: Draw, m: int, n: int, k: int, block_M: int, block_N: int, block_K: int
) -> Iterator[Compared]:
    a, b = (draw.integers(0, 256, rows, k // 2, dtype="uint8") for rows in (m, n))
    program = factory(m, n, k, block_M, block_N, block_K)
    kernel = importlib.import_module("tilelang").compile(program, out_idx=-1)
    got = kernel(a.view(torch.int8), b.view(torch.int8))
    yield Compared("c", got, signed(a) @ signed(b).T, 1e-9)
