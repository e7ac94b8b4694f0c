"""What text for GPUs allocates besides tiles: small arrays, which in T.Parallel are private to each
element, reducers, buffers in a memory by its name. Each runs at `strict` against torch."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, KernelError
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")
X = torch.randn(32, 8)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def check(kernel: Func, expected: torch.Tensor, *inputs: torch.Tensor) -> None:
    found = compile(kernel, out_idx=-1)(*inputs)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_an_array_of_the_block() -> None:
    @T.prim_func
    def k(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=128) as bx:
            p = T.alloc_local((4,), "float32")
            for i in T.serial(32):
                for j in T.serial(8):
                    p[j % 4] = A[i, j]
                    p[(j + 1) % 4] = p[j % 4] * 2
                    B[i, j] = p[(j + 1) % 4] + p[j % 4]

    check(k, 3 * X, X)


def test_elements_read_an_array_of_the_block() -> None:
    @T.prim_func
    def k(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=128) as bx:
            p = T.alloc_local((8,), "float32")
            b = T.alloc_fragment((32, 8), "float32")
            T.copy(A, b)
            for j in T.serial(8):
                p[j] = j
            for i, j in T.Parallel(32, 8):
                b[i, j] = b[i, j] + p[j]
            T.copy(b, B)

    check(k, X + torch.arange(8), X)


def test_one_number_of_the_block_on_both_kinds_of_core() -> None:
    @T.prim_func
    def k(A: T.Tensor((64, 64), "float16"), R: T.Tensor((4,), "int32"),
          B: T.Tensor((16, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            row = T.alloc_local((1,), "int32")
            a = T.alloc_shared((16, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((16, 64), "float32")
            row[0] = R[2]
            T.copy(A[row[0] : row[0] + 16, :], a)
            T.copy(A, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, B)

    x = torch.randn(64, 64).half()
    found = compile(k, out_idx=-1)(x, torch.tensor([1, 2, 32, 3], dtype=torch.int32))
    torch.testing.assert_close(found, x[32:48].float() @ x.float(), rtol=1e-2, atol=1e-2)


def test_an_array_of_each_element() -> None:
    """Allocated in the loop, cleared there, filled by a loop inside, read out of order."""

    @T.prim_func
    def k(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32, 8), "float32")
            T.copy(A, a)
            for i in T.Parallel(32):
                p = T.alloc_local((2, 4), "float32")
                last = T.alloc_local((1,), "float32")
                T.clear(p)
                for k in T.serial(4):
                    p[1, k] = a[i, k] * 2
                    last[0] = a[i, k]
                for k in T.serial(8):
                    a[i, k] = p[k // 4, k % 4] + last[0]
            T.copy(a, B)

    expected = torch.cat([torch.zeros(32, 4), 2 * X[:, :4]], 1) + X[:, 3:4]
    check(k, expected, X)


def test_elements_keep_their_values_from_loop_to_loop() -> None:
    """What the block assigns they all begin with again, wherever that stands."""

    @T.prim_func
    def k(A: T.Tensor((4, 32, 8), "float32"), B: T.Tensor((4, 32), "float32"),
          C: T.Tensor((4, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32, 8), "float32")
            b = T.alloc_fragment((32,), "float32")
            c = T.alloc_fragment((32,), "float32")
            late = T.alloc_local((2,), "float32")
            total = T.alloc_fragment((1,), "float32", "local")
            T.fill(late, 1.0)
            for r in T.serial(4):
                T.copy(A[r, :, :], a)
                T.clear(total)
                for kk in T.serial(4):
                    for i in T.Parallel(32):
                        late[0] += a[i, 2 * kk]
                        late[1] += a[i, 2 * kk + 1]
                        total[0] += a[i, kk]
                for i in T.Parallel(32):
                    b[i] = late[0] * late[1]
                    c[i] = total[0]
                T.copy(b, B[r, :])
                T.copy(c, C[r, :])
                T.clear(late)

    x = torch.randn(4, 32, 8)
    first = torch.tensor([1.0, 0, 0, 0])[:, None]
    b, c = compile(k, out_idx=[1, 2])(x)
    even, odd = x[:, :, ::2].sum(2), x[:, :, 1::2].sum(2)
    torch.testing.assert_close(b, (first + even) * (first + odd), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(c, x[:, :, :4].sum(2), rtol=1e-4, atol=1e-4)


def test_what_the_block_assigns_in_a_branch_reaches_the_elements() -> None:
    @T.prim_func
    def k(A: T.Tensor((4, 32), "float32"), s: T.int32, B: T.Tensor((4, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            total = T.alloc_local((1,), "float32")
            b = T.alloc_fragment((32,), "float32")
            total[0] = 1.0
            for r in T.serial(4):
                if r == s:
                    total[0] = 5.0
                for i in T.Parallel(32):
                    total[0] += A[r, i]
                    b[i] = total[0]
                T.copy(b, B[r, :])

    x = torch.randn(4, 32)
    expected = torch.stack([1 + x[0], 1 + x[0] + x[1], 5 + x[2], 5 + x[2] + x[3]])
    found = compile(k, out_idx=-1)(x, 2)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("use", ["block", "other_size", "copy", "run_time_size", "next_round"])
def test_no_value_is_taken_for_another(use: str) -> None:
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32,), "float32"), n: T.int32):
            with T.Kernel(1, threads=128) as bx:
                p = T.alloc_local((2,), "float32")
                if use == "next_round":
                    for r in T.serial(4):
                        for i in T.Parallel(32):
                            B[i] = p[0]
                        for i in T.Parallel(32):
                            p[0] = A[i, r]
                for i in T.Parallel(n if use == "run_time_size" else 32):
                    p[0] = A[i, 0]
                if use == "block":
                    B[0] = p[0]
                if use == "other_size":
                    for i in T.Parallel(16):
                        B[i] = p[0]
                if use == "copy":
                    T.copy(p, B[0:2])

    slug = "dynamic-shape" if use == "run_time_size" else "private-array"
    assert caught.value.slug == slug and caught.value.hint


def test_only_text_for_gpus_has_it() -> None:
    with pytest.raises(AttributeError, match="allocate with T.alloc_ub"):
        T.alloc_local  # noqa: B018
    with pytest.raises(KernelError, match="scope is the string 'local'"):

        @T.prim_func
        def k(A: T.Tensor((16,), "int32")):
            with T.Kernel(1) as (cid, vid):
                a = T.alloc_fragment((16,), "int32", "local")


@pytest.mark.parametrize(
    ("op", "dtype"),
    [("sum", "float32"), ("max", "float16"), ("min", "int32"), ("bitor", "int32"),
     ("bitand", "int16"), ("bitxor", "int32")],
)  # fmt: skip
def test_reducers(op: str, dtype: str) -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 32), dtype), B: T.Tensor((16,), dtype), C: T.Tensor((32,), dtype)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 32), dtype)
            b = T.alloc_fragment((16,), dtype)
            c = T.alloc_fragment((32,), dtype)
            rows = T.alloc_reducer((16,), dtype, op)
            columns = T.alloc_reducer((32,), dtype, op=op)
            T.copy(A, a)
            T.reducer_init(rows)
            T.reducer_init(columns, 3)
            for i, j in T.Parallel(16, 32):
                T.reducer_update(rows[i], a[i, j])
                T.reducer_update(columns[j], a[i, j])
            T.finalize_reducer(rows, b)
            T.finalize_reducer(columns, c)
            T.copy(b, B)
            T.copy(c, C)

    joined: dict[str, Any] = {
        "sum": torch.add, "max": torch.maximum, "min": torch.minimum,
        "bitand": torch.bitwise_and, "bitor": torch.bitwise_or, "bitxor": torch.bitwise_xor,
    }  # fmt: skip
    x = torch.randint(-9, 9, (16, 32)).to(getattr(torch, dtype))
    b, c = compile(k, out_idx=[1, 2])(x)
    assert torch.equal(b, reduce(joined[op], x.unbind(1)))
    assert torch.equal(c, reduce(joined[op], [*x, torch.full((32,), 3).to(x.dtype)]))


def test_the_older_form_of_a_reducer_is_a_fragment() -> None:
    @T.prim_func
    def k(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32, 8), "float32")
            r = T.alloc_reducer((32,), "float32", replication="all")
            T.copy(A, a)
            T.clear(r)
            for i, j in T.Parallel(32, 8):
                r[i] += a[i, j]
            T.finalize_reducer(r)
            T.copy(r, B)

    check(k, X.sum(1), X)


def test_buffers_in_a_memory_by_its_name() -> None:
    @T.prim_func
    def k(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32, 8), "float32")):
        W = T.alloc_buffer((32, 8), "float32")
        with T.Kernel(2, threads=128) as bx:
            a = T.sblock_alloc_buffer((16, 8), "float32", scope="shared")
            T.copy(A[bx * 16, 0], a)
            T.copy(a, W[bx * 16, 0])
        with T.Kernel(1, threads=128) as bx:
            b = T.allocate((32, 8), "float32", scope="local.fragment")
            T.copy(W, b)
            T.copy(b, B)

    check(k, X, X)
