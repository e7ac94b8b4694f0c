"""What the switch `timings` notes of a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic
from tile_passes import PassOptions
from tile_runtime.front_times import append_front_times


@T.prim_func
def stops_all_pipes(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_L1((16, 16), "float16")
        c = T.alloc_L0C((16, 16), "float32")
        with T.Scope("C"):
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.barrier_all()
            C[0, 0] = 1.0
            T.copy(c, C)
            for _i in range(4):
                T.barrier_all()
                C[0, 0] = 1.0
                T.copy(c, C)


def test_barriers_in_loops_are_counted_but_the_authors(tmp_path: Path) -> None:
    # No flag goes from the scalar unit to the fixpipe.
    file = tmp_path / "timings"
    for automatic in ((), (Automatic.SYNC,)):
        append_front_times(
            file, stops_all_pipes, DEFAULT_TARGET, PassOptions(automatic=automatic), None
        )
    by_hand, inserted = map(json.loads, file.read_text().splitlines())
    assert by_hand.keys() == {"kernel", "trace", "lower", "emit", "full_barriers"}
    assert (by_hand["full_barriers"], inserted["full_barriers"]) == (0, 1)
