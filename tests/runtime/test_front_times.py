"""What the switch `timings` notes of a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic
from tile_passes import PassOptions
from tile_runtime.jit_kernels.front_times import append_front_times
from tile_runtime.options.code_generators import code_generator


@T.prim_func
def stops_all_pipes(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            # All event ids of a pair are the author's.
            for e in T.serial(8):
                T.set_flag("mte2", "v", e)
            for e in T.serial(8):
                T.wait_flag("mte2", "v", e)
            for i in T.serial(16):
                T.copy(A[i, :], a)
                T.barrier_all()
                T.tile.add(a, a, 1.0)
                T.barrier_all()
                T.copy(a, B[i, :])
                T.barrier_all()
            for i in T.serial(16):
                T.copy(A[i, :], a)
                T.tile.add(a, a, 1.0)
                T.copy(a, B[i, :])


def test_barriers_in_loops_are_counted_but_the_authors(tmp_path: Path) -> None:
    file = tmp_path / "timings"
    for automatic in ((), (Automatic.SYNC,)):
        append_front_times(
            file, stops_all_pipes, DEFAULT_TARGET, PassOptions(automatic=automatic),
            code_generator(), None,
        )  # fmt: skip
    by_hand, inserted = map(json.loads, file.read_text().splitlines())
    assert by_hand.keys() == {"kernel", "trace", "lower", "emit", "full_barriers"}
    assert (by_hand["full_barriers"], inserted["full_barriers"]) == (0, 1)
