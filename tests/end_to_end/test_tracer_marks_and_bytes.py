"""What examples of TileLang took that was missing: marks for a tracer of GPUs, arithmetic of bytes
whose bits are taken as another type, integers of four bits in bytes, and two pipelined loops over the same tiles. At `strict`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_frontend._language import tir_expressions as tir
from tile_ir import CallError, KernelError
from tile_runtime import compile
from tile_runtime.scripts.gpu_marks import iket

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def test_marks_change_nothing() -> None:
    @T.prim_func
    def k(A: T.Tensor((300,), "float32"), B: T.Tensor((300,), "float32")):
        with T.Kernel(T.ceildiv(300, 128), threads=128) as bx, iket.range("all"):
            iket.mark("begin", payload=iket.payload(bx, dtype="int32"))
            for i in T.Parallel(128):
                at = bx * 128 + i
                if at < 300:
                    iket.mark("store", payload=iket.payload(at, dtype="int32"))
                    B[at] = A[at] + 1.0
            iket.range_push("end")
            iket.range_pop("end")

    a = torch.randn(300)
    with iket.session(output_dir="unused"):
        assert iket.event_table() == [] and not iket.runtime_payloads_enabled()
        assert torch.equal(compile(k, out_idx=[-1])(a), a + 1)


def nibble(byte: Any, number: Any) -> Any:
    """A signed integer of four bits, as TVM's own expressions take it out of a byte."""
    found = byte >> number.astype("uint8") * tir.const(4, "uint8") & tir.const(15, "uint8")
    moved = tir.reinterpret("int8", found << tir.const(4, "uint8"))
    return moved >> tir.const(4, "int8")


def test_the_bits_of_a_sum_of_bytes() -> None:
    """The sum has the type of its operands where its bits are taken, as in TVM."""

    @T.prim_func
    def k(A: T.Tensor((16, 32), "uint8"), B: T.Tensor((16, 64), "int8"),
          C: T.Tensor((16, 32), "int8")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((16, 32), "uint8")
            b = T.alloc_fragment((16, 64), "int8")
            c = T.alloc_fragment((16, 32), "int8")
            T.copy(A, a)
            for i, j in T.Parallel(16, 64):
                b[i, j] = nibble(a[i, j // 2], j % 2)
            for i, j in T.Parallel(16, 32):
                c[i, j] = T.reinterpret(a[i, j] * 3 + 7, "int8")
            T.copy(b, B)
            T.copy(c, C)

    a = torch.randint(0, 256, (16, 32), dtype=torch.uint8)
    both, tripled = compile(k, out_idx=[1, 2])(a)
    halves = torch.stack((a & 15, a >> 4), -1).flatten(-2).to(torch.int8)
    assert torch.equal(both, torch.where(halves > 7, halves - 16, halves))
    assert torch.equal(tripled, (a * 3 + 7).view(torch.int8))


def test_bits_keep_their_number() -> None:
    def k() -> None:
        @T.prim_func
        def k(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int8")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.serial(8):
                    B[i] = T.reinterpret(A[i] + 1, "int8")

    with pytest.raises(KernelError, match="int32 has 32 bits, int8 has 8"):
        k()


def test_integers_of_four_bits_come_two_to_a_byte() -> None:
    """As TileLang passes them: tensors of int8 with half of the columns."""

    @T.prim_func
    def k(A: T.Tensor((16, 64), "int4"), B: T.Tensor((16, 64), "int4"),
          C: T.Tensor((16, 16), "int32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 64), "int4")
            b = T.alloc_shared((16, 64), "int4")
            c = T.alloc_fragment((16, 16), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    def numbers(packed: torch.Tensor) -> torch.Tensor:
        halves = torch.stack((packed & 15, packed >> 4), -1).flatten(-2).int()
        return torch.where(halves > 7, halves - 16, halves)

    kernel = compile(k, out_idx=[2])
    for _ in range(2):
        a, b = torch.randint(0, 256, (2, 16, 32), dtype=torch.uint8)
        assert torch.equal(kernel(a.view(torch.int8), b), numbers(a) @ numbers(b).T)
    with pytest.raises(CallError, match="dimension 1 of argument 2 `B` is 32, expected 64"):
        kernel(a, b[:, :16].contiguous())
    with pytest.raises(CallError, match="argument 2 `B` is int32, expected int4"):
        kernel(a, b.int())


def test_two_loops_keep_the_same_tile_for_the_next_stage() -> None:
    """`b` waits for what comes back from the vector cores, so it has versions in both loops."""
    n, size = 3, 32

    @T.prim_func
    def k(A: T.Tensor((n, size, size), "float16"), B: T.Tensor((n, size, size), "float16"),
          C: T.Tensor((size, size), "float32"), D: T.Tensor((size, size), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((size, size), "float16")
            b = T.alloc_shared((size, size), "float16")
            s = T.alloc_fragment((size, size), "float32")
            p = T.alloc_shared((size, size), "float16")
            c = T.alloc_fragment((size, size), "float32")
            d = T.alloc_fragment((size, size), "float32")
            T.clear(c)
            T.clear(d)
            for i in T.Pipelined(n, num_stages=2):
                T.copy(A[i, :, :], a)
                T.copy(B[i, :, :], b)
                T.gemm(a, b, s, clear_accum=True)
                for x, y in T.Parallel(size, size):
                    p[x, y] = T.if_then_else(x >= y, s[x, y], 0)
                T.gemm(p, b, c)
            for i in T.Pipelined(n, num_stages=2):
                T.copy(A[n - 1 - i, :, :], a)
                T.copy(B[n - 1 - i, :, :], b)
                T.gemm(a, b, s, transpose_B=True, clear_accum=True)
                for x, y in T.Parallel(size, size):
                    p[x, y] = T.if_then_else(x <= y, s[x, y], 0)
                T.gemm(p, b, d)
            T.copy(c, C)
            T.copy(d, D)

    a, b = (torch.randn(n, size, size).half() for _ in range(2))
    found = compile(k, out_idx=[2, 3])(a, b)
    lower = torch.tril(a.float() @ b.float()).half().float() @ b.float()
    upper = torch.triu(a.float() @ b.float().transpose(1, 2)).half().float() @ b.float()
    for got, want in zip(found, (lower.sum(0), upper.sum(0)), strict=True):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-2)
