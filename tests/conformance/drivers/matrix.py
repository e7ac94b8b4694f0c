"""Kernels of matrix products and convolutions."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver, tolerance

F16 = "float16"


def _compiled(program: Any) -> Any:
    """A kernel of a program whose last parameter is its result."""
    return importlib.import_module("tilelang").compile(program, out_idx=-1)


CONVOLUTION_ROWS = """
    n c  h  w  f  k stride dilation pad block_M block_N block_K stages
    2 32 9  11 48 3 1      1        1   32      32      32      2
    1 16 12 10 32 3 2      1        1   32      32      16      1
    1 64 10 10 16 3 1      2        2   64      16      32      3
    2 32 7  7  40 1 1      1        0   32      32      32      2
    1 32 8  9  32 3 1      1        0   16      32      32      0
"""


def _convolution(
    factory: Any, draw: Draw, n: int, c: int, h: int, w: int, f: int, k: int, stride: int,
    dilation: int, pad: int, block_M: int, block_N: int, block_K: int, stages: int,
) -> Iterator[Compared]:  # fmt: skip
    """Images [n, h, w, c], weights [k, k, c, f]."""
    x, weights = draw(n, h, w, c, dtype=F16), draw(k, k, c, f, dtype=F16, scale=0.2)
    got = factory(x, weights, stride, dilation, pad, block_M, block_N, block_K, stages, 128)
    want = torch.nn.functional.conv2d(
        x.double().permute(0, 3, 1, 2), weights.double().permute(3, 2, 0, 1), stride=stride,
        padding=pad, dilation=dilation,
    )  # fmt: skip
    yield Compared("out", got, want.permute(0, 2, 3, 1), 2e-3)


convolution = driver("convolution/example_convolution.py:convolution", CONVOLUTION_ROWS)(
    _convolution
)
convolution_analyzed = driver("analyze/example_conv_analyze.py:kernel", CONVOLUTION_ROWS)(
    _convolution
)


@driver("analyze/example_gemm_analyze.py:kernel", """
    block_M block_N block_K stages swizzle
    128     128     64      2      True
""")  # fmt: skip
def gemm_analyzed(
    factory: Any, draw: Draw, block_M: int, block_N: int, block_K: int, stages: int, swizzle: bool
) -> Iterator[Compared]:
    """The module names the sizes; they are made smaller here."""
    example = importlib.import_module("example_example_gemm_analyze")
    m, n, k = 150, 200, 90
    vars(example).update(M=m, N=n, K=k)
    a, b = draw(m, k, dtype=F16), draw(n, k, dtype=F16)
    got = factory(a, b, block_M=block_M, block_N=block_N, block_K=block_K, num_stages=stages,
                  thread_num=128, enable_rasteration=swizzle)  # fmt: skip
    yield Compared("c", got, a.double() @ b.double().T, 2e-3)


@driver("dynamic_shape/example_dynamic.py:matmul_dynamic_mnk", """
    m  n  k   block_M block_N block_K trans_a trans_b stages dtype
    70 90 50  32      32      32      False   True    2      f16
    65 33 130 32      64      32      True    False   1      bf16
    40 50 60  16      32      16      True    True    3      f32
    1  17 31  16      16      16      False   False   0      f16
""")  # fmt: skip
def gemm_dynamic(
    factory: Any, draw: Draw, m: int, n: int, k: int, block_M: int, block_N: int, block_K: int,
    trans_a: bool, trans_b: bool, stages: int, dtype: str,
) -> Iterator[Compared]:  # fmt: skip
    a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
    left, right = (x.T.contiguous() if t else x for x, t in ((a, trans_a), (b, trans_b)))
    got = factory(left, right, block_M, block_N, block_K, trans_a, trans_b, dtype, "float32",
                  "float32", stages, 128)  # fmt: skip
    yield Compared("c", got, a.double() @ b.double(), 1e-5)


SPLIT_ROWS = """
    m  n  k   splits dtype
    64 96 128 2      f16
    70 50 192 3      bf16
    33 65 64  1      f32
"""


def _split_k(
    factory: Any, draw: Draw, m: int, n: int, k: int, splits: int, dtype: str
) -> Iterator[Compared]:
    """Partial sums of several blocks are added up in memory."""
    a, b, c = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype), torch.zeros(m, n)
    factory(a, b, c, 32, 32, 32, splits, dtype=dtype)
    yield Compared("c", c, a.double() @ b.double(), 1e-5)


split_k = driver("gemm_splitk/example_tilelang_gemm_splitk.py:matmul", SPLIT_ROWS)(_split_k)
split_k_vectors = driver(
    "gemm_splitk/example_tilelang_gemm_splitk_vectorize_atomicadd.py:matmul", SPLIT_ROWS
)(_split_k)


@driver("blocksparse_gemm/example_blocksparse_gemm.py:blocksparse_matmul", """
    m  n  k   stages
    96 64 128 2
    96 96 96  0
""")  # fmt: skip
def block_sparse(
    factory: Any, draw: Draw, m: int, n: int, k: int, stages: int
) -> Iterator[Compared]:
    a, b = draw(m, k, dtype=F16), draw(k, n, dtype=F16)
    kept = draw.uniform(m // 32, n // 32, k // 32) > 0.4
    got = factory(a, b, kept, block_M=32, block_N=32, block_K=32, num_stages=stages, thread_num=128,
                  enable_rasteration=True)  # fmt: skip
    blocks = kept.double()[:, None, :, None, :, None]
    A = a.double().view(m // 32, 32, 1, 1, k // 32, 32)
    B = b.double().T.reshape(1, 1, n // 32, 32, k // 32, 32)
    yield Compared("c", got, (A * B * blocks).sum((-1, -2)).reshape(m, n), 2e-3)


# The types are arguments of these kernels; 8-bit floats, which their scripts take, are of GPUs.
FLOAT_ROWS = """
    m   n   k   block_M block_N block_K dtype
    100 70  160 64      32      32      f16
    64  128 256 32      64      64      bf16
"""


@driver("gemm_fp8/example_tilelang_gemm_fp8.py:matmul", FLOAT_ROWS)
def gemm_of_a_type(
    factory: Any, draw: Draw, m: int, n: int, k: int, block_M: int, block_N: int, block_K: int,
    dtype: str,
) -> Iterator[Compared]:  # fmt: skip
    a, b = draw(m, k, dtype=dtype), draw(n, k, dtype=dtype)
    got = factory(a, b, block_M, block_N, block_K, dtype)
    yield Compared("c", got, a.double() @ b.double().T, tolerance(dtype))


@driver("gemm_fp8/example_tilelang_gemm_fp8_2xAcc.py:matmul", FLOAT_ROWS)
def gemm_of_two_sums(
    factory: Any, draw: Draw, m: int, n: int, k: int, block_M: int, block_N: int, block_K: int,
    dtype: str,
) -> Iterator[Compared]:  # fmt: skip
    a, b = draw(m, k, dtype=dtype), draw(n, k, dtype=dtype)
    got = factory(a, b, block_M, block_N, block_K, dtype)
    yield Compared("c", got, a.double() @ b.double().T, 1e-5)


@driver("autodd/tilelang_buggy.py:buggy_matmul", """
    m  n  k   block_M block_N block_K
    64 96 128 32      32      32
    70 50 90  32      64      32
""")  # fmt: skip
def gemm_of_square_tiles(
    factory: Any, draw: Draw, m: int, n: int, k: int, block_M: int, block_N: int, block_K: int
) -> Iterator[Compared]:
    """The kernel mistakes block_M for block_K on purpose; it is right where they are the same."""
    a, b = draw(m, k, dtype=F16), draw(k, n, dtype=F16)
    got = factory(a, b, block_M, block_N, block_K)
    yield Compared("c", got, (a.double() @ b.double()).clamp(min=0), 2e-3)


# --- kernels with marks for a profiler of GPUs -------------------------------------------------------

LENGTHS = """
    n   threads
    300 128
    64  64
"""


@driver("iket/all_features.py:add_scale_with_iket", LENGTHS)
def add_scale(factory: Any, draw: Draw, n: int, threads: int) -> Iterator[Compared]:
    a, b, scale = draw(n), draw(n), draw(1)
    got = _compiled(factory(n, threads))(a, b, scale)
    yield Compared("c", got, (a.double() + b.double()) * scale.double(), 1e-6)


@driver("iket/minimal.py:elementwise_add_with_iket", LENGTHS)
def add_marked(factory: Any, draw: Draw, n: int, threads: int) -> Iterator[Compared]:
    a, b = draw(n), draw(n)
    yield Compared("c", _compiled(factory(n, threads))(a, b), a.double() + b.double(), 1e-6)


@driver("iket/payload_minimal.py:payload_mark_kernel", LENGTHS)
def add_one(factory: Any, draw: Draw, n: int, threads: int) -> Iterator[Compared]:
    a = draw(n)
    yield Compared("c", _compiled(factory(n, threads))(a), a.double() + 1, 1e-6)
