"""Rows about loops over the rows of a tile: their modelled time as one operation, beside the loop,
which waits for the scalar unit in every round."""

from __future__ import annotations

import torch

from bench.row import Examples, Row, exactly
from tile_ir import DEFAULT_TARGET, Func, parse
from tile_ir.switches import override
from tile_passes import PIPELINE, run_passes
from tile_runtime.jit_kernels.jit_compile import compile

# Rounds of the kernel, so that moving the tile counts for little.
ROUNDS = 8
MERGING = "merge_rows"


def row_loops(examples: Examples) -> list[Row]:
    """Rows of 64 x 128 floats with a scalar each, for operations with and without a division."""
    rows = []
    for name in ("sub", "div"):
        func = parse(_row_loop(name))
        merged, loop = (_microseconds(func, skip) for skip in (False, True))
        title = f"{name} of 64 x 128 float32 with a scalar for each row"
        rows.append(exactly(f"{title}: loop", loop, "us"))
        rows.append(exactly(f"{title}: one operation", merged, "us"))
        rows.append(
            exactly(
                f"{title}: loop against one operation",
                loop / merged,
                "times",
                2.0,
                more_is_better=True,
            )
        )
    return rows


def _microseconds(func: Func, as_loop: bool) -> float:
    passes = [p for p in PIPELINE if not (as_loop and p.name == MERGING)]
    kernel = compile(run_passes(func, passes, DEFAULT_TARGET).func)
    with override(time=True, check="off"):
        kernel(torch.zeros(64, 128), torch.ones(64))
    timeline = kernel.timeline()
    assert timeline is not None, "the simulator models time"
    return timeline.body_microseconds


def _row_loop(name: str) -> str:
    copies = "{enable_relu=false, transpose=false, pad_value=none}"
    return (
        'file 0 "rows.py"\nfunc "rows" phase built automatic sync @0:1:1 {\n'
        "  tensor $X: float32 [64, 128] @0:1:1\n  tensor $M: float32 [64] @0:1:1\n"
        "  launch blocks(1) %cid %vid threads 1 @0:2:1 {\n"
        "    alloc $x: ub float32 [64, 128] @0:3:1\n    alloc $m: ub float32 [64] @0:4:1\n"
        f"    copy($X, $x) {copies} @0:5:1\n    copy($M, $m) {copies} @0:6:1\n"
        f"    for %k: int32 in serial(0, {ROUNDS}) @0:7:1 {{\n"
        "      for %h: int32 in serial(0, 64) @0:8:1 {\n"
        f"        {name}($x[%h:+1, 0:+128], $x[%h:+1, 0:+128], $m[%h]) @0:9:1\n      }}\n    }}\n"
        f"    copy($x, $X) {copies} @0:10:1\n  }}\n}}\n"
    )
