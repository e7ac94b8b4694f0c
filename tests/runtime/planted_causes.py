"""Kernels that are slow for one known reason, at the line marked `# planted`, as a report must say.

Each is a factory of a kernel and its inputs; `PLANTED` names the causes a verdict may give.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import tile_frontend as T

# The order of pipes and cores is the compiler's, or the author's.
OURS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
DEVELOPER = {**OURS, T.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True, T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """`make` gives a kernel and inputs for the cause; `change` are words of what to do."""

    make: Callable[[], tuple[Any, list[torch.Tensor]]]
    bounds: tuple[str, ...]
    change: str

    def line(self) -> int:
        """The line of the marked statement, 0 if the cause has none."""
        code = self.make.__code__
        first = code.co_firstlineno
        lines = linecache.getlines(code.co_filename)
        for number in range(first, len(lines) + 1):
            if "# planted" in lines[number - 1]:
                return number
            if number > first and lines[number - 1].startswith(("def ", "@")):
                return 0
        return 0


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def hbm() -> tuple[Any, list[torch.Tensor]]:
    n, tile = 48 * 32 * 4096, 4096

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")
    ):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a, b = T.alloc_shared((2 * tile,), "float32"), T.alloc_shared((2 * tile,), "float32")
            for i in T.Pipelined(32, num_stages=2):
                first = (cid * 32 + i) * 2 * tile
                T.copy(A[first : first + 2 * tile], a)  # planted
                T.copy(B[first : first + 2 * tile], b)
                T.tile.add(a, a, b)
                T.copy(a, C[first : first + 2 * tile])

    return T.compile(kernel, out_idx=[2], pass_configs=OURS), [zeros(n), zeros(n)]


def loads() -> tuple[Any, list[torch.Tensor]]:
    """The same bytes again and again, from L2."""

    @T.prim_func
    def kernel(A: T.Tensor((24 * 32, 512), "float32"), B: T.Tensor((24 * 32, 512), "float32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a, b = T.alloc_shared((32, 512), "float32"), T.alloc_shared((32, 512), "float32")
            T.tile.fill(b, 0.0)
            for t in T.Pipelined(60, num_stages=2):
                T.copy(A[(cid + t) % 24 * 32, 0], a)  # planted
                T.tile.max(b, b, a)
            T.copy(b, B[cid * 32, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24 * 32, 512)]


def stores() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((24 * 32, 512), "float32"), B: T.Tensor((24 * 32, 512), "float32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a, b = T.alloc_shared((32, 512), "float32"), T.alloc_shared((32, 512), "float32")
            T.copy(A[cid * 32, 0], a)
            for _ in T.Pipelined(60, num_stages=2):
                T.tile.add(b, a, 1.0)
                T.copy(b, B[cid * 32, 0])  # planted

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24 * 32, 512)]


def unaligned() -> tuple[Any, list[torch.Tensor]]:
    """Halves of rows of 1008 floats: all but the first begin inside a line of L2."""

    @T.prim_func
    def kernel(A: T.Tensor((24 * 32, 1008), "float32"), B: T.Tensor((24 * 32, 504), "float32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a, b = T.alloc_shared((32, 504), "float32"), T.alloc_shared((32, 504), "float32")
            T.tile.fill(b, 0.0)
            for t in T.Pipelined(60, num_stages=2):
                T.copy(A[(cid + t) % 24 * 32, 0], a)  # planted
                T.tile.max(b, b, a)
            T.copy(b, B[cid * 32, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24 * 32, 1008)]


def small_loads() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((48 * 256, 64), "float32"), B: T.Tensor((48, 64), "float32")):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            a, b = T.alloc_ub((4, 64), "float32"), T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.tile.fill(b, 0.0)
                for i in T.serial(1000):
                    T.copy(A[(cid * 2 + vid) * 256 + i % 256, 0:64], a[i % 4, :])  # planted
                T.barrier_all()
                T.copy(b, B[cid * 2 + vid, 0:64])

    return T.compile(kernel, out_idx=[1]), [zeros(48 * 256, 64)]


def vector() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((24 * 32, 512), "float32"), B: T.Tensor((24 * 32, 512), "float32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 512), "float32")
            T.copy(A[cid * 32, 0], a)
            for _ in T.serial(60):
                T.tile.add(a, a, 1.0)
                T.tile.exp(a, a)  # planted
            T.copy(a, B[cid * 32, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24 * 32, 512)]


def short_instructions() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((48, 64, 64), "float32"), B: T.Tensor((48, 64, 64), "float32")):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            a, b = T.alloc_ub((64, 64), "float32"), T.alloc_ub((64, 64), "float32")
            with T.Scope("V"):
                T.copy(A[cid * 2 + vid, 0, 0], a)
                T.barrier_all()
                for i in T.serial(6000):
                    T.tile.add(b[i % 64, :], a[i % 64, :], 1.0)  # planted
                T.barrier_all()
                T.copy(b, B[cid * 2 + vid, 0, 0])

    return T.compile(kernel, out_idx=[1]), [zeros(48, 64, 64)]


def latency() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((48, 64), "float32"), B: T.Tensor((48, 64), "float32")):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                T.copy(A[cid * 2 + vid, 0:64], a)
                T.barrier_all()
                for _ in T.serial(600):
                    T.tile.add(a, a, 1.0)  # planted
                    T.pipe_barrier("v")
                T.barrier_all()
                T.copy(a, B[cid * 2 + vid, 0:64])

    return T.compile(kernel, out_idx=[1]), [zeros(48, 64)]


def cube() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(
        A: T.Tensor((128, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        C: T.Tensor((24, 128, 128), "float32"),
    ):
        with T.Kernel(24, is_npu=True) as (cid, _):
            a_l1, b_l1 = T.alloc_L1((128, 128), "float16"), T.alloc_L1((128, 128), "float16")
            a, b = T.alloc_L0A((128, 128), "float16"), T.alloc_L0B((128, 128), "float16")
            c = T.alloc_L0C((128, 128), "float32")
            with T.Scope("C"):
                T.copy(A, a_l1)
                T.copy(B, b_l1)
                T.barrier_all()
                T.copy(a_l1, a)
                T.copy(b_l1, b)
                T.barrier_all()
                for k in T.serial(100):
                    T.mma(a, b, c, init=k == 0)  # planted
                T.barrier_all()
                T.copy(c, C[cid, :, :])

    return T.compile(kernel, out_idx=[2]), [zeros(128, 128, dtype=torch.float16)] * 2


def l1_loads() -> tuple[Any, list[torch.Tensor]]:
    """One product, and an operand that is loaded again and again."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        C: T.Tensor((24, 128, 128), "float32"),
    ):
        with T.Kernel(24, is_npu=True) as (cid, _):
            a_l1, b_l1 = T.alloc_L1((128, 128), "float16"), T.alloc_L1((128, 128), "float16")
            a, b = T.alloc_L0A((128, 128), "float16"), T.alloc_L0B((128, 128), "float16")
            c = T.alloc_L0C((128, 128), "float32")
            with T.Scope("C"):
                T.copy(A, a_l1)
                T.copy(B, b_l1)
                T.barrier_all()
                T.copy(a_l1, a)
                for _ in T.serial(150):
                    T.copy(b_l1, b)  # planted
                T.barrier_all()
                T.mma(a, b, c, init=True)
                T.barrier_all()
                T.copy(c, C[cid, :, :])

    return T.compile(kernel, out_idx=[2]), [zeros(128, 128, dtype=torch.float16)] * 2


def product_stores() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(
        A: T.Tensor((128, 64), "float16"),
        B: T.Tensor((64, 128), "float16"),
        C: T.Tensor((24, 128, 128), "float32"),
    ):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for _ in T.Pipelined(30, num_stages=2):
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C[cid, 0, 0])  # planted

    return T.compile(kernel, out_idx=[2], pass_configs=DEVELOPER), [
        zeros(128, 64, dtype=torch.float16), zeros(64, 128, dtype=torch.float16)
    ]  # fmt: skip


def scalar_loop() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((768, 64), "int32"), B: T.Tensor((768, 64), "int32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 64), "int32")
            T.copy(A[cid * 32, 0], a)
            for i, j in T.Parallel(32, 64):
                a[i, j] = a[i, j] // 500009  # planted
            T.tile.add(a, a, 1)
            T.copy(a, B[cid * 32, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(768, 64, dtype=torch.int32)]


def scalar_reads() -> tuple[Any, list[torch.Tensor]]:
    """Elements that decide where to load from."""

    @T.prim_func
    def kernel(
        Where: T.Tensor((48, 512), "int32"),
        A: T.Tensor((64, 64), "float32"),
        B: T.Tensor((48, 64), "float32"),
    ):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            where = T.alloc_ub((512,), "int32")
            a = T.alloc_ub((2, 64), "float32")
            total = T.alloc_var("int32")
            with T.Scope("V"):
                T.copy(Where[cid * 2 + vid, 0:512], where)
                T.barrier_all()
                total = 0
                for i in T.serial(1500):
                    total = total + where[i % 512] + where[511 - i % 512]  # planted
                T.barrier_all()
                T.copy(A[total, 0:64], a[0, :])
                T.barrier_all()
                T.copy(a[0, :], B[cid * 2 + vid, 0:64])

    return T.compile(kernel, out_idx=[2]), [zeros(48, 512, dtype=torch.int32), zeros(64, 64)]


def serial() -> tuple[Any, list[torch.Tensor]]:
    """Load, compute, store, each after the other."""

    @T.prim_func
    def kernel(
        A: T.Tensor((24 * 30 * 16, 512), "float32"), B: T.Tensor((24 * 30 * 16, 512), "float32")
    ):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((16, 512), "float32")
            for i in T.serial(30):  # planted
                T.copy(A[(cid * 30 + i) * 16, 0], a)
                T.tile.exp(a, a)
                T.tile.add(a, a, 1.0)
                T.copy(a, B[(cid * 30 + i) * 16, 0])

    as_written = {**OURS, T.PassConfigKey.TL_ASCEND_OVERLAP_LOOPS: False}
    return T.compile(kernel, out_idx=[1], pass_configs=as_written), [zeros(24 * 30 * 16, 512)]


def barriers() -> tuple[Any, list[torch.Tensor]]:
    """The same by an author who orders pipes with full barriers."""

    @T.prim_func
    def kernel(
        A: T.Tensor((48 * 30 * 8, 512), "float32"), B: T.Tensor((48 * 30 * 8, 512), "float32")
    ):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            a = T.alloc_ub((8, 512), "float32")
            with T.Scope("V"):
                for i in T.serial(30):
                    first = ((cid * 2 + vid) * 30 + i) * 8
                    T.copy(A[first, 0], a)
                    T.barrier_all()
                    T.tile.exp(a, a)
                    T.barrier_all()
                    T.tile.add(a, a, 1.0)
                    T.barrier_all()
                    T.copy(a, B[first, 0])
                    T.barrier_all()

    return T.compile(kernel, out_idx=[1]), [zeros(48 * 30 * 8, 512)]


def imbalance() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((24 * 32, 512), "float32"), B: T.Tensor((24 * 32, 512), "float32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 512), "float32")
            T.copy(A[cid * 32, 0], a)
            for _ in T.serial(T.if_then_else(cid == 5, 60, 4)):
                T.tile.exp(a, a)  # planted
            T.copy(a, B[cid * 32, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24 * 32, 512)]


def few_blocks() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((4 * 32, 512), "float32"), B: T.Tensor((4 * 32, 512), "float32")):
        with T.Kernel(4, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 512), "float32")
            T.copy(A[cid * 32, 0], a)
            for _ in T.serial(30):
                T.tile.exp(a, a)
            T.copy(a, B[cid * 32, 0])

    # Left to the compiler, rows of the four blocks would be blocks of their own.
    kept = {**OURS, "tl.ascend_retile": False}
    return T.compile(kernel, out_idx=[1], pass_configs=kept), [zeros(4 * 32, 512)]


def last_wave() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((25 * 32, 512), "float32"), B: T.Tensor((25 * 32, 512), "float32")):
        with T.Kernel(25, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((32, 512), "float32")
            T.copy(A[cid * 32, 0], a)
            for _ in T.serial(30):
                T.tile.exp(a, a)
            T.copy(a, B[cid * 32, 0])

    return T.compile(
        kernel, out_idx=[1], pass_configs={**OURS, T.PassConfigKey.TL_ASCEND_PERSISTENT: False}
    ), [zeros(25 * 32, 512)]


def block_starts() -> tuple[Any, list[torch.Tensor]]:
    n = 24 * 100

    @T.prim_func
    def kernel(A: T.Tensor((n, 64), "float32"), B: T.Tensor((n, 64), "float32")):
        with T.Kernel(n, is_npu=True) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                if vid == 0:
                    T.copy(A[cid, 0:64], a)
                    T.barrier_all()
                    T.tile.add(a, a, 1.0)
                    T.barrier_all()
                    T.copy(a, B[cid, 0:64])

    return T.compile(kernel, out_idx=[1]), [zeros(n, 64)]


def one_lane() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((24 * 32, 512), "float32"), B: T.Tensor((24 * 32, 512), "float32")):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            a = T.alloc_ub((32, 512), "float32")
            with T.Scope("V"):
                if vid == 0:
                    T.copy(A[cid * 32, 0], a)
                    for _ in T.serial(50):
                        T.tile.exp(a, a)
                    T.copy(a, B[cid * 32, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24 * 32, 512)]


def launch() -> tuple[Any, list[torch.Tensor]]:
    @T.prim_func
    def kernel(A: T.Tensor((24, 64), "float32"), B: T.Tensor((24, 64), "float32")):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((1, 64), "float32")
            T.copy(A[cid, 0], a)
            T.tile.add(a, a, 1.0)
            T.copy(a, B[cid, 0])

    return T.compile(kernel, out_idx=[1], pass_configs=OURS), [zeros(24, 64)]


def turns_of_cores() -> tuple[Any, list[torch.Tensor]]:
    """Cube core, vector cores and back in every round of a serial loop."""

    @T.prim_func
    def kernel(
        Q: T.Tensor((24 * 64, 64), "float16"),
        K: T.Tensor((20 * 64, 64), "float16"),
        Out: T.Tensor((24 * 64, 64), "float32"),
    ):
        with T.Kernel(24, threads=2, is_npu=True) as cid:
            q, k = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            scores, product = (
                T.alloc_fragment((64, 64), "float32"),
                T.alloc_fragment((64, 64), "float32"),
            )
            s, part, total = [T.alloc_shared((64, 64), "float32") for _ in range(3)]
            p, weights = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            T.copy(Q[cid * 64, 0], q)
            T.tile.fill(total, 0.0)
            for n in T.serial(20):  # planted
                T.copy(K[n * 64, 0], k)
                T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                T.copy(scores, s)
                T.tile.exp(s, s)
                T.copy(s, p)
                T.copy(p, weights)
                T.gemm_v0(weights, k, product, init=True)
                T.copy(product, part)
                T.tile.add(total, total, part)
            T.copy(total, Out[cid * 64, 0])

    half = torch.float16
    return T.compile(kernel, out_idx=[2], pass_configs=DEVELOPER), [
        zeros(24 * 64, 64, dtype=half), zeros(20 * 64, 64, dtype=half)
    ]  # fmt: skip


PLANTED = {
    "hbm": Planted(hbm, ("HBM",), "fewer bytes"),
    "loads": Planted(loads, ("loads", "L2"), "larger tiles"),
    "stores": Planted(stores, ("stores", "L2"), ""),
    "unaligned": Planted(unaligned, ("unaligned loads", "L2", "HBM"), "pad rows"),
    "small loads": Planted(small_loads, ("small loads",), "move more with each copy"),
    "vector": Planted(vector, ("vector pipe",), "do less there"),
    "short instructions": Planted(short_instructions, ("scalar",), "longer instructions"),
    "latency": Planted(latency, ("latency", "short instructions (V)"), "several rows at a time"),
    "cube": Planted(cube, ("cube pipe",), "near its peak"),
    "L1 loads": Planted(l1_loads, ("L1 loads",), "L0"),
    "product stores": Planted(product_stores, ("product stores",), "L0C"),
    "scalar loop": Planted(scalar_loop, ("scalar",), "the compiler says"),
    "scalar reads": Planted(scalar_reads, ("scalar",), "single elements"),
    "serial": Planted(serial, ("no overlap",), "num_stages=2"),
    "barriers": Planted(barriers, ("no overlap",), "two slots"),
    "imbalance": Planted(imbalance, ("imbalance",), "evenly"),
    "few blocks": Planted(few_blocks, ("few blocks",), "more blocks"),
    "last wave": Planted(last_wave, ("last wave",), "multiple of 24"),
    "block starts": Planted(block_starts, ("block starts",), "persistent"),
    "one lane": Planted(one_lane, ("one lane",), "let both work"),
    "launch": Planted(launch, ("launch",), "more work"),
    "turns of cores": Planted(turns_of_cores, ("turns of cores",), "num_stages=2"),
}
