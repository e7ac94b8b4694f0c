"""Schedules of pipelined loops as data: what a report draws."""

from __future__ import annotations

from itertools import groupby, pairwise

import tile_frontend as T
from tile_ir import TARGETS, Automatic
from tile_passes import leaving
from tile_passes.explain.schedules import LoopSchedule, loop_schedules
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.pipeline import taken_to
from tile_passes.pipelining.software_pipeline import pipeline_core

TARGET = TARGETS["Ascend910B2"]
OURS = (Automatic.SYNC, Automatic.CROSS, Automatic.MEMORY)


@T.prim_func
def scale(X: T.Tensor((1024, 256), "float32"), Y: T.Tensor((1024, 256), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, vid):
        x = T.alloc_ub((16, 256), "float32")
        with T.Scope("V"):
            for i in T.Pipelined(64, num_stages=2):
                T.copy(X[i * 16, 0], x)
                T.tile.mul(x, x, 2.0)
                T.copy(x, Y[i * 16, 0])


@T.prim_func
def scale_twice(X: T.Tensor((1024, 256), "float32"), Y: T.Tensor((1024, 256), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, vid):
        x = T.alloc_ub((16, 256), "float32")
        with T.Scope("V"):
            for i in T.Pipelined(2, num_stages=2):
                T.copy(X[i * 16, 0], x)
                T.tile.mul(x, x, 2.0)
                T.copy(x, Y[i * 16, 0])


@T.prim_func
def attend(
    Q: T.Tensor((64, 64), "float16"),
    K: T.Tensor((512, 64), "float16"),
    Out: T.Tensor((64, 64), "float32"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, threads=2, is_npu=True) as cid:
        q, k = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
        scores, product = (
            T.alloc_fragment((64, 64), "float32"),
            T.alloc_fragment((64, 64), "float32"),
        )
        s, part, total = (
            T.alloc_shared((64, 64), "float32"),
            T.alloc_shared((64, 64), "float32"),
            T.alloc_shared((64, 64), "float32"),
        )
        p, weights = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
        T.copy(Q, q)
        T.tile.fill(total, 0.0)
        for n in T.Pipelined(8, num_stages=2):
            T.copy(K[n * 64, 0], k)
            T.gemm_v0(q, k, scores, transpose_B=True, init=True)
            T.copy(scores, s)
            T.tile.exp(s, s)
            T.copy(s, p)
            T.copy(p, weights)
            T.gemm_v0(weights, k, product, init=True)
            T.copy(product, part)
            T.tile.add(total, total, part)
        T.copy(total, Out)


def schedule(func: object) -> LoopSchedule:
    (found,) = loop_schedules(leaving(func, OURS), TARGET)  # type: ignore[arg-type]
    return found


def test_a_loop_in_one_core() -> None:
    found = schedule(scale)
    assert [(s.pipe, s.stage) for s in found.statements] == [("mte2", 0), ("v", 0), ("mte3", 0)]
    assert dict(found.versions) == {"x": 2} and found.bound
    assert found.line == scale.loc.line + 4
    assert found.interval >= max(s.end - s.begin for s in found.statements) - 1e-6


def test_a_short_loop_has_the_mean_of_its_rounds() -> None:
    """It is over before rounds follow each other evenly."""
    whole, short = schedule(scale), schedule(scale_twice)
    assert whole.interval <= short.interval < 2.5 * whole.interval


def test_a_loop_over_both_kinds_of_core() -> None:
    found = schedule(attend)
    assert found.stages == 2 and not found.why
    assert {(s.core, s.stage) for s in found.statements} == {
        ("cube", 0), ("cube", 1), ("vector", 0), ("vector", 1)
    }  # fmt: skip
    assert {s.operation for s in found.statements if s.pipe == "m"} == {"mma"}
    assert found.interval >= 1


def test_a_pipe_does_one_thing_at_a_time_whatever_the_round() -> None:
    found = schedule(attend)
    pipes = lambda s: (s.core, s.pipe)  # noqa: E731
    for pipe, statements in groupby(sorted(found.statements, key=pipes), key=pipes):
        spans = sorted(
            (s.begin + number * found.interval, s.end + number * found.interval)
            for s in statements
            for number in range(4)
        )
        for (_, end), (begin, _) in pairwise(spans):
            assert end <= begin + 1e-6, pipe


@T.prim_func
def pick(
    X: T.Tensor((4096, 4096), "float16"),
    Labels: T.Tensor((4096,), "int32"),
    Y: T.Tensor((4096,), "float16"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(24, threads=2, is_npu=True) as cid:
        x, label = T.alloc_shared((8, 4096), "float16"), T.alloc_shared((8,), "int32")
        peak, chosen = T.alloc_shared((8,), "float16"), T.alloc_shared((8,), "float16")
        for n in T.Pipelined(20, num_stages=2):
            T.copy(X[(cid * 20 + n) * 8, 0], x)
            T.copy(Labels[(cid * 20 + n) * 8], label)
            T.reduce_max(x, peak, dim=-1)
            for i in T.serial(8):
                chosen[i] = x[i, label[i]]
            for i in T.Parallel(8):
                chosen[i] = peak[i] - chosen[i]
            T.copy(chosen, Y[(cid * 20 + n) * 8])


def test_no_round_is_shorter_than_its_busiest_pipe_works() -> None:
    """The rounds that end while the loop drains are, as none begins any more."""
    for kernel in (scale, pick):
        split = taken_to(leaving(kernel, OURS), inject_pipeline, TARGET)
        (found,) = pipeline_core(split, TARGET)
        assert found.times.interval >= 0.999 * found.resource_bound[1]
    assert found.skewed
