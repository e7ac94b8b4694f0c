"""Extents of copies (docs/language/rules.md#extents)."""

import pytest

import tile_frontend as T
from tile_ir import KernelError


def test_a_start_index_takes_the_extents_of_the_other_side(show):
    @T.prim_func
    def k(
        A: T.Tensor((256, 256), "float16"),
        Q: T.Tensor((2, 4, 256, 64), "float16"),
        R: T.Tensor((256,), "float16"),
    ):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((32, 64), "float16")
            b = T.alloc_ub((64,), "float16")
            s = T.alloc_ub((2, 32, 64), "float16")
            T.copy(A[cid * 32, 64], a)
            T.copy(a, A[cid * 32, 64])
            T.copy(Q[1, cid, 32, 0], a)
            T.copy(b, A[cid, 0])
            T.copy(R[cid], b)
            T.copy(A[cid, 0], s[cid % 2, :, :])
            T.copy(s[1, :, :], A[0, cid])
            T.copy(Q[0, 1, 0:32, :], s[0, :, :])
            T.copy(a[3, :16], A[cid + 3, 0])

    assert show(k) == [
        "copy($A[%cid * 32:+32, 64:+64], $a)",
        "copy($a, $A[%cid * 32:+32, 64:+64])",
        "copy($Q[1:+1, %cid:+1, 32:+32, 0:+64], $a)",
        "copy($b, $A[%cid:+1, 0:+64])",
        "copy($R[%cid:+64], $b)",
        "copy($A[%cid:+32, 0:+64], $s[%cid % 2:+1, 0:+32, 0:+64])",
        "copy($s[1:+1, 0:+32, 0:+64], $A[0:+32, %cid:+64])",
        "copy($Q[0:+1, 1:+1, 0:+32, 0:+64], $s[0:+1, 0:+32, 0:+64])",
        "copy($a[3:+1, 0:+16], $A[%cid + 3:+1, 0:+16])",
    ]


def test_a_runtime_length_stays_one(show):
    @T.prim_func
    def k(W: T.Tensor((8, 64, 32), "float16"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64, 32), "float16")
            T.copy(W[cid, 0:n, :], a)

    assert show(k) == ["copy($W[%cid:+1, 0:+%n, 0:+32], $a)"]


def test_options(show):
    @T.prim_func
    def k(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((64, 64), "float16")
            x = T.alloc_L1((64, 32), "float16")
            y = T.alloc_L0B((32, 64), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            T.copy(A, u, pad_value=-T.infinity("float16"))
            T.copy(A[0, 0], u, pad_value=1)
            T.copy(x, y, transpose=True)
            T.copy(x[0, 0], y, transpose=True)
            T.copy(c, A, True)

    ops = k.launch.body
    assert [op.attr("pad_value") for op in ops] == [float("-inf"), 1.0, None, None, None]
    assert [op.attr("transpose") for op in ops] == [False, False, True, True, False]
    assert [op.attr("enable_relu") for op in ops] == [False, False, False, False, True]
    assert ops[3].region("src").static_extents() == (64, 32)


def test_open_memories_are_left_to_inference(show):
    @T.prim_func
    def k(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as (cid, vid):
            s = T.alloc_shared((64, 64), "float16")
            f = T.alloc_fragment((64, 64), "float32")
            T.copy(A, s)
            T.gemm_v0(s, s, f, transpose_B=True, init=True)
            T.copy(f, A)

    assert show(k) == [
        "copy($A, $s)",
        "gemm_v0($s, $s, $f, true) {transpose_A=false, transpose_B=true}",
        "copy($f, $A)",
    ]


def test_one_row_or_column_is_said_by_a_slice_or_a_start():
    @T.prim_func
    def k(
        X: T.Tensor((64, 128), "float32"),
        Q: T.Tensor((4, 64, 128), "float32"),
        n: T.int32,
    ):
        with T.Kernel(4, threads=1) as cid:
            x = T.alloc_ub((64, 32), "float32")
            v = T.alloc_ub((64,), "float32")
            for i in T.serial(4):
                T.copy(X[0, i * 32], x)
                T.copy(X[:, i * 32 : i * 32 + 1], x)
                T.copy(X[i * 3 : i * 3 + 1, 0:32], x)
                T.copy(X[3, 0:32], x[0, :])
                T.copy(Q[cid, 0:64, 0:32], x)
                T.copy(Q[cid, 0:n, 0:32], x)
                T.copy(X[:, i], v)
                T.copy(x[i, :], X[i, 0:32])

    assert not k.remarks


def test_the_same_in_an_error():
    with pytest.raises(KernelError, match="index-for-slice") as caught:

        @T.prim_func
        def k(Q: T.Tensor((4, 64, 128), "float32")):
            with T.Kernel(4, threads=1) as cid:
                x = T.alloc_ub((64, 32), "float32")
                T.copy(Q[cid, :, cid * 32], x)

    assert caught.value.diagnostic.hint == (
        "write `Q[cid, :, cid * 32:cid * 32 + 32]`; if one is meant and the rest of `x` is padded, "
        "write it as a slice, `i:i + 1`"
    )
