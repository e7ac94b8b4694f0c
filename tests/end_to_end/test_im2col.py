"""`T.tile.im2col`: convolutions as products, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

from .automatic import ORDERED

pytestmark = pytest.mark.usefixtures("strict")

C0 = {"float16": 16, "bfloat16": 16, "float32": 8, "int8": 32}


def convolution(
    dtype: str, image: Any, kernel: Any, stride: Any, dilation: Any, pads: Any,
    positions: int, groups: int, outputs: int, by_hand: bool,
) -> Any:  # fmt: skip
    """Groups of C0 channels one after another; all windows in tiles of 32."""
    (height, width), c0 = image, C0[dtype]
    k = kernel[0] * kernel[1] * c0
    result = "int32" if dtype == "int8" else "float32"
    rows = -(-positions // 16) * 16

    @T.prim_func
    def conv(X: T.Tensor((groups * height * width, c0), dtype),
             W: T.Tensor((groups * k, outputs), dtype),
             Y: T.Tensor((positions, outputs), result)):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_L1((height * width, c0), dtype)
            w = T.alloc_L1((k, outputs), dtype)
            a = T.alloc_L0A((16, k), dtype)
            b = T.alloc_L0B((k, outputs), dtype)
            c = T.alloc_L0C((16, outputs), result)
            with T.Scope("C"):
                for m in T.serial(rows // 16):
                    for g in T.serial(groups):
                        if by_hand:
                            T.barrier_all()
                        T.copy(X[g * height * width, 0], x)
                        T.copy(W[g * k, 0], w)
                        if by_hand:
                            T.barrier_all()
                        T.tile.im2col(
                            a, x, image, kernel, stride, dilation, pads, m * 16, 0, 16, k,
                        )  # fmt: skip
                        T.copy(w, b)
                        if by_hand:
                            T.barrier_all()
                        T.mma(a, b, c, init=g == 0)
                    if by_hand:
                        T.barrier_all()
                    T.copy(c, Y[m * 16, 0])

    return conv


CASES = [
    ((8, 8), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    ((8, 8), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
    ((9, 7), (3, 2), (1, 2), (2, 1), (2, 1, 1, 0)),
    ((5, 7), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((5, 6), (5, 6), (1, 1), (1, 1), (0, 0, 0, 0)),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("groups", "by_hand"), [(1, True), (2, False)])
def test_a_convolution(dtype: str, case: Any, groups: int, by_hand: bool) -> None:
    image, kernel, stride, dilation, pads = case
    c0, outputs = C0[dtype], 32
    if kernel[0] * kernel[1] * c0 * outputs * (4 if dtype == "float32" else 2) > 65536:
        outputs = 16
    torch.manual_seed(3)
    x = torch.randint(-3, 4, (1, groups * c0, *image)).double()
    w = torch.randint(-3, 4, (outputs, groups * c0, *kernel)).double()
    left, right, top, bottom = pads
    want = torch.nn.functional.conv2d(
        torch.nn.functional.pad(x, (left, right, top, bottom)), w, stride=stride, dilation=dilation
    )[0].reshape(outputs, -1).T  # fmt: skip
    flat = x.reshape(groups, c0, -1).permute(0, 2, 1).reshape(-1, c0)
    weights = w.reshape(outputs, groups, c0, -1).permute(1, 3, 2, 0).reshape(-1, outputs)
    k = convolution(dtype, *case, want.shape[0], groups, outputs, by_hand)
    run = compile(k, out_idx=[2], pass_configs={} if by_hand else ORDERED)
    as_given = getattr(torch, dtype)
    got = run(flat.to(as_given).contiguous(), weights.to(as_given).contiguous())
    np.testing.assert_array_equal(got.double(), want)


@pytest.mark.parametrize(("m_pos", "k_pos", "m_ext", "k_ext"), [
    (0, 0, 25, 144), (16, 32, 9, 64), (16, 0, 16, 16), (0, 128, 32, 16),
    (16, 16, 48, 32), (16, 0, 25, 16), (48, 0, 16, 16),
])  # fmt: skip
def test_a_part_of_the_matrix_of_windows(m_pos: int, k_pos: int, m_ext: int, k_ext: int) -> None:
    """What is loaded, seen through the product with the unit matrix; offsets known at run time.
    A tile may hang over the last window: zeros."""
    rows = -(-m_ext // 16) * 16

    @T.prim_func
    def kernel(X: T.Tensor((25, 16), "float16"), Unit: T.Tensor((k_ext, k_ext), "float16"),
               Y: T.Tensor((rows, k_ext), "float32"), m: T.int32, k: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_L1((2, 25, 16), "float16")
            i = T.alloc_L1((k_ext, k_ext), "float16")
            a = T.alloc_L0A((2, rows, k_ext), "float16")
            b = T.alloc_L0B((k_ext, k_ext), "float16")
            c = T.alloc_L0C((rows, k_ext), "float32")
            T.copy(X, x[1, :, :])
            T.copy(Unit, i)
            T.tile.im2col(
                a[1, :, :], x[1, 0:25, :], (5, 5), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1),
                m, k, m_ext, k_ext,
            )  # fmt: skip
            T.copy(i, b)
            T.mma(a[1, :, :], b, c, init=True)
            T.copy(c, Y)

    x = torch.randint(-9, 9, (25, 16)).half()
    columns = torch.nn.functional.unfold(x.T.reshape(1, 16, 5, 5).float(), 3, padding=1)[0]
    matrix = columns.reshape(16, 9, 25).permute(2, 1, 0).reshape(25, 144)
    whole = torch.zeros(64, 144)
    whole[:25] = matrix
    run = compile(kernel, out_idx=[2], pass_configs=ORDERED)
    got = run(x, torch.eye(k_ext).half(), m_pos, k_pos)
    np.testing.assert_array_equal(got, whole[m_pos : m_pos + rows, k_pos : k_pos + k_ext])


def called(**other: Any) -> Any:
    given = {
        "image": (5, 5), "kernel": (3, 3), "stride": (1, 1), "dilation": (1, 1),
        "padding": (1, 1, 1, 1), "m_pos": 0, "k_pos": 0, "m_ext": 25, "k_ext": 144,
    }  # fmt: skip
    return {**given, **other}


WRONG = [
    (called(image=(5, 6)), "shape-mismatch", "expected [30, 16]"),
    (called(kernel=(9, 3)), "attribute-value", "larger than the padded image"),
    (called(stride=(0, 1)), "attribute-value", "stride_h is 0"),
    (called(padding=(1, 1)), "operand-kind", "4 numbers"),
    (called(image=5), "operand-kind", "2 numbers"),
    (called(m_pos=8), "attribute-value", "multiple of 16"),
    (called(k_pos=8), "attribute-value", "multiple of 16"),
    (called(k_pos=16), "attribute-value", "k ends at 160"),
    (called(k_ext=128), "shape-mismatch", "expected [32, 128]"),
    (called(m_ext=48), "shape-mismatch", "expected [48, 144]"),
    (called(m_ext=1.5), "dtype-mismatch", "m_ext is a float"),
]


@pytest.mark.parametrize(("given", "slug", "text"), WRONG)
def test_what_is_no_window(given: Any, slug: str, text: str) -> None:
    def call(a: Any, x: Any) -> None:
        T.tile.im2col(a, x, **given)

    def k(X: T.Tensor((25, 16), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_L1((25, 16), "float16")
            a = T.alloc_L0A((32, 144), "float16")
            call(a, x)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and text in caught.value.message


@jit
def of_pixels(X, W, size: int, step: int, apart: int, around: int):
    """As text for GPUs has it: views of tensors, and rows of pixels for a product."""
    N, H, V, C = T.const("N H V C")
    F = T.const("F")
    X: T.Tensor((N, H, V, C), "float16")
    W: T.Tensor((size, size, C, F), "float16")
    down = (H + 2 * around - apart * (size - 1) - 1) // step + 1
    across = (V + 2 * around - apart * (size - 1) - 1) // step + 1
    Y = T.empty((N, down, across, F), "float32")
    with T.Kernel(T.ceildiv(F, 16), T.ceildiv(N * down * across, 32), threads=128) as (bx, by):
        a = T.alloc_shared((32, 16), "float16")
        b = T.alloc_shared((16, 16), "float16")
        c = T.alloc_fragment((32, 16), "float32")
        flat = T.Tensor((size * size * C, F), "float16", W.data)
        out = T.Tensor((N * down * across, F), "float32", Y.data)
        T.clear(c)
        for k in T.Pipelined(size * size * C // 16, num_stages=2):
            T.im2col(X, a, by, k, size, step, apart, around)
            T.copy(flat[k * 16, bx * 16], b)
            T.gemm(a, b, c)
        T.copy(c, out[by * 32, bx * 16])
    return Y


@pytest.mark.parametrize(
    ("shape", "form"),
    [
        ((1, 8, 8, 16, 32), (3, 1, 1, 1)),
        ((2, 9, 7, 32, 16), (3, 2, 1, 0)),
        ((1, 10, 10, 16, 16), (3, 1, 2, 2)),
    ],
)
def test_rows_of_pixels_in_text_for_gpus(
    shape: tuple[int, ...], form: tuple[int, int, int, int]
) -> None:
    torch.manual_seed(0)
    size, step, apart, around = form
    x, w = torch.randn(shape[:4]).half() / 4, torch.randn(size, size, *shape[3:]).half() / 4
    expected = torch.nn.functional.conv2d(
        x.float().permute(0, 3, 1, 2), w.float().permute(3, 2, 0, 1), None, step, around, apart
    ).permute(0, 2, 3, 1)
    torch.testing.assert_close(of_pixels(x, w, *form), expected, rtol=1e-2, atol=1e-2)
