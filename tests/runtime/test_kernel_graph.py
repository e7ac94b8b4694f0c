"""Kernels in a captured graph, and the times of their front end, on one compiled kernel."""

from __future__ import annotations

import json
from pathlib import Path

import torch

import tile_frontend as T
from tile_ir import Func
from tile_ir.switches import override
from tile_runtime import jit
from tile_runtime.host_npu.graphs import NPUGraph, graph


@jit(out_idx=[-1])
def double(n: int) -> Func:
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")) -> None:
        with T.Kernel(1) as (cid, vid), T.Scope("V"):
            a_ub = T.alloc_ub((n,), "float32")
            if vid == 0:
                T.copy(A, a_ub)
                T.barrier_all()
                T.tile.add(a_ub, a_ub, a_ub)
                T.barrier_all()
                T.copy(a_ub, B)

    return main  # type: ignore[no-any-return]


def test_a_graph_launches_kernels_again_with_their_memory() -> None:
    kernel, x = double(64), torch.ones(64)
    captured = NPUGraph()
    with graph(captured):
        y = kernel(x) + 1
        z = kernel(y)
    assert (z == 6).all()
    x.fill_(10)
    kernel(x)  # not part of it
    captured.replay()
    assert (y == 21).all() and (z == 42).all()
    captured.capture_begin()
    kernel(x)
    captured.capture_end()
    x.fill_(0)
    captured.replay()
    assert (z == 42).all()  # the new capture is in place of the old one
    captured.reset()
    captured.replay()


def test_times_of_the_front_are_noted_for_cached_kernels_too(tmp_path: Path) -> None:
    file = tmp_path / "times"
    with override(timings=str(file)):
        double.__jit_impl__(64)
        assert double.__jit_impl__(64).cached
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [r["kernel"] for r in records] == ["main", "main"]
    assert all(0 < r[step] < 5 for r in records for step in ("trace", "lower", "emit"))
