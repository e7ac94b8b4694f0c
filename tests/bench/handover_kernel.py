"""A kernel of many handovers in a row, to measure how ordering the cores scales."""

from __future__ import annotations

from tile_ir import Func, parse


def handover_kernel(count: int) -> Func:
    """A function at phase TYPED in which the cube core and the vector cores hand a tile to each
    other `count` times, half of them in each direction."""
    copies = "{enable_relu=false, transpose=false, pad_value=none}"
    lines = []
    for n in range(count // 2):
        there, back = f"$S[{n}:+1, 0:+16, 0:+16]", f"$P[{n}:+1, 0:+16, 0:+16]"
        lines += [
            f"    copy($c, {there}) {copies} @0:9:1",
            f"    copy({there}, $u) {copies} @0:10:1",
            "    add($v, $u, 1.0) @0:11:1",
            f"    copy($v, {back}) {copies} @0:12:1",
            f"    copy({back}, $a) {copies} @0:13:1",
        ]
    product = "gemm_v0($a, $a, $c, true) {transpose_A=false, transpose_B=false}"
    return parse(
        'file 0 "handovers.py"\nfunc "handovers" phase typed automatic memory sync @0:1:1 {\n'
        "  tensor $X: float32 [16, 16] @0:2:1\n"
        f"  tensor $S: float32 [{count}, 16, 16] @0:3:1\n"
        f"  tensor $P: float32 [{count}, 16, 16] @0:4:1\n"
        "  launch blocks(1) %cid %vid threads 1 @0:5:1 {\n"
        "    alloc $a: l1 float32 [16, 16] @0:6:1\n    alloc $c: l0c float32 [16, 16] @0:6:1\n"
        "    alloc $u: ub float32 [16, 16] @0:7:1\n    alloc $v: ub float32 [16, 16] @0:7:1\n"
        f"    copy($X, $a) {copies} @0:8:1\n    {product} @0:8:5\n"
        + "\n".join(lines)
        + "\n  }\n}\n"
    )


__all__ = ["handover_kernel"]
