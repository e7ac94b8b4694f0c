"""Kernels of several ranks: the collectives of the examples, and broken ones."""

from __future__ import annotations

import example_kernels

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import run_pipeline
from tile_runtime.options.pass_configs import pass_options

OPTIONS = pass_options(
    {
        T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
        T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    }
)
N = 256
collectives = example_kernels.load("distributed/collectives")
ag_gemm = example_kernels.load("distributed/ag_gemm").ag_gemm.__wrapped__
gemm_ar = example_kernels.load("distributed/gemm_ar").gemm_ar.__wrapped__
gemm_rs = example_kernels.load("distributed/gemm_rs").gemm_rs.__wrapped__


def gathered(ranks: int, n: int, blocks: int, ring: bool):
    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * blocks),
        step: T.int32,
    ):
        with T.Kernel(blocks) as cid:
            if ring:
                collectives.ring_all_gather(x, y, words, step, cid, blocks)
            else:
                collectives.all_gather(x, y, words, step, cid, blocks)

    return kernel


def exchanged(ranks: int, n: int, blocks: int):
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, n), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * blocks),
        step: T.int32,
    ):
        with T.Kernel(blocks) as cid:
            collectives.all_to_all(x, y, words, step, cid, blocks)

    return kernel


def scattered(ranks: int, n: int, blocks: int):
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, n), "float32"),
        slots: T.SymmTensor((ranks, n), "float32"),
        y: T.Tensor((n,), "float32"),
        words: T.Signals(ranks * blocks),
        read: T.Signals(ranks * blocks),
        step: T.int32,
    ):
        with T.Kernel(blocks) as cid:
            for t in T.serial(2):  # what is read in a round may be written in the next
                now = 2 * step - 1 + t
                collectives.reduce_scatter(x, slots, y, words, read, now, cid, blocks, "float32")

    return kernel


def reduced(ranks: int, n: int, blocks: int):
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, n), "float32"),
        slots: T.SymmTensor((ranks, n), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * blocks),
        more: T.Signals(ranks * blocks),
        step: T.int32,
    ):
        with T.Kernel(blocks) as cid:
            collectives.all_reduce(x, slots, y, words, more, step, cid, blocks, "float32")

    return kernel


def spread(n: int, blocks: int):
    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((n,), "float32"),
        words: T.Signals(blocks),
        step: T.int32,
        root: T.int32,
    ):
        with T.Kernel(blocks) as cid:
            collectives.broadcast(x, y, words, step, root, cid, blocks)

    return kernel


def shifted(what: str):
    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((N,), "float32"),
        z: T.Tensor((N,), "float32"),
        words: T.Signals(1),
        step: T.int32,
    ):
        with T.Kernel(1) as cid, T.Scale("device") as (r, num):
            if what == "nobody":
                T.put(x, y, r + 1)
            else:
                T.put(x, y, (r + 1) % num)
            if what != "loud":
                T.quiet()
            if what != "silent":
                T.signal(words[0], step, (r + 1) % num)
            if what != "early":
                T.wait_ge(words[0], step)
            if what == "late":
                T.wait_ge(words[0], step + 1)
            T.copy(y, z)

    return kernel


def met(what: str):
    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((N,), "float32"),
        z: T.Tensor((N,), "float32"),
        flag: T.Tensor((1,), "int32"),
    ):
        with T.Kernel(2) as cid, T.Scale("device") as (r, num):
            T.put(x[cid * 128 : cid * 128 + 128], y[cid * 128 : cid * 128 + 128], (r + 1) % num)
            if what == "all":
                T.barrier()
            elif what == "first":
                if r == 0:
                    T.barrier()
            elif what == "both":
                if r == 0:
                    T.barrier()
                else:
                    T.barrier()
            elif what == "data":
                if flag[0] == 1:
                    T.barrier()
            elif what == "device":
                T.sync_all()
            T.copy(
                y[(1 - cid) * 128 : (1 - cid) * 128 + 128],
                z[(1 - cid) * 128 : (1 - cid) * 128 + 128],
            )

    return kernel


def counted(each: int, asked: int, less: int = 0):
    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((8, N), "float32"),
        z: T.Tensor((8, N), "float32"),
        words: T.Signals(1),
        step: T.int32,
    ):
        with T.Kernel(1) as cid, T.Scale("device") as (r, num):
            for s in T.serial(num):
                T.put(x, y[r, :], (r + s) % num)
            T.quiet()
            for s in T.serial(num):
                T.signal(words[0], each, (r + s) % num, "add")
            T.wait_ge(words[0], step * num * asked - less)
            for s in T.serial(num):
                T.copy(y[s, :], z[s, :])

    return kernel


def final(func: Func) -> Func:
    """The text after the last pass."""
    return run_pipeline(func, DEFAULT_TARGET, OPTIONS).func


def examples(ranks: int) -> dict[str, Func]:
    """The examples for so many ranks, in sizes that do not divide."""
    made = {
        "all_gather": gathered(ranks, 1000, 3, False),
        "ring_all_gather": gathered(ranks, 1000, 3, True),
        "all_to_all": exchanged(ranks, 1000, 3),
        "reduce_scatter": scattered(ranks, 1000, 3),
        "all_reduce": reduced(ranks, 1000, 3),
        "broadcast": spread(1000, 3),
        "ag_gemm": ag_gemm(ranks, 200, 300, 130, rows=64, columns=128, depth=64, blocks=3),
        "gemm_ar": gemm_ar(ranks, 70, 200, 130, rows=32, columns=64, depth=64, blocks=3),
        "gemm_rs": gemm_rs(ranks, 70, 200, 130, rows=32, columns=64, depth=64, blocks=3),
    }
    return {name: final(func) for name, func in made.items()}
